"""Speed of CertifiedRegressor beside scikit-learn's RidgeCV on the same features, and a million rows in bounded memory.

The comparison of intervals themselves (coverage, width, score) is `benchmarks/intervals.py`.
"""

# ruff: noqa: E402 - the thread limits must be set before numpy is imported
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import RidgeCV

from orledger.recovery import CertifiedRegressor
from orledger.recovery.regression import coverage

sys.path.insert(0, str(Path(__file__).parent))
from rows import row, show

if TYPE_CHECKING:
    from collections.abc import Iterator


def against_ridge(n: int, d: int) -> dict:
    """Fit with calibration, and prediction with intervals, of n rows; the peer fits and predicts without intervals."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    start = time.process_time()
    RidgeCV().fit(X, y).predict(X)
    peer = time.process_time() - start
    start = time.process_time()
    model = CertifiedRegressor().fit(X, y)
    _, found = model.predict(X, return_interval="observation")
    ours = time.process_time() - start
    return row(f"regression: fit, calibrate, predict with intervals ({n:,} x {d})", ours, peer, "scikit-learn RidgeCV, fit and predict",
               f"CPU seconds; coverage of the fit rows {coverage(y, found):.3f} at level 0.9", at_least=1 / 3)  # fmt: skip


def in_blocks(n: int, d: int, block: int = 20_000) -> dict:
    """Time for n rows that are never together in memory, through partial_fit; the peer column is one block's share of the time."""
    truth = np.random.default_rng(1).standard_normal(d)

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng(2)
        for _ in range(n // block):
            X = rng.standard_normal((block, d))
            yield X, X @ truth + rng.standard_normal(block)

    model = CertifiedRegressor()
    tracemalloc.start()
    spent = 0.0
    for X, y in blocks():
        start = time.process_time()
        model.partial_fit(X, y)
        spent += time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return row(f"regression: {n:,} rows x {d} in blocks of {block:,}", spent, spent / (n // block), "one block of the same run",
               f"peak of traced memory {peak:.0f} MB; the whole matrix would be {8 * n * d / 2**20:,.0f} MB")  # fmt: skip


def run(*, quick: bool = False) -> list[dict]:
    """One row against RidgeCV, one for a million rows in blocks; ``quick`` takes a tenth of the rows."""
    share = 10 if quick else 1
    return [against_ridge(100_000 // share, 300), in_blocks(1_000_000 // share, 300)]


if __name__ == "__main__":
    show(run())

"""The Gram form at 10,000 rows, block by block on the CPU: processor time and peak memory, beside a Gaussian process.

    python benchmarks/bench_kernel.py
    python benchmarks/bench_kernel.py --rows 3000

The peer, scikit-learn's GaussianProcessRegressor with the same kernel and no search, needs one Cholesky factor; the
certificates need all eigenvectors, once, and answer for every radius and noise level afterwards.
"""

# ruff: noqa: E402 - the thread limits must be set before numpy is imported
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

from orledger.recovery import KernelRecovery

sys.path.insert(0, str(Path(__file__).parent))
from rows import row, seconds, show

LENGTH, NOISE, POINTS = 0.15, 0.1, 1000


def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Matern 3/2 with a length of LENGTH: (len(a), len(b))."""
    r = cdist(a, b) * (np.sqrt(3) / LENGTH)
    return (1 + r) * np.exp(-r)


def peak() -> float:
    """The largest resident size of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measured(n: int) -> dict:
    """One row: fit, Occam radius and intervals at POINTS points for n rows; the peer fits and predicts with deviations."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    rng = np.random.default_rng(0)
    X, points = rng.random((n, 2)), rng.random((POINTS, 2))

    def truth(x: np.ndarray) -> np.ndarray:
        return np.sin(6 * x[:, 0]) * np.cos(5 * x[:, 1])

    y = truth(X) + NOISE * rng.standard_normal(n)
    eta = NOISE * np.sqrt(n)
    before, start = peak(), time.process_time()
    problem = KernelRecovery.fit(kernel, X, y, diagonal=lambda x: np.ones(len(x)))
    fitted = time.process_time() - start
    band = problem.intervals(points, 2 * problem.occam(eta).rho, eta)
    ours, held = time.process_time() - start, peak()
    inside = float(np.mean((band.lower <= truth(points)) & (truth(points) <= band.upper)))
    del problem
    start = time.process_time()
    peer = GaussianProcessRegressor(Matern(LENGTH, nu=1.5), alpha=NOISE**2, optimizer=None).fit(X, y)
    peer.predict(points, return_std=True)
    theirs = time.process_time() - start
    note = (
        f"CPU seconds; the fit {seconds(fitted)}, {POINTS:,} intervals {seconds(ours - fitted)}; peak memory {held:.2f} GB, "
        f"{before:.2f} GB of it before the fit; the Gram matrix alone has {8 * n * n / 2**30:.2f} GB; the truth lies in "
        f"{inside:.1%} of the intervals of twice the Occam radius"
    )
    return row(f"recovery: Gram form of {n:,} rows in blocks", ours, theirs, "scikit-learn GaussianProcessRegressor, no search", note)  # fmt: skip


def run(*, quick: bool = False) -> list[dict]:
    """One row at 10,000 rows; ``quick`` takes 1,500."""
    return [measured(1_500 if quick else 10_000)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    show([measured(parser.parse_args().rows)])

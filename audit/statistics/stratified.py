"""Estimates over runs nested in units, with stratified bootstrap intervals: runs are redrawn within each unit and arm.

The intervals speak about new runs on the units at hand, and say nothing about units that were not tried. Method: Agarwal
et al., Deep reinforcement learning at the edge of the statistical precipice, NeurIPS 2021. A unit with one run cannot be
redrawn and adds no width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata, trim_mean

from orledger.audit.ties import equalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Runs = Sequence[NDArray[np.float64]]  # one array of runs per unit

DRAWS = 2000
SEED = 0
METHOD = f"stratified bootstrap over runs, percentile, {DRAWS} draws, seed {SEED}"
UNITS_METHOD = f"bootstrap over units, percentile, {DRAWS} draws, seed {SEED}"


@dataclass(frozen=True)
class Estimate:
    """A number, or one per entry of a curve or an arm, with the ends of its interval; all of the same shape."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def improvement(x: Runs, y: Runs, level: float = 0.95) -> Estimate:
    """How probable it is that a run of the first arm exceeds one of the second on a unit, ties counting half, averaged over units."""
    generator = np.random.default_rng(SEED)
    value = np.mean([_exceeds(a[None], b[None])[0] for a, b in zip(x, y, strict=True)])
    drawn = np.mean(
        [_exceeds(_redrawn(a, generator), _redrawn(b, generator)) for a, b in zip(x, y, strict=True)], axis=0
    )
    return _estimate(value, drawn, level)


def interquartile_mean(x: Runs, level: float = 0.95) -> Estimate:
    """The mean of the middle half of all runs of all units, pooled."""
    generator = np.random.default_rng(SEED)
    drawn = np.concatenate([_redrawn(runs, generator) for runs in x], axis=1)
    return _estimate(trim_mean(np.concatenate(x), 0.25), trim_mean(drawn, 0.25, axis=1), level)


def profile(x: Runs, thresholds: NDArray[np.float64], level: float = 0.95) -> Estimate:
    """The share of runs above each of ``thresholds`` (m,), averaged over units: the performance profile."""
    generator = np.random.default_rng(SEED)

    def above(runs: NDArray[np.float64]) -> NDArray[np.float64]:
        return (runs[..., None] > thresholds).mean(axis=-2)

    drawn = np.zeros((DRAWS, thresholds.size))
    for runs in x:
        drawn += above(_redrawn(runs, generator)) / len(x)
    return _estimate(np.mean([above(runs) for runs in x], axis=0), drawn, level)


def mean_ranks(matrix: NDArray[np.float64], level: float = 0.95) -> Estimate:
    """The mean rank of every column of ``matrix`` (units, arms), lowest first, ties sharing; the interval redraws units.

    It speaks about further units like these.
    """
    ranks = rankdata(equalised(matrix), axis=1)
    n = ranks.shape[0]
    picks = np.random.default_rng(SEED).integers(n, size=(DRAWS, n))
    return _estimate(ranks.mean(axis=0), ranks[picks].mean(axis=1), level)


def _exceeds(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(A > B) + P(A = B) / 2 from samples ``a`` (draws, n) and ``b`` (draws, m), one per draw."""
    left, right = a[:, :, None], b[:, None, :]
    return (left > right).mean(axis=(1, 2)) + (left == right).mean(axis=(1, 2)) / 2


def _redrawn(runs: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """``runs`` (n,) redrawn with replacement, shape (draws, n)."""
    return runs[generator.integers(runs.size, size=(DRAWS, runs.size))]


def _estimate(value: Any, drawn: NDArray[np.float64], level: float) -> Estimate:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Estimate(np.asarray(value), low, high)

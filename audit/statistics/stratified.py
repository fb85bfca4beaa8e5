"""Estimates over runs nested in units, with stratified bootstrap intervals: runs are redrawn within each unit and arm.

The intervals speak about new runs on the units at hand, and say nothing about units that were not tried. Method: Agarwal
et al., Deep reinforcement learning at the edge of the statistical precipice, NeurIPS 2021. A unit with one run cannot be
redrawn and adds no width.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata, trim_mean

from orledger.audit.statistics.intervals import ends_of_draws
from orledger.audit.ties import equalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Runs = Sequence[NDArray[np.float64]]  # one array of runs per unit

DRAWS = 2000
MOST = 4_000_000  # numbers held at once
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
    value, drawn = [], np.zeros(DRAWS)
    for a, b in zip(x, y, strict=True):
        value.append(_exceeds(a, b, np.arange(a.size)[None], np.arange(b.size)[None])[0])
        if a.size == b.size == 1:  # every draw is the same
            drawn += value[-1]
        else:
            drawn += np.concatenate([_exceeds(a, b, *picks) for picks in _redrawn((a.size, b.size), generator)])
    return _estimate(np.mean(value), drawn / len(value), level)


def interquartile_mean(x: Runs, level: float = 0.95) -> Estimate:
    """The mean of the middle half of all runs of all units, pooled."""
    drawn = [
        trim_mean(np.concatenate([runs[p] for runs, p in zip(x, picks, strict=True)], axis=1), 0.25, axis=1)
        for picks in _redrawn([runs.size for runs in x], np.random.default_rng(SEED))
    ]
    return _estimate(trim_mean(np.concatenate(x), 0.25), np.concatenate(drawn), level)


def profile(x: Runs, thresholds: NDArray[np.float64], level: float = 0.95) -> Estimate:
    """The share of runs above each of ``thresholds`` (m,), averaged over units: the performance profile."""
    generator = np.random.default_rng(SEED)
    ordered, places = np.unique(thresholds, return_inverse=True)

    def above(passed: NDArray[np.intp]) -> NDArray[np.float64]:
        """From the number of thresholds that each run of a draw exceeds (draws, n): the share of runs above each (draws, m)."""
        counts = _counts(passed, ordered.size + 1)
        return (passed.shape[1] - np.cumsum(counts, axis=1))[:, places] / passed.shape[1]

    value, drawn = [], np.zeros((DRAWS, thresholds.size))
    for runs in x:
        passed = np.searchsorted(ordered, runs)
        value.append(above(passed[None])[0])
        if runs.size == 1:
            drawn += value[-1] / len(x)
        else:
            drawn += np.concatenate([above(passed[picks]) for (picks,) in _redrawn((runs.size,), generator)]) / len(x)
    return _estimate(np.mean(value, axis=0), drawn, level)


def mean_ranks(matrix: NDArray[np.float64], level: float = 0.95) -> Estimate:
    """The mean rank of every column of ``matrix`` (units, arms), lowest first, ties sharing; the interval redraws units.

    It speaks about further units like these.
    """
    ranks = rankdata(equalised(matrix), axis=1)
    picked = _redrawn((ranks.shape[0],), np.random.default_rng(SEED), each=ranks.shape[1])
    return _estimate(ranks.mean(axis=0), np.concatenate([ranks[picks].mean(axis=1) for (picks,) in picked]), level)


def _exceeds(
    a: NDArray[np.float64], b: NDArray[np.float64], picks_a: NDArray[np.intp], picks_b: NDArray[np.intp]
) -> NDArray[np.float64]:
    """P(A > B) + P(A = B) / 2 from the samples that ``picks_a`` (draws, n) and ``picks_b`` (draws, m) take of the runs, one per draw.

    Counted in the order of ``b``, since comparing every run with every other takes the product of their numbers.
    """
    ordered, places = np.unique(b, return_inverse=True)
    counts = _counts(places[picks_b], ordered.size)
    below = np.zeros((len(counts), ordered.size + 1), dtype=counts.dtype)  # runs of b below a place
    np.cumsum(counts, axis=1, out=below[:, 1:])
    rows = np.arange(len(below))[:, None] * below.shape[1]
    first, after = np.searchsorted(ordered, a), np.searchsorted(ordered, a, side="right")
    wins = below.take(rows + first[picks_a]).sum(axis=1)
    ties = below.take(rows + after[picks_a]).sum(axis=1) - wins if (first < after).any() else 0
    pairs = picks_a.shape[1] * picks_b.shape[1]
    return wins / pairs + ties / pairs / 2


def _counts(places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """How often each of ``most`` places occurs in every row of ``places`` (draws, n): (draws, most)."""
    rows = np.arange(len(places))[:, None] * most
    return np.bincount((rows + places).ravel(), minlength=len(places) * most).reshape(-1, most)


def _redrawn(sizes: Sequence[int], generator: np.random.Generator, each: int = 1) -> Iterator[list[NDArray[np.intp]]]:
    """Which of ``sizes`` runs every draw takes, with replacement: one array (draws, size) for each, some draws at a time.

    However many draws come at a time, the numbers are those of all draws of the first, then of the second, and so on.
    ``each`` is how many numbers the caller keeps of a run.
    """
    at_once = min(DRAWS, max(1, MOST // (each * sum(sizes))))
    steps = [min(at_once, DRAWS - start) for start in range(0, DRAWS, at_once)]
    if len(steps) == 1:
        yield [generator.integers(size, size=(DRAWS, size)) for size in sizes]
        return
    streams = []
    for size in sizes:
        streams.append(deepcopy(generator))
        for step in steps:
            generator.integers(size, size=(step, size))
    for step in steps:
        yield [stream.integers(size, size=(step, size)) for stream, size in zip(streams, sizes, strict=True)]


def _estimate(value: float | np.floating | NDArray[np.float64], drawn: NDArray[np.float64], level: float) -> Estimate:
    return Estimate(np.asarray(value), *ends_of_draws(drawn, (1 - level) / 2, (1 + level) / 2))

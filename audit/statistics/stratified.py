"""Estimates over runs nested in units, with stratified bootstrap intervals: runs are redrawn within each unit and arm.

The intervals speak about new runs on the units at hand, and say nothing about units that were not tried. Method: Agarwal
et al., Deep reinforcement learning at the edge of the statistical precipice, NeurIPS 2021. A unit with one run cannot be
redrawn and adds no width.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata, trim_mean

from orledger.audit.statistics.intervals import ends_of_draws
from orledger.audit.ties import equalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Runs = Sequence[NDArray[np.float64]]  # one array of runs per unit
    Form = Callable[[Sequence[NDArray[np.intp]]], list[NDArray[np.unsignedinteger]]]

DRAWS = 2000
MOST = 4_000_000  # numbers held at once
KEPT = 400_000_000  # bytes of draws that are kept for the next estimate
SEED = 0
METHOD = f"stratified bootstrap over runs, percentile, {DRAWS} draws, seed {SEED}"
UNITS_METHOD = f"bootstrap over units, percentile, {DRAWS} draws, seed {SEED}"


@dataclass(frozen=True)
class Estimate:
    """A number, or one per entry of a curve or an arm, with the ends of its interval; all of the same shape."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass
class Draws:
    """The runs that each draw takes of every unit; what was drawn for one estimate is kept for others of as many runs.

    The comparisons of one question nearly all have the same numbers of runs, and the same seed. What they asked for last is
    kept: the first units, up to KEPT bytes; the others are drawn again, with the same numbers.
    """

    layout: Sequence[tuple[int, ...]] = ()
    form: Form | None = None
    units: list[list[list[NDArray[np.unsignedinteger]]]] = field(default_factory=list)
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))  # behind ``units``

    def taken(
        self, layout: Sequence[tuple[int, ...]], form: Form
    ) -> Iterator[Iterable[list[NDArray[np.unsignedinteger]]]]:
        """For every unit of ``layout``, which is the numbers of its runs: what ``form`` makes of the draws, some at a time."""
        if (layout, form) != (self.layout, self.form):
            self._keep(layout, form)
        yield from self.units
        generator = deepcopy(self.generator)
        for sizes in layout[len(self.units) :]:
            yield map(form, _redrawn(sizes, generator))

    def _keep(self, layout: Sequence[tuple[int, ...]], form: Form) -> None:
        self.layout, self.form, self.units, self.generator = layout, form, [], np.random.default_rng(SEED)
        left = KEPT
        for sizes in layout:
            left -= DRAWS * sum(n * np.min_scalar_type(n).itemsize for n in sizes)
            if left < 0:
                break
            self.units.append([form(picks) for picks in _redrawn(sizes, self.generator)])


def improvement(x: Runs, y: Runs, level: float = 0.95, draws: Draws | None = None) -> Estimate:
    """How probable it is that a run of the first arm exceeds one of the second on a unit, ties counting half, averaged over units."""
    sizes = [(a.size, b.size) for a, b in zip(x, y, strict=True)]
    taken = (draws or Draws()).taken([two for two in sizes if two != (1, 1)], _times)
    value, drawn = [], np.zeros(DRAWS)
    for a, b in zip(x, y, strict=True):
        value.append(_exceeds(a, b, np.ones((a.size, 1), int), np.ones((b.size, 1), int))[0])
        if a.size == b.size == 1:  # every draw is the same
            drawn += value[-1]
        else:
            drawn += np.concatenate([_exceeds(a, b, *times) for times in next(taken)])
    return _estimate(np.mean(value), drawn / len(value), level)


def interquartile_mean(x: Runs, level: float = 0.95, draws: Draws | None = None) -> Estimate:
    """The mean of the middle half of all runs of all units, pooled."""
    (steps,) = (draws or Draws()).taken([tuple(runs.size for runs in x)], _which)
    drawn = [
        trim_mean(np.concatenate([runs[p] for runs, p in zip(x, picks, strict=True)], axis=1), 0.25, axis=1)
        for picks in steps
    ]
    return _estimate(trim_mean(np.concatenate(x), 0.25), np.concatenate(drawn), level)


def profile(x: Runs, thresholds: NDArray[np.float64], level: float = 0.95, draws: Draws | None = None) -> Estimate:
    """The share of runs above each of ``thresholds`` (m,), averaged over units: the performance profile."""
    taken = (draws or Draws()).taken([(runs.size,) for runs in x if runs.size > 1], _times)
    value, drawn = [], np.zeros((thresholds.size, DRAWS))
    for runs in x:
        order = np.argsort(runs)
        within = np.searchsorted(runs[order], thresholds, side="right")  # runs that a threshold is not below
        value.append((runs.size - within) / runs.size)
        if runs.size == 1:
            drawn += value[-1][:, None] / len(x)
        else:
            below = [_below(times[order], np.int64) for (times,) in next(taken)]
            drawn += ((runs.size - np.concatenate(below, axis=1)) / runs.size / len(x))[within]
    return _estimate(np.mean(value, axis=0), drawn.T, level)


def mean_ranks(matrix: NDArray[np.float64], level: float = 0.95) -> Estimate:
    """The mean rank of every column of ``matrix`` (units, arms), lowest first, ties sharing; the interval redraws units.

    It speaks about further units like these.
    """
    ranks = rankdata(equalised(matrix), axis=1)
    picked = _redrawn((ranks.shape[0],), np.random.default_rng(SEED), each=ranks.shape[1])
    return _estimate(ranks.mean(axis=0), np.concatenate([ranks[picks].mean(axis=1) for (picks,) in picked]), level)


def _exceeds(
    a: NDArray[np.float64], b: NDArray[np.float64], times_a: NDArray[np.integer], times_b: NDArray[np.integer]
) -> NDArray[np.float64]:
    """P(A > B) + P(A = B) / 2 from the samples that take each run as often as ``times_a`` (n, draws) and ``times_b`` (m, draws) say.

    Counted in the order of ``b``, since comparing every run with every other takes the product of their numbers.
    """
    pairs, order = a.size * b.size, np.argsort(b)
    exact = np.int32 if pairs < 2**31 else np.int64
    below = _below(times_b[order], exact)
    first, after = (np.searchsorted(b[order], a, side=side) for side in ("left", "right"))
    wins = (times_a * below[first]).sum(axis=0, dtype=exact)
    ties = (times_a * below[after]).sum(axis=0, dtype=exact) - wins if (first < after).any() else 0
    return wins / pairs + ties / pairs / 2


def _below(times: NDArray[np.integer], exact: type[np.integer]) -> NDArray[np.integer]:
    """How many runs each draw takes of those before a place: (n + 1, draws) from how often it takes each, in order (n, draws)."""
    found = np.zeros((len(times) + 1, times.shape[1]), dtype=exact)
    np.cumsum(times, axis=0, dtype=exact, out=found[1:])
    return found


def _which(picks: Sequence[NDArray[np.intp]]) -> list[NDArray[np.unsignedinteger]]:
    """The runs themselves, in the order in which a draw takes them, in as few bytes as will do."""
    return [p.astype(np.min_scalar_type(p.shape[1])) for p in picks]


def _times(picks: Sequence[NDArray[np.intp]]) -> list[NDArray[np.unsignedinteger]]:
    """How often each run stands in every row of each of ``picks`` (draws, n): (n, draws), in as few bytes as will do."""
    found = []
    for p in picks:
        draws, n = p.shape
        counts = np.bincount((p * draws + np.arange(draws)[:, None]).ravel(), minlength=n * draws)
        found.append(counts.reshape(n, draws).astype(np.min_scalar_type(n)))
    return found


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

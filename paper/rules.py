"""Recheck rules for the formulas of this paper's protocol: split sizes, conformal levels, noise budgets, ladder laws, exponents."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np

from orledger.audit.recheck.arithmetic import largest, smallest, total
from orledger.audit.recheck.rounding import Enclosure, exactly
from orledger.audit.recheck.rules import Recomputed, rule


@rule
def rows_in_part(n: int, part: float, rounding: str) -> Enclosure:
    """Rows in a part of n rows, rounded down or up."""
    return exactly(math.floor(n * part + 1e-9) if rounding == "down" else math.ceil(n * part - 1e-9))


@rule
def calibration_rows(n_train: int, part: float = 0.25, least: int = 8) -> Enclosure:
    """Calibration rows of a training set: a quarter rounded down, at least eight."""
    return exactly(max(least, math.floor(n_train * part)))


@rule
def recorded_level(n_cal: int) -> Enclosure:
    """n_c / (n_c + 1)."""
    return exactly(n_cal / (n_cal + 1))


@rule
def order_statistic(n_cal: int, level: float = 0.95) -> Enclosure:
    """The zero-based order statistic k = min(n_c - 1, ceil(level (n_c + 1)) - 1)."""
    return exactly(min(n_cal - 1, math.ceil(level * (n_cal + 1) - 1e-9) - 1))


@rule
def achieved_level(n_cal: int, k: int) -> Enclosure:
    """(k + 1) / (n_c + 1)."""
    return exactly((k + 1) / (n_cal + 1))


@rule
def noise_budget(level: Enclosure, std: Enclosure, side: int) -> Enclosure:
    """Eta = sigma sqrt(N_c) with sigma = level * std(f) and N_c = side^2."""
    return level * std * exactly(side)


@rule
def numerical_slack(radius: Enclosure) -> Enclosure:
    """The floating-point allowance 10 sqrt(machine epsilon) times the radius."""
    return radius * exactly(10 * math.sqrt(sys.float_info.epsilon))


@rule
def inflation_law(m: list[Enclosure]) -> Enclosure:
    """sqrt((m2^2 - 1) / (m1^2 - 1)): how half-widths scale between two inflations without noise."""
    m2, m1 = (x.middle for x in m)
    return exactly(math.sqrt((m2 * m2 - 1) / (m1 * m1 - 1)))


@rule
def law_deviation(tightening: list[Enclosure], m: list[Enclosure], radii: list[Enclosure], take: str) -> Enclosure:
    """Smallest or largest percentage by which printed tightenings miss (eps/rho) / sqrt(m^2 - 1)."""
    scale = radii[0] / radii[1]
    laws = [scale * exactly(1 / math.sqrt(x.middle**2 - 1)) for x in m]
    misses = [(law / t - exactly(1)) * exactly(100) for t, law in zip(tightening, laws, strict=True)]
    return smallest(misses) if take == "smallest" else largest(misses)


def _corner_fits(x: list[Enclosure], y: list[Enclosure]) -> np.ndarray:
    """Slope, standard error and r^2 of the log-log fit at every corner and centre of the rounding box; shape (3, .)."""
    t = np.log10([v.middle for v in x])
    boxes = [np.log10([v.low, v.middle, v.high]) for v in y]
    z = np.array(list(itertools.product(*boxes))).T
    centred = t - t.mean()
    spread = centred @ centred
    slope = centred @ z / spread
    residual = z - z.mean(axis=0) - np.outer(centred, slope)
    sse = (residual**2).sum(axis=0)
    error = np.sqrt(sse / (len(t) - 2) / spread)
    return np.array([slope, error, 1 - sse / ((z - z.mean(axis=0)) ** 2).sum(axis=0)])


@rule
def loglog_fit(x: list[Enclosure], y: list[Enclosure], take: str) -> Enclosure:
    """Slope, standard error or r2 of log10 y on log10 x, over the corners and centres of the rounding intervals."""
    values = _corner_fits(x, y)[("slope", "error", "r2").index(take)]
    return Enclosure(float(values.min()), float(values.max()))


@rule
def scaled_by_law(of: Enclosure, m: list[Enclosure]) -> Enclosure:
    """A half-width at one inflation carried to another by the law without noise."""
    return of * inflation_law(m)


@rule
def ratio_at_median_weight(
    of: Enclosure, path: list[Enclosure], weights: list[Enclosure], floors: list[Enclosure]
) -> list[Recomputed]:
    """A dispersion over the floor at the median weight of a printed path; then over the floor at any other weight."""
    chosen = float(np.median([x.middle for x in path]))
    at = {w.middle: floor for w, floor in zip(weights, floors, strict=True)}
    order = sorted(at, key=lambda w: (w != chosen, w))
    names = {w: f"floor at lambda_2 = {w:g}" + (", the median of the printed path" if w == chosen else "") for w in at}
    return [Recomputed(names[w], (of / at[w],)) for w in order]


@rule
def ratio_at_some_weight(
    of: Enclosure, weights: list[Enclosure], floors: list[Enclosure], target: Enclosure
) -> list[Recomputed]:
    """A dispersion over the floor at each weight of the grid, when the operating point is not printed."""
    ratios = [of / floor for floor in floors]
    fitting = [f"{w.middle:g}" for w, ratio in zip(weights, ratios, strict=True) if ratio.meets(target)]
    return [Recomputed("floor at some weight", tuple(ratios), detail=f"lambda_2 = {' or '.join(fitting) or 'none'}")]


@rule
def score_of_cells(
    width: Enclosure, means: list[Enclosure], medians: list[Enclosure], cells: int, cap: float = 0.0
) -> Enclosure:
    """Mean interval score of cells in which nothing misses: twice their mean half-width.

    `width` is the mean over cells of the median half-width of the band, `means` and `medians` are those of the one component
    that varies inside a cell. In a cell that is not listed the mean is at least half the median, and at most half of `cap`
    above it.
    """
    hidden = cells - len(means)
    known = total(means) - total(medians)
    room = (width * exactly(cells) - total(medians)).high if hidden else 0.0
    away = Enclosure(known.low - room / 2, known.high + hidden * cap / 2)
    return (width + away / exactly(cells)) * exactly(2)

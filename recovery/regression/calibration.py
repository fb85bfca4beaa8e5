"""Conformal calibration of a centre and a spread: split, cross (CV+) and weighted, with the level each of them guarantees.

A score is |y - centre| / spread. All quantiles are order statistics of the scores with a point mass at infinity for the new
response, so levels hold at every sample size, under ties and with weights; edges are rounded outwards with respect to the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from orledger.recovery.regression.errors import ParameterError
from orledger.recovery.regression.factor import BLOCK_ENTRIES

ROUNDING = 16 * float(np.finfo(float).eps)
"""Edges move outwards by this share of everything they are added from."""


@dataclass(frozen=True)
class Quantile:
    """A conformal quantile: its value (inf when too few rows support the level), and the level it guarantees."""

    value: float
    level: float


def check_level(level: float) -> float:
    """`level` as a float in (0, 1), or a ParameterError."""
    if not (isinstance(level, (int, float, np.floating)) and 0 < level < 1):
        raise ParameterError(f"level = {level!r}; a fraction between 0 and 1 is needed, such as 0.9")
    return float(level)


def score_quantile(scores: np.ndarray, level: float) -> Quantile:
    """The order statistic ceil(level (n + 1)) of scores (n,); the largest when n is too small, with the level that it achieves."""
    n = len(scores)
    order = max(min(n, ceil(level * (n + 1) - 1e-9)), 1)
    return Quantile(float(np.partition(scores, order - 1)[order - 1]), order / (n + 1))


def weighted_quantiles(scores: np.ndarray, weights: np.ndarray, own: np.ndarray, level: float) -> np.ndarray:
    """The level-quantile (m,) of scores (n,) with weights (n,), for new points of weight own (m,) whose mass lies at infinity.

    inf where the calibration rows carry too little of the mass: there no finite interval has the level.
    """
    order = np.argsort(scores, kind="stable")
    cumulated = np.cumsum(weights[order])
    need = level * (cumulated[-1] + own) * (1 - 1e-12)
    at = np.searchsorted(cumulated, need, side="left")
    sorted_scores = np.append(scores[order], np.inf)
    return sorted_scores[np.minimum(at, len(scores))]


def edges(centre: np.ndarray, width: np.ndarray, slack: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(lower, upper), rounded outwards so that |y - centre| <= width + slack puts y inside."""
    pad = width + slack + ROUNDING * (np.abs(centre) + width)
    return centre - pad, centre + pad


def folds(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """The fold (n,) of each row: 0 to count - 1, sizes equal up to one, at random."""
    return rng.permutation(np.arange(n) % count)


def cross_level(n: int, level: float) -> float:
    """The nominal level of CV+ intervals of n rows: the one asked for, or n / (n + 1) where that is less.

    Beyond it the edges of CV+ are infinite, and `cross_edges` gives the outermost finite ones.
    """
    return min(level, n / (n + 1))


def cross_guarantee(n: int, count: int, level: float) -> float:
    """The level that CV+ guarantees for every distribution: 1 - 2 alpha less a term of the fold size (at least 0).

    Barber, Candes, Ramdas and Tibshirani (2021), Theorem 4, at the level that n rows reach. In practice coverage is close to the
    nominal level.
    """
    alpha = 1 - cross_level(n, level)
    loss = min(2 * (1 - 1 / count) / (n / count + 1), (1 - count / n) / (count + 1))
    return max(1 - 2 * alpha - loss, 0.0)


def cross_edges(
    centres: np.ndarray,
    spreads: np.ndarray,
    fold: np.ndarray,
    scores: np.ndarray,
    level: float,
    slack: np.ndarray | None = None,
) -> np.ndarray:
    """CV+ intervals (m, 2): quantiles over i of centre_{-fold(i)}(x) -/+ score_i spread_{-fold(i)}(x).

    centres, spreads and slack (m, K): the models without each fold, at the new points; fold and scores (n,) of the calibration rows.
    Where n is too small for the level they are those of `cross_level`.
    """
    n = len(scores)
    low, high = (min(max(k, 1), n) for k in (floor((1 - level) * (n + 1) + 1e-9), ceil(level * (n + 1) - 1e-9)))
    out = np.empty((len(centres), 2))
    step = max(1, BLOCK_ENTRIES // n)
    for start in range(0, len(centres), step):
        rows = slice(start, min(start + step, len(centres)))
        centre, reach = centres[rows][:, fold], spreads[rows][:, fold] * scores
        pad = reach + ROUNDING * (np.abs(centre) + reach) + (0.0 if slack is None else slack[rows][:, fold])
        out[rows, 0] = np.partition(centre - pad, low - 1, axis=1)[:, low - 1]
        out[rows, 1] = np.partition(centre + pad, high - 1, axis=1)[:, high - 1]
    return out

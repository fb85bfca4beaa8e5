"""The exact Wilcoxon signed-rank test with zeros and ties.

Zeros are dropped, tied absolute differences share their mean rank, and the null distribution of the rank sum, given
that pattern of ties, is computed exactly: every non-zero difference is positive with probability one half. Doubling the
ranks makes midranks whole numbers, so the distribution is a convolution of two-point distributions on integers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm, rankdata

from orledger.audit.statistics.intervals import METHOD as MEDIAN_METHOD
from orledger.audit.statistics.intervals import median_interval
from orledger.audit.statistics.inversion import ShiftInterval, hodges_lehmann, interval_fields, signed_rank_interval
from orledger.audit.statistics.result import TestResult, check_side, count_wins
from orledger.audit.ties import middle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# The convolution costs n * sum of ranks; above this many non-zero differences the normal approximation is used and named.
EXACT_LIMIT = 600
REPEATED_LIMIT = 150


def signed_rank_null(doubled_ranks: ArrayLike) -> NDArray[np.float64]:
    """Probabilities of the positive rank sum under the null, shape (S + 1,): entry s is P(2 T+ = s), S the sum of ``doubled_ranks``.

    Every probability is a multiple of 2^-n; up to n = 53 they are exact in double precision.
    """
    ranks = np.asarray(doubled_ranks, dtype=np.int64)
    total = int(ranks.sum())
    p = np.zeros(total + 1)
    p[0] = 1.0
    filled = 0
    for r in np.sort(ranks).tolist():  # small ranks first keep the filled part short
        upper = filled + r
        p[r : upper + 1] += p[: filled + 1].copy()
        p[: upper + 1] *= 0.5
        filled = upper
    return p


@lru_cache(maxsize=64)
def untied_null(n: int) -> NDArray[np.float64]:
    """The null distribution for ``n`` differences of distinct size, at doubled ranks."""
    return signed_rank_null(2 * np.arange(1, n + 1))


def signed_rank(
    differences: ArrayLike,
    side: str = "two-sided",
    *,
    better: str = "lower",
    level: float = 0.95,
    scale: ArrayLike = 0.0,
) -> TestResult:
    """The signed-rank test of symmetry about zero for paired ``differences`` (n,), first arm minus second.

    ``scale`` (n,) is the size of the numbers that were subtracted: what their rounding leaves of a tie is one.

    ``side`` is the alternative for the location of the differences. The two-sided p doubles the smaller tail (the null
    is symmetric, ties or not). The effect is the Hodges-Lehmann estimate from all n differences, zeros included, with the
    interval of the shifts that the test does not reject. With no non-zero difference p is 1.
    """
    check_side(side)
    d = np.asarray(differences, dtype=float)
    wins, losses, draws = count_wins(d, better)
    nonzero, doubled, plus = _ranked(d)
    m = nonzero.size
    p = signed_rank_p(d, side)
    if m == 0:
        method = "exact: no non-zero difference"
    elif m <= EXACT_LIMIT:
        method = "exact conditional on ties, zeros dropped, midranks"
    else:
        method = f"normal approximation, tie-corrected, zeros dropped (more than {EXACT_LIMIT} non-zero differences)"
    shift = d.size <= _most(d)
    effect = None if not d.size else hodges_lehmann(d) if shift else middle(d)
    return TestResult(
        test="signed_rank",
        method=method,
        side=side,
        n=d.size,
        n_nonzero=m,
        ties=_shared(np.abs(nonzero)),
        statistic=plus / 2,
        statistic_name="sum of positive ranks",
        p=p,
        floor=signed_rank_floor(m, side),
        effect=effect,
        effect_name="Hodges-Lehmann median of differences" if shift else "median of differences",
        **interval_fields(_interval(d, side, level, scale)),
        wins=wins,
        losses=losses,
        draws=draws,
        standard_effect=(2 * plus - int(doubled.sum())) / int(doubled.sum()) if m else 0.0 if d.size else None,
        standard_effect_name="rank-biserial correlation",
        details={"median": middle(d)} if d.size else {},
    )


def _ranked(d: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """The differences that are not zero, twice their midranks, and twice the sum of the positive ranks."""
    nonzero = d[d != 0]
    doubled = doubled_ranks(nonzero)
    return nonzero, doubled, int(doubled[nonzero > 0].sum())


def signed_rank_p(differences: NDArray[np.float64], side: str) -> float:
    """The p-value alone: exact up to EXACT_LIMIT non-zero differences, normal above."""
    nonzero, doubled, plus = _ranked(differences)
    if nonzero.size <= EXACT_LIMIT:
        untied = np.unique(doubled).size == nonzero.size
        null = untied_null(nonzero.size) if untied else signed_rank_null(doubled)
        return tail(float(null[: plus + 1].sum()), float(null[plus:].sum()), side)
    mean, sd = doubled.sum() / 2, np.sqrt((doubled.astype(float) ** 2).sum() / 4)
    z = (plus - mean) / sd
    return tail(float(norm.cdf(z)), float(norm.sf(z)), side)


def signed_rank_floor(n_nonzero: int, side: str = "two-sided") -> float:
    """The smallest p that ``n_nonzero`` differences can give: all signs equal has probability 2^-n, whatever the ties."""
    return min(1.0, 2.0 ** ((1 if side == "two-sided" else 0) - n_nonzero))


def _interval(d: NDArray[np.float64], side: str, level: float, scale: ArrayLike) -> ShiftInterval | None:
    """The interval of the test; above the limit of the exact test, that of the median, which belongs to the sign test."""
    if d.size <= _most(d):
        return signed_rank_interval(d, signed_rank_p, untied_null, side, level, scale)
    median = median_interval(d, level)
    assert median is not None
    return ShiftInterval(median.low, median.high, median.achieved, "[]", f"{MEDIAN_METHOD}, of the median")


def _most(d: NDArray[np.float64]) -> int:
    """Up to how many differences the test is inverted; repeated values need a null of their own for every shift tried."""
    return EXACT_LIMIT if np.unique(d).size == d.size else REPEATED_LIMIT


def doubled_ranks(nonzero: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the midranks of the sizes of ``nonzero`` (n,), which are whole numbers."""
    return np.rint(2 * rankdata(np.abs(nonzero))).astype(np.int64)


def tail(lower: float, upper: float, side: str) -> float:
    """The p of the alternative ``side`` from the two tails."""
    p = {"less": lower, "greater": upper}.get(side, 2 * min(lower, upper))
    return min(1.0, p)


def _shared(values: NDArray[np.float64]) -> int:
    """How many values are equal to at least one other."""
    _, counts = np.unique(values, return_counts=True)
    return int(counts[counts > 1].sum())

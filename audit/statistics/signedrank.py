"""The exact Wilcoxon signed-rank test with zeros and ties.

Zeros are dropped, tied absolute differences share their mean rank, and the null distribution of the rank sum, given
that pattern of ties, is computed exactly: every non-zero difference is positive with probability one half. Doubling the
ranks makes midranks whole numbers, so the distribution is a convolution of two-point distributions on integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm, rankdata

from orledger.audit.statistics.intervals import METHOD as INTERVAL_METHOD
from orledger.audit.statistics.intervals import median_interval
from orledger.audit.statistics.result import TestResult, check_side, count_wins

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# The convolution costs n * sum of ranks; above this many non-zero differences the normal approximation is used and named.
EXACT_LIMIT = 600


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


def signed_rank(
    differences: ArrayLike, side: str = "two-sided", *, better: str = "lower", level: float = 0.95
) -> TestResult:
    """The signed-rank test of symmetry about zero for paired ``differences`` (n,), first arm minus second.

    ``side`` is the alternative for the location of the differences. The two-sided p doubles the smaller tail (the null
    is symmetric, ties or not). The effect is the median of all n differences, zeros included, with its binomial
    interval. With no non-zero difference p is 1.
    """
    check_side(side)
    d = np.asarray(differences, dtype=float)
    wins, losses, draws = count_wins(d, better)
    nonzero = d[d != 0]
    m = nonzero.size
    doubled = np.rint(2 * rankdata(np.abs(nonzero))).astype(np.int64)
    ties = _shared(np.abs(nonzero))
    plus = int(doubled[nonzero > 0].sum())
    interval = median_interval(d, level)
    if m == 0:
        p, floor, method = 1.0, 1.0, "exact: no non-zero difference"
    elif m <= EXACT_LIMIT:
        null = signed_rank_null(doubled)
        p = _tail(float(null[: plus + 1].sum()), float(null[plus:].sum()), side)
        floor = signed_rank_floor(m, side)
        method = "exact conditional on ties, zeros dropped, midranks"
    else:
        mean, sd = doubled.sum() / 2, np.sqrt((doubled.astype(float) ** 2).sum() / 4)
        z = (plus - mean) / sd
        p = _tail(float(norm.cdf(z)), float(norm.sf(z)), side)
        floor = signed_rank_floor(m, side)
        method = f"normal approximation, tie-corrected, zeros dropped (more than {EXACT_LIMIT} non-zero differences)"
    return TestResult(
        test="signed_rank",
        method=method,
        side=side,
        n=d.size,
        n_nonzero=m,
        ties=ties,
        statistic=plus / 2,
        statistic_name="sum of positive ranks",
        p=p,
        floor=floor,
        effect=float(np.median(d)) if d.size else None,
        effect_name="median of differences",
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.achieved if interval else None,
        interval_method=INTERVAL_METHOD,
        wins=wins,
        losses=losses,
        draws=draws,
    )


def signed_rank_floor(n_nonzero: int, side: str = "two-sided") -> float:
    """The smallest p that ``n_nonzero`` differences can give: all signs equal has probability 2^-n, whatever the ties."""
    return min(1.0, 2.0 ** ((1 if side == "two-sided" else 0) - n_nonzero))


def _tail(lower: float, upper: float, side: str) -> float:
    p = {"less": lower, "greater": upper}.get(side, 2 * min(lower, upper))
    return min(1.0, p)


def _shared(values: NDArray[np.float64]) -> int:
    """How many values are equal to at least one other."""
    _, counts = np.unique(values, return_counts=True)
    return int(counts[counts > 1].sum())

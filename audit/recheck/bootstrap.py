"""Recheck rules for percentile-bootstrap intervals of a median: which sign their ends must have.

Resampling n differences, the median is made of the middle order statistics of the resample, so how often it is negative,
zero or positive follows from how many differences are, whatever their sizes.
"""

from __future__ import annotations

from scipy import stats

from orledger.audit.recheck.claims import every, less
from orledger.audit.recheck.rounding import Enclosure, exactly
from orledger.audit.recheck.rules import ImpossibleError, Truth, rule

# Resamples are drawn, so a chance this near to the tail's level decides nothing: four standard errors of 2,000 draws.
_DOUBT = 0.014


def _at_least(n: int, members: int, needed: int) -> float:
    """Chance that a resample of n takes at least `needed` of its values from `members` of the n."""
    return float(stats.binom.sf(needed - 1, n, members / n))


@rule
def median_end_sign(end: Enclosure, which: str, better: int, worse: int, tied: int, level: float = 0.95) -> Truth:
    """An end of the bootstrap interval of a median difference has the sign that its counts force.

    `better` counts negative and `worse` positive differences; `which` is low or high. Where the counts leave the sign open,
    every sign can be.
    """
    n = better + worse + tied
    if n == 0:
        raise ImpossibleError("no pairs at all, and an interval for their median")
    if which == "high":  # the upper end of the differences is the lower end of their opposites
        end, better, worse = -end, worse, better
    tail = (1 - level) / 2
    lower, upper = (n + 1) // 2, n // 2 + 1  # ranks of the values that make the median; one rank when n is odd
    truths: list[Truth] = []
    if _at_least(n, better, upper) > tail + _DOUBT:
        truths.append(less(end, exactly(0), strict=True))
    if _at_least(n, better, lower) < tail - _DOUBT:
        truths.append(less(exactly(0), end, strict=False))
    if _at_least(n, better + tied, upper) > tail + _DOUBT:
        truths.append(less(end, exactly(0), strict=False))
    if _at_least(n, better + tied, lower) < tail - _DOUBT:
        truths.append(less(exactly(0), end, strict=True))
    return every(truths)

"""Recheck rules for medians and quartiles of paired lists: what they allow those of sums and differences to be.

Of n sums a_k + b_k the i-th smallest is at least a_(j) + b_(i+1-j) and at most a_(j) + b_(i+n-j), whatever the pairing. With a
lower, a middle and an upper quantile of each list this bounds those of the sums. It holds for quartiles with linear
interpolation, and for the ends of a percentile-bootstrap interval of a median of six or seven values, which are such
quantiles too.
"""

from __future__ import annotations

from orledger.audit.recheck.claims import judged
from orledger.audit.recheck.rounding import Enclosure  # noqa: TC001  (rules read the types of their operands)
from orledger.audit.recheck.rules import Recomputed, rule


@rule
def sum_of_pairs(of: list[Enclosure], parts: list[list[Enclosure]]) -> list[Recomputed]:
    """Lower quantile, median and upper quantile of sums of pairs agree with those of their two parts."""
    low, middle, high = of
    (a1, a2, a3), (b1, b2, b3) = parts
    bounds = [(a1 + b1, middle), (middle, a3 + b3), (a2 + b1, high), (a1 + b2, high), (low, a2 + b3), (low, a3 + b2)]
    return judged(bounds, strict=False)


@rule
def median_of_differences(of: Enclosure, first: list[Enclosure], second: list[Enclosure]) -> list[Recomputed]:
    """The median of first minus second, pair by pair, agrees with the lower and upper quartiles of both."""
    return judged([(first[0] - second[1], of), (of, first[1] - second[0])], strict=False)

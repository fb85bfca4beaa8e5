"""What a design could show at best: the smallest p that a test can give."""

from __future__ import annotations

from math import ceil, factorial, log, log2

from orledger.audit.statistics.counts import fisher
from orledger.audit.statistics.sign import sign_e_value
from orledger.audit.statistics.signedrank import signed_rank_floor


def attainable(test: str, n: int, *, side: str = "two-sided", arms: int = 2) -> float | None:
    """The smallest p that ``test`` could return with ``n`` units and no ties, before any data are looked at.

    For fisher ``n`` counts the units of one of two equal groups. None for tests whose p has no floor at finite n.
    """
    if n <= 0:
        return 1.0
    if test in ("signed_rank", "sign", "mcnemar"):
        return signed_rank_floor(n, side)
    if test == "sign_anytime":
        return min(1.0, 1 / sign_e_value(n, n, "greater" if side != "two-sided" else side))
    if test == "friedman":
        return float(factorial(arms)) ** (1 - n)
    if test == "fisher":
        return fisher(0, n, n, n, side).p if side == "less" else fisher(n, n, 0, n, side).p
    if test == "spearman":
        return min(1.0, (2 if side == "two-sided" else 1) / factorial(n))
    return None


def smallest_n(test: str, alpha: float, *, side: str = "two-sided", arms: int = 2) -> int | None:
    """The fewest units at which ``test`` could return a p of at most ``alpha``; None where there is no floor."""
    if test in ("signed_rank", "sign", "mcnemar"):
        return max(1, ceil(-log2(alpha) - 1e-12) + (1 if side == "two-sided" else 0))
    if test == "friedman":
        return 1 + ceil(-log(alpha) / log(factorial(arms)) - 1e-12)
    if test in ("fisher", "spearman", "sign_anytime"):
        n = 1
        while (attainable(test, n, side=side) or 0.0) > alpha:
            n += 1
        return n
    return None

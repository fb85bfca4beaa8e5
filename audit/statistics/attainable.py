"""Which p-values and shares a design can produce at all, before any data are seen.

A two-sided signed-rank p-value computed from n pairs takes finitely many values, fixed by the number of non-zero
differences, the number of losses and the convention (exact or normal, zeros dropped or ranked, ties corrected or not).
A printed p-value that is none of them was computed another way. Every function here enumerates such a set.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from orledger.audit.statistics.signedrank import signed_rank_null

if TYPE_CHECKING:
    from orledger.audit.recheck.rounding import Enclosure

# Above this many non-zero differences the 2^(m-1) patterns of tied magnitudes are not enumerated.
LARGEST_TIED = 12


def splits(
    n: int, wins: int | None = None, losses: int | None = None, ties: int | None = None
) -> list[tuple[int, int, int]]:
    """Every (wins, losses, ties) of n pairs that agrees with the counts that are known."""
    found = []
    for w in range(n + 1) if wins is None else [wins]:
        for lost in range(n - w + 1) if losses is None else [losses]:
            t = n - w - lost
            if t >= 0 and ties in (None, t):
                found.append((w, lost, t))
    return found


@cache
def _lower_tails(ranks: tuple[int, ...]) -> np.ndarray:
    """P(sum of positive ranks <= s) for s = 0, 1, ..., sum of ranks; midranks are passed doubled."""
    return np.cumsum(signed_rank_null(ranks))


def two_sided(ranks: tuple[int, ...], sums: np.ndarray) -> np.ndarray:
    """Exact two-sided p-values of the given rank sums: twice the smaller tail, at most one."""
    tails = _lower_tails(ranks)
    return np.minimum(1.0, 2.0 * tails[np.minimum(sums, len(tails) - 1 - sums)])


def subset_sums(ranks: tuple[int, ...], size: int) -> np.ndarray:
    """The sums of `size` of the ranks that some choice attains, ascending."""
    reachable = [1] + [0] * size  # bit s of entry j: some j ranks add up to s
    for rank in ranks:
        for j in range(size, 0, -1):
            reachable[j] |= reachable[j - 1] << rank
    bits = reachable[size]
    return np.flatnonzero(np.frombuffer(bin(bits)[:1:-1].encode(), dtype=np.uint8) == ord("1"))


def exact_p_values(m: int, losses: int, zeros_ranked: int = 0) -> np.ndarray:
    """The exact signed-rank p-values of m non-zero differences of distinct size, `losses` of them negative.

    With `zeros_ranked` > 0 the zeros keep the lowest ranks and only then leave (Pratt), so ranks start above them.
    """
    ranks = tuple(range(zeros_ranked + 1, zeros_ranked + m + 1))
    return np.unique(two_sided(ranks, subset_sums(ranks, losses)))


def midranks_doubled(groups: tuple[int, ...]) -> tuple[int, ...]:
    """Doubled midranks of magnitudes that fall into groups of equal size, smallest magnitude first."""
    ranks: list[int] = []
    for size in groups:
        ranks.extend([2 * len(ranks) + size + 1] * size)
    return tuple(ranks)


def compositions(m: int) -> list[tuple[int, ...]]:
    """Every way to cut m ordered magnitudes into groups of equal ones; 2^(m-1) of them."""
    cuts = []
    for pattern in range(1 << (m - 1)):
        sizes, run = [], 1
        for position in range(m - 1):
            if pattern >> position & 1:
                run += 1
            else:
                sizes.append(run)
                run = 1
        cuts.append((*sizes, run))
    return cuts


@cache
def tied_p_values(m: int, losses: int) -> np.ndarray:
    """The exact p-values over every pattern of tied magnitudes; empty where there are too many patterns."""
    if not 2 <= m <= LARGEST_TIED:
        return np.empty(0)
    values = []
    for groups in compositions(m):
        ranks = midranks_doubled(groups)
        values.append(two_sided(ranks, subset_sums(ranks, losses)))
    return np.unique(np.concatenate(values))


def normal_p(
    m: int, sums: np.ndarray | float, *, zeros_ranked: int = 0, tie_term: float = 0.0, continuity: bool = False
) -> np.ndarray:
    """Normal-approximation p-values of rank sums of m non-zero differences.

    `tie_term` is the sum of t^3 - t over the groups of tied magnitudes; `zeros_ranked` follows Cureton's variance for
    zeros that were ranked before they were dropped.
    """
    total, z = m + zeros_ranked, zeros_ranked
    mean = (total * (total + 1) - z * (z + 1)) / 4
    variance = (total * (total + 1) * (2 * total + 1) - z * (z + 1) * (2 * z + 1)) / 24 - tie_term / 48
    distance = np.abs(np.asarray(sums, dtype=float) - mean)
    if continuity:
        distance = np.maximum(distance - 0.5, 0.0)
    return 2.0 * ndtr(-distance / math.sqrt(variance))


def normal_p_values(m: int, losses: int, *, zeros_ranked: int = 0, continuity: bool = False) -> np.ndarray:
    """The normal-approximation p-values of m non-zero differences of distinct size, `losses` of them negative."""
    if m == 0:
        return np.ones(1)
    sums = subset_sums(tuple(range(zeros_ranked + 1, zeros_ranked + m + 1)), losses)
    return np.unique(normal_p(m, sums, zeros_ranked=zeros_ranked, continuity=continuity))


@cache
def tie_terms(m: int) -> tuple[int, ...]:
    """Every value of the sum of t^3 - t over the ways to tie m magnitudes, ascending from zero."""
    reachable: list[set[int]] = [{0}] + [set() for _ in range(m)]
    for size in range(2, m + 1):
        for used in range(size, m + 1):
            reachable[used] |= {term + size**3 - size for term in reachable[used - size]}
    return tuple(sorted(set().union(*reachable)))


def tie_term_that_fits(m: int, losses: int, printed: Enclosure) -> tuple[int, float] | None:
    """The smallest tie term with which the tie-corrected normal p-value prints as it does, and that p-value.

    Rank sums of tied magnitudes move in halves; with no losses the sum is zero whatever the ties.
    """
    low, high = losses * (losses + 1) / 2, losses * (2 * m - losses + 1) / 2
    sums = np.arange(2 * low, 2 * high + 1) / 2
    for term in tie_terms(m)[1:-1]:
        for p in normal_p(m, sums, tie_term=term):
            if printed.low <= p <= printed.high:
                return term, float(p)
    return None


def sign_test_p(wins: int, losses: int) -> float:
    """Exact two-sided sign-test p-value."""
    m = wins + losses
    tail = sum(math.comb(m, j) for j in range(min(wins, losses) + 1))
    return min(1.0, 2.0 * tail / 2**m)


def shares(n: int, window: Enclosure, scale: float = 1.0, step: float = 1.0) -> list[float]:
    """The values scale * k / n, k a multiple of `step`, that lie in the window, with the nearest one on either side."""
    first = math.floor(window.low / scale * n / step)
    last = math.ceil(window.high / scale * n / step)
    return [scale * k * step / n for k in range(max(first, 0), last + 1)]

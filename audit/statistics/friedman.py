"""Friedman's test for complete blocks, with ties, mean ranks and Kendall's W."""

from __future__ import annotations

from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, rankdata, t

from orledger.audit.statistics.result import TestResult
from orledger.audit.ties import equalised
from orledger.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

# The exact null enumerates rank-sum vectors block by block; beyond this many candidates in one step the chi-squared
# approximation is used and named.
EXACT_STATES = 400_000


def friedman(values: ArrayLike, arms: Sequence[str] | None = None, *, level: float = 0.95) -> TestResult:
    """Friedman's test that k arms are exchangeable within blocks; ``values`` has shape (n blocks, k arms), rank 1 lowest.

    The statistic is corrected for ties, and numbers of a block that differ by rounding alone tie. p is the exact permutation probability where the null can be enumerated and the
    chi-squared approximation otherwise; ``method`` says which, and both are in ``details`` where both exist. Mean ranks
    carry Student intervals over blocks, cut to [1, k]. Kendall's W is the statistic over its maximum n (k - 1).
    """
    x = equalised(values)
    if x.ndim != 2 or x.shape[0] < 2 or x.shape[1] < 2:
        raise DataError(f"Friedman's test needs at least 2 blocks and 2 arms; the matrix has shape {x.shape}")
    if np.isnan(x).any():
        raise DataError("Friedman's test got NaN", hint="use skillings_mack where some blocks lack some arms")
    n, k = x.shape
    names = list(arms) if arms is not None else [str(j) for j in range(k)]
    ranks = rankdata(x, axis=1)
    statistic = float(friedman_statistic(ranks.sum(axis=0), ranks))
    p_chi2 = friedman_p(statistic, k)
    agreed = np.sort(ranks, axis=1).sum(axis=0)  # all blocks in one order: the largest statistic attainable
    best = float(friedman_statistic(agreed, ranks))
    exact = _exact_null(ranks)
    if exact is None:
        p, floor, method = p_chi2, friedman_p(best, k), "chi-squared approximation, tie-corrected"
    else:
        sums, prob = exact
        null = friedman_statistic(sums / 2, ranks)
        p = float(prob[null >= statistic - 1e-9].sum())
        floor = float(prob[null >= best - 1e-9].sum())
        method = "exact permutation within blocks, conditional on ties"
    mean_ranks = ranks.mean(axis=0)
    half = t.ppf(0.5 + level / 2, n - 1) * ranks.std(axis=0, ddof=1) / np.sqrt(n)
    details = {
        "mean_ranks": dict(zip(names, mean_ranks.tolist(), strict=True)),
        "mean_rank_low": dict(zip(names, np.maximum(mean_ranks - half, 1).tolist(), strict=True)),
        "mean_rank_high": dict(zip(names, np.minimum(mean_ranks + half, k).tolist(), strict=True)),
        "mean_rank_interval": f"Student t over blocks, level {level}",
        "kendall_w": statistic / (n * (k - 1)),
        "p_chi2": p_chi2,
        "df": k - 1,
    }
    return TestResult(
        test="friedman",
        method=method,
        side="two-sided",
        n=n,
        n_nonzero=int((ranks != (k + 1) / 2).any(axis=1).sum()),
        ties=int(sum(k - len(np.unique(row)) for row in x)),
        statistic=statistic,
        statistic_name="Friedman chi-squared, tie-corrected",
        p=min(1.0, p),
        floor=min(1.0, floor),
        effect=statistic / (n * (k - 1)),
        effect_name="Kendall's W",
        details=details,
    )


def friedman_p(statistic: float, arms: int) -> float:
    """The chi-squared approximation of the p of ``statistic`` with ``arms`` arms."""
    return float(chi2.sf(statistic, arms - 1))


def friedman_statistic(rank_sums: NDArray[np.float64], ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """The tie-corrected statistic for ``rank_sums`` (..., k), given the within-block ranks (n, k) that fix the tie pattern.

    Zero when every block is one single tie: nothing then speaks against exchangeability.
    """
    n, k = ranks.shape
    spread = ((ranks - (k + 1) / 2) ** 2).sum()
    numerator = (k - 1) * ((np.asarray(rank_sums, dtype=float) - n * (k + 1) / 2) ** 2).sum(axis=-1)
    return numerator / spread if spread > 0 else numerator


def _exact_null(ranks: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Doubled rank-sum vectors (m, k) and their probabilities, or None when there would be too many to list.

    The first block may stay as it is: renaming the arms in all blocks at once does not change the statistic.
    """
    n, k = ranks.shape
    if k > 7 or factorial(k) > EXACT_STATES:
        return None
    orders = np.array(list(permutations(range(k))))
    doubled = np.rint(2 * ranks).astype(np.int64)
    base = 2 * n * k + 1
    weights = base ** np.arange(k, dtype=object)
    if int(weights[-1]) * base > 2**62:
        return None
    weights = weights.astype(np.int64)
    sums: NDArray[np.int64] = doubled[:1]
    prob: NDArray[np.float64] = np.ones(1)
    for row in doubled[1:]:
        moves, multiplicity = np.unique(row[orders], axis=0, return_counts=True)
        if sums.shape[0] * moves.shape[0] > EXACT_STATES:
            return None
        candidates = (sums[:, None, :] + moves[None, :, :]).reshape(-1, k)
        mass = (prob[:, None] * (multiplicity / multiplicity.sum())[None, :]).ravel()
        _, first, inverse = np.unique(candidates @ weights, return_index=True, return_inverse=True)
        sums, prob = candidates[first], np.asarray(np.bincount(inverse.ravel(), weights=mass), dtype=np.float64)
    return sums, prob

"""The Skillings-Mack test: Friedman's question when some blocks lack some arms."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, rankdata

from orledger.audit.statistics.result import TestResult
from orledger.audit.ties import equalised
from orledger.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


ALL_ORDERS = 8  # arms, of which every order is tried for the floor


def skillings_mack(values: ArrayLike, arms: Sequence[str] | None = None) -> TestResult:
    """The test that arms are exchangeable within blocks; ``values`` (n blocks, k arms) with NaN where an arm is absent.

    Ranks are taken among the arms present in a block and centred and scaled by the block's size (Skillings and Mack,
    Technometrics 23, 1981); a block with fewer than two arms says nothing and is left out. p is from chi-squared with as
    many degrees of freedom as the covariance has rank. Its floor is the smallest that any order of the numbers inside the
    blocks gives, up to 8 arms; beyond, a bound from above, and the method says so. Without gaps and ties the statistic is
    Friedman's.
    """
    x = equalised(values)
    if x.ndim != 2 or x.shape[1] < 2:
        raise DataError(f"the Skillings-Mack test needs a matrix of blocks by at least 2 arms; got shape {x.shape}")
    names = list(arms) if arms is not None else [str(j) for j in range(x.shape[1])]
    present = np.isfinite(x)
    used = present.sum(axis=1) >= 2
    x, present = x[used], present[used]
    if x.shape[0] < 2:
        raise DataError(f"the Skillings-Mack test needs at least 2 blocks with 2 arms each; {x.shape[0]} are left")
    if not present.any(axis=0).all():
        absent = [names[j] for j in np.flatnonzero(~present.any(axis=0))]
        raise DataError(f"no block holds the arm {', '.join(absent)}", hint="leave that arm out of the comparison")
    n, k = x.shape
    sizes = present.sum(axis=1)
    ranks = np.full_like(x, np.nan)
    for i in range(n):
        ranks[i, present[i]] = rankdata(x[i, present[i]])
    centred = np.where(present, ranks - (sizes[:, None] + 1) / 2, 0.0)
    adjusted = (np.sqrt(12 / (sizes + 1))[:, None] * centred).sum(axis=0)
    shared = present.T.astype(float) @ present  # blocks that hold both arms
    covariance = -shared
    np.fill_diagonal(covariance, shared.sum(axis=1) - np.diag(shared))
    df = int(np.linalg.matrix_rank(covariance))
    inverse = np.linalg.pinv(covariance)
    statistic = float(adjusted @ inverse @ adjusted)
    every = k <= ALL_ORDERS
    orders = np.array(list(permutations(range(k))) if every else [np.argsort(np.argsort(np.nanmean(ranks, axis=0)))])
    most = max(statistic, _largest(centred, present, inverse, orders))
    mean_ranks = dict(zip(names, np.nanmean(ranks, axis=0).tolist(), strict=True))
    return TestResult(
        test="skillings_mack",
        method="chi-squared approximation" + ("" if every else "; the floor is an upper bound"),
        side="two-sided",
        n=n,
        n_nonzero=n,
        ties=int(sum(sizes[i] - len(np.unique(x[i, present[i]])) for i in range(n))),
        statistic=statistic,
        statistic_name="Skillings-Mack chi-squared",
        p=float(chi2.sf(statistic, df)),
        floor=float(chi2.sf(most, df)),
        effect=None,
        effect_name="",
        details={"mean_ranks": mean_ranks, "df": df, "incomplete_blocks": int((sizes < k).sum())},
    )


def _largest(
    centred: NDArray[np.float64], present: NDArray[np.bool_], inverse: NDArray[np.float64], orders: NDArray[np.int64]
) -> float:
    """The largest statistic when the centred ranks (n, k) of every block are dealt out in one of ``orders`` (m, k) of the arms.

    Over all orders this is the largest there is: the statistic is convex in the sum over blocks, so it is largest at a corner
    of the set of sums, and at a corner some linear function of the arms is largest, in every block by sorting.
    """
    total = np.zeros(orders.shape)
    blocks = [(tuple(here), tuple(np.sort(c[here]))) for here, c in zip(present, centred, strict=True)]
    for (here, scores), times in Counter(blocks).items():
        arms = np.flatnonzero(here)
        place = np.argsort(np.argsort(orders[:, arms], axis=1), axis=1)  # of each arm among those of the block
        total[:, arms] += times * np.sqrt(12 / (len(arms) + 1)) * np.array(scores)[place]
    return float(np.einsum("mi,ij,mj->m", total, inverse, total, optimize=True).max())

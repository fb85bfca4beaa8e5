"""The Skillings-Mack test: Friedman's question when some blocks lack some arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, rankdata

from orledger.audit.statistics.result import TestResult
from orledger.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def skillings_mack(values: ArrayLike, arms: Sequence[str] | None = None) -> TestResult:
    """The test that arms are exchangeable within blocks; ``values`` (n blocks, k arms) with NaN where an arm is absent.

    Ranks are taken among the arms present in a block and centred and scaled by the block's size (Skillings and Mack,
    Technometrics 23, 1981); a block with fewer than two arms says nothing and is left out. p is from chi-squared with as
    many degrees of freedom as the covariance has rank; its floor is that of all blocks in the order of the mean ranks. Without gaps and ties the statistic is Friedman's.
    """
    x = np.asarray(values, dtype=float)
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
    statistic = float(adjusted @ np.linalg.pinv(covariance) @ adjusted)
    agreed = np.zeros(k)
    for i in range(
        n
    ):  # all blocks in one order of the arms; another order may give more, so this bounds the floor from above
        order = np.argsort(np.nanmean(ranks, axis=0)[present[i]], kind="stable")
        best = np.empty(int(sizes[i]))
        best[order] = np.sort(ranks[i, present[i]])
        agreed[present[i]] += np.sqrt(12 / (sizes[i] + 1)) * (best - (sizes[i] + 1) / 2)
    most = max(statistic, float(agreed @ np.linalg.pinv(covariance) @ agreed))
    mean_ranks = dict(zip(names, np.nanmean(ranks, axis=0).tolist(), strict=True))
    return TestResult(
        test="skillings_mack",
        method="chi-squared approximation",
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

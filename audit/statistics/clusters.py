"""The sign-flip test of clusters: the statistic of the units, with whole clusters flipped together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from orledger.audit.statistics.result import TestResult, check_side, count_wins
from orledger.audit.statistics.signedrank import doubled_ranks, signed_rank_floor, signed_rank_null, tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

# Beyond this many states of the sum the normal approximation is used and named.
MOST_STATES = 2_000_000


def cluster_sign_flip(
    differences: ArrayLike,
    clusters: Sequence[str],
    side: str = "two-sided",
    *,
    ranks: bool = True,
    better: str = "lower",
) -> TestResult:
    """The test that clusters of ``differences`` (n,) are symmetric about zero; ``clusters`` (n,) names the cluster of each.

    The statistic is the sum of signed midranks (``ranks``) or of signs. Under the null the signs of a whole cluster may be
    flipped, whatever ties its units have with one another; all 2^G flips are counted. A cluster whose sum is zero says
    nothing and is dropped. Counts of wins are those of the clusters' sums.
    """
    check_side(side)
    d = np.asarray(differences, dtype=float)
    signed = np.zeros(d.size, dtype=np.int64)
    nonzero = d != 0
    size = doubled_ranks(d[nonzero]) if ranks else np.ones(nonzero.sum(), np.int64)
    signed[nonzero] = np.sign(d[nonzero]).astype(np.int64) * size
    names = sorted(set(clusters))
    sums = np.array([signed[[c == name for c in clusters]].sum() for name in names], dtype=np.int64)
    wins, losses, draws = count_wins(sums, better)
    used = sums[sums != 0]
    g = used.size
    p, method = _p(used, side)
    total = int(np.abs(signed).sum())
    return TestResult(
        test="signed_rank" if ranks else "sign",
        method=f"{method}, whole clusters flipped, sums of {'signed midranks' if ranks else 'signs'}",
        side=side,
        n=len(names),
        n_nonzero=g,
        ties=0,
        statistic=float(used.sum()) / (2 if ranks else 1),
        statistic_name=f"sum of {'signed ranks' if ranks else 'signs'}",
        centred=True,
        p=p,
        floor=signed_rank_floor(g, side),
        effect=float(sums.sum()) / total if total else None,
        effect_name="rank-biserial correlation" if ranks else "share of positive minus share of negative differences",
        wins=wins,
        losses=losses,
        draws=draws,
        details={"units": int(d.size), "intraclass_correlation": intraclass(d, clusters)},
    )


def intraclass(values: ArrayLike, clusters: Sequence[str]) -> float | None:
    """The share of the variance of ``values`` (n,) that lies between ``clusters`` (n,): the estimate of a one-way analysis
    of variance, with unequal sizes as Donner and Koval (Biometrics 36, 1980). None without two values in some cluster.
    """
    x, names = np.asarray(values, dtype=float), np.asarray(clusters)
    if (
        x.size and np.isfinite(x).all()
    ):  # a share has no unit: in that of the largest value no square leaves floating point
        x = np.ldexp(x, -np.frexp(np.abs(x).max())[1])
    groups = [x[names == name] for name in np.unique(names)]
    g, n = len(groups), x.size
    sizes = np.array([group.size for group in groups])
    if g < 2 or n <= g:
        return None
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / (n - g)
    between = sum(group.size * float((group.mean() - x.mean()) ** 2) for group in groups) / (g - 1)
    typical = (n - float((sizes**2).sum()) / n) / (g - 1)
    total = between + (typical - 1) * within
    return (between - within) / total if total > 0 else None


def _p(sums: NDArray[np.int64], side: str) -> tuple[float, str]:
    """The p of the sum of ``sums`` (G,) when each may change its sign, and how it was computed."""
    if sums.size == 0:
        return 1.0, "exact: no cluster with a non-zero sum"
    size = np.abs(sums)
    total, plus = int(size.sum()), int(size[sums > 0].sum())
    if total <= MOST_STATES:
        null = signed_rank_null(size)
        lower, upper, method = float(null[: plus + 1].sum()), float(null[plus:].sum()), "exact"
    else:
        z = (plus - total / 2) / np.sqrt((size.astype(float) ** 2).sum() / 4)
        lower, upper, method = float(norm.cdf(z)), float(norm.sf(z)), "normal approximation"
    return tail(lower, upper, side), method

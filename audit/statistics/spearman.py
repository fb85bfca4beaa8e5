"""Spearman's rank correlation with an exact permutation p for small samples."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata, t

from orledger.audit.statistics.result import TestResult, check_side
from orledger.audit.ties import equalised
from orledger.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

EXACT_LIMIT = 9  # 9! = 362 880 permutations


def spearman(x: ArrayLike, y: ArrayLike, side: str = "two-sided") -> TestResult:
    """Spearman's correlation of ``x`` and ``y`` (n,), midranks for ties.

    Up to n = 9 the p enumerates every permutation of one variable against the other, conditional on ties; above, the
    Student approximation with n - 2 degrees of freedom, named, and never below the
    exact probability of the most extreme order; its floor is that of untied samples, which ties do not reach. A constant variable has no correlation: p is 1.
    """
    check_side(side)
    if np.isnan(np.asarray(x, dtype=float)).any() or np.isnan(np.asarray(y, dtype=float)).any():
        raise DataError("Spearman's correlation got NaN", hint="leave out units without both values")
    rx, ry = rankdata(equalised(x)), rankdata(equalised(y))
    n = rx.size
    if n != ry.size or n < 2:
        raise DataError(f"Spearman's correlation needs two equally long samples of at least 2; got {n} and {ry.size}")
    cx, cy = rx - rx.mean(), ry - ry.mean()
    scale = float(np.sqrt((cx**2).sum() * (cy**2).sum()))
    ties = int(2 * n - np.unique(rx).size - np.unique(ry).size)
    if scale == 0:
        rho, p, floor, method = None, 1.0, 1.0, "no variation"
    elif n <= EXACT_LIMIT:
        rho = float(cx @ cy / scale)
        null = cy[_orders(n)] @ cx / scale
        p = _fraction(null, rho, side)
        extreme = float(
            null.min() if side == "less" else null.max() if side == "greater" else null[np.abs(null).argmax()]
        )
        floor, method = _fraction(null, extreme, side), "exact permutation, conditional on ties"
    else:
        rho = float(cx @ cy / scale)
        least = _extreme(cx, cy, side)
        floor, method = (
            (2 if side == "two-sided" else 1) / factorial(n),
            f"Student approximation (n above {EXACT_LIMIT})",
        )
        if (
            1 - abs(rho) < 1e-12
        ):  # the approximation says zero; the exact probability is that of the orders that agree so
            agrees = side == "two-sided" or (rho > 0) == (side == "greater")
            p, method = (least if agrees else 1.0), "exact: the orders agree or oppose perfectly"
            floor = least
        else:
            stat = rho * np.sqrt((n - 2) / ((1 - rho) * (1 + rho)))
            tails = {"less": t.cdf(stat, n - 2), "greater": t.sf(stat, n - 2)}
            p = max(least, float(tails.get(side, 2 * t.sf(abs(stat), n - 2))))
    return TestResult(
        test="spearman",
        method=method,
        side=side,
        n=n,
        n_nonzero=n,
        ties=ties,
        statistic=rho,
        statistic_name="Spearman's rho",
        p=p,
        floor=floor,
        effect=rho,
        effect_name="rank correlation",
    )


def _extreme(cx: NDArray[np.float64], cy: NDArray[np.float64], side: str) -> float:
    """The share of all orders of ``cy`` (n,) whose correlation with ``cx`` (n,) is the most extreme on ``side`` of any order.

    The largest sum of products comes from both in one order. Values of y may change places within a tie of x, and equal
    ones between ties.
    """
    found = []
    for direction in (1, -1):
        x, y = np.sort(cx), np.sort(cy)[::direction]
        of_x, of_both = np.unique(x, return_counts=True)[1], np.unique(np.stack([x, y]), axis=1, return_counts=True)[1]
        of_y = np.unique(y, return_counts=True)[1]
        ways = prod(factorial(int(m)) for m in (*of_x, *of_y)) // prod(factorial(int(m)) for m in of_both)
        found.append((float(x @ y), ways / factorial(x.size)))
    (most, upper), (least, lower) = found
    if side != "two-sided":
        return upper if side == "greater" else lower
    if abs(most + least) <= 1e-9 * most:
        return upper + lower
    return upper if most > -least else lower


def _fraction(null: NDArray[np.float64], seen: float, side: str) -> float:
    tolerance = 1e-9
    if side == "less":
        return float((null <= seen + tolerance).mean())
    if side == "greater":
        return float((null >= seen - tolerance).mean())
    return float((np.abs(null) >= abs(seen) - tolerance).mean())


@cache
def _orders(n: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(n))), dtype=np.int8)

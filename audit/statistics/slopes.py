"""Straight-line fits with standard errors, from sums without rounding."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaincc, stdtrit

from orledger.audit.statistics.result import TestResult, check_side
from orledger.audit.ties import equalised
from orledger.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LARGEST, SMALLEST = sys.float_info.max, math.ulp(0.0)
BITS = 200  # of a quotient before its root is taken: twice as many as a number has, and some


def slope(x: ArrayLike, y: ArrayLike, side: str = "two-sided", *, level: float = 0.95) -> TestResult:
    """The least-squares slope of ``y`` on ``x`` (n,) with its standard error, Student interval, r squared and p against zero.

    Numbers are whole multiples of powers of two, so the sums are added and multiplied as whole numbers, and each result is
    rounded once, wherever x lies and whatever its unit. Values of y that are equal but for rounding have no slope: p is 1.
    On a perfect line p is 0 and t, which is infinite, is absent. What is beyond the largest number is that number.
    """
    check_side(side)
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise DataError("a slope got a number that is not finite", hint="leave out units without both values")
    if a.size != b.size or a.size < 3 or a.min() == a.max():
        raise DataError(f"a slope needs at least 3 points at 2 different positions; got {a.size} points")
    n, df = a.size, a.size - 2
    flat = equalised(b)
    if flat.min() == flat.max():
        return TestResult(
            test="slope",
            method="no variation",
            side=side,
            n=n,
            n_nonzero=n,
            ties=0,
            statistic=None,
            statistic_name="t of the slope",
            p=1.0,
            floor=1.0,
            effect_name="slope",
            interval_method="none: no variation",
        )
    (u, of_x), (v, of_y) = _whole(a), _whole(b)
    sum_x, sum_y = sum(u), sum(v)
    # n times the centred sums of squares and products, and what the line leaves of that of y, times that of x.
    xx = n * sum(i * i for i in u) - sum_x**2
    yy = n * sum(i * i for i in v) - sum_y**2
    xy = n * sum(i * j for i, j in zip(u, v, strict=True)) - sum_x * sum_y
    left = xx * yy - xy**2
    effect = _quotient(xy, xx, of_y - of_x)
    se = _root(left, df * xx**2, of_y - of_x)
    # Student's law through the shares of the squares: p = I(df/2, 1/2) at 1 - r2.
    r2 = xy**2 / (xx * yy)
    p = float(betaincc(0.5, df / 2, r2) if r2 < 0.5 else betainc(df / 2, 0.5, left / (xx * yy)))
    if side != "two-sided":
        p = p / 2 if (xy > 0) == (side == "greater") else 1 - p / 2
    half = float(stdtrit(df, 0.5 + level / 2)) * se
    return TestResult(
        test="slope",
        method="least squares, Student t",
        side=side,
        n=n,
        n_nonzero=n,
        ties=0,
        statistic=_root(df * xy**2, left) * (-1 if xy < 0 else 1) if left else None,
        statistic_name="t of the slope",
        p=p,
        floor=0.0,
        effect=effect,
        effect_name="slope",
        low=max(effect - half, -LARGEST),
        high=min(effect + half, LARGEST),
        level=level,
        interval_method="Student t",
        details={"se": se, "r2": r2, "intercept": _quotient(sum_y * xx - xy * sum_x, n * xx, of_y)},
    )


def _whole(values: NDArray[np.float64]) -> tuple[list[int], int]:
    """Whole numbers (n,) and a power of two: ``values`` are those times two to that power, exactly."""
    parts = [v.as_integer_ratio() for v in values.tolist()]
    power = max(below.bit_length() for _, below in parts) - 1
    return [above << (power + 1 - below.bit_length()) for above, below in parts], -power


def _quotient(above: int, below: int, power: int) -> float:
    """``above`` / ``below`` (positive) times two to ``power``, rounded, within what a number can hold; 0 for 0 alone."""
    if not above:
        return 0.0
    shift = BITS - above.bit_length() + below.bit_length()
    whole = (abs(above) << max(shift, 0)) // (below << max(-shift, 0))
    return _scaled(whole, power - shift) * (1 if above > 0 else -1)


def _root(above: int, below: int, power: int = 0) -> float:
    """The root of ``above`` / ``below`` (none negative) times two to ``power``, rounded, within what a number can hold."""
    if not above:
        return 0.0
    shift = 2 * BITS - above.bit_length() + below.bit_length()
    shift += shift % 2
    whole = math.isqrt((above << max(shift, 0)) // (below << max(-shift, 0)))
    return _scaled(whole, power - shift // 2)


def _scaled(whole: int, power: int) -> float:
    """``whole`` (positive, some 200 bits) times two to ``power``, from the smallest to the largest number."""
    try:
        return max(math.ldexp(float(whole), power), SMALLEST)
    except OverflowError:
        return LARGEST

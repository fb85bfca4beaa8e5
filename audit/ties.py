"""Numbers that differ by rounding alone are ties, for tests, ranks and predicates alike; and differences of the largest numbers."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ULPS = 2.0**-46  # numbers that agree to this share of their size differ by rounding alone
LARGEST = float(np.finfo(float).max)
HUGE = 2.0**1020  # above it sums of a few numbers may overflow, and are taken of numbers that are a step smaller
STEP = 2.0**-4


def difference(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """``a - b``; the largest number, with its sign, where that is beyond it and both are finite."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    with np.errstate(over="ignore"):
        found: NDArray[np.float64] = np.where(np.isfinite(x) & np.isfinite(y), bounded(x - y), x - y)
    return found


def bounded(values: ArrayLike) -> NDArray[np.float64]:
    """``values`` with the largest number, with its sign, in place of what is infinite."""
    return np.clip(np.asarray(values, dtype=float), -LARGEST, LARGEST)


def step_of(*values: ArrayLike) -> float:
    """By what to multiply ``values`` (any shapes) before sums are taken: 1, or a power of two where some of them are huge."""
    return STEP if any(np.size(v) and np.abs(v).max() > HUGE for v in values) else 1.0


def middle(values: ArrayLike) -> float:
    """The median of ``values`` (n,), also of the largest numbers."""
    step = step_of(values)
    return float(np.median(np.asarray(values, dtype=float) * step)) / step


def exact_mean(values: NDArray[np.float64]) -> float:
    """The mean with one rounding at the end: equal values in another order, or another sum that is equal, tie exactly.

    Rounding on the way would make 1-bit differences of ties, and a rank test would count them as wins.
    """
    if not np.isfinite(values).all():
        return float(np.mean(values))
    step = step_of(values) ** 16  # a sum of any number of values stays below the largest number
    return math.fsum((values * step).tolist()) / values.size / step


def snapped(values: ArrayLike, scale: ArrayLike) -> NDArray[np.float64]:
    """``values`` (n,) with rounding taken out: zero where one is below its share of ``scale``, equal sizes where two differ by it.

    ``scale`` (n,) is the size of the numbers that were subtracted. What printed ties become by averaging are ties again. What is
    infinite stays so: no rounding explains it.
    """
    d = np.array(values, dtype=float)
    tolerance = ULPS * bounded(np.maximum(np.abs(np.asarray(scale, dtype=float)), np.abs(d)))
    d[np.abs(d) <= tolerance] = 0.0
    size, order = np.abs(d), np.argsort(np.abs(d), kind="stable")
    with np.errstate(invalid="ignore"):  # infinite sizes are alike as they are
        for before, after in pairwise(order):
            if size[after] - size[before] <= tolerance[before] + tolerance[after] and size[before] > 0:
                size[after] = size[before]
    return np.sign(d) * size


def equalised(values: ArrayLike) -> NDArray[np.float64]:
    """``values`` (..., n) in which numbers of one row that differ by rounding alone are one number, for ranks that share ties.

    Means of 0.70, 0.71, 0.72 and of three times 0.71 are equal, and their doubles need not be.
    """
    x = np.asarray(values, dtype=float)
    order = np.argsort(x, axis=-1, kind="stable")
    placed = np.take_along_axis(x, order, axis=-1)
    before, after = placed[..., :-1], placed[..., 1:]
    size = np.maximum(np.abs(before), np.abs(after))
    with np.errstate(invalid="ignore", over="ignore"):
        new = np.where(np.isfinite(size), after - before > ULPS * size, after != before)
    first = np.zeros(placed.shape, dtype=np.int64)
    first[..., 1:] = np.where(new, np.arange(1, placed.shape[-1]), 0)
    leaders = np.take_along_axis(placed, np.maximum.accumulate(first, axis=-1), axis=-1)
    found = np.empty_like(x)
    np.put_along_axis(found, order, leaders, axis=-1)
    return found

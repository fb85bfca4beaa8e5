"""Intervals that belong to a test: the shifts that it does not reject, found by inverting it.

The signed-rank statistic of differences shifted by theta counts the Walsh averages above theta, so between two of them
nothing changes and the ends of the interval are Walsh averages (Hodges and Lehmann). Zeros and ties make single shifts
special: the interval then takes in zero, or leaves it out, exactly as the test of zero says; where the shifts that are
not rejected lie on both sides of a rejected zero there is no interval, and none is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtr

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    PValue = Callable[[NDArray[np.float64], str], float]

ULPS = 2.0**-46  # numbers that agree to this share of their size differ by rounding alone


@dataclass(frozen=True)
class ShiftInterval:
    """``low`` or ``high`` is None where the interval has no end; ``ends`` as in "[)" says which ends belong to it."""

    low: float | None
    high: float | None
    level: float
    ends: str
    method: str

    def contains(self, x: float) -> bool:
        """Whether ``x`` is one of the shifts that are not rejected."""
        above = self.low is None or x > self.low or (x == self.low and self.ends[0] == "[")
        below = self.high is None or x < self.high or (x == self.high and self.ends[1] == "]")
        return above and below


def interval_fields(found: ShiftInterval | None) -> dict[str, Any]:
    """What a test result says about its interval."""
    if found is None:
        return {"interval_method": "none: the shifts that are not rejected are not one interval"}
    ends = {"low": found.low, "high": found.high, "level": found.level}
    return {**ends, "interval_method": found.method, "interval_ends": found.ends}


def walsh_averages(values: ArrayLike) -> NDArray[np.float64]:
    """The means of all pairs of ``values`` (n,), each with itself too, ascending: shape (n (n + 1) / 2,)."""
    x = np.asarray(values, dtype=float)
    i, j = np.triu_indices(x.size)
    return np.sort(x[i] / 2 + x[j] / 2)


def hodges_lehmann(values: ArrayLike) -> float:
    """The median of the Walsh averages: the shift that makes the signed-rank statistic balance."""
    return float(np.median(walsh_averages(values)))


def snapped(values: ArrayLike, scale: ArrayLike) -> NDArray[np.float64]:
    """``values`` (n,) with rounding taken out: zero where one is below its share of ``scale``, equal sizes where two differ by it.

    ``scale`` (n,) is the size of the numbers that were subtracted. What printed ties become by averaging are ties again.
    """
    d = np.array(values, dtype=float)
    tolerance = ULPS * np.maximum(np.abs(np.asarray(scale, dtype=float)), np.abs(d))
    d[np.abs(d) <= tolerance] = 0.0
    size, order = np.abs(d), np.argsort(np.abs(d), kind="stable")
    for before, after in pairwise(order):
        if 0 < size[after] - size[before] <= tolerance[before] + tolerance[after] and size[before] > 0:
            size[after] = size[before]
    return np.sign(d) * size


def signed_rank_interval(
    differences: NDArray[np.float64], p: PValue, null: Callable[[int], NDArray[np.float64]], side: str, level: float
) -> ShiftInterval | None:
    """The shifts of ``differences`` (n,) that the exact signed-rank test ``p`` does not reject at ``1 - level``.

    ``null`` gives the distribution of the statistic for n untied differences. None for no differences, and where the
    shifts that are not rejected are not one interval.
    """
    d = np.asarray(differences, dtype=float)
    n = d.size
    if n == 0:
        return None
    outside = (1 - level) / (2 if side == "two-sided" else 1)
    w = walsh_averages(d)
    repeated = np.unique(d).size < n
    if not repeated:
        tail = np.cumsum(null(n))[::2][: w.size + 1]  # doubled ranks: whole sums stand at even places
        first = int(np.argmax(tail > outside))  # so many Walsh averages lie below the lowest shift that is not rejected
        reached = 1 - (2 if side == "two-sided" else 1) * float(tail[first - 1]) if first else 0.0
        low, high = (float(w[first - 1]), float(w[w.size - first])) if first else (None, None)
    else:
        low, high = _bisected(d, w, p, side, 1 - level)
        reached = level
    if low is None or high is None:
        # Too few differences for the level: the range of the sample, with the level that it does have.
        reached = 1 - (2 if side == "two-sided" else 1) * 2.0**-n
        low, high = float(d.min()), float(d.max())
        alpha = 1 - reached
    else:
        alpha = 1 - level
    return _agreeing(d, p, side, low, high, reached, alpha, "exact signed-rank inversion")


def sign_interval(differences: NDArray[np.float64], p: PValue, side: str, level: float) -> ShiftInterval | None:
    """The shifts that the exact sign test ``p`` does not reject: from one order statistic to another."""
    x = np.sort(np.asarray(differences, dtype=float))
    n = x.size
    if n == 0:
        return None
    sides = 2 if side == "two-sided" else 1
    outside = bdtr(np.arange(n), n, 0.5)
    first = int(np.argmax(outside > (1 - level) / sides))
    reached = first > 0
    achieved = 1 - sides * float(outside[first - 1] if reached else 2.0**-n)
    k = max(first, 1)
    alpha = 1 - level if reached else 1 - achieved
    return _agreeing(
        x, p, side, float(x[k - 1]), float(x[n - k]), max(achieved, 0.0), alpha, "binomial order statistics"
    )


def _bisected(
    d: NDArray[np.float64], w: NDArray[np.float64], p: PValue, side: str, alpha: float
) -> tuple[float | None, float | None]:
    """Ends of the interval where differences repeat: the null then depends on the shift, and is computed for each tried."""
    points = np.unique(w)
    gaps = np.concatenate([[points[0] - 1.0], (points[:-1] + points[1:]) / 2, [points[-1] + 1.0]])

    def accepted(gap: int) -> bool:
        return p(d - gaps[gap], side) > alpha

    def edge(inner: int, outer: int) -> int | None:
        """The outermost accepted gap from ``inner`` towards ``outer``; None when even the last one is."""
        if accepted(outer):
            return None
        while abs(outer - inner) > 1:
            middle = (inner + outer) // 2
            inner, outer = (middle, outer) if accepted(middle) else (inner, middle)
        return inner

    # Repeated differences can make the median the only shift that is kept, so each end is looked for from beyond it.
    middle = np.median(w)
    low = edge(int(np.searchsorted(points, middle, "right")), 0) if side != "less" else 0
    high = edge(int(np.searchsorted(points, middle, "left")), gaps.size - 1) if side != "greater" else 0
    if low is None or high is None:
        return None, None
    return float(points[max(low - 1, 0)]), float(points[min(high, points.size - 1)])


def _agreeing(
    d: NDArray[np.float64], p: PValue, side: str, low: float, high: float, level: float, alpha: float, method: str
) -> ShiftInterval | None:
    """The interval with its ends open or closed, and zero in it exactly when the test of zero does not reject."""

    def kept(theta: float) -> bool:
        return p(snapped(d - theta, np.maximum(np.abs(d), abs(theta))), side) > alpha

    slack = alpha * 1e-12  # probabilities are sums of powers of two; 0.05 is not
    alpha += slack
    ends = ("[" if side == "less" or kept(low) else "(") + ("]" if side == "greater" or kept(high) else ")")
    found = ShiftInterval(
        None if side == "less" else low, None if side == "greater" else high, level, ends, f"{method}, {side}"
    )
    rejected = not p(d, side) > alpha
    if rejected != found.contains(0.0):
        return found
    if not rejected:  # zero is not rejected, and outside: take it in
        if found.low is not None and found.low >= 0:
            return replace(found, low=0.0, ends="[" + ends[1])
        return replace(found, high=0.0, ends=ends[0] + "]")
    if found.low == 0:
        return replace(found, ends="(" + ends[1])
    if found.high == 0:
        return replace(found, ends=ends[0] + ")")
    return None

"""Intervals that belong to a test: the shifts that it does not reject, found by inverting it.

The signed-rank statistic of differences shifted by theta counts the Walsh averages above theta, so between two of them
nothing changes and the ends of the interval are Walsh averages (Hodges and Lehmann). Zeros and ties make single shifts
special: the interval then takes in zero, or leaves it out, exactly as the test of zero says; where the shifts that are
not rejected lie on both sides of a rejected zero there is no interval, and none is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtr

from orledger.audit.statistics.intervals import SLACK
from orledger.audit.ties import middle, snapped, step_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    PValue = Callable[[NDArray[np.float64], str], float]


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
    return middle(walsh_averages(values))


def signed_rank_interval(
    differences: NDArray[np.float64],
    p: PValue,
    null: Callable[[int], NDArray[np.float64]],
    side: str,
    level: float,
    scale: ArrayLike = 0.0,
) -> ShiftInterval | None:
    """The shifts of ``differences`` (n,) that the exact signed-rank test ``p`` does not reject at ``1 - level``.

    ``null`` gives the distribution of the statistic for n untied differences; ``scale`` (n,) is the size of the numbers that were
    subtracted, whose rounding the differences carry. None for no differences, and where the shifts that are not rejected are
    not one interval.
    """
    step = step_of(differences, scale)
    d, scale = np.asarray(differences, dtype=float) * step, np.asarray(scale, dtype=float) * step
    n = d.size
    if n == 0:
        return None
    sides = 2 if side == "two-sided" else 1
    w, alpha, reached = walsh_averages(d), 1 - level, level
    if np.unique(d).size < n:
        ends = _bisected(d, w, p, side, alpha)
    else:
        tail = np.cumsum(null(n))[::2]  # doubled ranks: whole sums stand at even places
        first = int(np.argmax(tail > alpha / sides))  # so many Walsh averages lie below the lowest shift not rejected
        ends = (float(w[first - 1]), float(w[-first])) if first else None
        reached = 1 - sides * float(tail[first - 1])
    if ends is None:
        # Too few differences for the level: the range of the sample, with the level that it does have.
        ends, alpha = (float(d.min()), float(d.max())), sides * 2.0**-n
        reached = 1 - alpha
    return _widened(_agreeing(d, p, side, *ends, reached, alpha, "exact signed-rank inversion", scale), step)


def sign_interval(
    differences: NDArray[np.float64], p: PValue, side: str, level: float, scale: ArrayLike = 0.0
) -> ShiftInterval | None:
    """The shifts that the exact sign test ``p`` does not reject: from one order statistic to another."""
    step = step_of(differences, scale)
    d, scale = np.asarray(differences, dtype=float) * step, np.asarray(scale, dtype=float) * step
    x = np.sort(d)
    n = x.size
    if n == 0:
        return None
    sides = 2 if side == "two-sided" else 1
    outside = bdtr(np.arange(n), n, 0.5)
    first = int(np.argmax(outside > (1 - level) / sides * SLACK))
    k = max(first, 1)  # too few for the level: the range of the sample, with the level that it does have
    achieved = 1 - sides * float(outside[k - 1])
    alpha = 1 - level if first else 1 - achieved
    method = "binomial order statistics"
    return _widened(_agreeing(d, p, side, float(x[k - 1]), float(x[-k]), achieved, alpha, method, scale), step)


def _widened(found: ShiftInterval | None, step: float) -> ShiftInterval | None:
    """The interval of the differences from ``found``, that of the differences times ``step``."""
    if found is None or step == 1.0:
        return found
    low, high = (None if end is None else end / step for end in (found.low, found.high))
    return replace(found, low=low, high=high)


def _bisected(
    d: NDArray[np.float64], w: NDArray[np.float64], p: PValue, side: str, alpha: float
) -> tuple[float, float] | None:
    """Ends of the interval where differences repeat: the null then depends on the shift, and is computed for each tried.

    None when even the shifts beyond all differences are not rejected.
    """
    points = np.unique(w)
    # Beyond all averages any shift will do: all signs are then equal. One less, or one more, may be no other number.
    outside = np.nextafter(points[[0, -1]], [-np.inf, np.inf])
    gaps = np.concatenate([outside[:1], (points[:-1] + points[1:]) / 2, outside[1:]])

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
        return None
    return float(points[low - 1]), float(points[high])  # the gap before and the one behind a point bound it


def _agreeing(
    d: NDArray[np.float64],
    p: PValue,
    side: str,
    low: float,
    high: float,
    level: float,
    alpha: float,
    method: str,
    scale: ArrayLike,
) -> ShiftInterval | None:
    """The interval with its ends open or closed, and zero in it exactly when the test of zero does not reject."""

    def kept(theta: float) -> bool:
        return p(snapped(d - theta, np.maximum(np.maximum(np.abs(d), abs(theta)), scale)), side) > alpha

    alpha *= SLACK
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
    return None

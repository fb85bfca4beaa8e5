"""Recheck rules that compute one number from others: arithmetic and order statistics of printed lists."""

from __future__ import annotations

import math

import numpy as np

from orledger.audit.recheck.rounding import Enclosure, exactly
from orledger.audit.recheck.rules import rule


@rule
def same(of: Enclosure, scale: float = 1.0) -> Enclosure:
    """The same number printed elsewhere, times a change of unit."""
    return of * exactly(scale)


@rule
def ratio(of: list[Enclosure], scale: float = 1.0) -> Enclosure:
    """First over second; `scale` = 100 for a percentage."""
    return of[0] / of[1] * exactly(scale)


@rule
def excess(of: list[Enclosure], scale: float = 100.0, direction: str = "above") -> Enclosure:
    """How far the first lies above the second, relative to the second; percent by default.

    With `direction` "below": how far the second lies below the first, relative to the first.
    """
    if direction == "below":
        return (exactly(1) - of[1] / of[0]) * exactly(scale)
    return (of[0] / of[1] - exactly(1)) * exactly(scale)


@rule
def difference(of: list[Enclosure], scale: float = 1.0) -> Enclosure:
    """First minus second."""
    return (of[0] - of[1]) * exactly(scale)


@rule
def total(of: list[Enclosure]) -> Enclosure:
    """The sum of the parts."""
    return Enclosure(sum(x.low for x in of), sum(x.high for x in of))


@rule
def product(of: list[Enclosure], scale: float = 1.0) -> Enclosure:
    """The product of the factors."""
    result = exactly(scale)
    for factor in of:
        result = result * factor
    return result


@rule
def power_of_ten(of: Enclosure) -> Enclosure:
    """Ten to a printed logarithm."""
    return of.map(lambda x: 10.0**x)


@rule
def weighted_mean(of: list[Enclosure], weights: list[Enclosure]) -> Enclosure:
    """The mean of printed group means, weighted by exact group sizes."""
    whole = sum(w.low for w in weights)
    parts = [x * w for x, w in zip(of, weights, strict=True)]
    return Enclosure(sum(p.low for p in parts) / whole, sum(p.high for p in parts) / whole)


def _quantile(of: list[Enclosure], q: float) -> Enclosure:
    # A quantile is monotone in every element, so its ends are the quantiles of the ends.
    low, high = (float(np.quantile(ends, q)) for ends in ([x.low for x in of], [x.high for x in of]))
    return Enclosure(low, high)


@rule
def median(of: list[Enclosure], scale: float = 1.0) -> Enclosure:
    """The median of a printed list."""
    return _quantile(of, 0.5) * exactly(scale)


@rule
def quantile(of: list[Enclosure], q: float) -> Enclosure:
    """A quantile of a printed list, linear between order statistics."""
    return _quantile(of, q)


@rule
def smallest(of: list[Enclosure]) -> Enclosure:
    """The smallest of a printed list."""
    return Enclosure(min(x.low for x in of), min(x.high for x in of))


@rule
def largest(of: list[Enclosure]) -> Enclosure:
    """The largest of a printed list."""
    return Enclosure(max(x.low for x in of), max(x.high for x in of))


@rule
def extreme_ratio(of: list[Enclosure], over: list[Enclosure], take: str) -> Enclosure:
    """The smallest or largest of the ratios of two printed lists, element by element."""
    ratios = [a / b for a, b in zip(of, over, strict=True)]
    return smallest(ratios) if take == "smallest" else largest(ratios)


@rule
def farthest_from_one(of: list[Enclosure]) -> Enclosure:
    """The worst disagreement of ratios within a printed range: the larger of the top end and one over the bottom."""
    return largest([of[1], exactly(1) / of[0]])


@rule
def total_share(of: list[Enclosure], n: int) -> Enclosure:
    """The sum of counts over n."""
    return total(of) / exactly(n)


@rule
def weighted_total(of: list[Enclosure], weights: list[Enclosure]) -> Enclosure:
    """The sum of products of two lists."""
    return total([x * w for x, w in zip(of, weights, strict=True)])


@rule
def parts_left(parts: list[Enclosure], taken: Enclosure) -> Enclosure:
    """What is left of a sum of parts after one printed part is taken away."""
    return total(parts) - taken


@rule
def grouped_quantile(values: list[Enclosure], counts: list[int], q: float) -> Enclosure:
    """A quantile of a list given as values and how often each occurs."""
    return _quantile([x for x, times in zip(values, counts, strict=True) for _ in range(times)], q)


@rule
def spread_percent(of: list[Enclosure]) -> Enclosure:
    """How far the largest of a list lies above the smallest, in percent."""
    return excess([largest(of), smallest(of)])


@rule
def distance_percent(of: list[Enclosure]) -> Enclosure:
    """Distance of two numbers relative to the first, in percent."""
    away = of[0] - of[1]
    size = away if away.low >= 0 else -away
    return size / of[0] * exactly(100)


@rule
def median_distance_percent(ratios: list[Enclosure]) -> Enclosure:
    """Median over seeds of |a - b| / a in percent, from printed ratios a / b below one."""
    return _quantile([(exactly(1) / r - exactly(1)) * exactly(100) for r in ratios], 0.5)


@rule
def orders_of_magnitude(of: list[Enclosure]) -> Enclosure:
    """How many powers of ten lie between two numbers, rounded."""
    return exactly(round(math.log10(of[0].middle / of[1].middle)))


@rule
def one_power_of_ten(of: Enclosure) -> Enclosure:
    """A number of the printed order of magnitude: from that power of ten to ten times it."""
    power = 10.0 ** math.floor(math.log10(of.middle) + 1e-9)
    return Enclosure(power, 10 * power)

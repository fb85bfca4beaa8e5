"""Which means, standard deviations and shares whole numbers can have: GRIM, GRIMMER and DEBIT.

Each function takes intervals of numbers that print as the paper does and says whether some data of n whole numbers (or of
zeros and ones) give them. Sources: Brown and Heathers 2017 (GRIM), Anaya 2016 and Allard 2018 (GRIMMER), Heathers and Brown
2019 (DEBIT).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orledger.audit.recheck.rounding import Enclosure

_EDGE = 1e-9  # numbers on the edge of a rounding interval round either way


def sums_between(mean: Enclosure, n: int) -> range:
    """The sums of n whole numbers whose mean prints as it does; above and below zero alike."""
    return range(math.ceil(mean.low * n - _EDGE), math.floor(mean.high * n + _EDGE) + 1)


def grim(mean: Enclosure, n: int, items: int = 1) -> bool:
    """Whether some whole-number sum of n answers to `items` questions has the printed mean."""
    return n > 0 and len(sums_between(mean, n * items)) > 0


def grimmer(mean: Enclosure, sd: Enclosure, n: int, divisor: int | None = None) -> bool:
    """Whether n whole numbers can have the printed mean and standard deviation, with n - 1 or another `divisor` in it.

    Their sum s and sum of squares q are whole, q has the parity of s, and q is at least what n whole numbers nearest to
    their mean give.
    """
    if n < 2 or sd.high < 0:
        return False
    divisor = n - 1 if divisor is None else divisor
    low, high = max(sd.low, 0.0), sd.high
    for s in sums_between(mean, n):
        centre = s * s / n
        floor, rest = divmod(s, n)
        least = n * floor * floor + rest * (2 * floor + 1)
        first = max(math.ceil(low * low * divisor + centre - _EDGE), least)
        last = math.floor(high * high * divisor + centre + _EDGE)
        first += (first - s) % 2
        if first <= last:
            return True
    return False


def debit(mean: Enclosure, sd: Enclosure, n: int, divisor: int | None = None) -> bool:
    """Whether n zeros and ones can have the printed mean and standard deviation, p = k / n and sqrt(n p (1 - p) / (n - 1)).

    Another `divisor` takes the place of n - 1.
    """
    if n < 2:
        return False
    divisor = n - 1 if divisor is None else divisor
    for k in sums_between(mean, n):
        if 0 <= k <= n:
            share = k / n
            found = math.sqrt(n * share * (1 - share) / divisor)
            if sd.low - _EDGE <= found <= sd.high + _EDGE:
                return True
    return False

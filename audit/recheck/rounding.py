"""Printed numbers as intervals: what a string of digits allows its number to be.

A number printed as "0.20" lies in [0.195, 0.205] and one printed as "0.2" in [0.15, 0.25]; a count or a fraction of
counts is exact. Every recomputation from printed numbers is interval arithmetic over these sets, so that a difference
is reported only when no numbers behind the printed digits could explain it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_DECIMAL = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")
_FRACTION = re.compile(r"(\d+)/(\d+)")

# Floating-point slack of one interval operation, relative; far below half a unit of any printed digit.
SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A closed interval of real numbers; an exact number has `low == high`. A printed number brings its name along."""

    low: float
    high: float
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"interval ends out of order: {self.low} > {self.high}")

    @property
    def exact(self) -> bool:
        """Whether the interval is a single number."""
        return self.low == self.high

    @property
    def middle(self) -> float:
        """The centre of the interval."""
        return self.low if self.exact else 0.5 * (self.low + self.high)

    @property
    def shown(self) -> str:
        """The centre, with the name of the printed number it is."""
        return f"{self.middle:g}" + (f" ({self.name})" if self.name else "")

    def __add__(self, other: Enclosure) -> Enclosure:
        return Enclosure(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Enclosure) -> Enclosure:
        return Enclosure(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Enclosure) -> Enclosure:
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure(min(corners), max(corners))

    def __truediv__(self, other: Enclosure) -> Enclosure:
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"the divisor [{other.low}, {other.high}] contains zero")
        corners = [a / b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure(min(corners), max(corners))

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.high, -self.low)

    def map(self, function: Callable[[float], float]) -> Enclosure:
        """The image of the interval under a monotone function."""
        ends = (function(self.low), function(self.high))
        return Enclosure(min(ends), max(ends))

    def inside(self, other: Enclosure) -> bool:
        """Whether every number of this interval lies in the other one, up to floating-point slack."""
        slack = SLACK * max(abs(other.low), abs(other.high))
        return self.low >= other.low - slack and self.high <= other.high + slack

    def meets(self, other: Enclosure) -> bool:
        """Whether one number can lie in both.

        A single number may lie on the edge of a rounding interval, since ties round either way. Two rounding
        intervals that share nothing but an edge do not meet: one number rounds to one string.
        """
        slack = SLACK * max(abs(self.low), abs(self.high), abs(other.low), abs(other.high))
        overlap = min(self.high, other.high) - max(self.low, other.low)
        if self.exact or other.exact:
            return overlap >= -slack
        return overlap > slack


def exactly(value: float) -> Enclosure:
    """The interval that holds one number."""
    return Enclosure(float(value), float(value))


def hull(parts: Iterable[Enclosure]) -> Enclosure:
    """The smallest interval that holds all the parts."""
    kept = list(parts)
    return Enclosure(min(p.low for p in kept), max(p.high for p in kept))


def counts_of(printed: str) -> tuple[int, int] | None:
    """The two counts of a printed "k/n", unreduced, or None for another form."""
    match = _FRACTION.fullmatch(printed)
    return None if match is None else (int(match[1]), int(match[2]))


def parse_printed(
    printed: str, *, exact: bool = False, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Enclosure:
    """The interval of numbers that print as the string.

    Args:
        printed: digits as printed ("0.20", "5.96e-8", "-1.536", "12"), or a fraction of counts ("6/7"), always exact.
        exact: the number is a count or a declared constant and has no rounding.
        bounds: the range the quantity lives in; a probability printed as "1.000" is not above one.
    """
    counts = counts_of(printed)
    if counts is not None:
        return exactly(counts[0] / counts[1]) if counts[1] else Enclosure(-math.inf, math.inf)
    if not _DECIMAL.fullmatch(printed):
        raise UsageError(
            f"not a printed number: {printed!r}",
            hint="digits such as 0.20, 5.96e-8 or -1.5, or a fraction of counts such as 6/7",
        )
    number = Decimal(printed)
    if exact:
        return exactly(float(number))
    half_unit = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
    low, high = float(number - half_unit), float(number + half_unit)
    if low > bounds[1] or high < bounds[0]:  # impossible, and for the caller to say so: the digits stay as they are
        return Enclosure(low, high)
    return Enclosure(max(low, bounds[0]), min(high, bounds[1]))

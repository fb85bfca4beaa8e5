"""What the recheck is about: printed numbers, checks on them, and the publication that holds both."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orledger.audit.recheck.rounding import Interval, fraction_of, parse_printed
from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Published:
    """One printed number: its digits, where it stands, what it is, and the interval its digits allow."""

    id: str
    place: str
    table: str | None
    row: str | None
    column: str | None
    kind: str
    printed: str
    interval: Interval | None
    meaning: str
    case: str | None = None
    metric: str | None = None
    arm: str | None = None
    exact: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def value(self) -> float | None:
        """The number as printed; None for a claim in words."""
        fraction = fraction_of(self.printed)
        return None if self.interval is None else float(self.printed if fraction is None else fraction)


@dataclass(frozen=True, slots=True)
class Check:
    """One recomputation: the target's id, a rule by name, its operands, and other conventions to try after it."""

    target: str
    rule: str
    arguments: Mapping[str, Any]
    source: str
    convention: str = ""
    alternatives: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Publication:
    """Every transcribed number by id, and every check."""

    numbers: Mapping[str, Published]
    checks: tuple[Check, ...]

    def with_printed(self, number: str, printed: str) -> Publication:
        """The same publication with other digits in one place; what the checks say about it shows their power."""
        old = self.numbers[number]
        interval = None if old.kind == "claim" else parse_printed(printed, exact=old.exact, bounds=old.bounds)
        changed = replace(old, printed=printed, interval=interval)
        return replace(self, numbers={**self.numbers, number: changed})


def malformed(file: str, entry: str, key: str, seen: object, expected: str) -> UsageError:
    """The error for an entry that cannot be used: file, entry, key, value seen, value expected."""
    return UsageError(f"{file}: {entry}: key {key!r}: {seen!r} is not usable", hint=f"expected {expected}")

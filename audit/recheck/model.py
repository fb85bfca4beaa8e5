"""What the recheck is about: printed numbers, checks on them, and the publication that holds both."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from orledger.audit.recheck.rounding import Enclosure, counts_of, parse_printed
from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


class CheckVerdict(StrEnum):
    """What a check says about a printed number or statement, from good to bad."""

    MATCHES = "matches"
    WITHIN_ROUNDING = "matches within rounding"
    ATTAINABLE = "attainable"
    CONVENTION = "another convention"
    UNCHECKED = "could not be checked"
    FALSE = "false as printed"
    INCONSISTENT = "inconsistent"
    IMPOSSIBLE = "impossible"

    @property
    def good(self) -> bool:
        """Whether nothing is left to explain."""
        return self in (CheckVerdict.MATCHES, CheckVerdict.WITHIN_ROUNDING, CheckVerdict.ATTAINABLE)

    @property
    def meaning(self) -> str:
        """What the verdict says, for readers of a page."""
        return _MEANINGS[self]

    @property
    def severity(self) -> int:
        """How bad the verdict is by itself, from 0 to 4."""
        return {CheckVerdict.CONVENTION: 1, CheckVerdict.UNCHECKED: 2, CheckVerdict.FALSE: 3}.get(
            self, 0 if self.good else 4
        )


_MEANINGS = {
    CheckVerdict.MATCHES: "What follows from the other numbers prints like this.",
    CheckVerdict.WITHIN_ROUNDING: "The digits of the other numbers allow this one, and others near it.",
    CheckVerdict.ATTAINABLE: "One of the values that a sample or a design of this size can give.",
    CheckVerdict.CONVENTION: "Fits a usual reading that is not the stated or the first one: one-sided, a normal approximation, digits cut off, some answers missing.",
    CheckVerdict.UNCHECKED: "The printed digits do not allow this check.",
    CheckVerdict.FALSE: "What the text states does not hold; the line says how it would have to be read to be true.",
    CheckVerdict.INCONSISTENT: "No reading that was tried fits.",
    CheckVerdict.IMPOSSIBLE: "No data of that size give the number.",
}


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
    interval: Enclosure | None
    meaning: str
    case: str | None = None
    metric: str | None = None
    arm: str | None = None
    exact: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)
    line: int | None = None

    @property
    def impossible(self) -> str:
        """Why no quantity of this kind can print like this; empty when one can."""
        counts = counts_of(self.printed)
        if counts is not None and counts[1] == 0:
            return "a share of none"
        if counts is not None and counts[0] > counts[1] and self.kind not in ("ratio", "value"):
            return f"{counts[0]} of {counts[1]} is more than all of them"
        if self.interval is not None and (self.interval.low > self.bounds[1] or self.interval.high < self.bounds[0]):
            return f"outside the range {self.bounds[0]:g} to {self.bounds[1]:g} of its quantity"
        return ""

    @property
    def value(self) -> float | None:
        """The number as printed; None for a claim in words."""
        if self.interval is None:
            return None
        return self.interval.middle if self.exact else float(self.printed)


@dataclass(frozen=True, slots=True)
class Check:
    """One recomputation: the target's id, a rule by name, its operands, and other readings to try after it.

    `stated` says that the text states the reading of this rule; when it does not fit, other readings explain and do
    not excuse. `cause` names what several failing checks have in common; by default they share their entry.
    """

    target: str
    rule: str
    arguments: Mapping[str, Any]
    source: str
    convention: str = ""
    alternatives: tuple[Check, ...] = ()
    stated: bool = True
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Publication:
    """Every transcribed number by id, every check, and words of sentences that no check reads, each with the reason."""

    numbers: Mapping[str, Published]
    checks: tuple[Check, ...]
    uncovered: tuple[tuple[str, str], ...] = ()

    def with_printed(self, number: str, printed: str) -> Publication:
        """The same publication with other digits in one place; what the checks say about it shows their power."""
        old = self.numbers[number]
        interval = None if old.kind == "claim" else parse_printed(printed, exact=old.exact, bounds=old.bounds)
        changed = replace(old, printed=printed, interval=interval)
        return replace(self, numbers={**self.numbers, number: changed})


def malformed(file: str, entry: str, key: str, seen: object, expected: str) -> UsageError:
    """The error for an entry that cannot be used: file, entry, key, value seen, value expected."""
    return UsageError(f"{file}: {entry}: key {key!r}: {seen!r} is not usable", hint=f"expected {expected}")

"""What a recheck would notice: every printed number changed by one digit, one at a time.

The share of changes that some check answers with a worse verdict is the power of the checks, table by table; a number that no
check reads is named, since no change of it can be noticed. Why the others go unnoticed is said by the kind of relation they
stand in: a number that follows from others is pinned to their digits, one that is only bounded by others is not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.checking import NamedCheck, evaluate, named_checks
from orledger.audit.recheck.relations import Relation, annotated_relations
from orledger.audit.recheck.rules import operand_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from orledger.audit.recheck.model import Publication


@dataclass(frozen=True, slots=True)
class Power:
    """How many numbers a place has, how many some check reads, and how many one-digit changes are noticed.

    `last` and `last_noticed` count the changes of the last digit alone; `bare` are the numbers that no check reads, `loose`
    those that some check reads and none of whose changes is noticed.
    """

    place: str
    numbers: int
    read: int
    changes: int
    noticed: int
    last: int
    last_noticed: int
    bare: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Share of one-digit changes noticed."""
        return self.noticed / self.changes if self.changes else float("nan")

    @property
    def last_share(self) -> float:
        """Share of changes of the last digit noticed."""
        return self.last_noticed / self.last if self.last else float("nan")


def changes(printed: str) -> Iterator[tuple[str, bool]]:
    """The string with one digit one up or one down, and whether it was the last digit of its mantissa.

    Nine goes down alone and zero goes up alone: a carry would change two digits. Exponents are left as they are.
    """
    mantissa = re.split(r"[eE×·]|\s*\*", printed, maxsplit=1)[0]
    positions = [i for i, char in enumerate(mantissa) if char.isdigit()]
    for i in positions:
        digit = int(printed[i])
        for new in (digit - 1, digit + 1):
            if 0 <= new <= 9:
                yield printed[:i] + str(new) + printed[i + 1 :], i == positions[-1]


def whole(parts: Sequence[Power], place: str = "all") -> Power:
    """The power over several places together."""
    return Power(
        place,
        numbers=sum(p.numbers for p in parts),
        read=sum(p.read for p in parts),
        changes=sum(p.changes for p in parts),
        noticed=sum(p.noticed for p in parts),
        last=sum(p.last for p in parts),
        last_noticed=sum(p.last_noticed for p in parts),
        bare=tuple(name for p in parts for name in p.bare),
        loose=tuple(name for p in parts for name in p.loose),
    )


@dataclass(frozen=True, slots=True)
class DigitChange:
    """One digit of a number one up or down: whether it was the last one, and whether some check noticed."""

    last: bool
    noticed: bool


@dataclass(frozen=True, slots=True)
class Tried:
    """A number whose digits were changed: its place, its name, the relation it stands in, and the changes."""

    place: str
    name: str
    relation: Relation
    changes: tuple[DigitChange, ...]

    @property
    def read(self) -> bool:
        """Whether some check reads the number."""
        return self.relation is not Relation.NONE


def by_place(numbers: Iterable[Tried]) -> list[Power]:
    """The power at every place, in the order in which the places appear."""
    return _by(numbers, lambda one: one.place)


def by_relation(numbers: Sequence[Tried]) -> list[Power]:
    """The power over the numbers in each kind of relation, the tightest first; the names are those of the kinds."""
    found = {part.place: part for part in _by(numbers, lambda one: one.relation.value)}
    return [found[kind.value] for kind in Relation if kind.value in found]


def ceiling(parts: Sequence[Power]) -> tuple[float, float]:
    """The power, and that of the last digit, if every number that others determine were pinned to its last digit.

    What is only bounded stays as it is noticed now. `parts` come from `by_relation`.
    """
    every = whole(parts)
    free = [p for p in parts if p.place in (Relation.BOUNDED.value, Relation.NONE.value)]
    missed = sum(p.changes - p.noticed for p in free)
    last_missed = sum(p.last - p.last_noticed for p in free)
    nothing = float("nan")
    return (
        1 - missed / every.changes if every.changes else nothing,
        1 - last_missed / every.last if every.last else nothing,
    )


def _by(numbers: Iterable[Tried], key: Callable[[Tried], str]) -> list[Power]:
    places: dict[str, list[Tried]] = defaultdict(list)
    for one in numbers:
        places[key(one)].append(one)
    return [
        Power(
            place,
            numbers=len(members),
            read=sum(m.read for m in members),
            changes=sum(len(m.changes) for m in members),
            noticed=sum(c.noticed for m in members for c in m.changes),
            last=sum(c.last for m in members for c in m.changes),
            last_noticed=sum(c.last and c.noticed for m in members for c in m.changes),
            bare=tuple(m.name for m in members if not m.read),
            loose=tuple(m.name for m in members if m.read and not any(c.noticed for c in m.changes)),
        )
        for place, members in places.items()
    ]


def annotated_changes(publication: Publication) -> Iterator[Tried]:
    """Every annotated number with its changes, judged by the annotated checks; claims in words have no digits to change."""
    relations = annotated_relations(publication)
    named = named_checks(publication)
    before = {n.name: evaluate(n, publication.numbers).verdict.severity for n in named}
    readers: dict[str, list[NamedCheck]] = defaultdict(list)
    for n in named:
        for name in dict.fromkeys((n.check.target, *operand_ids(n.check))):
            readers[name].append(n)
    for name, number in publication.numbers.items():
        if number.kind == "claim":
            continue
        tried = []
        for printed, last in changes(number.printed):
            changed = publication.with_printed(name, printed)
            worse = bool(changed.numbers[name].impossible) or any(
                not (found := evaluate(n, changed.numbers)).verdict.good and found.verdict.severity > before[n.name]
                for n in readers.get(name, ())
            )
            tried.append(DigitChange(last, worse))
        place = (number.table or name.partition("/")[0]).split("_")[0]
        yield Tried(place, name, relations.get(name, Relation.NONE), tuple(tried))

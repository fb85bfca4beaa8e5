"""What a recheck would notice: every printed number changed by one digit, one at a time.

The share of changes that some check answers with a worse verdict is the power of the checks, table by table; a number that no
check reads is named, since no change of it can be noticed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.checking import by_check, recheck_document
from orledger.audit.recheck.checking import NamedCheck, evaluate, named_checks
from orledger.audit.recheck.inventory import Instance, instances, reached
from orledger.audit.recheck.reading.numbers import normal
from orledger.audit.recheck.rules import operand_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.model import Publication
    from orledger.audit.recheck.reading.document import Document, Grid, Sentence


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
class Change:
    """One digit of a number one up or down: whether it was the last one, and whether some check noticed."""

    last: bool
    noticed: bool


@dataclass(frozen=True, slots=True)
class Tried:
    """A number whose digits were changed: its place, its name, whether some check reads it, and the changes."""

    place: str
    name: str
    read: bool
    changes: tuple[Change, ...]


def by_place(numbers: Iterable[Tried]) -> list[Power]:
    """The power at every place, in the order in which the places appear."""
    places: dict[str, list[Tried]] = defaultdict(list)
    for one in numbers:
        places[one.place].append(one)
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


def annotated_power(publication: Publication) -> list[Power]:
    """The power of the annotated checks, by table and by paragraph file; claims in words have no digits to change."""
    return by_place(annotated_changes(publication))


def annotated_changes(publication: Publication) -> Iterator[Tried]:
    """Every annotated number with its changes, judged by the annotated checks."""
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
            tried.append(Change(last, worse))
        place = (number.table or name.partition("/")[0]).split("_")[0]
        yield Tried(place, name, name in readers, tuple(tried))


def document_power(document: Document) -> list[Power]:
    """The power of the checks that need no annotation, by table and by section."""
    return by_place(tried for _, tried in document_changes(document))


def document_changes(document: Document) -> Iterator[tuple[Instance, Tried]]:
    """Every number of a document with its changes, judged by the checks that need no annotation.

    A change is judged by the checks that read its number, over the sentences and tables that these relate it to.
    """
    baseline = by_check(document)
    reading: dict[str, set[str]] = defaultdict(set)
    for name, found in baseline.items():
        for one in reached(found):
            reading[one].add(name)
    near = _neighbours(document, [f for found in baseline.values() for f in found])
    quiet: dict[tuple[tuple[str, int], frozenset[str]], set[tuple[str, str]]] = {}
    for instance in instances(document):
        names = frozenset(reading.get(instance.id, ()))
        key = (instance.group, names)
        if key not in quiet:
            quiet[key] = _bad(recheck_document(_part(document, instance.group, near, None, ""), names))
        tried = []
        for printed, last in changes(_digits(instance)):
            noticed = False
            if names:  # what no relation reads cannot be noticed
                part = _part(document, instance.group, near, instance, printed)
                noticed = bool(_bad(recheck_document(part, names)) - quiet[key])
            tried.append(Change(last, noticed))
        where = f"{instance.file}:{instance.line}: {instance.number.text}"
        yield instance, Tried(instance.section, where, bool(names), tuple(tried))


def _bad(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(f.id, f.verdict.value) for f in findings if not f.verdict.good}


def _digits(instance: Instance) -> str:
    return instance.number.text.lstrip("<>=≤≥≈~ ")


def _neighbours(document: Document, findings: Sequence[Finding]) -> dict[tuple[str, int], set[tuple[str, int]]]:
    """Which sentences and tables share a relation, so that a change can be judged without the rest of the paper."""
    home = {instance.id: instance.group for instance in instances(document)}
    near: dict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    for finding in findings:
        groups = {home[o] for o in finding.operands if o in home}
        for group in groups:
            near[group] |= groups
    return near


def _part(
    document: Document,
    group: tuple[str, int],
    near: dict[tuple[str, int], set[tuple[str, int]]],
    instance: Instance | None,
    printed: str,
) -> Document:
    """The sentence or table of a number and its neighbours, with other digits in one place."""
    wanted = sorted(near.get(group, set()) | {group})
    sentences = []
    grids = []
    for kind, k in wanted:
        here = instance is not None and (kind, k) == group
        if kind == "sentence":
            sentences.append(
                _changed_sentence(document.sentences[k], instance, printed)
                if here and instance
                else document.sentences[k]
            )
        else:
            grids.append(
                _changed_grid(document.grids[k], instance, printed) if here and instance else document.grids[k]
            )
    return replace(document, sentences=tuple(sentences), grids=tuple(grids))


def _changed_sentence(sentence: Sentence, instance: Instance, printed: str) -> Sentence:
    text = normal(sentence.text)
    end = instance.number.end
    start = end - len(_digits(instance))
    while start > 0 and text[start:end].strip() != _digits(instance).strip() and end - start < 40:
        start -= 1
    return replace(sentence, text=text[:start] + printed + text[end:])


def _changed_grid(grid: Grid, instance: Instance, printed: str) -> Grid:
    i, j = instance.position
    cell = grid.rows[i][j]
    text = normal(cell.text)
    end = instance.number.end
    start = end - len(_digits(instance))
    row = list(grid.rows[i])
    row[j] = replace(cell, text=text[:start] + printed + text[end:])
    rows = list(grid.rows)
    rows[i] = tuple(row)
    return replace(grid, rows=tuple(rows))

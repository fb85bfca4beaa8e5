"""The Table object: typed cells in rows and columns, a caption from the same numbers, and where all of it came from."""

from __future__ import annotations

import string
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from orledger.errors import OrledgerError
from orledger.reports.tables.values import Absent, Join, Text, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


# What the marks in cells say; the line is written under a table that uses the mark.
MARKS = {
    "†": "the smallest p that the test can give with these zeros and this n.",
    "‡": "too few units for the level asked for: the interval reaches a lower one.",
    "§": "untestable: the smallest p that this test can give, after any correction that the audit declares, is above its level.",
}


class TableError(OrledgerError):
    """A table that was put together wrongly: a defect of the module that built it."""


@dataclass(frozen=True)
class Column:
    """A column: its key (stable, used for macros and CSV headers), what stands above it, and its alignment.

    ``align`` is ``l``, ``c``, ``r``, or a width in inches for a column of wrapped text. ``arm`` is the arm that the column
    is about, in a table whose other columns are about other arms.
    """

    key: str
    header: Value
    align: str | float = "c"
    arm: str | None = None

    @property
    def side(self) -> str:
        """Where its cells stand: left, center or right; wrapped text stands left."""
        return {"c": "center", "r": "right"}.get(str(self.align), "left")


def columns(align: str | float, *keys: str) -> tuple[Column, ...]:
    """Columns of one alignment, each under its own key."""
    return tuple(Column(key, Text(key), align) for key in keys)


def arm_columns(first: Column, arms: Iterable[tuple[str, str]]) -> tuple[Column, ...]:
    """``first``, and a column for each of ``arms`` (its name, and the name for people) whose key is the name, wherever it stands."""
    found = tuple(Column(arm, Text(label), "r", arm) for arm, label in arms)
    key = first.key
    while key in {c.key for c in found}:
        key += "_"
    return (replace(first, key=key), *found)


@dataclass(frozen=True)
class Span:
    """A header over ``width`` columns starting at column ``start`` (0-based), with a rule under it."""

    start: int
    width: int
    header: Value


@dataclass(frozen=True)
class Row:
    """One row: a key that is unique in the table, and one cell per column."""

    key: str
    cells: tuple[Value, ...]


@dataclass(frozen=True)
class Group:
    """Rows that belong together, under an optional heading; groups are separated by a rule."""

    rows: tuple[Row, ...]
    heading: Value | None = None


@dataclass(frozen=True)
class PrintSize:
    """How the table fits a 5.5-inch text width in print: font size and half the space between columns, in points."""

    size: str = "footnotesize"
    separation: float = 4.0


TIGHT = PrintSize("scriptsize", 2.5)  # for a table that is too wide in the usual print


@dataclass(frozen=True)
class Table:
    """A finished table. Frozen: writers render it and change nothing.

    ``quotes`` are further named numbers that belong to the table (caption, prose); ``queries`` the SQL that gave the rows;
    ``notes`` say what is missing, refused or planned and absent; ``database`` is the content hash of the database.
    """

    caption: Value
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    spans: tuple[Span, ...] = ()
    notes: tuple[Value, ...] = ()
    quotes: Mapping[str, Value] = field(default_factory=dict)
    queries: tuple[str, ...] = ()
    database: str = ""
    layout: PrintSize = PrintSize()
    name: str = ""  # the table's declaration gives both where the table itself does not
    title: str = ""
    declared: bool = False  # by a study file: names from data are the keys of its rows and columns
    generic: bool = False  # made for any study: its name is one for files, and readers are told its title

    @property
    def called(self) -> str:
        """What a caption begins with: the name that the study gave it, or the title of a generic table."""
        return self.title if self.generic else self.name

    @property
    def heading(self) -> str:
        """Name and title for a list or a heading; the title alone of a generic table."""
        return self.title if self.generic else f"{self.name}. {self.title}"

    def __post_init__(self) -> None:
        width, seen = len(self.columns), set()
        for row in self.rows():
            if len(row.cells) != width:
                raise TableError(f"table {self.name}: row {row.key!r} has {len(row.cells)} cells for {width} columns")
            if row.key in seen:
                raise TableError(f"table {self.name}: row key {row.key!r} occurs twice")
            seen.add(row.key)
        if len({c.key for c in self.columns}) != width:
            raise TableError(f"table {self.name}: two columns share a key")

    def rows(self) -> Iterator[Row]:
        """All rows in order, across groups."""
        for group in self.groups:
            yield from group.rows

    def values(self) -> Iterator[Value]:
        """Every value that is printed, caption and notes included."""
        yield self.caption
        for group in self.groups:
            if group.heading is not None:
                yield group.heading
            for row in group.rows:
                yield from row.cells
        yield from self.notes

    def over(self) -> Iterator[Span | None]:
        """What stands over the columns, from left to right: spans, and None over each column without one."""
        at = 0
        for span in sorted(self.spans, key=lambda s: s.start):
            yield from [None] * (span.start - at)
            yield span
            at = span.start + span.width
        yield from [None] * (len(self.columns) - at)

    def absences(self) -> dict[str, str]:
        """Reasons for absent cells and the letters that mark them, in order of appearance."""
        reasons: dict[str, str] = {}
        for row in self.rows():
            for cell in row.cells:
                for token in cell.tokens():
                    if token.kind == "absent" and token.text not in reasons:
                        reasons[token.text] = _letters(len(reasons))
        return reasons

    def footnotes(self) -> tuple[Value, ...]:
        """The lines under the table: what is missing, then the reasons of absent cells, then the dagger."""
        lines = list(self.notes)
        absences = self.absences()
        if absences:
            parts: list[Value | str] = ["Not shown: "]
            for i, (reason, mark) in enumerate(absences.items()):
                parts += [Text(mark, italic=True), f" {reason}" + ("; " if i + 1 < len(absences) else ".")]
            lines.append(Join(tuple(parts)))
        used = {token.text for value in self.values() for token in value.tokens() if token.kind == "mark"}
        lines += [Text(f"{mark} {words}") for mark, words in MARKS.items() if mark in used]
        return tuple(lines)


def _letters(index: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    letters = string.ascii_lowercase
    return letters[index] if index < 26 else letters[index // 26 - 1] + letters[index % 26]


def empty(name: str, title: str, reason: str, **provenance: object) -> Table:
    """A table that could not be built, which says why instead of failing."""
    return Table(
        name=name,
        title=title,
        caption=Text(f"{title}. Nothing to show: {reason}."),
        columns=(Column("state", Text("state"), "l"),),
        groups=(Group((Row("absent", (Absent(reason),)),)),),
        **provenance,  # type: ignore[arg-type]
    )

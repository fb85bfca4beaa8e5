"""Ours beside what a publication prints: every table cell that both have, with the interval that the printed digits leave."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orledger.audit.recheck.model import Publication, Published
    from orledger.reports.tables.table import Table
    from orledger.study import Reason, Study

AGREE = "within the printed rounding"
CLOSE = "within 10 %"
SAME_SIZE = "within a factor of two"
APART = "differs"
ABSENT = "absent here"
VERDICTS = (AGREE, CLOSE, SAME_SIZE, APART, ABSENT)
FARTHEST = 3  # differences that a table's line names


@dataclass(frozen=True)
class Difference:
    """One printed number and ours; ``ours`` is None when the database has no such number."""

    table: str
    row: str
    column: str
    printed: str
    value: float
    ours: float | None
    ratio: float | None
    verdict: str


@dataclass(frozen=True)
class TableLine:
    """How one table compares with the printed one: counts by verdict, the cells farthest apart, and the numbers of known reasons."""

    name: str
    title: str
    counts: Mapping[str, int]
    total: int
    farthest: tuple[Difference, ...]
    reasons: tuple[int, ...]


def verdict(low: float, high: float, value: float, ours: float) -> str:
    """How far ``ours`` is from a printed number whose true value lies in [low, high]."""
    slack = 1e-9 * max(abs(low), abs(high))
    if low - slack <= ours <= high + slack:
        return AGREE
    scale = max(abs(value), abs(ours))
    if abs(ours - value) <= 0.1 * scale:
        return CLOSE
    return SAME_SIZE if value * ours > 0 and scale <= 2 * min(abs(value), abs(ours)) else APART


@dataclass(frozen=True)
class Conclusion:
    """What a publication concludes about one hypothesis: its verdict, and a paraphrase."""

    verdict: str
    words: str


@dataclass(frozen=True)
class Printed:
    """What a publication of a study prints, and how it is set beside ours.

    ``publication`` holds the numbers and the checks on them. ``matching`` says how its rows and columns are called in our
    tables. ``quoted`` are columns (table, column) in which our table shows the publication's own values. ``preset`` is the
    one that follows its protocol: of others no number can be expected to agree.
    """

    publication: Publication
    matching: Mapping[str, Any]
    conclusions: Mapping[str, Conclusion]
    reasons: tuple[Reason, ...] = ()
    quoted: frozenset[tuple[str, str]] = frozenset()
    preset: str = ""

    def names(self, table: str, row: str, column: str) -> tuple[str, str]:
        """Our names for a row and a column of the publication's ``table``."""
        rules = self.matching.get(table, {})
        words = self.matching.get("words", {})
        row, column = (" ".join(words.get(word, word) for word in text.split()) for text in (row, column))
        row = rules.get("rows", {}).get(row, rules.get("row", "{}").format(row))
        row, _, part = row.partition(" > ")  # a printed row that is a part of our cell
        column = rules.get("columns", {}).get(column, column)
        return row, f"{column}.{part}" if part else column


def printed_by(chosen: Iterable[Study]) -> Printed | None:
    """The printed numbers of the first of ``chosen`` studies that brings some; None when none does."""
    return next((p for s in chosen if isinstance(p := s.part("printed"), Printed)), None)


def numbers_of(table: Table) -> dict[tuple[str, str], float]:
    """Every number of a table by row and column; a further number of a cell has the name of its part after a dot."""
    found: dict[tuple[str, str], float] = {}
    for row in table.rows():
        for column, cell in zip(table.columns, row.cells, strict=True):
            for part, scalar in cell.fields().items():
                if isinstance(scalar, (int, float)) and not isinstance(scalar, bool) and math.isfinite(scalar):
                    found[row.key, column.key if not part else f"{column.key}.{part}"] = float(scalar)
    return found


def _ours(printed: Printed, entry: Published, numbers: Mapping[tuple[str, str], float]) -> float | None:
    row, column = printed.names(entry.table or "", entry.row or "", entry.column or "")
    if (row, column) not in numbers:  # row keys may end in a size that the printed ones do not, as in "diabetes iid 88"
        longer = [
            r for r, c in numbers if c == column and r.startswith(f"{row} ") and r.removeprefix(f"{row} ").isdigit()
        ]
        if len(longer) != 1:
            return None
        row = longer[0]
    value = numbers[row, column]
    of = numbers.get((row, f"{column}.of"))
    return value / of if of and "/" in entry.printed else value


def differences(tables: Sequence[Table], printed: Printed) -> list[Difference]:
    """All cells of the printed tables beside ours, in the order of the publication."""
    numbers = {t.name: numbers_of(t) for t in tables}
    found = []
    for entry in printed.publication.numbers.values():
        if entry.table not in numbers or entry.row is None or entry.column is None:
            continue
        value, interval = entry.value, entry.interval
        if value is None or interval is None or (entry.table, entry.column) in printed.quoted:
            continue
        ours = _ours(printed, entry, numbers[entry.table])
        word = ABSENT if ours is None else verdict(interval.low, interval.high, value, ours)
        ratio = ours / value if ours is not None and value else None
        found.append(Difference(entry.table, entry.row, entry.column, entry.printed, value, ours, ratio, word))
    return found


def table_lines(found: Sequence[Difference], tables: Sequence[Table], printed: Printed) -> list[TableLine]:
    """One line per table that has printed counterparts, in the order of the tables."""
    lines = []
    for name, title in ((t.name, t.title) for t in tables):
        mine = [d for d in found if d.table == name and d.verdict != ABSENT]
        if not mine:
            continue
        apart = sorted(
            (d for d in mine if d.ratio is not None and d.ratio > 0 and d.verdict != AGREE),
            key=lambda d: -max(d.ratio or 1, 1 / (d.ratio or 1)),
        )
        known = tuple(reason.number for reason in printed.reasons if name in reason.tables)
        lines.append(
            TableLine(name, title, Counter(d.verdict for d in mine), len(mine), tuple(apart[:FARTHEST]), known)
        )
    return lines

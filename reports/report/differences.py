"""Ours beside the paper's: every table cell that both have, with the interval that the printed digits leave."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from orledger.paper.conclusions import reasons
from orledger.paper.published import publication as shipped
from orledger.reports.tables.building import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.audit.recheck.model import Publication, Published
    from orledger.reports.tables.table import Table

AGREE = "within the printed rounding"
CLOSE = "within 10 %"
SAME_SIZE = "within a factor of two"
APART = "differs"
ABSENT = "absent here"
VERDICTS = (AGREE, CLOSE, SAME_SIZE, APART, ABSENT)
FARTHEST = 3  # differences that a table's line names
SHOWN_NOT_MEASURED = {("Bgapsurv", "single")}  # the paper's own single-seed values, which our table quotes


@dataclass(frozen=True)
class Difference:
    """One number of the paper and ours; ``ours`` is None when the database has no such number."""

    table: str
    row: str
    column: str
    printed: str
    paper: float
    ours: float | None
    ratio: float | None
    verdict: str


@dataclass(frozen=True)
class TableLine:
    """How one table compares with the paper's: counts by verdict, the cells farthest apart, and the numbers of known reasons."""

    name: str
    title: str
    counts: Mapping[str, int]
    total: int
    farthest: tuple[Difference, ...]
    reasons: tuple[int, ...]


def verdict(low: float, high: float, paper: float, ours: float) -> str:
    """How far ``ours`` is from a printed number whose true value lies in [low, high]."""
    slack = 1e-9 * max(abs(low), abs(high))
    if low - slack <= ours <= high + slack:
        return AGREE
    scale = max(abs(paper), abs(ours))
    if abs(ours - paper) <= 0.1 * scale:
        return CLOSE
    return SAME_SIZE if paper * ours > 0 and scale <= 2 * min(abs(paper), abs(ours)) else APART


@cache
def matching() -> Mapping[str, Any]:
    """How the paper's row and column names are called in our tables."""
    return tomllib.loads(files("orledger.paper").joinpath("matching.toml").read_text(encoding="utf-8"))


def names(table: str, row: str, column: str) -> tuple[str, str]:
    """Our names for a row and a column of the paper's ``table``."""
    rules = matching().get(table, {})
    words = matching()["words"]
    row, column = (" ".join(words.get(word, word) for word in text.split()) for text in (row, column))
    row = rules.get("rows", {}).get(row, rules.get("row", "{}").format(row))
    row, _, part = row.partition(" > ")  # a row of the paper that is a part of our cell
    column = rules.get("columns", {}).get(column, column)
    return row, f"{column}.{part}" if part else column


def numbers_of(table: Table) -> dict[tuple[str, str], float]:
    """Every number of a table by row and column; a further number of a cell has the name of its part after a dot."""
    found: dict[tuple[str, str], float] = {}
    for row in table.rows():
        for column, cell in zip(table.columns, row.cells, strict=True):
            for part, scalar in cell.fields().items():
                if isinstance(scalar, (int, float)) and not isinstance(scalar, bool) and math.isfinite(scalar):
                    found[row.key, column.key if not part else f"{column.key}.{part}"] = float(scalar)
    return found


def _ours(entry: Published, numbers: Mapping[tuple[str, str], float]) -> float | None:
    row, column = names(entry.table or "", entry.row or "", entry.column or "")
    if (row, column) not in numbers:  # row keys may end in a size that the paper's do not, as in "diabetes iid 88"
        longer = [
            r for r, c in numbers if c == column and r.startswith(f"{row} ") and r.removeprefix(f"{row} ").isdigit()
        ]
        if len(longer) != 1:
            return None
        row = longer[0]
    value = numbers[row, column]
    of = numbers.get((row, f"{column}.of"))
    return value / of if of and "/" in entry.printed else value


def differences(tables: Sequence[Table], publication: Publication | None = None) -> list[Difference]:
    """All cells of the paper's tables beside ours, in the order of the publication (by default the one that ships)."""
    numbers = {t.name: numbers_of(t) for t in tables}
    found = []
    for entry in (shipped() if publication is None else publication).numbers.values():
        if entry.table not in numbers or entry.row is None or entry.column is None:
            continue
        paper, interval = entry.value, entry.interval
        if paper is None or interval is None or (entry.table, entry.column) in SHOWN_NOT_MEASURED:
            continue
        ours = _ours(entry, numbers[entry.table])
        word = ABSENT if ours is None else verdict(interval.low, interval.high, paper, ours)
        ratio = ours / paper if ours is not None and paper else None
        found.append(Difference(entry.table, entry.row, entry.column, entry.printed, paper, ours, ratio, word))
    return found


def table_lines(found: Sequence[Difference]) -> list[TableLine]:
    """One line per table that has counterparts in the paper, in the order of the tables."""
    lines = []
    for name, (_, _, title) in TABLES.items():
        mine = [d for d in found if d.table == name and d.verdict != ABSENT]
        if not mine:
            continue
        apart = sorted(
            (d for d in mine if d.ratio is not None and d.ratio > 0 and d.verdict != AGREE),
            key=lambda d: -max(d.ratio or 1, 1 / (d.ratio or 1)),
        )
        known = tuple(reason.number for reason in reasons() if name in reason.tables)
        lines.append(
            TableLine(name, title, Counter(d.verdict for d in mine), len(mine), tuple(apart[:FARTHEST]), known)
        )
    return lines

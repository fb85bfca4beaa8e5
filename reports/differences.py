"""Ours beside the paper's: every table cell that both have, with the interval that the printed digits leave."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck_data import load_publication

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.audit.recheck_data import Publication
    from orledger.reports.table import Table

AGREE = "within the printed rounding"
CLOSE = "within 10 %"
SAME_SIZE = "within a factor of two"
APART = "differs"
ABSENT = "absent here"
VERDICTS = (AGREE, CLOSE, SAME_SIZE, APART, ABSENT)


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


def norm(text: str) -> str:
    """A row or column name without case, spaces and punctuation, for matching the paper's labels with ours."""
    return re.sub(r"[^a-z0-9.<>=/+-]+", "", text.lower())


def verdict(low: float, high: float, paper: float, ours: float) -> str:
    """How far ``ours`` is from a printed number whose true value lies in [low, high]."""
    slack = 1e-9 * max(abs(low), abs(high))
    if low - slack <= ours <= high + slack:
        return AGREE
    scale = max(abs(paper), abs(ours))
    if scale and abs(ours - paper) <= 0.1 * scale:
        return CLOSE
    return SAME_SIZE if paper * ours > 0 and scale <= 2 * min(abs(paper), abs(ours)) else APART


def numbers_of(table: Table) -> dict[tuple[str, str], float]:
    """Every number of a table by (row, column), both normalised; a second number of a cell has its part after a dot."""
    found: dict[tuple[str, str], float] = {}
    for row in table.rows():
        for column, cell in zip(table.columns, row.cells, strict=True):
            for part, scalar in cell.fields().items():
                if isinstance(scalar, (int, float)) and not isinstance(scalar, bool) and math.isfinite(scalar):
                    name = column.key if not part else f"{column.key}.{part}"
                    found[norm(row.key), norm(name)] = float(scalar)
    return found


def _pairs(publication: Publication, tables: Sequence[Table]) -> Iterator[Difference]:
    ours = {t.name: numbers_of(t) for t in tables}
    for entry in publication.numbers.values():
        if (
            entry.table is None
            or entry.row is None
            or entry.column is None
            or entry.interval is None
            or entry.table not in ours
        ):
            continue
        key = norm(entry.row), norm(entry.column)
        found = ours[entry.table].get(key)
        paper = entry.value
        if paper is None:
            continue
        if found is None:
            yield Difference(entry.table, entry.row, entry.column, entry.printed, paper, None, None, ABSENT)
            continue
        ratio = found / paper if paper else None
        yield Difference(
            entry.table,
            entry.row,
            entry.column,
            entry.printed,
            paper,
            found,
            ratio,
            verdict(entry.interval.low, entry.interval.high, paper, found),
        )


def differences(tables: Sequence[Table], publication: Publication | None = None) -> list[Difference]:
    """All pairs of the paper's table cells and ours, in the order of the publication (by default the one that ships)."""
    return list(_pairs(load_publication() if publication is None else publication, tables))

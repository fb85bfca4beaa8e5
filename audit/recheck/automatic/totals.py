"""Totals: rows and columns that say they are the sum of the others."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.spots import in_cell
from orledger.audit.recheck.model import CheckVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid
    from orledger.audit.recheck.reading.numbers import PrintedNumber

_TOTAL = re.compile(r"^(?:grand |sub-?|row |column )?(?:total|sum)s?\b\W*$", re.IGNORECASE)
_MEANS = re.compile(r"mean|avg|average|median|rate|ratio|score|accuracy|%|share|percent|error|σ|sd\b", re.IGNORECASE)


def sums_to(parts: list[PrintedNumber], total: PrintedNumber) -> bool:
    """Whether numbers that print like the parts can add up to one that prints like the total; counts add up exactly."""
    if total.whole and all(p.whole for p in parts):
        return sum(int(p.value) for p in parts) == int(total.value)
    low, high = sum(p.interval.low for p in parts), sum(p.interval.high for p in parts)
    edge = 1e-9 * max(1.0, abs(total.value))
    return low <= total.interval.high + edge and high >= total.interval.low - edge


def _main(grid: Grid, row: int, column: int) -> PrintedNumber | None:
    cell = grid.rows[row][column] if column < len(grid.rows[row]) else None
    return cell.entry.main if cell is not None and cell.entry.form in ("plain", "paren") and not cell.repeated else None


def _mean_like(parts: list[tuple[tuple[int, int], PrintedNumber]], total: PrintedNumber) -> bool:
    """Whether a number lies between its parts as a mean does; a total of counts lies above them."""
    values = [p.value for _, p in parts]
    return total.percent or (min(values) <= total.value <= max(values) and not total.whole)


@dataclass(frozen=True, slots=True)
class Sum:
    """A cell called total and the cells that it is the sum of, each as row and column with its number."""

    total: tuple[tuple[int, int], PrintedNumber]
    parts: tuple[tuple[tuple[int, int], PrintedNumber], ...]

    @property
    def value(self) -> float:
        """The sum of the parts as printed."""
        return sum(n.value for _, n in self.parts)

    @property
    def words(self) -> str:
        """The parts as an addition."""
        return " + ".join(n.text for _, n in self.parts)

    @property
    def holds(self) -> bool:
        """Whether the printed total can be the sum."""
        return sums_to([n for _, n in self.parts], self.total[1])

    def needed(self, cell: tuple[int, int]) -> float | None:
        """What has to stand in a cell for the sum to hold; None for a cell that has no part in it."""
        if cell == self.total[0]:
            return self.value
        own = next((n.value for at, n in self.parts if at == cell), None)
        return None if own is None else self.total[1].value - self.value + own


def check_rows(document: Document) -> Iterator[Finding]:
    """Rows called total, against the rows above them up to the last such row."""
    for grid in document.grids:
        groups, across = _down(grid), _across(grid)
        for group in groups:
            yield from _judged(grid, group, [s for other in (*groups, *across) for s in other])


def check_columns(document: Document) -> Iterator[Finding]:
    """Columns called total, against the columns of numbers before them."""
    for grid in document.grids:
        groups, down = _across(grid), _down(grid)
        for group in groups:
            yield from _judged(grid, group, [s for other in (*down, *groups) for s in other])


def summed(grid: Grid, along: str) -> set[frozenset[int]]:
    """The columns, or rows, that are checked as a total and its parts, each with its total."""
    k = 1 if along == "column" else 0
    sums = [s for group in (_across(grid) if along == "column" else _down(grid)) for s in group]
    return {frozenset((s.total[0][k], *(at[k] for at, _ in s.parts))) for s in sums}


def _down(grid: Grid) -> list[list[Sum]]:
    """The sums of the rows called total, by row, where the word means a sum."""
    found, start = [], 0
    for i in range(len(grid.rows)):
        if not _TOTAL.match(grid.label(i)):
            continue
        rows = list(range(start, i))
        start = i + 1
        sums = []
        for j in range(1, grid.width):
            parts = [((r, j), m) for r in rows if (m := _main(grid, r, j)) is not None]
            total = _main(grid, i, j)
            if total is not None and len(parts) >= 2 and len(parts) == len(rows) and not _mean_like(parts, total):
                sums.append(Sum(((i, j), total), tuple(parts)))
        found.append(sums)
    return [sums for sums in found if _meant(sums)]


def _across(grid: Grid) -> list[list[Sum]]:
    """The sums of the columns called total, by column, where the word means a sum."""
    found = []
    for j in range(2, grid.width):
        heading = grid.heading(j)
        if not _TOTAL.match(heading) and not _TOTAL.match(heading.split(" ")[-1] if heading else ""):
            continue
        sums = []
        for i in range(len(grid.rows)):
            parts = [
                ((i, k), m)
                for k in range(1, j)
                if (m := _main(grid, i, k)) is not None and not _MEANS.search(grid.heading(k))
            ]
            total = _main(grid, i, j)
            if total is not None and len(parts) >= 2:
                sums.append(Sum(((i, j), total), tuple(parts)))
        found.append(sums)
    return [sums for sums in found if _meant(sums)]


def _meant(sums: list[Sum]) -> bool:
    """Whether the word total means a sum: most of its cells are one."""
    fitting = sum(s.holds for s in sums)
    return fitting > 0 and 2 * fitting >= len(sums)


def _to_blame(broken: Sum, others: list[Sum]) -> tuple[tuple[int, int], float] | None:
    """The one cell, and its number, that would mend this sum and another broken one that it stands in as well."""
    wrong = [s for s in others if not s.holds and s != broken]
    for cell in (broken.total[0], *(at for at, _ in broken.parts)):
        value = broken.needed(cell)
        both = [s for s in wrong if value is not None and (v := s.needed(cell)) is not None and math.isclose(v, value)]
        if both and value is not None and not any(s.holds and s.needed(cell) is not None for s in others):
            return cell, value
    return None


def _judged(grid: Grid, sums: list[Sum], everything: list[Sum]) -> Iterator[Finding]:
    """One finding per sum; where one cell would mend it and a sum of the other direction, at that cell."""
    for one in sums:
        blamed = None if one.holds else _to_blame(one, everything)
        at, value = (one.total[0], one.value) if blamed is None else blamed
        why = f"{one.words} = {one.value:g}"
        if blamed is not None:
            why += f", not {one.total[1].text}; {value:g} here makes this total right and the other one it stands in"
        yield in_cell(grid, *at).found(
            "total",
            CheckVerdict.MATCHES if one.holds else CheckVerdict.INCONSISTENT,
            why,
            recomputed=f"{value:g}",
            value=(value, value),
            operands=(grid.key(*one.total[0]), *(grid.key(*cell) for cell, _ in one.parts)),
        )

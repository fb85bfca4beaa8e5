"""Totals: rows and columns that say they are the sum of the others."""

from __future__ import annotations

import re
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


def _mean_like(parts: list[tuple[PrintedNumber, str]], total: PrintedNumber) -> bool:
    """Whether a number lies between its parts as a mean does; a total of counts lies above them."""
    values = [p.value for p, _ in parts]
    return total.percent or (min(values) <= total.value <= max(values) and not total.whole)


def check_rows(document: Document) -> Iterator[Finding]:
    """Rows called total, against the rows above them up to the last such row."""
    for grid in document.grids:
        start = 0
        for i in range(len(grid.rows)):
            if not _TOTAL.match(grid.label(i)):
                continue
            rows = list(range(start, i))
            start = i + 1
            columns = []
            for j in range(1, grid.width):
                parts = [(m, grid.key(r, j)) for r in rows if (m := _main(grid, r, j)) is not None]
                total = _main(grid, i, j)
                if total is not None and len(parts) >= 2 and len(parts) == len(rows) and not _mean_like(parts, total):
                    columns.append((j, parts, total))
            yield from _judged(grid, [(i, j, parts, total) for j, parts, total in columns])


def check_columns(document: Document) -> Iterator[Finding]:
    """Columns called total, against the columns of numbers before them."""
    for grid in document.grids:
        for j in range(2, grid.width):
            if not _TOTAL.match(grid.heading(j)) and not _TOTAL.match(
                grid.heading(j).split(" ")[-1] if grid.heading(j) else ""
            ):
                continue
            found = []
            for i in range(len(grid.rows)):
                parts = [
                    (m, grid.key(i, k))
                    for k in range(1, j)
                    if (m := _main(grid, i, k)) is not None and not _MEANS.search(grid.heading(k))
                ]
                total = _main(grid, i, j)
                if total is not None and len(parts) >= 2:
                    found.append((i, j, parts, total))
            yield from _judged(grid, found)


def _judged(
    grid: Grid, found: list[tuple[int, int, list[tuple[PrintedNumber, str]], PrintedNumber]]
) -> Iterator[Finding]:
    """Findings where the word total means a sum: most of its cells are one."""
    fitting = sum(sums_to([p for p, _ in parts], total) for _, _, parts, total in found)
    if not found or 2 * fitting < len(found) or fitting == 0:
        return
    for i, j, parts, total in found:
        value = sum(p.value for p, _ in parts)
        good = sums_to([p for p, _ in parts], total)
        words = " + ".join(p.text for p, _ in parts)
        yield in_cell(grid, i, j).found(
            "total",
            CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
            f"{words} = {value:g}",
            recomputed=f"{value:g}",
            value=(value, value),
            operands=(grid.key(i, j), *(key for _, key in parts)),
        )

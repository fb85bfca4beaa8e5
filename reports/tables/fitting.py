"""Generic tables on a printed page: long headings become numbers, long texts wrap, and what is too wide or too tall goes on.

Tables that a study declares are laid out by their author and stay as they are. Names of arms and units come from anybody's
file, and nobody has seen how long they are.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.reports.tables.render import plain
from orledger.reports.tables.table import Group, Table
from orledger.reports.tables.values import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.reports.tables.table import Column, Row

WIDTH = 5.5  # inches of text that a table may fill
LETTER = {"footnotesize": 0.061, "scriptsize": 0.053}  # inches of an average letter
NARROWEST = 1.0  # inches of a column of wrapped text
LINES = 52  # of a page; a caption and notes need the rest
CODES = 8  # letters of a character that LaTeX cannot set: [U+4E2D]


def fitted(t: Table) -> list[Table]:
    """The tables, one after the other, that show ``t`` in print; ``t`` itself unless it is generic and does not fit."""
    if not t.generic:
        return [t]
    numbered = _numbered(t) if sum(_widths(t)) > WIDTH else t
    wrapped = _wrapped(numbered)
    return [page for panel in _panels(wrapped) for page in _pages(panel)]


def _letters(text: str) -> int:
    """How many letters wide ``text`` is in LaTeX, which sets Latin, Greek, punctuation and signs; the rest is its code point."""
    return sum(1 if ord(c) < 0x400 or 0x2000 <= ord(c) < 0x2300 else CODES for c in text)


def _widths(t: Table) -> list[float]:
    """An estimate of the width of every column, in inches; of a wrapped one, the width it was given."""
    letter, gap = LETTER[t.layout.size], t.layout.separation / 36
    found = []
    for k, column in enumerate(t.columns):
        longest = max([_letters(plain(column.header)), *(_letters(plain(row.cells[k])) for row in t.rows())])
        found.append((longest * letter if isinstance(column.align, str) else column.align) + gap)
    return found


def _numbered(t: Table) -> Table:
    """``t`` with a number for every heading of an arm; rows that are these arms carry it too, or a note has the names."""
    names = {k: plain(c.header) for k, c in enumerate(t.columns) if c.key.startswith("arm ")}
    if not names:
        return t
    numbers = {name: number for number, name in enumerate(names.values(), 1)}
    columns = tuple(
        replace(c, header=Text(str(numbers[names[k]]))) if k in names else c for k, c in enumerate(t.columns)
    )
    if {plain(row.cells[0]) for row in t.rows()} == {*numbers}:
        return replace(
            t,
            columns=columns,
            groups=tuple(replace(g, rows=tuple(_with_number(r, numbers) for r in g.rows)) for g in t.groups),
        )
    key = Text("Columns: " + "; ".join(f"{number} {name}" for name, number in numbers.items()) + ".")
    return replace(t, columns=columns, notes=(key, *t.notes))


def _with_number(row: Row, numbers: dict[str, int]) -> Row:
    name = plain(row.cells[0])
    return replace(row, cells=(Text(f"{numbers[name]} {name}"), *row.cells[1:]))


def _wrapped(t: Table) -> Table:
    """``t`` with its columns of text as narrow as the page asks for."""
    widths, gap = _widths(t), t.layout.separation / 36
    texts = [k for k, c in enumerate(t.columns) if c.align == "l" or not isinstance(c.align, str)]
    left = WIDTH - sum(w for k, w in enumerate(widths) if k not in texts)
    if sum(widths) <= WIDTH or not texts:
        return t
    chosen: dict[int, float] = {}
    for k in sorted(texts, key=lambda k: widths[k]):  # what short columns do not need is there for the long ones
        share = left / (len(texts) - len(chosen))
        chosen[k] = min(widths[k], max(NARROWEST + gap, share))
        left -= chosen[k]
    columns = tuple(
        replace(c, align=round(chosen[k] - gap, 2)) if k in chosen and chosen[k] < widths[k] else c
        for k, c in enumerate(t.columns)
    )
    return replace(t, columns=columns)


def _panels(t: Table) -> list[Table]:
    """``t`` in panels of columns that fit the page, each with the first column."""
    widths = _widths(t)
    if sum(widths) <= WIDTH * 1.1 or len(widths) < 3:
        return [t]
    each = max(1, int((WIDTH * 1.1 - widths[0]) / (max(widths[1:]))))
    return [_columns(t, (0, *range(k, min(k + each, len(widths))))) for k in range(1, len(widths), each)]


def _columns(t: Table, chosen: Sequence[int]) -> Table:
    groups = tuple(
        Group(tuple(replace(r, cells=tuple(r.cells[k] for k in chosen)) for r in g.rows), g.heading) for g in t.groups
    )
    return replace(t, columns=tuple(t.columns[k] for k in chosen), groups=groups)


def _pages(t: Table) -> list[Table]:
    """``t`` in pieces that are no taller than a page."""
    letter = LETTER[t.layout.size]
    pages: list[list[Group]] = [[]]
    used = 0
    for group in t.groups:
        rows: list[Row] = []
        for row in group.rows:
            lines = max(_lines(plain(cell), c, letter) for cell, c in zip(row.cells, t.columns, strict=True))
            if used + lines > LINES and (rows or pages[-1]):
                pages[-1] += [Group(tuple(rows), group.heading)] if rows else []
                pages.append([])
                rows, used = [], 0
            rows.append(row)
            used += lines
        pages[-1] += [Group(tuple(rows), group.heading)] if rows else []
    return [replace(t, groups=tuple(groups)) for groups in pages] if len(pages) > 1 else [t]


def _lines(text: str, column: Column, letter: float) -> int:
    return 1 if isinstance(column.align, str) else max(1, math.ceil(_letters(text) * letter / column.align * 1.15))

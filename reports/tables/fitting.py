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

WIDTH = 5.5  # inches of text that a table may fill, where nobody says more
LETTER = {"footnotesize": 0.061, "scriptsize": 0.055}  # inches of a digit, and of most letters
NARROW = 0.6  # of that, for these
NARROWS = frozenset(" .,:;!|'[]()ijl-")
WIDEST = 1.4  # of that, for these
WIDES = frozenset("mwMW%@&")
NARROWEST = 1.0  # inches of a column of wrapped text
NAMES = 0.36  # of the width, for names beside more columns than fit
LINES = {"footnotesize": 54, "scriptsize": 60}  # of a page; a caption and notes need the rest
LONG = 20  # rows from which a table of a report goes on from page to page; a float of so many leaves half pages empty
CODES = 8  # letters of a character that LaTeX cannot set: [U+4E2D]


def fitted(t: Table, width: float = WIDTH, *, cut: bool = True) -> list[Table]:
    """The tables, one after the other, that show ``t`` in print on a text ``width`` inches wide; ``t`` itself unless it is generic and does not fit.

    Without ``cut`` they may be taller than a page.
    """
    if not t.generic:
        return [t]
    numbered, named = _numbered(t) if sum(_widths(t)) > width else (t, {})
    wrapped = _wrapped(numbered, width)
    return [page for panel in _panels(wrapped, width, named) for page in (_pages(panel) if cut else [panel])]


def _letters(text: str) -> float:
    """How many letters wide ``text`` is in LaTeX, which sets Latin, Greek, punctuation and signs; the rest is its code point."""
    return sum(_letter(c) for c in text)


def _letter(c: str) -> float:
    if c in NARROWS:
        return NARROW
    if ord(c) < 0x400 or 0x2000 <= ord(c) < 0x2300:
        return WIDEST if c in WIDES else 1.2 if c.isupper() else 1.0
    return CODES


def _widths(t: Table) -> list[float]:
    """An estimate of the width of every column, in inches; of a wrapped one, the width it was given."""
    letter, gap = LETTER[t.layout.size], t.layout.separation / 36
    found = []
    for k, column in enumerate(t.columns):
        longest = max([_letters(plain(column.header)), *(_letters(plain(row.cells[k])) for row in t.rows())])
        found.append((longest * letter if isinstance(column.align, str) else column.align) + gap)
    return found


def _numbered(t: Table) -> tuple[Table, dict[str, int]]:
    """``t`` with a number for every heading of an arm; rows that are these arms carry it too, or a note has the names.

    Also returned are the numbers of the rows, by what they are called.
    """
    names = {k: plain(c.header) for k, c in enumerate(t.columns) if c.arm is not None}
    if not names:
        return t, {}
    numbers = {name: number for number, name in enumerate(names.values(), 1)}
    columns = tuple(
        replace(c, header=Text(str(numbers[names[k]]))) if k in names else c for k, c in enumerate(t.columns)
    )
    if {plain(row.cells[0]) for row in t.rows()} == {*numbers}:
        named = tuple(replace(g, rows=tuple(_with_number(r, numbers) for r in g.rows)) for g in t.groups)
        called = {f"{number} {name}": number for name, number in numbers.items()}
        return replace(t, columns=columns, groups=named), called
    key = Text("Columns: " + "; ".join(f"{number} {name}" for name, number in numbers.items()) + ".")
    return replace(t, columns=columns, notes=(key, *t.notes)), {}


def _with_number(row: Row, numbers: dict[str, int]) -> Row:
    name = plain(row.cells[0])
    return replace(row, cells=(Text(f"{numbers[name]} {name}"), *row.cells[1:]))


def _wrapped(t: Table, width: float) -> Table:
    """``t`` with its columns of text as narrow as the page asks for."""
    widths, gap = _widths(t), t.layout.separation / 36
    texts = [k for k, c in enumerate(t.columns) if c.align == "l" or not isinstance(c.align, str)]
    left = width - sum(w for k, w in enumerate(widths) if k not in texts)
    if sum(widths) <= width or not texts:
        return t
    if texts == [0] and left < NARROWEST:  # the columns go on below in any case
        left = NAMES * width
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


def _panels(t: Table, width: float, named: dict[str, int]) -> list[Table]:
    """``t`` in panels of columns that fit the page, each with the first column; rows with a number are named in the first panel."""
    widths = _widths(t)
    if sum(widths) <= width * 1.02 or len(widths) < 3:
        return [t]
    each = max(1, int((width * 1.02 - widths[0]) / max(widths[1:])))
    panel = _columns(t, (0, *range(1, min(each + 1, len(widths)))))
    rest = _columns(t, (0, *range(each + 1, len(widths))))
    if len(rest.columns) == 1:
        return [panel]
    if named:
        rest = _by_number(rest, named)
    return [panel, *_panels(rest, width, {})]


def _by_number(t: Table, named: dict[str, int]) -> Table:
    """``t`` with numbers alone for the rows that were ``named``."""

    def short(row: Row) -> Row:
        return replace(row, cells=(Text(str(named[plain(row.cells[0])])), *row.cells[1:]))

    first = replace(t.columns[0], align="r")
    groups = tuple(replace(g, rows=tuple(map(short, g.rows))) for g in t.groups)
    return replace(t, columns=(first, *t.columns[1:]), groups=groups)


def _columns(t: Table, chosen: Sequence[int]) -> Table:
    groups = tuple(
        Group(tuple(replace(r, cells=tuple(r.cells[k] for k in chosen)) for r in g.rows), g.heading) for g in t.groups
    )
    return replace(t, columns=tuple(t.columns[k] for k in chosen), groups=groups)


def _pages(t: Table) -> list[Table]:
    """``t`` in pieces that are no taller than a page."""
    letter, most = LETTER[t.layout.size], LINES[t.layout.size]
    between = (
        0.25 if any(not isinstance(c.align, str) for c in t.columns) else 0.0
    )  # of a line, where cells have several
    pages: list[list[Group]] = [[]]
    used = 0.0
    for group in t.groups:
        rows: list[Row] = []
        for row in group.rows:
            lines = max(_lines(plain(cell), c, letter) for cell, c in zip(row.cells, t.columns, strict=True))
            if used + lines > most and (rows or pages[-1]):
                pages[-1] += [Group(tuple(rows), group.heading)] if rows else []
                pages.append([])
                rows, used = [], 0.0
            rows.append(row)
            used += lines + between
        pages[-1] += [Group(tuple(rows), group.heading)] if rows else []
    return [replace(t, groups=tuple(groups)) for groups in pages] if len(pages) > 1 else [t]


def _lines(text: str, column: Column, letter: float) -> int:
    return 1 if isinstance(column.align, str) else max(1, math.ceil(_letters(text) * letter / column.align * 1.05))

"""A table as plain text for a terminal, an e-mail or a log: aligned columns, the caption above and the notes below."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING
from unicodedata import combining

from orledger.reports.tables.render import one_line, plain

if TYPE_CHECKING:
    from orledger.reports.tables.table import Table

WIDTH = 100  # of caption and notes; a table is as wide as its cells need
GAP = "  "


def table(t: Table) -> str:
    """The table as text; bold cells carry a star, absent ones a dash with the letter of their reason."""
    marks = t.absences()
    headers = [plain(c.header) for c in t.columns]
    rows = [
        [one_line(plain(cell, marks)) + ("*" if cell.bold else "") for cell in row.cells]
        for g in t.groups
        for row in g.rows
    ]
    widths = [max(map(_width, column)) for column in zip(headers, *rows, strict=True)]
    over = _spans(t, widths)
    right = [c.align == "r" for c in t.columns]
    rule = "-" * (sum(widths) + len(GAP) * (len(widths) - 1))
    out = [
        *wrap(f"Table {t.called}. {one_line(plain(t.caption))}", WIDTH),
        "",
        *over,
        _line(headers, widths, right),
        rule,
    ]
    at = 0
    for i, group in enumerate(t.groups):
        if i:
            out.append("")
        if group.heading is not None:
            out.append(one_line(plain(group.heading)))
        for _ in group.rows:
            out.append(_line(rows[at], widths, right))
            at += 1
    notes = [plain(note) for note in t.footnotes()]
    if any(text.endswith("*") for row in rows for text in row):
        notes.append("* printed in bold elsewhere.")
    for note in notes:
        out += ["", *wrap(one_line(note), WIDTH)]
    return "\n".join([*out, "", f"Database {t.database}", ""])


def _spans(t: Table, widths: list[int]) -> list[str]:
    """The line of headers that stand over several columns, centred between dots; widens the last column where one is too long."""
    parts, at = [], 0
    for s in sorted(t.spans, key=lambda s: s.start):
        covered = range(s.start, s.start + s.width)
        text = f" {plain(s.header)} "
        room = sum(widths[i] for i in covered) + len(GAP) * (s.width - 1)
        widths[covered[-1]] += max(0, _width(text) - room)
        parts += [" " * widths[i] for i in range(at, s.start)]
        room = max(room, _width(text))
        left = (room - _width(text)) // 2
        parts.append("." * left + text + "." * (room - _width(text) - left))
        at = s.start + s.width
    return [GAP.join(parts).rstrip()] if parts else []


def _width(text: str) -> int:
    """How many columns of a terminal ``text`` takes: combining accents take none."""
    return sum(not combining(c) for c in text)


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = (
        " " * (w - _width(c)) + c if r else c + " " * (w - _width(c))
        for c, w, r in zip(cells, widths, right, strict=True)
    )
    return GAP.join(padded).rstrip()

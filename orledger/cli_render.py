"""Rows as text: a table or one line per value for people, CSV, JSON and Markdown for programs and pages."""

from __future__ import annotations

import json
import textwrap
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from orledger.wording import json_safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

GAP = "  "
NARROWEST = 20  # a column of text is not wrapped below this


def render(found: pl.DataFrame, style: str, width: int | None = None) -> str:
    """The rows as text, numbers with every digit, absent values as nothing (null in JSON).

    JSON has no word for what is not a finite number and no room for long ones, so "NaN", "Infinity", "-Infinity", decimals and
    integers of more than 64 bits are strings there. A table wraps its text to ``width`` columns where that is given, and
    where it cannot be made to fit, every value takes a line of its own.
    """
    if style == "json":
        return (
            json.dumps(json_safe(found.to_dicts()), indent=2, ensure_ascii=False, default=str, allow_nan=False) + "\n"
        )
    if style == "jsonl":
        return "".join(json_line(row) for row in found.iter_rows(named=True))
    if style == "csv":
        from orledger.schema.frames import flat

        return flat(found).write_csv()
    numeric = [dtype.is_numeric() for dtype in found.dtypes]
    rows = [["" if v is None else str(v) for v in row] for row in found.rows()]
    if style == "markdown":
        return _markdown(found.columns, rows, numeric)
    count = f"({found.height} row{'' if found.height == 1 else 's'})\n"
    table = None if style == "vertical" else _table(found.columns, rows, numeric, width)
    return (_vertical(found.columns, rows, width) if table is None else table) + count


def json_line(row: dict[str, Any]) -> str:
    """One row as a line of JSON; whole decimals of up to 64 bits are numbers."""
    whole = {
        k: int(v) if isinstance(v, Decimal) and v == v.to_integral_value() and abs(v) < 2**63 else v
        for k, v in row.items()
    }
    return json.dumps(json_safe(whole), ensure_ascii=False, default=str, allow_nan=False) + "\n"


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    cells = [[c.replace("|", "\\|").replace("\n", " ") for c in row] for row in (names, *rows)]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(names))]
    rule = ["-" * (w - 1) + (":" if right else "-") for w, right in zip(widths, numeric, strict=True)]
    head, *body = (_padded(row, widths, numeric) for row in cells)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *body))


def _vertical(names: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """One line per value, a ruled line with its number before every row; long values go on under themselves."""
    left = max(map(len, names), default=0)
    room = max(NARROWEST, (width or 10_000) - left - len(GAP))
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-[ row {number} ]".ljust(min(width or 60, 60), "-"))
        for name, cell in zip(names, row, strict=True):
            parts = _wrapped(cell.expandtabs(4).splitlines() or [""], room)
            lines += [f"{(name if k == 0 else '').ljust(left)}{GAP}{part}".rstrip() for k, part in enumerate(parts)]
    return "".join(f"{line}\n" for line in lines)


def _table(
    names: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], width: int | None
) -> str | None:
    """Aligned columns; a cell of several lines takes several lines, and its column is as wide as the longest of them.

    None when it cannot be made to fit into ``width`` and has rows to show in another way.
    """
    cells = [[c.expandtabs(4).splitlines() or [""] for c in row] for row in (names, *rows)]
    widths = [max(len(line) for row in cells for line in row[k]) for k in range(len(names))]
    if width is not None:
        widths = _narrowed(widths, numeric, width)
        if rows and sum(widths) + len(GAP) * (len(widths) - 1) > width:
            return None
        cells = [[_wrapped(cell, w) for cell, w in zip(row, widths, strict=True)] for row in cells]
    head, *body = (
        "".join(
            GAP.join(_padded([cell[k] if k < len(cell) else "" for cell in row], widths, numeric)).rstrip() + "\n"
            for k in range(max((len(cell) for cell in row), default=1))
        )
        for row in cells
    )
    return "".join([head, GAP.join("-" * w for w in widths) + "\n", *body])


def _narrowed(widths: Sequence[int], numeric: Sequence[bool], width: int) -> list[int]:
    """The widths with the widest columns of text made narrower, all alike, until the whole fits into ``width``."""
    found = list(widths)
    room = width - len(GAP) * (len(found) - 1)
    text = [k for k, right in enumerate(numeric) if not right]
    while sum(found) > room:
        widest = max(text, key=lambda k: found[k], default=None)
        if widest is None or found[widest] <= NARROWEST:
            break
        found[widest] -= 1
    return found


def _wrapped(lines: Sequence[str], width: int) -> list[str]:
    return [
        part
        for line in lines
        for part in (textwrap.wrap(line, width, drop_whitespace=False, replace_whitespace=False) or [""])
    ]


def _padded(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> list[str]:
    return [c.rjust(w) if right else c.ljust(w) for c, w, right in zip(cells, widths, numeric, strict=True)]

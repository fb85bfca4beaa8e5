"""Typed values and tables as Typst. Every word is a string literal of Typst, so that no character keeps a meaning of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.tables.render import MINUS, one_line, plain_token
from orledger.reports.tables.values import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orledger.reports.tables.table import Table
    from orledger.reports.tables.values import Token, Value


def literal(text: str) -> str:
    """``text`` as a string of Typst: only the backslash and the quotation mark need care."""
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def token(t: Token, marks: Mapping[str, str]) -> str:
    """One token as an expression in markup; the semicolon ends it, whatever follows."""
    if t.kind == "number" and t.exponent is not None:
        power = f"super({literal(str(t.exponent).replace('-', MINUS))})"
        body = f"{literal(t.text.replace('-', MINUS) + '·10')} + {power} + {literal(t.suffix)}"
    elif t.kind == "mark":
        body = f"super({literal(t.text)})"
    elif t.kind == "absent":
        mark = marks.get(t.text)
        body = literal("–") + (f" + super({literal(mark)})" if mark else "")
    elif t.kind == "text" and t.mono:
        body = f"raw({literal(t.text)})"
    else:
        body = literal(plain_token(t, marks))
    for flag, function in ((t.italic, "emph"), (t.bold, "strong")):
        body = f"{function}({body})" if flag else body
    return f"#({body});"


def inline(value: Value | str, marks: Mapping[str, str] | None = None) -> str:
    """A value as markup."""
    return "".join(token(t, marks or {}) for t in tokens(value))


def table(t: Table) -> str:
    """The table as a figure with a label, its notes under it, and its queries and the hash of its database as comments."""
    marks = t.absences()
    align = ", ".join(c.side for c in t.columns)
    widths = ", ".join("auto" if isinstance(c.align, str) else f"{c.align}in" for c in t.columns)
    lines = [
        f"orledger table {t.name}",
        f"database {t.database}",
        *(line for q in t.queries for line in q.splitlines()),
    ]
    out = [f"// {one_line(line)}" for line in lines]
    out += ["#figure(", "  table(", f"    columns: ({widths},),", f"    align: ({align},),", "    stroke: none,"]
    out += ["    table.hline(),", "    table.header(", *_header(t), "    ),", "    table.hline(stroke: 0.5pt),"]
    for i, group in enumerate(t.groups):
        if i:
            out.append("    table.hline(stroke: 0.5pt),")
        if group.heading is not None:
            out.append(f"    table.cell(colspan: {len(t.columns)}, align: left)[#emph[{inline(group.heading)}]],")
        out += [f"    {' '.join(f'[{inline(c, marks)}],' for c in row.cells)}" for row in group.rows]
    out += ["    table.hline(),", "  ),", f"  caption: [#strong({literal(t.called + '. ')});{inline(t.caption)}],", ")"]
    out[-1] += f" <tab-{t.name}>" if t.name.isalnum() else ""
    out += [f"\n#text(size: 0.8em)[{inline(note)}]" for note in t.footnotes()]
    return "\n".join(out) + "\n"


def _header(t: Table) -> Iterator[str]:
    """The lines of the header: spans with a rule under each, then the columns."""
    if t.spans:
        spans = [s for s in t.over() if s is not None]
        rules = [f"table.hline(start: {s.start}, end: {s.start + s.width}, stroke: 0.3pt)," for s in spans]
        cells = [
            "[]," if s is None else f"table.cell(colspan: {s.width}, align: center)[{inline(s.header)}],"
            for s in t.over()
        ]
        yield f"      {' '.join(cells)}"
        yield f"      {' '.join(rules)}"
    yield f"      {' '.join(f'[{inline(c.header)}],' for c in t.columns)}"

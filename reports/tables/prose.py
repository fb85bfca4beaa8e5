"""Captions and notes: our own sentences as Jinja templates whose numbers are typed values from the same rows as the table.

A template never sees a format. Every ``{{ value }}`` becomes a typed cell again, so one caption can be written as LaTeX, HTML,
Markdown and plain text, and hostile text inside a value is escaped by whoever writes it.
"""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, StrictUndefined

from orledger.paper import symbols
from orledger.reports.tables.building import TABLES
from orledger.reports.tables.values import Join, Math, TableRef, Text, Value

# Private-use characters frame the number of a collected value; they are removed from any text that contains them.
OPEN, CLOSE = "\ue000", "\ue001"
SYMBOLS = {name.lower(): value for name, value in vars(symbols).items() if isinstance(value, Value)}


def prose(template: str, **values: Any) -> Join:
    """The sentence(s) of ``template`` with ``values`` in place.

    ``{{ sym.lambda2 }}`` gives a formula of reports.symbols, ``{{ table('Afloor') }}`` a reference to another table.
    """
    collected: list[Value] = []

    def finalize(value: Any) -> str:
        if isinstance(value, str):
            value = Text(value.replace(OPEN, "").replace(CLOSE, ""))
        elif isinstance(value, int) and not isinstance(value, bool):
            value = Text(f"{value:,d}")
        if not isinstance(value, Value):
            raise TypeError(f"a caption holds typed values, text and counts; got {value!r}")
        collected.append(value)
        return f"{OPEN}{len(collected) - 1}{CLOSE}"

    environment = Environment(undefined=StrictUndefined, finalize=finalize, autoescape=False)  # noqa: S701 - writers escape
    text = environment.from_string(" ".join(template.split())).render(sym=SYMBOLS, table=TableRef, **values)
    parts: list[Value | str] = []
    for piece in re.split(f"({OPEN}[0-9]+{CLOSE})", text):
        if piece.startswith(OPEN):
            parts.append(collected[int(piece[1:-1])])
        elif piece:
            parts.append(piece)
    return Join(tuple(parts))


# Formulas that plain text writes with an underscore or a star, longest first.
FORMULAS = {
    value.plain: value
    for value in sorted((v for v in SYMBOLS.values() if isinstance(v, Math)), key=lambda v: -len(v.plain))
    if "_" in value.plain or "*" in value.plain
}


def typed(text: str) -> Join:
    """Plain words in which formulas (``ρ_oc``) and names of tables (``Table Afloor``) are recognised, so that every writer can set them."""
    formulas = "|".join(rf"(?<!\w){re.escape(plain)}(?!\w)" for plain in FORMULAS)
    tables = "|".join(rf"\bTable {re.escape(name)}\b" for name in sorted(TABLES, key=len, reverse=True))
    found: list[Value | str] = []
    for piece in re.split(f"({formulas}|{tables})", text):
        name = piece.removeprefix("Table ")
        found.append(FORMULAS.get(piece) or (TableRef(name) if name != piece and name in TABLES else piece))
    return Join(tuple(piece for piece in found if piece != ""))

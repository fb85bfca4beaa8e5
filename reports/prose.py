"""Captions and notes: our own sentences as Jinja templates whose numbers are typed values from the same rows as the table.

A template never sees a format. Every ``{{ value }}`` becomes a typed cell again, so one caption can be written as LaTeX, HTML,
Markdown and plain text, and hostile text inside a value is escaped by whoever writes it.
"""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, StrictUndefined

from orledger.reports import symbols
from orledger.reports.values import Join, Text, Value

# Private-use characters frame the number of a collected value; they are removed from any text that contains them.
OPEN, CLOSE = "\ue000", "\ue001"
SYMBOLS = {name.lower(): value for name, value in vars(symbols).items() if isinstance(value, Value)}


def prose(template: str, **values: Any) -> Join:
    """The sentence(s) of ``template`` with ``values`` in place; ``{{ sym.lambda2 }}`` gives a formula of reports.symbols."""
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
    text = environment.from_string(" ".join(template.split())).render(sym=SYMBOLS, **values)
    parts: list[Value | str] = []
    for piece in re.split(f"({OPEN}[0-9]+{CLOSE})", text):
        if piece.startswith(OPEN):
            parts.append(collected[int(piece[1:-1])])
        elif piece:
            parts.append(piece)
    return Join(tuple(parts))

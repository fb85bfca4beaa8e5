"""Captions and notes: our own sentences as Jinja templates whose numbers are typed values from the same rows as the table.

A template never sees a format. Every ``{{ value }}`` becomes a typed cell again, so one caption can be written as LaTeX, HTML,
Markdown and plain text, and hostile text inside a value is escaped by whoever writes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined

from orledger.reports.tables.building import declared
from orledger.reports.tables.values import Join, Math, TableRef, Text, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orledger.study import Study

# Private-use characters frame the number of a collected value; they are removed from any text that contains them.
OPEN, CLOSE = "\ue000", "\ue001"


def prose(template: str, symbols: Mapping[str, Value] | None = None, /, **values: Any) -> Join:
    """The sentence(s) of ``template`` with ``values`` in place.

    ``{{ sym.lambda2 }}`` gives a formula of ``symbols``, ``{{ table('Afloor') }}`` a reference to another table.
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
    text = environment.from_string(" ".join(template.split())).render(sym=symbols or {}, table=TableRef, **values)
    parts: list[Value | str] = []
    for piece in re.split(f"({OPEN}[0-9]+{CLOSE})", text):
        if piece.startswith(OPEN):
            parts.append(collected[int(piece[1:-1])])
        elif piece:
            parts.append(piece)
    return Join(tuple(parts))


@dataclass(frozen=True)
class Vocabulary:
    """Formulas and table names that plain words may contain: ``formulas`` by their plain form, longest first."""

    formulas: Mapping[str, Value] = field(default_factory=dict)
    tables: tuple[str, ...] = ()

    def typed(self, text: str) -> Join:
        """``text`` with its formulas (``ρ_oc``) and names of tables (``Table Afloor``) recognised, so that every writer can set them."""
        patterns = [rf"(?<!\w){re.escape(plain)}(?!\w)" for plain in self.formulas]
        patterns += [rf"\bTable {re.escape(name)}\b" for name in sorted(self.tables, key=len, reverse=True)]
        found: list[Value | str] = []
        for piece in re.split(f"({'|'.join(patterns)})", text) if patterns else [text]:
            name = piece.removeprefix("Table ")
            reference = TableRef(name) if name != piece and name in self.tables else piece
            found.append(self.formulas.get(piece) or reference)
        return Join(tuple(piece for piece in found if piece != ""))


def vocabulary(chosen: Iterable[Study]) -> Vocabulary:
    """The formulas that plain text writes with an underscore or a star, and the tables, of ``chosen`` studies."""
    chosen = list(chosen)
    symbols = [v for study in chosen for v in (study.part("symbols") or {}).values() if isinstance(v, Math)]
    marked = [v for v in symbols if "_" in v.plain or "*" in v.plain]
    return Vocabulary({v.plain: v for v in sorted(marked, key=lambda v: -len(v.plain))}, tuple(declared(chosen)))

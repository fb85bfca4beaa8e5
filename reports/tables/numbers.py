"""Every number of every table as a LaTeX macro, so that a paper types none by hand; and which of its numbers are stale.

A macro is named after the table, the row and the column (or the name of a quoted number): ``\\orlAstabPooledMedianMorozov``. Names
hold letters only: digits are spelled, a decimal point is ``Point``, a minus sign ``Minus``. They change only when a key changes.
Composite cells give several macros: the bare name is the main number (the median, the p-value, the count as k/n), and
``Low``/``High`` (quartiles or ends), ``Floor``, ``Hits``/``Total`` and ``Full`` (the whole cell as the table prints it) follow it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.reports.tables import format as rules
from orledger.reports.tables import latex
from orledger.reports.tables.values import Absent, Count, Join, MedianIQR, Number, PValue, Range, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orledger.reports.tables.table import Table

PREFIX = "orl"
DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
# What a paper prints when it quotes a number that this database does not have.
ABSENT = r"\mbox{[absent]}"


@dataclass(frozen=True)
class NumberMacro:
    """A named number: the macro without its backslash, what it expands to, and where the number stands."""

    name: str
    body: str
    place: str


def macro_name(*words: str) -> str:
    """The name of the macro for ``words``: letters only, every word capitalised, digits spelled."""
    out = []
    for chunk in re.findall(r"[A-Za-z]+|[0-9]|\.(?=[0-9])|(?<=[eE])-(?=[0-9])", " ".join(words)):
        if chunk.isdigit():
            out.append(DIGITS[int(chunk)])
        else:
            out.append({".": "Point", "-": "Minus"}.get(chunk) or chunk[0].upper() + chunk[1:])
    return PREFIX + "".join(out)


def parts(value: Value) -> Iterator[tuple[str, Value]]:
    """The numbers inside a value with the suffix of each; nothing for text and formulas."""
    if isinstance(value, (Number, Absent)):
        yield "", value
    elif isinstance(value, Count):
        yield from (("", value), ("Hits", Number(value.k, rules.INTEGER)), ("Total", Number(value.n, rules.INTEGER)))
    elif isinstance(value, PValue):
        yield from (("", Number(value.p, rules.P_VALUE)), ("Floor", Number(value.floor, rules.P_VALUE)))
    elif isinstance(value, MedianIQR):
        spread = value.spread or value.style
        yield from (
            ("", Number(value.median, value.style)),
            ("Low", Number(value.q1, spread)),
            ("High", Number(value.q3, spread)),
            ("Full", value),
        )
    elif isinstance(value, Range):
        yield from (("Low", Number(value.low, value.style)), ("High", Number(value.high, value.style)), ("Full", value))
    elif isinstance(value, Join):
        inner = [p for p in value.parts if isinstance(p, Value)]
        found: dict[str, Value] = {}
        for i, part in enumerate(inner):
            named = value.names[i] if i < len(value.names) else ""
            for suffix, number in parts(part):
                if suffix == "Full":
                    continue  # the whole cell has that name
                found.setdefault(macro_name(named)[len(PREFIX) :] + suffix, number)
        if found:
            yield from found.items()
            yield "Full", value


def body(value: Value) -> str:
    """``value`` as it stands in a macro: usable in text and inside a formula."""
    if isinstance(value, Absent):
        return ABSENT
    plain = (latex.token(t, {}) for t in value.tokens() if t.kind != "mark")
    return "".join(re.sub(r"^\$(.*)\$$", r"\\ensuremath{\1}", text) for text in plain)


def macros(tables: Iterable[Table]) -> list[NumberMacro]:
    """The macros of ``tables`` in order.

    Keys of our own never share a name unless they are the same number (a test keeps it so). Names that come from data can, ``a b`` and ``a-b``: the later one is then
    told apart by ``Also``, in the order of the table.
    """
    found: dict[str, NumberMacro] = {}

    def add(name: str, value: Value, place: str) -> None:
        bodies = {suffix: body(number) for suffix, number in parts(value)}
        while any(found[name + x].body != text for x, text in bodies.items() if name + x in found):
            name += "Also"
        for suffix, text in bodies.items():
            found.setdefault(name + suffix, NumberMacro(name + suffix, text, place))

    for t in tables:
        for key, value in t.quotes.items():
            add(macro_name(t.name, key), value, f"table {t.name}: {key}")
        for row in t.rows():
            for column, cell in zip(t.columns, row.cells, strict=True):
                place = f"table {t.name}, row {row.key}, column {column.key}"
                add(macro_name(t.name, row.key, column.key), cell.strong(False), place)
    return list(found.values())


def numbers_tex(found: Iterable[NumberMacro], database: str, notices: Iterable[str] = ()) -> str:
    """The file numbers.tex: ``notices`` about the database, then one definition per number, each with where it stands."""
    lines = [
        str(
            latex.comment(
                f"orledger numbers: write \\input{{numbers}} once, then for example \\{PREFIX}Database{{}}.\ndatabase {database}"
            )
        )
    ]
    lines += [str(latex.comment(notice)) for notice in notices]
    lines.append(rf"\newcommand{{\{PREFIX}Database}}{{\texttt{{{database[:16]}}}}}")
    for macro in found:
        lines.append(str(latex.comment(macro.place)))
        lines.append(rf"\newcommand{{\{macro.name}}}{{{macro.body}}}")
    return "\n".join(lines) + "\n"

"""Every number of every table as a LaTeX macro, so that a paper types none by hand; and which of its numbers are stale.

A macro is named after the table, the row and the column (or the name of a quoted number): ``\\orlAstabPooledMedianMorozov``. Names
hold letters only: digits are spelled, a decimal point is ``Point``, a minus sign ``Minus``. They change only when a key changes.
Composite cells give several macros: the bare name is the main number (the median, the p-value, the count as k/n), and
``Low``/``High`` (quartiles or ends), ``Floor``, ``Hits``/``Total`` and ``Full`` (the whole cell as the table prints it) follow it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
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
    """A named number: the macro without its backslash, what it expands to, where the number stands, and why the name ends as it does."""

    name: str
    body: str
    place: str
    note: str = ""


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


@dataclass(frozen=True)
class _Spot:
    """The ``numbers`` of one cell by suffix. ``words`` are the keys of its row and column; ``data`` says that these are names from anybody's file."""

    table: str
    words: tuple[str, ...]
    place: str
    data: bool
    numbers: dict[str, str]

    @property
    def base(self) -> str:
        return macro_name(self.table, *self.words)

    @property
    def tag(self) -> str:
        """Six letters from the hash of the table and the words: what else there is changes nothing about them."""
        hashed = sha256("\0".join((self.table, *self.words)).encode()).digest()
        return "".join(chr(ord("a") + b % 26) for b in hashed[:6]).capitalize()


def macros(tables: Iterable[Table]) -> list[NumberMacro]:
    """The macros of ``tables`` in order.

    A name depends on the keys of table, row and column alone, never on their order or on a number. Keys of our own never share a
    name unless they are the same number (a test keeps it so). Names that come from data can, ``a b`` and ``a-b``: each of them then
    ends in letters of its hash, as names do that have no ASCII letter or digit, and a note says why.
    """
    spots = list(_spots(tables))
    sharing: dict[str, list[tuple[_Spot, str]]] = {}
    for spot in spots:
        for suffix, text in spot.numbers.items():
            sharing.setdefault(spot.base + suffix, []).append((spot, text))
    found: dict[str, NumberMacro] = {}
    for spot in spots:
        others = sorted(
            {
                other.place
                for suffix, text in spot.numbers.items()
                for other, its in sharing[spot.base + suffix]
                if other.place != spot.place and (spot.data or other.data or its != text)
            }
        )
        name, note = spot.base, ""
        if others:
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            name, note = name + spot.tag, f"{spot.tag} tells it from {others[0]}{more}"
        elif spot.data and any(macro_name(word) == PREFIX for word in spot.words):
            name, note = name + spot.tag, f"{spot.tag} stands for what a macro cannot spell"
        for suffix, text in spot.numbers.items():
            found.setdefault(name + suffix, NumberMacro(name + suffix, text, spot.place, note))
    return list(found.values())


def _spots(tables: Iterable[Table]) -> Iterator[_Spot]:
    """Every quoted number, and every cell that has numbers."""
    for t in tables:
        for key, value in t.quotes.items():
            yield _Spot(t.name, (key,), f"table {t.name}: {key}", False, {s: body(n) for s, n in parts(value)})
        for row in t.rows():
            for column, cell in zip(t.columns, row.cells, strict=True):
                about = f"column {column.key}" if column.arm is None else f"arm {column.arm}"
                found = {s: body(n) for s, n in parts(cell.strong(False))}
                place = f"table {t.name}, row {row.key}, {about}"
                yield _Spot(t.name, (row.key, column.key), place, t.generic or t.declared, found)


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
        lines += [str(latex.remark(text)) for text in (macro.place, macro.note) if text]
        lines.append(rf"\newcommand{{\{macro.name}}}{{{macro.body}}}")
    return "\n".join(lines) + "\n"

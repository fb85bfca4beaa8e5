"""Typed cells: what a table, a caption or a macro may hold, and the tokens that each format writes in its own way.

Text is data and is escaped by the writer. ``Math`` is the one kind that is trusted, and it is written in this package only.
Every value offers ``tokens()`` for people and ``fields()`` for programs (full precision, used in CSV files).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from orledger.reports.origin import NOTHING, Origin, Records, origin_of
from orledger.reports.tables import format as rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from orledger.reports.tables.format import Digits, Style

Scalar = str | int | float | None


@dataclass(frozen=True)
class Token:
    """A piece of a rendered value: ``text`` | ``number`` | ``math`` | ``mark`` (superscript) | ``absent`` (a dash, with its reason) | ``table`` (the name of another table)."""

    kind: str
    text: str
    exponent: int | None = None
    suffix: str = ""
    plain: str = ""
    bold: bool = False
    mono: bool = False
    italic: bool = False


@dataclass(frozen=True, kw_only=True)
class Value:
    """Base of all cells. ``bold`` marks the best of a row or a result that matters; it is computed, never typed.

    ``origin`` is what the value was computed from; it is no part of the value, and two values from elsewhere can be equal.
    """

    bold: bool = False
    origin: Origin = field(default=NOTHING, compare=False, repr=False)

    def tokens(self) -> Iterator[Token]:
        """The pieces to print, in order."""
        return self._tokens()

    def fields(self) -> Mapping[str, Scalar]:
        """The same value for programs: the main entry has the name ``""``."""
        return self._fields()

    def _tokens(self) -> Iterator[Token]:
        raise NotImplementedError

    def _fields(self) -> Mapping[str, Scalar]:
        raise NotImplementedError

    def strong(self, yes: bool = True) -> Self:
        """The same cell, bold when ``yes``."""
        return replace(self, bold=yes)

    def of(self, *sources: object) -> Self:
        """The same cell, which comes from ``sources`` too: samples, other values, rows of the audit."""
        return replace(self, origin=self.origin | origin_of(*sources))

    def of_records(self, frame: pl.DataFrame, *columns: str) -> Self:
        """The same cell, which comes from ``columns`` of the rows of ``frame`` too."""
        return replace(self, origin=self.origin | Origin((Records(frame, columns),)))


@dataclass(frozen=True)
class Text(Value):
    """Words, from us or from the database; every writer escapes them."""

    text: str
    mono: bool = field(default=False, kw_only=True)
    italic: bool = field(default=False, kw_only=True)

    def _tokens(self) -> Iterator[Token]:
        yield Token("text", self.text, bold=self.bold, mono=self.mono, italic=self.italic)

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": self.text}


@dataclass(frozen=True)
class Math(Value):
    """A formula: trusted LaTeX without dollar signs, the same in plain Unicode, and for programs the number it is, if it is one."""

    latex: str
    plain: str
    value: float | None = None

    def _tokens(self) -> Iterator[Token]:
        yield Token("math", self.latex, plain=self.plain, bold=self.bold)

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": self.plain if self.value is None else self.value}


def _number(d: Digits, bold: bool) -> Token:
    return Token("number", d.mantissa, exponent=d.exponent, suffix=d.suffix, bold=bold)


@dataclass(frozen=True)
class Number(Value):
    """One number under a style."""

    value: float
    style: Style

    def _tokens(self) -> Iterator[Token]:
        yield _number(rules.digits(self.value, self.style), self.bold)

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": int(self.value) if self.style.kind == "integer" else self.value}


@dataclass(frozen=True)
class Count(Value):
    """``k`` of ``n``, printed k/n."""

    k: int
    n: int

    def _tokens(self) -> Iterator[Token]:
        k, n = (rules.digits(v, rules.INTEGER).mantissa for v in (self.k, self.n))
        yield Token("number", f"{k}/{n}", bold=self.bold)

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": self.k, "of": self.n}


@dataclass(frozen=True)
class Range(Value):
    """Two ends: ``[low, high]``, or ``low–high`` for an observed range. ``what`` names the ends in CSV files.

    ``ends``, such as "(]", says which of them belong to an interval.
    """

    low: float
    high: float
    style: Style
    dash: bool = field(default=False, kw_only=True)
    ends: str = field(default="[]", kw_only=True)
    what: tuple[str, str] = field(default=("low", "high"), kw_only=True)

    def _tokens(self) -> Iterator[Token]:
        low, high = (_number(rules.digits(v, self.style), self.bold) for v in (self.low, self.high))
        opening, middle, closing = ("", "–", "") if self.dash else (self.ends[0], ", ", self.ends[1])
        for part in (opening, low, middle, high, closing):
            if isinstance(part, Token):
                yield part
            elif part:
                yield Token("text", part, bold=self.bold)

    def _fields(self) -> Mapping[str, Scalar]:
        return {self.what[0]: self.low, self.what[1]: self.high}


@dataclass(frozen=True)
class MedianIQR(Value):
    """A median with its quartiles, ``median [q1, q3]``; ``spread`` prints the brackets in another style."""

    median: float
    q1: float
    q3: float
    style: Style
    spread: Style | None = None

    def _tokens(self) -> Iterator[Token]:
        yield _number(rules.digits(self.median, self.style), self.bold)
        yield Token("text", " ", bold=self.bold)
        yield from Range(self.q1, self.q3, self.spread or self.style, bold=self.bold).tokens()

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": self.median, "q1": self.q1, "q3": self.q3}


@dataclass(frozen=True)
class PValue(Value):
    """A p-value with the smallest value its test could have given; a dagger says that it stands there."""

    p: float
    floor: float

    @property
    def at_floor(self) -> bool:
        """True when the test could not have given a smaller p."""
        return self.p <= self.floor * (1 + 1e-9)

    def _tokens(self) -> Iterator[Token]:
        yield _number(rules.p_value(self.p), self.bold)
        if self.at_floor:
            yield Token("mark", "†", bold=self.bold)

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": self.p, "floor": self.floor}


@dataclass(frozen=True)
class Mark(Value):
    """A superscript that a footnote explains; only the marks that ``Table.footnotes`` knows."""

    text: str

    def _tokens(self) -> Iterator[Token]:
        yield Token("mark", self.text, bold=self.bold)

    def _fields(self) -> Mapping[str, Scalar]:
        return {}


@dataclass(frozen=True)
class TableRef(Value):
    """Another table by its name: its number in LaTeX, a link where the page has it, the name elsewhere."""

    name: str

    def _tokens(self) -> Iterator[Token]:
        yield Token("table", self.name, bold=self.bold)

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": f"Table {self.name}"}


@dataclass(frozen=True)
class Absent(Value):
    """Nothing to show, and why: a dash with a mark that leads to the reason. Never zero."""

    reason: str

    def _tokens(self) -> Iterator[Token]:
        yield Token("absent", self.reason)

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": None}


@dataclass(frozen=True)
class Blank(Value):
    """An empty place by design: the first column of a continued group, a statistic that a row does not have."""

    def _tokens(self) -> Iterator[Token]:
        return iter(())

    def _fields(self) -> Mapping[str, Scalar]:
        return {"": None}


@dataclass(frozen=True)
class Join(Value):
    """Several values in one cell or sentence, in order; strings between them are our own words and are escaped like any text.

    ``names`` gives the parts their names in CSV files; without names only the first part that is not a string is kept there.
    """

    parts: tuple[Value | str, ...]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", self.origin | origin_of(*self.parts))

    def _tokens(self) -> Iterator[Token]:
        for part in self.parts:
            for token in tokens(part):
                yield replace(token, bold=True) if self.bold else token

    def _fields(self) -> Mapping[str, Scalar]:
        values = [p for p in self.parts if isinstance(p, Value)]
        names = self.names or ("",)
        merged: dict[str, Scalar] = {}
        for name, value in zip(names, values, strict=False):
            for key, scalar in value.fields().items():
                merged.setdefault(" ".join(x for x in (name, key) if x), scalar)  # the first part is the main one
        return merged


def tokens(value: Value | str) -> Iterator[Token]:
    """The pieces of a value, or of plain text."""
    return (Text(value) if isinstance(value, str) else value).tokens()


def join(*parts: Value | str, names: tuple[str, ...] = ()) -> Join:
    """The parts as one value."""
    return Join(parts, names)


def bracketed(main: Value, aside: Value, name: str) -> Join:
    """``main`` with ``aside``, called ``name`` in CSV files, in brackets behind it."""
    return join(main, " (", aside, ")", names=("", name))


def best(cells: list[Value], scores: list[float | None], *, lower: bool = True) -> list[Value]:
    """The cells with the best score in bold (all of them when several are equal); absent scores never win."""
    known = [s for s in scores if s is not None]
    if not known:
        return cells
    top = min(known) if lower else max(known)
    return [c.strong(s is not None and s == top) for c, s in zip(cells, scores, strict=True)]

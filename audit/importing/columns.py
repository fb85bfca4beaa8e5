"""The columns of a table as inference sees them: which hold numbers, which tell rows apart, which say nothing new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing import words
from orledger.audit.importing.mapping import DASHES, FILE_COLUMN, MISSING, TRUTH
from orledger.audit.importing.marked import number, truth
from orledger.audit.importing.tables import ROW, SOURCE, require_column

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

NAMING = (*words.ARMS, *words.UNITS, *words.REPEATS, *words.INDICES, *words.METRICS)
NUMBER_WITH_COMMA = r"^[+-]?\d*(,\d+)?([eE][+-]?\d+)?$"
THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"


@dataclass
class Columns:
    """A table, its columns by kind, and the questions that inference asks of them; ``frame`` holds stripped texts.

    ``comma`` is a number with a decimal comma as it stands in the table, and empty where numbers have points.
    """

    frame: pl.DataFrame
    numeric: pl.DataFrame
    numbers: dict[str, None]  # names in order; a table may have thousands, and each is looked up
    texts: dict[str, None]
    source: str
    files: int
    comma: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    set_aside: dict[str, str] = field(default_factory=dict)  # columns that inference has no use for, and why
    wordy: dict[str, list[str]] = field(default_factory=dict)  # the words of a column of numbers, such as OOM

    @property
    def names(self) -> tuple[str, ...]:
        """All columns in order."""
        return tuple(self.frame.columns)

    def require(self, name: str | None) -> None:
        """An error with a suggestion when the user names a column that is not there."""
        if name is not None:
            require_column(name, self.frame.columns, self.source)

    def count(self, name: str) -> int:
        """How many different values a column has, missing ones not counted."""
        if name not in self.counts:
            self.counts[name] = self.frame[name].drop_nulls().n_unique()
        return self.counts[name]

    def values(self, name: str) -> list[str]:
        """The different values in order of appearance."""
        return self.frame[name].drop_nulls().unique(maintain_order=True).to_list()

    def constant(self, name: str) -> bool:
        """Whether a column says the same in every row."""
        return self.count(name) <= 1

    def whole(self, name: str) -> bool:
        """Whether all numbers of a column are whole."""
        if name not in self.numbers:
            return False
        x = self.numeric[name].drop_nulls()
        return bool((x == x.round()).all())

    def tell_apart(self, names: Sequence[str]) -> bool:
        """Whether no two rows agree in all of ``names``."""
        return bool(names) and self.frame.select(names).n_unique() == self.frame.height

    def separates(self, name: str, beside: Sequence[str]) -> bool:
        """Whether ``name`` tells rows apart that ``beside`` does not."""
        before = self.frame.select(beside).n_unique() if beside else 1
        return self.frame.select(*beside, name).n_unique() > before

    def shared(self, name: str, keys: Sequence[str]) -> bool:
        """Whether all rows of the same ``keys`` say the same in ``name``, and most keys have several rows: no arm differs in it."""
        cells = self.frame.select(keys).n_unique()
        return 2 * cells <= self.frame.height and self.frame.select(*keys, name).n_unique() == cells

    def copies(self, name: str, others: Sequence[str]) -> bool:
        """Whether every number of ``name`` is that of one of ``others`` in the same row."""
        same = pl.any_horizontal((pl.col(name) == pl.col(o)).fill_null(False) for o in others)
        return self.numeric.filter(pl.col(name).is_not_null() & ~same).is_empty()

    def copied(self, name: str, others: Sequence[str]) -> list[str]:
        """Those of ``others`` that ``name`` repeats in some row, and never contradicts where they stand alone."""
        return [o for o in others if self.numeric.filter(pl.col(name) == pl.col(o)).height > self.numeric.height / 10]

    def partial(self, name: str, key: str) -> bool:
        """Whether some values of ``key`` have no number of ``name`` at all."""
        have = self._having(name, key)
        return 0 < len(have) < self.count(key)

    def share_out(self, names: Sequence[str], key: str) -> bool:
        """Whether every value of ``key`` has numbers of exactly one of ``names``."""
        sets = [self._having(name, key) for name in names]
        return sum(map(len, sets)) == self.count(key) == len(set().union(*sets))

    def why_ignored(self, name: str, keys: Sequence[str]) -> str:
        """Why a column has no part in the mapping."""
        if name in self.set_aside:
            return self.set_aside[name]
        if self.constant(name):
            return "it has one value" if self.count(name) else "it is empty"
        for key in keys:
            if self.frame.select(key, name).n_unique() == self.count(key):
                return f"it says what {key} says"
        return "the rows are told apart without it" if name in self.numbers else "it is neither a key nor a number"

    def _having(self, name: str, key: str) -> set[str]:
        has = self.numeric[name].is_not_null()
        return set(self.frame.filter(has)[key].unique().to_list())


def describe(table: pl.DataFrame, named: Collection[str] = ()) -> Columns:
    """The columns of a table from ``read_tables``, without those that hold lists; ``named`` are those of which somebody said what they are."""
    source = str(table[SOURCE][0])
    files = table[SOURCE].n_unique()
    kept = [c for c, kind in table.schema.items() if c not in (ROW, SOURCE) and not kind.is_nested()]
    texts = table.select(pl.col(c).cast(pl.String).str.strip_chars().alias(c) for c in kept)
    said = [m for m in MISSING if m not in DASHES]
    texts = texts.with_columns(pl.when(pl.all().is_in(said)).then(None).otherwise(pl.all()).name.keep())
    texts = texts.with_columns(_without_dashes(texts[c]) for c in texts.columns if texts[c].is_in(DASHES).any())
    holes, odd = (f.null_count().row(0) for f in (texts, texts.select(pl.all().cast(pl.Float64, strict=False))))
    mixed = [c for c, empty, no_number in zip(kept, holes, odd, strict=True) if no_number > empty and c not in named]
    spoken = {c: found for c in mixed if (found := _words_among_numbers(texts[c]))}
    wordy = {c: bare for c, found in spoken.items() if (bare := [w for w in found if w not in DASHES])}
    texts = texts.with_columns(pl.when(~pl.col(c).is_in(found)).then(pl.col(c)).alias(c) for c, found in spoken.items())
    comma = _decimal_comma(texts.drop(FILE_COLUMN, strict=False))
    points = pl.all().str.replace(",", ".", literal=True) if comma else pl.all()
    truths = [c for c in kept if words.is_metric(c) and texts[c].drop_nulls().str.to_lowercase().is_in(TRUTH).all()]
    texts = texts.with_columns(truth(pl.col(c)) for c in truths)
    numeric = texts.select(points.cast(pl.Float64, strict=False))
    empty = dict(zip(kept, texts.null_count().row(0), strict=True))
    no_number = dict(zip(kept, numeric.null_count().row(0), strict=True))
    numbers = dict.fromkeys(c for c in kept if c != FILE_COLUMN and no_number[c] == empty[c] < texts.height)
    rest = dict.fromkeys(c for c in kept if c not in numbers and empty[c] < texts.height)
    return Columns(texts, numeric, numbers, rest, source, files, comma, wordy=wordy)


def _without_dashes(column: pl.Series) -> pl.Series:
    """A column whose other entries begin like numbers, its dashes missing; any other column as it is."""
    dash = column.is_in(DASHES)
    rest = column.filter(~dash).drop_nulls()
    numbers = len(rest) > 0 and bool(rest.str.contains(r"^[+-]?[.,]?\d").all())
    return pl.select(pl.when(~dash).then(column).alias(column.name)).to_series() if numbers else column


def _words_among_numbers(column: pl.Series) -> list[str]:
    """The words, such as OOM or timeout, that stand for no number in a column of results; none where a column may be of names.

    A column of results has more numbers than words, no digit in its words, and the name of something measured, a number that is not
    whole, or one with a spread or a percent sign: a column of ids (1461, 40668, iris) is of names.
    """
    if column.name == FILE_COLUMN or words.is_one_of(column.name, NAMING):
        return []
    entries = column.drop_nulls()
    word = ~entries.str.contains(r"\d") & entries.cast(pl.Float64, strict=False).is_null()  # inf is a number
    if not 0 < word.sum() <= len(entries) / 2:
        return []
    rest = entries.filter(~word)
    bare = pl.select(number(pl.lit(rest))).to_series()
    x = bare.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    if x.null_count() or not (words.is_metric(column.name) or (bare != rest).any() or (x != x.round()).any()):
        return []
    return sorted(entries.filter(word).unique().to_list())


def _decimal_comma(texts: pl.DataFrame) -> str:
    """A number such as 0,72 where the table means 0.72: all of its column are such, and no number of the table has a point.

    1,234 alone may be a thousand and more, so the comma must stand where no separator of thousands can. Empty when there is none.
    """
    columns = [c.drop_nulls() for c in texts if c.null_count() < len(c)]
    numbers = [c for c in columns if c.cast(pl.Float64, strict=False).null_count() == 0]
    if any(c.str.contains(".", literal=True).any() for c in numbers):
        return ""
    for column in columns:
        if column.str.contains(NUMBER_WITH_COMMA).all():
            found = column.filter(column.str.contains(",", literal=True) & ~column.str.contains(THOUSANDS))
            if len(found):
                return str(found[0])
    return ""

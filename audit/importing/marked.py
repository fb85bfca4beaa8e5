"""Numbers with a mark: ``78.6 ± 0.9``, ``78.6 (0.9)``, ``67.8%``, as tables of papers print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing import words
from orledger.audit.importing.mapping import TRUTH, MappedMetric
from orledger.errors import DataError
from orledger.toml_tables import SHORT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from orledger.audit.importing.columns import Columns

_N = r"[+\-−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+\-−]?\d+)?"
_PERCENT, _PM = r"(?:\\?%)", r"(?:±|\+/-|\+-|\$?\\pm\$?)"  # as typed, or as LaTeX: $0.80 \pm 0.02$, 67.8\%
SPREAD = rf"^\$?({_N})\s*{_PERCENT}?\s*(?:{_PM}\s*({_N})|\(\s*(?:±\s*)?({_N})\s*\))\s*{_PERCENT}?\$?$"
PERCENT = rf"^\$?({_N})\s*{_PERCENT}\$?$"
PLAIN = rf"^(?:{_N}|\${_N}\$)$"
BESIDE = "_beside"  # after the name of a metric: what its numbers have beside them


def marked_results(columns: Columns, left: Sequence[str], said: Collection[str]) -> dict[str, str]:
    """The columns of results in which numbers have a mark, each with such an entry.

    A percentage may also name a setting (noise of 10%), so a column of them is a result only where its name is that of something
    measured or the rows are told apart by other columns. ``said`` are the columns whose part the user named.
    """
    marked = {c: example for c in left if c in columns.texts and c not in said and (example := _example(columns, c))}
    others = [c for c in left if c not in marked and (c in columns.texts or words.is_one_of(c, words.REPEATS))]
    return {
        c: example for c, example in marked.items()
        if not columns.frame[c].drop_nulls().str.contains(PERCENT).all() or words.is_metric(c) or columns.tell_apart(others)
    }  # fmt: skip


def number(text: pl.Expr) -> pl.Expr:
    """The number of an entry without its mark; an entry without one as it is."""
    bare = pl.coalesce(text.str.extract(SPREAD, 1), text.str.extract(PERCENT, 1), text)
    bare = bare.str.replace(r"^\$(.*)\$$", "${1}")
    return bare.str.replace("−", "-", literal=True)


def truth(text: pl.Expr) -> pl.Expr:
    """1 for true and 0 for false, in whatever letters; any other entry as it is."""
    return pl.coalesce(text.str.to_lowercase().replace_strict(TRUTH, default=None, return_dtype=pl.String), text)


def beside(text: pl.Expr) -> pl.Expr:
    """What stands beside the number of an entry, after ± or in brackets; null where nothing does."""
    return pl.coalesce(text.str.extract(SPREAD, 2), text.str.extract(SPREAD, 3))


def unmarked(rows: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with the bare number as ``value``, and a further row for every spread, under the metric's name and BESIDE.

    A metric that is a percentage in some rows and a plain number in others has no one meaning, and is refused.
    """
    entries = rows.filter(pl.col("value").is_not_null())
    shares = entries.group_by("metric").agg(
        pl.col("value").str.contains("%", literal=True).alias("percent"), pl.col("value")
    )
    for metric, percent, values in shares.sort("metric").iter_rows():
        if any(percent) and not all(percent):
            with_sign, without = values[percent.index(True)], values[percent.index(False)]
            raise DataError(
                f"{metric}: {SHORT.repr(with_sign)} is a percentage and {SHORT.repr(without)} is none",
                hint="write all of them alike: whether 0.68 is 68% or less than 1% cannot be told",
            )
    spread = entries.with_columns(beside(pl.col("value")).alias("value"), pl.col("metric") + BESIDE)
    return pl.concat([rows.with_columns(number(pl.col("value"))), spread.drop_nulls("value")])


def spreads(metrics: Sequence[str], examples: Sequence[str]) -> tuple[MappedMetric, ...]:
    """The metrics that hold what stands beside the numbers of ``metrics``, where an example has something there."""
    if not any(pl.select(beside(pl.lit(e))).item() for e in examples):
        return ()
    return tuple(
        MappedMetric(m + BESIDE, f"what stands beside {m} in the table, after ± or in brackets") for m in metrics
    )


def _example(columns: Columns, name: str) -> str:
    """An entry with a mark, where all entries of a column are numbers with or without one; empty otherwise."""
    entries = columns.frame[name].drop_nulls()
    spread = entries.str.contains(SPREAD)
    marked = spread | entries.str.contains(PERCENT)
    if not marked.any() or not (marked | entries.str.contains(PLAIN)).all():
        return ""
    return str(entries.filter(spread if spread.any() else marked)[0])

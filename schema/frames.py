"""From a DuckDB relation to a polars frame, through Arrow, without pyarrow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb

from orledger.errors import QueryRefusedError

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyRelation

# Types that polars has no column for are shown as text.
AS_TEXT = ("INTERVAL", "BIT", "UNION", "TIME WITH TIME ZONE", "VARIANT", "GEOMETRY", "JSON", "BIGNUM", "UUID")
# Dates inside lists and structures are shown as text as well: polars panics over one that Python has no date for.
NESTED, MOMENT = re.compile(r"[\[(]"), re.compile(r"\b(DATE|TIMESTAMP)")


class _Stream:
    """Shows polars the Arrow stream of a relation and nothing else; polars would keep the relation's type for ever."""

    def __init__(self, relation: DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def as_number(value: object) -> float | None:
    """What an aggregate of a column of numbers gave; None for a column without values. Polars cannot know what a column holds."""
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError(f"expected a number, found {value!r}")


def the_number(value: object) -> float:
    """What an aggregate of a column of numbers gave, where the column has values."""
    found = as_number(value)
    if found is None:
        raise TypeError("expected a number, found a column without values")
    return found


def frame(relation: DuckDBPyRelation) -> pl.DataFrame:
    """The rows of ``relation``, every digit kept; exotic types arrive as text.

    Sums of integers arrive as Int64 where they fit, else as Decimal(38, 0), and as text beyond 38 digits.
    """
    for hugeint in ("BIGINT", "DECIMAL(38, 0)", "VARCHAR"):
        try:
            found = _converted(presentable(relation, hugeint))
        except duckdb.ConversionException:
            if hugeint == "VARCHAR":
                raise
            continue
        # Python has no date before the year 1, after 9999 or at infinity: such a column is asked for again, as text.
        odd = frozenset(name for name in found.columns if _beyond_python(found[name]))
        return _converted(presentable(relation, hugeint, odd)) if odd else found
    raise AssertionError("unreachable")


def _beyond_python(column: pl.Series) -> bool:
    """Whether a column of dates or times holds one that Python's datetime cannot."""
    import polars as pl

    if column.dtype == pl.Date:
        first, last, scale = -719_162, 2_932_896, 1
    elif isinstance(column.dtype, pl.Datetime):
        scale = {"ms": 10**3, "us": 10**6, "ns": 10**9}[column.dtype.time_unit]
        first, last = -62_135_596_800, 253_402_300_799
    else:
        return False
    low, high = column.to_physical().min(), column.to_physical().max()
    return isinstance(low, int) and isinstance(high, int) and not first * scale <= low <= high < (last + 1) * scale


def _converted(relation: DuckDBPyRelation) -> pl.DataFrame:
    import polars as pl  # takes a fifth of a second: who asks for rows alone does without

    try:
        return pl.DataFrame(_Stream(relation))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        # DuckDB's errors surface here as well, wrapped, when they happen while the rows are produced.
        if "INTERRUPT Error" in str(error):
            raise duckdb.InterruptException(str(error)) from error
        if "Conversion Error" in str(error):
            raise duckdb.ConversionException(str(error)) from error
        if "IO Error" in str(error) or "Corrupt database file" in str(error):
            raise duckdb.IOException(str(error)) from error
        raise QueryRefusedError(
            f"the rows cannot be shown: {error}", hint="cast the column to VARCHAR, or take fewer rows"
        ) from error


def presentable(relation: DuckDBPyRelation, hugeint: str, odd: frozenset[str] = frozenset()) -> DuckDBPyRelation:
    """``relation`` with every column of a type that polars has: sums of integers as ``hugeint``, ``odd`` and exotic ones as text."""
    columns, changed = [], False
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        target = None
        if kind in ("HUGEINT", "UHUGEINT"):
            target = hugeint
        elif name in odd or any(word in kind for word in AS_TEXT) or (NESTED.search(kind) and MOMENT.search(kind)):
            target = "VARCHAR"
        changed |= target is not None
        columns.append(quoted if target is None else f"CAST({quoted} AS {target}) AS {quoted}")
    if not changed or len(set(relation.columns)) != len(relation.columns):
        return relation
    return relation.project(", ".join(columns))


def flat(found: pl.DataFrame) -> pl.DataFrame:
    """The same rows with lists, maps and bytes written as text, since CSV has no place for them."""
    import polars as pl

    nested = [s.name for s in found if s.dtype.is_nested() or s.dtype == pl.Binary]
    texts = [pl.Series(n, [None if v is None else str(v) for v in found[n].to_list()], dtype=pl.String) for n in nested]
    return found.with_columns(texts)

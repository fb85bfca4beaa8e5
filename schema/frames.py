"""From a DuckDB relation to a polars frame, through Arrow, without pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl

from orledger.errors import QueryRefusedError

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

# Types that polars has no column for are shown as text.
AS_TEXT = ("INTERVAL", "BIT", "UNION", "TIME WITH TIME ZONE", "VARIANT", "GEOMETRY", "JSON", "BIGNUM", "UUID")


class _Stream:
    """Shows polars the Arrow stream of a relation and nothing else; polars would keep the relation's type for ever."""

    def __init__(self, relation: DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def frame(relation: DuckDBPyRelation) -> pl.DataFrame:
    """The rows of ``relation``, every digit kept; exotic types arrive as text.

    Sums of integers arrive as Int64 where they fit, else as Decimal(38, 0), and as text beyond 38 digits.
    """
    for hugeint in ("BIGINT", "DECIMAL(38, 0)"):
        try:
            return _converted(_presentable(relation, hugeint))
        except duckdb.ConversionException:
            continue
    return _converted(_presentable(relation, "VARCHAR"))


def _converted(relation: DuckDBPyRelation) -> pl.DataFrame:
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


def _presentable(relation: DuckDBPyRelation, hugeint: str) -> DuckDBPyRelation:
    columns, changed = [], False
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        target = None
        if kind in ("HUGEINT", "UHUGEINT"):
            target = hugeint
        elif any(word in kind for word in AS_TEXT):
            target = "VARCHAR"
        changed |= target is not None
        columns.append(quoted if target is None else f"CAST({quoted} AS {target}) AS {quoted}")
    if not changed or len(set(relation.columns)) != len(relation.columns):
        return relation
    return relation.project(", ".join(columns))

"""The rows of a user's query, a batch at a time: any number of them, in the memory of one batch."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import duckdb
import polars as pl

from orledger.errors import QueryRefusedError
from orledger.schema.frames import NESTED, frame, presentable
from orledger.schema.sandbox import QueryStoppedError, deadline, failure, require_query
from orledger.schema.waiting import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from orledger.schema.reading import Results
    from orledger.schema.sandbox import Limits

BATCH = 50_000  # rows held at once
MOMENTS = ("DATE", "TIMESTAMP")
T = TypeVar("T")


@dataclass(frozen=True)
class Stream:
    """Rows on their way: what the columns are, and the batches, each a frame of that schema."""

    schema: pl.Schema
    batches: Iterator[pl.DataFrame]
    nested: tuple[str, ...] = ()  # columns that hold JSON as text


@contextmanager
def streaming(
    results: Results,
    query: str,
    limits: Limits,
    *,
    rows: int | None = None,
    as_text: bool = False,
    on_stuck: Callable[[], None] | None = None,
) -> Iterator[Stream]:
    """The rows of one user query on ``results``, opened with ``sandbox_config`` less its limit on the whole time.

    The time limit is one of waiting: for the first batch, and for every further one. ``rows`` refuses a longer result.
    With ``as_text`` dates and times are written as DuckDB does, since Python may have no object for them, and lists, maps and
    structures as JSON.
    """
    con = results.con
    kind = require_query(con, query)

    def within(work: Callable[[], T]) -> T:
        began = time.monotonic()
        with deadline(con, limits.seconds, on_stuck):
            try:
                return interruptible(con, work)
            except (duckdb.Error, MemoryError, RuntimeError) as error:
                if isinstance(error, duckdb.InterruptException) or time.monotonic() - began >= limits.seconds:
                    raise QueryStoppedError(
                        f"the query was stopped after {limits.seconds:g} seconds without a row",
                        hint="narrow it, or raise the setting ORLEDGER_SQL_SECONDS",
                    ) from error
                raise failure(results, error, limits) from error

    if kind != duckdb.StatementType.SELECT:  # a plan is short, and no table
        plan = within(lambda: frame(con.sql(query)))
        yield Stream(plan.schema, iter([plan]))
        return

    def described() -> tuple[str, pl.Schema, tuple[str, ...]]:
        relation = con.sql(query)
        if len(set(relation.columns)) != len(relation.columns):
            twice = next(c for c in relation.columns if relation.columns.count(c) > 1)
            raise QueryRefusedError(f"two columns are called {twice!r}", hint="give each its own name with AS")
        shown = presentable(_flattened(relation, as_text=as_text), "DECIMAL(38, 0)")
        changed = zip(relation.columns, relation.types, shown.types, strict=True)
        nested = tuple(name for name, old, new in changed if NESTED.search(str(old)) and str(new) == "VARCHAR")
        return shown.sql_query(), frame(shown.limit(0)).schema, nested

    text, schema, nested = within(described)

    def batches() -> Generator[pl.DataFrame, None, None]:
        within(lambda: con.execute(text))
        count = 0
        while part := within(lambda: con.fetchmany(BATCH)):
            count += len(part)
            if rows is not None and count > rows:
                raise QueryRefusedError(f"the result has more than {rows:,} rows", hint="leave --max-rows out")
            try:
                yield pl.DataFrame(part, schema=schema, orient="row")
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError) as error:
                raise QueryRefusedError(
                    f"the rows cannot be written: {error}", hint="cast the column to VARCHAR"
                ) from error

    found = batches()
    try:
        yield Stream(schema, found, nested)
    finally:
        found.close()


def _flattened(relation: duckdb.DuckDBPyRelation, *, as_text: bool) -> duckdb.DuckDBPyRelation:
    """``relation`` with maps as JSON, whose rows polars would take for nothing; ``as_text`` all that is nested, and moments too."""
    columns, changed = [], False
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        target = None
        if "MAP(" in kind or (as_text and NESTED.search(kind) and not kind.startswith("DECIMAL")):
            target = f"to_json({quoted})::VARCHAR"
        elif as_text and kind.startswith(MOMENTS):
            target = f"{quoted}::VARCHAR"
        changed |= target is not None
        columns.append(quoted if target is None else f"{target} AS {quoted}")
    return relation.project(", ".join(columns)) if changed else relation

"""Reading results: a read-only connection that answers with polars frames."""

from __future__ import annotations

import atexit
import time
import warnings
import weakref
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from orledger.errors import Note, OrledgerError, QueryRefusedError
from orledger.schema import explaining, opening, viewing
from orledger.schema.describing import TableInfo, tables
from orledger.schema.frames import frame
from orledger.schema.sandbox import Limits, QueryStoppedError, confined, give_up, require_query, run_query
from orledger.schema.waiting import interruptible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from orledger.schema.layouts import Layout

TOTAL = "number of all rows"  # a column beside those of a query

_open: weakref.WeakSet[Results] = weakref.WeakSet()


class SnapshotWarning(Note):
    """A running job holds the database, and its latest snapshot answers instead."""


class Results:
    """A results database, read-only. ``path`` is the file that answers, ``note`` says when that is a snapshot."""

    def __init__(self, path: Path, con: duckdb.DuckDBPyConnection, note: str | None = None) -> None:
        self.path = path
        self.con = con
        self.note = note
        self.spent = 0.0  # seconds, by queries that stand in the file
        _open.add(self)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file."""
        self.con.close()

    def sql(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> pl.DataFrame:
        """The rows of one query; ``?`` or ``$name`` in the query stand for ``params``."""

        def rows() -> pl.DataFrame:
            relation = self.con.sql(query, params=params)
            if relation is None:
                raise QueryRefusedError("the statement returns no rows", hint="give a SELECT, DESCRIBE or SHOW")
            return frame(relation)

        try:
            return interruptible(self.con, rows)
        except duckdb.Error as error:
            raise self._failure(error) from error

    def stored(self, query: str, most: int) -> tuple[pl.DataFrame, int]:
        """The first ``most`` rows of a query that stands in the file itself, sorted by its columns, and the number of all.

        Whoever wrote the file wrote the query: its memory is limited like that of any user's, and the time of all of them together.
        What does not fit into memory is sorted and counted on the disk.
        """
        left = opening.read_seconds() - self.spent
        if left <= 0:
            raise QueryStoppedError(
                f"{self.path}: the queries that stand in it took more than {opening.read_seconds()} seconds together",
                hint="raise the setting ORLEDGER_READ_SECONDS",
            )
        limits = replace(Limits.from_environment(), seconds=left)
        require_query(self.con, query)
        counted = f'SELECT *, count(*) OVER () AS "{TOTAL}" FROM (\n{query.rstrip().rstrip(";")}\n)'
        began = time.monotonic()
        try:
            with confined(3 * limits.memory_mb):
                found = run_query(
                    self,
                    f"{counted} ORDER BY ALL NULLS FIRST LIMIT {most}",
                    limits=replace(limits, rows=max(most, limits.rows)),
                    on_stuck=lambda: give_up(limits.seconds),
                    bounded=True,
                )
        finally:
            self.spent += time.monotonic() - began
        return found.drop(TOTAL), int(found[TOTAL][0]) if len(found) else 0

    def rows(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """The rows of one query as dictionaries: half the time of a frame where the answer is small, and planned once."""

        def fetched() -> list[dict[str, Any]]:
            con = self.con.execute(query, params)
            names = [column[0] for column in con.description or ()]
            return [dict(zip(names, row, strict=True)) for row in con.fetchall()]

        try:
            return interruptible(self.con, fetched)
        except duckdb.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: duckdb.Error) -> OrledgerError:
        """Whose fault it is: a damaged file, a limit, or the query itself."""
        if explaining.is_damage(error) or isinstance(error, duckdb.OutOfMemoryException):
            return explaining.explain(self.path, error, read_only=True)
        if isinstance(error, duckdb.InterruptException):
            return QueryStoppedError(
                f"{self.path}: a query was stopped after {opening.read_seconds()} seconds",
                hint="raise the setting ORLEDGER_READ_SECONDS",
            )
        return QueryRefusedError(str(error))

    def layouts(self) -> list[Layout]:
        """The wide views of every block and the columns of its keys and metrics."""
        return viewing.read(self.con)

    def tables(self) -> list[TableInfo]:
        """Every table and view with its columns and comments."""
        return tables(self.con)

    def records(
        self, *, case: str | None = None, block: str | None = None, arm: str | None = None, metric: str | None = None
    ) -> pl.DataFrame:
        """Records of finished cells with the names and keys of their cells, in a fixed order; filters are equalities."""
        filters = {"c.case_name": case, "c.block": block, "r.arm": arm, "r.metric": metric}
        chosen = {k: v for k, v in filters.items() if v is not None}
        where = "".join(f" AND {k} = ?" for k in chosen)
        return self.sql(
            "SELECT c.cell_id, c.case_name, c.block, c.name AS cell, c.keys::JSON::VARCHAR AS keys, r.arm, r.metric, r.label,"
            f" r.idx, r.value FROM record r JOIN cell c USING (cell_id) WHERE c.state = 'done'{where}"
            " ORDER BY c.name, c.cell_id, r.arm, r.metric, r.label, r.idx, r.value",
            list(chosen.values()),
        )


def open_results(path: str | Path, *, snapshot: bool = True, **config: Any) -> Results:
    """The results at ``path``; while a run holds the file, its latest snapshot, with a SnapshotWarning.

    ``snapshot=False`` raises the LockedError instead. ``config`` holds DuckDB settings such as ``threads``, and
    ``checked=False`` for a file that would run something of its own; see ``opening.connect``.
    """
    path = Path(path)
    try:
        return Results(path, opening.connect(path, "read", **config))
    except explaining.LockedError as error:
        if not snapshot or error.snapshot is None:
            raise
        taken = datetime.fromtimestamp(error.snapshot.stat().st_mtime, UTC)
        note = f"{error.message}: answering from the snapshot of {taken:%Y-%m-%d %H:%M:%S} UTC"
        warnings.warn(note, SnapshotWarning, stacklevel=2)
        return Results(error.snapshot, opening.connect(error.snapshot, "read", **config), note)


@atexit.register
def _close_all() -> None:
    # DuckDB's binding complains on standard error about connections that outlive the interpreter.
    for results in list(_open):
        results.close()

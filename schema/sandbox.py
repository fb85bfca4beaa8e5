"""A user's SQL, asked of the database and of nothing else: read-only, one query, limited in time, rows and memory."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from orledger.errors import OrledgerError, QueryRefusedError, UsageError
from orledger.schema import explaining
from orledger.schema.frames import frame
from orledger.schema.waiting import interruptible
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl

    from orledger.schema.reading import Results

# DESCRIBE, SHOW, SUMMARIZE, FROM, VALUES, TABLE and WITH all parse as SELECT.
ALLOWED = {duckdb.StatementType.SELECT: "SELECT", duckdb.StatementType.EXPLAIN: "EXPLAIN"}

# DuckDB's parser and binder hear no interruption, and take seconds for a list of a hundred thousand values.
MOST_CHARACTERS = 100_000

# The least and the most that a setting may be: a week; rows as polars counts them, in 32 bits; below 64 MB the threads that
# run a query do not start, and a petabyte is no limit.
BOUNDS: dict[str, tuple[float, float]] = {
    "seconds": (0.001, 7 * 86_400),
    "rows": (1, 2**32 - 2),
    "memory_mb": (64, 10**9),
}


GRACE = 5.0  # seconds that a query has at least to hear its interruption: a machine that is busy is slow to do so


class QueryStoppedError(QueryRefusedError):
    """A query ran into its time limit and was interrupted."""


@dataclass(frozen=True)
class Limits:
    """What one query may use: seconds, rows returned, and memory in megabytes."""

    seconds: float = 30.0
    rows: int = 1_000_000
    memory_mb: int = 1024

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Limits:
        """The defaults, or ORLEDGER_SQL_SECONDS, ORLEDGER_SQL_ROWS and ORLEDGER_SQL_MEMORY_MB where they are set."""
        limits = cls()
        for name, variable in (("seconds", "SECONDS"), ("rows", "ROWS"), ("memory_mb", "MEMORY_MB")):
            text = environment.get(f"ORLEDGER_SQL_{variable}")
            if text is None:
                continue
            kind = type(getattr(limits, name))
            least, most = BOUNDS[name]
            try:
                value = kind(text)
            except ValueError:
                value = math.nan
            if not least <= value <= most:
                what = "a whole number" if kind is int else "a number"
                raise UsageError(
                    f"ORLEDGER_SQL_{variable}={text!r}: expected {what} from {_plain(least)} to {_plain(most)}",
                    hint=f"leave it unset for {_plain(getattr(cls(), name))}",
                )
            limits = replace(limits, **{name: value})
        return limits

    def lowered(self, seconds: float | None = None, rows: int | None = None) -> Limits:
        """The limits of one call, which may be lower than the settings and never higher."""
        for name, asked, limit in (("seconds", seconds, self.seconds), ("rows", rows, self.rows)):
            least, most = BOUNDS[name]
            if asked is None or least <= asked <= limit:
                continue
            if not least <= asked <= most:
                raise UsageError(
                    f"a limit of {asked} {name}: expected a number from {_plain(least)} to {_plain(limit)}"
                )
            raise UsageError(
                f"a limit of {_plain(asked)} {name} is above the setting, {_plain(limit)}",
                hint=f"raise the setting itself: ORLEDGER_SQL_{name.upper()}={_plain(asked)}",
            )
        return replace(self, seconds=seconds or self.seconds, rows=rows or self.rows)


def _plain(value: float) -> str:
    """The number with every digit and, when it is whole, nothing but digits, as the settings are written."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def sandbox_config(limits: Limits, *, whole: bool = True) -> dict[str, Any]:
    """DuckDB settings for a connection that runs somebody's SQL; pass them to ``open_results``.

    Without ``whole`` the time limit is left to the reader of the rows, who may be slow.
    """
    return {
        "memory_limit": f"{limits.memory_mb}MB",
        "temp_directory": "",
        **({"max_execution_time": math.ceil(limits.seconds * 1000)} if whole else {}),
        "lock_configuration": True,
    }


def require_query(con: duckdb.DuckDBPyConnection, query: str) -> duckdb.StatementType:
    """The kind of the one statement in ``query``, if it only reads; QueryRefusedError for several, or another kind."""
    if len(query) > MOST_CHARACTERS:
        raise QueryRefusedError(
            f"the query has {len(query):,} characters, and at most {MOST_CHARACTERS:,} are read",
            hint="lists of values belong into a table: import them, or narrow the query",
        )
    try:
        query.encode()
    except UnicodeEncodeError:  # bytes of the terminal or of standard input, kept as they came
        raise QueryRefusedError("the query has bytes that are not UTF-8", hint="save or type it as UTF-8") from None
    try:
        statements = con.extract_statements(query)
    except duckdb.Error as error:
        raise QueryRefusedError(str(error)) from error
    if len(statements) != 1:
        raise QueryRefusedError(f"{counted(len(statements), 'statement')} given, and one is expected")
    try:
        found = statements[0].type
    except ValueError:  # a kind of statement that DuckDB has and its Python binding does not
        raise QueryRefusedError("the statement is refused: the database is open for reading") from None
    if found not in ALLOWED:
        raise QueryRefusedError(
            f"{str(found).rpartition('.')[2]} is refused: the database is open for reading",
            hint="SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE and EXPLAIN are allowed",
        )
    return found


def run_query(
    results: Results,
    query: str,
    params: Sequence[Any] | None = None,
    limits: Limits | None = None,
    *,
    on_stuck: Callable[[], None] | None = None,
    bounded: bool = False,
) -> pl.DataFrame:
    """The rows of one user query on ``results``, which must have been opened with ``sandbox_config``.

    A query that is ``bounded`` has a limit of its own below that of the rows; a second one would be planned as well.

    ``on_stuck`` is called from another thread when the query ignores its interruption for as long again as its limit,
    and for ``GRACE`` seconds at least.
    """
    limits = limits or Limits()
    con = results.con
    kind = require_query(con, query)

    def rows() -> pl.DataFrame:
        relation = con.sql(query, params=params)
        if relation is None:
            raise QueryRefusedError("the statement returns no rows")
        cut = kind == duckdb.StatementType.SELECT and not bounded
        return frame(relation.limit(limits.rows + 1) if cut else relation)

    began = time.monotonic()
    with deadline(con, limits.seconds, on_stuck):
        try:
            found = interruptible(con, rows)
        except (duckdb.InterruptException, duckdb.Error) as error:
            if isinstance(error, duckdb.InterruptException) or time.monotonic() - began >= limits.seconds:
                raise QueryStoppedError(
                    f"the query was stopped after {limits.seconds:g} seconds",
                    hint="narrow it, or raise the setting ORLEDGER_SQL_SECONDS",
                ) from error
            raise failure(results, error, limits) from error
        except (MemoryError, RuntimeError) as error:
            raise failure(results, error, limits) from error
    if found.height > limits.rows:
        raise QueryRefusedError(
            f"the result has more than {limits.rows:,} rows",
            hint="add a LIMIT or aggregate, write csv, jsonl or parquet, or raise the setting ORLEDGER_SQL_ROWS",
        )
    return found


def first_rows(results: Results, query: str, most: int) -> tuple[list[str], list[tuple[Any, ...]], int]:
    """Columns, the first rows and the number of all rows of one query that the database or our own code holds.

    Where ``most`` rows are all, the query is planned and asked once. Its time is limited like that of a user's.
    """
    require_query(results.con, query)
    seconds = Limits.from_environment().seconds
    try:
        with deadline(results.con, seconds, lambda: give_up(seconds)):
            answer = results.con.execute(query)
            columns, rows = [c[0] for c in answer.description or ()], answer.fetchmany(most + 1)
            if len(rows) <= most:
                return columns, rows, len(rows)
            ((total,),) = results.con.execute(f"SELECT count(*) FROM ({query.rstrip().rstrip(';')})").fetchall()
    except duckdb.Error as error:
        raise failure(results, error, Limits()) from error
    return columns, rows[:most], total


def failure(results: Results, error: Exception, limits: Limits) -> OrledgerError:
    """The error to raise for a query that failed for another reason than time."""
    if isinstance(error, duckdb.Error):
        if explaining.is_damage(error):
            return explaining.explain(results.path, error, read_only=True)
        if not isinstance(error, duckdb.OutOfMemoryException):
            return QueryRefusedError(str(error))
    return QueryRefusedError(  # a thread that cannot start is a RuntimeError
        f"the query needs more memory than {limits.memory_mb} MB: {str(error).splitlines()[0]}",
        hint="narrow it, or raise ORLEDGER_SQL_MEMORY_MB, and for a report ORLEDGER_MEMORY_MB too",
    )


def give_up(seconds: float) -> None:
    """Ends the process because a query ignores its interruption: DuckDB's parser and binder hear none.

    Databases are open read-only here, so that leaving at once loses nothing.
    """
    sys.stderr.write(f"error: the query did not stop {max(seconds, GRACE):g} seconds after it was told to\n")
    sys.stderr.flush()
    os._exit(QueryRefusedError.exit_code)


@contextmanager
def confined(memory_mb: int) -> Iterator[None]:
    """While inside, this process cannot allocate more than ``memory_mb`` beyond what it has.

    DuckDB's own limit covers its buffers and not the values of functions: ``repeat('x', 4000000000)`` takes the memory
    of the machine under any ``memory_limit``. With this one the allocation fails, and DuckDB says so. It needs the
    process limits of Linux, and does nothing elsewhere.
    """
    try:
        import resource

        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
        used = int(fields["VmData"].split()[0]) * 1024
    except (ImportError, OSError, KeyError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bounds = [used + memory_mb * 2**20, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextmanager
def deadline(con: duckdb.DuckDBPyConnection, seconds: float, on_stuck: Callable[[], None] | None) -> Iterator[None]:
    """While inside, the query of ``con`` is interrupted after ``seconds``; ``on_stuck`` is called after as long again, or ``GRACE``."""
    timers = [threading.Timer(seconds, con.interrupt)]
    if on_stuck is not None:
        timers.append(threading.Timer(seconds + max(seconds, GRACE), on_stuck))
    try:
        for timer in timers:
            timer.daemon = True
            timer.start()
        yield
    finally:
        for timer in timers:
            timer.cancel()
        # DuckDB's binding complains of a thread that outlives the interpreter.
        for timer in filter(threading.Timer.is_alive, timers):
            timer.join()

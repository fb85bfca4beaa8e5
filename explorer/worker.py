"""A process that answers queries of users, one after the other: ``python -m orledger.explorer.worker``.

Some of DuckDB's functions hear no interruption and obey no limit of memory, so nothing ends them but the end of their process.
In this one nothing else is lost. Requests come in on standard input and answers leave on standard output, both pickled.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from orledger.errors import OrledgerError
from orledger.schema.frames import flat
from orledger.schema.reading import Results, open_results
from orledger.schema.sandbox import Limits, confined, run_query, sandbox_config

if TYPE_CHECKING:
    import polars as pl


class Request(NamedTuple):
    """A query of the database at ``path``; ``take`` is frame, csv, parquet, or how many rows are wanted of it."""

    path: str
    query: str
    limits: Limits
    take: str | int


def taken(frame: pl.DataFrame, take: str | int) -> Any:
    """What leaves the process: the frame, a file, or its columns, its first rows, and how many there are."""
    if isinstance(take, int):
        return frame.columns, frame.head(take).rows(), frame.height
    if take == "frame":
        return frame
    buffer = io.BytesIO()
    frame.write_parquet(buffer) if take == "parquet" else flat(frame).write_csv(buffer)
    return buffer.getvalue()


def answered(results: Results, request: Request) -> tuple[Any, tuple[str, str, str | None] | None]:
    """The answer and no error, or no answer and the kind, message and hint of the error."""
    import polars as pl

    try:
        # Three times over: the rows in DuckDB, on their way, and in the frame.
        with confined(3 * request.limits.memory_mb):
            return taken(run_query(results, request.query, limits=request.limits), request.take), None
    except OrledgerError as error:
        return None, (type(error).__name__, error.message, error.hint)
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError, MemoryError) as error:
        return None, ("QueryRefusedError", f"the rows cannot be written: {error}", "cast the column to VARCHAR")


def main() -> None:
    """Answers until nobody asks any more; the database stays open until another is asked for."""
    if hasattr(os, "nice"):
        os.nice(5)  # pages go before
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, whose end is heard below
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # whatever prints does not get in between
        results: Results | None = None
        while True:
            try:
                request = Request(*pickle.load(sys.stdin.buffer))  # noqa: S301 - from the server that started this
            except EOFError:
                break
            if results is None or results.path != Path(request.path):
                if results is not None:
                    results.close()
                config = sandbox_config(request.limits)
                results = open_results(request.path, snapshot=False, checked=False, **config)
            pickle.dump(answered(results, request), out, protocol=pickle.HIGHEST_PROTOCOL)
            out.flush()


if __name__ == "__main__":
    main()

"""Rows of a query written as they come, to a file or to standard output: CSV, JSON lines and Parquet, in the memory of one batch."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from orledger.cli_output import writing_to
from orledger.cli_render import json_line
from orledger.errors import QueryRefusedError
from orledger.files import require_file
from orledger.schema.frames import flat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from orledger.schema.streaming import Stream

STREAMED = ("csv", "jsonl", "parquet")


def write_stream(stream: Stream, style: str, out: Path | None) -> None:
    """Writes every row; a file that was there is replaced as a whole or kept."""
    with _opened(out) as file:
        try:
            if style == "parquet":
                _parquet(stream, file)
                return
            first = next(
                stream.batches, pl.DataFrame(schema=stream.schema)
            )  # a query that fails leaves no header behind
            if style == "csv":
                file.write(flat(pl.DataFrame(schema=stream.schema)).write_csv().encode())
            for batch in chain([first], stream.batches):
                text = (
                    flat(batch).write_csv(include_header=False)
                    if style == "csv"
                    else "".join(json_line(_structured(row, stream.nested)) for row in batch.iter_rows(named=True))
                )
                file.write(text.encode())
                file.flush()
        except (pl.exceptions.PanicException, pl.exceptions.PolarsError) as error:
            raise QueryRefusedError(
                f"the rows cannot be written: {error}", hint="cast the column to VARCHAR"
            ) from error


def _parquet(stream: Stream, file: BinaryIO) -> None:
    """The batches through polars' streaming writer; what goes wrong on the way is raised as it was."""
    from polars.io.plugins import register_io_source

    problem: list[Exception] = []
    waiting = [stream.batches]  # polars keeps the function for ever, and what it refers to

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del with_columns, predicate, n_rows, batch_size  # all columns and rows are wanted
        try:
            yield from waiting[0]
        except Exception as error:
            problem.append(error)
            raise

    try:
        register_io_source(source, schema=stream.schema).sink_parquet(file)
    except Exception as error:
        raise (problem.pop() if problem else error) from None
    finally:
        waiting.clear()


def _structured(row: dict[str, Any], nested: Sequence[str]) -> dict[str, Any]:
    """``row`` with the columns that hold JSON as what they say."""
    return {k: json.loads(v) if k in nested and v is not None else v for k, v in row.items()}


@contextmanager
def _opened(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    require_file(out)
    with writing_to(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.exists() and not out.is_file():  # a stream that the shell opened
            with out.open("wb") as file:
                yield file
            return
        target = out.resolve()
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with temporary.open("wb") as file:
                yield file
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

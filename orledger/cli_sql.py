"""``orledger sql``: a question in, a table, CSV, JSON, Markdown or Parquet out; without a question, a shell."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orledger.cli_options import PlacePath, db_option, on_terminal, reading
from orledger.cli_output import check_file, out_option, write_file
from orledger.cli_render import render
from orledger.errors import QueryRefusedError, UsageError
from orledger.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from orledger.schema.addresses import Place
    from orledger.schema.describing import TableInfo
    from orledger.schema.reading import Results
    from orledger.schema.sandbox import Limits

FORMATS = ("table", "vertical", "csv", "json", "jsonl", "markdown", "parquet")
ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".md": "markdown", ".parquet": "parquet"}
SHOWN = tuple(style for style in FORMATS if style != "parquet")  # what a terminal can show


@click.command()
@click.argument("query", required=False)
@db_option
@click.option(
    "--lake",
    type=PlacePath(exists=True, file_okay=False),
    help="Query all exported corpora below this folder or address as one database, without importing them.",
)
@click.option(
    "-f", "--file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Read the query from this file."
)
@click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    show_default="table",
    help="How to print the rows; csv, jsonl and parquet are streamed, any number of rows.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@out_option(help="Write to this file instead of standard output.")
@click.option("--tables", "describe", is_flag=True, help="Describe the tables and their columns.")
@click.option("--time-limit", type=float, help="Seconds; may only lower the setting ORLEDGER_SQL_SECONDS (30).")
@click.option(
    "--max-rows",
    type=click.IntRange(min=1),
    help="Refuse a result with more rows; for formats that are not streamed, at most ORLEDGER_SQL_ROWS (1000000).",
)
@click.option("--pager/--no-pager", default=True, help="On a terminal, show output longer than the screen in a pager.")
def sql(
    query: str | None,
    db: Path,
    lake: Place | None,
    file: Path | None,
    style: str | None,
    as_json: bool,
    out: Path | None,
    describe: bool,
    time_limit: float | None,
    max_rows: int | None,
    pager: bool,
) -> None:
    """Ask the results database one QUERY, given as an argument, in a file, or on standard input. Without one, on a terminal, start a shell.

    The query runs read-only, has access to the database only, and is stopped at its time limit. While a run
    has the database open, its latest snapshot is read. If a table is too wide for the terminal, it is shown with one value per line. In JSON, decimals, integers of more than 64 bits and numbers that are
    not finite ("NaN", "Infinity", "-Infinity") are strings, and an absent value is null.
    """
    if as_json and style not in (None, "json"):
        raise UsageError(f"--json and --format {style} were both given", hint="give one of them")
    style = style or ("json" if as_json else "table")
    if out is not None:
        if (of := ENDINGS.get(out.suffix.lower(), style)) != style:
            raise UsageError(f"{out} ends in {out.suffix}, and {style} is written here", hint=f"--format {of}")
        check_file(out)
    if describe:
        if query is not None or file is not None:
            raise UsageError("a query was given beside --tables", hint="leave one of them out")
        with _asked(db, lake) as results:
            _print(_described(results.tables(), style), out)
        return
    if style == "parquet" and out is None and on_terminal():
        raise UsageError("Parquet is not for a terminal", hint="--out rows.parquet")
    from orledger.schema.sandbox import Limits

    limits = Limits.from_environment()
    if query is None and file is None and sys.stdin.isatty():
        from orledger.cli_shell import history_file, shell

        with _asked(db, lake) as results:
            tables = results.tables()
        shell(
            str(lake or db),
            tuple(dict.fromkeys((style if style in SHOWN else "table", *SHOWN))),
            lambda: tables,
            lambda text, shown: _answer(text, db, lake, shown, None, limits.lowered(time_limit), max_rows, pager=pager),
            history=history_file(),
        )
        return
    text = _query_text(query, file)
    _answer(text, db, lake, style, out, limits.lowered(time_limit), max_rows, pager=pager)


def _answer(
    text: str,
    db: Path,
    lake: Place | None,
    style: str,
    out: Path | None,
    limits: Limits,
    max_rows: int | None,
    *,
    pager: bool,
) -> None:
    """Runs one query and writes its rows."""
    from orledger.cli_stream import STREAMED, write_stream
    from orledger.schema.sandbox import confined, give_up, run_query, sandbox_config
    from orledger.schema.streaming import streaming

    def stuck() -> None:
        give_up(limits.seconds)

    if style in STREAMED:
        config = sandbox_config(limits, whole=False)
        options: dict[str, Any] = {"rows": max_rows, "as_text": style != "parquet", "on_stuck": stuck}
        with (
            _asked(db, lake, **config) as results,
            confined(3 * limits.memory_mb),
            streaming(results, text, limits, **options) as stream,
        ):
            write_stream(stream, style, out)
        return
    limits = limits.lowered(rows=max_rows)
    # Three times over: the rows in DuckDB, on their way, and in the frame.
    with _asked(db, lake, **sandbox_config(limits)) as results, confined(3 * limits.memory_mb):
        found = run_query(results, text, limits=limits, on_stuck=stuck)
    _write(found, style, out, pager=pager)


@contextmanager
def _asked(db: Path, lake: Place | None, **config: Any) -> Iterator[Results]:
    """What answers: the database, or the corpora of a lake."""
    if lake is None:
        with reading(db, **config) as results:
            yield results
        return
    from orledger.schema.addresses import reading_lake
    from orledger.schema.lake import open_lake

    with reading_lake(lake) as folder, open_lake(folder, **config) as results:
        yield results


def _query_text(query: str | None, file: Path | None) -> str:
    if query is not None and file is not None:
        raise UsageError("a query and --file were both given", hint="give one of them")
    if query is not None and query != "-":
        return query
    try:
        return sys.stdin.read() if file is None else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file or 'standard input'} is not text: {error}", hint="give a query in UTF-8, such as SELECT 1"
        ) from error


def _write(found: pl.DataFrame, style: str, out: Path | None, *, pager: bool) -> None:
    import polars as pl

    terminal = out is None and on_terminal()
    size = shutil.get_terminal_size()
    try:
        text = render(found, style, size.columns if terminal else None)
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError) as error:
        raise QueryRefusedError(f"the rows cannot be shown: {error}", hint="cast the column to VARCHAR") from error
    if terminal and pager and text.count("\n") >= size.lines:
        os.environ.setdefault("LESS", "FRX")  # as git does: colours kept, the text stays on the screen
        click.echo_via_pager(visible(text))
    else:
        _print(text, out)


def _print(data: str | bytes, out: Path | None) -> None:
    if out is None:
        click.echo(data, nl=False)
    else:
        write_file(out, data)


def _described(tables: list[TableInfo], style: str) -> str:
    """The tables with their columns and comments, in a style that has room for them."""
    if style == "json":
        from dataclasses import asdict

        return json.dumps([asdict(t) for t in tables], indent=2, ensure_ascii=False, default=str) + "\n"
    if style == "markdown":
        from orledger.schema.describing import markdown

        return markdown(tables)
    if style != "table":
        raise UsageError(f"--tables cannot be written as {style}", hint="--format table, markdown or json")
    lines: list[str] = []
    group: str | None = None
    for table in tables:
        if table.study not in (None, group):
            group = table.study
            lines.append(f"-- views of {group}")
        size = "view" if table.rows is None else f"{table.rows:,} {'row' if table.rows == 1 else 'rows'}"
        lines.append(f"{table.name} ({size}): {table.comment or ''}".rstrip(": "))
        width = max(len(c.name) for c in table.columns)
        lines += [
            f"    {c.name.ljust(width)}  {c.type.lower().ljust(12)}  {c.comment or ''}".rstrip() for c in table.columns
        ]
    return "\n".join(lines) + "\n"

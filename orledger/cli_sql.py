"""``orledger sql``: a question in, a table, CSV, JSON, Markdown or Parquet out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orledger.cli_options import db_option, echo_json, on_terminal, reading
from orledger.errors import QueryRefusedError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from orledger.schema.describing import Table

FORMATS = ("table", "csv", "json", "markdown", "parquet")


@click.command()
@click.argument("query", required=False)
@db_option
@click.option(
    "-f", "--file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Read the query from this file."
)
@click.option(
    "--format", "style", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the rows."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of standard output.",
)
@click.option("--tables", "describe", is_flag=True, help="Describe the tables, their columns and what they mean.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds; may only lower the setting ORLEDGER_SQL_SECONDS (30).",
)
@click.option(
    "--max-rows", type=click.IntRange(min=1), help="Rows; may only lower the setting ORLEDGER_SQL_ROWS (1000000)."
)
def sql(
    query: str | None,
    db: Path,
    file: Path | None,
    style: str,
    output: Path | None,
    describe: bool,
    time_limit: float | None,
    max_rows: int | None,
) -> None:
    """Ask the results database one QUERY: an argument, a file, or standard input.

    The query runs read-only, sees nothing of the machine but the database, and is stopped at its time limit. While a run
    has the database, its latest snapshot answers.
    """
    if describe:
        with reading(db) as results:
            _describe(results.tables(), style)
        return
    text = _query_text(query, file)
    if style == "parquet" and output is None and on_terminal():
        raise UsageError("Parquet is not for a terminal", hint="-o rows.parquet")
    from orledger.schema.sandbox import Limits, confined, run_query, sandbox_config

    limits = Limits.from_environment().lowered(time_limit, max_rows)
    # Three times over: the rows in DuckDB, on their way, and in the frame.
    with reading(db, **sandbox_config(limits)) as results, confined(3 * limits.memory_mb):
        found = run_query(results, text, limits=limits, on_stuck=lambda: _give_up(limits.seconds))
    _write(found, style, output)


def _query_text(query: str | None, file: Path | None) -> str:
    if query is not None and file is not None:
        raise UsageError("a query and --file were both given", hint="give one of them")
    if file is not None:
        return file.read_text(encoding="utf-8")
    if query is not None and query != "-":
        return query
    if query is None and sys.stdin.isatty():
        raise UsageError("no query", hint='orledger sql "SELECT ...", -f file.sql, or a query on standard input')
    return sys.stdin.read()


def _give_up(seconds: float) -> None:
    # The database is open read-only: leaving at once loses nothing.
    sys.stderr.write(f"error: the query did not stop {seconds:g} seconds after it was told to\n")
    sys.stderr.flush()
    os._exit(QueryRefusedError.exit_code)


def _write(found: pl.DataFrame, style: str, output: Path | None) -> None:
    if style == "parquet":
        target = click.open_file(str(output) if output else "-", "wb")
        with target as stream:
            found.write_parquet(stream)
        return
    import polars as pl

    try:
        text = render(found, style)
    except pl.exceptions.PanicException as error:
        raise QueryRefusedError(f"the rows cannot be shown: {error}", hint="cast the column to VARCHAR") from error
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def render(found: pl.DataFrame, style: str) -> str:
    """The rows as text; numbers with every digit, absent values as nothing (null in JSON)."""
    if style == "json":
        return json.dumps(found.to_dicts(), indent=2, ensure_ascii=False, default=str) + "\n"
    if style == "csv":
        return _flat(found).write_csv()
    rows = [["" if v is None else str(v) for v in row] for row in found.rows()]
    names = found.columns
    widths = [max([len(n), *(len(row[k]) for row in rows)]) for k, n in enumerate(names)]
    numeric = [dtype.is_numeric() for dtype in found.dtypes]

    def line(cells: list[str]) -> list[str]:
        return [c.rjust(w) if right else c.ljust(w) for c, w, right in zip(cells, widths, numeric, strict=True)]

    if style == "markdown":
        escaped = [[c.replace("|", "\\|").replace("\n", " ") for c in row] for row in rows]
        rule = ["-" * (max(w, 3) - 1) + (":" if right else "-") for w, right in zip(widths, numeric, strict=True)]
        body = [line(names), rule, *(line(row) for row in escaped)]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in body)
    body = [line(names), ["-" * w for w in widths], *(line(row) for row in rows)]
    count = f"({found.height} row{'' if found.height == 1 else 's'})\n"
    return "".join("  ".join(cells).rstrip() + "\n" for cells in body) + count


def _flat(found: pl.DataFrame) -> pl.DataFrame:
    """The same rows with lists, maps and bytes written as text, since CSV has no place for them."""
    import polars as pl

    nested = [s.name for s in found if s.dtype.is_nested() or s.dtype == pl.Binary]
    texts = [pl.Series(n, [None if v is None else str(v) for v in found[n].to_list()], dtype=pl.String) for n in nested]
    return found.with_columns(texts)


def _describe(tables: list[Table], style: str) -> None:
    if style == "json":
        from dataclasses import asdict

        echo_json([asdict(t) for t in tables])
    elif style == "markdown":
        from orledger.schema.describing import markdown

        click.echo(markdown(tables), nl=False)
    elif style == "table":
        for table in tables:
            size = "view" if table.rows is None else f"{table.rows:,} rows"
            click.echo(f"{table.name} ({size}): {table.comment or ''}".rstrip(": "))
            width = max(len(c.name) for c in table.columns)
            for column in table.columns:
                click.echo(
                    f"    {column.name.ljust(width)}  {column.type.lower().ljust(12)}  {column.comment or ''}".rstrip()
                )
    else:
        raise UsageError(f"--tables cannot be written as {style}", hint="--format table, markdown or json")

"""What the database holds, in its own words: tables, columns and their comments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Column:
    """A column: its name, its type, and what it means (None where nobody wrote it down)."""

    name: str
    type: str
    comment: str | None


@dataclass(frozen=True)
class Table:
    """A table or view with its columns; ``rows`` is None for a view, which is computed when asked."""

    name: str
    kind: str
    comment: str | None
    rows: int | None
    columns: tuple[Column, ...]


def tables(con: DuckDBPyConnection) -> list[Table]:
    """Every table, then every view, in the order of their names."""
    listed = con.execute(
        "SELECT table_name, 'table', comment FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal"
        " UNION ALL SELECT view_name, 'view', comment FROM duckdb_views()"
        " WHERE database_name = current_database() AND NOT internal ORDER BY 2, 1"
    ).fetchall()
    columns: dict[str, list[Column]] = {}
    query = (
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns()"
        " WHERE database_name = current_database() AND NOT internal ORDER BY table_name, column_index"
    )
    for table, name, kind, comment in con.execute(query).fetchall():
        columns.setdefault(table, []).append(Column(name, kind, comment))
    found = []
    for name, kind, comment in listed:
        rows = con.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0] if kind == "table" else None
        found.append(Table(name, kind, comment, rows, tuple(columns.get(name, ()))))
    return found


def markdown(found: Sequence[Table]) -> str:
    """The same as a Markdown page, one section per table, without row counts: a description of the schema."""
    lines = []
    for table in found:
        lines += [
            f"## {table.name}",
            "",
            f"{'View' if table.kind == 'view' else 'Table'}. {table.comment or ''}".rstrip() + "",
            "",
        ]
        lines += ["| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{c.name}` | {c.type} | {(c.comment or '').replace('|', chr(92) + '|')} |" for c in table.columns]
        lines.append("")
    return "\n".join(lines)


INTRODUCTION = """# The database

One DuckDB file holds everything: what was planned, what was computed, what was registered and what the audit found. Numbers
are rows of `record`, one number each; the views below are the wide tables a person would ask for. Values are finite
always: what is absent has a row in `refusal`, a `reason` in `cell`, or is not there.

`orledger sql "SELECT ..."` asks it, `orledger sql --tables` prints this page for your file, and `orledger.open("results.duckdb")`
gives polars frames. Any DuckDB from 1.4 on opens the file, read-only please while a run has it.

This page is written by `make docs` from the comments in `schema/migrations/` and `schema/views/`.

"""


def page() -> str:
    """docs/database.md: the schema this package ships, in its own words."""
    import duckdb

    from orledger.schema.migrate import migrate

    con = duckdb.connect()
    try:
        migrate(con)
        return INTRODUCTION + markdown(tables(con))
    finally:
        con.close()


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())

"""What the database holds, in its own words: tables, columns and their comments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.schema import viewing
from orledger.schema.layouts import FIXED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

# The table behind each view across all studies.
BEHIND = {
    "all_cells": "cell",
    "all_records": "record",
    "all_refusals": "cell",
    "newest_tests": "test_result",
    "newest_claims": "claim",
    "newest_verdicts": "disposition",
}
OWN = {
    "case_name": "Name of the case, or of an imported study",
    "block": "Part of the case the cell belongs to",
    "imported": "True where the cell came in with a table and was not computed by a run",
    "cpu": "Model of the processor that computed it; NULL where it is not known",
    "node": "Name of the machine that computed it; NULL where it is not known",
}


@dataclass(frozen=True)
class ColumnInfo:
    """A column: its name, its type, and what it means (None where nobody wrote it down)."""

    name: str
    type: str
    comment: str | None


@dataclass(frozen=True)
class TableInfo:
    """A table or view with its columns; ``rows`` is None for a view, which is computed when asked.

    ``study`` is the study whose catalogue a view was made from: the name of the case when it has no other.
    """

    name: str
    kind: str
    comment: str | None
    rows: int | None
    columns: tuple[ColumnInfo, ...]
    study: str | None = None


def tables(con: DuckDBPyConnection) -> list[TableInfo]:
    """Every table, then the views study by study, each in the order of their names."""
    listed = con.execute(
        "SELECT table_name, 'table', comment FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal"
        " UNION ALL SELECT view_name, 'view', comment FROM duckdb_views()"
        " WHERE database_name = current_database() AND NOT internal ORDER BY 2, 1"
    ).fetchall()
    columns: dict[str, list[ColumnInfo]] = {}
    query = (
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns()"
        " WHERE database_name = current_database() AND NOT internal ORDER BY table_name, column_index"
    )
    described = con.execute(query).fetchall()
    meant = {(table, name): comment for table, name, _, comment in described}
    for table, name, kind, comment in described:
        known = FIXED.get(name)
        if table in BEHIND:  # a view across studies: columns of a table under their own names, and what every block has
            of_table = meant.get((BEHIND[table], name))
            known = of_table if table.startswith("newest_") else OWN.get(name) or known or of_table
        columns.setdefault(table, []).append(ColumnInfo(name, kind, comment or known))
    studies = _studies(con) if ("key", "table") in {row[:2] for row in listed} else {}
    found = []
    for name, kind, comment in listed:
        rows = con.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0] if kind == "table" else None
        found.append(TableInfo(name, kind, comment, rows, tuple(columns.get(name, ())), studies.get(name)))
    return sorted(found, key=lambda t: (t.kind, t.study is None and t.kind == "view", t.study or ""))


def _studies(con: DuckDBPyConnection) -> dict[str, str]:
    """The study of every generated view."""
    names = dict(con.execute("SELECT case_name, study FROM study").fetchall())
    return {
        view: names.get(layout.case, layout.case) for layout in viewing.read(con) for view in viewing.statements(layout)
    }


def markdown(found: Sequence[TableInfo]) -> str:
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

One DuckDB file holds everything: what was planned, what was computed, what was registered and what the audit found. Each row of
`record` is one number. Values are always finite: an absent value has a row in `refusal`, a `reason` in `cell`,
or no row at all.

`orledger sql "SELECT ..."` queries it, `orledger sql --tables` prints this page for your file, including its views, and
`orledger.open("results.duckdb")` returns polars frames. DuckDB 1.4 and later can open the file; while a run is writing it, open the snapshot instead.

`make docs` writes this page from the comments in `schema/migrations/`.

# The views

The tables `key`, `arm` and `metric` are the catalogue: they say what each study records. The wide views are made from it
alone, whether the study ships with the package, was imported or was written from Python. A block `main` of a study `mylab` has

| view | rows | columns |
|---|---|---|
| `mylab_main` | one per finished cell, arm and label | `cell_id`, `cell`, `computed_on`, the keys, `arm`, `label`, the metrics without index, `refused`, `refused_by` |
| `mylab_main_series` | one per finished cell, arm, label and index | the same with `idx` and the indexed metrics, without the last two |
| `mylab_main_cells` | one per planned cell | `cell_id`, `cell`, the keys, `state`, `reason`, `error`, `seconds`, `computed_on`, `settings` |

and six views cover all studies at once: `all_cells`, `all_records` (of finished cells) and `all_refusals`, each with `case_name`,
`block` and the name of the `cell`; `newest_tests`, `newest_claims` and `newest_verdicts` with the rows of the newest audit
(`test_result`, `claim` and `disposition` keep those of every audit).

A key is a column of its type (`BIGINT`, `DOUBLE` or `VARCHAR`; for a key that nobody declared, the first of these that fits all its values).
A metric is a `DOUBLE`, NULL where it was not recorded. An arm that refused has a row of its own with the reason in `refused` and
NULL in every metric. The audit, the tables and the figures read these views and no table of records; the SQL stored with every test names them.

Names are used as they are, in quotes. If two things would share a name, both are renamed: a key and a metric called `size` become
`size_key` and `size_metric`. A key called like one of the columns above is renamed too (`arm_key`). Metrics that differ only in upper and
lower case get a digest of the name at the end, and so do two blocks whose views would have the same name.

# The tables

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

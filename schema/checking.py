"""Checking a database: row counts, content hashes, finite values, and whether every row belongs somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.schema import explaining, migrate, objects, opening
from orledger.schema.contents import CheckFinding, asked, content_findings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from duckdb import DuckDBPyConnection

# Each query lists what is wrong: a name for people, and the detail.
QUERIES: dict[str, str] = {
    "a record is not finite": "SELECT cell_id, arm || '/' || metric FROM record WHERE NOT isfinite(value)",
    "the number of records differs": (
        "SELECT name, format('{} stored, {} counted', n_records, coalesce(n, 0)) FROM cell"
        " LEFT JOIN (SELECT cell_id, count(*) AS n FROM record GROUP BY 1) USING (cell_id)"
        " WHERE coalesce(n, 0) <> coalesce(n_records, 0)"
    ),
    "a settled cell lacks its time, hash, reason or error": (
        "SELECT name, state FROM cell WHERE (state <> 'planned' AND finished IS NULL)"
        " OR (state IN ('done', 'refused') AND content_hash IS NULL)"
        " OR (state = 'refused' AND reason IS NULL) OR (state = 'failed' AND error IS NULL)"
    ),
    "a cell appears twice": "SELECT cell_id, count(*)::VARCHAR FROM cell GROUP BY 1 HAVING count(*) > 1",
    "a cell names a run that is not there": "SELECT name, run_id FROM cell WHERE run_id IS NOT NULL AND run_id NOT IN (SELECT run_id FROM run)",
    "a metric is not in the dictionary": (
        "SELECT case_name || '/' || r.metric, format('{} records', count(*)) FROM record r JOIN cell USING (cell_id)"
        " WHERE case_name IN (SELECT case_name FROM metric)"
        " AND (case_name, r.metric) NOT IN (SELECT (case_name, metric) FROM metric) GROUP BY case_name, r.metric"
    ),
}


@dataclass(frozen=True)
class CheckReport:
    """What was looked at and what was found; an empty list of findings is a clean database."""

    cells: int
    records: int
    hashes: int
    findings: tuple[CheckFinding, ...]


def check(path: Path) -> CheckReport:
    """Everything in the database at ``path`` read and verified; reading alone verifies DuckDB's block checksums."""
    con = opening.connect(path, "read", checked=False)
    with explaining.translated(path, read_only=True):
        try:
            objects.require_code(
                path, con
            )  # no view is read here: one that was changed is for ``chain.verify`` to name
            findings = [*_migrations(con), *asked(con, QUERIES)]
            hashes, changed = content_findings(con, doubled=True)
            return CheckReport(_count(con, "cell"), _count(con, "record"), hashes, (*findings, *changed))
        finally:
            con.close()


def _migrations(con: DuckDBPyConnection) -> Iterator[CheckFinding]:
    shipped = {f.number: f for f in migrate.shipped_migrations()}
    for number, name, sha in con.execute(
        "SELECT number, name, sha256 FROM migration WHERE kind = 'migration'"
    ).fetchall():
        if number in shipped and shipped[number].sha256 != sha:
            yield CheckFinding(
                "a migration was applied from another text",
                name,
                f"applied {sha[:12]}, shipped {shipped[number].sha256[:12]}",
            )


def _count(con: DuckDBPyConnection, table: str) -> int:
    return int(con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

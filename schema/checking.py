"""Checking a database: row counts, content hashes, finite values, and whether every row belongs somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.schema import explaining, migrate, opening
from orledger.schema.hashing import content_hash
from orledger.schema.writing import DATASET_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from duckdb import DuckDBPyConnection

# Each query lists what is wrong: a name for people, and the detail.
QUERIES: dict[str, str] = {
    "a record is not finite": "SELECT cell_id, arm || '/' || metric FROM record WHERE NOT isfinite(value)",
    "rows without a cell": " UNION ALL ".join(
        f"SELECT cell_id, 'in {t}' FROM {t} ANTI JOIN cell USING (cell_id) GROUP BY ALL"
        for t in ("record", "refusal", "fact", "dataset")
    ),
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
class Finding:
    """Something that is not as it should be: the rule, where, and what was seen."""

    rule: str
    where: str
    detail: str


@dataclass(frozen=True)
class CheckReport:
    """What was looked at and what was found; an empty list of findings is a clean database."""

    cells: int
    records: int
    hashes: int
    findings: tuple[Finding, ...]


def check(path: Path) -> CheckReport:
    """Everything in the database at ``path`` read and verified; reading alone verifies DuckDB's block checksums."""
    con = opening.connect(path, "read")
    with explaining.translated(path, read_only=True):
        try:
            findings = [*_migrations(con)]
            for rule, query in QUERIES.items():
                findings += [Finding(rule, str(a), str(b)) for a, b in con.execute(query).fetchall()]
            hashes, changed = _hashes(con)
            return CheckReport(_count(con, "cell"), _count(con, "record"), hashes, (*findings, *changed))
        finally:
            con.close()


def _migrations(con: DuckDBPyConnection) -> Iterator[Finding]:
    shipped = {f.number: f for f in migrate.shipped_migrations()}
    for number, name, sha in con.execute(
        "SELECT number, name, sha256 FROM migration WHERE kind = 'migration'"
    ).fetchall():
        if number in shipped and shipped[number].sha256 != sha:
            yield Finding(
                "a migration was applied from another text",
                name,
                f"applied {sha[:12]}, shipped {shipped[number].sha256[:12]}",
            )


def _hashes(con: DuckDBPyConnection) -> tuple[int, list[Finding]]:
    """The number of cells hashed again, and those whose rows no longer give the hash they were stored with."""
    settled = con.execute(
        "SELECT cell_id, name, state, reason, content_hash FROM cell WHERE content_hash IS NOT NULL ORDER BY cell_id"
    ).fetchall()
    refusals = _grouped(con, "SELECT cell_id, arm, reason, margin FROM refusal")
    facts = _grouped(con, "SELECT cell_id, name, value FROM fact")
    datasets = _grouped(con, f"SELECT cell_id, {', '.join(DATASET_COLUMNS)} FROM dataset")
    findings = []
    records = _records_by_cell(con)
    cell_id, columns = next(records, ("", None))
    for wanted, name, state, reason, stored in settled:
        # Both run in the order of ids; records of cells that have no hash are passed over.
        while columns is not None and cell_id < wanted:
            cell_id, columns = next(records, ("", None))
        found = content_hash(
            state,
            reason,
            columns if columns is not None and cell_id == wanted else _EMPTY,
            refusals.get(wanted, []),
            dict(facts.get(wanted, [])),
            [dict(zip(DATASET_COLUMNS, row, strict=True)) for row in datasets.get(wanted, [])],
        )
        if found != stored:
            findings.append(Finding("the content hash differs", name, f"stored {stored}, computed {found}"))
    return len(settled), findings


_EMPTY: dict[str, Any] = {
    "arm": [],
    "metric": [],
    "label": [],
    "idx": np.ma.masked_all(0, dtype=np.int32),
    "value": np.empty(0),
}


def _records_by_cell(con: DuckDBPyConnection) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of one cell after the other, in the order of ids, a slice of the cells at a time."""
    ids = [row[0] for row in con.execute("SELECT cell_id, count(*) FROM record GROUP BY 1 ORDER BY 1").fetchall()]
    step = 1000
    for k in range(0, len(ids), step):
        chunk = con.execute(
            "SELECT cell_id, arm, metric, label, idx, value FROM record WHERE cell_id BETWEEN ? AND ? ORDER BY cell_id",
            [ids[k], ids[min(k + step, len(ids)) - 1]],
        ).fetchnumpy()
        names = np.asarray(chunk["cell_id"], dtype=object)
        starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
        for start, stop in zip(starts, [*starts[1:], names.size], strict=True):
            part = {c: chunk[c][start:stop] for c in ("arm", "metric", "label", "idx", "value")}
            yield str(names[start]), part


def _grouped(con: DuckDBPyConnection, query: str) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for cell_id, *row in con.execute(query).fetchall():
        groups.setdefault(cell_id, []).append(tuple(row))
    return groups


def _count(con: DuckDBPyConnection, table: str) -> int:
    return int(con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

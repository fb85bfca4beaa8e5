"""What cells hold, read again: rows that no longer give the hash they were stored with, and rows that belong to no cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.schema.hashing import DATASET_COLUMNS, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

# Records read at once when cells are hashed again; a single cell may have more.
AT_ONCE = 200_000

# Each query lists what is wrong: a name for people, and the detail.
ORPHANS: dict[str, str] = {
    "rows without a cell": " UNION ALL ".join(
        f"SELECT cell_id, 'in {t}' FROM {t} ANTI JOIN cell USING (cell_id) GROUP BY ALL"
        for t in ("record", "refusal", "fact", "dataset")
    ),
}


@dataclass(frozen=True)
class CheckFinding:
    """Something that is not as it should be: the rule, where, and what was seen."""

    rule: str
    where: str
    detail: str


def content_findings(con: DuckDBPyConnection) -> tuple[int, list[CheckFinding]]:
    """The number of cells hashed again; those whose rows no longer give their hash, and rows that belong to no cell."""
    settled = con.execute(
        "SELECT cell_id, name, state, reason, content_hash FROM cell WHERE content_hash IS NOT NULL ORDER BY cell_id"
    ).fetchall()
    refusals = _grouped(con, "SELECT cell_id, arm, reason, margin FROM refusal")
    facts = _grouped(con, "SELECT cell_id, name, value FROM fact")
    datasets = _grouped(con, f"SELECT cell_id, {', '.join(DATASET_COLUMNS)} FROM dataset")
    findings = asked(con, ORPHANS)
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
            findings.append(CheckFinding("the content hash differs", name, f"stored {stored}, computed {found}"))
    return len(settled), findings


_EMPTY: dict[str, Any] = {
    "arm": [],
    "metric": [],
    "label": [],
    "idx": np.ma.array(np.empty(0, dtype=np.int32)),
    "value": np.empty(0),
}


def _records_by_cell(con: DuckDBPyConnection) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of one cell after the other, in the order of ids, a bounded number of records at a time."""
    counts = con.execute("SELECT cell_id, count(*) FROM record GROUP BY 1 ORDER BY 1").fetchall()
    first, taken = 0, 0
    for k, (_, count) in enumerate(counts):
        taken += count
        if taken < AT_ONCE and k + 1 < len(counts):
            continue
        chunk = con.execute(
            "SELECT cell_id, arm, metric, label, idx, value FROM record WHERE cell_id BETWEEN ? AND ? ORDER BY cell_id",
            [counts[first][0], counts[k][0]],
        ).fetchnumpy()
        names = np.asarray(chunk["cell_id"], dtype=object)
        starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
        for start, stop in zip(starts, [*starts[1:], names.size], strict=True):
            part = {c: chunk[c][start:stop] for c in ("arm", "metric", "label", "idx", "value")}
            yield str(names[start]), part
        first, taken = k + 1, 0


def _grouped(con: DuckDBPyConnection, query: str) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for cell_id, *row in con.execute(query).fetchall():
        groups.setdefault(cell_id, []).append(tuple(row))
    return groups


def asked(con: DuckDBPyConnection, queries: dict[str, str]) -> list[CheckFinding]:
    """What ``queries`` list, each under its own name."""
    return [
        CheckFinding(rule, str(a), str(b)) for rule, query in queries.items() for a, b in con.execute(query).fetchall()
    ]

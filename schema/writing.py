"""The writer: plans, runs and cell results, each in one transaction."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from orledger.schema import opening
from orledger.schema.hashing import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DATASET_COLUMNS = ("name", "origin", "n_rows", "n_features", "target", "distinct_targets", "sha256")


@dataclass(frozen=True)
class PlannedCell:
    """A row of ``cell`` before it is computed."""

    cell_id: str
    case: str
    block: str
    name: str
    keys: Mapping[str, Any]
    spec: str
    hash_version: str
    job_id: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of one cell: ``columns`` holds arm, metric, label, idx (masked) and value, equally long."""

    state: str
    reason: str | None = None
    error: str | None = None
    seconds: float | None = None
    backend: str | None = None
    columns: Mapping[str, np.ndarray] | None = None
    refusals: Sequence[tuple[str, str, float | None]] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    datasets: Sequence[Mapping[str, Any]] = ()


class Writer:
    """The one process that writes a results database; closes with ``close`` or as a context manager."""

    def __init__(self, path: str | Path, *, threads: int = 1) -> None:
        self.path = Path(path)
        self.con = opening.connect(self.path, "write", threads=threads)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Writes the log into the file and lets other processes in."""
        with opening.translated(self.path):
            self.con.close()

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """All of it or nothing: commits at the end, rolls back when anything is raised."""
        with opening.translated(self.path):
            self.con.execute("BEGIN")
            try:
                yield self.con
                self.con.execute("COMMIT")
            except BaseException:
                # After a failed COMMIT (a full disk) the transaction is already gone.
                with suppress(duckdb.Error):
                    self.con.execute("ROLLBACK")
                raise

    def begin_run(self, run_id: str, *, registration_hash: str | None = None, **facts: Any) -> None:
        """A row of ``run`` in state running. ``facts``: preset, device, engine, jobs, threads, git_commit, and the
        mappings settings, versions and host, stored as JSON.
        """
        row = {k: _json(v) if isinstance(v, dict) else v for k, v in facts.items()}
        row |= {"run_id": run_id, "registration_hash": registration_hash, "started": _now(), "state": "running"}
        with self.transaction() as con:
            con.execute("UPDATE run SET state = 'interrupted' WHERE state = 'running'")
            con.execute(f"INSERT INTO run ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))

    def end_run(self, run_id: str, state: str) -> None:
        """Marks the run finished, interrupted or incomplete, and moves everything from the log into the file."""
        with self.transaction() as con:
            con.execute("UPDATE run SET state = ?, ended = ? WHERE run_id = ?", [state, _now(), run_id])
        with opening.translated(self.path):
            self.con.execute("CHECKPOINT")

    def registration_hash(self) -> str | None:
        """One hash for all hypotheses in force: over the newest registered text of each; None when there are none."""
        with opening.translated(self.path):
            rows = self.con.execute(
                "SELECT arg_max(hash, registered) FROM registration GROUP BY hypothesis ORDER BY 1"
            ).fetchall()
        return hashlib.sha256("\n".join(row[0] for row in rows).encode()).hexdigest() if rows else None

    def plan(self, cells: Sequence[PlannedCell]) -> int:
        """The number of cells that were new; those already in the database keep their state."""
        rows = {
            "cell_id": _text(c.cell_id for c in cells),
            "case_name": _text(c.case for c in cells),
            "block": _text(c.block for c in cells),
            "name": _text(c.name for c in cells),
            "keys": _text(
                _json({k: v if isinstance(v, str) else json.dumps(v) for k, v in c.keys.items()}) for c in cells
            ),
            "spec": _text(c.spec for c in cells),
            "hash_version": _text(c.hash_version for c in cells),
            "job_id": _text(c.job_id for c in cells),
        }
        if not cells:
            return 0
        with self.transaction() as con:
            before = self._count("cell")
            con.execute(
                "INSERT INTO cell BY NAME SELECT cell_id, case_name, block, name, keys::JSON::MAP(VARCHAR, VARCHAR) AS keys,"
                " spec, hash_version, job_id, 'planned' AS state FROM rows"
                " WHERE cell_id NOT IN (SELECT cell_id FROM cell)"
            )
            del rows
            return self._count("cell") - before

    def states(self) -> dict[str, str]:
        """The state of every cell, by id."""
        with opening.translated(self.path):
            return dict(self.con.execute("SELECT cell_id, state FROM cell").fetchall())

    def store(self, cell_id: str, outcome: Outcome, run_id: str | None = None) -> None:
        """One cell's outcome in one transaction, in place of whatever the cell held before."""
        records = outcome.columns if outcome.columns is not None else _no_records()
        n = int(records["value"].size)
        hashed = None
        if outcome.state in ("done", "refused"):
            hashed = content_hash(
                outcome.state, outcome.reason, records, outcome.refusals, outcome.facts, outcome.datasets
            )
        with self.transaction() as con:
            previous = con.execute("SELECT state FROM cell WHERE cell_id = ?", [cell_id]).fetchall()
            if not previous:
                raise opening.DatabaseError(f"{self.path}: the cell {cell_id} is not planned")
            if previous[0][0] != "planned":
                for table in ("record", "refusal", "fact", "dataset"):
                    con.execute(f"DELETE FROM {table} WHERE cell_id = ?", [cell_id])
            if n:
                con.execute("INSERT INTO record SELECT ?, arm, metric, label, idx, value FROM records", [cell_id])
            for arm, reason, margin in outcome.refusals:
                con.execute("INSERT INTO refusal VALUES (?, ?, ?, ?)", [cell_id, arm, reason, margin])
            if outcome.facts:
                names, values = list(outcome.facts), list(outcome.facts.values())
                con.execute(
                    "INSERT INTO fact SELECT ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[])", [cell_id, names, values]
                )
            for dataset in outcome.datasets:
                con.execute(
                    "INSERT INTO dataset VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [cell_id, *(dataset[c] for c in DATASET_COLUMNS)],
                )
            con.execute(
                "UPDATE cell SET state = ?, reason = ?, error = ?, seconds = ?, backend = ?, n_records = ?,"
                " content_hash = ?, run_id = ?, finished = ? WHERE cell_id = ?",
                [
                    outcome.state,
                    outcome.reason,
                    outcome.error,
                    outcome.seconds,
                    outcome.backend,
                    n,
                    hashed,
                    run_id,
                    _now(),
                    cell_id,
                ],
            )

    def settings(self, run_id: str, rows: Iterable[tuple[str, str, Any, bool, str]]) -> None:
        """The settings of a run: (case, name, value, given by the paper, one sentence) each."""
        with self.transaction() as con:
            for case, name, value, given, description in rows:
                con.execute(
                    "INSERT INTO setting VALUES (?, ?, ?, ?, ?, ?)",
                    [run_id, case, name, _json(value), given, description],
                )

    def catalogue(self, case: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """The dictionary of a case's metrics, in place of the one before; keys are the columns of ``metric``."""
        names = ("block", "arms", "metric", "label", "idx", "unit", "better", "description")
        with self.transaction() as con:
            con.execute("DELETE FROM metric WHERE case_name = ?", [case])
            for row in rows:
                con.execute(
                    "INSERT INTO metric VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [case, *(row.get(n) for n in names)]
                )

    def _count(self, table: str) -> int:
        return int(self.con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _no_records() -> dict[str, np.ndarray]:
    empty = np.empty(0, dtype=object)
    return {
        "arm": empty,
        "metric": empty,
        "label": empty,
        "idx": np.ma.masked_all(0, dtype=np.int32),
        "value": np.empty(0),
    }


def _text(values: Iterable[str | None]) -> np.ndarray:
    return np.array(list(values), dtype=object)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)

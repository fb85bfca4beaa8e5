"""The writer: plans, runs and cell results, each in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.errors import DatabaseError
from orledger.schema import catalogue, chain, explaining, opening, viewing
from orledger.schema.hashing import DATASET_COLUMNS, content_hash
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import duckdb

    from orledger.schema.catalogue import Catalogue

# What came of a cell: the columns that ``store_many`` writes, with their types.
OUTCOME_COLUMNS = {
    "cell_id": "VARCHAR",
    "state": "VARCHAR",
    "reason": "VARCHAR",
    "error": "VARCHAR",
    "seconds": "DOUBLE",
    "backend": "VARCHAR",
    "n_records": "BIGINT",
    "content_hash": "VARCHAR",
    "run_id": "VARCHAR",
    "finished": "TIMESTAMP",
}
DATASET_TYPES = ("VARCHAR", "VARCHAR", "BIGINT", "INTEGER", "VARCHAR", "BIGINT", "VARCHAR")


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
        # Nobody else can write while this connection is open, so what was read once stays true.
        self._states: dict[str, str] | None = None
        self._written: set[str] = set()
        self._declared: set[str] = set()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Writes the log into the file and lets other processes in; what was written and nobody declared is catalogued."""
        with explaining.translated(self.path):
            try:
                self._complete()
            finally:
                self.con.close()

    def _complete(self) -> None:
        """Adds to the catalogue what was written and nobody declared, and brings the wide views up to date with it."""
        if self._written:
            with transaction(self.con):
                for case in sorted(self._written):
                    catalogue.complete(self.con, case, records=case not in self._declared)
                viewing.refresh(self.con)
            self._written.clear()

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """All of it or nothing: commits at the end, rolls back when anything is raised."""
        with explaining.translated(self.path), transaction(self.con):
            yield self.con

    def begin_run(self, run_id: str, *, registration_hash: str | None = None, **facts: Any) -> None:
        """A row of ``run`` in state running. ``facts``: preset, device, engine, jobs, threads, git_commit, and the
        mappings settings, versions and host, stored as JSON.
        """
        row = {k: _json(v) if isinstance(v, dict) else v for k, v in facts.items()}
        row |= {"run_id": run_id, "registration_hash": registration_hash, "started": _now(), "state": "running"}
        with self.transaction() as con:
            killed = con.execute("SELECT run_id FROM run WHERE state = 'running'").fetchall()
            con.execute("UPDATE run SET state = 'interrupted' WHERE state = 'running'")
            con.execute(f"INSERT INTO run ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            chain.append(con, "run", {"run": run_id, "state": "running"}, {"run": [k for (k,) in killed] + [run_id]})

    def end_run(self, run_id: str, state: str) -> None:
        """Marks the run finished, interrupted or incomplete, and moves everything from the log into the file."""
        with self.transaction() as con:
            self._complete()
            con.execute("UPDATE run SET state = ?, ended = ? WHERE run_id = ?", [state, _now(), run_id])
            chain.append(con, "run", {"run": run_id, "state": state}, {"run": [run_id]})
        with explaining.translated(self.path):
            self.con.execute("CHECKPOINT")

    def registration_hash(self) -> str | None:
        """One hash for all hypotheses in force: over the newest registered text of each; None when there are none."""
        with explaining.translated(self.path):
            rows = self.con.execute(
                "SELECT arg_max(hash, registered) FROM registration GROUP BY hypothesis ORDER BY 1"
            ).fetchall()
        return hashlib.sha256("\n".join(row[0] for row in rows).encode()).hexdigest() if rows else None

    def plan(self, cells: Sequence[PlannedCell]) -> int:
        """The number of cells that were new; those already in the database keep their state."""
        self._written |= {c.case for c in cells}
        cells = [c for c in cells if c.cell_id not in self._known()]
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
            con.execute(
                "INSERT INTO cell BY NAME SELECT cell_id, case_name, block, name, keys::JSON::MAP(VARCHAR, VARCHAR) AS keys,"
                " spec, hash_version, job_id, 'planned' AS state FROM rows"
            )
            del rows
            chain.append(con, "plan", {"cells": len(cells)}, {"plan": [c.cell_id for c in cells]})
        self._known().update(dict.fromkeys((c.cell_id for c in cells), "planned"))
        return len(cells)

    def states(self) -> dict[str, str]:
        """The state of every cell, by id."""
        return dict(self._known())

    def store(self, cell_id: str, outcome: Outcome, run_id: str | None = None) -> None:
        """One cell's outcome in one transaction, in place of whatever the cell held before."""
        self.store_many([(cell_id, outcome)], run_id)

    def store_many(self, outcomes: Iterable[tuple[str, Outcome]], run_id: str | None = None) -> None:
        """The outcomes of several cells in one transaction, each in place of whatever its cell held before."""
        batch = list(outcomes)
        known = self._known()
        for cell_id, _ in batch:
            if cell_id not in known:
                raise DatabaseError(f"{self.path}: the cell {cell_id} is not planned")
        if not batch:
            return
        ids = [cell_id for cell_id, _ in batch]
        if len(set(ids)) < len(ids):
            raise DatabaseError(f"{self.path}: a cell stands twice among those to store")
        with self.transaction() as con:
            again = [cell_id for cell_id in ids if known[cell_id] != "planned"]
            for table in ("record", "refusal", "fact", "dataset") if again else ():
                con.execute(f"DELETE FROM {table} WHERE cell_id IN (SELECT unnest(?::VARCHAR[]))", [again])
            records = _records(batch)
            if records["value"].size:
                con.execute("INSERT INTO record SELECT cell_id, arm, metric, label, idx, value FROM records")
            self._append(
                "refusal", ("VARCHAR", "VARCHAR", "VARCHAR", "DOUBLE"), [(c, *r) for c, o in batch for r in o.refusals]
            )
            self._append("fact", ("VARCHAR",) * 3, [(c, *f) for c, o in batch for f in o.facts.items()])
            self._append(
                "dataset",
                ("VARCHAR", *DATASET_TYPES),
                [(c, *(d[n] for n in DATASET_COLUMNS)) for c, o in batch for d in o.datasets],
            )
            self._update_cells(batch, run_id)
            counts = Counter(o.state for _, o in batch)
            chain.append(con, "cells", {"run": run_id, **counts}, {"cell": ids})
        known.update({cell_id: outcome.state for cell_id, outcome in batch})

    def _update_cells(self, batch: Sequence[tuple[str, Outcome]], run_id: str | None) -> None:
        """The columns of ``cell`` that say what came of each cell."""
        now = _now()
        rows = [
            (c, o.state, o.reason, o.error, o.seconds, o.backend, _size(o), _hash(o), run_id, now) for c, o in batch
        ]  # fmt: skip
        unnested = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in OUTCOME_COLUMNS.items())
        changes = ", ".join(f"{name} = came.{name}" for name in OUTCOME_COLUMNS if name != "cell_id")
        self.con.execute(
            f"UPDATE cell SET {changes} FROM (SELECT {unnested}) came WHERE cell.cell_id = came.cell_id",
            [list(column) for column in zip(*rows, strict=True)],
        )

    def settings(self, run_id: str, rows: Iterable[tuple[str, str, Any, bool, str]]) -> None:
        """The settings of a run: (case, name, value, given by the paper, one sentence) each."""
        types = ("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN", "VARCHAR")
        with self.transaction() as con:
            self._append(
                "setting", types, [(run_id, c, name, _json(v), given, text) for c, name, v, given, text in rows]
            )
            chain.append(con, "run", {"run": run_id, "settings": True}, {"setting": [run_id]})

    def catalogue(self, declared: Catalogue) -> None:
        """Adds what is ``declared`` to the catalogue of its case, and brings the wide views up to date with it."""
        with self.transaction() as con:
            catalogue.store(con, declared)
            viewing.refresh(con)
        self._declared.add(declared.case)

    def _append(self, table: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Adds ``rows`` to ``table`` in one statement."""
        if rows:
            lists = [list(column) for column in zip(*rows, strict=True)]
            unnested = ", ".join(f"unnest(?::{kind}[])" for kind in types)
            self.con.execute(f"INSERT INTO {table} SELECT {unnested}", lists)

    def _known(self) -> dict[str, str]:
        if self._states is None:
            with explaining.translated(self.path):
                self._states = dict(self.con.execute("SELECT cell_id, state FROM cell").fetchall())
        return self._states


def _hash(outcome: Outcome) -> str | None:
    """The content hash of a cell that is done or refused; the others have none."""
    if outcome.state not in ("done", "refused"):
        return None
    records = outcome.columns if outcome.columns is not None else _no_records()
    return content_hash(outcome.state, outcome.reason, records, outcome.refusals, outcome.facts, outcome.datasets)


def _size(outcome: Outcome) -> int:
    return 0 if outcome.columns is None else int(outcome.columns["value"].size)


def _records(batch: Sequence[tuple[str, Outcome]]) -> dict[str, np.ndarray]:
    """The records of all cells as columns of equal length, the first of them the cell ids."""
    parts = [(cell_id, outcome.columns) for cell_id, outcome in batch if outcome.columns is not None]
    if not parts:
        return {"cell_id": np.empty(0, dtype=object), **_no_records()}
    sizes = [columns["value"].size for _, columns in parts]
    joined = {n: np.concatenate([columns[n] for _, columns in parts]) for n in ("arm", "metric", "label", "value")}
    index = np.concatenate([np.ma.getdata(columns["idx"]) for _, columns in parts])
    mask = np.concatenate([np.ma.getmaskarray(columns["idx"]) for _, columns in parts])
    names = np.repeat(np.array([cell_id for cell_id, _ in parts], dtype=object), sizes)
    return {"cell_id": names, **joined, "idx": np.ma.array(index, mask=mask)}


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

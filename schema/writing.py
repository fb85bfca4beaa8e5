"""The writer: plans, runs and cell results. A cell is whole or absent, whatever happens to the process."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orledger.errors import DatabaseError
from orledger.schema import catalogue, chain, declaring, explaining, opening, viewing
from orledger.schema.ledger import OWN
from orledger.schema.outcomes import (
    CellOutcome,
    PlannedCell,
    dataset_row,
    planned_columns,
    record_columns,
    settled_rows,
)
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from orledger.schema.catalogue import Catalogue
    from orledger.schema.outcomes import Columns
    from orledger.study import Study

__all__ = ["CellOutcome", "PlannedCell", "Writer"]

# Types of the columns of a cell's outcome, and of the tables of its smaller rows after the cell.
SETTLED_TYPES = {
    "cell_id": "VARCHAR", "state": "VARCHAR", "reason": "VARCHAR", "error": "VARCHAR", "seconds": "DOUBLE",
    "backend": "VARCHAR", "n_records": "BIGINT", "content_hash": "VARCHAR", "run_id": "VARCHAR", "finished": "TIMESTAMP",
    "host": "VARCHAR",
}  # fmt: skip
SMALL_TYPES = {
    "refusal": ("VARCHAR", "VARCHAR", "DOUBLE"),
    "fact": ("VARCHAR", "VARCHAR"),
    "dataset": ("VARCHAR", "VARCHAR", "BIGINT", "INTEGER", "VARCHAR", "BIGINT", "VARCHAR"),
}

# Plans and outcomes that the ledger knows and that are not there: somebody took them away past it. Asked once, since asking
# for every group takes ever longer.
GONE = """
SELECT DISTINCT part, key FROM ledger_item ANTI JOIN cell ON key = cell_id AND (part = 'plan' OR state <> 'planned')
WHERE branch = ? AND part IN ('plan', 'cell')
"""


class Writer:
    """The one way to write cells into a results database; closes with ``close`` or as a context manager.

    ``con`` is a connection that somebody else has opened for writing, and closes; without it the database is opened here.
    """

    def __init__(self, path: str | Path, *, con: DuckDBPyConnection | None = None, threads: int = 1) -> None:
        self.path = Path(path)
        self._own = con is None
        self.con = opening.connect(self.path, "write", threads=threads) if con is None else con
        # Nobody else can write while this connection is open, so what was read once stays true.
        self._states: dict[str, str] | None = None
        self._gone: set[tuple[str, str]] = set()
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
                if self._own:
                    self.con.close()
            if self._own:
                opening.wrote(self.path)

    def _complete(self) -> None:
        """Adds to the catalogue what was written and nobody declared, and brings the wide views up to date with it."""
        if self._written:
            with transaction(self.con):
                for case in sorted(self._written):
                    catalogue.complete(self.con, case, records=case not in self._declared)
                viewing.refresh(self.con)
            self._written.clear()

    @contextmanager
    def transaction(self) -> Iterator[DuckDBPyConnection]:
        """All of it or nothing: commits at the end, rolls back when anything is raised."""
        with explaining.translated(self.path), transaction(self.con):
            yield self.con

    def begin_run(self, run_id: str, *, registration_hash: str | None = None, **facts: Any) -> None:
        """A row of ``run`` in state running. ``facts``: preset, device, engine, jobs, threads, git_commit, and the
        mappings settings, versions and host, stored as JSON.
        """
        row = {k: _json(v) if isinstance(v, dict) else v for k, v in facts.items()}
        with self.transaction() as con:
            now = chain.moment(con)
            row |= {"run_id": run_id, "registration_hash": registration_hash, "started": now, "state": "running"}
            killed = con.execute("SELECT run_id FROM run WHERE state = 'running'").fetchall()
            con.execute("UPDATE run SET state = 'interrupted' WHERE state = 'running'")
            con.execute(f"INSERT INTO run ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            chain.append(
                con, "run", {"run": run_id, "state": "running"}, {"run": [k for (k,) in killed] + [run_id]}, now=now
            )

    def end_run(self, run_id: str, state: str) -> None:
        """Marks the run finished, interrupted or incomplete, and moves everything from the log into the file."""
        with self.transaction() as con:
            self._complete()
            now = chain.moment(con)
            con.execute("UPDATE run SET state = ?, ended = ? WHERE run_id = ?", [state, now, run_id])
            chain.append(con, "run", {"run": run_id, "state": state}, {"run": [run_id]}, now=now)
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
        new = [c for c in cells if c.cell_id not in self._known()]
        if not new:
            return 0
        rows = planned_columns(new)
        with self.transaction() as con:
            con.execute(
                "INSERT INTO cell BY NAME SELECT cell_id, case_name, block, name, keys::JSON::MAP(VARCHAR, VARCHAR) AS keys,"
                " spec, hash_version, job_id, 'planned' AS state FROM rows"
            )
            del rows
            names = [c.cell_id for c in new]
            chain.append(con, "plan", {"cells": len(new)}, {"plan": names}, unseen=self._unseen("plan", names))
        self._known().update(dict.fromkeys((c.cell_id for c in new), "planned"))
        return len(new)

    def states(self) -> dict[str, str]:
        """The state of every cell, by id."""
        return dict(self._known())

    def store(self, cell_id: str, outcome: CellOutcome, run_id: str | None = None) -> None:
        """One cell's outcome in one transaction, in place of whatever the cell held before."""
        self.store_many([(cell_id, outcome)], run_id)

    def store_many(self, outcomes: Iterable[tuple[str, CellOutcome]], run_id: str | None = None) -> None:
        """The outcomes of several cells in one transaction, each in place of whatever its cell held before."""
        batch = list(outcomes)
        cells = dict(batch)
        if not cells:
            return
        if len(cells) < len(batch):
            raise DatabaseError(f"{self.path}: a cell stands twice among those to store")
        known = self._known()
        for cell_id in cells:
            if cell_id not in known:
                raise DatabaseError(f"{self.path}: the cell {cell_id} is not planned")
        again = [cell_id for cell_id in cells if known[cell_id] != "planned"]
        counts = Counter(outcome.state for outcome in cells.values())
        with self.transaction() as con:
            now = chain.moment(con)
            settled = settled_rows(cells, run_id, now)
            records = record_columns(cells)
            replaced = _replaced(con, records, again, cells) if again else {}
            for table in ("record", *SMALL_TYPES) if again else ():
                con.execute(f"DELETE FROM {table} WHERE cell_id IN (SELECT unnest(?::VARCHAR[]))", [again])
            if any(row["n_records"] for row in settled):
                con.execute("INSERT INTO record SELECT cell_id, arm, metric, label, idx, value FROM records")
            del records
            self._add("refusal", [(c, *r) for c, o in cells.items() for r in o.refusals])
            self._add("fact", [(c, *f) for c, o in cells.items() for f in o.facts.items()])
            self._add("dataset", [(c, *dataset_row(d)) for c, o in cells.items() for d in o.datasets])
            _settle(con, settled)
            told = {"replaced": replaced} if replaced else {}
            unseen = self._unseen("cell", [cell_id for cell_id in cells if known[cell_id] == "planned"])
            chain.append(con, "cells", {"run": run_id, **counts, **told}, {"cell": list(cells)}, unseen=unseen, now=now)
        known.update({cell_id: outcome.state for cell_id, outcome in cells.items()})

    def settings(self, run_id: str, rows: Iterable[tuple[str, str, Any, bool, str]]) -> None:
        """The settings of a run: (case, name, value, given by the reproduced work, one sentence) each."""
        types = ("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN", "VARCHAR")
        with self.transaction() as con:
            _insert(con, "setting", types, [(run_id, c, n, _json(v), given, text) for c, n, v, given, text in rows])
            chain.append(con, "run", {"run": run_id, "settings": True}, {"setting": [run_id]})

    def catalogue(self, declared: Catalogue, brought: Sequence[Study] = ()) -> None:
        """Adds what is ``declared`` to the catalogue of its case, and brings the views up to date; see ``viewing.refresh``."""
        with self.transaction() as con:
            catalogue.store(con, declared)
            declaring.declare_installed(con)
            viewing.refresh(con, brought)
        self._declared.add(declared.case)

    def _add(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        _insert(self.con, table, ("VARCHAR", *SMALL_TYPES[table]), rows)

    def _known(self) -> dict[str, str]:
        if self._states is None:
            with explaining.translated(self.path):
                self._states = dict(self.con.execute("SELECT cell_id, state FROM cell").fetchall())
                self._gone = set(self.con.execute(GONE, [OWN]).fetchall())
        return self._states

    def _unseen(self, part: str, cells: Iterable[str]) -> set[str]:
        """Of ``cells``, which had no rows of ``part``, those that the ledger does not know either."""
        return {cell_id for cell_id in cells if (part, cell_id) not in self._gone}


def _replaced(
    con: DuckDBPyConnection,
    records: Columns,  # noqa: ARG001 - DuckDB reads it by its name
    again: Sequence[str],
    cells: Mapping[str, CellOutcome],
) -> dict[str, int]:
    """How many cells of each study lose a number that they had, or a refusal for a result; adding numbers replaces none.

    Whoever looks at results and puts others in their place leaves this in the chain.
    """
    lost = con.execute(
        "SELECT cell_id FROM (SELECT cell_id, arm, metric, label, idx, value FROM record WHERE cell_id IN (SELECT unnest($again))"
        " EXCEPT SELECT cell_id, arm, metric, label, idx, value FROM records)"
        " UNION SELECT cell_id FROM cell WHERE state = 'refused' AND cell_id IN (SELECT unnest($done))",
        {"again": list(again), "done": [c for c in again if cells[c].state != "refused"]},
    ).fetchall()
    found = con.execute(
        "SELECT case_name, count(*) FROM cell WHERE cell_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY 1 ORDER BY 1",
        [[cell_id for (cell_id,) in lost]],
    ).fetchall()
    return dict(found)


def _settle(con: DuckDBPyConnection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Fills the columns of ``cell`` that an outcome decides, for all cells in one statement."""
    lists = [[row[name] for row in rows] for name in SETTLED_TYPES]
    unnested = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in SETTLED_TYPES.items())
    changes = ", ".join(f"{name} = new.{name}" for name in SETTLED_TYPES if name != "cell_id")
    con.execute(f"UPDATE cell SET {changes} FROM (SELECT {unnested}) AS new WHERE cell.cell_id = new.cell_id", lists)


def insert_rows(con: DuckDBPyConnection, table: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Adds ``rows``, whose columns are ``names``, column by column: a value in a place of its own takes many times as long."""
    if rows:
        listed = ", ".join(names)
        types = [str(column[1]) for column in con.execute(f"SELECT {listed} FROM {table} LIMIT 0").description or ()]
        _insert(con, f"{table} ({listed})", types, rows)


def _insert(con: DuckDBPyConnection, table: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Adds ``rows`` to ``table`` in one statement."""
    if rows:
        lists = [list(column) for column in zip(*rows, strict=True)]
        con.execute(f"INSERT INTO {table} SELECT {', '.join(f'unnest(?::{kind}[])' for kind in types)}", lists)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)

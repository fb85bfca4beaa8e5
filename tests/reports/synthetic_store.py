"""Where the cells of a made-up database are collected, and the generators their values come from."""

from __future__ import annotations

import hashlib
import json

import duckdb
import numpy as np
import polars as pl

from orledger.runners.cells import Cell, Job
from orledger.runners.records import CellResult


def rng(*words: object) -> np.random.Generator:
    """A generator named by words, so that adding a block never moves the numbers of another."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256("/".join(map(str, words)).encode()).digest()[:8], "big"))


def _column(series: pl.Series) -> np.ndarray:
    """A column for DuckDB; missing numbers are masked, texts are objects."""
    if not series.dtype.is_numeric():
        return np.array(series.to_list(), dtype=object)
    return np.ma.array(series.fill_null(0).to_numpy(), mask=series.is_null().to_numpy())


PLACES = ("arm", "metric", "label", "idx", "value")


class Store:
    """Collects cells and their results, then writes them in a few statements."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con, self.cells, self.records, self.extra = con, [], [], {"refusal": [], "fact": [], "dataset": []}

    def add(self, cell: Cell, result: CellResult, job: str | None = None) -> None:
        """One finished or refused cell."""
        columns = result.columns()
        n = len(columns["value"])
        arm, metric, label, idx, value = (np.ma.asarray(columns[c]).tolist() for c in PLACES)  # masked ones are None
        text = json.dumps([list(row) for row in zip(arm, metric, label, idx, value, strict=True)])
        self.cells.append(
            {
                "cell_id": cell.id,
                "case_name": cell.case,
                "block": cell.block,
                "name": cell.name,
                "keys": json.dumps({k: str(v) for k, v in cell.keys.items()}),
                "spec": json.dumps(cell.spec, sort_keys=True),
                "job_id": job or Job((cell,)).id,
                "state": result.state,
                "reason": result.reason,
                "seconds": 1.5,
                "n_records": n,
                "content_hash": hashlib.sha256(text.encode()).hexdigest()[:32],
            }
        )
        texts = {"arm": arm, "metric": metric, "label": label}
        self.records.append(
            pl.DataFrame(
                {
                    "cell_id": [cell.id] * n,
                    **{c: pl.Series(of, dtype=pl.String) for c, of in texts.items()},
                    "idx": pl.Series(idx, dtype=pl.Int32),
                    "value": columns["value"],
                }
            )
        )
        self.extra["refusal"] += [(cell.id, arm, reason, margin) for arm, reason, margin in result.refusals]
        self.extra["fact"] += [(cell.id, k, v) for k, v in result.facts.items()]
        self.extra["dataset"] += [(cell.id, *d.values()) for d in result.datasets]

    def flush(self, preset: str) -> None:
        """Everything collected, with the one run it belongs to."""
        con = self.con
        con.sql(
            "INSERT INTO run VALUES"
            " ('run-1', ?, '{}', '{\"orledger\": \"0.1.0\"}', NULL, 'cpu', 'serial', 1, 1, '{}', NULL,"
            " TIMESTAMP '2026-01-02 03:04:05', TIMESTAMP '2026-01-02 03:05:06', 'finished')",
            params=[preset],
        )
        if not self.cells:
            return
        # Columns of NumPy arrays: DuckDB reads them without pyarrow, which is not a dependency.
        whole = pl.DataFrame(self.cells, infer_schema_length=None), pl.concat(self.records)
        cells, records = ({c: _column(f[c]) for c in f.columns} for f in whole)  # noqa: RUF059 - the queries below read them by name
        con.sql(
            "INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, job_id, run_id, state, reason, error, seconds, backend, n_records, content_hash, finished)"
            " SELECT cell_id, case_name, block, name, CAST(CAST(keys AS JSON) AS MAP(VARCHAR, VARCHAR)),"
            " spec, '1', job_id, 'run-1', state, reason, NULL, seconds, 'cpu/float64', n_records, content_hash,"
            " TIMESTAMP '2026-01-02 03:05:00' FROM cells"
        )
        con.sql("INSERT INTO record SELECT * FROM records")
        for table, rows in self.extra.items():
            if rows:
                con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

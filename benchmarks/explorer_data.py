"""Made-up results for the benchmark of the explorer: one DuckDB file as orledger writes it, and the same rows in SQLite."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.evaluation.auditing import audit
from orledger.audit.registry.reading import parse_hypothesis
from orledger.schema.grouping import Groups
from orledger.schema.reading import open_results
from orledger.schema.writing import CellOutcome, PlannedCell, Writer

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.audit.registry.hypotheses import Hypothesis

ARMS = ("ours", "theirs", "baseline", "oracle")
SEEDS = 5
FAILED = 5  # cells beside those that are done
RUN = "bench-run"
COPIED = ("run", "study", "refusal", "audit", "registration", "disposition", "test_result", "claim")
SIMPLE = (str, int, float, type(None))
HYPOTHESIS = """
[hypothesis]
id = "lower"
title = "ours has the lower error"
mode = "exploratory"
statement = "Ours has a lower error than the others."
[defaults]
case = "bench"
block = "main"
metric = "error"
pair = ["dataset", "seed"]
better = "lower"
[[comparison]]
id = "error"
title = "Error of ours"
test = "signed_rank"
arm = "ours"
against = ["theirs", "baseline", "oracle"]
[disposition]
needs = ["error/theirs"]
otherwise = "inconclusive"
otherwise_reason = "no difference"
[[disposition.rule]]
verdict = "supported"
reason = "it is lower"
any = ["error/theirs is less"]
"""


def cell_name(k: int) -> str:
    """The id of cell ``k``."""
    return f"{k:024x}"


def keys(k: int) -> dict[str, object]:
    """The keys of cell ``k``: five seeds of each dataset."""
    return {"dataset": f"d{k // SEEDS:03d}", "seed": k % SEEDS}


def columns(k: int, size: int) -> dict[str, np.ndarray]:
    """The records of cell ``k``: per arm one error and a curve, ``size`` records in all."""
    points = size // len(ARMS) - 1
    rng = np.random.default_rng(k)
    arm = np.repeat(np.array(ARMS, dtype=object), points + 1)
    metric = np.tile(np.array(["error", *["curve"] * points], dtype=object), len(ARMS))
    idx = np.ma.array(np.tile(np.arange(-1, points, dtype=np.int32), len(ARMS)), mask=metric == "error")
    label = np.empty(arm.size, dtype=object)
    return {"arm": arm, "metric": metric, "label": label, "idx": idx, "value": rng.standard_normal(arm.size) ** 2}


def questions() -> list[Hypothesis]:
    """The one hypothesis that is asked of these results."""
    return [parse_hypothesis(HYPOTHESIS, "lower.toml")]


def duckdb_file(path: Path, cells: int, size: int) -> None:
    """The database with a run and an audit."""
    written(path, cells, size)
    audit(path, questions())


def written(path: Path, cells: int, size: int) -> None:
    """The database with a run, written as a run writes it: cells that are done, some with an arm that declined, and a few that failed."""
    with Writer(path) as writer:
        planned = [
            PlannedCell(cell_name(k), "bench", "main", f"bench/main/{k}", keys(k), "{}", "1")
            for k in range(cells + FAILED)
        ]
        writer.plan(planned)
        facts = {"preset": "bench", "device": "cpu", "engine": "serial", "jobs": 1, "threads": 1}
        writer.begin_run(RUN, **facts, settings={}, versions={}, host={})
        groups = Groups(writer, RUN, lambda _cell, _outcome: None)
        for k in range(cells):
            declined = [("pruned", "no bound for this design", 0.5)] if k % 10 == 0 else []
            made = columns(k, size)
            groups.add(
                cell_name(k), CellOutcome("done", seconds=0.1, backend="cpu/float64", columns=made, refusals=declined)
            )
        for k in range(cells, cells + FAILED):
            groups.add(
                cell_name(k), CellOutcome("failed", error="Traceback (most recent call last)\nValueError: singular")
            )
        groups.close()
        writer.end_run(RUN, "incomplete")


def sqlite_file(path: Path, source: Path) -> None:
    """The same rows from ``source``, keys as columns, with the indexes that the questions of the pages ask for."""
    con = sqlite3.connect(path)
    with open_results(source) as results:
        for table in COPIED:
            rows = results.rows(f"SELECT * FROM {table}")
            names = results.sql(f"SELECT * FROM {table} LIMIT 0").columns
            con.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            values = ([v if isinstance(v, SIMPLE) else str(v) for v in row.values()] for row in rows)
            con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", values)
        con.execute(
            "CREATE TABLE cell (cell_id TEXT PRIMARY KEY, case_name TEXT, block TEXT, name TEXT, dataset TEXT, seed INTEGER,"
            " state TEXT, seconds REAL, n_records INTEGER, finished TEXT, error TEXT, spec TEXT, content_hash TEXT, run_id TEXT)"
        )
        rows = results.rows(
            "SELECT cell_id, case_name, block, name, keys['dataset'] AS d, keys['seed']::INTEGER AS s, state, seconds, n_records,"
            " finished::VARCHAR AS f, error, spec, content_hash, run_id FROM cell"
        )
        con.executemany(f"INSERT INTO cell VALUES ({', '.join('?' * 14)})", (list(row.values()) for row in rows))
        con.execute("CREATE TABLE record (cell_id TEXT, arm TEXT, metric TEXT, idx INTEGER, value REAL)")
        records = results.con.execute("SELECT cell_id, arm, metric, idx, value FROM record")
        while chunk := records.fetchmany(50_000):
            con.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", chunk)
    con.execute("CREATE INDEX by_cell ON record (cell_id)")
    con.execute("CREATE INDEX by_metric ON record (metric, idx)")
    con.execute("CREATE INDEX by_dataset ON cell (dataset)")
    con.execute("CREATE INDEX by_finished ON cell (finished)")
    con.commit()
    con.execute("ANALYZE")
    con.close()

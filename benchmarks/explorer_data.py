"""Made-up results for the benchmark of the explorer: one DuckDB file as orledger writes it, and the same rows in SQLite."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.evaluation.auditing import audit
from orledger.audit.registry.reading import parse_hypothesis
from orledger.schema.grouping import Groups
from orledger.schema.writing import Outcome, PlannedCell, Writer

if TYPE_CHECKING:
    from pathlib import Path

ARMS = ("ours", "theirs", "baseline", "oracle")
SEEDS = 5
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


def duckdb_file(path: Path, cells: int, size: int) -> None:
    """The database with an audit, written as a run writes it."""
    with Writer(path) as writer:
        planned = [
            PlannedCell(cell_name(k), "bench", "main", f"bench/main/{k}", keys(k), "{}", "1") for k in range(cells)
        ]
        writer.plan(planned)
        groups = Groups(writer, None, lambda _cell, _outcome: None)
        for k in range(cells):
            groups.add(cell_name(k), Outcome("done", seconds=0.1, backend="cpu/float64", columns=columns(k, size)))
        groups.close()
    audit(path, [parse_hypothesis(HYPOTHESIS, "lower.toml")])


def sqlite_file(path: Path, cells: int, size: int) -> None:
    """The same cells and records, with the indexes that the questions of the pages ask for."""
    con = sqlite3.connect(path)
    con.execute("CREATE TABLE cell (cell_id TEXT PRIMARY KEY, name TEXT, dataset TEXT, seed INTEGER, state TEXT)")
    con.execute("CREATE TABLE record (cell_id TEXT, arm TEXT, metric TEXT, idx INTEGER, value REAL)")
    for k in range(cells):
        key = keys(k)
        con.execute(
            "INSERT INTO cell VALUES (?, ?, ?, ?, 'done')",
            (cell_name(k), f"bench/main/{k}", key["dataset"], key["seed"]),
        )
        made = columns(k, size)
        rows = zip(*(made[c].tolist() for c in ("arm", "metric", "idx", "value")), strict=True)
        con.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", ((cell_name(k), *r) for r in rows))
    con.execute("CREATE INDEX by_cell ON record (cell_id)")
    con.execute("CREATE INDEX by_metric ON record (metric, idx)")
    con.execute("CREATE INDEX by_dataset ON cell (dataset)")
    con.commit()
    con.execute("ANALYZE")
    con.close()

"""One million records in cells of 1,000, one transaction per cell: orledger's writer beside Python's sqlite3.

    python benchmarks/bench_write.py [--cells 1000] [--size 1000] [--repeats 3]

Both sides start from the same numpy columns and store the same rows, and both flush every commit to the disk. orledger
stores more per cell (its state, its content hash, the check that values are finite). sqlite3 runs with its defaults, and
once more with its write-ahead log. The order alternates, and the best of the repeats counts.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

from orledger.schema.writing import Outcome, PlannedCell, Writer


def columns(size: int, seed: int) -> dict[str, np.ndarray]:
    """What a cell hands to the writer: a few arms and metrics, indices, values."""
    text = lambda names: np.array([names[k % len(names)] for k in range(size)], dtype=object)  # noqa: E731
    label = np.empty(size, dtype=object)
    return {
        "arm": text(["standard", "weighted", "oracle"]),
        "metric": text(["coverage", "width", "radius", "error"]),
        "label": label,
        "idx": np.ma.array(np.arange(size, dtype=np.int32), mask=False),
        "value": np.random.default_rng(seed).standard_normal(size),
    }


def with_orledger(folder: Path, cells: list[dict[str, np.ndarray]]) -> tuple[float, int]:
    path = folder / "bench.duckdb"
    with Writer(path) as writer:
        writer.plan(
            [PlannedCell(f"{k:024x}", "bench", "write", f"bench/{k}", {"k": k}, "{}", "1") for k in range(len(cells))]
        )
        began = time.perf_counter()
        for k, cell in enumerate(cells):
            writer.store(f"{k:024x}", Outcome("done", seconds=0.0, backend="cpu/float64", columns=cell))
        seconds = time.perf_counter() - began
        writer.con.execute("CHECKPOINT")
    size = path.stat().st_size
    path.unlink()
    return seconds, size


def with_sqlite(folder: Path, cells: list[dict[str, np.ndarray]], wal: bool) -> tuple[float, int]:
    path = folder / "bench.sqlite"
    con = sqlite3.connect(path, isolation_level=None)
    if wal:
        con.execute("PRAGMA journal_mode = WAL")
    con.execute(
        "CREATE TABLE record (cell_id TEXT NOT NULL, arm TEXT NOT NULL, metric TEXT NOT NULL, label TEXT, idx INTEGER, value REAL NOT NULL)"
    )
    began = time.perf_counter()
    for k, cell in enumerate(cells):
        cell_id = f"{k:024x}"
        rows = zip(*(cell[name].tolist() for name in ("arm", "metric", "label", "idx", "value")), strict=True)
        con.execute("BEGIN")
        con.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", ((cell_id, *row) for row in rows))
        con.execute("COMMIT")
    seconds = time.perf_counter() - began
    con.close()
    size = sum(p.stat().st_size for p in folder.glob("bench.sqlite*"))
    for leftover in folder.glob("bench.sqlite*"):
        leftover.unlink()
    return seconds, size


def main() -> None:
    parser = argparse.ArgumentParser(description="Writing speed beside sqlite3")
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="Where the files go; a temporary folder when left out")
    arguments = parser.parse_args()
    cells = [columns(arguments.size, seed) for seed in range(arguments.cells)]
    total = arguments.cells * arguments.size
    ways = {
        "orledger": lambda folder: with_orledger(folder, cells),
        "sqlite3 executemany": lambda folder: with_sqlite(folder, cells, wal=False),
        "sqlite3 executemany, WAL": lambda folder: with_sqlite(folder, cells, wal=True),
    }
    best: dict[str, tuple[float, int]] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        for repeat in range(arguments.repeats):
            order = list(ways) if repeat % 2 == 0 else list(reversed(ways))
            for way in order:
                best[way] = min(best.get(way, (float("inf"), 0)), ways[way](Path(name)))
    print(f"{total:,} records in {arguments.cells:,} transactions, best of {arguments.repeats}")
    for way, (seconds, size) in best.items():
        print(f"{way:26s} {seconds:7.2f} s  {total / seconds:10,.0f} records/s  {size / 2**20:7.1f} MiB")


if __name__ == "__main__":
    main()

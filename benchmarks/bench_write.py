"""One million records in cells of 1,000: orledger's writer beside Python's sqlite3.

    python benchmarks/bench_write.py [--cells 1000] [--size 1000]

Both sides start from the same numpy columns and store the same rows, and both flush every commit to the disk. orledger
stores more per cell (its state, its content hash, its entry in the ledger, the check that values are finite) and groups its
commits as a run does. sqlite3 runs with its defaults, with its write-ahead log, and with its log and a transaction for as
many cells as we group. The databases take turns, a block of cells each, so that whatever else the machine does slows all of
them alike; what a side begins in its turn it finishes in it. Processor time is shown beside the time on the clock.
"""

from __future__ import annotations

import argparse
import hashlib
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from orledger.schema.grouping import Groups
from orledger.schema.writing import CellOutcome, PlannedCell, Writer

sys.path.insert(0, str(Path(__file__).parent))
from rows import row, show


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


def cell_name(k: int) -> str:
    """An id such as cells have: in no order."""
    return hashlib.sha256(str(k).encode()).hexdigest()[:24]


BLOCK = 200  # cells in a turn


class Orledger:
    """The real writer with group commits, as the driver uses it."""

    name = "orledger"
    file = "bench.duckdb"

    def __init__(self, folder: Path, cells: int) -> None:
        self.writer = Writer(folder / self.file)
        names = [cell_name(k) for k in range(cells)]
        self.writer.plan([PlannedCell(n, "bench", "write", f"bench/{n}", {"k": n}, "{}", "1") for n in names])

    def store(self, first: int, block: list[dict[str, np.ndarray]]) -> None:
        groups = Groups(self.writer, None, lambda _cell, _outcome: None)
        for k, cell in enumerate(block, start=first):
            groups.add(cell_name(k), CellOutcome("done", seconds=0.0, backend="cpu/float64", columns=cell))
        groups.close()

    def close(self) -> None:
        self.writer.con.execute("CHECKPOINT")
        self.writer.close()


class Sqlite:
    """sqlite3 with executemany, a transaction per cell."""

    name = "sqlite3 executemany"
    journal = "DELETE"
    file = "bench.delete.sqlite"
    together = 1

    def __init__(self, folder: Path, cells: int) -> None:  # noqa: ARG002
        self.con = sqlite3.connect(folder / self.file, isolation_level=None)
        self.con.execute(f"PRAGMA journal_mode = {self.journal}")
        columns = "cell_id TEXT NOT NULL, arm TEXT NOT NULL, metric TEXT NOT NULL, label TEXT, idx INTEGER, value REAL NOT NULL"
        self.con.execute(f"CREATE TABLE record ({columns})")

    def store(self, first: int, block: list[dict[str, np.ndarray]]) -> None:
        for k, cell in enumerate(block):
            cell_id = cell_name(first + k)
            rows = zip(*(cell[name].tolist() for name in ("arm", "metric", "label", "idx", "value")), strict=True)
            if k % self.together == 0:
                self.con.execute("BEGIN")
            self.con.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", ((cell_id, *row) for row in rows))
            if (k + 1) % self.together == 0 or k + 1 == len(block):
                self.con.execute("COMMIT")

    def close(self) -> None:
        self.con.close()


class SqliteWal(Sqlite):
    """The same with a write-ahead log."""

    name = "sqlite3 executemany, WAL"
    journal = "WAL"
    file = "bench.wal.sqlite"


class SqliteGrouped(SqliteWal):
    """The same with a transaction for a whole block."""

    name = "sqlite3 executemany, WAL, grouped"
    file = "bench.grouped.sqlite"
    together = BLOCK


SIDES = (Orledger, Sqlite, SqliteWal, SqliteGrouped)


def measure(cells: int, size: int, folder: Path) -> list[tuple[str, float, float, int]]:
    """Name, seconds on the clock, seconds of processor and bytes of the file, for every database."""
    sides = [side(folder, cells) for side in SIDES]
    clock, processor = [0.0] * len(sides), [0.0] * len(sides)
    for turn, first in enumerate(range(0, cells, BLOCK)):
        block = [columns(size, seed) for seed in range(first, min(first + BLOCK, cells))]
        for k in range(len(sides)):
            which = (turn + k) % len(sides)
            wall, cpu = time.perf_counter(), time.process_time()
            sides[which].store(first, block)
            clock[which] += time.perf_counter() - wall
            processor[which] += time.process_time() - cpu
    for side in sides:
        side.close()
    sizes = [(folder / side.file).stat().st_size for side in SIDES]
    return list(zip([s.name for s in sides], clock, processor, sizes, strict=True))


def run(cells: int = 1000, size: int = 1000, folder: Path | None = None, *, quick: bool = False) -> list[dict]:
    """Seconds on the clock for all records, ours beside three ways of sqlite3; ``quick`` writes a tenth of the cells."""
    cells = cells // 10 if quick else cells
    with tempfile.TemporaryDirectory(dir=folder) as name:
        (_, ours, our_cpu, our_bytes), *others = measure(cells, size, Path(name))
    rows = []
    for who, wall, cpu, count in others:
        note = (
            f"{cells * size / ours:,.0f} records/s; processor time {our_cpu:.2f} s beside {cpu:.2f} s; "
            f"{our_bytes / 2**20:.1f} MiB beside {count / 2**20:.1f}"
        )
        goal = 1.0 if who in (Sqlite.name, SqliteWal.name) else None
        how = who.removeprefix(Sqlite.name)
        name = f"writing {cells:,} cells of {size:,} records" + (f"; peer{how}" if how else "")
        rows.append(row(name, ours, wall, who, note, at_least=goal))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Writing speed beside sqlite3")
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="Where the files go; a temporary folder when left out")
    arguments = parser.parse_args()
    show(run(arguments.cells, arguments.size, arguments.folder))


if __name__ == "__main__":
    main()

"""A table of 100,000 results imported, and 8,000 cells logged from a loop: orledger beside pandas and sqlite3.

    python benchmarks/bench_import.py

The table has 200 datasets, 10 methods and 50 seeds, so 10,000 cells. Both sides start from the same CSV file. orledger stores
more: cells with their keys and content hashes, the catalogue, the ledger's chain, and every entry is checked. The aims are
2 s and 10 s on a machine that does nothing else; processor time is shown beside the time on the clock.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import orledger
from orledger.audit.importing.loading import import_files
from orledger.audit.importing.mapping import parse_mapping
from orledger.schema.writing import Writer

sys.path.insert(0, str(Path(__file__).parent))
from rows import row, show

if TYPE_CHECKING:
    from collections.abc import Callable

MAPPING = """
study = "bench"
block = "main"
form = "rows"
keys = ["dataset", "seed"]
[rows]
arm = "method"
metrics = ["accuracy"]
"""


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def write_table(path: Path, datasets: int) -> int:
    """A CSV file of ``datasets`` x 10 methods x 50 seeds; returns the rows."""
    values = np.random.default_rng(0).uniform(size=(datasets, 10, 50))
    lines = ["dataset,method,seed,accuracy"]
    lines += [f"d{d},m{m},{s},{values[d, m, s]:.6f}" for d, m, s in np.ndindex(values.shape)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return values.size


def run(*, quick: bool = False) -> list[dict]:
    """The two rows of the table; ``quick`` takes a tenth of the sizes."""
    datasets, cells = (20, 800) if quick else (200, 8000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "bench.csv"
        n = write_table(table, datasets)

        def ours() -> None:
            with Writer(folder / "bench.duckdb") as writer:
                import_files(writer, [table], parse_mapping(MAPPING, "bench.mapping.toml"))

        def pandas() -> None:
            with sqlite3.connect(folder / "bench.sqlite") as con:
                pd.read_csv(table).to_sql("results", con)

        def loop() -> None:
            with orledger.study("loop", folder / "loop.duckdb") as study:
                for k in range(cells):
                    study.cell(dataset=f"d{k % 100}", seed=k // 100).log("ridge", rmse=k / cells)

        def plain() -> None:
            con = sqlite3.connect(folder / "loop.sqlite")
            con.execute("CREATE TABLE result (dataset TEXT, seed INTEGER, arm TEXT, metric TEXT, value REAL)")
            for k in range(cells):
                con.execute(
                    "INSERT INTO result VALUES (?, ?, 'ridge', 'rmse', ?)", (f"d{k % 100}", k // 100, k / cells)
                )
                con.commit()
            con.close()

        (wall, cpu), (theirs, their_cpu) = timed(ours), timed(pandas)
        (looped, loop_cpu), (plain_wall, plain_cpu) = timed(loop), timed(plain)
    return [
        row(f"importing a table of {n:,} results", wall, theirs, "pandas.read_csv and to_sql (sqlite3)",
            f"processor time {cpu:.2f} s beside {their_cpu:.2f} s"),
        row(f"logging {cells:,} cells from a loop", looped, plain_wall, "sqlite3, a commit each",
            f"processor time {loop_cpu:.2f} s beside {plain_cpu:.2f} s"),
    ]  # fmt: skip


if __name__ == "__main__":
    show(run(quick="--quick" in sys.argv))

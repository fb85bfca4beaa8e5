"""A run for the benchmark of the explorer: computes for a while, publishes snapshots, and says how long its cells took.

``python explorer_run.py DB CELLS``: prints the seconds of the run, and the seconds of processor that its process used, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orledger.runners import engines
from orledger.runners.cells import Cell, Job
from orledger.runners.driver import RunFacts, run_plan
from orledger.runners.progress import Silent
from orledger.runners.records import CellResult

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS = RunFacts(preset="bench", settings={"bench": {}}, versions={"orledger": "bench"}, host={"cpu": "bench"})


def compute(job: Job) -> Iterator[tuple[Cell, CellResult]]:
    """Eigenvalues of a random matrix: work of some milliseconds, and a thousand records."""
    (cell,) = job.cells
    seed = int(cell.keys["seed"])
    rng = np.random.default_rng(seed)
    result = CellResult(seconds=0.0, backend="cpu/float64")
    matrix = rng.standard_normal((200, 200))
    result.series("standard", "eigenvalue", np.linalg.eigvalsh(matrix @ matrix.T))
    result.series("standard", "draw", rng.standard_normal(800))
    result.scalar("standard", "trace", float(np.trace(matrix)))
    yield cell, result


if __name__ == "__main__":
    jobs = [Job((Cell("bench", "main", {"seed": seed}, {}),)) for seed in range(int(sys.argv[2]))]
    summary = run_plan(
        jobs, Path(sys.argv[1]), engines.engine("serial"), compute, FACTS, reporter=Silent(), snapshot_every=1.0
    )
    print(json.dumps({"seconds": summary.seconds, "processor": time.process_time()}))

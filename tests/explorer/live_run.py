"""A run of four cells through the real driver; each waits for a line on standard input, so that a test decides what is seen.

``python live_run.py DB``: cell 0 and 3 are done, 1 refuses, 2 raises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from orledger.runners import driver, engines
from orledger.runners.cells import Cell, Job
from orledger.runners.driver import RunFacts, run_plan
from orledger.runners.records import CellResult

FACTS = RunFacts(preset="tiny", settings={"live": {}}, versions={"orledger": "test"}, host={"cpu": "test"})


def compute(job: Job) -> Iterator[tuple[Cell, CellResult]]:
    """One number when the test says so."""
    (cell,) = job.cells
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    sys.stdin.readline()
    seed = int(cell.keys["seed"])
    if seed == 1:
        yield cell, CellResult(state="refused", reason="told to refuse")
        return
    if seed == 2:
        raise ZeroDivisionError("told to raise")
    result = CellResult(seconds=0.0, backend="cpu/float64")
    result.scalar("standard", "mean", float(seed))
    yield cell, result


if __name__ == "__main__":
    driver.SNAPSHOT_SHARE = float("inf")  # a snapshot after every cell, however long the copy takes
    jobs = [Job((Cell("live", "main", {"seed": seed}, {}),)) for seed in range(4)]
    run_plan(jobs, Path(sys.argv[1]), engines.engine("serial"), compute, FACTS, snapshot_every=1e-6)

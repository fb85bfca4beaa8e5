"""A case small enough for the tests of the driver and the engines: planned and computed without torch.

Not part of the package. ``python toy_case.py DB ...`` runs it, so that a test can kill it.
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from orledger.runners import engines
from orledger.runners.cells import Cell, Job
from orledger.runners.driver import RunFacts, Summary, run_plan
from orledger.runners.progress import Lines, Silent
from orledger.runners.records import CellResult
from orledger.runners.seeds import generator
from orledger.schema.reading import open_results

FACTS = RunFacts(preset="toy", settings={"toy": {}}, versions={"orledger": "test"}, host={"cpu": "test"})


def toy_plan(cells: int = 20, per_job: int = 2, **settings: object) -> list[Job]:
    """Jobs of ``per_job`` cells each; ``settings`` are shared by all, such as size=100, sleep=0.01."""
    made = [Cell("toy", "main", {"seed": seed, "level": 0.25}, {"size": 50, **settings}) for seed in range(cells)]
    return [Job(tuple(made[k : k + per_job])) for k in range(0, cells, per_job)]


def compute(job: Job, crash: str | None = None, slow: float = 0.0) -> Iterator[tuple[Cell, CellResult]]:
    """Random numbers named by the cell. ``crash``: a file whose absence makes seed 3 kill its worker, once."""
    for cell in job.cells:
        time.sleep(slow)
        seed = cell.keys["seed"]
        if seed == cell.settings.get("raises_at"):
            raise ZeroDivisionError(f"seed {seed} was told to raise")
        if seed == cell.settings.get("dies_at"):
            os.kill(os.getpid(), signal.SIGKILL)
        if crash is not None and seed == 3 and not Path(crash).exists():
            Path(crash).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        result = CellResult(seconds=0.0, backend="cpu/float64")
        if seed == cell.settings.get("refuses_at"):
            yield cell, CellResult(state="refused", reason="told to refuse")
            continue
        values = generator("toy", seed).standard_normal(int(cell.settings["size"]))
        result.series("standard", "draw", values)
        result.scalar("standard", "mean", float(np.mean(values)), label="all")
        result.scalar("standard", "neg_zero", -0.0, idx=7)
        result.refuse("shy", "always declines", 0.5)
        result.fact("sha", values.tobytes().hex()[:16])
        result.datasets.append(
            {
                "name": "toy",
                "origin": "drawn",
                "n_rows": 3,
                "n_features": 1,
                "target": "y",
                "distinct_targets": 3,
                "sha256": "0" * 64,
            }
        )
        yield cell, result


def run_toy(
    path: Path, jobs: list[Job], engine: str = "serial", workers: int = 1, fn: object = compute, **options: object
) -> Summary:
    """The toy plan through the real driver and a real engine."""
    resources = engines.Resources(workers=workers)
    return run_plan(jobs, path, engines.engine(engine), fn, FACTS, resources=resources, **options)  # type: ignore[arg-type]


def die(job: Job) -> Iterator[tuple[Cell, CellResult]]:
    os._exit(3)
    yield from ()


class Unpicklable:
    """Travels to the worker and fails to arrive."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return sys.exit, (5,)


def unsendable(job: Job) -> Iterator[tuple[Cell, CellResult]]:
    for cell, result in compute(job):
        result.facts["f"] = lambda: None  # type: ignore[assignment]
        yield cell, result


def thread_facts(job: Job) -> Iterator[tuple[Cell, CellResult]]:
    result = CellResult()
    for name in engines.THREAD_VARIABLES:
        result.fact(name, os.environ.get(name, "unset"))
    yield job.cells[0], result


def contents(path: Path) -> dict[str, pl.DataFrame]:
    """Everything cells said, sorted; what may differ between two runs (times, run ids) is left out."""
    with open_results(path) as results:
        cells = results.sql(
            "SELECT cell_id, name, state, reason, n_records, content_hash, backend FROM cell ORDER BY ALL"
        )
        tables = {t: results.sql(f"SELECT * FROM {t} ORDER BY ALL") for t in ("record", "refusal", "fact", "dataset")}
    return {"cell": cells, **tables}


def same(first: Path, second: Path) -> bool:
    a, b = contents(first), contents(second)
    return all(a[name].equals(b[name]) for name in a)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("db", type=Path)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--engine", default="serial")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--snapshot-every", type=float, default=0.0)
    parser.add_argument("--lines", action="store_true")
    arguments = parser.parse_args()
    summary = run_toy(
        arguments.db,
        toy_plan(arguments.cells),
        arguments.engine,
        arguments.workers,
        functools.partial(compute, slow=arguments.slow),
        snapshot_every=arguments.snapshot_every,
        reporter=Lines(every=0.0) if arguments.lines else Silent(),
    )
    sys.exit(0 if summary.signum is None else 128 + summary.signum)

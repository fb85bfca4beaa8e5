"""What a worker does with a job: find the case by name and let it compute, with a fixed number of threads."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from orledger.runners.engines import limited_threads
from orledger.runners.plan import package

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.runners.cells import Cell, Context, Job
    from orledger.runners.records import CellResult


def compute_job(job: Job, context: Context) -> Iterator[tuple[Cell, CellResult]]:
    """The results of the job's cells, from ``run`` of the module of their case."""
    if context.path and context.path not in sys.path:
        sys.path.insert(0, context.path)
    case = job.cells[0].case
    module = importlib.import_module(f"{context.packages.get(case) or package(case)}.run")
    with limited_threads(context.threads):
        yield from module.run(job.cells, context)

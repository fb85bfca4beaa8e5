"""Where jobs run: one small seam, chosen in one place, with the same results behind it whichever is chosen."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from orledger.errors import OrledgerError, UsageError
from orledger.runners.cells import Cell, Job
from orledger.runners.records import CellResult

# A pure function of a job; it must be picklable, since it travels to the workers.
JobFunction = Callable[[Job], Iterator[tuple[Cell, CellResult]]]

ENGINES = {
    "serial": "orledger.runners.engine_serial:SerialEngine",
    "processes": "orledger.runners.engine_processes:ProcessesEngine",
    "ray": "orledger.runners.engine_ray:RayEngine",
}

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True)
class Done:
    """A cell that was computed; ``host`` tells of the machine that did, as JSON."""

    cell: Cell
    result: CellResult
    host: str | None = None


@dataclass(frozen=True)
class Failed:
    """A cell that raised, or whose worker died; ``error`` is the traceback or the story."""

    cell: Cell
    error: str


@dataclass(frozen=True)
class Resources:
    """What an engine may use: workers, numerical threads in each, a device, a cluster's address, and where its data lie."""

    workers: int = 1
    threads: int = 1
    device: str = "cpu"
    address: str | None = None
    data_dir: str | None = None


class Engine(Protocol):
    """Runs jobs somewhere and reports every cell of every job exactly once, in the order of completion."""

    def run(self, jobs: Sequence[Job], fn: JobFunction, resources: Resources) -> Iterator[Done | Failed]:
        """The outcomes; closing the iterator stops the work and frees what was started."""
        ...


def engine(name: str) -> Engine:
    """The engine called ``name``; its module is imported only now."""
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}", hint=f"one of {', '.join(ENGINES)}")
    module, attribute = ENGINES[name].split(":")
    chosen: Engine = getattr(import_module(module), attribute)()
    return chosen


def outcomes(job: Job, fn: JobFunction) -> Iterator[Done | Failed]:
    """Every cell of ``job`` once: those computed before an exception are done, the others failed with its traceback."""
    from orledger.runners.host import where  # which asks this module about CPUs

    left = {cell.id: cell for cell in job.cells}
    try:
        for cell, result in fn(job):
            if left.pop(cell.id, None) is None:
                raise OrledgerError(f"{cell.name} was returned twice, or does not belong to its job")
            yield Done(cell, result, where())
        error = "the case ended without a result for this cell"
    except Exception:
        error = traceback.format_exc()
    for cell in left.values():
        yield Failed(cell, error)


def available_cpus() -> int:
    """CPUs this process may use: its affinity, and the quota of its container where there is one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return max(1, count)
    return max(1, count if quota == "max" else min(count, round(int(quota) / int(period))))


@contextmanager
def thread_environment(threads: int) -> Iterator[None]:
    """While inside, new processes start with ``threads`` numerical threads: libraries read these variables only once."""
    saved = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """While inside, BLAS, OpenMP and torch use at most ``threads`` threads, whatever was imported before."""
    import sys

    from threadpoolctl import threadpool_limits

    torch: Any = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else None
    with threadpool_limits(limits=threads):
        if torch is not None:
            torch.set_num_threads(threads)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)

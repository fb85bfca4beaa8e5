"""A run as a discrete-event simulation: workers, failures, and one writer that commits in groups.

    python benchmarks/simulate.py --validate          # measure this machine, predict runs with 1, 2 and 4 workers, run them
    python benchmarks/simulate.py --workers 1000      # where one writer saturates

Workers compute one cell after the other and may die and come back; a cell that dies with its worker is computed again. The
writer takes the outcomes in the order in which they come and commits them as ``schema/grouping.py`` does: at once after a
quiet moment, otherwise when a group is full or has waited long enough. Four numbers and the count of processors describe a
machine, all of them measured without the run that is predicted: seconds until a worker is ready, what it adds to a cell, and
what the writer needs for a commit and for each record.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import sys
import tempfile
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orledger.runners import engines
from orledger.runners.cells import Cell, Job
from orledger.runners.driver import RunFacts, run_plan
from orledger.runners.records import CellResult
from orledger.schema.grouping import LONGEST_WAIT, MOST_CELLS, MOST_RECORDS

sys.path.insert(0, str(Path(__file__).parent))
from rows import table

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Machine:
    """Seconds: until a worker is ready, that a worker adds to a cell, per commit, and per record committed; processors.

    Starting and the overhead need a processor each: where workers share them, both take longer by that factor.
    """

    start: float
    overhead: float
    commit: float
    record: float
    cpus: int = 10**6  # a cluster has one for each worker

    def shared_by(self, workers: int) -> float:
        """How many workers there are to a processor, at least one."""
        return max(1.0, workers / self.cpus)


@dataclass(frozen=True)
class Work:
    """What is to be done: cells, seconds of computing each, records each, and how often workers die (per second of work)."""

    cells: int
    seconds: float
    records: int
    deaths: float = 0.0
    restart: float = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a simulated run went: seconds, commits, share of the time in which the writer was busy, deaths, longest queue."""

    seconds: float
    commits: int
    busy: float
    deaths: int
    queued: int


def simulate(machine: Machine, work: Work, workers: int, seed: int = 0) -> Outcome:
    """The run of ``work`` on ``workers`` workers and one writer."""
    draw, order = random.Random(seed), count()
    events: list[tuple[float, int, str]] = []  # time, tie-breaker, what: ready, dead, or look (at the writer)
    todo, waiting = work.cells, deque[float]()  # when each outcome arrived that is not yet being committed
    free_at, committed = 0.0, float("-inf")
    arrived = commits = deaths = queued = 0
    busy = end = 0.0
    shared = machine.shared_by(min(workers, work.cells))

    def at(when: float, what: str) -> None:
        heapq.heappush(events, (when, next(order), what))

    def compute(now: float) -> None:
        nonlocal todo
        if todo == 0:
            return
        todo -= 1
        took = work.seconds + machine.overhead * shared
        death = draw.expovariate(work.deaths) if work.deaths else float("inf")
        at(now + min(took, death), "done" if took <= death else "dead")

    for _ in range(min(workers, work.cells)):
        at(machine.start * shared, "ready")
    while events:
        now, _, what = heapq.heappop(events)
        if what == "dead":  # the cell goes back, and so does the worker, after a while
            deaths, todo = deaths + 1, todo + 1
            at(now + work.restart, "ready")
        if what == "done":
            waiting.append(now)
            arrived += 1
            queued = max(queued, len(waiting))
        if what in ("done", "ready"):
            compute(now)
        if not waiting or now < free_at:
            continue
        most = max(1, min(MOST_CELLS, MOST_RECORDS // max(1, work.records)))
        at_once = waiting[0] - committed >= LONGEST_WAIT or len(waiting) >= most or arrived == work.cells
        due = waiting[0] + (0.0 if at_once else LONGEST_WAIT)
        if due > now:
            at(due, "look")
            continue
        group = min(len(waiting), most)
        for _ in range(group):
            waiting.popleft()
        took = machine.commit + machine.record * work.records * group
        commits, busy, free_at = commits + 1, busy + took, now + took
        committed = end = free_at
        at(free_at, "look")
    return Outcome(end, commits, busy / end if end else 0.0, deaths, queued)


def nap(job: Job, seconds: float, records: int) -> Iterator[tuple[Cell, CellResult]]:
    """A cell that waits, and records: waiting takes no processor, so that four workers fit on two."""
    for cell in job.cells:
        time.sleep(seconds)
        result = CellResult(seconds=seconds, backend="cpu/float64")
        result.series("a", "m", np.arange(records, dtype=float))
        yield cell, result


class Napping:
    """``nap`` with its arguments, ready to travel."""

    def __init__(self, seconds: float, records: int) -> None:
        self.seconds, self.records = seconds, records

    def __call__(self, job: Job) -> Iterator[tuple[Cell, CellResult]]:
        return nap(job, self.seconds, self.records)


def real(work: Work, engine: str, workers: int) -> float:
    """Seconds that the real driver, engine and writer need for ``work``, from the first job to the last commit."""
    jobs = [Job((Cell("nap", "main", {"k": k}, {}),)) for k in range(work.cells)]
    facts = RunFacts(preset="nap", settings={}, versions={}, host={}, engine=engine)
    with tempfile.TemporaryDirectory() as folder:
        fn = Napping(work.seconds, work.records)
        resources = engines.Resources(workers=workers)
        path = Path(folder) / "nap.duckdb"
        return run_plan(jobs, path, engines.engine(engine), fn, facts, resources=resources, snapshot_every=0).seconds


def measured(records: int = 1000, cells: int = 400) -> Machine:
    """The machine that runs this, from runs that are none of those predicted: the writer alone, and workers that do nothing."""
    from bench_write import Orledger, columns

    with tempfile.TemporaryDirectory() as folder:
        side = Orledger(Path(folder), cells + 20)
        block = [columns(records, seed) for seed in range(cells)]
        start = time.perf_counter()
        side.store(0, block)
        bulk = time.perf_counter() - start
        singles = []
        for k in range(20):
            start = time.perf_counter()
            side.store(cells + k, block[:1])
            singles.append(time.perf_counter() - start)
        side.close()
    record = bulk / (cells * records)
    commit = max(0.0, float(np.median(singles)) - record * records)
    first = real(Work(1, 0.0, 1), "processes", 1)
    many = real(Work(101, 0.0, 1), "processes", 1)
    start, overhead = max(0.0, first - commit), max(0.0, (many - first) / 100)
    return Machine(start, overhead, commit, record, engines.available_cpus())


def validated(work: Work, sizes: tuple[int, ...] = (1, 2, 4)) -> tuple[Machine, list[list[str]]]:
    """The machine, and for each number of workers the predicted and the real seconds and how far they are apart."""
    machine = measured(work.records)
    body = []
    for workers in sizes:
        guess, truth = simulate(machine, work, workers).seconds, real(work, "processes", workers)
        body.append([str(workers), f"{guess:.2f}", f"{truth:.2f}", f"{100 * (guess / truth - 1):+.0f}%"])
    return machine, body


def main() -> None:
    parser = argparse.ArgumentParser(description="A run as a discrete-event simulation")
    parser.add_argument("--validate", action="store_true", help="Measure this machine, predict real runs, and run them")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--cells", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="Computing per cell")
    parser.add_argument("--records", type=int, default=1000, help="Records per cell")
    parser.add_argument("--deaths", type=float, default=1e-5, help="Deaths of a worker per second of work")
    parser.add_argument("--machine", type=json.loads, help='As JSON, such as {"start": 2, "overhead": 0.001, ...}')
    chosen = parser.parse_args()
    if chosen.validate:
        machine, body = validated(Work(240, 0.1, 1000))
        print(json.dumps(asdict(machine)))
        print(table(["workers", "predicted s", "real s", "error"], body, right=(0, 1, 2, 3)))
        return
    machine = Machine(**chosen.machine) if chosen.machine else replace(measured(chosen.records), cpus=10**6)
    print(json.dumps(asdict(machine)))
    work = Work(chosen.cells, chosen.seconds, chosen.records, chosen.deaths)
    body = []
    for workers in chosen.workers:
        one = simulate(machine, work, workers)
        ideal = simulate(replace(machine, commit=0.0, record=0.0), work, workers)
        rate = work.cells * work.records / one.seconds
        cost = f"{100 * (one.seconds / ideal.seconds - 1):.0f}%"
        body.append(
            [
                str(workers),
                f"{one.seconds:,.0f}",
                f"{rate:,.0f}",
                f"{100 * one.busy:.0f}%",
                f"{one.deaths:,}",
                f"{one.queued:,}",
                cost,
            ]
        )
    header = ["workers", "seconds", "records/s", "writer busy", "deaths", "most waiting", "against no writer"]
    print(table(header, body, right=tuple(range(7))))


if __name__ == "__main__":
    main()

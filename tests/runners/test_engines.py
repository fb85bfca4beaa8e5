"""Engines: the same records behind each, and a dead worker costs its own job only."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import toy_case
from toy_case import compute, run_toy, same, toy_plan

from orledger.errors import OrledgerError, UsageError
from orledger.runners import engines
from orledger.runners.engines import Done, Failed, Resources, available_cpus, engine, thread_environment
from orledger.schema.reading import open_results


@pytest.mark.parametrize("workers", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 5))])
def test_processes_give_the_records_of_serial(toy_db: Path, db: Path, workers: int) -> None:
    run_toy(db, toy_plan(20), "processes", workers)
    assert same(db, toy_db)


def test_a_worker_that_dies_fails_its_job_and_the_others_go_on(db: Path) -> None:
    summary = run_toy(db, toy_plan(12, dies_at=3), "processes", 2)
    assert (summary.done, summary.failed) == (11, 1)
    with open_results(db) as results:
        error = results.sql("SELECT error FROM cell WHERE state = 'failed'")["error"][0]
    assert "ended by signal 9 (SIGKILL)" in error
    assert "memory" in error


def test_every_worker_dying_still_ends_the_run(db: Path) -> None:
    summary = run_toy(db, toy_plan(4, per_job=1), "processes", 2, fn=toy_case.die)
    assert (summary.done, summary.failed) == (0, 4)


def test_a_worker_that_cannot_start_stops_the_run_with_the_reason() -> None:
    events = engine("processes").run(toy_plan(2), toy_case.Unpicklable(), Resources(workers=1))
    with pytest.raises(OrledgerError, match="before its first job"):
        list(events)


def test_a_result_that_cannot_travel_fails_its_cell() -> None:
    events = list(engine("processes").run(toy_plan(2), toy_case.unsendable, Resources(workers=1)))
    assert [type(e) for e in events] == [Failed, Failed]
    assert all("could not be sent" in e.error for e in events if isinstance(e, Failed))


def test_closing_the_events_ends_the_workers() -> None:
    import multiprocessing

    events = engine("processes").run(toy_plan(20), functools.partial(compute, slow=0.2), Resources(workers=2))
    assert isinstance(next(events), Done)
    assert len(multiprocessing.active_children()) == 2
    events.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_workers_run_with_one_numerical_thread() -> None:
    (event,) = engine("processes").run(toy_plan(1), toy_case.thread_facts, Resources(workers=1, threads=1))
    assert isinstance(event, Done)
    assert event.result.facts == dict.fromkeys(engines.THREAD_VARIABLES, "1")


def test_the_environment_is_as_it_was_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS")
    with thread_environment(3):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_cpus_follow_the_affinity_of_the_process() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nfrom orledger.runners.engines import available_cpus\nprint(available_cpus())"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "1"
    )
    assert 1 <= available_cpus() <= (os.cpu_count() or 1)


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UsageError, match="serial, processes, ray"):
        engine("slurm")


def test_workers_end_when_their_parent_is_killed(db: Path) -> None:
    command = [
        sys.executable,
        toy_case.__file__,
        str(db),
        "--cells",
        "50",
        "--slow",
        "0.2",
        "--engine",
        "processes",
        "--lines",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()
    process.stderr.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.kill()
    process.communicate()
    import time

    deadline = time.monotonic() + 300
    while any(_running(int(pid)) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in children if _running(int(pid))] == []


def _running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("name", ["serial", "processes"])
def test_every_cell_says_where_it_was_computed(db: Path, name: str) -> None:
    import json

    from orledger.runners.host import cpu_model

    run_toy(db, toy_plan(2, raises_at=1), engine=name)
    with open_results(db) as results:
        rows = results.sql("SELECT state, host FROM cell ORDER BY state").rows()
    assert [state for state, _ in rows] == ["done", "failed"]
    facts = json.loads(rows[0][1])
    assert (facts["node"], facts["cpu"]) == (platform.node(), cpu_model())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code that is asked for is for x86-64")
def test_a_cell_says_which_code_the_blas_chose() -> None:
    """OpenBLAS takes the code that it is told to take, and the name of the processor stays what it is."""
    code = "import json\nfrom orledger.runners.host import where\nprint(json.loads(where()).get('blas'))"
    told = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=told)
    assert found.stdout.strip() == "Nehalem"

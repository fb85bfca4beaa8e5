"""The driver: skip what is done, record what fails, stop between two transactions."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import toy_case
from toy_case import compute, run_toy, same, toy_plan

from orledger.errors import OrledgerError, UsageError
from orledger.runners.cells import Cell, Job
from orledger.runners.driver import run_plan, select
from orledger.schema.catalogue import Catalogue, Metric
from orledger.schema.checking import check
from orledger.schema.explaining import snapshot_path
from orledger.schema.reading import open_results


def test_a_run_stores_every_cell_and_a_second_run_computes_nothing(db: Path) -> None:
    first = run_toy(db, toy_plan(6))
    assert (first.state, first.done, first.skipped) == ("finished", 6, 0)
    second = run_toy(db, toy_plan(6), fn=None)
    assert (second.state, second.done, second.skipped) == ("finished", 0, 6)
    assert check(db).findings == ()


def test_a_larger_plan_computes_only_what_is_new(db: Path, tmp_path: Path) -> None:
    run_toy(db, toy_plan(4))
    assert run_toy(db, toy_plan(10)).done == 6
    run_toy(tmp_path / "whole.duckdb", toy_plan(10))
    assert same(db, tmp_path / "whole.duckdb")


def test_a_failing_cell_is_recorded_and_does_not_stop_the_others(db: Path) -> None:
    summary = run_toy(db, toy_plan(10, raises_at=2))
    assert (summary.done, summary.failed, summary.state) == (8, 2, "incomplete")
    with open_results(db) as results:
        failed = results.sql(
            "SELECT keys['seed'] AS seed, error, n_records FROM cell WHERE state = 'failed' ORDER BY 1"
        )
        assert failed["seed"].to_list() == ["2", "3"]
        assert all("ZeroDivisionError: seed 2 was told to raise" in e and "toy_case.py" in e for e in failed["error"])
        assert results.sql("SELECT state FROM run")["state"].to_list() == ["incomplete"]
    assert check(db).findings == ()


def test_failed_and_refused_cells_are_computed_again_only_when_asked(db: Path) -> None:
    jobs = toy_plan(6, per_job=1, raises_at=1, refuses_at=2)
    first = run_toy(db, jobs)
    assert (first.done, first.failed, first.refused) == (4, 1, 1)
    again = run_toy(db, jobs)
    assert (again.done, again.failed, again.failed_before, again.refused_before, again.state) == (
        0,
        0,
        1,
        1,
        "incomplete",
    )
    retried = run_toy(db, jobs, retry=["failed", "refused"])
    assert (retried.failed, retried.refused) == (1, 1)
    mended = functools.partial(_mended, told=("raises_at", "refuses_at"))
    fixed = run_toy(db, jobs, fn=mended, retry=["failed", "refused"])
    assert (fixed.done, fixed.state) == (2, "finished")
    with open_results(db) as results:
        assert results.sql("SELECT count(*) AS n FROM cell WHERE error IS NOT NULL OR reason IS NOT NULL")["n"][0] == 0
    assert check(db).findings == ()


def _mended(job: Job, told: tuple[str, ...]):
    """The toy case after somebody repaired it: the cells keep their ids."""
    plain = Job(
        tuple(Cell(c.case, c.block, c.keys, {k: v for k, v in c.settings.items() if k not in told}) for c in job.cells)
    )
    for original, (_, result) in zip(job.cells, compute(plain), strict=True):
        yield original, result


def test_a_job_with_a_missing_cell_is_recomputed_and_only_that_cell_stored(db: Path, tmp_path: Path) -> None:
    jobs = toy_plan(4, per_job=4)
    run_toy(tmp_path / "whole.duckdb", jobs)
    half = [Job(jobs[0].cells[:2])]
    run_toy(db, half)
    with open_results(db) as results:
        before = results.sql("SELECT cell_id, finished FROM cell ORDER BY 1")
    assert run_toy(db, jobs).done == 2
    with open_results(db) as results:
        after = results.sql("SELECT cell_id, finished FROM cell ORDER BY 1").filter(
            pl.col("cell_id").is_in(before["cell_id"].to_list())
        )
    assert after.equals(before)
    assert same(db, tmp_path / "whole.duckdb")


def test_a_state_nobody_knows_is_an_error_and_stores_nothing(db: Path) -> None:
    def odd(job: Job):
        for cell, result in compute(job):
            result.state = "splendid"
            yield cell, result

    with pytest.raises(OrledgerError, match="splendid"):
        run_toy(db, toy_plan(2), fn=odd)
    with open_results(db) as results:
        assert set(results.sql("SELECT state FROM cell")["state"]) == {"planned"}


def test_a_case_that_forgets_a_cell_or_returns_a_stranger_fails_it(db: Path) -> None:
    def forgetful(job: Job):
        yield next(iter(compute(job)))

    assert (run_toy(db, toy_plan(2), fn=forgetful).done, run_toy(db, toy_plan(2)).failed_before) == (1, 1)


def test_what_a_run_stores_about_itself(db: Path) -> None:
    from orledger.runners import host

    facts = toy_case.RunFacts(
        preset="toy",
        settings={"toy": {"settings": {"size": 50}}},
        versions=host.versions(),
        host=host.host_facts(with_torch=False),
        git_commit=host.git_commit(),
        setting_rows=[("toy", "size", 50, False, "Numbers per cell.")],
        catalogues=[Catalogue("toy", tuple(Metric("main", "standard", m) for m in ("draw", "mean", "neg_zero")))],
    )
    from orledger.runners import engines
    from orledger.runners.driver import run_plan

    registered = []
    run_plan(
        toy_plan(2),
        db,
        engines.engine("serial"),
        compute,
        facts,
        register=lambda con: registered.append(_register(con)),
    )
    assert len(registered) == 1
    with open_results(db) as results:
        run = results.sql("SELECT * FROM run").row(0, named=True)
        assert results.sql("SELECT value, given FROM setting").rows() == [("50", False)]
    assert '"duckdb": "2.' in run["versions"]
    assert '"cpu": ' in run["host"]
    assert '"internal_api"' in run["host"]
    import hashlib

    assert run["registration_hash"] == hashlib.sha256(b"h1\nh2b").hexdigest()
    assert run["ended"] >= run["started"]
    assert check(db).findings == ()


def _register(con) -> None:
    for hash_, name, when in (("h1", "H1", "2026-01-01"), ("h2a", "H2", "2026-01-01"), ("h2b", "H2", "2026-01-02")):
        con.execute(
            "INSERT INTO registration (hash, hypothesis, mode, statement, file, text, registered, cells_done, parent, amendment)"
            " VALUES (?, ?, 'registered', 's', 'f', 't', ?::TIMESTAMP, 0, NULL, false)",
            [hash_, name, when],
        )


def test_selecting_by_block_and_key() -> None:
    jobs = toy_plan(6)
    assert [c.keys["seed"] for j in select(jobs, only=["seed=0", "seed=5"]) for c in j.cells] == [0, 1, 4, 5]
    assert select(jobs, blocks=["main"], only=["level=0.25"]) == jobs
    for text in ("0.250", "2.5e-1", ".25"):
        assert select(jobs, only=[f"level={text}"]) == jobs
    assert [c.keys["seed"] for j in select(jobs, only=["seed=2.0"]) for c in j.cells] == [2, 3]
    for bad in (["seed"], ["sead=0"], ["seed=99"], ["seed=zero"], ["level=0.25000001"]):
        with pytest.raises(UsageError):
            select(jobs, only=bad)
    with pytest.raises(UsageError, match="known: main"):
        select(jobs, blocks=["mane"])


def start(db: Path, *arguments: str) -> subprocess.Popen[str]:
    """The toy case in a process of its own, printing a line for every stored cell."""
    command = [sys.executable, toy_case.__file__, str(db), "--lines", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_cells(process: subprocess.Popen[str], count: int) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(f"{count}/"):
            return
    raise AssertionError("the run ended early")


@pytest.mark.parametrize(
    ("signum", "engine"),
    [
        (signal.SIGINT, "serial"),
        (signal.SIGTERM, "processes"),
        pytest.param(signal.SIGINT, "processes", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "serial", marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_stores_nothing_half_done_and_the_run_resumes(
    db: Path, tmp_path: Path, engine: str, signum: int
) -> None:
    process = start(db, "--engine", engine, "--slow", "0.2", "--cells", "24")
    wait_for_cells(process, 3)
    process.send_signal(signum)
    process.communicate()
    assert process.returncode == 128 + signum
    assert check(db).findings == ()
    with open_results(db) as results:
        assert results.sql("SELECT state FROM run")["state"].to_list() == ["interrupted"]
        done = results.sql("SELECT count(*) AS n FROM cell WHERE state = 'done'")["n"][0]
        assert 3 <= done < 24
    assert run_toy(db, toy_plan(24)).done == 24 - done
    run_toy(tmp_path / "whole.duckdb", toy_plan(24))
    assert same(db, tmp_path / "whole.duckdb")


def test_a_second_run_says_who_holds_the_database_and_a_reader_gets_the_snapshot(db: Path) -> None:
    process = start(db, "--slow", "1", "--cells", "60", "--snapshot-every", "0.2")  # a minute, if nobody stops it
    try:
        wait_for_cells(process, 2)
        second = subprocess.run([sys.executable, toy_case.__file__, str(db)], capture_output=True, text=True)
        assert second.returncode != 0
        assert f"in use by process {process.pid}" in second.stderr
        seen = 0
        while seen == 0 and process.poll() is None:
            with pytest.warns(UserWarning, match="snapshot"), open_results(db) as results:
                seen = results.sql("SELECT count(*) AS n FROM cell WHERE state = 'done'")["n"][0]
            time.sleep(0.1)
        assert seen > 0
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert check(db).findings == ()
    assert not snapshot_path(db).exists()
    assert run_toy(db, toy_plan(60)).state == "finished"


def test_an_engine_that_cannot_start_ends_the_run_and_leaves_no_snapshot(db: Path) -> None:
    """A later status must not say that a run is still going on."""

    class NoCluster:
        def run(self, *_: object) -> object:
            raise UsageError("no cluster at that address")
            yield

    run_toy(db, toy_plan(2))
    with pytest.raises(UsageError, match="no cluster"):
        run_plan(toy_plan(4), db, NoCluster(), compute, toy_case.FACTS)  # type: ignore[arg-type]
    assert not snapshot_path(db).exists()
    with open_results(db) as results:
        assert results.sql("SELECT state FROM run ORDER BY started")["state"].to_list() == ["finished", "incomplete"]
    assert run_toy(db, toy_plan(4)).done == 2

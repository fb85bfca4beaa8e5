"""The Ray engine: the same records, a killed worker retried, and a GPU that is not there refused at once."""

from __future__ import annotations

import functools
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_case import compute, run_toy, same, toy_plan

from orledger.errors import UsageError
from orledger.runners.cells import Cell, Job
from orledger.runners.engines import Resources, engine
from orledger.schema.checking import check

ray = pytest.importorskip("ray", reason="the ray extra is not installed")
# A cluster of its own takes longer to start than its tests: .ci/run asks for them by name.
pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    """One Ray for this module, started as the engine starts it; the toy case travels by value."""
    import toy_case

    from orledger.runners import engine_ray

    ray.cloudpickle.register_pickle_by_value(toy_case)
    with engine_ray._session(ray, Resources(workers=2)):
        yield


def test_ray_gives_the_records_of_serial(toy_db: Path, db: Path) -> None:
    run_toy(db, toy_plan(20), "ray", 2)
    assert same(db, toy_db)


def test_a_worker_killed_in_a_cell_is_retried_and_the_cell_stored_once(toy_db: Path, db: Path, tmp_path: Path) -> None:
    marker = tmp_path / "crashed"
    summary = run_toy(db, toy_plan(20), "ray", 2, fn=functools.partial(compute, crash=str(marker)))
    assert marker.exists(), "no worker was killed, so the test shows nothing"
    assert (summary.done, summary.failed) == (20, 0)
    assert same(db, toy_db)
    assert check(db).findings == ()


def test_a_cell_that_kills_every_worker_fails_and_the_others_go_on(db: Path) -> None:
    summary = run_toy(db, toy_plan(4, per_job=1, dies_at=2), "ray", 2)
    assert (summary.done, summary.failed) == (3, 1)


def test_gpu_jobs_are_refused_before_submission_where_there_is_no_gpu() -> None:
    if ray.cluster_resources().get("GPU"):
        pytest.skip("this machine has a GPU")
    jobs = [Job((Cell("toy", "main", {"seed": 0}, {"size": 5}, gpu=True),))]
    with pytest.raises(UsageError, match="wait for ever"):
        list(engine("ray").run(jobs, compute, Resources(workers=1, device="cuda")))


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_answers_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"no Ray cluster answers at {address}"):
            list(engine("ray").run(toy_plan(1), compute, Resources(address=address)))


def test_a_cluster_that_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: (_ for _ in ()).throw(ConnectionError("wrong token")))
    with socket.create_server(("127.0.0.1", 0)) as open_port:
        address = f"127.0.0.1:{open_port.getsockname()[1]}"
        with pytest.raises(UsageError, match="wrong token"):
            list(engine("ray").run(toy_plan(1), compute, Resources(address=address)))


def test_an_address_that_is_none_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(UsageError, match="no address"):
        list(engine("ray").run(toy_plan(1), compute, Resources(address="head:port")))

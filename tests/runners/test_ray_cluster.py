"""Ray clusters of several nodes on this machine: nodes killed, gone and new, a head lost, and nodes that are not alike."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from toy_case import FACTS, compute, run_toy, same, toy_plan

from orledger.errors import UsageError
from orledger.runners import engine_ray, ray_nodes
from orledger.runners.driver import Summary, run_plan
from orledger.runners.engines import Resources, engine
from orledger.runners.progress import Silent
from orledger.runners.ray_nodes import HeadLostError, Node, difference
from orledger.schema.reading import open_results

NODE = Node("n", {"orledger": "1", "numpy": "2"}, {"yacht.csv": "aa"})


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (NODE, None),
        (Node("m", NODE.versions, {**NODE.data, "more.csv": "bb"}), None),  # more than we have is no harm
        (Node("m", {**NODE.versions, "numpy": "3"}, NODE.data), "has numpy 3, and this machine 2"),
        (Node("m", {"orledger": "1"}, NODE.data), "has numpy absent, and this machine 2"),
        (Node("m", NODE.versions, {}), "does not have /data/yacht.csv"),
        (Node("m", NODE.versions, {"yacht.csv": "bb"}), "has another /data/yacht.csv"),
    ],
)
def test_what_a_node_has_otherwise_is_named(theirs: Node, words: str | None) -> None:
    found = difference(NODE, theirs, "/data")
    assert (None if found is None else found[0]) == words


def test_a_head_may_be_away_for_a_while_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    clock = [0.0]
    monkeypatch.setattr(ray_nodes.time, "monotonic", lambda: clock[0])
    with socket.create_server(("127.0.0.1", 0)) as server:
        head = ray_nodes.HeadNode(f"127.0.0.1:{server.getsockname()[1]}")
        clock[0] = 1000.0
        head.require()
    clock[0] += ray_nodes.PATIENCE - 1
    head.require()
    clock[0] += 1
    with pytest.raises(HeadLostError, match="is gone"):
        head.require()


class Watching(Silent):
    """Calls a function once, when a number of cells is stored."""

    def __init__(self, count: int, then: Callable[[], object]) -> None:
        self.left, self.then = count, then

    def stored(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            self.then()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without CPUs; tests add the nodes that take work."""
    monkeypatch.chdir(tmp_path)  # workers look for packages where the driver stands
    ray = pytest.importorskip("ray", reason="the ray extra is not installed")
    import toy_case
    from ray.cluster_utils import Cluster

    assert not ray.is_initialized()
    ray.cloudpickle.register_pickle_by_value(toy_case)
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()


def run(
    cluster: Any, db: Path, *, data_dir: str | None = None, watch: Watching | None = None, cells: int = 20
) -> Summary:
    resources = Resources(2, address=cluster.address, data_dir=data_dir)
    fn = functools.partial(compute, slow=0.5)
    return run_plan(
        toy_plan(cells), db, engine("ray"), fn, FACTS, resources=resources, reporter=watch, snapshot_every=0
    )


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
class TestCluster:
    @pytest.mark.parametrize("killed", [1, 2])
    def test_nodes_killed_in_mid_run(self, cluster: Any, toy_db: Path, db: Path, killed: int) -> None:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]

        def kill() -> None:
            for node in nodes[:killed]:
                cluster.remove_node(node, allow_graceful=False)

        summary = run(cluster, db, watch=Watching(3, kill))
        assert (summary.done, summary.failed) == (20, 0)
        assert same(db, toy_db)

    def test_all_nodes_gone_and_a_new_one_later(
        self, cluster: Any, toy_db: Path, db: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        told: list[str] = []
        joined: list[subprocess.Popen[bytes]] = []
        words = ["-m", "ray.scripts.scripts", "start", "--address", cluster.address, "--num-cpus", "1", "--block"]

        def warn(message: object, *_: object, **__: object) -> None:
            """A new node comes once the run has said that it waits for one."""
            told.append(str(message))
            joined.append(subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL))

        def kill() -> None:
            for node in nodes:
                cluster.remove_node(node, allow_graceful=False)

        monkeypatch.setattr(engine_ray.warnings, "warn", warn)
        try:
            summary = run(cluster, db, watch=Watching(3, kill))
        finally:
            for process in joined:
                process.terminate()
                process.wait(60)
        assert len(told) == 1
        assert "waits until one joins" in told[0]
        assert (summary.done, summary.failed) == (20, 0)
        assert same(db, toy_db)

    def test_the_head_lost(self, cluster: Any, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The run ends with a message; what it stored is there, and another engine completes it."""
        cluster.add_node(num_cpus=2)
        monkeypatch.setattr(ray_nodes, "PATIENCE", 8.0)
        control = cluster.head_node.all_processes["gcs_server"][0].process
        with pytest.raises(HeadLostError, match="the same command resumes"):
            run(cluster, db, watch=Watching(3, lambda: os.kill(control.pid, signal.SIGKILL)), cells=80)
        with open_results(db) as results:
            states = dict(results.sql("SELECT state, count(*) FROM cell GROUP BY 1").rows())
            assert results.sql("SELECT state FROM run").rows() == [("incomplete",)]
        assert states["done"] >= 3
        assert set(states) == {"done", "planned"}, "no cell may count as failed because the head is gone"
        run_toy(db, toy_plan(80))
        whole = db.with_name("whole.duckdb")
        run_toy(whole, toy_plan(80))
        assert same(db, whole)

    def test_a_node_with_another_version(self, cluster: Any, db: Path, tmp_path: Path) -> None:
        info = tmp_path / "other" / "orledger-99.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: orledger\nVersion: 99.0\n")
        cluster.add_node(num_cpus=1)
        cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(info.parent)})
        self.refused(cluster, db, "has orledger 99.0, and this machine")

    def test_a_node_without_the_package(self, cluster: Any, db: Path, tmp_path: Path) -> None:
        (tmp_path / "none" / "orledger").mkdir(parents=True)
        (tmp_path / "none" / "orledger" / "__init__.py").write_text(
            "raise ModuleNotFoundError('No module named orledger')"
        )
        cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(tmp_path / "none")})
        self.refused(cluster, db, "cannot run orledger: .*No module named")

    def test_a_node_without_the_data(self, cluster: Any, db: Path, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "yacht.csv").write_text("a,residuary_resistance\n1,2\n")
        cluster.add_node(num_cpus=1)
        opened = os.open(tmp_path / "data", os.O_RDONLY)
        os.dup2(opened, 500)
        try:  # a folder that this process sees and no other does
            self.refused(cluster, db, "does not have /proc/self/fd/500/yacht.csv", data_dir="/proc/self/fd/500")
        finally:
            os.close(opened)
            os.close(500)

    def refused(self, cluster: Any, db: Path, words: str, data_dir: str | None = None) -> None:
        with pytest.raises(UsageError, match=words):
            run(cluster, db, data_dir=data_dir)
        with open_results(db) as results:
            assert results.sql("SELECT DISTINCT state FROM cell").rows() == [("planned",)]

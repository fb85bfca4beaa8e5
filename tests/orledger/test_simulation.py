"""The simulation of a run against what can be computed by hand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def sim() -> ModuleType:
    spec = importlib.util.spec_from_file_location("simulate", FOLDER / "simulate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate"] = module
    spec.loader.exec_module(module)
    return module


def test_one_worker_and_slow_cells(sim: ModuleType) -> None:
    """Each cell is committed at once: start, then every cell, then the last commit."""
    machine = sim.Machine(start=2.0, overhead=0.5, commit=0.01, record=1e-5)
    found = sim.simulate(machine, sim.Work(cells=10, seconds=3.0, records=1000), 1)
    assert found.seconds == pytest.approx(2.0 + 10 * 3.5 + 0.01 + 1e-5 * 1000)
    assert found.commits == 10


def test_workers_share_the_cells(sim: ModuleType) -> None:
    machine = sim.Machine(start=1.0, overhead=0.0, commit=0.0, record=0.0)
    found = [sim.simulate(machine, sim.Work(12, 2.0, 10), workers).seconds for workers in (1, 2, 4, 5, 12, 100)]
    assert found == pytest.approx([25.0, 13.0, 7.0, 7.0, 3.0, 3.0])


def test_workers_that_share_processors_start_later(sim: ModuleType) -> None:
    machine = sim.Machine(start=2.0, overhead=0.5, commit=0.0, record=0.0, cpus=2)
    found = [sim.simulate(machine, sim.Work(8, 1.0, 10), workers).seconds for workers in (1, 2, 4, 8)]
    assert found == pytest.approx([2 + 8 * 1.5, 2 + 4 * 1.5, 4 + 2 * 2.0, 8 + 3.0])


def test_a_saturated_writer_stores_at_its_own_rate(sim: ModuleType) -> None:
    """With endless workers the time is that of the writer: records, and one commit per full group."""
    machine = sim.Machine(start=0.0, overhead=0.0, commit=0.05, record=1e-5)
    work = sim.Work(cells=20_000, seconds=0.001, records=1000)
    found = sim.simulate(machine, work, 1000)
    most = min(sim.MOST_CELLS, sim.MOST_RECORDS // work.records)
    writer = work.cells * work.records * machine.record + work.cells / most * machine.commit
    assert found.seconds == pytest.approx(writer, rel=0.02)
    assert found.busy > 0.98


def test_deaths_cost_their_cells_and_the_restart(sim: ModuleType) -> None:
    """With a death rate of d per second a cell of t seconds takes (e^(dt) - 1) (1/d + r) on the average."""
    from math import exp

    machine = sim.Machine(0.0, 0.0, 0.0, 0.0)
    work = sim.Work(cells=20_000, seconds=1.0, records=1, deaths=0.5, restart=0.25)
    found = sim.simulate(machine, work, 1, seed=1)
    assert found.seconds / work.cells == pytest.approx((exp(0.5) - 1) * (1 / 0.5 + 0.25), rel=0.03)
    assert found.deaths / work.cells == pytest.approx(exp(0.5) - 1, rel=0.05)


def test_a_real_run_is_none_of_the_arithmetic(sim: ModuleType) -> None:
    """The real driver and the simulation do the same cells: it cannot be faster than its cells one after the other."""
    assert sim.real(sim.Work(6, 0.05, 20), "serial", 1) >= 6 * 0.05

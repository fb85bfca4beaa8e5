"""Case C cells end to end at a reduced size: sharing, repeatability, names, and what the records must satisfy."""

import dataclasses
import tomllib
from functools import partial
from importlib.resources import files

import numpy as np
import pytest

from orledger.runners.case_c.ladder import ANCHORS, CRITERIA, KAPPAS, PAIRS
from orledger.runners.case_c.loop import ARMS, run_arms
from orledger.runners.case_c.plan import plan
from orledger.runners.case_c.recording import record_full
from orledger.runners.case_c.run import prepare, run
from orledger.runners.cells import Cell, Context, Job
from orledger.runners.engines import Resources, engine
from orledger.runners.records import CellResult
from orledger.runners.work import compute_job

SMALL = {"candidates": 300, "evaluations": 13}


def cells(block="main", settings=None, **axes):
    table = {"settings": SMALL | (settings or {}), block: {"seeds": [0], **axes}}
    return [cell for job in plan(table, "test: c") for cell in job.cells]


def result(cell):
    ((_, found),) = run((cell,), Context())
    return found


def by_name(found):
    """(arm, metric, label, idx) -> value; a repeated name would lose a row, and is refused."""
    out = {}
    for arm, metric, label, idx, value in zip(*found.columns().values(), strict=True):
        key = (arm, metric, label, None if idx is np.ma.masked else int(idx))
        assert key not in out
        out[key] = value
    return out


@pytest.fixture(scope="module")
def branin():
    (cell,) = cells(benchmarks=["branin"])
    return cell, result(cell)


@pytest.mark.parametrize(
    "benchmark_name", ["branin", *(pytest.param(name, marks=pytest.mark.slow) for name in ("griewank", "levy"))]
)
@pytest.mark.parametrize("budget", ["near-initial", "converged"])
def test_sharing_steps_between_arms_changes_no_record(benchmark_name, budget):
    (cell,) = cells(benchmarks=[benchmark_name], settings={"fit_budget": budget, "evaluations": 10})
    problem, spec = prepare(cell)
    shared, alone = CellResult(), CellResult()
    for collected, share in ((shared, True), (alone, False)):
        for arm, trajectory in run_arms(problem, spec, share=share).items():
            record_full(collected, arm, problem, trajectory)
    a, b = by_name(shared), by_name(alone)
    assert a == b
    assert len(a) > 1000


def test_the_same_spec_gives_the_same_records(branin):
    cell, first = branin
    assert by_name(result(cell)) == by_name(first)
    assert first.facts == result(cell).facts


@pytest.mark.slow
def test_worker_processes_give_the_records_of_this_process(branin):
    cell, first = branin
    (outcome,) = engine("processes").run([Job((cell,))], partial(compute_job, context=Context()), Resources(workers=1))
    assert by_name(outcome.result) == by_name(first)


@pytest.mark.ray
@pytest.mark.slow
def test_ray_gives_the_records_of_this_process(branin):
    pytest.importorskip("ray")
    cell, first = branin
    (outcome,) = engine("ray").run([Job((cell,))], partial(compute_job, context=Context()), Resources(workers=1))
    assert by_name(outcome.result) == by_name(first)


def test_records_carry_only_the_names_of_the_catalogue():
    declared = tomllib.loads(files("orledger.runners.case_c").joinpath("catalog.toml").read_text())["metric"]
    kappas = {str(k) for k in KAPPAS}
    pairs = {f"{a}-{b}" for a, b in PAIRS}
    tags = {f"{p}/{c}/{a}" for p in pairs for c in CRITERIA for a in ANCHORS}
    labels = {"gap": kappas, "argmin": kappas, "tie": kappas, "same": pairs, "fires": tags, "ratio": tags}
    labels |= {f"shape_{name}": values for name, values in labels.items()}
    for block, extra in (("main", {}), ("schedule", {}), ("determinism", {"variants": ["again"]})):
        (cell,) = cells(block, benchmarks=["branin"], **extra)
        seen = {(arm, metric, label) for arm, metric, label, _ in by_name(result(cell))}
        for arm, metric, label in seen:
            assert any(
                block in entry["blocks"] and arm in entry["arms"] and metric in entry["metrics"] for entry in declared
            )
            assert label in labels.get(metric, {None, "grid"} if metric in ("osc", "mean_c") else {None})
        promised = {
            (arm, metric)
            for entry in declared if block in entry["blocks"]
            for arm in entry["arms"] if arm in {a for a, _, _ in seen}
            for metric in entry["metrics"]
        }  # fmt: skip
        assert promised - {(a, m) for a, m, _ in seen} <= {(a, "first_difference") for a in ARMS}


def test_each_floor_arm_chooses_the_minimiser_its_own_ladder_names(branin):
    records = by_name(branin[1])
    for kappa in KAPPAS:
        arm = f"k{kappa}"
        for step in range(8):
            assert records[arm, "action", None, step] == records[arm, "argmin", str(kappa), step]


def test_no_criterion_fires_where_the_minimiser_moves(branin):
    records = by_name(branin[1])
    fired = moved = 0
    for (arm, metric, label, step), value in records.items():
        if metric == "fires":
            same = records[arm, "same", label.split("/")[0], step]
            fired += int(value)
            moved += int(not same)
            assert same or not value
    assert fired > 0
    assert moved > 0


def test_regret_is_the_running_minimum_above_the_known_optimum(branin):
    records = by_name(branin[1])
    for arm in ARMS:
        best = records[arm, "regret", None, 0]
        path = [best]
        for step in range(8):
            best = min(best, records[arm, "value", None, step] - 0.397887)
            assert records[arm, "regret", None, step + 1] == pytest.approx(best, abs=1e-12)
            path.append(best)
        assert records[arm, "final_regret", None, None] == pytest.approx(path[-1])
        assert records[arm, "auc", None, None] == pytest.approx(np.mean(path))
    assert len({records[arm, "regret", None, 0] for arm in ARMS}) == 1


def test_evaluated_candidates_leave_the_set_unless_told_to_stay():
    (cell,) = cells(benchmarks=["ackley"])
    problem, spec = prepare(cell)
    for trajectory in run_arms(problem, spec).values():
        assert len(set(trajectory.actions)) == len(trajectory.actions)
    stay = dataclasses.replace(spec, remove_evaluated=False, ladder=False)
    first = run_arms(problem, stay, ("k1",))["k1"]
    assert len(first.steps[-1].widths.radius) == SMALL["candidates"]
    assert len(set(first.actions)) < len(first.actions)


def test_objectives_of_one_dimension_have_designs_of_their_own():
    """Ackley and Griewank both have five inputs; with shared designs their seeds would not be independent units."""
    facts = {
        name: result(cell).facts
        for name in ("ackley", "griewank")
        for cell in cells(benchmarks=[name], settings={"evaluations": 6})
    }
    for what in ("candidates", "initial_design"):
        assert facts["ackley"][what] != facts["griewank"][what]


def test_nearest_distance_is_the_median_over_remaining_candidates(branin):
    cell, found = branin
    problem, _ = prepare(cell)
    records = by_name(found)
    actions = [int(records["ei", "action", None, t]) for t in range(8)]
    for step in (0, 7):
        seen = np.vstack([problem.initial.numpy(), problem.candidates.numpy()[actions[:step]]])
        rest = np.delete(problem.candidates.numpy(), actions[:step], axis=0)
        nearest = np.linalg.norm(rest[:, None] - seen, axis=-1).min(1)
        assert records["ei", "nn_distance", None, step] == pytest.approx(np.median(nearest), rel=1e-12)


def test_schedule_cell_never_satisfies_the_margin_condition_it_is_built_to_break():
    (cell,) = cells("schedule", benchmarks=["levy"])
    records = by_name(result(cell))
    steps = range(8)
    assert all(records["shape", "shape_fires", "1-2/osc/low", t] == 0 for t in steps)
    assert all(records["shape", "shape_ratio", "1-2/osc/low", t] >= 1 for t in steps)
    # On Levy in ten dimensions the certified floor itself is flat, and its criterion fires.
    assert all(records["shape", "fires", "1-2/osc/low", t] == 1 for t in steps)
    for t in steps:
        assert records["shape", "shape_argmin", "1", t] == records["shape", "action", None, t]
        moved = records["shape", "action", None, t] != records["shape", "argmin", "1", t]
        assert records["shape", "shape_moved", None, t] == moved


@pytest.mark.slow
def test_determinism_control_finds_repeats_bitwise_equal_and_sees_a_perturbation():
    jobs = plan({"settings": SMALL, "determinism": {"benchmarks": ["branin"], "seeds": [0]}}, "test: c")
    assert len(jobs) == 1
    found = {cell.keys["variant"]: by_name(r) for cell, r in run(jobs[0].cells, Context())}
    assert set(found) == {"again", "process", "perturb-1e-12", "perturb-1e-10"}
    for arm in ARMS:
        for variant in ("again", "process"):
            assert found[variant][arm, "bitwise", None, None] == 1
            assert found[variant][arm, "identical", None, None] == 1
            assert (arm, "first_difference", None, None) not in found[variant]
        assert found["perturb-1e-10"][arm, "bitwise", None, None] == 0
    (main,) = cells(benchmarks=["branin"])
    reference = by_name(result(main))
    for key, value in found["again"].items():
        if key[1] not in ("identical", "bitwise"):
            assert reference[key] == value


def test_a_changed_path_is_reported_with_its_first_step():
    from orledger.runners.case_c.determinism import compare

    series = {"k1": {"action": np.array([4.0, 7.0, 9.0]), "value": np.array([1.0, 2.0, 3.0])}}
    other = {"k1": {"action": np.array([4.0, 8.0, 9.0]), "value": np.array([1.0, 2.0, 3.0])}}
    records = by_name(compare(series, other))
    assert records["k1", "first_difference", None, None] == 1
    assert records["k1", "identical", None, None] == 0
    assert records["k1", "bitwise", None, None] == 0


def test_mixtures_and_depth_are_keys_that_change_the_cell():
    one, seven = cells("mixtures", benchmarks=["branin"], mixtures=[1, 7], settings={"evaluations": 7})
    assert isinstance(one, Cell)
    assert by_name(result(one)) != by_name(result(seven))


@pytest.mark.slow
def test_the_main_block_has_no_counterexample():
    """Every step, pair, criterion and anchor of two seeds at the paper's size."""
    for job in plan({"main": {"seeds": [0, 1]}}, "test: c"):
        ((_, found),) = run(job.cells, Context())
        records = by_name(found)
        for (arm, metric, label, step), value in records.items():
            if metric == "fires" and value:
                assert records[arm, "same", label.split("/")[0], step] == 1

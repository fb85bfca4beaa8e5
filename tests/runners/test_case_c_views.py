"""The wide views of Case C over a small run stored by the driver."""

import pytest

from orledger.runners.case_c.plan import plan
from orledger.runners.cells import Context
from orledger.runners.driver import RunFacts, run_plan
from orledger.runners.engines import engine
from orledger.runners.work import compute_job
from orledger.schema.reading import open_results

STEPS = 6
TABLE = {
    "settings": {"candidates": 200, "evaluations": 5 + STEPS},
    "main": {"benchmarks": ["branin", "levy"], "seeds": [0]},
    "determinism": {"benchmarks": ["branin"], "seeds": [0], "variants": ["again", "perturb-1e-10"]},
    "schedule": {"benchmarks": ["branin"], "seeds": [0]},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("case_c") / "c.duckdb"
    jobs = plan(TABLE, "test: c")
    facts = RunFacts(preset="test", settings={}, versions={}, host={})
    summary = run_plan(jobs, path, engine("serial"), lambda job: compute_job(job, Context()), facts, snapshot_every=0)
    assert summary.failed == 0
    with open_results(path) as opened:
        yield opened


def value(results, query):
    return results.sql(query).row(0)


def test_trajectories_have_one_row_per_arm_with_the_recorded_regrets(results):
    assert value(results, "SELECT count(*), count(DISTINCT arm) FROM c_trajectories WHERE block = 'main'") == (10, 5)
    assert value(
        results,
        "SELECT count(*) FROM c_trajectories t JOIN c_regret r USING (cell_id, arm) "
        f"WHERE r.evaluation = {STEPS} AND r.regret = t.final_regret AND t.initial_regret >= t.final_regret",
    ) == (16,)
    off = "SELECT max(abs(auc - mean)) FROM c_trajectories JOIN (SELECT cell_id, arm, avg(regret) AS mean FROM c_regret"
    assert value(results, f"{off} GROUP BY ALL) USING (cell_id, arm)")[0] < 1e-12


def test_steps_pair_the_exact_width_with_the_grid_width(results):
    rows = (
        f"SELECT count(*), count(action), count(dispersion), count(grid_dispersion) FROM c_steps WHERE block = 'main'"  # noqa: F541
    )
    assert value(results, rows) == (10 * STEPS,) * 4
    flat = "SELECT max(dispersion), max(grid_dispersion) FROM c_steps WHERE benchmark = 'levy'"
    exact, grid = value(results, flat)
    assert exact == 0
    assert 0 < grid < 1e-11


def test_invariance_has_every_pair_criterion_and_anchor_and_no_counterexample(results):
    count, counterexamples, gaps = value(
        results,
        "SELECT count(*), count_if(counterexample), count(gap) FROM c_invariance WHERE block = 'main'",
    )
    assert count == gaps == 10 * STEPS * 3 * 2 * 2
    assert counterexamples == 0
    wrong = "SELECT count(*) FROM c_invariance WHERE NOT tie AND fires <> (ratio < 1)"
    assert value(results, wrong) == (0,)
    anchored = (
        "SELECT count(*) FROM c_invariance i JOIN record r ON r.cell_id = i.cell_id AND r.arm = i.arm AND r.idx = i.step"
        " AND r.metric = 'gap' AND r.label = '5' WHERE i.pair = '2-5' AND i.anchor = 'high' AND r.value <> i.gap"
    )
    assert value(results, anchored) == (0,)


def test_inertness_compares_whole_paths(results):
    rows = results.sql("SELECT * FROM c_inertness WHERE block = 'main'").rows(named=True)
    paths = {(r["cell_id"], r["arm"]): r["actions"] for r in results.sql("SELECT * FROM c_paths").rows(named=True)}
    assert len(rows) == 2
    for row in rows:
        path = {arm: paths[row["cell_id"], arm] for arm in ("ei", "ucb", "k1", "k2", "k5")}
        assert row["inert_1_2"] == (path["k1"] == path["k2"])
        assert row["inert_2_5"] == (path["k2"] == path["k5"])
        assert row["inert_1_5"] == (path["k1"] == path["k5"])
        assert row["inert_ladder"] == (path["k1"] == path["k2"] == path["k5"])
        assert row["ucb_is_k1"] == (path["ucb"] == path["k1"])
        assert row["one_path"] == (len({tuple(p) for p in path.values()}) == 1)
    assert all(r["inert_ladder"] for r in rows if r["benchmark"] == "levy")


def test_determinism_and_schedule_views_say_what_the_cells_recorded(results):
    assert value(results, "SELECT count(*), count_if(bitwise) FROM c_determinism WHERE variant = 'again'") == (5, 5)
    assert value(results, "SELECT count(*), count_if(bitwise) FROM c_determinism WHERE variant <> 'again'") == (5, 0)
    steps, fires, least = value(results, "SELECT count(*), count_if(fires), min(ratio) FROM c_schedule")
    assert (steps, fires) == (STEPS, 0)
    assert least >= 1


def test_every_view_of_the_case_is_described(results):
    views = [t for t in results.tables() if t.name.startswith("c_")]
    assert len(views) >= 8
    assert all(v.comment for v in views)

"""Case B end to end on short trainings: plans, records, refusals, determinism, and identities between blocks."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from orledger.errors import UsageError
from orledger.runners.case_b import data
from orledger.runners.case_b.arms import FitSide, or_head, record_head
from orledger.runners.case_b.gap import evaluation_grid, make_task, regions
from orledger.runners.case_b.head import build_head, calibrate, deliver, feature_scale
from orledger.runners.case_b.nets import ROLES, build_network, net_data, schedule_of, train_nets, water_filling
from orledger.runners.case_b.plan import SETTINGS, plan
from orledger.runners.case_b.problem import load_table, make_problem
from orledger.runners.case_b.run import run
from orledger.runners.case_b.training import train
from orledger.runners.cells import Context, Job
from orledger.runners.plan import load_preset, make_plan
from orledger.runners.records import CellResult
from orledger.runners.settings import resolve

OFFLINE = Context(offline=True)
SHORT = {"epochs": 6, "rf_trees": 5, "extra_arms": ["wcp", "cp_centre"]}
MAIN = {"datasets": ["diabetes"], "regimes": ["shift"], "seeds": [0], "rel": [0.0, 0.25]}


def results(job: Job, context: Context = OFFLINE) -> list[CellResult]:
    return [result for _, result in run(job.cells, context)]


def scalars(result: CellResult) -> dict[tuple[str, str, str | None], float]:
    return {(a, m, label): v for a, m, label, _, v in result.scalars}


def series(result: CellResult) -> dict[tuple[str, str], np.ndarray]:
    return {(a, m): v for a, m, _, _, v in result.blocks}


@pytest.fixture(scope="module")
def main_results() -> list[CellResult]:
    (job,) = plan({"settings": SHORT, "main": MAIN}, "test")
    return results(job)


def test_paper_preset_plans_every_cell() -> None:
    cells = [c for job in plan(load_preset("paper").tables["b"], "paper") for c in job.cells]
    count = {b: sum(c.block == b for c in cells) for b in ("audit", "main", "ablation", "gap")}
    assert count == {"audit": 5, "main": 73, "ablation": 30, "gap": 30}
    assert len({c.id for c in cells}) == len(cells)
    assert sum(c.keys.get("regime") == "shiftcol" for c in cells) == 1


def test_smoke_preset_needs_no_download_and_open_has_ten_seeds_and_a_widening_shift() -> None:
    smoke = [c for job in plan(load_preset("smoke").tables["b"], "smoke") for c in job.cells]
    assert {c.keys.get("dataset", "diabetes") for c in smoke} == {"diabetes"}
    assert {c.block for c in smoke} == {"audit", "peers", "main", "ablation", "gap"}
    opened = [c for job in plan(load_preset("open").tables["b"], "open") for c in job.cells if c.block == "main"]
    assert {c.keys["seed"] for c in opened} == set(range(10))
    assert "wide" in {c.keys["regime"] for c in opened}
    assert set(opened[0].settings["extra_arms"]) == {"wcp", "cp_centre"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"mian": {}}, "x.mian: unknown block"),
        ({"gap": {"seeds": [0], "scale": ["frozen"]}}, "x.gap.scale: unknown axis"),
        ({"gap": {"seeds": [0.5], "scales": ["frozen"]}}, "x.gap.seeds: 0.5 is not a int"),
        ({"main": {**MAIN, "datasets": ["iris"]}}, "x.main.datasets: 'iris' is not one of diabetes"),
        ({"main": {**MAIN, "rel": []}}, "x.main.rel: expected a non-empty list"),
        ({"main": {**MAIN, "rel": [-0.1]}}, "x.main.rel: noise levels are finite and not negative"),
        ({"main": {**MAIN, "seeds": [1, 1]}}, "x.main.seeds: a value occurs twice"),
        ({"main": {**MAIN, "single": [{"dataset": "diabetes"}]}}, r"x.main.single\[0\]: expected the keys"),
        ({"settings": {"extra_arms": ["magic"]}, "main": MAIN}, "unknown arm 'magic'"),
        ({"settings": {"epoch": 3}}, "x.settings: unknown setting 'epoch'"),
        ({"settings": {"epochs": 3}}, "hint_epoch is 5, after the last of 3 epochs"),
        (
            {"settings": {"stopping": "validation", "validation_every": 90}},
            "no look at the held-out rows fits into 80 epochs",
        ),
        ({"settings": {"stopping": "validation", "validation_share": 1.0}}, "validation_share: 1.0 is out of range"),
    ],
)
def test_a_wrong_preset_is_named(table: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(table, "x")


def test_planning_imports_no_torch() -> None:
    code = "import sys, orledger.runners.case_b.plan; sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_cell_of_the_shipped_corpus_is_still_planned() -> None:
    """New modes, blocks and settings leave the ids of the paper's cells alone: a changed id would orphan its records."""
    stored = pl.read_parquet(Path(__file__).parents[2] / "docs/results/corpus/cell.parquet")
    planned = {c.id for job in make_plan(load_preset("paper")) for c in job.cells}
    assert stored.height > 500
    assert set(stored["cell_id"]) <= planned


def test_a_cell_carries_the_settings_it_depends_on_and_its_company() -> None:
    (job,) = plan({"main": MAIN}, "x")
    settings = job.cells[0].settings
    assert "shift_train_end" in settings
    assert not {"shiftcol_column", "california_rows", "gap_noise", "wcp_clip"} & set(settings)
    assert set(settings) - {"batch"} <= {s.name for s in SETTINGS}
    (larger,) = plan({"main": {**MAIN, "seeds": [0, 1]}}, "x")
    assert larger.cells[0].keys == job.cells[0].keys
    assert larger.cells[0].id != job.cells[0].id
    assert {c.settings["batch"] for c in job.cells} == {settings["batch"]}


def catalogue() -> dict[tuple[str, str, str], dict]:
    text = files("orledger.runners.case_b").joinpath("catalog.toml").read_text(encoding="utf-8")
    return {
        (block, arm, metric): entry
        for entry in tomllib.loads(text)["metric"]
        for block in entry["blocks"]
        for arm in entry["arms"]
        for metric in entry["metrics"]
    }


@pytest.mark.parametrize("block", ["audit", "peers", "main", "ablation", "gap"])
def test_every_record_is_in_the_catalogue(block: str, main_results: list[CellResult]) -> None:
    known = {(a, m) for b, a, m in catalogue() if b == block}
    tables = {
        "audit": {"datasets": ["diabetes"]},
        "peers": {**MAIN, "rel": [0.0]},
        "ablation": {"datasets": ["diabetes"], "seeds": [0], "rel": [0.25]},
        "gap": {"seeds": [0], "scales": ["frozen", "train", "mixed"]},
    }
    found = main_results
    if block != "main":
        found = [r for job in plan({"settings": SHORT, block: tables[block]}, "x") for r in results(job)]
    for result in found:
        assert result.state == "done"
        columns = result.columns()
        assert {*zip(columns["arm"], columns["metric"], strict=True)} <= known
        assert np.isfinite(columns["value"]).all()


def test_every_arm_delivers_or_is_refused_with_a_margin(main_results: list[CellResult]) -> None:
    arms = {"dak", "dak_kl", "cp", "ncp", "triv", "or1", "or1_nf", "or1_int", "or2", "or2_oracle", "wcp", "cp_centre"}
    for result in main_results:
        delivered = {a for a, m, _ in scalars(result) if m == "interval_score"}
        refused = {arm for arm, _, margin in result.refusals if margin is not None}
        assert delivered | refused == arms
        assert not delivered & refused
        for arm in delivered:
            assert series(result)[arm, "half"].size == 133


def test_the_same_job_gives_the_same_records(main_results: list[CellResult]) -> None:
    (job,) = plan({"settings": SHORT, "main": MAIN}, "elsewhere")
    for one, two in zip(main_results, results(job), strict=True):
        for name, column in one.columns().items():
            assert np.array_equal(np.ma.filled(column, -1), np.ma.filled(two.columns()[name], -1)), name


def test_noise_levels_share_split_and_test_targets(main_results: list[CellResult]) -> None:
    clean, noisy = main_results
    assert np.array_equal(series(clean)["truth", "y"], series(noisy)["truth", "y"])
    settings = resolve(SETTINGS, {}, "x")
    table = load_table("diabetes", settings, OFFLINE)
    zero, half = (make_problem(table, "iid", 0, rel, settings) for rel in (0.0, 0.5))
    assert np.array_equal(zero.x_fit, half.x_fit)
    assert np.array_equal(zero.y_test, half.y_test)
    assert zero.y_train.mean() == pytest.approx(0.0, abs=1e-12)
    assert zero.y_train.std() == pytest.approx(1.0, rel=1e-12)
    assert (half.y_train - zero.y_train).std() == pytest.approx(0.5, rel=0.1)


def test_conformal_arms_share_the_centre_and_the_counterfactual_repeats_them(main_results: list[CellResult]) -> None:
    for result in main_results:
        s, v = scalars(result), series(result)
        assert np.array_equal(v["cp", "center"], v["ncp", "center"])
        assert s["counterfactual", "coverage", "model_cp"] == s["cp", "coverage", None]
        assert s["counterfactual", "coverage", "const_triv"] == s["triv", "coverage", None]
        assert s["cp", "level_achieved", None] == pytest.approx(75 / 78)


def test_ablation_rebuilds_the_head_of_the_main_block(main_results: list[CellResult]) -> None:
    """Same split, same streams, same net: the drop/fit variant is the main block's head."""
    (job,) = plan({"settings": SHORT, "ablation": {"datasets": ["diabetes"], "seeds": [0], "rel": [0.0, 0.25]}}, "x")
    for main, ablated in zip(main_results, results(job), strict=True):
        m, a = scalars(main), scalars(ablated)
        assert a["drop_fit", "margin", None] == pytest.approx(m["or1", "margin", None], rel=1e-9)
        assert a["drop_fit", "dead_columns", None] == m["or1", "dead_columns", None]
        if not main.refusals:
            assert a["drop_fit", "width_mean", None] == pytest.approx(m["or1_int", "width_mean", None], rel=1e-9)
            assert a["drop_fit", "interval_score", None] == pytest.approx(m["or1", "interval_score", None], rel=1e-9)


def test_absent_data_refuse_the_cells_and_say_what_to_do(tmp_path: Path) -> None:
    data._load.cache_clear()
    (job,) = plan({"settings": SHORT, "main": {**MAIN, "datasets": ["concrete"]}}, "x")
    for result in results(job, Context(cache_dir=str(tmp_path), offline=True)):
        assert result.state == "refused"
        assert "concrete.csv" in result.reason
        assert result.columns()["value"].size == 0


def test_the_wrong_energy_target_is_refused_before_training(tmp_path: Path) -> None:
    """A file whose target column holds the six codes of the glazing layout: every cell of the dataset is refused."""
    data._load.cache_clear()
    g = np.random.default_rng(0)
    rows = [",".join([*map(repr, g.standard_normal(3).tolist()), str(i % 6)]) for i in range(300)]
    (tmp_path / "energy.csv").write_text("a,b,c,heating_load\n" + "\n".join(rows) + "\n", encoding="utf-8")
    context = Context(data_dir=str(tmp_path), offline=True)
    audit_job, main_job = plan({"audit": {"datasets": ["energy"]}, "main": {**MAIN, "datasets": ["energy"]}}, "x")
    (audited,) = results(audit_job, context)
    assert scalars(audited)["rf", "passed", None] == 0
    for result in results(main_job, context):
        assert result.state == "refused"
        assert "6 levels" in result.reason


def test_gap_regions_have_the_published_counts() -> None:
    masks = regions(evaluation_grid(300))
    assert [int(masks[r].sum()) for r in ("gap", "ind", "ext")] == [74, 150, 76]


def test_gap_task_is_in_the_units_of_the_truth() -> None:
    settings = resolve(SETTINGS, {}, "x")
    task = make_task(0, settings)
    assert (task.problem.y_fit.size, task.problem.y_cal.size) == (37, 13)
    assert task.problem.y_test * task.unit + task.offset == pytest.approx(np.sin(2 * task.x) + 0.3 * task.x**2)
    assert task.problem.injected * task.unit == pytest.approx(0.1)


def test_mixed_gap_cells_pair_the_frozen_head_with_rescaled_baselines_and_move_no_other_id() -> None:
    """The head is the frozen mode's and the baselines are the train mode's, bit for bit; the old pair of modes keeps its ids."""
    axes = {"seeds": [3, 4], "scales": ["frozen", "train"]}
    (old,) = plan({"settings": SHORT, "gap": axes}, "x")
    both, alone = plan({"settings": SHORT, "gap": {**axes, "scales": ["frozen", "train", "mixed"]}}, "x")
    assert [c.id for c in both.cells] == [c.id for c in old.cells]
    assert {c.keys["scale"] for c in alone.cells} == {"mixed"}
    found = {(c.keys["seed"], c.keys["scale"]): r for job in (both, alone) for c, r in run(job.cells, OFFLINE)}
    for seed in (3, 4):
        frozen, train, mixed = (scalars(found[seed, scale]) for scale in ("frozen", "train", "mixed"))
        head = {k for k in mixed if k[0].startswith("or1")}
        assert head
        assert {k: mixed[k] for k in head} == {k: frozen[k] for k in frozen if k[0].startswith("or1")}
        assert {k: mixed[k] for k in mixed.keys() - head} == {k: train[k] for k in train if not k[0].startswith("or1")}
        assert mixed["cp", "interval_score", "ind"] != frozen["cp", "interval_score", "ind"]


def test_the_two_scale_modes_share_the_nets_and_differ_in_the_features() -> None:
    (job,) = plan({"settings": SHORT, "gap": {"seeds": [3], "scales": ["frozen", "train"]}}, "x")
    frozen, train = results(job)
    one, two = scalars(frozen), scalars(train)
    assert one["cell", "sigma_noise", None] == two["cell", "sigma_noise", None]
    assert one["triv", "width_mean", "ind"] == two["triv", "width_mean", "ind"]
    assert not np.array_equal(series(frozen)["dak", "center"], series(train)["dak", "center"])


@pytest.fixture(scope="module")
def head_rows() -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(12)
    phi = g.standard_normal((120, 9))
    phi[:, 4] = 0.25 + 1e-9 * phi[:, 4]
    return phi, phi[:, :3] @ np.array([1.0, -0.5, 0.2]) + 0.3 * g.standard_normal(120)


def test_feature_rules_drop_or_clamp_dead_columns(head_rows: tuple[np.ndarray, np.ndarray]) -> None:
    phi, _ = head_rows
    drop, clamp = feature_scale(phi, 1e-6, "drop"), feature_scale(phi, 1e-6, "clamp")
    assert (drop.dead, clamp.dead) == (1, 1)
    assert drop.apply(phi).std(axis=0) == pytest.approx(np.ones(8))
    assert clamp.apply(phi)[:, 4] == pytest.approx(phi[:, 4] / 1e-6)


def test_head_refuses_below_the_best_misfit_and_delivers_above(head_rows: tuple[np.ndarray, np.ndarray]) -> None:
    """The best misfit is the residual norm of least squares, computed here by an independent solver."""
    phi, y = head_rows
    scaled = feature_scale(phi, 1e-6).apply(phi)
    best = float(np.sqrt(np.linalg.lstsq(scaled, y, rcond=None)[1][0]))
    low = build_head(phi, y, 0.99 * best / np.sqrt(120), 1e-6)
    assert "empty consistent set" in low.refusal
    assert low.occ.margin == pytest.approx(-0.01 * best, rel=1e-6)
    assert build_head(phi, y, 1.01 * best / np.sqrt(120), 1e-6).refusal is None
    assert "zero" in build_head(phi, y, 10.0, 1e-6).refusal


@pytest.mark.parametrize("method", ["grid", "exact"])
def test_calibrated_band_covers_every_calibration_row(head_rows: tuple[np.ndarray, np.ndarray], method: str) -> None:
    phi, y = head_rows
    g = np.random.default_rng(1)
    phi_cal = g.standard_normal((30, 9))
    phi_cal[:, 4] = 0.25
    y_cal = phi_cal[:, :3] @ np.array([1.0, -0.5, 0.2]) + 0.6 * g.standard_normal(30)
    head = build_head(phi, y, 0.33, 1e-6)
    radius = calibrate(head, phi_cal, y_cal, method)
    found = deliver(head, phi_cal, radius.kappa, {"gap_tolerance": 1e-6, "guard_factor": 5.0})
    assert not found.delivery.substituted.any()
    outside = np.abs(y_cal - found.delivery.mid) - found.delivery.half - radius.q_add
    assert outside.max() < 1e-7
    assert found.worst_ratio <= 1 + 1e-9


@pytest.mark.parametrize("method", ["grid", "exact"])
def test_the_three_or_bands_differ_by_their_constants(head_rows: tuple[np.ndarray, np.ndarray], method: str) -> None:
    """or1 = or1_nf + q and or1_nf = or1_int + 1.96 sigma at one centre, and recorded lengths follow the unit."""
    phi, y = head_rows
    blank = np.zeros(40)
    side = FitSide(phi[:60], phi[60:80], phi[80:], blank, blank, blank, blank, sigma=0.4)
    settings = {**resolve(SETTINGS, {}, "x"), "kappa_method": method}
    head, delivered = or_head(side, y[:60], y[60:80], settings)
    bands = delivered.bands
    assert bands["or1_nf"].half - bands["or1_int"].half == pytest.approx(np.full(40, 1.96 * 0.4))
    assert bands["or1"].half - bands["or1_nf"].half == pytest.approx(np.full(40, delivered.radii[method].q_add))
    assert all(np.array_equal(band.center, bands["or1"].center) for band in bands.values())
    one, three = CellResult(), CellResult()
    record_head(one, side, head, delivered, cap=20.0)
    record_head(three, side, head, delivered, cap=20.0, unit=3.0)
    for name in ("eta", "margin", "rho_oc", "w_obs"):
        assert scalars(three)["or1", name, None] == pytest.approx(3 * scalars(one)["or1", name, None])
    assert series(three)["or1", "w_int"] == pytest.approx(3 * bands["or1_int"].half)
    assert series(three)["or1", "ns"] == pytest.approx(series(one)["or1", "ns"])
    assert (series(one)["or1", "w_int"] <= series(one)["or1", "e_star"] * (1 + 1e-9)).all()


def test_water_filling_prior_spends_on_coarse_levels_and_keeps_the_budget() -> None:
    """Over informative columns sum a_j^2 tau_j^2 equals the squared radius, whatever the noise hint."""
    settings = {**resolve(SETTINGS, {}, "x"), **SHORT, "waterfill_floor": 0.0}
    table = load_table("diabetes", settings, OFFLINE)
    problems = [make_problem(table, "iid", 0, 0.25, settings)]
    network, _ = build_network(10, settings)
    trained = train(network, [net_data(problems[0], "or2", settings)], schedule_of(settings), steps=20)
    weights = np.tile(2.0 ** np.array(network.activation.levels), 8)
    for hint in (0.05, 0.3):
        variances = water_filling(trained, 0, hint, settings)
        assert (variances >= 0).all()
        assert float(np.sum(weights**2 * variances)) == pytest.approx(1.0, rel=1e-9)


def test_hints_are_the_nets_own_noise_or_the_injected_one() -> None:
    settings = {**resolve(SETTINGS, {}, "x"), **SHORT}
    table = load_table("diabetes", settings, OFFLINE)
    problems = [make_problem(table, "iid", 0, rel, settings) for rel in (0.0, 0.25)]
    clean, noisy = train_nets(problems, ROLES, settings)
    assert noisy["or2_oracle"].hint == 0.25
    assert clean["or2_oracle"].hint == settings["oracle_floor"]
    assert noisy["or2"].hint != noisy["or2"].net.sigma  # the fifth epoch's level, not the last one's
    assert all(nets[r].hint is None for nets in (clean, noisy) for r in ("dak", "dak_kl", "fit"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_records_on_a_gpu_are_complete() -> None:
    (job,) = plan({"settings": SHORT, "main": MAIN}, "test")
    for result in results(job, Context(device="cuda", offline=True)):
        assert result.state == "done"
        assert result.backend == "cuda/float64"

"""Case A's plan and cells: the contract with the catalogue, determinism, refusals, and the paper's certificate numbers."""

import tomllib
from importlib.resources import files

import numpy as np
import pytest
import torch

from orledger.errors import UsageError
from orledger.runners.case_a.floor import fingerprint
from orledger.runners.case_a.plan import AXES, SETTINGS, plan
from orledger.runners.case_a.run import run
from orledger.runners.cells import Cell, Context
from orledger.runners.plan import load_preset, make_plan

GRID_16 = {"grids": [16], "levels": [1e-3], "seeds": [1]}
QUICK = {"epochs": 8, "perturbations": 3}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cells_of(table):
    return [cell for job in plan(table, "test") for cell in job.cells]


def results_of(table):
    return [(cell, result) for job in plan(table, "test") for cell, result in run(job.cells, Context())]


def numbers(result, arm, metric, label=None):
    """The values of one metric in index order."""
    c = result.columns()
    keep = [i for i in range(len(c["value"])) if (c["arm"][i], c["metric"][i], c["label"][i]) == (arm, metric, label)]
    return c["value"][keep]


def catalogued():
    text = files("orledger.runners.case_a").joinpath("catalog.toml").read_text(encoding="utf-8")
    return {
        (block, arm, metric)
        for entry in tomllib.loads(text)["metric"]
        for block in entry["blocks"]
        for arm in entry["arms"]
        for metric in entry["metrics"]
    }


def test_paper_preset_plans_the_published_design():
    jobs = make_plan(load_preset("paper"), ["a"])
    count = {b: sum(c.block == b for j in jobs for c in j.cells) for b in AXES}
    assert count["rules"] == 60
    assert count["portability"] == 50
    assert count["certificates"] == 18
    assert all(len(c.settings["lam2_grid"]) == 7 for j in jobs for c in j.cells if c.block == "rules")
    same = [j for j in jobs if j.cells[0].keys.get("backend") == "same_process"]
    assert {len(j.cells) for j in same} == {5}


def test_every_preset_plans_and_smoke_has_every_block():
    smoke = {c.block for j in make_plan(load_preset("smoke"), ["a"]) for c in j.cells}
    assert smoke == set(AXES)
    opened = {c.block for j in make_plan(load_preset("open"), ["a"]) for c in j.cells}
    assert opened == {"init", "forcing", "seeds", "rank", "perturbation"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"rulez": {}}, "unknown block"),
        ({"rules": {**GRID_16, "ranks": [2]}}, "unknown axis"),
        ({"rules": {"grids": [16], "levels": [1e-3]}}, "seeds: expected a non-empty list"),
        ({"rules": {**GRID_16, "levels": ["high"]}}, "levels: expected float"),
        ({"rules": {**GRID_16, "levels": [-1e-3]}}, "out of range"),
        ({"settings": {"inducing": {"1": 7}}, "rules": {**GRID_16, "grids": [1]}}, "1 is out of range.* at least 2"),
        ({"rules": {**GRID_16, "seeds": [1, 1]}}, "occurs twice"),
        ({"settings": {"inducing": {"²": 7}}, "rules": GRID_16}, 'inducing: expected "grid" = points'),
        ({"rules": {**GRID_16, "grids": [20]}}, "no number of inducing points for the grid 20"),
        ({"portability": {**GRID_16, "backends": ["float16"]}}, "backends: expected one of"),
        ({"floor": {"grids": [16], "backends": {"cold_start": 1}}}, "unknown 'cold_start'"),
        ({"floor": {"grids": [16], "backends": {"ulp": 0}}}, "number of repetitions"),
        ({"settings": {"rungs": [0.9]}}, "rungs: expected numbers above 1"),
        ({"settings": {"epoch": 3}}, "unknown setting 'epoch'"),
    ],
)
def test_plan_errors_name_the_place_and_the_value(table, words):
    with pytest.raises(UsageError, match=words) as caught:
        plan(table, "my.toml: a")
    assert "my.toml: a" in str(caught.value)


def test_cells_carry_exactly_the_settings_they_depend_on():
    rules = cells_of({"rules": GRID_16})[0].settings
    assert rules["inducing"] == 22
    assert "rungs" not in rules
    quiet = cells_of({"rules": {**GRID_16, "levels": [0.0]}})[0].settings
    assert "noise_stream" not in quiet
    assert "rank" not in cells_of({"rank": {**GRID_16, "ranks": [2]}})[0].settings
    certificate = cells_of({"certificates": {**GRID_16, "grids": [24]}})[0].settings
    assert certificate["paper_radius"] == [18.957, 16.2826]
    assert "ml2_scale" not in certificate
    assert "paper_radius" not in cells_of({"certificates": GRID_16})[0].settings
    assert len({s.name for s in SETTINGS}) == len(SETTINGS)


def everything():
    return {
        "settings": QUICK,
        "rules": GRID_16,
        "certificates": {**GRID_16, "levels": [0.0, 1e-3]},
        "floor": {"grids": [16], "backends": {"same_process": 2, "float32": 1, "ulp": 1}},
        "portability": {**GRID_16, "backends": ["float64", "float32"]},
        "init": {**GRID_16, "inits": [1]},
        "forcing": {**GRID_16, "forcings": ["oblique"]},
        "seeds": {**GRID_16, "seeds": [7]},
        "rank": {**GRID_16, "ranks": [3]},
        "perturbation": {**GRID_16, "levels": [0.0]},
    }


@pytest.fixture(scope="module")
def once():
    return results_of(everything())


def test_every_block_records_catalogued_names_and_finite_values(once):
    known = catalogued()
    assert {cell.block for cell, _ in once} == set(AXES)
    for cell, result in once:
        columns = result.columns()
        assert result.state == "done"
        assert np.isfinite(columns["value"]).all()
        assert len(columns["value"]) > 0
        for arm, metric in zip(columns["arm"], columns["metric"], strict=True):
            assert (cell.block, arm, metric) in known


def test_every_promised_metric_is_recorded(once):
    seen = {
        (cell.block, a, m) for cell, r in once for a, m in zip(r.columns()["arm"], r.columns()["metric"], strict=True)
    }
    spectral = {("floor", "solve", m) for m in ("nugget", "gcv", "ml2_unit", "ml2_profiled")}
    assert catalogued() - seen == spectral  # the floor block repeats solves and chooses nothing


def test_the_same_spec_gives_the_same_records(once):
    for (cell, first), (other, second) in zip(once, results_of(everything()), strict=True):
        assert cell.id == other.id
        for name, column in first.columns().items():
            other_column = second.columns()[name]
            if name == "idx":
                column, other_column = column.filled(-1), other_column.filled(-1)
            np.testing.assert_array_equal(column, other_column)
        assert first.facts == second.facts
        assert first.refusals == second.refusals


def test_selections_are_consistent_with_the_solves(once):
    cell, result = next((c, r) for c, r in once if c.block == "rules")
    rmse, misfit, lam2 = (numbers(result, "solve", m) for m in ("rmse", "misfit", "lam2"))
    eta = numbers(result, "cell", "eta")[0]
    picks = {"released": 0, "morozov": np.argmin(np.abs(misfit - eta)), "oracle": np.argmin(rmse)}
    picks["gcv"] = np.argmin(numbers(result, "solve", "gcv"))
    picks["ml2"] = np.argmin(numbers(result, "solve", f"ml2_{cell.settings['ml2_scale']}"))
    for rule, i in picks.items():
        assert numbers(result, rule, "lam2_index") == [i]
        assert numbers(result, rule, "lam2") == [lam2[i]]
        assert numbers(result, rule, "rmse") == [rmse[i]]
        assert numbers(result, rule, "oracle_ratio") == [rmse[i] / rmse.min()]
    default = numbers(result, "lcurve", "lam2_index")
    assert default == numbers(result, "lcurve", "lam2_index", cell.settings["lcurve_corner"])
    assert numbers(result, "cell", "noise_exceeds_eta")[0] == (numbers(result, "cell", "noise_norm")[0] > eta)


def test_keys_that_replace_settings_take_effect(once):
    by_block = {cell.block: (cell, result) for cell, result in once}
    usual = numbers(by_block["rules"][1], "solve", "rmse")
    for block in ("init", "forcing", "rank", "seeds"):
        assert (numbers(by_block[block][1], "solve", "rmse") != usual).all()
    assert numbers(by_block["forcing"][1], "cell", "std_f") != numbers(by_block["rules"][1], "cell", "std_f")


def test_floor_hashes_tell_equal_from_close(once):
    floor = {(c.keys["backend"], c.keys["repeat"]): r for c, r in once if c.block == "floor"}
    hashes = {k: r.facts["rmse_sha256"] for k, r in floor.items()}
    assert hashes["same_process", 0] == hashes["same_process", 1]
    assert len({hashes["same_process", 0], hashes["float32", 0], hashes["ulp", 0]}) == 3
    assert hashes["ulp", 0] == fingerprint(numbers(floor["ulp", 0], "solve", "rmse"))


def test_perturbations_are_the_floors_repetitions_and_the_unperturbed_solve_is_its_rerun(once):
    """A run's bits do not depend on its batch, so the released weight alone gives what it gives beside the other six."""
    result = next(r for c, r in once if c.block == "perturbation")
    floor = {(c.keys["backend"], c.keys["repeat"]): r for c, r in once if c.block == "floor"}
    for metric in ("rmse", "misfit", "norm", "epochs"):
        moved = numbers(result, "perturbed", metric)
        assert len(moved) == 3
        assert moved[0] == numbers(floor["ulp", 0], "solve", metric)[0]
        assert numbers(result, "unperturbed", metric) == numbers(floor["same_process", 0], "solve", metric)[0]
    assert len(set(numbers(result, "perturbed", "misfit"))) == 3


@pytest.mark.slow
def test_the_released_weight_without_noise_follows_the_last_bit_on_the_coarse_grid():
    """One computation, moved by one unit in the last place: on 16 x 16 its error changes by more than a factor of five."""
    cell = cells_of({"perturbation": {**GRID_16, "levels": [0.0]}})[0]
    ((_, result),) = run((cell,), Context())
    rmse = numbers(result, "perturbed", "rmse")
    assert len(rmse) == 60
    assert rmse.max() > 5 * rmse.min()


@pytest.mark.slow
def test_a_new_process_gives_the_bits_of_the_old_one(once):
    table = {"settings": QUICK, "floor": {"grids": [16], "backends": {"new_process": 1, "threads_2": 1}}}
    (_, fresh), (_, double) = results_of(table)
    same = next(r for c, r in once if c.keys.get("backend") == "same_process")
    assert fresh.facts == same.facts
    np.testing.assert_allclose(numbers(double, "solve", "rmse")[2:], numbers(same, "solve", "rmse")[2:], rtol=0.2)


def test_arithmetic_that_cannot_solve_refuses_the_whole_cell():
    cell = cells_of({"settings": QUICK, "portability": {**GRID_16, "backends": ["float32_normal"]}})[0]
    ((_, result),) = run((cell,), Context())
    assert result.state == "refused"
    assert "not positive definite" in result.reason
    assert not len(result.columns()["value"])


def test_conditional_intervals_obey_the_noise_free_law(once):
    """Without noise the half-width is rho_oc sqrt(m^2 - 1) times the power function, so ratios of rungs are constants."""
    _, result = next((c, r) for c, r in once if c.block == "certificates" and c.keys["level"] == 0)
    rungs = (1.01, 1.05, 1.1, 1.5, 2.0)
    halves = [numbers(result, "conditional", "half", f"m={m:g}") for m in rungs]
    for (m1, h1), (m2, h2) in zip(
        zip(rungs, halves, strict=True), zip(rungs[1:], halves[1:], strict=False), strict=False
    ):
        np.testing.assert_allclose(h2 / h1, np.sqrt((m2**2 - 1) / (m1**2 - 1)), rtol=1e-9)


@pytest.fixture(scope="module")
def published():
    table = {"certificates": {"grids": [24], "levels": [0.0, 1e-3], "seeds": [1]}}
    return {cell.keys["level"]: result for cell, result in results_of(table)}


@pytest.mark.parametrize(("level", "median", "tolerance"), [(0.0, 1.528e-2, 2e-3), (1e-3, 2.876, 5e-4)])
def test_median_certificate_with_the_printed_radius_and_budget(published, level, median, tolerance):
    """Without noise exact arithmetic gives 1.5307e-2 (test_case_a_features): the printed figure carries 0.2 % of rounding."""
    certificate = numbers(published[level], "global", "certificate", "paper")
    assert len(certificate) == 144
    assert np.median(certificate) == pytest.approx(median, rel=tolerance)


@pytest.mark.parametrize(("level", "rho_oc", "eps_hat"), [(0.0, 25.0335, 25.0494), (1e-3, 23.914, 18.957)])
def test_own_radii_are_within_half_a_percent_of_the_printed_ones(published, level, rho_oc, eps_hat):
    assert numbers(published[level], "cell", "rho_oc")[0] == pytest.approx(rho_oc, rel=5e-3)
    assert numbers(published[level], "cell", "eps_hat")[0] == pytest.approx(eps_hat, rel=5e-3)


def test_certificates_cover_the_truth_and_the_refined_method_attains_its_radius(published):
    for result in published.values():
        assert not result.refusals
        error, certificate = numbers(result, "point", "error"), numbers(result, "global", "certificate")
        assert (error <= certificate).all()
        np.testing.assert_allclose(certificate, numbers(result, "global", "radius"), rtol=1e-9)
        for m in ("1.01", "1.05", "1.1", "1.5", "2"):
            assert numbers(result, "conditional", "coverage", f"m={m}") == [1.0]
            assert numbers(result, "conditional", "gap", f"m={m}").max() < 1e-6


def test_credible_band_fails_only_near_the_boundary(published):
    """At one in a thousand the band misses 24 of 144 points, all on the two outer rings, as printed."""
    noisy = published[1e-3]
    missed = numbers(noisy, "gp_band", "error") > numbers(noisy, "gp_band", "half")
    rings = np.unique(numbers(noisy, "point", "ring").round(9))
    assert 0 < missed.sum() < 40
    assert numbers(noisy, "point", "ring")[missed].max() <= rings[1] + 1e-9
    assert numbers(published[0.0], "gp_band", "coverage") == [1.0]


def test_unknown_cell_settings_are_not_ignored():
    cell = cells_of({"settings": QUICK, "rules": GRID_16})[0]
    broken = Cell(cell.case, cell.block, cell.keys, {k: v for k, v in cell.settings.items() if k != "lam1"})
    with pytest.raises(KeyError, match="lam1"):
        list(run((broken,), Context()))

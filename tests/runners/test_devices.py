"""The tensor code of the three cases on a pretended device, under the guard of `pretended_device.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pretended_device import MixedDevicesError, pretended

from orledger.runners.case_a.plan import SETTINGS as A_SETTINGS
from orledger.runners.case_a.problem import draw
from orledger.runners.case_a.solver import Model, solve
from orledger.runners.case_b.activation import features, make_activation
from orledger.runners.case_b.nets import ROLES, build_network, net_data, schedule_of, train_nets
from orledger.runners.case_b.plan import SETTINGS as B_SETTINGS
from orledger.runners.case_b.problem import SplitRows, load_table, make_problem
from orledger.runners.case_b.training import train
from orledger.runners.case_c.fitting import fit
from orledger.runners.case_c.kernel import Pairs
from orledger.runners.case_c.likelihood import FitData, negative_log_posterior
from orledger.runners.case_c.loop import run_arms
from orledger.runners.case_c.plan import plan as plan_c
from orledger.runners.case_c.run import prepare
from orledger.runners.cells import Context
from orledger.runners.plan import Preset, make_plan
from orledger.runners.settings import resolve
from orledger.runners.work import compute_job


@pytest.fixture
def elsewhere():
    """The name of the pretended device, under the guard."""
    with pretended() as device:
        yield device


def test_the_guard_catches_a_tensor_made_on_the_cpu(elsewhere):
    """What the tests below rest on: mixing fails in operators, matrix products, concatenation and out=, and copies do not."""
    x = torch.ones(3, 3, device=elsewhere)
    for mixed in (
        lambda: x + torch.ones(3),
        lambda: x @ torch.eye(3),
        lambda: torch.cat([x, torch.zeros(1, 3)]),
        lambda: torch.mul(x, x, out=torch.empty(3, 3)),
        lambda: torch.where(torch.ones(3, dtype=torch.bool), x, 0.0),
        lambda: x.index_select(0, torch.arange(2)),
        lambda: x.addcmul_(x, torch.ones(3, 3)),
        lambda: torch.linalg.solve_triangular(x, torch.ones(3, 1), upper=False),
        lambda: torch.ones(3)[torch.arange(2, device=elsewhere)],
        lambda: x.index_put_((torch.arange(2),), torch.ones(2, 3)),
    ):
        with pytest.raises(MixedDevicesError):
            mixed()
    for hidden in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises((RuntimeError, TypeError)):
            hidden()
    moved = x + torch.arange(3.0).to(elsewhere) * torch.tensor(2.0)
    assert moved.device.type == elsewhere
    np.testing.assert_array_equal(moved.cpu().numpy()[0], [1, 3, 5])
    np.testing.assert_array_equal(moved[:, [0, 2]].cpu().numpy()[0], [1, 5])
    moved[torch.arange(1)] = torch.zeros(1, 3, device=elsewhere)
    np.testing.assert_array_equal(moved[:2, 1].cpu().numpy(), [0, 3])


def test_a_forgotten_device_in_the_network_is_found(elsewhere):
    """The activation left on the CPU, as if its maker had ignored ``device``."""
    z = torch.zeros(2, 3, dtype=torch.float64, device=elsewhere)
    features(z, make_activation(-10.0, 10.0, 3, device=elsewhere))
    with pytest.raises(MixedDevicesError):
        features(z, make_activation(-10.0, 10.0, 3))


@pytest.mark.parametrize("linearisation", ["newton", "frozen"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_case_a_solves_are_the_same_there(elsewhere, precision, linearisation):
    settings = {s.name: s.default for s in A_SETTINGS} | {"inducing": 11, "epochs": 8, "linearisation": linearisation}
    model, data = Model.of(settings, 8), draw("two_sines", 8, 1e-3, 1, "per_seed")
    weights = [0.005, 0.5, 5.0]
    here, there = (solve(model, data, weights, precision=precision, device=d) for d in ("cpu", elsewhere))
    assert (here.failed == 0).all()
    for name in ("rmse", "misfit", "norm", "u", "epochs"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))


def test_a_failing_case_a_solve_is_noticed_there(elsewhere):
    settings = {s.name: s.default for s in A_SETTINGS} | {"inducing": 11, "epochs": 3}
    data = draw("two_sines", 8, 1e-3, 1, "per_seed")
    solves = solve(Model.of(settings, 8), data, [0.5, 5.0], values=data.values * 1e200, device=elsewhere)
    assert len(solves.ok) == 0


def small_problem() -> tuple[SplitRows, dict]:
    settings = resolve(B_SETTINGS, {"epochs": 3, "hint_epoch": 2}, "test")
    table = load_table("diabetes", settings, Context(offline=True))
    return make_problem(table, "iid", 0, 0.25, settings), settings


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_case_b_trains_and_predicts_the_same_there(elsewhere, precision):
    """All five roles: water-filling reads features and noise of a net in training and writes its prior."""
    problem, settings = small_problem()
    settings = settings | {"precision": precision}
    (here,), (there,) = (train_nets([problem], ROLES, settings, device) for device in ("cpu", elsewhere))
    x = problem.x_train[:20]
    for role in ROLES:
        a, b = here[role], there[role]
        assert b.net.frozen.low.device.type == elsewhere
        assert a.hint == b.hint
        assert a.net.sigma == b.net.sigma
        for own in (False, True):
            np.testing.assert_array_equal(a.net.features(x, own_scale=own), b.net.features(x, own_scale=own))
            np.testing.assert_array_equal(a.net.predict(x, own_scale=own), b.net.predict(x, own_scale=own))


def test_a_case_b_network_built_for_another_device_is_found(elsewhere):
    problem, settings = small_problem()
    network, dtype = build_network(problem.x_fit.shape[1], settings, "cpu")
    with pytest.raises(MixedDevicesError):
        train(network, [net_data(problem, "fit", settings)], schedule_of(settings), dtype=dtype, device=elsewhere)


def branin(budget: str, evaluations: int = 7) -> tuple:
    block = {"benchmarks": ["branin"], "seeds": [0], "budgets": [budget]}
    (job,) = plan_c({"budget": block}, "test")
    problem, spec = prepare(job.cells[0])
    return problem, replace(spec, evaluations=evaluations, budget=replace(spec.budget, steps=3))


@pytest.mark.parametrize("budget", ["moderate", "converged"])
def test_case_c_posterior_gradient_and_fit_are_the_same_there(elsewhere, budget):
    """Off the CPU torch evaluates what NumPy evaluates on it: the same numbers but for rounding, through Adam and L-BFGS-B."""
    problem, spec = branin(budget)
    values = problem.initial_values
    y = (values - values.mean()) / values.std()
    here, there = Pairs.of(problem.initial), Pairs.of(problem.initial.to(elsewhere))
    expected = negative_log_posterior(spec.raw.numpy(), spec.layout, FitData.of(here, y))
    found = negative_log_posterior(spec.raw.to(elsewhere), spec.layout, FitData.of(there, y.to(elsewhere)))
    for a, b in zip(expected, found, strict=True):
        assert b.device.type == elsewhere
        np.testing.assert_allclose(b.cpu().numpy(), a, rtol=1e-10, atol=1e-12)
    fits = [
        fit(spec.raw.to(p.difference.device), spec.layout, p, y.to(p.difference.device), spec.budget)
        for p in (here, there)
    ]
    assert fits[1].raw.device.type == elsewhere
    np.testing.assert_allclose(fits[1].raw.cpu().numpy(), fits[0].raw.numpy(), rtol=1e-7, atol=1e-9)


def test_case_c_trajectories_take_the_same_actions_there(elsewhere):
    """The whole loop, every arm: fit, Gram matrix, cross-covariances, posterior, widths, choice."""
    problem, spec = branin("moderate")
    here, there = (run_arms(problem, spec, device=device) for device in ("cpu", elsewhere))
    assert {arm: t.actions for arm, t in here.items()} == {arm: t.actions for arm, t in there.items()}
    for arm, trajectory in here.items():
        for a, b in zip(trajectory.steps, there[arm].steps, strict=True):
            np.testing.assert_allclose(b.widths.radius, a.widths.radius, rtol=1e-7)


WHOLE = {
    "a": {
        "settings": {"epochs": 4, "test_points": 12, "inducing": {"6": 8}, "cert_side": 5},
        "rules": {"grids": [6], "levels": [1e-3], "seeds": [1]},
        "certificates": {"grids": [6], "levels": [1e-3], "seeds": [1]},
        "floor": {"grids": [6], "backends": {"same_process": 1, "float32": 1, "ulp": 1}},
    },
    "b": {
        "settings": {"epochs": 2, "hint_epoch": 1, "rf_trees": 5},
        "main": {"datasets": ["diabetes"], "regimes": ["shift"], "seeds": [0], "rel": [0.25]},
        "ablation": {"datasets": ["diabetes"], "seeds": [0], "rel": [0.25]},
        "gap": {"seeds": [0], "scales": ["frozen", "train"]},
    },
    "c": {
        "settings": {"candidates": 64, "evaluations": 7},
        "schedule": {"benchmarks": ["branin"], "seeds": [0]},
    },
}


@pytest.mark.parametrize("case", list(WHOLE))
def test_whole_cells_are_computed_there(elsewhere, case):
    """Everything between the spec and the records, as a worker with a GPU runs it."""
    jobs = make_plan(Preset("tiny", "tiny.toml", "", {case: WHOLE[case]}), (case,))
    assert {cell.block for job in jobs for cell in job.cells} == set(WHOLE[case]) - {"settings"}
    for job in jobs:
        for cell, result in compute_job(job, Context(device=elsewhere, offline=True)):
            assert result.state == "done", (cell.name, result.reason)
            assert result.scalars or result.blocks
            assert result.backend.startswith(elsewhere)

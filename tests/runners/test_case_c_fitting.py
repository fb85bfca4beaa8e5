"""Fit budgets, posterior moments and acquisition values against torch.optim and botorch."""

import dataclasses
import warnings

import numpy as np
import pytest
import torch
from botorch.acquisition import ExpectedImprovement, UpperConfidenceBound
from botorch.acquisition.analytic import _log_ei_helper

from orledger.errors import UsageError
from orledger.runners.case_c.acquisition import (
    LatentPosterior,
    expected_improvement,
    log_expected_improvement,
    lower_bound,
    posterior,
)
from orledger.runners.case_c.alas import alas_model, load_raw
from orledger.runners.case_c.budgets import Budget, make_budget
from orledger.runners.case_c.fitting import fit
from orledger.runners.case_c.kernel import Pairs, ParameterLayout, constrain, cross, gram, initial_raw, log_distance
from orledger.runners.case_c.likelihood import FitData, negative_log_posterior
from orledger.runners.case_c.plan import plan
from orledger.runners.case_c.run import prepare


@pytest.fixture
def data():
    g = torch.Generator().manual_seed(11)
    layout = ParameterLayout(3, 3)
    x = torch.rand(12, 3, generator=g, dtype=torch.float64)
    y = torch.sin(5 * x).sum(-1) + 0.1 * torch.randn(12, generator=g, dtype=torch.float64)
    raw = initial_raw(layout, 0.01 * torch.randn(3, 3, generator=g, dtype=torch.float64), 1.99)
    return layout, x, (y - y.mean()) / y.std(), raw


def test_adam_budget_follows_torch_optim(data):
    layout, x, y, raw = data
    pairs = Pairs.of(x)
    ours = fit(raw, layout, pairs, y, Budget("moderate", "adam", 15, rate=0.05))
    data = FitData.of(pairs, y)
    parameter = torch.nn.Parameter(raw.clone())
    optimiser = torch.optim.Adam([parameter], lr=0.05)
    for _ in range(15):
        parameter.grad = torch.from_numpy(negative_log_posterior(parameter.detach().numpy(), layout, data)[1])
        optimiser.step()
    assert torch.allclose(ours.raw, parameter.detach(), rtol=1e-12, atol=1e-13)
    assert ours.steps == 15


def test_no_steps_leave_the_start_unchanged(data):
    layout, x, y, raw = data
    assert torch.equal(fit(raw, layout, Pairs.of(x), y, Budget("near-initial", "adam", 0, rate=0.1)).raw, raw)


def test_converged_budget_reaches_a_stationary_point_below_the_others(data):
    """The limit on iterations is far away: how many are needed differs between processors, since L-BFGS amplifies rounding."""
    layout, x, y, raw = data
    pairs = Pairs.of(x)
    settings = {
        "near_initial_steps": 2, "moderate_steps": 20, "adam_rate": 0.01,
        "converged_iterations": 5000, "converged_tolerance": 1e-4, "converged_evaluations": 50_000, "converged_bound": 20.0,
    }  # fmt: skip
    near, moderate, converged = (
        fit(raw, layout, pairs, y, make_budget(n, settings)) for n in ("near-initial", "moderate", "converged")
    )
    assert converged.steps < 5000
    assert converged.gradient <= 1e-4
    assert converged.loss < moderate.loss < near.loss
    again = fit(raw, layout, pairs, y, make_budget("converged", settings))
    assert torch.equal(again.raw, converged.raw)
    assert again.steps == converged.steps


@pytest.mark.parametrize(
    "budget", [Budget("a", "adam", 12, rate=0.05), Budget("b", "lbfgs", 8, tolerance=1e-6, evaluations=80, bound=20.0)]
)
def test_fits_on_tensors_agree_with_fits_on_arrays(data, budget, monkeypatch):
    """The lines another device runs, here on the CPU. Few iterations: L-BFGS amplifies rounding, and the posterior has
    several maxima, so that long runs of two libraries may end in different ones.
    """
    layout, x, y, raw = data
    pairs = Pairs.of(x)
    arrays = fit(raw, layout, pairs, y, budget)
    made = FitData.of(pairs, y)
    fields = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
    ones = tuple(torch.from_numpy(v) for v in fields.pop("ones"))
    moved = FitData(**{k: v if k == "n" else torch.from_numpy(v) for k, v in fields.items()}, ones=ones)
    monkeypatch.setattr(FitData, "of", lambda *_: moved)
    tensors = fit(raw, layout, pairs, y, budget)
    assert tensors.loss == pytest.approx(arrays.loss, rel=1e-9)
    assert torch.allclose(tensors.raw, arrays.raw, atol=1e-7)


def test_unknown_budget_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UsageError, match=r"generous[\s\S]*near-initial, moderate, converged"):
        make_budget("generous", {})


def test_posterior_and_acquisition_values_equal_botorch(data):
    layout, x, y, raw = data
    pairs = Pairs.of(x)
    raw = fit(raw, layout, pairs, y, Budget("moderate", "adam", 30, rate=0.05)).raw
    candidates = torch.rand(200, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    p = constrain(raw, layout)
    difference = [(x[i].unsqueeze(-1) - candidates.T).contiguous() for i in range(len(x))]
    post = posterior(p, gram(p, pairs), cross(p, difference, [log_distance(d) for d in difference]), y)

    model = alas_model(x, y.unsqueeze(-1), layout.mixtures)
    load_raw(model, raw, layout)
    model.eval()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # botorch advises LogEI; the arm is defined with EI
        theirs = model.posterior(candidates.unsqueeze(1))
        ei = ExpectedImprovement(model, best_f=y.min(), maximize=False)(candidates.unsqueeze(1))
        ucb = UpperConfidenceBound(model, beta=torch.tensor(0.2, dtype=torch.float64), maximize=False)(
            candidates.unsqueeze(1)
        )
    assert torch.allclose(post.mean, theirs.mean.flatten(), rtol=0, atol=1e-9)
    assert torch.allclose(post.sd, theirs.variance.flatten().sqrt(), rtol=0, atol=1e-9)
    ours = expected_improvement(post, float(y.min()))
    assert torch.allclose(ours, ei, rtol=1e-7, atol=1e-12)
    assert torch.allclose(-lower_bound(post, 0.2), ucb, rtol=0, atol=1e-9)
    assert int(ours.argmax()) == int(ei.argmax())
    assert int(lower_bound(post, 0.2).argmin()) == int(ucb.argmax())
    assert np.ptp(ours.numpy()) > 0


def test_log_expected_improvement_is_right_where_the_improvement_itself_is_zero():
    """Against 60 digits near the best value, and the series of Mills' ratio far below it; and against botorch."""
    mpmath = pytest.importorskip("mpmath")
    near = np.linspace(-45.0, 6.0, 103)
    far = -np.logspace(2, 9, 15)
    with mpmath.workdps(60):
        exact = [mpmath.log(mpmath.npdf(u) + u * mpmath.ncdf(u)) for u in map(mpmath.mpf, near.tolist())]
        series = [
            -u * u / 2
            - mpmath.log(2 * mpmath.pi) / 2
            + mpmath.log(sum((-1) ** (k + 1) * mpmath.fac2(2 * k - 1) / u ** (2 * k) for k in range(1, 15)))
            for u in map(mpmath.mpf, far.tolist())
        ]
    u = np.concatenate([near, far])
    sd = np.exp(np.sin(u))
    post = LatentPosterior(torch.from_numpy(-u * sd), torch.from_numpy(sd))
    ours = log_expected_improvement(post, 0.0).numpy()
    np.testing.assert_allclose(ours - np.log(sd), np.array([*exact, *series], dtype=float), rtol=2e-14, atol=2e-14)
    plain = expected_improvement(post, 0.0).numpy()
    assert (plain[u < -40] == 0).all()
    seen = u > -5
    np.testing.assert_allclose(np.exp(ours[seen]), plain[seen], rtol=1e-9)
    theirs = _log_ei_helper(torch.from_numpy(u)).numpy()
    np.testing.assert_allclose(ours - np.log(sd), theirs, rtol=1e-9)


def test_the_logarithm_of_the_improvement_is_a_choice_that_moves_no_other_cell():
    axes = {"benchmarks": ["branin"], "seeds": [0]}
    usual, named, log = (
        plan({"settings": settings, "main": axes}, "x")[0].cells[0]
        for settings in ({}, {"ei_form": "plain"}, {"ei_form": "log"})
    )
    assert usual.id == named.id != log.id
    assert log.settings["ei_form"] == "log"
    assert prepare(log)[1].log_ei
    assert not prepare(usual)[1].log_ei

"""The tensor code of the three cases on a device that is not the CPU, without owning one.

The pretended device reports itself as torch's ``meta`` device and keeps its numbers on the CPU. Every operation passes a
guard: it may see tensors of one device only, as on a GPU (single numbers, copies and CPU indices aside, which CUDA allows
as well), and what lies on the device reaches NumPy through ``.cpu()`` or not at all. A tensor made on the CPU by a
forgotten ``device=`` therefore fails here as it would fail there, and what passes gives numbers that can be compared.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

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

THERE = torch.device("meta")
ATEN = torch.ops.aten
# What CUDA accepts although not everything is on it: copies between devices, and indices on the CPU.
CROSSING = {ATEN.to, ATEN._to_copy, ATEN.copy_, ATEN.index, ATEN.index_put, ATEN.index_put_}


class MixedDevicesError(RuntimeError):
    """An operation saw tensors of two devices."""


class Elsewhere(torch.Tensor):
    """A tensor that says it is on the other device; ``inner`` holds its numbers."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Elsewhere:
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset(), "dtype": inner.dtype}
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), device=THERE, **layout)

    def __init__(self, inner: torch.Tensor) -> None:
        assert inner.device.type == "cpu", "numbers were lost on the way"
        self.inner = inner

    def __repr__(self) -> str:
        return f"Elsewhere({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return guarded(func, args, kwargs or {})


def guarded(func, args, kwargs):
    """The operation on the inner tensors, its results on the device that torch would put them on."""
    tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
    there = [x for x in tensors if isinstance(x, Elsewhere)]
    assert all(isinstance(x, Elsewhere) for x in tensors if x.device == THERE), f"{func}: numbers were lost on the way"
    here = [x for x in tensors if not isinstance(x, Elsewhere) and x.dim() > 0]
    if there and here and func.overloadpacket not in CROSSING:
        raise MixedDevicesError(
            f"{func}: shapes {[tuple(x.shape) for x in there]} there, {[tuple(x.shape) for x in here]} here"
        )
    asked = kwargs.get("device")
    if func is ATEN.to.device:  # in inference mode torch asks for a device in this way
        stays, args = torch.device(args[1]) == THERE, (args[0], torch.device("cpu"), *args[2:])
    elif asked is not None:
        stays, kwargs = torch.device(asked) == THERE, {**kwargs, "device": torch.device("cpu")}
    elif func.overloadpacket in CROSSING:
        stays = isinstance(args[0], Elsewhere)
    else:
        stays = bool(there)
    wrappers = {id(x.inner): x for x in there}  # in-place and out= operations return what they were given
    args, kwargs = tree_map(lambda x: x.inner if isinstance(x, Elsewhere) else x, (args, kwargs))
    out = func(*args, **kwargs)
    if not stays:
        return out
    return tree_map(lambda x: wrappers[id(x)] if id(x) in wrappers else _moved(x), out)


def _moved(x):
    return Elsewhere(x) if isinstance(x, torch.Tensor) else x


class Operations(TorchDispatchMode):
    """Sends every operation through the guard, those that make tensors included."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return guarded(func, args, kwargs or {})


class Constructors(TorchFunctionMode):
    """Builds tensors from Python data on the CPU and moves them: torch itself would drop the numbers on its way to ``meta``."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.as_tensor and isinstance(args[0], torch.Tensor):
            return args[0].to(**kwargs) if kwargs else args[0]
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        if func is torch.Tensor.new_tensor and isinstance(args[0], Elsewhere):
            return torch.tensor(args[1], dtype=kwargs.get("dtype", args[0].dtype)).to(THERE)
        if func is torch.Tensor.tolist:
            return args[0].cpu().tolist() if isinstance(args[0], Elsewhere) else func(*args)
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and isinstance(args[0], Elsewhere):
            parts = args[1] if isinstance(args[1], tuple) else (args[1],)
            args = (args[0], tuple(torch.tensor(p) if isinstance(p, list) else p for p in parts), *args[2:])
        return func(*args, **kwargs)


@pytest.fixture
def elsewhere():
    """The name of the pretended device, under the guard."""
    with ExitStack() as stack:
        stack.enter_context(Constructors())
        stack.enter_context(Operations())
        yield THERE.type


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

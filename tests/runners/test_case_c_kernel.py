"""The alpha-stable kernel: against a plain evaluation of its formula, autograd, gradcheck and gpytorch."""

import dataclasses
import math
import warnings

import gpytorch
import numpy as np
import pytest
import torch
from botorch.exceptions import ModelFittingError
from botorch.fit import fit_gpytorch_mll

from orledger.errors import UsageError
from orledger.runners.case_c.alas import AlasKernel, alas_model, load_raw, ordered_parameters
from orledger.runners.case_c.kernel import (
    ALPHA_HIGH,
    ALPHA_LOW,
    Pairs,
    ParameterLayout,
    constrain,
    cross,
    gram,
    initial_raw,
    log_distance,
    raw_alpha,
)
from orledger.runners.case_c.likelihood import FitData, negative_log_posterior

ALPHAS = (0.011, 1.0, 1.999)


def draw(seed, n, dim, mixtures=3, alpha=None):
    g = torch.Generator().manual_seed(seed)
    layout = ParameterLayout(mixtures, dim)
    x = torch.rand(n, dim, generator=g, dtype=torch.float64)
    raw = initial_raw(layout, 0.5 * torch.randn(mixtures, dim, generator=g, dtype=torch.float64), 1.99)
    raw += 0.4 * torch.randn(layout.size, generator=g, dtype=torch.float64)
    if alpha is not None:
        raw[:mixtures] = raw_alpha(alpha, alpha)
    y = torch.randn(n, generator=g, dtype=torch.float64)
    return layout, x, (y - y.mean()) / y.std(), raw


def plain(p, a, b):
    """The formula written out for one pair of points."""
    d = a - b
    total = 0.0
    for q in range(len(p.alpha)):
        exponent = sum((2 * math.pi * float(p.scales[q, j]) * abs(d[j])) ** float(p.alpha[q]) for j in range(len(d)))
        phase = 2 * math.pi * sum(float(p.means[q, j]) * d[j] for j in range(len(d)))
        total += float(p.weights[q]) * math.exp(-exponent) * math.cos(phase)
    return float(p.output) * total


def module(raw, layout):
    kernel = AlasKernel(layout.mixtures, layout.dim)
    with torch.no_grad():
        alpha, weights, scales, _, _, means, _ = torch.split(raw, layout.sizes)
        kernel.raw_alpha.copy_(alpha)
        kernel.raw_weights.copy_(weights)
        kernel.raw_scales.copy_(scales.reshape(layout.mixtures, -1))
        kernel.spectral_means.copy_(means.reshape(layout.mixtures, -1))
    return kernel


@pytest.mark.parametrize("alpha", [None, *ALPHAS])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_every_form_of_the_kernel_equals_the_formula(alpha, dim):
    layout, x, _, raw = draw(3, 7, dim, alpha=alpha)
    x[1, 0] = x[0, 0]  # one shared coordinate
    p = constrain(raw, layout)
    expected = np.array([[plain(p, a, b) for b in x.numpy()] for a in x.numpy()])
    assert np.abs(gram(p, Pairs.of(x)).numpy() - expected).max() < 1e-12
    difference = [(x[i].unsqueeze(-1) - x.T).contiguous() for i in range(len(x))]
    slabs = cross(p, difference, [log_distance(d) for d in difference])
    assert np.abs(slabs.numpy() - expected).max() < 1e-12
    through_module = float(p.output) * module(raw, layout)(x).to_dense().detach().numpy()
    assert np.abs(through_module - expected).max() < 1e-12


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("alpha", [None, *ALPHAS])
def test_gram_matrices_are_positive_semidefinite_with_the_output_scale_on_the_diagonal(seed, alpha):
    layout, x, _, raw = draw(seed, 25, 1 + seed % 4, alpha=alpha)
    p = constrain(raw, layout)
    matrix = gram(p, Pairs.of(x))
    assert torch.equal(matrix.diagonal(), p.output.expand(25))
    assert torch.equal(matrix, matrix.T)
    assert float(torch.linalg.eigvalsh(matrix).min()) > -1e-13 * float(p.output)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gpytorch_module_passes_gradcheck_in_parameters_and_inputs(alpha):
    layout, x, _, raw = draw(5, 4, 2, mixtures=2, alpha=alpha)
    kernel = module(raw, layout)
    names = [f"kernel.{name}" for name, _ in kernel.named_parameters()]

    def covariance(inputs, *values):
        """Between the first two points and the others, so that no distance is zero: there no derivative in x exists."""
        halves = (inputs[:2], inputs[2:])
        return torch.func.functional_call(_Forward(kernel), dict(zip(names, values, strict=True)), halves)

    values = [p.detach().clone().requires_grad_() for p in kernel.parameters()]
    assert torch.autograd.gradcheck(covariance, (x.requires_grad_(), *values), atol=1e-6, rtol=1e-4)


class _Forward(torch.nn.Module):
    """The kernel's forward as a module call, which gpytorch's own call replaces by a lazy operator."""

    def __init__(self, kernel):
        super().__init__()
        self.kernel = kernel

    def forward(self, x1, x2):
        return self.kernel.forward(x1, x2)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_in_the_inputs_is_finite_where_points_coincide(alpha):
    layout, x, _, raw = draw(6, 3, 2, alpha=alpha)
    x.requires_grad_()
    module(raw, layout).forward(x, x.detach()).sum().backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("alpha", [None, *ALPHAS])
@pytest.mark.parametrize(("dim", "n"), [(2, 6), (10, 22)])
def test_posterior_value_and_gradient_equal_gpytorch_autograd(alpha, dim, n):
    layout, x, y, raw = draw(1, n, dim, alpha=alpha)
    x[1, 0] = x[0, 0]
    value, gradient = negative_log_posterior(raw.numpy(), layout, FitData.of(Pairs.of(x), y))
    model = alas_model(x, y.unsqueeze(-1), layout.mixtures)
    load_raw(model, raw, layout)
    model.train()
    loss = -gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)(model(x), model.train_targets)
    loss.backward()
    expected = torch.cat([p.grad.reshape(-1) for p in ordered_parameters(model)])
    assert abs(float(value) - loss.item()) < 1e-11 * max(1.0, abs(loss.item()))
    assert np.abs(gradient - expected.numpy()).max() < 1e-10 * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_equals_central_differences(alpha):
    """Independent of every automatic derivative; the step suits a smooth function in float64."""
    layout, x, y, raw = draw(2, 8, 3, mixtures=2, alpha=alpha)
    data = FitData.of(Pairs.of(x), y)
    _, gradient = negative_log_posterior(raw.numpy(), layout, data)
    step = 1e-5
    for j in range(layout.size):
        up, down = raw.clone(), raw.clone()
        up[j] += step
        down[j] -= step
        high, low = (negative_log_posterior(v.numpy(), layout, data)[0] for v in (up, down))
        assert float((high - low) / (2 * step)) == pytest.approx(float(gradient[j]), abs=2e-8)


def tensors(data):
    """The same data as the torch tensors a fit on another device works on."""
    fields = {f.name: getattr(data, f.name) for f in dataclasses.fields(data)}
    ones = tuple(torch.from_numpy(v) for v in fields.pop("ones"))
    return FitData(**{k: v if k == "n" else torch.from_numpy(v) for k, v in fields.items()}, ones=ones)


def test_batches_and_tensors_give_the_same_as_one_array_at_a_time():
    layout, x, y, raw = draw(4, 9, 3)
    batch = raw + 0.1 * torch.randn(4, layout.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    data = FitData.of(Pairs.of(x), y)
    together = negative_log_posterior(batch.numpy(), layout, data)
    on_torch = negative_log_posterior(batch, layout, tensors(data))
    assert all(isinstance(part, torch.Tensor) for part in on_torch)
    for b in range(4):
        value, gradient = negative_log_posterior(batch[b].numpy(), layout, data)
        for values, gradients in (together, on_torch):
            assert float(values[b]) == pytest.approx(float(value), rel=1e-13)
            assert np.allclose(gradients[b], gradient, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_nominal_starting_alpha_has_an_infinite_raw_parameter(dtype):
    constraint = AlasKernel(3, 2).raw_alpha_constraint.to(dtype)
    assert torch.isposinf(constraint.inverse_transform(torch.tensor(ALPHA_HIGH, dtype=dtype)))
    start = initial_raw(ParameterLayout(3, 2), torch.zeros(3, 2, dtype=torch.float64), 1.99)
    assert torch.isfinite(start).all()
    assert constrain(start, ParameterLayout(3, 2)).alpha.tolist() == pytest.approx([1.0, 1.5, 1.99])


@pytest.mark.parametrize(("alpha", "fits"), [(2.0, False), (1.99, True)])
def test_botorch_cannot_fit_from_the_infinite_parameter_and_can_from_below_it(alpha, fits):
    """The trap: at alpha = 2 every attempt of botorch's L-BFGS fails, whatever the data."""
    _, x, y, _ = draw(0, 8, 2)
    model = alas_model(x, y.unsqueeze(-1), 3)
    kernel = model.covar_module.base_kernel
    values = torch.tensor([1.0, 1.5, alpha], dtype=torch.float64)
    kernel.initialize(raw_alpha=kernel.raw_alpha_constraint.inverse_transform(values))
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if fits:
            fit_gpytorch_mll(mll, max_attempts=1)
            assert torch.isfinite(kernel.raw_alpha).all()
        else:
            with pytest.raises(ModelFittingError):
                fit_gpytorch_mll(mll, max_attempts=1)


def test_setting_alpha_to_the_end_of_its_interval_is_refused():
    with pytest.raises(UsageError, match="not finite"):
        AlasKernel(3, 2).set("raw_alpha", torch.tensor([1.0, 1.5, ALPHA_HIGH]))


def test_starting_parameters_are_those_of_the_released_kernel():
    layout = ParameterLayout(3, 4)
    means = torch.full((3, 4), 0.02, dtype=torch.float64)
    p = constrain(initial_raw(layout, means, 1.99), layout)
    assert p.weights.tolist() == pytest.approx([1 / 3] * 3)
    assert p.scales.flatten().tolist() == pytest.approx([math.log(2)] * 12, abs=2e-6)
    assert float(p.output) == pytest.approx(math.log(2))
    assert float(p.noise) == pytest.approx(0.2, rel=1e-14)
    assert float(p.mean) == 0.0
    assert torch.equal(p.means, means)
    assert float(p.alpha.min()) > ALPHA_LOW

"""The same kernel and model as gpytorch and botorch modules: the plain form, for users, for tests and for comparison."""

from __future__ import annotations

import torch
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan, Interval, Positive
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.priors import GammaPrior, LogNormalPrior, NormalPrior

from orledger.errors import UsageError
from orledger.runners.case_c.kernel import (
    ALPHA_HIGH,
    ALPHA_LOW,
    NOISE_LOW,
    NOISE_START,
    SCALE_LOW,
    TWO_PI,
    ParameterLayout,
)
from orledger.runners.case_c.likelihood import GAMMA_RATE, GAMMA_SHAPE


def _exact(constraint: Interval, low: float, high: float = float("inf")) -> Interval:
    """``constraint`` with bounds in float64; gpytorch stores them in the default type and so moves 0.01 by 2e-10."""
    constraint.lower_bound, constraint.upper_bound = (torch.tensor(v, dtype=torch.float64) for v in (low, high))
    return constraint


class AlasKernel(Kernel):
    """Mixture of Q alpha-stable spectral components over d inputs, with unit variance: k(x, x) = 1."""

    has_lengthscale = False

    def __init__(self, mixtures: int, dim: int, batch_shape: torch.Size | None = None) -> None:
        super().__init__(batch_shape=batch_shape or torch.Size())
        q, grid = (*self.batch_shape, mixtures), (*self.batch_shape, mixtures, dim)
        for name, shape in (("raw_alpha", q), ("raw_weights", q), ("raw_scales", grid), ("spectral_means", grid)):
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)))
        self.register_constraint("raw_alpha", _exact(Interval(ALPHA_LOW, ALPHA_HIGH), ALPHA_LOW, ALPHA_HIGH))
        self.register_constraint("raw_weights", Positive())
        self.register_constraint("raw_scales", _exact(GreaterThan(SCALE_LOW), SCALE_LOW))
        self.register_prior(
            "scales_prior", LogNormalPrior(0.0, 1.0), lambda m: m.scales, lambda m, v: m.set("raw_scales", v)
        )
        self.register_prior(
            "means_prior",
            NormalPrior(0.0, 1.0),
            lambda m: m.spectral_means,
            lambda m, v: m.initialize(spectral_means=v),
        )

    @property
    def alpha(self) -> torch.Tensor:
        """Stability indices (Q,), inside [0.01, 2]."""
        return self.raw_alpha_constraint.transform(self.raw_alpha)

    @property
    def weights(self) -> torch.Tensor:
        """Mixture weights (Q,), positive and summing to one."""
        positive = self.raw_weights_constraint.transform(self.raw_weights)
        return positive / positive.sum(-1, keepdim=True)

    @property
    def scales(self) -> torch.Tensor:
        """Inverse length scales (Q, d)."""
        return self.raw_scales_constraint.transform(self.raw_scales)

    def set(self, raw_name: str, value: torch.Tensor) -> None:
        """Set a constrained parameter by value; an end point of an interval is refused, its raw number being infinite."""
        constraint = getattr(self, f"{raw_name}_constraint")
        raw = constraint.inverse_transform(torch.as_tensor(value, dtype=torch.float64))
        if not torch.isfinite(raw).all():
            raise UsageError(
                f"{raw_name.removeprefix('raw_')} = {value}: its raw parameter is not finite, and no fit can start there",
                hint=f"choose values strictly between {float(constraint.lower_bound)} and {float(constraint.upper_bound)}",
            )
        self.initialize(**{raw_name: raw.expand_as(getattr(self, raw_name))})

    def forward(self, x1: torch.Tensor, x2: torch.Tensor, diag: bool = False, **_: object) -> torch.Tensor:
        """Covariances (..., n1, n2), or their diagonal; differentiable in the inputs too (with 0 at coincident coordinates)."""
        difference = x1 - x2 if diag else x1.unsqueeze(-2) - x2.unsqueeze(-3)
        size = difference.abs().unsqueeze(-2)  # (..., 1, d) against (Q, d)
        apart = size > 0
        tail = (1,) * (difference.dim() - 1 - len(self.batch_shape))
        alpha = self.alpha.reshape(*self.batch_shape, *tail, -1, 1)
        scales, means = (t.reshape(*self.batch_shape, *tail, *t.shape[-2:]) for t in (self.scales, self.spectral_means))
        # The inner choice keeps the derivative of 0 ** alpha, infinite below alpha = 1, out of the graph.
        power = torch.where(apart, (TWO_PI * scales * torch.where(apart, size, 1.0)) ** alpha, 0.0)
        phase = TWO_PI * (means * difference.unsqueeze(-2)).sum(-1)
        weights = self.weights.reshape(*self.batch_shape, *tail, -1)
        return (weights * torch.exp(-power.sum(-1)) * torch.cos(phase)).sum(-1)


def alas_model(x: torch.Tensor, y: torch.Tensor, mixtures: int) -> SingleTaskGP:
    """A botorch model on (n, d) inputs and (n, 1) standardised targets with the kernel, mean, noise and priors of ALAS."""
    likelihood = GaussianLikelihood(
        noise_prior=GammaPrior(*torch.tensor([GAMMA_SHAPE, GAMMA_RATE], dtype=torch.float64)),
        noise_constraint=_exact(GreaterThan(NOISE_LOW), NOISE_LOW),
    ).double()
    likelihood.noise = NOISE_START
    kernel = ScaleKernel(AlasKernel(mixtures, x.shape[-1]))
    return SingleTaskGP(
        x,
        y,
        likelihood=likelihood,
        covar_module=kernel.double(),
        mean_module=ConstantMean().double(),
        outcome_transform=None,
    )


def ordered_parameters(model: SingleTaskGP) -> list[torch.nn.Parameter]:
    """The model's parameters in the order of :class:`~orledger.runners.case_c.kernel.Layout`."""
    k = model.covar_module
    b = k.base_kernel
    return [
        b.raw_alpha,
        b.raw_weights,
        b.raw_scales,
        k.raw_outputscale,
        model.likelihood.noise_covar.raw_noise,
        b.spectral_means,
        model.mean_module.raw_constant,
    ]


def load_raw(model: SingleTaskGP, raw: torch.Tensor, layout: ParameterLayout) -> None:
    """Copy a raw vector (size,) into the model's parameters, in place."""
    with torch.no_grad():
        for parameter, values in zip(ordered_parameters(model), torch.split(raw, list(layout.sizes)), strict=True):
            parameter.copy_(values.reshape(parameter.shape))

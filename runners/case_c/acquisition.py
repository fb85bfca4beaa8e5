"""Posterior moments at all candidates, and the two Bayesian acquisition functions, as botorch defines them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from orledger.runners.case_c.kernel import Parameters

# botorch's floor for the posterior variance in its analytic acquisition functions.
LEAST_VARIANCE = 1e-12
# Standard deviations below the best at which 1 - |u| Phi / phi and 1 / u^2 agree to what float64 can tell of the former.
FAR = 1e5
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class LatentPosterior:
    """Mean and standard deviation (m,) of the latent function at the candidates, in units of the standardised data."""

    mean: torch.Tensor
    sd: torch.Tensor


def posterior(p: Parameters, gram: torch.Tensor, cross: torch.Tensor, y: torch.Tensor) -> LatentPosterior:
    """The posterior at m candidates from the Gram matrix (n, n), the cross-covariances (n, m) and the data (n,)."""
    noisy = gram + p.noise * torch.eye(len(y), dtype=y.dtype, device=y.device)
    factor = torch.linalg.cholesky(noisy)
    weights = torch.cholesky_solve((y - p.mean).unsqueeze(-1), factor)
    whitened = torch.linalg.solve_triangular(factor, cross, upper=False)
    variance = p.output - whitened.square_().sum(0)
    return LatentPosterior(p.mean + (weights.T @ cross)[0], variance.clamp_(min=LEAST_VARIANCE).sqrt_())


def expected_improvement(post: LatentPosterior, best: float) -> torch.Tensor:
    """Expected improvement (m,) below ``best``, to be maximised; botorch's ExpectedImprovement with maximize=False."""
    u = (best - post.mean) / post.sd
    density = torch.exp(-0.5 * u.square() - LOG_SQRT_2PI)
    return post.sd * (density + u * torch.special.ndtr(u))


def log_expected_improvement(post: LatentPosterior, best: float) -> torch.Tensor:
    """Logarithm of the expected improvement (m,), finite where the improvement itself underflows (from about 38 sd).

    As botorch's LogExpectedImprovement: with h(u) = phi(u) + u Phi(u) and u < -1, log h = log phi + log(1 - |u| Phi(u) / phi(u)),
    the ratio through erfcx; beyond FAR standard deviations 1 - |u| Phi / phi is 1 / u^2 to rounding.
    """
    u = (best - post.mean) / post.sd
    near, far = u.clamp(min=-1.0), u.clamp(max=-1.0)
    upper = torch.log(torch.exp(-0.5 * near.square() - LOG_SQRT_2PI) + near * torch.special.ndtr(near))
    size = -far
    ratio = size.clamp(max=FAR) * torch.special.erfcx(size.clamp(max=FAR) / math.sqrt(2.0)) * math.sqrt(math.pi / 2)
    tail = torch.where(size < FAR, torch.log1p(-ratio), -2.0 * size.log())
    return post.sd.log() + torch.where(u > -1.0, upper, -0.5 * far.square() - LOG_SQRT_2PI + tail)


def lower_bound(post: LatentPosterior, beta: float) -> torch.Tensor:
    """The bound m - sqrt(beta) sd (m,), to be minimised; minus botorch's UpperConfidenceBound with maximize=False."""
    return post.mean - math.sqrt(beta) * post.sd

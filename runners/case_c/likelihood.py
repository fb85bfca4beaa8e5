"""Value and analytic gradient of the negative log posterior of the hyper-parameters, batched, without autograd."""

from __future__ import annotations

import math

import torch

from orledger.runners.case_c.kernel import ALPHA_HIGH, ALPHA_LOW, TWO_PI, Layout, Pairs, constrain, fill

LOG_2PI = math.log(TWO_PI)
# Priors of the released kernel: LogNormal(0, 1) on scales, Normal(0, 1) on means, Gamma(shape, rate) on the noise variance.
GAMMA_SHAPE, GAMMA_RATE = 1.1, 0.5
GAMMA_CONSTANT = GAMMA_SHAPE * math.log(GAMMA_RATE) - math.lgamma(GAMMA_SHAPE)


def negative_log_posterior(
    raw: torch.Tensor, layout: Layout, pairs: Pairs, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The negative log posterior per datum (...) and its gradient (..., size) at raw vectors (..., size).

    ``y`` is (..., n); the members of a batch share their points. The value is minus gpytorch's exact marginal log
    likelihood with its prior terms added, both divided by n. Operations are few rather than elegant: at 5 to 22 points
    the time is the number of kernels launched.
    """
    sigmoid = torch.sigmoid(raw[..., : layout.head])
    p = constrain(raw, layout, sigmoid)
    log_scales = p.scales.log()
    log_u = pairs.log + (log_scales + LOG_2PI).unsqueeze(-2)  # (..., Q, P, d)
    power = (p.alpha[..., None, None] * log_u).exp_()
    envelope = power.sum(-1).neg_().exp_()  # (..., Q, P)
    phase = (p.means @ pairs.difference.mT).mul_(TWO_PI)
    component = envelope * phase.cos()
    shape = (p.weights.unsqueeze(-2) @ component).squeeze(-2)  # (..., P), the kernel at unit output scale

    output = p.output.unsqueeze(-1)
    factor = torch.linalg.cholesky(fill(p.output + p.noise, output * shape, pairs))
    inverse = torch.cholesky_inverse(factor)
    residual = y - p.mean.unsqueeze(-1)
    solved = inverse @ residual.unsqueeze(-1)  # (..., n, 1)
    n = pairs.n
    loss = (
        0.5 * (residual.unsqueeze(-2) @ solved)[..., 0, 0]
        + factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        + (log_scales + 0.5 * (log_scales.square() + p.means.square())).sum((-2, -1))
        + (GAMMA_RATE * p.noise - (GAMMA_SHAPE - 1.0) * p.noise.log())
        + ((0.5 * n + layout.mixtures * layout.dim) * LOG_2PI - GAMMA_CONSTANT)
    )

    # Twice d loss / d covariance = K^-1 - a a^T; an off-diagonal pair occurs twice, a diagonal entry once.
    slope = inverse.sub_(solved * solved.mT)
    diagonal = 0.5 * slope.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True)
    pair = slope.flatten(-2).index_select(-1, pairs.positions).unsqueeze(-2)  # (..., 1, P)
    by_weight = output * (component @ pair.mT).squeeze(-1)  # (..., Q)
    scaled = (output * p.weights).unsqueeze(-1) * pair  # (..., Q, P)
    weighted = power.mul_(component.mul_(scaled).unsqueeze(-1))  # minus d loss / d power, times the power
    by_log_scale = 1.0 + log_scales - p.alpha.unsqueeze(-1) * weighted.sum(-2)  # (..., Q, d)
    by_alpha = weighted.mul_(log_u).sum((-2, -1))
    by_mean = p.means - TWO_PI * (scaled.mul_(envelope).mul_(phase.sin_()) @ pairs.difference)

    head = torch.cat(
        [
            by_alpha * (sigmoid[..., : layout.mixtures] - 1.0) * (ALPHA_HIGH - ALPHA_LOW),
            (by_weight - (p.weights * by_weight).sum(-1, keepdim=True)) / p.total,
            (by_log_scale / p.scales).flatten(-2),
            diagonal + (pair @ shape.unsqueeze(-1)).squeeze(-1),
            diagonal + (GAMMA_RATE - (GAMMA_SHAPE - 1.0) / p.noise).unsqueeze(-1),
        ],
        dim=-1,
    ).mul_(sigmoid)
    gradient = torch.cat([head, by_mean.flatten(-2), -solved.sum(-2)], dim=-1)
    return loss / n, gradient.div_(n)

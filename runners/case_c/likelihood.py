"""Value and analytic gradient of the negative log posterior of the hyper-parameters, batched, without autograd.

One text serves two array libraries. At 5 to 50 points an evaluation is some sixty operations on small arrays, and its time
is their number: NumPy starts an operation several times sooner than torch does, so fits on the CPU use it. On another
device the same lines run on torch tensors there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from orledger.runners.case_c.kernel import ALPHA_HIGH, ALPHA_LOW, NOISE_LOW, SCALE_LOW, TWO_PI, ParameterLayout

if TYPE_CHECKING:
    from orledger.recovery.array_types import Array
    from orledger.runners.case_c.kernel import Pairs

LOG_2PI = math.log(TWO_PI)
# Priors of the released kernel: LogNormal(0, 1) on scales, Normal(0, 1) on means, Gamma(shape, rate) on the noise variance.
GAMMA_SHAPE, GAMMA_RATE = 1.1, 0.5
GAMMA_CONSTANT = GAMMA_SHAPE * math.log(GAMMA_RATE) - math.lgamma(GAMMA_SHAPE)


@dataclass(frozen=True)
class FitData:
    """What a fit sees: P pairs of n points as log distances (P, d) and as 2 pi times differences (P, d) and (d, P), the
    correspondence of pairs and matrix entries, the standardised data y (..., n), and vectors of ones for sums by matmul.
    """

    n: int
    y: Array
    log: Array
    turns: Array
    turns_across: Array
    positions: Array
    entries: Array
    ones: tuple[Array, Array, Array]

    @classmethod
    def of(cls, pairs: Pairs, y: torch.Tensor) -> FitData:
        """The data of ``pairs`` and ``y``: NumPy arrays when they are on the CPU, tensors on their device otherwise."""
        turns = TWO_PI * pairs.difference
        count, dim = turns.shape
        ones = [torch.ones(k, dtype=y.dtype, device=y.device) for k in (dim, count, count * dim)]
        tensors = (y, pairs.log, turns, turns.T.contiguous(), pairs.positions, pairs.entries, *ones)
        on_host = y.device.type == "cpu"
        data, log, along, across, positions, entries, *sums = [t.numpy() if on_host else t for t in tensors]
        return cls(pairs.n, data, log, along, across, positions, entries, (sums[0], sums[1], sums[2]))


def negative_log_posterior(raw: Array, layout: ParameterLayout, data: FitData) -> tuple[Array, Array]:
    """The negative log posterior per datum (...) and its gradient (..., size) at raw vectors (..., size).

    ``raw`` is of the library of ``data``; the members of a batch share their points. The value is minus gpytorch's exact
    marginal log likelihood with its prior terms added, both divided by n.
    """
    xp = np if isinstance(raw, np.ndarray) else torch
    q, qd, n = layout.mixtures, layout.mixtures * layout.dim, data.n
    batch = tuple(raw.shape[:-1])
    grid, square = (*batch, q, layout.dim), (*batch, n, n)

    head = raw[..., : layout.head]
    sigmoid = 1.0 / (1.0 + xp.exp(-head))
    positive = xp.logaddexp(head[..., q:], 0.0 * head[..., q:])  # softplus
    alpha = ALPHA_LOW + (ALPHA_HIGH - ALPHA_LOW) * sigmoid[..., :q]
    total = positive[..., :q].sum(axis=-1, keepdims=True)
    weights = positive[..., :q] / total
    scales = (positive[..., q : q + qd] + SCALE_LOW).reshape(grid)
    output, noise = positive[..., -2:-1], positive[..., -1:] + NOISE_LOW
    means = raw[..., layout.head : -1].reshape(grid)

    log_scales = xp.log(scales)
    log_u = data.log + (log_scales + LOG_2PI)[..., None, :]  # (..., Q, P, d)
    power = xp.exp(alpha[..., None, None] * log_u)
    envelope = xp.exp(-(power @ data.ones[0]))  # (..., Q, P)
    phase = means @ data.turns_across
    component = envelope * xp.cos(phase)
    shape = (weights[..., None, :] @ component)[..., 0, :]  # (..., P), the kernel at unit output scale

    covariance = xp.concat([output + noise, output * shape], axis=-1)[..., data.entries].reshape(square)
    factor = xp.linalg.cholesky(covariance)
    inverse = xp.linalg.inv(covariance)
    residual = data.y - raw[..., -1:]
    solved = inverse @ residual[..., None]  # (..., n, 1)
    loss = (
        0.5 * (residual[..., None, :] @ solved)[..., 0, 0]
        + xp.log(factor.reshape((*batch, n * n))[..., :: n + 1]).sum(axis=-1)
        + (log_scales + 0.5 * (log_scales * log_scales + means * means)).sum(axis=(-2, -1))
        + (GAMMA_RATE * noise - (GAMMA_SHAPE - 1.0) * xp.log(noise))[..., 0]
        + ((0.5 * n + qd) * LOG_2PI - GAMMA_CONSTANT)
    )

    # Twice d loss / d covariance = K^-1 - a a^T; an off-diagonal pair occurs twice, a diagonal entry once.
    slope = (inverse - solved * solved.mT).reshape((*batch, n * n))
    diagonal = 0.5 * slope[..., :: n + 1].sum(axis=-1, keepdims=True)
    pair = slope[..., data.positions][..., None, :]  # (..., 1, P)
    by_weight = output * (component @ pair.mT)[..., 0]  # (..., Q)
    scaled = (output * weights)[..., None] * pair  # (..., Q, P)
    weighted = power * (component * scaled)[..., None]  # minus d loss / d power, times the power
    by_log_scale = 1.0 + log_scales - alpha[..., None] * (weighted.mT @ data.ones[1])  # (..., Q, d)
    by_alpha = (weighted * log_u).reshape((*batch, q, -1)) @ data.ones[2]  # minus d loss / d alpha
    by_mean = means - (scaled * envelope * xp.sin(phase)) @ data.turns

    by_head = xp.concat(
        [
            by_alpha * (sigmoid[..., :q] - 1.0) * (ALPHA_HIGH - ALPHA_LOW),
            (by_weight - (weights * by_weight).sum(axis=-1, keepdims=True)) / total,
            (by_log_scale / scales).reshape((*batch, qd)),
            diagonal + (pair @ shape[..., None])[..., 0],
            diagonal + (GAMMA_RATE - (GAMMA_SHAPE - 1.0) / noise),
        ],
        axis=-1,
    )
    gradient = xp.concat([by_head * sigmoid, by_mean.reshape((*batch, qd)), -solved.sum(axis=-2)], axis=-1)
    return loss / n, gradient / n

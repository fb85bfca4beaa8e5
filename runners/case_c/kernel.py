"""The alpha-stable mixture kernel on raw parameter vectors: Gram matrices and cross-covariances without autograd.

    k(x, x') = s2 sum_q w_q exp(-sum_d (2 pi S_qd |D_d|)^alpha_q) cos(2 pi sum_d M_qd D_d),   D = x - x',  sum_q w_q = 1

Powers are evaluated as ``exp(alpha (log|D| + log 2 pi S))``: the logarithms of the distances depend on the data only and
are computed once, and an exponential is several times cheaper than a power. A coordinate in which two points agree has
``log|D|`` at a finite floor so low that the power is exactly zero for every admissible alpha; its gradient is then zero
as well, where the naive formula gives ``0 * inf``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

ALPHA_LOW, ALPHA_HIGH = 0.01, 2.0
SCALE_LOW, NOISE_LOW = 1e-6, 1e-4
NOISE_START = 0.2
TWO_PI = 2.0 * math.pi
# exp(ALPHA_LOW * LOG_ZERO) is exactly 0 in float64, so a zero distance contributes nothing at any alpha.
LOG_ZERO = -1e5


@dataclass(frozen=True)
class ParameterLayout:
    """Where each hyper-parameter stands in a raw vector: alpha, weights, scales, output scale, noise, spectral means, mean.

    The constrained ones come first, so that one sigmoid and one softplus serve them all.
    """

    mixtures: int
    dim: int

    @property
    def size(self) -> int:
        """Length of the raw vector, 2 Q + 2 Q d + 3."""
        return 2 * self.mixtures * (1 + self.dim) + 3

    @property
    def head(self) -> int:
        """How many leading entries are constrained (alpha by an interval, the rest from below)."""
        return 2 * self.mixtures + self.mixtures * self.dim + 2

    @property
    def sizes(self) -> tuple[int, ...]:
        """Lengths of the seven groups, in order."""
        q, qd = self.mixtures, self.mixtures * self.dim
        return (q, q, qd, 1, 1, qd, 1)


@dataclass(frozen=True)
class Parameters:
    """Constrained hyper-parameters with a leading batch shape: alpha and weights (..., Q), scales and means (..., Q, d),
    output scale, constant mean and noise variance (...); ``total`` (..., 1) is what the weights were divided by.
    """

    alpha: torch.Tensor
    weights: torch.Tensor
    scales: torch.Tensor
    means: torch.Tensor
    output: torch.Tensor
    mean: torch.Tensor
    noise: torch.Tensor


def softplus(raw: torch.Tensor) -> torch.Tensor:
    """log(1 + exp(raw)) without a linear shortcut for large arguments, so that its derivative is the sigmoid everywhere."""
    return torch.logaddexp(raw, raw.new_zeros(()))


def inverse_softplus(value: float) -> float:
    """The raw number whose softplus is ``value``."""
    return value + math.log(-math.expm1(-value))


def constrain(raw: torch.Tensor, layout: ParameterLayout) -> Parameters:
    """The hyper-parameters of a raw vector (..., size): alpha in [0.01, 2], scales above 1e-6, noise variance above 1e-4."""
    q, qd = layout.mixtures, layout.mixtures * layout.dim
    positive = softplus(raw[..., q : layout.head])
    grid = (*raw.shape[:-1], q, layout.dim)
    return Parameters(
        alpha=ALPHA_LOW + (ALPHA_HIGH - ALPHA_LOW) * torch.sigmoid(raw[..., :q]),
        weights=positive[..., :q] / positive[..., :q].sum(-1, keepdim=True),
        scales=(positive[..., q : q + qd] + SCALE_LOW).reshape(grid),
        means=raw[..., layout.head : -1].reshape(grid),
        output=positive[..., -2],
        mean=raw[..., -1],
        noise=positive[..., -1] + NOISE_LOW,
    )


def raw_alpha(alpha: float, cap: float) -> float:
    """The raw number for ``alpha``, moved to at most ``cap``.

    alpha = 2 is the open end of the interval: its raw number is +inf, no step leads away from it, and every L-BFGS fit
    that starts there fails. Starting values therefore stay below 2.
    """
    p = (min(alpha, cap) - ALPHA_LOW) / (ALPHA_HIGH - ALPHA_LOW)
    return math.log(p) - math.log1p(-p)


def initial_raw(layout: ParameterLayout, means: torch.Tensor, alpha_cap: float) -> torch.Tensor:
    """The starting vector (size,): alpha evenly spaced on [1, 2] below ``alpha_cap``, equal weights, log 2 for scales and
    output scale, noise variance 0.2, constant mean 0, and the given (Q, d) spectral means.
    """
    q = layout.mixtures
    spaced = [1.0] if q == 1 else [1.0 + j / (q - 1) for j in range(q)]
    raw = torch.zeros(layout.size, dtype=torch.float64)
    raw[:q] = torch.tensor([raw_alpha(a, alpha_cap) for a in spaced], dtype=torch.float64)
    raw[layout.head - 1] = inverse_softplus(NOISE_START - NOISE_LOW)
    raw[layout.head : -1] = means.reshape(-1)
    return raw


def log_distance(difference: torch.Tensor) -> torch.Tensor:
    """log|D| elementwise, with the floor LOG_ZERO where D is zero."""
    return difference.abs().log_().clamp_(min=LOG_ZERO)


@dataclass(frozen=True)
class Pairs:
    """The pairs i < j of n points: differences and log distances (P, d), and how pairs and matrix entries correspond.

    ``positions`` (P,) are the flat places of the pairs in an n by n matrix; ``entries`` (n n,) says which of the values
    (diagonal, pair 0, pair 1, ...) each place takes.
    """

    n: int
    difference: torch.Tensor
    log: torch.Tensor
    positions: torch.Tensor
    entries: torch.Tensor

    @classmethod
    def of(cls, points: torch.Tensor) -> Pairs:
        """The pairs of the (n, d) ``points``."""
        n = points.shape[0]
        rows, columns = torch.triu_indices(n, n, offset=1, device=points.device)
        difference = points[rows] - points[columns]
        entries = torch.zeros((n, n), dtype=torch.long, device=points.device)
        entries[rows, columns] = entries[columns, rows] = torch.arange(1, len(rows) + 1, device=points.device)
        return cls(n, difference, log_distance(difference), rows * n + columns, entries.reshape(-1))


def fill(diagonal: torch.Tensor, off: torch.Tensor, pairs: Pairs) -> torch.Tensor:
    """The symmetric (..., n, n) matrices with a constant diagonal (...) and the pair values ``off`` (..., P)."""
    values = torch.cat([diagonal.unsqueeze(-1), off], dim=-1)
    return values.index_select(-1, pairs.entries).view(*off.shape[:-1], pairs.n, pairs.n)


def gram(p: Parameters, pairs: Pairs) -> torch.Tensor:
    """The noise-free covariance (n, n) of the points behind ``pairs``; the diagonal is exactly the output scale."""
    power = p.alpha.unsqueeze(-1).unsqueeze(-1) * (pairs.log + torch.log(TWO_PI * p.scales).unsqueeze(-2))
    envelope = power.exp_().sum(-1).neg_().exp_()
    phase = TWO_PI * (p.means @ pairs.difference.T)
    return fill(p.output, p.output * (p.weights @ (envelope * phase.cos_())), pairs)


def cross(p: Parameters, difference: Sequence[torch.Tensor], log: Sequence[torch.Tensor]) -> torch.Tensor:
    """The covariances (n, m) of n observations with m candidates, one observation at a time.

    ``difference[i]`` and ``log[i]`` are the (d, m) differences of observation i to the candidates and their log distances.
    One observation's (d, m) slab fits in the second-level cache; all of them together do not.
    """
    n, (d, m) = len(difference), difference[0].shape
    out = difference[0].new_empty((n, m))
    slab = difference[0].new_empty((d, m))
    shift = p.alpha.unsqueeze(-1) * torch.log(TWO_PI * p.scales)
    alpha = p.alpha.tolist()
    columns = [shift[q].unsqueeze(-1) for q in range(len(alpha))]
    factor = (p.output * p.weights).unsqueeze(0)
    spectral = TWO_PI * p.means
    for i in range(n):
        mixed = torch.matmul(spectral, difference[i]).cos_()
        for q, a in enumerate(alpha):
            torch.add(columns[q], log[i], alpha=a, out=slab)
            mixed[q].mul_(slab.exp_().sum(0).neg_().exp_())
        out[i] = (factor @ mixed)[0]
    return out

"""Many deep additive kernel networks as one: every parameter carries a leading net dimension.

One net is d -> 64 -> 32 -> 16 -> P (ReLU after the first two), one affine map of all coordinates to the bounds of the
inducing grid, the GP activation of each coordinate, and a mean-field Gaussian last layer with a scale per coordinate
and one learned noise level. Biases of the P coordinates are independent draws that share their two parameters, hence

    mean(x) = sum_d s_d (phi_d . mu_d + mu_b)
    var(x)  = sum_d s_d^2 (sum_m phi_dm^2 sigma_dm^2 + sigma_b^2).

The networks are so small that a framework's bookkeeping costs more than their arithmetic; the gradient of the
expected log likelihood is therefore written out (and checked against automatic differentiation in the tests).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import softplus

from orledger.runners.case_b.activation import Activation, features

if TYPE_CHECKING:
    from collections.abc import Sequence

LAST_LAYER = ("mu", "rho", "mu_bias", "rho_bias", "scale", "noise")

ALIGNMENT = 16
"""Every parameter block, and every row of inputs, starts at a multiple of this many numbers (64 bytes or more).

Matrix kernels round differently for operands that are aligned differently. With equal alignment a net's arithmetic is
the same wherever it stands in a batch.
"""


def padded(size: int) -> int:
    """``size`` rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Shape:
    """Sizes of one net: inputs, hidden widths, embedding coordinates P, features per coordinate M."""

    inputs: int
    hidden: tuple[int, ...]
    coordinates: int
    points: int

    @property
    def widths(self) -> tuple[int, ...]:
        """Layer widths from the input to the embedding."""
        return (self.inputs, *self.hidden, self.coordinates)

    def blocks(self) -> list[tuple[str, tuple[int, ...]]]:
        """Name and shape (without the net dimension) of every parameter, in the order of the flat vector."""
        out: list[tuple[str, tuple[int, ...]]] = []
        for k, (fan_in, fan_out) in enumerate(zip(self.widths, self.widths[1:], strict=False)):
            out += [(f"W{k}", (fan_in, fan_out)), (f"b{k}", (1, fan_out))]
        columns = self.coordinates * self.points
        sizes = {"mu": columns, "rho": columns, "mu_bias": 1, "rho_bias": 1, "scale": self.coordinates, "noise": 1}
        return out + [(name, (sizes[name],)) for name in LAST_LAYER]

    @property
    def size(self) -> int:
        """Length of one net's flat vector, padding included."""
        return sum(padded(int(torch.Size(shape).numel())) for _, shape in self.blocks())


def views(flat: torch.Tensor, shape: Shape) -> dict[str, torch.Tensor]:
    """Named views (N, ...) into the flat parameters (N, D); writing to a view writes to ``flat``."""
    out, start = {}, 0
    for name, size in shape.blocks():
        count = int(torch.Size(size).numel())
        out[name] = flat[:, start : start + count].unflatten(1, size)
        start += padded(count)
    return out


def initial(
    shape: Shape, generators: Sequence[torch.Generator], dtype: torch.dtype, device: str, noise: float = -2.0
) -> torch.Tensor:
    """Flat parameters (N, D), net i drawn from ``generators[i]`` alone (in float64 on the CPU, then moved).

    Linear layers: uniform within 1/sqrt(fan_in), weights and biases; means N(0, 0.1^2), rho N(-3, 0.1^2), coordinate
    scales 0 and ``noise`` before softplus.
    """
    flat = torch.zeros(len(generators), shape.size, dtype=torch.float64)
    named = views(flat, shape)
    for i, g in enumerate(generators):
        for k, fan_in in enumerate(shape.widths[:-1]):
            for name in (f"W{k}", f"b{k}"):
                named[name][i] = (
                    torch.rand(named[name][i].shape, generator=g, dtype=torch.float64) * 2 - 1
                ) / fan_in**0.5
        for name, centre in (("mu", 0.0), ("mu_bias", 0.0), ("rho", -3.0), ("rho_bias", -3.0)):
            named[name][i] = centre + 0.1 * torch.randn(named[name][i].shape, generator=g, dtype=torch.float64)
    named["noise"].fill_(noise)
    return flat.to(device=device, dtype=dtype)


@dataclass(frozen=True)
class Bounds:
    """The map of the embedding to the grid: raw range (N, 1, 1) each, target interval, and the margin kept inside it."""

    low: torch.Tensor
    high: torch.Tensor


@dataclass(frozen=True)
class Network:
    """The architecture shared by all nets of a batch: sizes, activation, target interval of the embedding."""

    shape: Shape
    activation: Activation
    low: float
    high: float
    margin: float  # the embedding fills this fraction of (low, high)
    clamp: bool = True  # evaluated rows outside the frozen range are moved to its ends

    @property
    def columns(self) -> int:
        """Number of feature columns, P * M."""
        return self.shape.coordinates * self.shape.points

    def embed(self, p: dict[str, torch.Tensor], x: torch.Tensor) -> list[torch.Tensor]:
        """Outputs of all layers for inputs x (N, B, d): hidden layers after their nonlinearity, then the embedding z."""
        out = [x]
        last = len(self.shape.widths) - 2
        for k in range(last + 1):
            h = torch.baddbmm(p[f"b{k}"], out[-1], p[f"W{k}"])
            out.append(h.relu_() if k < 2 else h)
        return out

    def range_of(self, z: torch.Tensor) -> Bounds:
        """One minimum and one maximum per net over rows and coordinates of z (N, B, P)."""
        flat = z.flatten(1)
        return Bounds(low=flat.amin(1)[:, None, None], high=flat.amax(1)[:, None, None])

    def to_grid(self, z: torch.Tensor, bounds: Bounds) -> torch.Tensor:
        """The embedding mapped affinely so that ``bounds`` lands on margin * (low, high); outside values clamped if asked."""
        span = (bounds.high - bounds.low).clamp_min(torch.finfo(z.dtype).tiny)
        if self.clamp:
            z = torch.minimum(torch.maximum(z, bounds.low), bounds.high)
        return (z - bounds.low) * (self.margin * (self.high - self.low) / span) + self.margin * self.low

    def phi(self, p: dict[str, torch.Tensor], x: torch.Tensor, bounds: Bounds | None = None) -> torch.Tensor:
        """Feature columns (N, B, P * M) at x; ``bounds`` None takes the range of these very rows (the released train mode)."""
        z = self.embed(p, x)[-1]
        return features(self.to_grid(z, bounds or self.range_of(z)), self.activation)

    def moments(self, p: dict[str, torch.Tensor], phi: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Closed-form mean and variance (N, B) of the last layer's output, noise excluded."""
        s = softplus(p["scale"])
        per_column = s.repeat_interleave(self.shape.points, dim=1)
        mean = torch.bmm(phi, (per_column * p["mu"]).unsqueeze(-1)).squeeze(-1) + p["mu_bias"] * s.sum(1, keepdim=True)
        weights = (per_column * softplus(p["rho"])).square().unsqueeze(-1)
        bias = softplus(p["rho_bias"]).square() * s.square().sum(1, keepdim=True)
        return mean, torch.bmm(phi.square(), weights).squeeze(-1) + bias

    def noise(self, p: dict[str, torch.Tensor]) -> torch.Tensor:
        """Learned noise standard deviation, (N,)."""
        return softplus(p["noise"]).squeeze(-1)

    def divergence(self, p: dict[str, torch.Tensor], prior_variance: torch.Tensor) -> torch.Tensor:
        """KL of the last layer to N(0, prior_variance) on the columns (N, P * M) and N(0, 1) on the P biases; (N,)."""

        def kl(mean: torch.Tensor, variance: torch.Tensor, prior: torch.Tensor | float) -> torch.Tensor:
            ratio = variance / prior
            return 0.5 * (ratio + mean.square() / prior - 1 - ratio.log()).sum(1)

        weights = kl(p["mu"], softplus(p["rho"]).square(), prior_variance)
        return weights + self.shape.coordinates * kl(p["mu_bias"], softplus(p["rho_bias"]).square(), 1.0)

    def gradient(
        self,
        p: dict[str, torch.Tensor],
        x: torch.Tensor,
        y: torch.Tensor,
        kl_weight: torch.Tensor,
        prior_variance: torch.Tensor,
        out: dict[str, torch.Tensor],
    ) -> None:
        """Write the gradient of the minibatch objective into ``out`` (views of the flat gradient).

        The objective of each net is the mean over its rows of -E_q log N(y | f, noise^2), plus ``kl_weight`` (N, 1) times
        the divergence. Rows x (N, B, d), targets y (N, B). The range of the embedding is the minibatch's own, and the
        gradient passes through its two ends.
        """
        nets, rows, P, M = x.shape[0], x.shape[1], self.shape.coordinates, self.shape.points
        layers = self.embed(p, x)
        z = layers[-1].flatten(1)
        top, top_at = z.max(1, keepdim=True)
        bottom, bottom_at = z.min(1, keepdim=True)
        span = (top - bottom).clamp_min_(torch.finfo(z.dtype).tiny)
        unit = (z - bottom).div_(span)
        gain = self.margin * (self.high - self.low)
        u = (unit * gain).add_(self.margin * self.low)
        offset = u.unsqueeze(-1) - self.activation.points
        k = torch.exp(-offset.abs())
        phi = torch.matmul(k, self.activation.inverse_root).view(nets, rows, P * M)

        s, sigma, sigma_bias, noise = (softplus(p[name]) for name in ("scale", "rho", "rho_bias", "noise"))
        per_column = s.repeat_interleave(M, dim=1)
        mean_weight = per_column * p["mu"]
        root_weight = per_column * sigma
        variance_weight = root_weight.square()
        total = s.sum(1, keepdim=True)
        squares = phi.square()
        mean = torch.bmm(phi, mean_weight.unsqueeze(-1)).squeeze(-1).add_(p["mu_bias"] * total)
        variance = torch.bmm(squares, variance_weight.unsqueeze(-1)).squeeze(-1)
        variance += sigma_bias.square() * s.square().sum(1, keepdim=True)

        precision = noise.square().reciprocal()
        residual = mean - y
        d_mean = residual * (precision / rows)
        d_variance = precision / (2 * rows)  # the same for every row
        misfit = residual.square_().add_(variance).mean(1, keepdim=True)
        out["noise"].copy_((1 / noise - misfit * precision / noise) * torch.sigmoid(p["noise"]))

        d_mean_weight = torch.bmm(d_mean.unsqueeze(1), phi).squeeze(1)
        d_variance_weight = squares.sum(1) * d_variance
        d_total = d_mean.sum(1, keepdim=True)
        d_bias_variance = d_variance * rows
        prior_bias = kl_weight * P
        out["mu"].copy_(d_mean_weight * per_column + kl_weight * p["mu"] / prior_variance)
        d_sigma = 2 * d_variance_weight * root_weight * per_column + kl_weight * (sigma / prior_variance - 1 / sigma)
        out["rho"].copy_(d_sigma * torch.sigmoid(p["rho"]))
        out["mu_bias"].copy_(d_total * total + prior_bias * p["mu_bias"])
        d_sigma_bias = 2 * d_bias_variance * sigma_bias * s.square().sum(1, keepdim=True)
        d_sigma_bias = d_sigma_bias + prior_bias * (sigma_bias - 1 / sigma_bias)
        out["rho_bias"].copy_(d_sigma_bias * torch.sigmoid(p["rho_bias"]))
        d_per_column = d_mean_weight * p["mu"] + 2 * d_variance_weight * root_weight * sigma
        d_s = d_per_column.view(nets, P, M).sum(2) + d_total * p["mu_bias"]
        d_s = d_s + 2 * d_bias_variance * sigma_bias.square() * s
        out["scale"].copy_(d_s * torch.sigmoid(p["scale"]))

        d_phi = phi.mul_((2 * d_variance * variance_weight).unsqueeze(1))
        d_phi.addcmul_(d_mean.unsqueeze(-1), mean_weight.unsqueeze(1))
        d_k = torch.matmul(d_phi.view(nets, rows * P, M), self.activation.inverse_root.T)
        d_u = d_k.mul_(k).mul_(offset.sign_()).sum(-1).mul_(-gain / span)
        # u = gain (z - bottom) / (top - bottom) + const: the two ends move every coordinate.
        leverage = (d_u * unit).sum(1, keepdim=True)
        d_z = d_u.scatter_add(1, bottom_at, leverage - d_u.sum(1, keepdim=True)).scatter_add_(1, top_at, -leverage)
        delta = d_z.view(nets, rows, P)
        for layer in range(len(self.shape.widths) - 2, -1, -1):
            if layer < 2:
                delta = delta * (layers[layer + 1] > 0)
            out[f"W{layer}"].copy_(torch.bmm(layers[layer].transpose(1, 2), delta))
            out[f"b{layer}"].copy_(delta.sum(1, keepdim=True))
            if layer:
                delta = torch.bmm(delta, p[f"W{layer}"].transpose(1, 2))

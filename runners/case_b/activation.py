"""The one-dimensional GP activation: features of the Laplace kernel on a dyadic grid, ordered by level.

With inducing points U and K = k(U, U) = R^T R (R upper triangular) the features are phi(z) = k(z, U) R^-1, so that
phi(U) phi(U)^T = K exactly. The Laplace kernel is Markov: a point separates what lies on its two sides, so with coarse
levels first each basis function vanishes outside the interval between its neighbours of coarser level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Activation:
    """The grid, its levels and R^-1 for ``2**depth - 1`` inducing points inside (low, high); length scale 1."""

    points: torch.Tensor  # (M,) inducing points, coarse levels first
    levels: tuple[int, ...]  # (M,) dyadic level of each point: 1 for the midpoint
    inverse_root: torch.Tensor  # (M, M) upper triangular R^-1

    @property
    def size(self) -> int:
        """M, the number of features per coordinate."""
        return len(self.levels)


def dyadic_points(low: float, high: float, depth: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """The interior points low + (high - low) j / 2^depth sorted by level, and the level of each."""
    fractions, levels = [], []
    for level in range(1, depth + 1):
        for odd in range(1, 2**level, 2):
            fractions.append(odd / 2**level)
            levels.append(level)
    return low + (high - low) * np.array(fractions), tuple(levels)


def make_activation(
    low: float, high: float, depth: int, *, dtype: torch.dtype = torch.float64, device: str = "cpu"
) -> Activation:
    """The activation on the dyadic grid of (low, high); the factor is computed in float64 and then cast."""
    points, levels = dyadic_points(low, high, depth)
    lower = np.linalg.cholesky(np.exp(-np.abs(points[:, None] - points[None, :])))
    inverse_root = np.triu(np.linalg.inv(lower).T)
    return Activation(
        points=torch.as_tensor(points, dtype=dtype, device=device),
        levels=levels,
        inverse_root=torch.as_tensor(inverse_root, dtype=dtype, device=device),
    )


def kernel_columns(z: torch.Tensor, activation: Activation) -> torch.Tensor:
    """k(z, U), shape (*z.shape, M)."""
    return torch.exp(-(z.unsqueeze(-1) - activation.points).abs_())


def features(z: torch.Tensor, activation: Activation) -> torch.Tensor:
    """phi(z) for every coordinate of ``z`` (..., P), laid out as (..., P * M) with the points of one coordinate together."""
    return (kernel_columns(z, activation) @ activation.inverse_root).flatten(-2)

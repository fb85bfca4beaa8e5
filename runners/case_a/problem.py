"""The boundary-value problem -Lap u + u^3 = f on the unit square with zero boundary values: forcings, points, noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orledger.errors import UsageError
from orledger.runners.seeds import generator

Field = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Forcing:
    """A forcing known through its exact solution u; ``minus_laplacian`` is -Lap u in closed form."""

    name: str
    solution: Field
    minus_laplacian: Field

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """F = -Lap u + u^3 at the points (x, y)."""
        return self.minus_laplacian(x, y) + self.solution(x, y) ** 3


def _two_sines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.sin(np.pi * x) * np.sin(np.pi * y) + 4 * np.sin(4 * np.pi * x) * np.sin(4 * np.pi * y)


def _two_sines_laplacian(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    low, high = np.sin(np.pi * x) * np.sin(np.pi * y), np.sin(4 * np.pi * x) * np.sin(4 * np.pi * y)
    return 2 * np.pi**2 * low + 4 * 32 * np.pi**2 * high


_WAVE = (2 * np.pi, 4 * np.pi)


def _oblique(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return 48 * x * (1 - x) * y * (1 - y) * np.cos(_WAVE[0] * x + _WAVE[1] * y)


def _oblique_laplacian(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b = _WAVE
    p, q, phase = x * (1 - x), y * (1 - y), a * x + b * y
    even = (2 * (p + q) + (a * a + b * b) * p * q) * np.cos(phase)
    odd = 2 * (a * (1 - 2 * x) * q + b * p * (1 - 2 * y)) * np.sin(phase)
    return 48 * (even + odd)


FORCINGS = {
    "two_sines": Forcing("two_sines", _two_sines, _two_sines_laplacian),
    "oblique": Forcing("oblique", _oblique, _oblique_laplacian),
}
"""``two_sines`` is the paper's; ``oblique`` is 48 x(1-x) y(1-y) cos(2 pi x + 4 pi y), whose waves run askew to the grid."""


def interior(n: int) -> np.ndarray:
    """The n collocation coordinates per side: n + 2 equally spaced points without the two ends."""
    return np.linspace(0, 1, n + 2)[1:-1]


def collocation(n: int) -> np.ndarray:
    """The n^2 collocation points, shape (n^2, 2), the second coordinate running fastest."""
    return _tensor(interior(n))


def boundary(n: int) -> np.ndarray:
    """The 4n - 4 boundary points, shape (4n - 4, 2): the sides x = 0 and 1 with corners, then y = 0 and 1 without."""
    s = np.linspace(0, 1, n)
    sides = [np.column_stack([np.full(n, v), s]) for v in (0.0, 1.0)]
    return np.vstack(sides + [np.column_stack([s[1:-1], np.full(n - 2, v)]) for v in (0.0, 1.0)])


def evaluation(side: int, low: float, high: float) -> np.ndarray:
    """The side^2 points at which certificates are given, shape (side^2, 2), row by row."""
    return _tensor(np.linspace(low, high, side))


def _tensor(t: np.ndarray) -> np.ndarray:
    return np.column_stack([a.ravel() for a in np.meshgrid(t, t, indexing="ij")])


@dataclass(frozen=True)
class Data:
    """One cell's data: forcing on the grid (n, n), the noise added to it, and what is known about that noise.

    ``eta`` = sigma n is the budget the rules and certificates are given; a draw whose norm exceeds it is outside the
    class for which the certificates promise anything, so the norm is kept beside it.
    """

    forcing: Forcing
    n: int
    clean: np.ndarray
    noise: np.ndarray
    std_f: float
    sigma: float
    eta: float

    @property
    def values(self) -> np.ndarray:
        """The noisy forcing (n, n)."""
        return self.clean + self.noise

    @property
    def noise_norm(self) -> float:
        """2-norm of the noise that was drawn."""
        return float(np.linalg.norm(self.noise))

    def truth(self, points: np.ndarray) -> np.ndarray:
        """The exact solution at points (k, 2)."""
        return self.forcing.solution(points[:, 0], points[:, 1])


def draw(forcing: str, n: int, level: float, seed: int, stream: str) -> Data:
    """The data of a cell at relative noise ``level`` (sigma = level times the standard deviation of f on the grid).

    stream "per_seed": NumPy's default generator seeded with ``seed``, so levels share a draw up to scale; "per_cell": a
    generator named by grid, level and seed, so every cell has a draw of its own.
    """
    if forcing not in FORCINGS:
        raise UsageError(f"unknown forcing {forcing!r}", hint=f"one of {', '.join(FORCINGS)}")
    chosen, points = FORCINGS[forcing], collocation(n)
    clean = chosen(points[:, 0], points[:, 1]).reshape(n, n)
    std = float(np.std(clean))
    sigma = level * std
    rng = np.random.default_rng(seed) if stream == "per_seed" else generator("case_a", "noise", n, level, seed)
    noise = sigma * rng.standard_normal(n * n).reshape(n, n) if level else np.zeros((n, n))
    return Data(chosen, n, clean, noise, std, sigma, sigma * n)


def ulp_perturbed(values: np.ndarray, repeat: int) -> np.ndarray:
    """``values`` with every entry moved to a neighbouring float64, up or down by a draw named by ``repeat``."""
    up = generator("case_a", "ulp", int(values.shape[0]), repeat).random(values.shape) < 0.5
    return np.nextafter(values, np.where(up, np.inf, -np.inf))

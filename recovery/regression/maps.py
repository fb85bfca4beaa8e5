"""Feature maps: the rows of X as given, or the features of a kernel (Nyström or random), with a length scale chosen from data."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery.regression.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

KERNELS = ("linear", "rbf", "matern", "additive")
"""linear: the columns themselves; matern: smoothness 5/2; additive: the mean of one squared-exponential kernel per column."""

APPROXIMATIONS = ("nystroem", "random")

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The automatic length scale is one of these multiples of the median distance between rows."""

SAME = 1e-6
"""Rows within this share of the largest distance count as equal: what their inner products say of a difference is rounding."""

PILOT = 1000
"""Rows that the automatic length scale is chosen on, at most."""


@dataclass(frozen=True)
class FeatureMap:
    """A map from rows X (n, p) to features (n, d).

    centre and scale (p,) standardise X first (kernels only); anchors: landmarks (M, p) or frequencies (p, M); factor: the inverse
    root of the landmarks' Gram matrix (M, d), or the phases (M,) of random features.
    """

    kernel: str
    approximation: str
    length: float
    centre: np.ndarray
    scale: np.ndarray
    anchors: np.ndarray | None = None
    factor: np.ndarray | None = None

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The features (n, d) of rows X (n, p)."""
        if self.anchors is None or self.factor is None:
            return X
        Z = (X - self.centre) / self.scale
        if self.approximation == "nystroem":
            return _kernel(self.kernel)(Z, self.anchors, self.length) @ self.factor
        return np.sqrt(2 / self.anchors.shape[1]) * np.cos(Z @ (self.anchors / self.length) + self.factor)

    def unseen(self, Phi: np.ndarray) -> np.ndarray:
        """The squared part (n,) of each row's kernel function outside the landmarks' span, from its features Phi (n, d).

        It is 1 - |Phi|^2 for Nyström features and grows to 1 away from the landmarks; 0 for maps without a kernel behind them.
        """
        if self.kernel == "linear" or self.approximation != "nystroem":
            return np.zeros(len(Phi))
        return np.maximum(1 - (Phi * Phi).sum(1), 0.0)


def fit_map(
    X: np.ndarray,
    kernel: str,
    approximation: str,
    length: float,
    size: int,
    rng: np.random.Generator,
) -> FeatureMap:
    """The map of `kernel` with `size` landmarks or random features, standardised on and drawn from the rows X (n, p)."""
    centre, scale = X.mean(0), X.std(0)
    scale = np.where(scale > 64 * np.finfo(float).eps * np.abs(X).max(0), scale, 1.0)
    plain = FeatureMap(kernel, approximation, length, centre, scale)
    if kernel == "linear":
        return plain
    if approximation == "random":
        frequencies = _frequencies(kernel, X.shape[1], size, rng)
        return FeatureMap(kernel, approximation, length, centre, scale, frequencies, rng.uniform(0, 2 * np.pi, size))
    Z = (X - centre) / scale
    marks = np.unique(Z[rng.permutation(len(Z))[:size]], axis=0)
    w, Q = np.linalg.eigh(_kernel(kernel)(marks, marks, length))
    keep = w > 1e-12 * w[-1]
    return FeatureMap(kernel, approximation, length, centre, scale, marks, Q[:, keep] / np.sqrt(w[keep]))


def median_distance(X: np.ndarray, rng: np.random.Generator) -> float:
    """The median distance between distinct standardised rows of a sample of X; 1 when all rows are equal."""
    scale = X.std(0)
    Z = ((X - X.mean(0)) / np.where(scale > 0, scale, 1.0))[rng.permutation(len(X))[:500]]
    distances = np.sqrt(_squares(Z, Z))[np.triu_indices(len(Z), 1)]
    distances = distances[distances > SAME * distances.max(initial=0.0)]
    return float(np.median(distances)) if len(distances) else 1.0


def choose_length(
    X: np.ndarray,
    y: np.ndarray,
    kernel: str,
    approximation: str,
    size: int,
    rng: np.random.Generator,
    loss: Callable[[np.ndarray, np.ndarray], float],
) -> float:
    """The multiple of the median distance whose features have the smallest `loss(features, y)` on at most PILOT rows."""
    base = median_distance(X, rng) if kernel != "additive" else 1.0
    rows = rng.permutation(len(X))[:PILOT]
    seeds = rng.integers(2**63, size=1)
    trials = {}
    for multiple in MULTIPLES:
        trial = fit_map(X[rows], kernel, approximation, base * multiple, min(size, 200), np.random.default_rng(seeds))
        trials[multiple] = loss(trial(X[rows]), y[rows])
    return base * min(trials, key=lambda m: trials[m])


def _squares(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.maximum((A * A).sum(1)[:, None] + (B * B).sum(1)[None] - 2 * A @ B.T, 0.0)


def _rbf(A: np.ndarray, B: np.ndarray, length: float) -> np.ndarray:
    return np.exp(-0.5 * _squares(A, B) / length**2)


def _matern(A: np.ndarray, B: np.ndarray, length: float) -> np.ndarray:
    r = np.sqrt(5 * _squares(A, B)) / length
    return (1 + r + r * r / 3) * np.exp(-r)


def _additive(A: np.ndarray, B: np.ndarray, length: float) -> np.ndarray:
    total = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        total += np.exp(-0.5 * ((a[:, None] - b[None, :]) / length) ** 2)
    return total / A.shape[1]


def _kernel(name: str) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    return {"rbf": _rbf, "matern": _matern, "additive": _additive}[name]


def _frequencies(kernel: str, p: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Frequencies (p, size) at unit length scale from the kernel's spectral law: normal, Student with 5 degrees, one column each."""
    draws = rng.standard_normal((p, size))
    if kernel == "matern":
        return draws / np.sqrt(rng.chisquare(5, size) / 5)
    if kernel == "additive":
        return draws * (np.arange(p)[:, None] == np.arange(size)[None, :] % p)
    return draws


def check_map(kernel: str, approximation: str, size: int, length: float | str) -> None:
    """Nothing, or a ParameterError that names the setting of a feature map that cannot be used."""
    if not (isinstance(kernel, str) and kernel in KERNELS):
        raise ParameterError(f"kernel = {kernel!r}; known kernels are {', '.join(KERNELS)}")
    if not (isinstance(approximation, str) and approximation in APPROXIMATIONS):
        raise ParameterError(f"approximation = {approximation!r}; use 'nystroem' or 'random'")
    if not (isinstance(size, (int, np.integer)) and size >= 1):
        raise ParameterError(f"n_features = {size!r}; a whole number of at least 1 is needed")
    if not (length == "auto" if isinstance(length, str) else isinstance(length, Real) and 1e-75 <= length <= 1e75):
        raise ParameterError(
            f"length_scale = {length!r:.40}; use 'auto' or a number from 1e-75 to 1e75, in standard deviations of the columns"
        )

"""Model: a feature map, one factorisation and a head per output; what is refitted for every fold of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery.regression.factor import Sums, factor_rows, factor_sums, row_blocks
from orledger.recovery.regression.head import best_multiplier, fit_head, with_local_scale, with_trust
from orledger.recovery.regression.maps import choose_length, fit_map
from orledger.recovery.regression.rounding import Rounded, centre_error, feature_error, scale_error, spread_error

if TYPE_CHECKING:
    from orledger.recovery.regression.factor import Factor
    from orledger.recovery.regression.head import Block, Head
    from orledger.recovery.regression.maps import FeatureMap

SCORES = ("adaptive", "certificate", "local", "absolute")
"""What a residual is divided by: the certificate's shape times a fitted local scale, one of the two, or nothing."""

TRUST_ROWS = 20_000
"""Rows, at most, on which it is decided how far residuals bear out the certificate's shape."""

SVD_ENTRIES = 4_000_000
"""Designs of up to this many numbers, or wider than long, are factored whole; larger ones through their normal equations."""


@dataclass(frozen=True)
class Settings:
    """How a model is fitted: the feature map, the noise rule, whether columns are standardised, and the score's divisor."""

    kernel: str
    approximation: str
    length_scale: float | str
    n_features: int
    noise: float | str
    standardize: bool
    score: str

    @property
    def columns(self) -> str:
        """What is done to feature columns; see `factor_rows`."""
        return "raw" if self.kernel != "linear" else "standardized" if self.standardize else "centred"


@dataclass(frozen=True)
class CertifiedModel:
    """A fitted model: rows X (n, p) to centres and spreads (n, q), one column per output."""

    features: FeatureMap
    factor: Factor
    heads: tuple[Head, ...]
    score: str
    solver: str

    def columns(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(centred, scaled features (n, live) of rows X, the squared part (n,) of each that the features do not span)."""
        Phi = self.features(X)
        return self.factor.columns(Phi), self.features.unseen(Phi)

    def centre(self, X: np.ndarray) -> np.ndarray:
        """The predictions (n, q)."""
        out = np.empty((len(X), len(self.heads)))
        for rows in row_blocks(len(X), max(len(self.factor.mean), X.shape[1])):
            Z, _ = self.columns(X[rows])
            for j, head in enumerate(self.heads):
                out[rows, j] = head.predict(Z)
        return out

    def rounded(self, X: np.ndarray) -> Rounded:
        """Predictions and what residuals are divided by, each (n, q), with what rounding can do to them."""
        found = Rounded(*(np.ones((len(X), len(self.heads))) for _ in range(4)))
        live, scale = self.factor.live, self.factor.scale
        for rows in row_blocks(len(X), max(len(self.factor.mean), X.shape[1])):
            Z, unseen = self.columns(X[rows])
            row, feature = feature_error(self.features, X[rows])
            feature = feature[live] / scale
            for j, head in enumerate(self.heads):
                found.centre[rows, j] = head.predict(Z)
                found.slack[rows, j] = centre_error(head, Z, row, feature)
                if self.score in ("adaptive", "certificate"):
                    spread = head.spread(Z, unseen)
                    found.spread[rows, j] *= spread
                    found.stretch[rows, j] *= spread_error(head, Z, spread, row, feature)
                if self.score in ("adaptive", "local"):
                    found.spread[rows, j] *= head.local_scale(Z)
                    found.stretch[rows, j] *= scale_error(head, Z, row, feature)
        return found


def fit_model(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, settings: Settings, rng: np.random.Generator
) -> CertifiedModel:
    """The model of rows X (n, p), targets y (n, q) and weights (n,), fitted whole or in blocks according to its size."""
    features = _map(X, y, settings, rng)
    width = features(X[:1]).shape[1]
    if len(X) * width <= SVD_ENTRIES or len(X) <= width:
        factor, solver = factor_rows(features(X), y, weight, settings.columns), "svd"
    else:
        sums = None
        for rows in row_blocks(len(X), width):
            Phi = features(X[rows])
            sums = Sums.start(Phi, y[rows]) if sums is None else sums
            sums.add(Phi, y[rows], None if weight is None else weight[rows])
        assert sums is not None
        factor, solver = factor_sums(sums, settings.columns), "normal"
    heads = tuple(fit_head(factor, j, settings.noise) for j in range(y.shape[1]))
    if settings.score in ("adaptive", "certificate"):
        some = rng.permutation(len(X))[:TRUST_ROWS]
        heads = tuple(
            with_trust(head, _block(X, y[:, j], weight, features, factor, some)) for j, head in enumerate(heads)
        )
    if settings.score in ("adaptive", "local"):
        parts = list(row_blocks(len(X), max(len(factor.mean), X.shape[1])))
        heads = tuple(
            with_local_scale(head, (_block(X, y[:, j], weight, features, factor, rows) for rows in parts))
            for j, head in enumerate(heads)
        )
    return CertifiedModel(features, factor, heads, settings.score, solver)


def model_of_sums(sums: Sums, features: FeatureMap, settings: Settings) -> CertifiedModel:
    """The model of sums over blocks that are gone; without rows there is no local scale, only the certificate's shape."""
    factor = factor_sums(sums, settings.columns)
    heads = tuple(fit_head(factor, j, settings.noise) for j in range(len(factor.y_mean)))
    return CertifiedModel(features, factor, heads, settings.score, "normal")


def _map(X: np.ndarray, y: np.ndarray, settings: Settings, rng: np.random.Generator) -> FeatureMap:
    kernel, kind, size, length = settings.kernel, settings.approximation, settings.n_features, settings.length_scale
    if kernel == "linear":
        value = 1.0
    elif isinstance(length, str):
        value = choose_length(X, y, kernel, kind, size, rng, leave_one_out_error)
    else:
        value = float(length)
    return fit_map(X, kernel, kind, value, size, rng)


def leave_one_out_error(Phi: np.ndarray, y: np.ndarray) -> float:
    """The mean squared leave-one-out error of ridge on features Phi (n, d), in variances of y (n, q), summed over outputs."""
    factor = factor_rows(Phi, y, None, "raw")
    if factor.rows is None or len(factor.s) == 0:
        return float("inf")
    left, targets, _ = factor.rows
    error = 0.0
    for j in range(y.shape[1]):
        gain = 1 - 1 / (1 + best_multiplier(factor, j) * factor.s**2)
        leverage = np.minimum((left * left) @ gain + 1 / len(y), 1 - 1e-9)
        residual = (targets[:, j] - left @ (gain * factor.yt[:, j])) / (1 - leverage)
        error += float(np.mean(residual**2)) / (float(np.var(targets[:, j])) or 1.0)
    return error


def _block(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    features: FeatureMap,
    factor: Factor,
    rows: slice | np.ndarray,
) -> Block:
    Phi = features(X[rows])
    w = np.ones(len(Phi)) if weight is None else weight[rows]
    return factor.columns(Phi), features.unseen(Phi), y[rows], w

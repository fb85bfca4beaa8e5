"""Calibrators: held-out scores of a fitted model (split), or of one model per fold (cross), and the intervals they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery.regression.calibration import (
    cross_edges,
    cross_guarantee,
    cross_level,
    edges,
    folds,
    score_quantile,
    weighted_quantiles,
)
from orledger.recovery.regression.model import fit_model

if TYPE_CHECKING:
    from orledger.recovery.regression.model import CertifiedModel, Settings


@dataclass(frozen=True)
class SplitCalibration:
    """Scores (n, q) of held-out rows X (n, p) under one model that has not seen them."""

    model: CertifiedModel
    X: np.ndarray
    scores: np.ndarray

    def level(self, level: float) -> float:
        """The level achieved, order / (n + 1): the one asked for rounded up, or less when n is too small for it."""
        return score_quantile(self.scores[:, 0], level).level

    def guarantee(self, level: float) -> float:
        """The coverage that holds for every exchangeable sample: the level achieved."""
        return self.level(level)

    def intervals(self, X: np.ndarray, level: float) -> np.ndarray:
        """Lower and upper edges (m, 2, q) at rows X (m, p)."""
        centre, spread = self.model.centre_and_spread(X)
        q = centre.shape[1]
        return np.stack(
            [edges(centre[:, j], score_quantile(self.scores[:, j], level).value * spread[:, j]) for j in range(q)],
            axis=2,
        )

    def weighted(self, X: np.ndarray, level: float, weights: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The same for rows X whose law has density ratios weights (n,) at the held-out rows and own (m,) at X itself."""
        centre, spread = self.model.centre_and_spread(X)
        out = np.empty((len(X), 2, centre.shape[1]))
        for j in range(centre.shape[1]):
            width = weighted_quantiles(self.scores[:, j], weights, own, level) * spread[:, j]
            finite = np.isfinite(width)
            out[:, :, j] = (-np.inf, np.inf)
            out[finite, :, j] = edges(centre[finite, j], width[finite])
        return out


@dataclass(frozen=True)
class CrossCalibration:
    """Scores (n, q) of all rows, each under the model of `models` that was fitted without its fold (n,)."""

    models: tuple[CertifiedModel, ...]
    fold: np.ndarray
    scores: np.ndarray

    def level(self, level: float) -> float:
        """The nominal level, or less when n is too small for it; CV+ comes close to it in practice."""
        return cross_level(len(self.fold), level)

    def guarantee(self, level: float) -> float:
        """The coverage that holds for every exchangeable sample; see `cross_guarantee`."""
        return cross_guarantee(len(self.fold), len(self.models), level)

    def intervals(self, X: np.ndarray, level: float) -> np.ndarray:
        """Lower and upper edges (m, 2, q) at rows X (m, p)."""
        parts = [model.centre_and_spread(X) for model in self.models]
        centres, spreads = (np.stack(v, axis=1) for v in zip(*parts, strict=True))
        q = centres.shape[2]
        return np.stack(
            [cross_edges(centres[:, :, j], spreads[:, :, j], self.fold, self.scores[:, j], level) for j in range(q)],
            axis=2,
        )


def residual_scores(model: CertifiedModel, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """|y - centre| / spread (n, q) of rows that the model has not seen."""
    centre, spread = model.centre_and_spread(X)
    return np.abs(y - centre) / spread


def calibrate_split(model: CertifiedModel, X: np.ndarray, y: np.ndarray) -> SplitCalibration:
    """The split calibration of a model on held-out rows X (n, p), y (n, q)."""
    return SplitCalibration(model, X, residual_scores(model, X, y))


def calibrate_cross(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    settings: Settings,
    count: int,
    rng: np.random.Generator,
) -> CrossCalibration:
    """The cross calibration with `count` folds: every model is fitted, feature map and all, without the fold it is scored on."""
    fold = folds(len(X), count, rng)
    scores, models = np.empty(y.shape), []
    for k in range(count):
        rest = fold != k
        model = fit_model(X[rest], y[rest], None if weight is None else weight[rest], settings, rng)
        scores[~rest] = residual_scores(model, X[~rest], y[~rest])
        models.append(model)
    return CrossCalibration(tuple(models), fold, scores)

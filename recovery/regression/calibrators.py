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
        at = self.model.rounded(X)
        width = at.spread * at.stretch * [score_quantile(own, level).value for own in self.scores.T]
        return np.stack(edges(at.centre, width, at.slack), axis=1)

    def weighted(self, X: np.ndarray, level: float, weights: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The same for rows X whose law has density ratios weights (n,) at the held-out rows and own (m,) at X itself."""
        at = self.model.rounded(X)
        found = [weighted_quantiles(scores, weights, own, level) for scores in self.scores.T]
        return np.stack(edges(at.centre, at.spread * at.stretch * np.stack(found, axis=1), at.slack), axis=1)


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
        parts = [model.rounded(X) for model in self.models]
        centres, spreads, slack, stretch = (np.stack(v, axis=1) for v in zip(*parts, strict=True))
        wide = spreads * stretch
        return np.stack(
            [
                cross_edges(centres[:, :, j], wide[:, :, j], self.fold, own, level, slack[:, :, j])
                for j, own in enumerate(self.scores.T)
            ],
            axis=2,
        )


def calibrate_split(model: CertifiedModel, X: np.ndarray, y: np.ndarray) -> SplitCalibration:
    """The split calibration of a model on held-out rows X (n, p), y (n, q)."""
    return SplitCalibration(model, X, model.rounded(X).scores(y))


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
        scores[~rest] = model.rounded(X[~rest]).scores(y[~rest])
        models.append(model)
    return CrossCalibration(tuple(models), fold, scores)

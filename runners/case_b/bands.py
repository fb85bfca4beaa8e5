"""The baseline bands: the network's own, split conformal, normalised split conformal, and the constant predictor.

Conformal arms take the residuals of the fit-split model on the calibration rows and the order statistic
k = min(n_c - 1, ceil(0.95 (n_c + 1)) - 1); the level they achieve is (k + 1) / (n_c + 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.runners.case_b.scores import Band
from orledger.runners.case_b.splits import order_statistic


@dataclass(frozen=True)
class ConformalBand:
    """A conformal band on the test points, with the calibrated quantile behind it."""

    band: Band
    q: float


def network_band(mean: np.ndarray, sd: np.ndarray, z: float) -> Band:
    """Mean +- z sd(x), with sd(x) the predictive standard deviation including noise."""
    return Band(mean, z * sd)


def quantile(scores: np.ndarray, level: float) -> float:
    """The conformal order statistic of the calibration scores (n_c,)."""
    return float(np.sort(scores)[order_statistic(scores.size, level)])


def split_conformal(residuals: np.ndarray, center: np.ndarray, level: float) -> ConformalBand:
    """Center +- q, with q the order statistic of the absolute calibration residuals (n_c,)."""
    q = quantile(np.abs(residuals), level)
    return ConformalBand(Band(center, np.full(center.shape, q)), q)


def normalised_conformal(
    residuals: np.ndarray, sd_cal: np.ndarray, center: np.ndarray, sd: np.ndarray, level: float
) -> ConformalBand:
    """Center +- q sd(x), with q the order statistic of |residual| / sd on the calibration rows."""
    q = quantile(np.abs(residuals) / sd_cal, level)
    return ConformalBand(Band(center, q * sd), q)


def constant_conformal(y_fit: np.ndarray, y_cal: np.ndarray, n_test: int, level: float) -> ConformalBand:
    """Split conformal around the mean of the fit targets: no features, no training."""
    center = float(y_fit.mean())
    return split_conformal(y_cal - center, np.full(n_test, center), level)

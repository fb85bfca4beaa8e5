"""Two arms that know the test covariates: weighted split conformal, and a conformal band around a reweighted centre.

Both use likelihood ratios w(x) = p(test | x) / p(train | x) * n_train / n_test from a logistic classifier that tells
fit rows from test rows by standardised covariates and their squares. Calibration rows are not shown to it.

``wcp`` is weighted split conformal (Tibshirani, Foygel Barber, Candes and Ramdas 2019): the calibration scores of the
fit-split model with weights w(x_i), and the weight of the test point itself at infinity. Where that point's own weight
exceeds 5 percent of the total the exact band is the whole line; the largest calibration score is delivered there
instead and the number of such points is recorded.

``cp_centre`` keeps the features of the fit-split net and refits the last layer by ridge regression with the weights
w(x_i) on the fit rows, then calibrates with the ordinary split-conformal order statistic: a shift-aware centre with a
shift-blind width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.runners.case_b.bands import ConformalBand, split_conformal
from orledger.runners.case_b.scores import Band


@dataclass(frozen=True)
class Ratios:
    """Estimated likelihood ratios at the fit, calibration and test rows."""

    fit: np.ndarray
    cal: np.ndarray
    test: np.ndarray


def likelihood_ratios(
    x_fit: np.ndarray, x_cal: np.ndarray, x_test: np.ndarray, *, penalty: float, clip: float
) -> Ratios:
    """Ratios from a logistic regression (inverse penalty ``penalty``) with probabilities kept within (clip, 1 - clip)."""
    from sklearn.linear_model import LogisticRegression

    def quadratic(x: np.ndarray) -> np.ndarray:
        z = (x - centre) / scale
        return np.hstack([z, z**2 - 1.0])

    rows = np.vstack([x_fit, x_test])
    centre, sd = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(sd > 0, sd, 1.0)
    labels = np.repeat([0, 1], [len(x_fit), len(x_test)])
    classifier = LogisticRegression(C=penalty, max_iter=2000).fit(quadratic(rows), labels)

    def ratio(x: np.ndarray) -> np.ndarray:
        p = np.clip(classifier.predict_proba(quadratic(x))[:, 1], clip, 1.0 - clip)
        return p / (1.0 - p) * (len(x_fit) / len(x_test))

    return Ratios(ratio(x_fit), ratio(x_cal), ratio(x_test))


def weighted_quantiles(scores: np.ndarray, w_cal: np.ndarray, w_test: np.ndarray, level: float) -> np.ndarray:
    """The weighted conformal quantile at every test point (n_test,); infinite where the point's own mass reaches there."""
    order = np.argsort(scores, kind="stable")
    cumulative = np.cumsum(w_cal[order])
    need = level * (cumulative[-1] + w_test)
    # The slack forgives rounding in the cumulative sum, so that equal weights give the unweighted order statistic.
    at = np.searchsorted(cumulative, need * (1 - 1e-12), side="left")
    return np.append(scores[order], np.inf)[at]


def weighted_conformal(residuals: np.ndarray, center: np.ndarray, ratios: Ratios, level: float) -> tuple[Band, int]:
    """The weighted split-conformal band, and the number of test points whose exact band is the whole line."""
    scores = np.abs(residuals)
    half = weighted_quantiles(scores, ratios.cal, ratios.test, level)
    infinite = ~np.isfinite(half)
    return Band(center, np.where(infinite, scores.max(), half)), int(infinite.sum())


def reweighted_centre(
    phi_fit: np.ndarray,
    y_fit: np.ndarray,
    weights: np.ndarray,
    others: list[np.ndarray],
    *,
    ridge: float,
    dead_sd: float,
) -> list[np.ndarray]:
    """Predictions at the feature rows ``others`` of a weighted ridge regression with intercept on the fit rows.

    The objective is the weighted mean of squares plus ``ridge`` |theta|^2 on features standardised over the fit rows; a
    feature whose standard deviation there is at most ``dead_sd`` is left out.
    """
    centre, sd = phi_fit.mean(axis=0), phi_fit.std(axis=0)
    keep = sd > dead_sd
    share = weights / weights.sum()

    def scaled(phi: np.ndarray) -> np.ndarray:
        return (phi[:, keep] - centre[keep]) / sd[keep]

    A = scaled(phi_fit)
    mean_a, mean_y = share @ A, share @ y_fit
    centred = (A - mean_a) * share[:, None]
    theta = np.linalg.solve(centred.T @ (A - mean_a) + ridge * np.eye(A.shape[1]), centred.T @ (y_fit - mean_y))
    return [mean_y + (scaled(phi) - mean_a) @ theta for phi in others]


def centre_conformal(
    phi_fit: np.ndarray,
    y_fit: np.ndarray,
    phi_cal: np.ndarray,
    y_cal: np.ndarray,
    phi_test: np.ndarray,
    ratios: Ratios,
    *,
    ridge: float,
    dead_sd: float,
    level: float,
) -> ConformalBand:
    """Split conformal around the reweighted centre."""
    at_cal, at_test = reweighted_centre(phi_fit, y_fit, ratios.fit, [phi_cal, phi_test], ridge=ridge, dead_sd=dead_sd)
    return split_conformal(y_cal - at_cal, at_test, level)

"""Covariate shift: density ratios of known test inputs to the calibration inputs, for weighted conformal intervals."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature

import numpy as np

LARGEST = 1e4
"""Density ratios are cut here: beyond it a classifier that separates the two samples says only that they do not overlap."""


@dataclass(frozen=True)
class DensityRatio:
    """Ratios at the calibration rows (n,) and at the test rows (m,), and how many calibration rows they are worth.

    effective: (sum w)^2 / sum w^2 over the calibration rows; small when few of them look like the test rows.
    """

    calibration: np.ndarray
    test: np.ndarray

    @property
    def effective(self) -> float:
        """The effective number of calibration rows."""
        w = self.calibration
        return float(w.sum() ** 2 / (w @ w)) if (w > 0).any() else 0.0


def density_ratio(X_cal: np.ndarray, X_test: np.ndarray) -> DensityRatio:
    """The ratio p_test / p_calibration at both samples, from a logistic regression on the columns and their squares.

    Its penalty is chosen by cross-validation, so that samples of the same law get ratios close to 1.
    """
    from sklearn.linear_model import LogisticRegressionCV

    both = np.vstack([X_cal, X_test])
    spread = both.std(0)
    Z = (both - both.mean(0)) / np.where(spread > 0, spread, 1.0)
    Z = np.hstack([Z, Z * Z])
    label = np.arange(len(both)) >= len(X_cal)
    if min(len(X_cal), len(X_test)) < 5:
        return DensityRatio(np.ones(len(X_cal)), np.ones(len(X_test)))
    # The ridge penalty is the default of scikit-learn before 1.8; later versions want it said, and the form of their results too.
    said = "use_legacy_attributes" in signature(LogisticRegressionCV).parameters
    ridge = {"l1_ratios": (0,), "use_legacy_attributes": False} if said else {}
    model = LogisticRegressionCV(Cs=np.logspace(-4, 1, 6), cv=5, scoring="neg_log_loss", max_iter=500, **ridge)
    log_odds = model.fit(Z, label).decision_function(Z)
    ratio = np.minimum(np.exp(np.clip(log_odds, -30, 30)) * len(X_cal) / len(X_test), LARGEST)
    return DensityRatio(ratio[: len(X_cal)], ratio[len(X_cal) :])

"""A scikit-learn regressor that predicts a centre and a certified interval, and refuses where it has no claim to make."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import Interval as Range
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from orledger.recovery.conformal import conformal_radius
from orledger.recovery.errors import EmptySetError, InputError
from orledger.recovery.interval import Interval, local_interval
from orledger.recovery.occam import occam
from orledger.recovery.spectral import Spectral

DEAD_UNITS = 64.0
"""A column whose standard deviation is within this many rounding units of its largest absolute value is constant and dropped."""


class CertifiedRegressor(RegressorMixin, BaseEstimator):
    """Linear regression on given features with worst-case intervals over a coefficient ball and a noise ball.

    The model: y = mean + Phi theta + e on standardised columns, |theta| <= kappa rho_oc, |e| <= eta. `predict` gives the
    Chebyshev centre of what the data allow, `predict_interval` its edges, `calibrate` replaces the inflation kappa by a
    conformal one at a stated level. Use any feature map in front of it, for instance in a Pipeline.

    Parameters
    ----------
    noise_std : float or "residual"
        Standard deviation of the noise; eta = noise_std sqrt(n). "residual" uses the unbiased residual estimate, which is
        0 when the features interpolate the data (then every row is taken as exact).
    kappa : float >= 1
        Inflation of the Occam radius before calibration. At exactly 1 the consistent set is a single element.
    standardize : bool
        Divide the columns by their standard deviation on the fit rows.

    Attributes
    ----------
    refused_ : bool
        True when no coefficient vector explains the data within eta; then predicting raises EmptySetError.
    margin_ : float
        eta minus the best achievable misfit.
    eta_, rho_oc_, kappa_, q_add_ : float
        Noise radius, Occam radius, inflation in use, additive conformal floor in use.
    level_ : float or None
        Achieved conformal level; None before `calibrate`.

    Examples
    --------
    >>> import numpy as np
    >>> from orledger.recovery import CertifiedRegressor
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = CertifiedRegressor(noise_std=0.1).fit(X, 2 * X[:, 0])
    >>> bool((np.abs(model.predict_interval([[0.5]]) - 1.0) < 0.25).all())
    True
    """

    _parameter_constraints: dict[str, list] = {  # noqa: RUF012 - scikit-learn reads it from the class
        "noise_std": [Range(Real, 0, None, closed="left"), StrOptions({"residual"})],
        "kappa": [Range(Real, 1, None, closed="left")],
        "standardize": ["boolean"],
    }

    def __init__(self, *, noise_std: float | str = "residual", kappa: float = 1.1, standardize: bool = True) -> None:
        self.noise_std = noise_std
        self.kappa = kappa
        self.standardize = standardize

    def fit(self, X: Any, y: Any) -> Self:
        """The estimator fitted on features X (n, d) and targets y (n,). A refusal is recorded, not raised, here."""
        self._validate_params()
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        self.mean_, self.y_mean_ = X.mean(0), float(y.mean())
        spread = X.std(0)
        self.live_ = spread > DEAD_UNITS * np.finfo(float).eps * np.abs(X).max(0)
        self.scale_ = spread[self.live_] if self.standardize else np.ones(int(self.live_.sum()))
        Phi = self._features(X)
        self.spectral_ = Spectral.from_features(Phi, y - self.y_mean_)
        n, k = len(y), len(self.spectral_.s2)
        if self.noise_std == "residual":
            # One more degree of freedom went into the mean; a full-rank design leaves no residual and no noise estimate.
            spare = n - k - 1
            self.eta_ = self.spectral_.best_misfit * float(np.sqrt(n / spare)) if spare > 0 else 0.0
            self.eta_ = max(self.eta_, self.spectral_.best_misfit)
        else:
            self.eta_ = float(self.noise_std) * float(np.sqrt(n))
        self.occam_ = occam(self.spectral_, self.eta_)
        self.refused_, self.margin_, self.rho_oc_ = self.occam_.refused, self.occam_.margin, self.occam_.rho
        self.kappa_, self.q_add_ = float(self.kappa), 0.0
        self.level_: float | None = None
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The Chebyshev centre of the consistent values at each row of X, (n,)."""
        return self._band(X).mid + self.y_mean_

    def predict_interval(self, X: Any) -> np.ndarray:
        """Lower and upper edge at each row of X, (n, 2), the additive floor included once calibrated.

        Raises EmptySetError when the data were refused, and InputError when they are within the noise of a constant: then
        the Occam radius is zero and no multiple of it is a model ball.
        """
        band = self._band(X)
        if self.rho_oc_ == 0:
            raise InputError(
                f"the targets lie within eta = {self.eta_:.6g} of their mean, so the Occam radius is 0 and has no multiple",
                hint="report the constant predictor's own error, or state a smaller noise_std",
            )
        if self.level_ is not None:
            X = validate_data(self, X, dtype=np.float64, reset=False)
            proj = self.spectral_.project(self._features(X))
            band = self.conformal_.band(self.spectral_, proj, self.eta_, occ=self.occam_)
        return np.column_stack([band.lower, band.upper]) + self.y_mean_

    def calibrate(self, X: Any, y: Any, *, level: float | int | None = 0.95) -> Self:
        """The same estimator with kappa_ (and, where no ball suffices, q_add_) set on held-out rows; see `conformal_radius`.

        `level_` is the level achieved, order / (n_c + 1), which few rows may keep below the level asked for.
        """
        check_is_fitted(self)
        self.occam_.require()
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, reset=False)
        proj = self.spectral_.project(self._features(X))
        found = conformal_radius(self.spectral_, proj, y - self.y_mean_, self.eta_, self.rho_oc_, level=level)
        self.kappa_, self.q_add_, self.level_ = found.kappa, found.q_add, found.level
        self.conformal_ = found
        return self

    def _features(self, X: np.ndarray) -> np.ndarray:
        """Centred and scaled live columns; one zero column when none is left, so that the mean is still a model."""
        Phi = (X - self.mean_)[:, self.live_] / self.scale_
        return Phi if Phi.shape[1] else np.zeros((len(X), 1))

    def _band(self, X: Any) -> Interval:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.refused_:
            raise EmptySetError(f"the fit was refused: {self.occam_.reason}", margin=self.margin_)
        proj = self.spectral_.project(self._features(X))
        return local_interval(self.spectral_, proj, self.kappa_ * self.rho_oc_, self.eta_, occ=self.occam_)

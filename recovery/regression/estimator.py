"""CertifiedRegressor: predictions, an interval for the function (certificate) and one for a new observation (calibrated)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from orledger.recovery._array import on_host, sized
from orledger.recovery.errors import EmptySetError
from orledger.recovery.regression.calibration import check_level, edges
from orledger.recovery.regression.calibrators import (
    CrossCalibration,
    SplitCalibration,
    calibrate_cross,
    calibrate_split,
)
from orledger.recovery.regression.certificate import function_intervals, validated_inflation
from orledger.recovery.regression.errors import LevelWarning, NotCalibratedError, ParameterError, ZeroNoiseWarning
from orledger.recovery.regression.factor import Sums
from orledger.recovery.regression.frames import as_frame
from orledger.recovery.regression.maps import check_map, fit_map, median_distance
from orledger.recovery.regression.model import CertifiedModel, Settings, fit_model, model_of_sums
from orledger.recovery.regression.parameters import check_parameters, row_weights
from orledger.recovery.regression.shift import density_ratio

if TYPE_CHECKING:
    from orledger.recovery.array_types import Numbers

CROSS_ROWS = 2000
"""calibration="auto" is cross up to this many rows and split beyond: there a held-out share costs nothing that shows."""

SPLIT_ROWS = 5000
"""The held-out share of a split calibration is at most this many rows."""


class CertifiedRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Ridge regression on features or a kernel, with two intervals that say what they bound.

    The model: y = mean + Phi theta + e, |theta| <= rho, |e| <= eta. `predict` is the least-norm solution within eta of the data.
    `predict_function_interval` bounds the function: what every consistent theta allows, given rho and eta (a certificate, without a
    probability). `predict_interval` bounds a new observation at a level, by conformal calibration inside `fit` (or `calibrate`).

    Parameters
    ----------
    kernel : "linear", "rbf", "matern" or "additive"
        "linear" uses the columns as they are (put any feature map in front); the others make `n_features` features of X.
    approximation : "nystroem" or "random"
        Landmarks drawn from the rows, or random Fourier features.
    length_scale : "auto" or float
        In standard deviations of the columns; "auto" takes the multiple of the median distance with the least leave-one-out error.
    n_features : int
        Landmarks or random features of a kernel.
    noise_std : "cv", "residual", "discrepancy" or float
        The noise ball eta: the misfit of the ridge solution that cross-validates best; the unbiased least-squares residual; sigma
        sqrt(n) with the residual variance of that ridge solution (Morozov); or this standard deviation times sqrt(n).
    radius : "occam", "validation" or float
        The model ball rho of the function interval: kappa times the Occam radius; kappa found on a held-out quarter of the rows;
        or the radius itself.
    kappa : float >= 1
        Inflation of the Occam radius when radius = "occam".
    calibration : "auto", "cross", "split" or None
        How `predict_interval` is calibrated. Cross (CV+) uses all rows and guarantees a little less than 1 - 2 (1 - level); split
        holds out `calibration_size` of the rows and guarantees the level; "auto" is cross up to 2,000 rows, split beyond.
    conformity : "adaptive", "certificate", "local" or "absolute"
        What residuals are divided by: the certificate's shape times a fitted local scale, one of them, or nothing.
    level : float
        The level of `predict_interval`; another one may be asked for when predicting.
    folds : int
        Folds of the cross calibration.
    calibration_size : float
        Share of the rows that a split holds out, at most 5,000 rows.
    standardize : bool
        Divide the columns by their standard deviation (kernel = "linear"; kernels standardise X in any case).
    random_state : int, RandomState or None
        Seeds landmarks, folds and splits.

    Attributes
    ----------
    refused_ : bool
        True when no coefficient vector explains the data within eta; then predicting raises EmptySetError.
    margin_, eta_, rho_oc_, rho_ : float, or array (outputs,)
        eta minus the best misfit; noise radius; Occam radius; radius of the function interval.
    level_, guarantee_ : float or None
        The nominal level of `predict_interval` and the coverage that it guarantees; None before a calibration.
    calibration_ : the calibration in use, or None; solver_ : "svd" (whole matrix) or "normal" (blocks of rows).

    Examples
    --------
    >>> import numpy as np
    >>> from orledger.recovery import CertifiedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> model = CertifiedRegressor(kernel="rbf").fit(X, np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(200))
    >>> lower, upper = model.predict_interval([[0.3]])[0]              # a new observation, level 0.9
    >>> inner_lower, inner_upper = model.predict_function_interval([[0.3]])[0]
    >>> bool(lower < inner_lower < np.sin(1.2) < inner_upper < upper)
    True
    """

    def __init__(
        self,
        *,
        kernel: str = "linear",
        approximation: str = "nystroem",
        length_scale: float | str = "auto",
        n_features: int = 500,
        noise_std: float | str = "cv",
        radius: float | str = "occam",
        kappa: float = 1.1,
        calibration: str | None = "auto",
        conformity: str = "adaptive",
        level: float = 0.9,
        folds: int = 10,
        calibration_size: float = 0.25,
        standardize: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.approximation = approximation
        self.length_scale = length_scale
        self.n_features = n_features
        self.noise_std = noise_std
        self.radius = radius
        self.kappa = kappa
        self.calibration = calibration
        self.conformity = conformity
        self.level = level
        self.folds = folds
        self.calibration_size = calibration_size
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Numbers, y: Numbers, sample_weight: Numbers | None = None) -> Self:
        """The estimator fitted and calibrated on rows X (n, p) and targets y (n,) or (n, q); a refusal is recorded, not raised.

        sample_weight (n,): a row of weight w counts as w equal rows in the fit; held-out rows count once in the calibration, and
        landmarks, length scale and folds of a kernel are chosen among the rows as given.
        """
        X, y = self._rows(X, y, reset=True)
        weight = row_weights(sample_weight, X)
        if weight is not None:  # a row of weight 0 is no row
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        settings = self._settings()
        kind = self._calibration_kind(len(X))
        self.calibration_: CrossCalibration | SplitCalibration | None = None
        self.sums_: Sums | None = None
        if kind == "split":
            held = min(max(round(self.calibration_size * len(X)), 1), SPLIT_ROWS)
            order = rng.permutation(len(X))
            rest, out = np.sort(order[held:]), np.sort(order[:held])
            model = fit_model(X[rest], y[rest], None if weight is None else weight[rest], settings, rng)
            self.calibration_ = calibrate_split(model, X[out], y[out])
        else:
            model = fit_model(X, y, weight, settings, rng)
            if kind == "cross":
                self.calibration_ = calibrate_cross(X, y, weight, settings, min(self.folds, len(X)), rng)
        inflation = None
        if self.radius == "validation":
            inflation = validated_inflation(X, y, weight, settings, self.level, rng)
        return self._adopt(model, inflation)

    def partial_fit(self, X: Numbers, y: Numbers, sample_weight: Numbers | None = None) -> Self:
        """The estimator with the rows X (n, p), y added to those seen so far, of which only sums are kept.

        The first call fixes the feature map. There is no calibration afterwards: hold rows out and call `calibrate`. With sums
        alone there is no local scale either, so the score is the certificate's shape where "adaptive" is asked for.
        """
        first = not hasattr(self, "sums_") or self.sums_ is None
        X, y = self._rows(X, y, reset=first)
        weight, settings = row_weights(sample_weight, X), self._settings()
        if first:
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            length = median_distance(X, rng) if isinstance(self.length_scale, str) else float(self.length_scale)
            self.features_ = fit_map(X, self.kernel, self.approximation, length, self.n_features, rng)
        Phi = self.features_(X)
        sums = Sums.start(Phi, y) if first or self.sums_ is None else self.sums_
        sums.add(Phi, y, weight)
        self.sums_, self.calibration_ = sums, None
        return self._adopt(model_of_sums(sums, self.features_, settings), None)

    def calibrate(self, X: Numbers, y: Numbers) -> Self:
        """The same estimator with `predict_interval` calibrated on held-out rows X (n, p), y, in place of what `fit` did."""
        check_is_fitted(self, "model_")
        X, y = self._rows(X, y, reset=False)
        if y.shape[1] != len(self.model_.heads):
            raise ParameterError(f"y has {y.shape[1]} outputs; the model was fitted with {len(self.model_.heads)}")
        self.calibration_ = calibrate_split(self.model_, X, y)
        return self._adopt(self.model_, None, keep_radius=True)

    def predict(
        self, X: Numbers, return_interval: Literal["observation", "function"] | None = None, level: float | None = None
    ) -> Any:
        """The predictions (n,) or (n, q); with `return_interval` also the intervals, as `predict_interval` gives them.

        A Pipeline passes these arguments on: `pipeline.predict(X, return_interval="observation")`.
        """
        X = self._new(X)
        centre = self._out(self.model_.centre(X))
        if return_interval is None:
            return centre
        kind = return_interval if isinstance(return_interval, str) else ""
        if kind == "observation":
            return centre, self._out(self._observation(X, level))
        if kind == "function":
            return centre, self._out(function_intervals(self.model_, X, np.atleast_1d(self.rho_)))
        raise ParameterError(f"return_interval = {return_interval!r}; use 'observation' or 'function'")

    def score(self, X: Numbers, y: Numbers, sample_weight: Numbers | None = None) -> float:
        """The coefficient of determination of the predictions for rows X (n, p) and responses y, as scikit-learn defines it."""
        answers = np.asarray(on_host(y, "y"))
        return float(super().score(X, answers, row_weights(sample_weight, answers)))

    def predict_interval(self, X: Numbers, level: float | None = None) -> np.ndarray:
        """Lower and upper edge (n, 2) for a new observation at each row of X; (n, 2, q) with several outputs.

        level: another level than the one of the constructor; the calibration serves all of them. Raises NotCalibratedError
        when there is no calibration. A LevelWarning says when there are too few calibration rows for a level; the interval is then
        that of the highest level they reach.
        """
        return self._out(self._observation(self._new(X), level))

    def predict_function_interval(self, X: Numbers) -> np.ndarray:
        """Lower and upper edge (n, 2) of the values that every consistent function takes at each row; (n, 2, q) with several outputs.

        It holds when |theta| <= rho_ and |noise| <= eta_; it is not an interval for an observation. Raises InputError when the
        targets lie within eta_ of a constant: the Occam radius is then zero and has no multiple.
        """
        return self._out(function_intervals(self.model_, self._new(X), np.atleast_1d(self.rho_)))

    def predict_shifted_interval(self, X: Numbers, level: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(intervals (n, 2), fallback (n,)) for test rows X whose inputs follow another law than the calibration rows.

        X is the whole test sample: density ratios are estimated from it, and the calibration rows are weighted by them. Where too
        few of them look like a test row no finite interval has the level; there the interval is the function's own certificate,
        widened by the largest score seen (fallback True): it has no level, and its width says that it extrapolates. Needs a
        split calibration.
        """
        X = self._new(X)
        if not isinstance(self.calibration_, SplitCalibration):
            raise NotCalibratedError(
                "weights need calibration rows of their own",
                hint="use calibration='split', or calibrate(X_held_out, y_held_out)",
            )
        ratio = density_ratio(self.calibration_.X, X)
        found = self.calibration_.weighted(X, self._level(level), ratio.calibration, ratio.test)
        fallback = ~np.isfinite(found).all(axis=(1, 2))
        if fallback.any():
            wide = function_intervals(self.model_, X[fallback], np.atleast_1d(self.rho_))
            at = self.model_.rounded(X[fallback])
            low, high = edges(at.centre, self.calibration_.scores.max(0) * at.spread * at.stretch, at.slack)
            found[fallback, 0] = low + (wide[:, 0] - at.centre)
            found[fallback, 1] = high + (wide[:, 1] - at.centre)
        return self._out(found), fallback

    def predict_frame(self, X: Numbers, level: float | None = None) -> Any:
        """A frame of X's own library (pandas with its index, or polars) with prediction, lower, upper, per output; polars for arrays."""
        centre, intervals = self.predict(X, return_interval="observation", level=level)
        return as_frame(X, centre, intervals)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _settings(self) -> Settings:
        check_map(self.kernel, self.approximation, self.n_features, self.length_scale)
        check_parameters(self)
        return Settings(
            self.kernel, self.approximation, self.length_scale, int(self.n_features), self.noise_std, bool(self.standardize), self.conformity
        )  # fmt: skip

    def _calibration_kind(self, n: int) -> str | None:
        if self.calibration == "auto":
            return None if n < 4 else "cross" if n <= CROSS_ROWS else "split"
        return self.calibration if n >= 4 else None

    def _rows(self, X: Numbers, y: Numbers, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        rows, answers = validate_data(
            self,
            on_host(X, "X"),
            on_host(y, "y"),
            multi_output=True,
            dtype=np.float64,
            ensure_min_samples=2 if reset else 1,
            reset=reset,
        )
        if reset:
            self.single_ = answers.ndim == 1
        return sized(rows, "X"), sized(np.asarray(answers, dtype=np.float64).reshape(len(rows), -1), "y")

    def _adopt(self, model: CertifiedModel, inflation: np.ndarray | None, *, keep_radius: bool = False) -> Self:
        """Self with the attributes of a fitted model and its calibration."""
        self.model_, self.solver_ = model, model.solver
        heads = model.heads
        occams = [head.occ for head in heads]
        self.refused_ = any(occ.refused for occ in occams)
        self.margin_, self.eta_, self.rho_oc_ = (
            self._per_output([getattr(occ, name) for occ in occams]) for name in ("margin", "eta", "rho")
        )
        if not keep_radius:
            factor = np.full(len(heads), float(self.kappa)) if inflation is None else inflation
            given = None if isinstance(self.radius, str) else float(self.radius)
            self.rho_ = self._per_output(
                [given if given is not None else f * o.rho for f, o in zip(factor, occams, strict=True)]
            )
        quiet = [head.eta == 0 and head.spec.ynorm > 0 for head in heads]
        if any(quiet) and isinstance(self.noise_std, str):
            warnings.warn(
                f"noise_std = {self.noise_std!r} estimates the noise as zero: the features interpolate the data, and every row is "
                "taken as exact. State noise_std, or use fewer features",
                ZeroNoiseWarning,
                stacklevel=3,
            )
        calibration = self.calibration_
        level = self._level(None)
        self.level_ = None if calibration is None else calibration.level(level)
        self.guarantee_ = None if calibration is None else calibration.guarantee(level)
        if calibration is not None:
            _warn_of_level(calibration, level)
        return self

    def _per_output(self, values: list[float]) -> Any:
        return float(values[0]) if self.single_ else np.array(values)

    def _out(self, values: np.ndarray) -> np.ndarray:
        return values[..., 0] if self.single_ else values

    def _level(self, level: float | None) -> float:
        return check_level(self.level if level is None else level)

    def _new(self, X: Numbers) -> np.ndarray:
        check_is_fitted(self, "model_")
        rows: np.ndarray = sized(validate_data(self, on_host(X, "X"), dtype=np.float64, reset=False), "X")
        for head in self.model_.heads:
            if head.occ.refused:
                raise EmptySetError(f"the fit was refused: {head.occ.reason}", margin=head.occ.margin)
        return rows

    def _observation(self, X: np.ndarray, level: float | None) -> np.ndarray:
        if self.calibration_ is None:
            raise NotCalibratedError(
                "this model has no interval for a new observation: it was not calibrated",
                hint="fit with calibration='cross' or 'split', or call calibrate(X_held_out, y_held_out); "
                "predict_function_interval bounds the function",
            )
        if level is not None:  # of the constructor's level `fit` has warned
            _warn_of_level(self.calibration_, self._level(level))
        return self.calibration_.intervals(X, self._level(level))


def _warn_of_level(calibration: CrossCalibration | SplitCalibration, level: float) -> None:
    reached = calibration.level(level)
    if reached < level * (1 - 1e-12):
        rows = len(calibration.scores)
        warnings.warn(f"{rows} calibration rows reach the level {reached:.4g}, not {level}", LevelWarning, stacklevel=4)

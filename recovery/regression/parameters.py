"""Checks of constructor settings and sample weights, with messages that name the setting, the value seen and what to use."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.recovery._array import as_numbers, to_numpy
from orledger.recovery.regression.calibration import check_level
from orledger.recovery.regression.errors import ParameterError
from orledger.recovery.regression.head import NOISE_RULES
from orledger.recovery.regression.model import SCORES

if TYPE_CHECKING:
    from orledger.recovery.array_types import Numbers

LARGEST = 1e75
"""Numbers beyond it have squares of squares that leave floating point."""


def _number(value: Any, low: float) -> bool:
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and bool(low <= value <= LARGEST)


def check_parameters(estimator: Any) -> None:
    """Nothing, or a ParameterError for the first setting of a CertifiedRegressor that cannot be used."""
    noise, radius, folds, share = estimator.noise_std, estimator.radius, estimator.folds, estimator.calibration_size
    if not (noise in NOISE_RULES if isinstance(noise, str) else _number(noise, 0.0)):
        raise ParameterError(f"noise_std = {noise!r}; use one of {', '.join(NOISE_RULES)} or a number of at least 0")
    if not (radius in ("occam", "validation") if isinstance(radius, str) else _number(radius, 0.0)):
        raise ParameterError(f"radius = {radius!r}; use 'occam', 'validation' or a number of at least 0")
    if not _number(estimator.kappa, 1.0):
        raise ParameterError(f"kappa = {estimator.kappa!r}; a number of at least 1 is needed")
    kind, conformity, standardize = estimator.calibration, estimator.conformity, estimator.standardize
    if not (kind is None or (isinstance(kind, str) and kind in ("auto", "cross", "split"))):
        raise ParameterError(f"calibration = {kind!r}; use 'auto', 'cross', 'split' or None")
    if not (isinstance(conformity, str) and conformity in SCORES):
        raise ParameterError(f"conformity = {conformity!r}; use one of {', '.join(SCORES)}")
    if not (isinstance(standardize, (bool, int, np.bool_)) and standardize in (False, True)):
        raise ParameterError(f"standardize = {standardize!r}; use True or False")
    if not (isinstance(folds, (int, np.integer)) and folds >= 2):
        raise ParameterError(f"folds = {folds!r}; a whole number of at least 2 is needed")
    if not (_number(share, 0.0) and 0 < share < 1):
        raise ParameterError(f"calibration_size = {share!r}; a fraction between 0 and 1 is needed")
    check_level(estimator.level)


def row_weights(weight: Numbers | None, X: np.ndarray) -> np.ndarray | None:
    """Weights (n,) of the rows X, or None; a ParameterError when they are negative, not finite, too few or all zero."""
    if weight is None:
        return None
    w = to_numpy(as_numbers(weight, "sample_weight")).astype(np.float64)
    if w.ndim == 0:
        w = np.full(len(X), float(w))
    if w.shape != (len(X),):
        raise ParameterError(f"sample_weight has shape {w.shape}; ({len(X)},) is needed")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise ParameterError("sample_weight has a negative or non-finite value")
    if (w > 0).sum() < 1:
        raise ParameterError("sample_weight is zero everywhere: there is nothing to fit")
    if not 1 / LARGEST <= w.max() <= LARGEST:
        raise ParameterError(
            f"the largest value of sample_weight is {w.max():.3g}; between {1 / LARGEST:g} and {LARGEST:g} is needed"
        )
    return w

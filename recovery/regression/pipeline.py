"""CertifiedPipeline: scikit-learn's Pipeline with the interval methods of its last step, and intervals as predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from orledger.recovery.regression.frames import as_frame

if TYPE_CHECKING:
    import numpy as np

    from orledger.recovery.array_types import Numbers


class CertifiedPipeline(Pipeline):
    """A Pipeline whose last step is a CertifiedRegressor, with its intervals as methods of the whole.

    Calibration happens inside `fit`, so nothing is sliced: transformers run on all rows, and the last step calibrates.
    A transformer that learns from X alone keeps the exchangeability that calibration needs; one that learns from y does not.
    """

    def calibrate(self, X: Numbers, y: Numbers) -> Self:
        """The same pipeline with its last step calibrated on held-out rows X, y, which pass through the transformers first."""
        self._final_estimator.calibrate(self._transformed(X), y)
        return self

    def predict_interval(self, X: Numbers, level: float | None = None) -> np.ndarray:
        """Lower and upper edge (n, 2) for a new observation at each row of X."""
        return self.predict(X, return_interval="observation", level=level)[1]

    def predict_function_interval(self, X: Numbers) -> np.ndarray:
        """Lower and upper edge (n, 2) of what every consistent function allows at each row of X."""
        return self.predict(X, return_interval="function")[1]

    def predict_shifted_interval(self, X: Numbers, level: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(intervals (n, 2), fallback (n,)) for test rows of another law; see `CertifiedRegressor.predict_shifted_interval`."""
        return self._final_estimator.predict_shifted_interval(self._transformed(X), level)

    def predict_frame(self, X: Numbers, level: float | None = None) -> Any:
        """A frame of X's own library with prediction, lower and upper, whatever the transformers make of X."""
        return as_frame(X, *self.predict(X, return_interval="observation", level=level))

    def _transformed(self, X: Numbers) -> Any:
        return self[:-1].transform(X) if len(self.steps) > 1 else X


class IntervalPrediction(BaseEstimator):
    """A regressor whose predictions are another one's intervals (n, 2), for tools that only know `predict`.

    `cross_val_predict(IntervalPrediction(model), X, y)` gives every row an interval from models that have not seen it.
    """

    def __init__(self, estimator: Any, *, kind: str = "observation", level: float | None = None) -> None:
        self.estimator = estimator
        self.kind = kind
        self.level = level

    def fit(self, X: Numbers, y: Numbers, **params: Any) -> Self:
        """The wrapper with a clone of its estimator fitted."""
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return self

    def predict(self, X: Numbers) -> np.ndarray:
        """The intervals (n, 2) of the fitted estimator."""
        return self.estimator_.predict(X, return_interval=self.kind, level=self.level)[1]


def certified_pipeline(*steps: Any) -> CertifiedPipeline:
    """A CertifiedPipeline of the given steps, named as scikit-learn's `make_pipeline` names them."""
    from sklearn.pipeline import make_pipeline

    return CertifiedPipeline(make_pipeline(*steps).steps)

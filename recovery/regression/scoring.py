"""How good intervals are: coverage, mean width and the interval score, and a scorer for scikit-learn's searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.recovery._array import as_float, as_numbers, to_numpy
from orledger.recovery.regression.calibration import check_level
from orledger.recovery.regression.errors import ParameterError
from orledger.recovery.regression.parameters import row_weights

if TYPE_CHECKING:
    from orledger.recovery.array_types import Numbers


def _checked(y: Numbers, intervals: Numbers) -> tuple[np.ndarray, np.ndarray]:
    y, intervals = to_numpy(as_float(y, "y")), to_numpy(as_numbers(intervals, "intervals"))
    if y.ndim == 0 or intervals.ndim < 2 or intervals.shape[1] != 2 or len(y) != len(intervals) or len(y) == 0:
        raise ParameterError(
            f"intervals {intervals.shape} do not belong to {y.shape} responses; (n, 2) for (n,) is needed"
        )
    if y.shape != (len(y), *intervals.shape[2:]):
        raise ParameterError(f"responses have shape {y.shape} and intervals {intervals.shape}; outputs do not match")
    with np.errstate(invalid="ignore"):
        if np.isnan(intervals[:, 1] - intervals[:, 0]).any():
            raise ParameterError("an interval has an edge that is not a number, or two that are the same infinity")
    return y, intervals


def coverage(y: Numbers, intervals: Numbers) -> float:
    """The share of responses y (n,) that lie in their intervals (n, 2); for (n, q) and (n, 2, q), over all outputs."""
    y, intervals = _checked(y, intervals)
    return float(np.mean((intervals[:, 0] <= y) & (y <= intervals[:, 1])))


def mean_width(intervals: Numbers) -> float:
    """The mean of upper minus lower edge."""
    intervals = to_numpy(as_numbers(intervals, "intervals"))
    return float(np.mean(intervals[:, 1] - intervals[:, 0]))


def interval_score(y: Numbers, intervals: Numbers, level: float = 0.9, sample_weight: Numbers | None = None) -> float:
    """The mean interval (Winkler) score: width, plus 2 / (1 - level) times the distance by which a response is missed.

    Smaller is better, and it is proper: the true quantiles at (1 - level) / 2 on either side minimise it. sample_weight (n,)
    weights the mean.
    """
    y, intervals = _checked(y, intervals)
    lower, upper = intervals[:, 0], intervals[:, 1]
    missed = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    scores = upper - lower + 2 / (1 - check_level(level)) * missed
    weight = row_weights(sample_weight, scores)
    return float(np.average(scores.reshape(len(scores), -1).mean(1), weights=weight))


@dataclass(frozen=True)
class IntervalScorer:
    """A scorer for GridSearchCV and cross_val_score: minus the interval score of the model's intervals at `level`.

    Works with `CertifiedRegressor`, alone or as the last step of a Pipeline, through `predict(X, return_interval=...)`.
    """

    level: float = 0.9

    def __call__(self, estimator: Any, X: Numbers, y: Numbers, sample_weight: Numbers | None = None) -> float:
        """Minus the interval score on rows X and responses y: larger is better, as scikit-learn expects."""
        _, intervals = estimator.predict(X, return_interval="observation", level=self.level)
        return -interval_score(y, intervals, self.level, sample_weight)


def interval_scorer(level: float = 0.9) -> IntervalScorer:
    """The scorer at `level`, for the `scoring` argument of scikit-learn's model selection."""
    return IntervalScorer(check_level(level))

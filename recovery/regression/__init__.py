"""Certified regression for tabular data: the function's worst-case interval and a calibrated one for observations."""

from orledger.recovery.regression.errors import (
    DroppedColumnWarning,
    LevelWarning,
    NotCalibratedError,
    ParameterError,
    ZeroNoiseWarning,
)
from orledger.recovery.regression.estimator import CertifiedRegressor
from orledger.recovery.regression.pipeline import CertifiedPipeline, IntervalPrediction, certified_pipeline
from orledger.recovery.regression.scoring import IntervalScorer, coverage, interval_score, interval_scorer, mean_width

__all__ = [
    "CertifiedPipeline", "CertifiedRegressor", "DroppedColumnWarning", "IntervalPrediction", "IntervalScorer", "LevelWarning", "NotCalibratedError", "ParameterError",
    "ZeroNoiseWarning", "certified_pipeline", "coverage", "interval_score", "interval_scorer", "mean_width",
]  # fmt: skip

"""Bands and scores: split conformal beside MAPIE, the interval score beside a sampling-free definition, weighted conformal."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from orledger.runners.case_b.bands import constant_conformal, normalised_conformal, split_conformal
from orledger.runners.case_b.scores import (
    Band,
    counterfactual,
    interval_score_parts,
    matched_inflation,
    shape_skill,
    summarise,
)
from orledger.runners.case_b.weighted import (
    likelihood_ratios,
    reweighted_centre,
    weighted_conformal,
    weighted_quantiles,
)


class Column(RegressorMixin, BaseEstimator):
    """A fitted regressor that answers with one column of its input."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: np.ndarray, y: np.ndarray) -> Column:  # noqa: ARG002
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X)[:, self.column]


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibration rows (centre, sd), their targets, and test rows."""
    g = np.random.default_rng(11)
    cal = np.column_stack([g.standard_normal(77), g.uniform(0.5, 2.0, 77)])
    return (
        cal,
        cal[:, 0] + cal[:, 1] * g.standard_normal(77),
        np.column_stack([g.standard_normal(40), g.uniform(0.5, 2, 40)]),
    )


def mapie_interval(score: object, cal: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    from mapie.regression import SplitConformalRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SplitConformalRegressor(Column(0), confidence_level=0.95, conformity_score=score, prefit=True)
        _, interval = model.conformalize(cal, y).predict_interval(test)
    return interval[:, :, 0]


def test_split_conformal_equals_mapie(rows: tuple[np.ndarray, ...]) -> None:
    cal, y, test = rows
    band = split_conformal(y - cal[:, 0], test[:, 0], 0.95).band
    theirs = mapie_interval("absolute", cal, y, test)
    assert np.abs(np.column_stack([band.center - band.half, band.center + band.half]) - theirs).max() < 1e-12


def test_normalised_split_conformal_equals_mapie(rows: tuple[np.ndarray, ...]) -> None:
    from mapie.conformity_scores import ResidualNormalisedScore

    cal, y, test = rows
    band = normalised_conformal(y - cal[:, 0], cal[:, 1], test[:, 0], test[:, 1], 0.95).band
    theirs = mapie_interval(ResidualNormalisedScore(residual_estimator=Column(1), prefit=True), cal, y, test)
    assert np.abs(np.column_stack([band.center - band.half, band.center + band.half]) - theirs).max() < 1e-12


def test_constant_predictor_uses_the_fit_mean_and_the_calibration_residuals() -> None:
    y_fit, y_cal = np.array([1.0, 3.0]), np.arange(19.0)
    found = constant_conformal(y_fit, y_cal, 4, 0.95)
    assert found.band.center.tolist() == [2.0] * 4
    assert found.q == 16.0  # the 19th of 19 residuals |y - 2|: the largest


def pinball(y: float, q: float, level: float) -> float:
    return (y - q) * level if y >= q else (q - y) * (1 - level)


def test_interval_score_is_a_sum_of_two_pinball_losses() -> None:
    """Gneiting and Raftery: the score equals (2 / alpha) times the pinball losses of the two ends at alpha/2, 1 - alpha/2."""
    g = np.random.default_rng(0)
    center, half, y, alpha = g.standard_normal(50), g.uniform(0.1, 1.0, 50), 2 * g.standard_normal(50), 0.05
    width, penalty = interval_score_parts(Band(center, half), y, alpha)
    expected = [
        2 / alpha * (pinball(t, c - h, alpha / 2) + pinball(t, c + h, 1 - alpha / 2))
        for t, c, h in zip(y, center, half, strict=True)
    ]
    assert width + penalty == pytest.approx(np.array(expected), rel=1e-12)


def test_summary_by_hand() -> None:
    band = Band(np.array([0.0, 0.0, 0.0, 0.0]), np.array([1.0, 1.0, 2.0, 4.0]))
    found = summarise(band, np.array([0.5, 1.5, -2.0, 0.0]), alpha=0.05)
    assert found["coverage"] == 0.75
    assert (found["width_median"], found["width_mean"], found["width_max"]) == (1.5, 2.0, 4.0)
    assert found["is_width"] == 4.0
    assert found["is_penalty"] == pytest.approx(40 * 0.5 / 4)
    assert found["interval_score"] == pytest.approx(9.0)
    assert found["penalty_share"] == pytest.approx(5 / 9)
    assert found["is_median"] == pytest.approx(6.0)  # scores 2, 22, 4, 8
    assert found["rmse"] == pytest.approx(np.sqrt((0.25 + 2.25 + 4.0) / 4))


def test_shape_skill_counterfactual_and_inflation_by_hand() -> None:
    y, centre = np.array([0.0, 3.0]), np.zeros(2)
    assert shape_skill(Band(centre, np.array([0.5, 3.5])), y) == 0.5  # the flat band of half-width 2 misses the second
    assert counterfactual(y, np.array([0.0, 2.0]), 0.0, 0.5, 3.0) == {
        "model_cp": 0.5,
        "model_triv": 1.0,
        "const_cp": 0.5,
        "const_triv": 1.0,
    }
    residuals = np.array([0.1, 0.2, 0.4, 0.8])
    assert matched_inflation(residuals, np.zeros(4), 0.2, 0.75) == pytest.approx(2.0)
    assert matched_inflation(residuals, np.zeros(4), 0.2, 1.0) == pytest.approx(4.0)
    assert matched_inflation(residuals, np.zeros(4), 0.2, 0.0) is None


def test_inflated_band_has_exactly_the_coverage_asked_for() -> None:
    g = np.random.default_rng(3)
    y, centre = g.standard_normal(133), np.zeros(133)
    for covered in (1, 66, 100, 133):
        factor = matched_inflation(y, centre, 0.7, covered / 133)
        assert int((np.abs(y) <= factor * 0.7 * (1 + 1e-12)).sum()) == covered


def test_weighted_conformal_with_equal_weights_is_split_conformal(rows: tuple[np.ndarray, ...]) -> None:
    cal, y, test = rows
    scores, ones = np.abs(y - cal[:, 0]), np.ones(40)
    plain = split_conformal(y - cal[:, 0], test[:, 0], 0.95)
    assert weighted_quantiles(scores, np.ones(77), ones, 0.95) == pytest.approx(np.full(40, plain.q), abs=0)


def test_weighted_quantile_by_hand_and_infinity() -> None:
    scores, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    found = weighted_quantiles(scores, weights, np.array([0.0, 1.0, 4.0]), 0.5)
    # half the mass of (1: 1, 2: 2, 3: 1) and the point's own at infinity: needs 2 of 4, 2.5 of 5, 4 of 8
    assert found.tolist() == [2.0, 2.0, 3.0]
    assert np.isinf(weighted_quantiles(scores, weights, np.array([10.0]), 0.5)[0])
    ratios = type("R", (), {"cal": weights, "test": np.array([0.0, 10.0])})
    band, infinite = weighted_conformal(scores, np.zeros(2), ratios, 0.5)
    assert infinite == 1
    assert band.half.tolist() == [2.0, 3.0]


def test_likelihood_ratios_recover_a_known_tilt() -> None:
    """Between N(0, 1) and N(1, 1) the log ratio is x - 1/2; unshifted rows give ratios near one."""
    g = np.random.default_rng(5)
    fit, test = g.standard_normal((4000, 1)), 1 + g.standard_normal((4000, 1))
    grid = np.array([[-1.0], [0.5], [2.0]])
    found = likelihood_ratios(fit, grid, test, penalty=1e6, clip=1e-6).cal
    assert np.log(found) == pytest.approx(grid[:, 0] - 0.5, abs=0.2)
    same = likelihood_ratios(fit[:2000], grid, fit[2000:], penalty=1.0, clip=0.01)
    assert np.median(np.abs(same.fit - 1)) < 0.05


def test_reweighted_centre_is_least_squares_without_penalty_and_follows_the_weights() -> None:
    g = np.random.default_rng(6)
    phi = g.standard_normal((60, 3))
    y = 1.0 + phi @ np.array([1.0, -2.0, 0.5])
    (found,) = reweighted_centre(phi, y, g.uniform(0.5, 2, 60), [phi], ridge=0.0, dead_sd=1e-6)
    assert found == pytest.approx(y, abs=1e-10)
    x = np.linspace(-1, 1, 60)[:, None]
    right = (x[:, 0] > 0).astype(float) + 1e-9
    (bent,) = reweighted_centre(x, np.abs(x[:, 0]), right, [np.array([[0.8]])], ridge=0.0, dead_sd=1e-6)
    assert bent == pytest.approx([0.8], abs=1e-3)

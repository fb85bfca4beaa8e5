"""The scikit-learn estimator: its conventions, its refusals, its calibration, its place in a Pipeline."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from orledger.recovery import CertifiedRegressor, EmptySetError, InputError


@parametrize_with_checks([CertifiedRegressor(), CertifiedRegressor(kappa=2.0, standardize=False)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def _line(n, seed, sd=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 4 + sd * rng.standard_normal(n)


def test_intervals_contain_the_noiseless_target_when_the_noise_fits():
    """With eta above the true |e| the true coefficients are consistent, so a large enough ball must contain the target."""
    X, y = _line(60, 0)
    model = CertifiedRegressor(noise_std=0.45, kappa=3.0).fit(X, y)
    Z, _ = _line(40, 1)
    band = model.predict_interval(Z)
    target = Z @ [1.0, -2.0, 0.5] + 4
    slack = np.abs(y.mean() - 4)  # the centring uses sample means
    assert ((band[:, 0] - slack <= target) & (target <= band[:, 1] + slack)).all()
    assert np.allclose(model.predict(Z), band.mean(1))


def test_too_small_noise_is_refused_with_its_margin():
    X, y = _line(60, 0)
    model = CertifiedRegressor(noise_std=1e-3).fit(X, y)
    best = np.linalg.norm(y - np.column_stack([np.ones(60), X]) @ np.linalg.lstsq(np.c_[np.ones(60), X], y)[0])
    assert model.refused_
    assert model.margin_ == pytest.approx(1e-3 * np.sqrt(60) - best, rel=1e-9)
    for call in (model.predict, model.predict_interval):
        with pytest.raises(EmptySetError) as err:
            call(X)
        assert err.value.margin == model.margin_


def test_a_target_within_the_noise_has_a_centre_but_no_interval():
    X, y = _line(30, 2)
    model = CertifiedRegressor(noise_std=100.0).fit(X, y)
    assert np.allclose(model.predict(X), y.mean())
    with pytest.raises(InputError, match="Occam radius is 0"):
        model.predict_interval(X)


def test_calibrated_band_covers_its_calibration_rows_at_the_order_statistic():
    X, y = load_diabetes(return_X_y=True)
    X_fit, X_cal, y_fit, y_cal = train_test_split(X, y, test_size=99, random_state=0)
    model = CertifiedRegressor().fit(X_fit, y_fit).calibrate(X_cal, y_cal, level=0.9)
    band = model.predict_interval(X_cal)
    inside = (band[:, 0] - 1e-6 <= y_cal) & (y_cal <= band[:, 1] + 1e-6)
    assert model.level_ == pytest.approx(0.9)
    assert inside.sum() == 90


def test_pipeline_and_grid_search():
    X, y = load_diabetes(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=True), CertifiedRegressor())
    search = GridSearchCV(pipe, {"certifiedregressor__noise_std": [55.0, 65.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.4


@pytest.mark.parametrize("shift", [1e6, 1e8, 1e12])
def test_a_shift_of_the_features_drops_no_column(shift):
    """Columns far from zero carry what is left of their digits; only a constant column carries nothing."""
    X, y = _line(60, 0)
    moved = np.column_stack([X + shift, np.full(60, shift)])
    model = CertifiedRegressor().fit(moved, y)
    assert model.live_.tolist() == [True, True, True, False]
    assert model.score(moved, y) == pytest.approx(
        CertifiedRegressor().fit(X, y).score(X, y), abs=max(1e-6, shift * 1e-15)
    )

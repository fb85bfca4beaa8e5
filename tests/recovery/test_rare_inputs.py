"""Inputs that few people give: each has an answer of its own, or an error that says what is wrong."""

import numpy as np
import pytest

from orledger.recovery import (
    CertifiedRegressor,
    GramError,
    InputError,
    Spectral,
    lcurve_corner,
    local_interval,
    pinsker_variances,
    primal_elements,
    radius_values,
)
from orledger.recovery.elimination import row_mask
from orledger.recovery.regression.errors import ParameterError
from orledger.recovery.regression.model import leave_one_out_error
from orledger.recovery.regression.parameters import row_weights
from orledger.recovery.regression.scoring import coverage
from orledger.recovery.regression.shift import density_ratio

PLANE = Spectral.from_features(np.eye(3)[:2], np.ones(2))  # two of three directions are seen


def test_the_share_that_the_data_cannot_see():
    found = PLANE.project(np.array([[0.0, 0, 1], [1, 0, 0], [1, 0, 1], [0, 0, 0]])).null_share
    assert np.allclose(found, [1, 0, 0.5, 0])


def test_squares_that_are_negative_are_refused_and_rounding_of_eigenvalues_is_not():
    """An eigenvalue of -1e-8 times the largest may be rounding; the radius without noise and data is eps |c|."""
    w, one = np.array([-1e-8, 1.0]), np.ones(1)
    assert radius_values(w, np.zeros((1, 2)), 4 * one, 3.0, 1.0).tolist() == [6.0]
    with pytest.raises(GramError):
        radius_values(2 * w - np.array([1e-8, 1.0]), np.zeros((1, 2)), one, 1.0, 1.0)
    for beta2, kxx in ((-0.5, 1.0), (0.5, -0.5)):
        with pytest.raises(InputError, match="both are squares"):
            radius_values(one, np.array([[beta2]]), kxx * one, 1.0, 1.0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: PLANE.project(np.eye(3)).widened(np.array([0])), "only functionals of a Gram matrix"),
        (lambda: PLANE.delta, "only a spectral object built from a Gram matrix"),
        (lambda: lcurve_corner(np.arange(1.0, 6), np.arange(6.0, 1, -1), scale="cubic"), "scale = 'cubic'"),
        (lambda: pinsker_variances(np.ones(2), np.ones(3), 1.0), "equally long"),
    ],
)
def test_what_does_not_fit_is_named(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_an_interval_belongs_to_its_points():
    band = local_interval(PLANE, PLANE.project(np.eye(3)), 2.0, 0.5)
    with pytest.raises(InputError, match="3 points and the projection 2"):
        primal_elements(PLANE.project(np.eye(3)[:2]), band)


def test_no_exact_rows_are_none():
    assert row_mask([], 3) is None


def test_one_weight_is_that_of_every_row():
    assert row_weights(2.0, np.zeros((3, 1))).tolist() == [2.0, 2.0, 2.0]


def test_intervals_of_one_output_do_not_hold_two():
    with pytest.raises(ParameterError, match="outputs do not match"):
        coverage(np.zeros((3, 2)), np.zeros((3, 2)))


def test_too_few_points_show_no_shift():
    found = density_ratio(np.arange(4.0)[:, None], 10 + np.arange(9.0)[:, None])
    assert found.calibration.tolist() == [1.0] * 4
    assert found.test.tolist() == [1.0] * 9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_columns_that_do_not_vary_predict_the_mean(kernel):
    X, y = np.ones((40, 2)), np.arange(40.0)
    whole = CertifiedRegressor(kernel=kernel).fit(X, y)
    parts = CertifiedRegressor(kernel=kernel, calibration=None).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert np.allclose(whole.predict(X[:2]), 19.5)
    assert np.allclose(parts.predict(X[:2]), 19.5)


def test_features_that_do_not_vary_leave_nothing_to_fit():
    assert leave_one_out_error(np.zeros((5, 2)), np.arange(5.0)[:, None]) == np.inf

"""Settings and arrays at the ends of floating point: a right answer or a refusal in words, never a NaN or another package's error."""

import numpy as np
import pytest

from orledger.recovery import (
    CertifiedRegressor,
    InputError,
    Spectral,
    conformal_radius,
    interval_score,
    kappa_invariance,
)
from orledger.recovery.regression import coverage
from orledger.recovery.regression.errors import ParameterError

X = np.arange(12.0)[:, None]
Y = np.sin(X[:, 0])


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"kernel": "rbf", "length_scale": 1e300}, "length_scale"),
        ({"kernel": "rbf", "length_scale": 1e-300}, "length_scale"),
        ({"kernel": "rbf", "length_scale": 10**400}, "length_scale"),
        ({"noise_std": 10**400}, "noise_std"),
        ({"radius": 1e80}, "radius"),
        ({"kappa": 10**400}, "kappa"),
        ({"calibration": "split", "calibration_size": 10**400}, "calibration_size"),
    ],
)
def test_a_setting_that_leaves_floating_point_is_refused_by_name(settings, named):
    with pytest.raises(ParameterError, match=named):
        CertifiedRegressor(**settings).fit(X, Y)


def test_weights_that_leave_floating_point_are_refused():
    with pytest.raises(ParameterError, match="sample_weight"):
        CertifiedRegressor().fit(X, Y, sample_weight=np.full(12, 1e308))


@pytest.mark.parametrize("measure", [interval_score, coverage])
@pytest.mark.parametrize(
    ("y", "interval"),
    [(np.nan, (0.0, 1.0)), (0.5, (np.nan, 1.0)), (0.5, (0.0, np.nan)), (0.5, (np.inf, np.inf)), ("a", (0.0, 1.0))],
)
def test_a_score_of_what_is_no_number_is_refused(measure, y, interval):
    with pytest.raises((ParameterError, InputError)):
        measure([y], [interval])


def test_an_infinite_interval_has_an_infinite_score_and_covers():
    assert interval_score([0.5], [(-np.inf, np.inf)]) == np.inf
    assert coverage([0.5], [(-np.inf, np.inf)]) == 1.0


def test_a_width_that_overflows_is_refused():
    with pytest.raises(InputError, match="too large"):
        kappa_invariance(np.zeros(2), np.array([-1e308, 1e308]), 1.0, 2.0)
    assert kappa_invariance(np.zeros(2), np.array([1e-300, 2e-300]), 1.0, 2.0).coincided


def test_calibration_points_are_what_project_returns():
    spec = Spectral.from_features(np.eye(2), np.array([3.0, 4.0]))
    with pytest.raises(InputError, match="the points are a int"):
        conformal_radius(spec, 1, [1.0], 1.0)

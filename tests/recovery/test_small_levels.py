"""Levels so small that no score is needed for them, and levels in short floating types: the smallest score, the right order."""

import numpy as np
import pytest

from orledger.recovery import CertifiedRegressor, InputError, Spectral, conformal_radius
from orledger.recovery.regression.calibration import cross_edges, score_quantile
from orledger.recovery.regression.parameters import row_weights


@pytest.mark.parametrize("level", [1e-300, 1e-12, 1e-3])
def test_the_smallest_level_takes_the_smallest_score(level):
    scores = np.array([3.0, 1.0, 2.0])
    found = score_quantile(scores, level)
    assert (found.value, found.level) == (1.0, 0.25)
    spec = Spectral.from_features(np.eye(2), np.array([3.0, 4.0]))
    band = conformal_radius(spec, spec.project(np.eye(2)[[0, 0, 0]]), np.array([3.0, 5.0, 4.0]), 1.0, level=level)
    assert (band.order, band.level) == (1, 0.25)
    # CV+ of one model: the edges are order statistics 3 of centre - score and 1 of centre + score.
    edges = cross_edges(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(3, int), scores, level)
    assert edges == pytest.approx(np.array([[-1.0, 1.0]]), rel=1e-14)


def test_a_level_in_half_precision_is_read_before_it_is_multiplied():
    """0.9 in half precision is 0.89990234375: of 100,000 scores the order statistic 89,992, beyond what half precision holds."""
    level, n = np.float16(0.9), 100_000
    assert score_quantile(np.arange(float(n)), float(level)).value == 89991.0
    spec = Spectral.from_features(np.eye(2), np.array([3.0, 4.0]))
    found = conformal_radius(spec, spec.project(np.tile([[1.0, 0.0]], (n, 1))), np.full(n, 3.0), 1.0, level=level)
    assert found.order == 89_992
    x = np.sin(np.arange(40.0))[:, None]
    y = x[:, 0] + np.cos(3 * np.arange(40.0))
    one, other = (CertifiedRegressor(level=v).fit(x, y) for v in (level, float(level)))
    assert np.array_equal(one.predict_interval(x), other.predict_interval(x))
    assert one.level_ == other.level_


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (["a", "b", "c"], "sample_weight is not numeric"),
        ([1j, 1, 1], "sample_weight is complex"),
        ({"a": 1}, "sample_weight is not numeric"),
        ([1e-320, 0.0, 0.0], "largest value of sample_weight is 1e-320"),
        ([1e300, 0.0, 0.0], r"largest value of sample_weight is 1e\+300"),
    ],
)
def test_weights_that_are_no_weights_are_refused_by_name(weight, text):
    with pytest.raises(InputError, match=text):
        row_weights(weight, np.zeros((3, 1)))


@pytest.mark.parametrize(
    "setting", ["kernel", "approximation", "length_scale", "calibration", "conformity", "standardize"]
)
@pytest.mark.parametrize("value", [np.array([0.5, 0.6]), "abc", 2.5j])
def test_a_setting_of_another_kind_is_refused_by_name(setting, value):
    with pytest.raises(InputError, match=f"{setting} = "):
        CertifiedRegressor(**{setting: value}).fit(np.eye(4), np.arange(4.0))


def test_validation_needs_a_row_to_hold_out():
    with pytest.raises(InputError, match="1 row of positive weight is too few"):
        CertifiedRegressor(radius="validation").fit(np.eye(3), np.arange(3.0), sample_weight=[1, 0, 0])
    with pytest.raises(InputError, match="return_interval = array"):
        CertifiedRegressor().fit(np.eye(4), np.arange(4.0)).predict(np.eye(4), return_interval=np.zeros(2))

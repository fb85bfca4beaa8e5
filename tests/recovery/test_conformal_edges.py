"""Conformal scores at the edges: no room, no data, ends of the levels, and the floor that is refused."""

import numpy as np
import pytest

from orledger.recovery import InputError, Spectral, conformal_radius, covering_radius, occam, truth_coverage
from orledger.recovery.transfer import gaussian_truth_coverage


@pytest.fixture(scope="module")
def wide():
    """Six rows, eight features, so that every functional has a part that no data see; and nine responses to cover."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6, 8)) / np.sqrt(8)
    spec = Spectral.from_features(X, X @ np.linspace(1, -1, 8) + 0.2 * rng.standard_normal(6))
    held = rng.standard_normal((9, 8)) / np.sqrt(8)
    return spec, spec.project(held), held @ np.linspace(1, -1, 8) + 0.2 * rng.standard_normal(9), 0.3


@pytest.mark.parametrize(("observed", "tail", "level"), [(0.0, 1.0, 0.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0)])
def test_probabilities_may_be_zero_and_one(observed, tail, level):
    found = truth_coverage(observed, 0.25, tail)
    assert (found.level, found.widening, found.observation_level, found.noise_tail) == (level, 0.25, observed, tail)


@pytest.mark.parametrize(
    ("observed", "z", "tail"), [(-0.01, 1, 0.1), (1.01, 1, 0.1), (0.9, 1, -0.01), (0.9, 1, 1.01), (0.9, -1, 0.1)]
)
def test_what_is_no_probability_is_refused(observed, z, tail):
    with pytest.raises(InputError, match=r"it must lie in \[0, 1\]|z = .* must be >= 0|z = 0"):
        truth_coverage(observed, z, tail)


def test_without_noise_the_truth_is_covered_as_observations_are():
    assert gaussian_truth_coverage(0.9, 0.0, 0.1).level == 0.9


def test_exact_data_without_room_cover_their_own_value_and_no_other():
    """A functional in the span of exact data has one value: at a distance from it no ball helps, whatever its size."""
    X = np.diag([2.0, 1.0, 0.0])[:2]
    spec = Spectral.from_features(X, np.array([2.0, 3.0]))
    proj = spec.project(np.array([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.1]]))
    found = covering_radius(spec, proj, np.array([0.5, 0.6, 0.05]), 0.0)
    # theta = (1, 3, t): the last functional sees 0.1 t = 0.05, so t = 1/2.
    np.testing.assert_allclose(found, [np.sqrt(10), np.inf, np.sqrt(10.25)], rtol=1e-12)


def test_data_without_a_direction_leave_the_whole_ball():
    """Rows of zeros say nothing: |c theta| = v needs |theta| = v / |c|."""
    spec = Spectral.from_features(np.zeros((2, 3)), np.array([0.1, -0.1]))
    proj = spec.project(np.array([[0.3, 0.4, 0.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(covering_radius(spec, proj, np.array([2.0, 1.0]), 1.0), [4.0, np.inf], rtol=1e-12)


def test_values_and_functionals_are_counted(wide):
    spec, proj, y, eta = wide
    with pytest.raises(InputError, match="8 values for 9 functionals"):
        covering_radius(spec, proj, y[:8], eta)
    with pytest.raises(InputError, match="0 responses for 0"):
        conformal_radius(spec, proj[:0], y[:0], eta)


def test_the_floor_stays_out_where_it_is_refused(wide):
    """Capped at 1 the ball is the Occam ball, which misses responses; only the floor can reach them."""
    spec, proj, y, eta = wide
    never = conformal_radius(spec, proj, y, eta, kappa_cap=1.0, floor="never")
    auto = conformal_radius(spec, proj, y, eta, kappa_cap=1.0)
    assert (never.kappa, never.q_add, never.floor_used) == (1.0, 0.0, False)
    assert auto.floor_used
    bands = [found.band(spec, proj, eta) for found in (never, auto)]
    inside = [((band.lower <= y) & (y <= band.upper)) for band in bands]
    assert inside[1].all()
    assert not inside[0].all()
    np.testing.assert_allclose(bands[1].upper - bands[0].upper, auto.q_add, rtol=1e-9)
    np.testing.assert_allclose(bands[1].half - bands[0].half, auto.q_add, rtol=1e-9)


def test_inflations_below_one_are_refused(wide):
    spec, proj, y, eta = wide
    with pytest.raises(InputError, match=r"kappa_cap = 0\.5"):
        conformal_radius(spec, proj, y, eta, kappa_cap=0.5)
    for grid in ((), (0.9, 2.0)):
        with pytest.raises(InputError, match="inflations of at least 1"):
            conformal_radius(spec, proj, y, eta, method="grid", grid=grid)
    with pytest.raises(InputError, match=r"level = 0\.0"):
        conformal_radius(spec, proj, y, eta, level=0.0)
    with pytest.raises(InputError, match=r"level = 1\.0"):
        conformal_radius(spec, proj, y, eta, level=1.0)
    with pytest.raises(InputError, match="order statistic 0"):
        conformal_radius(spec, proj, y, eta, level=0)


def test_a_grid_gives_its_first_value_that_covers_in_any_order(wide):
    spec, proj, y, eta = wide
    exact = covering_radius(spec, proj, y, eta) / occam(spec, eta).rho
    grid = (3.0, 1.0, 2.0)
    found = conformal_radius(spec, proj, y, eta, method="grid", grid=grid)
    first = [min((k for k in grid if k >= score), default=np.inf) for score in exact]
    np.testing.assert_array_equal(found.scores, first)
    assert found.kappa_star == max(first)
    assert found.saturated == (max(first) == np.inf)
    assert found.kappa == min(found.kappa_star, 3.0)
    assert found.method == "grid"


def test_a_larger_anchor_is_allowed_and_gives_smaller_multiples(wide):
    spec, proj, y, eta = wide
    rho = occam(spec, eta).rho
    plain, doubled = conformal_radius(spec, proj, y, eta), conformal_radius(spec, proj, y, eta, rho_oc=2 * rho)
    np.testing.assert_allclose(doubled.scores, np.maximum(plain.scores / 2, 1.0), rtol=1e-12)
    assert doubled.anchor == 2 * rho
    assert conformal_radius(spec, proj, y, eta, rho_oc=rho * (1 - 1e-13)).anchor < rho

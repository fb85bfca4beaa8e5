"""Conformal scores, levels, saturation and the additive floor."""

import numpy as np
import pytest

from orledger.recovery import (
    KAPPA_GRID,
    InputError,
    Spectral,
    conformal_radius,
    covering_radius,
    local_interval,
    occam,
    truth_coverage,
)
from orledger.recovery.transfer import gaussian_truth_coverage


def draw(rng, n, d=8, noise=0.2, theta=None):
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    theta = np.linspace(1, -1, d) if theta is None else theta
    return X, X @ theta + noise * rng.standard_normal(n)


def head(seed, n=6, d=8, eta_factor=1.0):
    """A wide problem: every functional has a null-space part, so every score is finite."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n, d)
    spec = Spectral.from_features(X, y)
    eta = 0.2 * np.sqrt(n) * eta_factor
    return rng, spec, eta, occam(spec, eta)


@pytest.mark.parametrize("seed", range(5))
def test_score_is_where_the_band_first_reaches_the_response(seed):
    rng, spec, eta, occ = head(seed)
    X, y = draw(rng, 25)
    proj = spec.project(X)
    rho = covering_radius(spec, proj, y, eta)
    assert (rho >= occ.rho).all()
    for i in range(len(y)):
        edge = local_interval(spec, proj[i : i + 1], rho[i], eta)
        near = min(abs(edge.lower[0] - y[i]), abs(edge.upper[0] - y[i]))
        assert near <= 1e-7 * (abs(edge.mid[0]) + edge.half[0]), i
        less = local_interval(spec, proj[i : i + 1], max(rho[i] * (1 - 1e-4), occ.rho), eta)
        assert not less.lower[0] <= y[i] <= less.upper[0]


def test_score_is_infinite_exactly_when_no_ball_covers():
    """Full column rank: the noise ball alone bounds the functional, and a response outside it is out of reach."""
    rng = np.random.default_rng(0)
    X, y = draw(rng, 40, 3, theta=np.array([1.0, 2.0, 3.0]))
    spec = Spectral.from_features(X, y)
    eta = spec.best_misfit * 1.2
    c = np.array([[1.0, 0.5, -0.3]])
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    reach = np.sqrt((eta**2 - spec.best_misfit**2) * (c[0] @ np.linalg.solve(X.T @ X, c[0])))
    values = c[0] @ beta + reach * np.array([0.99, -0.999, 1.001, -1.5])
    rho = covering_radius(spec, spec.project(np.repeat(c, 4, 0)), values, eta)
    assert np.isfinite(rho[:2]).all()
    assert np.isinf(rho[2:]).all()
    huge = local_interval(spec, spec.project(c), 1e6, eta)
    assert huge.half[0] == pytest.approx(reach, rel=1e-9)


def test_exact_data_score_is_the_distance_in_power_function_units():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4, 9))
    spec = Spectral.from_features(X, X @ rng.standard_normal(9))
    proj = spec.project(rng.standard_normal((3, 9)))
    occ = occam(spec, 0.0)
    values = proj.m(np.inf) + np.array([0.5, -2.0, 0.0]) * proj.pf(np.inf)
    expected = np.sqrt(occ.rho**2 + np.array([0.25, 4.0, 0.0]))
    np.testing.assert_allclose(covering_radius(spec, proj, values, 0.0), expected, rtol=1e-10)


def test_exact_kappa_lies_between_neighbouring_grid_values():
    for seed in range(6):
        rng, spec, eta, occ = head(seed)
        X, y = draw(rng, 30)
        exact = conformal_radius(spec, spec.project(X), y, eta, occ.rho)
        grid = conformal_radius(spec, spec.project(X), y, eta, occ.rho, method="grid")
        if grid.saturated:
            assert exact.kappa_star > KAPPA_GRID[-1]
            assert grid.floor_used
            assert grid.q_add > 0
        else:
            below = max([1.0, *(k for k in KAPPA_GRID if k < grid.kappa_star)])
            assert below - 1e-9 <= exact.kappa_star <= grid.kappa_star * (1 + 1e-9)
        assert exact.level == pytest.approx(30 / 31)


def test_floor_only_where_needed_or_asked_for():
    rng, spec, eta, occ = head(1)
    X, y = draw(rng, 30)
    proj = spec.project(X)
    plain = conformal_radius(spec, proj, y, eta, occ.rho, kappa_cap=1e9)
    assert not plain.floor_used
    assert plain.q_add == 0.0
    always = conformal_radius(spec, proj, y, eta, occ.rho, kappa_cap=1e9, floor="always")
    assert always.floor_used
    assert always.q_add == pytest.approx(0.0, abs=1e-7)
    capped = conformal_radius(spec, proj, y, eta, occ.rho, kappa_cap=(1 + plain.kappa_star) / 2)
    assert capped.floor_used
    assert capped.kappa < capped.kappa_star == plain.kappa_star
    band = local_interval(spec, proj, capped.kappa * occ.rho, eta)
    assert np.max(np.abs(y - band.mid) - band.half) == pytest.approx(capped.q_add, rel=1e-9)


@pytest.mark.parametrize(
    ("level", "order"),
    [(None, 19), (0.9, 18), (0.95, 19), (0.99, 19), (5, 5), (0.86, 18), (0.41, 9), (0.01, 1), (1, 1)],
)
def test_order_statistic_and_achieved_level(level, order):
    """The smallest order whose share of n + 1 = 20 reaches the level: 0.86 needs 17.2 and so the 18th, 0.41 needs the 9th."""
    rng, spec, eta, _ = head(2)
    X, y = draw(rng, 19)
    found = conformal_radius(spec, spec.project(X), y, eta, level=level)
    assert (found.order, found.level) == (order, order / 20)
    assert found.kappa_star == np.sort(found.scores)[order - 1]


@pytest.mark.parametrize("d", [4, 12])
def test_level_is_reached_in_simulation(d):
    """Exchangeable draws, both with and without a null space: mean coverage is k/(n_c+1) up to three standard errors.

    With continuous scores and no floor it equals the level; with the floor it may not fall below it.
    """
    rng, n_c, covered = np.random.default_rng(10 + d), 9, []
    theta = np.linspace(1, -1, d)
    for _ in range(120):
        X, y = draw(rng, 8, d, theta=theta)
        spec = Spectral.from_features(X, y)
        eta = max(0.25 * np.sqrt(8), 1.05 * spec.best_misfit)
        if spec.ynorm <= eta:
            continue
        X, y = draw(rng, n_c + 20, d, theta=theta)
        proj = spec.project(X)
        found = conformal_radius(spec, proj[:n_c], y[:n_c], eta, level=0.8)
        band = local_interval(spec, proj[n_c:], found.kappa * occam(spec, eta).rho, eta)
        covered.append(np.mean(np.abs(y[n_c:] - band.mid) <= band.half + found.q_add))
    error = np.std(covered) / np.sqrt(len(covered))
    assert len(covered) > 75
    assert np.mean(covered) >= 0.8 - 3 * error
    assert np.mean(covered) <= 0.8 + 3 * error + 0.02


def test_truth_coverage_transfer():
    """Prop. truth: 1 - 1/(n_c+1) - Pr[|e| > z]; for Gaussian noise at z = 1.96 sigma the tail is 0.05."""
    assert gaussian_truth_coverage(20 / 21, 2.0, 1.959963984540054 * 2.0).level == pytest.approx(20 / 21 - 0.05)
    assert truth_coverage(0.3, 1.0, 0.5).level == 0.0
    with pytest.raises(InputError, match="z = 0"):
        truth_coverage(0.9, 0, 0.1)


def test_bad_requests_are_named():
    rng, spec, eta, _ = head(0)
    X, y = draw(rng, 5)
    proj = spec.project(X)
    for kwargs, text in [
        ({"level": 1.5}, "level = 1.5"),
        ({"level": 6}, "order statistic 6"),
        ({"method": "other"}, "method = 'other'"),
        ({"floor": "maybe"}, "floor = 'maybe'"),
        ({"rho_oc": 1e-9}, "below the Occam radius"),
    ]:
        with pytest.raises(InputError, match=text):
            conformal_radius(spec, proj, y, eta, **kwargs)
    with pytest.raises(InputError, match="4 responses for 5"):
        conformal_radius(spec, proj, y[:4], eta)
    with pytest.raises(InputError, match="Occam radius is 0"):
        conformal_radius(spec, proj, y, 100.0)

"""Parameter-choice rules: against pytikhonov, dense linear algebra, and curves with a known corner."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import multivariate_normal

from orledger.recovery import (
    CORNERS,
    EmptySetError,
    InputError,
    Spectral,
    discrepancy,
    gcv,
    lcurve_corner,
    log_marginal,
    matched_mu,
    minimise,
    pinsker_variances,
    profiled_scale,
)


@pytest.fixture
def smooth():
    """A discretised smoothing operator with noisy data, the textbook case for every rule."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 30)
    A = np.exp(-0.5 * ((t[:, None] - t[None, :]) / 0.05) ** 2) / 30
    return A, A @ np.sin(2 * np.pi * t) + 1e-3 * rng.standard_normal(30)


def test_discrepancy_and_gcv_agree_with_pytikhonov(smooth):
    pytikhonov = pytest.importorskip("pytikhonov")
    A, y = smooth
    spec = Spectral.from_features(A, y)
    family = pytikhonov.TikhonovFamily(A, np.eye(30), y)
    eta = 1e-3 * np.sqrt(30)
    peer = pytikhonov.discrepancy_principle(family, delta=eta, tau=1.0)
    ours = discrepancy(spec, eta)
    assert ours.nugget == pytest.approx(peer["opt_lambdah"], rel=1e-6)
    peer = pytikhonov.gcvmin(family)
    ours = minimise(spec, "gcv")
    assert float(gcv(spec, ours.mu)) <= float(gcv(spec, 1 / peer["opt_lambdah"])) * (1 + 1e-9)
    assert ours.nugget == pytest.approx(peer["opt_lambdah"], rel=1e-2)


@pytest.mark.parametrize("share", [1e-9, 1e-4, 0.1, 0.9, 1 - 1e-9])
def test_discrepancy_equals_bisection(smooth, share):
    A, y = smooth
    spec = Spectral.from_features(A, y)
    eta = spec.best_misfit + share * (spec.ynorm - spec.best_misfit)
    t = brentq(lambda t: float(spec.misfit(np.exp(t))) / eta - 1, -60, 90, xtol=1e-14, maxiter=500)
    found = discrepancy(spec, eta)
    assert float(spec.misfit(found.mu)) == pytest.approx(eta, rel=1e-12)
    assert np.log(found.mu) == pytest.approx(t, abs=1e-5)


def test_matched_nuggets_invert_the_misfit(smooth):
    A, y = smooth
    spec = Spectral.from_gram(A @ A.T, y)
    mus = np.logspace(-2, 5, 9)
    np.testing.assert_allclose(matched_mu(spec, spec.misfit(mus)), mus, rtol=1e-8)
    assert matched_mu(spec, [2 * spec.ynorm])[0] == 0.0
    assert np.isinf(matched_mu(spec, [spec.best_misfit])[0])
    tall = Spectral.from_features(A[:, :3], y)
    with pytest.raises(EmptySetError, match="below the best achievable"):
        matched_mu(tall, [0.5 * tall.best_misfit])


def test_criteria_equal_their_dense_definitions(smooth):
    A, y = smooth
    spec = Spectral.from_gram(A @ A.T, y)
    n, nu = len(y), 3e-4
    K = A @ A.T + nu * np.eye(n)
    R = nu * np.linalg.inv(K)
    assert float(gcv(spec, 1 / nu)) == pytest.approx(n * np.sum((R @ y) ** 2) / np.trace(R) ** 2, rel=1e-9)
    dense = -multivariate_normal(np.zeros(n), K).logpdf(y)
    assert float(log_marginal(spec, 1 / nu)) == pytest.approx(dense, rel=1e-9)
    tau = float(profiled_scale(spec, 1 / nu))
    assert tau**2 == pytest.approx(y @ np.linalg.solve(K, y) / n, rel=1e-9)
    dense = -multivariate_normal(np.zeros(n), tau**2 * K).logpdf(y)
    assert float(log_marginal(spec, 1 / nu, "profiled")) == pytest.approx(dense, rel=1e-9)
    u = A.T @ np.linalg.solve(K, y)
    assert float(spec.norm(1 / nu)) == pytest.approx(np.linalg.norm(u), rel=1e-9)


@pytest.mark.parametrize("rule", ["gcv", "mlii_unit", "mlii_profiled"])
def test_minimiser_beats_a_fine_grid(smooth, rule):
    A, y = smooth
    spec = Spectral.from_features(A, y)
    from orledger.recovery import CRITERIA

    found = minimise(spec, rule)
    values = CRITERIA[rule](spec, np.logspace(-6, 14, 4001))
    assert found.value <= values.min() + 1e-9 * abs(values.min())
    with pytest.raises(InputError, match="known rules"):
        minimise(spec, "oracle")


@pytest.mark.parametrize("variant", CORNERS)
@pytest.mark.parametrize("reverse", [False, True])
def test_corner_of_a_right_angle(variant, reverse):
    """Nodes down a vertical branch and along a horizontal one: the corner is the shared node, walked from either end."""
    misfit = np.exp(np.concatenate([np.zeros(6), np.arange(1, 8)]))
    norm = np.exp(np.concatenate([np.arange(5, -1, -1), np.zeros(7)]).astype(float))
    order = slice(None, None, -1 if reverse else 1)
    index = lcurve_corner(misfit[order], norm[order], variant)
    assert index == (7 if reverse else 5)


def test_corner_requests_are_checked():
    with pytest.raises(InputError, match="at least 3"):
        lcurve_corner(np.ones(2), np.ones(2))
    with pytest.raises(InputError, match="known corners"):
        lcurve_corner(np.ones(3), np.ones(3), "elbow")
    with pytest.raises(InputError, match="positive"):
        lcurve_corner(np.array([1.0, 0.0, 2.0]), np.ones(3))


def test_water_level_solves_its_equation():
    """sum a v (mu - a)_+ = rho^2, variances v (mu/a - 1)_+, and a closed form when one coordinate is under water."""
    rng = np.random.default_rng(0)
    v, a = rng.uniform(0.1, 2, 20), 2.0 ** rng.integers(0, 5, 20)
    for rho in (0.01, 1.0, 30.0):
        fill = pinsker_variances(v, a, rho)
        assert np.sum(a * v * np.maximum(fill.level - a, 0)) == pytest.approx(rho**2, rel=1e-10)
        np.testing.assert_allclose(fill.tau2, v * np.maximum(fill.level / a - 1, 0), rtol=1e-12)
    one = pinsker_variances(np.array([0.5, 0.5]), np.array([1.0, 100.0]), 2.0)
    assert one.level == pytest.approx(1 + 4 / 0.5)
    np.testing.assert_allclose(one.tau2, [0.5 * 8, 0.0])
    assert pinsker_variances(v, a, 0.01, floor=0.3).tau2.min() == 0.3

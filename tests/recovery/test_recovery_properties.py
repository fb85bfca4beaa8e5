"""Properties of certificates and intervals that hold for every problem, checked on drawn ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orledger.recovery import Spectral, global_radius, local_interval, occam

problems = st.tuples(
    st.integers(1, 12), st.integers(1, 10), st.floats(-3, 3), st.floats(0.02, 0.9), st.integers(0, 2**31 - 1)
)
quick = settings(max_examples=40, deadline=None)


def build(problem, points=4):
    """(spec, functionals C, eta, rho_oc) of a drawn problem: rows, columns, log10 column spread, noise share, seed."""
    n, d, spread, share, seed = problem
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, d)) * 10.0 ** np.linspace(0, spread, d)
    y = rng.standard_normal(n)
    spec = Spectral.from_features(Phi, y)
    eta = spec.best_misfit + share * (spec.ynorm - spec.best_misfit)
    return spec, rng.standard_normal((points, d)), eta, occam(spec, eta).rho, Phi, y


@quick
@given(problems, st.floats(-8, 8))
def test_variance_splits_into_power_function_and_weight_norm(problem, log_mu):
    """V = pf^2 + wn^2 / mu at every nugget."""
    spec, C, *_ = build(problem)
    proj, mu = spec.project(C), 10.0**log_mu
    np.testing.assert_allclose(proj.V(mu), proj.pf(mu) ** 2 + proj.wn(mu) ** 2 / mu, rtol=1e-10)


@quick
@given(problems, st.floats(-8, 8))
def test_moments_are_those_of_the_linear_solve(problem, log_mu):
    """V, m, q and the misfit against a dense solve with G + nu I."""
    spec, C, _, _, Phi, y = build(problem)
    nu = 10.0**-log_mu
    G, B = Phi @ Phi.T, Phi @ C.T
    if nu < 1e-7 * np.linalg.norm(G):
        return  # the dense solve itself loses the digits
    K = G + nu * np.eye(len(y))
    proj = spec.project(C)
    np.testing.assert_allclose(proj.m(1 / nu), B.T @ np.linalg.solve(K, y), rtol=1e-7, atol=1e-8 * np.abs(C).max())
    V = (C * C).sum(1) - np.einsum("ij,ij->j", B, np.linalg.solve(K, B))
    np.testing.assert_allclose(proj.V(1 / nu), V, rtol=1e-6, atol=1e-8 * (C * C).sum(1).max())
    np.testing.assert_allclose(spec.q(1 / nu), nu * (y @ np.linalg.solve(K, y)), rtol=1e-7)
    np.testing.assert_allclose(spec.misfit(1 / nu), nu * np.linalg.norm(np.linalg.solve(K, y)), rtol=1e-7)


@quick
@given(problems, st.floats(1.0001, 20))
def test_half_width_is_at_most_the_radius(problem, kappa):
    """Theorem 2(d): conditioning on data never leaves more open than the worst data could."""
    spec, C, eta, rho_oc, *_ = build(problem)
    proj, rho = spec.project(C), kappa * rho_oc
    half = local_interval(spec, proj, rho, eta).half
    assert (half <= global_radius(spec, proj, rho, eta).radius * (1 + 1e-9)).all()


@quick
@given(problems, st.floats(0.1, 30), st.floats(1e-3, 30))
def test_certificate_equals_radius(problem, eps, eta):
    """Theorem 1(c), and no nugget does better than the one delivered."""
    spec, C, *_ = build(problem)
    proj = spec.project(C)
    found = global_radius(spec, proj, eps, eta)
    np.testing.assert_allclose(found.cert, found.radius, rtol=1e-10)
    mus = np.logspace(-14, 14, 200)
    brute = np.sqrt(proj.V(mus) * (eps**2 + mus * eta**2)).min(1)
    assert (found.radius <= brute * (1 + 1e-12)).all()
    assert (found.radius >= brute * (1 - 0.05)).all()


@quick
@given(problems, st.floats(1.001, 5), st.floats(1.001, 3))
def test_intervals_are_nested_in_rho_and_eta(problem, kappa, factor):
    spec, C, eta, rho_oc, *_ = build(problem)
    proj, rho = spec.project(C), kappa * rho_oc
    small = local_interval(spec, proj, rho, eta)
    slack = 1e-9 * (np.abs(small.mid) + small.half)
    for wide in (local_interval(spec, proj, rho * factor, eta), local_interval(spec, proj, rho, eta * factor)):
        assert (wide.lower <= small.lower + slack).all()
        assert (wide.upper >= small.upper - slack).all()


@quick
@given(problems)
def test_single_element_at_the_occam_radius(problem):
    """Lemma 1: zero width at rho_oc, at the value of the ridge solution whose misfit is eta; and width vanishes with room."""
    spec, C, eta, rho_oc, *_ = build(problem)
    proj = spec.project(C)
    at = local_interval(spec, proj, rho_oc, eta)
    assert (at.half == 0).all()
    mu = occam(spec, eta).mu
    np.testing.assert_allclose(at.mid, proj.m(mu), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(spec.misfit(mu), eta, rtol=1e-10)
    np.testing.assert_allclose(spec.norm(mu), rho_oc, rtol=1e-10)
    near = local_interval(spec, proj, rho_oc * (1 + 1e-10), eta)
    assert (near.half <= 2e-5 * rho_oc * np.linalg.norm(C, axis=1)).all()


@quick
@given(st.integers(1, 6), st.integers(0, 2**31 - 1), st.floats(1.001, 10), st.floats(1.001, 10))
def test_root_law_for_exact_data(n, seed, m1, m2):
    """eta = 0: half = rho_oc sqrt(m^2 - 1) times the power function, to 1e-12."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, 9))
    theta = rng.standard_normal(9)
    spec = Spectral.from_features(Phi, Phi @ theta)
    proj = spec.project(rng.standard_normal((3, 9)))
    rho = occam(spec, 0.0).rho
    assert rho == pytest.approx(np.linalg.norm(np.linalg.pinv(Phi) @ Phi @ theta), rel=1e-9)
    h1, h2 = (local_interval(spec, proj, m * rho, 0.0).half for m in (m1, m2))
    np.testing.assert_allclose(h1 / h2, np.sqrt((m1**2 - 1) / (m2**2 - 1)), rtol=1e-12)
    np.testing.assert_allclose(h1, rho * np.sqrt((m1 - 1) * (m1 + 1)) * proj.pf(np.inf), rtol=1e-12)


@quick
@given(problems, st.floats(1.01, 4))
def test_basis_and_row_order_do_not_matter(problem, kappa):
    """An orthogonal change of feature basis and a permutation (or rotation) of rows describe the same problem."""
    spec, C, eta, rho_oc, Phi, y = build(problem)
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((Phi.shape[1],) * 2))[0]
    P = rng.permutation(len(y))
    one = local_interval(spec, spec.project(C), kappa * rho_oc, eta)
    twin = Spectral.from_features((Phi @ Q)[P], y[P])
    two = local_interval(twin, twin.project(C @ Q), kappa * rho_oc, eta)
    size = np.abs(one.mid) + one.half
    np.testing.assert_allclose(two.lower, one.lower, atol=1e-7 * size.max())
    np.testing.assert_allclose(two.upper, one.upper, atol=1e-7 * size.max())


@quick
@given(problems, st.floats(1.01, 4))
def test_a_row_that_holds_exactly_only_narrows(problem, kappa):
    """Asking for one row exactly shrinks the consistent set, so its interval lies inside the one with that row noisy."""
    n, d, *_ = problem
    if n < 3 or d < 3:
        return
    spec, C, eta, _, Phi, y = build(problem)
    exact = Spectral.from_features(Phi, y, exact=[0])
    occ = occam(exact, eta)
    if occ.refused:
        return
    rho = kappa * occ.rho
    inner, outer = (
        local_interval(exact, exact.project(C), rho, eta),
        local_interval(spec, spec.project(C), rho, eta),
    )
    slack = 1e-8 * (np.abs(outer.mid) + outer.half)
    assert (inner.upper <= outer.upper + slack).all()
    assert (inner.lower >= outer.lower - slack).all()


def test_radius_limits_are_exact():
    """mu -> 0 when nothing is informative; mu -> inf when the functional is seen and the ball does not bind; eta = 0."""
    spec = Spectral.from_features(np.diag([2.0, 1e-3]), np.ones(2))
    proj = spec.project(np.array([[3.0, 0.0], [0.0, 4.0]]))
    loose = global_radius(spec, proj, 0.5, 10.0)
    np.testing.assert_array_equal(loose.radius, [1.5, 2.0])
    assert loose.at_lower.all()
    tight = global_radius(spec, proj, 1e3, 1.0)
    assert tight.radius[0] == pytest.approx(3.0 / 2.0, rel=1e-12)
    assert tight.at_upper[0]
    exact = global_radius(spec, proj, 5.0, 0.0)
    np.testing.assert_array_equal(exact.radius, [0.0, 0.0])
    wide = Spectral.from_features(np.array([[1.0, 0.0]]), np.ones(1))
    assert global_radius(wide, wide.project(np.array([[0.6, 0.8]])), 5.0, 0.0).radius[0] == pytest.approx(
        4.0, rel=1e-15
    )


def test_no_grid_floor_far_from_the_data():
    """Rem. gridfloor: with uninformative candidates the refined radius is flat to rounding; the grid's is not."""
    x = np.linspace(0, 1, 8)
    far = np.array([40.0, 45.0, 50.0])
    k = lambda a, b: np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2)  # noqa: E731
    spec = Spectral.from_gram(k(x, x), np.sin(x))
    proj = spec.project(k(x, far), np.ones(3))
    refined = global_radius(spec, proj, 2.0, 0.3).radius
    assert np.ptp(refined) == 0.0
    # Moving the same pair of candidates away from the data, the oscillation only falls, down to exactly zero.
    steps = [spec.project(k(x, np.array([d, d + 0.5])), np.ones(2)) for d in (1.5, 2.0, 2.5, 4.0, 6.0)]
    oscillation = [np.ptp(global_radius(spec, pair, 2.0, 0.3).radius) for pair in steps]
    assert oscillation[0] > 0.01
    assert all(b < a or a == b == 0 for a, b in itertools.pairwise(oscillation))
    assert oscillation[-1] == 0.0
    coarse = global_radius(spec, proj, 2.0, 0.3, method="grid97", grid=(-2, 12, 97)).radius
    assert coarse[0] > refined[0] * (1 + 1e-5)

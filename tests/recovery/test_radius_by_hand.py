"""Radii, multipliers and what rounding adds to them, against the formulas written out in 60 digits, point by point."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest

from orledger.recovery import GramError, InputError, Spectral, global_radius, radius_values
from orledger.recovery import radius as module

EPS = 2.0**-52
SIZES = np.array([200.0, 3.0, 0.05])  # singular values; every functional below has a part that no row sees
POINTS = np.array([[300.0, 2.0, 0.01, 1.0], [1.0, 2.0, 0.3, 0.02], [0.0, 0.01, 5.0, 9.0], [0.0, 0.0, 0.0, 7.0], [40.0, 7.0, 2.0, 0.0]])  # fmt: skip
BALL, NOISE = 30.0, 0.7


def moments(s, c, mu):
    """(V, pf, wn) of a functional: coefficients c along singular values s, the last one outside the rows."""
    f = [1 / (1 + mu * mpmath.mpf(v) ** 2) for v in s]
    c = [mpmath.mpf(v) ** 2 for v in c]
    V = sum(v * w for v, w in zip(c, f, strict=False)) + c[-1]
    pf2 = sum(v * w * w for v, w in zip(c, f, strict=False)) + c[-1]
    wn2 = sum(v * (mu * w * s_) ** 2 for v, w, s_ in zip(c, f, map(mpmath.mpf, s), strict=False))
    return V, mpmath.sqrt(pf2), mpmath.sqrt(wn2)


def best(s, c, eps, eta):
    """(mu, radius) of min over mu of sqrt(V (eps^2 + mu eta^2)), which has one valley: the best of a grid, then its slope."""
    grid = np.linspace(-30, 30, 121)[:, None]
    V = (np.square(c[:-1]) / (1 + np.exp(grid) * np.square(s))).sum(1) + c[-1] ** 2
    near = float(grid[np.argmin(V * (eps**2 + np.exp(grid[:, 0]) * eta**2)), 0])

    def squared(t):
        return moments(s, c, mpmath.exp(t))[0] * (mpmath.mpf(eps) ** 2 + mpmath.exp(t) * mpmath.mpf(eta) ** 2)

    t = mpmath.findroot(lambda t: squared(t + 1e-20) - squared(t - 1e-20), (near, near + 0.1), tol=1e-80)
    return float(mpmath.exp(t)), float(mpmath.sqrt(squared(t)))


def in_form(form, s=SIZES, points=POINTS):
    """The same rows and functionals as features or as a Gram matrix."""
    Phi = np.column_stack([np.diag(s), np.zeros(len(s))])
    if form == "features":
        spec = Spectral.from_features(Phi, np.ones(len(s)))
        return spec, spec.project(points)
    spec = Spectral.from_gram(Phi @ Phi.T, np.ones(len(s)))
    return spec, spec.project(Phi @ points.T, (points**2).sum(1))


@pytest.fixture(scope="module")
def wanted():
    with mpmath.workdps(60):
        return [best(SIZES, c, BALL, NOISE) for c in POINTS[:3]]


@pytest.mark.parametrize("form", ["features", "kernel"])
def test_the_radius_its_multiplier_and_the_parts_beside_it(form, wanted):
    """Three roots inside, one functional that no row sees (mu = 0), and one within the rows."""
    spec, proj = in_form(form)
    found = global_radius(spec, proj, BALL, NOISE)
    assert found.radius[:3] == pytest.approx([r for _, r in wanted], rel=1e-12)
    assert found.mu[:3] == pytest.approx([m for m, _ in wanted], rel=1e-8)
    assert (found.radius[3], found.mu[3], found.pf[3], found.wn[3]) == (BALL * 7, 0.0, 7.0, 0.0)
    assert found.at_lower.tolist() == [False, False, False, True, False]
    assert found.at_upper.tolist() == [False, False, False, False, True]
    within = NOISE * np.linalg.norm(POINTS[4, :3] / SIZES)
    assert (found.radius[4], found.mu[4], found.pf[4]) == (pytest.approx(within, rel=1e-12), np.inf, 0.0)
    for i, c in enumerate(POINTS[:3]):
        _, pf, wn = moments(SIZES, c, mpmath.mpf(found.mu[i]))
        assert (found.pf[i], found.wn[i]) == pytest.approx((float(pf), float(wn)), rel=1e-12)
    # Theorem 1: at the root the certificate of the delivered rule is the radius.
    assert found.cert == pytest.approx(BALL * found.pf + NOISE * found.wn, rel=1e-14)
    assert found.cert == pytest.approx(found.radius, rel=1e-9)
    assert found.mu_cert is found.mu
    assert found.method == "refined"
    assert found.delta_num == 10 * 2.0**-26 * BALL
    if form == "features":
        assert found.allowance.tolist() == [0.0] * 5
        assert found.resolved.all()


def test_the_short_way_has_the_same_radii(wanted):
    w, beta2 = SIZES**2, (POINTS[:, :3] * SIZES) ** 2
    found = radius_values(w, beta2, (POINTS**2).sum(1), BALL, NOISE)
    assert found[:3] == pytest.approx([r for _, r in wanted], rel=1e-12)
    assert found[3:] == pytest.approx([BALL * 7, NOISE * np.linalg.norm(POINTS[4, :3] / SIZES)], rel=1e-12)
    spec, proj = in_form("features")
    assert found == pytest.approx(global_radius(spec, proj, BALL, NOISE).radius, rel=1e-12)


@pytest.mark.parametrize("short", [True, False])
def test_limits_and_roots_in_one_call(short):
    """One row, s = 2: mu = inf within it, mu = 0 outside it, and a root between; at no noise only what is unseen is left."""
    spec = Spectral.from_gram(np.array([[4.0]]), np.ones(1))
    b, k = np.array([[6.0, 0.0, 2.0]]), np.array([9.0, 9.0, 2.0])  # coefficients 3, 0, 1 and unseen squares 0, 9, 1

    def radii(eps, eta):
        if short:
            return radius_values(np.array([4.0]), (b**2).T, k, eps, eta)
        return global_radius(spec, spec.project(b, k), eps, eta).radius

    with mpmath.workdps(60):
        between = best([2.0], [1.0, 1.0], 3.0, 0.5)[1]
    with np.errstate(divide="raise", invalid="raise"):
        assert radii(3.0, 0.5) == pytest.approx([0.5 * 3 / 2, 9.0, between], rel=1e-12)
    assert radii(3.0, 0.0) == pytest.approx([0.0, 9.0, 3.0], rel=1e-14)
    assert radii(0.0, 0.5).tolist() == [0.0, 0.0, 0.0]
    flags = global_radius(spec, spec.project(b, k), 3.0, 0.0)
    assert flags.at_upper.all()
    assert not flags.at_lower.any()
    flags = global_radius(spec, spec.project(b, k), 3.0, 0.5)
    assert flags.at_upper.tolist() == [True, False, False]
    assert flags.at_lower.tolist() == [False, True, False]
    assert flags.mu[:2].tolist() == [np.inf, 0.0]


@pytest.mark.parametrize("eta", [1.0, 1.0 + EPS, 1.5, 1e75])
def test_noise_as_large_as_the_ball_leaves_the_ball(eta):
    """One row of norm 1: the largest mean of s^2 is 1, and eta^2 / eps^2 is no smaller. No number overflows on the way."""
    with np.errstate(all="raise"):
        spec = Spectral.from_features(np.eye(1), np.ones(1))
        found = global_radius(spec, spec.project(np.ones((1, 1))), 1.0, eta)
        tiny = Spectral.from_features(np.eye(1) * 1e-45, np.ones(1))
        least = global_radius(tiny, tiny.project(np.ones((1, 1))), 1e-75, 1e75)
    assert (found.at_lower[0], found.mu[0], found.radius[0]) == (True, 0.0, 1.0)
    assert (least.at_lower[0], least.mu[0], least.radius[0]) == (True, 0.0, 1e-75)


def test_a_root_next_to_the_ball_is_found():
    """s^2 = 1 and 4 with a mean of 5/2, from which the balance falls by 9/5 mu: noise less by 2e-14 has its root at 1.1e-14."""
    spec = Spectral.from_features(np.diag([1.0, 2.0]), np.ones(2))
    found = global_radius(spec, spec.project(np.ones((1, 2))), 1.0, (2.5 * (1 - 2e-14)) ** 0.5)
    assert not found.at_lower[0]
    assert found.mu[0] == pytest.approx(2e-14 / 1.8, rel=0.2)
    assert found.radius[0] == pytest.approx(2**0.5, rel=1e-14)


def test_nothing_has_no_radius_however_large_the_ball():
    """eta^2 / (eps s)^2 = 1e-330 is no number of float64: the functional 0 is still determined without any row."""
    spec = Spectral.from_features(np.eye(1) * 1e15, np.ones(1))
    found = global_radius(spec, spec.project(np.zeros((1, 1))), 1e75, 1e-75)
    assert (found.radius[0], found.mu[0], found.at_lower[0], found.at_upper[0]) == (0.0, 0.0, True, False)


def test_functionals_at_the_end_of_the_ball_to_rounding():
    """The mean of s^2 is eta^2 / eps^2 = 4: mu = 0 to rounding, on whichever side of it a sum ends, and the radius is |c|."""
    s2 = np.array([1.0, 4.0, 9.0])
    part = np.linspace(0.01, 0.6, 400)
    c2 = np.stack([part, 1 - part * 8 / 5, part * 3 / 5], 1)  # a + 9 d = 4 (a + d)
    spec = Spectral.from_features(np.diag(s2**0.5), np.ones(3))
    found = global_radius(spec, spec.project(c2**0.5), 1.0, 2.0)
    assert c2 @ s2 == pytest.approx(4 * c2.sum(1))
    assert found.radius == pytest.approx(1.0, rel=1e-12)
    assert (found.mu < 1e-6).all()


def test_no_row_and_no_point():
    """A Gram matrix of zero says nothing; no functional has no radius, whatever the form."""
    none = radius_values(np.zeros(2), np.zeros((1, 2)), np.array([4.0]), 3.0, 0.5)
    assert none.tolist() == [6.0]
    exact = Spectral.from_features(np.eye(2)[:1], np.ones(1), exact=[0])
    assert global_radius(exact, exact.project(np.array([[5.0, 2.0]])), 3.0, 0.5).radius.tolist() == [6.0]
    for form in ("features", "kernel"):
        spec, proj = in_form(form)
        found = global_radius(spec, proj[:0], BALL, NOISE)
        assert (found.radius.shape, found.allowance.shape, found.resolved.shape) == ((0,), (0,), (0,))


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_a_radius_has_the_unit_of_its_functional(unit):
    """Powers of two, which change no digit on the way: the same mu, and the radius times the unit."""
    spec, proj = in_form("features")
    found, other = (global_radius(spec, p, BALL, NOISE) for p in (proj, spec.project(POINTS * unit)))
    assert other.mu == pytest.approx(found.mu, rel=1e-9)
    assert other.radius == pytest.approx(found.radius * unit, rel=1e-12)
    assert other.at_lower.tolist() == found.at_lower.tolist()


def test_the_usual_grid_has_four_nodes_for_every_power_of_ten_from_minus_twelve_to_twelve():
    """s = 1 and eta = 0.1: what no row sees has its best node at the first, what a row is at the last, and one between."""
    spec = Spectral.from_features(np.array([[1.0, 0.0]]), np.ones(1))
    found = global_radius(spec, spec.project(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.1]])), 1.0, 0.1, "grid97")
    assert found.mu == pytest.approx([1e-12, 1e12, 1e2], rel=1e-12)  # 1 + mu = sqrt(99) / 0.1 without a grid


@pytest.mark.parametrize("grid", [None, (-2.5, 5.0, 6)])
def test_a_grid_gives_the_least_of_its_nodes(grid):
    """Node by node in plain arithmetic; the certificate has its own best node."""
    nodes = [10.0 ** (-12 + k / 4) for k in range(97)] if grid is None else [10.0 ** (-2.5 + 1.5 * k) for k in range(6)]
    spec, proj = in_form("features")
    found = global_radius(spec, proj, BALL, NOISE, "grid97", *([] if grid is None else [grid]))
    apart = 0
    for i, c in enumerate(POINTS):
        rows = [moments(SIZES, c, mpmath.mpf(mu)) for mu in nodes]
        radii = [float(mpmath.sqrt(V * (BALL**2 + mu * NOISE**2))) for (V, _, _), mu in zip(rows, nodes, strict=True)]
        certs = [float(BALL * pf + NOISE * wn) for _, pf, wn in rows]
        at, there = int(np.argmin(radii)), int(np.argmin(certs))
        apart += at != there
        assert found.mu[i] == pytest.approx(nodes[at], rel=1e-12)
        assert found.mu_cert[i] == pytest.approx(nodes[there], rel=1e-12)
        assert found.radius[i] == pytest.approx(radii[at], rel=1e-12)
        assert found.cert[i] == pytest.approx(certs[there], rel=1e-12)
        assert (found.pf[i], found.wn[i]) == pytest.approx((float(rows[at][1]), float(rows[at][2])), rel=1e-12)
        assert (found.at_lower[i], found.at_upper[i]) == (at == 0, at == len(nodes) - 1)
    assert (apart > 0) == (grid is not None)
    assert (found.method, found.delta_num) == ("grid97", 10 * 2.0**-26 * BALL)
    assert found.allowance.tolist() == [0.0] * 5
    assert found.resolved.all()


def test_a_grid_of_a_gram_matrix_has_the_allowance_of_its_nodes():
    """One row: V = k - b^2 / (G + 1/mu) moves by twice delta w^2 + 2 eps k, delta being 4 eps G and w = b / (G + 1/mu)."""
    G, b, k = 0.5, np.array([0.3, 0.1]), np.array([0.6, 0.5])
    spec = Spectral.from_gram(np.array([[G]]), np.ones(1))
    found = global_radius(spec, spec.project(b[None], k), 2.0, 0.1, "grid97", (-1, 3, 5))
    w = b / (G + 1 / found.mu)
    moved = 2 * (4 * EPS * G * w**2 + 2 * EPS * k)
    assert found.allowance == pytest.approx(moved / (k - b * w) * found.radius / 2, rel=1e-9, abs=0)
    assert found.resolved.all()


def test_without_a_ball_a_grid_has_the_tangent_of_its_nodes():
    """eps = 0 and the functional that is the row: V is 1 / (1 + mu), of which 12 EPS at mu = 1e11 are 27 parts in 1e5."""
    spec = Spectral.from_gram(np.ones((1, 1)), np.ones(1))
    found = global_radius(spec, spec.project(np.ones((1, 1)), np.ones(1)), 0.0, 0.5, "grid97", (11, 12, 2))
    assert found.radius[0] == pytest.approx(0.5, rel=1e-10)
    assert found.allowance[0] == pytest.approx(12 * EPS * 1e11 * 0.5 / 2, rel=1e-9, abs=0)
    assert found.resolved[0]


def test_limits_of_a_grid():
    spec = Spectral.from_features(np.eye(1), np.ones(1))
    proj = spec.project(np.eye(1))
    assert global_radius(spec, proj, 1.0, 0.5, "grid97", (0, 1, 1e6)).radius.shape == (1,)
    with pytest.raises(InputError, match="the count of grid"):
        global_radius(spec, proj, 1.0, 0.5, "grid97", (0, 1, 1e6 + 1))


def one_row(eps, eta, z):
    """The certificate of the row 1 and the functional of product 1 and square 1 + z; its radius, and by how much it can be larger.

    With s = 1 the minimum over mu is sqrt(z (eps^2 - eta^2)) + eta. Rounding may hide delta = 4 EPS on the diagonal, and k may
    be larger by 8 EPS, which the same formula then has in 60 digits.
    """
    spec = Spectral.from_gram(np.ones((1, 1)), np.ones(1))
    found = global_radius(spec, spec.project(np.ones((1, 1)), np.array([1 + z])), eps, eta)
    with mpmath.workdps(60):
        eps, eta, z = map(mpmath.mpf, (eps, eta, z))
        G = 1 + mpmath.mpf(4 * EPS)
        exact = mpmath.sqrt(z * (eps**2 - eta**2)) + eta
        left = (1 + z) * (1 + mpmath.mpf(8 * EPS)) - 1 / G
        wide = mpmath.sqrt(left * (eps**2 - eta**2 / G)) + eta / G
        return found, float(exact), float(wide - exact)


@pytest.mark.parametrize("eps", [1e-3, 0.5, 1e3])
def test_a_radius_is_resolved_where_rounding_adds_up_to_a_thousandth(monkeypatch, eps):
    """What is left of k is z, of which rounding is about 12 EPS: on either side of a thousandth, in three units of length."""
    monkeypatch.setattr(module, "radius_share", lambda *_: np.zeros(1))  # which rounding may take off
    for units, resolved in ((1e5, True), (14000, True), (7500, True), (4800, False), (8, False)):
        found, exact, moved = one_row(eps, 1e-10 * eps, units * EPS)
        assert found.radius[0] == pytest.approx(exact, rel=1e-6)
        # A row of 1 leaves every difference of squares exact. The tangent would be too large by 12 / units / 4.
        assert found.allowance[0] == pytest.approx(moved, rel=1e-5, abs=0)
        assert found.resolved[0] == (moved <= 1e-3 * exact) == resolved


@pytest.mark.parametrize("z", [2.0, 2.0**-4, 2.0**-26])
def test_where_rounding_moves_the_radius_by_little_half_the_share_of_the_variance_is_allowed(z):
    """V = z + 1 / (1 + mu), above 1 and below it, moves by 12 EPS less what the noise takes off the weight."""
    found, _, _ = one_row(1.0, 1e-3, z)
    mu = found.mu[0]
    w, V = 1 / (1 + 1 / mu), z + 1 / (1 + mu)
    moved = 2 * (4 * EPS * w**2 + 2 * EPS * (1 + z))
    assert moved / V < 1e-6
    assert found.allowance[0] == pytest.approx(moved / V / 2 * found.radius[0], rel=1e-9, abs=0)
    assert found.resolved[0]


def test_a_variance_of_zero_is_rounding():
    """No noise and a functional that is the row: the radius is 0, and nothing of what the dominating problem adds is resolved."""
    spec = Spectral.from_gram(np.array([[4.0]]), np.ones(1))
    found = global_radius(spec, spec.project(np.array([[2.0, 2.0]]), np.array([1.0, 2.0])), 3.0, 0.0)
    delta = 16 * EPS
    wide = [3 * (k * (1 + 8 * EPS) - 4 / (4 + delta)) ** 0.5 for k in (1.0, 2.0)]
    assert found.radius.tolist() == [0.0, 3.0]
    assert found.allowance[0] == pytest.approx(wide[0], rel=0.1)
    assert found.resolved.tolist() == [False, True]


def equal_rows(along, exact, eta=0.1, eps=1.0):
    """Two equal rows and one more, functionals with a part `along` their difference: what is known of it was dropped."""
    G = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    spec = Spectral.from_gram(G, np.array([1.0, 1.0, 0.5]), exact=exact)
    along = np.asarray(along) / 2**0.5
    b = np.array([0.3 + along, 0.3 - along, 0.5 + 0 * along])
    return spec, global_radius(spec, spec.project(b, np.full(len(along), 2.0)), eps, eta)


def test_a_radius_is_not_resolved_where_a_noisy_direction_was_dropped_that_uses_more_than_a_thousandth_of_the_noise():
    """The functional is not zero along the difference of the equal rows, so what attains the radius has that misfit besides."""
    mu = equal_rows([0.0], None)[1].mu[0]
    products, values = np.array([0.3 * 2**0.5, 0.5]), np.array([2.0, 4.0])
    left = products / (1 + mu * values)  # of the functional in the rows, once what they say is taken off
    used = (left @ left) ** 0.5
    assert used * (2 - products @ (products / values) + left @ (left / values)) ** -0.5 == pytest.approx(0.1, rel=1e-6)
    limit = used * 1e-3 / (1 - 1e-3)
    spec, found = equal_rows([0.0, 0.98 * limit, 1.02 * limit], None)
    assert (spec.dropped, spec.exact) == (1, None)
    assert found.resolved.tolist() == [True, True, False]
    assert (found.allowance < 1e-12).all()  # the tangent, for none of them is rounding large


def test_exact_rows_that_lost_a_direction_ask_the_dominating_problem():
    """Rounding of the lost direction is divided by the delta of the exact rows: a radius that it makes smaller has no allowance."""
    part = 2e-9
    spec, found = equal_rows([0.0, part], [0, 1])
    assert (spec.dropped, spec.exact.dropped) == (0, 1)
    assert found.radius[0] == pytest.approx(found.radius[1], rel=1e-12)
    delta = 4 * 3 * EPS
    taken = part**2 / delta / (2 - 0.09)  # of V, which has little left to give to the noisy row
    assert 1e-5 < taken < 1e-3
    assert found.allowance[1] == 0.0
    assert found.resolved.tolist() == [True, False]
    assert 0 <= found.allowance[0] < 1e-14


def test_eigenvalues_up_to_sixty_four_units_of_the_largest_are_dropped():
    """To the bit: at 64 units an eigenvalue is rounding, above it a row of its own; in any unit of the Gram matrix."""
    for top in (1.0, 2.0**20, 2.0**-20):
        cut = 64 * EPS * top
        for last, kept in ((cut, False), (cut * (1 + 4 * EPS), True)):
            w, beta2 = np.array([top, last]), np.array([[0.0, last]])
            found = radius_values(w, beta2, np.array([1.0]), 1.0, 0.0)
            assert found[0] == (0.0 if kept else 1.0)


def test_signs_and_sums_that_no_gram_matrix_has():
    one = np.ones(1)
    with pytest.raises(GramError, match="-1e-09"):
        radius_values(-1e-9 * one, np.zeros((1, 1)), one, 1.0, 0.1)
    assert radius_values(np.array([1.0, -0.99e-8]), np.zeros((1, 2)), one, 1.0, 0.1).tolist() == [1.0]
    with pytest.raises(GramError):
        radius_values(np.array([1.0, -1.01e-8]), np.zeros((1, 2)), one, 1.0, 0.1)
    # b^2 may explain a thousandth more than there is: 1001 of 1000, to the bit, and no more.
    assert radius_values(one, np.array([[1001.0]]), 1000 * one, 1.0, 0.0).tolist() == [0.0]
    with pytest.raises(InputError, match=r"point 0: beta2 explains 1e\+03 of kxx = 1e\+03, so"):
        radius_values(one, np.array([[1001.01]]), 1000 * one, 1.0, 0.0)
    # The worst is the one that explains most of its own, whatever its size.
    with pytest.raises(InputError, match=r"point 1: beta2 explains 1.25 of kxx = 1, so"):
        radius_values(one, np.array([[100.5], [1.25], [0.5]]), np.array([100.0, 1.0, 2.0]), 1.0, 0.0)


def test_a_certificate_belongs_to_the_functionals_of_its_own_rows():
    spec, proj = in_form("features")
    with pytest.raises(InputError, match="method = 'coarse'"):
        global_radius(spec, proj, BALL, NOISE, "coarse")
    with pytest.raises(InputError, match="another Spectral"):
        global_radius(replace(spec), proj, BALL, NOISE)


def test_a_point_whose_square_is_next_to_nothing_is_not_the_one_that_is_named():
    """Both explain more than their square; of the first nothing is left that a double squares."""
    with pytest.raises(InputError, match=r"point 1: beta2 explains 1.01 of kxx = 1"):
        radius_values(np.ones(1), np.array([[3e-160], [1.01]]), np.array([2e-160, 1.0]), 1.0, 0.1)

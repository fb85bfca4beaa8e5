"""Edges of intervals that can be written down: a disc cut by a strip, and diagonal problems whose dual is minimised in 40 digits."""

import math

import mpmath
import numpy as np
import pytest

from orledger.recovery import InputError, Spectral, local_interval, occam, primal_elements
from orledger.recovery.centre import Centre
from orledger.recovery.edges import _feasible_share, edges_of

EPS = 2.0**-52
FUNCTIONALS = np.array(
    [[1.0, 0.5], [-1.0, 2.0], [1.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [3.0, 0.01], [-2.0, 0.3], [1e-9, 1.0], [0.2, 1e-6]]
)


def in_a_strip(s, y, budget, rho, c, sign):
    """The end of c . u over |u| <= rho, (s u_1 - y)^2 <= budget in the direction `sign`: (value, u_1, alpha, mu) by geometry.

    Either the disc's own extreme point lies in the strip, or u_1 is at the strip's nearer border. There mu and alpha are what
    makes the point stationary: (1 + mu s^2) u_1 = mu s y + alpha c_1 and u_2 = alpha c_2.
    """
    c1, c2, size = float(c[0]), float(c[1]), math.hypot(*c)
    best, half = sign * rho * c1 / size, math.sqrt(budget) / s
    low, high = y / s - half, y / s + half
    if low <= best <= high:
        return sign * rho * size, best, sign * rho / size, 0.0
    u = low if best < low else high
    if c2 == 0:
        return c1 * u, u, 0.0, math.inf
    alpha = sign * math.sqrt((rho - abs(u)) * (rho + abs(u))) / c2
    return c1 * u + alpha * c2 * c2, u, alpha, (alpha * c1 - u) / (s * (s * u - y))


STRIPS = {
    "a lens": (1.0, 3.0, 1.0, 0.0, 1.02),
    "a thin lens": (1.0, 3.0, 1.0, 0.0, 1 + 1e-6),
    "a misfit that nothing explains": (0.5, 3.0, 2.0, 1.5, 1.3),
    "a strip": (2.0, 3.0, 0.5, 0.0, 20.0),
    "a thin strip": (2.0, 3.0, 1e-6, 0.0, 3.0),
    "nearly the best misfit": (2.0, 3.0, 1.5 * (1 + 1e-9), 1.5, 3.0),
}


@pytest.mark.parametrize("form", ["features", "kernel"])
@pytest.mark.parametrize("kind", STRIPS)
def test_a_disc_cut_by_a_strip(kind, form):
    """Both edges of functionals along, across and between, the elements that attain them, and the multipliers."""
    s, y, eta, rest, inflation = STRIPS[kind]
    C = FUNCTIONALS
    if form == "features":
        spec = Spectral.from_features(np.array([[s, 0.0], [0.0, 0.0]]), np.array([y, rest]))
        proj = spec.project(C)
    else:
        spec = Spectral.from_gram(np.diag([s * s, 0.0]), np.array([y, rest]))
        proj = spec.project(np.stack([s * C[:, 0], C[:, 0] * 0]), (C * C).sum(1))
    budget = (eta - rest) * (eta + rest)
    least = (y - math.sqrt(budget)) / s
    rho = inflation * least
    assert occam(spec, eta).rho == pytest.approx(least, rel=1e-13)
    band = local_interval(spec, proj, rho, eta)
    plain = band.resolved & ((C[:, 1] == 0) | (C[:, 1] > 1e-4 * abs(C[:, 0])))
    assert plain.sum() >= (8 if form == "features" else 3)
    sides = {-1: (band.lower, band.primal_lower, band.coords_lower, band.null_lower, band.mu_lower)}
    sides[1] = (band.upper, band.primal_upper, band.coords_upper, band.null_upper, band.mu_upper)
    ends = {sign: np.array([in_a_strip(s, y, budget, rho, c, sign) for c in C]).T for sign in sides}
    size = rho * np.hypot(*C.T)
    turn, root_of_rounding = spec.basis[0, 0], 1e-6 if form == "kernel" else 1e-11
    thin = 1e-8 if "nearly" in kind else 1e-9 if "thin" in kind else 1e-11
    half = (ends[1][0] - ends[-1][0]) / 2
    for sign, (edge, attained, coords, null, mu) in sides.items():
        value, u, alpha, ratio = ends[sign]
        for i in np.flatnonzero(plain):
            at = root_of_rounding * size[i] + thin * half[i]
            assert edge[i] == pytest.approx(value[i], rel=1e-13, abs=at)
            assert attained[i] == pytest.approx(value[i], rel=1e-13, abs=at)
            if form == "features" and inflation > 1.01:
                assert coords[i, 0] * turn == pytest.approx(u[i], rel=1e-6)
                assert null[i] == pytest.approx(alpha[i] if C[i, 1] else 0.0, rel=1e-6)
                assert mu[i] == pytest.approx(ratio[i], rel=1e-6, abs=0) or mu[i] * s * s > 1e8 < ratio[i] * s * s
    if form == "features":
        assert band.half[plain] == pytest.approx(half[plain], rel=1e-7 if "nearly" in kind else 1e-8)
        assert (band.gap_rel < 1e-9).all()
        assert band.centre == pytest.approx(C[:, 0] * least, rel=1e-12, abs=1e-15)


S, Y, REST = np.array([2.0, 1.0, 0.25]), np.array([3.0, -1.0, 0.5]), 0.75
C = np.array([[1.0, -2.0, 0.5, 0.7], [0.3, 0.1, -4.0, 0.0], [0.0, 1.0, 1.0, 3.0], [0.3, -1.0, 0.25, 1e-5]])


def minimised(c, rho, eta, sign):
    """min over mu of sign m(mu) + sqrt(V(mu) (rho^2 + mu eta^2 - mu q(mu))) in 40 digits: Theorem 2, as it stands."""
    s, y, c = ([mpmath.mpf(float(v)) for v in row] for row in (S, Y, c))
    budget = mpmath.mpf(float(eta)) ** 2 - mpmath.mpf(REST) ** 2

    def dual(t):
        mu = mpmath.exp(t)
        f = [1 / (1 + mu * a * a) for a in s]
        V = c[3] ** 2 + sum(g * b * b for g, b in zip(f, c[:3], strict=True))
        m = sum(g * mu * a * d * b for g, a, d, b in zip(f, s, y, c[:3], strict=True))
        R = mpmath.mpf(float(rho)) ** 2 + mu * (budget - sum(g * d * d for g, d in zip(f, y, strict=True)))
        return sign * m + mpmath.sqrt(V * R)

    grid = [mpmath.mpf(t) for t in np.linspace(-40, 60, 15)]
    values = [dual(t) for t in grid]
    i = values.index(min(values))
    low, high, g = grid[max(i - 1, 0)], grid[min(i + 1, 14)], (mpmath.sqrt(5) - 1) / 2
    left, right = high - g * (high - low), low + g * (high - low)
    at_left, at_right = dual(left), dual(right)
    for _ in range(40):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - g * (high - low)
            at_left = dual(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + g * (high - low)
            at_right = dual(right)
    return min(at_left, at_right, *values), left


@pytest.mark.parametrize(("share", "inflation"), [(0.3, 1.2), (0.3, 1 + 1e-7), (1e-3, 30.0), (0.02, 1.001), (1.2, 1.0)])
def test_the_edges_of_a_diagonal_problem_are_the_least_of_the_dual(share, inflation):
    """Half-widths keep their digits close to the Occam radius, where they are a small difference of large edges."""
    Phi = np.vstack([np.eye(4)[:3] * S[:, None], np.zeros(4)])
    spec, eta = Spectral.from_features(Phi, np.array([*Y, REST])), math.sqrt(REST**2 + share * float(Y @ Y))
    rho = inflation * occam(spec, eta).rho or 1.5
    band = local_interval(spec, spec.project(C), rho, eta)
    close = 1e-8 if inflation < 1.0001 else 1e-11
    with mpmath.workdps(40):
        for i, c in enumerate(C):
            (top, up), (bottom, down) = (minimised(c, rho, eta, sign) for sign in (1, -1))
            assert band.upper[i] == pytest.approx(float(top), rel=1e-12, abs=1e-13)
            assert band.lower[i] == pytest.approx(-float(bottom), rel=1e-12, abs=1e-13)
            assert band.half[i] == pytest.approx(float((top + bottom) / 2), rel=close)
            for mu, t in ((band.mu_upper[i], up), (band.mu_lower[i], down)):
                same = mu == pytest.approx(float(mpmath.exp(t)), rel=1e-4 if close < 1e-9 else 1e-3)
                assert same or (mu == 0 and t < -25) or (mu == math.inf and t > 25)
    assert (band.gap_rel < 1e-9).all()
    for element, value in zip(
        primal_elements(spec.project(C), band), (band.primal_lower, band.primal_upper), strict=True
    ):
        assert (element * C).sum(1) == pytest.approx(value, rel=1e-12, abs=1e-13)
        assert (np.linalg.norm(element, axis=1) <= rho * (1 + 1e-12)).all()
        assert (np.linalg.norm(element @ Phi.T - [*Y, REST], axis=1) <= eta * (1 + 1e-12)).all()


def edges(spec, proj, rho, eta):
    centre = Centre.of(spec, eta)
    room = (rho - centre.occ.rho) * (rho + centre.occ.rho)
    grid = centre.nodes(room**0.5 / (centre.occ.rho or 1e-300))
    return centre, edges_of(centre, centre.interior(room), proj, room, (grid, centre.on_grid(grid, room)))


def test_what_else_an_edge_tells():
    """Outer and attained edge from the centre's value; V, or its limit sum c^2/s^2 at mu = inf; alpha, with its sign."""
    s, y, eta, rho = 2.0, 3.0, 0.5, 1.4
    spec = Spectral.from_features(np.array([[s, 0.0]]), np.array([y]))
    with np.errstate(divide="raise", invalid="raise"):
        centre, pair = edges(spec, spec.project(FUNCTIONALS), rho, eta)
    for edge, sign in zip(pair, (1, -1), strict=True):
        for i, c in enumerate(FUNCTIONALS):
            value, u, alpha, mu = in_a_strip(s, y, eta**2, rho, c, sign)
            start = c[0] * (y - eta) / s
            assert edge.outer[i] == pytest.approx(sign * (value - start), rel=1e-9, abs=1e-13)
            assert edge.attained[i] == pytest.approx(edge.outer[i], rel=1e-9, abs=1e-13)
            if np.isinf(mu):
                assert (edge.mu[i], edge.alpha[i], edge.null[i]) == (np.inf, 0.0, 0.0)
                assert edge.spread[i] == pytest.approx(c[0] ** 2 / s**2, rel=1e-13)
            else:
                assert edge.mu[i] == pytest.approx(mu, rel=1e-7)
                assert edge.alpha[i] == pytest.approx(alpha, rel=1e-7)
                assert edge.null[i] == pytest.approx(alpha if c[1] else 0.0, rel=1e-7)
                assert edge.spread[i] == pytest.approx(c[1] ** 2 + c[0] ** 2 / (1 + mu * s * s), rel=1e-7)
            assert edge.coords[i, 0] * spec.basis[0, 0] == pytest.approx(u, rel=1e-9)
    assert centre.theta * spec.basis[0] == pytest.approx([1.25])


def test_rows_alone_that_are_exact_leave_no_element_beside_them():
    """What rounding leaves of a functional of an exact row is not attained, whatever noise there would be for other rows."""
    spec = Spectral.from_gram(np.eye(2), np.array([0.5, 0.25]), exact=[0, 1])
    proj = spec.project(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([1 + 8 * EPS, 1 + 1e-4]))
    for eta in (0.0, 0.4):
        band = local_interval(spec, proj, 2.0, eta)
        assert (band.primal_lower[0], band.primal_upper[0], band.null_upper[0]) == (0.5, 0.5, 0.0)
        assert band.primal_upper[1] == pytest.approx(0.5 + math.sqrt((4 - 0.3125) * 1e-4), rel=1e-9)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 3e5])
def test_next_to_the_limit_the_limit_is_taken(unit):
    """Where only rounding can tell a multiplier from none at all, whatever the unit of the rows."""
    turns = np.linspace(0, 3, 12)
    C = np.stack([np.cos(turns), np.sin(turns)], 1)
    spec = Spectral.from_features(np.diag([1.0, 0.3]) * unit, np.array([1.0, 0.3]))
    band = local_interval(spec, spec.project(C), 1e4 / unit, 1e-2)
    assert np.isinf(band.mu_upper).all()
    assert np.isinf(band.mu_lower).all()
    assert band.half * unit == pytest.approx(1e-2 * np.hypot(C[:, 0], C[:, 1] / 0.3), rel=1e-11)
    assert (band.gap_rel == 0).all()


@pytest.mark.parametrize("unit", [1.0, 3e5, 7e7])
def test_the_limit_is_taken_also_where_rounding_could_prefer_a_multiplier(unit):
    """The ball's surface runs through the least-squares solution: half of the ellipsoid's extreme points are inside."""
    s, y, eta = unit * np.array([2.0, 1.0]), np.array([3.0, -1.0]), 1e-3
    best, turns = y / s, np.linspace(0, 6, 25)
    C = np.stack([np.cos(turns), np.sin(turns)], 1)
    spec = Spectral.from_features(np.diag(s), y)
    band = local_interval(spec, spec.project(C), float(np.linalg.norm(best)) * (1 + 1e-6), eta)
    inward = (C / s) @ (best / s) / np.linalg.norm(C / s, axis=1) / np.linalg.norm(best / s)
    assert np.isinf(band.mu_upper[inward < -0.1]).all()
    assert np.isinf(band.mu_lower[inward > 0.1]).all()
    assert np.isfinite(band.mu_upper[inward > 0.1]).all()
    assert (band.gap_rel < 1e-9).all()


def test_a_large_multiplier_is_not_yet_the_limit():
    """The norm ball's surface runs through the middle of a tiny ellipsoid: at z = S d / eta a disc, cut by a straight line."""
    s, y, eta = np.array([2.0, 1.0]), np.array([3.0, -1.0]), 1e-10
    spec, best, C = Spectral.from_features(np.diag(s), y), y / s, np.array([[1.0, 0.2], [-0.3, 1.0], [1.0, -1.0]])
    rho = float(np.linalg.norm(best))
    band, normal = local_interval(spec, spec.project(C), rho, eta), best / s / np.linalg.norm(best / s)
    for sign, edge, primal, mus in (
        (1, band.upper, band.primal_upper, band.mu_upper),
        (-1, band.lower, band.primal_lower, band.mu_lower),
    ):
        for i, c in enumerate(sign * C / s):
            across = c @ normal
            want = np.linalg.norm(c - max(across, 0.0) * normal)
            for end in (edge, primal):
                assert sign * (end[i] - C[i] @ best) / eta == pytest.approx(want, rel=1e-4)
            assert mus[i] > 1e9
            assert (mus[i] > 1e15) == (across < 0)
    assert (band.gap_rel < 1e-9).all()


def share(centre, inner, d, alpha, room, c02):
    """How far a pull goes from `inner` towards (d, alpha), of one point."""
    one = np.ones(1)
    return float(_feasible_share(centre, np.array([inner]), np.array([[d]]), alpha * one, room, c02 * one)[0])


def test_a_pull_ends_at_a_sphere_that_is_close_by_to_all_digits():
    """On a line, from a point next to the border of the strip [2, 4] or of the ball, outwards, across and along it."""
    for unit in (1.0, 0.1):
        strip = Centre.of(Spectral.from_features(np.ones((1, 1)), np.array([3.0 * unit])), unit)
        turn = unit * strip.spec.basis[0, 0]  # theta is 2
        for inside in (0.5, 1e-3, 1e-9):
            for target, want in ((-0.3, inside / (inside + 0.3)), (7.0, (2 - inside) / (7 - inside)), (1.5, 1.0)):
                assert share(strip, inside * turn, target * turn, 0.0, 99.0, 0.0) == pytest.approx(
                    want, rel=1e-12, abs=0
                )
    # Data inside the noise: theta is 0, and the ball has the radius 1/2 + 2^-40 / (1 + ...); the noise ball is far.
    ball = Centre.of(Spectral.from_features(np.ones((1, 1)), np.array([1e-3])), 9.0)
    room = 0.25 + 2.0**-40
    left = 2.0**-40 / (0.5 + math.sqrt(room))
    assert share(ball, 0.5, 0.6, 0.0, room, 0.0) == pytest.approx(left / 0.1, rel=1e-11, abs=0)
    assert share(ball, 0.5, -0.9, 0.0, room, 0.0) == pytest.approx((1 + left) / 1.4, rel=1e-12)
    # Across the ball: three times a null-space part of two.
    assert share(ball, 0.5, 0.5, 3.0, room, 4.0) == pytest.approx(2.0**-20 / 6, rel=1e-12, abs=0)
    assert share(ball, 0.5, 0.5, 1e-9, room, 4.0) == 1.0


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_edges_are_attained_in_any_unit(unit):
    """Rows, data and noise in other units have the same elements."""
    rng = np.random.default_rng(6)
    Phi, y, points = rng.standard_normal((4, 6)), rng.standard_normal(4), rng.standard_normal((5, 6))
    spec = Spectral.from_features(unit * Phi, unit * y)
    eta = 0.5 * spec.ynorm
    rho = 1.1 * occam(spec, eta).rho
    proj = spec.project(points)
    band = local_interval(spec, proj, rho, eta)
    for element, edge in zip(primal_elements(proj, band), (band.lower, band.upper), strict=True):
        assert np.linalg.norm(element, axis=1) == pytest.approx([rho] * 5, rel=1e-10)
        assert np.linalg.norm(element @ Phi.T - y, axis=1) * unit == pytest.approx([eta] * 5, rel=1e-10)
        assert (element * points).sum(1) == pytest.approx(edge, rel=1e-10)


def test_the_interior_point_is_one_of_the_ridge_solutions_looked_at():
    """theta = 0 and one row of s = 2: both slacks are equal at mu = 1, which is no node; the best node is next to it."""
    eta = 1.2
    centre = Centre.of(Spectral.from_features(np.full((1, 1), 2.0), np.ones(1)), eta)
    room = 0.16 * eta**2 / 0.04  # u = 2/5 and misfit 1/5 at mu = 1
    mus = np.array([0.0, *(10 ** (np.arange(109) / 4 - 12) / 4)])
    u = 2 * mus / (1 + 4 * mus)
    slack = np.minimum(1 - u**2 / room, 1 - (1 - 2 * u) ** 2 / eta**2)
    found = float(centre.interior(room)[0] * centre.spec.basis[0, 0])
    assert found == pytest.approx(u[slack.argmax()], rel=1e-9)
    assert abs(found - 0.4) > 1e-3


@pytest.mark.parametrize("unit", [1.0, 1e-10])
def test_a_root_beyond_the_grid_leaves_a_valid_edge_and_a_gap(unit):
    """A part of 1e-14 that no row sees and rho / eta = 1e13: the edge is the dual's at the last node, and the gap tells."""
    s, y, eta, rho, c = 2.0, 3.0 * unit, 1e-6 * unit, 1e7 * unit, np.array([1.0, 1e-14])
    spec = Spectral.from_features(np.array([[s, 0.0]]), np.array([y]))
    band = local_interval(spec, spec.project(c[None]), rho, eta)
    last = 1e18 * (y - eta) / (eta * s * s)  # REACH times the Occam multiplier
    (low, *_), (high, *_, ratio) = (in_a_strip(s, y, eta**2, rho, c, sign) for sign in (-1, 1))
    assert ratio > 100 * last
    assert band.mu_upper[0] == pytest.approx(last, rel=1e-9)
    V, R = c[1] ** 2 + c[0] ** 2 / (last * s * s), rho**2 + last * eta**2
    assert band.half[0] == pytest.approx(math.sqrt(V * R), rel=1e-6)
    assert band.upper[0] > high
    assert band.lower[0] < low
    assert band.gap_rel[0] == pytest.approx(1 - (high - low) / 2 / band.half[0], abs=0.1)


def test_a_functional_that_is_zero_has_one_value_without_warnings():
    spec = Spectral.from_features(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([3.0, 1.0]))
    with np.errstate(divide="raise", invalid="raise"):
        band = local_interval(spec, spec.project(np.array([[0.0, 0.0], [1.0, 1.0]])), 2.5, 0.5)
    assert (band.lower[0], band.upper[0], band.gap_rel[0]) == (0.0, 0.0, 0.0) or abs(band.half[0]) < 1e-70
    assert band.gap_rel[1] < 1e-9


def test_another_occam_radius_than_that_of_the_noise_is_refused():
    spec = Spectral.from_features(np.eye(2), np.ones(2))
    proj, least = spec.project(np.eye(2)), occam(spec, 0.5)
    assert local_interval(spec, proj, 2.0, 0.5, occ=least).rho_oc == least.rho
    with pytest.raises(InputError, match=r"^occ is the Occam radius at eta = 0\.5 and eta = 0\.25"):
        local_interval(spec, proj, 2.0, 0.25, occ=least)
    for wrong in (1.5, "one"):
        with pytest.raises(InputError, match=f"^occ is {wrong!r} and eta = 0\\.5"):
            local_interval(spec, proj, 2.0, 0.5, occ=wrong)

"""The conditional problem seen from its Occam solution: every sum against the definition, in the coordinates of the features."""

import numpy as np
import pytest

from orledger.recovery import Spectral, occam
from orledger.recovery.centre import Centre
from orledger.recovery.edges import _feasible_share, blocks, edges_of
from orledger.recovery.roots import log_grid

EPS = 2.0**-52


class Problem:
    """Features, data and functionals; ridge solutions, misfits and duals from linear solves in all coordinates."""

    def __init__(self, kind):
        rng = np.random.default_rng(11)
        self.Phi, self.y = rng.standard_normal((5, 7)), 2 * rng.standard_normal(5)
        self.C = rng.standard_normal((3, 7))
        self.spec = Spectral.from_features(self.Phi, self.y)
        self.eta = {"interior": 0.6, "zero": 1.2, "interpolating": 0.0}[kind] * np.linalg.norm(self.y)
        self.centre, self.proj = Centre.of(self.spec, self.eta), self.spec.project(self.C)
        self.mu0 = self.centre.occ.mu
        self.oc = self.ridge(self.mu0)
        self.rho2 = 1.7 * (self.oc @ self.oc) + 0.3
        self.room = self.rho2 - self.oc @ self.oc

    def ridge(self, mu):
        if np.isinf(mu):
            return np.linalg.pinv(self.Phi) @ self.y
        return mu * np.linalg.solve(np.eye(7) + mu * self.Phi.T @ self.Phi, self.Phi.T @ self.y)

    def inverse(self, mu):
        return np.linalg.inv(np.eye(7) + mu * self.Phi.T @ self.Phi)

    def misfit2(self, theta):
        return ((theta @ self.Phi.T - self.y) ** 2).sum(-1)

    def whole(self, move):
        """Coefficient vectors of moves inside the row space."""
        return self.oc + move @ self.spec.basis.T


@pytest.fixture(params=["interior", "zero"], scope="module")
def problem(request):
    return Problem(request.param)


MUS = np.array([0.03, 0.9, 25.0])


def test_the_centre_is_the_ridge_solution_at_the_occam_multiplier(problem):
    centre, W = problem.centre, problem.spec.basis
    assert (problem.mu0 == 0) == (problem.eta > np.linalg.norm(problem.y))
    assert centre.theta == pytest.approx(problem.oc @ W, rel=1e-10, abs=1e-14)
    assert centre.size2 == pytest.approx(problem.oc @ problem.oc, rel=1e-10)
    assert centre.value(problem.proj) == pytest.approx(problem.C @ problem.oc, rel=1e-10, abs=1e-14)
    assert centre.g0 == pytest.approx((problem.y - problem.Phi @ problem.oc) @ problem.Phi @ W, rel=1e-9)
    assert centre.v == pytest.approx((problem.oc if problem.mu0 else problem.y @ problem.Phi) @ W, rel=1e-10)
    assert pytest.approx(problem.eta**2 - problem.y @ problem.y if problem.mu0 == 0 else 0.0) == centre.A
    assert centre.budget == pytest.approx(problem.eta**2, rel=1e-12)  # five rows of rank five fit any data


def test_the_budget_is_what_the_best_misfit_leaves():
    spec = Spectral.from_features(np.array([[1.0], [1.0]]), np.array([3.0, 1.0]))
    assert Centre.of(spec, 2.0).budget == pytest.approx(4.0 - 2.0, rel=1e-14)
    at_best = Centre.of(spec, spec.best_misfit)
    assert at_best.budget == 0.0
    assert at_best.theta == pytest.approx(2.0 * spec.basis[0], rel=1e-14)


def test_moments_and_steps_at_one_multiplier_per_point(problem):
    centre, proj = problem.centre, problem.proj
    t = np.log(MUS / (problem.mu0 or 1.0))
    p = centre.pieces(t, proj.ct, proj.c02)
    assert p.mu == pytest.approx(MUS, rel=1e-12)
    alpha = np.array([0.4, -2.0, 1.0])
    moves = centre.step(p, alpha)
    for i, (mu, c) in enumerate(zip(MUS, problem.C, strict=True)):
        ridge, inverse = problem.ridge(mu), problem.inverse(mu)
        assert p.V[i] == pytest.approx(c @ inverse @ c, rel=1e-10)
        assert p.drift[i] == pytest.approx(c @ (problem.oc - ridge), rel=1e-9)
        q = problem.misfit2(ridge) + ridge @ ridge / mu
        assert p.quad[i] == pytest.approx(mu * (problem.eta**2 - q) + problem.oc @ problem.oc, rel=1e-9)
        inside = (ridge + alpha[i] * inverse @ c) @ problem.spec.basis
        assert centre.theta + moves[i] == pytest.approx(inside, rel=1e-9)
    assert centre.overshoot(moves) == pytest.approx(problem.misfit2(problem.whole(moves)) - problem.eta**2, rel=1e-9)
    away, size = centre.pieces(np.full(3, -np.inf), proj.ct, proj.c02), (problem.C**2).sum(1)
    assert (away.mu == 0).all()
    assert pytest.approx(size, rel=1e-12) == away.V
    assert away.drift == pytest.approx(problem.C @ problem.oc, rel=1e-10, abs=1e-14)


def excess_by_hand(problem, mu, c, c02, alpha, room):
    """Misfit^2 - eta^2, or (rho^2 - |theta|^2) / mu where the norm ball is the one that resolves the sign."""
    move = (problem.ridge(mu) + alpha * problem.inverse(mu) @ c) @ problem.spec.basis
    theta = problem.spec.basis @ move
    noise = problem.misfit2(theta) - problem.eta**2
    if room is None or mu * problem.eta**2 <= room + problem.oc @ problem.oc:
        return noise
    return (room + problem.oc @ problem.oc - theta @ theta - alpha**2 * c02) / mu


@pytest.mark.parametrize("bounded", [True, False])
def test_the_excess_is_measured_by_the_ball_that_resolves_it(problem, bounded):
    """One multiplier per point, and all nodes of a grid at once: the same numbers, by two ways and by hand."""
    centre, proj, room = problem.centre, problem.proj, problem.room if bounded else None
    turn = (problem.room + problem.oc @ problem.oc) / problem.eta**2
    mus = np.array([0.01, 0.3, 0.97, 1.03, 40.0]) * turn
    t = np.log(mus / (problem.mu0 or 1.0))
    alphas = np.array([[0.5], [-1.5], [0.2]])
    (table,) = centre.excess_on_grid(
        centre.on_grid(t, room), proj, proj.ct**2, [lambda V, _drift, _quad: alphas + V * 0]
    )
    for j, mu in enumerate(mus):
        alone = centre.excess(centre.pieces(np.full(3, t[j]), proj.ct, proj.c02), alphas[:, 0], proj.c02, room)
        for i, c in enumerate(problem.C):
            want = excess_by_hand(problem, mu, c, proj.c02[i], alphas[i, 0], room)
            assert alone[i] == pytest.approx(want, rel=1e-8)
            assert table[i, j] == pytest.approx(want, rel=1e-8)


def test_rules_on_a_grid_are_given_the_moments_at_its_nodes(problem):
    centre, proj = problem.centre, problem.proj
    t, seen = np.log(MUS / (problem.mu0 or 1.0)), []
    rule = lambda V, drift, quad: seen.append((V, drift, quad + V * 0)) or V * 0  # noqa: E731
    assert len(centre.excess_on_grid(centre.on_grid(t, 1.0), proj, proj.ct**2, [rule, rule])) == 2
    for j in range(3):
        p = centre.pieces(np.full(3, t[j]), proj.ct, proj.c02)
        for found, want in zip(seen[1], (p.V, p.drift, p.quad), strict=True):
            assert found[:, j] == pytest.approx(want, rel=1e-11)


def test_the_score_is_the_logarithm_of_the_used_share_of_the_budget(problem):
    """Never below that of one rounding unit, as rounding can leave less than nothing."""
    shares = np.array([-2.0, -1.0, -0.9, 0.0, 3.0])
    found = problem.centre.score(shares * problem.centre.budget)
    assert found == pytest.approx([np.log(EPS), np.log(EPS), np.log(0.1), 0.0, np.log(4.0)], rel=1e-9)


def test_nodes_are_those_of_the_spectrum_and_close_to_the_occam_multiplier_more(problem):
    centre, mu0 = problem.centre, problem.mu0
    plain = log_grid(problem.spec.s2, mu0) - (np.log(mu0) if mu0 else 0.0)
    for near in (0.3, 5.0):
        assert centre.nodes(near) == pytest.approx(plain, rel=1e-14, abs=1e-14)
    for near in (0.29, 1e-7):
        steps = near * 10 ** (-5 + 5.5 * np.arange(8) / 7)
        want = np.sort(np.concatenate([plain[np.abs(plain) > steps[-1]], -steps, [0.0], steps])) if mu0 else plain
        assert centre.nodes(near) == pytest.approx(want, rel=1e-12, abs=1e-20)


def slack(problem, theta, room):
    return min(1 - (theta @ theta - problem.oc @ problem.oc) / room, 1 - problem.misfit2(theta) / problem.eta**2)


@pytest.mark.parametrize("share", [1e-9, 1e-3, 1.0, 40.0])
def test_the_interior_is_the_ridge_solution_with_the_most_slack(problem, share):
    """Of four multipliers a decade beyond the Occam solution's, from 1e-12 of it to 1e15 times it."""
    room = share * problem.room
    ahead = 10 ** (np.arange(109) / 4 - 12)
    mus = problem.mu0 * (1 + ahead) if problem.mu0 else np.array([0, *ahead / np.linalg.norm(problem.Phi, 2) ** 2])
    slacks = [slack(problem, problem.ridge(mu), room) for mu in mus]
    want = problem.ridge(mus[int(np.argmax(slacks))])
    found = problem.whole(problem.centre.interior(room))
    assert found == pytest.approx(want, rel=1e-5)
    assert slack(problem, found, room) == pytest.approx(max(slacks), rel=1e-4)
    assert max(slacks) > 0


def test_without_room_or_noise_the_interior_is_the_centre(problem):
    assert (problem.centre.interior(0.0) == 0).all()
    assert problem.centre.curved(1e-9)
    assert not problem.centre.curved(0.0)
    for other in (
        Problem("interpolating").centre,
        Centre.of(Spectral.from_features(np.zeros((2, 3)), np.ones(2)), 3.0),
    ):
        assert (other.interior(1.0) == 0).all()
        assert not other.curved(1.0)


def test_the_noise_ball_alone_is_an_ellipsoid_around_the_least_squares_solution():
    rng = np.random.default_rng(2)
    Phi, y, C = rng.standard_normal((6, 3)), rng.standard_normal(6), rng.standard_normal((4, 3))
    spec = Spectral.from_features(Phi, y)
    eta = spec.best_misfit + 0.4 * (spec.ynorm - spec.best_misfit)
    centre, proj = Centre.of(spec, eta), spec.project(C)
    best, (drift, width) = np.linalg.lstsq(Phi, y, rcond=None)[0], centre.at_infinity(proj.ct, proj.ct**2)
    assert drift == pytest.approx(C @ best - centre.value(proj), rel=1e-9)
    left = eta**2 - ((Phi @ best - y) ** 2).sum()
    assert width == pytest.approx(np.sqrt(left * np.einsum("ij,jk,ik->i", C, np.linalg.inv(Phi.T @ Phi), C)), rel=1e-9)


def test_a_primal_point_is_pulled_back_as_far_as_either_ball_demands(problem):
    """Along the straight line from an inner point: the first of the two spheres that it meets, and never past the target."""
    centre, room = problem.centre, problem.room
    rng = np.random.default_rng(4)
    inner, c02 = centre.interior(room), np.array([0.0, 0.5, 2.0] * 8)
    d = inner + rng.standard_normal((24, 5)) * np.repeat([0.05, 1.0, 9.0, 40.0], 6)[:, None]
    alpha = rng.standard_normal(24) * np.repeat([0.05, 1.0, 9.0, 40.0], 6)
    found, limits = _feasible_share(centre, inner, d, alpha, room, c02), []
    for i in range(24):
        start, line = problem.whole(inner), problem.spec.basis @ (d[i] - inner)
        norm = [line @ line + alpha[i] ** 2 * c02[i], 2 * line @ start, start @ start - room - problem.oc @ problem.oc]
        rest, along = problem.Phi @ start - problem.y, problem.Phi @ line
        noise = [along @ along, 2 * along @ rest, rest @ rest - problem.eta**2]
        limits.append([max(np.roots(norm).real), max(np.roots(noise).real)])
    assert found == pytest.approx(np.minimum(np.min(limits, axis=1), 1), rel=1e-8)
    assert {1.0 if f == 1 else float(np.argmin(pair)) + 2 for f, pair in zip(found, limits, strict=True)} == {1, 2, 3}
    stay = _feasible_share(centre, inner, inner[None] * 1, np.zeros(1), room, np.ones(1))
    assert 0 <= stay[0] <= 1


def test_points_are_worked_through_in_blocks_of_so_many_coefficients():
    assert blocks(1000, 128) == [slice(0, 256), slice(256, 512), slice(512, 768), slice(768, 1000)]
    assert blocks(40, 10**9) == [slice(0, 16), slice(16, 32), slice(32, 40)]
    assert blocks(40000, 0) == blocks(40000, 1) == [slice(0, 32768), slice(32768, 40000)]
    assert blocks(0, 5) == [slice(0, 0)]
    assert blocks(1, 5) == [slice(0, 1)]


def test_edges_of_problems_that_need_no_search():
    """Exact data: the root of the room times the power function. No row that says anything: times the norm."""
    problem = Problem("interpolating")
    proj = problem.proj
    seen = np.einsum("ij,jk,ik->i", problem.C, np.linalg.pinv(problem.Phi) @ problem.Phi, problem.C)
    null = (problem.C**2).sum(1) - seen
    for room in (2.0, 0.0):
        for edge, sign in zip(
            edges_of(problem.centre, problem.centre.theta * 0, proj, room, None), (1, -1), strict=True
        ):
            assert edge.outer == pytest.approx(np.sqrt(room * null), rel=1e-9)
            assert edge.attained == pytest.approx(edge.outer, rel=1e-12)
            assert np.isinf(edge.mu).all()
            assert edge.coords == pytest.approx(np.tile(problem.centre.theta, (3, 1)))
            assert edge.null == pytest.approx(sign * np.sqrt(room / null), rel=1e-9)
            assert edge.spread == pytest.approx((problem.C**2).sum(1), rel=1e-9)
            assert edge.alpha == pytest.approx(edge.outer / edge.spread, rel=1e-9)
    spec = Spectral.from_features(np.zeros((2, 3)), np.ones(2))
    centre, blind = Centre.of(spec, 3.0), spec.project(np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]]))
    for edge, sign in zip(edges_of(centre, centre.theta, blind, 4.0, None), (1, -1), strict=True):
        assert edge.outer.tolist() == edge.attained.tolist() == [10.0, 0.0]
        assert edge.mu.tolist() == [0.0, 0.0]
        assert edge.null == pytest.approx([sign * 2 / 5, 0.0])
        assert edge.spread.tolist() == [25.0, 0.0]
        assert edge.alpha == pytest.approx([10 / 25, 0.0])


def test_the_single_element_at_the_occam_radius_has_the_variance_of_its_multiplier():
    problem = Problem("interior")
    up, _ = edges_of(problem.centre, problem.centre.theta * 0, problem.proj, 0.0, None)
    assert (up.outer == 0).all()
    assert up.mu == pytest.approx([occam(problem.spec, problem.eta).mu] * 3)
    assert up.spread == pytest.approx([c @ problem.inverse(problem.mu0) @ c for c in problem.C], rel=1e-9)

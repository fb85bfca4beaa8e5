"""What is stated for rounding, against the bound that is documented, evaluated in 800 bits from the rows themselves."""

from dataclasses import replace

import flint
import numpy as np
import oracle
import pytest

from orledger.recovery import Spectral, global_radius, local_interval, occam
from orledger.recovery.allowance import (
    balls_error,
    edges_at,
    feature_allowance,
    functional_error,
    gram_allowance,
    gram_error,
    moved_variance,
)
from orledger.recovery.centre import Centre
from orledger.recovery.edges import edges_of
from orledger.recovery.roots import log_grid

EPS = 2.0**-52
UNIT = 2 * EPS  # to this much of the root of two diagonal entries the entries of a Gram matrix are taken as right
NEAR = {"rel": 1e-6, "abs": 0}  # allowances are far below the 1e-12 that pytest would forgive


def arb(v):
    return flint.arb(float(v))


def root(v):
    return v.sqrt() if v > 0 else arb(0)


def squares(values, scale):
    return sum((arb(d) * v * v for v, d in zip(values, scale, strict=True)), arb(0))


class Case:
    """A Gram matrix with diagonal entries from 1 to 9, its data, and three functionals: as given, and in 800 bits."""

    def __init__(self, exact):
        rng = np.random.default_rng(3)
        size = np.array([1.0, 3.0, 1.5, 2.0, 1.2])
        F = rng.standard_normal((5, 8))
        F *= (size / np.linalg.norm(F, axis=1))[:, None]
        C = rng.standard_normal((3, 8))
        self.G, self.y, self.b, self.k = F @ F.T, rng.standard_normal(5), F @ C.T, (C * C).sum(1)
        self.exact, self.mask = tuple(exact), np.isin(np.arange(5), exact)
        self.spec = Spectral.from_gram(self.G, self.y, exact=self.mask if exact else None)
        self.proj = self.spec.project(self.b, self.k)
        self.exactly = [
            oracle.Oracle([list(map(arb, r)) for r in self.G], list(map(arb, self.y)), list(map(arb, b)), arb(k), self.exact)
            for b, k in zip(self.b.T, self.k, strict=True)
        ]  # fmt: skip
        top = np.abs(self.G.diagonal())
        self.delta = np.where(self.mask, top[self.mask].max(initial=0), top[~self.mask].max()) * 4 * EPS * 5
        self.eta = 0.4
        self.rho = 1.4 * occam(self.spec, self.eta).rho


@pytest.fixture(params=[(), (1, 3)], ids=["noisy rows", "two exact rows"], scope="module")
def case(request):
    flint.ctx.prec = oracle.BITS
    return Case(request.param)


def test_the_error_of_a_gram_matrix_is_relative_to_the_largest_entry_of_each_kind(case):
    assert case.spec.delta == pytest.approx(case.delta, rel=1e-14, abs=0)
    assert gram_error(case.G, None) == pytest.approx(
        np.full(5, 4 * EPS * 5 * case.G.diagonal().max()), rel=1e-14, abs=0
    )
    every = np.ones(5, bool)
    assert gram_error(case.G, every) == pytest.approx(gram_error(case.G, None), rel=0, abs=0)
    assert gram_error(-case.G, every) == pytest.approx(gram_error(case.G, None), rel=0, abs=0)
    assert case.spec.noisy_delta == case.spec.delta[~case.mask].max()


def test_a_functional_is_right_to_eight_units_for_every_term_of_its_sum(case):
    want = 8 * (5 + 16) * EPS * 3.0 * np.sqrt(case.k)  # noisy and exact rows together are five
    assert functional_error(case.proj, 3.0) == pytest.approx(want, rel=1e-12, abs=0)
    bare = replace(case.proj, whole2=None)
    assert functional_error(bare, 3.0) == pytest.approx(want * np.sqrt(bare.norm2 / case.k), rel=1e-12, abs=0)


def test_the_dual_edges_at_any_multiplier_are_those_of_theorem_two(case):
    low, high = np.array([0.7, 0.0, 20.0]), np.array([3.0, np.inf, 0.01])
    lower, upper = edges_at(case.proj, case.rho, case.eta, low, high)
    for mus, sign, found in ((low, -1, lower), (high, 1, upper)):
        for i, mu in enumerate(mus):
            if np.isinf(mu):
                assert found[i] == sign * np.inf
                continue
            V, m, ya = case.exactly[i].moments(arb(mu or 1e-200))
            want = m + sign * root(V * (arb(case.rho) ** 2 + arb(mu) * arb(case.eta) ** 2 - ya))
            assert found[i] == pytest.approx(float(want), rel=1e-11)


def test_edges_from_an_occam_solution_at_a_limit():
    """At eta = 0 no finite multiplier is at hand; with data inside the noise the Occam solution is zero."""
    spec = Spectral.from_gram(np.diag([4.0, 1.0]), np.array([2.0, 1.0]))
    proj = spec.project(np.array([[1.0], [1.0]]), np.array([2.0]))
    mu = np.array([1.0])
    assert [float(e[0]) for e in edges_at(proj, 9.0, 0.0, mu, mu)] == [-np.inf, np.inf]
    lower, upper = edges_at(proj, 2.0, 3.0, mu, 2 * mu)
    for found, at, sign in ((lower, 1.0, -1), (upper, 2.0, 1)):  # V, m and y (G + 1/mu)^-1 y by hand
        first, second = 1 / (4 + 1 / at), 1 / (1 + 1 / at)
        V, m, ya = 2 - first - second, 2 * first + second, 4 * first + second
        assert found[0] == pytest.approx(m + sign * np.sqrt(V * (4 + 9 * at - ya)), rel=1e-13)


@pytest.mark.parametrize("mu", [0.0, 0.3, 40.0])
def test_a_variance_moves_by_its_tangent(case, mu):
    """Twice: for the error of G, and again for that of b and k(x, x)."""
    found = moved_variance(case.proj, np.full(3, mu))
    for i, problem in enumerate(case.exactly):
        w, _ = problem.weights(arb(mu or 1e-200))
        want = 2 * (squares(w, case.delta) + arb(UNIT * case.k[i]))
        assert found[i] == pytest.approx(float(want), **NEAR)


def edges_at_hand(spec, proj, rho, eta):
    centre = Centre.of(spec, eta)
    room = (rho - centre.occ.rho) * (rho + centre.occ.rho)
    grid = centre.nodes(room**0.5 / centre.occ.rho) if centre.curved(room) else None
    nodes = None if grid is None else (grid, centre.on_grid(grid, room))
    return centre, room, edges_of(centre, centre.interior(room), proj, room, nodes)


def test_the_first_bound_of_a_gram_matrix_is_the_dual_edge_with_its_tangents(case):
    """V, R and m at the multiplier of each edge, each moved as far as delta can; the worse edge counts."""
    centre, room, edges = edges_at_hand(case.spec, case.proj, case.rho, case.eta)
    found = gram_allowance(case.spec, case.proj, case.rho, edges)
    balls = balls_error(centre, case.proj, case.rho, room, edges)
    for i, problem in enumerate(case.exactly):
        moves = []
        for edge in edges:
            mu = arb(edge.mu[i])
            (V, _, ya), (w, a) = problem.moments(mu), problem.weights(mu)
            R = arb(case.rho) ** 2 + mu * arb(case.eta) ** 2 - ya
            own, dR = squares(w, case.delta), squares(a, case.delta)
            dV = 2 * (own + arb(UNIT * case.k[i]))
            dm = root(dR) * (root(dV / 2) + root(arb(UNIT * case.k[i])))
            moves.append(float(dm + root((V + dV) * (R + dR)) - root(V * R)))
        assert found[i] == pytest.approx(max(moves) + functional_error(case.proj, case.rho)[i], **NEAR)
        band = local_interval(case.spec, case.proj, case.rho, case.eta)
        assert band.delta_num[i] == pytest.approx(found[i] + balls[i], rel=1e-12, abs=0)


def test_both_balls_of_a_gram_matrix_are_known_up_to_rounding(case):
    """64 units of rho^2, and 8 units of the data in eta, whatever the error of the matrix itself: at the same multiplier."""
    centre, room, edges = edges_at_hand(case.spec, case.proj, case.rho, case.eta)
    found = balls_error(centre, case.proj, case.rho, room, edges)
    shift = 8 * EPS * case.spec.ynorm
    noise, norm = arb(shift * (2 * case.eta + shift)), arb(64 * EPS * case.rho**2)
    for i, problem in enumerate(case.exactly):
        moves = []
        for edge in edges:
            mu = arb(edge.mu[i])
            V, _, ya = problem.moments(mu)
            R = arb(case.rho) ** 2 + mu * arb(case.eta) ** 2 - ya
            moves.append(float(root(V * (R + mu * noise + norm)) - root(V * R)))
        assert found[i] == pytest.approx(max(moves), **NEAR)


def test_the_radius_moves_with_its_variance(case):
    found = global_radius(case.spec, case.proj, 2.0, case.eta)
    for i, problem in enumerate(case.exactly):
        V = problem.moments(arb(found.mu[i]))[0]
        moved = 2 * (squares(problem.weights(arb(found.mu[i]))[0], case.delta) + arb(UNIT * case.k[i]))
        assert found.allowance[i] == pytest.approx(found.radius[i] * float(moved / V) / 2, **NEAR)
    assert found.resolved.all()


def features(kind):
    """Rows, data, functionals and numbers of exact rows of a problem entered through its features."""
    rng = np.random.default_rng(7)
    n, d = {"tall": (7, 3), "wide": (3, 7)}.get(kind, (6, 9))
    Phi, y, C = 3 * rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal((3, d))
    return Phi, y, C, (0, 2) if kind == "exact rows" else ()


@pytest.mark.parametrize("kind", ["tall", "wide", "exact rows"])
def test_the_allowance_of_features_is_the_dual_edge_of_slightly_larger_balls(kind):
    """eta and rho larger by what the factorisation, the data and the exact rows can have moved; the same multiplier."""
    flint.ctx.prec = oracle.BITS
    Phi, y, C, exact = features(kind)
    spec = Spectral.from_features(Phi, y, exact=list(exact) or None)
    proj = spec.project(C)
    noisy = [i for i in range(len(y)) if i not in exact]
    eta = spec.best_misfit + 0.3 * (spec.ynorm - spec.best_misfit)
    rho = (1.02 if kind == "tall" else 1.3) * occam(spec, eta).rho
    centre, room, edges = edges_at_hand(spec, proj, rho, eta)
    found = feature_allowance(centre, proj, rho, room, edges)
    # By hand: p eps |Phi N| twice, as the directions kept are those above p eps |Phi N| as well, and the data's own rounding.
    E = Phi[list(exact)]
    left = Phi[noisy] @ np.linalg.svd(E)[2][len(exact) :].T
    size = max(left.shape) * EPS * np.linalg.norm(left, 2)
    kept = max(size, max(Phi.shape) * EPS * max(np.linalg.norm(left, 2), np.linalg.norm(Phi[noisy]) * bool(exact)))
    shift = (size + kept) * rho + 8 * EPS * spec.ynorm
    slip = 4 * max(Phi.shape) * EPS * np.linalg.cond(E) * rho if exact else 0.0
    shift += np.linalg.norm(Phi[noisy]) * slip
    noise, norm = shift * (2 * eta + shift), 64 * EPS * rho**2 + slip * (2 * rho + slip)
    for i, c in enumerate(C):
        assert all(np.isfinite(edge.mu[i]) for edge in edges)
        problem, moves = oracle.Oracle.of_features(Phi, y, c, exact), []
        for edge in edges:
            mu = arb(edge.mu[i])
            V, _, ya = problem.moments(mu)
            R = arb(rho) ** 2 + mu * arb(eta) ** 2 - ya
            moves.append(float(root(V * (R + mu * arb(noise) + arb(norm))) - root(V * R)))
        want = max(moves) + slip * np.linalg.norm(c) + functional_error(proj, rho)[i]
        assert found[i] == pytest.approx(want, **NEAR)
        terms = len(spec.s2) + 16 + len(exact)
        assert functional_error(proj, rho)[i] == pytest.approx(
            8 * terms * EPS * rho * np.linalg.norm(c), rel=1e-12, abs=0
        )
    assert (local_interval(spec, proj, rho, eta).delta_num == found).all()


def test_where_the_noise_ball_alone_binds_its_own_rounding_moves_the_edge():
    """mu = inf: only the noise ball counts, and the spread is the limit of mu V(mu)."""
    spec = Spectral.from_features(np.diag([2.0, 1.0]), np.array([3.0, 1.0]))
    proj, eta, rho = spec.project(np.array([[1.0, 0.0], [1.0, 1.0]])), 0.5, 1e3
    centre, room, edges = edges_at_hand(spec, proj, rho, eta)
    assert all(np.isinf(edge.mu).all() for edge in edges)
    shift = 2 * (2 * EPS * 2.0) * rho + 8 * EPS * spec.ynorm
    spread = np.array([1 / 4, 1 / 4 + 1])
    want = np.sqrt(spread) * (shift * (2 * eta + shift)) / (2 * eta)
    found = feature_allowance(centre, proj, rho, room, edges)
    assert found == pytest.approx(want + functional_error(proj, rho), rel=1e-9, abs=0)


def test_at_the_best_misfit_the_best_edge_at_a_finite_multiplier_counts():
    """eta = 0: the limit has no room for rounding, so the bound is that of the grid's best multiplier, and it is small."""
    flint.ctx.prec = oracle.BITS
    Phi, y, C, _ = features("wide")
    C = np.vstack([C, Phi[:1]])
    spec = Spectral.from_features(Phi, y)
    proj, rho = spec.project(C), 1.3 * occam(spec, 0.0).rho
    centre, room, edges = edges_at_hand(spec, proj, rho, 0.0)
    found = feature_allowance(centre, proj, rho, room, edges)
    size = 7 * EPS * np.linalg.norm(Phi, 2)
    shift = 2 * size * rho + 8 * EPS * spec.ynorm
    noise, norm = arb(shift) ** 2, arb(64 * EPS * rho**2)
    for i, c in enumerate(C):
        problem, excess = oracle.Oracle.of_features(Phi, y, c), []
        limit = problem.moments(None)
        half = root(limit[0] * (arb(rho) ** 2 - limit[2]))
        for mu in map(arb, np.exp(log_grid(spec.s2))):
            V, m, ya = problem.moments(mu)
            wide = root(V * (arb(rho) ** 2 - ya + mu * noise + norm))
            excess.append(float(abs(limit[1] - m) + wide - half))
        cancelled = 4 * EPS * float(half)  # a difference of two edges of this size
        assert found[i] == pytest.approx(min(excess) + functional_error(proj, rho)[i], rel=1e-3, abs=cancelled)
        assert found[i] < 1e-5 * rho * np.linalg.norm(c)

"""Allowances where a problem is at one of its limits: no row left, nothing but noise, exact rows that are nearly dependent."""

from dataclasses import replace

import flint
import numpy as np
import oracle
import pytest
from test_allowances import EPS, Case, arb, edges_at_hand, root, squares

from orledger.recovery import Spectral, occam
from orledger.recovery.allowance import (
    Edge,
    edges_at,
    feature_allowance,
    functional_error,
    gram_allowance,
    products_error,
)
from orledger.recovery.roots import log_grid

NEAR = {"rel": 1e-6, "abs": 0}


def length(values):
    return root(sum((v * v for v in values), arb(0)))


@pytest.mark.parametrize("exact", [(), (1, 3)])
def test_products_of_a_widened_problem_move_its_edges_by_the_weights_of_all_rows(exact):
    """An error e = 4 sqrt(rows + 16) EPS |b|: V moves by 2 |w| e and as much of k as is rounding, the mean by |a| e."""
    flint.ctx.prec = oracle.BITS
    case = Case(exact)
    wide = case.proj.widened(np.arange(3))
    centre, room, edges = edges_at_hand(wide.spec, wide, case.rho, case.eta)
    found = products_error(centre, wide, case.rho, room, edges)
    for i in range(3):
        G = [[arb(case.G[r, c]) + (arb(case.delta[r]) if r == c else 0) for c in range(5)] for r in range(5)]
        k = arb(case.k[i]) * (1 + arb(8 * EPS))
        problem = oracle.Oracle(G, list(map(arb, case.y)), list(map(arb, case.b[:, i])), k, exact)
        error, moves = arb(4 * 21**0.5 * EPS * np.linalg.norm(case.b[:, i])), []
        for edge in edges:
            mu = arb(edge.mu[i])
            (V, _, ya), (w, a) = problem.moments(mu), problem.weights(mu)
            R = arb(case.rho) ** 2 + mu * arb(case.eta) ** 2 - ya
            dV = arb(4 * 21 * EPS) * k + 2 * length(w) * error
            moves.append(float(root((V + dV) * R) - root(V * R) + length(a) * error))
        assert found[i] == pytest.approx(max(moves), **NEAR)


def test_products_where_the_multiplier_has_no_limit():
    """Rows of s = 2 and 1. At no noise V is what no row sees, with the room that is left; else V is its error, in the whole ball."""
    bare = replace(Spectral.from_gram(np.diag([4.0, 1.0]), np.array([3.0, 1.0])), given=None)
    b, weights, data = np.array([2.0, 0.0]), 0.5, np.hypot(3 / 4, 1.0)
    error = 4 * 18**0.5 * EPS * 2.0
    for eta, k in ((0.0, 3.0), (0.5, 1.0)):
        proj = bare.project(b[:, None], np.array([k]))
        rho = 2.0 if eta == 0 else 1e3
        centre, room, edges = edges_at_hand(bare, proj, rho, eta)
        assert all(np.isinf(edge.mu).all() for edge in edges)
        dV = 4 * 18 * EPS * k + 2 * weights * error
        V, R = k - 1, (rho**2 - 9 / 4 - 1 if eta == 0 else rho**2)  # |u|^2 = 3^2 / 4 + 1^2 / 1
        moved = dV * R / (((V + dV) * R) ** 0.5 + (V * R) ** 0.5)
        found = products_error(centre, proj, rho, room, edges)
        assert found[0] == pytest.approx(moved + data * error, rel=1e-9, abs=0)


def test_edges_with_a_delta_of_exact_rows_lie_further_out():
    """delta = 0.01: V and R grow by delta times the squared weights of the exact rows, and the mean by the root of both."""
    flint.ctx.prec = oracle.BITS
    case = Case((1, 3))
    wide = case.proj.loosened(np.arange(3))
    wide = replace(wide, spec=replace(wide.spec, pending=0.01))
    mus = np.array([0.3, 2.0, 9.0])
    lower, upper = edges_at(wide, case.rho, case.eta, mus, 2 * mus)
    for at, sign, found in ((mus, -1, lower), (2 * mus, 1, upper)):
        for i, mu in enumerate(map(arb, at)):
            (V, m, ya), (w, a) = case.exactly[i].moments(mu), case.exactly[i].weights(mu)
            R = arb(case.rho) ** 2 + mu * arb(case.eta) ** 2 - ya
            dV, dR = (squares([v[j] for j in case.exact], [0.01, 0.01]) for v in (w, a))
            want = m + sign * (root(dV * dR) + root((V + dV) * (R + dR)))
            assert found[i] == pytest.approx(float(want), rel=1e-10)


def test_a_ball_that_rounding_makes_too_small_is_that_of_the_occam_radius():
    flint.ctx.prec = oracle.BITS
    case = Case(())
    least = occam(case.spec, case.eta)
    mus = least.mu * np.array([0.5, 2.0, 8.0])
    lower, upper = edges_at(case.proj, least.rho * (1 - 1e-6), case.eta, mus, mus)
    for i, mu in enumerate(map(arb, mus)):
        V, m, ya = case.exactly[i].moments(mu)
        half = root(V * (arb(least.rho) ** 2 + mu * arb(case.eta) ** 2 - ya))
        assert (lower[i], upper[i]) == pytest.approx((float(m - half), float(m + half)), rel=1e-9)


def test_without_the_data_the_edges_are_those_of_the_ball():
    """mu = 0: rho |c| on either side of zero, wherever the Occam solution lies."""
    case = Case(())
    proj = case.spec.project(np.hstack([case.b, -case.b]), np.hstack([case.k, case.k]))
    lower, upper = edges_at(proj, case.rho, case.eta, np.zeros(6), np.zeros(6))
    want = case.rho * proj.norm2**0.5
    assert upper == pytest.approx(want, rel=1e-12)
    assert lower == pytest.approx(-want, rel=1e-12)


def nothing_left(eta):
    """Two exact rows and a noisy one between them: of the four coordinates two are free, and no row says anything of them."""
    Phi = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0]])
    spec = Spectral.from_features(Phi, np.array([1.0, 2.0, 11.25]), exact=[0, 1])
    assert (len(spec.s2), spec.best_misfit) == (0, 0.25)
    proj, rho = spec.project(np.array([[1.0, 1.0, 2.0, 0.0]])), 3.0
    return spec, proj, rho, *edges_at_hand(spec, proj, rho, eta)


def test_features_of_which_no_row_is_left_move_with_the_ball():
    """mu = 0: only the ball counts, which is larger by 64 units and by what the exact rows were moved."""
    _, proj, rho, centre, room, edges = nothing_left(0.75)
    slip = 4 * 4 * EPS * rho
    norm = 64 * EPS * rho**2 + 2 * slip * rho
    assert room == pytest.approx(4.0)  # 3^2 - 1^2 - 2^2
    moved = 2 * norm / (2 * 2.0)  # the root of 4 (4 + norm) less that of 4 times 4, of which 4 is |(2, 0)|^2
    own = 4 * (16 + 2) * EPS * rho * 6**0.5
    found = feature_allowance(centre, proj, rho, room, edges)
    assert functional_error(proj, rho)[0] == pytest.approx(own, rel=1e-14, abs=0)
    assert found[0] == pytest.approx(moved + slip * 6**0.5 + own, rel=1e-9, abs=0)


def test_features_of_which_no_row_is_left_at_their_best_misfit():
    """A few units below it mu = inf: the noise ball alone has room, of the root of what rounding adds to it."""
    spec, proj, rho, centre, room, edges = nothing_left(0.25 * (1 - 8 * EPS))
    assert all(np.isinf(edge.mu).all() for edge in edges)
    slip = 4 * 4 * EPS * rho
    shift = spec.resolution * rho + 8 * EPS * 0.25 + 5 * slip  # |(3, 4)| = 5, and no singular value left
    assert spec.resolution == pytest.approx(4 * EPS * 5, rel=1e-9, abs=0)
    noise = shift * (2 * 0.25 + shift)
    want = (4 * noise) ** 0.5 + slip * 6**0.5 + 4 * (16 + 2) * EPS * rho * 6**0.5
    assert feature_allowance(centre, proj, rho, room, edges)[0] == pytest.approx(want, rel=1e-9, abs=0)


@pytest.mark.parametrize("noise_share", [0.4, 0.0])
def test_exact_rows_of_very_different_size_move_both_balls(noise_share):
    """Exact rows of size 1 and 1e-12: an element that meets them may be away by 36e12 EPS rho, nearly a hundredth of it.

    Without noise the limit mu = inf has no room for that, and the best edge at a multiplier of the grid counts.
    """
    flint.ctx.prec = oracle.BITS
    rng = np.random.default_rng(4)
    Phi = np.zeros((5, 9))
    Phi[0, 0], Phi[1, 1] = 1.0, 1e-12
    Phi[2:, 2:] = rng.standard_normal((3, 7))
    Phi[2:, 0] = 0.5
    y, C = np.array([0.3, 0.2e-12, 1.0, -1.0, 2.0]), rng.standard_normal((2, 9))
    spec = Spectral.from_features(Phi, y, exact=[0, 1])
    proj, eta = spec.project(C), noise_share * spec.ynorm
    rho = 1.3 * occam(spec, eta).rho
    centre, room, edges = edges_at_hand(spec, proj, rho, eta)
    found = feature_allowance(centre, proj, rho, room, edges)
    slip = 4 * 9 * EPS * 1e12 * rho
    size = np.linalg.norm(Phi[2:])
    top = np.linalg.norm(Phi[2:, 2:], 2)
    shift = (7 * EPS * top + 9 * EPS * max(top, size)) * rho + 8 * EPS * spec.ynorm + size * slip
    noise, norm = shift * (2 * eta + shift), 64 * EPS * rho**2 + slip * (2 * rho + slip)
    for i, c in enumerate(C):
        problem = oracle.Oracle.of_features(Phi, y, c, (0, 1))

        def wider(mu, problem=problem):
            V, m, ya = problem.moments(mu)
            return m, root(V * (arb(rho) ** 2 + mu * arb(eta) ** 2 - ya + mu * arb(noise) + arb(norm)))

        if eta:
            V, _, ya = zip(*(problem.moments(arb(edge.mu[i])) for edge in edges), strict=True)
            R = [arb(rho) ** 2 + arb(edge.mu[i]) * arb(eta) ** 2 - q for edge, q in zip(edges, ya, strict=True)]
            moved = max(float(wider(arb(e.mu[i]))[1] - root(v * r)) for e, v, r in zip(edges, V, R, strict=True))
        else:
            V, limit, ya = problem.moments(None)
            tried = [wider(arb(mu)) for mu in np.exp(log_grid(spec.s2))]
            moved = min(float(abs(limit - m) + half) for m, half in tried) - float(root(V * (arb(rho) ** 2 - ya)))
        assert found[i] == pytest.approx(moved + slip * np.linalg.norm(c), rel=1e-9, abs=0)


@pytest.mark.parametrize("exact", [(), (1, 3)])
def test_the_first_bound_where_rounding_is_as_large_as_what_it_moves(exact):
    """V and R of a few EPS, given by hand: sqrt((V + dV) (R + dR)) - sqrt(V R), and what the mean moves."""
    flint.ctx.prec = oracle.BITS
    case = Case(exact)
    mu, V, R = 2.0, np.array([4.0, 40.0, 400.0]) * EPS, np.array([300.0, 3.0, 30.0]) * EPS
    none = np.zeros(3)
    edge = Edge(none, none, np.full(3, mu), none, none, V, (R / V) ** 0.5)
    found = gram_allowance(case.spec, case.proj, case.rho, [edge])
    for i, problem in enumerate(case.exactly):
        w, a = problem.weights(arb(mu))
        unit = arb(2 * EPS * case.k[i])
        own, dR = squares(w, case.delta), squares(a, case.delta)
        dV, v, r = 2 * (own + unit), arb(V[i]), arb(R[i])
        moved = root(dR) * (root(own + unit) + root(unit)) + root((v + dV) * (r + dR)) - root(v * r)
        assert found[i] == pytest.approx(float(moved) + functional_error(case.proj, case.rho)[i], **NEAR)


@pytest.mark.parametrize(("apart", "along"), [(0.0, 0.0), (0.1, 0.0), (0.1, 1e-9), (0.1, 1e-5), (0.0, 1e-5)])
def test_the_first_bound_of_two_equal_rows_counts_the_cut_twice(apart, along):
    """The data of the two differ by 2 `apart`, the products by 2 `along`. R is a few cuts, so that what each weight adds to it is seen."""
    spec = Spectral.from_gram(
        np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), np.array([1 + apart, 1 - apart, 0.5])
    )
    k, mu, V, cut = 2.0, 0.7, 1.5, 64 * EPS * 4
    proj, R, none = spec.project(np.array([[0.3 + along], [0.3 - along], [0.5]]), np.array([k])), 3 * cut, np.zeros(1)
    edge = Edge(none, none, np.full(1, mu), none, none, np.full(1, V), np.full(1, (R / V) ** 0.5))
    first, second = 2 + 1 / mu, 4 + 1 / mu
    own, data = 0.18 / first**2 + 0.25 / second**2, 2 / first**2 + 0.25 / second**2 + 2 * apart**2 * mu**2
    dV, dR = 2 * (2 * cut * own + 2 * EPS * k), 2 * cut * data
    dm = dR**0.5 * ((dV / 2 + 4 * cut * (mu * along) ** 2) ** 0.5 + (2 * EPS * k) ** 0.5) + mu * 2 * along * apart
    want = dm + ((V + dV) * (R + dR)) ** 0.5 - (V * R) ** 0.5 + functional_error(proj, 1.0)[0]
    assert gram_allowance(spec, proj, 1.0, [edge])[0] == pytest.approx(want, rel=1e-7, abs=0)


def test_the_first_bound_says_nothing_where_only_the_dominating_problem_does():
    """At a multiplier without limit, and where exact rows or what they leave have lost a direction."""
    twice = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    for exact, lost in ((None, False), ([0, 1], True), ([2], True), ([0], True), ([0, 2], True)):
        spec = Spectral.from_gram(twice, np.array([1.0, 1.0, 0.5]), exact=exact)
        found = gram_allowance(spec, spec.project(np.full((3, 1), 0.25), np.ones(1)), 2.0, [])
        assert np.isinf(found[0]) == lost
    assert found[0] > 0
    whole = Spectral.from_gram(np.diag([1.0, 4.0]), np.ones(2), exact=[0])
    assert np.isfinite(gram_allowance(whole, whole.project(np.full((2, 1), 0.25), np.ones(1)), 2.0, []))
    spec = Spectral.from_gram(np.diag([4.0, 1.0]), np.array([3.0, 1.0]))
    proj = spec.project(np.array([[2.0, 1.0], [0.0, 0.0]]), np.array([1.0, 1.0]))
    _, _, edges = edges_at_hand(spec, proj, 1e3, 0.5)
    assert np.isinf(edges[0].mu).tolist() == [True, False]
    with np.errstate(all="raise"):
        found = gram_allowance(spec, proj, 1e3, edges)
    assert np.isposinf(found).tolist() == [True, False]


def test_no_edge_moves_by_nothing_but_the_functional():
    spec = Spectral.from_gram(np.diag([4.0, 1.0]), np.array([3.0, 1.0]))
    proj = spec.project(np.array([[2.0], [0.5]]), np.array([9.0]))
    assert gram_allowance(spec, proj, 2.0, []) == functional_error(proj, 2.0)
    assert products_error(None, proj, 2.0, 1.0, []).tolist() == [0.0]

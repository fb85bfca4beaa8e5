"""Where a rule of a certificate changes: at the last rounding unit forgiven, at the limits of the multiplier, for nothing at all."""

import mpmath
import numpy as np
import pytest

from orledger.recovery import (
    EmptySetError,
    InputError,
    Spectral,
    global_radius,
    local_interval,
    occam,
    pinsker_variances,
    radius_values,
)
from orledger.recovery.allowance import gram_allowance
from orledger.recovery.centre import Centre
from orledger.recovery.edges import edges_of
from orledger.recovery.occam import misfit_root

EPS = 2.0**-52


def gram(diagonal, y=None, **options):
    return Spectral.from_gram(np.diag(diagonal), np.ones(len(diagonal)) if y is None else np.array(y), **options)


def test_sixty_four_units_of_the_data_below_the_best_misfit_are_rounding():
    """|y| = 5 and the best misfit is 4, to the bit: 320 units are forgiven, and the next smaller number is not."""
    spec = Spectral.from_features(np.array([[1.0], [0.0]]), np.array([3.0, 4.0]))
    least = occam(spec, 4 - 320 * EPS)
    assert (least.refused, least.mu, least.rho) == (False, np.inf, 3.0)
    assert least.reason == "eta equals the best misfit up to rounding"
    assert occam(spec, 4.0).reason == "eta equals the best misfit"
    assert occam(spec, 4 - 322 * EPS).refused
    with pytest.raises(EmptySetError, match="below the best achievable misfit 4"):
        occam(spec, 4 - 322 * EPS).require()


@pytest.mark.parametrize("target", [3.4, 1.0, 0.3, 1e-4])
def test_the_multiplier_of_a_misfit_is_near_after_a_handful_of_steps(monkeypatch, target):
    """Of a bracket of 21 units; halving it as often would leave five thousandths of a unit."""
    s2, y2 = np.array([1e3, 1.0, 1e-6]), np.array([1.0, 2.0, 0.5])
    asked, exp = [], np.exp
    monkeypatch.setattr(np, "exp", lambda t: asked.append(t[0]) or exp(t))
    (mu,) = misfit_root(s2, y2, np.array([target]))
    monkeypatch.undo()
    assert (y2 / (1 + mu * s2) ** 2).sum() == pytest.approx(target, rel=1e-12, abs=0)
    assert np.abs(asked[:12] - np.log(1e3 * mu)).min() < 1e-9  # in units of the largest


def test_a_misfit_next_to_all_of_the_data_divides_by_nothing():
    """One unit below the sum the multiplier is below the rounding of 1, where the slope of the sum is zero."""
    with np.errstate(divide="raise", invalid="raise"):
        mu = misfit_root(np.ones(1), np.ones(1), np.array([1 - EPS / 2]))
    assert 0 <= mu[0] <= EPS


def test_the_limit_of_a_large_multiplier_begins_where_the_balance_has_no_root():
    """The mean of s^2, weighted with c^2/s^4, is (1/4 + 1) / (1/16 + 1) in the limit: a larger share of noise has a root."""
    spec = Spectral.from_features(np.diag([2.0, 1.0]), np.ones(2))
    proj, limit = spec.project(np.ones((1, 2))), (1 / 4 + 1) / (1 / 16 + 1)
    for share in (0.99, 0.5):
        found = global_radius(spec, proj, 1.0, (share * limit) ** 0.5)
        assert (found.at_upper[0], found.mu[0]) == (True, np.inf)
        assert found.radius[0] == pytest.approx((share * limit * (1 / 4 + 1)) ** 0.5, rel=1e-14)
    found = global_radius(spec, proj, 1.0, (1.01 * limit) ** 0.5)
    assert not found.at_upper[0]
    mu = found.mu[0]
    f2 = np.array([1 + 4 * mu, 1 + mu]) ** -2
    assert f2 @ [4, 1] / f2.sum() == pytest.approx(1.01 * limit, rel=1e-10)


@pytest.mark.parametrize("form", ["kernel", "features"])
def test_nothing_is_certified_without_warnings(form):
    """A zero functional has radius 0 and an interval of one point; a radius of zero leaves only zero; all of it resolved."""
    if form == "kernel":
        spec = gram([4.0, 1.0])
        proj = spec.project(np.array([[0.0, 2.0], [0.0, 0.0]]), np.array([0.0, 1.5]))
    else:
        spec = Spectral.from_features(np.diag([2.0, 1.0]), np.ones(2))
        proj = spec.project(np.array([[0.0, 0.0], [1.0, 0.0]]))
    with np.errstate(divide="raise", invalid="raise"):
        found, none = global_radius(spec, proj, 1.0, 0.1), global_radius(spec, proj, 0.0, 0.1)
    assert (found.radius[0], found.allowance[0], found.mu[0]) == (0.0, 0.0, 0.0)
    assert found.at_lower.tolist() == [True, False]
    assert found.resolved.tolist() == [True, True]
    assert none.radius.tolist() == none.allowance.tolist() == none.mu.tolist() == [0.0, 0.0]
    assert none.resolved.tolist() == none.at_lower.tolist() == [True, True]
    assert not none.at_upper.any()
    if form == "features":
        assert found.allowance.tolist() == [0.0, 0.0]
        one = local_interval(spec, proj, occam(spec, 0.5).rho, 0.5)
        assert one.half.tolist() == [0.0, 0.0]
        assert one.resolved.tolist() == [True, True]


def test_the_short_way_at_its_limits():
    w, beta2, kxx = np.array([4.0]), np.array([[4.0], [0.0]]), np.array([1.5, 0.0])
    with np.errstate(divide="raise", invalid="raise"):
        found = radius_values(w, beta2, kxx, 2.0, 0.0)
    assert found == pytest.approx([2 * 0.5**0.5, 0.0])  # what the row leaves of 1.5: 1.5 - 4/4
    for wrong in ((w[:0], beta2[:, :0], kxx), (w, beta2, kxx[:1]), (w, beta2.T, kxx)):
        with pytest.raises(InputError, match="with at least one row of data"):
            radius_values(*wrong, 1.0, 0.1)
    for wrong in ((w, -beta2, kxx), (w, beta2, -kxx)):
        with pytest.raises(InputError, match="both are squares"):
            radius_values(*wrong, 1.0, 0.1)
    assert radius_values(w, beta2[:0], kxx[:0], 1.0, 0.1).shape == (0,)


def test_exponents_and_counts_of_a_grid():
    spec = Spectral.from_features(np.eye(2), np.ones(2))
    proj = spec.project(np.eye(2))
    assert global_radius(spec, proj, 1.0, 1.0, "grid97", (-100, 100, 2)).radius == pytest.approx([1.0, 1.0])
    for grid in ((-101, 1, 3), (0, 101, 3), (1, 1, 3), (2, 1, 3), (0, 1, 1), (0, 1, 1e7), (0, 1)):
        with pytest.raises(InputError):
            global_radius(spec, proj, 1.0, 1.0, "grid97", grid)


def worst_case(G, b, k, eps, eta):
    """min over mu of sqrt((k - b^2 / (G + 1/mu)) (eps^2 + mu eta^2)) for one row, in 60 digits."""
    with mpmath.workdps(60):
        G, b, k, eps, eta = map(mpmath.mpf, (G, b, k, eps, eta))
        value = lambda t: (k - b * b / (G + mpmath.exp(-t))) * (eps**2 + mpmath.exp(t) * eta**2)  # noqa: E731
        low, high = mpmath.mpf(-60), mpmath.mpf(80)
        for _ in range(200):
            third = (high - low) / 3
            low, high = (low + third, high) if value(low + third) > value(high - third) else (low, high - third)
        return float(mpmath.sqrt(value((low + high) / 2)))


@pytest.mark.parametrize(("eta", "resolved"), [(1e-3, True), (1e-5, False)])
def test_a_radius_that_rounding_moves_is_allowed_for_by_the_dominating_problem(eta, resolved):
    """One row that determines the functional: what is left of k is rounding. An entry larger by a unit is within the allowance."""
    spec = gram([1.0])
    found = global_radius(spec, spec.project(np.ones((1, 1)), np.ones(1)), 1.0, eta)
    exact, moved = worst_case(1, 1, 1, 1, eta), worst_case(1 + EPS, 1, 1 + EPS, 1, eta)
    assert found.radius[0] == pytest.approx(exact, rel=1e-9)
    assert moved - exact < found.allowance[0] < 20 * (moved - exact)
    assert found.resolved[0] == (found.allowance[0] <= 1e-3 * found.radius[0]) == resolved


def test_one_interval_that_rounding_hides_leaves_the_others_as_they_are():
    """Noise far below the rounding of the first row, which is the first functional; the second is orthogonal to all rows."""
    spec = gram([1.0, 1.0], y=[0.1, 0.05])
    proj, eta = spec.project(np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones(2)), 1e-10
    rho = 1.1 * occam(spec, eta).rho
    band = local_interval(spec, proj, rho, eta)
    assert band.resolved.tolist() == [False, True]
    assert band.half[0] > 10 * eta  # that of the dominating problem
    assert band.gap_rel[0] > 1e-3
    assert band.half[1] == pytest.approx((rho**2 - 0.1**2 - 0.05**2) ** 0.5, rel=1e-6)
    assert band.gap_rel[1] < 1e-6


def test_a_direction_that_was_dropped_shows_in_the_gap():
    """Two equal rows: what attains an edge has the functional's own product with their difference as a misfit besides.

    The element is drawn towards one inside the noise ball, by the share of the room there that this takes, and loses as much of the way.
    """
    G, along = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), 0.1
    spec = Spectral.from_gram(G, np.array([1.0, 1.0, 0.5]))
    b = np.array([[along / 2**0.5, 0.3], [-along / 2**0.5, 0.3], [0.5, 0.5]])
    proj, eta = spec.project(b, np.array([2.0, 2.0])), 0.3
    rho = 1.2 * occam(spec, eta).rho
    band = local_interval(spec, proj, rho, eta)
    assert spec.dropped == 1
    assert band.resolved.tolist() == [False, True]
    centre, room = Centre.of(spec, eta), rho**2 - occam(spec, eta).rho ** 2
    inner = centre.interior(room)
    noise_room = eta**2 - np.sum((np.sqrt(spec.s2) * (centre.theta + inner) - spec.yt) ** 2)
    there, lost = band.centre[0] + (proj.ct @ inner)[0], []
    for null, edge in ((band.null_lower[0], band.lower[0]), (band.null_upper[0], band.upper[0])):
        misfit = abs(null) * along
        lost.append(misfit * (2 * eta + misfit) / noise_room * abs(edge - there))
    assert band.gap_rel[0] == pytest.approx(min(max(lost) / band.half[0], 1), rel=1e-6)
    assert band.gap_rel[1] < 1e-6


@pytest.mark.parametrize(
    ("rho2", "level", "tau2", "risk"),
    [
        (0.0, 1, [0, 0, 0], 0),
        (1.0, 2, [0, 1, 0], 1 / 2),  # 1 (level - 1) = 1: the coordinate of weight 1 alone
        (2.0, 3, [0, 2, 0], 2 / 3),  # the level reaches the second weight
        (16.0, 5, [2 * (5 / 3 - 1), 4, 0], 2 * (1 - 3 / 5) + 1 - 1 / 5),  # 1 (5 - 1) + 6 (5 - 3) = 16
    ],
)
def test_water_is_filled_from_the_smallest_weight(rho2, level, tau2, risk):
    noise, weights = np.array([2.0, 1.0, 4.0]), np.array([3.0, 1.0, 9.0])
    found = pinsker_variances(noise, weights, rho2**0.5)
    assert found.level == pytest.approx(level, rel=1e-14)
    assert found.tau2 == pytest.approx(tau2, rel=1e-13, abs=1e-14)
    assert found.risk == pytest.approx(risk, rel=1e-13, abs=1e-14)
    assert pinsker_variances(noise, weights, rho2**0.5, floor=0.5).tau2 == pytest.approx(np.maximum(tau2, 0.5))
    for v, a in ((noise * 0, weights), (noise, weights * [0, 1, 1]), (noise[:0], weights[:0]), (noise, weights[:2])):
        with pytest.raises(InputError, match="positive, equally long and not empty"):
            pinsker_variances(v, a, 1.0)


def test_where_the_data_say_nothing_the_radius_is_that_of_the_ball():
    """s = 1/2: (1 + mu) / (1 + mu / 4) grows with mu, also with a part that no row sees; a row of s = 2 is asked."""
    spec = Spectral.from_features(np.array([[0.5, 0.0, 0.0], [0.0, 2.0, 0.0]]), np.ones(2))
    found = global_radius(spec, spec.project(np.array([[1.0, 0, 0], [3.0, 0, 4.0], [0, 1.0, 0]])), 1.0, 1.0)
    assert found.at_lower.tolist() == [True, True, False]
    assert found.mu[:2].tolist() == [0.0, 0.0]
    assert found.radius == pytest.approx([1.0, 5.0, 0.5])


def test_a_null_space_part_that_is_rounding_is_not_attained():
    """Exact data: the outer edge has the root of what is left of k; an element that reaches it needs a direction of its own."""
    spec = gram([1.0, 1.0])
    proj = spec.project(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([1 + 8 * EPS, 1 + 1e-4]))
    band = local_interval(spec, proj, 2.0, 0.0)
    assert (band.primal_lower[0], band.primal_upper[0], band.null_upper[0]) == (1.0, 1.0, 0.0)
    assert band.primal_upper[1] == pytest.approx(1 + (2 * 1e-4) ** 0.5, rel=1e-9)
    assert band.null_upper[1] == pytest.approx((2 / 1e-4) ** 0.5, rel=1e-9)


def test_what_is_resolved_moves_by_less_than_a_thousandth():
    """One row and functionals ever closer to it: the closer, the larger the part of the half-width that is rounding."""
    spec = gram([1.0], y=[0.3])
    left = 10.0 ** -np.arange(4, 15)
    band = local_interval(spec, spec.project(np.ones((1, 11)), 1 + left), 0.5, 1e-9)
    share = band.delta_num / band.half
    assert (share[band.resolved] <= 1e-3).all()
    assert band.resolved[:6].all()
    assert not band.resolved[-2:].any()
    assert ((share[band.resolved] > 1e-6).sum(), (share[band.resolved] < 1e-6).sum()) >= (1, 1)


def test_the_first_bound_knows_of_a_dropped_direction():
    """Two equal rows, data that differ: weights count with twice the cut, and so do the data outside the range."""
    G, y = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), np.array([1.1, 0.9, 0.5])
    spec, eta, rho, k = Spectral.from_gram(G, y), 0.4, 1.5, 2.0
    proj = spec.project(np.array([[0.3], [0.3], [0.5]]), np.array([k]))
    noise = 128 * EPS * 4  # delta is 48 units of 4, and less
    band = local_interval(spec, proj, rho, eta)
    centre = Centre.of(spec, eta)
    room = rho**2 - centre.occ.rho**2
    nodes = centre.nodes(room**0.5 / centre.occ.rho)
    edges = edges_of(centre, centre.interior(room), proj, room, (nodes, centre.on_grid(nodes, room)))
    moves = []
    for edge in edges:
        mu = edge.mu[0]
        first, second = (
            2 + 1 / mu,
            4 + 1 / mu,
        )  # along (1, 1, 0) / sqrt 2 the row is 0.6 / sqrt 2, and the datum 2 / sqrt 2
        V, ya = k - 0.18 / first - 0.25 / second, 2 / first + 0.25 / second + 0.02 * mu
        R = rho**2 + mu * eta**2 - ya
        own, data = 0.18 / first**2 + 0.25 / second**2, 2 / first**2 + 0.25 / second**2 + 0.02 * mu**2
        dV, dR = 2 * (noise * own + 2 * EPS * k), noise * data
        dm = dR**0.5 * ((dV / 2) ** 0.5 + (2 * EPS * k) ** 0.5)
        moves.append(dm + (V * dR + dV * R) / (2 * (V * R) ** 0.5))
    want = max(moves) + 4 * (2 + 16) * EPS * rho * k**0.5
    assert gram_allowance(spec, proj, rho, edges)[0] == pytest.approx(want, rel=1e-6, abs=0)
    assert band.resolved[0]


@pytest.mark.parametrize("eta", [0.3, 0.5, 0.9, 1.2])
def test_at_the_occam_radius_a_gram_matrix_resolves_nothing(eta):
    """One element is left, so that nothing of the half-width is attained, be it zero or that of the dominating problem."""
    spec = gram([4.0, 1.0])
    proj = spec.project(np.diag([2.0, 0.5]), np.full(2, 9.0))
    band = local_interval(spec, proj, occam(spec, eta).rho, eta)
    assert band.resolved.tolist() == [False, False]
    assert (band.gap_rel > 0.99).all()
    assert (band.half < 1e-6).all()


def test_without_any_norm_the_water_stands_at_the_smallest_weight_up_to_rounding():
    """(a a v) / (a v) may round to just below a: still no coordinate is under water."""
    rng, below = np.random.default_rng(1), 0
    for _ in range(60):
        a, v = rng.uniform(0.1, 3, 4), rng.uniform(0.1, 3, 4)
        found, least = pinsker_variances(v, a, 0.0), a.argmin()
        below += found.level < a[least]
        assert found.level == pytest.approx(a[least], rel=1e-15)
        assert (found.tau2 <= 1e-14).all()
    assert below > 5

"""What rounding may take off an interval or a radius: what the costs of the two ways leave of it."""

from dataclasses import replace

import numpy as np
import pytest
from gram_problem import EPS, OWN, Problem

from orledger.recovery import Spectral, global_radius, local_interval, occam
from orledger.recovery import interval as module
from orledger.recovery.allowance import functional_error
from orledger.recovery.attainable import Cost, GramRounding, _ratio, radius_share, shortfall
from orledger.recovery.centre import Centre


def priced(monkeypatch, soft, hard):
    """The costs of both ways in round numbers: (norm2, misfit, value, possible)."""
    for name, values in (("soft", soft), ("hard", hard)):

        def way(_, w, exposure, *, data=None, values=values):
            one = exposure * 0
            return Cost(*(one + v for v in values[:3]), one == (0 if values[3] else 1))

        monkeypatch.setattr(GramRounding, name, way)


FREE, NEVER = (0.0, 0.0, 0.0, True), (0.0, 0.0, 0.0, False)


def an_interval(eta=0.3, exact=()):
    """An interval of well-posed rows, what its interior element leaves of both balls, the value there, and the missing part."""
    p = Problem(exact, noisy_error=1e-14, exact_error=1e-14)
    occ = occam(p.spec, eta)
    rho, seen = 1.5 * occ.rho, {}
    centre, room = Centre.of(p.spec, eta, occ), rho**2 - occ.rho**2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "shortfall", lambda *given: seen.update(edges=given[-1]) or given[1].c02 * 0)
        band = local_interval(p.spec, p.proj, rho, eta)
    inner = centre.interior(room)
    theta = centre.theta + inner
    noise = eta**2 - np.sum((np.sqrt(p.spec.s2) * theta - p.spec.yt) ** 2) - p.spec.y02
    least = p.spec.exact.norm2 if exact else 0.0
    left = {"norm": rho**2 - theta @ theta - least, "noise": noise, "room": room, "theta": theta}
    middle = band.centre + p.proj.ct @ inner
    return p, band, left, middle, lambda: shortfall(centre, p.proj, rho, room, inner, seen["edges"])


@pytest.mark.parametrize("eta", [0.3, 0.6])
def test_an_edge_is_drawn_to_the_interior_by_the_larger_share_of_what_is_left_in_the_two_balls(monkeypatch, eta):
    p, band, left, middle, missing = an_interval(eta)
    priced(monkeypatch, FREE, NEVER)
    rounding = functional_error(p.proj, band.rho)
    assert (rounding > 0).all()
    assert (missing() > 0.9 * rounding).all()
    assert (missing() < rounding + 1e-12 * band.half).all()
    to_middle = np.maximum(band.upper - middle, middle - band.lower)
    priced(monkeypatch, (0.01, 0.0, 0.002, True), NEVER)
    assert missing() == pytest.approx(0.01 / left["norm"] * to_middle + 0.002, rel=1e-6)
    priced(monkeypatch, (1e-9, 0.01, 0.002, True), NEVER)
    assert missing() == pytest.approx(0.01 * (2 * eta + 0.01) / left["noise"] * to_middle + 0.002, rel=1e-6)
    # Without a way that is possible the whole width may be missing, and never more than that by a share.
    priced(monkeypatch, NEVER, NEVER)
    assert missing() == pytest.approx(band.upper - band.lower, rel=1e-9)
    # An element that would be drawn all the way need not be there, for the middle may have left the balls as well.
    for cost in ((0.999 * left["norm"], 0.0, 0.0, True), (1.001 * left["norm"], 0.0, 0.0, True)):
        priced(monkeypatch, cost, NEVER)
        assert missing() == pytest.approx(0.999 * to_middle if cost[0] < left["norm"] else 2 * band.half, rel=1e-9)
        priced(monkeypatch, NEVER, (cost[0] / left["norm"] * left["room"], *cost[1:]))
        to_occam = np.maximum(band.upper - band.centre, band.centre - band.lower)
        assert missing() == pytest.approx(0.999 * to_occam if cost[0] < left["norm"] else 2 * band.half, rel=1e-9)


def test_the_other_way_leads_to_the_occam_solution_and_the_cheaper_one_is_taken(monkeypatch):
    _, band, left, _, missing = an_interval()
    to_occam = np.maximum(band.upper - band.centre, band.centre - band.lower)
    priced(monkeypatch, NEVER, (0.01, 0.0, 0.002, True))
    assert missing() == pytest.approx(0.01 / left["room"] * to_occam + 0.002, rel=1e-6)
    priced(monkeypatch, (100.0, 0.0, 0.0, True), (0.01, 0.0, 0.002, True))
    assert missing() == pytest.approx(0.01 / left["room"] * to_occam + 0.002, rel=1e-6)
    priced(monkeypatch, (0.0, 0.0, 0.001, True), (0.01, 0.0, 0.002, True))
    assert missing() == pytest.approx(np.full(5, 0.001), rel=1e-6)


def test_without_noise_only_the_way_that_keeps_all_values_is_open(monkeypatch):
    _, band, left, _, missing = an_interval(0.0)
    priced(monkeypatch, FREE, NEVER)
    assert missing() == pytest.approx(band.upper - band.lower, rel=1e-6)
    priced(monkeypatch, NEVER, (0.01, 0.0, 0.002, True))
    assert missing() == pytest.approx(0.01 / left["room"] * band.half + 0.002, rel=1e-6)


@pytest.mark.parametrize("exact", [(), (1, 4)])
def test_the_costs_are_those_of_the_edge_and_of_where_it_is_drawn_to_whichever_is_more_exposed(monkeypatch, exact):
    """The exposure of each element from the multiples of the rows that make it up, by a solution with the Gram matrix itself."""
    p, band, left, _, missing = an_interval(exact=exact)
    asked = []
    for name in ("soft", "hard"):

        def way(_, w, exposure, *, data=None, name=name):
            asked.append((name, w, exposure, data))
            return Cost(exposure * 0, exposure * 0, exposure * 0, exposure >= 0)

        monkeypatch.setattr(GramRounding, name, way)
    missing()
    assert [(name, data) for name, _, _, data in asked] == [("soft", True), ("hard", None)] * 2
    inner, met = p.G[np.ix_(p.mask, p.mask)], p.y[p.mask]

    def exposed(coords, null):
        noisy = (p.spec.basis @ ((coords - null[:, None] * p.proj.ct) / np.sqrt(p.spec.s2)).T).T
        rest = noisy @ p.G[np.ix_(~p.mask, p.mask)] + null[:, None] * p.b[p.mask].T
        fixed = np.linalg.solve(inner, (met - rest).T).T if exact else np.zeros((5, 0))
        return p.noisy * (noisy**2).sum(1) + p.exact * (fixed**2).sum(1) + OWN * p.k * null**2

    none, occ = np.zeros(5), Centre.of(p.spec, 0.3).theta
    middle, least = exposed(np.tile(left["theta"], (5, 1)), none), exposed(np.tile(occ, (5, 1)), none)
    ends = [exposed(band.coords_upper, band.null_upper), exposed(band.coords_lower, band.null_lower)]
    for (name, _, exposure, _), edge in zip(asked, np.repeat(ends, 2, axis=0), strict=True):
        assert exposure == pytest.approx(np.maximum(edge, middle if name == "soft" else least), rel=1e-6)
    # Here the ends are more exposed; where they are less so, that of the element in the middle counts.
    asked.clear()
    monkeypatch.setattr(GramRounding, "exposure", lambda _, w: abs(w.noisy).sum(1) * 0 + (2 if w.null.any() else 3))
    missing()
    assert [exposure.tolist() for _, _, exposure, _ in asked] == [[3.0] * 5] * 4
    asked.clear()
    weights, called = GramRounding.weights, []
    monkeypatch.setattr(
        GramRounding, "weights", lambda *g, data: called.append((*g[1:], data)) or weights(*g, data=data)
    )
    missing()
    assert {data for *_, data in called} == {True}
    for coords, theta in zip([c for c, null, _ in called if not null.any()], (left["theta"], occ), strict=True):
        assert coords == pytest.approx(np.tile(theta, (5, 1)), rel=1e-12)


def test_without_room_in_a_ball_an_edge_is_drawn_all_the_way():
    cost = np.array([0.0, 0.5, 3.0])
    assert _ratio(cost, 2.0).tolist() == [0.0, 0.25, 1.0]
    for room in (0.0, -1e-17):
        assert _ratio(cost, room).tolist() == [1.0, 1.0, 1.0]


def test_repeated_rows_must_agree_in_the_data_that_have_to_be_met():
    """Without noise two equal rows with two data are a contradiction; a radius knows of no data."""
    G, b = np.array([[1.0, 1.0, 0.25], [1.0, 1.0, 0.25], [0.25, 0.25, 4.0]]), np.array([[0.3], [0.3], [0.5]])
    for second, known in ((1.0, True), (1.0 + EPS, False)):
        y = np.array([1.0, second, 0.5])
        for exact in (None, [0, 1, 2], [0, 1]):
            spec = Spectral.from_gram(G, y, exact=exact)
            proj = spec.project(b, np.ones(1))
            without = local_interval(spec, proj, 3.0, 0.0 if exact is None or len(exact) == 3 else 0.1)
            assert without.resolved.tolist() == [known]
            assert global_radius(spec, proj, 3.0, 0.0).resolved[0]
        spec = Spectral.from_gram(G, y)
        assert local_interval(spec, spec.project(b, np.ones(1)), 3.0, 0.1).resolved[0]
    # Next to no noise: too little for an element to give up its misfit, and enough for two data of one row.
    spec, eta = Spectral.from_gram(G, np.array([1.0, 1.0 + EPS, 0.5])), 1e-13
    assert Centre.of(spec, eta).budget > 0
    assert local_interval(spec, spec.project(b, np.ones(1)), 3.0, eta).resolved[0]
    # With the noise at the best misfit nothing of it is left.
    apart = Spectral.from_gram(G, np.array([1.0, 1.5, 0.5]))
    proj, eta = apart.project(b, np.ones(1)), apart.best_misfit
    assert Centre.of(apart, eta).budget == 0.0
    assert not local_interval(apart, proj, 5.0, eta).resolved[0]


def test_what_an_element_does_not_attain_is_missing_as_well(monkeypatch):
    p = Problem(noisy_error=1e-14)
    centre, room = Centre.of(p.spec, 0.3), 1.0
    rho = (centre.occ.rho**2 + room) ** 0.5
    inner, seen = centre.interior(room), {}
    with monkeypatch.context() as patch:
        patch.setattr(module, "shortfall", lambda *given: seen.update(edges=given[-1]) or given[1].c02 * 0)
        local_interval(p.spec, p.proj, rho, 0.3)
    up, down = seen["edges"]
    priced(monkeypatch, FREE, FREE)
    for edges in ([up._replace(attained=up.outer - 0.01), down], [up, down._replace(attained=down.outer - 0.01)]):
        assert shortfall(centre, p.proj, rho, room, inner, edges) == pytest.approx(np.full(5, 0.01), rel=1e-9)


def test_more_than_a_thousandth_of_the_half_width_is_not_resolved_and_shows_in_the_gap(monkeypatch):
    p = Problem(noisy_error=1e-14)
    plain = local_interval(p.spec, p.proj, 5.0, 0.3)
    assert plain.resolved.all()
    shares = np.array([0.0, 0.99e-3, 1.01e-3, 0.4, 3.0])
    monkeypatch.setattr(module, "shortfall", lambda *_: shares * plain.half)
    band = local_interval(p.spec, p.proj, 5.0, 0.3)
    assert band.resolved.tolist() == [True, True, False, False, False]
    assert band.gap_rel[:2].tolist() == plain.gap_rel[:2].tolist()
    assert band.gap_rel[2:] == pytest.approx([1.01e-3, 0.4, 1.0], rel=1e-9)
    assert (band.lower.tolist(), band.upper.tolist()) == (plain.lower.tolist(), plain.upper.tolist())


def test_a_width_of_zero_with_anything_missing_has_a_gap_of_one_or_more():
    spec = Spectral.from_gram(np.diag([4.0, 1.0]), np.ones(2))
    proj = spec.project(np.array([[2.0], [0.5]]), np.array([9.0]))
    band = local_interval(spec, proj, occam(spec, 0.5).rho, 0.5)
    assert (band.primal_upper - band.primal_lower)[0] < 1e-6
    assert band.gap_rel[0] >= 1
    assert not band.resolved[0]


def share(p, eps, eta, **changes):
    found = global_radius(p.spec, p.proj, eps, eta)
    proj = replace(p.proj, **changes) if changes else p.proj
    return found, radius_share(proj, eps, eta, found.mu, found.radius)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_radius_shrinks_with_what_its_element_needs_more_of_either_ball(monkeypatch, scale):
    """Where both balls bind the element is scaled by the larger need; costs are those of the element of norm one."""
    p, eps, eta = Problem(noisy_error=1e-14), 2.0 * scale, 0.1 * scale
    found = global_radius(p.spec, p.proj, eps, eta)
    assert ((found.mu > 0) & np.isfinite(found.mu)).all()
    value = found.radius / eps
    priced(monkeypatch, FREE, NEVER)
    assert share(p, eps, eta)[1] == pytest.approx(np.zeros(5), abs=1e-9)
    priced(monkeypatch, (0.01, 0.0, 0.002, True), NEVER)
    assert share(p, eps, eta)[1] == pytest.approx(1 - (1 - 0.002 / value) / 1.01**0.5, rel=1e-6)
    priced(monkeypatch, (0.001, 0.001, 0.002, True), NEVER)
    assert share(p, eps, eta)[1] == pytest.approx(1 - (1 - 0.002 / value) / 1.02, rel=1e-6)
    priced(monkeypatch, NEVER, (0.01, 0.0, 0.002, True))
    assert share(p, eps, eta)[1] == pytest.approx(1 - (1 - 0.002 / value) / 1.01**0.5, rel=1e-6)
    priced(monkeypatch, (0.01, 0.0, 0.0, True), (0.02, 0.0, 0.0, True))
    assert share(p, eps, eta)[1] == pytest.approx(np.full(5, 1 - 1.01**-0.5), rel=1e-6)
    priced(monkeypatch, NEVER, NEVER)
    assert share(p, eps, eta)[1].tolist() == [1.0] * 5
    priced(monkeypatch, (0.0, 0.0, 9.0, True), NEVER)
    assert share(p, eps, eta)[1].tolist() == [1.0] * 5


def test_a_ball_that_does_not_bind_costs_nothing(monkeypatch):
    """Much noise: the functional itself attains eps |c|, and its misfit is far inside the noise ball."""
    p = Problem(noisy_error=1e-14)
    priced(monkeypatch, (0.0, 1.0, 0.0, True), NEVER)
    found, missing = share(p, 1.0, 50.0)
    assert found.at_lower.all()
    assert missing == pytest.approx(np.zeros(5), abs=1e-12)


def test_without_noise_the_element_is_what_the_rows_leave_of_the_functional(monkeypatch):
    p = Problem(noisy_error=1e-14)
    power = np.sqrt(p.proj.c02)
    priced(monkeypatch, FREE, NEVER)
    assert share(p, 2.0, 0.0)[1].tolist() == [1.0] * 5
    priced(monkeypatch, NEVER, (0.01, 9.0, 0.002, True))
    found, missing = share(p, 2.0, 0.0)
    assert found.at_upper.all()
    assert missing == pytest.approx(np.clip(1 - (1 - 0.002 / power) / 1.01**0.5, 0, 1), rel=1e-6)


def test_with_next_to_no_noise_a_part_that_no_row_sees_counts_beside_what_the_noise_ball_leaves(monkeypatch):
    """At mu = inf: eps times the norm of one part plus eta times the misfit that the other may have."""
    spec = Spectral.from_gram(np.diag([4.0, 1.0]), np.ones(2))
    proj = spec.project(np.array([[2.0, 2.0, 0.0], [0.5, 0.5, 0.0]]), np.array([1.25, 9.0, 0.0]))
    mu, eps, eta = np.full(3, np.inf), 3.0, 1e-3
    noisy = np.hypot(2 / 4, 0.5 / 1)  # |c / s| with c = b / s
    radius = np.array([eta * noisy, eps * (9 - 1.25) ** 0.5 + eta * noisy, 0.0])
    priced(monkeypatch, FREE, NEVER)
    assert radius_share(proj, eps, eta, mu, radius) == pytest.approx([0, 0, 0], abs=1e-6)
    priced(monkeypatch, (0.0, 1e-5, 0.0, True), NEVER)
    assert radius_share(proj, eps, eta, mu, radius)[0] == pytest.approx(1 - 1 / (1 + 1e-5 * eps / eta), rel=1e-6)
    seen = {}
    monkeypatch.setattr(GramRounding, "exposure", lambda _, w: seen.update(w=w) or w.null * 0)
    radius_share(proj, eps, eta, mu, radius)
    assert seen["w"].null == pytest.approx([0, (9 - 1.25) ** -0.5, 0], rel=1e-12)


def test_a_ball_of_nothing_and_a_functional_of_nothing_miss_nothing():
    p = Problem()
    none = np.zeros(5)
    assert radius_share(p.proj, 0.0, 0.1, none, none).tolist() == [0.0] * 5
    zero = p.spec.project(np.zeros((6, 1)), np.zeros(1))
    assert radius_share(zero, 1.0, 0.1, np.zeros(1), np.zeros(1)).tolist() == [0.0]


@pytest.mark.parametrize("exact", [(), (1, 4)])
def test_the_element_of_a_radius_is_zero_at_exact_rows_whatever_their_data(monkeypatch, exact):
    p, asked = Problem(exact), []
    weights = GramRounding.weights
    monkeypatch.setattr(GramRounding, "weights", lambda *given, data: asked.append(data) or weights(*given, data=data))
    soft = GramRounding.soft
    monkeypatch.setattr(GramRounding, "soft", lambda *given, data: asked.append(data) or soft(*given, data=data))
    share(p, 2.0, 0.1)
    assert set(asked) == {False}


def test_without_noise_a_mu_of_a_grid_has_no_misfit_to_count():
    p = Problem(noisy_error=1e-14)
    found = global_radius(p.spec, p.proj, 2.0, 0.0, "grid97", (2, 8, 7))
    assert found.at_upper.all()
    with np.errstate(all="raise"):
        missing = radius_share(p.proj, 2.0, 0.0, found.mu, found.radius)
    assert (np.abs(missing) < 1e-6).all()
    assert found.resolved.all()


def test_a_mu_that_is_not_optimal_is_no_rounding():
    p = Problem(noisy_error=1e-14)
    found = global_radius(p.spec, p.proj, 2.0, 0.1, "grid97", (-2, 6, 3))
    assert found.resolved.all()
    assert (found.radius > 1.001 * global_radius(p.spec, p.proj, 2.0, 0.1).radius).any()

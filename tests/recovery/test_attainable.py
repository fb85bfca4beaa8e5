"""What rounding may take off an interval or a radius: the bound from inside, by dense algebra and against 800 bits."""

from dataclasses import replace

import mpmath
import numpy as np
import oracle
import pytest

from orledger.recovery import InputError, RecoveryError, Spectral, global_radius, local_interval, occam
from orledger.recovery import interval as module
from orledger.recovery.allowance import functional_error
from orledger.recovery.attainable import Cost, GramRounding, _ratio, radius_share, shortfall
from orledger.recovery.centre import Centre

EPS = 2.0**-52
OWN = 8 * EPS
"""What rounding can hide in a functional, in units of its squared norm."""


def kernel(a, b, length):
    return np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / length**2)


class Problem:
    """Six rows and five points of a kernel that float64 resolves well, some rows exact, with errors in round numbers."""

    def __init__(self, exact=(), noisy_error=1e-5, exact_error=3e-6):
        rng = np.random.default_rng(3)
        x, at = np.linspace(0, 1, 6), rng.random(5) * 1.4
        self.G, self.b, self.k = kernel(x, x, 0.25), kernel(x, at, 0.25), np.linspace(1.0, 1.4, 5)
        self.mask = np.isin(np.arange(6), exact)
        self.y = np.sin(4 * x) + 0.3
        self.spec = Spectral.from_gram(self.G, self.y, exact=list(exact) or None)
        self.spec.__dict__["delta"] = np.where(self.mask, exact_error, noisy_error) * np.linspace(0.5, 1, 6)
        self.noisy = self.spec.delta[~self.mask].max()
        self.exact = self.spec.delta[self.mask].max() if exact else 0.0
        self.proj = self.spec.project(self.b, self.k)
        self.error = GramRounding(self.proj, "exact")
        self.coords, self.null = rng.standard_normal((5, 6 - len(exact))), rng.standard_normal(5)

    def rows(self, w):
        """The multiples (points, 6) of all rows that `w` has."""
        a = np.zeros((5, 6))
        a[:, ~self.mask] = w.noisy @ self.spec.basis.T
        if w.exact is not None:
            a[:, self.mask] = w.exact
        return a


@pytest.mark.parametrize("data", [True, False])
@pytest.mark.parametrize("exact", [(), (1, 4), (0, 1, 2)])
def test_weights_make_the_element_up(exact, data):
    """Its norm, its values at the rows and at the functional, from the multiples of the rows and the Gram matrix as it was given."""
    p = Problem(exact)
    w = p.error.weights(p.coords, p.null, data=data)
    a, met = p.rows(w), p.y[p.mask] if data else 0 * p.y[p.mask]
    least = met @ np.linalg.solve(p.G[np.ix_(p.mask, p.mask)], met) if exact else 0.0
    norm2 = np.einsum("pi,ij,pj->p", a, p.G, a) + 2 * p.null * np.einsum("pi,ip->p", a, p.b) + p.null**2 * p.k
    assert norm2 == pytest.approx((p.coords**2).sum(1) + p.null**2 * p.proj.c02 + least, rel=1e-9)
    values = a @ p.G + p.null[:, None] * p.b.T
    assert values[:, p.mask] == pytest.approx(np.tile(met, (5, 1)), rel=1e-9, abs=1e-11)
    along = p.G[np.ix_(~p.mask, p.mask)] @ np.linalg.solve(p.G[np.ix_(p.mask, p.mask)], met) if exact else 0.0
    assert (values[:, ~p.mask] - along) @ p.spec.basis == pytest.approx(p.coords * np.sqrt(p.spec.s2), abs=1e-10)
    value = np.einsum("pi,ip->p", a, p.b) + p.null * p.k
    shift = p.proj.shift if data else 0.0
    assert value == pytest.approx(shift + (p.coords * p.proj.ct).sum(1) + p.null * p.proj.c02, rel=1e-9)


@pytest.mark.parametrize("exact", [(), (1, 4)])
def test_the_exposure_weighs_noisy_rows_exact_rows_and_the_functional_with_their_own_errors(exact):
    p = Problem(exact)
    w = p.error.weights(p.coords, p.null, data=True)
    a = p.rows(w) ** 2
    total = p.noisy * a[:, ~p.mask].sum(1) + p.exact * a[:, p.mask].sum(1) + OWN * p.k * p.null**2
    assert p.error.exposure(w) == pytest.approx(total, rel=1e-9)
    assert p.error.own == pytest.approx(OWN * p.k, rel=1e-12)


def test_what_was_cut_off_counts_as_error_of_the_noisy_rows():
    """A negative eigenvalue shows that a Gram matrix is wrong by as much, whatever the rounding of its entries."""
    spec = Spectral.from_gram(np.diag([1.0, 1.0, -1e-9]), np.ones(3))
    error = GramRounding(spec.project(np.zeros((3, 1)), np.ones(1)), "exact")
    assert spec.dropped == 1
    assert error.noisy == pytest.approx(2e-9 + spec.noisy_delta, rel=1e-12)


X = np.array([1.0, 0.5, 2.0, 1e-3, 0.0])  # exposures


def test_without_exact_rows_the_norm_pays_the_exposure_and_values_its_root():
    p = Problem()
    cost = p.error.soft(p.error.weights(p.coords, p.null, data=True), X, data=True)
    assert cost.norm2.tolist() == X.tolist()
    assert cost.misfit == pytest.approx(np.sqrt(p.noisy * X), rel=1e-12)
    assert cost.value == pytest.approx(np.sqrt(OWN * p.k * X), rel=1e-12)
    assert cost.ok.all()


@pytest.mark.parametrize("data", [True, False])
def test_exact_rows_keep_their_values_by_a_correction_in_their_span(data):
    """It has G_EE^-1 times the change as multiples: norm, what it carries into the noisy rows, and its value follow."""
    p = Problem((1, 4))
    w = p.error.weights(p.coords, p.null, data=data)
    cost = p.error.soft(w, X, data=data)
    inner = p.G[np.ix_(p.mask, p.mask)]
    least = np.linalg.eigvalsh(inner)[0]
    change = np.sqrt(p.exact * X) / (1 - p.exact / least)
    carried = np.linalg.svd(np.linalg.solve(inner, p.G[np.ix_(p.mask, ~p.mask)]))[1][0]
    met = np.linalg.norm(np.linalg.solve(inner, p.y[p.mask])) if data else 0.0
    assert cost.norm2 == pytest.approx(X + 2 * met * change + 3 * change**2 / least, rel=1e-9)
    carried += np.sqrt(p.noisy * p.exact) / least
    assert cost.misfit == pytest.approx(np.sqrt(p.noisy * X) + carried * change, rel=1e-9)
    seen = np.linalg.norm(np.linalg.solve(inner, p.b[p.mask]), axis=0) + np.sqrt(OWN * p.k * p.exact) / least
    assert cost.value == pytest.approx(np.sqrt(OWN * p.k * X) + seen * change, rel=1e-9)
    assert cost.ok.all()


def test_a_correction_in_the_span_of_all_rows_keeps_all_values():
    for exact in ((), (1, 4)):
        p = Problem(exact)
        w = p.error.weights(p.coords, p.null, data=True)
        cost = p.error.hard(w, X)
        most, least = max(p.noisy, p.exact), np.linalg.eigvalsh(p.G)[0]
        if not exact:
            least = p.spec.s2[-1]
        change = np.sqrt(most * X)
        seen = 2 * np.linalg.norm(np.linalg.solve(p.G, p.b), axis=0) + np.sqrt(OWN * p.k * most) / (least - most)
        seen = seen * change
        assert cost.norm2 == pytest.approx(3 * X + 2 * abs(p.null) * seen + change**2 / (least - most), rel=1e-9)
        assert cost.value == pytest.approx(np.sqrt(OWN * p.k * X) + seen, rel=1e-9)
        assert cost.misfit.tolist() == [0.0] * 5
        assert cost.ok.all()


def test_errors_of_half_the_smallest_eigenvalue_allow_no_correction():
    inner = np.linalg.eigvalsh(Problem((1, 4)).G[np.ix_([1, 4], [1, 4])])[0]
    whole = np.linalg.eigvalsh(Problem().G)[0]
    for share, possible in ((0.499, True), (0.501, False), (1.001, False), (3.0, False)):
        p = Problem((1, 4), exact_error=share * inner / 0.9)  # the delta of row 4 is nine tenths of it
        cost = p.error.soft(p.error.weights(p.coords, p.null, data=True), X, data=True)
        assert cost.ok.tolist() == [possible] * 5
        assert np.isfinite(np.array([cost.norm2, cost.misfit, cost.value])).all()
        for exact, errors in (((), (share * whole, 0)), ((0, 5), (1e-9, share * whole)), ((0,), (share * whole, 1e-9))):
            p = Problem(exact, *errors)
            cost = p.error.hard(p.error.weights(p.coords, p.null, data=True), X)
            assert cost.ok.tolist() == [possible] * 5
            assert np.isfinite(np.array([cost.norm2, cost.value])).all()


def test_close_to_half_the_smallest_eigenvalue_costs_are_still_by_the_same_formula():
    inner = np.linalg.eigvalsh(Problem((1, 4)).G[np.ix_([1, 4], [1, 4])])[0]
    p = Problem((1, 4), exact_error=0.45 * inner / 0.9)
    cost, change = p.error.soft(p.error.weights(p.coords, p.null, data=False), X, data=False), 0.45 * inner * X
    assert p.exact == pytest.approx(0.45 * inner)
    assert cost.norm2 == pytest.approx(X + 3 * change / (1 - 0.45) ** 2 / inner, rel=1e-9)
    whole = np.linalg.eigvalsh(Problem().G)[0]
    p = Problem(noisy_error=0.45 * whole)
    cost, change = p.error.hard(p.error.weights(p.coords, 0 * p.null, data=False), X), 0.45 * whole * X
    assert cost.norm2 == pytest.approx(3 * X + change / (0.55 * whole), rel=1e-6)


@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_rows_of_zeros_alone_leave_the_ball(eta):
    for exact in (None, [0], [0, 1]):
        spec = Spectral.from_gram(np.zeros((2, 2)), np.zeros(2), exact=exact)
        proj = spec.project(np.zeros((2, 1)), np.ones(1))
        assert GramRounding(proj, "all")._weakest[0] == float("inf")
        band = local_interval(spec, proj, 3.0, eta)
        assert (band.lower[0], band.upper[0], band.resolved[0]) == (-3.0, 3.0, True)
        assert global_radius(spec, proj, 3.0, eta).resolved[0]


def test_only_a_gram_matrix_has_a_gram_error():
    spec = Spectral.from_features(np.eye(2), np.ones(2))
    with pytest.raises(InputError, match="from a Gram matrix has a Gram error"):
        _ = GramRounding(spec.project(np.eye(2)), "all")._table


@pytest.mark.parametrize("exact", [(), (1, 4), (0, 1, 2)])
def test_the_costs_cover_what_an_error_of_the_gram_matrix_does(exact):
    """Elements mended by hand under random errors and the worst one: norm, misfit and value stay within what was said, and come near."""
    rng, p, used = np.random.default_rng(4), Problem(exact), np.zeros((2, 3))
    w = p.error.weights(p.coords, p.null, data=True)
    a, x, size = p.rows(w), p.error.exposure(w), np.sqrt(p.spec.delta)
    before, norm2 = a @ p.G + p.null[:, None] * p.b.T, ((a @ p.G) * a).sum(1)
    wanted = np.where(p.mask, p.y, before)
    for i in range(200):
        S = rng.standard_normal((6, 6)) if i % 2 else np.outer(a[i // 2 % 5] * size, a[i // 2 % 5] * size)
        S = S + S.T
        H = p.G + size[:, None] * S / np.abs(np.linalg.eigvalsh(S)).max() * size * (-1) ** (i // 10)
        after = a @ H + p.null[:, None] * p.b.T
        for j, (cost, rows) in enumerate(
            ((p.error.soft(w, x, data=True), p.mask), (p.error.hard(w, x), p.mask | True))
        ):
            more = np.zeros_like(a)
            more[:, rows] = np.linalg.solve(H[np.ix_(rows, rows)], (wanted - after)[:, rows].T).T
            values = (a + more) @ H + p.null[:, None] * p.b.T
            grown = (((a + more) @ H) * (a + more)).sum(1) - norm2 + 2 * p.null * (more * p.b.T).sum(1)
            missed = np.linalg.norm((values - before)[:, ~p.mask], axis=1)
            moved = np.abs((more * p.b.T).sum(1))
            assert values[:, rows] == pytest.approx(wanted[:, rows], abs=1e-9)
            assert (grown <= cost.norm2).all()
            assert (missed <= cost.misfit + 1e-9).all()
            assert (moved <= cost.value).all()
            shares = [grown / cost.norm2, missed / (cost.misfit + 1e-300) * (j == 0), moved / cost.value]
            used[j] = np.maximum(used[j], np.max(shares, axis=1))
    assert (used[:, 0] > 0.2).all()
    assert used[0, 1] > 0.05
    assert used[1, 2] > 0.05


def twice(values, y=(1.0, 1.0, 0.5), exact=None, meets="exact"):
    """Three rows, the first two of which have one Gram row, and the products `values` of functionals with them."""
    G = np.array([[1.0, 1.0, 0.25], [1.0, 1.0, 0.25], [0.25, 0.25, 4.0]])
    spec = Spectral.from_gram(G, np.array(y), exact=exact)
    return GramRounding(spec.project(np.array(values, dtype=float).T, np.full(len(values), 2.0)), meets)


def test_rows_that_are_equal_to_the_last_bit_are_one_row():
    alike, apart = (0.3, 0.3, 0.5), (0.3, 0.3 * (1 + EPS), 0.5)
    least = (5 - np.hypot(2 - 4, 2 * 0.25 * 2**0.5)) / 2 + 0.5  # of [[2, .25 sqrt 2], [.25 sqrt 2, 4]]
    for exact in (None, [0, 1], [0, 1, 2]):
        error = twice([alike, apart, (-0.0, 0.0, 0.5)], exact=exact)
        found, ok = error._weakest
        assert found == pytest.approx(least, rel=1e-12)
        assert ok.tolist() == [True, False, True]
    # Noisy rows are drawn to their own data; rows that must meet them say something new where these differ.
    other = (1.0, 1.0 + EPS, 0.5)
    assert twice([alike], y=other)._weakest[1].tolist() == [True]
    assert twice([alike], y=other, meets="all")._weakest[1].tolist() == [False]
    assert twice([alike], y=other, exact=[0, 1])._weakest[1].tolist() == [False]
    assert twice([alike], y=(-0.0, 0.0, 0.5), meets="all")._weakest[1].tolist() == [True]


@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_rows_of_zeros_say_nothing(eta):
    """Of three rows two are zero; a product with one of them is a contradiction, a datum of one a misfit."""
    G, b = np.diag([0.0, 0.0, 2.0]), np.array([[0.0, 0.0, 1e-9], [0.0, -0.0, 0.0], [0.5, 0.5, 0.5]])
    for exact in (None, [0], [0, 1], [0, 1, 2]):
        spec = Spectral.from_gram(G, np.array([0.0, -0.0, 1.0]), exact=exact)
        error = GramRounding(spec.project(b, np.ones(3)), "exact" if eta else "all")
        assert error._weakest[0] == pytest.approx(2.0)
        assert error._weakest[1].tolist() == [True, True, False]
        band = local_interval(spec, spec.project(b[:, :2], np.ones(2)), 3.0, eta)
        assert band.resolved.all()
        assert global_radius(spec, spec.project(b[:, :2], np.ones(2)), 3.0, eta).resolved.all()
    spec = Spectral.from_gram(G, np.array([0.0, 1e-9, 1.0]))
    assert GramRounding(spec.project(b, np.ones(3)), "all")._weakest[1].tolist() == [False, False, False]


def test_a_direction_that_is_missing_for_another_reason_is_not_a_repeated_row():
    spec = Spectral.from_gram(np.diag([1.0, 1.0, 1e-17]), np.ones(3))
    error = GramRounding(spec.project(np.zeros((3, 2)), np.ones(2)), "exact")
    assert spec.dropped == 1
    assert error._weakest[1].tolist() == [False, False]
    assert error.soft(error.weights(np.ones((2, 2)), np.ones(2), data=True), np.ones(2), data=True).ok.all()
    # Rows repeated, but another direction is missing besides.
    G = np.diag([1.0, 1.0, 1e-17, 2.0])
    G[0, 1] = G[1, 0] = 1.0
    spec = Spectral.from_gram(G, np.ones(4))
    assert spec.dropped == 2
    assert GramRounding(spec.project(np.zeros((4, 1)), np.ones(1)), "exact")._weakest[1].tolist() == [False]


def test_repeated_exact_rows_are_looked_for_among_the_exact_ones():
    error = twice([(0.3, 0.3, 0.5), (0.3, 0.3 * (1 + EPS), 0.5)], exact=[0, 1])
    cost = error.soft(error.weights(np.ones((2, 1)), np.ones(2), data=True), np.ones(2), data=True)
    assert cost.ok.tolist() == [True, False]
    # An exact row and a noisy one: the exact block lost nothing.
    error = twice([(0.3, 0.3, 0.5), (0.3, 0.3 * (1 + EPS), 0.5)], exact=[0, 2])
    w = error.weights(np.zeros((2, len(error.proj.spec.s2))), np.ones(2), data=True)
    assert error.soft(w, np.ones(2), data=True).ok.tolist() == [True, True]


def test_a_functional_is_known_in_the_directions_that_were_dropped():
    """Its product with the difference of two equal rows is a value that the truncated problem takes for zero."""
    error = twice([(0.3, 0.3, 0.5), (0.5, 0.1, 0.5)])
    w = error.weights(np.ones((2, 2)), np.array([3.0, -3.0]), data=True)
    assert error.unseen(w) == pytest.approx([0, 3 * 0.4 / 2**0.5], rel=1e-12, abs=1e-15)
    still = error.soft(w._replace(null=w.null * 0), np.ones(2), data=True)
    assert (error.soft(w, np.ones(2), data=True).misfit - still.misfit) == pytest.approx(error.unseen(w), abs=1e-14)


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


def test_a_radius_whose_functional_the_rows_explain_beyond_its_norm_is_not_resolved():
    """One unit in the products of two near rows makes what they explain larger than the square, and the clipped rest hides it.

    The bound at mu = 1e8 of the problem that is meant is 1.0003, in 800 bits; the one of the Gram matrix is 2.2.
    """
    apart = (5 * EPS) ** 0.5
    Phi = np.diag([1, apart, 1] + [10.0**-i for i in range(1, 8)])
    Phi[1, 0] = 1.0
    c = np.zeros(10)
    c[1], c[2] = 1.0, 300.0
    G = Phi @ Phi.T
    G[:2, :2] += EPS * np.array([[-1, 1], [1, -1]])
    spec = Spectral.from_gram(G, np.ones(10))
    proj = spec.project((Phi @ c)[:, None], np.array([c @ c]))
    found = global_radius(spec, proj, 1.0, 1e-6)
    exact = oracle.Oracle.of_features(Phi, np.ones(10), c).radius(1.0, 1e-6)
    assert proj.c02[0] == 0
    assert exact == pytest.approx(1.0003, rel=1e-4)
    assert found.radius[0] > 2
    assert not found.resolved[0]
    assert found.radius[0] + found.allowance[0] >= exact


def test_what_is_known_of_a_functional_in_a_dropped_direction_moves_an_edge_by_itself():
    """A simplex of 300 rows: its zero eigenvalue may be 300 units, and b has as much along it as that allows.

    An element of the exact problem in closed form, drawn inside both balls by 1e-10, lies within what is stated.
    """
    n, rho = 300, 1.0
    one, v, lam = np.ones(n), np.zeros(n), mpmath.mpf(n * EPS)
    v[:2] = 2**-0.5, -(2**-0.5)
    G = np.eye(n) * (n / (n - 1)) - np.ones((n, n)) / (n - 1)
    y, eta, b = 0.01 * one + 0.5 * v, 1.05 * 0.01 * n**0.5, one * (0.99 * float(mpmath.sqrt(lam / n)))
    spec = Spectral.from_gram(G, y)
    band = local_interval(spec, spec.project(b[:, None], np.ones(1)), rho, eta)
    assert spec.dropped == 1
    with mpmath.workdps(50):
        top, s = mpmath.mpf(n) / (n - 1), mpmath.mpf(b[0]) * mpmath.sqrt(n) / mpmath.sqrt(lam)
        first, second = mpmath.mpf(0.01) * mpmath.sqrt(n), mpmath.mpf(0.5) * mpmath.sqrt(2) * mpmath.mpf(v[0])

        def element(mu):
            V, q = 1 - s * s * lam / (lam + 1 / mu), first**2 / (lam + 1 / mu) + second**2 / (top + 1 / mu)
            size = mpmath.sqrt((rho**2 + mu * mpmath.mpf(eta) ** 2 - q) / V)
            along = mpmath.sqrt(lam) * first / (lam + 1 / mu) + size * (s - s * lam / (lam + 1 / mu))
            return along, mpmath.sqrt(top) * second / (top + 1 / mu), size * mpmath.sqrt(1 - s * s)

        def misfit2(at):
            return (mpmath.sqrt(lam) * at[0] - first) ** 2 + (mpmath.sqrt(top) * at[1] - second) ** 2

        low, high = mpmath.mpf(1), mpmath.mpf(100)
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (middle, high) if misfit2(element(middle)) > mpmath.mpf(eta) ** 2 else (low, middle)
        inside = (0, mpmath.sqrt(top) * second / top, 0)
        at = [
            (1 - mpmath.mpf(10) ** -10) * x + mpmath.mpf(10) ** -10 * z
            for x, z in zip(element(high), inside, strict=True)
        ]
        assert sum(x * x for x in at) < rho**2
        assert misfit2(at) < mpmath.mpf(eta) ** 2
        value = s * at[0] + mpmath.sqrt(1 - s * s) * at[2]
        assert value > band.upper[0] + 1e-7
        assert value <= band.upper[0] + band.delta_num[0]


def near_rows(seed):
    """A random problem in which some rows lie 1e-1 to 1e-17 beside others: what the pairs say is a slope, or rounding."""
    rng = np.random.default_rng([77, seed])
    length = float(rng.choice([0.1, 0.2, 0.35, 0.6, 1.0]))
    x = list(rng.random(rng.integers(2, 6)) * rng.choice([1.0, 2.0]))
    x += [float(rng.choice(x)) + 10 ** -rng.uniform(1, 17) for _ in range(rng.integers(0, 4))]
    x = rng.permutation(x)
    exact = rng.random(len(x)) < rng.choice([0, 0, 0.3, 0.7])
    sigma = float(rng.choice([0, 1e-12, 1e-9, 1e-6, 1e-3, 1e-1])) or (1e-8 if exact.any() else 0.0)
    noise = np.where(exact, 0, sigma * rng.standard_normal(len(x)) * rng.choice([0, 1]))
    eta = sigma * float(rng.choice([0.3, 1, 3])) * len(x) ** 0.5
    points = np.concatenate([rng.random(2) * 1.5, [float(rng.choice(x)) + 10 ** -rng.uniform(0, 9)]])
    return x, np.sin(3 * x + 1) + noise, exact, eta, length, points, float(rng.choice([1.001, 1.05, 1.5, 5, 100]))


def check_near_rows(seed):
    """Whether intervals and radii were compared: those that are resolved are right, and all contain the exact ones."""
    x, y, exact, eta, length, points, ball = near_rows(seed)
    G, b = kernel(x, x, length), kernel(x, points, length)
    if len(np.unique(np.column_stack([G, b]), axis=0)) < len(x):
        return False  # equal to the last bit: one row, said twice
    try:
        spec = Spectral.from_gram(G, y, exact=exact if exact.any() else None)
        proj = spec.project(b, np.ones(3))
    except RecoveryError:
        return False
    where = tuple(np.flatnonzero(exact))
    problems = [oracle.Oracle.of_kernel(oracle.squared_exponential(length), x, y, p, where) for p in points]
    rho = ball * problems[0].occam(eta) or 1.0
    found = global_radius(spec, proj, rho, eta)
    radius = np.array([p.radius(rho, eta) if eta else rho * float(p.moments(None)[0].sqrt().mid()) for p in problems])
    assert (found.radius + found.allowance >= radius * (1 - 1e-12)).all()
    assert (np.abs(found.radius / radius - 1)[found.resolved] < 1e-3).all(), found.radius / radius
    try:
        band = local_interval(spec, proj, rho, eta)
    except RecoveryError:
        return False
    low, high = np.array([p.interval(rho, eta) for p in problems]).T
    assert (band.lower - band.delta_num <= low).all()
    assert (band.upper + band.delta_num >= high).all()
    half = (high - low) / 2
    assert (np.abs(band.half - half) <= 1e-3 * half)[band.resolved].all(), band.half / half
    return True


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_rows_next_to_each_other_decide_is_resolved(seed):
    check_near_rows(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(12))
def test_nothing_that_rows_next_to_each_other_decide_is_resolved_in_many_problems(block):
    assert sum(check_near_rows(seed) for seed in range(100 * block, 100 * block + 100)) > 60

"""What an error of the Gram matrix costs the element that attains an edge, by dense algebra."""

import numpy as np
import pytest
from gram_problem import EPS, OWN, Problem

from orledger.recovery import InputError, Spectral, global_radius, local_interval
from orledger.recovery.attainable import GramRounding


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
    w, own = p.error.weights(p.coords, p.null, data=data), 1e-4 * p.k
    p.error.__dict__["own"] = own
    cost = p.error.soft(w, X, data=data)
    inner = p.G[np.ix_(p.mask, p.mask)]
    least = np.linalg.eigvalsh(inner)[0]
    change = np.sqrt(p.exact * X) / (1 - p.exact / least)
    carried = np.linalg.svd(np.linalg.solve(inner, p.G[np.ix_(p.mask, ~p.mask)]))[1][0]
    met = np.linalg.norm(np.linalg.solve(inner, p.y[p.mask])) if data else 0.0
    assert cost.norm2 == pytest.approx(X + 2 * met * change + 3 * change**2 / least, rel=1e-9)
    carried += np.sqrt(p.noisy * p.exact) / least
    assert cost.misfit == pytest.approx(np.sqrt(p.noisy * X) + carried * change, rel=1e-9)
    seen = np.linalg.norm(np.linalg.solve(inner, p.b[p.mask]), axis=0) + np.sqrt(own * p.exact) / least
    assert cost.value == pytest.approx(np.sqrt(own * X) + seen * change, rel=1e-9)
    assert cost.ok.all()


def test_a_correction_in_the_span_of_all_rows_keeps_all_values():
    for exact in ((), (1, 4)):
        p = Problem(exact)
        w, own = p.error.weights(p.coords, p.null, data=True), 1e-4 * p.k
        p.error.__dict__["own"] = own
        cost = p.error.hard(w, X)
        most, least = max(p.noisy, p.exact), np.linalg.eigvalsh(p.G)[0]
        if not exact:
            least = p.spec.s2[-1]
        change = np.sqrt(most * X)
        seen = 2 * np.linalg.norm(np.linalg.solve(p.G, p.b), axis=0) + np.sqrt(own * most) / (least - most)
        seen = seen * change
        assert cost.norm2 == pytest.approx(3 * X + 2 * abs(p.null) * seen + change**2 / (least - most), rel=1e-9)
        assert cost.value == pytest.approx(np.sqrt(own * X) + seen, rel=1e-9)
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


def test_where_all_rows_are_exact_nothing_is_carried_into_noisy_ones():
    rows = Spectral.from_gram(np.diag([4.0, 9.0]), np.ones(2), exact=[0, 1]).exact
    assert (rows.carried, rows.least) == (0.0, pytest.approx(4.0))


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

"""How an interval is put together from its edges, and what becomes of it where the rounding of a Gram matrix counts.

What rounding can hide is set to round numbers here, so that the dominating problem is a disc cut by a strip, solved by geometry.
"""

import math
from dataclasses import fields

import numpy as np
import pytest

from orledger.recovery import EmptySetError, Spectral, local_interval, occam
from orledger.recovery import edges as edges_module
from orledger.recovery import interval as module
from orledger.recovery.allowance import Edge
from orledger.recovery.centre import Centre

EPS = 2.0**-52
PLANE = Spectral.from_features(
    np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([5.0, 0.0])
)  # the least norm at eta = 1 is 2


def test_mid_half_and_gap_are_those_of_the_two_edges(monkeypatch):
    """The gap is the larger one, less what rounding leaves of the edges themselves, in half-widths."""
    C = np.array([[1.0, 0.0], [0.0, 3.0], [-2.0, 1.0], [1.0, 1.0], [1.0, 2.0]])
    base, ones = 2 * C[:, 0], np.ones(5)
    top, bottom = np.array([4.0, 2.0, 1.0, 2.0, 2.0]), np.array([2.0, 4.0, 3.0, 2.0, 2.0])
    above, below = np.array([0.5, 0.0, 1e-3, 0.0, 0.0]), np.array([0.0, 1.0, 2e-3, 0.0, 0.0])
    above[3], below[4] = 255 * EPS, 260 * EPS  # 64 units of base and half, which are 4 together
    pair = [
        Edge(top, top - above, 3 * ones, 11 * ones[:, None], 13 * ones, ones, ones),
        Edge(bottom, bottom - below, 5 * ones, 17 * ones[:, None], 19 * ones, ones, ones),
    ]
    monkeypatch.setattr(module, "edges_of", lambda *_: pair)
    proj = PLANE.project(C)
    band = local_interval(PLANE, proj, 3.0, 1.0)
    half = (top + bottom) / 2
    assert band.centre == pytest.approx(base, rel=1e-14, abs=1e-15)
    assert band.half.tolist() == half.tolist()
    for found, want in (
        (band.mid, base + (top - bottom) / 2),
        (band.upper, base + top),
        (band.lower, base - bottom),
        (band.primal_upper, base + top - above),
        (band.primal_lower, base - bottom + below),
    ):
        assert found == pytest.approx(want, rel=1e-14, abs=1e-15)
    assert (band.mu_upper.tolist(), band.mu_lower.tolist()) == ([3.0] * 5, [5.0] * 5)
    assert (band.coords_upper.tolist(), band.coords_lower.tolist()) == ([[11.0]] * 5, [[17.0]] * 5)
    assert (band.null_upper.tolist(), band.null_lower.tolist()) == ([13.0] * 5, [19.0] * 5)
    assert band.gap_rel[:3] == pytest.approx([0.5 / 3, 1.0 / 3, 2e-3 / 2], rel=1e-9)
    assert band.gap_rel[3] == 0
    assert band.gap_rel[4] == pytest.approx(4 * EPS / 2, rel=0.01, abs=0)
    assert (band.rho, band.rho_oc) == (3.0, pytest.approx(2.0, rel=1e-14))
    assert band.resolved.all()


def test_points_worked_through_in_blocks_have_the_edges_of_all_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    spec = Spectral.from_features(rng.standard_normal((4, 6)), rng.standard_normal(4))
    proj = spec.project(rng.standard_normal((35, 6)))
    whole = local_interval(spec, proj, 3.0, 0.7)
    monkeypatch.setattr(edges_module, "BLOCK", 1)
    parts = local_interval(spec, proj, 3.0, 0.7)
    for f in fields(whole):
        np.testing.assert_allclose(
            getattr(parts, f.name), getattr(whole, f.name), rtol=1e-7, atol=1e-12, err_msg=f.name
        )


def test_the_search_is_told_how_near_the_occam_radius_is(monkeypatch):
    """The root of the room that is left, relative to the least norm: 1.5 of 2; without room there is no search."""
    asked, nodes = [], Centre.nodes
    monkeypatch.setattr(Centre, "nodes", lambda self, near: asked.append(near) or nodes(self, near))
    proj, least = PLANE.project(np.eye(2)), occam(PLANE, 1.0).rho
    local_interval(PLANE, proj, 2.5, 1.0)
    assert asked == [pytest.approx(1.5 / 2, rel=1e-12)]
    last = least - 148 * EPS  # 64 units of 2, and 8 of the datum 5 in eta, of which the radius loses half
    for rho in (least, last):
        assert local_interval(PLANE, proj, rho, 1.0).half.tolist() == [0.0, 0.0]
    assert len(asked) == 1
    with pytest.raises(EmptySetError) as seen:
        local_interval(PLANE, proj, np.nextafter(last, 0), 1.0)
    assert seen.value.margin == pytest.approx(-148 * EPS, rel=0.02)
    assert str(seen.value).startswith("rho = 2 is below the Occam radius 2 at eta = 1")
    assert "resolve" not in str(seen.value)
    blind = Spectral.from_features(np.zeros((1, 2)), np.ones(1))
    assert local_interval(blind, blind.project(np.eye(2)), 2.0, 3.0).half.tolist() == [2.0, 2.0]


def test_a_ball_too_small_for_the_gram_matrix_may_be_large_enough_within_its_rounding():
    """A row with k = 1e-14: the least norm is 1e7 times what the noise leaves of its datum, and less with delta on top."""
    spec = Spectral.from_gram(np.diag([1.0, 1e-14]), np.array([0.0, 1.0]), rank_tol=0.0)
    proj, eta, delta = spec.project(np.zeros((2, 1)), np.ones(1)), 0.5, 8 * EPS
    least, wider = 0.5 / 1e-7, 0.5 / math.sqrt(1e-14 + delta)
    with pytest.raises(EmptySetError) as seen:
        local_interval(spec, proj, 0.99 * least, eta)
    text = f"rho = {0.99 * least:.8g} is below the Occam radius {least:.8g} at eta = 0.5; this Gram matrix does not resolve it: "
    assert str(seen.value).startswith(f"{text}within its rounding the radius may be {wider:.8g}")
    assert seen.value.margin == pytest.approx(-0.01 * least, rel=1e-6)
    with pytest.raises(EmptySetError, match="within its rounding the radius may be"):
        local_interval(spec, proj, occam(spec.widened, eta).rho, eta)
    with pytest.raises(EmptySetError) as seen:
        local_interval(spec, proj, 0.99 * wider, eta)
    assert "resolve" not in str(seen.value)


ETA, RHO, Y, ROW, EXACT = 0.5, 2.0, 3.0, 4.0, 9.0


def strip(b, k, delta, fixed=None):
    """(lower, upper) over |u| <= RHO and |row - Y| <= ETA of a functional with product b, norm k; row and exact row + delta.

    fixed: (product with the exact row, its datum, its delta).
    """
    rho2, shift, s = RHO * RHO, 0.0, math.sqrt(ROW + delta)
    if fixed is not None:
        product, datum, more = fixed
        along = product / math.sqrt(EXACT + more)
        at = datum / math.sqrt(EXACT + more)
        rho2, shift, k = rho2 - at * at, along * at, k - along * along
    c, rho = b / s, math.sqrt(rho2)
    rest, low, high, ends = math.sqrt(max(k - c * c, 0.0)), (Y - ETA) / s, (Y + ETA) / s, []
    for sign in (-1, 1):
        best = sign * rho * c / math.hypot(c, rest)
        u = min(max(best, low), high)
        ends.append(shift + c * u + sign * rest * math.sqrt(rho2 - u * u))
    return ends


@pytest.fixture
def outside(monkeypatch):
    """What rounding may add, without what it may take off, which `test_attainable.py` has."""
    monkeypatch.setattr(module, "shortfall", lambda _, proj, *__: proj.c02 * 0)


def problem(delta, b, k, fixed=None):
    """One noisy row, and perhaps an exact one; what rounding can hide in each is delta."""
    if fixed is None:
        spec, B = Spectral.from_gram(np.array([[ROW]]), np.array([Y])), np.array([b])
        spec.__dict__["delta"] = np.array([delta])
    else:
        product, datum, more = fixed
        spec = Spectral.from_gram(np.diag([ROW, EXACT]), np.array([Y, datum]), exact=[1])
        spec.__dict__["delta"] = np.array([delta, more])
        B = np.array([b, np.full(len(b), product)])
    return spec, spec.project(B, np.array(k))


B, K = [1.0, 2.0, 0.0, -3.0, 0.5], [4.0, 1.5, 2.0, 3.0, 0.3]


def test_the_plain_intervals_of_the_problem():
    spec, proj = problem(0.0, B, K)
    band = local_interval(spec, proj, RHO, ETA)
    want = np.array([strip(b, k, 0.0) for b, k in zip(B, K, strict=True)])
    assert band.lower == pytest.approx(want[:, 0], rel=1e-12)
    assert band.upper == pytest.approx(want[:, 1], rel=1e-12)


@pytest.mark.parametrize("fixed", [None, (0.7, 1.2, 0.0)])
@pytest.mark.parametrize("delta", [1e-4, 3e-5])
def test_where_the_first_bound_is_too_large_the_dominating_problem_at_the_same_multipliers_counts(
    monkeypatch, outside, delta, fixed
):
    """Its edges are those of the widened strip to second order in delta, and how far they lie apart is stated."""
    spec, proj = problem(delta, B, K, fixed)
    with monkeypatch.context() as patch:
        patch.setattr(module, "local_interval", lambda *_, **__: pytest.fail("solved anew"))
        band = local_interval(spec, proj, RHO, ETA)
    for i, (b, k) in enumerate(zip(B, K, strict=True)):
        low, high = strip(b, k, 0.0, fixed)
        lower, upper = strip(b, k, delta, fixed)
        assert band.lower[i] == pytest.approx(low, rel=1e-11)
        assert band.upper[i] == pytest.approx(high, rel=1e-11)
        moved = max(abs(upper - high), abs(low - lower))
        assert band.delta_num[i] == pytest.approx(moved, rel=3e-2, abs=3e-9)
    assert band.resolved.all()
    assert (band.gap_rel < 1e-9).all()


def test_eight_tenths_of_what_is_resolved_need_no_further_problem(monkeypatch, outside):
    """A functional that the row says nothing of: its norm ball grows by as little as the least norm shrinks."""
    spec, proj = problem(1e-2, [0.0], [2.0])
    with monkeypatch.context() as patch:
        patch.setattr(module, "local_interval", lambda *_, **__: pytest.fail("solved anew"))
        band = local_interval(spec, proj, RHO, ETA)
    (_, high), (_, upper) = strip(0.0, 2.0, 0.0), strip(0.0, 2.0, 1e-2)
    assert 0.75e-3 < (upper - high) / high < 0.85e-3
    assert band.delta_num[0] == pytest.approx(upper - high, rel=2e-2)
    assert band.resolved[0]


def test_a_dominating_problem_that_knows_more_leaves_no_negative_allowance():
    """Two equal rows without noise, and b along their difference: delta^-1 times its square is what the twin's V lacks."""
    along, delta = 1e-9, 8 * EPS
    spec = Spectral.from_gram(np.ones((2, 2)), np.array([0.5, 0.5]))
    proj = spec.project(np.array([[0.5 + along], [0.5 - along]]), np.ones(1))
    band, wider = local_interval(spec, proj, RHO, 0.0), proj.widened(np.arange(1))
    twin = local_interval(wider.spec, wider, RHO, 0.0)
    assert spec.dropped == 1
    share = 2 * along**2 / delta / 0.75  # of V = 1 - 0.5^2
    assert 1e-4 < share < 1.9e-3
    assert 1 - share < twin.half[0] / band.half[0] < 1 - share / 4
    assert band.delta_num[0] == pytest.approx(twin.delta_num[0], rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("delta", "resolved"), [(3e-3, [True, False, True, False, True]), (1e-2, [False, False, True, False, False])]
)
def test_where_that_is_too_large_as_well_the_dominating_problem_is_solved(outside, delta, resolved):
    """The interval is its interval, not resolved, and the gap says how far apart the two are; other points stay as they are."""
    spec, proj = problem(delta, B, K)
    band, wider = local_interval(spec, proj, RHO, ETA), proj.widened(np.arange(5))
    twin = local_interval(wider.spec, wider, RHO, ETA)
    for i, (b, k) in enumerate(zip(B, K, strict=True)):
        (low, high), (lower, upper) = strip(b, k, 0.0), strip(b, k, delta)
        apart = max(abs(upper - high), abs(lower - low))
        limit = 1e-3 * min(high - low, upper - lower) / 2
        assert not 0.82 < apart / limit < 1.3  # no point where a little more or less decides
        assert band.resolved[i] == (apart < limit)
        if band.resolved[i]:
            assert (band.lower[i], band.upper[i]) == (pytest.approx(low, rel=1e-11), pytest.approx(high, rel=1e-11))
            assert band.delta_num[i] == pytest.approx(apart, rel=2e-2)
            assert band.gap_rel[i] < 1e-9
            continue
        assert (band.lower[i], band.upper[i]) == (pytest.approx(lower, rel=1e-11), pytest.approx(upper, rel=1e-11))
        assert band.mid[i] == pytest.approx((lower + upper) / 2, rel=1e-11, abs=1e-12)
        assert band.half[i] == pytest.approx((upper - lower) / 2, rel=1e-11)
        assert band.gap_rel[i] == pytest.approx(apart / (upper - lower) * 2, rel=1e-9)
        assert band.delta_num[i] == twin.delta_num[i]
    assert band.resolved.tolist() == resolved


def test_a_functional_of_the_row_alone_may_move_by_the_root_of_rounding():
    """Without a part that no row sees only the noise ball binds, no finite multiplier is at hand, and the twin is asked."""
    for delta, resolved in ((1e-12, True), (1e-4, False)):
        spec, proj = problem(delta, [2.0, 0.0], [1.0, 2.0])
        band, wider = local_interval(spec, proj, RHO, ETA), proj.widened(np.arange(2))
        (low, high), (lower, upper) = strip(2.0, 1.0, 0.0), strip(2.0, 1.0, delta)
        twin = local_interval(wider.spec, wider, RHO, ETA)
        assert (low, high) == (1.25, 1.75)
        assert band.resolved.tolist() == [resolved, True]
        alone = local_interval(spec, spec.project(np.zeros((1, 1)), np.array([2.0])), RHO, ETA)
        assert band.delta_num[1] == pytest.approx(alone.delta_num[0], rel=1e-6, abs=0)
        assert band.delta_num[1] > 0
        moved = max(upper - high, low - lower)
        assert moved > 1e-7
        if resolved:
            assert (band.lower[0], band.upper[0]) == (pytest.approx(low, rel=1e-13), pytest.approx(high, rel=1e-13))
            assert band.delta_num[0] == pytest.approx(moved + twin.delta_num[0], rel=1e-2)
            assert band.gap_rel[0] < 1e-9
        else:
            assert band.half[0] == pytest.approx((upper - lower) / 2, rel=1e-9)
            assert band.delta_num[0] == twin.delta_num[0]
            assert band.gap_rel[0] == pytest.approx(moved / band.half[0], rel=1e-6)


def dual(product, datum, exact, mu, sign, tangent=0.0):
    """The edge of a functional with product 1 and norm 4 at the multiplier mu; tangent: a delta of the exact row that is still to come.

    With a and d the weights of the exact row, V grows by delta a^2, R by delta d^2 and m by the root of both.
    """
    a, d, row = product / exact, datum / exact, ROW + 1 / mu
    V, R = 4.0 - product * a - 1 / row, RHO**2 + mu * ETA**2 - datum * d - Y * Y / row
    m = product * d + Y / row
    return sign * m + math.sqrt((V + tangent * a * a) * (R + tangent * d * d)) + tangent * abs(a * d)


@pytest.mark.parametrize(("product", "datum", "more"), [(0.7, 1.2, 1e-3), (0.2, 0.3, 2.0), (0.7, 1.2, 1.0)])
def test_exact_rows_are_moved_along_their_tangent_and_factored_anew_only_where_that_is_too_much(
    monkeypatch, outside, product, datum, more
):
    """By a thousandth of the half-width or more; where the problem factored anew is as far off, it is the answer."""
    fixed = (product, datum, more)
    spec, proj = problem(0.0, [1.0], [4.0], fixed)
    calls, eigh = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda G: calls.append(1) or eigh(G))
    band = local_interval(spec, proj, RHO, ETA)
    low, high = strip(1.0, 4.0, 0.0, (product, datum, 0.0))
    ends = [(1, band.mu_upper[0], high), (-1, band.mu_lower[0], -low)]
    along = max(dual(product, datum, EXACT, mu, sign, more) - end for sign, mu, end in ends)
    anew = max(abs(dual(product, datum, EXACT + more, mu, sign) - end) for sign, mu, end in ends)
    limit = 1e-3 * (high - low) / 2
    if along < limit:
        assert not calls
        assert band.delta_num[0] == pytest.approx(along, rel=1e-6)
    elif anew < limit:
        assert (more, band.delta_num[0]) == (2.0, pytest.approx(anew, rel=1e-6))
    else:
        low, high = strip(1.0, 4.0, 0.0, fixed)
    assert band.resolved[0] == (min(along, anew) < limit) == (more != 1.0)
    assert (band.lower[0], band.upper[0]) == (pytest.approx(low, rel=1e-11), pytest.approx(high, rel=1e-11))


def test_a_ball_is_too_small_for_the_dominating_problem_by_more_than_its_rounding():
    """The second row is dropped as rounding and its misfit forgiven; within the rounding of G it would cost a norm of about two."""
    spec, eta = Spectral.from_gram(np.diag([1.0, 1e-15]), np.array([1.0, 0.1])), 0.1 - 1e-7
    proj = spec.project(np.array([[0.5], [0.0]]), np.ones(1))
    wide = proj.widened(np.arange(1)).spec
    least = occam(wide, eta).rho
    # Beside 64 units, 8 of the data in eta, by which the radius falls as steeply as here over a thousandth of what is left of it.
    slope = (least - occam(wide, eta + 1e-10).rho) / 1e-10
    last = least - 64 * EPS * least - 8 * EPS * math.hypot(1.0, 0.1) * slope
    assert local_interval(spec, proj, least - 0.99 * (least - last), eta).half.shape == (1,)
    with pytest.raises(EmptySetError, match=r"which is 1 without the 1 directions .* does not resolve it") as seen:
        local_interval(spec, proj, least - 1.01 * (least - last), eta)
    assert seen.value.margin == pytest.approx(-1.01 * (least - last), rel=1e-6)


def test_a_functional_that_is_zero_is_resolved_beside_one_that_is_not():
    """At the Occam radius no half-width is above the rounding of a Gram matrix; that of zero is zero, exactly."""
    spec = Spectral.from_gram(np.diag([4.0, 1.0]), np.ones(2))
    proj = spec.project(np.array([[0.0, 2.0], [0.0, 0.5]]), np.array([0.0, 9.0]))
    band = local_interval(spec, proj, occam(spec, 0.5).rho, 0.5)
    assert band.resolved.tolist() == [True, False]
    assert (band.half[0], band.delta_num[0], band.gap_rel[0]) == (0.0, 0.0, 0.0)

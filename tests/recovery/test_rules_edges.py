"""Rules, corners, deliveries and invariance at their limits: closed forms of one or two directions, and every refusal."""

from types import SimpleNamespace

import numpy as np
import pytest
from parts import part_of

from orledger.recovery import GlobalCertificate, InputError, Interval, Projection, Spectral
from orledger.recovery.delivery import guarded_delivery
from orledger.recovery.errors import EmptySetError
from orledger.recovery.invariance import flatness_bound, kappa_invariance
from orledger.recovery.lcurve import CORNERS, lcurve_corner
from orledger.recovery.rules import discrepancy, gcv, log_marginal, matched_mu, minimise, profiled_scale


@pytest.fixture
def line():
    """One feature that sees the first of two rows, s^2 = 4, and data (3, 4): the second row is misfit whatever one does."""
    return Spectral.from_features(np.array([[2.0], [0.0]]), np.array([3.0, 4.0]))


def test_misfits_of_one_direction_are_matched_in_closed_form(line):
    """misfit^2 = 16 + 9 / (1 + 4 mu)^2, from 5 at mu = 0 down to 4."""
    wanted = np.array([0.25, 2.0])
    misfits = np.sqrt(16 + 9 / (1 + 4 * wanted) ** 2)
    np.testing.assert_allclose(matched_mu(line, misfits), wanted, rtol=1e-10)
    assert matched_mu(line, np.array([4.0, 5.0, 6.0])).tolist() == [np.inf, 0.0, 0.0]
    assert matched_mu(line, misfits[0]).shape == (1,)
    with pytest.raises(InputError, match="negative value: -1"):
        matched_mu(line, np.array([4.5, -1.0]))
    with pytest.raises(EmptySetError, match=r"misfit 3 \(position 1\) is below the best achievable 4") as refused:
        matched_mu(line, np.array([4.5, 3.0]))
    assert refused.value.margin == pytest.approx(-1.0)
    assert matched_mu(line, np.array([0.0]) + line.best_misfit).tolist() == [np.inf]


def test_discrepancy_says_when_it_stands_at_a_limit(line):
    inner = discrepancy(line, np.sqrt(16 + 9 / 4))
    assert (inner.rule, inner.at_limit) == ("morozov", False)
    assert inner.mu == pytest.approx(0.25, rel=1e-10)
    assert inner.nugget == pytest.approx(4.0, rel=1e-10)
    assert inner.value == pytest.approx(0.75, rel=1e-10)  # theta = mu s y / (1 + mu s^2) = 0.25 * 2 * 3 / 2
    loose, tight = discrepancy(line, 5.0), discrepancy(line, line.best_misfit)
    assert (loose.mu, loose.at_limit, loose.nugget, loose.value) == (0.0, True, np.inf, 0.0)
    assert (tight.mu, tight.at_limit, tight.nugget) == (np.inf, True, 0.0)
    assert tight.value == pytest.approx(1.5)


def test_criteria_of_one_direction(line):
    """Two rows, f = 1/2 at mu = 1/4: the trace is 3/2, the squared misfit 16 + 9/4; tau^2 G + 4 tau^2 I has the diagonal 8 and 4."""
    mu = np.array([0.25])
    np.testing.assert_allclose(gcv(line, mu), 2 * (16 + 9 / 4) / 1.5**2, rtol=1e-12)
    unit = (9 / 8 + 16 / 4 + np.log(8) + np.log(4) + 2 * np.log(2 * np.pi)) / 2
    np.testing.assert_allclose(log_marginal(line, mu), unit, rtol=1e-12)
    tau2 = (9 / 8 + 16 / 4) / 2
    np.testing.assert_allclose(profiled_scale(line, mu), np.sqrt(tau2), rtol=1e-12)
    profiled = (2 + np.log(8 * tau2) + np.log(4 * tau2) + 2 * np.log(2 * np.pi)) / 2
    np.testing.assert_allclose(log_marginal(line, mu, "profiled"), profiled, rtol=1e-12)
    with pytest.raises(InputError, match="scale = 'other'"):
        log_marginal(line, mu, "other")


def test_a_minimum_inside_its_bounds_and_at_each_of_them(line):
    """The unit evidence of the first row is least at 4 + 1/mu = 9 and that of the second at 1/mu = 16; together in between."""
    found = minimise(line, "mlii_unit")
    nugget = np.linspace(5, 16, 200001)
    sums = 9 / (4 + nugget) + 16 / nugget + np.log(4 + nugget) + np.log(nugget)
    assert found.nugget == pytest.approx(nugget[np.argmin(sums)], abs=1e-4)
    assert found.value == pytest.approx((sums.min() + 2 * np.log(2 * np.pi)) / 2, rel=1e-9)
    assert not found.at_limit
    low = minimise(line, "mlii_unit", bounds=(1.0, 10.0))
    high = minimise(line, "mlii_unit", bounds=(1e-6, 1e-3))
    assert (low.mu, low.at_limit) == (pytest.approx(1.0), True)
    assert (high.mu, high.at_limit) == (pytest.approx(1e-3), True)
    assert low.value == pytest.approx(float(log_marginal(line, np.array([1.0]))[0]))
    for bounds in ((0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, np.inf), (-1.0, 1.0)):
        with pytest.raises(InputError, match=r"0 < lowest < highest|a bound of mu = inf"):
            minimise(line, "gcv", bounds=bounds)
    with pytest.raises(InputError, match="rule = 'aic'"):
        minimise(line, "aic")


def test_without_bounds_the_search_reaches_beyond_the_spectrum(line):
    """Data that the feature explains: GCV falls for as long as mu grows."""
    clean = Spectral.from_features(np.array([[2.0], [0.0]]), np.array([3.0, 0.0]))
    found = minimise(clean, "gcv")
    assert found.at_limit
    assert 1e6 < found.mu * 4 < 1e12


# ---- corners --------------------------------------------------------------------------------------------------------------


def test_menger_curvature_is_that_of_the_circle():
    """Walked from left to right below its centre, a circle of radius 2 turns by 1/2 everywhere."""
    angle = np.linspace(np.pi + 0.3, 1.5 * np.pi, 7)
    scores = CORNERS["menger"](2 * np.cos(angle), 2 * np.sin(angle))
    np.testing.assert_allclose(scores[1:-1], 0.5, rtol=1e-9)
    assert scores[[0, -1]].tolist() == [-np.inf, -np.inf]
    uneven = np.pi + np.array([0.1, 0.2, 0.7, 0.9, 1.5])
    np.testing.assert_allclose(CORNERS["menger"](2 * np.cos(uneven), 2 * np.sin(uneven))[1:-1], 0.5, rtol=1e-9)
    assert CORNERS["menger"](np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0]))[1] == -np.inf


def test_gradient_curvature_of_a_parabola():
    """y = x^2 at whole numbers: at x the differences are dx = 1, dy = 2 x, and the second ones 0 and 2, away from the ends."""
    x = np.arange(-4.0, 5.0)
    scores = CORNERS["gradient"](x, x * x)
    np.testing.assert_allclose(scores[2:-2], (2 / (1 + 4 * x * x) ** 1.5)[2:-2], rtol=1e-12)
    assert scores[[0, -1]].tolist() == [-np.inf, -np.inf]
    assert CORNERS["gradient"](np.zeros(5), np.ones(5)).tolist() == [-np.inf] * 5


def test_chord_distance_is_measured_below_the_chord():
    """From (0, 1) to (1, 0) in scaled axes: (1/4, 1/4) lies by sqrt(1/8) below, (3/4, 3/4) as much above."""
    x, y = 10 + 4 * np.array([0.0, 0.25, 0.75, 1.0]), 2 * np.array([1.0, 0.25, 0.75, 0.0])
    scores = CORNERS["chord"](x, y)
    np.testing.assert_allclose(scores[1:-1], [np.sqrt(1 / 8), -np.sqrt(1 / 8)], rtol=1e-12)
    assert scores[[0, -1]].tolist() == [-np.inf, -np.inf]
    assert np.isfinite(CORNERS["chord"](np.ones(4), np.ones(4))[1:-1]).all()


@pytest.mark.parametrize("variant", ["menger", "gradient", "chord"])
def test_a_corner_off_the_middle_is_found_from_both_ends(variant):
    x = np.array([1.0, 1.1, 1.2, 4.0, 8.0, 12.0, 16.0])
    y = np.array([16.0, 8.0, 1.2, 1.1, 1.05, 1.02, 1.0])
    assert lcurve_corner(x, y, variant, scale="linear") == 2
    assert lcurve_corner(x[::-1], y[::-1], variant, scale="linear") == 4
    assert lcurve_corner(np.exp(x), np.exp(y), variant) == 2


def test_corner_needs_three_positive_nodes():
    assert lcurve_corner(np.array([1.0, 1.1, 3.0]), np.array([3.0, 1.1, 1.0])) == 1
    for x, y in ((np.ones(2), np.ones(2)), (np.ones(3), np.ones(4)), (np.ones((3, 3)), np.ones((3, 3)))):
        with pytest.raises(InputError, match="at least 3 nodes"):
            lcurve_corner(x, y)
    for x, y in (([0.0, 1.0, 2.0], [3.0, 2.0, 1.0]), ([1.0, 2.0, 3.0], [2.0, 1.0, 0.0])):
        with pytest.raises(InputError, match="positive misfits and norms"):
            lcurve_corner(np.array(x), np.array(y))
        assert lcurve_corner(np.array(x), np.array(y), scale="linear") == 1


# ---- delivery -------------------------------------------------------------------------------------------------------------


def delivered(mid, half, gap, ridge, y_scale=2.0, **options):
    points = len(mid)
    band = part_of(Interval, mid=np.array(mid), half=np.array(half), gap_rel=np.array(gap))
    certificate = part_of(
        GlobalCertificate, mu=1.0, cert=np.full(points, 7.0), delta_num=0.5, allowance=np.full(points, 0.25)
    )

    class Functionals(Projection):
        def __len__(self):
            return points

        def at(self, mu):
            return SimpleNamespace(m=np.arange(points) * 10.0 * mu)

    return guarded_delivery(band, certificate, part_of(Functionals), np.array(ridge), y_scale, **options)


def test_limits_of_the_guard_belong_to_what_is_delivered():
    """Allowed are half + 5 max(1, |y|) = 1 + 10 from the ridge value, and a gap of 1e-6, both included."""
    d = delivered([11.0, 11.1, 0.0, 0.0], [1.0] * 4, [0.0, 0.0, 1e-6, 1.1e-6], [0.0] * 4)
    assert d.substituted.tolist() == [False, True, False, True]
    assert d.mid.tolist() == [11.0, 10.0, 0.0, 30.0]
    assert d.half.tolist() == [1.0, 7.75, 1.0, 7.75]
    assert [(s.index, s.reason, s.seen, s.limit, s.mid, s.half) for s in d.ledger] == [
        (1, "midpoint far from the ridge value", 11.1, 11.0, 11.1, 1.0),
        (3, "primal-dual gap", 1.1e-6, 1e-6, 0.0, 1.0),
    ]


def test_small_data_are_measured_by_one_and_options_count():
    assert not delivered([6.0], [1.0], [0.0], [0.0], 0.1).substituted.any()
    assert delivered([6.1], [1.0], [0.0], [0.0], 0.1).substituted.all()
    assert delivered([3.1], [1.0], [0.0], [0.0], 0.1, drift_factor=2.0).substituted.all()
    assert not delivered([0.0], [1.0], [0.5], [0.0], gap_tol=0.5).substituted.any()


def test_a_point_is_entered_once_with_its_first_reason_in_order_of_points():
    d = delivered([100.0, np.nan, 0.0], [1.0, 1.0, np.inf], [1.0, 0.0, 0.0], [0.0] * 3)
    assert [(s.index, s.reason) for s in d.ledger] == [
        (0, "midpoint far from the ridge value"),
        (1, "non-finite interval"),
        (2, "non-finite interval"),
    ]
    assert d.ledger[2].limit == np.inf
    assert delivered([0.0], [1.0], [np.nan], [0.0]).ledger[0].reason == "primal-dual gap"


# ---- invariance -----------------------------------------------------------------------------------------------------------


def test_two_candidates_in_numbers():
    """m = (0, 1), c = (1, 3): at kappa 0 the first leads by 1; going to 1/4 the second gains (3 - 1) / 4, to 1 it gains 2."""
    m, c = np.array([0.0, 1.0]), np.array([1.0, 3.0])
    near, far = kappa_invariance(m, c, 0.0, 0.25), kappa_invariance(m, c, 0.0, 1.0)
    assert (near.osc, far.osc) == (2.0, 2.0)
    assert near.gap.tolist() == [1.0, 0.5]
    assert far.gap.tolist() == [1.0, 1.0]
    assert (near.chosen.tolist(), far.chosen.tolist()) == ([0, 0], [0, 1])
    assert (bool(near.coincided), bool(far.coincided)) == (True, False)
    assert near.ratio.tolist() == [0.5, 1.0]
    assert near.fires.tolist() == [True, False]
    # Back from 1/4 to 0 only a smaller width could overtake, and the first has the smallest.
    assert near.sharp_ratio.tolist() == [0.5, 0.0]
    assert near.sharp.tolist() == [True, True]
    assert (bool(near.fires_any), bool(near.sharp_any), bool(far.fires_any), bool(far.sharp_any)) == (
        True,
        True,
        False,
        False,
    )
    assert far.sharp_ratio.tolist() == [2.0, 2.0]


def test_one_candidate_always_stays_and_a_tie_never_does():
    alone = kappa_invariance(np.array([[1.0]]), np.array([[2.0]]), 0.0, 5.0)
    assert (alone.gap.tolist(), alone.tie.tolist(), alone.fires.tolist()) == (
        [[np.inf, np.inf]],
        [[False, False]],
        [[True, True]],
    )
    tied = kappa_invariance(np.array([1.0, 1.0]), np.array([2.0, 2.0]), 0.0, 5.0)
    assert (tied.tie.tolist(), tied.fires.tolist(), tied.sharp.tolist()) == (
        [True, True],
        [False, False],
        [False, False],
    )
    assert tied.ratio.tolist() == [np.inf, np.inf]
    for m, c in ((np.ones(2), np.ones(3)), (np.array(1.0), np.array(1.0)), (np.ones((2, 0)), np.ones((2, 0)))):
        with pytest.raises(InputError, match="the same shape"):
            kappa_invariance(m, c, 0.0, 1.0)
    for pair in ((np.inf, 1.0), (1.0, np.nan)):
        with pytest.raises(InputError, match="it must be finite"):
            kappa_invariance(np.ones(2), np.ones(2), *pair)


def test_flatness_in_closed_form():
    """k0 = 4, t = 3, phi = 1/2, nugget 6: the drop is 3 * 16 / 4 / 6 = 2, the fall 2 - sqrt(2)."""
    scale = np.sqrt(9 + 25 / 6)
    assert flatness_bound(3.0, 5.0, 4.0, 3, 0.5, 6.0) == pytest.approx(scale * (2 - np.sqrt(2)), rel=1e-14)
    assert flatness_bound(3.0, 5.0, 4.0, 3, 1.0, 6.0) == pytest.approx(scale * 2, rel=1e-14)  # vacuous
    assert flatness_bound(3.0, 5.0, 4.0, 0, 1.0, 6.0) == 0.0
    assert flatness_bound(3.0, 5.0, 0.0, 3, 1.0, 6.0) == 0.0
    assert flatness_bound(3.0, 5.0, 4.0, 3, 0.0, 6.0) == 0.0
    for bad in ({"phi": 1.1}, {"phi": -0.1}, {"nugget": 0.0}, {"k0": -1.0}, {"t": -1}):
        with pytest.raises(InputError, match=r"phi = .* must lie in \[0, 1\]|it must be finite and >= 0|nugget = 0"):
            flatness_bound(**{"eps": 1.0, "eta": 1.0, "k0": 1.0, "t": 1, "phi": 0.5, "nugget": 1.0, **bad})

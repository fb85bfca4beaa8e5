"""Conformal radii where scores are fractions: one row 2 = a with noise 1, so that the Occam ball is 1, and b is free.

A functional (0, w) at the value w u has the score sqrt(1 + u^2), and its band at the inflation kappa is w sqrt(kappa^2 - 1)
to either side of 0. Pythagorean triples keep both rational.
"""

from dataclasses import replace
from fractions import Fraction
from math import inf, nextafter, ulp

import numpy as np
import pytest

from orledger.recovery import KAPPA_CAP, KAPPA_GRID, InputError, Spectral, conformal_radius, local_interval, occam
from orledger.recovery.conformal import _rounded_outwards
from orledger.recovery.transfer import gaussian_truth_coverage, truth_coverage

ROW = Spectral.from_features(np.array([[1.0, 0.0]]), np.array([2.0]))
U = np.array([12 / 5, -3 / 4, 15 / 8, -4 / 3])
SCORES = np.array([13 / 5, 5 / 4, 17 / 8, 5 / 3])


def free(weights):
    return ROW.project(np.column_stack([np.zeros(len(weights)), weights]))


@pytest.mark.parametrize(
    ("level", "order", "requested"),
    [
        (None, 4, None),
        (1, 1, None),
        (np.int64(4), 4, None),
        (0.2, 1, 0.2),
        (0.21, 2, 0.21),
        (0.8, 4, 0.8),
        (0.81, 4, 0.81),
    ],
)
def test_scores_orders_and_levels(level, order, requested):
    """Four responses reach the levels 1/5 to 4/5."""
    found = conformal_radius(ROW, free(np.ones(4)), U, 1.0, level=level)
    np.testing.assert_allclose(found.scores, SCORES, rtol=1e-14)
    assert (found.order, found.level, found.requested) == (order, order / 5, requested)
    assert found.kappa == found.kappa_star == np.sort(found.scores)[order - 1]
    assert (found.q_add, found.floor_used, found.saturated, found.anchor) == (0.0, False, False, 1.0)


@pytest.mark.parametrize("level", [True, False, "0.5", [0.5], 5, np.int64(0), -0.1, 1.5, 1.0])
def test_what_is_no_level_is_refused(level):
    with pytest.raises(InputError, match=r"level = |order statistic"):
        conformal_radius(ROW, free(np.ones(4)), U, 1.0, level=level)


@pytest.mark.parametrize(("order", "floor"), [(1, 0), (2, Fraction(7, 12)), (3, Fraction(9, 8)), (4, Fraction(33, 20))])
def test_the_floor_is_the_same_order_statistic_of_what_is_left(order, floor):
    """Capped at 5/4 the band ends at 3/4: 0, 7/12, 9/8 and 33/20 are left of the responses."""
    found = conformal_radius(ROW, free(np.ones(4)), U, 1.0, level=order, kappa_cap=1.25, floor="always")
    assert found.q_add == pytest.approx(float(floor), rel=1e-13, abs=0.0)
    assert (found.kappa, found.floor_used) == (1.25, True)


def test_what_is_left_and_the_score_may_order_responses_differently():
    """Scores sqrt(5) and sqrt(13)/2, left over 5/4 and 15/2: the first is claimed by the floor, the second by the score."""
    found = conformal_radius(ROW, free([1.0, 10.0]), np.array([2.0, 15.0]), 1.0, level=1, kappa_cap=1.25)
    assert found.kappa_star == pytest.approx(np.sqrt(13) / 2, rel=1e-14)
    assert found.q_add == pytest.approx(1.25, rel=1e-13)


@pytest.mark.parametrize("side", [1, -1])
def test_a_floor_that_falls_short_is_raised_by_twice_what_it_lacks(side):
    """A band that ends at 3/4 + 1/4 and claims 4/3 lacks 1/3."""
    y = side * np.array([0.75, 4 / 3])
    found = conformal_radius(ROW, free(np.ones(2)), y, 1.0)
    short = replace(found, kappa=1.25, kappa_star=1.25, scores=np.full(2, 1.25), q_add=0.25)
    raised = _rounded_outwards(short, ROW, free(np.ones(2)), y, occam(ROW, 1.0))
    assert raised.q_add == pytest.approx(0.25 + 2 / 3, rel=1e-13)
    assert vars(raised) == vars(replace(short, q_add=raised.q_add, scores=raised.scores))
    first = replace(short, scores=np.array([1.25, 2.0]))
    assert _rounded_outwards(first, ROW, free(np.ones(2)), y, occam(ROW, 1.0)) is first


@pytest.mark.parametrize("q_add", [0.0, 0.25, 4096.0])
def test_edges_move_outwards_by_the_floor_and_the_allowance(q_add):
    """By q_add, and by `share` of delta_num and of 8 rounding units of |lower| + |upper| + q_add; far from zero both show."""
    spec = Spectral.from_features(np.array([[1.0, 0.0]]), np.array([1000.0]))
    proj, anchor = spec.project(np.array([[1.0, 0.0], [-1.0, 0.0]])), occam(spec, 0.5).rho
    found = conformal_radius(spec, proj, np.array([999.6, -999.7]), 0.5)
    plain = local_interval(spec, proj, found.kappa * anchor, 0.5)
    found = replace(found, q_add=q_add)
    for share in (0.0, 0.5, 1.0, None):
        band = found.band(spec, proj, 0.5) if share is None else found.band(spec, proj, 0.5, share=share)
        for i in range(2):
            low, high, half, delta = (
                Fraction(float(v[i])) for v in (plain.lower, plain.upper, plain.half, plain.delta_num)
            )
            size = abs(low) + abs(high) + Fraction(q_add)
            part = Fraction(1 if share is None else share)
            pad = Fraction(q_add) + part * (delta + 8 * Fraction(2) ** -52 * size)
            for edge, exact in ((band.lower[i], low - pad), (band.upper[i], high + pad), (band.half[i], half + pad)):
                assert abs(Fraction(float(edge)) - exact) <= Fraction(ulp(float(edge)))
    for share in (-0.01, 1.01):
        with pytest.raises(InputError, match=r"share = .* must lie in \[0, 1\]"):
            found.band(spec, proj, 0.5, share=share)


def test_the_cap_may_be_infinite_and_the_anchor_any_radius_from_the_occam_one_on():
    assert conformal_radius(ROW, free([1.0]), np.array([1e6]), 1.0, kappa_cap=inf).kappa == pytest.approx(
        1e6, rel=1e-11
    )
    small = Spectral.from_features(np.array([[1.0, 0.0]]), np.array([1.25]))  # the Occam ball is 1/4
    proj = small.project(np.array([[0.0, 1.0]]))
    assert conformal_radius(small, proj, np.array([1 / 3]), 1.0).kappa_star == pytest.approx(5 / 3, rel=1e-13)
    least = occam(small, 1.0).rho * (1 - 1e-12)
    assert conformal_radius(small, proj, np.array([1 / 3]), 1.0, rho_oc=least).anchor == least
    with pytest.raises(InputError, match="below the Occam radius"):
        conformal_radius(small, proj, np.array([1 / 3]), 1.0, rho_oc=nextafter(least, 0))
    assert conformal_radius(small, proj, np.array([0.1]), 1.0, rho_oc=1.0).scores.tolist() == [1.0]


def test_a_response_on_the_edge_of_a_grid_band_is_in_it():
    proj = free(np.ones(3))
    edge = local_interval(ROW, proj, 2.0, 1.0)
    y = np.array([edge.upper[0], edge.lower[1], 0.0])
    assert conformal_radius(ROW, proj, y, 1.0, method="grid", grid=(2.0, 1.0, 4.0)).scores.tolist() == [2.0, 2.0, 1.0]
    inside = conformal_radius(ROW, proj, y / 2, 1.0, method="grid", grid=(2.0,), floor="always")
    assert (inside.q_add, inside.floor_used) == (0.0, True)  # what a band has to spare is no floor
    far = conformal_radius(ROW, proj, 9 * y, 1.0, method="grid", grid=(2.0, 1.0, 4.0))
    assert far.scores.tolist() == [inf, inf, 1.0]
    assert (far.saturated, far.kappa, far.floor_used) == (True, 4.0, True)
    assert far.q_add == pytest.approx(9 * np.sqrt(3) - np.sqrt(15), rel=1e-12)


def test_the_usual_grid_is_that_of_the_study_and_ends_at_the_cap():
    """Case B's records hold these inflations; a response that needs more than 40 is left to the floor."""
    assert KAPPA_GRID == (1.1, 1.3, 1.7, 2.5, 4, 6, 10, 20, 40)
    assert KAPPA_CAP == 40
    found = conformal_radius(ROW, free([1.0]), np.array([50.0]), 1.0)
    assert (found.kappa, found.floor_used) == (40.0, True)


def test_the_gaussian_tail_at_small_noise_and_wide_bands():
    """Beyond one standard deviation lie erfc(1/sqrt(2)) = 0.3173..., whatever the unit; an infinite band covers everything."""
    for sigma in (0.125, 1.0, 8.0):
        found = gaussian_truth_coverage(0.9, sigma, sigma)
        assert found.noise_tail == pytest.approx(0.31731050786291415, rel=1e-14)
        assert found.level == pytest.approx(0.9 - 0.31731050786291415, rel=1e-14)
    assert gaussian_truth_coverage(0.9, 2.0, inf).level == truth_coverage(0.9, inf, 0.0).level == 0.9
    assert truth_coverage(0.75, 0.5, 0.25).level == 0.5
    for z in (0.0, -0.5):
        with pytest.raises(InputError, match=r"z = 0|z = -0\.5"):
            gaussian_truth_coverage(0.9, 0.0, z)

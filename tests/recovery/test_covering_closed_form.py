"""The smallest ball that reaches a value, where it is a fraction: one row (s, 0), and what rounding may decide."""

from fractions import Fraction
from math import inf, sqrt

import numpy as np
import pytest

from orledger.recovery import Spectral, covering_radius, local_interval, occam

pytestmark = pytest.mark.filterwarnings("error")

EPS = 2.0**-52


def one_row(s, y):
    """Theta = (a, b) with |s a - y| <= eta; b is free."""
    return Spectral.from_features(np.array([[s, 0.0]]), np.array([y]))


def smallest(s, y, eta, c, v):
    """|theta|^2 of the smallest theta with |s a - y| <= eta and c . theta = v, as a fraction; None when there is none.

    With b = (v - c1 a) / c2 the norm is a parabola in a with its lowest point at c1 v / |c|^2.
    """
    s, y, eta, c1, c2, v = map(Fraction, (s, y, eta, *c, v))
    low, high = (y - eta) / s, (y + eta) / s
    if c2 == 0:
        if c1 == 0 or not low <= v / c1 <= high:
            return None
        return (v / c1) ** 2
    a = min(max(c1 * v / (c1 * c1 + c2 * c2), low), high)
    return a * a + ((v - c1 * a) / c2) ** 2


@pytest.mark.parametrize(
    ("s", "y", "eta"),
    [
        (2.0, 3.0, 1.0),
        (2.0, -3.0, 0.5),
        (0.5, 1.0, 1.0),
        (0.25, 1.0, 2.0),
        (4.0, 0.0, 1.0),
        (16.0, 8.0, 7.5),
        (1.0, 0.5, 0.75),
        (2.0**-40, 0.0, 2.0**-38),
        (2.0, 3.0, 0.0),
    ],
)
def test_one_row_is_a_parabola(s, y, eta):
    """Values on both sides: the row binds at either of its ends, or not at all; data inside the noise, at its edge, exact."""
    spec = one_row(s, y)
    rows, values = [], []
    for c in ((1.0, 1.0), (-1.0, 0.5), (0.25, 2.0), (3.0, -0.125), (0.0, 0.5), (1.0, 0.0), (-0.5, 0.0), (0.0, 0.0)):
        for v in (-9.0, -2.0, -0.75, -0.125, 0.0, 2.0**-40, 0.0625, 0.5, 1.0, 1.75, 4.0, 20.0):
            rows.append(c)
            values.append(v)
    found = covering_radius(spec, spec.project(np.array(rows)), np.array(values), eta)
    exact = [
        smallest(s, y, eta, c, v) if any(c) or v else occam(spec, eta).rho ** 2
        for c, v in zip(rows, values, strict=True)
    ]
    np.testing.assert_allclose(found, [inf if e is None else sqrt(e) for e in exact], rtol=1e-12)


def test_the_occam_value_itself_costs_nothing_up_to_its_rounding():
    """Theta = 1 exactly, and no room: four rounding units of |value| + |1| are its own, and the next number is out of reach."""
    spec = one_row(1.0, 1.0)
    values = np.array([1.0, 1 + 8 * EPS, 1 + 9 * EPS, 1 - 7.5 * EPS, 1 - 8 * EPS])
    found = covering_radius(spec, spec.project(np.repeat([[1.0, 0.0]], 5, 0)), values, 0.0)
    assert found.tolist() == [1.0, 1.0, inf, 1.0, inf]
    noisy = one_row(1.0, 1.5)
    rho = occam(noisy, 0.5).rho
    values = rho * np.array([1 - 4 * EPS, 1.0, 1 + 4 * EPS])
    assert covering_radius(noisy, noisy.project(np.repeat([[1.0, 0.0]], 3, 0)), values, 0.5).tolist() == [rho] * 3


def test_a_functional_of_zero_is_in_every_band_at_zero_and_in_none_beside_it():
    spec = one_row(1.0, 2.0)
    for eta in (0.0, 0.5):
        found = covering_radius(spec, spec.project(np.zeros((2, 2))), np.array([0.0, 1e-9]), eta)
        assert found.tolist() == [occam(spec, eta).rho, inf]
    # So small that its square is lost beside the guard of divisions: it counts as zero.
    small = spec.project(np.array([[2.0**-256, 2.0**-256], [1.0, 1.0]]))
    assert covering_radius(spec, small, np.array([1.0, 1.0]), 0.5)[0] == inf


@pytest.mark.parametrize("side", [1, -1])
def test_the_noise_ball_alone_ends_64_rounding_units_beyond_its_width(side):
    """|a - 1/2| <= 1 and no null space: a = 3/2 is the last value, and 64 units of the width 1 are rounding."""
    spec = one_row(1.0, side * 0.5)
    values = side * (1.5 + EPS * np.array([-64.0, 0.0, 64.0, 65.0]))
    found = covering_radius(spec, spec.project(np.repeat([[1.0, 0.0]], 4, 0)), values, 1.0)
    np.testing.assert_allclose(found, [1.5, 1.5, 1.5, inf], rtol=1e-13)


@pytest.mark.parametrize("side", [1, -1])
def test_the_last_point_of_the_noise_ball_needs_its_own_norm_and_not_more(side):
    """|(a, b/2) - (1, 2)| <= 5/4 ends in the direction (3, 2) at (1, 4) + (3/4, 2) = (7/4, 6), of norm 25/4, where 3a + 2b = 69/4.

    Values a few rounding units before and behind it; a norm depends on the root of the distance from the end.
    """
    spec = Spectral.from_features(np.diag([1.0, 0.5]), side * np.array([1.0, 2.0]))
    values = side * (17.25 + 16 * EPS * np.arange(-6.0, 7.0))
    found = covering_radius(spec, spec.project(np.repeat([[3.0, 2.0]], 13, 0)), values, 1.25)
    np.testing.assert_allclose(found, 6.25, rtol=1e-6)


def test_values_between_the_occam_solution_and_the_least_squares_one():
    """Two rows of different weight, no null space: the ball is the one whose interval ends at the value, on a dense circle."""
    s, y, eta = np.array([4.0, 0.25]), np.array([2.0, 1.0]), 0.5
    spec = Spectral.from_features(np.diag(s), y)
    c = np.array([1.0, 2.0])
    values = np.array([-0.5, 2.0, 5.0, 8.0, 9.0, 12.0])
    found = covering_radius(spec, spec.project(np.repeat(c[None], 6, 0)), values, eta)
    least = []
    for v in values:
        # c . theta = v leaves one number; the misfit is a parabola in it, and so is the norm: b = (v - a) / 2.
        quad = [
            s[0] ** 2 + s[1] ** 2 / 4,
            -2 * s[0] * y[0] + s[1] * (y[1] - s[1] * v / 2),
            y[0] ** 2 + (y[1] - s[1] * v / 2) ** 2 - eta**2,
        ]
        ends = np.roots(quad)
        if np.iscomplex(ends).any():
            least.append(inf)
            continue
        a = np.clip(v / 5, *sorted(ends))
        least.append(np.hypot(a, (v - a) / 2))
    np.testing.assert_allclose(found, least, rtol=1e-10)
    assert np.isinf(found).sum() == 2


def test_a_null_part_beyond_the_reach_of_the_search_counts():
    """So small a null part needs a ball of 2e9 to add the missing 0.2; the band of the answer ends at the value all the same."""
    spec = one_row(1.0, 1.0)
    proj = spec.project(np.array([[1.0, 1e-10]]))
    rho = float(covering_radius(spec, proj, np.array([1.7]), 0.5)[0])
    assert 1e8 < rho < 2.1e9
    assert local_interval(spec, proj, rho, 0.5).upper[0] == pytest.approx(1.7, rel=1e-9)


@pytest.mark.parametrize(("x", "y"), [((3.0, 1.0), (1.0, 2.0)), ((3.0, 1.0), (1.0, 5.0)), ((3.0, 1.0), (2.0, 1.0))])
def test_no_ball_is_smaller_than_the_smallest_consistent_one(x, y):
    """The noise ball ends at zero up to rounding, and so does the Occam radius: what is added to it is all rounding."""
    spec = Spectral.from_features(np.array(x)[:, None], np.array(y))
    eta = float(np.linalg.norm(y))
    rho = occam(spec, eta).rho
    values = rho * np.array([-0.5, 0.1, 0.25, 0.5, 0.75])
    assert (covering_radius(spec, spec.project(np.ones((5, 1))), values, eta) >= rho).all()

"""The invariance criteria: never wrong, symmetric, guarded against ties; and the flatness bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orledger.recovery import InputError, Spectral, flatness_bound, global_radius, kappa_invariance


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31 - 1), st.floats(0.1, 8), st.floats(0.1, 8), st.integers(1, 40))
def test_a_firing_criterion_is_never_wrong(seed, kappa, other, candidates):
    rng = np.random.default_rng(seed)
    m = rng.standard_normal((30, candidates))
    c = 1 + rng.random((30, candidates)) * 10.0 ** rng.uniform(-4, 0, (30, 1))
    found = kappa_invariance(m, c, kappa, other)
    moved = (m - kappa * c).argmin(-1) != (m - other * c).argmin(-1)
    assert (found.coincided == ~moved).all()
    assert not (found.fires & moved[:, None]).any()
    assert not (found.sharp & moved[:, None]).any()
    assert (found.sharp | ~found.fires).all()  # whatever the proposition proves, the sharper condition proves


def test_hand_computed_case():
    """m = (0, 1, 5), c = (1, 1.2, 3): the criterion and its sharper form at both anchors, by hand."""
    m, c = np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.2, 3.0])
    found = kappa_invariance(m, c, 1.0, 2.0)
    # kappa 1: values -1, -0.2, 2 -> gap 0.8; kappa' 2: values -2, -1.4, -1 -> gap 0.6; osc = 2.
    np.testing.assert_allclose(found.gap, [0.8, 0.6])
    np.testing.assert_allclose(found.ratio, [2 / 0.8, 2 / 0.6])
    assert not found.fires.any()
    # From kappa up, a width larger by 2 could overtake; from kappa' down, no candidate has a smaller width.
    np.testing.assert_allclose(found.sharp_ratio, [2 / 0.8, 0.0])
    assert found.sharp.tolist() == [False, True]
    assert found.coincided


def test_ties_never_fire():
    """Two candidates with equal value, and with a gap of one rounding unit: recorded as ties."""
    m = np.array([[1.0, 1.0, 3.0], [1.0, 1.0 + 2.2e-16, 3.0], [1.0, 1.0 + 1e-9, 3.0]])
    found = kappa_invariance(m, np.ones_like(m), 1.0, 2.0)
    assert found.tie.tolist() == [[True, True], [True, True], [False, False]]
    assert found.fires_any.tolist() == [False, False, True]
    assert found.sharp_any.tolist() == [False, False, True]


def test_either_anchor_can_decide():
    """The proposition is symmetric: here only the anchor at the larger kappa proves invariance."""
    m, c = np.array([0.0, 0.5]), np.array([2.0, 1.0])
    found = kappa_invariance(m, c, 0.1, 1.0)
    np.testing.assert_allclose(found.gap, [0.6, 1.5])
    assert found.fires.tolist() == [False, True]
    assert kappa_invariance(m, c, 1.0, 0.1).fires.tolist() == [True, False]


def test_shapes_are_checked():
    with pytest.raises(InputError, match="same shape"):
        kappa_invariance(np.ones(3), np.ones(4), 1.0, 2.0)
    with pytest.raises(InputError, match="non-finite"):
        kappa_invariance(np.array([1.0, np.nan]), np.ones(2), 1.0, 2.0)


def test_flatness_bound_dominates_the_measured_oscillation():
    """Lemma flat on a stationary kernel: candidates at distance >= D, radius on a nugget range bounded below."""
    x = np.linspace(0, 1, 6)
    k = lambda a, b: 1.7 * np.exp(-0.5 * ((a[:, None] - b[None, :]) / 0.5) ** 2)  # noqa: E731
    spec = Spectral.from_gram(k(x, x), np.sin(x))
    for D in (1.5, 2.0, 3.0):
        far = 1 + D + np.linspace(0, 4, 50)
        proj = spec.project(k(x, far), np.full(50, 1.7))
        radius = global_radius(spec, proj, 2.0, 0.3, method="grid97", grid=(-6, 1, 97)).radius
        phi = float(np.exp(-0.5 * (D / 0.5) ** 2))
        assert np.ptp(radius) <= flatness_bound(2.0, 0.3, 1.7, 6, phi, nugget=0.1) + 1e-12
    assert flatness_bound(2.0, 0.3, 1.7, 6, 0.0, 0.1) == 0.0
    tiny = flatness_bound(1.0, 0.0, 1.0, 1, 1e-12, 1.0)
    assert tiny == pytest.approx(0.5e-24, rel=1e-9)
    assert flatness_bound(3.0, 4.0, 1.0, 10, 1.0, 1.0) == pytest.approx(5.0)


def test_an_inequality_that_rounding_decides_does_not_fire():
    """At the anchor 2 the gap and |kappa' - kappa| osc are both 0.9; as floats the gap is larger, yet the argmin moves."""
    m, c = np.array([0.3, 0.2, 1.0, 1.6, -1.0, -0.1]), np.array([0.4, 0.1, 0.8, 0.3, 0.0, 0.9])
    found = kappa_invariance(m, c, 1.0, 2.0)
    assert found.gap[1] > found.osc
    assert not found.coincided
    assert not found.fires_any
    assert not found.sharp_any


def test_no_criterion_fires_wrongly_on_short_decimals():
    """Values with one decimal are full of equalities that floats turn into inequalities."""
    g = np.random.default_rng(11)
    m, c = g.integers(-20, 21, (20_000, 6)) / 10, g.integers(0, 11, (20_000, 6)) / 10
    found = kappa_invariance(m, c, 1.0, 2.0)
    assert found.fires_any.sum() > 100
    assert found.coincided[found.sharp_any | found.fires_any].all()


EPS = 2.0**-52


@pytest.mark.parametrize(
    ("m", "c", "kappa", "tied"),
    [
        ((1 - 4 * EPS, 1.0), (3.0, 3.0), 0.0, True),  # four units of the larger one, which is 1
        ((1.0, 1 + 5 * EPS), (3.0, 3.0), 0.0, False),
        ((1.0, 1 + 8 * EPS), (1.0, 1.0), 1.0, True),  # both terms count: |m| + |kappa c| = 2
        ((1.0, 1 + 9 * EPS), (0.5, 0.5), 2.0, False),
        ((-1.0, -1 - 8 * EPS), (-0.5, -0.5), 2.0, True),
        ((1.0, 1 + 5 * EPS, 100.0), (0.0, 0.0, 0.0), 1.0, False),  # the two best alone
        ((0.0, 1.0, 7 * EPS), (0.0, 1 - 7 * EPS, 0.0), 1.0, True),  # of two equal runners-up the first
        ((0.0, 7 * EPS, 1.0), (0.0, 0.0, 1 - 7 * EPS), 1.0, False),
    ],
)
def test_a_tie_is_a_gap_of_four_rounding_units(m, c, kappa, tied):
    found = kappa_invariance(np.array(m), np.array(c), kappa, kappa)
    assert found.tie.tolist() == [tied, tied]
    assert not found.fires.any()  # beyond a tie lies what rounding may still decide
    assert not found.sharp.any()


@pytest.mark.parametrize("swap", [False, True])
def test_a_criterion_needs_eight_rounding_units_more(swap):
    """M = (0, 1), c = (0, 1 - d): from 0 to 1 the gap is 1 and what may be gained 1 - d; 8 units of |m| + |c| = 2 - d are 16."""
    for d, proved in ((16 * EPS, False), (16.5 * EPS, True), (12 * EPS, False)):
        kappas = (1.0, 0.0) if swap else (0.0, 1.0)
        found = kappa_invariance(np.array([0.0, 1.0]), np.array([0.0, 1 - d]), *kappas)
        at = 1 if swap else 0
        assert found.coincided
        assert (bool(found.fires[at]), bool(found.sharp[at])) == (proved, proved)
        assert not found.fires[1 - at]
        assert found.ratio[at] == found.sharp_ratio[at] == 1 - d


def test_the_runner_up_is_the_second_smallest_wherever_it_stands():
    """Values 0, 5, 1 and 7 in every order, and a gain of exactly 1: as much as the gap, which proves nothing."""
    from itertools import permutations

    m = np.array(list(permutations((0.0, 5.0, 1.0, 7.0))))
    found = kappa_invariance(m, (m == 5.0) * 1.0, 0.0, 1.0)
    assert (found.gap[:, 0] == 1.0).all()
    assert (found.ratio[:, 0] == 1.0).all()
    assert (found.chosen == np.argmin(m, 1)[:, None]).all()
    assert not found.fires.any()


def test_steps_along_several_axes_are_judged_one_by_one():
    g = np.random.default_rng(3)
    m, c = g.standard_normal((2, 3, 5)), g.random((2, 3, 5)) / 4
    whole = kappa_invariance(m, c, 0.5, -1.0)
    assert whole.osc.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one = kappa_invariance(m[i, j], c[i, j], 0.5, -1.0)
        for name, value in vars(one).items():
            np.testing.assert_array_equal(getattr(whole, name)[i, j], value)
        assert whole.fires_any[i, j] == one.fires_any
        assert whole.sharp_any[i, j] == one.sharp_any
    assert whole.sharp_any.any()
    assert not whole.fires.all()
    single = kappa_invariance(m[..., :1], c[..., :1], 0.5, -1.0)
    assert single.gap.shape == single.tie.shape == (2, 3, 2)
    assert single.sharp_ratio.max() == single.ratio.max() == 0.0

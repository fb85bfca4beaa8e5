"""Roots of many functions at once: the shared grid, the brackets, and the steps of Chandrupatla's method, one by one."""

import math

import numpy as np
import pytest

from orledger.recovery.roots import bracket, log_grid, solve

EPS = 2.0**-52


@pytest.mark.parametrize("s2", [[1.0], [4.0, 1.0], [1e6, 3.0, 1e-9]])
@pytest.mark.parametrize("mu0", [0.0, 1e-40, 0.5, 1e30, np.inf])
def test_the_grid_covers_every_scale_with_as_few_nodes_as_its_steps_allow(s2, mu0):
    """Dense to three decades beyond the spectrum, one node in twelve units beyond, to REACH of the spectrum and of mu0."""
    nodes = log_grid(np.array(s2), mu0)
    low, high = -math.log(max(s2)), -math.log(min(s2))
    pad, reach = math.log(1e3), math.log(1e18)
    first, last = low - reach, high + reach
    if mu0 in (1e-40, 0.5, 1e30):
        first, last = min(first, math.log(mu0) - reach), max(last, math.log(mu0) + reach)
    assert nodes[0] == pytest.approx(first, rel=1e-14)
    assert nodes[-1] == pytest.approx(last, rel=1e-14)
    gaps, slack = np.diff(nodes), 1e-9
    assert (gaps > 0).all()
    core = (nodes > low - pad - slack) & (nodes < high + pad + slack)
    assert nodes[core][[0, -1]] == pytest.approx([low - pad, high + pad], rel=1e-14)
    assert core.sum() == math.ceil((high - low + 2 * pad) / 0.8)
    assert np.ptp(np.diff(nodes[core])) < slack
    for tail, length in ((nodes[nodes <= low - pad + slack], low - pad - first), (nodes[nodes >= high + pad - slack], last - high - pad)):  # fmt: skip
        assert len(tail) == math.ceil(length / 12) + 1
        assert np.ptp(np.diff(tail)) < slack


def test_the_first_sign_change_counts_and_without_one_the_nearest_end():
    grid = np.array([0.0, 1.0, 2.0, 4.0])
    F = np.array(
        [
            [5.0, 3.0, -1.0, -2.0],
            [5.0, -3.0, 1.0, -2.0],
            [5.0, 4.0, 3.0, 0.0],
            [5.0, 4.0, 3.0, 2.0],
            [0.0, -1.0, -2.0, -3.0],
            [-1.0, 2.0, -2.0, -3.0],
        ]
    )
    lo, hi, flo, fhi, inside = bracket(grid, F)
    assert lo.tolist() == [1, 0, 2, 4, 0, 0]
    assert hi.tolist() == [2, 1, 4, 4, 0, 0]
    assert flo.tolist() == [3, 5, 3, 2, 0, -1]
    assert fhi.tolist() == [-1, -3, 0, 2, 0, -1]
    assert inside.tolist() == [True, True, True, False, False, False]


def chandrupatla(F, lo, hi, tol=1e-13):
    """The points at which the published method evaluates F, and the root it returns: one point, plain numbers.

    T. R. Chandrupatla, Adv. Eng. Software 28 (1997) 145. The first step is the secant's, at least a twentieth from an end.
    """
    a, b, fa, fb, asked = lo, hi, F(lo), F(hi), []
    small = max(tol, 8 * EPS) * min(max(abs(fa), abs(fb)), 1.0)
    step = min(max(fa / (fa - fb), 0.05), 0.95)
    while True:
        t = a + step * (b - a)
        ft = F(t)
        asked.append(t)
        if (ft > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = t, ft
        best = a if abs(fa) < abs(fb) else b
        if min(abs(fa), abs(fb)) <= small or abs(b - a) <= 8 * EPS * abs(best) or len(asked) == 200:
            return asked, best
        floor = min(8 * EPS * abs(best) / abs(b - a), 0.5)
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        step = 0.5
        if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        step = min(max(step, floor), 1 - floor)


FUNCTIONS = {
    "line": (lambda t: 1.0 - t, -3.0, 9.0),
    "exponential": (lambda t: np.exp(-t) - 3e-4, 0.0, 12.0),
    "steep": (lambda t: np.exp(-6 * t) - 3e-4, 0.0, 12.0),
    "flat root": (lambda t: (2.0 - t) ** 3, -1.0, 4.0),
    "saturated": (lambda t: -np.tanh(20 * (t - 0.9)), -5.0, 6.0),
    "far from the secant": (lambda t: np.exp(-5 * (t - 1)) - 1.0, 0.0, 30.0),
    "close to the upper end": (lambda t: 1.0 - np.exp(9 * (t - 2.9)), 0.0, 3.0),
    "large values": (lambda t: 1e6 * (np.exp(-t) - 0.3), 0.0, 12.0),
    "small values": (lambda t: 1e-6 * (np.exp(-t) - 0.3), 0.0, 12.0),
    "jump": (lambda t: 1.0 if t < 0.7 else -2.0, 0.0, 1.0),
    "jump at zero": (lambda t: 1.0 if t <= 0 else -1.0, -1.0, 1.0),
    "logarithm": (lambda t: np.log1p(np.exp(-t) * 50) - 2.2, -7.0, 12.0),
    "wavy": (lambda t: 0.3 * np.sin(5 * t) - t + 0.8, -4.0, 5.0),
    "negative roots": (lambda t: np.exp(-0.3 * (t + 40)) - 1.7, -60.0, -20.0),
}


@pytest.mark.parametrize("tol", [1e-13, 1e-4, 0.0])
def test_every_step_is_that_of_the_published_method(tol):
    """All functions at once, each with as many evaluations, at the same places, as when it is solved alone."""
    named = list(FUNCTIONS.values())
    asked = [[] for _ in named]

    def F(t, index):
        for i, at in zip(index, t, strict=True):
            asked[i].append(at)
        return np.array([named[i][0](at) for i, at in zip(index, t, strict=True)])

    lo, hi = (np.array([f[k] for f in named]) for k in (1, 2))
    ends = [np.array([f[0](f[k]) for f in named]) for k in (1, 2)]
    found = solve(F, lo, hi, *ends, tol=tol)
    for name, mine, root, (f, low, high) in zip(FUNCTIONS, asked, found, named, strict=True):
        steps, want = chandrupatla(f, low, high, tol)
        assert len(mine) == len(steps), name
        np.testing.assert_allclose(mine, steps, rtol=1e-9, atol=1e-280, err_msg=name)
        assert root == pytest.approx(want, rel=1e-12, abs=1e-280), name
    assert max(map(len, asked)) == 200  # the jump at zero, where no bracket is below the rounding of t


def test_a_root_at_the_end_and_a_bracket_without_one_cost_nothing():
    """F(hi) = 0 is the root; a bracket whose ends have one sign, or are one point, is left at its middle."""
    asked = []

    def F(t, index):
        asked.append(index.tolist())
        return 3.0 - t

    lo, hi = np.array([0.0, 0.0, 5.0, 2.0]), np.array([3.0, 2.0, 5.0, 8.0])
    found = solve(F, lo, hi, 3.0 - lo, 3.0 - hi)
    assert found.tolist() == [3.0, 1.0, 5.0, pytest.approx(3.0, rel=1e-13)]
    assert {i for some in asked for i in some} == {3}
    assert len(solve(F, lo[:0], hi[:0], lo[:0], hi[:0])) == 0


@pytest.mark.parametrize(("value", "evaluations"), [(8 * EPS, 1), (8.5 * EPS, 2), (-8 * EPS, 1), (-8.5 * EPS, 2)])
def test_no_value_smaller_than_eight_units_is_asked_for(value, evaluations):
    """Also where the tolerance is zero; the ends have values of 1, so that units are those of 1."""
    asked = []
    solve(lambda t, _: asked.append(t) or t * 0 + (value if len(asked) == 1 else 0), np.zeros(1), np.ones(1), np.ones(1), -np.ones(1), tol=0.0)  # fmt: skip
    assert len(asked) == evaluations


def test_values_that_repeat_divide_by_nothing():
    """Two of three values, or two of three places, may coincide to the bit: the step is then a bisection, and no warning."""
    values = iter([1.0, 1.0, -1.0, -1.0, 0.0])
    with np.errstate(all="raise"):
        found = solve(lambda t, _: t * 0 + next(values), np.zeros(1), np.ones(1), np.ones(1), -np.ones(1))
    assert next(values, None) is None
    assert 0 < found[0] < 1

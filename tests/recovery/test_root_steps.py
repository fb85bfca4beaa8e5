"""Steps of the root finder to the bit, where numbers allow it: a bisection asks for the middle, and nothing is asked in vain."""

import numpy as np
import pytest

from orledger.recovery.roots import log_grid, solve

EPS = 2.0**-52


def asked(values, lo=0.0, hi=1.0, flo=1.0, fhi=-1.0):
    """(places asked for, the root), for one bracket and a function that gives `values` in turn."""
    places, left = [], iter(values)

    def F(t, index):
        assert index.tolist() == [0]
        places.append(float(t[0]))
        return t * 0 + next(left)

    found = solve(F, *(np.array([v]) for v in (lo, hi, flo, fhi)))
    return places, float(found[0])


def test_a_bisection_asks_for_the_middle_to_the_bit():
    """A function that jumps from 1 to -1 at 0.7: every step halves the bracket."""
    places, root = asked([1, -1, 1, 0])
    assert places == [0.5, 0.75, 0.625, 0.6875]
    assert root == 0.6875


@pytest.mark.parametrize(("value", "evaluations"), [(1e-13, 1), (1.01e-13, 2)])
def test_a_root_is_accepted_at_a_ten_trillionth_of_the_ends(value, evaluations):
    assert len(asked([value, 0.0])[0]) == evaluations


@pytest.mark.parametrize(("units", "evaluations"), [(8, 1), (9, 2)])
def test_a_bracket_of_eight_units_is_a_root(units, evaluations):
    """The first step goes to 1, in the middle; of the ends of what is left the one with the smaller value is the root."""
    for value, last in ((0.5, 0.0), (-0.5, 0.0)):
        places, root = asked([value, last], lo=1 - units * EPS, hi=1 + units * EPS)
        assert (places[0], len(places)) == (1.0, evaluations)
        assert (root == 1.0) == (evaluations == 1)


def test_a_bracket_of_twelve_units_is_halved():
    """Places nearer than eight units to an end are not asked for; the interpolated one, 0.779 of the way, would be."""
    places, _ = asked([1.2, 0.0], lo=1.0, hi=1 + 60 * EPS, flo=4.0, fhi=-1.0)
    assert places == [1 + 48 * EPS, 1 + 54 * EPS]


@pytest.mark.parametrize(("flo", "fhi", "first"), [(1.0, -99.0, 0.05), (99.0, -1.0, 0.95), (1.0, -3.0, 0.25)])
def test_the_first_step_is_the_secants_and_at_least_a_twentieth_from_an_end(flo, fhi, first):
    assert asked([0.0], flo=flo, fhi=fhi) == ([first], first)


@pytest.mark.parametrize("mu0", [3.9, 1 / 3.9])
def test_a_tail_of_nearly_three_steps_has_three(mu0):
    """From 10^3 to 3.9 10^18 are 35.9 units: three steps of at most twelve; the other tail has 34.5, the core 18 nodes."""
    assert len(log_grid(np.ones(1), mu0)) == 18 + 3 + 3


def test_where_no_bracket_is_open_nothing_is_asked():
    never = lambda *_: pytest.fail("asked")  # noqa: E731
    nothing, one = np.zeros(0), np.ones(1)
    assert len(solve(never, nothing, nothing, nothing, nothing)) == 0
    assert solve(never, 0 * one, 2 * one, one, 0 * one).tolist() == [2.0]

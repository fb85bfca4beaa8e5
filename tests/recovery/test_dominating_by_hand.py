"""The dominating problem in the eigenvectors at hand, of diagonal Gram matrices: every part of it is a number that can be written down."""

import numpy as np
import pytest

from orledger.recovery import Spectral

EPS = 2.0**-52


def diagonal(*squares, data=1.0):
    return Spectral.from_gram(np.diag(np.array(squares)), np.full(len(squares), data))


def test_a_direction_that_was_lost_comes_back_with_delta():
    """Nothing is dropped any more, nothing is left unresolved, and the data in that direction are data again."""
    spec = diagonal(4.0, 1.0, 0.0, data=3.0)
    assert (spec.dropped, spec.y02) == (1, pytest.approx(9.0))
    loose, delta = spec.loosened, spec.noisy_delta
    np.testing.assert_array_equal(np.sort(loose.s2), np.array([0.0, 1.0, 4.0]) + delta)
    assert (loose.dropped, loose.lost, loose.given, loose.resolution, loose.pending) == (0, None, None, 0.0, 0.0)
    assert (loose.y02, sorted(abs(loose.yt))) == (pytest.approx(0.0, abs=1e-25), pytest.approx([3.0] * 3))
    full = diagonal(4.0, 1.0)
    assert (full.loosened.resolution, full.loosened.dropped, full.loosened.given) == (0.0, 0, None)


def test_an_eigenvalue_of_minus_delta_leaves_no_matrix():
    """Of two rows of size 4 delta is 2 * 2 * 2 * 4 units: one unit less below zero and the problem is there."""
    assert diagonal(4.0, 1.0).noisy_delta == 32 * EPS
    assert diagonal(4.0, -32 * EPS).loosened is None
    assert sorted(diagonal(4.0, -31 * EPS).loosened.s2)[0] == EPS


@pytest.mark.parametrize("last", [1.0, 0.0])
def test_functionals_of_the_dominating_problem_keep_their_products(last):
    """Of the functional with products b and squared norm k: c^2 = b^2 / (s^2 + delta), the rest of k unseen, and its floor."""
    spec = diagonal(4.0, 2.0, last)
    b, k = np.array([1.0, 0.5, 0.0]), 3.0
    found = spec.project(b[:, None], np.array([k])).loosened(np.arange(1))
    squares, larger = np.diag([4.0, 2.0, last]).diagonal() + spec.noisy_delta, k * (1 + 8 * EPS)
    order = np.argsort(found.spec.s2)
    np.testing.assert_allclose((found.ct[0] ** 2)[order], (b**2 / squares)[np.argsort(squares)], rtol=1e-12, atol=1e-25)
    assert found.c02[0] == pytest.approx(k - 1 / 4 - 0.25 / 2, rel=1e-12)
    assert found.norm2[0] == found.rows[1][0] == larger
    assert found.c02_floor[0] == pytest.approx(19 * EPS * larger, rel=1e-12, abs=0)


def test_exact_rows_that_repeat_or_leave_nothing_are_factored_anew():
    """Of two equal exact rows one direction is lost; of one row that is exact no noisy direction is left."""
    G, y = np.diag([4.0, 4.0, 1.0]), np.ones(3)
    G[0, 1] = G[1, 0] = 4.0
    repeated = Spectral.from_gram(G, y, exact=[0, 1])
    assert (repeated.exact.dropped, len(repeated.s2), repeated.loosened) == (1, 1, None)
    whole = Spectral.from_gram(np.eye(1), np.ones(1), exact=[0])
    assert (whole.exact.dropped, len(whole.s2), whole.loosened) == (0, 0, None)
    assert Spectral.from_gram(np.eye(2), np.ones(2), exact=[0]).loosened is not None


def test_a_functional_that_an_exact_row_determines_has_no_norm_left():
    """Its products are (1 + 1e-8, 0) and its squared norm is 1: what the exact row leaves, 1 - (1 + 1e-8)^2, is below zero."""
    spec = Spectral.from_gram(np.eye(2), np.ones(2), exact=[0])
    found = spec.project(np.array([[1 + 1e-8], [0.0]]), np.ones(1)).loosened(np.arange(1))
    assert (found.norm2[0], found.c02[0]) == (0.0, 0.0)

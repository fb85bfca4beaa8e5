"""What stands in the singular basis where little does: no rows, no point, small units, rounding in place of a norm; and ridge norms with exact rows."""

import numpy as np
import pytest

from orledger.recovery import GramError, InputError, KernelRecovery, Spectral, global_radius

EPS = 2.0**-52
SMALL = 2.0**-80


def gram(diagonal, y=None, **options):
    return Spectral.from_gram(np.diag(diagonal), np.ones(len(diagonal)) if y is None else np.array(y), **options)


def test_where_no_noisy_row_is_left_there_is_nothing_that_rounding_hides():
    kernel = gram([2.0, 1.0], exact=[0, 1])
    features = Spectral.from_features(np.diag([2.0, 1.0]), np.ones(2), exact=[0, 1])
    for spec in (kernel, features):
        assert (len(spec.s2), spec.n, spec.dropped, spec.resolution, spec.best_misfit) == (0, 0, 0, 0.0, 0.0)
    # One noisy row, and columns that the exact rows have used up.
    used = Spectral.from_features(np.array([[1.0], [3.0]]), np.array([2.0, 7.0]), exact=[0])
    assert (len(used.s2), used.n, used.best_misfit) == (0, 1, 1.0)
    assert used.project(np.array([[5.0]])).m(1.0).tolist() == [10.0]


def test_a_matrix_in_small_units_has_the_rank_of_the_same_matrix_in_large_ones():
    spec = gram([2 * SMALL, SMALL])
    assert (spec.dropped, spec.s2.tolist()) == (0, [2 * SMALL, SMALL])
    assert spec.resolution == pytest.approx((64 * EPS * 2 * SMALL) ** 0.5, rel=1e-12, abs=0)
    spec = Spectral.from_features(SMALL * np.diag([2.0, 1.0]), np.ones(2))
    assert (spec.dropped, spec.resolution) == (0, 2 * EPS * 2 * SMALL)
    exact = gram([2 * SMALL, 2048 * EPS * SMALL, SMALL], y=[1.0, 0.0, 1.0], exact=[0, 1], rank_tol=1024)
    assert (exact.exact.dropped, exact.dropped, exact.exact_norm2) == (1, 0, pytest.approx(0.5 / SMALL))
    limit = 1000 * EPS * 4.0 * SMALL
    for skew in (0.99 * limit, 1.01 * limit):
        G = np.array([[4 * SMALL, skew], [0.0, 4 * SMALL]])
        if skew > limit:
            with pytest.raises(GramError, match="not symmetric"):
                Spectral.from_gram(G, np.ones(2))
        else:
            assert Spectral.from_gram(G, np.ones(2)).dropped == 0


def test_data_of_another_length_are_refused_with_both_lengths():
    with pytest.raises(InputError, match="Phi has 2 rows and y has 4"):
        Spectral.from_features(np.ones((2, 3)), np.ones(4))


def test_without_exact_rows_the_widened_problem_is_the_one_in_the_same_eigenvectors():
    """Where that one does not exist, the matrix is factored anew: here an eigenvalue is more negative than delta."""
    spec = gram([2.0, 1.0])
    assert spec.widened is spec.loosened
    assert spec.widened.s2 == pytest.approx(np.array([2.0, 1.0]) + spec.delta.max(), rel=EPS, abs=0)
    spec = gram([4.0, -3e-8])
    assert spec.loosened is None
    assert spec.widened.s2 == pytest.approx([4.0], rel=1e-12)


def test_a_widened_problem_drops_nothing_that_is_positive():
    """Three rows of at most 4 have a delta of 48 units; it leaves two of an eigenvalue of -46."""
    spec = gram([1.0, 4.0, -46 * EPS], exact=[0])
    assert (spec.dropped, spec.noisy_delta) == (1, 48 * EPS)
    assert (spec.widened.dropped, spec.widened.s2.tolist()) == (0, [4 + 48 * EPS, 2 * EPS])


def test_a_squared_norm_is_not_negative():
    spec = gram([1.0, 1.0])
    with pytest.raises(InputError, match=r"kxx has the negative value -0\.25 at point 1; it is a squared norm"):
        spec.project(np.zeros((2, 2)), np.array([0.0, -0.25]))


def test_what_an_exact_row_explains_to_the_last_unit_leaves_a_norm_of_zero():
    """|c|^2 is given one unit too small, so that what is left of it after the exact row is minus one unit."""
    spec = gram([1.0, 1.0], exact=[0])
    proj = spec.project(np.array([[1.0], [0.0]]), np.array([1.0 - EPS]))
    assert (proj.norm2.tolist(), proj.c02.tolist()) == ([0.0], [0.0])
    assert global_radius(spec, proj, 1.0, 0.5).radius.tolist() == [0.0]


def test_features_have_no_rounding_of_a_norm_and_nothing_pending():
    spec = Spectral.from_features(np.eye(2), np.ones(2))
    assert (spec.project(np.eye(2)).c02_floor, spec.pending, gram([1.0, 2.0]).pending) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("form", ["kernel", "features"])
def test_norms_and_misfits_of_ridge_solutions_with_exact_rows(form):
    """Least |theta|^2 + mu |A theta - y|^2 under E theta = e, from its linear system."""
    rng = np.random.default_rng(9)
    Phi, y = rng.standard_normal((6, 7)), rng.standard_normal(6)
    A, E = Phi[2:], Phi[:2]
    exact = [0, 1]
    spec = Spectral.from_features(Phi, y, exact=exact) if form == "features" else Spectral.from_gram(Phi @ Phi.T, y, exact=exact)  # fmt: skip
    for mu in (0.1, 3.0):
        system = np.block([[np.eye(7) + mu * A.T @ A, E.T], [E, np.zeros((2, 2))]])
        theta = np.linalg.solve(system, np.concatenate([mu * A.T @ y[2:], y[:2]]))[:7]
        rest, least = ((A @ theta - y[2:]) ** 2).sum(), np.linalg.lstsq(E, y[:2], rcond=None)[0]
        assert spec.norm(mu) == pytest.approx(np.linalg.norm(theta), rel=1e-9)
        assert spec.misfit(mu) == pytest.approx(rest**0.5, rel=1e-9)
        assert spec.q(mu) == pytest.approx(rest + (theta @ theta - least @ least) / mu, rel=1e-9)
        point = rng.standard_normal((1, 7))
        proj = spec.project(point) if form == "features" else spec.project(Phi @ point.T, (point**2).sum(1))
        assert proj.m(mu) == pytest.approx(point @ theta, rel=1e-9)


def test_one_point_is_answered():
    def kernel(A, B):
        return np.minimum(A, B.T)

    X, y = np.array([[1.0], [2.0]]), np.array([1.0, 3.0])
    fitted = KernelRecovery.fit(kernel, X, y)
    # Rows 1 and 2 of min(a, b), data 1 and 3: at 1.5 the broken line is at 2, with a variance of 1/4; its norm is sqrt(1 + 4).
    edges = fitted.intervals(np.array([[1.5]]), 3.0, 0.0)
    half = (0.25 * (9.0 - 5.0)) ** 0.5
    assert (edges.lower.tolist(), edges.upper.tolist()) == ([pytest.approx(2 - half)], [pytest.approx(2 + half)])
    assert fitted.radii(np.array([[1.5]]), 2.0, 0.0).radius.tolist() == [pytest.approx(1.0)]
    for block in (True, 1.0, 0):
        with pytest.raises(InputError, match="block = "):
            KernelRecovery.fit(kernel, X, y, block=block)


def test_a_multiplier_beyond_floating_point_is_the_largest_that_is_not():
    """A quarter of the largest number, over the largest squared singular value where that is above one; infinity stays what it is."""
    most = float(np.finfo(float).max)
    for top, limit in ((4.0, most / 16), (1.0, most / 4), (0.25, most / 4)):
        spec = Spectral.from_gram(np.diag([top, top / 8]), np.ones(2))
        assert spec.largest == limit
        with np.errstate(over="raise", invalid="raise"):
            half, at, beyond, all_of_it, never = spec.damping(np.array([limit / 2, limit, limit * 2, most, np.inf]))
        assert half == pytest.approx([2 / (limit * top), 16 / (limit * top)], rel=1e-12, abs=0)
        assert at == pytest.approx([1 / (limit * top), 8 / (limit * top)], rel=1e-12, abs=0)
        assert beyond.tolist() == all_of_it.tolist() == at.tolist()
        assert never.tolist() == [0.0, 0.0]
        with np.errstate(over="raise", invalid="raise"):
            assert spec.damping(np.array([most])).tolist() == [at.tolist()]  # with none beside it that is smaller
    assert Spectral.from_gram(np.zeros((1, 1)), np.zeros(1)).largest == most / 4

"""Factors and feature maps of the regressor: least squares by normal equations, kernels by their definitions."""

import warnings

import numpy as np
import pytest
from dense_ridge import Dense
from scipy.spatial.distance import cdist, pdist

from orledger.recovery.regression import DroppedColumnWarning, ParameterError
from orledger.recovery.regression.factor import BLOCK_ENTRIES, Sums, factor_rows, factor_sums, row_blocks
from orledger.recovery.regression.maps import (
    FeatureMap,
    _frequencies,
    check_map,
    choose_length,
    fit_map,
    median_distance,
)

EPS = np.finfo(float).eps
COLUMNS = ["standardized", "centred", "raw"]


def rows_of(seed, weighted, d=3):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((11, d)) * [3.0, 0.5, 1.0][:d] + [5.0, -1.0, 0.0][:d], rng.standard_normal((11, 2)) + 2
    return X, y, rng.integers(1, 4, 11).astype(float) if weighted else None


def in_blocks(X, y, w, *cuts):
    sums = Sums.start(X[: cuts[0]], y[: cuts[0]])
    for rows in np.split(np.arange(len(X)), cuts):
        sums.add(X[rows], y[rows], None if w is None else w[rows])
    return sums


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("whole", [True, False])
def test_a_factor_is_least_squares_in_its_singular_basis(columns, weighted, whole):
    X, y, w = rows_of(0, weighted)
    factor = factor_rows(X, y, w, columns) if whole else factor_sums(in_blocks(X, y, w, 2, 7), columns)
    share = np.ones(11) if w is None else w
    centre = np.average(X, axis=0, weights=share) * (columns != "raw")
    scale = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=share)) if columns == "standardized" else np.ones(3)
    np.testing.assert_allclose(factor.mean, centre, rtol=1e-12)
    np.testing.assert_allclose(factor.scale, scale, rtol=1e-12)
    np.testing.assert_allclose(factor.y_mean, np.average(y, axis=0, weights=share), rtol=1e-12)
    np.testing.assert_allclose(factor.columns(X), (X - centre) / scale, rtol=1e-9)
    assert factor.live.all()
    assert factor.total == share.sum()
    for j in range(2):
        dense = Dense.of(X, y[:, j], w, columns)
        np.testing.assert_allclose(factor.s**2, dense.squares()[::-1], rtol=1e-9)
        np.testing.assert_allclose(dense.gram @ factor.basis, factor.basis * factor.s**2, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(factor.basis.T @ factor.basis, np.eye(3), atol=1e-12)
        right = dense.A.T @ (dense.w * dense.y)
        np.testing.assert_allclose(factor.basis @ (factor.s * factor.yt[:, j]), right, rtol=1e-8, atol=1e-9)
        assert factor.y02[j] == pytest.approx(dense.misfit(np.inf) ** 2, rel=1e-8)
        spec = factor.spectral(j)
        assert (spec.n, spec.form, spec.dropped, spec.resolution) == (share.sum() - 1, "features", 0, factor.cut)
        assert spec.misfit(0.2) == pytest.approx(dense.misfit(0.2), rel=1e-9)
        if whole:
            left, targets, kept = factor.rows
            np.testing.assert_allclose(left * factor.s @ factor.basis.T, dense.A, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(targets[:, j], dense.y, rtol=1e-12)
            np.testing.assert_array_equal(kept, dense.w)
    assert factor.cut == pytest.approx(factor.s[0] * (11 * EPS if whole else 1e-7))
    assert whole or factor.rows is None


def test_one_row_is_worth_one_degree_of_freedom_at_least():
    assert factor_rows(np.ones((1, 2)), np.ones((1, 1)), None, "centred").spectral(0).n == 1


def test_a_direction_is_dropped_below_the_cut_of_its_method():
    """Rows resolve a singular value of n eps of the largest, sums the square root of what the normal equations carry."""
    rng = np.random.default_rng(1)
    U = np.linalg.qr(rng.standard_normal((40, 2)) - 0.0)[0]
    U = np.linalg.qr(U - U.mean(0))[0]
    y = rng.standard_normal((40, 1))
    for ratio, by_rows, by_sums in ((1e-5, 2, 2), (3e-8, 2, 1), (20 * EPS, 1, 1)):
        X = U * [1.0, ratio]
        assert len(factor_rows(X, y, None, "raw").s) == by_rows
        X = U @ np.array([[1.0, 1.0], [ratio, -ratio]]) / 2**0.5  # both columns are alive
        assert len(factor_sums(in_blocks(X, y, None, 20), "raw").s) == by_sums


@pytest.mark.parametrize("whole", [True, False])
def test_a_column_is_alive_beyond_64_units_of_rounding(whole):
    y = np.arange(8.0)[:, None]
    sign = np.array([1, -1] * 4)
    for units, alive in ((64, False), (65, True)):
        X = np.column_stack([1 + sign * units * EPS, sign, np.zeros(8)])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            factor = factor_rows(X, y, None, "centred") if whole else factor_sums(in_blocks(X, y, None, 2), "centred")
        assert factor.live.tolist() == [alive, True, False]
        assert [w.category for w in caught] == [DroppedColumnWarning] * (whole and not alive)
        if caught:
            assert caught[0].filename == __file__
            assert str(caught[0].message).startswith("1 of 3 columns vary")


def test_sums_measured_far_from_the_data_drop_what_they_cannot_carry():
    """Deviations of 1 from an origin s away: their squares keep them while 1 > 1e-7 s."""
    sign, y = np.array([1.0, -1.0] * 4)[:, None], np.arange(8.0)[:, None]
    for away, alive in ((3e6, True), (3e7, False)):
        sums = Sums.start(np.full((1, 1), away), y[:1])
        sums.add(sign, y, None)
        assert factor_sums(sums, "centred").live.tolist() == [alive]


def test_what_rounding_takes_below_zero_is_zero():
    """A column that only its origin moves, and responses that lie on a line: sums of squares less their means."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            X = rng.standard_normal((9, 1)) * 3
            sums = Sums.start(rng.standard_normal((1, 2)) * 1e6, np.zeros((1, 1)))
            sums.add(np.column_stack([np.full(9, 0.1), X]), X @ [[2.0]], None)
            factor = factor_sums(sums, "centred")
            assert factor.live.tolist() == [False, True]
            assert factor.y02[0] >= 0


def test_small_columns_are_as_good_as_large_ones():
    X, y, _ = rows_of(0, False)
    want = factor_sums(in_blocks(X, y, None, 4), "centred")
    found = factor_sums(in_blocks(X * 1e-20, y, None, 4), "centred")
    np.testing.assert_allclose(found.s, want.s * 1e-20)
    assert found.live.all()


def test_blocks_of_rows_cover_them_with_a_bounded_size():
    found = list(row_blocks(600, 10**8))
    assert [(r.start, r.stop) for r in found] == [(0, 256), (256, 512), (512, 600)]
    assert [(r.start, r.stop) for r in row_blocks(BLOCK_ENTRIES, 2)] == [(0, 1 << 21), (1 << 21, 1 << 22)]
    assert [(r.start, r.stop) for r in row_blocks(1 << 22, 0)] == [(0, 1 << 22)]


def kernels(name, A, B, length):
    r = cdist(A, B) / length
    if name == "rbf":
        return np.exp(-(r**2) / 2)
    if name == "matern":
        return (1 + 5**0.5 * r + 5 / 3 * r**2) * np.exp(-(5**0.5) * r)
    return np.mean([np.exp(-(((a[:, None] - b) / length) ** 2) / 2) for a, b in zip(A.T, B.T, strict=True)], axis=0)


@pytest.mark.parametrize("kernel", ["rbf", "matern", "additive"])
def test_features_of_landmarks_are_the_projection_of_the_kernel(kernel):
    """phi(x) phi(z) = k(x, m) K^-1 k(m, z), with one landmark per distinct row; unseen is what is left of k(x, x) = 1."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((9, 2)) * [2.0, 0.5] + 3, 2, axis=0)
    X = np.column_stack([X, np.full(18, 0.3), np.zeros(18)])
    made = fit_map(X, kernel, "nystroem", 0.7, 12, np.random.default_rng(5))
    np.testing.assert_allclose(made.centre, [*X[:, :2].mean(0), 0.3, 0.0])
    np.testing.assert_allclose(made.scale, [*X[:, :2].std(0), 1.0, 1.0])
    Z = np.vstack([X, X + rng.standard_normal((18, 4))])
    marks = made.anchors
    assert 6 <= len(marks) <= 9
    assert len(np.unique(marks, axis=0)) == len(marks)
    cross = kernels(kernel, (Z - made.centre) / made.scale, marks, 0.7)
    want = cross @ np.linalg.inv(kernels(kernel, marks, marks, 0.7)) @ cross.T
    Phi = made(Z)
    np.testing.assert_allclose(Phi @ Phi.T, want, atol=1e-9)
    np.testing.assert_allclose(made.unseen(Phi), np.maximum(1 - np.diag(want), 0), atol=1e-9)
    drawn = ((X - made.centre) / made.scale)[np.random.default_rng(5).permutation(18)[:12]]
    np.testing.assert_allclose(marks, np.unique(drawn, axis=0))
    assert (made.unseen(made(np.repeat(X, 5, axis=0))) >= 0).all()


def test_directions_below_1e_12_of_the_largest_are_no_features():
    X = np.linspace(-1, 1, 30)[:, None]
    made = fit_map(X, "rbf", "nystroem", 3.0, 30, np.random.default_rng(0))
    w = np.linalg.eigvalsh(kernels("rbf", made.anchors, made.anchors, 3.0))
    assert made.factor.shape == (30, (w > 1e-12 * w[-1]).sum())
    np.testing.assert_allclose(np.sort((made.factor**2).sum(0) ** -1.0)[-3:], w[-3:], rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "matern", "additive"])
def test_random_features_are_cosines_of_the_spectral_law(kernel):
    """E cos(w d) is the kernel at distance d (Bochner); the features of a map use the frequencies over the length."""
    p, many = 3, 300_000
    w = _frequencies(kernel, p, many, np.random.default_rng(0))
    assert w.shape == (p, many)
    zero = np.zeros((1, p))
    for d in ([[0.8, 0.0, 0.0]], [[0.0, 1.0, -1.0]], [[2.0, 1.0, 0.0]]):
        assert np.cos(np.array(d) @ w).mean() == pytest.approx(kernels(kernel, np.array(d), zero, 1.0)[0, 0], abs=4e-3)
    X = np.random.default_rng(1).standard_normal((20, p)) * [2.0, 1.0, 0.1] + 1
    made = fit_map(X, kernel, "random", 0.5, 7, np.random.default_rng(2))
    assert (made.anchors.shape, made.factor.shape) == ((p, 7), (7,))
    Z = (X - X.mean(0)) / X.std(0)
    np.testing.assert_allclose(made(X), np.sqrt(2 / 7) * np.cos(Z @ made.anchors / 0.5 + made.factor), rtol=1e-9)
    assert made.unseen(made(X)).tolist() == [0.0] * 20
    phases = fit_map(X, kernel, "random", 0.5, 5000, np.random.default_rng(2)).factor
    assert (phases >= 0).all()
    assert np.mean(phases) == pytest.approx(np.pi, abs=0.1)
    assert phases.max() == pytest.approx(2 * np.pi, abs=0.02)


def test_columns_as_they_are_have_no_kernel_behind_them():
    X = np.arange(6.0).reshape(3, 2)
    made = fit_map(X, "linear", "nystroem", 1.0, 5, np.random.default_rng(0))
    assert made(X) is X
    assert made.anchors is None
    assert made.unseen(X).tolist() == [0.0] * 3


def test_a_column_within_64_units_of_rounding_is_not_divided_by_its_spread():
    for units, divided in ((64, False), (65, True)):
        X = 4 * (np.array([1.0, -1.0] * 4)[:, None] * units * EPS + 1)
        assert fit_map(X, "rbf", "random", 1.0, 3, np.random.default_rng(0)).scale[0] == (
            pytest.approx(4 * units * EPS) if divided else 1.0
        )


def test_the_median_distance_is_over_pairs_of_distinct_rows():
    X = np.random.default_rng(0).standard_normal((7, 3)) * [0.1, 5, 0] + 1e5
    apart = pdist((X[:, :2] - X[:, :2].mean(0)) / X[:, :2].std(0))
    assert median_distance(X, np.random.default_rng(0)) == pytest.approx(np.median(apart), rel=1e-9)
    twice = np.array([[0.0], [0.0], [1.0], [5.0]])
    assert median_distance(twice, np.random.default_rng(0)) == pytest.approx(np.median([1, 1, 5, 5, 4]) / twice.std())
    assert median_distance(np.ones((5, 2)), np.random.default_rng(0)) == 1.0
    assert median_distance(np.ones((1, 2)), np.random.default_rng(0)) == 1.0
    long = np.random.default_rng(1).standard_normal((2000, 1))  # 500 are drawn
    drawn = (long / long.std())[np.random.default_rng(3).permutation(2000)[:500]]
    assert median_distance(long, np.random.default_rng(3)) == pytest.approx(np.median(pdist(drawn)), rel=1e-9)


@pytest.mark.parametrize("p", [8, 20, 50])
def test_equal_rows_have_no_distance_whatever_rounding_says(p):
    """Sixty rows are equal: most of their squared distances are zero, and many inner products leave 1e-16 in their place."""
    for seed in range(5):
        X = np.repeat(np.random.default_rng(seed).standard_normal((4, p)), [60, 1, 1, 1], axis=0)
        apart = pdist((X - X.mean(0)) / X.std(0))
        want = np.median(apart[apart > 0])
        assert median_distance(X, np.random.default_rng(0)) == pytest.approx(want, rel=1e-9)
    line = np.array([[0.0], [0.9e-6], [1.0]])  # the first two are one, or two
    for nearer, pairs in ((1.0, [1, 1]), (2.0, [1, 1, 1.8e-6])):
        apart = np.array(pairs) / (line * [[1], [nearer], [1]]).std()
        assert median_distance(line * [[1], [nearer], [1]], np.random.default_rng(0)) == pytest.approx(
            np.median(apart), rel=1e-5
        )


@pytest.mark.parametrize("kernel", ["rbf", "additive"])
def test_the_length_is_the_multiple_with_the_least_loss(kernel):
    """Each multiple is tried once, on the same at most 1000 rows and the same at most 200 landmarks."""
    many = 1010 if kernel == "additive" else 20
    X = np.random.default_rng(0).standard_normal((many, 2))
    y = np.arange(float(many))[:, None]
    base = median_distance(X, np.random.default_rng(7)) if kernel == "rbf" else 1.0
    seen = []

    def loss(Phi, targets):
        seen.append((Phi, targets))
        return abs(len(seen) - best[0])

    best = [0]
    for best[0], multiple in ((1, 0.25), (2, 0.5), (3, 1.0), (4, 2.0), (5, 4.0)):
        seen.clear()
        found = choose_length(X, y, kernel, "random", 300, np.random.default_rng(7), loss)
        assert found == pytest.approx(multiple * base)
        assert len(seen) == 5
    assert {(Phi.shape, len(t)) for Phi, t in seen} == {((min(many, 1000), 200), min(many, 1000))}
    assert len({t.tobytes() for _, t in seen}) == 1
    steps = [np.abs(np.diff(Phi[:2], axis=0)).mean() for Phi, _ in seen]
    assert steps == sorted(steps, reverse=True)  # the same frequencies: what is longer moves less from row to row
    choose_length(X, y, kernel, "random", 300, np.random.default_rng(8), loss)
    assert not np.allclose(seen[5][0], seen[0][0])


def test_each_generator_tries_features_of_its_own():
    """One row at the centre of the columns: its features are cosines of the phases alone."""
    seen = []
    for seed in range(5):
        choose_length(
            np.zeros((1, 1)),
            np.zeros((1, 1)),
            "rbf",
            "random",
            3,
            np.random.default_rng(seed),
            lambda Phi, _: seen.append(Phi[0]) or 0.0,
        )
    firsts = np.array(seen[::5])
    assert (np.ptp(firsts, axis=0) > 0.1).all()
    assert len(np.unique(firsts[:, 0])) == 5


def test_settings_of_a_map_at_their_ends():
    for length in ("auto", 1e-75, 1e75, 1):
        check_map("rbf", "random", 1, length)
    check_map("linear", "nystroem", np.int64(3), 1.0)
    for length in (0.9e-75, 1.1e75, -1.0, "long", None):
        with pytest.raises(ParameterError, match="length_scale"):
            check_map("rbf", "random", 1, length)
    for size in (0, 1.5, "2"):
        with pytest.raises(ParameterError, match="n_features"):
            check_map("rbf", "random", size, 1.0)


def test_a_map_without_anchors_passes_rows_through():
    X = np.ones((2, 1))
    assert FeatureMap("rbf", "nystroem", 1.0, np.zeros(1), np.ones(1))(X) is X

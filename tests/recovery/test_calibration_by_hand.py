"""Calibration of the regressor by its definitions: order statistics, weights, CV+, scores, density ratios, the function's interval."""

from itertools import product
from math import ceil, floor
from types import SimpleNamespace

import numpy as np
import pytest
from dense_ridge import Dense

from orledger.recovery import EmptySetError, InputError, conformal_radius
from orledger.recovery.regression import (
    IntervalScorer,
    ParameterError,
    calibration,
    certificate,
    coverage,
    interval_score,
    interval_scorer,
    mean_width,
)
from orledger.recovery.regression.calibration import (
    check_level,
    cross_edges,
    cross_guarantee,
    cross_level,
    edges,
    folds,
    score_quantile,
    weighted_quantiles,
)
from orledger.recovery.regression.calibrators import (
    CrossCalibration,
    SplitCalibration,
    calibrate_cross,
    calibrate_split,
)
from orledger.recovery.regression.certificate import function_intervals, functionals, validated_inflation
from orledger.recovery.regression.model import CertifiedModel, Settings, fit_model
from orledger.recovery.regression.rounding import Rounded
from orledger.recovery.regression.shift import DensityRatio, density_ratio

EPS = np.finfo(float).eps
LINEAR = Settings("linear", "nystroem", "auto", 10, "cv", True, "absolute")


def test_a_level_is_a_fraction():
    assert [check_level(v) for v in (1e-9, 0.5, np.float32(0.5))] == [1e-9, 0.5, 0.5]
    for level in (0.0, 1.0, -0.1, 2, "0.9", None):
        with pytest.raises(ParameterError, match="level"):
            check_level(level)


def test_the_quantile_is_an_order_statistic():
    scores = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 8.0, 7.0, 6.0])
    for level, order in ((0.9, 9), (0.8, 8), (0.81, 9), (0.3, 3), (0.05, 1), (0.99, 9)):
        found = score_quantile(scores, level)
        assert (found.value, found.level) == (order, order / 10)


def test_the_quantile_of_many_scores_is_that_of_their_order():
    scores = np.random.default_rng(0).exponential(size=1000)
    for level in (0.05, 0.3, 0.5, 0.77, 0.9):
        assert score_quantile(scores, level).value == sorted(scores)[ceil(level * 1001 - 1e-9) - 1]
    least = score_quantile(scores, 1e-13)
    assert (least.value, least.level) == (scores.min(), 1 / 1001)


def test_a_weighted_quantile_leaves_less_than_the_level_below_it():
    """The least score such that scores up to it carry the level of all mass, the new point's at infinity; ties included."""
    rng = np.random.default_rng(0)
    for level in (0.3, 0.75, 0.9):
        scores, weights = rng.integers(0, 9, 12) / 1.0, rng.integers(0, 5, 12) / 4
        own = rng.integers(0, 5, 6) / 4
        want = [
            min((s for s in scores if weights[scores <= s].sum() >= level * (weights.sum() + o) - 1e-9), default=np.inf)
            for o in own
        ]
        assert weighted_quantiles(scores, weights, own, level).tolist() == want
    # 0.9 of 9 ones and the new one is 9 of them, whatever 0.9 * 10 rounds to
    assert weighted_quantiles(np.arange(9.0), np.full(9, 0.1), np.full(1, 0.1), 0.9).tolist() == [8.0]


def test_edges_move_outwards_by_sixteen_units_of_what_they_are_added_from():
    low, high = edges(np.array([0.0, 4096.0, -4096.0]), np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.5]))
    assert high[0] == 1 + 16 * EPS
    assert high[1] == 4096 + 16 * 4096 * EPS
    assert high[2] == pytest.approx(-4096 + 1.5 + 16 * 4097 * EPS, abs=4096 * EPS)
    np.testing.assert_allclose(low, [-high[0], 4096 - 16 * 4096 * EPS, -4097.5 - 16 * 4097 * EPS], rtol=EPS)


def test_folds_are_equal_up_to_one_row():
    found = folds(11, 4, np.random.default_rng(0))
    assert np.bincount(found).tolist() == [3, 3, 3, 2]
    assert (np.diff(found) != 0).any()
    assert (found != folds(11, 4, np.random.default_rng(1))).any()


def test_the_guarantee_of_cv_plus_is_theorem_4():
    """Barber et al. (2021): 1 - 2 alpha - min(2 (1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1))."""
    for n, K, level in product((5, 20, 100), (2, 5), (0.6, 0.9)):
        alpha = max(1 - level, 1 / (n + 1))
        want = 1 - 2 * alpha - min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
        assert cross_guarantee(n, K, level) == pytest.approx(max(want, 0.0), abs=1e-12)
        assert cross_level(n, level) == pytest.approx(1 - alpha)
    assert cross_guarantee(5, 2, 0.4) == 0.0


def promised(values, kth, axis=-1):
    """What `np.partition` promises and no more: the kth is in its place, the others on their side, in descending order."""
    ordered = np.sort(values, axis=axis)
    below, at, above = np.split(ordered, [kth % ordered.shape[axis], kth % ordered.shape[axis] + 1], axis=axis)
    return np.concatenate([np.flip(below, axis), at, np.flip(above, axis)], axis=axis)


@pytest.mark.parametrize("partition", [np.partition, promised])
def test_cv_plus_is_two_order_statistics(monkeypatch, partition):
    monkeypatch.setattr(np, "partition", partition)
    rng = np.random.default_rng(0)
    for n, K, level in ((9, 3, 0.8), (10, 5, 0.5), (12, 4, 0.95), (19, 2, 0.9)):
        fold, scores = folds(n, K, rng), rng.exponential(size=n)
        centres, spreads, slack = rng.standard_normal((3, 5, K))
        spreads, slack = np.abs(spreads), np.abs(slack)
        for extra in (None, slack):
            found = cross_edges(centres, spreads, fold, scores, level, extra)
            for m in range(5):
                reach = spreads[m, fold] * scores + (0 if extra is None else slack[m, fold])
                low = np.sort(centres[m, fold] - reach)[max(floor((1 - level) * (n + 1) + 1e-9), 1) - 1]
                high = np.sort(centres[m, fold] + reach)[min(ceil(level * (n + 1) - 1e-9), n) - 1]
                np.testing.assert_allclose(found[m], [low, high], rtol=1e-12)
    # an edge moves outwards by sixteen units of the centre and the reach
    found = cross_edges(np.array([[8.0]]), np.array([[2.0]]), np.zeros(2, int), np.full(2, 4.0), 0.5)
    assert found[0].tolist() == [-16 * 16 * EPS, 16 + 16 * 16 * EPS]


@pytest.mark.parametrize("entries", [40, 3])
def test_cv_plus_works_through_many_points_in_parts(monkeypatch, entries):
    """Nine points of ten rows: four at a time when 40 numbers are a part, one at a time when none fits."""
    monkeypatch.setattr(calibration, "BLOCK_ENTRIES", entries)
    centres, parts, partition = 3 + np.arange(9.0)[:, None], [], np.partition
    monkeypatch.setattr(np, "partition", lambda v, *a, **k: parts.append(len(v)) or partition(v, *a, **k))
    found = cross_edges(centres, np.ones((9, 1)), np.zeros(10, int), np.full(10, 2.0), 0.9)
    assert parts == [n for n in ([4, 4, 1] if entries == 40 else [1] * 9) for _ in range(2)]
    np.testing.assert_allclose(found, np.column_stack([centres - 2, centres + 2]))


class Stub:
    """A model whose predictions are given."""

    def __init__(self, *parts):
        self.parts = Rounded(*(np.array(p, dtype=float) for p in parts))

    def rounded(self, _):
        return self.parts


def test_split_intervals_are_the_quantile_times_the_spread():
    """Centre -/+ (quantile * spread * stretch + slack), output by output."""
    model = Stub([[1.0, 10.0]], [[2.0, 3.0]], [[0.25, 0.5]], [[1.5, 4.0]])
    scores = np.column_stack([np.arange(1.0, 10.0), np.arange(9.0, 0.0, -1) * 10])
    found = SplitCalibration(model, np.zeros((9, 1)), scores)
    assert (found.level(0.75), found.guarantee(0.75)) == (0.8, 0.8)
    np.testing.assert_allclose(found.intervals(np.zeros((1, 1)), 0.75)[0, :, 0], [1 - 24.25, 1 + 24.25])
    np.testing.assert_allclose(found.intervals(np.zeros((1, 1)), 0.75)[0, :, 1], [10 - 960.5, 10 + 960.5])
    weights = np.array([0, 0, 0, 1, 0, 0, 0, 0, 1.0])
    for own, first, second in ((0.5, 9, 60), (2.0, np.inf, np.inf)):
        band = found.weighted(np.zeros((1, 1)), 0.75, weights, np.array([own]))
        np.testing.assert_allclose(band[0, :, 0], [1 - (3 * first + 0.25), 1 + 3 * first + 0.25])
        np.testing.assert_allclose(band[0, :, 1], [10 - (12 * second + 0.5), 10 + 12 * second + 0.5])
    calibrated = calibrate_split(model, np.zeros((1, 1)), np.array([[4.0, 4.0]]))
    np.testing.assert_allclose(calibrated.scores, [[(3 + 0.25) / 2 * 1.5, (6 + 0.5) / 3 * 4]])


def test_cross_intervals_are_those_of_cv_plus_output_by_output():
    models = (
        Stub([[1.0, 5.0]], [[2.0, 1.0]], [[0.5, 0.0]], [[1.5, 1.0]]),
        Stub([[2.0, 6.0]], [[1.0, 4.0]], [[0.0, 1.0]], [[1.0, 2.0]]),
    )
    fold, scores = np.array([0, 1, 0, 1]), np.array([[1.0, 8.0], [2.0, 7.0], [3.0, 6.0], [4.0, 5.0]])
    cross = CrossCalibration(models, fold, scores)
    assert cross.level(0.9) == 0.8
    assert cross.guarantee(0.5) == pytest.approx(max(0.0, 1 - 2 * 0.5 - min(1 / 3, 0.5 / 3)))
    found = cross.intervals(np.zeros((1, 1)), 0.8)
    first = [(1, 3 * 1 + 0.5), (2, 2.0), (1, 3 * 3 + 0.5), (2, 4.0)]
    second = [(5, 8.0), (6, 8 * 7 + 1), (5, 6.0), (6, 8 * 5 + 1)]
    for j, parts in enumerate((first, second)):
        np.testing.assert_allclose(found[0, :, j], [min(c - r for c, r in parts), max(c + r for c, r in parts)])


@pytest.mark.parametrize("weighted", [False, True])
def test_each_fold_is_scored_by_the_ridge_of_the_others(weighted):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((14, 2)), rng.standard_normal((14, 1)) + 3
    w = rng.integers(1, 4, 14).astype(float) if weighted else None
    found = calibrate_cross(X, y, w, LINEAR, 3, np.random.default_rng(1))
    assert found.fold.tolist() == folds(14, 3, np.random.default_rng(1)).tolist()
    assert len(found.models) == 3
    for k in range(3):
        rest = found.fold != k
        dense = Dense.of(X[rest], y[rest, 0], None if w is None else w[rest])
        mu = found.models[k].heads[0].occ.mu
        share = np.ones(rest.sum()) if w is None else w[rest]
        middle = np.average(X[rest], axis=0, weights=share)
        Z = (X[~rest] - middle) / np.sqrt(np.average((X[rest] - middle) ** 2, axis=0, weights=share))
        want = np.abs(y[~rest, 0] - dense.mean - Z @ dense.coef(mu))
        np.testing.assert_allclose(found.scores[~rest, 0], want, rtol=1e-9)


def one_column(seed=0, n=12, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1))
    return X, 3 + 2 * X + noise * rng.standard_normal((n, 1))


def test_with_one_column_the_certificate_is_an_interval_of_slopes():
    """|theta| <= rho and |y - A theta| <= eta are two intervals of theta; the function's values are their intersection times z."""
    X, y = one_column()
    Y = np.column_stack([y[:, 0], 1 - 3 * X[:, 0] + 0.2 * np.cos(9 * X[:, 0])])
    model = fit_model(
        X, Y, None, Settings("linear", "nystroem", "auto", 10, 0.8, False, "absolute"), np.random.default_rng(0)
    )
    Z = X - X.mean()
    for factors in ((1.01, 1.3), (5.0, 1.02)):
        radius = np.array([f * head.occ.rho for f, head in zip(factors, model.heads, strict=True)])
        found = function_intervals(model, np.array([[0.7], [-2.0]]), radius)
        assert found.shape == (2, 2, 2)
        for j in range(2):
            t = Y[:, j] - Y[:, j].mean()
            best = (Z[:, 0] @ t) / (Z[:, 0] @ Z[:, 0])
            eta = 0.8 * np.sqrt(12)
            half = np.sqrt((eta**2 - ((t - Z[:, 0] * best) ** 2).sum()) / (Z[:, 0] @ Z[:, 0]))
            ends = np.clip([best - half, best + half], -radius[j], radius[j])
            for i, x in enumerate((0.7, -2.0)):
                want = Y[:, j].mean() + np.sort(ends * (x - X.mean()))
                np.testing.assert_allclose(found[i, :, j], want, rtol=1e-8)
                assert found[i, 0, j] <= want[0] + 1e-12
                assert found[i, 1, j] >= want[1] - 1e-12


def test_a_head_that_refuses_has_no_certificate_and_one_within_the_noise_no_multiple():
    X, y = one_column()
    fitted = [
        fit_model(
            X, y, None, Settings("linear", "nystroem", "auto", 10, noise, True, "absolute"), np.random.default_rng(0)
        )
        for noise in (1e-3, 50.0)
    ]
    with pytest.raises(EmptySetError):
        function_intervals(fitted[0], X, np.ones(1))
    with pytest.raises(InputError, match="Occam radius is 0"):
        function_intervals(fitted[1], X, np.ones(1))


def test_what_landmarks_do_not_span_counts_as_seen_by_no_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 1))
    model = fit_model(X, np.sin(X), None, Settings("rbf", "nystroem", 1.0, 4, 0.2, True, "absolute"), rng)
    Z = np.array([[0.1], [4.0], [60.0]])
    proj = functionals(model, model.heads[0], Z)
    Phi = model.features(Z)
    np.testing.assert_allclose(proj.norm2, [1, 1, 1], rtol=1e-9)
    np.testing.assert_allclose(proj.c02, 1 - (Phi**2).sum(1), atol=1e-9)
    np.testing.assert_allclose((proj.ct**2).sum(1), (Phi**2).sum(1), atol=1e-9)
    assert proj.ct[2].tolist() == [0.0] * 4


def test_features_below_1e_40_are_zero():
    X = np.array([[-1.0], [1.0], [2.0], [4.0]])
    model = fit_model(
        X, X, None, Settings("linear", "nystroem", "auto", 1, 0.2, False, "absolute"), np.random.default_rng(0)
    )
    at = model.factor.mean[0]
    assert at == 1.5
    model = CertifiedModel(model.features, _moved(model.factor), model.heads, model.score, model.solver)
    assert functionals(model, model.heads[0], np.array([[0.9e-40], [1.1e-40]])).norm2.tolist() == [0.0, 1.1e-40**2]


def _moved(factor):
    from dataclasses import replace

    return replace(factor, mean=factor.mean * 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_validation_finds_the_radius_on_a_quarter_of_the_rows(weighted):
    """A quarter is held out at random; per output the conformal radius of its responses about the fitted mean."""
    X, y = one_column(2, 30)
    Y = np.column_stack([y, 100 + 0 * y])
    w = np.random.default_rng(0).integers(1, 4, 30).astype(float) if weighted else None
    settings = Settings("linear", "nystroem", "auto", 10, 1.0, True, "absolute")
    found = validated_inflation(X, Y, w, settings, 0.7, np.random.default_rng(3))
    order = np.random.default_rng(3).permutation(30)
    out, rest = order[:8], order[8:]
    model = fit_model(X[rest], Y[rest], None if w is None else w[rest], settings, np.random.default_rng(0))
    head = model.heads[0]
    proj = functionals(model, head, X[out])
    want = conformal_radius(head.spec, proj, Y[out, 0] - head.y_mean, head.eta, level=0.7, floor="never").kappa
    assert 1 < want < 30  # and not the cap
    assert found.tolist() == [pytest.approx(want), 1.0]  # a constant has the radius 0 and no multiple
    assert validated_inflation(X, Y, w, Settings("linear", "nystroem", "auto", 10, 1e-3, True, "absolute"), 0.7, np.random.default_rng(3))[0] == 1.0  # fmt: skip


def test_one_row_cannot_be_held_out():
    X, y = one_column(0, 1)
    with pytest.raises(ParameterError, match="1 row of positive weight is too few"):
        validated_inflation(X, y, None, LINEAR, 0.5, np.random.default_rng(0))


def test_edges_of_the_function_move_outwards_by_what_rounding_can_do(monkeypatch):
    """A band from 1 to 4 about the mean, to which rounding can do 1/4 and 2, is wider by that on either side."""
    X, y = one_column()
    band = SimpleNamespace(lower=np.ones(2), upper=np.full(2, 4.0), delta_num=np.array([0.25, 2.0]))
    monkeypatch.setattr(certificate, "local_interval", lambda *_, **__: band)
    model = fit_model(X, y, None, LINEAR, np.random.default_rng(0))
    found = function_intervals(model, X[:2], np.ones(1))[:, :, 0] - y.mean()
    np.testing.assert_allclose(found, [[0.75, 4.25], [-1.0, 6.0]], rtol=1e-12)


def test_a_row_is_held_out_at_least():
    X, y = one_column(0, 2)
    found = validated_inflation(X, y, None, LINEAR, 0.5, np.random.default_rng(0))
    assert found.tolist() == [1.0]


def test_scores_of_intervals_are_their_definitions():
    """Both edges belong to the interval; two outputs count alike."""
    y, band = np.array([0.0, 1.0, 2.0, 5.0]), np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.5], [6.0, 9.0]])
    assert coverage(y, band) == 0.5
    assert mean_width(band) == pytest.approx((1 + 1 + 1.5 + 3) / 4)
    misses = np.array([0, 0, 0.5, 1.0])
    assert interval_score(y, band, 0.8) == pytest.approx((6.5 + 2 / 0.2 * misses.sum()) / 4)
    w = np.array([1.0, 2, 3, 4])
    assert interval_score(y, band, 0.5, w) == pytest.approx((w * (band[:, 1] - band[:, 0] + 4 * misses)).sum() / 10)
    assert interval_score(y, band) == pytest.approx((6.5 + 2 / 0.1 * misses.sum()) / 4)
    two = np.stack([band, band + 1], axis=2)
    assert coverage(np.column_stack([y, y]), two) == pytest.approx((2 + 2) / 8)
    for wrong in (band[:3], band[:, :1], np.zeros((4, 3)), band[:, 0]):
        with pytest.raises(ParameterError, match="do not belong"):
            coverage(y, wrong)
    for few in (y[:0], y[0]):
        with pytest.raises(ParameterError, match="do not belong"):
            coverage(few, band[: few.size])
    assert interval_scorer().level == IntervalScorer().level == 0.9


class Flat:
    """An estimator whose intervals are given, at the level that is asked for."""

    def predict(self, X, return_interval, level):
        assert return_interval == "observation"
        return None, np.column_stack([X[:, 0] - level, X[:, 0] + level])


def test_a_scorer_is_minus_the_interval_score_at_its_level():
    X, y = np.array([[1.0], [2.0]]), np.array([1.0, 4.0])
    assert interval_scorer(0.75)(Flat(), X, y) == pytest.approx(-(1.5 + 8 * 1.25 / 2))
    assert interval_scorer(0.75)(Flat(), X, y, np.array([3.0, 1.0])) == pytest.approx(-(1.5 + 8 * 1.25 / 4))


def test_ratios_are_worth_the_square_of_their_sum_over_the_sum_of_their_squares():
    assert DensityRatio(np.array([1.0, 2.0, 3.0]), np.ones(1)).effective == pytest.approx(36 / 14)
    assert DensityRatio(np.array([0.25, 0.0, 0.5]), np.ones(1)).effective == pytest.approx(9 / 5)
    assert DensityRatio(np.zeros(3), np.ones(1)).effective == 0.0


@pytest.fixture
def asked(monkeypatch):
    """What a logistic regression is fitted to, in place of one; its log odds are 40 times the first column."""

    class Logistic:
        def __init__(self, Cs, use_legacy_attributes=True, **rest):
            seen.append((Cs, {**rest, "use_legacy_attributes": use_legacy_attributes}))

        def fit(self, Z, label):
            seen.append((Z, label))
            return self

        def decision_function(self, Z):
            return 40 * Z[:, 0]

    seen = []
    monkeypatch.setattr("sklearn.linear_model.LogisticRegressionCV", Logistic)
    return seen


def test_density_ratios_are_the_odds_of_a_logistic_regression(asked):
    """On standardised columns and their squares, at rows of either sample; odds stop at e^-30, ratios at 10,000."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 2)) * [1, 0.3] + 2, rng.standard_normal((25, 2)) * [1.5, 0.3] + [3, 2]
    both = np.column_stack([np.vstack([A, B]), np.full(65, 7.0)])
    Z = np.column_stack([(both[:, :2] - both[:, :2].mean(0)) / both[:, :2].std(0), np.zeros(65)])
    found = density_ratio(both[:40], both[40:])
    assert len(asked) == 2
    np.testing.assert_allclose(asked[0][0], [1e-4, 1e-3, 1e-2, 0.1, 1, 10])
    ridge = {"l1_ratios": (0,), "use_legacy_attributes": False}
    assert asked[0][1] == {"cv": 5, "scoring": "neg_log_loss", "max_iter": 500, **ridge}
    np.testing.assert_allclose(asked[1][0], np.column_stack([Z, Z**2]), atol=1e-12)
    assert asked[1][1].tolist() == [False] * 40 + [True] * 25
    want = np.minimum(np.exp(np.clip(40 * Z[:, 0], -30, None)) * 40 / 25, 1e4)
    np.testing.assert_allclose(np.concatenate([found.calibration, found.test]), want, rtol=1e-9)
    assert (want == 1e4).any()
    assert (want == np.exp(-30) * 1.6).any()
    assert (found.calibration.shape, found.test.shape) == ((40,), (25,))


def test_five_rows_of_either_sample_show_a_shift(asked):
    five, many = np.arange(5.0)[:, None], 50 + np.arange(6.0)[:, None]
    for a, b in ((five, many), (many, five)):
        assert density_ratio(a, b).test.tolist() != [1.0] * len(b)
    for a, b in ((five[:4], many), (many, five[:4])):
        found = density_ratio(a, b)
        assert (found.calibration.tolist(), found.test.tolist()) == ([1.0] * len(a), [1.0] * len(b))

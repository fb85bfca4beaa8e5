"""CertifiedRegressor: scikit-learn's conventions, its two intervals and what each of them says, its refusals and settings."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from orledger.recovery import (
    CertifiedRegressor,
    EmptySetError,
    InputError,
    IntervalPrediction,
    certified_pipeline,
    interval_score,
    interval_scorer,
)
from orledger.recovery.regression import (
    DroppedColumnWarning,
    LevelWarning,
    NotCalibratedError,
    ParameterError,
    ZeroNoiseWarning,
    coverage,
    mean_width,
)

RANDOM_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "landmarks and held-out rows are drawn from the rows, repeated or weighted"
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        CertifiedRegressor(),
        CertifiedRegressor(kappa=2.0, standardize=False, noise_std="discrepancy", calibration=None),
        CertifiedRegressor(kernel="rbf", n_features=20, calibration="split", length_scale=2.0),
    ],
    expected_failed_checks=lambda e: RANDOM_ROWS if e.kernel == "rbf" else {},
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def line(n, seed, sd=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 4 + sd * rng.standard_normal(n)


def wave(n, seed, sd=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + sd * rng.standard_normal(n)


def test_function_intervals_contain_the_noiseless_target_when_the_noise_fits():
    """With eta above the true |e| the true coefficients are consistent, so a large enough ball must contain the target."""
    X, y = line(60, 0)
    model = CertifiedRegressor(noise_std=0.45, kappa=3.0, calibration=None).fit(X, y)
    Z, _ = line(40, 1)
    band = model.predict_function_interval(Z)
    target = Z @ [1.0, -2.0, 0.5] + 4
    slack = np.abs(y.mean() - 4)  # the centring uses sample means
    assert ((band[:, 0] - slack <= target) & (target <= band[:, 1] + slack)).all()
    inside = model.predict(Z)
    assert ((band[:, 0] <= inside) & (inside <= band[:, 1])).all()


def test_prediction_is_the_ridge_solution_whose_misfit_is_eta():
    """The Occam solution is ridge with the multiplier that the noise rule implies: compared with scikit-learn's Ridge."""
    X, y = line(80, 3)
    for noise in ("cv", "residual", "discrepancy", 0.35):
        model = CertifiedRegressor(noise_std=noise, calibration=None).fit(X, y)
        mu = model.model_.heads[0].occ.mu
        Z = (X - X.mean(0)) / X.std(0)
        peer = Ridge(alpha=1 / mu).fit(Z, y)
        np.testing.assert_allclose(model.predict(X), peer.predict(Z), rtol=1e-8)
        assert np.linalg.norm(y - peer.predict(Z)) == pytest.approx(model.eta_, rel=1e-7)


def test_cross_validated_multiplier_minimises_refitted_leave_one_out_errors():
    """The closed form against leaving every row out for real, mean and scale of the columns held fixed."""
    X, y = line(25, 4)
    model = CertifiedRegressor(calibration=None).fit(X, y)
    mu = model.model_.heads[0].occ.mu
    Z = (X - X.mean(0)) / X.std(0)

    def error(m):
        rows = np.arange(len(y))
        return sum(
            (y[i] - Ridge(alpha=1 / m).fit(Z[rows != i], y[rows != i]).predict(Z[i : i + 1])[0]) ** 2 for i in rows
        )

    assert error(mu) <= min(error(mu * 1.5), error(mu / 1.5)) * (1 + 1e-3)


def test_asking_for_an_observation_before_calibration_names_the_remedy():
    X, y = line(40, 0)
    model = CertifiedRegressor(calibration=None).fit(X, y)
    assert model.level_ is None
    for call in (
        model.predict_interval,
        lambda Z: model.predict(Z, return_interval="observation"),
        model.predict_frame,
    ):
        with pytest.raises(NotCalibratedError, match="was not calibrated") as err:
            call(X)
        assert "call calibrate(X_held_out, y_held_out)" in err.value.hint
    Z, v = line(60, 1)
    model.calibrate(Z, v)
    assert model.level_ == pytest.approx(55 / 61)
    assert coverage(v, model.predict_interval(Z)) == pytest.approx(55 / 60)
    with pytest.raises(ParameterError, match="2 outputs"):
        model.calibrate(Z, np.column_stack([v, v]))


def test_the_two_intervals_differ_in_what_they_bound():
    """The function's interval covers the noiseless target and few observations; the other covers observations at its level."""
    X, y = wave(400, 0)
    Z, v = wave(2000, 1)
    model = CertifiedRegressor(kernel="rbf", noise_std="discrepancy", kappa=1.3).fit(X, y)
    target = np.sin(4 * Z[:, 0]) + Z[:, 1] ** 2
    function, observation = model.predict_function_interval(Z), model.predict_interval(Z)
    assert coverage(target, function) > 0.99
    assert coverage(v, observation) == pytest.approx(0.9, abs=0.03)
    assert mean_width(model.predict_interval(Z, level=0.5)) < 0.6 * mean_width(observation)


def test_too_small_noise_is_refused_with_its_margin():
    X, y = line(60, 0)
    model = CertifiedRegressor(noise_std=1e-3).fit(X, y)
    A = np.column_stack([np.ones(60), X])
    best = np.linalg.norm(y - A @ np.linalg.lstsq(A, y)[0])
    assert model.refused_
    assert model.margin_ == pytest.approx(1e-3 * np.sqrt(60) - best, rel=1e-9)
    for call in (model.predict, model.predict_interval, model.predict_function_interval):
        with pytest.raises(EmptySetError) as err:
            call(X)
        assert err.value.margin == model.margin_


def test_a_target_within_the_noise_has_a_centre_but_no_certificate():
    X, y = line(30, 2)
    model = CertifiedRegressor(noise_std=100.0).fit(X, y)
    assert np.allclose(model.predict(X), y.mean())
    with pytest.raises(InputError, match="Occam radius is 0"):
        model.predict_function_interval(X)


def test_a_column_lost_in_its_own_size_is_left_out_with_a_warning():
    """At 1e15 neighbouring numbers are 0.125 apart, a standard deviation of 1 is 4.5 units of rounding; a constant is left out in silence."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = X @ [1.0, 2.0]
    with pytest.warns(DroppedColumnWarning, match="1 of 2 columns vary by less than 64 rounding units"):
        CertifiedRegressor(noise_std=0.1).fit(X + np.array([1e15, 0.0]), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DroppedColumnWarning)
        CertifiedRegressor(noise_std=0.1).fit(np.column_stack([X, np.full(60, 0.1)]), y)


@pytest.mark.parametrize("shift", [1e6, 1e8, 1e12])
def test_a_shift_of_the_features_drops_no_column(shift):
    """Columns far from zero carry what is left of their digits; only a constant column carries nothing."""
    X, y = line(60, 0)
    moved = np.column_stack([X + shift, np.full(60, shift)])
    model = CertifiedRegressor().fit(moved, y)
    assert model.model_.factor.live.tolist() == [True, True, True, False]
    want = CertifiedRegressor().fit(X, y).score(X, y)
    assert model.score(moved, y) == pytest.approx(want, abs=max(1e-6, shift * 1e-15))


def test_more_columns_than_rows_predict_sensibly_and_zero_noise_is_said():
    """d > n: cross-validation regularises, while least squares interpolates and says that its noise estimate is zero."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((340, 60))
    y = X[:, 0] + 0.5 * rng.standard_normal(340)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = CertifiedRegressor().fit(X[:40], y[:40])
    assert wide.score(X[40:], y[40:]) > -0.1
    assert coverage(y[40:], wide.predict_interval(X[40:])) > 0.8
    with pytest.warns(ZeroNoiseWarning, match="estimates the noise as zero"):
        CertifiedRegressor(noise_std="residual", calibration=None).fit(X[:40], y[:40])


@pytest.mark.parametrize("kernel", ["rbf", "matern", "additive"])
@pytest.mark.parametrize("approximation", ["nystroem", "random"])
def test_kernels_learn_a_curve(kernel, approximation):
    X, y = wave(300, 0)
    Z, v = wave(300, 1)
    model = CertifiedRegressor(kernel=kernel, approximation=approximation, n_features=150, calibration="split").fit(
        X, y
    )
    assert model.score(Z, v) > 0.95
    assert coverage(v, model.predict_interval(Z)) > 0.8


def test_far_from_every_landmark_the_certificate_is_the_ball_itself():
    """Features fade to 1e-80 and below; the function may then be anything in the ball: the mean plus or minus rho."""
    X, y = wave(60, 0)
    model = CertifiedRegressor(kernel="matern", length_scale=0.5, calibration="split").fit(X, y)
    for away in (40.0, 60.0, 1e4):
        found = model.predict_function_interval(X[:3] + away)
        room = np.sqrt(model.rho_**2 - model.rho_oc_**2)
        np.testing.assert_allclose(found, model.predict(X[:3] + away)[:, None] + [[-room, room]] * 3, rtol=1e-6)
        assert np.isfinite(model.predict_shifted_interval(X[:20] + away)[0]).all()


def test_kernel_features_are_the_kernel():
    """Nyström with every row as a landmark reproduces the kernel matrix; random features approach it."""
    from sklearn.gaussian_process.kernels import RBF, Matern

    from orledger.recovery.regression.maps import fit_map

    X = np.random.default_rng(0).standard_normal((40, 3))
    Z = (X - X.mean(0)) / X.std(0)
    for kernel, peer in (("rbf", RBF(1.3)), ("matern", Matern(1.3, nu=2.5))):
        exact = fit_map(X, kernel, "nystroem", 1.3, 40, np.random.default_rng(1))
        np.testing.assert_allclose(exact(X) @ exact(X).T, peer(Z), atol=1e-6)
        assert (exact.unseen(exact(X)) < 1e-6).all()
        assert (exact.unseen(exact(X + 50)) > 0.999).all()
        loose = fit_map(X, kernel, "random", 1.3, 20_000, np.random.default_rng(1))
        np.testing.assert_allclose(loose(X) @ loose(X).T, peer(Z), atol=0.05)
    loose = fit_map(X, "additive", "random", 1.3, 20_000, np.random.default_rng(1))
    want = np.mean([RBF(1.3)(Z[:, [j]]) for j in range(3)], axis=0)
    np.testing.assert_allclose(loose(X) @ loose(X).T, want, atol=0.05)


def test_blocks_give_the_same_model_as_the_whole_matrix():
    """partial_fit over blocks, weights included, against one fit: the same predictions, spreads and certificates."""
    X, y = line(400, 5)
    move = np.array([100.0, 0.0, -3.0])
    X = X + move
    w = np.random.default_rng(0).integers(1, 4, 400).astype(float)
    whole = CertifiedRegressor(noise_std=0.33, calibration=None).fit(X, y, sample_weight=w)
    parts = CertifiedRegressor(noise_std=0.33)
    for rows in np.array_split(np.arange(400), 7):
        parts.partial_fit(X[rows], y[rows], sample_weight=w[rows])
    assert (whole.solver_, parts.solver_) == ("svd", "normal")
    Z, _ = line(50, 6)
    Z = Z + move
    np.testing.assert_allclose(parts.predict(Z), whole.predict(Z), rtol=1e-7)
    np.testing.assert_allclose(parts.predict_function_interval(Z), whole.predict_function_interval(Z), rtol=1e-5)
    with pytest.raises(NotCalibratedError):
        parts.predict_interval(Z)
    assert parts.calibrate(*line(99, 7)).level_ == pytest.approx(0.9)


def test_large_designs_go_through_their_normal_equations(monkeypatch):
    from orledger.recovery.regression import model as module

    X, y = wave(500, 0)
    small = CertifiedRegressor(kernel="rbf", n_features=50).fit(X, y)
    monkeypatch.setattr(module, "SVD_ENTRIES", 100)
    large = CertifiedRegressor(kernel="rbf", n_features=50).fit(X, y)
    assert (small.solver_, large.solver_) == ("svd", "normal")
    np.testing.assert_allclose(large.predict(X), small.predict(X), atol=0.02)
    np.testing.assert_allclose(large.predict_interval(X), small.predict_interval(X), atol=0.06)


def test_a_pipeline_calibrates_and_predicts_without_slicing():
    X, y = load_diabetes(return_X_y=True)
    X_fit, X_new, y_fit, y_new = train_test_split(X, y, test_size=142, random_state=0)
    pipe = make_pipeline(PolynomialFeatures(2, include_bias=False), CertifiedRegressor(level=0.8)).fit(X_fit, y_fit)
    mean, intervals = pipe.predict(X_new, return_interval="observation")
    assert mean.shape == (142,)
    assert coverage(y_new, intervals) == pytest.approx(0.8, abs=0.1)
    ours = certified_pipeline(PolynomialFeatures(2, include_bias=False), CertifiedRegressor(level=0.8)).fit(
        X_fit, y_fit
    )
    np.testing.assert_array_equal(ours.predict_interval(X_new), intervals)
    assert ours.predict_function_interval(X_new).shape == (142, 2)
    held_out = cross_val_predict(IntervalPrediction(pipe), X, y, cv=3)
    assert coverage(y, held_out) == pytest.approx(0.8, abs=0.07)


def test_a_certified_pipeline_has_every_method_of_its_last_step():
    """Held-out calibration, shifted intervals and frames, each equal to transforming first."""
    pd = pytest.importorskip("pandas")
    X, y = line(80, 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(80) + 5)
    rest, out = slice(0, 50), slice(50, 80)
    scale = StandardScaler().fit(X[rest])
    plain = CertifiedRegressor(calibration=None).fit(scale.transform(X[rest]), y[rest])
    plain.calibrate(scale.transform(X[out]), y[out])
    for steps, rows in (((StandardScaler(),), X), ((), scale.transform(X))):
        pipe = certified_pipeline(*steps, CertifiedRegressor(calibration=None)).fit(rows[rest], y[rest])
        assert pipe.calibrate(rows[out], y[out]) is pipe
        np.testing.assert_allclose(pipe.predict_interval(rows), plain.predict_interval(scale.transform(X)))
        for a, b in zip(pipe.predict_shifted_interval(rows, level=0.8), plain.predict_shifted_interval(scale.transform(X), level=0.8), strict=True):  # fmt: skip
            np.testing.assert_allclose(a, b)
    found = certified_pipeline(StandardScaler(), CertifiedRegressor()).fit(frame, y).predict_frame(frame)
    assert found.index.equals(frame.index)
    assert list(found.columns) == ["prediction", "lower", "upper"]


def test_grid_search_by_interval_score():
    X, y = wave(150, 0)
    pipe = make_pipeline(StandardScaler(), CertifiedRegressor(kernel="rbf", n_features=40, calibration="split"))
    grid = {"certifiedregressor__length_scale": [0.01, 1.0]}
    search = GridSearchCV(pipe, grid, cv=3, scoring=interval_scorer(level=0.8)).fit(X, y)
    assert search.best_params_ == {"certifiedregressor__length_scale": 1.0}
    assert search.best_score_ < 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a scorer that ignores weights would be warned of
        search.set_params(param_grid={"certifiedregressor__kappa": [1.1]}).fit(
            X, y, certifiedregressor__sample_weight=np.ones(150)
        )
    model = CertifiedRegressor().fit(X, y)
    scorer, first = interval_scorer(level=0.8), (np.arange(150) < 60) * 2.0
    assert scorer(model, X, y, sample_weight=first) == pytest.approx(scorer(model, X[:60], y[:60]))


def test_interval_score_is_its_definition_and_proper():
    assert interval_score([0.0, 3.0], [[-1, 1], [0, 2]], level=0.9) == pytest.approx((2 + 2 + 20 * 1) / 2)
    z = np.random.default_rng(0).standard_normal(200_000)
    scores = [interval_score(z, np.tile([-h, h], (len(z), 1)), 0.9) for h in (1.2, 1.6449, 2.2)]
    assert scores[1] < min(scores[0], scores[2])
    both = np.array([[[-1, -1], [1, 1]], [[0, 0], [2, 2]]])  # the same two intervals for two outputs
    weighted = interval_score([[0.0, 3.0], [3.0, 1.0]], both, level=0.9, sample_weight=[3, 1])
    assert weighted == pytest.approx((3 * (2 + 2 + 40) / 2 + 1 * (2 + 20 + 2) / 2) / 4)
    with pytest.raises(ParameterError, match="do not belong"):
        interval_score([1.0], [1.0])
    with pytest.raises(ParameterError, match="sample_weight"):
        interval_score([0.0], [[0, 1]], sample_weight=[-1])


def test_frames_in_and_out():
    import polars as pl

    pd = pytest.importorskip("pandas")
    X, y = line(60, 0)
    names = ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=names, index=np.arange(60) * 2)
    model = CertifiedRegressor().fit(frame, pd.Series(y, index=frame.index))
    out = model.predict_frame(frame)
    assert out.index.equals(frame.index)
    assert list(out.columns) == ["prediction", "lower", "upper"]
    assert list(model.feature_names_in_) == names
    table = pl.DataFrame(X, schema=names)
    polars = CertifiedRegressor().fit(table, pl.Series(y)).predict_frame(table)
    assert isinstance(polars, pl.DataFrame)
    np.testing.assert_allclose(polars["lower"].to_numpy(), out["lower"].to_numpy())
    assert isinstance(CertifiedRegressor().fit(X, y).predict_frame(X), pl.DataFrame)


def test_several_outputs_are_each_their_own_problem():
    X, y = line(90, 0)
    Y = np.column_stack([y, 3 * X[:, 0] ** 2 + y])
    both = CertifiedRegressor(random_state=3).fit(X, Y)
    assert both.predict(X).shape == (90, 2)
    assert both.predict_interval(X).shape == (90, 2, 2)
    assert list(both.predict_frame(X).columns) == [
        "prediction_0",
        "lower_0",
        "upper_0",
        "prediction_1",
        "lower_1",
        "upper_1",
    ]
    for j in range(2):
        one = CertifiedRegressor(random_state=3).fit(X, Y[:, j])
        np.testing.assert_allclose(both.predict(X)[:, j], one.predict(X), rtol=1e-9)
        np.testing.assert_allclose(both.predict_interval(X)[:, :, j], one.predict_interval(X), rtol=1e-6)
        np.testing.assert_allclose(
            both.predict_function_interval(X)[:, :, j], one.predict_function_interval(X), rtol=1e-6
        )
        assert both.eta_[j] == pytest.approx(one.eta_, rel=1e-9)


def test_radius_by_validation_covers_held_out_responses_and_a_given_one_is_kept():
    X, y = line(200, 0)
    found = CertifiedRegressor(radius="validation", noise_std=0.4).fit(X, y)
    assert found.rho_ >= found.rho_oc_
    assert CertifiedRegressor(radius=50.0).fit(X, y).rho_ == 50.0


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"noise_std": "none"}, "noise_std = 'none'"),
        ({"noise_std": -1.0}, "noise_std = -1"),
        ({"noise_std": float("nan")}, "noise_std = nan"),
        ({"kappa": 0.5}, "kappa = 0.5"),
        ({"radius": "big"}, "radius = 'big'"),
        ({"calibration": "jackknife"}, "calibration = 'jackknife'"),
        ({"conformity": "best"}, "conformity = 'best'"),
        ({"folds": 1}, "folds = 1"),
        ({"calibration_size": 1.0}, "calibration_size = 1"),
        ({"level": 1.0}, "level = 1"),
        ({"kernel": "cubic"}, "kernel = 'cubic'"),
        ({"approximation": "exact"}, "approximation = 'exact'"),
        ({"n_features": 0}, "n_features = 0"),
        ({"length_scale": -2.0}, "length_scale = -2"),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings, text):
    X, y = line(20, 0)
    with pytest.raises(ParameterError, match=text) as err:
        CertifiedRegressor(**settings).fit(X, y)
    assert isinstance(err.value, ValueError)


def test_arguments_that_cannot_be_used_are_named():
    X, y = line(30, 0)
    model = CertifiedRegressor(calibration="cross").fit(X, y)
    with pytest.raises(ParameterError, match="return_interval = 'both'"):
        model.predict(X, return_interval="both")
    with pytest.raises(ParameterError, match="level = 2"):
        model.predict_interval(X, level=2)
    for weight in (-np.ones(30), np.full(30, np.nan), np.ones(29), np.zeros(30)):
        with pytest.raises(ParameterError, match="sample_weight"):
            CertifiedRegressor().fit(X, y, sample_weight=weight)
    with pytest.warns(LevelWarning, match="8 calibration rows reach the level 0.8889, not 0.9"):
        CertifiedRegressor(calibration="split").fit(X, y)

"""The regressor's models, roundings and settings: dense formulas, stated allowances, and each setting at its ends."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from dense_ridge import Dense

from orledger.recovery import CertifiedRegressor, certified_pipeline
from orledger.recovery.regression import LevelWarning, ParameterError, ZeroNoiseWarning
from orledger.recovery.regression import certificate as certificate_module
from orledger.recovery.regression import estimator as estimator_module
from orledger.recovery.regression import model as model_module
from orledger.recovery.regression.calibrators import CrossCalibration, SplitCalibration
from orledger.recovery.regression.factor import Sums, factor_rows
from orledger.recovery.regression.head import fit_head, with_local_scale, with_trust
from orledger.recovery.regression.maps import FeatureMap, fit_map, median_distance
from orledger.recovery.regression.model import (
    CertifiedModel,
    Settings,
    fit_model,
    leave_one_out_error,
    model_of_sums,
)
from orledger.recovery.regression.parameters import row_weights
from orledger.recovery.regression.rounding import (
    Rounded,
    centre_error,
    feature_error,
    scale_error,
    spread_error,
    units,
)

EPS = np.finfo(float).eps
SCORES = ["adaptive", "certificate", "local", "absolute"]


def settings(**changes):
    plain = {"kernel": "linear", "approximation": "nystroem", "length_scale": 1.5, "n_features": 6, "noise": "cv"}
    return Settings(**{**plain, "standardize": True, "score": "adaptive", **changes})


def rows(n=30, q=2, seed=0, grows=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) * [1.0, 3.0] + [0.0, 5.0]
    y = X @ np.array([[2.0, 1.0], [-1.0, 1.5]])[:, :q] + np.exp(grows * X[:, :1]) * rng.standard_normal((n, q))
    return X, y


def draws():
    return np.random.default_rng(11)


def test_columns_are_divided_centred_or_left():
    assert settings().columns == "standardized"
    assert settings(standardize=False).columns == "centred"
    assert settings(kernel="rbf").columns == settings(kernel="rbf", standardize=False).columns == "raw"


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_is_a_factor_and_a_head_per_output(score, weighted):
    """Trust for the certificate's shape, a local scale for the local one, both for the adaptive score."""
    X, y = rows(grows=1.0)
    w = np.random.default_rng(1).integers(1, 4, 30).astype(float) if weighted else None
    model = fit_model(X, y, w, settings(score=score), draws())
    assert (model.solver, model.score, len(model.heads)) == ("svd", score, 2)
    factor = factor_rows(X, y, w, "standardized")
    Z, ones, none = factor.columns(X), np.ones(30), np.zeros(30)
    order, share = draws().permutation(30), ones if w is None else w
    found = model.rounded(X)
    for j, head in enumerate(model.heads):
        want, spread = fit_head(factor, j, "cv"), ones
        if score in ("adaptive", "certificate"):
            want = with_trust(want, (Z[order], none, y[order, j], share[order]))
            spread = spread * want.spread(Z, none)
        if score in ("adaptive", "local"):
            want = with_local_scale(want, [(Z, none, y[:, j], share)])
            spread = spread * want.local_scale(Z)
        assert (head.trust, head.mu) == (pytest.approx(want.trust), pytest.approx(want.mu))
        np.testing.assert_allclose(model.centre(X)[:, j], Dense.of(X, y[:, j], w).mean + Z @ want.coef, rtol=1e-9)
        np.testing.assert_allclose(found.centre[:, j], model.centre(X)[:, j])
        np.testing.assert_allclose(found.spread[:, j], spread, rtol=1e-9)
        assert (spread.max() > 1.01) == (score != "absolute")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_rows_make_the_same_model(monkeypatch, kernel, weighted):
    """The whole matrix up to 60 numbers, sums of blocks beyond; a matrix wider than long is whole whatever its size."""
    X, y = rows(600, 1)
    w = np.random.default_rng(1).integers(1, 4, 600).astype(float) if weighted else None
    for entries, solver in (
        (600 * (2 if kernel == "linear" else 6), "svd"),
        (600 * (2 if kernel == "linear" else 6) - 1, "normal"),
    ):
        monkeypatch.setattr(model_module, "SVD_ENTRIES", entries)
        monkeypatch.setattr("orledger.recovery.regression.factor.BLOCK_ENTRIES", 1)
        made = fit_model(X, y, w, settings(kernel=kernel, noise=2.5), draws())
        assert made.solver == solver
        whole = made if solver == "svd" else whole  # noqa: F821
        np.testing.assert_allclose(made.centre(X), whole.centre(X), rtol=1e-6)
        np.testing.assert_allclose(made.rounded(X).spread, whole.rounded(X).spread, rtol=1e-4)
    monkeypatch.setattr(model_module, "SVD_ENTRIES", 1)
    assert fit_model(X[:2], y[:2], None, settings(), draws()).solver == "svd"
    assert fit_model(X[:3], y[:3], None, settings(), draws()).solver == "normal"


@pytest.mark.parametrize(("kernel", "width"), [("linear", 2), ("rbf", 1), ("rbf", 6)])
def test_blocks_are_as_long_as_the_wider_of_columns_and_features_allows(monkeypatch, kernel, width):
    """Two columns, and features fewer or more: 600 rows are worked through by that width, whatever their number."""
    X, y = rows(600, 1)
    seen, whole = [], model_module.row_blocks
    for module in (model_module, certificate_module):
        monkeypatch.setattr(module, "row_blocks", lambda n, d: seen.append((n, d)) or whole(n, d))
    model = fit_model(X, y, None, settings(kernel=kernel, n_features=width, noise="cv"), draws())
    model.centre(X)
    model.rounded(X)
    certificate_module.function_intervals(model, X, np.ones(1) * 1e3)
    wide = max(2, width)
    assert seen == [(600, wide)] * 3 + [(600, 4 * wide)]


class ChosenError(Exception):
    """What a part of a fit was given, when that is all that is asked."""


@pytest.mark.parametrize(("n", "part"), [(4_000_000, "factor_rows"), (4_000_001, "factor_sums")])
def test_four_million_numbers_are_factored_whole_and_more_are_not(monkeypatch, n, part):
    def seen(*_):
        raise ChosenError

    monkeypatch.setattr(model_module, part, seen)
    X = np.broadcast_to(0.0, (n, 1))
    with pytest.raises(ChosenError):
        fit_model(X, X, None, settings(score="absolute"), draws())


def test_trust_is_learned_on_twenty_thousand_rows(monkeypatch):
    def seen(head, block):
        raise ChosenError(len(block[0]))

    monkeypatch.setattr(model_module, "with_trust", seen)
    X = np.arange(20_010.0)[:, None]
    with pytest.raises(ChosenError, match=r"^20000$"):
        fit_model(X, X, None, settings(score="certificate"), draws())


def test_trust_is_learned_on_some_rows_and_the_local_scale_on_all(monkeypatch):
    X, y = rows(40, 1)
    monkeypatch.setattr(model_module, "TRUST_ROWS", 3)
    model = fit_model(X, y, None, settings(score="certificate"), draws())
    factor = factor_rows(X, y, None, "standardized")
    some = draws().permutation(40)[:3]
    want = with_trust(fit_head(factor, 0, "cv"), (factor.columns(X[some]), np.zeros(3), y[some, 0], np.ones(3)))
    assert model.heads[0].trust == want.trust
    whole = with_trust(fit_head(factor, 0, "cv"), (factor.columns(X), np.zeros(40), y[:, 0], np.ones(40)))
    assert whole.trust != want.trust  # or this would show nothing


def test_a_model_of_sums_has_the_certificates_shape_alone():
    X, y = rows()
    features = FeatureMap("linear", "nystroem", 1.0, np.zeros(2), np.ones(2))
    sums = Sums.start(X, y)
    sums.add(X, y, None)
    model = model_of_sums(sums, features, settings(noise=2.5))
    whole = fit_model(X, y, None, settings(noise=2.5, score="absolute"), draws())
    assert (model.solver, len(model.heads)) == ("normal", 2)
    np.testing.assert_allclose(model.centre(X), whole.centre(X), rtol=1e-9)
    for head in model.heads:
        assert (head.trust, head.log_scale) == (1.0, None)


def test_the_length_of_a_kernel_is_given_or_chosen():
    X, y = rows(40, 1)
    assert fit_model(X, y, None, settings(kernel="rbf"), draws()).features.length == 1.5
    length = fit_model(X, y, None, settings(kernel="rbf", length_scale="auto"), draws()).features.length
    base = median_distance(X, draws())
    assert min(abs(length / base - m) for m in (0.25, 0.5, 1, 2, 4)) < 1e-12
    assert fit_model(X, y, None, settings(length_scale="auto"), draws()).features.length == 1.0


def test_the_error_of_a_length_is_that_of_rows_left_out():
    """Per output in variances of the responses, at the best multiplier; columns as they are; a constant counts as it is."""
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((12, 3))
    y = np.column_stack([Phi @ [1.0, 2.0, 0.0] + rng.standard_normal(12), 5 * rng.standard_normal(12)])
    want = 0.0
    for j in range(2):
        dense = Dense.of(Phi, y[:, j], None, "raw")
        losses = [np.mean(dense.errors(mu) ** 2) for mu in dense.nodes()]
        want += min(losses) / np.var(y[:, j])
    assert leave_one_out_error(Phi, y) == pytest.approx(want, rel=1e-9)
    assert leave_one_out_error(Phi, np.full((12, 1), 3.0)) == 0.0
    spiked = np.column_stack([1e5 * (np.arange(12) == 0), Phi[:, 0]])
    odd = (Phi[:, 0] + 20 * (np.arange(12) == 0))[:, None]  # a row that the first column follows alone: 1 - 1e-9
    dense = Dense.of(spiked, odd[:, 0], None, "raw")
    want = min(np.mean(dense.errors(mu) ** 2) for mu in dense.nodes()) / np.var(odd)
    assert leave_one_out_error(spiked, odd) == pytest.approx(want, rel=1e-4)
    odd = odd + rng.standard_normal((12, 1))  # at the multiplier that suits the others, that row still counts
    dense = Dense.of(spiked, odd[:, 0], None, "raw")
    best = min(dense.nodes(), key=lambda mu: np.mean(dense.errors(mu) ** 2))
    assert dense.leverage(best)[0] == 1 - 1e-9
    assert dense.errors(best)[0] ** 2 > 1e-3
    assert leave_one_out_error(spiked, odd) == pytest.approx(np.mean(dense.errors(best) ** 2) / np.var(odd), rel=1e-5)


def test_the_rounding_of_a_sum_grows_with_its_root():
    assert units(0) == 16 * EPS
    assert units(9) == 20 * EPS


def test_scores_are_rounded_up():
    made = Rounded(*(np.array([[v]]) for v in (1.0, 2.0, 0.5, 1.25)))
    assert made.scores(np.array([[4.0]])).tolist() == [[(3 + 0.5) / 2 * 1.25]]


def test_what_rounding_does_to_features():
    """Nothing to columns as they are; beyond that the stated bounds, on numbers that can be worked out by hand."""
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    plain = FeatureMap("linear", "nystroem", 1.0, np.zeros(2), np.ones(2))
    assert [v.tolist() for v in feature_error(plain, X)] == [[0, 0], [0, 0]]
    # three landmarks, the farthest at distance 3 and 2 length scales away, 9/4; factors of norm 5 and 1
    marks = np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    root = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    for kernel, steep in (("rbf", 1 / 2), ("matern", 5 / 6), ("additive", 0.0)):
        made = FeatureMap(kernel, "nystroem", 2.0, np.zeros(2), np.ones(2), marks, root)
        row, feature = feature_error(made, X)
        each = (4 + 5 * steep * 9 / 4) * units(3) * 3**0.5
        assert row.tolist() == [1.0, 1.0]
        np.testing.assert_allclose(feature, [5 * each, each])
    # frequencies 5 and 0 over the length 2; rows at distance |(3 - 1)/2, (4 - 4)/1| = 1 and |(-1/2, -4)|
    made = FeatureMap("rbf", "random", 2.0, np.array([1.0, 4.0]), np.array([2.0, 1.0]), np.array([[3.0, 0.0], [4.0, 0.0]]), np.ones(2))  # fmt: skip
    row, feature = feature_error(made, X)
    np.testing.assert_allclose(row, [1 + 2 * np.pi, np.sqrt(0.25 + 16) + 2 * np.pi])
    np.testing.assert_allclose(feature, [units(2) * (1 + 2.5), units(2)])


def made_head(tall=False, **changes):
    """A head on two columns whose coefficients are (3, 4), at the mean -2."""
    U = np.linalg.qr(np.vander(np.arange(6.0), 3, increasing=True))[0][:, 1:]
    U = U[:, [0, 0]] if tall else U
    factor = factor_rows(U, np.arange(6.0)[:, None], None, "centred")
    assert factor.basis.shape == ((2, 1) if tall else (2, 2))
    return replace(fit_head(factor, 0, "cv"), coef=np.array([3.0, 4.0]), y_mean=-2.0, **changes)


def test_what_rounding_does_to_predictions():
    """units * (|Z * coef| + |mean|), and each feature's own error times its coefficient."""
    Z, row, feature = np.array([[1.0, 0], [1, 1], [0, 0]]), np.array([0.0, 2.0, 0.0]), np.array([1e-9, 2e-9])
    want = [units(2) * (3 + 2), units(2) * (5 + 2) + 2e-9 * np.sqrt(9 + 64), units(2) * 2]
    np.testing.assert_allclose(centre_error(made_head(), Z, row, feature), want, rtol=1e-9)


def test_what_rounding_does_to_local_scales():
    """The exponential of the same for the logarithm, at most the whole range; nothing where there is no scale."""
    Z, row, feature = np.array([[1.0, 0], [1, 1], [0, 0]]), np.array([0.0, 2.0, 0.0]), np.array([1e-12, 2e-12])
    head = made_head(log_scale=np.array([3e9, 4e9]), log_reach=0.7)
    want = np.exp([units(2) * 3e9, units(2) * 5e9 + 2e-3 * np.sqrt(73), 0])
    np.testing.assert_allclose(scale_error(head, Z, row, feature), want, rtol=1e-12)
    assert scale_error(head, Z, row * 1e6, feature)[1] == np.exp(1.4)
    assert scale_error(made_head(), Z, row, feature).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("tall", [False, True])
@pytest.mark.parametrize("inexact", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_what_rounding_does_to_spreads(tall, inexact, rate):
    """V moves by 2 sqrt(V) e + e^2 for an error e of Z; more where a part outside the span, or of the kernel, is added."""
    Z = np.array([[3.0, 4.0], [0.6, 0.8], [30.0, 40.0], [0.6, 0.8]])
    row, feature = np.full(4, 5.0 * inexact), np.array([1e-3, 2e-3])
    head = made_head(tall, trust=0.5, mu=2 * rate)
    square = np.array([8.0, 1.5, 10.0, 1.002])
    found = spread_error(head, Z, np.sqrt(square), row, feature)
    if rate == 0:
        assert found.tolist() == [1.0] * 4
        return
    for i, size in enumerate((5.0, 1.0, 50.0, 1.0)):
        e = units(2) * size + row[i] * np.sqrt(5) * 1e-3
        seen = min(np.sqrt((square[i] - 1) / rate), size)
        moved = 2 * seen * e + e**2 + 4 * size * e * tall
        if inexact:
            moved += 2 * row[i] * np.sqrt(((Z[i] * feature) ** 2).sum()) + units(2) * (1 + size**2)
        up, down = 1 + rate * moved / square[i], square[i] / max(square[i] - rate * moved, 1.0)
        assert found[i] == pytest.approx(np.sqrt(max(up, down)), rel=1e-12)


def test_features_that_are_summed_round_even_near_the_landmarks():
    """At Z = 0 and a share of a million: each feature may be wrong by a unit of rounding, whatever its own error."""
    found = spread_error(made_head(trust=1.0, mu=1e6), np.zeros((1, 2)), np.ones(1), np.ones(1), np.zeros(2))
    assert found[0] == pytest.approx(np.sqrt(1 + 1e6 * units(2)), abs=4 * EPS)
    found = spread_error(made_head(trust=1.0, mu=1e6), np.array([[3.0, 4.0]]), np.ones(1), np.ones(1), np.zeros(2))
    assert found[0] == pytest.approx(np.sqrt(1 + 1e6 * 26 * units(2)), abs=4 * EPS)


def test_a_row_far_out_whose_spread_is_small_rounds_by_its_length():
    """|Z| = 5 in two columns, V = 1e-12 and a share of 1e12: the square 2 moves by 1e12 * 2 * 1e-6 * 5 units."""
    nothing = np.zeros(1), np.zeros(2)
    found = spread_error(made_head(trust=1.0, mu=1e12), np.array([[3.0, 4.0]]), np.sqrt([2.0]), *nothing)
    assert found[0] - 1 == pytest.approx(1e7 * units(2) / 4, rel=1e-6)


def test_a_model_states_what_rounding_does_to_each_of_its_parts():
    """Columns that are divided carry their feature's error divided; columns without a spread none."""
    X, y = rows(30, 1)
    for made in (settings(), settings(kernel="rbf", approximation="random")):
        model = fit_model(X, y, None, made, draws())
        head = model.heads[0]
        Z, unseen = model.columns(X)
        row, feature = feature_error(model.features, X)
        feature = feature[model.factor.live] / model.factor.scale
        found = model.rounded(X)
        np.testing.assert_allclose(found.slack[:, 0], centre_error(head, Z, row, feature))
        spread = head.spread(Z, unseen)
        want = spread_error(head, Z, spread, row, feature) * scale_error(head, Z, row, feature)
        np.testing.assert_allclose(found.stretch[:, 0] - 1, want - 1, rtol=1e-6, atol=EPS)
    flat = fit_model(np.ones((5, 2)), np.arange(5.0)[:, None], None, settings(kernel="rbf"), draws())
    assert flat.rounded(np.ones((1, 2))).slack.shape == (1, 1)


def test_some_columns_alive_carry_their_own_errors():
    """The rows of a kernel at few landmarks, one of whose features is constant."""
    X, y = rows(20, 1)
    model = fit_model(X, y, None, settings(kernel="rbf", approximation="random"), draws())
    factor = replace(model.factor, live=np.arange(6) != 2, scale=np.full(5, 2.0), basis=np.eye(5), s=np.ones(5))
    head = replace(model.heads[0], factor=factor, coef=np.arange(1.0, 6.0))
    changed = CertifiedModel(model.features, factor, (head,), "absolute", "svd")
    row, feature = feature_error(model.features, X)
    Z = (model.features(X) - factor.mean)[:, factor.live] / 2
    want = centre_error(head, Z, row, feature[factor.live] / 2)
    np.testing.assert_allclose(changed.rounded(X).slack[:, 0], want)


# The estimator


def fitted(**changes):
    X, y = rows(40, 1)
    return X, y[:, 0], CertifiedRegressor(**{"random_state": 5, **changes}).fit(X, y[:, 0])


def test_the_defaults():
    """Each is a promise: another one changes everybody's numbers."""
    assert CertifiedRegressor().get_params() == {
        "kernel": "linear",
        "approximation": "nystroem",
        "length_scale": "auto",
        "n_features": 500,
        "noise_std": "cv",
        "radius": "occam",
        "kappa": 1.1,
        "calibration": "auto",
        "conformity": "adaptive",
        "level": 0.9,
        "folds": 10,
        "calibration_size": 0.25,
        "standardize": True,
        "random_state": 0,
    }


def test_the_kind_of_calibration_follows_from_the_number_of_rows():
    auto = CertifiedRegressor()
    assert [auto._calibration_kind(n) for n in (3, 4, 2000, 2001)] == [None, "cross", "cross", "split"]
    for kind in ("split", "cross", None):
        model = CertifiedRegressor(calibration=kind)
        assert [model._calibration_kind(n) for n in (3, 4, 9999)] == [None, kind, kind]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_split_holds_out_its_share(monkeypatch):
    """A share rounded, one row at least, and no more than a limit; the rest is what the model is fitted to."""
    X, y = rows(40, 1)
    for share, limit, held in ((0.25, 5000, 10), (0.01, 5000, 1), (0.5, 7, 7)):
        monkeypatch.setattr(estimator_module, "SPLIT_ROWS", limit)
        model = CertifiedRegressor(calibration="split", calibration_size=share, noise_std=2.5).fit(X, y[:, 0])
        out = model.calibration_.X
        assert isinstance(model.calibration_, SplitCalibration)
        assert len(out) == held
        rest = np.array([not (x == out).all(1).any() for x in X])
        assert rest.sum() == 40 - held
        np.testing.assert_allclose(
            model.predict(X), CertifiedRegressor(calibration=None, noise_std=2.5).fit(X[rest], y[rest, 0]).predict(X)
        )
    monkeypatch.undo()
    assert estimator_module.SPLIT_ROWS == 5000


def test_a_row_without_weight_is_no_row():
    X, y = rows(40, 1)
    w = np.array([0.0, 2.0] * 20)
    found = CertifiedRegressor().fit(X, y[:, 0], sample_weight=w)
    want = CertifiedRegressor().fit(X[1::2], y[1::2, 0], sample_weight=w[1::2])
    assert len(found.calibration_.scores) == 20
    np.testing.assert_array_equal(found.predict_interval(X), want.predict_interval(X))


def test_two_rows_fit_one_calibrates_and_none_is_refused():
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    model = CertifiedRegressor(noise_std=0.1).fit(X, y)
    assert model.calibration_ is None
    with pytest.warns(LevelWarning, match="1 calibration rows reach the level 0.5, not 0.9"):
        model.calibrate(X[:1], y[:1])
    with pytest.raises(ValueError, match="minimum of 2"):
        CertifiedRegressor().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="minimum of 1"):
        model.calibrate(X[:0], y[:0])


def test_calibrating_keeps_the_radius_that_validation_found():
    X, y, model = fitted(radius="validation", noise_std=2.5, kappa=1.0)
    assert model.rho_ > 1.01 * model.rho_oc_
    before = model.rho_
    assert model.calibrate(X, y).rho_ == before
    assert isinstance(model.rho_, float)


def test_one_output_has_numbers_and_two_have_arrays():
    X, y = rows(40, 2)
    one = CertifiedRegressor().fit(X, y[:, 0])
    two = CertifiedRegressor().fit(X, y)
    for name in ("margin_", "eta_", "rho_oc_", "rho_"):
        assert isinstance(getattr(one, name), float)
        assert getattr(two, name).shape == (2,)
    assert (one.predict(X).shape, two.predict(X).shape) == ((40,), (40, 2))
    column = CertifiedRegressor().fit(X, y[:, :1])
    assert (column.predict(X).shape, column.eta_.shape) == ((40, 1), (1,))
    assert two.rho_[1] == pytest.approx(1.1 * two.rho_oc_[1])


def test_zero_noise_is_said_where_the_data_are_not_constant():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 8)), 1e-3 * rng.standard_normal(6)
    with pytest.warns(ZeroNoiseWarning, match="noise_std = 'residual'") as caught:
        CertifiedRegressor(noise_std="residual", calibration=None).fit(X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CertifiedRegressor(noise_std="residual", calibration=None).fit(X, np.ones(6))
        CertifiedRegressor(noise_std=0.0, calibration=None).fit(X, y)


def test_a_level_out_of_reach_is_said_where_it_is_asked_for():
    X, y, model = fitted(calibration="split")
    with pytest.warns(LevelWarning) as caught:
        model.predict_interval(X, level=0.95)
    assert caught[0].filename == __file__
    with pytest.warns(LevelWarning) as caught:
        CertifiedRegressor(calibration="split", level=0.99).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_one_part_of_the_rows_is_the_whole_with_the_same_draws(kernel):
    """Landmarks come from the same random state, whichever way rows are given."""
    X, y = rows(40, 1)
    same = {"kernel": kernel, "length_scale": 2.0, "n_features": 7, "random_state": 3, "noise_std": 2.5}
    whole = CertifiedRegressor(calibration=None, **same).fit(X, y[:, 0])
    part = CertifiedRegressor(**same).partial_fit(X, y[:, 0])
    np.testing.assert_allclose(part.predict(X), whole.predict(X), rtol=1e-6)
    if kernel == "rbf":
        other = CertifiedRegressor(**{**same, "random_state": 4}).partial_fit(X, y[:, 0])
        assert not np.allclose(part.features_.anchors, other.features_.anchors)
        automatic = CertifiedRegressor(**{**same, "length_scale": "auto"}).partial_fit(X, y[:, 0])
        assert automatic.features_.length == pytest.approx(median_distance(X, np.random.default_rng(0)))


def test_where_no_weight_reaches_the_function_is_widened_by_the_largest_score(monkeypatch):
    """Certificate plus the largest score times the spread, about the centre; slack and stretch with it."""
    X, _, model = fitted(calibration="split")
    scores = model.calibration_.scores.max(0)
    away = X + 1e3
    centre, width = model.predict(away), model.predict_function_interval(away)

    def rounded(self, X):
        n = np.ones((len(X), 1))
        return Rounded(model.predict(X)[:, None], 2.0 * n, 0.25 * n, 1.5 * n)

    monkeypatch.setattr(CertifiedModel, "rounded", rounded)
    found, fallback = model.predict_shifted_interval(away)
    assert fallback.all()
    reach = scores[0] * 2.0 * 1.5 + 0.25
    np.testing.assert_allclose(found, np.column_stack([width[:, 0] - reach, width[:, 1] + reach]), rtol=1e-9)
    assert (width[:, 0] < centre - 1).all()


def test_a_pipeline_passes_rows_through_every_step():
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y = rows(40, 1)
    pipe = certified_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), CertifiedRegressor())
    pipe.fit(X[:20], y[:20, 0]).calibrate(X[20:], y[20:, 0])
    last = pipe[-1]
    want = last.predict_interval(pipe[:-1].transform(X))
    np.testing.assert_allclose(pipe.predict_interval(X), want)
    np.testing.assert_allclose(last.calibration_.X, pipe[:-1].transform(X[20:]))


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_frame_has_predictions_and_edges_in_their_columns(library):
    frames = pytest.importorskip(library)
    X, y = rows(40, 2)
    table = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    for q, names in ((1, [""]), (2, ["_0", "_1"])):
        model = CertifiedRegressor(calibration="split").fit(table, y[:, 0] if q == 1 else y)
        found, bands = model.predict_frame(table), model.predict_interval(table).reshape(40, 2, -1)
        assert isinstance(found, frames.DataFrame)
        for j, tail in enumerate(names):
            np.testing.assert_array_equal(found["prediction" + tail], model.predict(table).reshape(40, -1)[:, j])
            np.testing.assert_array_equal(found["lower" + tail], bands[:, 0, j])
            np.testing.assert_array_equal(found["upper" + tail], bands[:, 1, j])


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("noise_std", (0, 0.0, 1e75, np.float64(2)), (-0.5, 1.1e75, True, "none")),
        ("radius", (0.5, 1e75), (-0.5, "all", True)),
        ("kappa", (1, 1e75), (0.99, "2", True)),
        ("folds", (2, np.int64(3)), (1, 2.5, "3")),
        ("calibration_size", (1e-9, 0.999), (0.0, -0.5, 1.0, True)),
        ("standardize", (0, np.True_), (2, None, "yes")),
    ],
)
def test_settings_at_their_ends(name, good, bad):
    for value in good:
        CertifiedRegressor(**{name: value})._settings()
    for value in bad:
        with pytest.raises(ParameterError, match=name):
            CertifiedRegressor(**{name: value})._settings()


def test_a_radius_of_zero_can_be_stated():
    CertifiedRegressor(radius=0.0)._settings()


def test_weights_at_their_ends():
    X = np.zeros((3, 1))
    assert row_weights(None, X) is None
    for end in (1e75, 1 / 1e75):
        assert row_weights([0, 0, end], X).tolist() == [0, 0, end]
    for wrong, text in (
        ([0, 1, np.inf], "non-finite"),
        ([1, 1, -0.5], "negative"),
        ([0, 0, 1.1e75], r"is 1.1e\+75; between 1e-75 and 1e\+75 is needed"),
        ([0, 0, 0.9e-75], "between"),
        ([0, 0, 0], "zero everywhere"),
        ([1, 1], r"\(3,\) is needed"),
    ):
        with pytest.raises(ParameterError, match=text):
            row_weights(wrong, X)


def test_folds_beyond_the_rows_are_the_rows():
    X, y = rows(6, 1)
    with pytest.warns(LevelWarning):
        model = CertifiedRegressor(folds=50).fit(X, y[:, 0])
    assert isinstance(model.calibration_, CrossCalibration)
    assert len(model.calibration_.models) == 6
    assert fit_map(X, "rbf", "nystroem", 1.0, 3, draws()).anchors.shape == (3, 2)

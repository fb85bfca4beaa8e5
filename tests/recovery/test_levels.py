"""The levels that calibrations promise, by simulation: small and large samples, ties, weights, shift; and against MAPIE."""

import warnings

import numpy as np
import pytest

from orledger.recovery import CertifiedRegressor
from orledger.recovery.regression import LevelWarning, coverage
from orledger.recovery.regression.calibration import (
    cross_edges,
    cross_guarantee,
    edges,
    folds,
    score_quantile,
    weighted_quantiles,
)
from orledger.recovery.regression.shift import density_ratio


@pytest.mark.parametrize("n", [5, 9, 20, 50, 200])
@pytest.mark.parametrize("law", ["normal", "atoms", "constant"])
def test_split_quantile_covers_at_its_level(n, law):
    """Scores of n + 1 exchangeable draws: the last is at most the quantile with the reported probability, exactly without ties."""
    rng = np.random.default_rng([n, len(law)])
    draw = {
        "normal": lambda s: np.abs(rng.standard_normal(s)),
        "atoms": lambda s: rng.integers(0, 3, s) / 1.0,
        "constant": np.ones,
    }
    inside, level = [], 0.0
    for _ in range(3000):
        scores = draw[law](n + 1)
        found = score_quantile(scores[:n], 0.8)
        inside.append(scores[n] <= found.value)
        level = found.level
    error = np.sqrt(level * (1 - level) / len(inside))
    assert np.mean(inside) >= level - 3.5 * error
    if law == "normal":
        assert np.mean(inside) <= level + 3.5 * error
    assert level == min(n, np.ceil(0.8 * (n + 1) - 1e-9)) / (n + 1)


def test_weighted_quantile_is_the_unweighted_one_for_equal_weights_and_repeats_rows_for_whole_ones():
    rng = np.random.default_rng(0)
    for n in (5, 10, 37):
        scores = rng.standard_normal(n)
        for level in (0.5, 0.8, 0.9):
            plain = score_quantile(scores, level)
            found = weighted_quantiles(scores, np.ones(n), np.ones(1), level)[0]
            assert found == (plain.value if plain.level >= level else np.inf)
        w = rng.integers(1, 5, n)
        repeated = score_quantile(np.repeat(scores, w), 0.7).value
        assert weighted_quantiles(scores, w.astype(float), np.ones(1), 0.7)[0] == repeated
    assert weighted_quantiles(np.arange(5.0), np.ones(5), np.array([100.0]), 0.9)[0] == np.inf


@pytest.mark.parametrize("n", [20, 200])
def test_weighted_quantile_covers_under_a_known_shift(n):
    """Calibration inputs from U(0,1), test input from the density 2x: scores grow with x, and weights 2x restore the level."""
    rng = np.random.default_rng(n)
    weighted, plain = [], []
    for _ in range(3000):
        x, new = rng.uniform(size=n), np.sqrt(rng.uniform())
        scores, own = x * np.abs(rng.standard_normal(n)), new * np.abs(rng.standard_normal())
        weighted.append(own <= weighted_quantiles(scores, 2 * x, np.array([2 * new]), 0.8)[0])
        plain.append(own <= score_quantile(scores, 0.8).value)
    assert np.mean(weighted) >= 0.8 - 3.5 * np.sqrt(0.16 / 3000)
    assert np.mean(plain) < np.mean(weighted) - 0.03


def test_edges_hold_every_response_that_its_score_admits():
    """Atoms, huge centres and tiny widths: |y - m| / s <= q, in floating point, puts y between the rounded edges."""
    rng = np.random.default_rng(0)
    centre = rng.standard_normal(20_000) * 10.0 ** rng.integers(-8, 9, 20_000)
    spread = np.abs(rng.standard_normal(20_000)) * 10.0 ** rng.integers(-8, 9, 20_000)
    y = centre + spread * rng.standard_normal(20_000)
    score = np.abs(y - centre) / spread
    for q in score[:50]:
        band = edges(centre, q * spread)
        inside = (band[0] <= y) & (y <= band[1])
        assert inside[score <= q].all()


def test_cross_edges_are_those_of_mapie():
    """CV+ with equal folds and models: MAPIE's intervals, from the same leave-fold-out predictions."""
    pytest.importorskip("mapie", reason="the extra bench has it")
    from mapie.regression import CrossConformalRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import PredefinedSplit

    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((60, 2)), rng.standard_normal((15, 2))
    y = X @ [1.0, 2.0] + rng.standard_normal(60)
    fold = folds(60, 6, rng)
    models = [LinearRegression().fit(X[fold != k], y[fold != k]) for k in range(6)]
    scores = np.array([abs(y[i] - models[fold[i]].predict(X[i : i + 1])[0]) for i in range(60)])
    centres = np.column_stack([m.predict(Z) for m in models])
    ours = cross_edges(centres, np.ones_like(centres), fold, scores, 0.9)
    peer = CrossConformalRegressor(LinearRegression(), confidence_level=0.9, method="plus", cv=PredefinedSplit(fold))
    theirs = peer.fit_conformalize(X, y).predict_interval(Z)[1][:, :, 0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert cross_guarantee(60, 6, 0.9) == pytest.approx(0.8 - min(2 * (5 / 6) / 11, 0.9 / 7))


def test_too_few_rows_for_a_level_of_cv_plus_are_said():
    """With n rows the outermost edges are those of alpha = 1/(n + 1): 5 rows reach 5/6 and guarantee 4/6, whatever is asked for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 1))
    with pytest.warns(LevelWarning, match=r"5 calibration rows reach the level 0.8333, not 0.9"):
        model = CertifiedRegressor(calibration="cross").fit(X, X[:, 0] + rng.standard_normal(5))
    assert model.level_ == pytest.approx(5 / 6)
    assert model.guarantee_ == pytest.approx(4 / 6)  # folds of one row: the jackknife+, 1 - 2 alpha
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow = model.predict_interval(X, level=0.8)
        asked = model.predict_interval(X)
    with pytest.warns(LevelWarning, match=r"not 0.99"):
        np.testing.assert_array_equal(model.predict_interval(X, level=0.99), asked)
    assert (narrow[:, 0] >= asked[:, 0]).all()
    with pytest.warns(LevelWarning, match=r"3 calibration rows reach the level 0.75, not 0.9"):
        split = CertifiedRegressor(calibration=None).fit(X, X[:, 0]).calibrate(X[:3], X[:3, 0])
    with pytest.warns(LevelWarning, match=r"not 0.8"):
        split.predict_interval(X, level=0.8)


def _draw(rng, n, ties):
    X = rng.integers(0, 2, (n, 2)).astype(float) if ties else rng.standard_normal((n, 2))
    noise = rng.choice([-1.0, 1.0], n) if ties else rng.standard_normal(n) * (0.3 + np.abs(X[:, 0]))
    return X, X @ [1.0, -1.0] + noise


def _mean_coverage(n, calibration, ties, repeats, weighted=False):
    rng, inside, settings = (
        np.random.default_rng([n, ties, len(calibration)]),
        [],
        {"calibration": calibration, "level": 0.8, "folds": 5},
    )
    level = None
    for seed in range(repeats):
        X, y = _draw(rng, n, ties)
        Z, v = _draw(rng, 40, ties)
        w = rng.integers(1, 4, n) if weighted else None
        model = CertifiedRegressor(**settings, calibration_size=0.5, random_state=seed).fit(X, y, sample_weight=w)
        inside.append(coverage(v, model.predict_interval(Z)))
        level = model.guarantee_
    return np.mean(inside), np.std(inside) / np.sqrt(repeats), level


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("n", "calibration", "ties", "weighted"), [
    (10, "split", False, False), (20, "split", True, False), (40, "cross", False, False), (40, "split", False, True), (30, "cross", True, True),
])  # fmt: skip
def test_regressor_reaches_the_coverage_that_it_guarantees(n, calibration, ties, weighted):
    mean, error, level = _mean_coverage(n, calibration, ties, 60, weighted)
    assert mean >= level - 3.5 * error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("calibration", ["split", "cross"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [5, 10, 20, 50, 100, 200])
def test_regressor_reaches_its_level_at_every_size(n, calibration, ties):
    """At least the guarantee; without ties split is close to its level, and CV+ close to the nominal one."""
    mean, error, level = _mean_coverage(n, calibration, ties, 400)
    assert mean >= level - 3 * error
    if not ties and calibration == "split":
        assert mean <= level + 3 * error + 0.01
    if not ties and calibration == "cross" and n >= 50:
        assert abs(mean - 0.8) <= 3 * error + 0.04


def test_density_ratios_find_a_shift_and_only_a_shift():
    rng = np.random.default_rng(0)
    same = density_ratio(rng.standard_normal((400, 2)), rng.standard_normal((300, 2)))
    assert same.effective > 350
    moved = density_ratio(rng.standard_normal((400, 2)), rng.standard_normal((300, 2)) + np.array([1.0, 0.0]))
    cal = rng.standard_normal((4000, 1))
    ratio = density_ratio(cal, rng.standard_normal((4000, 1)) + 1.0).calibration
    exact = np.exp(cal[:, 0] - 0.5)
    assert np.corrcoef(np.log(ratio), np.log(exact))[0, 1] > 0.99
    assert moved.effective < 300


def test_shifted_intervals_keep_coverage_where_plain_ones_lose_it():
    """Noise that grows along the column that shifts: weighting restores the level; beyond the data the fallback is wide and says so."""
    rng = np.random.default_rng(0)

    def draw(n, law):
        X = law(n)[:, None]
        return X, X[:, 0] + (0.2 + np.abs(X[:, 0])) * rng.standard_normal(n)

    X, y = draw(3000, lambda n: rng.standard_normal(n))
    Z, v = draw(2000, lambda n: rng.standard_normal(n) + 1.5)
    model = CertifiedRegressor(calibration="split", conformity="absolute").fit(X, y)
    plain = coverage(v, model.predict_interval(Z))
    shifted, fallback = model.predict_shifted_interval(Z)
    assert plain < 0.8
    assert coverage(v, shifted) > 0.87
    assert fallback.mean() < 0.2
    far, lost = model.predict_shifted_interval(Z + 50)
    assert lost.all()
    assert np.isfinite(far).all()
    assert (far[:, 1] - far[:, 0]).mean() > (shifted[:, 1] - shifted[:, 0]).mean()
    with pytest.raises(ValueError, match="weights need calibration rows"):
        CertifiedRegressor(calibration="cross").fit(X[:200], y[:200]).predict_shifted_interval(Z)

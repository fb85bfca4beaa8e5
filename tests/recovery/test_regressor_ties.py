"""Ties in the regressor: a row lies in its band or not by its score alone, whatever rows it is predicted with."""

import mpmath as mp
import numpy as np
import pytest

from orledger.recovery import CertifiedRegressor
from orledger.recovery.regression.calibration import cross_edges

MAPS = [("linear", "nystroem")] + [(k, a) for k in ("rbf", "matern", "additive") for a in ("nystroem", "random")]


def fitted(seed, kernel, approximation, conformity, noise=0.01):
    """A regressor without a calibration, the law of its responses, and two places; predictions are small beside their terms."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([2, 5]))
    X, weights = rng.standard_normal((60, d)) * 30 + 5, rng.standard_normal(d)
    model = CertifiedRegressor(
        kernel=kernel,
        approximation=approximation,
        conformity=conformity,
        calibration=None,
        n_features=40,
        length_scale=2.0,
    )
    model.fit(X, X @ weights + noise * rng.standard_normal(60))
    places = rng.standard_normal((2, d)) * 10 + X.mean(0)
    places -= np.outer(places @ weights, weights) / (weights @ weights)
    return rng, model, places, places @ weights + noise * rng.standard_normal(2)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("conformity", ["absolute", "adaptive"])
@pytest.mark.parametrize(("kernel", "approximation"), MAPS)
def test_an_atom_lies_in_the_band_that_it_sets(kernel, approximation, conformity):
    """Two equally likely (x, y): each is in the band when its score is at most the quantile, alone and among others."""
    for seed in range(6):
        rng, model, places, y = fitted(seed, kernel, approximation, conformity)
        for n in (1, 19):
            drawn = rng.integers(0, 2, n)
            model.calibrate(places[drawn], y[drawn])
            scores = model.calibration_.scores[:, 0]
            order = min(n, int(np.ceil(0.9 * (n + 1) - 1e-9)))
            held = np.unique(drawn[scores <= np.sort(scores)[order - 1]])
            for batch in ([0], [1], [0, 1], rng.integers(0, 2, 37)):
                low, high = model.predict_interval(places[batch]).T
                inside = (low <= y[batch]) & (y[batch] <= high)
                assert inside[np.isin(batch, held)].all(), (seed, n)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_of_one_give_the_band_of_no_weights():
    """With fewer than five rows no shift can be seen: all density ratios are one, and atoms are covered as without them."""
    for seed in range(8):
        _, model, places, y = fitted(seed, "rbf", "nystroem", "adaptive")
        model.calibrate(places[[0, 1, 0, 1]], y[[0, 1, 0, 1]])
        plain, (shifted, fallback) = model.predict_interval(places, 0.8), model.predict_shifted_interval(places, 0.8)
        assert not fallback.any()
        np.testing.assert_array_equal(plain, shifted)
        assert ((plain[:, 0] <= y) & (y <= plain[:, 1])).all()


def exactly(model, x):
    """(prediction, spread) of a row from the fitted numbers, at 50 digits; the kernel is the squared-exponential one or none."""
    fit, head = model.model_, model.model_.heads[0]
    maps, factor = fit.features, fit.factor
    numbers = [mp.mpf(float(v)) for v in x]
    if maps.kernel == "linear":
        phi, unseen = numbers, mp.mpf(0)
    else:
        z = [
            (v - mp.mpf(float(c))) / mp.mpf(float(s)) for v, c, s in zip(numbers, maps.centre, maps.scale, strict=True)
        ]
        near = [
            mp.exp(
                -sum((a - mp.mpf(float(b))) ** 2 for a, b in zip(z, row, strict=True)) / (2 * mp.mpf(maps.length) ** 2)
            )
            for row in maps.anchors
        ]
        phi = [mp.fdot(near, map(float, column)) for column in maps.factor.T]
        unseen = max(1 - mp.fsum(v * v for v in phi), mp.mpf(0))
    kept = [(v - mp.mpf(float(m))) for v, m, live in zip(phi, factor.mean, factor.live, strict=True) if live]
    Z = [v / mp.mpf(float(s)) for v, s in zip(kept, factor.scale, strict=True)]
    centre = mp.mpf(head.y_mean) + mp.fdot(Z, map(float, head.coef))
    ct = [mp.fdot(Z, map(float, column)) for column in factor.basis.T]
    V = mp.fsum(c * c / (1 + mp.mpf(head.mu) * mp.mpf(float(s)) ** 2) for c, s in zip(ct, factor.s, strict=True))
    if len(factor.basis) > len(ct):
        V += max(mp.fsum(v * v for v in Z) - mp.fsum(v * v for v in ct), mp.mpf(0))
    spread = min(mp.sqrt(1 + mp.mpf(head.trust) * mp.mpf(head.mu) * (V + unseen)), mp.mpf(float(head.most)))
    if head.log_scale is None:
        return centre, spread
    log = mp.fdot(Z, map(float, head.log_scale))
    return centre, spread * mp.exp(min(max(log, -mp.mpf(head.log_reach)), mp.mpf(head.log_reach)))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("noise", [1.0, 1e-5])
def test_what_rounding_can_do_is_bounded(kernel, noise):
    """Predictions and spreads from 50 digits lie within what is stated, near the data, between them and far away."""
    for seed in range(4):
        _, model, places, _ = fitted(seed, kernel, "nystroem", "adaptive", noise)
        rows = np.vstack([places, places + 1e-3, places * 20])
        found = model.model_.rounded(rows)
        with mp.workdps(50):
            for i, x in enumerate(rows):
                centre, spread = exactly(model, x)
                assert abs(centre - mp.mpf(float(found.centre[i, 0]))) <= found.slack[i, 0]
                ratio = spread / mp.mpf(float(found.spread[i, 0]))
                assert 1 / mp.mpf(float(found.stretch[i, 0])) <= ratio * (1 + 1e-14)
                assert ratio <= mp.mpf(float(found.stretch[i, 0])) * (1 + 1e-14)
        assert (found.slack >= 0).all()
        assert (found.stretch >= 1).all()


def test_the_slack_of_each_fold_moves_its_own_edges():
    """Two folds of one row: the edges of level 2/3 are the outermost, centre -/+ (score * spread + slack)."""
    centres, spreads, slack = np.array([[1.0, 2.0]]), np.array([[2.0, 0.5]]), np.array([[0.25, 8.0]])
    found = cross_edges(centres, spreads, np.array([0, 1]), np.array([3.0, 4.0]), 2 / 3, slack)
    np.testing.assert_allclose(found, [[2 - (2 + 8), 2 + (2 + 8)]])

"""Heads of the regressor against dense ridge regressions: multipliers, noise levels, spreads, trust and local scales."""

from dataclasses import replace

import numpy as np
import pytest
from dense_ridge import Dense

from orledger.recovery.regression import head as module
from orledger.recovery.regression.factor import Sums, factor_rows, factor_sums
from orledger.recovery.regression.head import (
    _left_out,
    best_multiplier,
    fit_head,
    noise_radius,
    with_local_scale,
    with_trust,
)

KINDS = ["plain", "weighted", "twins", "wide", "raw", "single"]


def problem(seed, kind):
    """(X, y (n, 2), weights or None, columns): "twins" has a column twice, "wide" more columns than rows, "light" rows worth 0.3 of one."""
    rng = np.random.default_rng([seed, len(kind)])
    n, d = (7, 10) if kind == "wide" else (int(rng.integers(9, 16)), 3)
    X = rng.standard_normal((n, d)) * [1.0, 3.0, 0.2, *[1.0] * (d - 3)] + 2
    if kind == "twins":
        X = np.column_stack([X, X[:, 1]])
    X = X[:, :1] if kind == "single" else X
    noise = rng.standard_normal((n, 2)) * rng.choice([0.1, 1.0, 3.0], 2)
    y = X @ rng.standard_normal((X.shape[1], 2)) + noise + 5
    w = {"weighted": rng.integers(1, 4, n).astype(float), "light": np.full(n, 0.3)}.get(kind)
    return X, y, w, "raw" if kind == "raw" else "standardized"


def both(seed, kind, output=0):
    """(the factor, the dense ridge regression of one output)."""
    X, y, w, columns = problem(seed, kind)
    return factor_rows(X, y, w, columns), Dense.of(X, y[:, output], w, columns)


def sums_of(X, y, w, columns):
    sums = Sums.start(X[:4], y[:4])
    for rows in (slice(0, 4), slice(4, None)):
        sums.add(X[rows], y[rows], None if w is None else w[rows])
    return factor_sums(sums, columns)


@pytest.mark.parametrize("kind", ["plain", "weighted", "twins", "wide"])
def test_the_multiplier_has_the_least_error_of_refits_without_each_row(kind):
    for seed in range(3):
        for output in range(2):
            factor, dense = both(seed, kind, output)
            mus = dense.nodes()
            losses = [(dense.w * dense.left_out(mu) ** 2).sum() for mu in mus[1:]]
            constant = (dense.w * (dense.y / (1 - 1 / dense.n)) ** 2).sum()
            assert best_multiplier(factor, output) == pytest.approx(mus[np.argmin([constant, *losses])], rel=1e-6)


def test_columns_that_are_not_centred_count_the_mean_beside_them():
    for seed in range(10):
        factor, dense = both(seed, "raw", 1)
        mus = dense.nodes()
        losses = [(dense.errors(mu) ** 2).sum() for mu in mus]
        assert best_multiplier(factor, 1) == pytest.approx(mus[np.argmin(losses)], rel=1e-9)


def spike(seed=0):
    """Columns of very different size, as they are: the first stands out in one row, which the fit can follow alone."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([1e5 * (np.arange(8) == 0), rng.standard_normal(8)])
    y = (2 * X[:, 1] + 0.01 * rng.standard_normal(8) + 3 * (np.arange(8) == 0))[:, None]
    return factor_rows(X, y, None, "centred"), Dense.of(X, y[:, 0], None, "centred"), y


def test_a_row_that_the_fit_follows_alone_counts_as_nearly_so():
    """Leverages stop at 1 - 1e-9: beyond, what is left of one is rounding."""
    factor, dense, y = spike()
    losses = [(dense.errors(mu) ** 2).sum() for mu in dense.nodes()]
    assert best_multiplier(factor, 0) == pytest.approx(dense.nodes()[np.argmin(losses)], rel=1e-6)
    mu = 100.0
    assert dense.leverage(mu)[0] == 1 - 1e-9
    _, error, shape = _left_out(replace(fit_head(factor, 0, "cv"), mu=mu, coef=dense.coef(mu)), *block(factor, y)[:3])
    np.testing.assert_allclose(shape[0], 1e9, rtol=1e-6)
    np.testing.assert_allclose(error[1:], dense.errors(mu)[1:], rtol=1e-6)
    assert abs(error[0]) < 1


def test_nuggets_end_thirty_e_folds_below_the_largest_square():
    """A slope along a column that is a millionth of the other: the least nugget explains most of it."""
    U = np.linalg.qr(np.vander(np.linspace(-1, 1, 9), 3))[0]
    X = (U - U.mean(0))[:, :2] * [1e-6, 1.0]
    factor = factor_rows(X, X[:, :1] * 1e6, None, "centred")
    assert best_multiplier(factor, 0) == pytest.approx(np.exp(30) / factor.s[0] ** 2, rel=1e-9)


@pytest.mark.parametrize("kind", ["plain", "weighted", "raw", "light"])
def test_from_sums_the_multiplier_has_the_least_generalised_error(kind):
    for seed in range(10):
        X, y, w, columns = problem(seed, kind)
        dense = Dense.of(X, y[:, 1], w, columns)
        mus = dense.nodes()
        want = mus[np.argmin([dense.generalised(mu) for mu in mus])]
        assert best_multiplier(sums_of(X, y, w, columns), 1) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("kind", ["plain", "weighted", "twins"])
def test_the_noise_level_of_each_rule(kind):
    for seed in range(4):
        factor, dense = both(seed, kind, 1)
        spec, mu = factor.spectral(1), best_multiplier(factor, 1)
        n, k, least = dense.n, len(dense.squares()), dense.misfit(np.inf)
        rules = {
            0.7: 0.7 * np.sqrt(n),
            "cv": dense.misfit(mu),
            "residual": least * np.sqrt(n / (n - k - 1)),
            "discrepancy": dense.misfit(mu) * np.sqrt(n / (n - 1 - dense.used(mu))),
        }
        for rule, want in rules.items():
            eta, found = noise_radius(factor, 1, rule, spec)
            assert found == mu
            assert eta == pytest.approx(want, rel=1e-9)


def test_least_squares_that_leave_nothing_estimate_no_noise():
    """Of n rows the mean uses one, and n - 1 columns the rest; with n - 2 one is left."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 5)), rng.standard_normal((6, 1))
    for width, spare in ((5, 0), (4, 1)):
        factor = factor_rows(X[:, :width], y, None, "standardized")
        eta, _ = noise_radius(factor, 0, "residual", factor.spectral(0))
        least = Dense.of(X[:, :width], y[:, 0]).misfit(np.inf)
        assert eta == (pytest.approx(least * np.sqrt(6), rel=1e-9) if spare else 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_is_the_ridge_solution_at_its_noise_level(kind):
    for seed in range(4):
        factor, dense = both(seed, kind, 1)
        best = best_multiplier(factor, 1)
        for noise in ("cv", "discrepancy"):
            head = fit_head(factor, 1, noise)
            assert not head.occ.refused
            mu = dense.occam(head.eta) if head.eta < np.sqrt((dense.w * dense.y**2).sum()) * (1 - 1e-12) else 0.0
            assert head.mu == pytest.approx(min(mu, 1e10 / dense.squares()[-1]), rel=1e-6)
            if noise == "cv":
                assert head.mu == pytest.approx(best, rel=1e-6)
            np.testing.assert_allclose(head.coef, dense.coef(mu), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(head.predict(dense.A), dense.mean + dense.A @ dense.coef(mu), rtol=1e-7)
            sd = np.sqrt((dense.w * dense.y**2).sum() / (dense.n - 1))
            noise_sd = dense.misfit(mu) / np.sqrt(max(dense.n - 1 - dense.used(head.mu), 1e-3))
            assert head.most == pytest.approx(max(2 * sd / noise_sd, 1.0), rel=1e-5)
            assert head.trust == 1.0


def test_a_refused_head_is_the_one_that_cross_validates_best():
    factor, dense = both(0, "plain")
    head = fit_head(factor, 0, 1e-6)
    assert head.occ.refused
    assert head.mu == best_multiplier(factor, 0)
    np.testing.assert_allclose(head.coef, dense.coef(head.mu), rtol=1e-9)


def test_without_noise_the_head_is_least_squares_and_its_spread_keeps_a_nugget():
    """More columns than rows: eta = 0 is the best misfit, and the nugget of the spread is 1e-10 of the largest square."""
    factor, dense = both(0, "wide")
    head = fit_head(factor, 0, 0.0)
    assert (head.eta, head.occ.mu) == (0.0, np.inf)
    np.testing.assert_allclose(head.coef, dense.coef(np.inf), rtol=1e-9)
    assert head.mu == pytest.approx(1e10 / dense.squares()[-1], rel=1e-9)
    misfit = np.linalg.norm(np.linalg.pinv(dense.A @ dense.A.T, rcond=1e-9) @ dense.y) / head.mu
    sd, noise_sd = np.sqrt((dense.y**2).sum() / 6), misfit / np.sqrt(1e-3)
    assert head.most == pytest.approx(2 * sd / noise_sd, rel=1e-6)


def test_the_largest_spread_is_at_least_one():
    """Responses across the columns: their spread about the fit, with one degree of freedom left, is nearly sqrt(6) of their own."""
    U = np.linalg.qr(np.vander(np.linspace(-1, 1, 8), 8, increasing=True))[0][:, 1:]
    y = U[:, 6] + 1e-3 * U[:, 0]
    head = fit_head(factor_rows(U[:, :6], y[:, None], None, "standardized"), 0, (1 + 1e-12) * 8**-0.5)
    assert not head.occ.refused
    assert head.most == 1.0


def test_two_rows_have_a_spread_of_their_own():
    """y = -1/2, 1/2 about its mean and the column -1, 1: a multiplier of 1 has the gain 2/3 and the misfit 1/(3 sqrt 2)."""
    factor = factor_rows(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]), None, "standardized")
    head = fit_head(factor, 0, 1 / 6)
    assert head.mu == pytest.approx(1.0)
    assert head.most == pytest.approx(2 * 0.5**0.5 / ((1 / 18) ** 0.5 / (1 / 3) ** 0.5))


def test_equal_responses_leave_nothing_to_learn_from():
    """Residuals and misfit are exactly zero: no share is likelier, no scale has a size, and no spread is too large."""
    X = np.random.default_rng(0).standard_normal((6, 2))
    for rows in (6, 1):
        y = np.full((rows, 1), 2.0)
        factor = factor_rows(X[:rows], y, None, "standardized")
        assert fit_head(factor, 0, "cv").most == np.inf
    y = np.full((6, 1), 2.0)
    factor = factor_rows(X, y, None, "standardized")
    head = replace(fit_head(factor, 0, "cv"), mu=1.0)
    assert with_trust(head, block(factor, y)) is head
    assert with_local_scale(head, [block(factor, y)]) is head


def test_without_live_columns_the_mean_is_all():
    y = np.array([[1.0], [2.0], [6.0]])
    factor = factor_rows(np.ones((3, 2)), y, None, "standardized")
    head = fit_head(factor, 0, "cv")
    assert best_multiplier(factor, 0) == 0.0
    assert (head.mu, head.occ.mu, head.coef.tolist()) == (0.0, 0.0, [0.0])
    assert head.eta == pytest.approx(np.sqrt(14))
    assert head.most == pytest.approx(2.0)
    assert with_trust(head, block(factor, y)) is head
    assert with_local_scale(head, [block(factor, y)]) is head


def block(factor, y, unseen=0.0):
    """All rows of a fit, from the factor that keeps them."""
    left, _, w = factor.rows
    Z = left * factor.s @ factor.basis.T if len(factor.s) else np.zeros((len(left), 1))
    return Z, np.full(len(Z), unseen), y[:, 0], w


@pytest.mark.parametrize("kind", KINDS)
def test_a_spread_is_one_plus_the_share_of_the_posterior_variance(kind):
    factor, dense = both(3, kind)
    head = replace(fit_head(factor, 0, "cv"), mu=0.3, trust=0.25, most=np.inf)
    Z = np.random.default_rng(0).standard_normal((9, len(factor.basis))) * 3
    unseen = np.linspace(0, 1, 9)
    want = np.sqrt(1 + 0.25 * (dense.spread2(0.3, Z, unseen) - 1))
    np.testing.assert_allclose(head.spread(Z, unseen), want, rtol=1e-9)
    low = float(np.median(want))
    np.testing.assert_allclose(replace(head, most=low).spread(Z, unseen), np.minimum(want, low), rtol=1e-9)


def test_a_row_in_the_span_of_the_columns_spreads_by_one_at_least():
    """What is left of it beside the basis is rounding, of either sign: a hundred times one, at a multiplier of 1e18."""
    factor, _ = both(0, "twins")
    head = replace(fit_head(factor, 0, "cv"), mu=1e18, trust=1.0, most=np.inf)
    Z = np.random.default_rng(1).standard_normal((200, len(factor.s))) @ factor.basis.T
    left = (Z * Z).sum(1) - ((Z @ factor.basis) ** 2).sum(1)
    assert left.min() < -1e-17
    spread = head.spread(Z, np.zeros(len(Z)))
    assert (spread >= 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_trust_is_the_likeliest_share(kind):
    shares = np.array([0.0, *(10 ** (-4 + 0.2 * np.arange(26)))])
    seen = set()
    for seed in range(12):
        y = problem(seed, kind)[1]
        factor, dense = both(seed, kind)
        plain = fit_head(factor, 0, "discrepancy")
        if plain.mu == 0:
            assert with_trust(plain, block(factor, y)) is plain
            continue
        head = with_trust(plain, block(factor, y, 0.01))
        h = dense.leverage(plain.mu)
        errors, shape = dense.errors(plain.mu), h / (1 - h) + plain.mu * 0.01
        found = [dense.deviance(errors, shape, share) for share in shares]
        assert dense.deviance(errors, shape, head.trust) <= min(found) + 1e-9
        assert np.abs(shares - head.trust).min() < 1e-12
        seen.add(head.trust)
    assert len(seen) > 1


def noisy(seed, kind):
    """A head whose residuals grow along a column, or not, at a share of 0.3; all rows, and the regression of their logs."""
    rng = np.random.default_rng([seed, len(kind)])
    n, d = (9, 12) if kind == "wide" else (25, 1 if kind == "single" else 3)
    X = rng.standard_normal((n, d))
    grows = np.exp(rng.choice([0.0, 0.5, 2.0]) * X[:, 0])
    y = (X[:, :2].sum(1) + grows * rng.standard_normal(n))[:, None]
    w = rng.integers(1, 4, n).astype(float) if kind == "weighted" else None
    columns = "raw" if kind == "raw" else "standardized"
    factor, dense = factor_rows(X, y, w, columns), Dense.of(X, y[:, 0], w, columns)
    head = replace(fit_head(factor, 0, "cv"), trust=0.3)
    if kind == "wide":  # hardly a degree of freedom is left
        head = replace(head, mu=3e4, coef=dense.coef(3e4))
    if head.mu == 0:
        return dense, head, block(factor, y), None, None
    logs = dense.logs(head.mu, 0.3, 0.02)
    second = Dense(dense.A, logs - np.average(logs, weights=dense.w), dense.w, 0.0)
    return dense, head, block(factor, y, 0.02), second, [second.generalised(mu) for mu in second.nodes()]


@pytest.mark.parametrize("kind", ["plain", "weighted", "raw", "single", "wide"])
def test_the_local_scale_is_a_ridge_regression_of_log_residuals(kind):
    """In two blocks: chosen by generalised cross-validation, kept when it is worth 2 %, and cut at 2.5 typical sizes or 1.5."""
    kept, near = 0, 1e-3 if kind == "wide" else 1e-6
    for seed in range(12):
        dense, plain, whole, second, losses = noisy(seed, kind)
        head = with_local_scale(plain, [tuple(v[:7] for v in whole), tuple(v[7:] for v in whole)])
        if second is None or min(losses) > 0.98 * losses[0]:
            assert head is plain
            np.testing.assert_array_equal(head.local_scale(whole[0]), np.ones(len(whole[0])))
            continue
        kept += 1
        slope = second.coef(second.nodes()[int(np.argmin(losses))])
        np.testing.assert_allclose(head.log_scale, slope, rtol=near, atol=near / 100)
        reach = min(2.5 * np.sqrt(np.average((second.A @ slope) ** 2, weights=dense.w)), 1.5)
        np.testing.assert_allclose(head.log_reach, reach, rtol=near)
        want = np.exp(np.clip(5 * dense.A @ slope, -reach, reach))
        np.testing.assert_allclose(head.local_scale(5 * dense.A), want, rtol=10 * near)
    assert kept > 2


def test_a_local_scale_is_worth_it_beside_no_scale_at_all(monkeypatch):
    _, plain, whole, _, losses = noisy(1, "single")
    ratio = min(losses) / losses[0]
    for worth, kept in ((ratio * (1 - 1e-6), False), (ratio * (1 + 1e-6), True)):
        monkeypatch.setattr(module, "WORTH", worth)
        assert (with_local_scale(plain, [whole]) is not plain) == kept


def test_a_local_scale_of_just_that_worth_is_kept(monkeypatch):
    """The second node has exactly 0.98 of the error of a constant, all others as much as it."""
    _, plain, whole, _, _ = noisy(1, "single")
    monkeypatch.setattr(module, "_generalised", lambda _, mus, *__: np.where(np.arange(len(mus)) == 1, 0.98, 1.0))
    assert with_local_scale(plain, [whole]).log_scale is not None

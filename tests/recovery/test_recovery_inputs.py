"""Bad input gets a named error that says what and where; singular problems are handled on purpose."""

import doctest
import importlib
import subprocess
import sys

import numpy as np
import pytest

from orledger.errors import OrledgerError
from orledger.recovery import (
    EmptySetError,
    GramError,
    InputError,
    SingularGramError,
    Spectral,
    conformal_radius,
    flatness_bound,
    gaussian_truth_coverage,
    global_radius,
    kappa_invariance,
    lcurve_corner,
    local_interval,
    matched_mu,
    minimise,
    occam,
    radius_values,
)

EYE = np.eye(3)


def calibrated(**options):
    spec = Spectral.from_features(EYE, np.ones(3))
    return conformal_radius(spec, spec.project(EYE), np.ones(3), 0.1, **options)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Spectral.from_features(np.full((2, 2), np.nan), np.ones(2)), InputError, "Phi has 4 non-finite"),
        (lambda: Spectral.from_features(np.eye(2), [1.0, np.inf]), InputError, r"y has 1 non-finite.*index \(1,\)"),
        (lambda: Spectral.from_features(np.eye(2), np.ones(3)), InputError, "2 rows and y has 3"),
        (lambda: Spectral.from_features(np.ones(2), np.ones(2)), InputError, "Phi has shape"),
        (lambda: Spectral.from_features(np.ones((0, 2)), np.ones(0)), InputError, "nothing to recover"),
        (lambda: Spectral.from_features([["a"]], [1.0]), InputError, "not numeric"),
        (lambda: Spectral.from_gram(EYE, np.ones(2)), InputError, r"G must be \(2, 2\)"),
        (lambda: Spectral.from_gram(np.ones((0, 0)), np.ones(0)), InputError, "y is empty"),
        (lambda: Spectral.from_gram(EYE + np.eye(3, k=1), np.ones(3)), GramError, "not symmetric"),
        (lambda: Spectral.from_gram(-EYE, np.ones(3)), GramError, "negative eigenvalue"),
        (lambda: Spectral.from_gram(np.ones((3, 3)), np.ones(3), singular="raise"), SingularGramError, "singular"),
        (lambda: Spectral.from_gram(np.ones((3, 3)), [1.0, 2.0, 3.0], exact=[0, 1]), SingularGramError, "contradict"),
        (lambda: Spectral.from_features(np.ones((3, 2)), [1.0, 2.0, 3.0], exact=[0, 1]), SingularGramError, "contradict"),
        (lambda: Spectral.from_gram(EYE, np.ones(3), exact=[7]), InputError, "outside the 3 rows"),
        (lambda: Spectral.from_gram(EYE, np.ones(3), exact=np.ones(2, bool)), InputError, "mask has shape"),
        (lambda: Spectral.from_gram(EYE, np.ones(3)).project(EYE), InputError, "needs project"),
        (lambda: Spectral.from_gram(EYE, np.ones(3)).project(EYE, np.ones(2)), InputError, "b has shape"),
        (lambda: Spectral.from_gram(EYE, np.ones(3)).project(2 * EYE, np.ones(3)), InputError, "not inner products"),
        (lambda: Spectral.from_features(EYE, np.ones(3)).project(np.ones((2, 4))), InputError, "3 columns"),
        (lambda: Spectral.from_features(EYE, np.ones(3)).project(EYE, np.ones(3)), InputError, "without kxx"),
        (lambda: Spectral.from_features([["1"]], [1.0]), InputError, "not numeric"),
        (lambda: Spectral.from_features(EYE.astype("m8[s]"), np.ones(3)), InputError, "not numeric"),
        (lambda: Spectral.from_gram(EYE, np.ones(3), rank_tol="a"), InputError, "one real number"),
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), "0.1"), InputError, "eta = '0.1'; one real number"),
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), 1 + 1j), InputError, "one real number"),
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), [0.1, 0.2]), InputError, "one real number"),
        (lambda: radius_values(-np.ones(3), np.ones((1, 3)), np.ones(1), 1.0, 0.1), GramError, "negative eigenvalue -1"),
        (lambda: radius_values(np.ones(3), np.ones((1, 3)), -np.ones(1), 1.0, 0.1), InputError, "both are squares"),
        (lambda: calibrated(level="x"), InputError, "level = 'x'; a fraction"),
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), -1.0), InputError, "eta = -1"),
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), np.nan), InputError, "eta = nan"),
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), 1e-200), InputError, "between 1e-75 and 1e75"),
        (lambda: Spectral.from_features(EYE, 1e-200 * np.ones(3)), InputError, "largest entry of y is 1e-200"),
        (lambda: Spectral.from_features(1e200 * EYE, np.ones(3)), InputError, "largest entry of Phi is 1e.200"),
        (lambda: Spectral.from_gram(1e-200 * EYE, np.ones(3)), InputError, "largest entry of G"),
        (lambda: Spectral.from_features(EYE, np.ones(3)).project(1e200 * EYE), InputError, "largest entry of C"),
        (lambda: Spectral.from_gram(EYE, np.ones(3)).project(1e200 * EYE, 1e200 * np.ones(3)), InputError, "entry of b"),
        (lambda: Spectral.from_gram(EYE, np.ones(3), singular="foo"), InputError, "singular = 'foo'"),
        (lambda: Spectral.from_gram(EYE, np.ones(3), rank_tol=np.nan), InputError, "rank_tol = nan"),
        (lambda: Spectral.from_features(EYE, np.ones(3), rank_tol=-1), InputError, "rank_tol = -1"),
        (lambda: Spectral.from_features(EYE, np.ones(3), exact=[0.5]), InputError, r"exact = \[0.5\] is neither"),
        (lambda: Spectral.from_gram(EYE, np.ones(3), exact=[[0, 1]]), InputError, "neither a boolean mask"),
        (lambda: Spectral.from_features(EYE * 1j, np.ones(3)), InputError, "Phi is complex"),
        (lambda: Spectral.from_gram(EYE, np.ones(3) + 0j), InputError, "y is complex"),
        (lambda: gaussian_truth_coverage(0.9, np.nan, 1.0), InputError, "sigma = nan"),
        (lambda: gaussian_truth_coverage(0.9, -1.0, 1.0), InputError, "sigma = -1"),
        (lambda: radius_values(np.ones(3), np.ones((2, 3)), 5 * np.ones(2), -1.0, 0.1), InputError, "eps = -1"),
        (lambda: radius_values(np.ones(3), np.ones((2, 2)), 5 * np.ones(2), 1.0, 0.1), InputError, "beta2 has shape"),
        (lambda: radius_values(np.array([1.0, np.nan]), np.ones((2, 2)), np.ones(2), 1.0, 0.1), InputError, "w has 1"),
        (lambda: matched_mu(Spectral.from_features(EYE, np.ones(3)), [np.nan]), InputError, "misfits has 1 non-finite"),
        (lambda: matched_mu(Spectral.from_features(EYE, np.ones(3)), [-1.0]), InputError, "negative value"),
        (lambda: minimise(Spectral.from_features(EYE, np.ones(3)), "gcv", bounds=(1.0, 0.1)), InputError, "bounds = "),
        (lambda: flatness_bound(np.nan, 1.0, 1.0, 2, 0.5, 0.1), InputError, "eps = nan"),
        (lambda: kappa_invariance(np.ones(3), np.ones(3), np.nan, 1.0), InputError, "kappa = nan"),
        (lambda: lcurve_corner([1.0, np.nan, 2.0], np.ones(3), scale="linear"), InputError, "misfit has 1 non-finite"),
    ],
)  # fmt: skip
def test_named_errors(call, error, text):
    with pytest.raises(error, match=text) as seen:
        call()
    assert isinstance(seen.value, OrledgerError)


def test_negative_or_unknown_settings_of_the_radius():
    spec = Spectral.from_features(EYE, np.ones(3))
    with pytest.raises(InputError, match="eps = -2"):
        global_radius(spec, spec.project(EYE), -2, 1)
    with pytest.raises(InputError, match="method = 'fast'"):
        global_radius(spec, spec.project(EYE), 1, 1, method="fast")
    with pytest.raises(EmptySetError, match="below the Occam radius"):
        local_interval(spec, spec.project(EYE), 0.1, 0.5)


def test_a_grid_of_inflations_in_any_order_and_no_empty_one():
    """A descending grid has the same last value as an ascending one: its largest."""
    rng = np.random.default_rng(0)
    X, C, y_cal = rng.standard_normal((5, 8)), rng.standard_normal((20, 8)), 3 * rng.standard_normal(20)
    spec = Spectral.from_features(X, X @ np.ones(8))
    proj, eta = spec.project(C), 0.3
    up, down = (
        conformal_radius(spec, proj, y_cal, eta, method="grid", grid=g) for g in ((1.1, 2.0, 4.0), (4.0, 2.0, 1.1))
    )
    assert (up.kappa, up.q_add, up.kappa_star) == (down.kappa, down.q_add, down.kappa_star)
    assert up.kappa == 4.0
    for grid in ((), (0.5, 2.0), (1.1, np.nan)):
        with pytest.raises(InputError, match="grid"):
            conformal_radius(spec, proj, y_cal, eta, method="grid", grid=grid)
    for cap in (0.5, np.nan):
        with pytest.raises(InputError, match="kappa_cap"):
            conformal_radius(spec, proj, y_cal, eta, kappa_cap=cap)
    with pytest.raises(InputError, match=r"grid = \(12, -12, 97\)"):
        global_radius(spec, proj, 1.0, eta, method="grid97", grid=(12, -12, 97))


@pytest.mark.parametrize("power", [-40, -20, 20, 40])
def test_units_do_not_matter_as_far_as_they_are_accepted(power):
    """y, eta and rho times 10^p: intervals times 10^p; Phi times 10^p with rho over 10^p: the same intervals."""
    rng = np.random.default_rng(3)
    Phi, y, C, unit = rng.standard_normal((6, 9)), rng.standard_normal(6), rng.standard_normal((4, 9)), 10.0**power
    plain = Spectral.from_features(Phi, y)
    want = local_interval(plain, plain.project(C), 1.3 * occam(plain, 0.5).rho, 0.5)
    for p, v, c, factor in ((Phi, y * unit, C, unit), (Phi * unit, y, C * unit, 1.0), (Phi, y, C * unit, unit)):
        spec = Spectral.from_features(p, v)
        eta = 0.5 * (unit if v is not y else 1.0)
        got = local_interval(spec, spec.project(c), 1.3 * occam(spec, eta).rho, eta)
        np.testing.assert_allclose(got.lower, want.lower * factor, rtol=1e-9)
        np.testing.assert_allclose(got.half, want.half * factor, rtol=1e-9)
        assert (got.gap_rel < 1e-9).all()


def test_repeated_rows_with_different_data_are_refused_in_both_forms():
    """The same row observed as 0 and 2 has best misfit sqrt(2), from features and from the singular Gram matrix alike."""
    Phi, y = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]), np.array([0.0, 2.0, 1.0])
    for spec in (Spectral.from_features(Phi, y), Spectral.from_gram(Phi @ Phi.T, y)):
        assert spec.best_misfit == pytest.approx(np.sqrt(2), rel=1e-12)
        refused = occam(spec, 1.4)
        assert refused.refused
        assert refused.margin == pytest.approx(1.4 - np.sqrt(2), rel=1e-9)
        assert np.isnan(refused.rho)
        with pytest.raises(EmptySetError) as err:
            refused.require()
        assert err.value.margin == refused.margin
        assert not occam(spec, 1.42).refused


def test_a_zero_functional_and_a_zero_operator():
    spec = Spectral.from_features(EYE, np.ones(3))
    band = local_interval(spec, spec.project(np.zeros((1, 3))), 5.0, 0.5)
    assert band.half[0] == pytest.approx(0.0, abs=1e-70)
    blind = Spectral.from_features(np.zeros((2, 3)), np.array([0.1, 0.1]))
    proj = blind.project(np.array([[3.0, 4.0, 0.0]]))
    assert occam(blind, 0.1).refused
    assert local_interval(blind, proj, 2.0, 0.2).half[0] == pytest.approx(10.0)
    assert global_radius(blind, proj, 2.0, 0.2).radius[0] == pytest.approx(10.0)


def test_all_rows_exact():
    """With every row exact nothing noisy is left: the interval is the eta = 0 one, whatever eta is."""
    rng = np.random.default_rng(0)
    Phi, theta, C = rng.standard_normal((3, 6)), rng.standard_normal(6), rng.standard_normal((4, 6))
    y = Phi @ theta
    plain = Spectral.from_features(Phi, y)
    rho = 1.3 * occam(plain, 0.0).rho
    want = local_interval(plain, plain.project(C), rho, 0.0)
    features = Spectral.from_features(Phi, y, exact=np.ones(3, bool))
    kernel = Spectral.from_gram(Phi @ Phi.T, y, exact=[0, 1, 2])
    for spec, proj in ((features, features.project(C)), (kernel, kernel.project(Phi @ C.T, (C * C).sum(1)))):
        assert occam(spec, 0.4).rho == pytest.approx(rho / 1.3, rel=1e-9)
        got = local_interval(spec, proj, rho, 0.4)
        np.testing.assert_allclose(got.mid, want.mid, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(got.half, want.half, rtol=1e-8)


def test_no_points_gives_no_intervals():
    spec = Spectral.from_features(EYE, np.ones(3))
    assert local_interval(spec, spec.project(np.zeros((0, 3))), 5.0, 0.5).mid.shape == (0,)


def test_fast_radius_equals_the_certificate():
    rng = np.random.default_rng(1)
    Phi, C = rng.standard_normal((7, 12)), rng.standard_normal((50, 12))
    G, B, kxx = Phi @ Phi.T, Phi @ C.T, (C * C).sum(1)
    spec = Spectral.from_gram(G, np.ones(7))
    w, Q = np.linalg.eigh(G)
    for eps, eta in ((1.0, 0.3), (1.0, 0.0), (0.01, 50.0), (0.0, 1.0)):
        want = global_radius(spec, spec.project(B, kxx), eps, eta).radius
        np.testing.assert_allclose(radius_values(w, (B.T @ Q) ** 2, kxx, eps, eta), want, rtol=1e-9, atol=1e-12)


def test_the_package_imports_nothing_that_takes_time():
    code = "import sys, orledger.recovery; print(sorted({'torch', 'sklearn', 'scipy', 'polars', 'duckdb'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


@pytest.mark.parametrize("module", ["orledger.recovery", "orledger.recovery.regression.estimator"])
def test_documented_examples_run(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted >= 4
    assert found.failed == 0

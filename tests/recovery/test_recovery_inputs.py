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
    global_radius,
    local_interval,
    occam,
    radius_values,
)

EYE = np.eye(3)


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
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), -1.0), InputError, "eta = -1"),
        (lambda: occam(Spectral.from_features(EYE, np.ones(3)), np.nan), InputError, "eta = nan"),
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


def test_torch_is_not_imported_by_the_package():
    code = "import sys, orledger.recovery; print('torch' in sys.modules, 'sklearn' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]


@pytest.mark.parametrize("module", ["orledger.recovery", "orledger.recovery.estimator"])
def test_documented_examples_run(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted >= 4
    assert found.failed == 0

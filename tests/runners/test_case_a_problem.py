"""Case A's data, operators and linearisation, against hand counts, finite differences and published constants."""

import numpy as np
import pytest

from orledger.errors import UsageError
from orledger.runners.case_a.kernel import FactorOperators, se
from orledger.runners.case_a.linearisation import Rows
from orledger.runners.case_a.names import FORCING_NAMES
from orledger.runners.case_a.problem import FORCINGS, boundary, collocation, draw, evaluation, ulp_perturbed

LOG_LENGTH = -2.311


@pytest.mark.parametrize(("n", "std", "edge"), [(24, 678.4431, 92), (16, 692.0062, 60)])
def test_forcing_scale_and_boundary_count_are_the_published_ones(n, std, edge):
    data = draw("two_sines", n, 1e-3, 1, "per_seed")
    assert round(data.std_f, 4) == std
    points = boundary(n)
    assert points.shape == (edge, 2)
    assert len({tuple(p) for p in points}) == edge
    assert np.isin(points, (0.0, 1.0)).any(axis=1).all()
    assert collocation(n).shape == (n * n, 2)


def test_budget_at_one_in_a_thousand_is_the_published_one():
    data = draw("two_sines", 24, 1e-3, 1, "per_seed")
    assert round(data.eta, 4) == 16.2826
    assert data.eta == data.sigma * np.sqrt(24 * 24)


@pytest.mark.parametrize("name", FORCING_NAMES)
def test_closed_form_laplacian_matches_differences_and_solution_vanishes_on_the_boundary(name):
    forcing = FORCINGS[name]
    x, y = np.random.default_rng(0).uniform(0.05, 0.95, (2, 50))
    h, u = 1e-3, forcing.solution
    weights = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
    lap = sum(w * (u(x + k * h, y) + u(x, y + k * h)) for k, w in weights.items()) / h**2
    np.testing.assert_allclose(forcing.minus_laplacian(x, y), -lap, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(forcing(x, y), -lap + u(x, y) ** 3, rtol=1e-5, atol=1e-4)
    edge = boundary(20)
    np.testing.assert_allclose(u(edge[:, 0], edge[:, 1]), 0, atol=1e-13)


def test_forcing_names_agree_with_the_forcings():
    assert tuple(FORCINGS) == FORCING_NAMES


def test_noise_streams_share_or_separate_levels_as_named():
    per_seed = [draw("two_sines", 16, level, 3, "per_seed") for level in (1e-3, 1e-2)]
    np.testing.assert_allclose(per_seed[1].noise, 10 * per_seed[0].noise, rtol=1e-12)
    per_cell = [draw("two_sines", 16, level, 3, "per_cell") for level in (1e-3, 1e-2)]
    assert abs(np.corrcoef(per_cell[0].noise.ravel(), per_cell[1].noise.ravel())[0, 1]) < 0.3
    assert not draw("two_sines", 16, 0.0, 3, "per_seed").noise.any()
    with pytest.raises(UsageError, match="unknown forcing"):
        draw("three_sines", 16, 0.0, 1, "per_seed")


def test_ulp_perturbation_moves_every_entry_to_a_neighbour_in_both_directions():
    values = draw("two_sines", 16, 0.0, 1, "per_seed").values
    moved = ulp_perturbed(values, 0)
    np.testing.assert_array_equal(np.abs(moved - values), np.spacing(np.minimum(np.abs(values), np.abs(moved))))
    assert {-1.0, 1.0} == set(np.sign(moved - values).ravel())
    assert (ulp_perturbed(values, 1) != moved).any()


def test_kernel_derivatives_match_differences():
    a, b, length, h = np.linspace(0, 1, 7), np.linspace(0.1, 0.8, 5), 0.3, 1e-3
    k, k2, k4 = se(a, b, length)
    stencil = (-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12)
    for which, derivative, scale in ((0, k2, 11.0), (1, k4, 600.0)):
        numeric = sum(w * se(a + j * h, b, length)[which] for j, w in zip(range(-2, 3), stencil, strict=True)) / h**2
        np.testing.assert_allclose(derivative, numeric, atol=1e-7 * scale)
    assert k.max() <= 1


def test_whitened_operators_are_the_conditional_mean_and_its_penalty():
    ops = FactorOperators.build(6, 8, -1.0, 12.0, 9)
    Z, length = np.linspace(0, 1, 8), np.exp(-1.0)
    K = se(Z, Z, length)[0] + np.exp(-12.0) * np.eye(8)
    H = np.random.default_rng(1).random((8, 3))
    eta = ops.whiten(H)
    t = np.linspace(0, 1, 8)[1:-1]
    np.testing.assert_allclose(ops.value @ eta, se(t, Z, length)[0] @ np.linalg.solve(K, H), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ops.second @ eta, se(t, Z, length)[1] @ np.linalg.solve(K, H), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((eta**2).sum(), np.trace(H.T @ np.linalg.solve(K, H)), rtol=1e-6)


def test_gram_matrix_is_that_of_the_rows_applied_to_the_kernel_by_differences():
    """Applies -Lap + 3 u^2 and point evaluation to both arguments of the kernel by finite differences."""
    n, h = 4, 2e-3
    rows = Rows.build(n, -1.0)
    u = np.random.default_rng(2).standard_normal((n, n))
    data = np.random.default_rng(3).standard_normal((n, n))
    lin = rows.at(u, data)
    C, D = collocation(n), boundary(n)
    steps = [(0, 0)] + [(k * h, 0) for k in (-2, -1, 1, 2)] + [(0, k * h) for k in (-2, -1, 1, 2)]
    side = [1 / 12 / h**2, -4 / 3 / h**2, -4 / 3 / h**2, 1 / 12 / h**2]
    weights = np.array([5.0 / h**2, *side, *side])
    nodes = np.vstack([(C[:, None, :] + np.array(steps)).reshape(-1, 2), D])
    apply = np.zeros((len(C) + len(D), len(nodes)))
    for i in range(len(C)):
        apply[i, 9 * i : 9 * i + 9] = weights
        apply[i, 9 * i] += 3 * u.ravel()[i] ** 2
    apply[len(C) :, 9 * len(C) :] = np.eye(len(D))
    d2 = ((nodes[:, None, :] - nodes[None, :, :]) ** 2).sum(-1)
    K = np.exp(-d2 / 2 / np.exp(-1.0) ** 2)
    np.testing.assert_allclose(lin.G, apply @ K @ apply.T, atol=2e-4 * np.abs(lin.G).max())
    points = evaluation(3, 0.1, 0.9)
    b, kxx = lin.functionals(points)
    cross = np.exp(-((nodes[:, None, :] - points[None, :, :]) ** 2).sum(-1) / 2 / np.exp(-1.0) ** 2)
    np.testing.assert_allclose(b, apply @ cross, atol=1e-5 * np.abs(b).max())
    assert (kxx == 1).all()
    np.testing.assert_array_equal(lin.z, np.concatenate([data.ravel() + 2 * u.ravel() ** 3, np.zeros(len(D))]))
    assert rows.exact.sum() == len(D)


def test_exact_solution_satisfies_its_own_linearisation():
    """At u = u* the true solution has data z exactly: the Newton rows of u* reproduce f + 2 u*^3."""
    n = 16
    data = draw("two_sines", n, 0.0, 1, "per_seed")
    points = collocation(n)
    u = data.truth(points).reshape(n, n)
    lin = Rows.build(n, LOG_LENGTH).at(u, data.values)
    expected = data.forcing.minus_laplacian(points[:, 0], points[:, 1]) + 3 * u.ravel() ** 3
    np.testing.assert_allclose(lin.z[: n * n], expected, rtol=1e-12, atol=1e-9)


def test_discrepancy_and_gcv_on_a_linearisation_agree_with_pytikhonov():
    pytikhonov = pytest.importorskip("pytikhonov")
    from orledger.recovery import discrepancy, gcv, minimise

    n = 8
    data = draw("two_sines", n, 1e-2, 1, "per_seed")
    u = data.truth(collocation(n)).reshape(n, n)
    lin = Rows.build(n, -1.5).at(u, data.values)
    spec = lin.spectral()
    w, Q = np.linalg.eigh(lin.G)
    root = Q * np.sqrt(np.maximum(w, 0))
    family = pytikhonov.TikhonovFamily(root, np.eye(len(w)), lin.z)
    peer = pytikhonov.discrepancy_principle(family, delta=data.eta, tau=1.0)
    assert discrepancy(spec, data.eta).nugget == pytest.approx(peer["opt_lambdah"], rel=1e-5)
    found, peer = minimise(spec, "gcv"), pytikhonov.gcvmin(family)
    theirs = float(gcv(spec, np.array(1 / peer["opt_lambdah"])))
    assert found.value == pytest.approx(theirs, rel=1e-3)

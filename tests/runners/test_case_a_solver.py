"""The tensor-GP solver against dense least squares, an independent full-kernel Newton solve, and published values."""

import numpy as np
import pytest
import torch

from orledger.errors import UsageError
from orledger.runners.case_a.kernel import FactorOperators, se
from orledger.runners.case_a.normal import NormalEquations
from orledger.runners.case_a.plan import SETTINGS
from orledger.runners.case_a.problem import boundary, collocation, draw
from orledger.runners.case_a.solver import Model, solve

DEFAULTS = {s.name: s.default for s in SETTINGS}
GRID = DEFAULTS["lam2_grid"]


def model(n, **changes):
    return Model.of({**DEFAULTS, "inducing": DEFAULTS["inducing"].get(str(n), n + 3), **changes}, n)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def dense_update(factor, H, f, lam1, lam2, length, jitter, power):
    """One factor's update from the design matrix, point by point, in the values at the inducing points."""
    n, (M, R) = f.shape[0], H[0].shape
    Z = np.linspace(0, 1, M)
    Kinv = np.linalg.inv(se(Z, Z, length)[0] + np.exp(-jitter) * np.eye(M))
    C, B = collocation(n), boundary(n)
    value = [se(C[:, j], Z, length)[0] @ Kinv for j in (0, 1)]
    second = [se(C[:, j], Z, length)[1] @ Kinv for j in (0, 1)]
    edge = [se(B[:, j], Z, length)[0] @ Kinv for j in (0, 1)]
    u = ((value[0] @ H[0]) * (value[1] @ H[1])).sum(1)
    j, o = factor, 1 - factor
    h, h2 = value[o] @ H[o], second[o] @ H[o]
    c = power * u**2
    design = np.array([np.kron(value[j][i], c[i] * h[i] - h2[i]) - np.kron(second[j][i], h[i]) for i in range(len(C))])
    walls = np.array([np.kron(edge[j][i], (edge[o] @ H[o])[i]) for i in range(len(B))])
    penalty = np.linalg.cholesky(np.kron(Kinv, np.eye(R))).T
    stacked = np.vstack([np.sqrt(lam2) * design, np.sqrt(lam1) * walls, penalty])
    right = np.concatenate([np.sqrt(lam2) * (f.ravel() + (power - 1) * u**3), np.zeros(len(walls) + M * R)])
    return np.linalg.lstsq(stacked, right, rcond=None)[0].reshape(M, R)


@pytest.mark.parametrize("factor", [0, 1])
@pytest.mark.parametrize(("linearisation", "power"), [("newton", 3), ("frozen", 1)])
def test_structured_update_is_the_dense_least_squares_solution(factor, linearisation, power):
    """Short kernel, so that the dense reference in inducing values is itself accurate."""
    n, M, R, length, jitter, lam1, lam2 = 5, 8, 3, 0.15, 12.0, 50.0, (3.0, 0.2)
    rng = np.random.default_rng(4)
    f = rng.standard_normal((n, n)) * 10
    H = [rng.random((M, R)) for _ in range(2)]
    ops = FactorOperators.build(n, M, float(np.log(length)), jitter, 7)
    eqs = NormalEquations(ops, R, lam1, 2, linearisation=linearisation)
    eta = [torch.as_tensor(ops.whiten(h).T.copy()).expand(2, -1, -1).contiguous() for h in H]
    data = torch.as_tensor(f if factor == 0 else f.T.copy())
    weights, new = torch.tensor(lam2, dtype=torch.float64)[:, None, None], torch.empty_like(eta[factor])
    eqs.update(factor, eta[factor], eta[1 - factor], weights, data, new)
    assert (eqs.info == 0).all()
    for b, weight in enumerate(lam2):
        expected = dense_update(factor, H, f, lam1, weight, length, jitter, power)
        np.testing.assert_allclose(ops.chol @ new[b].numpy().T, expected, rtol=1e-6, atol=1e-8)


def full_kernel_newton(n, length, f, lam1, lam2):
    """GP collocation with the full product kernel and the same weights as nuggets: no factors, no inducing points."""
    C, D = collocation(n), boundary(n)

    def k(P, Q, order):
        d = (P[:, None, :] - Q[None, :, :]) ** 2 / length**2
        e, h2, h4 = np.exp(-d.sum(-1) / 2), (d - 1) / length**2, (d**2 - 6 * d + 3) / length**4
        return e * (1 if order == 0 else h2.sum(-1) if order == 1 else h4.sum(-1) + 2 * h2[..., 0] * h2[..., 1])

    k0, k1, k2 = (k(C, C, order) for order in range(3))
    e0, e1, dd = k(C, D, 0), k(C, D, 1), k(D, D, 0)
    nugget = np.concatenate([np.full(len(C), 1 / lam2), np.full(len(D), 1 / lam1)])
    u = np.zeros(len(C))
    for _ in range(20):
        a = 3 * u**2
        top = np.hstack([k2 - a[:, None] * k1 - k1 * a + a[:, None] * k0 * a, a[:, None] * e0 - e1])
        G = np.vstack([top, np.hstack([top[:, len(C) :].T, dd])])
        alpha = np.linalg.solve(G + np.diag(nugget), np.concatenate([f.ravel() + 2 * u**3, np.zeros(len(D))]))
        new = (k0 * a - k1) @ alpha[: len(C)] + e0 @ alpha[len(C) :]
        step, u = np.abs(new - u).max(), new
        if step < 1e-6:
            return u.reshape(n, n)
    raise AssertionError(f"the reference did not converge: last step {step}")


@pytest.mark.parametrize("level", [0.0, 1e-3])
def test_solution_agrees_with_full_kernel_newton_collocation(level):
    """The tensor penalty is not the RKHS norm, so the two minimisers differ, but by far less than the solution's size."""
    n, lam2 = 16, 0.5
    data = draw("two_sines", n, level, 1, "per_seed")
    reference = full_kernel_newton(n, np.exp(DEFAULTS["log_length"]), data.values, DEFAULTS["lam1"], lam2)
    found = solve(model(n), data, [lam2]).u[0]
    size = np.sqrt(np.mean(reference**2))
    assert np.sqrt(np.mean((found - reference) ** 2)) < 2e-3 * size
    frozen = solve(model(n, linearisation="frozen", epochs=30), data, [lam2]).u[0]
    assert np.sqrt(np.mean((frozen - found) ** 2)) > 1e-6  # the two linearisations are different iterations


def test_noise_free_error_and_morozov_path_at_the_released_grid():
    """RMSE 4.1e-4 at the released weight and the misfit order that makes it Morozov's choice without noise."""
    solves = solve(model(24), draw("two_sines", 24, 0.0, 1, "per_seed"), GRID)
    assert solves.rmse[0] == pytest.approx(4.1e-4, rel=0.05)
    assert np.argmin(solves.misfit) == 0
    assert (np.diff(solves.misfit) > 0).all()
    assert (solves.rmse_best <= solves.rmse).all()
    assert (solves.failed == 0).all()
    assert 24.9 < solves.norm[2] < 25.3  # the paper's Occam radius is 25.03


@pytest.mark.slow
def test_morozov_median_path_is_the_published_one():
    path = []
    for level in (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2):
        chosen = []
        for seed in (1, 2, 3):
            data = draw("two_sines", 24, level, seed, "per_seed")
            solves = solve(model(24), data, GRID)
            chosen.append(GRID[int(np.argmin(np.abs(solves.misfit - data.eta)))])
        path.append(np.median(chosen))
    assert path == [14900.0, 5.0, 0.5, 0.05, 0.005, 0.005]


def test_initial_factors_are_the_legacy_uniform_stream():
    """First two numbers of NumPy's Mersenne Twister at seed 0, as printed in its documentation for decades."""
    first, second = model(24).initial()
    np.testing.assert_allclose(first[0, :2], [0.5488135, 0.71518937], atol=1e-8)
    assert first.shape == second.shape == (30, 10)
    assert not np.allclose(first, second)


@pytest.mark.parametrize("n", [16, 24])
def test_a_runs_numbers_do_not_depend_on_its_company(n):
    """Alone, among seven, among fourteen and repeated: the same bits (on a CPU with one thread)."""
    data, few = draw("two_sines", n, 1e-3, 1, "per_seed"), model(n, epochs=6)
    seven, again, more = solve(few, data, GRID), solve(few, data, GRID), solve(few, data, [1.0, *GRID, *GRID[:6]])
    for field in ("rmse", "rmse_best", "misfit", "norm", "u"):
        reference = getattr(seven, field)
        np.testing.assert_array_equal(getattr(again, field), reference)
        np.testing.assert_array_equal(getattr(more, field)[1:8], reference)
        for i in (0, 3, 6):
            np.testing.assert_array_equal(getattr(solve(few, data, [GRID[i]]), field)[0], reference[i])


def test_a_run_that_stops_is_frozen_and_leaves_the_others_alone():
    """With a loose tolerance the runs stop at different epochs; each must equal the same run cut off at that epoch."""
    data = draw("two_sines", 16, 1e-3, 1, "per_seed")
    loose = solve(model(16, tol=0.2, epochs=40), data, GRID)
    assert loose.converged.any()
    assert len(set(loose.epochs)) > 1
    for i in np.flatnonzero(loose.converged):
        cut = solve(model(16, tol=0.0, epochs=int(loose.epochs[i])), data, GRID)
        np.testing.assert_array_equal(cut.u[i], loose.u[i])
        assert cut.rmse[i] == loose.rmse[i]


def test_single_precision_solves_run_and_pure_single_precision_is_refused():
    data = draw("two_sines", 16, 1e-3, 1, "per_seed")
    double, single = (solve(model(16, epochs=40), data, GRID, precision=p) for p in ("float64", "float32"))
    assert (double.failed == 0).all()
    ran = single.failed == 0
    assert ran[-2:].all()
    np.testing.assert_allclose(single.rmse[-2:], double.rmse[-2:], rtol=3e-3)
    assert (single.rmse != double.rmse).all()
    assert (np.isfinite(single.rmse) == ran).all()  # the heavier weights run or fail with the processor's rounding
    pure = solve(model(16, epochs=3), data, GRID, precision="float32_normal")
    assert len(pure.ok) == 0
    with pytest.raises(UsageError, match="unknown precision"):
        solve(model(16), data, GRID, precision="float16")


def test_a_forcing_beyond_the_range_of_numbers_fails_without_raising():
    data = draw("two_sines", 16, 1e-3, 1, "per_seed")
    solves = solve(model(16, epochs=3), data, GRID, values=data.values * 1e200)
    assert len(solves.ok) == 0
    assert (solves.failed >= 1).all()

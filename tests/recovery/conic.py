"""Reference intervals from cvxpy with Clarabel, and the random and degenerate instances they are compared on."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9, "max_iter": 400}


@dataclass(frozen=True)
class Instance:
    Phi: np.ndarray
    y: np.ndarray
    c: np.ndarray
    eta: float
    inflation: float
    exact: np.ndarray | None = None


def reference(inst, rho):
    """(inf, sup, solved) of c . theta over the consistent set; the value None stands for an infeasible set.

    The noise ball is written through a QR factor of [Phi y], which keeps the same set and spares the solver the part of
    the data that no theta can change; the norm ball has radius one.
    """
    Phi, y, c, eta = inst.Phi, inst.y, inst.c, inst.eta
    noisy = np.ones(len(y), bool) if inst.exact is None else ~inst.exact
    scale = rho if rho > 0 else 1.0
    x = cp.Variable(Phi.shape[1])
    rules = [cp.norm(x) <= rho / scale]
    if inst.exact is not None:
        rules.append(scale * Phi[inst.exact] @ x == y[inst.exact])
    if noisy.any():
        A, b = Phi[noisy], y[noisy]
        if eta == 0:
            rules.append(scale * A @ x == b)
        else:
            R = np.linalg.qr(np.column_stack([A, b]), mode="r")
            M, z = R[:, :-1], R[:, -1]
            r0 = abs(z[-1]) if len(z) > Phi.shape[1] else 0.0
            if len(z) > Phi.shape[1]:
                M, z = M[:-1], z[:-1]
            if r0 > eta:
                return None
            left = np.sqrt((eta - r0) * (eta + r0))
            rules.append(cp.norm(scale * M @ x / left - z / left) <= 1)
    edges, solved = [], True
    size = np.linalg.norm(c) or 1.0
    for sign in (-1, 1):
        problem = cp.Problem(cp.Maximize(sign * (c / size) @ x), rules)
        try:
            problem.solve(solver=cp.CLARABEL, **TIGHT)
        except cp.SolverError:
            return (np.nan, np.nan, False)
        if problem.status.startswith("infeasible"):
            return None
        solved &= problem.status == "optimal"
        edges.append(sign * problem.value * scale * size)
    return (*edges, solved)


def feasible(inst, rho):
    """Does the consistent set have an element? A conic feasibility problem on the raw rows, for refusals."""
    x = cp.Variable(inst.Phi.shape[1])
    problem = cp.Problem(cp.Minimize(cp.norm(inst.Phi @ x - inst.y)), [cp.norm(x) <= rho])
    problem.solve(solver=cp.CLARABEL, **TIGHT)
    return problem.value <= inst.eta


def least_norm(inst):
    """min |theta| over the data-consistent tube with the exact rows met."""
    x = cp.Variable(inst.Phi.shape[1])
    noisy = np.ones(len(inst.y), bool) if inst.exact is None else ~inst.exact
    rules = [cp.norm(inst.Phi[noisy] @ x - inst.y[noisy]) <= inst.eta]
    if inst.exact is not None:
        rules.append(inst.Phi[inst.exact] @ x == inst.y[inst.exact])
    return float(cp.Problem(cp.Minimize(cp.norm(x)), rules).solve(solver=cp.CLARABEL, **TIGHT))


def _best_misfit(Phi, y):
    return float(np.linalg.norm(y - Phi @ np.linalg.lstsq(Phi, y, rcond=None)[0]))


def _plain(rng, n, d, noise=0.5):
    Phi = rng.standard_normal((n, d))
    return Phi, Phi @ rng.standard_normal(d) + noise * rng.standard_normal(n), rng.standard_normal(d)


def make(kind, seed):
    """One instance of `kind`; every draw comes from the seed."""
    rng = np.random.default_rng([sum(map(ord, kind)), seed])
    inflation = float(rng.choice([1.02, 1.1, 1.5, 3.0]))
    n, d = int(rng.integers(4, 13)), int(rng.integers(3, 10))
    exact = None
    if kind == "wide":
        n, d = 5, 12
    if kind == "tall":
        n, d = 14, 4
    if kind == "one row":
        n = 1
    if kind == "one column":
        d = 1
    Phi, y, c = _plain(rng, n, d)
    if kind == "rank deficient":
        Phi[:, 0] = Phi[:, 1] - Phi[:, -1]
        y = Phi @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
    if kind == "null-space functional":
        Phi[:, -1] = 0.0
        c = np.eye(d)[-1]
    if kind == "scaled columns":
        Phi = Phi * 10.0 ** rng.uniform(-3, 3, d)
        y = Phi @ (rng.standard_normal(d) / np.linalg.norm(Phi, axis=0)) + 0.1 * rng.standard_normal(n)
    best = _best_misfit(Phi, y)
    eta = best + float(rng.uniform(0.02, 0.3)) * float(np.linalg.norm(y) - best)
    if kind == "exact data":
        Phi, _, c = _plain(rng, min(n, d), d)
        y, eta = Phi @ rng.standard_normal(d), 0.0
    if kind == "eta at the best misfit":
        Phi, y, c = _plain(rng, d + 4, d)
        eta = _best_misfit(Phi, y) * (1 + 10.0 ** rng.uniform(-6, -3))
    if kind == "exact rows":
        n, d = 9, 7
        Phi, y, c = _plain(rng, n, d)
        exact = np.zeros(n, bool)
        exact[rng.choice(n, 2, replace=False)] = True
        A, E = Phi[~exact], Phi[exact]
        p = np.linalg.lstsq(E, y[exact], rcond=None)[0]
        N = np.linalg.svd(E)[2][2:].T
        eta = _best_misfit(A @ N, y[~exact] - A @ p) * float(rng.uniform(1.02, 1.5))
    if kind == "noise larger than the data":
        eta = float(np.linalg.norm(y)) * 1.2
    return Instance(Phi, y, c, float(eta), inflation, exact)


KINDS = (
    "wide", "tall", "square-ish", "one row", "one column", "rank deficient", "null-space functional", "scaled columns",
    "exact data", "eta at the best misfit", "exact rows", "noise larger than the data",
)  # fmt: skip

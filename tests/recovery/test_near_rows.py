"""Rows next to each other, and what else rounding hides in a Gram matrix: nothing that it decides is resolved, against 800 bits."""

import mpmath
import numpy as np
import oracle
import pytest
from gram_problem import EPS, kernel

from orledger.recovery import RecoveryError, Spectral, global_radius, local_interval


def test_a_radius_whose_functional_the_rows_explain_beyond_its_norm_is_not_resolved():
    """One unit in the products of two near rows makes what they explain larger than the square, and the clipped rest hides it.

    The bound at mu = 1e8 of the problem that is meant is 1.0003, in 800 bits; the one of the Gram matrix is 2.2.
    """
    apart = (5 * EPS) ** 0.5
    Phi = np.diag([1, apart, 1] + [10.0**-i for i in range(1, 8)])
    Phi[1, 0] = 1.0
    c = np.zeros(10)
    c[1], c[2] = 1.0, 300.0
    G = Phi @ Phi.T
    G[:2, :2] += EPS * np.array([[-1, 1], [1, -1]])
    spec = Spectral.from_gram(G, np.ones(10))
    proj = spec.project((Phi @ c)[:, None], np.array([c @ c]))
    found = global_radius(spec, proj, 1.0, 1e-6)
    exact = oracle.Oracle.of_features(Phi, np.ones(10), c).radius(1.0, 1e-6)
    assert proj.c02[0] == 0
    assert exact == pytest.approx(1.0003, rel=1e-4)
    assert found.radius[0] > 2
    assert not found.resolved[0]
    assert found.radius[0] + found.allowance[0] >= exact


def test_what_is_known_of_a_functional_in_a_dropped_direction_moves_an_edge_by_itself():
    """A simplex of 300 rows: its zero eigenvalue may be 300 units, and b has as much along it as that allows.

    An element of the exact problem in closed form, drawn inside both balls by 1e-10, lies within what is stated.
    """
    n, rho = 300, 1.0
    one, v, lam = np.ones(n), np.zeros(n), mpmath.mpf(n * EPS)
    v[:2] = 2**-0.5, -(2**-0.5)
    G = np.eye(n) * (n / (n - 1)) - np.ones((n, n)) / (n - 1)
    y, eta, b = 0.01 * one + 0.5 * v, 1.05 * 0.01 * n**0.5, one * (0.99 * float(mpmath.sqrt(lam / n)))
    spec = Spectral.from_gram(G, y)
    band = local_interval(spec, spec.project(b[:, None], np.ones(1)), rho, eta)
    assert spec.dropped == 1
    with mpmath.workdps(50):
        top, s = mpmath.mpf(n) / (n - 1), mpmath.mpf(b[0]) * mpmath.sqrt(n) / mpmath.sqrt(lam)
        first, second = mpmath.mpf(0.01) * mpmath.sqrt(n), mpmath.mpf(0.5) * mpmath.sqrt(2) * mpmath.mpf(v[0])

        def element(mu):
            V, q = 1 - s * s * lam / (lam + 1 / mu), first**2 / (lam + 1 / mu) + second**2 / (top + 1 / mu)
            size = mpmath.sqrt((rho**2 + mu * mpmath.mpf(eta) ** 2 - q) / V)
            along = mpmath.sqrt(lam) * first / (lam + 1 / mu) + size * (s - s * lam / (lam + 1 / mu))
            return along, mpmath.sqrt(top) * second / (top + 1 / mu), size * mpmath.sqrt(1 - s * s)

        def misfit2(at):
            return (mpmath.sqrt(lam) * at[0] - first) ** 2 + (mpmath.sqrt(top) * at[1] - second) ** 2

        low, high = mpmath.mpf(1), mpmath.mpf(100)
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (middle, high) if misfit2(element(middle)) > mpmath.mpf(eta) ** 2 else (low, middle)
        inside = (0, mpmath.sqrt(top) * second / top, 0)
        at = [
            (1 - mpmath.mpf(10) ** -10) * x + mpmath.mpf(10) ** -10 * z
            for x, z in zip(element(high), inside, strict=True)
        ]
        assert sum(x * x for x in at) < rho**2
        assert misfit2(at) < mpmath.mpf(eta) ** 2
        value = s * at[0] + mpmath.sqrt(1 - s * s) * at[2]
        assert value > band.upper[0] + 1e-7
        assert value <= band.upper[0] + band.delta_num[0]


def near_rows(seed):
    """A random problem in which some rows lie 1e-1 to 1e-17 beside others: what the pairs say is a slope, or rounding."""
    rng = np.random.default_rng([77, seed])
    length = float(rng.choice([0.1, 0.2, 0.35, 0.6, 1.0]))
    x = list(rng.random(rng.integers(2, 6)) * rng.choice([1.0, 2.0]))
    x += [float(rng.choice(x)) + 10 ** -rng.uniform(1, 17) for _ in range(rng.integers(0, 4))]
    x = rng.permutation(x)
    exact = rng.random(len(x)) < rng.choice([0, 0, 0.3, 0.7])
    sigma = float(rng.choice([0, 1e-12, 1e-9, 1e-6, 1e-3, 1e-1])) or (1e-8 if exact.any() else 0.0)
    noise = np.where(exact, 0, sigma * rng.standard_normal(len(x)) * rng.choice([0, 1]))
    eta = sigma * float(rng.choice([0.3, 1, 3])) * len(x) ** 0.5
    points = np.concatenate([rng.random(2) * 1.5, [float(rng.choice(x)) + 10 ** -rng.uniform(0, 9)]])
    return x, np.sin(3 * x + 1) + noise, exact, eta, length, points, float(rng.choice([1.001, 1.05, 1.5, 5, 100]))


def check_near_rows(seed):
    """Whether intervals and radii were compared: those that are resolved are right, and all contain the exact ones."""
    x, y, exact, eta, length, points, ball = near_rows(seed)
    G, b = kernel(x, x, length), kernel(x, points, length)
    if len(np.unique(np.column_stack([G, b]), axis=0)) < len(x):
        return False  # equal to the last bit: one row, said twice
    try:
        spec = Spectral.from_gram(G, y, exact=exact if exact.any() else None)
        proj = spec.project(b, np.ones(3))
    except RecoveryError:
        return False
    where = tuple(np.flatnonzero(exact))
    problems = [oracle.Oracle.of_kernel(oracle.squared_exponential(length), x, y, p, where) for p in points]
    rho = ball * problems[0].occam(eta) or 1.0
    found = global_radius(spec, proj, rho, eta)
    radius = np.array([p.radius(rho, eta) if eta else rho * float(p.moments(None)[0].sqrt().mid()) for p in problems])
    assert (found.radius + found.allowance >= radius * (1 - 1e-12)).all()
    assert (np.abs(found.radius / radius - 1)[found.resolved] < 1e-3).all(), found.radius / radius
    try:
        band = local_interval(spec, proj, rho, eta)
    except RecoveryError:
        return False
    low, high = np.array([p.interval(rho, eta) for p in problems]).T
    assert (band.lower - band.delta_num <= low).all()
    assert (band.upper + band.delta_num >= high).all()
    half = (high - low) / 2
    assert (np.abs(band.half - half) <= 1e-3 * half)[band.resolved].all(), band.half / half
    return True


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_rows_next_to_each_other_decide_is_resolved(seed):
    check_near_rows(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(12))
def test_nothing_that_rows_next_to_each_other_decide_is_resolved_in_many_problems(block):
    assert sum(check_near_rows(seed) for seed in range(100 * block, 100 * block + 100)) > 60

"""Conditional intervals against cvxpy with Clarabel: 264 random and degenerate instances fast, more in the slow suite."""

import pytest

pytest.importorskip("cvxpy", reason="the extra bench has the solver")

import conic
import numpy as np

from orledger.recovery import EmptySetError, Spectral, global_radius, local_interval, occam, primal_elements

RELATIVE = 1e-7
FAST, SLOW = range(22), range(22, 122)


def _compare(kind, seeds):
    compared = 0
    for seed in seeds:
        inst = conic.make(kind, seed)
        spec = Spectral.from_features(inst.Phi, inst.y, exact=inst.exact)
        occ = occam(spec, inst.eta)
        assert not occ.refused, (kind, seed, occ)
        rho = occ.rho * inst.inflation if occ.rho > 0 else inst.inflation
        band = local_interval(spec, spec.project(inst.c[None, :]), rho, inst.eta)
        assert band.gap_rel[0] <= 1e-9, (kind, seed, band)
        found = conic.reference(inst, rho)
        if found is None or not found[2]:
            continue  # the solver gave up; the count below keeps such instances from being a silent majority
        low, high, _ = found
        size = max(abs(low), abs(high), high - low)
        over = np.array([high - band.upper[0], band.lower[0] - low]) / size
        # From inside: never below the supremum by more than the solver's own feasibility tolerance. From outside: tight.
        assert over.max() <= RELATIVE, (kind, seed, over)
        assert over.min() >= -RELATIVE, (kind, seed, over)
        compared += 1
    return compared


@pytest.mark.parametrize("kind", conic.KINDS)
def test_edges_agree_with_the_conic_solver(kind):
    """At least 17 of 22 per kind must be solved by the reference, so that at least 204 of 264 are really compared."""
    assert _compare(kind, FAST) >= 17


@pytest.mark.slow
@pytest.mark.parametrize("kind", conic.KINDS)
def test_edges_agree_with_the_conic_solver_on_more_instances(kind):
    assert _compare(kind, SLOW) >= 75


@pytest.mark.parametrize("kind", ["wide", "tall", "rank deficient", "exact rows", "noise larger than the data"])
def test_kernel_form_agrees_with_the_conic_solver(kind):
    """The same sets entered through their Gram matrix: inner products instead of features.

    A Gram matrix knows the null-space part of a functional only up to the root of rounding, so edges may lie that much
    further out, and never further in.
    """
    for seed in range(6):
        inst = conic.make(kind, seed)
        spec = Spectral.from_gram(inst.Phi @ inst.Phi.T, inst.y, exact=inst.exact)
        occ = occam(spec, inst.eta)
        rho = occ.rho * inst.inflation if occ.rho > 0 else inst.inflation
        proj = spec.project((inst.Phi @ inst.c)[:, None], np.array([inst.c @ inst.c]))
        band = local_interval(spec, proj, rho, inst.eta)
        low, high, solved = conic.reference(inst, rho)
        if solved:
            out = np.array([low - band.lower[0], band.upper[0] - high]) / (high - low)
            assert out.min() >= -1e-7, (kind, seed, out)
            assert out.max() <= 2e-6, (kind, seed, out)


@pytest.mark.parametrize("kind", conic.KINDS)
def test_primal_elements_are_feasible_and_attain_the_edges(kind):
    """Checked on the raw rows: in both balls, on the exact rows, at the attained value, in feature and in kernel form."""
    for seed in range(6):
        inst = conic.make(kind, seed)
        Phi, y, c = inst.Phi, inst.y, inst.c
        noisy = np.ones(len(y), bool) if inst.exact is None else ~inst.exact
        features = Spectral.from_features(Phi, y, exact=inst.exact)
        rho = inst.inflation * (occam(features, inst.eta).rho or 1.0)
        forms = [(features, features.project(c[None, :]), 1e-8)]
        if kind not in ("scaled columns", "eta at the best misfit"):  # where a Gram matrix has too few digits to check
            kernel = Spectral.from_gram(Phi @ Phi.T, y, exact=inst.exact)
            forms.append((kernel, kernel.project((Phi @ c)[:, None], np.array([c @ c])), 1e-6))
        for spec, proj, tol in forms:
            band = local_interval(spec, proj, rho, inst.eta)
            lower, upper = primal_elements(proj, band)
            for element, null, value in (
                (lower[0], band.null_lower[0], band.primal_lower[0]),
                (upper[0], band.null_upper[0], band.primal_upper[0]),
            ):
                theta = element if spec.form == "features" else Phi.T @ element + null * c
                scale = np.linalg.norm(y) + rho * np.linalg.norm(Phi, 2)
                assert np.linalg.norm(theta) <= rho * (1 + tol)
                assert np.linalg.norm((Phi @ theta - y)[noisy]) <= inst.eta + tol * scale
                assert np.abs((Phi @ theta - y)[~noisy]).max(initial=0) <= tol * scale
                assert c @ theta == pytest.approx(value, abs=tol * rho * np.linalg.norm(c))


@pytest.mark.parametrize("kind", ["wide", "tall", "rank deficient", "exact rows"])
def test_occam_radius_is_the_conic_minimum_norm(kind):
    """min |theta| within eta of the data, exact rows met (the bordered radius), in both forms."""
    for seed in range(6):
        inst = conic.make(kind, seed)
        want = conic.least_norm(inst)
        features = Spectral.from_features(inst.Phi, inst.y, exact=inst.exact)
        kernel = Spectral.from_gram(inst.Phi @ inst.Phi.T, inst.y, exact=inst.exact)
        assert occam(features, inst.eta).rho == pytest.approx(want, rel=1e-6)
        assert occam(kernel, inst.eta).rho == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("kind", ["tall", "one column", "rank deficient"])
def test_refusals_agree_with_infeasibility(kind):
    """Below the best misfit, and below the Occam radius, the conic solver finds no element; above it does."""
    for seed in range(5):
        inst = conic.make(kind, seed)
        best = Spectral.from_features(inst.Phi, inst.y).best_misfit
        if best < 1e-8:
            continue
        for factor in (0.999, 1.001):
            probe = conic.Instance(inst.Phi, inst.y, inst.c, best * factor, 1.0)
            refused = occam(Spectral.from_features(inst.Phi, inst.y), probe.eta).refused
            assert refused == (not conic.feasible(probe, 1e6))
            assert refused == (factor < 1)
        spec = Spectral.from_features(inst.Phi, inst.y)
        rho = occam(spec, inst.eta).rho
        assert conic.feasible(inst, rho * 1.001)
        assert not conic.feasible(inst, rho * 0.999)
        with pytest.raises(EmptySetError) as err:
            local_interval(spec, spec.project(inst.c[None, :]), rho * 0.999, inst.eta)
        assert err.value.margin == pytest.approx(-0.001 * rho)


@pytest.mark.parametrize("kind", ["wide", "tall", "rank deficient", "null-space functional", "exact rows"])
def test_global_radius_is_the_conic_supremum_over_both_balls(kind):
    """E* = sup of c . theta over |theta| <= eps, |Phi theta| <= eta: the interval of the data y = 0."""
    for seed in range(6):
        inst = conic.make(kind, seed)
        spec = Spectral.from_features(inst.Phi, inst.y, exact=inst.exact)
        zero = conic.Instance(inst.Phi, 0 * inst.y, inst.c, inst.eta, 1.0, inst.exact)
        _, high, solved = conic.reference(zero, 2.5)
        found = global_radius(spec, spec.project(inst.c[None, :]), 2.5, inst.eta)
        if solved:
            assert found.radius[0] == pytest.approx(high, rel=1e-7)
            assert found.cert[0] == pytest.approx(found.radius[0], rel=1e-10)

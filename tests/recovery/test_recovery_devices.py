"""Certificates on a device that is not the CPU, under the guard of `pretended_device.py`: nothing is left behind on the CPU."""

import numpy as np
import pytest

from orledger.recovery import (
    KernelRecovery,
    Spectral,
    covering_radius,
    gcv,
    global_radius,
    local_interval,
    log_marginal,
    occam,
    primal_elements,
    radius_values,
)

torch = pytest.importorskip("torch")
from pretended_device import THERE, MixedDevicesError, pretended

ETA = 0.6


def kernel(A, B):
    """A Matérn 1/2 kernel of two blocks of rows."""
    return torch.exp(-(A[:, None, :] - B[None, :, :]).abs().sum(-1) / 0.7)


def problem(n=13, m=5):
    """Rows, data and points; the last row repeats the one before, so that a direction is dropped and the widened problem asked."""
    rng = np.random.default_rng(5)
    X, points = rng.uniform(0, 1, (n, 2)), rng.uniform(0, 1, (m, 2))
    X[-1] = X[-2]
    return [torch.as_tensor(v) for v in (X, np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(n), points)]


def same(here, there, rtol=1e-11):
    """Every tensor lies on the device and holds the numbers of the CPU."""
    for a, b in zip(here, there, strict=True):
        assert b.device == THERE
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("exact", [None, [0, 9]])
def test_the_gram_form_in_blocks_is_the_same_there(exact):
    """Gram matrix, factors, Occam radius, intervals and radii, in two blocks."""

    def answers(X, y, points):
        fitted = KernelRecovery.fit(kernel, X, y, exact=exact, block=7)
        assert fitted.spec.dropped == 1
        rho = 1.3 * fitted.occam(ETA).rho
        return [*fitted.intervals(points, rho, ETA), *fitted.radii(points[:1], 2.0, ETA)]

    given = problem()
    here = answers(*given)
    with pretended() as device:
        same(here, answers(*(v.to(device) for v in given)))


def test_what_is_given_on_the_cpu_is_moved():
    """Rows on the device; data, points and row numbers, and the answers of kernel and diagonal, on the CPU."""
    X, y, points = problem(m=2)
    here = KernelRecovery.fit(kernel, X, y, exact=[0, 9])
    with pretended() as device:
        there = KernelRecovery.fit(
            lambda A, B: kernel(A.cpu(), B.cpu()),
            X.to(device),
            y.numpy(),
            exact=torch.tensor([0, 9]).to(device),
            diagonal=lambda x: torch.ones(len(x)),
        )
        for given in (points, points.numpy()):
            same(here.radii(points, 2.0, ETA), there.radii(given, 2.0, ETA))


@pytest.mark.parametrize("form", ["features", "kernel"])
@pytest.mark.parametrize("exact", [None, [0, 3]])
def test_every_certificate_is_the_same_there(form, exact):
    rng = np.random.default_rng(0)
    Phi, C = rng.standard_normal((12, 9)) * np.logspace(0, -3, 9), rng.standard_normal((4, 9))
    y = Phi @ rng.standard_normal(9) + 0.05 * rng.standard_normal(12)
    given = [torch.as_tensor(v) for v in (Phi, C, y, np.logspace(-3, 3, 5))]

    def answers(Phi, C, y, mus):
        if form == "features":
            spec = Spectral.from_features(Phi, y, exact=exact)
            proj = spec.project(C)
        else:
            spec = Spectral.from_gram(Phi @ Phi.T, y, exact=exact)
            proj = spec.project(Phi @ C.T, (C * C).sum(1))
        eta = 1.3 * spec.best_misfit
        occ = occam(spec, eta)
        band = local_interval(spec, proj, 1.2 * occ.rho, eta, occ=occ)
        grid = global_radius(spec, proj, 2.0, eta, method="grid97")
        limit = global_radius(spec, proj, 2.0, 0.0)
        return [band.lower, band.upper, band.gap_rel, *primal_elements(proj, band), grid.radius, grid.cert, limit.radius,
                covering_radius(spec, proj, band.mid + 0.5 * band.half, eta), proj.m(mus), proj[[0, 3]].pf(mus),
                gcv(spec, mus), log_marginal(spec, mus, "profiled")]  # fmt: skip

    here = answers(*given)
    with pretended() as device:
        same(here, answers(*(v.to(device) for v in given)))


def test_fast_radii_are_the_same_there():
    rng = np.random.default_rng(1)
    given = [torch.as_tensor(v) for v in (np.sort(rng.random(5)) + 0.1, 0.01 * rng.random((7, 5)), np.ones(7))]
    here = radius_values(*given, 1.0, 0.2)
    with pretended() as device:
        same([here], [radius_values(*(v.to(device) for v in given), 1.0, 0.2)])


def test_nodes_left_on_the_cpu_are_found(monkeypatch):
    """What the tests above rest on: the nodes of the root finder made without their device do not pass."""
    with pretended() as device:
        X, y, points = (v.to(device) for v in problem())
        fitted = KernelRecovery.fit(kernel, X, y)
        monkeypatch.setattr("orledger.recovery.roots.like", lambda x, ref: torch.as_tensor(x, dtype=ref.dtype))
        with pytest.raises(MixedDevicesError):
            fitted.radii(points, 2.0, ETA)

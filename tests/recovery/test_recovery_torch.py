"""The same formulas on torch tensors: equal to NumPy to rounding, on the device they were given."""

import numpy as np
import pytest

from orledger.recovery import (
    GramError,
    InputError,
    Spectral,
    covering_radius,
    gcv,
    global_radius,
    local_interval,
    log_marginal,
    occam,
    radius_values,
)

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("form", ["features", "kernel"])
@pytest.mark.parametrize("exact", [None, [0, 3]])
def test_tensors_give_the_same_certificates(form, exact):
    rng = np.random.default_rng(0)
    Phi, C = rng.standard_normal((12, 9)) * np.logspace(0, -3, 9), rng.standard_normal((30, 9))
    y = Phi @ rng.standard_normal(9) + 0.05 * rng.standard_normal(12)
    results = []
    for wrap in (np.asarray, torch.as_tensor):
        if form == "features":
            spec = Spectral.from_features(wrap(Phi), wrap(y), exact=exact)
            proj = spec.project(wrap(C))
        else:
            spec = Spectral.from_gram(wrap(Phi @ Phi.T), wrap(y), exact=exact)
            proj = spec.project(wrap(Phi @ C.T), wrap((C * C).sum(1)))
        eta = 1.3 * spec.best_misfit
        occ = occam(spec, eta)
        band = local_interval(spec, proj, 1.2 * occ.rho, eta, occ=occ)
        cert = global_radius(spec, proj, 2.0, eta)
        grid = global_radius(spec, proj, 2.0, eta, method="grid97")
        score = covering_radius(spec, proj, band.mid + 0.5 * band.half, eta)
        mus = wrap(np.logspace(-3, 3, 5))
        results.append([band.lower, band.upper, band.gap_rel, cert.radius, grid.cert, score, proj.m(mus), proj.V(mus),
                        gcv(spec, mus), log_marginal(spec, mus, "profiled")])  # fmt: skip
    for a, b in zip(*results, strict=True):
        assert isinstance(b, torch.Tensor)
        np.testing.assert_allclose(b.numpy(), a, rtol=1e-7, atol=1e-9)


def test_fast_radius_on_tensors():
    rng = np.random.default_rng(1)
    w, beta2, one = np.sort(rng.random(5)) + 0.1, 0.01 * rng.random((7, 5)), np.ones(7)
    want = radius_values(w, beta2, one, 1.0, 0.2)
    got = radius_values(*(torch.as_tensor(v) for v in (w, beta2, one)), 1.0, 0.2)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


def test_single_precision_keeps_its_dtype():
    Phi = torch.eye(3)
    spec = Spectral.from_features(Phi, torch.ones(3))
    band = local_interval(spec, spec.project(Phi), 3.0, 0.5)
    assert band.upper.dtype == torch.float32
    assert torch.isfinite(band.upper).all()


def test_mixed_types_are_brought_together_and_half_precision_is_refused():
    """float32 rows with float64 data, or an array beside a tensor, count as float64; 16 bits are too few for a certificate."""
    Phi, y = np.arange(12.0).reshape(4, 3) % 5, np.ones(4)
    want = Spectral.from_features(Phi, y)
    mixed = [(torch.as_tensor(Phi, dtype=torch.float32), torch.as_tensor(y)), (Phi, torch.as_tensor(y)), (torch.as_tensor(Phi), y),
             (torch.as_tensor(Phi).int(), torch.as_tensor(y))]  # fmt: skip
    for a, b in mixed:
        spec = Spectral.from_features(a, b)
        assert spec.s2.dtype == torch.float64
        np.testing.assert_allclose(spec.s2.numpy(), want.s2, rtol=1e-12)
        np.testing.assert_allclose(
            Spectral.from_gram(torch.as_tensor(Phi @ Phi.T, dtype=torch.float32), b).s2, want.s2[:3], rtol=1e-5
        )
    for dtype in (torch.float16, torch.bfloat16, torch.complex64):
        with pytest.raises(InputError, match=r"has type|complex"):
            Spectral.from_features(torch.as_tensor(Phi).to(dtype), torch.as_tensor(y).to(dtype))
    halves = Spectral.from_features(Phi.astype(np.float16), y)
    np.testing.assert_array_equal(halves.s2, want.s2)


def test_a_negative_eigenvalue_has_a_limit_of_its_own_in_single_precision():
    """Ten thousand units of the largest entry, which is more than the hundred-millionth of double precision."""
    limit, ones = 4e4 * torch.finfo(torch.float32).eps, torch.ones(2, dtype=torch.float32)
    assert Spectral.from_gram(torch.diag(torch.tensor([4.0, -limit * 0.99995])), ones).dropped == 1
    with pytest.raises(GramError, match="negative eigenvalue"):
        Spectral.from_gram(torch.diag(torch.tensor([4.0, -limit * 1.00005])), ones)
    w, kxx = torch.tensor([4.0, -limit * 0.99995]), torch.ones(1)
    assert radius_values(w, torch.ones((1, 2)) / 9, kxx, 1.0, 0.0).shape == (1,)
    with pytest.raises(GramError, match="negative eigenvalue"):
        radius_values(torch.tensor([4.0, -limit * 1.00005]), torch.ones((1, 2)) / 9, kxx, 1.0, 0.0)


def test_tensors_at_the_best_misfit_have_the_limits_and_allowances_of_arrays():
    given, found = (np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.array([1.0, 2.0]), np.eye(3)), []
    for Phi, y, C in (given, tuple(map(torch.as_tensor, given))):
        spec = Spectral.from_features(Phi, y)
        found.append(local_interval(spec, spec.project(C), 3.0, 0.0).delta_num)
    assert found[1].numpy() == pytest.approx(found[0], rel=1e-3, abs=0)
    assert global_radius(spec, spec.project(C), 3.0, 0.0).mu.tolist() == [np.inf] * 3

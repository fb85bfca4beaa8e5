"""GuardedDelivery: which points are substituted, by what, and that the ledger says so."""

from dataclasses import replace

import numpy as np
import pytest

from orledger.recovery import InputError, Spectral, global_radius, guarded_delivery, local_interval, occam


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((20, 6))
    y = Phi @ rng.standard_normal(6) + 0.3 * rng.standard_normal(20)
    spec = Spectral.from_features(Phi, y)
    proj, eta = spec.project(rng.standard_normal((5, 6))), 1.5 * spec.best_misfit
    occ = occam(spec, eta)
    band = local_interval(spec, proj, 1.2 * occ.rho, eta)
    return band, global_radius(spec, proj, 1.2 * occ.rho, eta), proj, proj.m(occ.mu), float(np.abs(y).max())


def test_sound_intervals_pass_untouched(parts):
    band, *rest = parts
    out = guarded_delivery(band, *rest)
    assert not out.substituted.any()
    assert out.ledger == ()
    np.testing.assert_array_equal(out.mid, band.mid)
    np.testing.assert_array_equal(out.half, band.half)


def test_each_flag_substitutes_the_global_rule_with_its_own_certificate(parts):
    band, cert, proj, ridge, scale = parts
    mid, half, gap = band.mid.copy(), band.half.copy(), band.gap_rel.copy()
    half[0], mid[1], gap[2] = np.inf, mid[1] + half[1] + 100 * max(1, scale), 1e-3
    out = guarded_delivery(replace(band, mid=mid, half=half, gap_rel=gap), cert, proj, ridge, scale)
    assert out.substituted.tolist() == [True, True, True, False, False]
    assert [(s.index, s.reason) for s in out.ledger] == [
        (0, "non-finite interval"),
        (1, "midpoint far from the ridge value"),
        (2, "primal-dual gap"),
    ]
    assert out.ledger[2].seen == 1e-3
    assert out.ledger[2].limit == 1e-6
    np.testing.assert_allclose(out.half[:3], cert.cert[:3] + cert.delta_num)
    np.testing.assert_allclose(out.mid[:3], [proj[i : i + 1].m(cert.mu[i])[0] for i in range(3)])
    # Theorem 2(d): the global rule with its certificate contains every consistent value, so also the conditional interval.
    assert (np.abs(out.mid - band.mid)[:3] + band.half[:3] <= out.half[:3] * (1 + 1e-9)).all()


def test_mismatched_lengths_are_named(parts):
    band, cert, proj, ridge, scale = parts
    with pytest.raises(InputError, match="do not match"):
        guarded_delivery(band, cert, proj, ridge[:2], scale)

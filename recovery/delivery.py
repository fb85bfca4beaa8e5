"""GuardedDelivery: what is handed to the user at each point, and a ledger of every substitution with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import as_float, number, to_numpy
from orledger.recovery.errors import InputError
from orledger.recovery.kinds import require

if TYPE_CHECKING:
    from orledger.recovery.array_types import Numbers
    from orledger.recovery.interval import Interval
    from orledger.recovery.projection import Projection
    from orledger.recovery.radius import GlobalCertificate

GAP_TOL = 1e-6
"""Relative primal-dual gap above which a conditional interval is not delivered."""

DRIFT_FACTOR = 5.0
"""A midpoint further from the ridge value than half + DRIFT_FACTOR max(1, |y|_inf) is not delivered."""


@dataclass(frozen=True)
class Substitution:
    """One point whose conditional interval was replaced: reason, the value seen, the limit it broke, what was replaced."""

    index: int
    reason: str
    seen: float
    limit: float
    mid: float
    half: float


@dataclass(frozen=True)
class Delivery:
    """mid and half (points,) as delivered, which points were substituted, and the ledger, in order of the points."""

    mid: np.ndarray
    half: np.ndarray
    substituted: np.ndarray
    ledger: tuple[Substitution, ...]


def guarded_delivery(
    band: Interval,
    certificate: GlobalCertificate,
    proj: Projection,
    ridge: Numbers,
    y_scale: float,
    *,
    gap_tol: float = GAP_TOL,
    drift_factor: float = DRIFT_FACTOR,
) -> Delivery:
    """The conditional intervals, with flagged points replaced by the global rule's estimate and its own certificate.

    Flags: a non-finite midpoint or half-width; |mid - ridge| > half + drift_factor max(1, y_scale), with y_scale = |y|_inf;
    a relative primal-dual gap above gap_tol. ridge (points,) is the reference estimate. The replacement is the posterior
    mean at the balance nugget with cert + delta_num + allowance: an estimate and the bound that belongs to it, never a mixture.
    """
    require(band, "Interval")
    require(certificate, "GlobalCertificate")
    require(proj, "Projection")
    mid, half = (np.array(to_numpy(v), dtype=float) for v in (band.mid, band.half))
    gap, reference = to_numpy(band.gap_rel), to_numpy(as_float(ridge, "ridge", ndim=1)).astype(float)
    gap_tol, drift_factor = number(gap_tol, "gap_tol", low=0.0), number(drift_factor, "drift_factor", low=0.0)
    y_scale = number(y_scale, "y_scale", low=0.0)
    if not len(reference) == len(mid) == len(proj) == len(certificate.cert):
        raise InputError(
            f"{len(mid)} intervals, {len(reference)} ridge values, {len(proj)} functionals and {len(certificate.cert)} certificates "
            "do not match"
        )
    allowed = half + drift_factor * max(1.0, y_scale)
    drift = np.abs(mid - reference)
    broken = ~(np.isfinite(mid) & np.isfinite(half))
    checks = (
        ("non-finite interval", broken, half, np.full_like(half, np.inf)),
        ("midpoint far from the ridge value", ~broken & (drift > allowed), drift, allowed),
        ("primal-dual gap", ~broken & ~(gap <= gap_tol), gap, np.full_like(gap, gap_tol)),
    )
    flagged = np.zeros(len(mid), dtype=bool)
    ledger: list[Substitution] = []
    for reason, mask, seen, limit in checks:
        ledger += [
            Substitution(int(i), reason, float(seen[i]), float(limit[i]), float(mid[i]), float(half[i]))
            for i in np.flatnonzero(mask & ~flagged)
        ]
        flagged |= mask
    if flagged.any():
        estimate = to_numpy(proj.at(certificate.mu).m)
        mid[flagged] = estimate[flagged]
        half[flagged] = (to_numpy(certificate.cert) + certificate.delta_num + to_numpy(certificate.allowance))[flagged]
    return Delivery(mid, half, flagged, tuple(sorted(ledger, key=lambda s: s.index)))

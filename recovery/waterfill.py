"""Water-filling prior variances: Pinsker's linear minimax filter over an ellipsoid, per coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.recovery._array import as_float, nonnegative, sized, to_numpy
from orledger.recovery.errors import InputError


@dataclass(frozen=True)
class WaterFill:
    """Prior variances tau2 (d,), the water level mu, and the linear minimax risk sum v (1 - a/mu)_+."""

    tau2: np.ndarray
    level: float
    risk: float


def pinsker_variances(noise: np.ndarray, weights: np.ndarray, rho: float, *, floor: float = 0.0) -> WaterFill:
    """The prior variances whose posterior mean is minimax linear for sum a_j^2 theta_j^2 <= rho^2 and noise variances v_j.

    noise v (d,) > 0 and weights a (d,) > 0; the level mu solves sum a_j v_j (mu - a_j)_+ = rho^2, and
    tau_j^2 = v_j (mu / a_j - 1)_+, floored at `floor` so that no coordinate is switched off entirely unless asked.
    """
    v, a = (to_numpy(sized(as_float(x, what, ndim=1), what)) for x, what in ((noise, "noise"), (weights, "weights")))
    rho, floor = nonnegative(rho, "rho"), nonnegative(floor, "floor")
    if v.shape != a.shape or len(v) == 0 or not ((v > 0).all() and (a > 0).all()):
        raise InputError(f"noise {v.shape} and weights {a.shape} must be positive, equally long and not empty")
    order = np.argsort(a, kind="stable")
    sa, sv = a[order], v[order]
    # With the k cheapest coordinates under water the level is linear in rho^2; k is the last one that lies below it.
    slope, offset = np.cumsum(sa * sv), np.cumsum(sa * sa * sv)
    with np.errstate(over="ignore"):  # which is refused below
        levels = (rho**2 + offset) / slope
        level = float(levels[int(np.flatnonzero(levels >= sa).max(initial=0))])  # the first, up to rounding, always
        wet = np.maximum(level - a, 0.0)
        tau2 = np.maximum(v * wet / a, floor)
    if not np.isfinite(tau2).all():
        raise InputError("a weight is so small beside the others that its variance leaves the range of floating point")
    return WaterFill(tau2, level, float(np.sum(v * wet) / level))

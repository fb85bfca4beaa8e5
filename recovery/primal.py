"""The feasible elements behind an interval, written out: coefficient vectors, or weights on representers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import Array, like, namespace
from orledger.recovery.errors import InputError
from orledger.recovery.kinds import require

if TYPE_CHECKING:
    from orledger.recovery.interval import Interval
    from orledger.recovery.projection import Projection


def primal_elements(proj: Projection, band: Interval) -> tuple[Array, Array]:
    """The elements that attain band.primal_lower and band.primal_upper at each point of `proj`.

    Feature form: theta, two arrays (points, d). Kernel form: two arrays (points, n_rows), the weights w of the element
    sum_i w_i lambda_i + null phi_x over all rows in their original order, with null = band.null_lower / null_upper.
    Kernel form: G is known to spec.delta on its diagonal and |c|^2 outside the rows to proj.c02_floor, so the squared norm of an
    element may exceed rho^2 by the sum of delta_i w_i^2 plus null^2 times that floor: next to nothing, except where rows are
    nearly dependent, or an interval is about as narrow as rounding.
    """
    require(proj, "Projection")
    require(band, "Interval")
    if len(band.mid) != len(proj):
        raise InputError(f"the interval has {len(band.mid)} points and the projection {len(proj)}")
    if band.coords_lower.shape[1] != proj.ct.shape[1]:
        raise InputError(
            f"the interval's elements have {band.coords_lower.shape[1]} coordinates and the points {proj.ct.shape[1]}",
            hint="pass the points that the interval was computed at",
        )
    return _element(proj, band.coords_lower, band.null_lower), _element(proj, band.coords_upper, band.null_upper)


def _element(proj: Projection, coords: Array, null: Array) -> Array:
    spec = proj.spec
    xp, exact = namespace(coords), spec.exact
    if spec.form == "features":
        zeta = coords @ spec.basis.T + null[:, None] * (proj.source - proj.ct @ spec.basis.T)
        return zeta if exact is None else exact.data + zeta @ exact.factor.T
    noisy = ((coords - null[:, None] * proj.ct) / xp.sqrt(spec.s2)) @ spec.basis.T
    if exact is None:
        return noisy
    weights = like(np.zeros((len(noisy), len(exact.mask))), noisy)
    weights[:, ~exact.mask] = noisy
    weights[:, exact.mask] = (exact.data - noisy @ exact.coupling - null[:, None] * proj.source) @ exact.factor.T
    return weights

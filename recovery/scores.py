"""Conformity scores in closed form: the smallest model ball that lets a calibration response into its band."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.recovery._array import Array, as_float, like, machine_eps, namespace, sized, tiny
from orledger.recovery.centre import Centre
from orledger.recovery.errors import InputError
from orledger.recovery.projection import of
from orledger.recovery.roots import bracket, solve

if TYPE_CHECKING:
    from orledger.recovery.occam import Occam
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral


def covering_radius(spec: Spectral, proj: Projection, values: Array, eta: float, *, occ: Occam | None = None) -> Array:
    """The smallest rho (points,) whose interval at each point contains `values` (points,); inf where no ball does.

    It is an Occam radius with one more exact row: rho^2 = rho_oc^2 + max_mu [(v - m(mu))^2 / V(mu) - r(mu) - rho_oc^2],
    concave in mu, with the same stationarity equation as the interval itself. Infinite exactly when the functional has
    no null-space part and the value lies outside what the noise ball alone allows, by more than 64 rounding units of its
    half-width.
    """
    proj = of(spec, proj)
    values = like(sized(as_float(values, "values", ndim=1), "values"), proj.ct)
    if len(values) != len(proj):
        raise InputError(f"there are {len(values)} values for {len(proj)} functionals")
    centre = Centre.of(spec, eta, occ)
    xp = namespace(proj.ct)
    delta = values - centre.value(proj)
    sign = xp.where(delta < 0, delta * 0 - 1, delta * 0 + 1)
    size, ct, c02 = xp.abs(delta), proj.ct * sign[:, None], proj.c02
    c2 = ct * ct
    base = centre.occ.rho**2
    # A value equal to the Occam solution's own, up to its rounding, is inside every band.
    trivial = size <= 4 * machine_eps(values) * (xp.abs(values) + xp.abs(centre.value(proj)))
    if centre.budget == 0.0 or len(spec.s2) == 0:
        room2 = c02 if centre.budget == 0.0 else proj.norm2
        extra = size * size / xp.where(room2 > 0, room2, room2 + 1)
        extra = xp.where(room2 > 0, extra, extra * 0 + float("inf"))
        return xp.sqrt(base + xp.where(trivial, size * 0, extra))
    grid = centre.nodes(near=1e-2)
    signed = type(proj)(spec, ct, c02, proj.shift, None, proj.norm2)
    rules = [lambda V, drift, _: (size[:, None] + drift) / V]
    (excess,) = centre.excess_on_grid(centre.on_grid(grid, None), signed, c2, rules)
    lo, hi, flo, fhi, inside = bracket(grid, centre.score(excess))

    def used(t: Array, idx: Array) -> Array:
        c0 = c02[idx]
        p = centre.pieces(t, ct[idx], c0)
        return centre.score(centre.excess(p, (size[idx] + p.drift) / p.V, c0, None))

    t = solve(used, lo, hi, flo, fhi)
    t = xp.where(inside | (excess[:, 0] > 0), t, t * 0 - float("inf"))
    p = centre.pieces(t, ct, c02)
    reach = xp.clip(size + p.drift, 0, None)
    # Without a null-space part the dual is all rounding close to the end of the noise ball, where mu grows without end.
    # The norm of its point is not: the point comes to rest.
    d = centre.step(p, reach / p.V)
    extra = xp.where(c02 > 0, reach * reach / p.V - p.quad, ((d + 2 * centre.theta) * d).sum(1))
    extra = xp.clip(extra, 0, None)
    drift, width = centre.at_infinity(ct, c2)
    outside = (c02 <= 0) & (size - drift > width * (1 + 64 * machine_eps(ct)))
    extra = xp.where(outside | (proj.norm2 <= tiny(ct)), extra * 0 + float("inf"), extra)
    return xp.sqrt(base + xp.where(trivial, size * 0, extra))

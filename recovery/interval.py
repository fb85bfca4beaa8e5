"""LocalInterval: the range of a functional over the data-consistent set, with a primal point that certifies it.

Theorem 2. The two-parameter dual reduces to one dimension: S_+ = min_mu m(mu) + sqrt(V(mu) (rho^2 + r(mu))). Its
derivative vanishes where the dual's own primal point uses exactly the noise budget; that equation is solved for all
points at once. Every mu gives a valid outer edge (weak duality), so stopping early cannot narrow an interval; what rounding
can do is bounded beside every interval (`delta_num`), and where a Gram matrix does not resolve an edge it is moved outwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import Array, machine_eps, namespace, nonnegative, tiny, to_numpy
from orledger.recovery.allowance import (
    RESOLVED,
    Edge,
    balls_error,
    edges_at,
    feature_allowance,
    functional_error,
    gram_allowance,
    products_error,
)
from orledger.recovery.attainable import shortfall
from orledger.recovery.centre import Centre
from orledger.recovery.edges import blocks, edges_of
from orledger.recovery.errors import EmptySetError
from orledger.recovery.occam import HINT, Occam, occam, radius_error
from orledger.recovery.projection import of

if TYPE_CHECKING:
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral


@dataclass(frozen=True)
class Interval:
    """Conditional Chebyshev intervals, arrays of shape (points,).

    lower and upper are dual (outer) edges, primal_lower and primal_upper are attained by feasible elements, gap_rel is
    the larger of the two differences relative to the half-width (floored at the rounding of the edge itself).
    delta_num: the floating-point allowance; the exact interval lies in [lower - delta_num, upper + delta_num].
    resolved: False where the rounding of the Gram matrix may move an edge by more than RESOLVED half-widths. Where it may move it
    outwards, lower and upper are those of a problem that contains the exact one; where the exact interval may be narrower, gap_rel
    shows by how much. Rows equal to the last bit in G and b, and in y where they carry no noise, count as one row.
    mu_lower, mu_upper: the optimal multiplier ratios, 0 (only the norm ball binds) to inf (only the noise ball binds).
    coords_* (points, k) and null_* (points,) are the feasible elements themselves, in the singular basis plus a multiple of
    the functional's null-space part; `primal_elements` writes them out. centre is the Occam solution's value; mid - centre
    keeps its relative accuracy in `half`-sized units.
    """

    mid: Array
    half: Array
    lower: Array
    upper: Array
    mu_lower: Array
    mu_upper: Array
    gap_rel: Array
    primal_lower: Array
    primal_upper: Array
    centre: Array
    rho: float
    rho_oc: float
    coords_lower: Array
    coords_upper: Array
    null_lower: Array
    null_upper: Array
    delta_num: Array
    resolved: Array


def local_interval(spec: Spectral, proj: Projection, rho: float, eta: float, *, occ: Occam | None = None) -> Interval:
    """The interval [inf, sup] of each functional over {|u| <= rho, |Lam u - y| <= eta, exact rows met}.

    occ: the result of `occam(spec, eta)` when it is at hand. Raises EmptySetError when eta is below the best misfit or
    rho below the Occam radius; at rho = rho_oc the set is a single element and every half-width is zero.
    """
    rho, proj = nonnegative(rho, "rho"), of(spec, proj)
    centre = Centre.of(spec, eta, occ)
    rho_oc = centre.occ.rho
    if rho < rho_oc - radius_error(spec, centre.occ):
        raise _empty(spec, rho, centre.occ)
    room = max(rho - rho_oc, 0.0) * (rho + rho_oc)
    xp, base = namespace(proj.ct), centre.value(proj)
    inner = centre.interior(room)
    grid = centre.nodes((room**0.5) / (rho_oc + tiny(proj.ct))) if centre.curved(room) else None
    nodes = None if grid is None else (grid, centre.on_grid(grid, room))
    parts = [edges_of(centre, inner, proj[rows], room, nodes) for rows in blocks(len(proj), len(spec.s2))]
    up, down = (Edge(*(xp.concatenate([part[side][i] for part in parts]) for i in range(7))) for side in (0, 1))
    mid, half = base + (up.outer - down.outer) / 2, (up.outer + down.outer) / 2
    # A difference below the rounding of the edge itself is no gap: the edge cannot be written down more finely.
    rounding = 64 * machine_eps(base) * (xp.abs(base) + half)
    gap = xp.clip(xp.maximum(up.outer - up.attained, down.outer - down.attained) - rounding, 0, None) / (
        half + tiny(half)
    )
    if spec.form == "features":
        delta = feature_allowance(centre, proj, rho, room, [up, down])
    else:
        balls = balls_error(centre, proj, rho, room, [up, down])
        if spec.given is None:
            delta = functional_error(proj, rho) + products_error(centre, proj, rho, room, [up, down]) + balls
        else:
            delta = gram_allowance(spec, proj, rho, [up, down]) + balls
    band = Interval(
        mid, half, base - down.outer, base + up.outer, down.mu, up.mu, gap, base - down.attained, base + up.attained, base,
        rho, rho_oc, down.coords, up.coords, down.null, up.null, delta, half >= 0,
    )  # fmt: skip
    if spec.given is None:
        return band
    missing = shortfall(centre, proj, rho, room, inner, [up, down])
    return _with_shortfall(_with_gram_error(band, proj, eta, balls), half, missing)


def _empty(spec: Spectral, rho: float, occ: Occam) -> EmptySetError:
    """The refusal of a radius below the Occam radius; it says so when the rounding of the Gram matrix may be the cause."""
    text = f"rho = {rho:.8g} is below the Occam radius {occ.rho:.8g} at eta = {occ.eta:.6g}"
    if spec.widened is not None:
        least = occam(spec.widened, occ.eta)
        if not least.refused and least.rho <= rho:
            text += f"; this Gram matrix does not resolve it: within its rounding the radius may be {least.rho:.8g}"
    return EmptySetError(text, margin=rho - occ.rho, hint=HINT)


def _with_gram_error(band: Interval, proj: Projection, eta: float, balls: Array) -> Interval:
    """The same intervals with the error of G allowed for: stated where it is small, in the edges where it is not.

    balls (points,): what the rounding of everything but G can do to an edge.
    """
    xp = namespace(band.mid)
    doubtful = np.flatnonzero(~(to_numpy(band.delta_num) <= 1e-3 * RESOLVED * to_numpy(band.half)))
    if len(doubtful) == 0:
        return band
    delta, resolved = band.delta_num * 1, band.half >= 0
    # The dual at the multipliers at hand bounds the dominating problem's edges, and nearly always that is all one needs.
    # Exact rows are eliminated anew only where their delta, as a tangent, leaves the question open.
    for tangent in (True, False) if proj.spec.exact is not None and proj.spec.loosened is not None else (False,):
        wider = proj.loosened(doubtful) if tangent else proj.widened(doubtful)
        lower, upper = edges_at(wider, band.rho, eta, band.mu_lower[doubtful], band.mu_upper[doubtful])
        up, down = upper - band.upper[doubtful], band.lower[doubtful] - lower
        apart = xp.maximum(xp.abs(up), xp.abs(down)) + functional_error(wider, band.rho) + balls[doubtful]
        seen = to_numpy(apart <= RESOLVED * xp.minimum(band.half[doubtful], (upper - lower) / 2))
        delta[doubtful[seen]] = apart[seen]
        doubtful = doubtful[~seen]
        if len(doubtful) == 0:
            return replace(band, delta_num=delta)
    wider = wider[~seen]
    least = occam(wider.spec, eta)
    if band.rho < least.rho - radius_error(wider.spec, least):
        text = f"rho = {band.rho:.8g} is below the Occam radius {least.rho:.8g} at eta = {eta:.6g}, which is {band.rho_oc:.8g} without the "
        text += f"{proj.spec.dropped} directions that were dropped as rounding: this Gram matrix does not resolve it"
        raise EmptySetError(text, margin=band.rho - least.rho, hint=HINT)
    twin = local_interval(wider.spec, wider, band.rho, eta, occ=least)
    up, down = twin.upper - band.upper[doubtful], band.lower[doubtful] - twin.lower
    delta[doubtful] = xp.clip(xp.maximum(up, down), 0, None) + twin.delta_num
    # Far inside the dominating problem's interval or far outside it: either way these digits are not the kernel's.
    apart = xp.maximum(xp.abs(up), xp.abs(down)) + twin.delta_num
    resolved[doubtful] = apart <= RESOLVED * xp.minimum(band.half[doubtful], twin.half)
    pick = np.flatnonzero(~to_numpy(resolved[doubtful]))
    lost = doubtful[pick]
    fields = {name: getattr(band, name) * 1 for name in ("lower", "upper", "mid", "half", "gap_rel")}
    for name in ("lower", "upper", "mid", "half"):
        fields[name][lost] = getattr(twin, name)[pick]
    fields["gap_rel"][lost] = xp.maximum(band.gap_rel[lost], apart[pick] / (twin.half[pick] + tiny(delta)))
    delta[lost] = twin.delta_num[pick]
    return replace(band, delta_num=delta, resolved=resolved, **fields)


def _with_shortfall(band: Interval, half: Array, missing: Array) -> Interval:
    """The same intervals, not resolved where the exact ones may be narrower by `missing`; gap_rel shows how much that is of `half`."""
    xp = namespace(half)
    lost = missing > RESOLVED * half
    share = xp.clip(missing / (half + tiny(half)), None, 1)
    gap = xp.where(lost, xp.maximum(band.gap_rel, share), band.gap_rel)
    return replace(band, gap_rel=gap, resolved=band.resolved & ~lost)

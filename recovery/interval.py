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
from orledger.recovery.allowance import RESOLVED, Edge, feature_allowance, functional_error, gram_allowance
from orledger.recovery.centre import Centre
from orledger.recovery.errors import EmptySetError
from orledger.recovery.occam import HINT, Occam, occam
from orledger.recovery.roots import bracket, solve

if TYPE_CHECKING:
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral

BLOCK = 1 << 15
"""Points are worked through in blocks of about this many coefficients, so that a block stays in the processor's cache."""


@dataclass(frozen=True)
class Interval:
    """Conditional Chebyshev intervals, arrays of shape (points,).

    lower and upper are dual (outer) edges, primal_lower and primal_upper are attained by feasible elements, gap_rel is
    the larger of the two differences relative to the half-width (floored at the rounding of the edge itself).
    delta_num: the floating-point allowance; the exact interval lies in [lower - delta_num, upper + delta_num].
    resolved: False where the Gram matrix determines an edge no better than RESOLVED half-widths. There lower and upper are
    those of a problem that contains the exact one whatever the rounding of G is, and gap_rel shows the distance.
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
    rho = nonnegative(rho, "rho")
    centre = Centre.of(spec, eta, occ)
    rho_oc = centre.occ.rho
    if rho < rho_oc * (1 - 64 * machine_eps(spec.s2)):
        raise _empty(spec, rho, centre.occ)
    room = max(rho - rho_oc, 0.0) * (rho + rho_oc)
    xp, base = namespace(proj.ct), centre.value(proj)
    inner = centre.interior(room)
    parts = [_edges(centre, inner, proj[rows], room) for rows in _blocks(len(proj), len(spec.s2))]
    up, down = (Edge(*(xp.concatenate([part[side][i] for part in parts]) for i in range(7))) for side in (0, 1))
    mid, half = base + (up.outer - down.outer) / 2, (up.outer + down.outer) / 2
    # A difference below the rounding of the edge itself is no gap: the edge cannot be written down more finely.
    rounding = 64 * machine_eps(base) * (xp.abs(base) + half)
    gap = xp.clip(xp.maximum(up.outer - up.attained, down.outer - down.attained) - rounding, 0, None) / (
        half + tiny(half)
    )
    band = Interval(
        mid, half, base - down.outer, base + up.outer, down.mu, up.mu, gap, base - down.attained, base + up.attained, base,
        rho, rho_oc, down.coords, up.coords, down.null, up.null, half * 0, half >= 0,
    )  # fmt: skip
    if spec.form == "features":
        return replace(band, delta_num=feature_allowance(centre, proj, rho, room, [up, down]))
    if spec.widened is None:
        return replace(band, delta_num=functional_error(proj, rho))
    return _with_gram_error(band, proj, eta, gram_allowance(spec, proj, rho, [up, down]))


def _empty(spec: Spectral, rho: float, occ: Occam) -> EmptySetError:
    """The refusal of a radius below the Occam radius; it says so when the rounding of the Gram matrix may be the cause."""
    text = f"rho = {rho:.8g} is below the Occam radius {occ.rho:.8g} at eta = {occ.eta:.6g}"
    if spec.widened is not None:
        least = occam(spec.widened, occ.eta)
        if not least.refused and least.rho <= rho:
            text += f"; this Gram matrix does not resolve it: within its rounding the radius may be {least.rho:.8g}"
    return EmptySetError(text, margin=rho - occ.rho, hint=HINT)


def _with_gram_error(band: Interval, proj: Projection, eta: float, allowance: Array) -> Interval:
    """The same intervals with the error of G allowed for: stated where it is small, in the edges where it is not."""
    xp = namespace(band.mid)
    doubtful = np.flatnonzero(~(to_numpy(allowance) <= 1e-3 * RESOLVED * to_numpy(band.half)))
    if len(doubtful) == 0:
        return replace(band, delta_num=allowance)
    wider = proj.widened(doubtful)
    twin = local_interval(wider.spec, wider, band.rho, eta)
    delta, resolved = xp.clip(allowance, None, 1e300), band.half >= 0
    up, down = twin.upper - band.upper[doubtful], band.lower[doubtful] - twin.lower
    delta[doubtful] = xp.clip(xp.maximum(up, down), 0, None) + twin.delta_num
    # Far inside the dominating problem's interval or far outside it: either way these digits are not the kernel's.
    apart = xp.maximum(xp.abs(up), xp.abs(down)) + twin.delta_num
    resolved[doubtful] = apart <= RESOLVED * xp.minimum(band.half[doubtful], twin.half)
    pick = np.flatnonzero(~to_numpy(resolved[doubtful]))
    if len(pick) == 0:
        return replace(band, delta_num=delta)
    lost = doubtful[pick]
    fields = {name: getattr(band, name) * 1 for name in ("lower", "upper", "mid", "half", "gap_rel")}
    for name in ("lower", "upper", "mid", "half"):
        fields[name][lost] = getattr(twin, name)[pick]
    fields["gap_rel"][lost] = xp.maximum(band.gap_rel[lost], apart[pick] / (twin.half[pick] + tiny(delta)))
    delta[lost] = twin.delta_num[pick]
    return replace(band, delta_num=delta, resolved=resolved, **fields)


FAR = 1e9
"""mu s_min^2 above this is treated as next to the limit mu = inf."""


def _blocks(points: int, k: int) -> list[slice]:
    size = max(16, BLOCK // max(k, 1))
    return [slice(i, min(i + size, points)) for i in range(0, max(points, 1), size)]


def _edges(centre: Centre, inner: Array, proj: Projection, room: float) -> list[Edge]:
    """The edges above and below the centre, for one block of points."""
    xp, spec = namespace(proj.ct), centre.spec
    ct, c02 = proj.ct, proj.c02
    c2 = ct * ct
    if room == 0.0 or len(spec.s2) == 0 or centre.budget == 0.0:
        # One element; no informative row; or eta at the best misfit, where sqrt(room) times the power function is exact.
        visible = 0.0 if centre.budget == 0.0 or room == 0.0 else 1.0
        width = xp.sqrt(room * (c02 + visible * c2.sum(1)))
        mu = c02 * 0 + (centre.occ.mu if visible == 0.0 else 0.0)
        seen = c02 > proj.c02_floor
        reach = xp.where(seen, xp.sqrt(room / xp.where(seen, c02, c02 + 1)), c02 * 0)
        V = c02 + c2 @ (1 / (1 + (0.0 if np.isinf(centre.occ.mu) else centre.occ.mu) * spec.s2))
        alpha = xp.where(V > 0, width / xp.where(V > 0, V, V + 1), V * 0)
        at = ct * 0 + centre.theta
        attained = xp.where(seen | (visible > 0), width, width * 0)
        return [Edge(width, attained, mu, at, sign * reach, V, alpha) for sign in (1.0, -1.0)]
    grid = centre.nodes((room**0.5) / (centre.occ.rho + tiny(ct)))
    signs = (1.0, -1.0)
    rules = [lambda V, _, quad, sign=sign: sign * xp.sqrt((room + quad) / V) for sign in signs]
    tables = centre.excess_on_grid(grid, proj, c2, rules, room)
    return [
        _one_side(centre, inner, sign, room, proj, c2, grid, table) for sign, table in zip(signs, tables, strict=True)
    ]


def _one_side(
    centre: Centre,
    inner: Array,
    sign: float,
    room: float,
    proj: Projection,
    c2: Array,
    grid: Array,
    excess: Array,
) -> Edge:
    """The edge in the direction `sign`, for one block of points."""
    ct, c02 = proj.ct, proj.c02
    xp, guard = namespace(ct), tiny(ct)
    lo, hi, flo, fhi, inside = bracket(grid, centre.score(excess))

    def used(t: Array, idx: Array) -> Array:
        c, c0 = (ct, c02) if len(idx) == len(ct) else (ct[idx], c02[idx])
        p = centre.pieces(t, c, c0)
        return centre.score(centre.excess(p, sign * xp.sqrt((room + p.quad) / p.V), c0, room))

    t = solve(used, lo, hi, flo, fhi)
    t = xp.where(inside | (excess[:, 0] > 0), t, t * 0 - float("inf"))
    p = centre.pieces(t, ct, c02)
    mu = p.mu
    alpha = sign * xp.sqrt((room + p.quad) / p.V)
    d, spread = centre.step(p, alpha), p.V
    outer = xp.sqrt(p.V * (room + p.quad)) - sign * p.drift
    # Without a null-space part the noise ball alone also bounds the functional: the limit mu = inf. Near it the finite
    # mu agrees with the limit to rounding while its own primal point has lost its digits, so the limit is preferred.
    drift, width = centre.at_infinity(ct, c2)
    slack = xp.where(mu * float(centre.spec.s2.min()) > FAR, 1e-9 * width, width * 0)
    beyond = (c02 <= 0) & (width + sign * drift <= outer + slack)
    if bool(beyond.any()):
        reach = c2 @ (1 / centre.spec.s2)
        stretch = (centre.budget**0.5) / xp.sqrt(reach + guard)
        far = (centre.spec.yt / centre.s - centre.theta) + sign * stretch[:, None] * ct / centre.spec.s2
        d, alpha = xp.where(beyond[:, None], far, d), xp.where(beyond, alpha * 0, alpha)
        spread = xp.where(beyond, reach, spread)
        outer, mu = xp.where(beyond, width + sign * drift, outer), xp.where(beyond, mu * 0 + float("inf"), mu)
    share = _feasible_share(centre, inner, d, alpha, room, c02)
    move = inner + share[:, None] * (d - inner)
    # A null-space part that is rounding of k(x, x) is no direction to move in: its multiple would be any large number.
    null = xp.where(c02 > proj.c02_floor, share * alpha, alpha * 0)
    reached = sign * (move * ct).sum(1) + xp.abs(null) * c02
    return Edge(outer, reached, mu, centre.theta + move, null, spread, alpha)


def _feasible_share(centre: Centre, inner: Array, d: Array, alpha: Array, room: float, c02: Array) -> Array:
    """How far (points,) from the strictly feasible `inner` towards the dual's own primal point both balls allow, at most 1.

    The dual point meets both balls up to the tolerance of its root; the pull back is as small as that error.
    """
    xp, s2, guard = namespace(d), centre.spec.s2, tiny(d)
    move = d - inner
    # Norm ball, along inner + t move: size t^2 + 2 along t <= room left at inner; roots without cancellation.
    size = (move * move).sum(1) + alpha * alpha * c02
    along = move @ (centre.theta + inner)
    left = room - float(inner @ inner + 2 * (inner @ centre.theta))
    root = xp.sqrt(along * along + size * left)
    norm_share = xp.where(along > 0, left / (along + root + guard), (root - along) / (size + guard))
    # Noise ball: quad t^2 - 2 tilt t <= what is left of the budget at inner.
    quad, tilt = (move * move) @ s2, move @ (centre.g0 - s2 * inner)
    left = -float(centre.overshoot(inner[None, :])[0])
    root = xp.sqrt(tilt * tilt + quad * left)
    noise_share = xp.where(tilt < 0, left / (root - tilt + guard), (root + tilt) / (quad + guard))
    return xp.clip(xp.minimum(norm_share, xp.where(quad > 0, noise_share, noise_share * 0 + 1)), 0, 1)

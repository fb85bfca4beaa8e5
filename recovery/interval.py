"""LocalInterval: the range of a functional over the data-consistent set, with a primal point that certifies it.

Theorem 2. The two-parameter dual reduces to one dimension: S_+ = min_mu m(mu) + sqrt(V(mu) (rho^2 + r(mu))). Its
derivative vanishes where the dual's own primal point uses exactly the noise budget; that equation is solved for all
points at once. Every mu gives a valid outer edge (weak duality), so a delivered edge is never optimistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.recovery._array import Array, machine_eps, namespace, nonnegative, tiny
from orledger.recovery.centre import Centre
from orledger.recovery.errors import EmptySetError
from orledger.recovery.occam import HINT, Occam
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
    mu_lower, mu_upper: the optimal multiplier ratios, 0 (only the norm ball binds) to inf (only the noise ball binds).
    coords_* (points, k) and null_* (points,) are the feasible elements themselves, in the singular basis plus a multiple of
    the functional's null-space part; `primal_elements` writes them out. centre is the Occam solution's value; mid - centre keeps its relative accuracy in `half`-sized units.
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


def local_interval(spec: Spectral, proj: Projection, rho: float, eta: float, *, occ: Occam | None = None) -> Interval:
    """The interval [inf, sup] of each functional over {|u| <= rho, |Lam u - y| <= eta, exact rows met}.

    occ: the result of `occam(spec, eta)` when it is at hand. Raises EmptySetError when eta is below the best misfit or
    rho below the Occam radius; at rho = rho_oc the set is a single element and every half-width is zero.
    """
    rho = nonnegative(rho, "rho")
    centre = Centre.of(spec, eta, occ)
    rho_oc = centre.occ.rho
    if rho < rho_oc * (1 - 64 * machine_eps(spec.s2)):
        raise EmptySetError(
            f"rho = {rho:.8g} is below the Occam radius {rho_oc:.8g} at eta = {centre.occ.eta:.6g}",
            margin=rho - rho_oc,
            hint=HINT,
        )
    room = max(rho - rho_oc, 0.0) * (rho + rho_oc)
    xp, base = namespace(proj.ct), centre.value(proj)
    inner = centre.interior(room)
    parts = [_edges(centre, inner, proj[rows], room) for rows in _blocks(len(proj), len(spec.s2))]
    (up, pup, mu_up, at_up, null_up), (down, pdown, mu_down, at_down, null_down) = (
        [xp.concatenate([part[side][i] for part in parts]) for i in range(5)] for side in (0, 1)
    )
    mid, half = base + (up - down) / 2, (up + down) / 2
    # A difference below the rounding of the edge itself is no gap: the edge cannot be written down more finely.
    rounding = 64 * machine_eps(base) * (xp.abs(base) + half)
    gap = xp.clip(xp.maximum(up - pup, down - pdown) - rounding, 0, None) / (half + tiny(half))
    return Interval(
        mid, half, base - down, base + up, mu_down, mu_up, gap, base - pdown, base + pup, base, rho, rho_oc,
        at_down, at_up, null_down, null_up,
    )  # fmt: skip


FAR = 1e9
"""mu s_min^2 above this is treated as next to the limit mu = inf."""


def _blocks(points: int, k: int) -> list[slice]:
    size = max(16, BLOCK // max(k, 1))
    return [slice(i, min(i + size, points)) for i in range(0, max(points, 1), size)]


Side = tuple[Array, Array, Array, Array, Array]
"""One edge of a block of points: outer deviation, attained deviation, mu, coordinates and null-space multiple of the element."""


def _edges(centre: Centre, inner: Array, proj: Projection, room: float) -> list[Side]:
    """The edges above and below the centre, for one block of points."""
    xp, spec = namespace(proj.ct), centre.spec
    ct, c02 = proj.ct, proj.c02
    c2 = ct * ct
    if room == 0.0 or len(spec.s2) == 0 or centre.budget == 0.0:
        # One element; no informative row; or eta at the best misfit, where sqrt(room) times the power function is exact.
        visible = 0.0 if centre.budget == 0.0 or room == 0.0 else 1.0
        width = xp.sqrt(room * (c02 + visible * c2.sum(1)))
        mu = c02 * 0 + (centre.occ.mu if visible == 0.0 else 0.0)
        reach = xp.where(c02 > 0, xp.sqrt(room / xp.where(c02 > 0, c02, c02 + 1)), c02 * 0)
        at = ct * 0 + centre.theta
        return [(width, width, mu, at, reach), (width, width, mu, at, -reach)]
    grid = centre.nodes((room**0.5) / (centre.occ.rho + tiny(ct)))
    signs = (1.0, -1.0)
    rules = [lambda V, _, quad, sign=sign: sign * xp.sqrt((room + quad) / V) for sign in signs]
    tables = centre.excess_on_grid(grid, proj, c2, rules, room)
    return [
        _one_side(centre, inner, sign, room, ct, c2, c02, grid, table)
        for sign, table in zip(signs, tables, strict=True)
    ]


def _one_side(
    centre: Centre,
    inner: Array,
    sign: float,
    room: float,
    ct: Array,
    c2: Array,
    c02: Array,
    grid: Array,
    excess: Array,
) -> Side:
    """The edge in the direction `sign`, for one block of points."""
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
    d = centre.step(p, alpha)
    outer = xp.sqrt(p.V * (room + p.quad)) - sign * p.drift
    # Without a null-space part the noise ball alone also bounds the functional: the limit mu = inf. Near it the finite
    # mu agrees with the limit to rounding while its own primal point has lost its digits, so the limit is preferred.
    drift, width = centre.at_infinity(ct, c2)
    slack = xp.where(mu * float(centre.spec.s2.min()) > FAR, 1e-9 * width, width * 0)
    beyond = (c02 <= 0) & (width + sign * drift <= outer + slack)
    if bool(beyond.any()):
        stretch = (centre.budget**0.5) / xp.sqrt((c2 @ (1 / centre.spec.s2)) + guard)
        far = (centre.spec.yt / centre.s - centre.theta) + sign * stretch[:, None] * ct / centre.spec.s2
        d, alpha = xp.where(beyond[:, None], far, d), xp.where(beyond, alpha * 0, alpha)
        outer, mu = xp.where(beyond, width + sign * drift, outer), xp.where(beyond, mu * 0 + float("inf"), mu)
    share = _feasible_share(centre, inner, d, alpha, room, c02)
    move = inner + share[:, None] * (d - inner)
    reached = sign * (move * ct).sum(1) + share * xp.abs(alpha) * c02
    return outer, reached, mu, centre.theta + move, share * alpha


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

"""The two edges of a block of points: brackets on a shared grid, one root per point and edge, and the element that attains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import Array, divisor, namespace
from orledger.recovery.allowance import Edge
from orledger.recovery.roots import bracket, solve

if TYPE_CHECKING:
    from orledger.recovery.centre import Centre, OnGrid
    from orledger.recovery.projection import Projection

BLOCK = 1 << 15
"""Points are worked through in blocks of about this many coefficients, so that a block stays in the processor's cache."""

FAR = 1e9
"""mu s_min^2 above this is treated as next to the limit mu = inf."""


def blocks(points: int, k: int) -> list[slice]:
    """Slices of the points that are worked through together, with k coefficients each."""
    size = max(16, BLOCK // max(k, 1))
    return [slice(i, min(i + size, points)) for i in range(0, max(points, 1), size)]


def edges_of(
    centre: Centre, inner: Array, proj: Projection, room: float, nodes: tuple[Array, OnGrid] | None
) -> list[Edge]:
    """The edges above and below the centre, for one block of points; nodes: the shared grid of a problem that needs one."""
    xp, spec = namespace(proj.ct), centre.spec
    ct, c02 = proj.ct, proj.c02
    c2 = ct * ct
    if nodes is None:
        # One element; no informative row; or eta at the best misfit, where sqrt(room) times the power function is exact.
        width, mu = xp.sqrt(room * c02), c02 * 0 + centre.occ.mu
        seen = c02 > proj.c02_floor
        reach = xp.where(seen, xp.sqrt(room / divisor(c02)), c02 * 0)
        V = c02 + c2 @ (1 / (1 + (0.0 if np.isinf(centre.occ.mu) else centre.occ.mu) * spec.s2))
        alpha = width / divisor(V)
        at = ct * 0 + centre.theta
        attained = xp.where(seen, width, width * 0)
        return [Edge(width, attained, mu, at, sign * reach, V, alpha) for sign in (1.0, -1.0)]
    signs = (1.0, -1.0)
    rules = [lambda V, _, quad, sign=sign: sign * xp.sqrt((room + quad) / V) for sign in signs]
    tables = centre.excess_on_grid(nodes[1], proj, c2, rules)
    return [
        _one_side(centre, inner, sign, room, proj, c2, nodes[0], table)
        for sign, table in zip(signs, tables, strict=True)
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
    xp = namespace(ct)
    lo, hi, flo, fhi, inside = bracket(grid, centre.score(excess))

    held = [ct, c02]  # of the points still open, gathered again only when there are fewer

    def used(t: Array, idx: Array) -> Array:
        if len(idx) != len(held[0]):
            held[:] = ct[idx], c02[idx]
        c, c0 = held
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
        stretch = (centre.budget**0.5) / xp.sqrt(divisor(reach))
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
    xp, s2 = namespace(d), centre.spec.s2
    move = d - inner
    # Norm ball, along inner + t move: size t^2 + 2 along t <= room left at inner; roots without cancellation.
    size = (move * move).sum(1) + alpha * alpha * c02
    along = move @ (centre.theta + inner)
    left = room - float(inner @ inner + 2 * (inner @ centre.theta))
    root = xp.sqrt(along * along + size * left)
    norm_share = xp.where(along > 0, left / divisor(along + root), (root - along) / divisor(size))
    # Noise ball: quad t^2 - 2 tilt t <= what is left of the budget at inner.
    quad, tilt = (move * move) @ s2, move @ (centre.g0 - s2 * inner)
    left = -float(centre.overshoot(inner[None, :])[0])
    root = xp.sqrt(tilt * tilt + quad * left)
    noise_share = xp.where(tilt < 0, left / divisor(root - tilt), (root + tilt) / divisor(quad))
    return xp.clip(xp.minimum(norm_share, xp.where(quad > 0, noise_share, noise_share * 0 + 1)), 0, 1)

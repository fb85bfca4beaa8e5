"""What rounding can hide in a conditional interval, as a bound that is delivered with it.

Feature form. The computed factorisation is the exact one of Phi + E with |E| <= p eps |Phi|. For |theta| <= rho that moves the
misfit by at most |E| rho, so the exact consistent set lies in the computed one with eta a little larger; the dual edge, which is
valid for every mu, says how much further out that is.

Kernel form. The Gram matrix of rows and functionals is known up to an error F with |F| <= delta. Adding delta to its diagonal
is a matrix that dominates the exact one: it is the Gram matrix of the exact rows with extra coordinates of their own. Every
element that is consistent with the data stays consistent there, with the same norm and the same values, so the interval of that
problem contains the exact one. Nothing else about G needs to be known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from orledger.recovery._array import Array, like, machine_eps, namespace
from orledger.recovery.roots import log_grid

if TYPE_CHECKING:
    from orledger.recovery.centre import Centre
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral

ENTRY_UNITS = 2.0
"""Entries of G, b and k(x, x) are taken as right to this many rounding units of the root of the two diagonal entries."""

RADIUS_UNITS = 64.0
"""rho^2 - rho_oc^2 is taken as right to this many rounding units of rho^2."""

RESOLVED = 1e-3
"""An interval whose edge rounding can move by more than this share of its half-width is not resolved."""


class Edge(NamedTuple):
    """One edge of a block of points, measured from the Occam solution's value.

    outer: the dual edge; attained: what the feasible element reaches; mu: the multiplier ratio; coords and null: the element;
    spread: V(mu), or its limit sum c~^2 / s^2 of mu V(mu) where mu = inf; alpha: the dual's own multiple of the functional.
    """

    outer: Array
    attained: Array
    mu: Array
    coords: Array
    null: Array
    spread: Array
    alpha: Array


def gram_error(G: Array, exact: np.ndarray | None) -> Array:
    """The shift delta (n,): added to the diagonal of G (n, n) it covers what rounding can hide there, the factorisation included.

    An error of at most u sqrt(G_ii G_jj) in every entry is dominated by n u diag(G). Noisy and exact rows are factored apart,
    each with an error that is relative to the largest of its own block.
    """
    size = namespace(G).abs(G.diagonal()) * 1
    for rows in [slice(None)] if exact is None else [exact, ~exact]:
        if len(size[rows]):
            size[rows] = size[rows].max()
    return 2 * ENTRY_UNITS * machine_eps(G) * len(G) * size


def functional_error(proj: Projection, rho: float) -> Array:
    """|change of c . theta| (points,) from rounding in the functional and in the sums over its coordinates."""
    terms = len(proj.spec.s2) + 16
    return 4 * terms * machine_eps(proj.ct) * rho * namespace(proj.ct).sqrt(proj.norm2 + proj.shift * 0)


def feature_allowance(centre: Centre, proj: Projection, rho: float, room: float, edges: list[Edge]) -> Array:
    """How far (points,) the exact edges may lie outside the computed ones, for a problem entered through features.

    The elimination of exact rows is taken as exact.
    """
    xp, spec, eta = namespace(proj.ct), centre.spec, centre.occ.eta
    eps, top = machine_eps(proj.ct), float(xp.sqrt(spec.s2.max())) if len(spec.s2) else 0.0
    error = max(spec.n, int(spec.basis.shape[0])) * eps * top
    shift = (error + max(spec.resolution, error)) * rho + 8 * eps * spec.ynorm
    noise, norm = shift * (2 * eta + shift), RADIUS_UNITS * eps * rho * rho
    if centre.budget == 0.0 and len(spec.s2):
        moved = _degenerate(centre, proj, room, noise, norm)
    else:
        moved = xp.maximum(*(_moved(centre, edge, noise, norm) for edge in edges))
    return moved + functional_error(proj, rho)


def _moved(centre: Centre, edge: Edge, noise: float, norm: float) -> Array:
    """The dual edge at the same mu with eta^2 larger by `noise` and rho^2 by `norm`, minus the one at hand."""
    xp, V = namespace(edge.mu), edge.spread
    far = xp.isinf(edge.mu)
    old = xp.where(far, V * 0 + centre.budget, V * edge.alpha * edge.alpha)
    more = xp.where(far, V * 0 + noise, xp.where(far, V * 0, edge.mu) * noise + norm)
    new = xp.sqrt(V * (old + more))
    return V * more / (new + xp.sqrt(V * old) + xp.where(new > 0, new * 0, new * 0 + 1))


def _degenerate(centre: Centre, proj: Projection, room: float, noise: float, norm: float) -> Array:
    """The same where eta is the best misfit and the optimum mu = inf: the best of the valid edges at finite mu."""
    xp, spec = namespace(proj.ct), centre.spec
    mus = xp.exp(log_grid(spec.s2))
    f = 1 / (1 + mus[:, None] * spec.s2)
    V = (proj.ct * proj.ct) @ f.T + proj.c02[:, None]
    quad = f @ centre.v2
    drift = xp.abs(proj.ct @ (f * centre.v).T)
    edge = drift + xp.sqrt(V * (room + quad + mus * noise + norm))
    least = edge.min(1) if xp is np else edge.min(1).values
    return xp.clip(least - xp.sqrt(room * proj.c02), 0, None)


def gram_allowance(spec: Spectral, proj: Projection, rho: float, edges: list[Edge]) -> Array:
    """A first bound (points,) for the kernel form, from the dual at the same mu; inf where only the dominating problem tells.

    V, m and q of G + delta differ from those of G by at most their tangents in delta, because each is concave in it.
    """
    xp, eps = namespace(proj.ct), machine_eps(proj.ct)
    kxx = proj.norm2
    unit = ENTRY_UNITS * eps
    cut = spec.resolution**2 if spec.dropped else 0.0
    delta = max(spec.noisy_delta, 2 * cut)
    worst = kxx * 0
    for edge in edges:
        far = xp.isinf(edge.mu)
        mu = xp.where(far, kxx * 0, edge.mu)
        wn, misfit = proj.at(mu).wn, spec.misfit(mu)
        V, R = edge.spread, edge.spread * edge.alpha * edge.alpha
        dV, dR = 2 * (delta * wn * wn + unit * kxx), delta * (mu * misfit) ** 2
        dm = mu * misfit * (delta * wn + xp.sqrt(delta * unit * kxx)) + mu * xp.sqrt(cut * kxx * like(spec.y02, kxx))
        new = xp.sqrt((V + dV) * (R + dR))
        moved = dm + (V * dR + dV * (R + dR)) / (new + xp.sqrt(V * R) + xp.where(new > 0, new * 0, new * 0 + 1))
        worst = xp.maximum(worst, xp.where(far, moved * 0 + float("inf"), moved))
    return worst + functional_error(proj, rho)

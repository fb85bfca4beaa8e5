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

from orledger.recovery._array import ENTRY_UNITS, Array, divisor, gain, like, machine_eps, namespace
from orledger.recovery.centre import Centre
from orledger.recovery.dominating import pending_move
from orledger.recovery.roots import log_grid

if TYPE_CHECKING:
    from orledger.recovery.elimination import ExactRows
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral

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
    size = namespace(G).abs(G.diagonal())
    for rows in [slice(None)] if exact is None else [exact, ~exact]:
        if len(size[rows]):
            size[rows] = size[rows].max()
    return 2 * ENTRY_UNITS * machine_eps(G) * len(G) * size


def edges_at(proj: Projection, rho: float, eta: float, mu_lower: Array, mu_upper: Array) -> tuple[Array, Array]:
    """(lower, upper) (points,): the dual edges at one mu per point and edge, each valid; infinite where mu = inf or nothing is left.

    Where the multipliers come from a problem close by, what these edges lack is of second order in the difference.
    """
    xp, centre = namespace(proj.ct), Centre.of(proj.spec, eta)
    rho_oc = centre.occ.rho
    room, base = max(rho - rho_oc, 0.0) * (rho + rho_oc), centre.value(proj)
    if np.isinf(centre.occ.mu):
        return base - float("inf"), base + float("inf")
    edges = []
    for sign, mu in ((-1.0, mu_lower), (1.0, mu_upper)):
        far, inside = xp.isinf(mu), (mu > 0) & ~xp.isinf(mu)
        t = xp.log(divisor(mu) / (centre.occ.mu or 1.0))
        p = centre.pieces(xp.where(inside, t, base * 0 - float("inf")), proj.ct, proj.c02)
        R = room + p.quad
        edge = base - p.drift + sign * (xp.sqrt(p.V * R) + pending_move(proj, p, R))
        edges.append(xp.where(far, base + sign * float("inf"), edge))
    return edges[0], edges[1]


def functional_error(proj: Projection, rho: float) -> Array:
    """|change of c . theta| (points,) from rounding in the functional and in the sums over its coordinates."""
    terms = len(proj.spec.s2) + 16 + (proj.spec.exact.count if proj.spec.exact else 0)
    norm2 = proj.norm2 if proj.whole2 is None else proj.whole2
    return 4 * terms * machine_eps(proj.ct) * rho * namespace(proj.ct).sqrt(norm2)


def feature_allowance(centre: Centre, proj: Projection, rho: float, room: float, edges: list[Edge]) -> Array:
    """How far (points,) the exact edges may lie outside the computed ones, for a problem entered through features.

    Exact rows are met up to their factors' rounding: an element then lies within `slip` times rho of one that meets them as
    factored, whose norm, misfit and value differ by as much as that allows.
    """
    xp, spec, eta = namespace(proj.ct), centre.spec, centre.occ.eta
    eps, top = machine_eps(proj.ct), float(xp.sqrt(spec.s2.max())) if len(spec.s2) else 0.0
    error = max(spec.n, int(spec.basis.shape[0])) * eps * top
    shift = (error + max(spec.resolution, error)) * rho + 8 * eps * spec.ynorm
    slip, moved = 0.0, proj.norm2 * 0
    if spec.exact is not None and proj.whole2 is not None:
        slip = spec.exact.slip * rho
        shift, moved = shift + spec.exact.schur_scale * slip, slip * xp.sqrt(proj.whole2)
    noise, norm = shift * (2 * eta + shift), RADIUS_UNITS * eps * rho * rho + slip * (2 * rho + slip)
    return moved + _loosened(centre, proj, room, edges, noise, norm) + functional_error(proj, rho)


def balls_error(centre: Centre, proj: Projection, rho: float, room: float, edges: list[Edge]) -> Array:
    """How far (points,) the rounding of rho^2 - rho_oc^2 and of the data's products with the eigenvectors can move an edge.

    Kernel form; close to the Occam radius it is more than an error of the Gram matrix itself.
    """
    eps = machine_eps(proj.ct)
    shift = 8 * eps * centre.spec.ynorm
    return _loosened(centre, proj, room, edges, shift * (2 * centre.occ.eta + shift), RADIUS_UNITS * eps * rho * rho)


def _loosened(centre: Centre, proj: Projection, room: float, edges: list[Edge], noise: float, norm: float) -> Array:
    """How much further out (points,) both edges lie at most with eta^2 larger by `noise` and rho^2 by `norm`."""
    if centre.budget == 0.0 and len(centre.spec.s2):
        return _degenerate(centre, proj, room, noise, norm)
    return namespace(proj.ct).maximum(*(_moved(centre, edge, noise, norm) for edge in edges))


def _moved(centre: Centre, edge: Edge, noise: float, norm: float) -> Array:
    """The dual edge at the same mu with eta^2 larger by `noise` and rho^2 by `norm`, minus the one at hand."""
    xp, V = namespace(edge.mu), edge.spread
    far = xp.isinf(edge.mu)
    old = xp.where(far, centre.budget, V * edge.alpha * edge.alpha)
    more = xp.where(far, noise, xp.where(far, 0.0, edge.mu) * noise + norm)
    new = xp.sqrt(V * (old + more))
    return V * more / divisor(new + xp.sqrt(V * old))


def _degenerate(centre: Centre, proj: Projection, room: float, noise: float, norm: float) -> Array:
    """The same where eta is the best misfit and the optimum mu = inf: the best of the valid edges at finite mu."""
    xp, spec = namespace(proj.ct), centre.spec
    mus = xp.exp(log_grid(spec.s2))
    f = 1 / (1 + mus[:, None] * spec.s2)
    V = (proj.ct * proj.ct) @ f.T + proj.c02[:, None]
    quad = f @ centre.v2
    drift = xp.abs(proj.ct @ (f * centre.v).T)
    edge = drift + xp.sqrt(V * (room + quad + mus * noise + norm))
    return xp.amin(edge, 1) - xp.sqrt(room * proj.c02)


def moved_variance(proj: Projection, mu: Array) -> Array:
    """How much larger (points,) V at one mu per point can be in the dominating problem: its tangent, V being concave.

    The tangent is the sum of delta_i w_i^2 over all rows, w being their weights in the posterior mean of the functional.
    """
    weights = proj.ct * gain(mu[:, None] * proj.spec.s2) / namespace(mu).sqrt(proj.spec.s2)
    return 2 * (_exposure(proj.spec, weights, proj.source) + ENTRY_UNITS * machine_eps(mu) * proj.entered[1])


def _exposure(spec: Spectral, weights: Array, whitened: Array | None) -> Array:
    """Sum of delta_i w_i^2 (points,) over all rows, from the weights (points, k) of the noisy rows in the eigenbasis.

    whitened (points, rank) or (rank,): what the exact rows have to give, from which follow their own weights.
    """
    cut = spec.resolution**2 if spec.dropped else 0.0
    noisy = max(spec.noisy_delta, 2 * cut) * (weights * weights).sum(1)
    if spec.exact is None or whitened is None:
        return noisy
    exact = _weights_of_exact_rows(spec.coupled, spec.exact, weights, whitened)
    return noisy + float(spec.delta[spec.exact.mask].max()) * (exact * exact).sum(1)


def _weights_of_exact_rows(coupled: Array, rows: ExactRows, weights: Array, whitened: Array) -> Array:
    """The weights (points, count) that follow from those of the noisy rows (points, k) and what the exact rows have to give."""
    return (whitened - weights @ coupled) @ rows.factor.T


def products_error(centre: Centre, proj: Projection, rho: float, room: float, edges: list[Edge]) -> Array:
    """How far (points,) the edges of a widened problem can move with the rounding of its functionals' products with the eigenvectors.

    An error e in the inner products moves V by twice the rows' weights times e, and the mean by the data's weights times e. Where V
    is itself close to the rounding of k(x, x), its root moves by much more than rounding: the same point in another batch, whose
    products round differently, has another edge.
    """
    xp, spec, (b, kxx) = namespace(proj.ct), proj.spec, proj.entered
    rows, eps, s = len(b), machine_eps(proj.ct), xp.sqrt(proj.spec.s2)
    error, worst = 4 * (rows + 16) ** 0.5 * eps * xp.sqrt((b * b).sum(0)), kxx * 0
    for edge in edges:
        far = xp.isinf(edge.mu)
        share = gain(edge.mu[:, None] * spec.s2) / s
        own, data = (
            _size(spec, proj.ct * share, proj.source),
            _size(spec, spec.yt / s * share, spec.exact.data if spec.exact else None),
        )
        dV = 4 * (rows + 16) * eps * kxx + 2 * own * error
        # At mu = inf either eta is the best misfit, and the edge is the power function's, or V is nothing but its error.
        V = xp.where(far, proj.c02, edge.spread)
        R = xp.where(far, room if centre.budget == 0.0 else rho * rho, edge.spread * edge.alpha * edge.alpha)
        moved = dV * R / divisor(xp.sqrt((V + dV) * R) + xp.sqrt(V * R))
        worst = xp.maximum(worst, moved + data * error)
    return worst


def _size(spec: Spectral, weights: Array, whitened: Array | None) -> Array:
    """The norm (points,) of the weights of all rows, from those of the noisy rows (points, k) in the eigenbasis."""
    squares = (weights * weights).sum(1)
    if spec.exact is not None and whitened is not None:
        squares = squares + (_weights_of_exact_rows(spec.coupled, spec.exact, weights, whitened) ** 2).sum(1)
    return namespace(weights).sqrt(squares)


def gram_allowance(spec: Spectral, proj: Projection, rho: float, edges: list[Edge]) -> Array:
    """A first bound (points,) for the kernel form, from the dual at the same mu; inf where only the dominating problem tells.

    V, m and q of G + delta differ from those of G by at most their tangents in delta, because each is concave in it. What exact
    rows say in a direction that was dropped is in no tangent.
    """
    xp, eps = namespace(proj.ct), machine_eps(proj.ct)
    worst, kxx = proj.norm2 * 0, proj.entered[1]
    if spec.exact is not None and (spec.dropped or spec.exact.dropped):
        return worst + float("inf")
    cut = spec.resolution**2 if spec.dropped else 0.0
    hidden, unit, beyond = max(spec.noisy_delta, 2 * cut), ENTRY_UNITS * eps, like(spec.y02, kxx)
    for edge in edges:
        far = xp.isinf(edge.mu)
        mu = xp.where(far, 0.0, edge.mu)
        V, R = edge.spread, edge.spread * edge.alpha * edge.alpha
        dV, data = moved_variance(proj, mu), gain(mu[:, None] * spec.s2) / spec.s2 * spec.yt
        dR = _exposure(spec, data, spec.exact.data if spec.exact else None) + hidden * beyond * mu * mu
        lost = mu * proj.lost_size  # the functional's weight in the directions that were dropped
        dm = xp.sqrt(dR) * (xp.sqrt(dV / 2 + hidden * lost * lost) + xp.sqrt(unit * kxx)) + lost * xp.sqrt(beyond)
        new = xp.sqrt((V + dV) * (R + dR))
        moved = dm + (V * dR + dV * (R + dR)) / divisor(new + xp.sqrt(V * R))
        worst = xp.maximum(worst, xp.where(far, float("inf"), moved))
    return worst + functional_error(proj, rho)

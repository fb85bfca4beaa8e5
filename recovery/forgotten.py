"""What directions that were dropped could still have said: an interval or a radius that they could narrow is not resolved.

A dropped direction has an eigenvalue anywhere between zero and twice the cut. Its inner product with a functional, and its
datum, are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import ENTRY_UNITS, Array, like, machine_eps, namespace, tiny, to_numpy
from orledger.recovery.roots import CORE_STEP, log_grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.recovery.allowance import Edge
    from orledger.recovery.centre import Centre
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral


def forgotten(proj: Projection) -> tuple[Array, Array]:
    """What dropped directions could still say of each functional (points,): how much per unit of mu, and whether without limit.

    V at mu could be smaller by mu times the first. A dropped direction whose inner product with the functional is rounding says
    nothing about it, as with repeated rows. What a noisy direction says is limited by its noise, and what an exact one says is
    not limited.
    """
    spec, (b, kxx) = proj.spec, proj.entered
    xp, less = namespace(kxx), kxx * 0
    limitless = less > 0
    # (8 n eps)^2 of the largest diagonal entry, of which the largest delta is 2 ENTRY_UNITS n eps.
    floor = 32 / ENTRY_UNITS * len(b) * machine_eps(kxx) * float(spec.delta.max()) * kxx
    if spec.exact is not None and spec.exact.lost is not None:
        part = spec.exact.lost.T @ b[spec.exact.mask]
        limitless = (part * part > floor).any(0)
    if spec.lost is not None:
        part = proj.lost_part
        less = xp.where(part * part > floor, part * part, part * 0).sum(0)
    return less, limitless


def forgotten_share(hidden: tuple[Array, Array], mu: Array, V: Array) -> Array:
    """The part of V (points,), at one mu per point, that what was `forgotten` could have taken off, in [0, 1]."""
    xp, (less, limitless) = namespace(V), hidden
    most = less * xp.where(less > 0, mu, less)  # no limit times nothing is nothing
    share = xp.clip(most / (V + tiny(V)), None, 1)
    return xp.where(limitless, share * 0 + 1, share)


def contradicted(spec: Spectral, eta: float) -> bool:
    """Whether a datum along a dropped direction is more than rounding, and more than noise explains.

    An element that meets it has a norm without limit: the exact set may be smaller than what is left without it, or empty.
    """
    unit = 64 * machine_eps(spec.s2)
    if spec.dropped and eta < spec.best_misfit - unit * spec.ynorm:
        return True
    if spec.exact is None or spec.exact.lost is None or spec.given is None:
        return False
    y = spec.given[1][spec.exact.mask]
    datum = spec.exact.lost.T @ y
    return float(datum @ datum) > unit**2 * float(y @ y)


def narrowing(centre: Centre, proj: Projection, room: float, less: Array, edges: Sequence[Edge]) -> Array:
    """The share (points,) of its half-width by which an edge could lie further in with what was `forgotten`.

    The multiplier that is best without a direction need not be the best with it, so those of a grid are asked. Its datum counts in
    the mean and in the misfit.
    """
    xp, share, y02 = namespace(less), less * 0, centre.spec.y02
    index = _seen(proj, less)
    if len(index) == 0 or room <= 0.0 or centre.budget <= 0.0:
        return share
    ct, less = proj.ct[index], less[index][:, None]
    t = _nodes(proj, index, less) - (np.log(centre.occ.mu) if centre.occ.mu > 0 else 0.0)
    mus, at = centre.locate(t)[0], centre.on_grid(t, room)
    V = (ct * ct) @ at.f.T + proj.c02[index][:, None] + tiny(less)
    less = _possible(centre.spec, less, V)
    left = 1 / (1 + mus * less / V)
    reach = xp.sqrt(V * left * (room + at.quad + mus * y02 * (1 - left))) - mus * left * xp.sqrt(less * y02)
    drift = at.lam * (ct @ at.fv.T)
    half = (edges[0].outer + edges[1].outer)[index] / 2
    inwards = [edge.outer[index] - xp.amin(reach - sign * drift, 1) for edge, sign in zip(edges, (1, -1), strict=True)]
    share[index] = xp.clip(xp.maximum(*inwards) / (half + tiny(half)), 0, 1)
    return share


def narrowed_radius(proj: Projection, less: Array, eps: float, eta: float, radius: Array) -> Array:
    """The same share (points,) of a radius over the balls eps and eta."""
    xp, share, s2 = namespace(less), less * 0, proj.spec.s2
    index = _seen(proj, less)
    if len(index) == 0 or eps == 0 or eta == 0:
        return share
    ct, less = proj.ct[index], less[index][:, None]
    mus = xp.exp(_nodes(proj, index, less))
    f = 1 / (1 + mus[:, None] * s2)
    V = (ct * ct) @ f.T + proj.c02[index][:, None] + tiny(less)
    value = xp.amin(V / (1 + mus * _possible(proj.spec, less, V) / V) * (eps**2 + mus * eta**2), 1)
    share[index] = xp.clip(1 - xp.sqrt(value) / (radius[index] + tiny(less)), 0, 1)
    return share


def _seen(proj: Projection, less: Array) -> np.ndarray:
    """The points whose inner products with dropped directions are more than what the rounding of these directions makes of the others.

    An error of G turns a dropped direction towards a kept one by the error over its eigenvalue, so the product moves by as
    much as delta times the rows' weights.
    """
    weights2 = (proj.ct * proj.ct / proj.spec.s2).sum(1)
    return np.flatnonzero(to_numpy(less > proj.spec.noisy_delta**2 * weights2))


def _possible(spec: Spectral, less: Array, V: Array) -> Array:
    """`less` (points, M) where an eigenvalue fits to it: it takes the most off V with less / V, which is at most twice the cut.

    Elsewhere V is smaller than the direction's own part of it, so what seemed to be an inner product is rounding.
    """
    return namespace(V).where(less <= 2 * spec.resolution**2 * V, less, less * 0)


def _nodes(proj: Projection, index: np.ndarray, less: Array) -> Array:
    """Logarithms (M,) of multipliers: those of the spectrum, and those at which what was forgotten weighs against V."""
    whole = to_numpy(proj.norm2[index])
    scale = np.log((to_numpy(proj.c02[index]) + machine_eps(less) * whole) / to_numpy(less)[:, 0])
    first, last = float(scale.min()) - 10, float(np.log(whole / to_numpy(less)[:, 0]).max()) + 10
    more = like(np.linspace(first, last, int((last - first) / CORE_STEP) + 2), less)
    t = namespace(less).concatenate([log_grid(proj.spec.s2), more]) if len(proj.spec.s2) else more
    return t[t < -np.log(tiny(less))]

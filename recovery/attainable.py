"""What of an interval or a radius is attained whatever rounding did to its Gram matrix: a bound from inside.

`allowance` and `dominating` bound the exact answer from outside. Here an element is at hand that attains the computed one. Its norm,
its misfit and its value are sums over the weights that it gives to the rows, so an error F of the Gram matrix with |F| <= delta
moves them by a known amount, and nothing need be known of small eigenvalues or of directions that were dropped. The element
becomes feasible again in one of two ways, whichever costs less:

- soft: the noise ball has room, so it moves a little towards an element in the interior of both balls;
- hard: every row keeps the value that it had, by a correction in the span of the rows. Their eigenvalues must exceed delta for that.
  A direction may be missing only where a row is zero, or two are equal to the last bit, among each other and with the functional.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from orledger.recovery._array import ENTRY_UNITS, Array, divisor, machine_eps, namespace, to_numpy
from orledger.recovery.allowance import functional_error
from orledger.recovery.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.recovery.allowance import Edge
    from orledger.recovery.centre import Centre
    from orledger.recovery.projection import Projection


class Weights(NamedTuple):
    """What elements are made of (points,): multiples of noisy rows, in their eigenbasis (points, k), of exact rows, of the functional."""

    noisy: Array
    exact: Array | None
    null: Array


class Cost(NamedTuple):
    """What an error of the Gram matrix can add (points,): to the squared norm, the misfit and the value of an element; ok: it has a limit."""

    norm2: Array
    misfit: Array
    value: Array
    ok: Array


@dataclass(frozen=True)
class GramRounding:
    """The error that the Gram matrix of `proj` may have.

    meets: the rows whose data elements have to meet, so that they must agree where rows repeat: "all", "exact", or "none" of them.
    """

    proj: Projection
    meets: str

    @cached_property
    def noisy(self) -> float:
        """Its bound on the noisy rows, with what was cut off: more than `delta` where a negative eigenvalue shows a larger error."""
        spec = self.proj.spec
        return spec.noisy_delta + (spec.resolution**2 if spec.dropped else 0.0)

    @cached_property
    def exact(self) -> float:
        """Its bound on the exact rows."""
        spec = self.proj.spec
        return 0.0 if spec.exact is None else float(spec.delta[spec.exact.mask].max())

    @cached_property
    def own(self) -> Array:
        """Its bound on the functional (points,)."""
        kxx = self.proj.entered[1]
        return 4 * ENTRY_UNITS * machine_eps(kxx) * kxx

    def weights(self, coords: Array, null: Array, *, data: bool) -> Weights:
        """Of the elements with these coordinates (points, k) and multiples `null` of what the rows leave of the functional.

        data: the element meets the data of the exact rows; otherwise it is zero there.
        """
        spec, rows, source = self.proj.spec, self.proj.spec.exact, self.proj.source
        noisy = (coords - null[:, None] * self.proj.ct) / namespace(null).sqrt(spec.s2)
        if rows is None or source is None:
            return Weights(noisy, None, null)
        left = -null[:, None] * source - noisy @ spec.coupled
        return Weights(noisy, (left + rows.data if data else left) @ rows.factor.T, null)

    def exposure(self, w: Weights) -> Array:
        """How much the squared norm can change (points,); all values together, by at most the root of delta times it."""
        total = self.noisy * _square(w.noisy) + self.own * w.null * w.null
        return total if w.exact is None else total + self.exact * _square(w.exact)

    def unseen(self, w: Weights) -> Array:
        """The size (points,) of what the elements are in directions of noisy rows that were dropped: there the functional is known."""
        return namespace(w.null).abs(w.null) * self.proj.lost_size

    def soft(self, w: Weights, exposure: Array, *, data: bool) -> Cost:
        """What there is to pay where only the exact rows keep their values, which are their data, or zero."""
        xp, spec, source = namespace(exposure), self.proj.spec, self.proj.source
        misfit, value = (self.noisy * exposure) ** 0.5 + self.unseen(w), xp.sqrt(self.own * exposure)
        if spec.exact is None or source is None:
            return Cost(exposure, misfit, value, xp.isfinite(exposure))
        factor, least = spec.exact.factor, max(spec.exact.least, 2 * self.exact)
        ok = self._once(spec.exact.mask, spec.exact.dropped) & (spec.exact.least > 2 * self.exact)
        change = (self.exact * exposure) ** 0.5 / (1 - self.exact / least)
        misfit = misfit + (spec.exact.carried + (self.noisy * self.exact) ** 0.5 / least) * change
        along = float(xp.linalg.norm(factor @ spec.exact.data)) * change if data else 0.0
        value = value + (xp.sqrt(_square(source @ factor.T)) + xp.sqrt(self.own * self.exact) / least) * change
        return Cost(exposure + 2 * along + 3 * change * change / least, misfit, value, ok)

    def hard(self, w: Weights, exposure: Array) -> Cost:
        """What there is to pay where all rows keep their values."""
        xp, most = namespace(exposure), max(self.noisy, self.exact)
        weakest, ok = self._weakest
        change = (most * exposure) ** 0.5
        own = self.weights(self.proj.ct * 0, xp.ones_like(exposure), data=False)
        squares = _square(own.noisy) if own.exact is None else _square(own.noisy) + _square(own.exact)
        left = max(weakest, 2 * most) - most
        seen = (2 * xp.sqrt(squares) + xp.sqrt(self.own * most) / left) * change
        size2 = change * change / left
        norm2 = 3 * exposure + 2 * xp.abs(w.null) * seen + size2
        return Cost(norm2, exposure * 0, xp.sqrt(self.own * exposure) + seen, ok & (weakest > 2 * most))

    @cached_property
    def _weakest(self) -> tuple[float, Array]:
        """The smallest eigenvalue of all rows but for repeated ones, and where (points,) no other direction was dropped."""
        spec, rows = self.proj.spec, len(self.proj.entered[0])
        dropped = spec.dropped + (spec.exact.dropped if spec.exact else 0)
        if dropped == rows:
            least = float("inf")
        else:
            least = float(spec.s2.min()) if spec.exact is None else float(spec.eigenvalues[dropped])
        return least, self._once(np.ones(rows, dtype=bool), dropped)

    @cached_property
    def _table(self) -> np.ndarray:
        """What is said of each row (n, n + 1): its products with all rows, and its datum where that has to be met."""
        spec = self.proj.spec
        if spec.given is None:
            raise InputError("only a spectral object built from a Gram matrix has a Gram error")
        G, y, exact = spec.given
        met = self.meets == "all" or (False if exact is None or self.meets == "none" else exact)
        return np.column_stack([to_numpy(G), to_numpy(y) * met]) + 0.0  # which makes -0 to 0

    def _once(self, rows: np.ndarray, dropped: int) -> Array:
        """Where (points,) the `dropped` directions of these rows (n,) are zero rows, or rows that repeat others to the last bit."""
        b, kxx = self.proj.entered
        every = namespace(kxx).isfinite(kxx)
        if dropped == 0:
            return every
        table = self._table[rows]
        seen: dict[bytes, int] = {}
        first = np.array([seen.setdefault(row.tobytes(), i) for i, row in enumerate(table)])
        none = ~table.any(1)
        if len(table) - len(seen) + int(none.any()) != dropped:
            return ~every
        products = b[rows]
        return (products[first] == products).all(0) & (products[none] == 0).all(0)


def shortfall(centre: Centre, proj: Projection, rho: float, room: float, inner: Array, edges: Sequence[Edge]) -> Array:
    """How far (points,) inside the computed edges, above and below, those of the exact set may lie, whatever rounding did to G.

    inner (k,): a move from the Occam solution into the interior of both balls. The whole width, where nothing is known.
    """
    xp, width = namespace(proj.ct), edges[0].outer + edges[1].outer
    error, eta = GramRounding(proj, "exact" if centre.budget > 0.0 else "all"), centre.occ.eta
    there = [proj.ct * 0 + centre.theta + inner, proj.ct * 0 + centre.theta]
    middle, occam = (error.exposure(error.weights(at, width * 0, data=True)) for at in there)
    norm_room = room - float(inner @ inner + 2 * (inner @ centre.theta))
    noise_room = -float(centre.overshoot(inner[None, :])[0])
    missing, along = [], proj.ct @ inner
    for edge, level in zip(edges, (along, -along), strict=True):
        w = error.weights(edge.coords, edge.null, data=True)
        size, lost = error.exposure(w), width
        if centre.budget > 0.0:
            cost = error.soft(w, xp.maximum(size, middle), data=True)
            share = xp.maximum(_ratio(cost.norm2, norm_room), _ratio(cost.misfit * (2 * eta + cost.misfit), noise_room))
            held = cost.ok & (share < 1)
            lost = xp.where(held, xp.minimum(lost, share * (edge.outer - level) + cost.value), lost)
        cost = error.hard(w, xp.maximum(size, occam))
        share = _ratio(cost.norm2, room)
        held = cost.ok & (share < 1)
        lost = xp.where(held, xp.minimum(lost, share * edge.outer + cost.value), lost)
        missing.append(edge.outer - edge.attained + lost)
    return xp.maximum(*missing) + functional_error(proj, rho)


def radius_share(proj: Projection, eps: float, eta: float, mu: Array, radius: Array) -> Array:
    """The share (points,) of `radius`, over the balls eps and eta with its optimum at `mu`, that may be missing from the exact one."""
    xp, spec = namespace(mu), proj.spec
    if eps == 0.0:
        return xp.zeros_like(radius)
    error, noise = GramRounding(proj, "none"), eta / eps
    far, s = xp.isinf(mu), xp.sqrt(spec.s2)
    # The element of norm 1 in the direction of what the posterior mean leaves of the functional; at mu = inf the limits of its parts.
    coords, null = proj.ct / (1 + xp.where(far, 0.0, mu)[:, None] * spec.s2), xp.ones_like(mu)
    size = divisor(xp.sqrt(null * proj.c02 + _square(coords)))
    seen = proj.ct / spec.s2 * (noise / divisor(xp.sqrt(_square(proj.ct / s))))[:, None]
    coords = xp.where(far[:, None], seen, coords / size[:, None])
    null = xp.where(far, (proj.c02 > proj.c02_floor) / divisor(xp.sqrt(proj.c02)), null / size)
    w = error.weights(coords, null, data=False)
    # Where c02 was clipped, the rows explain more than rounding leaves of the functional; the element has what is left without that.
    rest = proj.norm2 - _square(proj.ct)
    norm2, misfit = null * null * proj.c02 + _square(coords), xp.sqrt(_square(coords * s))
    along = (coords * proj.ct).sum(1)
    exposure, most = error.exposure(w), xp.zeros_like(along)
    # What rounding costs is measured against what the element attains, so that a mu which is not optimal has none.
    used = xp.maximum(xp.sqrt(norm2), misfit / noise) if eta > 0 else xp.sqrt(norm2)
    whole = xp.where(far, radius / eps, (null * proj.c02 + along) / divisor(used))
    value = null * rest + along
    for cost in ([error.soft(w, exposure, data=False)] if eta > 0 else []) + [error.hard(w, exposure)]:
        stretch = xp.clip(xp.sqrt(norm2 + cost.norm2), 1.0, None)
        if eta > 0:
            stretch = xp.maximum(stretch, (misfit + cost.misfit) / noise)
        most = xp.where(cost.ok, xp.maximum(most, (value - cost.value) / stretch), most)
    return (1 - most / divisor(whole)) * (radius > 0)


def _square(x: Array) -> Array:
    """The squared norm of each row."""
    return (x * x).sum(1)


def _ratio(cost: Array, room: float) -> Array:
    """The share (points,) of the way to the interior that pays for `cost`; 1 where there is no such way."""
    xp = namespace(cost)
    return xp.clip(cost / room, None, 1) if room > 0 else xp.ones_like(cost)

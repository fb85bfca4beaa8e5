"""The conditional problem seen from the Occam solution, where nothing cancels.

Write theta = theta_oc + d with theta_oc the Occam solution (multiplier mu0). With lam = 1 - mu/mu0 and v = theta_oc
(for mu0 = 0: lam = -mu, v = s y~), the dual quantities of Theorem 2 become sums of squares:

    m(mu)       = m_oc - lam sum f v c~
    rho^2 + r   = (rho^2 - rho_oc^2) + A mu + lam^2 sum f v^2,          A = (eta^2 - |y|^2)_+
    d           = f (alpha c~ - lam v)
    |Phi theta - y|^2 - eta^2 = sum s^2 d^2 - 2 sum f0 s y~ d - A        (the derivative of the dual in mu, up to sign)

so half-widths keep full relative accuracy down to rho = rho_oc, however large the centre value is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from orledger.recovery._array import Array, divisor, gain, like, machine_eps, namespace, number, tiny, to_numpy
from orledger.recovery.errors import InputError
from orledger.recovery.occam import Occam, occam
from orledger.recovery.roots import log_grid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral


class Pieces(NamedTuple):
    """Per point: mu, damping f and f c~ (points, k), variance V, drift m_oc - m, quad = A mu + lam^2 sum f v^2, and lam."""

    mu: Array
    f: Array
    fc: Array
    V: Array
    drift: Array
    quad: Array
    lam: Array


class OnGrid(NamedTuple):
    """Per node of a shared grid of M: f, f v, and the coefficients (M, k) of c~^2 and c~ in the excess; lam, quad, const, factor (M,).

    far (M,): the node is measured by the norm ball.
    """

    f: Array
    fv: Array
    lam: Array
    quad: Array
    far: Array
    square: Array
    linear: Array
    const: Array
    factor: Array


@dataclass(frozen=True)
class Centre:
    """The Occam solution of (spec, eta): theta (k,), direction v (k,), residual row g0 = f0 s y~ (k,), A, and the budget.

    budget = eta^2 minus the squared best misfit: the part of the noise ball that the range of Phi can use.
    """

    spec: Spectral
    occ: Occam
    s: Array
    theta: Array
    v: Array
    g0: Array
    A: float
    budget: float

    @classmethod
    def of(cls, spec: Spectral, eta: float, occ: Occam | None = None) -> Centre:
        """The centre for noise level eta; raises EmptySetError when the data are refused."""
        if occ is not None and not (isinstance(occ, Occam) and occ.eta == number(eta, "eta")):
            seen = f"the Occam radius at eta = {occ.eta:.6g}" if isinstance(occ, Occam) else f"{occ!r:.60}"
            raise InputError(f"occ is {seen} and eta = {eta!s:.20}", hint="pass occam(spec, eta), or leave occ out")
        occ = (occ if occ is not None else occam(spec, eta)).require()
        xp, s2, yt = namespace(spec.s2), spec.s2, spec.yt
        s, x0 = xp.sqrt(s2), occ.mu * s2
        theta = gain(x0) * yt / s
        v = theta if occ.mu > 0 else s * yt
        ynorm, y0 = spec.ynorm, spec.best_misfit
        A = (occ.eta - ynorm) * (occ.eta + ynorm) if occ.mu == 0 else 0.0
        budget = 0.0 if np.isinf(occ.mu) else (occ.eta - y0) * (occ.eta + y0)
        return cls(spec, occ, s, theta, v, s * yt / (1 + x0), A, budget)

    def curved(self, room: float) -> bool:
        """Whether the edges need a search: room left, a row that says something, and noise that the rows can use."""
        return room > 0.0 and len(self.spec.s2) > 0 and self.budget > 0.0

    def value(self, proj: Projection) -> Array:
        """The Occam solution's value of each functional, exact rows included, (points,)."""
        return proj.shift + proj.ct @ self.theta

    def locate(self, t: Array) -> tuple[Array, Array]:
        """(mu, lam) at the coordinate t = log(mu / mu0), or t = log mu when the Occam solution is zero; t = -inf is mu = 0.

        Measured from mu0, lam = 1 - mu/mu0 keeps its digits however close to mu0 the optimum lies (rho near rho_oc).
        """
        xp = namespace(t)
        if self.occ.mu > 0:
            return self.occ.mu * xp.exp(t), -xp.expm1(t)
        mu = xp.exp(t)
        return mu, -mu

    def nodes(self, near: float) -> Array:
        """Coordinates t (M,) of the shared grid; `near` < 1 is the relative distance from mu0 to resolve in addition."""
        t = to_numpy(log_grid(self.spec.s2, self.occ.mu))
        if self.occ.mu > 0:
            t = t - np.log(self.occ.mu)
            if near < 0.3:
                steps = near * np.logspace(-5, 0.5, 8)
                t = np.unique(np.concatenate([t[np.abs(t) > steps[-1]], -steps, [0.0], steps]))
        return like(t, self.s)

    def pieces(self, t: Array, ct: Array, c02: Array) -> Pieces:
        """The moments at one coordinate per point: t (points,), ct (points, k), c02 (points,)."""
        mu, lam = self.locate(t)
        x = mu[:, None] * self.spec.s2
        x += 1
        f = 1 / x
        fc = f * ct
        V = namespace(ct).einsum("pk,pk->p", fc, ct) + c02 + tiny(ct)
        quad = self.A * mu + lam * lam * (f @ self.v2)
        return Pieces(mu, f, fc, V, lam * (fc @ self.v), quad, lam)

    def step(self, p: Pieces, alpha: Array) -> Array:
        """The move d = f (alpha c~ - lam v) away from the Occam solution inside the row space, (points, k)."""
        d = p.fc * alpha[:, None]
        d -= (p.f * self.v) * p.lam[:, None]
        return d

    def overshoot(self, d: Array) -> Array:
        """|Phi theta - y|^2 - eta^2 after the move d, (points,)."""
        return (d * d) @ self.spec.s2 - 2 * (d @ self.g0) - self.A

    def score(self, excess: Array) -> Array:
        """The logarithm of the used share of the noise budget: zero at the optimum, close to linear in log mu."""
        xp = namespace(excess)
        return xp.log1p(xp.clip(excess / self.budget, machine_eps(excess) - 1, None))

    def excess(self, p: Pieces, alpha: Array, c02: Array, room: float | None) -> Array:
        """|Phi theta - y|^2 - eta^2 of the dual's primal point, (points,), to the relative accuracy a sign change needs.

        With `room` given, alpha is optimal for the norm ball of that room, so that |theta|^2 - rho^2 = -mu times this
        excess: beyond mu = rho^2 / budget the norm ball resolves the sign change long after the noise ball has not.
        """
        d = self.step(p, alpha)
        if room is None:
            return self.overshoot(d)
        squares, products = (d * d) @ self.weights, d @ self.rows
        noise = squares[:, 0] - 2 * products[:, 0] - self.A
        norm = squares[:, 1] + alpha * alpha * c02 + 2 * products[:, 1] - room
        xp = namespace(d)
        return xp.where(p.mu * self.budget > room + self.size2, -norm / divisor(p.mu), noise)

    @cached_property
    def v2(self) -> Array:
        """v^2, (k,)."""
        return self.v * self.v

    @cached_property
    def weights(self) -> Array:
        """Columns s^2 and 1 (k, 2): squared moves weigh with them in the noise ball and in the norm ball."""
        return namespace(self.s).stack([self.spec.s2, self.s * 0 + 1], 1)

    @cached_property
    def rows(self) -> Array:
        """Columns g0 and theta_oc (k, 2): the directions in which a move changes the two balls to first order."""
        return namespace(self.s).stack([self.g0, self.theta], 1)

    @cached_property
    def size2(self) -> float:
        """|theta_oc|^2 inside the row space."""
        return float(self.theta @ self.theta)

    def on_grid(self, t: Array, room: float | None) -> OnGrid:
        """What `excess_on_grid` needs at the nodes t (M,), whatever the points."""
        xp, s2 = namespace(t), self.spec.s2
        mus, lam = self.locate(t)
        f = 1 / (1 + mus[:, None] * s2)
        fv = f * self.v
        quad = self.A * mus + lam * lam * (fv @ self.v)
        # Each node uses the ball that resolves it: weights (s^2, g0, A) for the noise ball, (1, -theta, room) for the norm.
        far = mus * self.budget > (float("inf") if room is None else room + self.size2)
        weight, row = xp.where(far[:, None], s2 * 0 + 1, s2), xp.where(far[:, None], -self.theta, self.g0)
        square, linear = f * f * weight, 2 * f * (lam[:, None] * weight * fv + row)
        const = lam * lam * (weight * fv * fv).sum(1) + 2 * lam * (row * fv).sum(1)
        const = const - xp.where(far, lam * 0 + (room or 0.0), lam * 0 + self.A)
        factor = xp.where(far, -1 / mus, mus * 0 + 1)
        return OnGrid(f, fv, lam, quad, far, square, linear, const, factor)

    @staticmethod
    def excess_on_grid(
        nodes: OnGrid, proj: Projection, c2: Array, alphas: Sequence[Callable[[Array, Array, Array], Array]]
    ) -> list[Array]:
        """`excess` for every (point, node), one array (points, M) per rule in `alphas`.

        A rule maps (V, drift, quad) on the grid to alpha; four matrix products serve all of them.
        """
        ct = proj.ct
        V = c2 @ nodes.f.T + proj.c02[:, None] + tiny(ct)
        drift = nodes.lam * (ct @ nodes.fv.T)
        square = c2 @ nodes.square.T + nodes.far * proj.c02[:, None]
        linear = ct @ nodes.linear.T
        out = []
        for rule in alphas:
            alpha = rule(V, drift, nodes.quad)
            out.append(nodes.factor * (alpha * (alpha * square - linear) + nodes.const))
        return out

    def interior(self, room: float) -> Array:
        """A move (k,) from the Occam solution to a ridge solution strictly inside both balls; zero when there is no room.

        Of the ridge solutions between the Occam multiplier and infinity, the one with the most relative slack in both.
        """
        xp, s2 = namespace(self.s), self.spec.s2
        if not self.curved(room):
            return self.theta * 0
        ahead = np.logspace(-12, 15, 109)  # mu = mu0 (1 + ahead), formed so that lam = -ahead is exact
        if self.occ.mu > 0:
            lam, mus = like(-ahead, s2), like(self.occ.mu * (1 + ahead), s2)
        else:
            mus = like(np.concatenate([[0.0], ahead / float(s2.max())]), s2)
            lam = -mus
        moves = -lam[:, None] * self.v / (1 + mus[:, None] * s2)
        norm_slack = 1 - ((moves * moves).sum(1) + 2 * (moves @ self.theta)) / room
        slack = xp.minimum(norm_slack, -self.overshoot(moves) / self.budget)
        return moves[int(slack.argmax())]

    def at_infinity(self, ct: Array, c2: Array) -> tuple[Array, Array]:
        """(drift of the centre, half-width) of the noise ball alone, for functionals without a null-space part."""
        xp = namespace(ct)
        drift = ct @ (self.spec.yt / self.s - self.theta)
        return drift, xp.sqrt((c2 @ (1 / self.spec.s2)) * like(self.budget, ct))

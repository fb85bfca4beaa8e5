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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from orledger.recovery._array import Array, gain, like, namespace, tiny
from orledger.recovery.occam import Occam, occam

if TYPE_CHECKING:
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral


class Pieces(NamedTuple):
    """Per point at one mu each: damping f (points, k), variance V, drift m_oc - m, the sum A mu + lam^2 sum f v^2, lam."""

    f: Array
    V: Array
    drift: Array
    quad: Array
    lam: Array


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
        occ = (occ if occ is not None else occam(spec, eta)).require()
        xp, s2, yt = namespace(spec.s2), spec.s2, spec.yt
        s, x0 = xp.sqrt(s2), occ.mu * s2
        theta = gain(x0) * yt / s
        v = theta if occ.mu > 0 else s * yt
        ynorm, y0 = spec.ynorm, spec.best_misfit
        A = (occ.eta - ynorm) * (occ.eta + ynorm) if occ.mu == 0 else 0.0
        budget = 0.0 if np.isinf(occ.mu) else max((occ.eta - y0) * (occ.eta + y0), 0.0)
        return cls(spec, occ, s, theta, v, s * yt / (1 + x0), A, budget)

    def value(self, proj: Projection) -> Array:
        """The Occam solution's value of each functional, exact rows included, (points,)."""
        return proj.shift + proj.ct @ self.theta

    def lam(self, mu: Array) -> Array:
        """1 - mu/mu0, or -mu when the Occam solution is zero."""
        return 1 - mu / self.occ.mu if self.occ.mu > 0 else -mu

    def pieces(self, mu: Array, ct: Array, c2: Array, c02: Array) -> Pieces:
        """The moments at one mu per point: mu (points,), ct and c2 = ct^2 (points, k), c02 (points,)."""
        f = 1 / (1 + mu[:, None] * self.spec.s2)
        lam = self.lam(mu)
        V = c02 + (f * c2).sum(1) + tiny(ct)
        return Pieces(f, V, lam * ((f * ct) @ self.v), self.A * mu + lam * lam * (f @ (self.v * self.v)), lam)

    def step(self, p: Pieces, alpha: Array, ct: Array) -> Array:
        """D = f (alpha c~ - lam v), the move away from the Occam solution inside the row space, (points, k)."""
        return p.f * (alpha[:, None] * ct - p.lam[:, None] * self.v)

    def overshoot(self, d: Array) -> Array:
        """|Phi theta - y|^2 - eta^2 after the move d, (points,)."""
        return (d * d) @ self.spec.s2 - 2 * (d @ self.g0) - self.A

    def score(self, excess: Array) -> Array:
        """Log of the used share of the noise budget: zero at the optimum, close to linear in log mu."""
        return namespace(excess).log(namespace(excess).clip(1 + excess / self.budget, tiny(excess), None))

    def excess_on_grid(self, mus: Array, proj: Projection, c2: Array, alphas: list) -> list[Array]:
        """`overshoot` for every (point, mu), one array (points, M) per rule in `alphas`.

        A rule maps (V, drift, quad) on the grid to alpha; three matrix products serve all of them.
        """
        s2, ct = self.spec.s2, proj.ct
        f = 1 / (1 + mus[:, None] * s2)
        lam = self.lam(mus)
        fv = f * self.v
        V = c2 @ f.T + proj.c02[:, None] + tiny(ct)
        drift = lam * (ct @ fv.T)
        quad = self.A * mus + lam * lam * (fv @ self.v)
        square = c2 @ (f * f * s2).T
        linear = ct @ (2 * lam[:, None] * s2 * f * fv + 2 * self.g0 * f).T
        const = lam * lam * ((fv * fv) @ s2) + 2 * lam * (fv @ self.g0) - self.A
        out = []
        for rule in alphas:
            alpha = rule(V, drift, quad)
            out.append(alpha * (alpha * square - linear) + const)
        return out

    def interior(self, room: float) -> Array:
        """A move (k,) from the Occam solution to a ridge solution strictly inside both balls; zero when there is no room.

        Of the ridge solutions between the Occam multiplier and infinity, the one with the most relative slack in both.
        """
        xp, s2 = namespace(self.s), self.spec.s2
        if room == 0.0 or self.budget == 0.0 or len(s2) == 0:
            return self.theta * 0
        start = self.occ.mu if self.occ.mu > 0 else 1e-6 / float(s2.max())
        mus = like(start * (1 + np.logspace(-12, 15, 109)), s2)
        mus = xp.concatenate([mus[:1] * 0, mus]) if self.occ.mu == 0 else mus
        moves = -self.lam(mus)[:, None] * self.v / (1 + mus[:, None] * s2)
        norm_slack = 1 - ((moves * moves).sum(1) + 2 * (moves @ self.theta)) / room
        slack = xp.minimum(norm_slack, -self.overshoot(moves) / self.budget)
        return moves[int(slack.argmax())]

    def at_infinity(self, ct: Array, c2: Array) -> tuple[Array, Array]:
        """(drift of the centre, half-width) of the noise ball alone, for functionals without a null-space part."""
        xp = namespace(ct)
        drift = ct @ (self.spec.yt / self.s - self.theta)
        return drift, xp.sqrt((c2 @ (1 / self.spec.s2)) * like(self.budget, ct))

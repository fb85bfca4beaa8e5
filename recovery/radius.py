"""TightGlobalCertify: the radius of information E*(x), the balance nugget that attains it, and its certificate.

Theorem 1. E*^2 = min_mu V(mu) (eps^2 + mu eta^2). The stationarity condition is the balance equation
mu eta pf = eps wn, and wn^2 / (mu pf)^2 is a mean of s_j^2 with weights f_j^2 ct_j^2 that decreases in mu: one monotone
root per point. The limits mu -> 0 (eps sqrt(k(x,x))) and mu -> inf (power function) are part of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import (
    Array,
    as_float,
    divisor,
    items,
    like,
    machine_eps,
    namespace,
    nonnegative,
    number,
    sized,
    to_numpy,
    together,
)
from orledger.recovery.allowance import RESOLVED, moved_variance
from orledger.recovery.attainable import radius_share
from orledger.recovery.elimination import gram_cut
from orledger.recovery.errors import GramError, InputError
from orledger.recovery.projection import of
from orledger.recovery.roots import bracket, log_grid, solve

if TYPE_CHECKING:
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral

GRID97 = (-12.0, 12.0, 97)
"""A usual mu grid: logspace(-12, 12, 97)."""


@dataclass(frozen=True)
class GlobalCertificate:
    """Per point (arrays of shape (points,)): the radius, the mu that attains it, pf and wn there, and the certificate.

    cert is the worst-case error eps pf + eta wn of the delivered rule, without delta_num, the floating-point allowance
    of Rem. slack (add it when delivering). allowance (points,): what the rounding of a Gram matrix can add on top, 0 in
    feature form; resolved: False where it may add more than a thousandth of the radius, or take as much off. at_lower / at_upper: the minimiser is the limit mu = 0 / mu = inf ("refined")
    or the first / last node ("grid97", where cert has a minimiser mu_cert of its own).
    """

    radius: Array
    mu: Array
    pf: Array
    wn: Array
    cert: Array
    mu_cert: Array
    delta_num: float
    at_lower: Array
    at_upper: Array
    method: str
    allowance: Array
    resolved: Array


def global_radius(
    spec: Spectral,
    proj: Projection,
    eps: float,
    eta: float,
    method: str = "refined",
    grid: tuple[float, float, int] = GRID97,
) -> GlobalCertificate:
    """The global certificate of every functional in `proj` over the balls |u| <= eps, |e| <= eta.

    method "refined" solves the balance equation to rounding; "grid97" minimises over logspace(*grid), as is often done,
    with the artefacts that brings (Rem. gridfloor): kept so that they can be shown side by side.
    """
    eps, eta, proj = nonnegative(eps, "eps"), nonnegative(eta, "eta"), of(spec, proj)
    delta = 10 * machine_eps(proj.ct) ** 0.5 * eps
    if isinstance(method, str) and method == "grid97":
        return _on_grid(proj, eps, eta, grid, delta)
    if not isinstance(method, str) or method != "refined":
        raise InputError(f"method = {method!r}; known methods are 'refined' and 'grid97'")
    xp = namespace(proj.ct)
    mu, lower, upper = _balance(spec.s2, proj.ct * proj.ct, proj.c02, eps, eta)
    at = proj.at(mu)
    finite = xp.where(upper, 0.0, mu)
    radius = xp.sqrt(at.V * (eps**2 + finite * eta**2))
    cert = eps * at.pf + eta * at.wn
    radius = xp.where(upper, cert, radius)  # V mu has a 0 * inf limit there: eps pf + eta wn is its value
    # At mu = 0 the data say nothing, and the answer is eps |c| itself: reassembled from its spectral parts it would differ
    # in the last digit from point to point, and a flat radius would seem to oscillate.
    radius, cert = (xp.where(lower, eps * xp.sqrt(proj.norm2), v) for v in (radius, cert))
    allowance, resolved = _gram_allowance(spec, proj, eps, eta, radius, at.V, mu)
    return GlobalCertificate(radius, mu, at.pf, at.wn, cert, mu, delta, lower, upper, method, allowance, resolved)


def _gram_allowance(
    spec: Spectral, proj: Projection, eps: float, eta: float, radius: Array, V: Array, mu: Array
) -> tuple[Array, Array]:
    """(allowance, resolved) (points,): what the error of a Gram matrix can add to each radius, and whether the digits are its own.

    From V alone where that is little, else from `widened`; exact rows that lost a direction leave V too large, so there the
    dominating problem, which drops nothing, is asked in any case.
    """
    if spec.given is None:
        return radius * 0, radius >= 0
    xp = namespace(V)
    lossy = spec.exact is not None and bool(spec.dropped or spec.exact.dropped)
    share = moved_variance(proj, mu) / divisor(V)
    allowance = share * radius / 2
    resolved = allowance <= RESOLVED * radius
    doubtful = np.flatnonzero(to_numpy((V <= 0) | (share > 2e-3 * RESOLVED) | lossy))
    if len(doubtful) and eps > 0:
        wider = proj.widened(doubtful)
        twin = global_radius(wider.spec, wider, eps, eta)
        allowance[doubtful] = xp.clip(twin.radius - radius[doubtful], 0, None)
        resolved[doubtful] = xp.abs(twin.radius - radius[doubtful]) <= RESOLVED * xp.minimum(
            radius[doubtful], twin.radius
        )
    return allowance, resolved & (radius_share(proj, eps, eta, mu, radius) <= RESOLVED)


def radius_values(w: Array, beta2: Array, kxx: Array, eps: float, eta: float) -> Array:
    """E* (points,) straight from eigenvalues w (n,), squared coefficients beta2 = (Q^T b)^2 (points, n) and kxx (points,).

    The short way for acquisition functions: no data, no certificate parts; the same numbers as `global_radius`.
    """
    w, beta2, kxx = together(w, beta2, kxx)
    w, beta2, kxx = (
        sized(as_float(v, what, ndim=axes), what)
        for v, what, axes in ((w, "w", 1), (beta2, "beta2", 2), (kxx, "kxx", 1))
    )
    eps, eta = nonnegative(eps, "eps"), nonnegative(eta, "eta")
    if tuple(beta2.shape) != (len(kxx), len(w)) or len(w) == 0:
        raise InputError(
            f"beta2 has shape {tuple(beta2.shape)}; ({len(kxx)}, {len(w)}) is needed, with at least one row of data"
        )
    if -float(w.min()) > max(1e-8, 1e4 * machine_eps(w)) * max(float(w.max()), 0.0):
        raise GramError(f"w has the negative eigenvalue {float(w.min()):.3g}: it is not of a Gram matrix")
    if len(kxx) and (float(kxx.min()) < 0 or float(beta2.min()) < 0):
        raise InputError("kxx or beta2 has a negative value; both are squares")
    xp = namespace(w)
    keep = w > gram_cut(w, machine_eps(w) * float(w.max()), None)
    if not bool(keep.all()):
        w, beta2 = w[keep], beta2[:, keep]
    c2 = beta2 / w
    c02 = xp.clip(left := kxx - c2.sum(1), 0, None)
    if bool((left < -1e-3 * kxx).any()):
        worst = int((left / xp.clip(kxx, float(xp.finfo(kxx.dtype).tiny) ** 0.5, None)).argmin())
        raise InputError(
            f"point {worst}: beta2 explains {float(kxx[worst] - left[worst]):.3g} of kxx = {float(kxx[worst]):.3g}, so these are not "
            "squared inner products with the eigenvectors of this Gram matrix",
            hint="check the order of eigenvalues, the scaling, and that kxx is the squared norm of the same functional",
        )
    mu, lower, upper = _balance(w, c2, c02, eps, eta)
    finite = xp.where(upper, 0.0, mu)
    V = c02 + (c2 / (1 + finite[:, None] * w)).sum(1)
    radius = xp.where(lower, eps * xp.sqrt(kxx), xp.sqrt(V * (eps**2 + finite * eta**2)))
    if not bool(upper.any()):
        return radius
    limit = eps * xp.sqrt(c02) + eta * xp.sqrt((c2 / w).sum(1))
    return xp.where(upper, limit, radius)


def _balance(s2: Array, c2: Array, c02: Array, eps: float, eta: float) -> tuple[Array, Array, Array]:
    """(mu, is mu = 0, is mu = inf) per point: where the f^2 c^2-weighted mean of s^2 falls to eta^2 / eps^2."""
    xp = namespace(s2)
    none = c02 < 0
    if eta == 0:
        return xp.full_like(c02, float("inf")), none, ~none
    if eps == 0 or len(s2) == 0:
        return c02 * 0, ~none, none
    # Scaled so that the spectrum tops at 1 and the target is a pure number: no overflow for any units.
    top = float(s2.max())
    z2, level = s2 / top, float(np.log(eta) * 2 - np.log(eps) * 2 - np.log(top))
    size = divisor(c02 + c2.sum(1))
    c2, c02 = c2 / size[:, None], c02 / size
    start = (c2 @ z2) - float(np.exp(min(level, 700.0)))
    lower = ~(start > 0)  # zero functionals among them
    columns = xp.stack([z2, z2 * 0 + 1], 1)
    tiny = float(xp.finfo(s2.dtype).tiny)

    def balance(t: Array, idx: Array) -> Array:
        f = 1 / (1 + xp.exp(t)[:, None] * z2)
        sums = (f * f * c2[idx]) @ columns
        return xp.log(sums[:, 0] + tiny) - xp.log(sums[:, 1] + c02[idx] + tiny) - level

    nodes = log_grid(z2)
    f = 1 / (1 + xp.exp(nodes)[:, None] * z2)
    f2 = f * f
    F = xp.log(c2 @ (f2 * z2).T + tiny) - xp.log(c2 @ f2.T + c02[:, None] + tiny) - level
    lo, hi, flo, fhi, inside = bracket(nodes, F)
    lower = lower | (F[:, 0] <= 0)
    upper = ~lower & ~inside
    mu = xp.exp(solve(balance, lo, hi, flo, fhi)) / top
    mu = xp.where(lower, 0.0, xp.where(upper, float("inf"), mu))
    return mu, lower, upper


def _on_grid(
    proj: Projection, eps: float, eta: float, grid: tuple[float, float, int], delta: float
) -> GlobalCertificate:
    first, last, nodes = items(grid, 3, "grid (lowest and highest exponent, count)")
    lo, hi = (number(v, "an exponent of grid", low=-100, high=100) for v in (first, last))
    count = int(number(nodes, "the count of grid", low=2, high=1e6))
    if not lo < hi:
        raise InputError(f"grid = {tuple(grid)}; the lowest exponent must be below the highest")
    xp = namespace(proj.ct)
    mus = like(np.logspace(lo, hi, count), proj.ct)
    V, pf, wn = proj.V(mus), proj.pf(mus), proj.wn(mus)
    value, cert = xp.sqrt(V * (eps**2 + mus * eta**2)), eps * pf + eta * wn
    i, j = value.argmin(1), cert.argmin(1)
    rows = xp.arange(len(i), device=i.device)
    at = proj.at(mus[i])
    allowance, resolved = _gram_allowance(proj.spec, proj, eps, eta, value[rows, i], at.V, mus[i])
    return GlobalCertificate(
        value[rows, i], mus[i], pf[rows, i], wn[rows, i], cert[rows, j], mus[j], delta, i == 0, i == count - 1, "grid97",
        allowance, resolved,
    )  # fmt: skip

"""Parameter-choice rules on one spectral object: discrepancy, GCV, marginal likelihood, L-curve corner.

Each criterion is one sum over the spectrum and takes mu = 1/nugget, so a rule can be evaluated at given nuggets (as Case A
does at the misfit-matched ones) or minimised over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import (
    Array,
    Numbers,
    as_float,
    items,
    like,
    multipliers,
    namespace,
    number,
    sized,
    to_numpy,
)
from orledger.recovery.errors import EmptySetError, InputError
from orledger.recovery.kinds import require
from orledger.recovery.occam import HINT, misfit_root, misfit_slack, occam
from orledger.recovery.roots import log_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.recovery.spectral import Spectral


@dataclass(frozen=True)
class RuleChoice:
    """What a rule chose: mu = 1/nugget, the criterion there, and whether the minimiser sits at an end of the range."""

    rule: str
    mu: float
    value: float
    at_limit: bool

    @property
    def nugget(self) -> float:
        """1/mu; inf at mu = 0."""
        return 1 / self.mu if self.mu > 0 else float("inf")


def _noisy(spec: Spectral) -> None:
    require(spec, "Spectral")
    if spec.n == 0:
        raise InputError("every row is exact: a rule for the nugget needs rows with noise")


def discrepancy(spec: Spectral, eta: float) -> RuleChoice:
    """DiscrepancyCalibrate (Morozov): the mu whose ridge misfit equals eta; `value` is the norm there, the Occam radius.

    Raises EmptySetError when eta is below the best misfit; mu = 0 when eta is at or above |y|.
    """
    occ = occam(spec, eta).require()
    return RuleChoice("morozov", occ.mu, occ.rho, occ.mu == 0 or bool(np.isinf(occ.mu)))


def matched_mu(spec: Spectral, misfits: Array) -> np.ndarray:
    """Mu (T,) at which the ridge misfit equals each of `misfits` (T,): inf at the best misfit, 0 at or above |y|.

    A misfit below the best achievable one belongs to no nugget and raises EmptySetError.
    """
    require(spec, "Spectral")
    target = np.atleast_1d(to_numpy(sized(as_float(misfits, "misfits"), "misfits"))).astype(float)
    if target.ndim > 1:
        raise InputError(f"misfits has shape {target.shape}; at most 1 axis is allowed")
    if (target < 0).any():
        raise InputError(f"misfits has a negative value: {target.min():.6g}; a misfit is a norm")
    y0, out = spec.best_misfit, np.zeros(len(target))
    short = target < y0 - misfit_slack(spec)
    if short.any():
        worst = int(np.argmin(target))
        raise EmptySetError(
            f"misfit {target[worst]:.6g} (position {worst}) is below the best achievable {y0:.6g}",
            margin=float(target[worst] - y0),
            hint=HINT,
        )
    rest = np.maximum(target - y0, 0) * (target + y0)
    out[rest == 0] = np.inf
    inner = (rest > 0) & (target < spec.ynorm)
    if inner.any():
        out[inner] = misfit_root(to_numpy(spec.s2), to_numpy(spec.yt) ** 2, rest[inner])
    return out


def gcv(spec: Spectral, mu: Numbers) -> Array:
    """Generalised cross-validation n |residual|^2 / (trace of the residual operator)^2, shape of mu; at mu = inf its limit."""
    _noisy(spec)
    xp, f, idle = namespace(spec.s2), spec.damping(mu), spec.n - len(spec.s2)
    misfit2 = spec.misfit(mu) ** 2
    if idle == 0:
        # Residual and trace both vanish at mu = inf. Where their squares leave floating point, their ratio has long been constant.
        far = multipliers(mu, spec.s2) > float(xp.finfo(f.dtype).max) ** 0.25 / float(spec.s2.min())
        f = xp.where(far[..., None], spec.s2.min() / spec.s2, f)
        misfit2 = xp.where(far, (f * f) @ (spec.yt * spec.yt), misfit2)
    return spec.n * misfit2 / (f.sum(-1) + idle) ** 2


def log_marginal(spec: Spectral, mu: Numbers, scale: str = "unit") -> Array:
    """Negative log marginal likelihood of y ~ N(0, tau^2 (G + I/mu)), shape of mu, for mu in (0, inf).

    scale "unit" fixes tau = 1; "profiled" maximises over tau for each mu (see `profiled_scale`).
    """
    _noisy(spec)
    mu = multipliers(mu, spec.s2)
    host = to_numpy(mu)
    if not ((host > 1e-300) & (host < 1e300)).all():
        raise InputError("mu has a value that is 0 or infinite; the marginal likelihood needs a nugget between them")
    xp, n = namespace(mu), spec.n
    logdet = xp.log(spec.s2 + 1 / mu[..., None]).sum(-1) - (n - len(spec.s2)) * xp.log(mu)
    quad = mu * spec.q(mu)
    if not isinstance(scale, str) or scale not in ("unit", "profiled"):
        raise InputError(f"scale = {scale!r}; use 'unit' or 'profiled'")
    if scale == "unit":
        return (quad + logdet + n * float(np.log(2 * np.pi))) / 2
    if spec.ynorm == 0:
        raise InputError("the data are zero: the likelihood grows without end as their scale goes to zero")
    return (n * xp.log(quad / n) + logdet + n * float(1 + np.log(2 * np.pi))) / 2


def profiled_scale(spec: Spectral, mu: Numbers) -> Array:
    """The prior standard deviation tau that maximises the marginal likelihood at each mu, shape of mu.

    At mu = inf it is the limit, which is infinite when the data do not lie in the range of the rows.
    """
    _noisy(spec)
    mus = multipliers(mu, spec.s2)
    xp, far, huge = namespace(mus), namespace(mus).isinf(mus), mus > spec.largest
    inside = float((spec.yt * spec.yt / spec.s2).sum())
    limit = float("inf") if spec.y02 > 0 and spec.n > len(spec.s2) else inside
    mus = xp.where(far, 1.0, mus)
    return xp.sqrt(xp.where(far, limit, xp.where(huge, inside + mus * spec.y02, mus * spec.q(mus))) / spec.n)


CRITERIA: dict[str, Callable[[Spectral, Array], Array]] = {
    "gcv": gcv,
    "mlii_unit": lambda spec, mu: log_marginal(spec, mu, "unit"),
    "mlii_profiled": lambda spec, mu: log_marginal(spec, mu, "profiled"),
}
"""The criteria that are minimised over the nugget, by name."""


def minimise(spec: Spectral, rule: str, *, bounds: tuple[float, float] | None = None) -> RuleChoice:
    """The mu that minimises a rule of `CRITERIA`: best node of a grid over the whole spectrum, then Brent between neighbours.

    bounds: (lowest, highest) mu to consider; by default eight decades beyond both ends of the spectrum. The grid has four
    nodes per unit of log mu, and at least 64.
    """
    from scipy.optimize import minimize_scalar  # a second of import that only this function needs

    _noisy(spec)
    if not isinstance(rule, str) or rule not in CRITERIA:
        raise InputError(f"rule = {rule!r}; known rules are {sorted(CRITERIA)}")
    if bounds is None:
        if not len(spec.s2):
            raise InputError(
                "no noisy row says anything, so there is no spectrum to take a range of mu from", hint="give bounds"
            )
        nodes = to_numpy(log_grid(spec.s2))
        # Its tails begin three decades beyond the spectrum and have three steps of five decades; one of each is enough.
        lo, hi = nodes[2], nodes[-3]
    else:
        least, most = (number(v, "a bound of mu") for v in items(bounds, 2, "bounds (lowest and highest mu)"))
        if not 0 < least < most:
            raise InputError(f"bounds = {tuple(bounds)}; 0 < lowest < highest mu is needed")
        lo, hi = np.log(least), np.log(most)
    t = np.linspace(lo, hi, max(64, int(4 * (hi - lo))))
    values = to_numpy(CRITERIA[rule](spec, like(np.exp(t), spec.s2)))
    i = int(np.argmin(values))
    if i in (0, len(t) - 1):
        return RuleChoice(rule, float(np.exp(t[i])), float(values[i]), True)
    found = minimize_scalar(
        lambda u: float(CRITERIA[rule](spec, like(np.exp(u), spec.s2))),
        bounds=(t[i - 1], t[i + 1]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return RuleChoice(rule, float(np.exp(found.x)), float(found.fun), False)

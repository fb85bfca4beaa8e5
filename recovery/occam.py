"""The Occam radius: the smallest norm that explains the data within eta, or a refusal when nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import machine_eps, nonnegative, to_numpy
from orledger.recovery.errors import EmptySetError
from orledger.recovery.kinds import require

if TYPE_CHECKING:
    from orledger.recovery.spectral import Spectral


@dataclass(frozen=True)
class Occam:
    """rho: min |u| with |Lam u - y| <= eta and the exact rows met (NaN when refused); mu: its multiplier, in [0, inf].

    margin: eta minus the best achievable misfit; reason: why it was refused, or how the limit was reached.
    """

    rho: float
    mu: float
    eta: float
    refused: bool
    margin: float
    reason: str

    def require(self) -> Occam:
        """self, or an EmptySetError when the data were refused."""
        if self.refused:
            raise EmptySetError(f"no element is consistent with the data: {self.reason}", margin=self.margin, hint=HINT)
        return self


HINT = "refuse this arm and record the margin; a larger eta would be a different claim"


def occam(spec: Spectral, eta: float) -> Occam:
    """The Occam radius of Lemma 1, bordered by the exact rows if there are any (|u_E|^2 is part of rho^2).

    rho^2 = |u_E|^2 + max_mu mu (q(mu) - eta^2), bounded exactly when eta >= the best misfit. A shortfall that the
    factorisation cannot resolve (see `misfit_slack`) counts as eta equal to the best misfit: mu = inf.
    """
    eta = nonnegative(eta, "eta")
    require(spec, "Spectral")
    y0, margin = spec.best_misfit, eta - spec.best_misfit
    if spec.ynorm <= eta:
        return Occam(float(np.sqrt(spec.exact_norm2)), 0.0, eta, False, margin, "data within the noise level")
    slack = misfit_slack(spec)
    if margin < -slack:
        reason = f"eta = {eta:.6g} is below the best achievable misfit {y0:.6g}"
        total = spec.dropped + len(spec.s2)
        if spec.dropped and total >= spec.n:
            # With all its directions the problem would fit any data: it is the arithmetic that does not.
            reason += f"; {spec.dropped} of {total} directions are lost to rounding in the factorisation"
        return Occam(float("nan"), float("nan"), eta, True, margin, reason)
    s2, yt = to_numpy(spec.s2), to_numpy(spec.yt)
    target = max(margin, 0.0) * (eta + y0)
    if target == 0.0:
        mu, weight = np.inf, np.ones_like(s2)
        reason = "eta equals the best misfit" if margin >= 0 else "eta equals the best misfit up to rounding"
    else:
        mu, reason = float(misfit_root(s2, yt * yt, np.array([target]))[0]), "interior"
        weight = mu * s2 / (1 + mu * s2)
    rho2 = float(np.sum(weight**2 * yt * yt / s2))
    return Occam(float(np.sqrt(spec.exact_norm2 + rho2)), mu, eta, False, margin, reason)


def misfit_slack(spec: Spectral) -> float:
    """How far below the best misfit eta may lie before the data are refused: what rounding can hide, no more.

    A direction dropped with singular value <= resolution can still carry resolution times the solution's norm, up to a
    millionth of the data. The feature form without dropped directions forgives the residual's own rounding alone.
    """
    rounding = 64 * machine_eps(spec.s2) * spec.ynorm
    if spec.form == "features" and not spec.dropped:
        return rounding
    least_squares = float(np.sqrt(float((spec.yt * spec.yt / spec.s2).sum())))
    return rounding + min(spec.resolution * least_squares, 1e-6 * spec.ynorm)


def radius_error(spec: Spectral, occ: Occam) -> float:
    """How far rounding can move a finite Occam radius: 64 units of itself, and what 8 units of the data do to it through eta.

    Its slope in eta is -mu eta / rho: steep where |y| is hardly above eta, and the radius close to zero.
    """
    eps = machine_eps(spec.s2)
    error = 64 * eps * occ.rho
    if occ.rho > 0 and np.isfinite(occ.mu):
        error += 8 * eps * spec.ynorm * occ.mu * occ.eta / occ.rho
    return error


def misfit_root(s2: np.ndarray, y2: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Mu (T,) with sum_j y2_j / (1 + mu s2_j)^2 = target, for targets in (0, sum y2): Newton in log mu, safeguarded.

    The logarithm of the sum is close to linear in log mu, and the bracket is closed form, so a handful of steps come near. A step
    that rounding makes zero is followed by halves of the bracket, up to about fifty, which end at the same root.
    """
    top = s2.max()  # in these units log mu is small, and exact to rounding whatever the units of the rows are
    s2, ratio = s2 / top, np.sqrt(y2.sum() / target)
    x = np.maximum(ratio - 1, np.finfo(float).tiny)
    lo, hi = np.log(x), np.log(x / s2.min())
    t = (lo + hi) / 2
    log_target = np.log(target)
    for _ in range(100):
        f = 1 / (1 + np.exp(t)[:, None] * s2)
        weight = f * f * y2
        total = weight.sum(1)
        value = np.log(total) - log_target
        lo, hi = np.where(value > 0, t, lo), np.where(value <= 0, t, hi)
        slope = -2 * (weight * (1 - f)).sum(1) / total
        newton = t - value / np.where(slope == 0, -1.0, slope)
        inside = (newton > lo) & (newton < hi) & (slope < 0)
        new = np.where(inside, newton, (lo + hi) / 2)
        if np.all(np.abs(new - t) <= 8 * np.finfo(float).eps * (1 + np.abs(t))):
            return np.exp(new) / top
        t = new
    return np.exp(t) / top

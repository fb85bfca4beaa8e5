"""Head: a ridge solution with its certificate, on features; the noise level that decides which, and the shape of its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery.occam import Occam, occam

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.recovery.regression.factor import Factor
    from orledger.recovery.spectral import Spectral

NOISE_RULES = ("cv", "residual", "discrepancy")
"""cv: the misfit of the ridge solution with the smallest leave-one-out error; residual: the unbiased least-squares residual;
discrepancy: sigma sqrt(n) with sigma^2 the residual sum over its degrees of freedom at that ridge solution."""

LOG_FLOOR = 0.05
"""Added to residuals, in units of their root mean square, before taking logarithms: a residual near zero is an accident."""

LARGEST_LOG = 1.5
"""The local scale stays within this many e-folds of the typical size of the noise."""

WIDEST = 2.0
"""A spread stops at this many standard deviations of the responses: beyond, an interval knows less than their histogram."""

WORTH = 0.98
"""A local scale is kept when it lowers the cross-validated error of the log residuals to this share of a constant's, or less."""

SMALLEST_NUGGET = 1e-10
"""The nugget of the spread is at least this share of the largest squared singular value, so that a spread is never zero."""


@dataclass(frozen=True)
class Head:
    """One output of the model: the Occam solution of (factor, eta), which is a ridge solution with nugget 1/mu.

    coef (live columns,): its coefficients; mu: the multiplier that spreads are computed with; trust: how much of the certificate's
    shape the residuals bear out, 1 for all of it; most: the largest spread; log_scale: coefficients of the logarithm of the local scale, or None;
    log_reach: its largest size.
    """

    factor: Factor
    spec: Spectral
    occ: Occam
    y_mean: float
    eta: float
    coef: np.ndarray
    mu: float
    trust: float
    most: float
    log_scale: np.ndarray | None = None
    log_reach: float = np.inf

    def predict(self, Z: np.ndarray) -> np.ndarray:
        """The value of the Occam solution at centred, scaled rows Z (n, live)."""
        return self.y_mean + Z @ self.coef

    def spread(self, Z: np.ndarray, unseen: np.ndarray) -> np.ndarray:
        """sqrt(1 + trust mu V(mu)) at rows Z: the certificate's shape in units of the noise; 1 where the data say everything.

        unseen (n,): the squared part of each row's kernel function outside the span of the features.
        """
        ct = Z @ self.factor.basis
        f = 1 / (1 + self.mu * self.factor.s**2)
        V = (ct * ct) @ f
        if self.factor.basis.shape[0] > len(f):
            V = V + np.maximum((Z * Z).sum(1) - (ct * ct).sum(1), 0.0)
        return np.minimum(np.sqrt(1 + self.trust * self.mu * (V + unseen)), self.most)

    def local_scale(self, Z: np.ndarray) -> np.ndarray:
        """The local size of the noise at rows Z relative to its typical size, (n,); 1 when none was fitted."""
        if self.log_scale is None:
            return np.ones(len(Z))
        return np.exp(np.clip(Z @ self.log_scale, -self.log_reach, self.log_reach))


def noise_radius(factor: Factor, output: int, noise: float | str, spec: Spectral) -> tuple[float, float]:
    """(eta, mu of the smallest leave-one-out error) of one output; eta by a rule of NOISE_RULES or noise * sqrt(n)."""
    mu = best_multiplier(factor, output)
    n, k = factor.total, len(factor.s)
    if not isinstance(noise, str):
        return float(noise) * float(np.sqrt(n)), mu
    if noise == "cv":
        return float(spec.misfit(mu)), mu
    misfit, used = spec.best_misfit, float(k)
    if noise == "discrepancy":
        misfit, used = float(spec.misfit(mu)), float((1 - 1 / (1 + mu * factor.s**2)).sum())
    spare = n - 1 - used
    return (misfit * float(np.sqrt(n / spare)) if spare > 0 else 0.0), mu


def best_multiplier(factor: Factor, output: int) -> float:
    """The mu in [0, inf) whose ridge solution has the smallest leave-one-out error of one output.

    From rows the error is exact; from sums it is the generalised one, in which every row has the mean leverage.
    """
    mus = _multipliers(factor)
    yt = factor.yt[:, output]
    if factor.rows is None:
        losses = _generalised(factor, mus, yt, float(factor.y02[output]))
    else:
        left, targets, weight = factor.rows
        gain = 1 - 1 / (1 + mus[:, None] * factor.s**2)
        residual = targets[:, output, None] - left @ (gain * yt).T
        leverage = np.minimum((left * left) @ gain.T + 1 / factor.total, 1 - 1e-9)
        losses = weight @ (residual / (1 - leverage)) ** 2
    i = int(np.argmin(losses))
    # At the first node the mean predicts best: no signal, and the data lie within the noise of it.
    return float(mus[i])


def _multipliers(factor: Factor) -> np.ndarray:
    """Mu = 0, then nodes over the spectrum, down to nuggets of e^-30 of the largest squared singular value."""
    if len(factor.s) == 0:
        return np.zeros(1)
    top, low = -2 * np.log(factor.s.max()), -2 * np.log(factor.s.min())
    ends = top - 7, min(low + 7, top + 30)
    return np.concatenate([[0.0], np.exp(np.linspace(*ends, int(4 * (ends[1] - ends[0]))))])


def _generalised(factor: Factor, mus: np.ndarray, yt: np.ndarray, y02: float) -> np.ndarray:
    """Generalised cross-validation of targets with coefficients yt and squared norm y02 outside the range, at each mu."""
    f, n = 1 / (1 + mus[:, None] * factor.s**2), factor.total
    spare = np.maximum(n - 1 - (1 - f).sum(1), 1e-9)
    return n * (y02 + (f * f) @ (yt * yt)) / spare**2


def fit_head(factor: Factor, output: int, noise: float | str) -> Head:
    """The head of one output at the noise level that the rule gives; a refusal is in `occ`, not raised."""
    spec = factor.spectral(output)
    eta, mu = noise_radius(factor, output, noise, spec)
    occ = occam(spec, eta)
    at = float(mu if occ.refused else occ.mu)
    s2 = factor.s**2
    gain = np.ones_like(s2) if np.isinf(at) else at * s2 / (1 + at * s2)
    coef = factor.basis @ (gain * factor.yt[:, output] / factor.s)
    if len(s2):
        at = min(at, 1 / (SMALLEST_NUGGET * float(s2.max())))
    spare = max(factor.total - 1 - float((1 - 1 / (1 + at * s2)).sum()), 1e-3)
    noise_sd, sd = float(spec.misfit(at)) / spare**0.5, spec.ynorm / float(np.sqrt(max(factor.total - 1, 1.0)))
    most = max(WIDEST * sd / noise_sd, 1.0) if noise_sd > 0 else np.inf
    return Head(factor, spec, occ, float(factor.y_mean[output]), eta, coef, at, 1.0, most)


Block = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Rows of a fit: centred, scaled features Z (n, live), their unseen part (n,), responses (n,) and weights (n,)."""


def _left_out(
    head: Head, Z: np.ndarray, unseen: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(left factor, leave-one-out residuals, leave-one-out mu V) of fit rows; from sums leverages hold for one row of a block."""
    factor = head.factor
    gain = 1 - 1 / (1 + head.mu * factor.s**2)
    left = (Z @ factor.basis) / factor.s
    leverage = np.minimum((left * left) @ gain + 1 / factor.total, 1 - 1e-9)
    return left, (y - head.predict(Z)) / (1 - leverage), leverage / (1 - leverage) + head.mu * unseen


def with_trust(head: Head, block: Block) -> Head:
    """The head with the share of the certificate's shape that maximises the likelihood of leave-one-out residuals of `block`."""
    if head.mu == 0:
        return head
    Z, unseen, y, w = block
    _, error, shape = _left_out(head, Z, unseen, y)
    shares = np.concatenate([[0.0], np.logspace(-4, 1, 26)])
    variance = 1 + shares * shape[:, None]
    size = w @ (error[:, None] ** 2 / variance)
    if not (size > 0).all():
        return head
    loss = np.log(size) + (w @ np.log(variance)) / w.sum()
    return replace(head, trust=float(shares[int(np.argmin(loss))]))


def with_local_scale(head: Head, blocks: Iterable[Block]) -> Head:
    """The head with a local scale: a ridge fit of the log size of studentised leave-one-out residuals, over blocks of fit rows.

    Residuals are divided by their own spread first, so that rows the model bends to follow do not look quiet.
    """
    factor, k = head.factor, len(head.factor.s)
    if head.mu == 0:
        return head
    spare = max(factor.total - 1 - float((1 - 1 / (1 + head.mu * factor.s**2)).sum()), 1e-3)
    typical = float(head.spec.misfit(head.mu)) / spare**0.5
    if not typical > 0:
        return head
    cross, sums, total, square = np.zeros(k), np.zeros(k), 0.0, 0.0
    for Z, unseen, y, w in blocks:
        left, error, shape = _left_out(head, Z, unseen, y)
        log = np.log(np.abs(error) / (typical * np.sqrt(1 + head.trust * shape)) + LOG_FLOOR)
        cross, sums = cross + left.T @ (w * log), sums + left.T @ w
        total, square = total + float(w @ log), square + float(w @ log**2)
    cross = cross - sums * (total / factor.total)
    y02 = square - total**2 / factor.total - float(cross @ cross)
    mus = _multipliers(factor)
    losses = _generalised(factor, mus, cross, y02)
    if losses.min() > WORTH * losses[0]:
        return head
    mu = float(mus[int(np.argmin(losses))])
    kept = cross * (1 - 1 / (1 + mu * factor.s**2))
    reach = min(2.5 * float(np.sqrt((kept**2).sum() / factor.total)), LARGEST_LOG)
    return replace(head, log_scale=factor.basis @ (kept / factor.s), log_reach=reach)

"""When does scaling a width by kappa change the choice? Criteria that prove it cannot, and the flatness that explains it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.recovery._array import as_float, nonnegative, number, to_numpy
from orledger.recovery.errors import InputError


@dataclass(frozen=True)
class Invariance:
    """argmin of m - kappa c at two kappas, and which sufficient conditions prove them equal; arrays over steps.

    Index 0 of the last axis is the anchor kappa, index 1 the anchor kappa'. gap: runner-up gap at the anchor (inf with one
    candidate); tie: gap at or below rounding, where no condition fires. fires: |kappa' - kappa| osc(c) < gap (the
    proposition), by more than the rounding of m - kappa c. sharp: only candidates whose width moves the right way count.
    ratio and sharp_ratio: left side over gap.
    """

    chosen: np.ndarray
    coincided: np.ndarray
    osc: np.ndarray
    gap: np.ndarray
    tie: np.ndarray
    ratio: np.ndarray
    sharp_ratio: np.ndarray
    fires: np.ndarray
    sharp: np.ndarray

    @property
    def fires_any(self) -> np.ndarray:
        """The proposition's criterion at either anchor."""
        return np.any(self.fires, axis=-1)

    @property
    def sharp_any(self) -> np.ndarray:
        """The sharper criterion at either anchor."""
        return np.any(self.sharp, axis=-1)


def kappa_invariance(m: np.ndarray, c: np.ndarray, kappa: float, kappa_prime: float) -> Invariance:
    """Both invariance criteria for minimising m - kappa c over candidates; m and c of shape (..., candidates).

    The first index wins ties in the argmin, as numpy.argmin does; a tied step never fires.
    """
    m, c = to_numpy(as_float(m, "m")), to_numpy(as_float(c, "c"))
    kappa, kappa_prime = number(kappa, "kappa"), number(kappa_prime, "kappa_prime")
    if m.shape != c.shape or m.ndim == 0 or m.shape[-1] == 0:
        raise InputError(f"m {m.shape} and c {c.shape} must have the same shape (..., candidates)")
    most = max(abs(kappa), abs(kappa_prime), 1.0)
    with np.errstate(over="ignore"):
        if not np.isfinite(4 * (np.abs(m).max(initial=0.0) + most * np.abs(c).max(initial=0.0))):
            raise InputError("m - kappa c is too large for floating point", hint="state m and c in another unit")
    osc = c.max(-1) - c.min(-1)
    chosen, gap, tie, left = [], [], [], []
    for here, there in ((kappa, kappa_prime), (kappa_prime, kappa)):
        best, runner_up, tied = _runner_up(m, c, here)
        width = np.take_along_axis(c, best[..., None], -1)
        # Moving to a larger kappa, only a larger width can overtake; to a smaller kappa, only a smaller one. Its own lead is 0.
        lead = (c - width).max(-1) if there > here else (width - c).max(-1)
        chosen.append(best)
        gap.append(runner_up)
        tie.append(tied)
        left.append(abs(there - here) * lead)
    picks, gaps, ties, sharp_left = (np.stack(v, -1) for v in (chosen, gap, tie, left))
    # An inequality that rounding alone decides proves nothing about the values that are compared.
    size = (np.abs(m) + max(abs(kappa), abs(kappa_prime)) * np.abs(c)).max(-1)
    needed = gaps - 8 * np.finfo(float).eps * size[..., None]
    wide = np.broadcast_to((abs(kappa_prime - kappa) * osc)[..., None], gaps.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, sharp_ratio = (np.where(v == 0, np.where(ties, np.inf, 0.0), v / gaps) for v in (wide, sharp_left))
    return Invariance(
        picks, picks[..., 0] == picks[..., 1], osc, gaps, ties, ratio, sharp_ratio,
        ~ties & (wide < needed), ~ties & (sharp_left < needed),
    )  # fmt: skip


def _runner_up(m: np.ndarray, c: np.ndarray, kappa: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(argmin, gap to the runner-up, is the gap within the rounding of m - kappa c) along the last axis."""
    values = m - kappa * c
    # Stable, so that of equal values the first are taken on every kind of processor.
    two = np.argsort(values, axis=-1, kind="stable")[..., :2]
    best = two[..., 0]
    if m.shape[-1] == 1:
        return best, np.full(best.shape, np.inf), np.zeros(best.shape, dtype=bool)
    low = np.take_along_axis(values, two, -1)
    gap = low[..., 1] - low[..., 0]
    size = np.take_along_axis(np.abs(m) + abs(kappa) * np.abs(c), two, -1).max(-1)
    return best, gap, gap <= 4 * np.finfo(float).eps * size


def flatness_bound(eps: float, eta: float, k0: float, t: int, phi: float, nugget: float) -> float:
    """The oscillation bound of Lemma flat for the grid radius over candidates at least D from all t data points.

    phi = varphi(D / length) in [0, 1]; nugget: the smallest nugget nu_- the radius is minimised over. Vacuous (equal to
    sqrt(k0 (eps^2 + eta^2 / nu_-))) once t k0 phi^2 >= nu_-.
    """
    eps, eta, k0, nugget = (
        nonnegative(v, what) for v, what in ((eps, "eps"), (eta, "eta"), (k0, "k0"), (nugget, "nugget"))
    )
    phi, rows = number(phi, "phi", low=0.0, high=1.0), number(t, "t", low=0.0)
    if nugget == 0:
        raise InputError("nugget = 0; the bound needs a positive one")
    drop = rows * k0**2 * phi**2 / nugget
    # sqrt(k0) - sqrt((k0 - drop)_+) without the cancellation when the drop is tiny.
    fall = min(drop, k0) / (np.sqrt(k0) + np.sqrt(max(k0 - drop, 0.0))) if k0 > 0 else 0.0
    return float(np.sqrt(eps**2 + eta**2 / nugget) * fall)

"""Many sign changes at once: brackets from a shared grid, then a batched bracketing root finder in log mu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import Array, divisor, like, machine_eps, namespace, tiny

if TYPE_CHECKING:
    from collections.abc import Callable

REACH = 1e18
"""The grid ends where mu s_max^2 = 1/REACH and mu s_min^2 = REACH.

Beyond, every f_j equals 1, or 1 / (mu s_j^2), to rounding: V, m, q and the squares of pf, wn and the misfit are then sums of constants and
powers of mu, which need not be at their limits. Without a null-space part, say, V falls as 1/mu for ever.
"""

CORE_STEP = 0.8
"""Spacing of the nodes in log mu between the ends of the spectrum: nodes are cheap (matrix products), root steps are not."""

TAIL_STEP = 12.0
"""Spacing of the tail nodes in log mu: about five decades, over which the functions solved for are straight lines."""


def log_grid(s2: Array, mu0: float = 0.0) -> Array:
    """Nodes log mu (M,) that cover every scale of the spectrum: dense between its ends, sparse in the power-law tails.

    A multiplier mu0 in (0, inf) that the answer may lie close to is well inside the range, wherever it is.
    """
    lo, hi = -float(np.log(float(s2.max()))), -float(np.log(float(s2.min())))
    pad, reach = float(np.log(1e3)), float(np.log(REACH))
    core = np.linspace(lo - pad, hi + pad, int(np.ceil((hi - lo + 2 * pad) / CORE_STEP)))
    first, last = lo - reach, hi + reach
    if 0 < mu0 < np.inf:
        first, last = min(first, np.log(mu0) - reach), max(last, np.log(mu0) + reach)
    below = np.linspace(first, core[0], int(np.ceil((core[0] - first) / TAIL_STEP)) + 1)[:-1]
    above = np.linspace(core[-1], last, int(np.ceil((last - core[-1]) / TAIL_STEP)) + 1)[1:]
    return like(np.concatenate([below, core, above]), s2)


def bracket(grid: Array, F: Array) -> tuple[Array, Array, Array, Array, Array]:
    """(lo, hi, F(lo), F(hi), inside) per point, for F (points, M) that goes from positive to negative along the grid.

    The first sign change counts: far out F may have decayed to rounding noise of either sign. Points whose F has one
    sign on the whole grid are not inside; their bracket is the nearest end, twice.
    """
    xp = namespace(F)
    negative = F <= 0
    count = xp.where(negative.any(1), (negative * 1).argmax(1), F.shape[1])
    inside = (count > 0) & (count < F.shape[1])
    left = xp.clip(count - 1, 0, None)
    right = xp.clip(count, None, F.shape[1] - 1)
    rows = xp.arange(len(F), device=F.device)
    return grid[left], grid[right], F[rows, left], F[rows, right], inside


def solve(
    F: Callable[[Array, Array], Array], lo: Array, hi: Array, flo: Array, fhi: Array, *, tol: float = 1e-13
) -> Array:
    """Roots (points,) of F(t, index) inside brackets with flo > 0 >= fhi, by Chandrupatla's method on all points at once.

    F receives the points still open as an integer index, so converged points cost nothing. A root is accepted when |F| has
    fallen to `tol` of its size at the bracket (or of 1, if that is smaller), or the bracket to the rounding of t. Callers
    minimise a function that is stationary at the root, so the value they read off is exact to about tol^2, and any value
    returned here is still a valid dual point.
    """
    xp, eps, guard = namespace(lo), machine_eps(lo), tiny(lo)
    tol = max(tol, 8 * eps)
    out = xp.where(fhi == 0, hi, (lo + hi) / 2)
    open_ = (lo < hi) & (fhi < 0)
    idx = xp.arange(len(lo), device=lo.device)[open_]
    a, b, fa, fb = lo[idx], hi[idx], flo[idx], fhi[idx]
    small = tol * xp.clip(xp.maximum(xp.abs(fa), xp.abs(fb)), None, 1.0)
    step = xp.clip(fa / (fa - fb), 0.05, 0.95)
    for _ in range(200):
        if len(idx) == 0:
            return out
        t = a + step * (b - a)
        ft = F(t, idx)
        same = (ft > 0) == (fa > 0)
        c, fc = xp.where(same, a, b), xp.where(same, fa, fb)
        b, fb = xp.where(same, b, a), xp.where(same, fb, fa)
        a, fa = t, ft
        size_a, size_b = xp.abs(fa), xp.abs(fb)
        best = xp.where(size_a < size_b, a, b)
        width = xp.abs(b - a)
        floor = 8 * eps * xp.abs(best)
        done = (xp.minimum(size_a, size_b) <= small) | (width <= floor)
        out[idx] = best
        floor = xp.clip(floor / divisor(width), None, 0.5)
        differences = xp.stack([c - b, b - a, fb - fa, fc - fa, fc - fb])
        cb, ba, ab, ac, bc = xp.where(differences == 0, guard, differences)  # none is zero, to be divided by
        xi, phi = (a - b) / cb, (fa - fb) / bc
        inverse = -(fa / ab) * (fc / bc) + (c - a) / ba * (fa / ac) * (fb / bc)
        smooth = (phi * phi < xi) & ((1 - phi) ** 2 < 1 - xi)
        step = xp.minimum(xp.maximum(xp.where(smooth, inverse, floor * 0 + 0.5), floor), 1 - floor)
        if bool(done.any()):
            go = ~done
            idx, a, b, fa, fb, small, step = (v[go] for v in (idx, a, b, fa, fb, small, step))
    return out

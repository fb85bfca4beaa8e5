"""Many sign changes at once: brackets from a shared grid, then a batched bracketing root finder in log mu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import Array, like, namespace, tiny

if TYPE_CHECKING:
    from collections.abc import Callable

REACH = 1e18
"""The grid ends where mu s_max^2 = 1/REACH and mu s_min^2 = REACH: beyond, every moment equals its limit to rounding."""


def log_grid(s2: Array) -> Array:
    """Log mu nodes (M,) that cover every scale of the spectrum: dense between its ends, sparse in the power-law tails."""
    lo, hi = -float(np.log(float(s2.max()))), -float(np.log(float(s2.min())))
    pad, reach = float(np.log(1e3)), float(np.log(REACH))
    core = np.linspace(lo - pad, hi + pad, max(8, int(np.ceil((hi - lo + 2 * pad) / 1.6))))
    tail = np.linspace(0, reach - pad, 4)[1:]
    return like(np.concatenate([core[0] - tail[::-1], core, core[-1] + tail]), s2)


def bracket(grid: Array, F: Array) -> tuple[Array, Array, Array, Array, Array]:
    """(lo, hi, F(lo), F(hi), inside) per point, for F (points, M) that goes from positive to negative along the grid.

    The first sign change counts: far out F may have decayed to rounding noise of either sign. Points whose F has one
    sign on the whole grid are not inside; their bracket is the nearest end, twice.
    """
    xp = namespace(F)
    negative = F <= 0
    count = xp.where(negative.any(1), (negative * 1).argmax(1), F.shape[1])
    inside = (count > 0) & (count < F.shape[1])
    left = xp.clip(count - 1, 0, F.shape[1] - 1)
    right = xp.clip(count, 0, F.shape[1] - 1)
    rows = xp.arange(F.shape[0], device=F.device) if xp is not np else np.arange(F.shape[0])
    return grid[left], grid[right], F[rows, left], F[rows, right], inside


def solve(
    F: Callable[[Array, Array], Array], lo: Array, hi: Array, flo: Array, fhi: Array, *, tol: float = 1e-13
) -> Array:
    """Roots (points,) of F(t, index) inside brackets with flo > 0 > fhi, by Chandrupatla's method on all points at once.

    F receives the points still open as an integer index, so converged points cost nothing. A root is accepted when |F|
    or the bracket is below `tol`. Callers minimise a function that is stationary at the root, so the value they read
    off is exact to about tol^2, and any value returned here is still a valid dual point.
    """
    xp = namespace(lo)
    out = (lo + hi) / 2
    idx = xp.nonzero(lo < hi)[0] if xp is np else xp.nonzero(lo < hi).reshape(-1)
    a, b, fa, fb = lo[idx], hi[idx], flo[idx], fhi[idx]
    c, fc = b, fb
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
        best = xp.where(xp.abs(fa) < xp.abs(fb), a, b)
        width = xp.abs(b - a)
        done = (xp.minimum(xp.abs(fa), xp.abs(fb)) <= tol) | (width <= tol * (1 + xp.abs(best) * 1e-3))
        out[idx] = best
        floor = tol / xp.where(width > 0, width, width + 1)
        xi, phi = (a - b) / _nonzero(c - b), (fa - fb) / _nonzero(fc - fb)
        ab, ac, bc = _nonzero(fb - fa), _nonzero(fc - fa), _nonzero(fc - fb)
        inverse = -(fa / ab) * (fc / bc) + (c - a) / _nonzero(b - a) * (fa / ac) * (fb / bc)
        use = (phi * phi < xi) & ((1 - phi) ** 2 < 1 - xi)
        step = xp.where(use, inverse, (floor * 0 + 0.5))
        floor = xp.clip(floor, None, 0.5)
        step = xp.minimum(xp.maximum(step, floor), 1 - floor)
        if bool(done.any()):
            go = ~done
            idx, a, b, c, step = idx[go], a[go], b[go], c[go], step[go]
            fa, fb, fc = fa[go], fb[go], fc[go]
    return out


def _nonzero(x: Array) -> Array:
    return namespace(x).where(x == 0, x + tiny(x), x)

"""Corners of the L-curve: where trading misfit for norm stops paying. Definitions differ between authors, so each has a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import as_float, sized, to_numpy
from orledger.recovery.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


def _menger(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Signed curvature of the circle through each node and its two neighbours (ends get -inf)."""
    ax, ay = x[1:-1] - x[:-2], y[1:-1] - y[:-2]
    bx, by = x[2:] - x[1:-1], y[2:] - y[1:-1]
    cx, cy = x[2:] - x[:-2], y[2:] - y[:-2]
    sides = np.hypot(ax, ay) * np.hypot(bx, by) * np.hypot(cx, cy)
    turn = 2 * (ax * by - ay * bx)
    return _ends(np.divide(turn, sides, out=np.full_like(turn, -np.inf), where=sides > 0))


def _gradient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Signed curvature from second-order differences in the node number (ends get -inf)."""
    dx, dy = np.gradient(x), np.gradient(y)
    speed = (dx * dx + dy * dy) ** 1.5
    turn = dx * np.gradient(dy) - dy * np.gradient(dx)
    return _ends(np.divide(turn, speed, out=np.full_like(turn, -np.inf), where=speed > 0)[1:-1])


def _chord(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distance below the chord between the two ends of the curve, both axes scaled to [0, 1] (ends get -inf)."""
    u, v = (x - x.min()) / max(np.ptp(x), 1e-300), (y - y.min()) / max(np.ptp(y), 1e-300)
    dx, dy = u[-1] - u[0], v[-1] - v[0]
    return _ends(((u - u[0]) * -dy + (v - v[0]) * dx)[1:-1] * -1 / max(np.hypot(dx, dy), 1e-300))


def _ends(inner: np.ndarray) -> np.ndarray:
    return np.concatenate([[-np.inf], inner, [-np.inf]])


CORNERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "menger": _menger,
    "gradient": _gradient,
    "chord": _chord,
}
"""Corner scores by name; the corner is the node with the largest score."""


def lcurve_corner(misfit: np.ndarray, norm: np.ndarray, variant: str = "menger", *, scale: str = "log") -> int:
    """The index of the corner of the curve (misfit, norm), nodes in order of the regularisation weight (either order).

    variant: a key of `CORNERS`; scale: "log" takes logarithms of both axes, "linear" does not. The curve bends towards
    the origin at its corner, whichever end it is walked from. At least three nodes with positive values are needed.
    """
    if not isinstance(variant, str) or variant not in CORNERS:
        raise InputError(f"variant = {variant!r}; known corners are {sorted(CORNERS)}")
    x, y = to_numpy(as_float(misfit, "misfit")), to_numpy(as_float(norm, "norm"))
    if x.shape != y.shape or x.ndim != 1 or len(x) < 3:
        raise InputError(f"misfit {x.shape} and norm {y.shape} must be equally long, with at least 3 nodes")
    if not isinstance(scale, str) or scale not in ("log", "linear"):
        raise InputError(f"scale = {scale!r}; use 'log' or 'linear'")
    if scale == "log":
        if not ((x > 0).all() and (y > 0).all()):
            raise InputError("a log-log L-curve needs positive misfits and norms", hint="use scale='linear'")
        x, y = np.log(x), np.log(y)
    else:
        x, y = sized(x, "misfit"), sized(y, "norm")
    if x[0] > x[-1]:  # walk from small misfit to large, so that the corner always turns the same way
        return len(x) - 1 - int(np.argmax(CORNERS[variant](x[::-1], y[::-1])))
    return int(np.argmax(CORNERS[variant](x, y)))

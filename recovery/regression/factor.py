"""One factorisation of a weighted, centred design, from the whole matrix or from blocks of rows in bounded memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery.regression.errors import DroppedColumnWarning
from orledger.recovery.spectral import Spectral

if TYPE_CHECKING:
    from collections.abc import Iterator

DEAD_UNITS = 64.0
"""A column whose standard deviation is within this many rounding units of its largest absolute value is constant and dropped."""

BLOCK_ENTRIES = 1 << 22
"""Rows are worked through in blocks of about this many numbers (32 MB)."""


def row_blocks(n: int, d: int) -> Iterator[slice]:
    """Slices that cover n rows of d columns, each of about BLOCK_ENTRIES numbers."""
    size = max(256, BLOCK_ENTRIES // max(d, 1))
    return (slice(i, min(i + size, n)) for i in range(0, n, size))


@dataclass
class Sums:
    """Weighted sums over rows seen so far: enough for least squares, and added to block by block.

    Columns are measured from `origin`, the mean of the first block, so that a large common shift costs no digits.
    """

    origin: np.ndarray
    y_origin: np.ndarray
    weight: float
    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray
    xy: np.ndarray
    yy: np.ndarray
    largest: np.ndarray

    @classmethod
    def start(cls, Phi: np.ndarray, y: np.ndarray) -> Sums:
        """Empty sums for features of the width of Phi (n, d) and targets of the width of y (n, q)."""
        d, q = Phi.shape[1], y.shape[1]
        return cls(
            Phi.mean(0), y.mean(0), 0.0, np.zeros(d), np.zeros(q), np.zeros((d, d)), np.zeros((d, q)), np.zeros(q), np.zeros(d)
        )  # fmt: skip

    def add(self, Phi: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Take in the rows Phi (n, d), y (n, q) with weights (n,), or 1 each."""
        A, b = Phi - self.origin, y - self.y_origin
        wA, wb = (A, b) if weight is None else (A * weight[:, None], b * weight[:, None])
        self.weight += float(len(y)) if weight is None else float(weight.sum())
        self.x += wA.sum(0)
        self.y += wb.sum(0)
        self.xx += wA.T @ A
        self.xy += wA.T @ b
        self.yy += (wb * b).sum(0)
        self.largest = np.maximum(self.largest, np.abs(Phi).max(0))


@dataclass(frozen=True)
class Factor:
    """The centred, scaled design in its singular basis: Phi W = U s.

    mean, y_mean, scale and live describe the columns; s (k,), basis W (d, k); yt (k, q) and y02 (q,) the targets; total: the sum
    of the weights; rows: the unweighted left factor (n, k), centred targets (n, q) and weights (n,) of the rows that it was made
    from, or None when only sums were kept.
    """

    mean: np.ndarray
    y_mean: np.ndarray
    scale: np.ndarray
    live: np.ndarray
    s: np.ndarray
    basis: np.ndarray
    yt: np.ndarray
    y02: np.ndarray
    total: float
    cut: float
    rows: tuple[np.ndarray, np.ndarray, np.ndarray] | None

    def columns(self, Phi: np.ndarray) -> np.ndarray:
        """The live columns of Phi (n, d), centred and scaled; one zero column when none is left."""
        Z = (Phi - self.mean)[:, self.live] / self.scale
        return Z if Z.shape[1] else np.zeros((len(Phi), 1))

    def spectral(self, output: int) -> Spectral:
        """The observations of one output as `orledger.recovery` takes them; the mean has used one degree of freedom."""
        n = max(round(self.total) - 1, 1)
        return Spectral(
            self.s**2, self.yt[:, output], float(self.y02[output]), n, "features", self.basis, None, self.cut, 0
        )


def _live(spread: np.ndarray, largest: np.ndarray) -> np.ndarray:
    return spread > DEAD_UNITS * np.finfo(float).eps * largest


def factor_rows(Phi: np.ndarray, y: np.ndarray, weight: np.ndarray | None, columns: str) -> Factor:
    """The factor of Phi (n, d) and y (n, q) by a singular value decomposition: every digit, and leave-one-out for free.

    columns: "standardized", "centred", or "raw" for features of a kernel, which fade to zero away from the data, so that the
    prediction falls back to the mean there.
    """
    w = np.ones(len(y)) if weight is None else weight
    total = float(w.sum())
    mean, y_mean = (w @ Phi) / total, (w @ y) / total
    if columns == "raw":
        mean = mean * 0
    centred = Phi - mean
    spread = np.sqrt((w @ centred**2) / total)
    live = _live(spread, np.abs(Phi).max(0))
    lost = int((np.ptp(Phi[:, ~live], 0) > 0).sum())
    if lost:
        warnings.warn(
            f"{lost} of {len(live)} columns vary by less than {DEAD_UNITS:g} rounding units of their largest value and are left out; "
            "subtract what their values have in common before it is rounded",
            DroppedColumnWarning,
            stacklevel=2,
        )
    scale = spread[live] if columns == "standardized" else np.ones(int(live.sum()))
    A = centred[:, live] / scale if live.any() else np.zeros((len(y), 1))
    root = np.sqrt(w)[:, None]
    b = (y - y_mean) * root
    U, s, Wt = np.linalg.svd(A * root, full_matrices=False)
    cut = max(A.shape) * np.finfo(float).eps * float(s.max())
    keep = s > cut
    U, s, Wt = U[:, keep], s[keep], Wt[keep]
    yt = U.T @ b
    rest = b - U @ yt
    rows = (((A @ Wt.T) / s if len(s) else U), y - y_mean, w)
    return Factor(mean, y_mean, scale, live, s, Wt.T, yt, (rest**2).sum(0), total, cut, rows)


def factor_sums(sums: Sums, columns: str) -> Factor:
    """The factor from sums over blocks, columns as in `factor_rows`: squares the condition number, so directions below 1e-7 of the largest are dropped."""
    total = sums.weight
    shift, y_shift = sums.x / total, sums.y / total
    if columns == "raw":
        S = sums.xx + total * (np.outer(shift, sums.origin) + np.outer(sums.origin, sums.origin + shift))
    else:
        S = sums.xx - total * np.outer(shift, shift)
    spread = np.sqrt(np.maximum(np.diag(S), 0) / total)
    live = _live(spread, sums.largest) & (spread > 1e-7 * np.sqrt(np.diag(sums.xx) / total))
    scale = spread[live] if columns == "standardized" else np.ones(int(live.sum()))
    if live.any():
        A = S[np.ix_(live, live)] / np.outer(scale, scale)
        cross = (sums.xy - total * np.outer(shift, y_shift))[live] / scale[:, None]
    else:
        A, cross = np.zeros((1, 1)), np.zeros((1, len(y_shift)))
    w, Q = np.linalg.eigh(A)
    cut = 1e-7 * float(np.sqrt(w[-1]))
    keep = w > cut**2
    w, Q = w[keep][::-1], Q[:, keep][:, ::-1]
    s = np.sqrt(w)
    yt = (Q.T @ cross) / s[:, None]
    y02 = np.maximum(sums.yy - total * y_shift**2 - (yt**2).sum(0), 0.0)
    mean = (sums.origin + shift) * (0.0 if columns == "raw" else 1.0)
    return Factor(mean, sums.y_origin + y_shift, scale, live, s, Q, yt, y02, total, cut, None)

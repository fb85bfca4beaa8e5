"""Rows that hold exactly: conditioned on first, so that the formulas for noisy rows apply unchanged to what is left.

Kernel form: Schur complements of G, b and k(x, x). Feature form: theta = theta_p + N zeta. Boundary conditions of Case A.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orledger.recovery._array import Array, machine_eps, namespace, to_numpy, unmasked
from orledger.recovery.errors import InputError, SingularGramError

NOISE_UNITS, RANK_GAP, SMOOTH_UNITS = 64.0, 1e3, 1 / 16
"""The rank rule for Gram matrices, in rounding units eps_machine * (largest eigenvalue). Eigenvalues below NOISE_UNITS
that stand apart from the rest by a factor RANK_GAP are rounding of exact zeros (repeated rows, more rows than features) and
are dropped. A spectrum that decays into the rounding without a gap belongs to a smooth kernel of full rank: it is kept down
to SMOOTH_UNITS. Dropping a direction forgets what the rows say in it, which can only widen a global certificate. A conditional
interval would still count the data of that direction against the noise budget, so its edges are held against a problem that
drops nothing (`Spectral.widened`), and moved outwards to it where the two differ."""


def gram_cut(w: Array, unit: float, rank_tol: float | None) -> float:
    """The value at or below which eigenvalues w count as zero; rank_tol (in units) replaces the rule above.

    Whatever the rule, the most negative eigenvalue shows how large the rounding is, and twice that is never trusted.
    """
    w = np.sort(to_numpy(w))
    seen = -2.0 * min(float(w[0]), 0.0) if len(w) else 0.0
    if rank_tol is not None:
        return max(float(rank_tol) * unit, seen)
    low, high = w[w <= NOISE_UNITS * unit], w[w > NOISE_UNITS * unit]
    apart = len(low) == 0 or len(high) == 0 or high[0] > RANK_GAP * max(float(low[-1]), SMOOTH_UNITS * unit)
    return max((NOISE_UNITS if apart else SMOOTH_UNITS) * unit, seen)


@dataclass(frozen=True)
class ExactRows:
    """What is needed to reduce a functional: the rows' own factor, their data, and the coupling to the noisy rows.

    count: number of exact rows; width: number of feature columns (0 in kernel form); norm2: |u_E|^2. dropped: in kernel form how
    many directions of the exact rows rounding hides. slip: in feature form how far, relative to its norm, an element that meets
    the exact rows may lie from one that meets them as they were factored.
    """

    mask: np.ndarray
    count: int
    width: int
    norm2: float
    schur_scale: float
    factor: Array
    coupling: Array
    data: Array
    dropped: int = 0
    slip: float = 0.0

    @property
    def least(self) -> float:
        """The smallest eigenvalue of the exact rows that was kept, infinite where none was. Kernel form only."""
        return 1 / float((self.factor * self.factor).sum(0).max()) if self.factor.shape[1] else float("inf")

    @cached_property
    def carried(self) -> float:
        """How much of a change of the exact rows' values an element in their span carries into the noisy rows at most. Kernel form only."""
        return (
            float(namespace(self.factor).linalg.norm(self.factor @ self.coupling.T, 2)) if len(self.coupling) else 0.0
        )

    def reduce_gram(self, B: Array, kxx: Array) -> tuple[Array, Array, Array, Array]:
        """(u_E at the points, b reduced (n_noisy, points), k(x, x) reduced, whitened exact part (points, rank)).

        What is left of k(x, x) is negative by rounding where the exact rows determine the functional, and by more where b is wrong.
        """
        whitened = self.factor.T @ B[self.mask]
        left = kxx - (whitened * whitened).sum(0)
        rest = B[~self.mask] - self.coupling @ whitened
        return self.data @ whitened, rest, left, whitened.T

    def reduce_features(self, C: Array) -> tuple[Array, Array]:
        """(C theta_p, C N) for representers C (points, d)."""
        return C @ self.data, C @ self.factor


def row_mask(exact: Any, n: int) -> np.ndarray | None:
    """The boolean mask (n,) of exact rows given as a mask or as row numbers; None when there are none."""
    if exact is None:
        return None
    unmasked(exact, "exact")
    try:
        exact = np.asarray(to_numpy(exact))
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"exact = {exact!r:.60} is neither a boolean mask nor row numbers") from None
    if exact.size == 0:
        return None
    if exact.dtype != bool and not (exact.dtype.kind in "iu" and exact.ndim == 1):
        raise InputError(
            f"exact = {exact.tolist()!r:.60} is neither a boolean mask nor row numbers (type {exact.dtype})",
            hint="pass a mask of the rows or a list of integers",
        )
    if exact.dtype == bool:
        if exact.shape != (n,):
            raise InputError(f"the exact-row mask has shape {exact.shape}; there are {n} rows")
        mask = exact.copy()
    else:
        if exact.min() < -n or exact.max() >= n:
            raise InputError(f"an exact-row index is outside the {n} rows: {exact.tolist()[:5]}")
        mask = np.zeros(n, dtype=bool)
        mask[exact] = True
    return mask if mask.any() else None


def _contradiction(residual: float, size: float, limit: float) -> SingularGramError:
    return SingularGramError(
        f"the exact rows contradict each other, as far as float64 can tell them apart: residual {residual:.3g} "
        f"of data of norm {size:.3g} (limit {limit:.3g})",
        hint="remove repeated exact rows, keep fewer of a smooth kernel, or treat them as noisy rows with eta > 0",
    )


def eliminate_gram(
    G: Array, y: Array, mask: np.ndarray | None, rank_tol: float | None
) -> tuple[ExactRows | None, Array, Array]:
    """(record, Schur complement of G, shifted y) over the noisy rows; the inputs unchanged without exact rows."""
    if mask is None:
        return None, G, y
    xp, eps = namespace(G), machine_eps(G)
    w, Q = xp.linalg.eigh(G[mask][:, mask])
    cut = gram_cut(w, eps * float(w.max()), rank_tol)
    keep = w > cut
    factor = Q[:, keep] / xp.sqrt(w[keep])  # F F^T is the pseudo-inverse of the exact block
    data = factor.T @ y[mask]
    lost = Q[:, ~keep].T @ y[mask]
    norm2, size, lost_norm = float(data @ data), float(xp.sqrt(y[mask] @ y[mask])), float(xp.sqrt(lost @ lost))
    limit = (cut * norm2) ** 0.5 + 1e3 * eps * size
    if lost_norm > limit:
        raise _contradiction(lost_norm, size, limit)
    coupling = G[~mask][:, mask] @ factor
    block = G[~mask][:, ~mask]
    reduced = block - coupling @ coupling.T
    scale = float(xp.abs(block).max()) if len(block) else 0.0
    record = ExactRows(mask, int(mask.sum()), 0, norm2, scale, factor, coupling, data, int((~keep).sum()))
    return record, (reduced + reduced.T) / 2, y[~mask] - coupling @ data


def eliminate_features(
    Phi: Array, y: Array, mask: np.ndarray | None, rank_tol: float
) -> tuple[ExactRows | None, Array, Array]:
    """(record, Phi N, y - Phi theta_p) over the noisy rows; the inputs unchanged without exact rows."""
    if mask is None:
        return None, Phi, y
    xp, eps = namespace(Phi), machine_eps(Phi)
    U, s, Wt = xp.linalg.svd(Phi[mask], full_matrices=True)
    rank = int((s > rank_tol * eps * float(s.max())).sum())
    coef = U[:, :rank].T @ y[mask]
    rest = y[mask] - U[:, :rank] @ coef
    size, lost = float(xp.sqrt(y[mask] @ y[mask])), float(xp.sqrt(rest @ rest))
    limit = 1e3 * rank_tol * eps * size
    if lost > limit:
        raise _contradiction(lost, size, limit)
    theta = Wt[:rank].T @ (coef / s[:rank])
    N = Wt[rank:].T
    noisy = Phi[~mask]
    scale = float(xp.linalg.norm(noisy)) if len(noisy) else 0.0
    # The factors are those of E + F with |F| <= p eps |E|; what F moves is divided by the smallest singular value kept.
    slip = 4 * max(Phi.shape) * eps * float(s.max() / s[rank - 1]) if rank else 0.0
    record = ExactRows(mask, int(mask.sum()), Phi.shape[1], float(theta @ theta), scale, N, noisy, theta, slip=slip)
    return record, noisy @ N, y[~mask] - noisy @ theta

"""The linear observation problem behind a finished solve: Gram matrix, data and target functionals (numpy only).

Rows are -Lap + 3 u^2 at the collocation points, u being the solve's final iterate, then point evaluation on the boundary;
the data are z = [y + 2 u^3; 0]. Inner products are those of the product squared-exponential kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.recovery import Spectral
from orledger.runners.case_a.kernel import se
from orledger.runners.case_a.problem import boundary, collocation


def _blocks(P: np.ndarray, Q: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernel, Laplacian and twice-applied Laplacian between points P (p, 2) and Q (q, 2), each (p, q)."""
    kx, kx2, kx4 = se(P[:, 0], Q[:, 0], length)
    ky, ky2, ky4 = se(P[:, 1], Q[:, 1], length)
    return kx * ky, kx2 * ky + kx * ky2, kx4 * ky + 2 * kx2 * ky2 + kx * ky4


@dataclass(frozen=True)
class Rows:
    """The parts of the Gram matrix that do not depend on the iterate; n collocation points per side."""

    n: int
    length: float
    k: np.ndarray
    lap: np.ndarray
    bilap: np.ndarray
    k_edge: np.ndarray
    lap_edge: np.ndarray
    edge: np.ndarray

    @classmethod
    def build(cls, n: int, log_length: float) -> Rows:
        """The kernel blocks of the collocation and boundary points of an n x n grid."""
        length, C, D = float(np.exp(log_length)), collocation(n), boundary(n)
        k, lap, bilap = _blocks(C, C, length)
        k_edge, lap_edge, _ = _blocks(C, D, length)
        return cls(n, length, k, lap, bilap, k_edge, lap_edge, _blocks(D, D, length)[0])

    @property
    def exact(self) -> np.ndarray:
        """Mask of the boundary rows, which carry no noise."""
        return np.arange(len(self.k) + len(self.edge)) >= len(self.k)

    def at(self, u: np.ndarray, data: np.ndarray) -> Linearisation:
        """The linearisation about the iterate u (n, n) with noisy forcing ``data`` (n, n)."""
        a = 3 * u.ravel() ** 2
        inner = self.bilap - a[:, None] * self.lap - self.lap * a + a[:, None] * self.k * a
        cross = a[:, None] * self.k_edge - self.lap_edge
        G = np.block([[inner, cross], [cross.T, self.edge]])
        z = np.concatenate([data.ravel() + 2 * u.ravel() ** 3, np.zeros(len(self.edge))])
        return Linearisation(self, a, (G + G.T) / 2, z)


@dataclass(frozen=True)
class Linearisation:
    """Gram matrix G (rows, rows) and data z (rows,) of one linearised solve; ``a`` is 3 u^2 at the collocation points."""

    rows: Rows
    a: np.ndarray
    G: np.ndarray
    z: np.ndarray

    def spectral(self, *, exact: bool = False) -> Spectral:
        """The factored problem; with ``exact`` the boundary rows hold exactly, otherwise they share the noise budget."""
        return Spectral.from_gram(self.G, self.z, exact=self.rows.exact if exact else None)

    def functionals(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inner products of all rows with point evaluation at ``points`` (k, 2): b (rows, k), and k(x, x) (k,)."""
        k, lap, _ = _blocks(collocation(self.rows.n), points, self.rows.length)
        edge = _blocks(boundary(self.rows.n), points, self.rows.length)[0]
        return np.vstack([self.a[:, None] * k - lap, edge]), np.ones(len(points))

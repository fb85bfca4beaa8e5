"""The linear observation problem behind a finished solve: Gram matrix, data and target functionals (numpy only).

Rows are -Lap + 3 u^2 at the collocation points, u being the solve's final iterate, then point evaluation on the boundary;
the data are z = [y + 2 u^3; 0]. Inner products are those of the product squared-exponential kernel.

Two forms of the same problem. The Gram matrix G is quick, and enough wherever a nugget is added. Its smallest eigenvalues,
1e-18 of the largest at 24 x 24, are below what float64 resolves, so without noise the certificate taken from it is off by
0.1 to 1.5 percent, depending on the eigenvalue routine. The features Phi, G = Phi Phi^T, have the square root of that
condition number, and give the same certificate to ten digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.recovery import Projection, Spectral
from orledger.runners.case_a.kernel import se, se_features
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

    def spectral(self) -> Spectral:
        """The problem with every row inside the noise budget, factored from the Gram matrix."""
        return Spectral.from_gram(self.G, self.z)

    def problems(
        self, points: np.ndarray, form: str
    ) -> tuple[tuple[Spectral, Projection], tuple[Spectral, Projection]]:
        """The problem of certifying u at ``points`` (k, 2): with all rows noisy, and with the boundary rows exact.

        form: "features" or "gram", the factorisation.
        """
        masks = (None, self.rows.exact)
        if form == "gram":
            b, kxx = self.functionals(points)
            noisy, exact = (Spectral.from_gram(self.G, self.z, exact=mask) for mask in masks)
            return (noisy, noisy.project(b, kxx)), (exact, exact.project(b, kxx))
        Phi, C = self.features(points)
        noisy, exact = (Spectral.from_features(Phi, self.z, exact=mask) for mask in masks)
        return (noisy, noisy.project(C)), (exact, exact.project(C))

    def functionals(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inner products of all rows with point evaluation at ``points`` (k, 2): b (rows, k), and k(x, x) (k,)."""
        k, lap, _ = _blocks(collocation(self.rows.n), points, self.rows.length)
        edge = _blocks(boundary(self.rows.n), points, self.rows.length)[0]
        return np.vstack([self.a[:, None] * k - lap, edge]), np.ones(len(points))

    def features(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Phi (rows, rows + 1) and C (k, rows + 1) with G = Phi Phi^T and ``functionals`` = Phi C^T to rounding.

        The first columns are an orthonormal basis of the span of the rows; what a functional has outside of it matters through
        its norm alone, which is the last column.
        """
        inner, edge = collocation(self.rows.n), boundary(self.rows.n)
        where = np.unique(np.concatenate([inner.ravel(), edge.ravel(), points.ravel()]))
        value, second, pairs = _reduced(*se_features(where, self.rows.length))

        def product(P: np.ndarray, f: np.ndarray, g: np.ndarray) -> np.ndarray:
            i, j = np.searchsorted(where, P).T
            return f[i][:, pairs[0]] * g[j][:, pairs[1]]

        lap = product(inner, second, value) + product(inner, value, second)
        rows = [
            self.a[:, None] * product(inner, value, value) - lap,
            *(product(P, value, value) for P in (edge, points)),
        ]
        upper: np.ndarray = np.linalg.qr(np.vstack(rows).T, mode="r")  # type: ignore[assignment]
        lower = upper.T
        n = len(self.z)
        rest = np.linalg.norm(lower[n:, n:], axis=1)
        return np.pad(lower[:n, :n], ((0, 0), (0, 1))), np.column_stack([lower[n:, :n], rest])


def _reduced(value: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Both sets of rows in an orthonormal basis of what they span, and the pairs of basis functions that products need.

    Directions, and products of two of them, that are smaller than the rounding of the largest are left out.
    """
    size, eps = np.linalg.norm(second, axis=1).max(), np.finfo(float).eps
    U, s, _ = np.linalg.svd(np.vstack([value, second / size]), full_matrices=False)
    kept = (U * s)[:, s > eps * s[0]]
    i, j = np.nonzero(np.outer(s, s) > eps * s[0] ** 2)
    return kept[: len(value)], size * kept[len(value) :], (i, j)

"""The closed-form update of one factor of the tensor GP, for a batch of runs, without ever forming a design matrix.

u(x, y) = sum_r g_r(x) h_r(y). With h fixed and the equation linearised about u0, the row at the collocation point
(x_i, y_j) is linear in the coefficients of g: D_i (x) h_j enters with -1 and A_i (x) (c_ij h_j - h''_j) with +1, where A and
D hold the values and second derivatives of a factor at x_i, and c = 3 u0^2. Summed over j, the normal matrix is

    sum_i  A_i A_i^T (x) Q_i  +  D_i A_i^T (x) X_i  +  A_i D_i^T (x) X_i^T   +   (constant M x M) (x) (R x R)  terms + I

with R x R weights Q_i, X_i that cost one small product with c. The M x M outer products never change, so the whole matrix is
one product of the weights (pairs r >= r', 3n + 3) with a fixed table (3n + 3, M^2); its Cholesky factorisation is then the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from orledger.runners.case_a.kernel import FactorOperators

# c and the right-hand side of the linearised equation: c = power u0^2, rhs = f + (power - 1) u0^3.
LINEARISATIONS = {"newton": 3.0, "frozen": 1.0}


@dataclass(frozen=True)
class Precision:
    """``state``: type of the factors and of everything evaluated from them; ``normal``: type of the normal equations."""

    state: torch.dtype = torch.float64
    normal: torch.dtype = torch.float64


class NormalEquations:
    """Updates of factor 0 and 1 for up to ``batch`` runs on one device; owns its workspace, so memory stays bounded.

    The work arrays are allocated once: at these sizes an allocation per step costs more than the arithmetic.
    """

    def __init__(
        self,
        ops: FactorOperators,
        rank: int,
        lam1: float,
        batch: int,
        *,
        linearisation: str = "newton",
        precision: Precision | None = None,
        device: str = "cpu",
    ) -> None:
        self.precision = precision or Precision()
        self.n, self.M = ops.value.shape
        self.R, self.power = rank, LINEARISATIONS[linearisation]
        kind = {"dtype": self.precision.normal, "device": device}
        state = {"dtype": self.precision.state, "device": device}
        A, D, side = (torch.as_tensor(m, dtype=torch.float64, device=device) for m in (ops.value, ops.second, ops.side))
        ends, inner = side[[0, -1]], side[1:-1]
        # Factor 0 meets x = 0, 1 at all side points of y, and y = 0, 1 at the inner side points of x; factor 1 the reverse.
        self.mine, self.other = (inner, side), (side, inner)
        self.tables = [
            torch.cat(
                [
                    _outer(A, A),
                    _outer(D, A),
                    _outer(A, D),
                    (D.T @ D).reshape(1, -1),
                    (lam1 * ends.T @ ends).reshape(1, -1),
                    (lam1 * rows.T @ rows).reshape(1, -1),
                ]
            ).to(**kind)
            for rows in self.mine
        ]
        self.features = [torch.cat([A, D, rows, ends]).T.contiguous().to(**state) for rows in self.other]
        self.value_t = A.T.contiguous().to(**state)
        self.value, self.second = A.to(**kind), D.to(**kind)
        self.row, self.col = torch.tril_indices(rank, rank, device=device)
        pairs, size = len(self.row), rank * self.M
        self.pairs = torch.empty(3, batch * pairs * self.features[0].shape[1], **kind)
        self.weights = torch.empty(batch, pairs, 3 * self.n + 3, **kind)
        self.blocks = torch.empty(batch, pairs, self.M, self.M, **kind)
        # Column-major, lower triangle filled: what LAPACK factors in place. Index order: (column r', m', row r, m).
        self.columns = torch.zeros(batch, rank, self.M, rank, self.M, **kind)
        self.matrix = self.columns.view(batch, size, size).mT
        self.info = torch.zeros(batch, dtype=torch.int32, device=device)

    def update(
        self, factor: int, mine: torch.Tensor, other: torch.Tensor, lam2: torch.Tensor, data: torch.Tensor
    ) -> torch.Tensor:
        """New coefficients (B, R, M) of ``factor`` given the other's (B, R, M), linearised about the current product.

        lam2: (B, 1, 1); data: (B, n, n) or (n, n), first index along the factor's own variable. After the call ``info``
        is positive for every run whose normal matrix was not positive definite; its coefficients are then meaningless.
        """
        n, batch = self.n, len(mine)
        f = each(other, self.features[factor])
        u = (each(mine, self.value_t).mT @ f[..., :n]).to(self.precision.normal)
        f = f.to(self.precision.normal)
        h, h2 = f[..., :n], f[..., n : 2 * n]
        square = u * u
        c = (self.power * square).mT
        rhs = (data + (self.power - 1) * square * u).mT
        self._assemble(factor, f, c, lam2)
        right = (each(h @ (rhs * c) - h2 @ rhs, self.value) - each(h @ rhs, self.second)) * lam2
        matrix, info = self.matrix[:batch], self.info[:batch]
        torch.linalg.cholesky_ex(matrix, out=(matrix, info))
        half = torch.linalg.solve_triangular(matrix, right.reshape(batch, -1, 1), upper=False)
        new = torch.linalg.solve_triangular(matrix.mT, half, upper=True)
        return new.view(batch, self.R, self.M).to(self.precision.state)

    def _assemble(self, factor: int, f: torch.Tensor, c: torch.Tensor, lam2: torch.Tensor) -> None:
        """Fills ``matrix`` from the features f (B, R, .) of the other factor and c (B, n_other, n_mine)."""
        n, batch = self.n, len(f)
        shape = (batch, len(self.row), f.shape[-1])
        a, b, products = (space[: math.prod(shape)].view(shape) for space in self.pairs)
        torch.index_select(f, 1, self.row, out=a)
        torch.index_select(f, 1, self.col, out=b)
        torch.mul(a, b, out=products)
        hh, ab, ba = products[..., :n], a[..., :n] * b[..., n : 2 * n], a[..., n : 2 * n] * b[..., :n]
        w = self.weights[:batch]
        bent = hh @ c
        torch.sub(hh @ (c * c), (ab + ba) @ c, out=w[..., :n])
        w[..., :n] += products[..., n : 2 * n].sum(-1, keepdim=True)
        torch.sub(ba.sum(-1, keepdim=True), bent, out=w[..., n : 2 * n])
        torch.sub(ab.sum(-1, keepdim=True), bent, out=w[..., 2 * n : 3 * n])
        torch.sum(hh, -1, out=w[..., 3 * n])
        w[..., : 3 * n + 1] *= lam2
        split = 2 * n + len(self.other[factor])
        torch.sum(products[..., 2 * n : split], -1, out=w[..., 3 * n + 1])
        torch.sum(products[..., split:], -1, out=w[..., 3 * n + 2])
        blocks = self.blocks[:batch]
        torch.bmm(w, self.tables[factor].expand(batch, -1, -1), out=blocks.view(batch, -1, self.M * self.M))
        first = 0
        for r in range(self.R):
            self.columns[:batch, : r + 1, :, r, :] = blocks[:, first : first + r + 1]
            first += r + 1
        self.matrix[:batch].diagonal(dim1=1, dim2=2).add_(1.0)


def each(batch: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """``batch`` (B, p, q) times one matrix (q, r), run by run: folding the batch into one tall product, as ``@`` does, would
    let a run's rounding depend on how many others there are.
    """
    return torch.bmm(batch, matrix.expand(len(batch), -1, -1))


def _outer(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Row-wise outer products, (n, M) x (n, M) -> (n, M^2)."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)

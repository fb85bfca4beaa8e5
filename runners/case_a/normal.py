"""The closed-form update of one factor of the tensor GP, for a batch of runs, without ever forming a design matrix.

u(x, y) = sum_r g_r(x) h_r(y). With h fixed and the equation linearised about u0, the row at the collocation point
(x_i, y_j) is linear in the coefficients of g: D_i (x) h_j enters with -1 and A_i (x) (c_ij h_j - h''_j) with +1, where A and
D hold the values and second derivatives of a factor at x_i, and c = 3 u0^2. Summed over j, the normal matrix is

    sum_i  A_i A_i^T (x) Q_i  +  D_i A_i^T (x) X_i  +  A_i D_i^T (x) X_i^T   +   (constant M x M) (x) (R x R)  terms + I

with R x R weights Q_i, X_i that cost one small product with c. The M x M outer products never change, so the whole matrix is
one product of the weights (pairs r >= r', 3n + 3) with a fixed table (3n + 3, M^2); its Cholesky factorisation is then the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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


class Slots(NamedTuple):
    """Views of the workspace for one factor's update, each (B, pairs, .): the features of the other factor gathered at the
    first and the second index of every pair r >= r' (whole, values, second derivatives), and their products.
    """

    a: torch.Tensor
    a_value: torch.Tensor
    a_second: torch.Tensor
    b: torch.Tensor
    b_value: torch.Tensor
    b_second: torch.Tensor
    products: torch.Tensor
    value: torch.Tensor
    second: torch.Tensor
    side: torch.Tensor
    ends: torch.Tensor


class NormalEquations:
    """Updates of factor 0 and 1 for ``batch`` runs on one device; owns its workspace, so memory stays bounded.

    Arrays and views are made once: at these sizes an allocation, and for a single run even a slice, costs as much as the
    arithmetic it serves.
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
        mine, other = (inner, side), (side, inner)
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
            )
            .to(**kind)
            .expand(batch, -1, -1)
            for rows in mine
        ]
        self.features = [
            torch.cat([A, D, rows, ends]).T.contiguous().to(**state).expand(batch, -1, -1) for rows in other
        ]
        self.value_t = A.T.contiguous().to(**state).expand(batch, -1, -1)
        self.value, self.second = (m.to(**kind).expand(batch, -1, -1) for m in (A, D))
        self.row, self.col = torch.tril_indices(rank, rank, device=device)
        pairs, size, n = len(self.row), rank * self.M, self.n
        self.slots = [
            self._slots(torch.empty(3, batch, pairs, f.shape[-1], **kind), len(rows))
            for f, rows in zip(self.features, other, strict=True)
        ]
        self.weights = torch.empty(batch, pairs, 3 * n + 3, **kind)
        # Columns of the weights, in the order of the tables: A A^T, D A^T, A D^T, then the three constant matrices.
        self.w_value, self.w_left, self.w_right = (self.weights[..., k * n : (k + 1) * n] for k in range(3))
        self.w_second, self.w_side, self.w_ends = (self.weights[..., 3 * n + k] for k in range(3))
        self.w_data = self.weights[..., : 3 * n + 1]
        blocks = torch.empty(batch, pairs, self.M, self.M, **kind)
        self.blocks = blocks.view(batch, pairs, self.M * self.M)
        # Column-major, lower triangle filled: what LAPACK factors in place. Index order: (column r', m', row r, m).
        columns = torch.zeros(batch, rank, self.M, rank, self.M, **kind)
        starts = [r * (r + 1) // 2 for r in range(rank)]
        self.scatter = [(columns[:, : r + 1, :, r, :], blocks[:, k : k + r + 1]) for r, k in enumerate(starts)]
        self.matrix = columns.view(batch, size, size).mT
        self.upper, self.diagonal = self.matrix.mT, self.matrix.diagonal(dim1=1, dim2=2)
        self.info = torch.zeros(batch, dtype=torch.int32, device=device)

    def _slots(self, space: torch.Tensor, rows: int) -> Slots:
        """Views of ``space`` (3, B, pairs, width); the width is n values, n second derivatives, ``rows`` side points, 2 ends."""
        n = self.n
        value, second = slice(0, n), slice(n, 2 * n)
        a, b, products = space
        parts = (
            products[..., value],
            products[..., second],
            products[..., 2 * n : 2 * n + rows],
            products[..., 2 * n + rows :],
        )
        return Slots(a, a[..., value], a[..., second], b, b[..., value], b[..., second], products, *parts)

    def update(
        self, factor: int, mine: torch.Tensor, other: torch.Tensor, lam2: torch.Tensor, data: torch.Tensor
    ) -> torch.Tensor:
        """New coefficients (B, R, M) of ``factor`` given the other's (B, R, M), linearised about the current product.

        lam2: (B, 1, 1); data: (B, n, n) or (n, n), first index along the factor's own variable. After the call ``info``
        is positive for every run whose normal matrix was not positive definite; its coefficients are then meaningless.
        """
        n = self.n
        f = torch.bmm(other, self.features[factor])
        u = torch.bmm(torch.bmm(mine, self.value_t).mT, f[..., :n]).to(self.precision.normal)
        f = f.to(self.precision.normal)
        h, h2 = f[..., :n], f[..., n : 2 * n]
        square = u * u
        c = (self.power * square).mT
        rhs = (data + (self.power - 1) * square * u).mT
        self._assemble(factor, f, c, lam2)
        bent = torch.bmm(h, rhs * c) - torch.bmm(h2, rhs)
        right = (torch.bmm(bent, self.value) - torch.bmm(torch.bmm(h, rhs), self.second)) * lam2
        torch.linalg.cholesky_ex(self.matrix, out=(self.matrix, self.info))
        half = torch.linalg.solve_triangular(self.matrix, right.view(len(mine), -1, 1), upper=False)
        new = torch.linalg.solve_triangular(self.upper, half, upper=True)
        return new.view(mine.shape).to(self.precision.state)

    def _assemble(self, factor: int, f: torch.Tensor, c: torch.Tensor, lam2: torch.Tensor) -> None:
        """Fills ``matrix`` from the features f (B, R, .) of the other factor and c (B, n_other, n_mine)."""
        s = self.slots[factor]
        torch.index_select(f, 1, self.row, out=s.a)
        torch.index_select(f, 1, self.col, out=s.b)
        torch.mul(s.a, s.b, out=s.products)
        ab, ba = s.a_value * s.b_second, s.a_second * s.b_value
        bent = torch.bmm(s.value, c)
        torch.sub(torch.bmm(s.value, c * c), torch.bmm(ab + ba, c), out=self.w_value)
        self.w_value.add_(s.second.sum(-1, keepdim=True))
        torch.sub(ba.sum(-1, keepdim=True), bent, out=self.w_left)
        torch.sub(ab.sum(-1, keepdim=True), bent, out=self.w_right)
        torch.sum(s.value, -1, out=self.w_second)
        self.w_data.mul_(lam2)
        torch.sum(s.side, -1, out=self.w_side)
        torch.sum(s.ends, -1, out=self.w_ends)
        torch.bmm(self.weights, self.tables[factor], out=self.blocks)
        for target, source in self.scatter:
            target.copy_(source)
        self.diagonal.add_(1.0)


def each(batch: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """``batch`` (B, p, q) times one matrix (q, r), run by run: folding the batch into one tall product, as ``@`` does, would
    let a run's rounding depend on how many others there are.
    """
    return torch.bmm(batch, matrix.expand(len(batch), -1, -1))


def _outer(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Row-wise outer products, (n, M) x (n, M) -> (n, M^2)."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)

"""The closed-form update of one factor of the tensor GP, for a batch of runs, without ever forming a design matrix.

u(x, y) = sum_r g_r(x) h_r(y). With h fixed and the equation linearised about u0, the row at the collocation point
(x_i, y_j) is linear in the coefficients of g: D_i (x) h_j enters with -1 and A_i (x) (c_ij h_j - h''_j) with +1, where A and
D hold the values and second derivatives of a factor at x_i, and c = 3 u0^2. Summed over j, the normal matrix is

    sum_i  A_i A_i^T (x) Q_i  +  (D_i A_i^T + A_i D_i^T) (x) X_i   +   (constant M x M) (x) (R x R)  terms + I

with symmetric R x R weights Q_i = h c_i^2 h - (h h'' + h'' h) c_i and X_i = -h c_i h (sums over j); what is left of the
row's square does not depend on i. The M x M matrices never change, so the whole matrix is one product of the weights
(pairs r >= r', 2n + 6) with a fixed table (2n + 6, M^2), and the weights are one product of the pairs' products (pairs, .)
with a matrix in which only c changes. The Cholesky factorisation is then the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

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


class Kind(TypedDict):
    """Where arrays live and what they are made of."""

    dtype: torch.dtype
    device: torch.device


class Workspace(NamedTuple):
    """Arrays of one factor's update, and views into them that are made once.

    A pair r >= r' has W products of features of the other factor: values, second derivatives, side points and ends of r with
    the same of r', then values of r with second derivatives of r' and the reverse. ``known``, twice (B, R, W), holds what the other
    factor is there, for the first and for the second of a pair, ``fine`` the same in the type of the normal equations (the
    same array when the types agree). ``left`` and ``right`` (B, pairs, W) are its rows for every pair, ``products`` their
    product. ``mix`` (B, W, 2n + 6) turns products into weights; of it only ``c_square``, ``c_second`` and ``c_cross`` (the
    places of c^2 and of -c) change from update to update.
    """

    features: tuple[torch.Tensor, torch.Tensor]
    table: torch.Tensor
    known: tuple[torch.Tensor, torch.Tensor]
    fine: tuple[torch.Tensor, torch.Tensor]
    value_t: torch.Tensor
    value: torch.Tensor
    second: torch.Tensor
    left: torch.Tensor
    right: torch.Tensor
    products: torch.Tensor
    mix: torch.Tensor
    c_square: torch.Tensor
    c_second: torch.Tensor
    c_twice: torch.Tensor
    c_cross: torch.Tensor


class NormalEquations:
    """Updates of factor 0 and 1 for ``batch`` runs on one device; owns its workspace, so memory stays bounded.

    Arrays and views are made once and operations are few: at these sizes an allocation, and for a single run even a slice,
    costs as much as the arithmetic it serves.
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
        self.same = self.precision.state == self.precision.normal
        self.n, self.M = ops.value.shape
        self.batch, self.power = batch, LINEARISATIONS[linearisation]
        self.kind: Kind = {"dtype": self.precision.normal, "device": torch.device(device)}
        self.state: Kind = {"dtype": self.precision.state, "device": torch.device(device)}
        A, D, side = (torch.as_tensor(m, dtype=torch.float64, device=device) for m in (ops.value, ops.second, ops.side))
        self.row, self.col = torch.tril_indices(rank, rank, device=device)
        pairs, size, n = len(self.row), rank * self.M, self.n
        ends, inner = side[[0, -1]], side[1:-1]
        # Factor 0 meets x = 0, 1 at all side points of y, and y = 0, 1 at the inner side points of x; factor 1 the reverse.
        self.spaces = [
            self._space(A, D, mine, other, ends, lam1, rank) for mine, other in ((inner, side), (side, inner))
        ]
        self.value_t = A.T.contiguous().to(**self.state).expand(batch, -1, -1)
        self.own = torch.empty(batch, rank, n, **self.state)
        self.u_known = torch.empty(batch, n, n, **self.state)
        self.u = self.u_known if self.same else torch.empty(batch, n, n, **self.kind)
        self.square = torch.empty(batch, n, n, **self.kind)
        # Both halves of the right-hand side are kept with a minus sign.
        self.both = torch.cat([-A, -D]).to(**self.kind).expand(batch, -1, -1)
        self.weights = torch.empty(batch, pairs, 2 * n + 6, **self.kind)
        self.w_data = self.weights[..., : 2 * n + 4]
        self.pulled = torch.empty(batch, n, 2 * n, **self.kind)
        self.bent, self.plain = self.pulled[..., :n], self.pulled[..., n:]
        self.pull = torch.empty(batch, rank, 2 * n, **self.kind)
        self.pull_value = self.pull[..., :n]
        self.curl = torch.empty(batch, rank, n, **self.kind)
        # Arrays of their own, not parts of one: where an array starts can decide the last bit of a product.
        self.right, self.half = (torch.empty(batch, rank, self.M, **self.kind) for _ in range(2))
        self.right_column, self.half_column = (t.view(batch, size, 1) for t in (self.right, self.half))
        blocks = torch.empty(batch, pairs, self.M, self.M, **self.kind)
        self.blocks = blocks.view(batch, pairs, self.M * self.M)
        # Column-major, lower triangle filled: what LAPACK factors in place. Index order: (column r', m', row r, m).
        columns = torch.zeros(batch, rank, self.M, rank, self.M, **self.kind)
        starts = [r * (r + 1) // 2 for r in range(rank)]
        self.scatter = [(columns[:, : r + 1, :, r, :], blocks[:, k : k + r + 1]) for r, k in enumerate(starts)]
        self.matrix = columns.view(batch, size, size).mT
        self.upper, self.diagonal = self.matrix.mT, self.matrix.diagonal(dim1=1, dim2=2)
        self.info = torch.zeros(2, batch, dtype=torch.int32, device=device)
        self.infos = tuple(self.info)

    def _space(
        self,
        A: torch.Tensor,
        D: torch.Tensor,
        mine: torch.Tensor,
        other: torch.Tensor,
        ends: torch.Tensor,
        lam1: float,
        rank: int,
    ) -> Workspace:
        """The arrays of the factor whose side points are ``mine`` (rows, M), the other factor's being ``other``."""
        n, M, batch, rows, pairs = self.n, self.M, self.batch, len(other), len(self.row)
        cross = D.T @ A
        table = torch.cat(
            [
                _outer(A, A),
                _outer(D, A) + _outer(A, D),
                torch.stack([A.T @ A, cross + cross.T, cross - cross.T, D.T @ D]).view(4, M * M),
                # The other factor's side points meet this one's ends, and the reverse.
                (lam1 * ends.T @ ends).view(1, M * M),
                (lam1 * mine.T @ mine).view(1, M * M),
            ]
        )
        value, second = slice(0, n), slice(n, 2 * n)
        edge = 2 * n + rows + 2
        ab, ba = slice(edge, edge + n), slice(edge + n, edge + 2 * n)
        mix = torch.zeros(batch, edge + 2 * n, 2 * n + 6, **self.kind)
        for where, column, factor in (
            (second, 0, 1.0), (ab, 1, 0.5), (ba, 1, 0.5), (ab, 2, -0.5), (ba, 2, 0.5), (value, 3, 1.0),
            (slice(2 * n, edge - 2), 4, 1.0), (slice(edge - 2, edge), 5, 1.0),
        ):  # fmt: skip
            mix[:, where, 2 * n + column] = factor
        features = (
            torch.cat([first, last]).T.contiguous().to(self.precision.state).expand(batch, -1, -1)
            for first, last in (
                (torch.cat([A, D, other, ends]), torch.cat([A, D])),
                (torch.cat([A, D, other, ends]), torch.cat([D, A])),
            )
        )
        shape = batch, rank, edge + 2 * n
        known = torch.empty(shape, **self.state), torch.empty(shape, **self.state)
        fine = known if self.same else (torch.empty(shape, **self.kind), torch.empty(shape, **self.kind))
        left, right, products = torch.empty(3, batch, pairs, edge + 2 * n, **self.kind)
        return Workspace(
            features=(next(features), next(features)),
            table=table.to(**self.kind).expand(batch, -1, -1),
            known=known,
            fine=fine,
            value_t=known[0][..., value].mT,
            value=fine[0][..., value],
            second=fine[0][..., second],
            left=left,
            right=right,
            products=products,
            mix=mix,
            c_square=mix[:, value, :n],
            c_second=mix[:, value, n : 2 * n],
            c_twice=mix[:, None, value, n : 2 * n].expand(-1, 2, -1, -1),
            c_cross=mix[:, edge:, :n].unflatten(1, (2, n)),
        )

    def update(
        self,
        factor: int,
        mine: torch.Tensor,
        other: torch.Tensor,
        lam2: torch.Tensor,
        data: torch.Tensor,
        new: torch.Tensor,
    ) -> None:
        """Writes the coefficients of ``factor`` that solve its normal equations into ``new`` (B, R, M), which is contiguous.

        mine and other: both factors' coefficients so far (B, R, M), about whose product the equation is linearised; lam2:
        (B, 1, 1); data: (B, n, n) or (n, n), first index along the factor's own variable. After the call ``info[factor]`` (B,)
        is positive for every run whose normal matrix was not positive definite; its coefficients are then meaningless.
        """
        space = self.spaces[factor]
        torch.bmm(other, space.features[0], out=space.known[0])
        torch.bmm(other, space.features[1], out=space.known[1])
        torch.bmm(mine, self.value_t, out=self.own)
        # First index along the other factor's variable, as in every product below.
        torch.bmm(space.value_t, self.own, out=self.u_known)
        if not self.same:
            for fine, known in zip((*space.fine, self.u), (*space.known, self.u_known), strict=True):
                fine.copy_(known)
        torch.mul(self.u, self.u, out=self.square)
        torch.mul(self.square, -self.power, out=space.c_second)
        self._assemble(space, lam2)
        # h'' rhs - h (rhs c) multiplies the values, h rhs the second derivatives; ``both`` has the sign.
        torch.addcmul(data.mT, self.square, self.u, value=self.power - 1, out=self.plain)
        torch.mul(self.plain, space.c_second, out=self.bent)
        torch.bmm(space.value, self.pulled, out=self.pull)
        torch.bmm(space.second, self.plain, out=self.curl)
        self.pull_value.add_(self.curl)
        torch.bmm(self.pull, self.both, out=self.right)
        self.right.mul_(lam2)
        torch.linalg.cholesky_ex(self.matrix, out=(self.matrix, self.infos[factor]))
        torch.linalg.solve_triangular(self.matrix, self.right_column, upper=False, out=self.half_column)
        solution = new.view(self.right_column.shape) if self.same else self.right_column
        torch.linalg.solve_triangular(self.upper, self.half_column, upper=True, out=solution)
        if not self.same:
            new.copy_(self.right)

    def _assemble(self, space: Workspace, lam2: torch.Tensor) -> None:
        """Fills ``matrix`` from the features of the other factor and from -c, which stands in ``c_second``."""
        torch.index_select(space.fine[0], 1, self.row, out=space.left)
        torch.index_select(space.fine[1], 1, self.col, out=space.right)
        torch.mul(space.left, space.right, out=space.products)
        torch.mul(space.c_second, space.c_second, out=space.c_square)
        space.c_cross.copy_(space.c_twice)
        torch.bmm(space.products, space.mix, out=self.weights)
        self.w_data.mul_(lam2)
        torch.bmm(self.weights, space.table, out=self.blocks)
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

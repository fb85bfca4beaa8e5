"""KernelRecovery: rows, a kernel and data as one problem, its Gram matrix and its answers computed block by block.

For some 10^4 rows the Gram matrix (800 MB in float64) and its eigenvectors are what memory holds; everything else, the kernel's
own temporaries and the coefficients of the points, stays within one block. The same code runs on NumPy arrays and on torch
tensors, on the device of X.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orledger.recovery._array import Array, as_float, like, namespace, together
from orledger.recovery.errors import InputError
from orledger.recovery.interval import local_interval
from orledger.recovery.occam import Occam, occam
from orledger.recovery.radius import global_radius
from orledger.recovery.spectral import Spectral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Kernel = Callable[[Array, Array], Array]

BLOCK = 1024
"""Rows and points per block: a block of the Gram matrix for 10^4 rows takes 80 MB."""


class Edges(NamedTuple):
    """Conditional intervals, arrays of shape (points,); each field as in `Interval`, without the elements that attain them."""

    lower: Array
    upper: Array
    centre: Array
    gap_rel: Array
    delta_num: Array
    resolved: Array


class Radii(NamedTuple):
    """Radii of information, arrays of shape (points,); each field as in `GlobalCertificate`."""

    radius: Array
    mu: Array
    cert: Array
    allowance: Array
    resolved: Array


@dataclass(frozen=True)
class KernelRecovery:
    """Observations of a function at rows X under a kernel, factored once.

    kernel: takes (a, p) and (b, p) and gives the (a, b) inner products. diagonal: takes (a, p) and gives k(x, x) (a,); without
    it the diagonal of kernel(block, block) is used.
    """

    kernel: Kernel
    X: Array
    spec: Spectral
    block: int
    diagonal: Callable[[Array], Array] | None = None

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        X: Array,
        y: Array,
        *,
        exact: Any = None,
        diagonal: Callable[[Array], Array] | None = None,
        block: int = BLOCK,
    ) -> KernelRecovery:
        """The problem of rows X (n, p) and data y (n,); exact as in `Spectral.from_gram`.

        Only blocks on and below the diagonal are evaluated; the others are their mirror image, so G is symmetric to the bit.
        """
        if isinstance(block, (bool, np.timedelta64)) or not (isinstance(block, (int, np.integer)) and block >= 1):
            raise InputError(f"block = {block!r}; a whole number of at least 1 is needed")
        if not (diagonal is None or callable(diagonal)):
            raise InputError(f"the diagonal is {diagonal!r:.60}; a function of one block of rows is needed")
        X, y = together(X, y)
        X, y = as_float(X, "X", ndim=2), as_float(y, "y", ndim=1)
        if len(X) != len(y):
            raise InputError(f"X has {len(X)} rows and y has {len(y)}")
        G = namespace(X).empty((len(X), len(X)), dtype=X.dtype, device=X.device)
        for rows in _blocks(len(X), block):
            for cols in _blocks(rows.start + 1, block):
                cols = slice(cols.start, min(cols.start + block, len(X)))
                part = _evaluated(kernel, X[rows], X[cols])
                G[rows, cols] = (part + part.T) / 2 if rows == cols else part
                if rows != cols:
                    G[cols, rows] = part.T
        return cls(kernel, X, Spectral.from_gram(G, y, exact=exact), int(block), diagonal)

    def occam(self, eta: float) -> Occam:
        """The smallest norm that explains the data within eta; refusals are in it, not raised."""
        return occam(self.spec, eta)

    def intervals(self, points: Array, rho: float, eta: float) -> Edges:
        """The interval of the function's value at each of the points (m, p), over all functions consistent with the data."""
        least = self.occam(eta)
        bands = (local_interval(self.spec, proj, rho, eta, occ=least) for proj in self._projections(points))
        return Edges(*self._joined(bands, Edges._fields))

    def radii(self, points: Array, eps: float, eta: float) -> Radii:
        """The worst error of the best method at each of the points (m, p), whatever the data."""
        certificates = (global_radius(self.spec, proj, eps, eta) for proj in self._projections(points))
        return Radii(*self._joined(certificates, Radii._fields))

    def _projections(self, points: Array) -> Iterator[Any]:
        points = like(as_float(points, "points", ndim=2), self.X)
        if points.shape[1] != self.X.shape[1]:
            raise InputError(f"points have {points.shape[1]} columns and X has {self.X.shape[1]}")
        if len(points) == 0:
            raise InputError("points are empty: there is nothing to answer")
        for some in _blocks(len(points), self.block):
            at = points[some]
            squares = _evaluated(self.kernel, at, at).diagonal() if self.diagonal is None else self.diagonal(at)
            yield self.spec.project(_evaluated(self.kernel, self.X, at), squares)

    def _joined(self, answers: Iterator[Any], fields: tuple[str, ...]) -> list[Array]:
        """The named fields of all blocks, one array each; the rest of a block's answer is let go before the next is computed."""
        kept = [tuple(getattr(answer, name) for name in fields) for answer in answers]
        return [namespace(self.X).concatenate(parts) for parts in zip(*kept, strict=True)]


def _blocks(n: int, size: int) -> Iterator[slice]:
    return (slice(i, min(i + size, n)) for i in range(0, n, size))


def _evaluated(kernel: Kernel, A: Array, B: Array) -> Array:
    if not callable(kernel):
        raise InputError(f"the kernel is {kernel!r:.60}; a function of two blocks of rows is needed")
    part = together(kernel(A, B), A)[0]
    part = as_float(part, "the kernel's answer")
    if tuple(part.shape) != (len(A), len(B)):
        raise InputError(
            f"the kernel gave shape {tuple(part.shape)} for {len(A)} and {len(B)} rows; ({len(A)}, {len(B)}) is needed"
        )
    return part

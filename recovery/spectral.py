"""One factorisation of the observations, and the spectral functions of the nugget that everything else is made of.

With `Phi = U diag(s) W^T`, `G = Phi Phi^T`, `f_j(mu) = 1 / (1 + mu s_j^2)` and nugget `nu = 1/mu`, every quantity of the
paper (posterior variance and mean, power function, weight norm, ridge misfit, RKHS norm) is one sum over j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from orledger.recovery._array import (
    Array,
    Numbers,
    as_float,
    gain,
    like,
    machine_eps,
    multipliers,
    namespace,
    nonnegative,
    sized,
    tiny,
    to_numpy,
    together,
)
from orledger.recovery.allowance import gram_error
from orledger.recovery.dominating import loosened
from orledger.recovery.elimination import ExactRows, eliminate_features, eliminate_gram, gram_cut, row_mask
from orledger.recovery.errors import GramError, InputError, ProductsError, SingularGramError
from orledger.recovery.projection import Projection

SYMMETRY_ROWS = 1024
"""Rows of a Gram matrix that are compared with its transpose at a time."""


@dataclass(frozen=True)
class Spectral:
    """The observations in their own singular basis.

    s2: (k,) squared singular values, decreasing, all positive; yt: (k,) data coefficients; y02: squared norm of the data
    outside the range (the squared best misfit); n: number of noisy rows; exact: the eliminated rows, or None;
    dropped: directions left out because they are at the rounding of the factorisation.
    given: G, y and the mask of exact rows as they came, kernel form only. lost: the eigenvalues (dropped,) and eigenvectors
    (n, dropped) of the directions left out, kernel form only. pending: a delta of the exact rows that is not in the numbers yet.
    """

    s2: Array
    yt: Array
    y02: float
    n: int
    form: str
    basis: Array
    exact: ExactRows | None
    resolution: float
    dropped: int
    given: tuple[Array, Array, np.ndarray | None] | None = None
    lost: tuple[Array, Array] | None = None
    pending: float = 0.0

    @classmethod
    def from_gram(
        cls, G: Array, y: Array, *, exact: Any = None, rank_tol: float | None = None, singular: str = "truncate"
    ) -> Spectral:
        """The spectral object of a Gram matrix G (n, n) and data y (n,).

        exact: boolean mask or indices of rows that hold without noise; they are conditioned on first (Schur complement).
        rank_tol: eigenvalues up to rank_tol * eps_machine * max eigenvalue count as zero; by default `gram_cut` decides.
        singular: "truncate" drops those directions, "raise" makes them a SingularGramError.
        """
        G, y = together(G, y)
        G, y = sized(as_float(G, "G", ndim=2), "G"), sized(as_float(y, "y", ndim=1), "y")
        rank_tol = None if rank_tol is None else nonnegative(rank_tol, "rank_tol")
        if not isinstance(singular, str) or singular not in ("truncate", "raise"):
            raise InputError(f"singular = {singular!r}; use 'truncate' or 'raise'")
        xp, n = namespace(G, y), len(y)
        if n == 0:
            raise InputError("y is empty: there is nothing to recover from")
        if tuple(G.shape) != (n, n):
            raise InputError(f"G has shape {tuple(G.shape)} and y has {n} rows; G must be ({n}, {n})")
        eps, (size, skew) = machine_eps(G), _size_and_skew(G)
        if skew > 1e3 * eps * size:
            raise GramError(f"G is not symmetric: largest |G - G^T| is {skew:.3g}", hint="pass (G + G.T) / 2")
        G = (G + G.T) / 2 if skew else G
        mask = row_mask(exact, n)
        given = (G, y, mask)
        rows, G, y = eliminate_gram(G, y, mask, rank_tol)
        w, Q = xp.linalg.eigh(G)
        top = max(float(w.max()) if len(y) else 0.0, 0.0)
        # The Schur complement carries the rounding of the block it was formed from, not of its own (smaller) size.
        unit = eps * max(top, rows.schur_scale if rows else 0.0)
        low = min(float(w.min()) if len(y) else 0.0, 0.0)
        if -low > max(1e-8, 1e4 * eps) * max(top, size):
            raise GramError(f"G has the negative eigenvalue {low:.3g} (largest {top:.3g}): it is not a Gram matrix")
        cut = gram_cut(w, unit, rank_tol)
        keep = w > cut
        if singular == "raise" and not bool(keep.all()):
            worst = int(to_numpy(xp.abs(Q[:, 0])).argmax())
            raise SingularGramError(
                f"G is singular: {int((~keep).sum())} of {len(y)} eigenvalues are at or below {cut:.3g}; "
                f"the weakest direction is carried mostly by row {worst}",
                hint="drop repeated rows, add a nugget, or use singular='truncate'",
            )
        drop = int((~keep).sum())  # eigenvalues come in increasing order
        lost = (w[:drop], Q[:, :drop]) if drop else None
        # Views that run backwards: a copy the right way round is quicker, and its products round differently.
        w, Q = xp.flip(w[keep], (0,)), xp.flip(Q[:, keep], (1,))
        z = Q.T @ y
        rest = y - Q @ z
        return cls(w, z, float(rest @ rest), len(y), "kernel", Q, rows, cut**0.5, drop, given, lost)

    @cached_property
    def delta(self) -> Array:
        """What rounding can hide in each row of the Gram matrix (n_rows,); see `gram_error`. Kernel form only."""
        if self.given is None:
            raise InputError("only a spectral object built from a Gram matrix has a Gram error")
        return gram_error(self.given[0], self.given[2])

    @property
    def noisy_delta(self) -> float:
        """The largest `delta` of the noisy rows."""
        mask = None if self.given is None else self.given[2]
        delta = self.delta if mask is None else self.delta[~mask]
        return float(delta.max()) if len(delta) else 0.0

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Those of all rows together (n_rows,), in increasing order, exact ones included. Kernel form only."""
        if self.given is None:
            raise InputError("only a spectral object built from a Gram matrix has its eigenvalues")
        return np.sort(to_numpy(namespace(self.given[0]).linalg.eigvalsh(self.given[0])))

    @cached_property
    def coupled(self) -> Array:
        """The noisy rows' parts along the whitened exact rows, in the eigenbasis (k, rank). Kernel form with exact rows only."""
        if self.exact is None or self.form == "features":
            raise InputError("only a Gram matrix with exact rows couples the two")
        return self.basis.T @ self.exact.coupling

    @cached_property
    def pulls(self) -> tuple[Array, Array]:
        """`coupled`, times the singular value and times the datum of each direction, (k, rank) each: see `pending_move`."""
        return namespace(self.s2).sqrt(self.s2)[:, None] * self.coupled, self.yt[:, None] * self.coupled

    @cached_property
    def loosened(self) -> Spectral | None:
        """The same eigenvectors with `delta` on the noisy rows, and that of exact rows `pending`; None where there is no such form."""
        return None if self.given is None else loosened(self, *self.given[1:])

    @cached_property
    def widened(self) -> Spectral | None:
        """The Gram matrix with `delta` on its diagonal: a problem that contains the exact one whatever rounding did to G.

        None in feature form, and for a widened problem itself.
        """
        if self.given is None:
            return None
        G, y, exact = self.given
        if exact is None and self.loosened is not None:
            return self.loosened
        G = G + namespace(G).diag(self.delta)
        return replace(Spectral.from_gram(G, y, exact=exact, rank_tol=0.0), given=None)

    @classmethod
    def from_features(cls, Phi: Array, y: Array, *, exact: Any = None, rank_tol: float | None = None) -> Spectral:
        """The spectral object of a feature matrix Phi (n, d) and data y (n,).

        exact: as in `from_gram`; those rows are eliminated by theta = theta_p + N zeta.
        rank_tol: singular values up to rank_tol * eps_machine * max singular value count as zero; default max(n, d).
        """
        Phi, y = together(Phi, y)
        Phi, y = sized(as_float(Phi, "Phi", ndim=2), "Phi"), sized(as_float(y, "y", ndim=1), "y")
        rank_tol = None if rank_tol is None else nonnegative(rank_tol, "rank_tol")
        xp = namespace(Phi, y)
        if Phi.shape[0] == 0 or Phi.shape[1] == 0:
            raise InputError(f"Phi has shape {tuple(Phi.shape)}: there is nothing to recover from")
        if Phi.shape[0] != len(y):
            raise InputError(f"Phi has {Phi.shape[0]} rows and y has {len(y)}")
        eps = machine_eps(Phi)
        tol = float(max(Phi.shape)) if rank_tol is None else rank_tol
        rows, Phi, y = eliminate_features(Phi, y, row_mask(exact, len(y)), tol)
        scale = rows.schur_scale if rows else 0.0
        U, s, Wt = xp.linalg.svd(Phi, full_matrices=False)
        cut = tol * eps * max(float(s.max()) if len(s) else 0.0, scale)
        keep = s > cut
        U, s, Wt = U[:, keep], s[keep], Wt[keep]
        z = U.T @ y
        rest = y - U @ z  # the explicit residual: |y|^2 - |z|^2 would lose half the digits near zero
        return cls(s * s, z, float(rest @ rest), len(y), "features", Wt.T, rows, cut, int((~keep).sum()))

    def project(self, b: Array, kxx: Array | None = None) -> Projection:
        """The functionals to certify, in the singular basis.

        Kernel form: b (n_rows, n_points), inner products with ALL rows (exact ones included), and kxx (n_points,).
        Feature form: the representers C (n_points, d).
        """
        if self.form == "features":
            if kxx is not None:
                raise InputError("a spectral object built from features takes the representers C alone, without kxx")
            C = like(sized(as_float(b, "C", ndim=2), "C"), self.s2)
            d = self.exact.width if self.exact else self.basis.shape[0]
            if C.shape[1] != d:
                raise InputError(f"C has shape {tuple(C.shape)}; the features have {d} columns")
            shift, whole2 = C.sum(1) * 0, (C * C).sum(1)
            if self.exact:
                shift, C = self.exact.reduce_features(C)
            ct = C @ self.basis
            null = C - ct @ self.basis.T
            c02 = (null * null).sum(1)
            # What is left of a functional inside the row space is the rounding of its own projection: no null-space part.
            unseen = c02 > (16 * machine_eps(C)) ** 2 * (C * C).sum(1)
            full = self.basis.shape[0] == self.basis.shape[1]
            c02 = c02 * 0 if full else namespace(C).where(unseen, c02, c02 * 0)
            return Projection(self, ct, c02, shift, C, (C * C).sum(1), whole2=whole2)
        if kxx is None:
            raise InputError("a spectral object built from a Gram matrix needs project(b, kxx)")
        xp = namespace(self.s2)
        B, k = (like(sized(as_float(v, what, ndim=d), what), self.s2) for v, what, d in ((b, "b", 2), (kxx, "kxx", 1)))
        rows = self.n + (self.exact.count if self.exact else 0)
        if B.shape[0] != rows or B.shape[1] != len(k):
            raise InputError(f"b has shape {tuple(B.shape)} and kxx {tuple(k.shape)}; b must be ({rows}, len(kxx))")
        if len(k) and float(k.min()) < 0:
            raise InputError(
                f"kxx has the negative value {float(k.min()):.3g} at point {int(k.argmin())}; it is a squared norm"
            )
        shift, whole, source, given = k * 0, xp.clip(k, tiny(k), None), None, (B, k)
        if self.exact:
            shift, B, k, source = self.exact.reduce_gram(B, k)
        ct = (B.T @ self.basis) / xp.sqrt(self.s2)
        left = k - (ct * ct).sum(1)
        # Rounding makes this slightly negative for functionals the rows determine; more than that is a wrong b or kxx.
        if bool((left < -1e-3 * whole).any()):
            worst = int((left / whole).argmin())
            raise ProductsError(worst, float(1 - left[worst] / whole[worst]), float(given[1][worst]))
        floor = (rows + 16) * machine_eps(k) * whole
        return Projection(self, ct, xp.clip(left, 0, None), shift, source, xp.clip(k, 0, None), floor, given, given[1])

    @property
    def ynorm(self) -> float:
        """Norm of the noisy data after the exact rows are accounted for."""
        return float(np.sqrt(self.y02 + float(self.yt @ self.yt)))

    @property
    def best_misfit(self) -> float:
        """The smallest achievable |Lam u - y|: below it no element is consistent."""
        return float(np.sqrt(self.y02))

    def damping(self, mu: Numbers) -> Array:
        """f_j(mu), shape mu.shape + (k,); mu = 0 and mu = inf are allowed."""
        xp, mus = namespace(self.s2), multipliers(mu, self.s2)
        if bool((mus > self.largest).any()):
            mus = xp.where(xp.isinf(mus), mus, xp.clip(mus, None, self.largest))
        return 1 / (1 + mus[..., None] * self.s2)

    @cached_property
    def largest(self) -> float:
        """The largest finite mu whose product with every squared singular value stays in the range of floating point."""
        most = float(namespace(self.s2).finfo(self.s2.dtype).max) / 4
        return most / max(float(self.s2.max()) if len(self.s2) else 1.0, 1.0)

    def q(self, mu: Numbers) -> Array:
        """y^T (I + mu G)^-1 y, shape of mu."""
        return self.y02 + self.damping(mu) @ (self.yt * self.yt)

    def misfit(self, mu: Numbers) -> Array:
        """|Lam u_mu - y| of the ridge solution at nugget 1/mu, shape of mu; decreasing in mu."""
        f = self.damping(mu)
        return namespace(f).sqrt(self.y02 + (f * f) @ (self.yt * self.yt))

    def norm(self, mu: Numbers) -> Array:
        """RKHS norm of the ridge solution, exact rows included, shape of mu; increasing in mu."""
        g = gain(multipliers(mu, self.s2)[..., None] * self.s2)
        return namespace(g).sqrt(self.exact_norm2 + (g * g) @ (self.yt * self.yt / self.s2))

    @property
    def exact_norm2(self) -> float:
        """Squared norm of the min-norm interpolant of the exact rows; 0 without exact rows."""
        return self.exact.norm2 if self.exact else 0.0


def _size_and_skew(G: Array) -> tuple[float, float]:
    """(largest |G|, largest |G - G^T|) of a square matrix, by blocks of rows: no copy of a large matrix is made."""
    xp, size, skew = namespace(G), 0.0, 0.0
    for start in range(0, len(G), SYMMETRY_ROWS):
        rows = slice(start, start + SYMMETRY_ROWS)
        size = max(size, float(xp.abs(G[rows]).max()))
        skew = max(skew, float(xp.abs(G[rows] - G[:, rows].T).max()))
    return size, skew

"""Functionals in the singular basis of the observations, and their posterior moments as functions of the nugget."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from orledger.recovery._array import (
    ENTRY_UNITS,
    Array,
    Index,
    Numbers,
    divisor,
    gain,
    machine_eps,
    multipliers,
    namespace,
)
from orledger.recovery.dominating import reweighted
from orledger.recovery.errors import InputError, ProductsError
from orledger.recovery.kinds import require

if TYPE_CHECKING:
    from orledger.recovery.spectral import Spectral


class Moments(NamedTuple):
    """Posterior variance V, mean m, power function pf and weight norm wn, each with one value per point."""

    V: Array
    m: Array
    pf: Array
    wn: Array


@dataclass(frozen=True)
class Projection:
    """Functionals c: coefficients ct (points, k), squared null-space part c02 (points,), value of u_E shift (points,).

    source: what is needed to write an element down again: the reduced representers (points, d) in feature form, the
    whitened inner products with the exact rows (points, rank) in kernel form with exact rows, else None.
    norm2: |c|^2 (points,) after the exact rows are conditioned on, without them the prior variance k(x, x); the parts above add
    up to it only within rounding. whole2: |c|^2 before exact rows were conditioned on.
    c02_floor: below this a null-space part c02 is rounding of |c|^2 itself (0 in feature form, where it is computed apart).
    rows: the inner products (n_rows, points) and squared norms (points,) as given, kernel form only.
    """

    spec: Spectral
    ct: Array
    c02: Array
    shift: Array
    source: Array | None
    norm2: Array
    c02_floor: Array | float = 0.0
    rows: tuple[Array, Array] | None = None
    whole2: Array | None = None

    def __len__(self) -> int:
        return int(self.ct.shape[0])

    def __getitem__(self, index: Index) -> Projection:
        """The functionals at `index` (slice, mask or integer array)."""
        if self.ct[index].ndim != 2:
            raise InputError(f"index = {index!r:.60}; a slice, a mask or an array of integers is needed")
        source, whole2 = (None if v is None else v[index] for v in (self.source, self.whole2))
        floor = self.c02_floor if isinstance(self.c02_floor, float) else self.c02_floor[index]
        rows = None if self.rows is None else (self.rows[0][:, index], self.rows[1][index])
        return Projection(
            self.spec,
            self.ct[index],
            self.c02[index],
            self.shift[index],
            source,
            self.norm2[index],
            floor,
            rows,
            whole2,
        )

    def widened(self, index: Array) -> Projection:
        """The functionals at `index` in the problem that dominates this one, its squared norms a little larger as well."""
        if self.spec.widened is not None and self.spec.widened is self.spec.loosened:
            return self.loosened(index)
        if len(index) == len(self):
            return self._wide[index]
        try:
            return self[index]._wide
        except ProductsError as wrong:  # which counts the points at `index`
            raise ProductsError(int(index[wrong.point]), wrong.share, wrong.kxx, hidden=True) from None

    def loosened(self, index: Array) -> Projection:
        """The same in the problem with these eigenvectors, whose exact rows are as they were (`Spectral.loosened`)."""
        return self._loose[index] if len(index) == len(self) else self[index]._loose

    @cached_property
    def _loose(self) -> Projection:
        if self.spec.loosened is None:
            raise InputError("this problem has no widened form in the same eigenvectors")
        return reweighted(self, self.spec.loosened)

    @cached_property
    def _wide(self) -> Projection:
        b, kxx = self.entered
        if self.spec.widened is None:
            raise InputError("a widened problem has no further widened form")
        try:
            return self.spec.widened.project(b, kxx * (1 + 4 * ENTRY_UNITS * machine_eps(kxx)))
        except ProductsError as wrong:
            raise ProductsError(wrong.point, wrong.share, float(kxx[wrong.point]), hidden=True) from None

    @cached_property
    def lost_part(self) -> Array:
        """Inner products (dropped, points) with the directions of noisy rows that were left out. Kernel form only."""
        if self.spec.lost is None:
            raise InputError("no direction was left out")
        b, rows = self.entered[0], self.spec.exact
        if rows is not None and self.source is not None:
            b = b[~rows.mask] - rows.coupling @ self.source.T
        return self.spec.lost[1].T @ b

    @cached_property
    def lost_size(self) -> Array:
        """The norm (points,) of those inner products; zero where no direction was left out."""
        if self.spec.lost is None:
            return self.c02 * 0
        part = self.lost_part
        return (part * part).sum(0) ** 0.5

    @property
    def entered(self) -> tuple[Array, Array]:
        """`rows`, which only functionals of a Gram matrix have."""
        if self.rows is None:
            raise InputError("only functionals of a Gram matrix have inner products with its rows and a widened form")
        return self.rows

    @property
    def null_share(self) -> Array:
        """|(I - W W^T) c|^2 / |c|^2, the share of each functional that the data cannot see; 0 for a zero functional."""
        return self.c02 / divisor(self.norm2)

    def V(self, mu: Numbers) -> Array:
        """Posterior variance at nugget 1/mu: (points,) for a number, (points, M) for M values; any mu in [0, inf]."""
        f = self.spec.damping(multipliers(mu, self.ct, axes=1))
        return _fit(self.c02, f) + (self.ct * self.ct) @ f.T

    def m(self, mu: Numbers) -> Array:
        """Posterior mean at nugget 1/mu, exact rows included; shapes as in V."""
        weights = self._mean_weights(mu)
        return _fit(self.shift, weights) + self.ct @ weights.T

    def pf(self, mu: Numbers) -> Array:
        """|phi_x - Lam^* w_mu(x)|, the generalised power function; shapes as in V."""
        f = self.spec.damping(multipliers(mu, self.ct, axes=1))
        return namespace(f).sqrt(_fit(self.c02, f) + (self.ct * self.ct) @ (f * f).T)

    def wn(self, mu: Numbers) -> Array:
        """|w_mu(x)|, the noise amplification; shapes as in V."""
        g = self._gain(mu)
        return namespace(g).sqrt((self.ct * self.ct) @ (g * g / self.spec.s2).T)

    def at(self, mu: Numbers) -> Moments:
        """The four moments at one mu per point: mu (points,) -> Moments of (points,) arrays; any mu in [0, inf]."""
        mu = multipliers(mu, self.ct, axes=1)
        if tuple(mu.shape) not in ((), (1,), (len(self),)):
            raise InputError(f"mu has {mu.shape[0]} values for {len(self)} functionals; one each is needed")
        xp, f, g = namespace(self.ct), self.spec.damping(mu), self._gain(mu)
        c2 = self.ct * self.ct
        pf2, wn2 = self.c02 + (c2 * f * f).sum(1), (c2 * g * g / self.spec.s2).sum(1)
        m = self.shift + (self.ct * g) @ (self.spec.yt / xp.sqrt(self.spec.s2))
        return Moments(self.c02 + (c2 * f).sum(1), m, xp.sqrt(pf2), xp.sqrt(wn2))

    def _gain(self, mu: Numbers) -> Array:
        return gain(multipliers(mu, self.ct, axes=1)[..., None] * self.spec.s2)

    def _mean_weights(self, mu: Numbers) -> Array:
        return self._gain(mu) * (self.spec.yt / namespace(self.ct).sqrt(self.spec.s2))


def _fit(column: Array, f: Array) -> Array:
    """`column` (points,) shaped to add to (points,) or (points, M), depending on whether f is (k,) or (M, k)."""
    return column if f.ndim == 1 else column[:, None]


def of(spec: Spectral, proj: Projection) -> Projection:
    """`proj`, whose functionals `spec` has projected: in the basis of other observations they are other functionals."""
    require(spec, "Spectral")
    require(proj, "Projection")
    if proj.spec is not spec:
        raise InputError(
            "the points were projected by another Spectral than the one given", hint="project them with this one"
        )
    return proj

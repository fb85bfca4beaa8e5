"""ConformalRadius: the model-ball radius calibrated on held-out responses, at a level that is reported, not assumed.

Theorem 3. Bands are nested in kappa, so y_i lies in band_i(kappa) exactly when its score s_i <= kappa. With exact scores
there is no kappa grid to saturate: a score is infinite only when no ball of any size covers the response, and only then
is the additive floor needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery._array import Array, as_float, machine_eps, namespace, nonnegative, number, sized, to_numpy
from orledger.recovery.errors import InputError
from orledger.recovery.interval import Interval, local_interval
from orledger.recovery.occam import Occam, occam
from orledger.recovery.projection import of
from orledger.recovery.scores import covering_radius

if TYPE_CHECKING:
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral

KAPPA_GRID = (1.1, 1.3, 1.7, 2.5, 4.0, 6.0, 10.0, 20.0, 40.0)
"""A usual search grid."""

KAPPA_CAP = 40.0
"""Beyond this inflation the band stops growing and the additive floor takes over (the end of the usual grid).
The two stages together are one nested family of bands, so the level holds whichever stage ends the search."""


@dataclass(frozen=True)
class ConformalRadius:
    """kappa_star: the calibrated inflation (inf when truly saturated); kappa: the finite inflation to build bands with.

    scores (n_c,): exact ratios covering radius / rho_oc ("exact"), or the first covering grid value, inf if none ("grid").
    order: the order statistic used (1-based); level: order / (n_c + 1), the level achieved; requested: what was asked for.
    saturated: the search ended without covering (exact: no ball covers; grid: the last value does not).
    q_add: additive floor to add to each half-width; floor_used: whether it is part of the delivered band.
    anchor: the radius that kappa multiplies. `band` puts all of it together.
    """

    kappa_star: float
    kappa: float
    scores: np.ndarray
    order: int
    level: float
    requested: float | None
    saturated: bool
    q_add: float
    floor_used: bool
    method: str
    anchor: float

    def band(
        self, spec: Spectral, proj: Projection, eta: float, *, occ: Occam | None = None, share: float = 1.0
    ) -> Interval:
        """The calibrated intervals at the functionals `proj`: what a response with a score of at most kappa_star lies in.

        Score and edge are computed on different ways and round apart, so edges are moved outwards by the allowance of the
        interval (`share` of it), besides q_add: under ties it matters on which side of an edge a response falls.
        """
        share = number(share, "share", low=0.0, high=1.0)
        band = _with_scored(local_interval(spec, proj, self.kappa * self.anchor, eta, occ=occ), spec, proj, eta)
        xp = namespace(band.mid)
        size = xp.abs(band.lower) + xp.abs(band.upper) + self.q_add
        pad = self.q_add + share * (band.delta_num + 8 * machine_eps(band.mid) * size)
        return replace(band, lower=band.lower - pad, upper=band.upper + pad, half=band.half + pad)


def conformal_radius(
    spec: Spectral,
    proj_cal: Projection,
    y_cal: Array,
    eta: float,
    rho_oc: float | None = None,
    level: float | int | None = None,
    method: str = "exact",
    grid: tuple[float, ...] = KAPPA_GRID,
    *,
    floor: str = "auto",
    kappa_cap: float = KAPPA_CAP,
) -> ConformalRadius:
    """The inflation kappa of rho = kappa rho_oc that covers calibration responses y_cal (n_c,) at functionals proj_cal.

    rho_oc: the Occam radius of the fit data (computed when None). level: None for the maximum, a fraction for the order
    statistic ceil(level (n_c + 1)), or the 1-based order statistic itself. A fraction that n_c cannot reach gives the
    maximum, and `level` says what that achieves. floor: "auto" adds q_add only when kappa stops short, "always" adds it
    anyway, "never" to look at the pure interval (no guarantee once saturated).
    """
    y, proj_cal = to_numpy(sized(as_float(y_cal, "y_cal", ndim=1), "y_cal")), of(spec, proj_cal)
    n = len(y)
    if n == 0 or n != len(proj_cal):
        raise InputError(
            f"y_cal has {n} responses for {len(proj_cal)} calibration functionals; both need the same n >= 1"
        )
    if not isinstance(floor, str) or floor not in ("auto", "always", "never"):
        raise InputError(f"floor = {floor!r}; use 'auto', 'always' or 'never'")
    occ = occam(spec, eta).require()
    anchor = occ.rho if rho_oc is None else nonnegative(rho_oc, "rho_oc")
    if not anchor > 0:
        raise InputError(
            f"the Occam radius is {anchor}: the data lie within eta of zero, so no multiple of it can be calibrated",
            hint="use covering_radius and calibrate the radius itself",
        )
    if anchor < occ.rho * (1 - 1e-12):
        raise InputError(f"rho_oc = {anchor} is below the Occam radius {occ.rho} of these data")
    order, requested = _order(level, n)
    if not isinstance(method, str) or method not in ("exact", "grid"):
        raise InputError(f"method = {method!r}; known methods are 'exact' and 'grid'")
    if method == "exact":
        rho = to_numpy(covering_radius(spec, proj_cal, y_cal, eta, occ=occ))
        scores = np.maximum(rho / anchor, 1.0)
        cap = number(kappa_cap, "kappa_cap", low=1.0, infinite=True)
    else:
        steps = to_numpy(as_float(grid, "grid", ndim=1))
        if len(steps) == 0 or steps.min() < 1:
            raise InputError(f"grid = {tuple(grid)}; inflations of at least 1 are needed, and at least one of them")
        scores, cap = _grid_scores(spec, proj_cal, y, anchor, occ, steps), float(steps.max())
    kappa_star = float(np.sort(scores)[order - 1])
    kappa = min(kappa_star, cap)
    if np.isinf(kappa):
        raise InputError(
            f"kappa_cap = {cap}, and no ball covers the response of rank {order}",
            hint="give a finite kappa_cap: beyond it the additive floor takes over",
        )
    wanted = floor == "always" or (floor == "auto" and kappa < kappa_star)
    q_add = float(np.sort(_excess(spec, proj_cal, y, kappa * anchor, occ))[order - 1]) if wanted else 0.0
    found = ConformalRadius(
        kappa_star, kappa, scores, order, order / (n + 1), requested, bool(np.isinf(kappa_star)), q_add, wanted, method, anchor
    )  # fmt: skip
    return found if floor == "never" else _rounded_outwards(found, spec, proj_cal, y, occ)


def _with_scored(band: Interval, spec: Spectral, proj: Projection, eta: float) -> Interval:
    """The same intervals; those that a Gram matrix does not resolve reach to the edges of the matrix itself, which the scores are made of.

    The edges of the problem that contains the exact one may lie inside those, where dropped directions left them too wide.
    """
    lost = np.flatnonzero(~to_numpy(band.resolved))
    if spec.given is None or len(lost) == 0:
        return band
    bare = replace(spec, given=None)
    own = local_interval(bare, replace(proj[lost], spec=bare), band.rho, eta, occ=occam(spec, eta))
    xp = namespace(band.mid)
    fields = {name: getattr(band, name) * 1 for name in ("lower", "upper", "mid", "half", "delta_num")}
    lower, upper = xp.minimum(band.lower[lost], own.lower), xp.maximum(band.upper[lost], own.upper)
    delta = xp.maximum(band.delta_num[lost], own.delta_num)
    values = (lower, upper, (lower + upper) / 2, (upper - lower) / 2, delta)
    for name, value in zip(fields, values, strict=True):
        fields[name][lost] = value
    return replace(band, **fields)


def _rounded_outwards(
    found: ConformalRadius, spec: Spectral, proj: Projection, y: np.ndarray, occ: Occam
) -> ConformalRadius:
    """The same radius, with q_add raised until its band holds every response that it claims, by half its own allowance.

    Nearly always nothing is left to do. The other half of the allowance is for a later response at the same place, whose band
    may be computed in another batch and round differently.
    """
    if found.kappa == found.kappa_star:
        claimed = found.scores <= found.kappa_star
    else:
        excess = _excess(spec, proj, y, found.kappa * found.anchor, occ)
        claimed = excess <= np.sort(excess)[found.order - 1]
    rows = np.flatnonzero(claimed)
    band = found.band(spec, proj[rows], occ.eta, occ=occ, share=0.5)
    short = np.maximum(to_numpy(band.lower) - y[rows], y[rows] - to_numpy(band.upper)).max()
    return replace(found, q_add=found.q_add + 2 * float(short)) if short > 0 else found


def _order(level: float | int | None, n: int) -> tuple[int, float | None]:
    if level is None:
        return n, None
    if isinstance(level, (int, np.integer)) and not isinstance(level, (bool, np.timedelta64)):
        if not 1 <= level <= n:
            raise InputError(f"order statistic {level} does not exist among {n} scores")
        return int(level), None
    if not isinstance(level, Real) or not 0 < level < 1:
        raise InputError(f"level = {level!r}; a fraction in (0, 1) or an order statistic 1..{n} is needed")
    return max(min(n, ceil(float(level) * (n + 1) - 1e-9)), 1), float(level)


def _excess(spec: Spectral, proj: Projection, y: np.ndarray, rho: float, occ: Occam) -> np.ndarray:
    """(|y - mid| - half)_+ of every calibration response at radius rho."""
    band = local_interval(spec, proj, rho, occ.eta, occ=occ)
    return np.maximum(np.abs(y - to_numpy(band.mid)) - to_numpy(band.half), 0.0)


def _grid_scores(
    spec: Spectral, proj: Projection, y: np.ndarray, anchor: float, occ: Occam, grid: np.ndarray
) -> np.ndarray:
    """The first grid kappa whose band contains each response; inf when none does."""
    scores = np.full(len(y), np.inf)
    for kappa in np.sort(grid)[::-1]:
        band = local_interval(spec, proj, kappa * anchor, occ.eta, occ=occ)
        scores[(to_numpy(band.lower) <= y) & (y <= to_numpy(band.upper))] = kappa
    return scores

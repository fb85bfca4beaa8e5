"""Parameter-choice rules over one grid of data-fit weights: what each selects, from the outputs of the solves.

Morozov and the oracle read the solves themselves; ML-II and GCV read each solve's final linearisation at the nugget whose
residual norm equals the solve's misfit; the L-curve reads (log misfit, log norm) over the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery import CORNERS, EmptySetError, gcv, log_marginal, matched_mu
from orledger.recovery import lcurve_corner as corner_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.recovery import Spectral
    from orledger.runners.case_a.linearisation import Rows
    from orledger.runners.case_a.problem import Data
    from orledger.runners.case_a.solver import Solves

ML2_SCALES = ("unit", "profiled")


@dataclass(frozen=True)
class Criteria:
    """Per weight, NaN where there is none: misfit-matched nugget, GCV there, and -log marginal likelihood at both scales.

    reasons: position -> why a solve has no criteria.
    """

    nugget: np.ndarray
    gcv: np.ndarray
    ml2: dict[str, np.ndarray]
    reasons: dict[int, str]


def criteria(solves: Solves, data: Data, rows: Rows) -> Criteria:
    """The spectral criteria of every usable solve, each on its own final linearisation."""
    absent = np.full(len(solves.lam2), np.nan)
    found = Criteria(absent.copy(), absent.copy(), {scale: absent.copy() for scale in ML2_SCALES}, {})
    for i in solves.ok:
        spec = rows.at(solves.u[i], data.values).spectral()
        mu, reason = matched(spec, solves.misfit[i])
        if mu is None:
            found.reasons[int(i)] = reason
            continue
        found.nugget[i] = 1 / mu
        found.gcv[i] = float(gcv(spec, np.array(mu)))
        for scale in ML2_SCALES:
            found.ml2[scale][i] = float(log_marginal(spec, np.array(mu), scale))
    return found


def matched(spec: Spectral, misfit: float) -> tuple[float | None, str]:
    """(mu, "") with 1/mu the nugget whose residual norm is ``misfit``, or (None, why there is no positive finite one)."""
    try:
        mu = float(matched_mu(spec, np.array([misfit]))[0])
    except EmptySetError as error:
        return None, error.message
    if mu == 0:
        return None, f"misfit {misfit:.6g} is at or above the norm of the data {spec.ynorm:.6g}: no nugget reaches it"
    if np.isinf(mu):
        return None, f"misfit {misfit:.6g} is the best achievable one: the matched nugget is zero"
    return mu, ""


@dataclass(frozen=True)
class Choice:
    """What a rule selected: position in the weight grid, or None with a reason; label None is the declared default."""

    rule: str
    label: str | None
    index: int | None
    reason: str = ""


def morozov(solves: Solves, eta: float) -> int | None:
    """Position of the misfit closest to eta (which at eta = 0 is the smallest misfit); None when no solve is usable."""
    return _first_smallest(np.abs(solves.misfit - eta), solves.ok)


def choices(
    solves: Solves, found: Criteria, eta: float, *, ml2_scale: str, lcurve_corner: str, lcurve_scale: str
) -> Iterator[Choice]:
    """The selection of every rule, first the default, then every named variant of ML-II and of the L-curve."""
    ok = solves.ok
    yield Choice("released", None, 0 if 0 in ok else None, "the solve at the released weight failed")
    yield Choice("morozov", None, morozov(solves, eta), "no usable solve")
    yield Choice("oracle", None, _first_smallest(solves.rmse, ok), "no usable solve")
    usable = np.flatnonzero(np.isfinite(found.nugget))
    none = "no solve has a misfit-matched nugget"
    yield Choice("gcv", None, _first_smallest(found.gcv, usable), none)
    picks = {scale: _first_smallest(values, usable) for scale, values in found.ml2.items()}
    yield Choice("ml2", None, picks[ml2_scale], none)
    for scale, index in picks.items():
        yield Choice("ml2", scale, index, none)
    corners = {name: _corner(solves, name, lcurve_scale) for name in CORNERS}
    few = "fewer than three usable solves with positive misfit and norm"
    yield Choice("lcurve", None, corners[lcurve_corner], few)
    for name, index in corners.items():
        yield Choice("lcurve", name, index, few)


def _corner(solves: Solves, variant: str, scale: str) -> int | None:
    ok = [i for i in solves.ok if solves.misfit[i] > 0 and solves.norm[i] > 0]
    if len(ok) < 3:
        return None
    return int(ok[corner_of(solves.misfit[ok], solves.norm[ok], variant, scale=scale)])


def _first_smallest(values: np.ndarray, allowed: np.ndarray) -> int | None:
    """The first position among ``allowed`` with the smallest value: a tie goes to the larger data-fit weight."""
    return int(allowed[np.argmin(values[allowed])]) if len(allowed) else None

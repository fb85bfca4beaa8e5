"""The function's certificate: worst-case intervals over the model ball and the noise ball, and a ball found by validation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery.conformal import conformal_radius
from orledger.recovery.errors import InputError
from orledger.recovery.interval import local_interval
from orledger.recovery.regression.errors import ParameterError
from orledger.recovery.regression.factor import row_blocks
from orledger.recovery.regression.model import fit_model

if TYPE_CHECKING:
    from orledger.recovery.projection import Projection
    from orledger.recovery.regression.head import Head
    from orledger.recovery.regression.model import CertifiedModel, Settings

FADED = 1e-40
"""Features below this are zero to every digit of the certificate."""

HELD_OUT = 0.25
"""Share of the rows on which radius = "validation" finds the inflation."""


def function_intervals(model: CertifiedModel, X: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Edges (n, 2, q) of what every theta with |theta| <= radius and misfit <= eta allows at rows X, rounding allowed for."""
    out = np.empty((len(X), 2, len(model.heads)))
    for head in model.heads:
        if head.occ.require().rho == 0:
            raise InputError(
                f"the targets lie within eta = {head.eta:.6g} of their mean, so the Occam radius is 0 and has no multiple",
                hint="report the constant predictor's own error, or state a smaller noise_std",
            )
    for rows in row_blocks(len(X), 4 * max(len(model.factor.mean), X.shape[1])):
        for j, (head, rho) in enumerate(zip(model.heads, radius, strict=True)):
            band = local_interval(head.spec, functionals(model, head, X[rows]), float(rho), head.eta, occ=head.occ)
            out[rows, 0, j] = head.y_mean + band.lower - band.delta_num
            out[rows, 1, j] = head.y_mean + band.upper + band.delta_num
    return out


def functionals(model: CertifiedModel, head: Head, X: np.ndarray) -> Projection:
    """The values at rows X as functionals of theta; what the features do not span of a row counts as seen by no data."""
    Z, unseen = model.columns(X)
    # Far from every landmark features fade to numbers whose squares are no numbers; what they said is in `unseen` by then.
    proj = head.spec.project(np.where(np.abs(Z) < FADED, 0.0, Z))
    return replace(proj, c02=proj.c02 + unseen, norm2=proj.norm2 + unseen)


def validated_inflation(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    settings: Settings,
    level: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Per output the multiple of the Occam radius whose intervals cover held-out responses at `level`, at most KAPPA_CAP.

    Responses carry noise that the function does not, so the ball errs on the large side.
    """
    if len(X) < 2:
        raise ParameterError(f"radius = 'validation' holds rows out; {len(X)} row of positive weight is too few")
    held = max(round(HELD_OUT * len(X)), 1)
    order = rng.permutation(len(X))
    rest, out = order[held:], order[:held]
    model = fit_model(X[rest], y[rest], None if weight is None else weight[rest], settings, rng)
    found = np.ones(len(model.heads))
    for j, head in enumerate(model.heads):
        if not head.occ.refused and head.occ.rho > 0:
            proj = functionals(model, head, X[out])
            found[j] = conformal_radius(
                head.spec, proj, y[out, j] - head.y_mean, head.eta, level=level, floor="never"
            ).kappa
    return found

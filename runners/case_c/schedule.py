"""A width whose shape, not whose scale, is scheduled: built so that the margin condition of the proposition cannot hold.

The certified radius c is nearly flat far from the data, and a flat width cannot move a choice however it is scaled. The
scheduled width adds the distance of a candidate to its nearest observation, the hybrid term the paper names but does not
run:

    w(x) = c(x) + tau h(x),    h = nearest-observation distance, scaled to [0, 1] over the candidates.

``tau`` is the first value of ``start mean(c) growth^k``, k = 0, 1, ..., at which the condition at kappa = 1 for the smallest
scaling of the ladder is broken ``margin`` times over: (kappa' - 1) osc(w) >= margin gap(m - w). The condition is only
sufficient, and just past it most choices still stay; the default margin is where the paper saw most of them move. For
large tau both sides are proportional to tau and a runner-up gap is at most the oscillation, so the last rung breaks the
condition at least once whenever two candidates lie at different distances. The schedule stays as close to the certified
floor as its margin allows, and w >= c keeps it valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.recovery.invariance import kappa_invariance
from orledger.runners.case_c.ladder import KAPPAS, Ladder, climb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# After this many rungs the distance term outweighs all others, and a larger amplitude changes nothing.
MOST_RUNGS = 30


@dataclass(frozen=True)
class AmplitudeSearch:
    """Where the amplitude search starts, as a fraction of the mean certified width, the factor between its rungs, and how
    many times over the margin condition is to be broken.
    """

    start: float
    growth: float
    margin: float

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> AmplitudeSearch:
        """The schedule named by the settings ``shape_start``, ``shape_growth`` and ``shape_margin``."""
        return cls(settings["shape_start"], settings["shape_growth"], settings["shape_margin"])


@dataclass(frozen=True)
class ShapeWidth:
    """The scheduled width (m,), the amplitude tau of its distance term, and the kappa ladder of that width."""

    width: np.ndarray
    tau: float
    ladder: Ladder


def shape_width(
    mean: np.ndarray, radius: np.ndarray, nearest: np.ndarray, index: np.ndarray, schedule: AmplitudeSearch
) -> ShapeWidth:
    """The scheduled width for posterior means, certified radii and nearest-observation distances, all of shape (m,)."""
    span = float(nearest.max() - nearest.min())
    h = (nearest - nearest.min()) / span if span > 0 else np.zeros_like(nearest)
    # A certified width of zero (data within the noise) has no scale of its own; the spread of the mean stands in.
    tau = schedule.start * (float(radius.mean()) or float(np.ptp(mean)) or 1.0)
    low, high = (float(kappa) for kappa in KAPPAS[:2])
    for _ in range(MOST_RUNGS):
        width = radius + tau * h
        found = kappa_invariance(mean, width, low, high)
        if (high - low) * float(found.osc) >= schedule.margin * float(found.gap[0]):
            break
        tau *= schedule.growth
    return ShapeWidth(width, tau, climb(mean, width, index))

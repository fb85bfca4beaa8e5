"""The kappa ladder at one step: minimisers and runner-up gaps of m - kappa c, and the invariance criteria per pair."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from orledger.recovery.invariance import kappa_invariance

if TYPE_CHECKING:
    import numpy as np

KAPPAS = (1, 2, 5)
PAIRS = tuple(combinations(KAPPAS, 2))
CRITERIA = ("osc", "sharp")
ANCHORS = ("low", "high")


@dataclass(frozen=True)
class Ladder:
    """Per kappa ("1"): gap, argmin, tie. Per pair ("1-2"): same. Per pair, criterion and anchor: fires, and ratio unless tied."""

    gap: dict[str, float]
    argmin: dict[str, int]
    tie: dict[str, bool]
    same: dict[str, bool]
    fires: dict[str, bool]
    ratio: dict[str, float]


def climb(mean: np.ndarray, width: np.ndarray, index: np.ndarray) -> Ladder:
    """The ladder of ``mean - kappa width`` over candidates whose indices in the cloud are ``index``; all of shape (m,)."""
    out = Ladder({}, {}, {}, {}, {}, {})
    for low, high in PAIRS:
        found = kappa_invariance(mean, width, float(low), float(high))
        out.same[f"{low}-{high}"] = bool(found.coincided)
        for side, (anchor, kappa) in enumerate(zip(ANCHORS, (low, high), strict=True)):
            tie = bool(found.tie[side])
            out.gap[str(kappa)] = float(found.gap[side])
            out.argmin[str(kappa)] = int(index[found.chosen[side]])
            out.tie[str(kappa)] = tie
            for criterion, fires, ratio in (
                ("osc", found.fires, found.ratio),
                ("sharp", found.sharp, found.sharp_ratio),
            ):
                name = f"{low}-{high}/{criterion}/{anchor}"
                out.fires[name] = bool(fires[side])
                if not tie:
                    out.ratio[name] = float(ratio[side])
    return out

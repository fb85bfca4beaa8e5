"""How a band did: coverage, widths, and the interval score with its two parts; plus the comparisons between bands.

A band is a centre and a half-width per test point. All functions are pure and take arrays of shape (n,).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Band:
    """Centre and half-width (n,) each; the half-width of a constant band is repeated."""

    center: np.ndarray
    half: np.ndarray

    def covers(self, y: np.ndarray) -> np.ndarray:
        """Which targets (n,) lie inside, ends included."""
        return np.abs(y - self.center) <= self.half


def interval_score_parts(band: Band, y: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Width part 2w and miss part (2 / alpha) * distance outside, per point; their sum is Winkler's interval score."""
    miss = np.maximum(np.abs(y - band.center) - band.half, 0.0)
    return 2.0 * band.half, (2.0 / alpha) * miss


def summarise(band: Band, y: np.ndarray, alpha: float) -> dict[str, float]:
    """The scalar metrics of a band against targets y, under the names of the catalogue."""
    width, penalty = interval_score_parts(band, y, alpha)
    total = float((width + penalty).mean())
    out = {
        "coverage": float(band.covers(y).mean()),
        "width_median": float(np.median(band.half)),
        "width_mean": float(band.half.mean()),
        "width_max": float(band.half.max()),
        "interval_score": total,
        "is_width": float(width.mean()),
        "is_penalty": float(penalty.mean()),
        "is_median": float(np.median(width + penalty)),
        "rmse": float(np.sqrt(np.mean((y - band.center) ** 2))),
    }
    if total > 0:
        out["penalty_share"] = out["is_penalty"] / total
    return out


def shape_skill(band: Band, y: np.ndarray) -> float:
    """Coverage of the band minus the coverage of a flat band with the same centre and the same mean half-width."""
    flat = Band(band.center, np.full_like(band.half, band.half.mean()))
    return float(band.covers(y).mean() - flat.covers(y).mean())


def counterfactual(y: np.ndarray, model: np.ndarray, constant: float, q_cp: float, q_triv: float) -> dict[str, float]:
    """Coverage of the four pairings of a centre (model, constant) with a quantile (cp, triv), keyed ``model_cp`` and so on."""
    centres = {"model": model, "const": np.full_like(y, constant)}
    quantiles = {"cp": q_cp, "triv": q_triv}
    return {
        f"{c}_{q}": float((np.abs(y - centre) <= half).mean())
        for c, centre in centres.items()
        for q, half in quantiles.items()
    }


def matched_inflation(y: np.ndarray, centre: np.ndarray, q: float, coverage: float) -> float | None:
    """The smallest factor by which a constant half-width q must grow (or shrink) to cover the share ``coverage`` of y.

    It is the order statistic of |y - centre| / q at ceil(coverage * n); None when nothing is to be covered or q is 0.
    """
    rank = math.ceil(round(coverage * y.size, 9))
    if rank < 1 or q <= 0:
        return None
    return float(np.sort(np.abs(y - centre))[rank - 1] / q)

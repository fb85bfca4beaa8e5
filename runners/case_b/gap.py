"""S6: a one-dimensional regression with a hole in its design, judged in the hole, on the design and beyond it.

The truth is sin(2x) + 0.3 x^2 with equally spaced points on [-3, -1] and [1, 3]; a seed redraws the noise and the
split into fit and calibration points. Nets are trained on standardised inputs and targets; every recorded length is in
the units of the truth. The scale modes evaluate the same nets: ``frozen`` keeps the embedding's range of the training
rows, ``train`` rescales each evaluated set by its own range, as the released code does in train mode, and ``mixed`` sets
the OR head on the frozen range beside baselines on their own, as the paper seems to have done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.runners.case_b.arms import conformal_arms, fit_side, or_head, record_head
from orledger.runners.case_b.bands import network_band
from orledger.runners.case_b.names import REGIONS
from orledger.runners.case_b.problem import SplitRows
from orledger.runners.case_b.scores import Band, interval_score_parts
from orledger.runners.case_b.splits import order_statistic
from orledger.runners.records import CellResult
from orledger.runners.seeds import generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.runners.case_b.nets import Fitted

ARMS = ("dak", "cp", "ncp", "triv", "or1", "or1_int")


def truth(x: np.ndarray) -> np.ndarray:
    """The noiseless target."""
    return np.sin(2 * x) + 0.3 * x**2


def evaluation_grid(points: int) -> np.ndarray:
    """Equally spaced points on [-4, 4]."""
    return np.linspace(-4.0, 4.0, points)


def regions(x: np.ndarray) -> dict[str, np.ndarray]:
    """Masks of the design gap |x| < 1, the design's own range 1 <= |x| <= 3, and the extrapolation |x| > 3."""
    size = np.abs(x)
    return dict(zip(REGIONS, (size < 1, (size >= 1) & (size <= 3), size > 3), strict=True))


@dataclass(frozen=True)
class GapTask:
    """The problem in standardised units, with the map back: a length times ``unit``, a value times ``unit`` plus ``offset``."""

    problem: SplitRows
    x: np.ndarray
    y: np.ndarray
    unit: float
    offset: float


def make_task(seed: int, settings: Mapping[str, Any]) -> GapTask:
    """The gap task of one seed; both scale modes share it."""
    side = np.linspace(1.0, 3.0, settings["gap_side"])
    design = np.concatenate([-side[::-1], side])
    g = generator("case_b", "gap", seed)
    y = truth(design) + settings["gap_noise"] * g.standard_normal(design.size)
    order = g.permutation(design.size)
    cal, fit = order[: settings["gap_calibration"]], order[settings["gap_calibration"] :]
    grid = evaluation_grid(settings["gap_grid"])
    offset, unit = float(y.mean()), float(y.std())

    def rows(x: np.ndarray) -> np.ndarray:
        return ((x - design.mean()) / design.std())[:, None]

    problem = SplitRows(
        x_fit=rows(design[fit]),
        y_fit=(y[fit] - offset) / unit,
        x_cal=rows(design[cal]),
        y_cal=(y[cal] - offset) / unit,
        x_test=rows(grid),
        y_test=(truth(grid) - offset) / unit,
        stream=("gap", seed),
        injected=settings["gap_noise"] / unit,
    )
    return GapTask(problem, grid, truth(grid), unit, offset)


def gap_cell(task: GapTask, nets: Mapping[str, Fitted], scale: str, settings: Mapping[str, Any]) -> CellResult:
    """All records of one gap cell, in the units of the truth."""
    out = CellResult()
    problem, own = task.problem, scale != "frozen"
    rows = (problem.x_fit, problem.x_cal, problem.x_test)
    side = fit_side(nets["fit"].net, *rows, own_scale=own)
    behind = fit_side(nets["fit"].net, *rows) if scale == "mixed" else side
    sizes = {
        "n_train": problem.y_train.size,
        "n_fit": problem.y_fit.size,
        "n_cal": problem.y_cal.size,
        "n_test": problem.y_test.size,
        "k": order_statistic(problem.y_cal.size, settings["level"]),
        "sigma_noise": side.sigma * task.unit,
    }
    for name, value in sizes.items():
        out.scalar("cell", name, value)
    out.series("truth", "x", task.x)
    out.series("truth", "y", task.y)
    bands = {"dak": network_band(*nets["dak"].net.predict(problem.x_test, own_scale=own), settings["z"])}
    bands |= {a: f.band for a, f in conformal_arms(side, problem.y_fit, problem.y_cal, settings["level"]).items()}
    head, delivered = or_head(behind, problem.y_fit, problem.y_cal, settings)
    record_head(out, behind, head, delivered, settings["cap"] * problem.y_fit.std(), unit=task.unit)
    if delivered is None:
        for arm in ("or1", "or1_int"):
            out.refuse(arm, str(head.refusal), head.occ.margin * task.unit)
    else:
        bands |= {arm: delivered.bands[arm] for arm in ("or1", "or1_int")}
    for arm in ARMS:
        if arm in bands:
            band = Band(bands[arm].center * task.unit + task.offset, bands[arm].half * task.unit)
            _record(out, arm, band, task, settings["alpha"])
    return out


def _record(out: CellResult, arm: str, band: Band, task: GapTask, alpha: float) -> None:
    width, penalty = interval_score_parts(band, task.y, alpha)
    inside = band.covers(task.y)
    for region, mask in regions(task.x).items():
        out.scalar(arm, "coverage", inside[mask].mean(), label=region)
        out.scalar(arm, "width_mean", band.half[mask].mean(), label=region)
        out.scalar(arm, "interval_score", (width + penalty)[mask].mean(), label=region)
        out.scalar(arm, "is_penalty", penalty[mask].mean(), label=region)
    out.series(arm, "center", band.center)
    out.series(arm, "half", band.half)

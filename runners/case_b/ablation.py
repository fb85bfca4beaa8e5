"""S5: four OR heads on one trained net, {clamp, drop} dead columns times {all training rows, fit rows} as conditioning rows.

The radius is calibrated on the fit rows under the same feature rule; an all-rows head uses that inflation with its own
Occam radius, which is what an implementation does that calibrates on a split and then delivers from everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.runners.case_b.arms import fit_side
from orledger.runners.case_b.head import RecoveryHead, build_head, calibrate, deliver, exposure
from orledger.runners.case_b.main import record_cell
from orledger.runners.case_b.scores import Band, interval_score_parts
from orledger.runners.records import CellResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.runners.case_b.nets import Fitted
    from orledger.runners.case_b.problem import SplitRows

BLOW_UP = 20.0
"""A mean half-width above this, on a standardised target, is a blow-up."""


def _diagnose(out: CellResult, arm: str, head: RecoveryHead, phi_test: np.ndarray) -> None:
    """What is known of a head before it delivers, and even if it refuses."""
    null_share, _ = exposure(head, head.project(phi_test))
    out.scalar(arm, "ns_max", null_share.max())
    out.scalar(arm, "nullity", head.nullity)
    out.scalar(arm, "dead_columns", head.scale.dead)
    out.scalar(arm, "margin", head.occ.margin)
    out.scalar(arm, "norm_pinv", head.pinv_norm)
    if head.spec.best_misfit > 0:
        out.scalar(arm, "misfit_ratio", head.eta / head.spec.best_misfit)


def ablation_cell(problem: SplitRows, nets: Mapping[str, Fitted], settings: Mapping[str, Any]) -> CellResult:
    """All records of one ablation cell."""
    out = CellResult()
    side = fit_side(nets["fit"].net, problem.x_fit, problem.x_cal, problem.x_test)
    record_cell(out, problem, side.sigma, settings["level"])
    y, w_obs = problem.y_test, settings["z"] * side.sigma
    phi_all = np.vstack([side.phi_fit, side.phi_cal])
    for rule in ("clamp", "drop"):
        calibrated = build_head(side.phi_fit, problem.y_fit, side.sigma, settings["dead_sd"], rule)
        radius = None
        if not calibrated.refusal:
            radius = calibrate(calibrated, side.phi_cal, problem.y_cal, settings["kappa_method"])
        heads = {
            "all": build_head(phi_all, problem.y_train, side.sigma, settings["dead_sd"], rule),
            "fit": calibrated,
        }
        for rows, head in heads.items():
            arm = f"{rule}_{rows}"
            _diagnose(out, arm, head, side.phi_test)
            if head.refusal:
                out.refuse(arm, head.refusal, head.occ.margin)
                continue
            if radius is None:
                out.refuse(arm, f"no calibrated radius: on the fit rows, {calibrated.refusal}", calibrated.occ.margin)
                continue
            found = deliver(head, side.phi_test, radius.kappa, settings).delivery
            width, penalty = interval_score_parts(
                Band(found.mid, found.half + radius.q_add + w_obs), y, settings["alpha"]
            )
            values = {
                "coverage": Band(found.mid, found.half + w_obs).covers(y).mean(),
                "width_median": np.median(found.half),
                "width_mean": found.half.mean(),
                "width_max": found.half.max(),
                "interval_score": (width + penalty).mean(),
                "blow_up": found.half.mean() > BLOW_UP,
            }
            for name, value in values.items():
                out.scalar(arm, name, float(value))
    return out

"""The conformal and OR arms around one fit-split net, and how the OR head is written down; shared by main and gap blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.runners.case_b.bands import ConformalBand, constant_conformal, normalised_conformal, split_conformal
from orledger.runners.case_b.head import Delivered, RecoveryHead, build_head, calibrate, deliver, exposure
from orledger.runners.case_b.scores import Band

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.recovery import ConformalRadius
    from orledger.runners.case_b.training import Net
    from orledger.runners.records import CellResult


@dataclass(frozen=True)
class FitSide:
    """What the fit-split net says about fit, calibration and test rows: raw features, centre and predictive sd."""

    phi_fit: np.ndarray
    phi_cal: np.ndarray
    phi_test: np.ndarray
    center_cal: np.ndarray
    sd_cal: np.ndarray
    center_test: np.ndarray
    sd_test: np.ndarray
    sigma: float


def fit_side(net: Net, x_fit: np.ndarray, x_cal: np.ndarray, x_test: np.ndarray, *, own_scale: bool = False) -> FitSide:
    """The fit-split net evaluated on all three sets of rows, with the frozen scale or each set's own."""
    center_cal, sd_cal = net.predict(x_cal, own_scale=own_scale)
    center_test, sd_test = net.predict(x_test, own_scale=own_scale)
    phi_fit, phi_cal, phi_test = (net.features(x, own_scale=own_scale) for x in (x_fit, x_cal, x_test))
    return FitSide(phi_fit, phi_cal, phi_test, center_cal, sd_cal, center_test, sd_test, net.sigma)


def conformal_arms(side: FitSide, y_fit: np.ndarray, y_cal: np.ndarray, level: float) -> dict[str, ConformalBand]:
    """cp, ncp and triv on the test rows."""
    residuals = y_cal - side.center_cal
    return {
        "cp": split_conformal(residuals, side.center_test, level),
        "ncp": normalised_conformal(residuals, side.sd_cal, side.center_test, side.sd_test, level),
        "triv": constant_conformal(y_fit, y_cal, side.center_test.size, level),
    }


@dataclass(frozen=True)
class OrHead:
    """The delivered OR head of a cell: its three bands share one centre and differ in what is added to the interval."""

    head: RecoveryHead
    radii: Mapping[str, ConformalRadius]
    chosen: str
    delivered: Delivered
    w_add: float
    w_obs: float

    @property
    def bands(self) -> dict[str, Band]:
        """or1, or1_nf and or1_int."""
        mid, half = self.delivered.delivery.mid, self.delivered.delivery.half
        return {
            "or1": Band(mid, half + self.w_add + self.w_obs),
            "or1_nf": Band(mid, half + self.w_obs),
            "or1_int": Band(mid, half),
        }


def or_head(
    side: FitSide, y_fit: np.ndarray, y_cal: np.ndarray, settings: Mapping[str, Any]
) -> tuple[RecoveryHead, OrHead | None]:
    """The head on the fit rows and, unless it refuses, what it delivers on the test rows."""
    head = build_head(side.phi_fit, y_fit, side.sigma, settings["dead_sd"])
    if head.refusal:
        return head, None
    radii = {method: calibrate(head, side.phi_cal, y_cal, method) for method in ("grid", "exact")}
    chosen = settings["kappa_method"]
    delivered = deliver(head, side.phi_test, radii[chosen].kappa, settings)
    return head, OrHead(head, radii, chosen, delivered, radii[chosen].q_add, settings["z"] * side.sigma)


def record_head(
    out: CellResult, side: FitSide, head: RecoveryHead, delivered: OrHead | None, cap: float, unit: float = 1.0
) -> None:
    """Write the scalars and per-point series of arm or1; a refused head leaves its diagnostics and no width.

    ``unit`` converts lengths from the head's units to the recorded ones; ``cap`` is in the head's units.
    """
    null_share, norm_ratio = exposure(head, head.project(side.phi_test))
    facts = {
        "eta": head.eta * unit,
        "margin": head.occ.margin * unit,
        "w_obs": None if delivered is None else delivered.w_obs * unit,
        "dead_columns": head.scale.dead,
        "nullity": head.nullity,
        "feature_norm_ratio": norm_ratio,
        "ns_max": null_share.max(),
    }
    for name, value in facts.items():
        if value is not None:
            out.scalar("or1", name, value)
    out.series("or1", "ns", null_share)
    if delivered is None:
        return
    out.scalar("or1", "rho_oc", head.occ.rho * unit)
    for method, radius in delivered.radii.items():
        label = None if method == "exact" else method
        if np.isfinite(radius.kappa_star):
            out.scalar("or1", "kappa_star", radius.kappa_star, label=label)
        out.scalar("or1", "q_add", radius.q_add * unit, label=label)
        out.scalar("or1", "saturated", radius.saturated, label=label)
    found = delivered.delivered
    half = found.delivery.half
    out.scalar("or1", "kappa", delivered.radii[delivered.chosen].kappa)
    out.scalar("or1", "w_add", delivered.w_add * unit)
    out.scalar("or1", "n_over_cap", int((half > cap).sum()))
    out.scalar("or1", "n_guard", int(found.delivery.substituted.sum()))
    out.scalar("or1", "half_over_radius_max", found.worst_ratio)
    out.series("or1", "w_int", half * unit)
    out.series("or1", "gap_rel", found.interval.gap_rel)
    out.series("or1", "guard", found.delivery.substituted)
    out.series("or1", "e_star", np.asarray(found.certificate.radius) * unit)
    reasons = sorted({s.reason for s in found.delivery.ledger})
    if reasons:
        out.fact("guard_reasons", "; ".join(reasons))

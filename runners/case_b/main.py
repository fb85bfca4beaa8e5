"""The main block: every arm on one (dataset, regime, seed, rel), from five nets per cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.runners.case_b.arms import conformal_arms, fit_side, or_head, record_head
from orledger.runners.case_b.bands import network_band
from orledger.runners.case_b.names import OR_ARMS
from orledger.runners.case_b.scores import Band, counterfactual, matched_inflation, shape_skill, summarise
from orledger.runners.case_b.severity import box_fraction, severities
from orledger.runners.case_b.splits import order_statistic
from orledger.runners.case_b.weighted import centre_conformal, likelihood_ratios, weighted_conformal
from orledger.runners.records import CellResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.runners.case_b.arms import FitSide
    from orledger.runners.case_b.nets import Fitted
    from orledger.runners.case_b.problem import SplitRows


def record_cell(out: CellResult, problem: SplitRows, sigma: float, level: float) -> None:
    """Sizes, the order statistic, the noise level and the shift of a cell, under the arm ``cell``."""
    n_cal = problem.y_cal.size
    sizes = {
        "n_train": problem.y_fit.size + n_cal,
        "n_fit": problem.y_fit.size,
        "n_cal": n_cal,
        "n_test": problem.y_test.size,
        "k": order_statistic(n_cal, level),
        "sigma_noise": sigma,
        "y_sd_ratio": problem.y_test.std() / problem.y_train.std(),
        "box_fraction": box_fraction(problem.x_train, problem.x_test),
    }
    for name, value in sizes.items():
        out.scalar("cell", name, value)
    for definition, value in severities(problem.x_train, problem.x_test).items():
        out.scalar("cell", "severity", value, label=definition)


def record_band(out: CellResult, arm: str, band: Band, y: np.ndarray, alpha: float) -> None:
    """The scalars of a band and its centre and half-width at every test point."""
    for name, value in summarise(band, y, alpha).items():
        out.scalar(arm, name, value)
    out.series(arm, "center", band.center)
    out.series(arm, "half", band.half)


def _levels(out: CellResult, arm: str, achieved: int, n_cal: int) -> None:
    out.scalar(arm, "level_achieved", achieved / (n_cal + 1))
    out.scalar(arm, "level_recorded", n_cal / (n_cal + 1))


def _extra_arms(out: CellResult, problem: SplitRows, side: FitSide, settings: Mapping[str, Any]) -> None:
    """The arms that look at the test covariates: wcp and cp_centre."""
    level, alpha, n_cal = settings["level"], settings["alpha"], problem.y_cal.size
    ratios = likelihood_ratios(
        problem.x_fit, problem.x_cal, problem.x_test, penalty=settings["wcp_penalty"], clip=settings["wcp_clip"]
    )
    if "wcp" in settings["extra_arms"]:
        band, infinite = weighted_conformal(problem.y_cal - side.center_cal, side.center_test, ratios, level)
        record_band(out, "wcp", band, problem.y_test, alpha)
        out.scalar("wcp", "n_infinite", infinite)
    if "cp_centre" in settings["extra_arms"]:
        found = centre_conformal(
            side.phi_fit,
            problem.y_fit,
            side.phi_cal,
            problem.y_cal,
            side.phi_test,
            ratios,
            ridge=settings["centre_ridge"],
            dead_sd=settings["dead_sd"],
            level=level,
        )
        record_band(out, "cp_centre", found.band, problem.y_test, alpha)
        out.scalar("cp_centre", "q", found.q)
        _levels(out, "cp_centre", order_statistic(n_cal, level) + 1, n_cal)


def main_cell(problem: SplitRows, nets: Mapping[str, Fitted], settings: Mapping[str, Any]) -> CellResult:
    """All records of one main cell."""
    out = CellResult()
    y, alpha, level = problem.y_test, settings["alpha"], settings["level"]
    n_cal = problem.y_cal.size
    side = fit_side(nets["fit"].net, problem.x_fit, problem.x_cal, problem.x_test)
    record_cell(out, problem, side.sigma, level)
    out.series("truth", "y", y)
    for role in ("dak", "dak_kl", "or2", "or2_oracle"):
        record_band(out, role, network_band(*nets[role].net.predict(problem.x_test), settings["z"]), y, alpha)
        hint = nets[role].hint
        if hint is not None:
            out.scalar(role, "noise_hint", hint)
    conformal = conformal_arms(side, problem.y_fit, problem.y_cal, level)
    for arm, found in conformal.items():
        record_band(out, arm, found.band, y, alpha)
        out.scalar(arm, "q", found.q)
        _levels(out, arm, order_statistic(n_cal, level) + 1, n_cal)
    cp, triv = conformal["cp"], conformal["triv"]
    for name, value in counterfactual(y, cp.band.center, float(triv.band.center[0]), cp.q, triv.q).items():
        out.scalar("counterfactual", "coverage", value, label=name)

    head, delivered = or_head(side, problem.y_fit, problem.y_cal, settings)
    record_head(out, side, head, delivered, settings["cap"] * problem.y_fit.std())
    if delivered is None:
        for arm in OR_ARMS:
            out.refuse(arm, str(head.refusal), head.occ.margin)
    else:
        bands = delivered.bands
        for arm, band in bands.items():
            record_band(out, arm, band, y, alpha)
        _levels(out, "or1", n_cal, n_cal)
        out.scalar("or1", "shape_skill", shape_skill(bands["or1"], y))
        factor = matched_inflation(y, cp.band.center, cp.q, float(bands["or1"].covers(y).mean()))
        if factor is not None:
            out.scalar("inflation", "factor", factor)
            out.scalar("inflation", "width_mean_ratio", factor * cp.q / bands["or1"].half.mean())
            out.scalar("inflation", "width_median_ratio", factor * cp.q / np.median(bands["or1"].half))
    if settings["extra_arms"]:
        _extra_arms(out, problem, side, settings)
    return out

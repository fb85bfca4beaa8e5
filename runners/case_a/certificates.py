"""The certificate block: global radii, conditional intervals and the credible band on one linearised solve.

Two balls are in play and are never mixed: ``eps_hat``, the smallest norm with all rows inside the budget, carries the
global certificate; ``rho_oc``, the smallest norm with the boundary rows exact, anchors the ladder of conditional intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.recovery import (
    EmptySetError,
    GlobalCertificate,
    Projection,
    Spectral,
    global_radius,
    local_interval,
    occam,
    profiled_scale,
)
from orledger.runners.case_a.problem import evaluation
from orledger.runners.case_a.rules import matched, morozov

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.runners.case_a.linearisation import Rows
    from orledger.runners.case_a.problem import Data
    from orledger.runners.case_a.solver import Solves
    from orledger.runners.records import CellResult


def record_certificates(
    result: CellResult, solves: Solves, data: Data, rows: Rows, settings: Mapping[str, Any]
) -> None:
    """Every number of the block for one cell, written into ``result``; what cannot be given is refused, with its margin."""
    index = morozov(solves, data.eta) if settings["cert_solve"] == "morozov" else (0 if 0 in solves.ok else None)
    points = evaluation(settings["cert_side"], settings["cert_low"], settings["cert_high"])
    truth = data.truth(points)
    result.series("point", "x", points[:, 0])
    result.series("point", "y", points[:, 1])
    result.series("point", "ring", np.minimum(points, 1 - points).min(1))
    result.series("point", "truth", truth)
    if index is None:
        for arm in ("global", "conditional", "gp_band"):
            result.refuse(arm, f"the solve to linearise about ({settings['cert_solve']}) failed")
        return
    result.scalar("cell", "misfit", solves.misfit[index])
    result.scalar("cell", "lam2", solves.lam2[index])
    lin = rows.at(solves.u[index], data.values)
    noisy, exact = lin.problems(points, settings["cert_form"])
    _global(result, *noisy, data.eta, truth, settings.get("paper_radius"))
    _band(result, *noisy, float(solves.misfit[index]), truth, settings)
    _conditional(result, *exact, data.eta, truth, settings["rungs"])


def _global(
    result: CellResult, spec: Spectral, proj: Projection, eta: float, truth: np.ndarray, printed: list[float] | None
) -> None:
    occ = occam(spec, eta)
    if occ.refused:
        result.refuse("global", occ.reason, occ.margin)
    else:
        result.scalar("cell", "eps_hat", occ.rho)
        refined = global_radius(spec, proj, occ.rho, eta)
        estimate = proj.at(refined.mu).m
        error = np.abs(estimate - truth)
        result.series("point", "recovery", estimate)
        result.series("point", "error", error)
        result.scalar("cell", "delta_num", refined.delta_num)
        result.scalar("global", "coverage", float(np.mean(error <= refined.cert)))
        _write_global(result, None, refined)
        _write_global(result, "grid97", global_radius(spec, proj, occ.rho, eta, "grid97"))
    if printed is not None:
        _write_global(result, "paper", global_radius(spec, proj, printed[0], printed[1]))


def _write_global(result: CellResult, label: str | None, cert: GlobalCertificate) -> None:
    result.series("global", "radius", cert.radius, label=label)
    result.series("global", "certificate", cert.cert, label=label)
    inside = np.flatnonzero(np.isfinite(cert.mu) & (cert.mu > 0))
    result.series("global", "mu", cert.mu[inside], label=label, idx=inside)


def _conditional(
    result: CellResult, spec: Spectral, proj: Projection, eta: float, truth: np.ndarray, rungs: list[float]
) -> None:
    occ = occam(spec, eta)
    if occ.refused:
        result.refuse("conditional", occ.reason, occ.margin)
        return
    result.scalar("cell", "rho_oc", occ.rho)
    for m in rungs:
        label = f"m={m:g}"
        try:
            band = local_interval(spec, proj, m * occ.rho, eta, occ=occ)
        except EmptySetError as error:
            result.refuse("conditional", f"{label}: {error.message}", error.margin)
            continue
        for metric in ("mid", "half", "lower", "upper"):
            result.series("conditional", metric, getattr(band, metric), label=label)
        result.series("conditional", "gap", band.gap_rel, label=label)
        result.series("conditional", "error", np.abs(band.mid - truth), label=label)
        inside = (band.lower <= truth) & (truth <= band.upper)
        result.scalar("conditional", "coverage", float(np.mean(inside)), label=label)


def _band(
    result: CellResult, spec: Spectral, proj: Projection, misfit: float, truth: np.ndarray, settings: Mapping[str, Any]
) -> None:
    """The GP credible band at the misfit-matched nugget, all rows noisy, as a Bayesian reader would draw it."""
    mu, reason = matched(spec, misfit)
    if mu is None:
        result.refuse("gp_band", reason)
        return
    at = np.array(mu)
    scale = float(profiled_scale(spec, at)) if settings["gp_scale"] == "profiled" else 1.0
    mean, half = proj.m(at), settings["gp_z"] * scale * np.sqrt(proj.V(at))
    error = np.abs(mean - truth)
    for metric, values in (("mean", mean), ("half", half), ("error", error)):
        result.series("gp_band", metric, values)
    result.scalar("gp_band", "coverage", float(np.mean(error <= half)))

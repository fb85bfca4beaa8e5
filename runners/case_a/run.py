"""The cells of Case A: each is a pure function of its spec and of the device it runs on."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.runners.case_a.certificates import record_certificates
from orledger.runners.case_a.floor import fingerprint, repeat_solves
from orledger.runners.case_a.linearisation import Rows
from orledger.runners.case_a.names import RULES
from orledger.runners.case_a.plan import REPLACED
from orledger.runners.case_a.problem import Data, draw, ulp_perturbed
from orledger.runners.case_a.rules import choices, criteria
from orledger.runners.case_a.solver import Model, Solves, solve
from orledger.runners.records import CellResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orledger.runners.cells import Cell, Context

PERTURBED = ("rmse", "rmse_best", "misfit", "norm", "epochs", "converged")


def run(cells: tuple[Cell, ...], context: Context) -> Iterator[tuple[Cell, CellResult]]:
    """The results of the cells of one job, in order."""
    for cell in cells:
        start = time.perf_counter()
        result = BLOCKS.get(cell.block, _solved)(cell, context)
        result.seconds = time.perf_counter() - start
        yield cell, result


def _solved(cell: Cell, context: Context) -> CellResult:
    """A cell with one data set: the solves at every weight, then the rules or the certificates on them."""
    keys, settings = cell.keys, dict(cell.settings)
    if cell.block in REPLACED:
        settings[REPLACED[cell.block]] = keys[cell.block]
    grid, precision = int(keys["grid"]), str(keys.get("backend", "float64"))
    stream = settings.get("noise_stream", "per_seed")
    data = draw(settings["forcing"], grid, float(keys["level"]), int(keys["seed"]), stream)
    solves = solve(Model.of(settings, grid), data, settings["lam2_grid"], precision=precision, device=context.device)
    result = CellResult(backend=f"{context.device}/{precision}")
    if not len(solves.ok):
        result.state, result.reason = "refused", _reason(solves, 0) + "; so did every other weight"
        return result
    _write_data(result, data)
    if cell.block == "certificates":
        record_certificates(result, solves, data, _rows(grid, settings["log_length"]), settings)
    else:
        _rules(result, solves, data, settings)
    return result


def _rules(result: CellResult, solves: Solves, data: Data, settings: Mapping[str, Any]) -> None:
    _write_solves(result, solves)
    found = criteria(solves, data, _rows(data.n, settings["log_length"]))
    known = np.flatnonzero(np.isfinite(found.nugget))
    columns = {"nugget": found.nugget, "gcv": found.gcv, **{f"ml2_{k}": v for k, v in found.ml2.items()}}
    for metric, values in columns.items():
        result.series("solve", metric, values[known], idx=known)
    for index, reason in found.reasons.items():
        result.fact(f"no_nugget_{index}", reason)
    variants = {name: settings[name] for name in ("ml2_scale", "lcurve_corner", "lcurve_scale")}
    picked = list(choices(solves, found, data.eta, **variants))
    best = min(solves.rmse[solves.ok])
    for choice in sorted(picked, key=lambda c: RULES.index(c.rule)):
        if choice.index is None:
            result.refuse(choice.rule, f"{choice.label}: {choice.reason}" if choice.label else choice.reason)
            continue
        i = choice.index
        result.scalar(choice.rule, "lam2", solves.lam2[i], label=choice.label)
        result.scalar(choice.rule, "lam2_index", i, label=choice.label)
        result.scalar(choice.rule, "rmse", solves.rmse[i], label=choice.label)
        result.scalar(choice.rule, "oracle_ratio", solves.rmse[i] / best, label=choice.label)


def _floor(cell: Cell, context: Context) -> CellResult:
    """One repetition of the noise-free computation."""
    keys = cell.keys
    backend = str(keys["backend"])
    solves = repeat_solves(int(keys["grid"]), backend, int(keys["repeat"]), cell.settings, context.device)
    result = CellResult(backend=f"{context.device}/{'float32' if backend == 'float32' else 'float64'}")
    if not len(solves.ok):
        result.state, result.reason = "refused", _reason(solves, 0) + "; so did every other weight"
        return result
    _write_solves(result, solves)
    return result


def _perturbed(cell: Cell, context: Context) -> CellResult:
    """The solve at the released weight, and again after each of many perturbations of its data in the last bit.

    The draws are those of the floor block, so that a repetition there and a perturbation here are the same computation.
    """
    keys, settings = cell.keys, cell.settings
    grid = int(keys["grid"])
    stream = settings.get("noise_stream", "per_seed")
    data = draw(settings["forcing"], grid, float(keys["level"]), int(keys["seed"]), stream)
    model, weight = Model.of(settings, grid), settings["lam2_grid"][:1]
    result = CellResult(backend=f"{context.device}/float64")
    plain = solve(model, data, weight, device=context.device)
    if not len(plain.ok):
        result.state, result.reason = "refused", _reason(plain, 0)
        return result
    _write_data(result, data)
    for metric in PERTURBED:
        result.scalar("unperturbed", metric, getattr(plain, metric)[0])
    moved = [
        solve(model, data, weight, values=ulp_perturbed(data.values, k), device=context.device)
        for k in range(settings["perturbations"])
    ]
    ok = [k for k, solves in enumerate(moved) if len(solves.ok)]
    for metric in PERTURBED:
        result.series("perturbed", metric, [getattr(moved[k], metric)[0] for k in ok], idx=ok)
    for k in set(range(len(moved))) - set(ok):
        result.refuse("perturbed", f"perturbation {k}: {_reason(moved[k], 0)}")
    return result


BLOCKS = {"floor": _floor, "perturbation": _perturbed}
"""Blocks that are not one data set solved at every weight."""


def _write_solves(result: CellResult, solves: Solves) -> None:
    """The numbers of the usable solves, a refusal for each of the others, and the hashes that tell equal from close."""
    ok = solves.ok
    for metric in ("lam2", "rmse", "rmse_best", "misfit", "norm", "epochs", "converged"):
        result.series("solve", metric, getattr(solves, metric)[ok], idx=ok)
    for i in np.flatnonzero(solves.failed):
        result.refuse("solve", _reason(solves, int(i)))
    for metric in ("rmse", "misfit"):
        result.fact(f"{metric}_sha256", fingerprint(getattr(solves, metric)[ok]))


def _reason(solves: Solves, i: int) -> str:
    return (
        f"lam2={solves.lam2[i]:g}: at epoch {solves.failed[i]} the normal matrix was not positive definite in this "
        "arithmetic or the factors stopped being finite"
    )


def _write_data(result: CellResult, data: Data) -> None:
    result.scalar("cell", "std_f", data.std_f)
    result.scalar("cell", "sigma", data.sigma)
    result.scalar("cell", "eta", data.eta)
    result.scalar("cell", "noise_norm", data.noise_norm)
    result.scalar("cell", "noise_exceeds_eta", float(data.noise_norm > data.eta))


@lru_cache(maxsize=2)
def _rows(n: int, log_length: float) -> Rows:
    """The kernel blocks of a grid; the same for every cell on it."""
    return Rows.build(n, log_length)

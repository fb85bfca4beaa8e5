"""Case C cells to records: every trajectory of a cell, all arms from one initial design."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from orledger.recovery import EmptySetError
from orledger.runners.case_c.budgets import make_budget
from orledger.runners.case_c.kernel import ParameterLayout, initial_raw
from orledger.runners.case_c.loop import ARMS, LoopSpec, Trajectory, run_arms
from orledger.runners.case_c.objectives import SearchProblem, make_problem
from orledger.runners.case_c.recording import record_full, record_shape
from orledger.runners.case_c.schedule import AmplitudeSearch
from orledger.runners.cells import digest
from orledger.runners.records import CellResult
from orledger.runners.seeds import torch_generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.runners.cells import Cell, Context


def run(cells: tuple[Cell, ...], context: Context) -> Iterator[tuple[Cell, CellResult]]:
    """Each cell with its records, in order; a function of the specs and the device alone."""
    if any(cell.block == "determinism" for cell in cells):
        from orledger.runners.case_c.determinism import run_control

        yield from run_control(cells, context)
        return
    for cell in cells:
        started = perf_counter()
        result = _trajectories(cell, context)
        result.seconds = perf_counter() - started
        result.backend = f"{context.device}/float64"
        yield cell, result


def _trajectories(cell: Cell, context: Context) -> CellResult:
    scheduled = cell.block == "schedule"
    problem, spec = prepare(cell)
    try:
        found = run_arms(problem, spec, (*ARMS, "shape") if scheduled else ARMS, device=context.device)
    except EmptySetError as error:
        return CellResult(state="refused", reason=f"{error.message} (margin {error.margin:.3g})")
    result = CellResult()
    for arm, trajectory in found.items():
        record_full(result, arm, problem, trajectory)
    if scheduled:
        record_shape(result, found["shape"])
    describe(result, problem, found)
    return result


def prepare(cell: Cell, *, perturbation: float = 0.0, ladder: bool = True) -> tuple[SearchProblem, LoopSpec]:
    """The problem and the loop of a cell; ``perturbation`` scales a fixed random direction added to the raw parameters."""
    keys: Any = cell.keys
    settings = cell.settings
    benchmark, dim, seed, mixtures = keys["benchmark"], keys["dim"], keys["seed"], keys["mixtures"]
    layout = ParameterLayout(mixtures, dim)
    stream = torch_generator("case_c", "means", benchmark, dim, mixtures, seed)
    means = settings["means_spread"] * torch.randn(mixtures, dim, generator=stream, dtype=torch.float64)
    raw = initial_raw(layout, means, settings["alpha_cap"])
    if perturbation:
        direction = torch_generator("case_c", "perturbation", benchmark, dim, mixtures, seed)
        raw += perturbation * torch.randn(layout.size, generator=direction, dtype=torch.float64)
    spec = LoopSpec(
        layout=layout,
        raw=raw,
        budget=make_budget(keys["budget"], settings),
        evaluations=keys["evaluations"],
        ucb_beta=settings["ucb_beta"],
        remove_evaluated=settings["remove_evaluated"],
        centre_on_mean=settings["occam_centre"] == "fitted-mean",
        ddof=settings["standardise_ddof"],
        ladder=ladder,
        schedule=AmplitudeSearch.of(settings) if cell.block == "schedule" else None,
        log_ei=settings.get("ei_form", "plain") == "log",
    )
    return make_problem(benchmark, dim, seed, settings), spec


def describe(result: CellResult, problem: SearchProblem, found: dict[str, Trajectory]) -> None:
    """Facts of a cell: hashes that show which cells share designs, the cloud's own best regret, and the distinct paths."""
    result.fact("candidates", digest(problem.candidates.flatten().tolist()))
    result.fact("initial_design", digest(problem.initial.flatten().tolist()))
    result.fact("cloud_best_regret", repr(float(problem.candidate_values.min()) - problem.optimum))
    result.fact("distinct_paths", str(len({tuple(t.actions) for t in found.values()})))

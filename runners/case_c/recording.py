"""From a trajectory to the records of its arm, under the names of catalog.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.runners.case_c.ladder import KAPPAS

if TYPE_CHECKING:
    from orledger.runners.case_c.ladder import Ladder
    from orledger.runners.case_c.loop import Trajectory
    from orledger.runners.case_c.objectives import SearchProblem
    from orledger.runners.records import CellResult


def regret(problem: SearchProblem, trajectory: Trajectory) -> np.ndarray:
    """Simple regret (steps + 1,): entry 0 is the best of the initial design, entry t the best after step t."""
    values = np.concatenate([[float(problem.initial_values.min())], trajectory.values])
    return np.minimum.accumulate(values) - problem.optimum


def record_core(result: CellResult, arm: str, problem: SearchProblem, trajectory: Trajectory) -> None:
    """The series every block has: regret, actions, widths and fit diagnostics."""
    steps = trajectory.steps
    result.series(arm, "regret", regret(problem, trajectory))
    result.series(arm, "action", trajectory.actions)
    result.series(arm, "value", trajectory.values)
    result.series(arm, "rho_oc", [s.widths.rho for s in steps])
    result.series(arm, "sigma_hat", [s.sigma_hat for s in steps])
    result.series(arm, "mean_c", [s.widths.radius.mean() for s in steps])
    result.series(arm, "osc", [np.ptp(s.widths.radius) for s in steps])
    result.series(arm, "nn_distance", [s.nn_distance for s in steps])
    result.series(arm, "fit_loss", [s.fit.loss for s in steps])
    result.series(arm, "fit_steps", [s.fit.steps for s in steps])
    result.series(arm, "fit_grad", [s.fit.gradient for s in steps])


def record_full(result: CellResult, arm: str, problem: SearchProblem, trajectory: Trajectory) -> None:
    """Everything of a trajectory: the core series, the grid radius, the kappa ladder, and the two summaries."""
    record_core(result, arm, problem, trajectory)
    grids = [s.widths.on_grid for s in trajectory.steps if s.widths.on_grid is not None]
    result.series(arm, "osc", [np.ptp(g) for g in grids], label="grid")
    result.series(arm, "mean_c", [g.mean() for g in grids], label="grid")
    _record_ladders(result, arm, [s.ladder for s in trajectory.steps if s.ladder is not None])
    path = regret(problem, trajectory)
    result.scalar(arm, "final_regret", path[-1])
    result.scalar(arm, "auc", path.mean())


def record_shape(result: CellResult, trajectory: Trajectory) -> None:
    """The scheduled width of arm ``shape`` at its own steps: amplitude, oscillation, and the ladder of that width."""
    shapes = [s.shape for s in trajectory.steps if s.shape is not None]
    result.series("shape", "shape_tau", [s.tau for s in shapes])
    result.series("shape", "shape_osc", [np.ptp(s.width) for s in shapes])
    result.series("shape", "shape_mean", [s.width.mean() for s in shapes])
    moved = [s.choice["shape"] != s.choice[f"k{KAPPAS[0]}"] for s in trajectory.steps]
    result.series("shape", "shape_moved", moved)
    _record_ladders(result, "shape", [s.ladder for s in shapes], prefix="shape_")


def _record_ladders(result: CellResult, arm: str, ladders: list[Ladder], prefix: str = "") -> None:
    for metric in ("gap", "argmin", "tie", "same", "fires"):
        for label in getattr(ladders[0], metric):
            result.series(arm, prefix + metric, [getattr(x, metric)[label] for x in ladders], label=label)
    for label in ladders[0].fires:  # a tied step has no ratio, so the index says which steps have one
        steps = [t for t, x in enumerate(ladders) if label in x.ratio]
        result.series(arm, prefix + "ratio", [ladders[t].ratio[label] for t in steps], label=label, idx=steps)

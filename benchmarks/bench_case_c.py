"""Case C side by side: the shared loop against plain botorch and gpytorch, and the radius at 2,500 candidates."""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from orledger.runners.case_c.kernel import Pairs, constrain, cross, gram, log_distance
from orledger.runners.case_c.loop import ARMS, run_arms
from orledger.runners.case_c.objectives import BENCHMARKS
from orledger.runners.case_c.plan import plan
from orledger.runners.case_c.run import prepare
from orledger.runners.case_c.widths import certified_widths
from orledger.runners.engines import limited_threads

sys.path.insert(0, str(Path(__file__).parent))
from reference_bo import grid_radius, plain_trajectory
from rows import row, show

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 0


def run(benchmarks: tuple[str, ...] = tuple(BENCHMARKS), *, quick: bool = False) -> list[dict[str, Any]]:
    """One row per measurement: name, seconds of ours and of the peer, their ratio, who the peer is, and a note.

    Seconds are processor time of one thread, so that other work on the machine does not decide the ratio.
    ``quick`` takes two of the benchmarks.
    """
    benchmarks = benchmarks[:2] if quick else benchmarks
    with limited_threads(1):
        rows = [_cell(name) for name in benchmarks]
        ours, peer = (sum(row[k] for row in rows) for k in ("ours_seconds", "peer_seconds"))
        note = f"{ours / len(rows) / len(ARMS):.3f} s per trajectory; aim: under 0.5 s"
        rows.append(row("case C: main block, one seed of each", ours, peer, rows[0]["peer"], note, at_least=4))
        rows.append(_radius())
    return rows


def _cell(benchmark: str) -> dict[str, Any]:
    """All arms of one cell of the main block at its own fit budget; ours also computes every diagnostic it records."""
    (job,) = plan({"main": {"benchmarks": [benchmark], "seeds": [SEED]}}, "benchmark")
    problem, spec = prepare(job.cells[0])
    run_arms(problem, spec, ("ei",))  # first calls load libraries
    started = process_time()
    found = run_arms(problem, spec)
    ours = process_time() - started
    started = process_time()
    plain = {arm: plain_trajectory(problem, spec, arm) for arm in ARMS}
    peer = process_time() - started
    equal = sum(plain[arm] == found[arm].actions for arm in ARMS)
    note = f"{equal} of {len(ARMS)} action paths equal (the peer's radius is on the 97-point grid)"
    return row(
        f"case C: {benchmark}, seed {SEED}, budget {spec.budget.name}", ours, peer, "botorch and gpytorch, plain", note
    )


def _radius(n: int = 22, repeats: int = 30) -> dict[str, Any]:
    """The exact radius of 2,500 candidates from 22 observations, eigendecomposition and Occam radius included."""
    (job,) = plan({"main": {"benchmarks": ["branin"], "seeds": [SEED]}}, "benchmark")
    problem, spec = prepare(job.cells[0])
    p = constrain(spec.raw, spec.layout)
    x, candidates = problem.candidates[:n], problem.candidates
    difference = [(x[i].unsqueeze(-1) - candidates.T).contiguous() for i in range(n)]
    b = cross(p, difference, [log_distance(d) for d in difference]).numpy()
    values = problem.candidate_values[:n]
    y = ((values - values.mean()) / values.std()).numpy()
    g, k0, eta = gram(p, Pairs.of(x)).numpy(), float(p.output), float(torch.sqrt(p.noise * n))
    exact = _median(lambda: certified_widths(g, b, k0, y, eta), repeats)
    grid = _median(lambda: grid_radius(g, b, k0, y, eta), repeats)
    above = grid_radius(g, b, k0, y, eta) / certified_widths(g, b, k0, y, eta).radius - 1
    note = (
        f"the grid's radius is off by {100 * above.min():+.2f} to {100 * above.max():+.2f} %: its minimum over the grid is too "
        "large, and the Occam radius in it, a maximum over the grid, too small"
    )
    peer = "97-point grid in NumPy, not refined"
    return row("case C: radius, 2,500 candidates, 22 points", exact, grid, peer, note, at_most=0.02)


def _median(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = process_time()
        call()
        times.append(process_time() - started)
    return float(np.median(times))


if __name__ == "__main__":
    show(run())

"""Case C side by side: the shared loop against plain botorch and gpytorch, and the radius at 2,500 candidates."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from orledger.recovery import Spectral, global_radius, occam
from orledger.runners.case_c.kernel import Pairs, constrain, cross, gram, log_distance
from orledger.runners.case_c.loop import ARMS, run_arms
from orledger.runners.case_c.objectives import BENCHMARKS
from orledger.runners.case_c.plan import plan
from orledger.runners.case_c.run import prepare
from orledger.runners.engines import limited_threads

sys.path.insert(0, str(Path(__file__).parent))

SEED = 0


def run(benchmarks: tuple[str, ...] = tuple(BENCHMARKS)) -> list[dict[str, Any]]:
    """One row per measurement: name, seconds of ours and of the peer, their ratio, who the peer is, and a note."""
    with limited_threads(1):
        rows = [_cell(name) for name in benchmarks]
        ours, peer = (sum(row[k] for row in rows) for k in ("ours", "peer"))
        rows.append(
            _row("main block, one seed of every benchmark", ours, peer, rows[0]["peer_name"], f"{len(ARMS)} arms each")
        )
        rows.append(_radius())
    return rows


def _row(name: str, ours: float, peer: float | None, peer_name: str, note: str) -> dict[str, Any]:
    return {
        "name": name,
        "ours": ours,
        "peer": peer,
        "ratio": None if peer is None else peer / ours,
        "peer_name": peer_name,
        "note": note,
    }


def _cell(benchmark: str) -> dict[str, Any]:
    """All arms of one cell of the main block at its own fit budget; ours also computes every diagnostic it records."""
    from reference_bo import plain_trajectory

    (job,) = plan({"main": {"benchmarks": [benchmark], "seeds": [SEED]}}, "benchmark")
    problem, spec = prepare(job.cells[0])
    run_arms(problem, spec, ("ei",))  # first calls load libraries
    started = perf_counter()
    found = run_arms(problem, spec)
    ours = perf_counter() - started
    started = perf_counter()
    plain = {arm: plain_trajectory(problem, spec, arm) for arm in ARMS}
    peer = perf_counter() - started
    equal = sum(plain[arm] == found[arm].actions for arm in ARMS)
    note = f"{equal} of {len(ARMS)} action paths equal; {ours / len(ARMS):.3f} s per trajectory"
    return _row(f"{benchmark}, seed {SEED}, budget {spec.budget.name}", ours, peer, "botorch and gpytorch, plain", note)


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
    g, kxx = gram(p, Pairs.of(x)).numpy(), np.full(len(candidates), float(p.output))
    eta = float(torch.sqrt(p.noise * n))
    times = []
    for _ in range(repeats):
        started = perf_counter()
        spectral = Spectral.from_gram(g, y)
        global_radius(spectral, spectral.project(b, kxx), occam(spectral, eta).rho, eta)
        times.append(perf_counter() - started)
    note = f"median of {repeats}; aim: below 0.02 s"
    return _row("radius, 2,500 candidates, 22 points", float(np.median(times)), None, "none", note)


if __name__ == "__main__":
    for row in run():
        ratio = "" if row["ratio"] is None else f"{row['peer']:8.3f} s  {row['ratio']:6.1f}x"
        print(f"{row['name']:45s} {row['ours']:8.4f} s  {ratio}  {row['note']}")

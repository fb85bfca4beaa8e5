"""Case A's solver side by side with a plain dense implementation, same machine, same run, one thread.

    python benchmarks/bench_case_a.py

Seconds are processor time of one thread, so that other work on the machine does not decide the ratio. The released code of
the method carries no licence and is not run here: 5.3 s per solve without compilation, measured before on the same kind of
core, stands beside our times as a constant.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from reference_tgps import solve as dense_solve
from rows import row, show

from orledger.runners.case_a.plan import SETTINGS
from orledger.runners.case_a.problem import draw
from orledger.runners.case_a.solver import Model, solve
from orledger.runners.engines import limited_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.runners.case_a.problem import Data

RELEASED_SECONDS = 5.3
REPEATS = 7
LEVEL, SEED = 1e-3, 1


def best(calls: dict[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """The shortest processor time of a few rounds, in which the calls take turns: what slows the machine slows all of them."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            start = process_time()
            call()
            times[name] = min(times[name], process_time() - start)
    return times


def run(*, quick: bool = False) -> list[dict]:
    """Seconds per solve alone, in the batch of a cell and in a larger batch; ``quick`` leaves the larger grid's peers out."""
    defaults = {s.name: s.default for s in SETTINGS}
    grid = defaults["lam2_grid"]
    rows = []
    with limited_threads(1):
        for n in (16,) if quick else (24, 16):
            model = Model.of({**defaults, "inducing": defaults["inducing"][str(n)]}, n)
            rows += _rows(model, draw("two_sines", n, LEVEL, SEED, "per_seed"), grid, n)
    return rows


def _rows(model: Model, data: Data, grid: list[float], n: int) -> list[dict]:
    side = np.linspace(0, 1, model.test_points)
    truth = data.forcing.solution(side[:, None], side[None, :])
    middle = len(grid) // 2

    def dense() -> tuple[float, float, int]:
        return dense_solve(
            data.values, truth, lam2=grid[middle], initial=model.initial(), lam1=model.lam1, log_length=model.log_length,
            jitter=model.jitter, epochs=model.epochs, tol=model.tol,
        )  # fmt: skip

    batch = solve(model, data, grid)
    reference = dense()
    agreement = f"RMSE {batch.rmse[middle]:.3e} (dense {reference[0]:.3e}) after {batch.epochs[middle]} epochs"
    times = best(
        {
            "dense": dense,
            "alone": lambda: solve(model, data, [grid[middle]]),
            "seven": lambda: solve(model, data, grid),
        }
    )
    many = best({"many": lambda: solve(model, data, grid * 5)}, 2)["many"]
    peer, alone, seven = times["dense"], times["alone"], times["seven"] / len(grid)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    plain, name = "dense normal equations, NumPy", f"case A, {n}x{n}: "
    rows = [
        row(f"{name}one solve", alone, peer, plain, agreement, at_least=6 if n == 24 else None),
        row(f"{name}per solve, batch of 7 (a cell)", seven, peer, plain, "as the 420 solves of the paper run"),
        row(
            f"{name}per solve, batch of 35",
            many / (5 * len(grid)),
            peer,
            plain,
            f"peak memory of the process {memory:.0f} MiB",
        ),
    ]
    if n == 24:
        constant = "a constant, measured before on the same kind of core, not run here"
        rows.append(
            row(f"{name}batch of 7, released code", seven, RELEASED_SECONDS, "released TGPS", constant, at_least=15)
        )
    return rows


if __name__ == "__main__":
    show(run())

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

from orledger.runners.case_a.plan import SETTINGS
from orledger.runners.case_a.problem import draw
from orledger.runners.case_a.solver import Model, solve
from orledger.runners.engines import limited_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.runners.case_a.problem import Data

RELEASED_SECONDS = 5.3
REPEATS = 3
LEVEL, SEED = 1e-3, 1


def best(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest processor time of a few calls."""
    times = []
    for _ in range(repeats):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def run() -> list[dict]:
    """One row per measurement: name, seconds per solve of ours and of the peer, their ratio, who the peer is, and a note."""
    defaults = {s.name: s.default for s in SETTINGS}
    grid = defaults["lam2_grid"]
    rows = []
    with limited_threads(1):
        for n in (24, 16):
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
    peer = best(dense)
    alone = best(lambda: solve(model, data, [grid[middle]]))
    seven = best(lambda: solve(model, data, grid)) / len(grid)
    many = best(lambda: solve(model, data, grid * 5), 1) / (5 * len(grid))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    plain = "dense normal equations, NumPy"
    rows = [
        _row(f"case A, {n}x{n}: one solve", alone, peer, plain, agreement),
        _row(
            f"case A, {n}x{n}: per solve, batch of 7 (a cell)", seven, peer, plain, "as the 420 solves of the paper run"
        ),
        _row(
            f"case A, {n}x{n}: per solve, batch of 35",
            many,
            peer,
            plain,
            f"peak memory of the process {memory:.0f} MiB",
        ),
    ]
    if n == 24:
        rows.append(
            _row(
                "case A, 24x24: batch of 7 against the released code",
                seven,
                RELEASED_SECONDS,
                "released TGPS",
                "a constant, not run here; goal: 15 times",
            )
        )
    return rows


def _row(name: str, ours: float, peer: float, who: str, note: str) -> dict:
    return {"name": name, "ours_seconds": ours, "peer_seconds": peer, "ratio": peer / ours, "peer": who, "note": note}


if __name__ == "__main__":
    for row in run():
        print(
            f"{row['name']:58s} {row['ours_seconds']:.3f} s  {row['peer_seconds']:.3f} s  {row['ratio']:5.1f}x  {row['peer']}; {row['note']}"
        )

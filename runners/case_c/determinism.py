"""The determinism control: trajectories computed again, in another process, and from minutely perturbed parameters.

The reference of a (benchmark, seed) is computed once per job; each variant's trajectories are recorded together with
whether they equal it, number by number, and the first step at which an arm chose another candidate.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from orledger.errors import OrledgerError
from orledger.runners.case_c.loop import run_arms
from orledger.runners.case_c.recording import record_core
from orledger.runners.case_c.run import prepare
from orledger.runners.cells import Cell, Context
from orledger.runners.engines import THREAD_VARIABLES, limited_threads
from orledger.runners.records import CellResult

if TYPE_CHECKING:
    from collections.abc import Iterator

# arm -> metric -> values, the numbers a determinism cell records of its trajectories.
Series = dict[str, dict[str, np.ndarray]]


class ReplayError(OrledgerError):
    """The second process of the determinism control ended without an answer."""


def run_control(cells: tuple[Cell, ...], context: Context) -> Iterator[tuple[Cell, CellResult]]:
    """The control cells of a job, each compared with the reference trajectories of its (benchmark, seed)."""
    outside = [cell for cell in cells if cell.keys["variant"] == "process"]
    started = perf_counter()
    replayed = dict(zip((c.id for c in outside), replay(outside, context), strict=True)) if outside else {}
    share = (perf_counter() - started) / max(len(outside), 1)
    references: dict[str, Series] = {}
    for cell in cells:
        started = perf_counter()
        name = str({k: v for k, v in cell.keys.items() if k != "variant"})
        if name not in references:
            references[name] = trajectories(cell, context)
        variant = str(cell.keys["variant"])
        if variant == "process":
            found = replayed[cell.id]
        else:
            found = trajectories(cell, context, float(variant.removeprefix("perturb-")) if "-" in variant else 0.0)
        result = compare(references[name], found)
        result.seconds = perf_counter() - started + (share if variant == "process" else 0.0)
        result.backend = f"{context.device}/float64"
        yield cell, result


def trajectories(cell: Cell, context: Context, perturbation: float = 0.0) -> Series:
    """The core numbers of every arm of the cell, from its own start or from a perturbed one."""
    problem, spec = prepare(cell, perturbation=perturbation, ladder=False)
    result = CellResult()
    for arm, trajectory in run_arms(problem, spec, device=context.device).items():
        record_core(result, arm, problem, trajectory)
    out: Series = {}
    for arm, metric, _, _, values in result.blocks:
        out.setdefault(arm, {})[metric] = values
    return out


def compare(reference: Series, found: Series) -> CellResult:
    """The records of ``found`` and, per arm, how it relates to ``reference``."""
    result = CellResult()
    for arm, metrics in found.items():
        for metric, values in metrics.items():
            result.series(arm, metric, values)
        differs = np.flatnonzero(metrics["action"] != reference[arm]["action"])
        bitwise = all(values.tobytes() == reference[arm][metric].tobytes() for metric, values in metrics.items())
        result.scalar(arm, "identical", differs.size == 0)
        result.scalar(arm, "bitwise", bitwise)
        if differs.size:
            result.scalar(arm, "first_difference", int(differs[0]))
    return result


def replay(cells: list[Cell], context: Context) -> list[Series]:
    """The core numbers of the cells, computed by a freshly started interpreter with the same thread count."""
    threads = str(context.threads)
    order = {"cells": [cell.spec for cell in cells], "context": asdict(context)}
    done = subprocess.run(
        [sys.executable, "-m", "orledger.runners.case_c.determinism"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, threads)},
        check=False,
    )
    if done.returncode != 0:
        tail = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ReplayError(f"the second process ended with code {done.returncode}: {tail[0]}")
    # JSON keeps every bit of a float64: Python writes the shortest text that reads back as the same number.
    return [
        {arm: {m: np.array(v, dtype=np.float64) for m, v in metrics.items()} for arm, metrics in one.items()}
        for one in json.loads(done.stdout)
    ]


def answer(order: str) -> str:
    """What the second process prints for the JSON text it was given."""
    asked = json.loads(order)
    context = Context(**asked["context"])
    with limited_threads(context.threads):
        found = [trajectories(Cell(**spec), context) for spec in asked["cells"]]
    return json.dumps([{a: {m: v.tolist() for m, v in ms.items()} for a, ms in one.items()} for one in found])


if __name__ == "__main__":
    sys.stdout.write(answer(sys.stdin.read()))

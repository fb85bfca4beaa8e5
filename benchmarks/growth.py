"""How cost grows: fitted exponents of time against size, with standard errors. Run by ``python -m benchmarks --only growth``.

Each line measures one operation at sizes a constant factor apart, best of a few rounds, and fits log time on log size; what
is expected follows from the algorithm. Small sizes are flattened by fixed costs, so the exponent between the last two sizes
stands beside the fit.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def exponent(
    name: str,
    variable: str,
    sizes: Sequence[int],
    prepare: Callable[[int], Callable[[], object]],
    note: str,
    rounds: int,
) -> dict[str, Any]:
    """The growth of ``prepare(size)()``: processor seconds at each size, slope of the log-log fit, its standard error, r squared."""
    calls = [prepare(size) for size in sizes]
    best = np.full(len(sizes), np.inf)
    for _ in range(rounds):  # in turns, so that a busy minute slows every size
        for k, call in enumerate(calls):
            start = time.process_time()
            call()
            best[k] = min(best[k], time.process_time() - start)
    return fitted(name, variable, sizes, best.tolist(), note)


def fitted(name: str, variable: str, sizes: Sequence[int], seconds: Sequence[float], note: str) -> dict[str, Any]:
    """A row of the table of exponents from measured times."""
    from orledger.audit.statistics.slopes import slope

    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(seconds))
    found = slope(x, y)
    return {
        "name": name,
        "variable": variable,
        "sizes": [int(s) for s in sizes],
        "seconds": [float(s) for s in seconds],
        "exponent": found.effect,
        "se": found.details["se"],
        "r2": found.details["r2"],
        "last": float((y[-1] - y[-2]) / (x[-1] - x[-2])),
        "note": note,
    }


def recovery(rounds: int, top: int) -> list[dict[str, Any]]:
    """Conditional intervals in feature form against n, d and the number of points, and in Gram form against the rows."""
    from bench_recovery import head_problem

    from orledger.recovery import Spectral, local_interval, occam

    def intervals(n: int, d: int, points: int, gram: bool = False) -> Callable[[], object]:
        Phi, y, C = head_problem(n, d, points)
        G, B, kxx = (Phi @ Phi.T, Phi @ C.T, (C * C).sum(1)) if gram else (None, C, None)

        def call() -> object:
            spec = Spectral.from_gram(G, y) if gram else Spectral.from_features(Phi, y)
            eta = 1.1 * spec.best_misfit
            return local_interval(spec, spec.project(B, kxx), 1.1 * occam(spec, eta).rho, eta)

        return call

    what = "conditional intervals"
    small, large = [250 * 2**k for k in range(4 + top)], [16 * 2**k for k in range(4 + top // 2)]
    return [
        exponent(f"{what}, d = 56, 500 points", "n (data)", small, lambda n: intervals(n, 56, 500), "below 1: d^2 n beside work that n leaves alone", rounds),
        exponent(f"{what}, n = 600, 500 points", "d (features)", large, lambda d: intervals(600, d, 500), "1 to 2: points times d, then n d^2", rounds),
        exponent(f"{what}, n = 230, d = 56", "points", small, lambda m: intervals(230, 56, m), "1", rounds),
        exponent(f"{what}, Gram form, 100 points", "n (rows)", [200 * 2**k for k in range(3 + top // 2)], lambda n: intervals(n, n // 2, 100, gram=True), "towards 3: the eigenvalues of an n x n matrix", rounds),
    ]  # fmt: skip


def case_a(rounds: int, top: int) -> list[dict[str, Any]]:
    """Ten epochs of the solver against the side of the grid and against the number of weights solved together."""
    from orledger.runners.case_a.plan import SETTINGS
    from orledger.runners.case_a.problem import draw
    from orledger.runners.case_a.solver import Model, solve

    defaults = {s.name: s.default for s in SETTINGS} | {"epochs": 10}

    def solves(n: int, batch: int) -> Callable[[], object]:
        model, data = Model.of({**defaults, "inducing": n + 6}, n), draw("two_sines", n, 1e-3, 1, "per_seed")
        return lambda: solve(model, data, [0.5] * batch)

    sides = [12, 16, 24, 32, 48][: 3 + top // 2]
    return [
        exponent("case A, 10 epochs, 7 weights", "n (side)", sides, lambda n: solves(n, 7), "towards 3: a Cholesky factor of side 10 (n + 6)", rounds),
        exponent("case A, 10 epochs, 16 x 16", "solves", [2, 4, 8, 16, 32][: 3 + top], lambda b: solves(16, b), "1", rounds),
    ]  # fmt: skip


def case_b(rounds: int, top: int) -> list[dict[str, Any]]:
    """Fifty steps of training against the number of nets in lockstep."""
    from bench_case_b import problems

    from orledger.runners.case_b.nets import ROLES, build_network, net_data, schedule_of
    from orledger.runners.case_b.plan import SETTINGS
    from orledger.runners.case_b.training import train
    from orledger.runners.settings import resolve

    settings = resolve(SETTINGS, {}, "bench")
    cells = problems(settings)
    network, dtype = build_network(cells[0].x_fit.shape[1], settings)
    roles = [role for role in ROLES if role != "fit"]

    def training(count: int) -> Callable[[], object]:
        members = [(cell, role) for role in roles for cell in cells][:count]

        def call() -> object:
            data = [net_data(cell, role, settings) for cell, role in members]  # generators are used up by a training
            return train(network, data, schedule_of(settings), dtype=dtype, steps=50)

        return call

    sizes = [3, 6, 12, 24, 48][: 3 + top]
    note = "below 1: a step's fixed costs are shared"
    return [exponent("case B, 50 steps of training", "nets (cells)", sizes, training, note, rounds)]


def case_c(rounds: int, top: int) -> list[dict[str, Any]]:
    """The exact radius from 22 points against the number of candidates, and a fit against the number of observations."""
    import torch
    from reference_bo import fitted_model  # noqa: F401 - loads botorch before anything is timed

    from orledger.runners.case_c.fitting import fit
    from orledger.runners.case_c.kernel import Pairs
    from orledger.runners.case_c.plan import plan
    from orledger.runners.case_c.run import prepare
    from orledger.runners.case_c.widths import certified_widths

    rng = np.random.default_rng(3)

    def radius(count: int) -> Callable[[], object]:
        X, cand = rng.random((22, 2)), rng.random((count, 2))
        K, B = (np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(-1) / 0.04) for Z in (X, cand))
        y = rng.standard_normal(22)
        return lambda: certified_widths(K, B, 1.0, y, 0.4 * 22**0.5)

    (job,) = plan({"budget": {"benchmarks": ["branin"], "seeds": [0], "budgets": ["moderate"]}}, "benchmark")
    problem, spec = prepare(job.cells[0])

    def fits(n: int) -> Callable[[], object]:
        y = torch.as_tensor(rng.standard_normal(n))
        pairs = Pairs.of(problem.candidates[:n])
        return lambda: fit(spec.raw, spec.layout, pairs, y, spec.budget)

    return [
        exponent("case C, exact radius, 22 points", "candidates", [2500 * 2**k for k in range(3 + top)], radius, "1", rounds),
        exponent("case C, 20 Adam steps", "observations", [20 * 2**k for k in range(3 + top // 2)], fits, "towards 3: fixed costs, pairs, the Cholesky factor", rounds),
    ]  # fmt: skip


def writing(top: int) -> list[dict[str, Any]]:
    """Storing through the writer against the number of cells (of 100 records) and of records in one cell; seconds on the clock."""
    from bench_write import Orledger, columns

    def stored(cells: int, size: int) -> float:
        data = columns(size, 0)
        with tempfile.TemporaryDirectory() as folder:
            side = Orledger(Path(folder), cells)
            start = time.perf_counter()
            side.store(0, [data] * cells)
            taken = time.perf_counter() - start
            side.close()
        return taken

    stored(5, 100)
    counts, sizes = [50 * 2**k for k in range(3 + top // 2)], [20_000 * 2**k for k in range(3 + top // 2)]
    return [
        fitted("writing, 100 records each", "cells", counts, [stored(c, 100) for c in counts], "1: group commits"),
        fitted("writing, one cell", "records", sizes, [min(stored(1, s) for _ in range(2)) for s in sizes], "1"),
    ]


def auditing(top: int) -> list[dict[str, Any]]:
    """A whole audit against the records of a made-up database; processor seconds."""
    from bench_audit import build
    from explorer_data import questions

    from orledger.audit.evaluation.auditing import audit

    sizes, seconds = [], []
    for size in [0, 400_000, 1_000_000, 3_000_000, 10_000_000][: 4 + top // 2]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bench.duckdb"
            sizes.append(build(path, size))
            start = time.process_time()
            audit(path, questions())
            seconds.append(time.process_time() - start)
    # The first one is the smallest database there is, and paid for the imports.
    return [fitted("audit of a database", "records", sizes[1:], seconds[1:], "at most 1, with a fixed part")]


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """One row per operation and variable; ``quick`` stops at smaller sizes."""
    from orledger.runners.engines import limited_threads

    rounds, top = (2, 0) if quick else (4, 2)
    with limited_threads(1):
        rows = [part for make in (recovery, case_a, case_b, case_c) for part in make(rounds, top)]
        return [*rows, *writing(top), *auditing(top)]


if __name__ == "__main__":
    import subprocess

    root = Path(__file__).resolve().parents[1]
    sys.exit(subprocess.call([sys.executable, "-m", "benchmarks", "--only", "growth", *sys.argv[1:]], cwd=root))

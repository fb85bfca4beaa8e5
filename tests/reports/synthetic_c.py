"""Case C of the made-up database: trajectories, and the margin condition along them."""

from __future__ import annotations

import numpy as np
from synthetic_store import Store, rng

from orledger.runners.cells import Cell
from orledger.runners.records import CellResult

BENCHMARKS = {"branin": 2, "hartmann": 6, "griewank": 5, "ackley": 5, "levy": 10}
# typical osc / mean of the certified width, and the scale of the regret
FLATNESS = {
    "branin": (0.3, 0.2),
    "hartmann": (1e-9, 0.9),
    "griewank": (0.02, 10.0),
    "ackley": (0.006, 7.0),
    "levy": (1e-12, 4.5),
}
ARMS_C = ("ei", "ucb", "k1", "k2", "k5")
PAIRS = ((1, 2), (2, 5), (1, 5))


def case_c(store: Store, *, seeds: int, steps: int) -> None:
    """Blocks main, budget and determinism."""
    for name, dim in BENCHMARKS.items():
        for seed in range(seeds):
            keys = {
                "benchmark": name,
                "dim": dim,
                "seed": seed,
                "budget": "near-initial",
                "evaluations": steps + 5,
                "mixtures": 3,
            }
            store.add(Cell("c", "main", keys), c_main(name, seed, steps, "near-initial"))
            if seed < 2:
                for budget in ("moderate", "converged"):
                    store.add(Cell("c", "budget", keys | {"budget": budget}), c_main(name, seed, steps, budget))
                for variant in ("again", "process", "perturb-1e-10"):
                    result, moved = CellResult(), variant.startswith("perturb") and name == "branin"
                    for arm in ARMS_C:
                        result.scalar(arm, "identical", 0 if moved else 1)
                        result.scalar(arm, "bitwise", 0 if variant.startswith("perturb") else 1)
                        if moved:
                            result.scalar(arm, "first_difference", 7)
                    store.add(Cell("c", "determinism", keys | {"variant": variant}), result)


def c_main(name: str, seed: int, steps: int, budget: str) -> CellResult:
    """Five trajectories on one benchmark and seed; arms coincide where the width is flat."""
    result = CellResult()
    flat, scale = FLATNESS[name]
    flat *= {"near-initial": 1.0, "moderate": 2.0, "converged": 8.0}[budget]
    leave = {"branin": 1, "griewank": 5, "ackley": 9 + 3 * seed}.get(name, steps + 1)
    start = scale * (1.5 + rng("start", name, seed, budget).random())
    for arm in ARMS_C:
        shared, own = rng("path", name, seed, budget), rng("path", name, seed, budget, arm)
        alone = (
            leave
            if arm in ("k5", "ei")
            or (arm == "k2" and name in ("branin", "griewank"))
            or (arm == "ucb" and name not in ("levy", "hartmann"))
            else steps + 1
        )
        if arm == "ei" and name == "levy":
            alone = steps + 1 if seed else 12
        action = np.array([int((own if t >= alone else shared).integers(0, 2500)) for t in range(steps)])
        value = np.array([scale * (rng("value", name, a).random() * 3) for a in action])
        regret = np.minimum.accumulate(np.concatenate([[start], value]))
        g = rng("diag", name, seed, budget, arm)
        osc = (
            flat
            * np.exp(0.3 * g.standard_normal(steps))
            * (1.0 if name in ("branin",) else np.minimum(1.0, np.arange(1, steps + 1) / 6))
        )
        if name in ("griewank", "ackley"):
            osc[:5] = 1e-9
        result.series(arm, "regret", regret)
        for metric, v in (
            ("action", action),
            ("value", value),
            ("rho_oc", np.full(steps, 2.0)),
            ("sigma_hat", np.full(steps, 0.3)),
            ("mean_c", np.full(steps, 1.0)),
            ("osc", osc),
            ("nn_distance", np.full(steps, 0.1 * BENCHMARKS[name])),
            ("fit_loss", np.full(steps, 1.1)),
            ("fit_steps", np.full(steps, 2.0)),
            ("fit_grad", np.full(steps, 0.1)),
        ):
            result.series(arm, metric, v)
        result.series(arm, "osc", osc + 1e-11, label="grid")
        result.series(arm, "mean_c", np.full(steps, 1.0), label="grid")
        gap = 0.02 * np.exp(g.standard_normal(steps))
        for k in (1, 2, 5):
            result.series(arm, "gap", gap * (1 + 0.1 * k), label=str(k))
            result.series(arm, "argmin", action, label=str(k))
            result.series(arm, "tie", np.zeros(steps), label=str(k))
        for low, high in PAIRS:
            ratio = (high - low) * osc / gap
            fires = ratio < 1
            same = fires | (g.random(steps) < 0.35)
            result.series(arm, "same", same.astype(float), label=f"{low}-{high}")
            for criterion, shrink in (("osc", 1.0), ("sharp", 0.7)):
                for anchor in ("low", "high"):
                    tag = f"{low}-{high}/{criterion}/{anchor}"
                    result.series(arm, "fires", (fires | (same & (shrink * ratio < 1))).astype(float), label=tag)
                    result.series(arm, "ratio", shrink * ratio, label=tag)
        result.scalar(arm, "final_regret", regret[-1])
        result.scalar(arm, "auc", float(regret.mean()))
    return result

"""The tables of Case C and the reference tables, computed a second time from the records."""

from __future__ import annotations

import duckdb
import numpy as np
from second_a import dispersion, errors
from second_b import by_split
from second_reading import WORDS, Columns, Content, centre, floor, read, says, share, shifts, signed_rank

Con = duckdb.DuckDBPyConnection
NAMES = {
    "levy": "Levy-10D",
    "hartmann": "Hartmann-6",
    "ackley": "Ackley-5D",
    "griewank": "Griewank-5D",
    "branin": "Branin-2D",
}
DIM = {"levy": 10, "hartmann": 6, "ackley": 5, "griewank": 5, "branin": 2}
ARMS = {"ei": "EI", "ucb": "UCB", "k1": "OR-LCB 1×", "k2": "OR-LCB 2×", "k5": "OR-LCB 5×"}
PAIRS = {"1-2": ("k1", "k2"), "2-5": ("k2", "k5"), "1-5": ("k1", "k5")}


def by_seed(con: Con, metric: str) -> dict[tuple[str, str], np.ndarray]:
    """{(arm, benchmark): one value for each seed}, seeds in order."""
    found = read(con, "c/main", metric, "benchmark seed")
    return {(a, b): np.array([found[k][0] for k in sorted(found) if k[:2] == (a, b)]) for a in ARMS for b in NAMES}


def regret(con: Con) -> Columns:
    final = by_seed(con, "final_regret")
    columns: Columns = {
        "benchmark": {f"{b} {d}": (NAMES[b],) for b, d in DIM.items()},
        "n": {f"{b} {d}": (len(final["ei", b]),) for b, d in DIM.items()},
    }
    for arm in ARMS:
        columns[arm] = {f"{b} {d}": (np.median(final[arm, b]), final[arm, b].max()) for b, d in DIM.items()}
    return columns


def pairs(con: Con, metric: str, reference: str) -> Columns:
    """The row arm minus the reference on shared seeds; pooled over benchmarks as ratios, in decimal logarithms."""
    of = by_seed(con, metric)
    columns: Columns = {c: {} for c in ("benchmark", "arm", "n", "difference", "interval", "counts", "p", "floor")}
    for arm in set(ARMS) - {reference}:
        rows = {f"{b} {DIM[b]} {arm}": (NAMES[b], of[arm, b] - of[reference, b]) for b in NAMES}
        logs = np.concatenate([np.log10(of[arm, b]) - np.log10(of[reference, b]) for b in NAMES])
        rows[f"pooled {arm}"] = ("pooled, log ratio", logs)
        for row, (words, d) in rows.items():
            counts = ((d < 0).sum(), (d > 0).sum(), (d == 0).sum())
            shown = ((words,), (ARMS[arm],), (len(d),), (centre(d),), shifts(d), counts, (signed_rank(d), floor(d)), (floor(d),))  # fmt: skip
            for column, content in zip(columns.values(), shown, strict=True):
                column[row] = content
    return columns


def inertness(con: Con) -> Columns:
    names = (
        "benchmark",
        "dispersion",
        "dispersion grid",
        "inert 1-2",
        "inert 2-5",
        "inert 1-5",
        "ladder",
        "ladder interval",
        "escape",
        "ucb",
    )
    columns: Columns = {c: {} for c in names}
    for block, budget in (("c/main", "near-initial"), ("c/budget", "moderate"), ("c/budget", "converged")):
        keys = "budget benchmark seed"
        action = read(con, block, "action", keys, points=True)
        wide, flat = ({}, {})
        for label, into in ((None, wide), ("grid", flat)):
            mean = read(con, block, "mean_c", keys, label, points=True)
            into |= {k: x / mean[k] for k, x in read(con, block, "osc", keys, label, points=True).items()}
        for b, name in NAMES.items():
            seeds = sorted({k[3] for k in action if k[1:3] == (budget, b)})

            def inert(
                *arms: str, at: tuple = (budget, b), seeds: list = seeds, action: dict = action
            ) -> tuple[int, int]:
                return sum(len({tuple(action[a, *at, s]) for a in arms}) == 1 for s in seeds), len(seeds)

            exact, grid = ([x["k1", budget, b, s] for s in seeds] for x in (wide, flat))
            leaves = np.median([np.argmax(d > 1e-6) if (d > 1e-6).any() else np.inf for d in exact])
            shown: tuple[Content, ...] = (
                (name,), (np.median(exact),), (np.median(grid),), *(inert(*p) for p in PAIRS.values()), inert("k1", "k2", "k5"),
                share(*inert("k1", "k2", "k5")), (leaves if np.isfinite(leaves) else "never",), inert("ucb", "k1"),
            )  # fmt: skip
            row = f"{'' if block == 'c/main' else f'{budget} '}{b} {DIM[b]}"
            for column, content in zip(columns.values(), shown, strict=True):
                column[row] = content
    return columns


def criterion(con: Con) -> Columns:
    """What fired against what moved, by steps and by whole trajectories of the smaller multiple."""
    columns: Columns = {c: {} for c in ("criterion", "step same", "step moved", "path same", "path differs")}
    keys = "benchmark seed"
    action = read(con, "c/main", "action", keys, points=True)
    for name, forms in (("osc/low", ("osc/low",)), ("osc", ("osc/low", "osc/high")), ("sharp", ("sharp/low", "sharp/high"))):  # fmt: skip
        steps, paths = np.zeros((2, 2), int), np.zeros((2, 2), int)
        for pair, (low, high) in PAIRS.items():
            same = read(con, "c/main", "same", keys, pair, points=True)
            fired = [read(con, "c/main", "fires", keys, f"{pair}/{form}", points=True) for form in forms]
            for key, stays in same.items():
                fires = np.max([f[key] for f in fired], axis=0) > 0
                np.add.at(steps, (fires.astype(int), (stays > 0).astype(int)), 1)
                if key[0] == low:
                    paths[int(fires.all()), int(np.array_equal(action[key], action[high, *key[1:]]))] += 1
        for word, at in (("fires", 1), ("silent", 0)):
            shown = ((word,), (steps[at, 1],), (steps[at, 0],), (paths[at, 1],), (paths[at, 0],))
            for column, content in zip(columns.values(), shown, strict=True):
                column[f"{name} {word}"] = content
    return columns


def regimes(con: Con) -> Columns:
    by, cv = errors(con), dispersion(con)
    released, morozov = ([by[rule, 24.0, k[2]] for k in by if k[:2] == ("oracle", 24) and k[2]] for rule in ("released", "morozov"))  # fmt: skip
    gains = [np.median(a / b) for a, b in zip(released, morozov, strict=True)]
    d = np.log10(np.concatenate(morozov)) - np.log10(np.concatenate(released))
    cp = by_split(con, "iid", "interval_score", "cp", "or1")
    cover, score = (by_split(con, "shift", m, "or1_nf", "cp", "energy yacht") for m in ("coverage", "interval_score"))
    triv = by_split(con, "shift", "interval_score", "triv", "or1", "diabetes concrete california")
    action = read(con, "c/main", "action", "benchmark seed", points=True)
    cells = {k[1:] for k in action}
    still = sum(len({tuple(action[a, *c]) for a in ("k1", "k2", "k5")}) == 1 for c in cells)
    low, high = share(still, len(cells))
    curves = read(con, "a/floor", "rmse", "grid backend repeat", points=True)
    moved = sum(not np.array_equal(x, curves["solve", k[1], "same_process", 0.0]) for k, x in curves.items())

    def tested(d: np.ndarray, wins: np.ndarray) -> Content:
        return (wins.sum(), len(d), signed_rank(d), floor(d))

    evidence: dict[str, Content] = {
        "no calibration": (*tested(d, d < 0), min(gains), max(gains), *(np.median([*cv[r].values()]) for r in ("morozov", "released"))),
        "in distribution": tested(cp, cp < 0),
        "shift learnable": (*tested(cover, cover > 0), (score < 0).sum(), len(score)),
        "shift other": tested(triv, triv < 0),
        "exploration": (still, len(cells), low, high),
        "dispersion": (moved, len(curves) - 2),
    }  # fmt: skip
    verdict = {
        "no calibration": says(d), "in distribution": says(cp), "shift learnable": says(-cover), "shift other": says(triv),
        "exploration": "for" if low > 0.5 else "against" if high < 0.5 else "open",
        "dispersion": "for" if moved >= 0.5 * (len(curves) - 2) else "against",
    }  # fmt: skip
    words = dict.fromkeys(evidence, WORDS)
    return {"regime": words, "tool": words, "evidence": evidence, "verdict": {k: (v,) for k, v in verdict.items()}}


FUNCTIONS = {
    "balls": "Spectral", "nugget": "matched_mu", "power": "Moments", "radius": "global_radius", "interval": "local_interval", "occam": "occam",
    "conformal": "conformal_radius", "discrepancy": "discrepancy", "water": "pinsker_variances", "invariance": "kappa_invariance",
}  # fmt: skip


def dictionary(_: Con) -> Columns:
    words = dict.fromkeys(FUNCTIONS, WORDS)
    return {"recovery": words, "bayes": words, "function": {row: (name,) for row, name in FUNCTIONS.items()}}


def provenance(_: Con) -> Columns:
    words = dict.fromkeys(("radius", "interval", "conformal", "invariance"), WORDS)
    return {"known": words, "here": words}


TABLES = {
    "C": regret, "CpairEI": lambda con: pairs(con, "final_regret", "ei"), "CpairOR": lambda con: pairs(con, "final_regret", "k1"),
    "CaucEI": lambda con: pairs(con, "auc", "ei"), "Ckappa": inertness, "Cinv": criterion, "regime": regimes, "dictionary": dictionary,
    "provenance": provenance,
}  # fmt: skip

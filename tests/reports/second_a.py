"""The tables of Case A, computed a second time from the records."""

from __future__ import annotations

import duckdb
import numpy as np
from scipy.stats import binomtest
from second_reading import Columns, Content, floor, pooled, quartiles, read, signed_rank, variation

RULES = {"released": "released", "morozov": "Morozov", "ml2": "ML-II", "gcv": "GCV", "lcurve": "L-curve", "oracle": "oracle"}  # fmt: skip
WAYS = {"same_process": "same process", "float32": "single precision", "ulp": "data moved by one last bit", "all": "all together"}  # fmt: skip
Rmse = dict[tuple[str, float, float], np.ndarray]


def errors(con: duckdb.DuckDBPyConnection) -> Rmse:
    """The errors of the seeds by rule, grid and level, in the order of the seeds; without noise one seed stands for all."""
    rmse = read(con, "a/rules", "rmse", "grid level seed")
    by: Rmse = {}
    for rule, grid, level, seed in sorted(rmse):
        if level or (rule, grid, level) not in by:
            by[rule, grid, level] = np.append(by.get((rule, grid, level), []), rmse[rule, grid, level, seed])
    return by


def accuracy(con: duckdb.DuckDBPyConnection, grid: float) -> Columns:
    by = errors(con)
    levels = {f"rel {k[2]:g}": k[2] for k in by if k[:2] == ("oracle", grid)}
    of = {rule: {row: by[rule, grid, level] for row, level in levels.items()} for rule in RULES}
    gain = {row: of["released"][row] / of["morozov"][row] for row in levels}
    return {
        "rel noise": {row: (level,) for row, level in levels.items()},
        "n": {row: (len(x),) for row, x in of["oracle"].items()},
        **{rule: {row: (np.median(x),) for row, x in of[rule].items()} for rule in RULES},
        "gain": {row: (np.median(x), x.min(), x.max()) for row, x in gain.items()},
        "M/o": {row: (np.median(of["morozov"][row] / of["oracle"][row]),) for row in levels},
    }


def dispersion(con: duckdb.DuckDBPyConnection) -> dict[str, dict[tuple[float, float], float]]:
    """The variation over seeds of every rule, by grid and noisy level."""
    return {rule: {k[1:]: variation(x) for k, x in errors(con).items() if k[0] == rule and k[2]} for rule in RULES}


def stability(con: duckdb.DuckDBPyConnection) -> Columns:
    cv = dispersion(con)
    head: dict[str, Content] = {f"grid {g:g} rel {lv:g}": (lv,) for g, lv in cv["oracle"]}
    head |= {f"{s} median": ("median",) for s in ("grid 24", "grid 16", "pooled")}
    head |= {f"{s} ratio": ("ratio to Morozov",) for s in ("grid 24", "grid 16", "pooled")}
    columns: Columns = {"rel noise": head | {"p": ("exact p against Morozov",), "wins": ("groups with Morozov lower",)}}
    middle = {
        (rule, scope): np.median([v for (g, _), v in cv[rule].items() if g in grids])
        for rule in RULES
        for scope, grids in (("grid 24", (24,)), ("grid 16", (16,)), ("pooled", (24, 16)))
    }
    for rule in RULES:
        column: dict[str, Content] = {f"grid {g:g} rel {lv:g}": (v,) for (g, lv), v in cv[rule].items()}
        for scope in ("grid 24", "grid 16", "pooled"):
            column[f"{scope} median"] = (middle[rule, scope],)
            column[f"{scope} ratio"] = (middle[rule, scope] / middle["morozov", scope],)
        d = np.array([cv["morozov"][k] - cv[rule][k] for k in cv[rule]])
        column |= {"p": (), "wins": ()}
        if rule != "morozov":
            column |= {"p": (signed_rank(d), floor(d)), "wins": ((d < 0).sum(), len(d))}
        columns[rule] = column
    return columns


def repetitions(con: duckdb.DuckDBPyConnection) -> Columns:
    rmse = read(con, "a/floor", "rmse", "grid backend repeat", points=True)
    weights = next(iter(read(con, "a/floor", "lam2", "grid backend repeat", points=True).values()))
    runs = {}
    for grid in (24.0, 16.0):
        reference = {k: x for k, x in rmse.items() if k[1:] == (grid, "same_process", 0.0)}
        for way in ("same_process", "float32", "ulp"):
            runs[f"grid {grid:g} {way}"] = {k: x for k, x in rmse.items() if k[1:3] == (grid, way)} | reference
        runs[f"grid {grid:g} all"] = {k: x for k, x in rmse.items() if k[1] == grid}
    words: dict[str, Content] = {row: (WAYS[row.split()[-1]],) for row in runs}
    curves: dict[str, Content] = {row: (len({tuple(x) for x in of.values()}), len(of)) for row, of in runs.items()}
    columns: Columns = {"repetition": words, "curves": curves}
    for at, weight in enumerate(weights):
        columns[f"lam2 {weight:g}"] = {
            r: (variation(np.array([x[at] for x in of.values()])),) for r, of in runs.items()
        }
    index = read(con, "a/rules", "lam2_index", "grid level seed")
    for rule, spread in dispersion(con).items():
        own = np.median([x[0] for k, x in index.items() if k[:2] == (rule, 24) and k[2] > 0])
        chosen = f"lam2 {weights[int(own)]:g}"
        over = np.median([v for (g, _), v in spread.items() if g == 24]) / columns[chosen]["grid 24 all"][0]
        for column in columns.values():
            column[f"own floor {rule}"] = ()
        columns["repetition"][f"own floor {rule}"] = (RULES[rule],)
        columns[chosen][f"own floor {rule}"] = (over,)
    return columns


def portability(con: duckdb.DuckDBPyConnection) -> Columns:
    rmse = read(con, "a/portability", "rmse", "backend grid level seed")
    columns: Columns = {key: {} for key in ("rule", "n", "ratio", "range", "worst")}
    for rule, name in RULES.items():
        x = np.array([v[0] / rmse[rule, "float64", *k[2:]][0] for k, v in rmse.items() if k[:2] == (rule, "float32")])
        shown = ((name,), (len(x),), (np.median(x),), (x.min(), x.max()), (max(x.max(), 1 / x.min()),))
        for column, content in zip(columns.values(), shown, strict=True):
            column[f"float32 {rule}"] = content
    return columns


def certificate_points(con: duckdb.DuckDBPyConnection, arm: str, metric: str, label: str | None = None):
    """{level: one row of points for each seed}; without noise the first seed alone."""
    found = read(con, "a/certificates", metric, "level seed", label, points=True)
    seeds = {k: x for k, x in found.items() if k[0] == arm and (k[1] or k[2] == min(j[2] for j in found))}
    return {
        level: np.array([seeds[k] for k in sorted(seeds) if k[1] == level]) for level in sorted({k[1] for k in seeds})
    }


def rung(con: duckdb.DuckDBPyConnection, m: float):
    """Half-widths and errors of the conditional interval at one inflation, by level."""
    return tuple(certificate_points(con, "conditional", metric, f"m={m}") for metric in ("half", "error"))


def over_seeds(x: np.ndarray) -> float:
    """The median over seeds of the median over points."""
    return float(np.median(np.median(x, axis=1)))


CERTIFICATE_ROWS = {
    "cells": "seeds × points", "outside": "noise draws outside the budget", "rho oc": "ρ_oc", "rho source": "source of ρ_oc", "eps hat": "ε̂",
    "radii": "|ε̂−ρ_oc|/ε̂", "coverage": "coverage without slack (misses)", "bound": "one-sided 95% lower bound", "margin": "max(err − cert)",
    "delta": "δ_num (share of median certificate)", "attainment": "attainment cert/E*, median", "attainment iqr": "quartiles over points",
    "attainment worst": "worst point", "attainment grid": "97-point grid: median", "attainment grid iqr": "97-point grid: quartiles",
    "attainment grid worst": "97-point grid: worst point", "global": "median global certificate",
    "conditional": "median conditional half-width, m = 1.05", "conditional coverage": "conditional coverage, all rungs",
    "refused": "rungs without an interval", "tightening": "tightening, global over conditional", "premium": "width over error, m = 1.05",
    "gp coverage": "GP credible band: coverage", "gp width": "GP credible band: median half-width", "gp ratio": "GP over conditional half-width",
}  # fmt: skip
RUNGS = (1.01, 1.05, 1.1, 1.5, 2.0)


def certificates(con: duckdb.DuckDBPyConnection) -> Columns:
    columns: Columns = {"quantity": {row: (words,) for row, words in CERTIFICATE_ROWS.items()}}
    error = certificate_points(con, "point", "error")
    ball = {m: certificate_points(con, "global", m) for m in ("radius", "certificate")}
    grid = {m: certificate_points(con, "global", m, "grid97") for m in ("radius", "certificate")}
    gp = {m: certificate_points(con, "gp_band", m) for m in ("half", "error")}
    ladder = [rung(con, m) for m in RUNGS]
    half, of_half = rung(con, 1.05)
    for level, err in error.items():
        seeds, points = err.shape
        cell = {
            m: pooled(read(con, "a/certificates", m, "level seed"), 1)[(level,)][:seeds]
            for m in ("rho_oc", "eps_hat", "delta_num", "noise_exceeds_eta")
        }
        cert, missed = ball["certificate"][level], int((err > ball["certificate"][level]).sum())
        reached, coarse = (x["certificate"][level] / x["radius"][level] for x in (ball, grid))
        inside = gp["error"][level] <= gp["half"][level]
        premium, tight = (
            np.median(half[level] / of_half[level], axis=1),
            np.median(cert, axis=1) / np.median(half[level], axis=1),
        )
        columns[f"rel {level:g}"] = {
            "cells": (seeds, points),
            "outside": (cell["noise_exceeds_eta"].sum(), seeds),
            "rho oc": (np.median(cell["rho_oc"]),),
            "rho source": ("closed form" if level == 0 else "root of the misfit",),
            "eps hat": (np.median(cell["eps_hat"]),),
            "radii": (np.median(np.abs(cell["eps_hat"] - cell["rho_oc"]) / cell["eps_hat"]),),
            "coverage": (1 - missed / err.size, missed, err.size),
            "bound": (binomtest(err.size - missed, err.size, alternative="greater").proportion_ci(0.95, "exact").low,),
            "margin": ((err - cert).max(),),
            "delta": (np.median(cell["delta_num"]), np.median(cell["delta_num"]) / over_seeds(cert)),
            "attainment": (np.median(reached),),
            "attainment iqr": quartiles(reached)[1:],
            "attainment worst": (reached.min(),),
            "attainment grid": (np.median(coarse),),
            "attainment grid iqr": quartiles(coarse)[1:],
            "attainment grid worst": (coarse.min(),),
            "global": (over_seeds(cert),),
            "conditional": (over_seeds(half[level]),),
            "conditional coverage": (np.mean([e[level] <= h[level] for h, e in ladder]),),
            "refused": (sum(len(h[level]) < seeds for h, _ in ladder), len(RUNGS) * seeds),
            "tightening": told(tight, 4),
            "premium": told(premium, 3),
            "gp coverage": (inside.mean(), inside.sum(), inside.size),
            "gp width": (over_seeds(gp["half"][level]),),
            "gp ratio": (np.median(np.median(gp["half"][level], axis=1) / np.median(half[level], axis=1)),),
        }
    return columns


def told(x: np.ndarray, digits: int) -> Content:
    """The median of the seeds, with their range where it shows in so many significant digits."""
    ends = {f"{v:.{digits}g}" for v in (x.min(), x.max())}
    return (np.median(x),) if len(ends) == 1 else (np.median(x), x.min(), x.max())


def ladder(con: duckdb.DuckDBPyConnection) -> Columns:
    cert = certificate_points(con, "global", "certificate")
    columns: Columns = {"m": {f"m {m:g}": (m,) for m in RUNGS} | {"ends": ("2 / 1.01",)}}
    for level, ball in cert.items():
        names = [f"rel {level:g} {word}" for word in ("half", "premium", "tightening", "coverage")]
        columns |= {name: {"ends": ()} for name in names}
        for m in RUNGS:
            half, error = (x[level] for x in rung(con, m))
            tight = np.median(np.median(ball, axis=1) / np.median(half, axis=1))
            for name, v in zip(
                names, (over_seeds(half), over_seeds(half / error), tight, np.mean(error <= half)), strict=True
            ):
                columns[name][f"m {m:g}"] = (v,)
        wide, narrow = (np.median(rung(con, m)[0][level], axis=1) for m in (2.0, 1.01))
        columns[names[0]]["ends"] = (np.median(wide / narrow),)
    return columns


TABLES = {
    "A": lambda con: accuracy(con, 24.0), "A16": lambda con: accuracy(con, 16.0), "Astab": stability, "Afloor": repetitions,
    "Aport": portability, "Acert": certificates, "Aladder": ladder,
}  # fmt: skip

"""Case A of the made-up database: rules, floor, portability and certificates."""

from __future__ import annotations

import numpy as np
from synthetic_store import Store, rng

from orledger.runners.cells import Cell
from orledger.runners.records import CellResult

LEVELS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
LAM2 = (1.49e4, 500.0, 50.0, 5.0, 0.5, 0.05, 0.005)
RUNGS = (1.01, 1.05, 1.1, 1.5, 2.0)


def case_a(store: Store, *, seeds: int, points: int, cert_levels: tuple[float, ...], settings: dict[str, str]) -> None:
    """Blocks rules, floor, portability and certificates."""
    for grid in (24, 16):
        for level in LEVELS:
            for seed in range(1, seeds + 1):
                store.add(
                    Cell("a", "rules", {"grid": grid, "level": level, "seed": seed}, settings),
                    a_rules(grid, level, seed, 0.0),
                )
        for backend in ("same_process", "float32", "ulp"):
            for repeat in range(3):
                result = CellResult()
                solve_curve(
                    result,
                    grid,
                    0.0,
                    rng("floor", grid, backend, repeat if backend != "same_process" else 0),
                    1.0 if backend != "same_process" else 0.0,
                )
                store.add(
                    Cell("a", "floor", {"grid": grid, "level": 0.0, "backend": backend, "repeat": repeat}, settings),
                    result,
                )
    moved = CellResult()
    moved.scalar("unperturbed", "rmse", 0.02)
    moved.series("perturbed", "rmse", [0.031, 0.0096, 0.169, 0.05])
    store.add(Cell("a", "perturbation", {"grid": 16, "level": 0.0, "seed": 1}), moved)
    for level in LEVELS[1:]:
        for seed in range(1, seeds + 1):
            for backend, jitter in (("float64", 0.0), ("float32", 0.2)):
                store.add(
                    Cell("a", "portability", {"grid": 24, "level": level, "seed": seed, "backend": backend}, settings),
                    a_rules(24, level, seed, jitter),
                )
    for level in cert_levels:
        for seed in range(1, 4):
            store.add(
                Cell("a", "certificates", {"grid": 24, "level": level, "seed": seed}, settings),
                a_certificates(level, seed, points),
            )


def solve_curve(
    result: CellResult, grid: int, level: float, g: np.random.Generator, spread: float, moved: np.ndarray | float = 1.0
) -> np.ndarray:
    """The lambda_2 sweep of one cell, written into ``result``; returns the RMSE at each weight."""
    lam = np.array(LAM2)
    base = 4e-4 if grid == 24 else 1.6e-2
    rmse = base + 40 * level * lam ** (0.25) + 2e-3 * (0.005 / lam) ** 0.3 * (1 + level * 1e3) ** 0.3
    rmse = (
        rmse
        * np.exp(0.3 * g.standard_normal(7) * (1.0 if level else 0.0) + 0.05 * spread * g.standard_normal(7))
        * moved
    )
    misfit = 0.05 + 700 * level * 24 * lam ** (-0.15) * np.exp(0.02 * g.standard_normal(7))
    values = {
        "lam2": lam,
        "rmse": rmse,
        "rmse_best": rmse * 0.97,
        "misfit": misfit,
        "norm": 25 * lam**0.01,
        "epochs": np.full(7, 120.0),
        "nugget": 1e-6 / lam,
        "gcv": misfit**2 / lam**0.1,
        "ml2_unit": 100 - np.log(lam),
        "ml2_profiled": 90 - np.log(lam),
    }
    for metric, v in values.items():
        result.series("solve", metric, v)
    return rmse


def a_rules(grid: int, level: float, seed: int, jitter: float) -> CellResult:
    """One cell of the rules or portability block."""
    result = CellResult(backend="cpu/float32" if jitter else "cpu/float64")
    weights = np.array([8, 4, 2, 1, 1, 1, 1]) / 4  # large data-fit weights are the fragile ones
    moved = np.exp(jitter * rng("jitter", grid, level, seed).standard_normal(7) * weights)
    rmse = solve_curve(result, grid, level, rng("rules", grid, level, seed), 0.0, moved)
    oracle = int(np.argmin(rmse))
    step = min(6, oracle + int(rng("step", grid, level, seed).integers(0, 2))) if level else 0
    pinned = level < 1e-3
    picks = {
        "released": 0,
        "morozov": step,
        "ml2": 0 if pinned else 4,
        "gcv": 0 if pinned else 2,
        "lcurve": 4 if seed % 2 else 5,
        "oracle": oracle,
    }
    for rule, k in picks.items():
        result.scalar(rule, "lam2", LAM2[k])
        result.scalar(rule, "lam2_index", k)
        result.scalar(rule, "rmse", rmse[k])
        result.scalar(rule, "oracle_ratio", rmse[k] / rmse[oracle])
    sigma = level * (678.4431 if grid == 24 else 692.0062)
    for metric, v in (
        ("std_f", sigma / level if level else 678.4431),
        ("sigma", sigma),
        ("eta", sigma * grid),
        ("noise_norm", sigma * grid * 0.99),
        ("noise_exceeds_eta", 0),
    ):
        result.scalar("cell", metric, v)
    return result


def a_certificates(level: float, seed: int, points: int) -> CellResult:
    """One cell of the certificate block; every number at every point."""
    result, g = CellResult(), rng("cert", level, seed)
    side = np.linspace(0.05, 0.95, round(points**0.5))
    x, y = (a.ravel() for a in np.meshgrid(side, side, indexing="ij"))
    n = x.size
    scale = 1e-3 + level
    error = np.abs(g.standard_normal(n)) * 0.3 * scale
    truth = np.sin(np.pi * x) * np.sin(np.pi * y)
    radius = (0.015 if level == 0 else 2800 * level) * np.exp(0.1 * g.standard_normal(n)) + 4 * error
    for metric, v in (
        ("x", x),
        ("y", y),
        ("ring", np.minimum.reduce([x, y, 1 - x, 1 - y])),
        ("truth", truth),
        ("recovery", truth + error),
        ("error", error),
    ):
        result.series("point", metric, v)
    for label, short in ((None, 1 - 1e-13), ("grid97", 0.99999), ("paper", 1 - 1e-13)):
        result.series("global", "radius", radius, label=label)
        result.series("global", "certificate", radius * short, label=label)
        result.series("global", "mu", np.full(n, 1e3), label=label)
    for m in RUNGS:
        half = radius * np.sqrt(m * m - 1) * (1.0 if level == 0 else 0.03)
        for metric, v in (
            ("mid", truth),
            ("half", half),
            ("lower", truth - half),
            ("upper", truth + half),
            ("gap", np.full(n, 1e-12)),
            ("error", error * 0.3),
        ):
            result.series("conditional", metric, v, label=f"m={m}")
        result.scalar("conditional", "coverage", float(np.mean(error * 0.3 <= half)), label=f"m={m}")
    gp = np.full(n, 0.0015 if level == 0 else 400 * level)
    for metric, v in (
        ("mean", truth + 2 * error),
        ("half", gp),
        ("error", np.where(np.arange(n) % 6 == 0, 2 * gp, error) if level else error),
    ):
        result.series("gp_band", metric, v)
    for metric, v in (
        ("rho_oc", 25.03 - 1000 * level),
        ("eps_hat", 25.05 - 6000 * min(level, 1e-3)),
        ("delta_num", 3.7e-6),
        ("misfit", 16.0 * level),
        ("lam2", 0.05),
        ("std_f", 678.4431),
        ("sigma", 678.4431 * level),
        ("eta", 16282.6 * level),
        ("noise_norm", 16282.6 * level),
        ("noise_exceeds_eta", seed % 2 if level else 0),
    ):
        result.scalar("cell", metric, v)
    return result

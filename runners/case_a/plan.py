"""The plan of Case A: its named settings, and the jobs of a preset's ``a`` table. Imports no torch.

A cell holds the solves of one data set at every weight of the grid, run as one batch; on a CPU a run's bits do not depend on
the size of its batch, and the grid is among the cell's settings in any case. A job is one cell, except in the floor block, where the
repetitions of one way of repeating share a job: "in the same process" then means what it says on every engine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.runners.case_a.names import BACKENDS, FLOOR_BACKENDS, FORCING_NAMES
from orledger.runners.cells import Cell, Job
from orledger.runners.settings import Setting, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SOLVER = (
    Setting(
        "lam2_grid", [14900.0, 500.0, 50.0, 5.0, 0.5, 0.05, 0.005], True, "Data-fit weights; the released one first."
    ),
    Setting("inducing", {"16": 22, "24": 30}, True, "Inducing points per side for each collocation grid."),
    Setting("rank", 10, True, "Terms of the tensor decomposition.", low=1),
    Setting("epochs", 120, True, "Largest number of epochs; an epoch updates factor 0, then factor 1.", low=1),
    Setting("test_points", 60, True, "Points per side of the closed test grid.", low=1),
    Setting(
        "init_seed", 0, True, "Seed of the initial factors, uniform on [0, 1), from NumPy's Mersenne Twister.", low=0
    ),
    Setting("log_length", -2.311, False, "Logarithm of the kernel's length scale, from the released configuration."),
    Setting("jitter", 23.5, False, "exp(-jitter) is added to the kernel matrix of the inducing points."),
    Setting("lam1", 700000100.0, False, "Boundary weight; nearby values reproduce the printed numbers as well.", low=0),
    Setting(
        "tol",
        1e-6,
        False,
        "A run stops when the summed relative change of both factors in an epoch is below this.",
        low=0,
    ),
    Setting(
        "linearisation",
        "newton",
        False,
        "How u^3 is linearised about the current iterate before each factor update: newton (3 u0^2 u - 2 u0^3) or frozen (u0^2 u).",
        ("newton", "frozen"),
    ),
)
DATA = (
    Setting("forcing", "two_sines", True, "The forcing, named by its exact solution.", FORCING_NAMES),
    Setting(
        "noise_stream",
        "per_seed",
        False,
        "Noise draws: per_seed takes NumPy's default generator at the noise seed, shared by all levels up to scale; per_cell "
        "gives every (grid, level, seed) its own stream. The paper names no generator.",
        ("per_seed", "per_cell"),
    ),
)
RULES = (
    Setting(
        "ml2_scale",
        "unit",
        False,
        "Scale of the marginal likelihood behind the default ML-II arm.",
        ("unit", "profiled"),
    ),
    Setting(
        "lcurve_corner", "menger", False, "Definition of the default L-curve corner.", ("menger", "gradient", "chord")
    ),
    Setting(
        "lcurve_scale", "log", False, "Axes on which the corner is sought: logarithms or plain.", ("log", "linear")
    ),
)
CERTIFICATES = (
    Setting("rungs", [1.01, 1.05, 1.1, 1.5, 2.0], True, "Inflations of the Occam radius."),
    Setting("cert_side", 12, True, "Evaluation points per side.", low=1),
    Setting(
        "cert_low",
        0.05,
        False,
        "First coordinate of the evaluation grid; the paper's distance of the outer ring.",
        low=0,
        high=1,
    ),
    Setting("cert_high", 0.95, False, "Last coordinate of the evaluation grid.", low=0, high=1),
    Setting(
        "cert_solve",
        "morozov",
        False,
        "The solve whose final iterate is linearised about: the one Morozov selects, or the released weight.",
        ("morozov", "released"),
    ),
    Setting(
        "cert_form",
        "features",
        False,
        "Factorisation behind the certificates: features (the kernel's own expansion, ten digits without noise) or gram (the "
        "Gram matrix, whose rounding moves the noise-free medians by up to 1.5 percent). The paper does not name its own.",
        ("features", "gram"),
    ),
    Setting("gp_z", 1.96, False, "Posterior standard deviations in the half-width of the credible band.", low=0),
    Setting(
        "gp_scale",
        "profiled",
        False,
        "Scale of the credible band: ML-II profiled at its nugget, or 1.",
        ("profiled", "unit"),
    ),
    Setting(
        "paper_radii",
        {"24": {"0.0": [25.0494, 0.0], "0.001": [18.957, 16.2826]}},
        True,
        "Printed radius and budget per grid and noise level; the certificate is also given with these.",
    ),
)
PERTURBATION = (
    Setting(
        "perturbations",
        60,
        False,
        "Draws of the perturbation block; each moves every datum to a neighbouring float64, up or down.",
        low=1,
    ),
)
SETTINGS = SOLVER + DATA + RULES + CERTIFICATES + PERTURBATION

# Axes of each block, in the order in which cells are enumerated; the axis becomes the key with the same name, less its s.
AXES = {
    "rules": ("grids", "levels", "seeds"),
    "certificates": ("grids", "levels", "seeds"),
    "floor": ("grids", "backends"),
    "portability": ("grids", "levels", "seeds", "backends"),
    "init": ("grids", "levels", "seeds", "inits"),
    "forcing": ("grids", "levels", "seeds", "forcings"),
    "seeds": ("grids", "levels", "seeds"),
    "rank": ("grids", "levels", "seeds", "ranks"),
    "perturbation": ("grids", "levels", "seeds"),
}
OWN = {"floor": (), "certificates": CERTIFICATES, "perturbation": PERTURBATION}
BLOCK_SETTINGS = {block: SOLVER + DATA + OWN.get(block, RULES) for block in AXES}
# A key that takes the place of a setting, so that the setting is left out of the cell.
REPLACED = {"init": "init_seed", "forcing": "forcing", "rank": "rank"}
KINDS: dict[str, type] = {
    "grids": int, "levels": float, "seeds": int, "backends": str, "inits": int, "forcings": str, "ranks": int
}  # fmt: skip


def plan(table: Mapping[str, Any], where: str) -> list[Job]:
    """The jobs of the ``a`` table of a preset, block by block in the order of ``AXES``."""
    values = resolve(SETTINGS, table.get("settings", {}), f"{where}.settings")
    _check(values, f"{where}.settings")
    for block in table:
        if block != "settings" and block not in AXES:
            raise UsageError(f"{where}.{block}: unknown block", hint=f"known blocks: {', '.join(AXES)}")
    jobs: list[Job] = []
    for block in AXES:
        if block in table:
            jobs += _block(block, table[block], values, f"{where}.{block}")
    return jobs


def _block(block: str, axes: Any, values: Mapping[str, Any], where: str) -> list[Job]:
    if not isinstance(axes, dict):
        raise UsageError(f"{where}: expected a table, found {type(axes).__name__}")
    for axis in axes:
        if axis not in AXES[block]:
            raise UsageError(f"{where}.{axis}: unknown axis", hint=f"axes of {block}: {', '.join(AXES[block])}")
    if block == "floor":
        return _floor(axes, values, where)
    points: list[dict[str, Any]] = [{}]
    for axis in AXES[block]:
        chosen = _axis(axes, axis, where)
        points = [{**p, axis.removesuffix("s"): v} for p in points for v in chosen]
    return [Job((_cell(block, keys, values, where),)) for keys in points]


def _floor(axes: Mapping[str, Any], values: Mapping[str, Any], where: str) -> list[Job]:
    """One job per (grid, backend) with as many repetitions as the table says; always without noise."""
    repeats = axes.get("backends")
    if not isinstance(repeats, dict) or not repeats:
        raise UsageError(
            f"{where}.backends: expected a table backend = repetitions", hint=f"backends: {', '.join(FLOOR_BACKENDS)}"
        )
    jobs = []
    for grid in _axis(axes, "grids", where):
        for backend, count in repeats.items():
            if backend not in FLOOR_BACKENDS:
                raise UsageError(f"{where}.backends: unknown {backend!r}", hint=f"one of {', '.join(FLOOR_BACKENDS)}")
            if type(count) is not int or count < 1:
                raise UsageError(f"{where}.backends.{backend}: expected a number of repetitions, found {count!r}")
            keys = [{"grid": grid, "level": 0.0, "backend": backend, "repeat": k} for k in range(count)]
            jobs.append(Job(tuple(_cell("floor", k, values, where) for k in keys)))
    return jobs


def _cell(block: str, keys: dict[str, Any], values: Mapping[str, Any], where: str) -> Cell:
    """The cell of ``keys`` with the settings its numbers depend on, and only those."""
    settings = {s.name: values[s.name] for s in BLOCK_SETTINGS[block] if s.name != REPLACED.get(block)}
    grid = keys["grid"]
    if str(grid) not in values["inducing"]:
        raise UsageError(
            f"{where}: no number of inducing points for the grid {grid}",
            hint=f'settings.inducing has {", ".join(values["inducing"])}; add "{grid}"',
        )
    settings["inducing"] = values["inducing"][str(grid)]
    if keys.get("level") == 0:
        del settings["noise_stream"]
    if block == "certificates":
        radii = settings.pop("paper_radii").get(str(grid), {}).get(str(keys["level"]))
        if radii:
            settings["paper_radius"] = radii
    return Cell("a", block, keys, settings, gpu=True)


def _axis(axes: Mapping[str, Any], name: str, where: str) -> list[Any]:
    """The axis ``name``: a non-empty list of distinct values of its type."""
    kind, found = KINDS[name], axes.get(name)
    if not isinstance(found, list) or not found:
        raise UsageError(f"{where}.{name}: expected a non-empty list, found {found!r}")
    values: list[Any] = [float(v) if kind is float and type(v) is int else v for v in found]
    allowed: Iterable[Any] | None = {"backends": BACKENDS, "forcings": FORCING_NAMES}.get(name)
    for v in values:
        if type(v) is not kind or (allowed is not None and v not in allowed):
            raise UsageError(
                f"{where}.{name}: expected {'one of ' + ', '.join(allowed) if allowed else kind.__name__}, found {v!r}"
            )
    # With fewer than two points per side the boundary has no points, and the problem no boundary condition.
    lowest = {"grids": 2, "ranks": 1}.get(name, 0)
    for v in values:
        if kind is not str and not (math.isfinite(v) and v >= lowest):
            raise UsageError(f"{where}.{name}: {v!r} is out of range: a finite number, at least {lowest}")
    if len(set(values)) != len(values):
        raise UsageError(f"{where}.{name}: a value occurs twice in {values!r}")
    return values


def _check(values: Mapping[str, Any], where: str) -> None:
    """Settings whose parts the declaration cannot describe: lists of positive numbers, and the tables by grid and level."""
    for name, low in (("lam2_grid", 0.0), ("rungs", 1.0)):
        if not values[name] or any(type(v) not in (int, float) or v <= low for v in values[name]):
            raise UsageError(f"{where}.{name}: expected numbers above {low:g}, found {values[name]!r}")
    for grid, count in values["inducing"].items():
        if not grid.isdecimal() or type(count) is not int or count < 2:
            raise UsageError(f'{where}.inducing: expected "grid" = points, found {grid!r} = {count!r}')
    for grid, by_level in values["paper_radii"].items():
        if not isinstance(by_level, dict) or any(not isinstance(p, list) or len(p) != 2 for p in by_level.values()):
            raise UsageError(f'{where}.paper_radii.{grid}: expected "level" = [radius, budget], found {by_level!r}')

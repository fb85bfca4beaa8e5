"""The cells of Case C: which trajectories a preset asks for, and every setting their numbers depend on."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.runners.case_c.budgets import BUDGET_SETTINGS, BUDGETS
from orledger.runners.case_c.objectives import BENCHMARKS, FIXED_DIMENSION, check_dimension
from orledger.runners.cells import Cell, Job
from orledger.runners.settings import Setting, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SETTINGS = (
    Setting("evaluations", 23, True, "Evaluations per trajectory, the initial design included (block deep has its own)", low=1),
    Setting("initial", 5, True, "Points of the initial design", low=2),
    Setting("initial_design", "sobol", False, "How they are drawn", ("sobol", "uniform")),
    Setting("candidates", 2500, True, "Size of the scrambled Sobol cloud that every acquisition chooses from", low=1),
    Setting("cloud", "own", False, "A cloud for each objective, dimension and seed, so that these are independent, or one per dimension", ("own", "one")),
    Setting("remove_evaluated", True, False, "Whether an evaluated candidate leaves the candidate set"),
    Setting("box_branin", [-3.0, 3.0], False, "Box of Branin in each coordinate; its regrets match the paper's, botorch's do not"),
    Setting("box_hartmann", [0.0, 1.0], False, "Box of Hartmann-6 in each coordinate"),
    Setting("box_griewank", [-512.0, 512.0], False, "Box of Griewank in each coordinate; the paper's regrets do not decide it"),
    Setting("box_ackley", [-10.0, 10.0], False, "Box of Ackley in each coordinate; the paper's regrets rule botorch's out"),
    Setting("box_levy", [-5.0, 5.0], False, "Box of Levy in each coordinate; the paper's regrets rule botorch's out"),
    Setting("mixtures", 3, True, "Components Q of the kernel (block mixtures has its own); the released code uses 7", low=1),
    Setting("alpha_cap", 1.99, False, "Largest starting alpha: the nominal 2 has an infinite raw parameter"),
    Setting("means_spread", 0.01, False, "Standard deviation of the random starting spectral means", low=0),
    Setting("standardise_ddof", 1, False, "Data are scaled by a standard deviation with divisor n minus this", low=0, high=1),
    Setting("fit_budget", "near-initial", False, "Fit budget outside the budget block; near-initial is nearest to the paper", BUDGETS),
    Setting("near_initial_steps", 2, False, "Warm-started Adam steps before each acquisition at budget near-initial", low=0),
    Setting("moderate_steps", 20, False, "Warm-started Adam steps before each acquisition at budget moderate", low=0),
    Setting("adam_rate", 0.01, False, "Step size of Adam on the raw parameters", low=0, inside=True),
    Setting("converged_iterations", 200, False, "Most L-BFGS-B iterations before each acquisition at budget converged", low=1),
    Setting("converged_tolerance", 1e-4, False, "Largest gradient entry, per datum, at which a converged fit stops", low=0),
    Setting("converged_evaluations", 2000, False, "Most evaluations of the likelihood in one converged fit", low=1),
    Setting("converged_bound", 20.0, False, "Raw parameters of a converged fit stay within this of zero: beyond it the constrained ones no longer change in float64", low=0, inside=True),
    Setting("ucb_beta", 0.2, True, "UCB minimises m - sqrt(beta) sd", low=0),
    Setting("ei_form", "plain", False, "Expected improvement itself, which is zero from about 38 standard deviations below the best value, or its logarithm", ("plain", "log")),
    Setting("occam_centre", "fitted-mean", False, "What is subtracted from the data before the Occam radius", ("fitted-mean", "zero")),
    Setting("shape_start", 0.01, False, "First amplitude of the shape schedule's distance term, over the mean certified width", low=0, inside=True),
    Setting("shape_growth", 2.0, False, "Factor between the amplitudes the shape schedule tries", low=1, inside=True),
    Setting("shape_margin", 10.0, False, "How many times over the shape schedule breaks the margin condition", low=0),
)  # fmt: skip

# Settings every cell depends on; the box, the fit budget and the schedule add theirs.
COMMON = (
    "initial", "initial_design", "candidates", "cloud", "remove_evaluated", "alpha_cap", "means_spread",
    "standardise_ddof", "ucb_beta", "occam_centre",
)  # fmt: skip
SCHEDULE = ("shape_start", "shape_growth", "shape_margin")
VARIANTS = ("again", "process", "perturb-1e-12", "perturb-1e-10")

SEEDS = list(range(7))
# Axes of each block with the values used where a preset does not give them.
BLOCKS: dict[str, dict[str, list[Any]]] = {
    "main": {"benchmarks": list(BENCHMARKS), "seeds": SEEDS},
    "budget": {"benchmarks": list(BENCHMARKS), "seeds": SEEDS, "budgets": ["moderate", "converged"]},
    "determinism": {"benchmarks": list(BENCHMARKS), "seeds": SEEDS, "variants": list(VARIANTS)},
    "deep": {"benchmarks": list(BENCHMARKS), "seeds": SEEDS, "evaluations": [50]},
    "dimension": {"benchmarks": list(BENCHMARKS), "seeds": SEEDS, "dims": [2, 5, 10]},
    "mixtures": {"benchmarks": list(BENCHMARKS), "seeds": SEEDS, "mixtures": [1, 3, 7]},
    "schedule": {"benchmarks": list(BENCHMARKS), "seeds": SEEDS},
}
KINDS: dict[str, type] = {
    "benchmarks": str, "seeds": int, "budgets": str, "variants": str, "evaluations": int, "dims": int, "mixtures": int,
}  # fmt: skip
ALLOWED = {"benchmarks": tuple(BENCHMARKS), "budgets": BUDGETS, "variants": VARIANTS}


def plan(table: Mapping[str, Any], where: str) -> list[Job]:
    """All jobs of the case in plan order: one per cell, except that the determinism cells of a benchmark run together."""
    unknown = sorted(set(table) - set(BLOCKS) - {"settings"})
    if unknown:
        raise UsageError(
            f"{where}: unknown block {unknown[0]!r}", hint=f"expected settings or one of {', '.join(BLOCKS)}"
        )
    values = resolve(SETTINGS, table.get("settings", {}), f"{where}.settings")
    _check_settings(values, f"{where}.settings")
    jobs: list[Job] = []
    for block in BLOCKS:
        if block not in table:
            continue
        axes = _axes(block, table[block], f"{where}.{block}")
        for benchmark in axes["benchmarks"] if block == "dimension" else ():
            check_dimension(benchmark, max(axes["dims"]), f"{where}.{block}")
        cells = list(_cells(block, axes, values))
        if block == "determinism":
            # One fresh process serves a whole benchmark; the reference trajectories are computed once for all variants.
            jobs.extend(Job(tuple(c for c in cells if c.keys["benchmark"] == b)) for b in axes["benchmarks"])
        else:
            jobs.extend(Job((cell,)) for cell in cells)
    return jobs


def _cells(block: str, axes: Mapping[str, list[Any]], values: Mapping[str, Any]) -> Iterator[Cell]:
    for benchmark in axes["benchmarks"]:
        dims = [BENCHMARKS[benchmark]]
        if block == "dimension":
            # Branin and Hartmann do not exist below their own dimension; above it they are embedded.
            dims = [d for d in axes["dims"] if d >= FIXED_DIMENSION.get(benchmark, 1)]
        for dim, seed, budget, evaluations, mixtures in product(
            dims,
            axes["seeds"],
            axes.get("budgets", [values["fit_budget"]]),
            axes.get("evaluations", [values["evaluations"]]),
            axes.get("mixtures", [values["mixtures"]]),
        ):
            keys = {
                "benchmark": benchmark,
                "dim": dim,
                "seed": seed,
                "budget": budget,
                "evaluations": evaluations,
                "mixtures": mixtures,
            }
            names = (*COMMON, f"box_{benchmark}", *BUDGET_SETTINGS[budget], *(SCHEDULE if block == "schedule" else ()))
            settings = {name: values[name] for name in names}
            if values["ei_form"] != "plain":  # without it a cell is the one it was before there was a choice
                settings["ei_form"] = values["ei_form"]
            for variant in axes.get("variants", [None]):
                yield Cell("c", block, keys if variant is None else keys | {"variant": variant}, settings, gpu=True)


def _axes(block: str, given: Any, where: str) -> dict[str, list[Any]]:
    """The axes of a block with the preset's values in place of the defaults, each checked."""
    known = BLOCKS[block]
    if not isinstance(given, dict):
        raise UsageError(f"{where}: expected a table, found {given!r}", hint=f"its keys are {', '.join(known)}")
    for name, values in given.items():
        if name not in known:
            raise UsageError(f"{where}: unknown axis {name!r}", hint=f"expected {', '.join(known)}")
        kind = KINDS[name]
        if not isinstance(values, list) or not values or any(type(v) is not kind for v in values):
            raise UsageError(f"{where}.{name}: expected a list of {kind.__name__}, found {values!r}")
        if len(set(values)) != len(values):
            raise UsageError(f"{where}.{name}: a value occurs twice in {values!r}")
        for value in values:
            if name in ALLOWED and value not in ALLOWED[name]:
                raise UsageError(f"{where}.{name}: {value!r} is unknown", hint=f"one of {', '.join(ALLOWED[name])}")
            if kind is int and value < (0 if name == "seeds" else 1):
                raise UsageError(f"{where}.{name}: {value} is out of range")
    return {**known, **given}


def _check_settings(values: Mapping[str, Any], where: str) -> None:
    """Nothing, or an error naming the first value out of its range."""
    for name in BENCHMARKS:
        box = values[f"box_{name}"]
        if len(box) != 2 or not all(isinstance(v, (int, float)) for v in box) or not box[0] < box[1]:
            raise UsageError(f"{where}.box_{name}: expected [low, high] with low < high, found {box!r}")
    if values["evaluations"] <= values["initial"] or values["initial"] < 2:
        raise UsageError(
            f"{where}: evaluations = {values['evaluations']} and initial = {values['initial']}",
            hint="a trajectory needs at least two initial points and one step after them",
        )
    if not 1.0 <= values["alpha_cap"] < 2.0:
        raise UsageError(f"{where}.alpha_cap: {values['alpha_cap']} is outside [1, 2)", hint="at 2 no fit can start")

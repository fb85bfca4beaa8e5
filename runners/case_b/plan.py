"""The plan of Case B: its named settings, and the jobs of a preset's ``b`` table.

A job holds the cells whose nets are trained as one batch: all planned cells of one (dataset, regime) in the main
block, of one dataset in the ablation, and all gap cells (every scale mode evaluates the same nets). Batched arithmetic may
round differently in a batch of another size, so the composition of the job is hashed into the settings of each of its
cells (``batch``): the same keys in another company are another cell, and no record depends on anything its cell's id
does not name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.runners.case_b.names import DATASETS, EXTRA_ARMS, REGIMES, SCALES, SPLIT_OPTIONS
from orledger.runners.cells import Cell, Job, digest
from orledger.runners.settings import Setting, resolve, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = (
    Setting("california_rows", 1500, True, "Rows of the california table that are used.", low=10),
    Setting(
        "california_seed", 0, False, "Seed of NumPy's default generator that draws them without replacement.", low=0
    ),
    Setting("max_levels", 20, True, "A target with this many levels or fewer is categorical and refused.", low=0),
    Setting("min_distinct", 50, True, "The audit asks for at least this many distinct targets.", low=0),
    Setting("min_r2", 0.05, True, "The audit asks for a random-forest R2 above this, folds in file order."),
    Setting("folds", 5, True, "Folds of the audit's cross-validation.", low=2),
    Setting("rf_trees", 100, False, "Trees of the audit's random forest.", low=1),
    Setting("rf_state", 0, False, "Random state of the audit's forest and of its shuffled folds.", low=0),
)
SPLIT = (
    Setting("shift_train_end", "low", False, "Which end of the ranking trains under shift.", ("low", "high")),
    Setting(
        "shiftcol_column",
        8,
        False,
        "Zero-based column of the shiftcol ranking; with diabetes and the low end, one of two columns that leave the "
        "printed share of test rows inside the training box.",
        low=0,
    ),
    Setting(
        "wide_scouts",
        0.1,
        False,
        "Share of rows that only fit the direction of the wide shift and are then left out.",
        low=0,
        high=1,
        inside=True,
    ),
    Setting("wide_ridge", 1.0, False, "Ridge penalty of the direction that the scouts fit.", low=0),
)
TRAIN = (
    Setting("precision", "float64", False, "Floating-point type of training.", ("float64", "float32")),
    Setting("hidden", [64, 32, 16], False, "Widths of the extractor; ReLU after the first two."),
    Setting("coordinates", 8, False, "Coordinates of the embedding, each with its own activation.", low=1),
    Setting("depth", 3, False, "Dyadic depth of the inducing grid: 2^depth - 1 points per coordinate.", low=1),
    Setting("grid_low", -10.0, False, "Lower end of the interval that holds the inducing grid."),
    Setting("grid_high", 10.0, False, "Upper end of the interval that holds the inducing grid."),
    Setting(
        "scale_margin",
        0.95,
        False,
        "The embedding is scaled to this share of the interval, as ScaleToBounds does.",
        low=0,
        high=1,
    ),
    Setting(
        "clamp_embedding", True, False, "Rows outside the frozen range are moved to its ends, as the release does."
    ),
    Setting(
        "epochs",
        80,
        False,
        "Passes over the training rows; with the other training settings, one of about 38 that were tried on diabetes, near the paper there.",
        low=1,
    ),
    Setting("batch_size", 32, False, "Rows per minibatch; the last, shorter one is kept.", low=1),
    Setting("learning_rate", 0.01, False, "Adam's step size.", low=0, inside=True),
    Setting("weight_decay", 0.0005, False, "L2 penalty of Adam on every parameter.", low=0),
    Setting(
        "fit_kl", False, False, "Whether the fit-split net keeps the KL term; false makes it the released learner."
    ),
    Setting("nets_per_batch", 32, False, "Nets trained in lockstep; part of the composition of a batch.", low=1),
)
STOPPING = (
    Setting(
        "stopping",
        "none",
        False,
        "none: every net trains for all its epochs, as in the paper; validation: it keeps the epoch that rows held out from its own "
        "training rows prefer, by their mean negative log density.",
        ("none", "validation"),
    ),
    Setting(
        "validation_share", 0.15, False, "Share of a net's rows that validation holds out.", low=0, high=1, inside=True
    ),
    Setting(
        "validation_noise",
        1.0,
        False,
        "Noise level a validated net starts from, in sd of its targets; starting below, the score would wait for the noise to be "
        "learned and pass over the epochs with the best centre.",
        low=0,
        inside=True,
    ),
    Setting("validation_every", 5, False, "Epochs between two looks at the held-out rows.", low=1),
    Setting(
        "validation_patience",
        20,
        False,
        "Looks without improvement after which a net stops; epochs is the limit.",
        low=1,
    ),
)
BANDS = (
    Setting("level", 0.95, True, "Nominal level of the conformal order statistic.", low=0, high=1, inside=True),
    Setting("alpha", 0.05, True, "Level of the interval score.", low=0, high=1, inside=True),
    Setting("z", 1.96, True, "Multiple of the noise in the network's band and in the observation allowance.", low=0),
)
HEAD = (
    Setting(
        "dead_sd", 1e-6, True, "Feature columns with a smaller standard deviation on the fit rows are dead.", low=0
    ),
    Setting(
        "kappa_method",
        "grid",
        True,
        "How the delivered radius is calibrated: the paper's grid, or the exact score; the other is recorded beside it.",
        ("grid", "exact"),
    ),
    Setting(
        "gap_tolerance",
        1e-6,
        True,
        "Relative primal-dual gap above which the guard substitutes the global certificate.",
        low=0,
    ),
    Setting(
        "guard_factor",
        5.0,
        True,
        "The guard fires when |mid - ridge| exceeds half + this times max(1, max |y|).",
        low=0,
    ),
    Setting(
        "cap", 20.0, True, "Half-widths above this many standard deviations of the fit targets count as tail.", low=0
    ),
)
WATERFILL = (
    Setting(
        "hint_epoch",
        5,
        True,
        "Epoch whose noise level is the hint of the water-filling prior, set right after it.",
        low=1,
    ),
    Setting(
        "waterfill_radius",
        1.0,
        False,
        "Radius rho of the ellipsoid of the water-filling prior, in sd of the targets.",
        low=0,
        inside=True,
    ),
    Setting(
        "waterfill_floor", 1e-4, False, "Smallest prior variance the water-filling prior assigns to a column.", low=0
    ),
    Setting(
        "oracle_floor", 1e-3, False, "Noise hint of or2_oracle when no noise was injected, in sd of the targets.", low=0
    ),
)
EXTRA = (
    Setting("extra_arms", [], False, "Further arms of the main block: wcp, cp_centre."),
    Setting(
        "wcp_penalty",
        1.0,
        False,
        "Inverse penalty C of the logistic classifier behind the likelihood ratios.",
        low=0,
        inside=True,
    ),
    Setting("wcp_clip", 0.01, False, "Classifier probabilities are kept this far from 0 and 1.", low=0, high=0.5),
    Setting("centre_ridge", 0.01, False, "Ridge penalty of the reweighted last layer of cp_centre.", low=0),
)
GAP = (
    Setting("gap_truth", "sin(2x) + 0.3 x^2", False, "The truth of the gap task.", ("sin(2x) + 0.3 x^2",)),
    Setting("gap_side", 25, False, "Design points on each of [-3, -1] and [1, 3], equally spaced.", low=2),
    Setting("gap_calibration", 13, True, "Calibration points among the design points.", low=1),
    Setting("gap_noise", 0.1, True, "Standard deviation of the noise on the design points.", low=0),
    Setting("gap_grid", 300, False, "Points of the evaluation grid on [-4, 4].", low=1),
)
SETTINGS = DATA + SPLIT + TRAIN + STOPPING + BANDS + HEAD + WATERFILL + EXTRA + GAP

BLOCK_SETTINGS = {
    "audit": DATA,
    "peers": DATA + SPLIT,
    "main": DATA + SPLIT + TRAIN + STOPPING + BANDS + HEAD + WATERFILL + EXTRA,
    "ablation": DATA + SPLIT + TRAIN + STOPPING + BANDS + HEAD,
    "gap": TRAIN + STOPPING + BANDS + HEAD + GAP,
}
BLOCK_AXES = {
    "audit": ("datasets",),
    "peers": ("datasets", "regimes", "seeds", "rel", "rel_of"),
    "main": ("datasets", "regimes", "seeds", "rel", "rel_of", "single"),
    "ablation": ("datasets", "seeds", "rel", "rel_of"),
    "gap": ("seeds", "scales"),
}


def plan(table: Mapping[str, Any], where: str) -> list[Job]:
    """The jobs of the ``b`` table of a preset, in the order audit, peers, main, ablation, gap."""
    values = resolve(SETTINGS, table.get("settings", {}), f"{where}.settings")
    unknown_arms = sorted(set(values["extra_arms"]) - set(EXTRA_ARMS))
    if unknown_arms:
        raise UsageError(
            f"{where}.settings.extra_arms: unknown arm {unknown_arms[0]!r}", hint=f"known: {', '.join(EXTRA_ARMS)}"
        )
    if values["hint_epoch"] > values["epochs"]:
        raise UsageError(
            f"{where}.settings.hint_epoch is {values['hint_epoch']}, after the last of {values['epochs']} epochs",
            hint="the water-filling prior would never be set; lower hint_epoch or train longer",
        )
    if values["stopping"] == "validation" and values["epochs"] < max(values["validation_every"], values["hint_epoch"]):
        raise UsageError(
            f"{where}.settings.validation_every is {values['validation_every']}: no look at the held-out rows fits into "
            f"{values['epochs']} epochs",
            hint="the stopping rule would never be asked; look more often or train longer",
        )
    for block in table:
        if block != "settings" and block not in BLOCK_AXES:
            raise UsageError(f"{where}.{block}: unknown block", hint=f"known blocks: {', '.join(BLOCK_AXES)}")
    builders = {"audit": _audit, "peers": _peers, "main": _main, "ablation": _ablation, "gap": _gap}
    jobs: list[Job] = []
    for block, build in builders.items():
        if block in table:
            here = f"{where}.{block}"
            axes = table_of(table[block], here)
            for axis in axes:
                if axis not in BLOCK_AXES[block]:
                    raise UsageError(
                        f"{here}.{axis}: unknown axis", hint=f"axes of {block}: {', '.join(BLOCK_AXES[block])}"
                    )
            jobs += [_job(block, keys, values) for keys in build(axes, here)]
    return jobs


def _job(block: str, keys: list[dict[str, Any]], values: Mapping[str, Any]) -> Job:
    """The job of these cells, each with the settings its numbers depend on and, when nets are trained, their batch."""
    idle: set[str] = set()
    if keys[0].get("dataset") != "california":
        idle |= {"california_rows", "california_seed"}
    if block in ("peers", "main", "ablation"):
        in_use = SPLIT_OPTIONS[keys[0].get("regime", "shift")].values()
        idle |= {s.name for s in SPLIT} - set(in_use)
    if values["stopping"] == "none":  # without a stopping rule a cell is the one it was before there were any
        idle |= {s.name for s in STOPPING}
    if block == "main" and not values["extra_arms"]:
        idle |= {s.name for s in EXTRA if s.name != "extra_arms"}
    settings = {s.name: values[s.name] for s in BLOCK_SETTINGS[block] if s.name not in idle}
    trains = block not in ("audit", "peers")
    if trains:
        settings["batch"] = digest(keys)
    return Job(tuple(Cell("b", block, k, settings, gpu=trains) for k in keys))


def _list(
    axes: Mapping[str, Any], name: str, where: str, kind: type, allowed: tuple[Any, ...] | None = None
) -> list[Any]:
    """The axis ``name``: a non-empty list of distinct values of one type."""
    values = axes.get(name)
    if not isinstance(values, list) or not values:
        raise UsageError(f"{where}.{name}: expected a non-empty list, found {values!r}")
    if kind is float:
        values = [float(v) if type(v) is int else v for v in values]
    for v in values:
        if type(v) is not kind or (allowed is not None and v not in allowed):
            expected = f"one of {', '.join(map(str, allowed))}" if allowed else f"a {kind.__name__}"
            raise UsageError(f"{where}.{name}: {v!r} is not {expected}")
    if len(set(values)) != len(values):
        raise UsageError(f"{where}.{name}: a value occurs twice in {values!r}")
    return values


def _levels(axes: Mapping[str, Any], dataset: str, where: str) -> list[float]:
    """The noise levels of a dataset: ``rel_of.<dataset>`` when given, else ``rel``."""
    special = table_of(axes.get("rel_of", {}), f"{where}.rel_of")
    for name in special:
        if name not in DATASETS:
            raise UsageError(f"{where}.rel_of.{name}: unknown dataset", hint=f"one of {', '.join(DATASETS)}")
    source, name = (special, dataset) if dataset in special else (axes, "rel")
    levels = _list(source, name, where, float)
    if not all(math.isfinite(v) and v >= 0 for v in levels):
        raise UsageError(f"{where}.{name}: noise levels are finite and not negative, found {levels!r}")
    return levels


def _audit(axes: Mapping[str, Any], where: str) -> list[list[dict[str, Any]]]:
    return [[{"dataset": d}] for d in _list(axes, "datasets", where, str, DATASETS)]


def _peers(axes: Mapping[str, Any], where: str) -> list[list[dict[str, Any]]]:
    return [[keys] for group in _main(axes, where) for keys in group]


def _main(axes: Mapping[str, Any], where: str) -> list[list[dict[str, Any]]]:
    groups: list[list[dict[str, Any]]] = []
    for dataset in _list(axes, "datasets", where, str, DATASETS):
        levels = _levels(axes, dataset, where)
        groups += [
            [
                {"dataset": dataset, "regime": regime, "seed": seed, "rel": rel}
                for seed in _list(axes, "seeds", where, int)
                for rel in levels
            ]
            for regime in _list(axes, "regimes", where, str, REGIMES)
        ]
    single = axes.get("single", [])
    if not isinstance(single, list):
        raise UsageError(f"{where}.single: expected a list of tables, found {single!r}")
    for i, entry in enumerate(single):
        here = f"{where}.single[{i}]"
        keys = table_of(entry, here)
        expected = {"dataset": str, "regime": str, "seed": int, "rel": float}
        if set(keys) != set(expected):
            raise UsageError(f"{here}: expected the keys {', '.join(expected)}, found {', '.join(sorted(keys))}")
        as_lists = {k: [v] for k, v in keys.items()}
        allowed = {"dataset": DATASETS, "regime": REGIMES}
        groups.append([{k: _list(as_lists, k, here, kind, allowed.get(k))[0] for k, kind in expected.items()}])
    return groups


def _ablation(axes: Mapping[str, Any], where: str) -> list[list[dict[str, Any]]]:
    return [
        [
            {"dataset": dataset, "seed": seed, "rel": rel}
            for seed in _list(axes, "seeds", where, int)
            for rel in _levels(axes, dataset, where)
        ]
        for dataset in _list(axes, "datasets", where, str, DATASETS)
    ]


def _gap(axes: Mapping[str, Any], where: str) -> list[list[dict[str, Any]]]:
    seeds, scales = _list(axes, "seeds", where, int), _list(axes, "scales", where, str, SCALES)
    # A job of its own for the mixed mode: the other two keep the batch, and so the ids, they had before there was a third.
    groups = [[s for s in scales if s != "mixed"], [s for s in scales if s == "mixed"]]
    return [[{"seed": seed, "scale": scale} for seed in seeds for scale in group] for group in groups if group]

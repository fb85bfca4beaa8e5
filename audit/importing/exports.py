"""Tables that other programs export (MLflow, Weights and Biases, TensorBoard, aeon), with their bookkeeping taken off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing.repeated import NOTHING, Beforehand
from orledger.audit.importing.turned import turned

if TYPE_CHECKING:
    from collections.abc import Sequence

UNFINISHED = "unfinished"  # the column that says why a run has no result
MLFLOW_KEPT = re.compile(r"(metrics|params)\.(.+)")
MLFLOW_PAGE = ("Start Time", "Duration", "Run ID", "Name", "Source Type", "Source Name", "User", "Status")
WANDB_PAGE = (
    "Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "Hostname", "GPU Count", "GPU Type",
    "Commit", "Description", "Agent", "Github", "Updated", "End Time", "Group", "Job Type", "Report Path",
)  # fmt: skip
TENSORBOARD = ["Wall time", "Step", "Value"]
AEON = ("Resamples:", "folds:", "Folds:")  # the corner of a table of datasets by resamples


def recognised(table: pl.DataFrame, name: str, said: Beforehand = NOTHING) -> tuple[pl.DataFrame, str | None]:
    """``table`` as its program meant it, and the name of the program; as it is, and None, when no program is recognised.

    ``said`` is what was said about its columns beforehand.
    """
    columns = table.columns
    if "run_id" in columns and any(c.startswith("metrics.") for c in columns):
        return _mlflow_frame(table), "MLflow (search_runs)"
    if {"Run ID", "Name", "Source Type", "Status"} <= set(columns):
        return _page(table, MLFLOW_PAGE, "Status", ("FINISHED",)), "MLflow (download of the runs page)"
    if {"Name", "State", "Created"} <= set(columns) or {"Name", "State", "Runtime"} <= set(columns):
        return _page(table, WANDB_PAGE, "State", ("finished",)), "Weights and Biases (download of the runs table)"
    if columns == TENSORBOARD:
        return _scalars(table, name), "TensorBoard (download of a scalar)"
    if len(columns) > 1 and columns[0] in AEON and all(c.isdecimal() for c in columns[1:]):
        return _resamples(table, name), "aeon (results of one estimator)"
    if columns and columns[0] in ("Step", "global_step", "epoch") and _curves(columns):
        return _wandb_curves(table), "Weights and Biases (download of a chart)"
    return turned(table, name, said) or (table, None)


def _mlflow_frame(table: pl.DataFrame) -> pl.DataFrame:
    kept = {c: m[2] for c in table.columns if (m := MLFLOW_KEPT.fullmatch(c))}
    names = [*kept.values(), UNFINISHED]
    if "tags.mlflow.runName" in table.columns and "run_name" not in names:
        kept["tags.mlflow.runName"] = "run_name"
    taken = {c: (n if names.count(n) < 2 else c) for c, n in kept.items()}
    reason = _unfinished("status", ("FINISHED",)) if "status" in table.columns else pl.lit(None, dtype=pl.String)
    return table.select(*(pl.col(c).alias(n) for c, n in taken.items()), reason.alias(UNFINISHED))


def _page(table: pl.DataFrame, bookkeeping: Sequence[str], state: str, finished: Sequence[str]) -> pl.DataFrame:
    """A runs page: configuration and results, the run's name as run_name, and why it has no result when it did not finish."""
    kept = [c for c in table.columns if c not in bookkeeping and not c.startswith("_")]
    return table.select(
        pl.col("Name").alias("run_name"),
        *(c for c in kept if c not in ("run_name", UNFINISHED)),
        _unfinished(state, finished).alias(UNFINISHED),
    )


def _unfinished(state: str, finished: Sequence[str]) -> pl.Expr:
    text = pl.col(state).cast(pl.String)
    return pl.when(text.is_in(list(finished))).then(None).otherwise(pl.format("run state: {}", text))


def _curves(columns: Sequence[str]) -> list[str]:
    """Columns of a chart: ``run - metric``, without their lower and upper bands and their step counters."""
    named = [c for c in columns[1:] if " - " in c and not c.endswith(("__MIN", "__MAX", "_step"))]
    others = [c for c in columns[1:] if c not in named and not c.endswith(("__MIN", "__MAX", "_step"))]
    return [] if others else named


def _wandb_curves(table: pl.DataFrame) -> pl.DataFrame:
    step = table.columns[0]
    long = table.unpivot(index=step, on=_curves(table.columns), variable_name="curve", value_name="value")
    parts = pl.col("curve").str.extract_groups(r"^(?<run>.+) - (?<metric>.+)$").struct
    return long.select(
        pl.col(step).alias("step"), parts.field("run").alias("run"), parts.field("metric").alias("metric"), "value"
    ).filter(pl.col("value").is_not_null() & (pl.col("value").cast(pl.String) != ""))


def _resamples(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """One estimator, datasets by resamples; the file is called <estimator>_<measure>.csv."""
    estimator, _, measure = (name.rpartition(".")[0] or name).rpartition("_")
    measure = "accuracy" if not estimator or measure == "TESTFOLDS" else measure
    first = table.columns[0]
    long = table.unpivot(index=first, variable_name="resample", value_name=measure)
    return long.select(
        pl.lit(estimator or name.rpartition(".")[0] or name).alias("estimator"),
        pl.col(first).alias("dataset"),
        "resample",
        measure,
    )


def _scalars(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """One curve; the file is called run-<run>-tag-<tag>.csv."""
    named = re.fullmatch(r"(?:run-)?(.+?)-tag-(.+?)(?:\.\w+)?", name)
    run, tag = (named[1], named[2]) if named else (name.rpartition(".")[0] or name, "value")
    return table.select(
        pl.col("Step").alias("step"),
        pl.lit(run).alias("run"),
        pl.lit(tag).alias("metric"),
        pl.col("Value").alias("value"),
    )

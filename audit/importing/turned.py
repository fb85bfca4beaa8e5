"""Tables that spread one thing over columns, turned so that a column names it: datasets, repetitions, or arms with their metrics."""

from __future__ import annotations

import re

import polars as pl

from orledger.audit.importing import words
from orledger.audit.importing.mapping import FILE_COLUMN
from orledger.audit.importing.repeated import LISTED, NOTHING, Beforehand, number_of, numeric, repetitions, rest
from orledger.wording import some

FEWEST_DATASETS = 3  # columns of one metric that make a table a leaderboard
ENDING = r"(?P<arm>.+?)[\s_./:|-]+(?P<metric>[^\s_./:|-]+)"
BEGINNING = r"(?P<metric>[^\s_./:|-]+)[\s_./:|-]+(?P<arm>.+)"
# Words before or after the name of a metric that are parts of the data or of a summary, and no arms.
NO_ARMS = (
    "train", "training", "test", "testing", "val", "valid", "validation", "dev", "eval", "holdout", "heldout", "oof", "cv",
    "in", "out", "id", "ood", "best", "final", "last", "first", "initial", "max", "min", "top", "total", "raw", "norm",
    "normalized", "normalised", "relative", "absolute", "balanced", "weighted", "roc", "pr", "log", "mean", "median", "neg",
    "public", "private", "fit", "predict", "inference", "wall", "cpu", "gpu", "clean", "robust", "source", "target",
)  # fmt: skip


def turned(table: pl.DataFrame, name: str = "the table", said: Beforehand = NOTHING) -> tuple[pl.DataFrame, str] | None:
    """``table`` turned round and a line that says how; None for a table in which a column is one thing."""
    if said.turned is False:
        return None
    repeated = repetitions(table, name, said)
    if repeated is not None:
        rows, told = repeated
        of_arms = _halves(rows)
        found = repeated if of_arms is None else (of_arms[0], f"{told}; then {of_arms[1]}")
        if said.turned is None or {*said.metrics} <= {
            *found[0].columns,
            FILE_COLUMN,
        }:  # arms may have been called acc_0, acc_1
            return found
    if said.turned is None and any(m in table.columns for m in said.metrics):
        return None
    return _board(table) or _halves(table)


def _board(table: pl.DataFrame) -> tuple[pl.DataFrame, str] | None:
    """A leaderboard: a row per model, and a column per dataset, whose names end in one metric (``AMI WER``) or say none (``CoLA``)."""
    arms = [c for c in table.columns if words.is_one_of(c, words.ARMS)]
    named = any(
        words.is_one_of(c, (*words.UNITS, *words.REPEATS, *words.INDICES)) for c in table.columns if c not in arms
    )
    if len(arms) != 1 or named or table[arms[0]].n_unique() < table.height:
        return None
    measured: dict[str, dict[str, str]] = {}  # metric -> column -> dataset
    for column in table.columns:
        dataset, _, metric = column.rpartition(" ")
        known = words.plain(metric) in (*words.LOWER, *words.HIGHER)
        if known and words.direction(column) not in (None, words.direction(metric)):
            continue  # of "CoLA interval score" the score is no metric
        if known and dataset and not words.sums_up(dataset):
            measured.setdefault(metric, {})[column] = dataset
    metric, columns = max(measured.items(), key=lambda item: len(item[1]), default=("", {}))
    if len(columns) < FEWEST_DATASETS:
        metric, columns = "value", {c: c for c in _bare(table, arms[0])}
    if len(columns) < FEWEST_DATASETS:
        return None
    rows = table.unpivot(index=arms[0], on=list(columns), variable_name="dataset", value_name=metric)
    of = "" if metric == "value" else f" of {metric}"
    told = f"a leaderboard, a row per {arms[0]} and a column{of} per dataset ({some(list(columns.values()), LISTED)})"
    return rows.with_columns(pl.col("dataset").replace_strict(columns, return_dtype=pl.String)), told + rest(
        table, [*arms, *columns]
    )


def _bare(table: pl.DataFrame, arm: str) -> list[str]:
    """The columns of numbers of a table that says of none what it measures; empty where it says so of one, or numbers them.

    What describes the arm, its costs, its year and what it has counted, is no result and says nothing about the rest.
    """
    numbers = [c for c in table.columns if c != arm and not words.sums_up(c) and numeric(table[c])]
    numbers = [c for c in numbers if not (words.is_cost(c) or (_whole(table[c]) and words.describes(c)))]
    told = any(words.is_metric(c) or number_of(c) for c in numbers)
    return [] if told or _ranks(table.select(numbers)) else numbers


def _ranks(numbers: pl.DataFrame) -> bool:
    """Whether every column holds whole numbers from 1 to the number of its rows, as ranks of the rows do."""
    x = numbers.select(pl.all().cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False))
    return all(_whole(numbers[c]) and x[c].is_between(1, x.height).all() for c in x.columns)


def _halves(table: pl.DataFrame) -> tuple[pl.DataFrame, str] | None:
    """A column per arm and metric (``ridge_acc``, ``forest_acc``, or ``acc_ridge``) becomes a row per arm and a column per metric."""
    keys = [c for c in table.columns if words.is_one_of(c, (*words.UNITS, *words.REPEATS))]
    spread = [c for c in table.columns if c not in keys]
    if not keys or len(spread) < 2 or not all(numeric(table[c]) for c in spread):
        return None
    for metric_last in (True, False):
        parts = {c: _parted(c, metric_last=metric_last) for c in spread}
        arms = list(dict.fromkeys(p[0] for p in parts.values() if p))
        metrics = list(dict.fromkeys(p[1] for p in parts.values() if p))
        whole = (
            all(parts.values()) and len(arms) > 1 and len(arms) * len(metrics) == len(spread) == len({*parts.values()})
        )
        if whole and not any(words.plain(a) in NO_ARMS or words.is_metric(a) for a in arms):
            columns = {p: c for c, p in parts.items() if p}
            of_arm = [
                table.select(*keys, pl.lit(a).alias("arm"), *(pl.col(columns[a, m]).alias(m) for m in metrics))
                for a in arms
            ]
            told = f"a column per arm and metric ({some(spread, LISTED)}): arms {some(arms, LISTED)}, metrics {some(metrics, LISTED)}"
            return pl.concat(of_arm), told
    return None


def _parted(name: str, *, metric_last: bool) -> tuple[str, str] | None:
    """The arm and the metric in the name of a column, such as ridge_acc or acc_ridge; None where that end of it is no metric."""
    match = re.fullmatch(ENDING if metric_last else BEGINNING, name.strip())
    if match is None or words.plain(match["metric"]) not in (*words.LOWER, *words.HIGHER):
        return None
    if metric_last and words.direction(name) not in (None, words.direction(match["metric"])):
        return None  # ridge_interval_score is no score of ridge_interval
    return match["arm"], match["metric"]


def _whole(column: pl.Series) -> bool:
    x = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False).drop_nulls()
    return bool(len(x)) and bool((x == x.round()).all())

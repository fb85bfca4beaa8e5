"""Runs that Sacred's FileStorageObserver left in a folder, as one table: a row per run, its configuration and its results.

A run is a folder with config.json and run.json, and metrics.json where it logged metrics. The last value of every metric counts;
a run that was not completed has no result, and its state says why. Sacred itself is not needed: the files are JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from orledger.audit.importing.exports import UNFINISHED
from orledger.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

FILES = ("config.json", "run.json", "metrics.json")
COMPLETED = "COMPLETED"


def files(folder: Path) -> list[Path]:
    """The files of the runs in ``folder`` that are read; none when it holds no run of Sacred."""
    return [run / name for run in _runs(folder) for name in FILES if (run / name).is_file()]


def read_runs(folder: Path) -> pl.DataFrame:
    """One row per run: run_name, the configuration (nested keys by their last part, or joined by dots where several share it), the metrics, and why a run has no result."""
    rows = [_row(run) for run in _runs(folder)]
    names = dict.fromkeys(name for row in rows for name in row if name != UNFINISHED)
    columns = {n: [None if row.get(n) is None else str(row[n]) for row in rows] for n in (*names, UNFINISHED)}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _runs(folder: Path) -> list[Path]:
    runs = [p for p in folder.iterdir() if (p / "config.json").is_file() and (p / "run.json").is_file()]
    return sorted(runs, key=lambda p: (not p.name.isdecimal(), int(p.name) if p.name.isdecimal() else 0, p.name))


def _row(run: Path) -> dict[str, Any]:
    config, facts = _json(run / "config.json"), _json(run / "run.json")
    flat = _flat(config)
    leaves = [name.rpartition(".")[2] for name in flat]
    short = {name: leaf if leaves.count(leaf) == 1 else name for name, leaf in zip(flat, leaves, strict=True)}
    row: dict[str, Any] = {"run_name": run.name, **{short[name]: value for name, value in flat.items()}}
    if isinstance(facts.get("result"), (int, float)) and not isinstance(facts["result"], bool):
        row["result"] = facts["result"]
    metrics = _json(run / "metrics.json") if (run / "metrics.json").is_file() else {}
    for name, series in metrics.items():
        values = series.get("values") if isinstance(series, dict) else None
        if isinstance(values, list) and values:
            row[name if name not in row else f"metric.{name}"] = _number(values[-1])
    status = str(facts.get("status", "unknown"))
    row[UNFINISHED] = None if status == COMPLETED else f"run state: {status}"
    return row


def _number(value: Any) -> Any:
    """Sacred writes numbers of numpy as an object with their value."""
    return value.get("value") if isinstance(value, dict) else value


def _flat(config: dict[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{key}.")
        elif isinstance(value, (str, int, float)):
            found[f"{before}{key}"] = value
    return found


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: cannot be read as JSON: {error}", hint="take the run out, or repair the file"
        ) from error
    if not isinstance(found, dict):
        raise DataError(
            f"{path}: expected an object, found {type(found).__name__}", hint="take the run out of the folder"
        )
    return found

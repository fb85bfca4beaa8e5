"""``orledger datasets``: where the tables of Case B come from, fetching them, and the gate they must pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orledger.cli_options import echo_json, echo_table, json_option
from orledger.errors import DataError, UsageError

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="ORLEDGER_DATA",
    help="Folder with <name>.csv files.",
)
cache_dir_option = click.option(
    "--cache-dir", type=click.Path(path_type=Path, file_okay=False), help="Where downloads are kept."
)


@click.group()
def datasets() -> None:
    """Fetch and audit the datasets, and say where they came from."""


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _chosen(names: tuple[str, ...]) -> list[str]:
    from orledger.runners.case_b.data import SOURCES

    if unknown := [n for n in names if n not in SOURCES]:
        raise UsageError(f"unknown dataset {unknown[0]!r}", hint=f"one of {', '.join(SOURCES)}")
    return list(names) or list(SOURCES)


@datasets.command("list")
@data_dir_option
@cache_dir_option
@json_option
def list_datasets(data_dir: Path | None, cache_dir: Path | None, as_json: bool) -> None:
    """List every dataset, its public source, its target, and where it would be read from now."""
    from orledger.runners.case_b.data import SOURCES, locate

    rows = [
        {
            "dataset": s.name,
            "source": s.origin,
            "target": s.target,
            "read from": locate(s.name, _text(data_dir), _text(cache_dir)),
        }
        for s in SOURCES.values()
    ]
    echo_json(rows) if as_json else echo_table(rows)


@datasets.command()
@click.argument("names", nargs=-1)
@data_dir_option
@cache_dir_option
@json_option
def fetch(names: tuple[str, ...], data_dir: Path | None, cache_dir: Path | None, as_json: bool) -> None:
    """Load the datasets NAMES (all when none is given), downloading what is neither in the data directory nor cached."""
    from orledger.runners.case_b.data import load

    rows: list[dict[str, Any]] = []
    missing: list[DataError] = []
    for name in _chosen(names):
        try:
            rows.append(load(name, _text(data_dir), _text(cache_dir)).description())
        except DataError as error:
            missing.append(error)
    shown = rows if as_json else [{**r, "sha256": r["sha256"][:12]} for r in rows]
    echo_json(shown) if as_json else echo_table(shown, right=("n_rows", "n_features", "distinct_targets"))
    _report(missing)


@datasets.command()
@click.argument("names", nargs=-1)
@data_dir_option
@cache_dir_option
@click.option("--offline", is_flag=True, help="Do not download.")
@json_option
def audit(names: tuple[str, ...], data_dir: Path | None, cache_dir: Path | None, offline: bool, as_json: bool) -> None:
    """Put the datasets NAMES (all when none is given) through the gate that comes before training.

    The verdict uses folds in file order; the shuffled protocol is shown beside it.
    """
    from orledger.audit.datasets.gate import audit_table
    from orledger.runners.case_b.plan import DATA
    from orledger.runners.case_b.problem import load_table
    from orledger.runners.case_b.rules import dataset_rules
    from orledger.runners.cells import Context
    from orledger.runners.settings import resolve

    settings = resolve(DATA, {}, "datasets audit")
    context = Context(data_dir=_text(data_dir), cache_dir=_text(cache_dir), offline=offline)
    rows: list[dict[str, Any]] = []
    problems: list[DataError] = []
    for name in _chosen(names):
        try:
            table = load_table(name, settings, context)
        except DataError as error:
            problems.append(error)
            continue
        found = audit_table(table.X, table.y, dataset_rules(settings))
        rows.append(
            {
                "dataset": name,
                "rows": found.n,
                "features": found.d,
                "target": table.target,
                "distinct": found.distinct,
                "R2 file order": _digits(found.r2.get("file_order"), as_json),
                "R2 shuffled": _digits(found.r2.get("shuffled"), as_json),
                "verdict": "passed" if found.passed else "; ".join(found.problems),
                "origin": table.origin,
            }
        )
        if not found.passed:
            problems.append(DataError(f"dataset {name} failed its audit: {'; '.join(found.problems)}"))
    numbers = ("rows", "features", "distinct", "R2 file order", "R2 shuffled")
    echo_json(rows) if as_json else echo_table(rows, right=numbers)
    _report(problems)


def _digits(value: float | None, as_json: bool) -> float | str | None:
    return value if as_json or value is None else f"{value:.4f}"


def _report(errors: list[DataError]) -> None:
    """Every problem on standard error; the last one decides the exit code."""
    for error in errors[:-1]:
        click.echo(f"error: {error}", err=True)
    if errors:
        raise errors[-1]

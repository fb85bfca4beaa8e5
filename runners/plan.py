"""From a preset file to the ordered list of jobs: the plan is a pure function of the preset."""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.runners.settings import resolve
from orledger.schema.declaring import parse_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orledger.runners.cells import Job
    from orledger.schema.catalogue import Catalogue

CASES = ("a", "b", "c")


@dataclass(frozen=True)
class Preset:
    """A preset file, parsed: its name, where it was read from, and one table per case."""

    name: str
    path: str
    title: str
    tables: Mapping[str, Mapping[str, Any]]


def preset_names() -> list[str]:
    """The names of the presets that ship with the package."""
    return sorted(
        p.name.removesuffix(".toml") for p in files("orledger.runners.presets").iterdir() if p.name.endswith(".toml")
    )


def load_preset(name: str) -> Preset:
    """The preset called ``name``, or the one in the file ``name`` when it ends in ``.toml``."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"no preset file at {path}", hint=f"presets that ship: {', '.join(preset_names())}")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: cannot be read as a TOML text: {error}") from error
    else:
        if name not in preset_names():
            raise UsageError(
                f"unknown preset {name!r}", hint=f"one of {', '.join(preset_names())}, or a path to a .toml file"
            )
        path = Path(f"{name}.toml")
        text = files("orledger.runners.presets").joinpath(path.name).read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    title = data.pop("title", "")
    for key, table in data.items():
        if key not in CASES or not isinstance(table, dict):
            raise UsageError(
                f"{path}: unexpected key {key!r}", hint=f"expected title and the tables {', '.join(CASES)}"
            )
    return Preset(name=Path(name).stem, path=str(path), title=str(title), tables=data)


def planner(case: str) -> Any:
    """The plan module of a case: SETTINGS, and plan(table, where) -> jobs. Importing it must not import torch."""
    if case not in CASES:
        raise UsageError(f"unknown case {case!r}", hint=f"one of {', '.join(CASES)}, or all")
    return importlib.import_module(f"orledger.runners.case_{case}.plan")


def make_plan(preset: Preset, cases: Iterable[str] = CASES) -> list[Job]:
    """All jobs of the chosen cases in plan order; cases whose table is absent or empty have none."""
    jobs: list[Job] = []
    for case in cases:
        if preset.tables.get(case):
            jobs.extend(planner(case).plan(preset.tables[case], where=f"{preset.path}: {case}"))
    seen: set[str] = set()
    for job in jobs:
        for cell in job.cells:
            if cell.id in seen:
                raise UsageError(f"{preset.path}: the cell {cell.name} is planned twice")
            seen.add(cell.id)
    return jobs


def setting_rows(preset: Preset, cases: Iterable[str] = CASES) -> list[tuple[str, str, Any, bool, str]]:
    """Every setting in force: (case, name, value, given by the paper, one sentence)."""
    rows = []
    for case in cases:
        if preset.tables.get(case):
            declared = planner(case).SETTINGS
            values = resolve(declared, preset.tables[case].get("settings", {}), f"{preset.path}: {case}.settings")
            rows += [(case, s.name, values[s.name], s.given, s.description) for s in declared]
    return rows


def resolved(preset: Preset, cases: Iterable[str] = CASES) -> dict[str, dict[str, Any]]:
    """The preset as plain data, with every default filled in."""
    cases = [case for case in cases if preset.tables.get(case)]
    tables = {case: dict(preset.tables[case]) for case in cases}
    for table in tables.values():
        table["settings"] = {}
    for case, name, value, _, _ in setting_rows(preset, cases):
        tables[case]["settings"][name] = value
    return tables


def catalogue(case: str) -> Catalogue:
    """What ``case`` declares about its keys, arms and metrics."""
    file = files(f"orledger.runners.case_{case}").joinpath("catalog.toml")
    return parse_catalogue(case, file.read_text(encoding="utf-8"), f"case_{case}/catalog.toml")

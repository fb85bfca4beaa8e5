"""From a preset file to the ordered list of jobs: the plan is a pure function of the preset."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.errors import UsageError
from orledger.runners.settings import resolve
from orledger.schema.declaring import declared
from orledger.toml_tables import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orledger.runners.cells import Job
    from orledger.schema.catalogue import Catalogue
    from orledger.study import Study


@dataclass(frozen=True)
class Preset:
    """A preset file, parsed: its name, where it was read from, and one table per case."""

    name: str
    path: str
    title: str
    tables: Mapping[str, Mapping[str, Any]]
    study: Study | None = None


def preset_names(study: Study | None = None) -> list[str]:
    """The names of the presets of ``study``, or of all installed studies."""
    return sorted(_presets(study))


def _presets(study: Study | None) -> dict[str, str]:
    """The texts of the presets by name; a study that was found earlier keeps a name that two of them use."""
    found: dict[str, str] = {}
    for one in studies.installed() if study is None else (study,):
        for file, text in one.files("presets", ".toml").items():
            found.setdefault(file.removesuffix(".toml"), text)
    return found


def load_preset(name: str, study: Study | None = None) -> Preset:
    """The preset called ``name``, of ``study`` where one is given, or the one in the file ``name`` when it ends in ``.toml``."""
    shipped = _presets(study)
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"no preset file at {path}", hint=f"presets that ship: {', '.join(sorted(shipped))}")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: cannot be read as a TOML text: {error}") from error
    else:
        if name not in shipped:
            raise UsageError(
                f"unknown preset {name!r}", hint=f"one of {', '.join(sorted(shipped))}, or a path to a .toml file"
            )
        path = Path(f"{name}.toml")
        text = shipped[name]
    data = dict(parse(text, str(path)).data)
    title = data.pop("title", "")
    known = studies.cases(None if study is None else (study,))
    for key, table in data.items():
        if key not in known or not isinstance(table, dict):
            raise UsageError(
                f"{path}: unexpected key {key!r}", hint=f"expected title and the tables {', '.join(known)}"
            )
    return Preset(name=Path(name).stem, path=str(path), title=str(title), tables=data, study=study)


def planner(case: str, study: Study | None = None) -> Any:
    """The plan module of a case: SETTINGS, and plan(table, where) -> jobs. Importing it must not import torch."""
    return importlib.import_module(f"{package(case, study)}.plan")


def package(case: str, study: Study | None = None) -> str:
    """The name of the package that holds a case of ``study``, or of any installed study."""
    known = studies.cases(None if study is None else (study,))
    if case not in known:
        raise UsageError(f"unknown case {case!r}", hint=f"one of {', '.join(known)}, or all")
    if not known[case].package:
        known[case].require()
    return known[case].package


def chosen(preset: Preset, cases: Iterable[str] | None) -> list[str]:
    """``cases`` that have a table in ``preset``, in the order asked for; all of them without ``cases``."""
    return [case for case in (preset.tables if cases is None else cases) if preset.tables.get(case)]


def make_plan(preset: Preset, cases: Iterable[str] | None = None) -> list[Job]:
    """All jobs of the chosen cases in plan order; cases whose table is absent or empty have none."""
    jobs: list[Job] = []
    for case in chosen(preset, cases):
        jobs.extend(planner(case, preset.study).plan(preset.tables[case], where=f"{preset.path}: {case}"))
    seen: set[str] = set()
    for job in jobs:
        for cell in job.cells:
            if cell.id in seen:
                raise UsageError(f"{preset.path}: the cell {cell.name} is planned twice")
            seen.add(cell.id)
    return jobs


def setting_rows(preset: Preset, cases: Iterable[str] | None = None) -> list[tuple[str, str, Any, bool, str]]:
    """Every setting in force: (case, name, value, whether the work that the case reproduces gives it, one sentence)."""
    rows = []
    for case in chosen(preset, cases):
        declared = planner(case, preset.study).SETTINGS
        values = resolve(declared, preset.tables[case].get("settings", {}), f"{preset.path}: {case}.settings")
        rows += [(case, s.name, values[s.name], s.given, s.description) for s in declared]
    return rows


def resolved(preset: Preset, cases: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """The preset as plain data, with every default filled in."""
    tables = {case: dict(preset.tables[case]) for case in chosen(preset, cases)}
    for table in tables.values():
        table["settings"] = {}
    for case, name, value, _, _ in setting_rows(preset, tables):
        tables[case]["settings"][name] = value
    return tables


def catalogue(case: str, study: Study | None = None) -> Catalogue:
    """What ``case`` declares about its keys, arms and metrics, and the study it belongs to."""
    package(case, study)  # refuses a case that nobody has
    owner, found = next((s, c) for s in ((study,) if study else studies.installed()) for c in s.cases if c.name == case)
    return declared(found, owner)

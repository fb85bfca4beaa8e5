"""Finding studies: those that are installed, one by its module path, and one that is a folder with a ``study.toml``."""

from __future__ import annotations

import difflib
import importlib
import sys
import warnings
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from orledger.errors import Note, OrledgerError, UsageError
from orledger.files import require_file
from orledger.study import Case, Study
from orledger.study_displays import read_figures, read_tables
from orledger.toml_tables import TomlTable, parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import polars as pl

GROUP = "orledger.studies"
FILE = "study.toml"


class Queryable(Protocol):
    """Anything that answers SQL with a frame."""

    def sql(self, query: str, params: Any = None) -> pl.DataFrame:
        """The rows of ``query``."""
        ...


@cache
def installed() -> tuple[Study, ...]:
    """The studies of all installed packages, by name; one that cannot be loaded is named in a warning and left out."""
    found: dict[str, Study] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        try:
            study = entry.load()
        except Exception as error:
            warnings.warn(f"the study {entry.name} ({entry.value}) cannot be loaded: {error}", Note, stacklevel=2)
            continue
        if not isinstance(study, Study):
            warnings.warn(f"{entry.value} is not a Study: the study {entry.name} is left out", Note, stacklevel=2)
            continue
        found[study.name] = study
    return tuple(found.values())


def find(reference: str) -> Study:
    """The study that ``reference`` names: an installed one, a module with STUDY, or a folder with a study.toml."""
    known = {s.name: s for s in installed()}
    if reference in known:
        return known[reference]
    path = Path(reference)
    if path.name == FILE or (path / FILE).is_file():
        return from_folder(path.parent if path.name == FILE else path)
    module, _, attribute = reference.partition(":")
    if all(part.isidentifier() for part in module.split(".")):
        try:
            study = getattr(importlib.import_module(module), attribute or "STUDY")
        except (ModuleNotFoundError, AttributeError) as error:
            if "." in module or attribute:
                raise UsageError(
                    f"no study in {reference}: {error}", hint="the module must define STUDY = orledger.study.Study(...)"
                ) from error
        else:
            if isinstance(study, Study):
                return study
            raise UsageError(f"{reference} is a {type(study).__name__}, not a Study")
    near = difflib.get_close_matches(reference, known, n=1)
    raise UsageError(
        f"unknown study {reference!r}",
        hint=(f"did you mean {near[0]}? " if near else "")
        + f"installed: {', '.join(known) or 'none'}, with the cases {', '.join(cases()) or 'none'};"
        f" or a module path such as mylab.study, or a folder with a {FILE}",
    )


def from_folder(folder: Path) -> Study:
    """The study that ``folder``/study.toml describes; modules that are not installed are looked for in the folder."""
    study = described(folder)
    _importable(study.path)
    return study


def shown(folder: Path) -> Study:
    """What ``folder``/study.toml says about showing: labels, and tables and figures that it declares itself.

    For a file that lies beside a table and that nobody asked for: it names no module to run, no query and no other folder.
    """
    study = described(folder)
    cases = tuple(Case(c.name, title=c.title) for c in study.cases)
    study = replace(study, presets="", hypotheses="", views="", symbols="", printed="", path="")
    return replace(study, cases=cases, tables=(), figures=())


def described(folder: Path) -> Study:
    """The study that ``folder``/study.toml describes; nothing of it is imported."""
    file = folder / FILE
    require_file(file)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
    top = parse(text, str(file))
    cases = tuple(
        Case(name, table.text("package", ""), table.text("title", ""))
        for name, table in ((k, _table(top, "cases", k)) for k in top.table("cases", _EMPTY).data)
    )
    top.seen.add("cases")
    labels = top.table("labels", _EMPTY).data
    tables, figures = read_tables(top.tables("table", [])), read_figures(top.tables("figure", []))
    name = top.text("name")
    study = Study(
        name=name,
        title=top.text("title", ""),
        citation=top.text("citation", ""),
        cases=cases or ((Case(name, title=top.text("title", "")),) if tables or figures else ()),
        **{kind: top.text(kind, "") for kind in ("presets", "hypotheses", "views", "symbols", "printed")},
        tables=top.texts("tables", ()),
        figures=top.texts("figures", ()),
        labels={k: str(v) for k, v in labels.items()},
        table_displays=tables,
        figure_displays=figures,
        path=str(folder.resolve()),
    )
    top.done()
    return study


_EMPTY = TomlTable({}, "")


def _table(top: TomlTable, key: str, name: str) -> TomlTable:
    value = top.data[key][name]
    if not isinstance(value, dict):
        raise top.fail(key, f"a table [{key}.{name}] with the key package")
    return TomlTable(value, top.file, f"{key}.{name}")


def _importable(path: str) -> None:
    if path and path not in sys.path:
        sys.path.append(
            path
        )  # behind what is installed: a folder with a matplotlib.py of its own does not take its place


def cases(studies: Iterable[Study] | None = None) -> dict[str, Case]:
    """The cases of ``studies`` (all installed ones by default) by name; two studies that share a name are an error."""
    found: dict[str, tuple[Case, str]] = {}
    for study in installed() if studies is None else studies:
        for case in study.cases:
            if case.name in found and found[case.name][1] != study.name:
                raise OrledgerError(
                    f"the studies {found[case.name][1]} and {study.name} both have a case called {case.name!r}",
                    hint="a case keeps its name in every database: rename one of them",
                )
            found[case.name] = (case, study.name)
    return {name: case for name, (case, _) in found.items()}


# A table called a.csv is not the case a that somebody installed: a case with a package has cells that it computed.
CASES_HERE = """
SELECT case_name, bool_and(hash_version LIKE 'import%' OR hash_version LIKE 'log%') AS brought_in FROM cell GROUP BY 1
"""


def having(names: Collection[str], extra: Sequence[Study] = (), *, brought_in: Collection[str] = ()) -> list[Study]:
    """The studies among ``extra`` and the installed ones that have one of the cases ``names``, in that order.

    Those ``brought_in`` came as a table or from a log: of an installed study they are only a case that runs nothing.
    """
    own = {s.name: s for s in extra}
    chosen = {**own, **{s.name: s for s in installed() if s.name not in own}}
    return [
        s
        for s in chosen.values()
        if any(c.name in names and (s.name in own or not c.package or c.name not in brought_in) for c in s.cases)
    ]


def present(results: Queryable, extra: Sequence[Study] = ()) -> list[Study]:
    """The studies among ``extra`` and the installed ones that have a cell in the database, in that order."""
    rows = results.sql(CASES_HERE).rows()
    return having([r[0] for r in rows], extra, brought_in=[r[0] for r in rows if r[1]])


def labels(chosen: Iterable[Study]) -> dict[str, str]:
    """The names for people that ``chosen`` studies give; where two give one, the first counts."""
    found: dict[str, str] = {}
    for study in chosen:
        for key, name in study.labels.items():
            found.setdefault(key, name)
    return found

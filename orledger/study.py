"""A study: what somebody asks, runs and prints, as one object that the package can find and use.

Everything but the name is optional. Heavy parts are named, not imported: ``"package.module:NAME"`` is resolved when it is
used, so that finding a study costs nothing. A study comes in by an entry point of the group ``orledger.studies``, by a
module path, or as a folder with a ``study.toml``; see ``orledger.studies``.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.toml_tables import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from orledger.log import StudyLog
    from orledger.study_displays import FigureDisplay, TableDisplay


@dataclass(frozen=True)
class Case:
    """One thing that a study can run: ``package`` holds ``plan`` (SETTINGS, plan), ``run`` (run) and ``catalog.toml``.

    Without a package it is a name for results that come in as a table or from a log.
    """

    name: str
    package: str = ""
    title: str = ""
    needs: tuple[str, ...] = ()  # modules that it imports and that come with an extra
    extra: str = ""  # what installs them, such as mylab[gpu]

    def require(self) -> None:
        """An error that names what is missing and what installs it, when the case cannot run here."""
        if not self.package:
            raise UsageError(
                f"case {self.name!r} has no package to run: its results come in as a table",
                hint="orledger study TABLE or orledger import TABLE brings them in",
            )
        missing = [name for name in self.needs if find_spec(name) is None]
        if missing:
            raise UsageError(
                f"case {self.name!r} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
                hint=f"pip install '{self.extra}'" if self.extra else "install what is missing",
            )


@dataclass(frozen=True)
class Reason:
    """A known reason why our numbers differ from printed ones: its number, its text and the tables it speaks about.

    ``in_view`` says that a setting was chosen with the printed numbers in view, ``after_run`` that something was decided
    or run again after earlier results had been seen; both are disclosures that a reader should meet before the results.
    """

    number: int
    text: str
    tables: tuple[str, ...] = ()
    in_view: bool = False
    after_run: bool = False


@dataclass(frozen=True)
class Study:
    """What a study consists of.

    ``presets``, ``hypotheses`` and ``views`` are folders with files of that kind: inside an installed package
    (``mylab/presets``), or beside study.toml.
    ``tables`` and ``figures`` are modules whose tables and figures belong to the study, in the order of the document;
    ``table_displays`` and ``figure_displays`` are those that study.toml declares, shown before the generic ones.
    ``labels`` are names for people, of arms and anything else that tables show. ``symbols`` names a mapping of formulas
    for captions, ``printed`` an object with the numbers that a publication of the study prints
    (``orledger.reports.report.differences.Printed``).
    """

    name: str
    title: str = ""
    citation: str = ""
    cases: tuple[Case, ...] = ()
    presets: str = ""
    hypotheses: str = ""
    views: str = ""
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    symbols: str = ""
    printed: str = ""
    table_displays: tuple[TableDisplay, ...] = ()
    figure_displays: tuple[FigureDisplay, ...] = ()
    path: str = ""  # a folder that must be importable for the modules above; empty for an installed package

    def files(self, kind: str, suffix: str) -> dict[str, str]:
        """The texts of the study's ``presets``, ``hypotheses`` or ``views`` by file name, in order; empty without any."""
        where = getattr(self, kind)
        if not where:
            return {}
        entries = sorted((e for e in self._folder(where).iterdir() if e.name.endswith(suffix)), key=lambda e: e.name)
        return {e.name: read_text(e) for e in entries}

    def _folder(self, where: str) -> Traversable:
        """A folder beside study.toml, or inside an installed package: ``mylab/presets`` or ``mylab.presets``."""
        if self.path and Path(self.path, where).is_dir():
            return Path(self.path, where)
        package, *inside = where.split("/")
        try:
            return files(package).joinpath(*inside)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"study {self.name!r}: {where} is neither a folder nor part of an installed package",
                hint="a folder is looked for beside study.toml, a package by its import name",
            ) from error

    def modules(self, kind: str) -> list[Any]:
        """The modules of ``tables`` or ``figures``, imported."""
        return [_module(name, self.name) for name in getattr(self, kind)]

    def part(self, kind: str) -> Any:
        """What ``symbols`` or ``printed`` names, imported; None when the study has none."""
        reference = getattr(self, kind)
        if not reference:
            return None
        module, _, attribute = reference.partition(":")
        return getattr(_module(module, self.name), attribute)


def _module(name: str, study: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"study {study!r}: the module {name} cannot be imported: {error}",
            hint="install the package that brings it, or the extra it needs",
        ) from error


class _Door(ModuleType):
    """The module, which can also be called: ``orledger.study("name")`` opens a study for writing."""

    def __call__(self, name: str, db: str | Path = "results.duckdb", **options: Any) -> StudyLog:
        """The study ``name`` in the database ``db``, to be used in a ``with`` statement; see ``orledger.log``."""
        from orledger.log import StudyLog

        return StudyLog(name, db, **options)


sys.modules[__name__].__class__ = _Door

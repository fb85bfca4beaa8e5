"""Catalogue files: the keys, arms and metrics of a case as its author declares them, in TOML.

``[keys]`` gives the type of each key, what it is and the blocks that have it (all of them when left out); ``[arms]`` the name
of each arm for people; every ``[[metric]]`` the metrics that some arms record in some blocks.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

from orledger import studies
from orledger.errors import Note, OrledgerError
from orledger.schema import catalogue
from orledger.schema.catalogue import TYPES, Arm, Catalogue, Key, Metric
from orledger.toml_tables import TomlTable, parse, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

    from orledger.study import Case, Study


def declared(case: Case, study: Study) -> Catalogue:
    """What a case of ``study`` declares about its keys, arms and metrics, and whose case it is."""
    name = f"{case.package}/catalog.toml"
    found = parse_catalogue(case.name, read_text(files(case.package).joinpath("catalog.toml"), name), name)
    return replace(found, study=(study.name, study.title, study.citation))


def declare_installed(con: DuckDBPyConnection) -> None:
    """Adds what installed studies declare, and the database does not know, of the cases of every study that has cells in it.

    Views of all its blocks are then there, if empty, and what reads them needs no second way for a block that was not run.
    """
    present = set(catalogue.cases(con))
    for study in studies.installed():
        if present.isdisjoint(c.name for c in study.cases):
            continue
        for case in (c for c in study.cases if c.package):
            try:
                catalogue.store(con, catalogue.unknown(catalogue.read(con, case.name), declared(case, study)))
            except (OrledgerError, OSError, ImportError) as error:
                warnings.warn(f"the catalogue of {case.name} ({study.name}) is left out: {error}", Note, stacklevel=2)


def parse_catalogue(case: str, text: str, file: str) -> Catalogue:
    """The catalogue of ``case`` in a TOML ``text``; ``file`` is the name that messages use."""
    top = parse(text, file)
    metrics = tuple(m for t in top.tables("metric") for m in _metrics(t))
    blocks = tuple(dict.fromkeys(m.block for m in metrics))
    keys = top.table("keys", TomlTable({}, file, "keys"))
    declared = [_key(keys.table(name), name, blocks) for name in keys.data]
    arms = top.table("arms", TomlTable({}, file, "arms"))
    labels = tuple(Arm(name, arms.text(name)) for name in arms.data)
    named = {a.arm for a in labels}
    found = [Arm(a, a) for a in dict.fromkeys(a for m in metrics for a in m.arms.split(", ")) if a not in named]
    top.done()
    return Catalogue(case, metrics, tuple(k for group in declared for k in group), (*labels, *found))


def _key(t: TomlTable, name: str, blocks: tuple[str, ...]) -> list[Key]:
    kind, description = t.choice("type", TYPES), t.text("description", "")
    found = [Key(block, name, kind, description) for block in t.texts("blocks", blocks)]
    t.done()
    return found


def _metrics(t: TomlTable) -> Iterator[Metric]:
    blocks, arms = t.texts("blocks"), ", ".join(t.texts("arms"))
    label, idx = t.text("label", None), t.text("idx", None)
    metrics = t.table("metrics")
    texts = {name: t.table(name, TomlTable({}, t.file, name)) for name in ("unit", "better")}
    for metric in metrics.data:
        unit = texts["unit"].text(metric, None)
        better = texts["better"].choice(metric, ("lower", "higher"), None)
        for block in blocks:
            yield Metric(block, arms, metric, label, idx, unit, better, metrics.text(metric))
    for table in (*texts.values(), t):
        table.done()

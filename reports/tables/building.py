"""Every table by name: which function builds it, and what happens when the database has nothing for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.errors import UsageError
from orledger.reports.audit_rows import AuditRows
from orledger.reports.source import NothingToShowError, Planned, Remembering, Source, database_hash
from orledger.reports.tables import declared as declarations
from orledger.reports.tables import generic_specs
from orledger.reports.tables.table import empty
from orledger.reports.tables.values import Text
from orledger.wording import one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from orledger.reports.source import Database
    from orledger.reports.tables.table import Table
    from orledger.study import Study

    Builder = Callable[[Source], Table]


@dataclass(frozen=True)
class TableSpec:
    """A table that a study declares: ``case`` is the heading it stands under, None for the whole study; ``title`` is used when it is absent."""

    name: str
    title: str
    case: str | None
    build: Builder


def table(name: str, title: str, case: str | None = None) -> Callable[[Builder], Builder]:
    """Declares the decorated function as the builder of table ``name``; the module is listed in its study and nothing else is."""

    def declare(build: Builder) -> Builder:
        build.spec = TableSpec(name, title, case, build)  # type: ignore[attr-defined]
        return build

    return declare


def declared(chosen: Iterable[Study] | None = None) -> dict[str, TableSpec]:
    """The tables of ``chosen`` studies (all installed ones by default) by name, in the order of the document."""
    found: dict[str, TableSpec] = {}
    for study in studies.installed() if chosen is None else chosen:
        for module in study.modules("tables"):
            for value in vars(module).values():
                spec = getattr(value, "spec", None)
                if isinstance(spec, TableSpec) and value.__module__ == module.__name__:
                    found.setdefault(spec.name, spec)
    return found


def offered(results: Database, chosen: Sequence[Study], known: Sequence[Study] | None = None) -> dict[str, TableSpec]:
    """The tables of ``known`` studies (those of ``chosen`` without), those that study files of ``chosen`` declare, then generic
    ones for every case that ``chosen`` has no modules for.
    """
    found = declared(chosen if known is None else known)
    for name, title, case, make in (*declarations.offers(results, chosen), *generic_specs.offers(results, chosen)):
        found.setdefault(name, TableSpec(name, title, case, make))
    return found


def wanted(names: Iterable[str], specs: dict[str, TableSpec]) -> list[TableSpec]:
    """The tables called ``names``, in the order of the document; case does not matter, and an unknown name lists the known ones."""
    by_name = {name.lower(): spec for name, spec in specs.items()}
    asked = list(names)
    unknown = [n for n in asked if n.lower() not in by_name]
    if unknown:
        raise UsageError(f"unknown table {unknown[0]!r}", hint=one_of(unknown[0], list(specs)))
    return [s for s in specs.values() if s.name.lower() in {n.lower() for n in asked}]


def build(
    spec: TableSpec,
    results: Database,
    planned: Sequence[Planned] = (),
    *,
    labels: Mapping[str, str] | None = None,
    database: str | None = None,
    audit: AuditRows | None = None,
    changed: str = "",
) -> Table:
    """The table of ``spec`` from ``results``; when there is nothing to show, a table that says why.

    ``planned`` lists the cells that the plan of the run asks for, so that cells whose rows are gone are named too. What
    ``changed`` says of the whole database is the first note.
    """
    named = studies.labels(studies.present(results)) if labels is None else labels
    source = Source(results, planned, labels=named, shared=audit)
    try:
        table = spec.build(source)
    except NothingToShowError as nothing:
        table = empty(spec.name, spec.title, nothing.message)
    database = database_hash(results) if database is None else database
    queries = (*source.queries, *source.cited.queries())
    name, title = table.name or spec.name, table.title or spec.title
    older = (
        source.cited.audit.stale if table.generic else None
    )  # a table of a study says it itself where it cites the audit
    said = [changed, f"{older[:1].upper()}{older[1:]}." if older else ""]
    notes = (*(Text(text) for text in said if text), *table.notes, *source.notes())
    return replace(table, name=name, title=title, queries=queries, database=database, notes=notes)


def build_tables(
    results: Database,
    planned: Sequence[Planned] = (),
    names: Iterable[str] | None = None,
    *,
    chosen: Sequence[Study] | None = None,
    changed: str = "",
) -> list[Table]:
    """The tables of ``chosen`` studies (by default those that have cells here), in the order of the document.

    With ``names`` only these; they may then belong to any installed study. What ``changed`` says is a note of each.
    """
    here = studies.present(results) if chosen is None else chosen
    database, once = database_hash(results), Remembering(results)  # tables of one block ask the same questions
    known = offered(once, here, here if names is None else studies.installed() if chosen is None else chosen)
    specs = list(known.values()) if names is None else wanted(names, known)
    named, audit = studies.labels(here), AuditRows(once)
    shared: dict[str, Any] = {"labels": named, "database": database, "audit": audit, "changed": changed}
    return [build(spec, once, planned, **shared) for spec in specs]

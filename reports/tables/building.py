"""Every table by name: which function builds it, and what happens when the database has nothing for it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.errors import UsageError
from orledger.reports.audit_rows import AuditRows
from orledger.reports.source import NothingToShowError, Planned, Remembering, Source, content_hash
from orledger.reports.tables.table import empty

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orledger.reports.source import Database
    from orledger.reports.tables.table import Table

# name: module, function, title used when the table is absent; the order is the order of the document
TABLES = {
    "A": ("a", "table_a", "Case A: accuracy of the rules, fine grid"),
    "A16": ("a", "table_a16", "Case A: accuracy of the rules, coarse grid"),
    "Astab": ("a", "table_astab", "Case A: dispersion across noise seeds"),
    "Afloor": ("a_floor", "table_afloor", "Case A: the run-to-run floor"),
    "Aport": ("a_floor", "table_aport", "Case A: the same cells on two backends"),
    "Acert": ("a_cert", "table_acert", "Case A: certificates"),
    "Aladder": ("a_ladder", "table_aladder", "Case A: the inflation ladder"),
    "Baudit": ("b_data", "table_baudit", "Case B: datasets and their audit"),
    "Blevels": ("b_data", "table_blevels", "Case B: conformal levels"),
    "Bshift": ("b", "table_bshift", "Case B: covariate shift by dataset"),
    "Barms": ("b", "table_barms", "Case B: all arms"),
    "Bfloor": ("b_width", "table_bfloor", "Case B: the width budget of the OR head"),
    "Btail": ("b_width", "table_btail", "Case B: the tail of single points"),
    "Babl": ("b_ablation", "table_babl", "Case B: the two-by-two ablation"),
    "Battr": ("b_ablation", "table_battr", "Case B: attribution of the width defect"),
    "Bgap": ("b_gap", "table_bgap", "Case B: the gap task"),
    "Bgapsurv": ("b_gap", "table_bgapsurv", "Case B: single-seed values against many seeds"),
    "C": ("c", "table_c", "Case C: final regret"),
    "CpairEI": ("c", "table_cpair_ei", "Case C: final regret against EI"),
    "CpairOR": ("c", "table_cpair_or", "Case C: final regret against OR-LCB 1×"),
    "CaucEI": ("c", "table_cauc_ei", "Case C: mean regret against EI"),
    "Ckappa": ("c_kappa", "table_ckappa", "Case C: inertness of the ladder"),
    "Cinv": ("c_kappa", "table_cinv", "Case C: the invariance criterion at every step"),
    "regime": ("ref", "table_regime", "Which tool for which data"),
    "dictionary": ("ref", "table_dictionary", "Dictionary"),
    "provenance": ("ref", "table_provenance", "What is classical and what is not"),
}


def table_names() -> list[str]:
    """The names of all tables, in the order of the document."""
    return list(TABLES)


def build(
    name: str,
    results: Database,
    planned: Sequence[Planned] = (),
    *,
    database: str | None = None,
    audit: AuditRows | None = None,
) -> Table:
    """The table called ``name`` from ``results``; when there is nothing to show, a table that says why.

    ``planned`` lists the cells that the plan of the run asks for, so that cells whose rows are gone are named too.
    """
    if name not in TABLES:
        raise UsageError(f"unknown table {name!r}", hint=f"one of {', '.join(TABLES)}")
    module, function, title = TABLES[name]
    source = Source(results, planned, shared=audit)
    builder = getattr(importlib.import_module(f"orledger.paper.tables.{module}"), function)
    try:
        table: Table = builder(source)
    except NothingToShowError as nothing:
        table = empty(name, title, nothing.message)
    database = content_hash(results) if database is None else database
    queries = (*source.queries, *source.cited.queries())
    return replace(table, queries=queries, database=database, notes=(*table.notes, *source.notes()))


def build_tables(results: Database, planned: Sequence[Planned] = (), names: Iterable[str] | None = None) -> list[Table]:
    """Several tables (all of them without ``names``), in the order of the document."""
    chosen = list(TABLES) if names is None else list(names)
    unknown = [n for n in chosen if n not in TABLES]
    if unknown:
        raise UsageError(f"unknown table {unknown[0]!r}", hint=f"one of {', '.join(TABLES)}")
    database, once = content_hash(results), Remembering(results)  # tables of one block ask the same questions
    audit = AuditRows(once)
    return [build(name, once, planned, database=database, audit=audit) for name in TABLES if name in chosen]

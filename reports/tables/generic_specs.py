"""Which generic tables a database has: for every subject that no study brings tables of its own for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.reports.generic import Subject, slug, subjects
from orledger.reports.tables.generic import PART, result_table, summary_table
from orledger.reports.tables.generic_tests import (
    claim_table,
    disposition_table,
    pair_table,
    refusal_table,
    test_table,
)
from orledger.schema.layouts import literal
from orledger.studies import labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.reports.source import Database, Source
    from orledger.reports.tables.table import Table
    from orledger.study import Study

Offer = tuple[str, str, str, Callable[["Source"], "Table"]]  # name, title, case, builder


def covered(chosen: Iterable[Study]) -> set[str]:
    """The cases for which a study has tables or figures of its own."""
    return {c.name for s in chosen if s.tables or s.figures for c in s.cases}


def generic_subjects(results: Database, chosen: Iterable[Study]) -> list[Subject]:
    """The subjects of cases that no study of ``chosen`` covers."""
    chosen = list(chosen)
    taken = covered(chosen)
    return [replace(s, labels=labels(chosen)) for s in subjects(results) if s.case not in taken]


def offers(results: Database, chosen: Iterable[Study]) -> list[Offer]:
    """The generic tables: per subject results, summary, pairs and tests; per case dispositions, claims and refusals."""
    found: list[Offer] = []
    cases: dict[str, list[str]] = {}
    for s in generic_subjects(results, chosen):
        cases.setdefault(s.case, []).append(s.hypothesis)
        parts = max(1, -(-len(s.values.units) // PART))
        for k in range(1, parts + 1):
            name = f"{s.name}-results-{k}" if parts > 1 else f"{s.name}-results"
            found.append((name, f"Results, {s.metric} by unit", s.case, _builder(result_table, s, k)))
        found.append((f"{s.name}-summary", f"Summary of {s.metric}", s.case, _builder(summary_table, s)))
        if s.pairs:
            found.append((f"{s.name}-pairs", f"Pairs of arms, {s.metric}", s.case, _builder(pair_table, s)))
        found.append((f"{s.name}-tests", f"Tests of {s.metric}", s.case, _builder(test_table, s)))
    for case, hypotheses in cases.items():
        found += _case(results, case, tuple(dict.fromkeys(hypotheses)))
    return found


def _case(results: Database, case: str, hypotheses: tuple[str, ...]) -> list[Offer]:
    from orledger.reports.audit_rows import AuditRows

    audit, name = AuditRows(results), slug(case)
    found: list[Offer] = [(f"{name}-dispositions", "Verdicts", case, _builder(disposition_table, audit, hypotheses))]
    if any(audit.claims(h) for h in hypotheses):
        found.append((f"{name}-claims", "Claims", case, _builder(claim_table, audit, hypotheses)))
    query = f"SELECT count(*) FROM all_refusals WHERE case_name = {literal(case)}"
    if results.sql(query).item():
        found.append((f"{name}-refusals", "Missing results", case, _builder(refusal_table, results, case)))
    return found


def _builder(make: Callable[..., Table], *about: object) -> Callable[[Source], Table]:
    """What makes a table ``about`` something, its queries among those of the source."""

    def build(source: Source) -> Table:
        table = make(*about)
        source.queries += [q for q in table.queries if q not in source.queries]
        return replace(table, generic=True)

    return build

"""Which generic tables a database has: for every subject that no study brings tables of its own for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.reports.generic import PAIRED, Subject, slug, subjects
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
        for k in range(parts):
            suffix = f"-{k + 1}" if parts > 1 else ""
            found.append((f"{s.name}-results{suffix}", f"{s.metric} by unit", s.case, _part(s, k + 1)))
        found.append((f"{s.name}-summary", f"Summary of {s.metric}", s.case, _of(s, summary_table)))
        if any(t.test in PAIRED for t in s.tests):
            found.append((f"{s.name}-pairs", f"Pairs of arms, {s.metric}", s.case, _of(s, pair_table)))
        found.append((f"{s.name}-tests", f"Tests of {s.metric}", s.case, _of(s, test_table)))
    for case, hypotheses in cases.items():
        found += _case(results, case, tuple(dict.fromkeys(hypotheses)))
    return found


def _case(results: Database, case: str, hypotheses: tuple[str, ...]) -> list[Offer]:
    from orledger.reports.audit_rows import AuditRows

    audit, name = AuditRows(results), slug(case)
    found: list[Offer] = [
        (f"{name}-dispositions", "Dispositions", case, lambda s: _kept(s, disposition_table(audit, hypotheses, name)))
    ]
    if any(audit.claims(h) for h in hypotheses):
        found.append((f"{name}-claims", "Claims", case, lambda s: _kept(s, claim_table(audit, hypotheses, name))))
    query = f"SELECT count(*) FROM all_refusals WHERE case_name = {literal(case)}"
    if results.sql(query).item():
        found.append(
            (f"{name}-refusals", "Missing results", case, lambda s: _kept(s, refusal_table(results, case, name)))
        )
    return found


def _part(subject: Subject, number: int) -> Callable[[Source], Table]:
    return lambda source: _kept(source, result_table(subject, number))


def _of(subject: Subject, make: Callable[[Subject], Table | None]) -> Callable[[Source], Table]:
    return lambda source: _kept(source, make(subject))


def _kept(source: Source, table: Table | None) -> Table:
    """``table``, its queries among those of the source."""
    assert table is not None
    source.queries += [q for q in table.queries if q not in source.queries]
    return table

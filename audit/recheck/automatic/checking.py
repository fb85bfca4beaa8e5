"""Every check that needs no annotation, over one document; a check that fails is a finding and ends none of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic import (
    changes,
    derived,
    equations,
    intervals,
    marks,
    moments,
    percentages,
    repeats,
    reported,
    sentences,
    symmetry,
    tallies,
    totals,
)
from orledger.audit.recheck.findings import Finding
from orledger.audit.recheck.model import CheckVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from orledger.audit.recheck.reading.document import Document

# name -> check: what a reader of the result may want to know was tried.
CHECKS: dict[str, Callable[[Document], Iterator[Finding]]] = {
    "reported tests in the text": reported.check_text,
    "reported tests in tables": reported.check_tables,
    "p-values without a statistic": reported.check_beyond,
    "counts with shares in the text": percentages.check_text,
    "counts with shares in tables": percentages.check_tables,
    "equations": equations.check,
    "changes beside their two numbers": changes.check_text,
    "intervals in the text": intervals.check_text,
    "intervals in tables": intervals.check_tables,
    "estimates in the middle of their intervals": symmetry.check_tables,
    "totals of columns": totals.check_rows,
    "totals of rows": totals.check_columns,
    "averages": derived.check_averages,
    "columns and rows that follow from others": derived.check_derived,
    "wins, losses and ties": tallies.check_tallies,
    "bold marks": marks.check_bold,
    "ranks": marks.check_ranks,
    "means and standard deviations of whole numbers in tables": moments.check_tables,
    "means and standard deviations of whole numbers in the text": moments.check_text,
    "the same words in two places": repeats.check_text,
    "the same short sentence in two places": sentences.check_sentences,
    "the same count in two places": sentences.check_counts,
    "the same cell in two tables": repeats.check_tables,
    "the same intervals in two tables": repeats.check_intervals,
}


def by_check(document: Document, names: Collection[str] | None = None) -> dict[str, list[Finding]]:
    """The findings of every check, or of the named ones, by the name of the check and in the order of `CHECKS`."""
    found: dict[str, list[Finding]] = {}
    for name, check in CHECKS.items():
        if names is not None and name not in names:
            continue
        found[name] = []
        try:
            found[name].extend(check(document))
        except (ArithmeticError, ValueError, LookupError, TypeError, RecursionError) as error:
            found[name].append(_broken(document, name, error))
    return found


def recheck_document(document: Document, names: Collection[str] | None = None) -> list[Finding]:
    """One finding per relation that the document satisfies or breaks, by every check or by the named ones."""
    seen: Counter[str] = Counter()
    named = []
    for finding in (f for found in by_check(document, names).values() for f in found):
        seen[finding.id] += 1
        named.append(finding if seen[finding.id] == 1 else replace(finding, id=f"{finding.id} {seen[finding.id]}"))
    return named


def tried(findings: Sequence[Finding]) -> dict[str, int]:
    """How many relations of each kind were found, by rule."""
    return dict(Counter(finding.rule for finding in findings).most_common())


def _broken(document: Document, name: str, error: Exception) -> Finding:
    return Finding(
        id=f"check {name}",
        place="whole document",
        printed="",
        recomputed="no value",
        low=None,
        high=None,
        verdict=CheckVerdict.UNCHECKED,
        rule=name,
        convention=None,
        why=f"the check of {name} stopped: {type(error).__name__}: {error}",
        operands=(),
        file=document.name,
    )

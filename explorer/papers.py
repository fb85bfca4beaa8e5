"""The page of papers that were rechecked: what ``orledger recheck --into`` stored, grouped by cause, with the sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.audit.recheck.findings import Finding, grouped, summary
from orledger.audit.recheck.model import CheckVerdict

if TYPE_CHECKING:
    from orledger.schema.reading import Results

FINDINGS = "SELECT * EXCLUDE (weight) FROM recheck_finding ORDER BY paper, id"


def papers(results: Results) -> list[dict[str, Any]]:
    """Every paper with its findings grouped by cause, the weightiest first, and how many checks had each verdict."""
    found: dict[str, list[Finding]] = {}
    for row in results.rows(FINDINGS):
        paper = row.pop("paper")
        row |= {"verdict": CheckVerdict(row["verdict"]), "operands": tuple(row["operands"])}
        found.setdefault(paper, []).append(Finding(**row))
    return [
        {
            "name": paper,
            "groups": grouped(findings),
            "counts": {verdict: n for verdict, n in summary(findings).items() if n},
            "total": len(findings),
            "settled": [f for f in findings if f.verdict.good],
        }
        for paper, findings in found.items()
    ]

"""What came before a verdict: when its text was registered, what it was corrected from, and who has looked already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.evaluation.levels import TURNED, level_words
from orledger.audit.evaluation.sensitivity import at_coarser_unit, deciding
from orledger.audit.registry.words import Registered, Variant
from orledger.schema import receipts
from orledger.schema.ledger import replaced
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.audit.evaluation.auditing import AuditFinding
    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.schema.reading import Results


SHOWN = 4  # names of comparisons in a remark
ONE_BY_ONE = 8  # tests whose number of units is told in a remark of its own


@dataclass(frozen=True)
class EarlierLook:
    """An earlier audit of the same hypothesis, on other data."""

    created: str
    cells: int
    verdict: str


def with_history(results: Results, finding: AuditFinding, audit_id: str, data_hash: str) -> AuditFinding:
    """``finding`` with what the database knows about the time before it."""
    earlier = looks(results, finding.hypothesis.id, audit_id, data_hash)
    known = registered(results, finding)
    again, last = replaced(results.con, _studies(finding))
    level = ""
    if finding.decision is not None:
        first, coarser = deciding(finding.tests), at_coarser_unit(finding.tests)
        level = level_words(finding.hypothesis, finding.decision, first, coarser, known, len(earlier), again)
    return replace(
        finding,
        known=known,
        earlier=earlier,
        remarks=(
            *remarks(finding, earlier),
            *([f"{TURNED.format(counted(again, 'cell'))}, last on {last}"] if again else []),
        ),
        level=level,
        receipt=receipts.before_data(results.con).get(finding.registration.hash),
    )


def registered(results: Results, finding: AuditFinding) -> Registered:
    """What is known about the time of the registration; of imported results nobody here knows when they were first seen."""
    r = finding.registration
    if r.amendment or r.corrections:
        return Registered.AMENDED
    if r.cells_done and r.parent is None:
        return Registered.AFTER
    query = "SELECT count(*) FROM all_cells WHERE list_contains(?, case_name) AND imported"
    return Registered.UNKNOWN if results.sql(query, [_studies(finding)]).item() else Registered.BEFORE


def _studies(finding: AuditFinding) -> list[str]:
    """The studies whose cells the hypothesis can read."""
    return list(finding.registration.reaches or sorted({q.case for q in finding.hypothesis.quantities}))


def looks(results: Results, hypothesis: str, audit_id: str, data_hash: str) -> tuple[EarlierLook, ...]:
    """Audits of ``hypothesis`` on other data, oldest first; an audit repeated counts those before its first time."""
    found = results.sql(
        "SELECT strftime(a.created, '%Y-%m-%d %H:%M:%S') AS created, a.n_cells AS cells, d.verdict FROM audit a"
        " JOIN disposition d USING (audit_id) WHERE d.hypothesis = $name AND a.data_hash <> $data"
        " AND a.created < coalesce((SELECT created FROM audit WHERE audit_id = $own), 'infinity'::TIMESTAMP)"
        " ORDER BY a.created, a.audit_id",
        {"name": hypothesis, "data": data_hash, "own": audit_id},
    )
    return tuple(EarlierLook(*row) for row in found.iter_rows())


def remarks(finding: AuditFinding, earlier: tuple[EarlierLook, ...]) -> tuple[str, ...]:
    """What a reader must know beside the verdict: corrections, other unit counts than registered, and repeated looks."""
    found = [
        f"the text was corrected on {c['date']} after results had been seen: {c['note']}"
        for c in finding.registration.corrections
    ]
    tests = [e for e in finding.tests if e.variant in (Variant.DECLARED, Variant.BLOCKED) and e.result.p is not None]
    found += _other_counts(tests)
    loose = [e.comparison.id for e in tests if not e.fixed.early]
    if loose:
        names = (
            "each test" if len(loose) == len(tests) else f"{', '.join(loose[:SHOWN])}{' ...' * (len(loose) > SHOWN)}"
        )
        found.append(f"the number of units of {names} was not fixed before the first result")
    if earlier:
        last = earlier[-1]
        found.append(
            f"audited {counted(len(earlier), 'time')} before on other data, last on {last.created}"
            f" with {counted(last.cells, 'cell')} ({last.verdict})"
        )
    return tuple(found)


def _other_counts(tests: Sequence[Evaluation]) -> Iterator[str]:
    """The tests that were evaluated on other units than they were fixed to: one by one, or many alike in one line."""
    alike: dict[str, list[Evaluation]] = {}
    for e in tests:
        if e.fixed.units is not None and e.result.n != e.fixed.units:
            alike.setdefault(e.fixed.how.format(counted(e.fixed.units, "unit")), []).append(e)
    for how, found in alike.items():
        if len(found) <= ONE_BY_ONE:
            yield from (f"{e.comparison.id} {how} and evaluated on {e.result.n}" for e in found)
            continue
        fewest, most = min(found, key=lambda e: e.result.n), max(found, key=lambda e: e.result.n)
        yield (
            f"each of {len(found)} tests {how} and evaluated on others: from {fewest.result.n} ({fewest.comparison.id})"
            f" to {most.result.n} ({most.comparison.id}); --tests lists them all"
        )

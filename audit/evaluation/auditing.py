"""The audit of a database: every registered comparison and claim evaluated, every hypothesis disposed of, all of it stored."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from orledger.audit.evaluation.claims import ClaimResult, check
from orledger.audit.evaluation.comparisons import Evaluation, evaluate, judge
from orledger.audit.evaluation.dispositions import Decision, decide
from orledger.audit.evaluation.pairing import Ledger
from orledger.audit.registry.quantities import literal
from orledger.audit.registry.registration import (
    Registration,
    current_registrations,
    register_descriptions,
    register_shipped,
)
from orledger.audit.statistics.counts import holm
from orledger.audit.statistics.result import library_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orledger.audit.registry.hypotheses import Hypothesis

# Part of every audit id: change it whenever the same inputs may give other rows.
AUDIT_VERSION = "3"


@dataclass(frozen=True)
class Finding:
    """One hypothesis with everything that was found about it; ``decision`` is None where the file only describes."""

    registration: Registration
    hypothesis: Hypothesis
    tests: tuple[Evaluation, ...]
    claims: tuple[ClaimResult, ...]
    decision: Decision | None


@dataclass(frozen=True)
class Audit:
    """What one audit found; ``audit_id`` names its rows in the database."""

    audit_id: str
    data_hash: str
    n_cells: int
    n_records: int
    findings: tuple[Finding, ...]


def audit(con: Any, *, now: datetime | None = None) -> Audit:
    """Evaluates every current registration on the data behind ``con`` and stores the rows; the same inputs give the same rows.

    A database without registrations gets those that come with the package first; the dispositions then say that they
    were registered after the data. Shipped files that only describe are added where they are not registered yet: no
    verdict rests on them, so that coming after the data does no harm. The connection loses its access to other files and to Python objects for good.
    """
    # Hypothesis files may bring SQL of their own: from here on this connection reaches nothing but its database.
    con.execute("SET enable_external_access = false")
    con.execute("SET python_enable_replacements = false")
    if current_registrations(con):
        register_descriptions(con, now=now)
    else:
        register_shipped(con, now=now)
    registrations = current_registrations(con)
    data_hash, n_cells, n_records = data_state(con)
    audit_id = _digest(AUDIT_VERSION, data_hash, *sorted(r.hash for r in registrations))
    hypotheses = [r.parsed() for r in registrations]
    scalars = _copy_scalars(con, hypotheses)
    try:
        ledger = Ledger(con, scalars)
        findings = tuple(find(ledger, r, h) for r, h in zip(registrations, hypotheses, strict=True))
    finally:
        con.execute(f"DROP TABLE IF EXISTS {scalars}")
    result = Audit(audit_id, data_hash, n_cells, n_records, findings)
    store(con, result, now or datetime.now(UTC))
    return result


def find(ledger: Ledger, registration: Registration, hypothesis: Hypothesis) -> Finding:
    """Tests, claims and disposition of one hypothesis."""
    claims = tuple(check(ledger, c) for c in hypothesis.claims)
    by_claim = {c.claim.id: c for c in claims}
    tests = correct_families([e for c in hypothesis.comparisons for e in evaluate(ledger, c)])
    tests = [replace(e, noise_floor=by_claim[e.comparison.noise].value) if e.comparison.noise else e for e in tests]
    deciding: dict[str, Evaluation] = {}
    for e in tests:
        deciding.setdefault(e.comparison.id, e)
    decision = decide(hypothesis, deciding, by_claim) if hypothesis.decides else None
    return Finding(registration, hypothesis, tuple(tests), claims, decision)


def correct_families(tests: Sequence[Evaluation]) -> list[Evaluation]:
    """``tests`` with Holm's correction inside every declared family, over the versions that count independent units.

    A test whose p could not reach alpha after the correction, even with the whole family at its floors, is untestable.
    """
    corrected = list(tests)
    families: dict[str, list[int]] = {}
    for i, e in enumerate(corrected):
        if e.comparison.family is not None and e.independent and e.result.p is not None:
            families.setdefault(e.comparison.family, []).append(i)
    for members in families.values():
        adjusted = holm([corrected[i].result.p or 0.0 for i in members])
        floors = holm([corrected[i].result.floor or 0.0 for i in members])  # the best case: every test at its floor
        for i, p, floor in zip(members, adjusted, floors, strict=True):
            e = corrected[i]
            outcome = judge(e.comparison, e.result, p, floor)
            corrected[i] = replace(e, p_holm=p, family_size=len(members), outcome=outcome)
    return corrected


def data_state(con: Any) -> tuple[str, int, int]:
    """A hash over all cells with their states and contents, the number of cells done, and the number of records."""
    text, done, records = con.execute(
        "SELECT coalesce(string_agg(cell_id || ':' || state || ':' || coalesce(content_hash, n_records::VARCHAR, ''), ',' ORDER BY cell_id), ''),"
        " count(*) FILTER (state = 'done'), (SELECT count(*) FROM record) FROM cell"
    ).fetchall()[0]
    return sha256(text.encode()).hexdigest(), int(done), int(records)


def _copy_scalars(con: Any, hypotheses: Iterable[Hypothesis]) -> str:
    """The name of a temporary table with the unindexed records of the metrics the hypotheses ask about."""
    sources = [s for h in hypotheses for q in h.quantities for s in (q.source, q.divide_by)]
    metrics = {s.metric for s in sources if s is not None}
    listed = ", ".join(literal(m) for m in sorted(metrics)) or "''"
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE audit_scalar AS SELECT * FROM record WHERE idx IS NULL AND metric IN ({listed})"
    )
    return "audit_scalar"


def store(con: Any, found: Audit, now: datetime) -> None:
    """Writes the rows of ``found`` in one transaction, in place of an earlier audit of the same inputs."""
    known = con.execute("SELECT created FROM audit WHERE audit_id = ?", [found.audit_id]).fetchall()
    created = known[0][0] if known else now.replace(tzinfo=None)
    hashes = [f.registration.hash for f in found.findings]
    rows = [row for f in found.findings for row in _rows(found.audit_id, f)]
    con.execute("BEGIN")
    try:
        for table in ("audit", "test_result", "claim", "disposition"):
            con.execute(f"DELETE FROM {table} WHERE audit_id = ?", [found.audit_id])
        head = [
            found.audit_id,
            hashes,
            found.data_hash,
            found.n_cells,
            found.n_records,
            _json(library_versions()),
            created,
        ]
        con.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", head)
        for table in ("test_result", "claim", "disposition"):
            _insert(con, table, [row for name, row in rows if name == table])
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def _insert(con: Any, table: str, rows: Sequence[dict[str, Any]], at_once: int = 50) -> None:
    """Rows of equal columns, many to a statement: one statement each would take longer than the audit itself."""
    for start in range(0, len(rows), at_once):
        batch = rows[start : start + at_once]
        places = ", ".join(f"({', '.join('?' * len(batch[0]))})" for _ in batch)
        values = [v for row in batch for v in row.values()]
        con.execute(f"INSERT INTO {table} ({', '.join(batch[0])}) VALUES {places}", values)


def _rows(audit_id: str, f: Finding) -> Iterable[tuple[str, dict[str, Any]]]:
    """Table name and columns of every row that a finding consists of."""
    common = {"audit_id": audit_id, "registration": f.registration.hash, "hypothesis": f.hypothesis.id}
    test_ids: dict[str, list[str]] = {}
    for e in f.tests:
        c, r = e.comparison, e.result
        test_id = _digest(audit_id, f.hypothesis.id, c.id, e.variant)
        test_ids.setdefault(c.id, []).append(test_id)
        unit = c.pair if e.variant == "naive" else c.unit
        yield "test_result", {
            "test_id": test_id, **common, "comparison": c.id, "variant": e.variant, "title": c.title, "test": c.test,
            "quantities": _json({name: q.described() for name, q in c.sides}), "transform": c.transform,
            "unit": ", ".join(unit), "independent": e.independent, "outcome": e.outcome, "alpha": c.alpha, "side": r.side,
            "statistic": r.statistic, "statistic_name": r.statistic_name, "p": r.p, "family": c.family,
            "family_size": e.family_size, "p_holm": e.p_holm, "floor": r.floor, "n": r.n, "n_nonzero": r.n_nonzero,
            "ties": r.ties, "method": r.method, "effect": r.effect, "effect_name": r.effect_name, "low": r.low,
            "high": r.high, "level": r.level, "interval_method": r.interval_method, "wins": r.wins, "losses": r.losses,
            "draws": r.draws, "bounded": e.bounded, "noise_floor": e.noise_floor,
            "dropped": _json([asdict(d) for d in r.dropped]), "details": _json(dict(r.details)),
            "versions": _json(dict(r.versions)), "units_sql": e.units_sql,
        }  # fmt: skip
    claim_ids = {}
    for k in f.claims:
        claim_ids[k.claim.id] = _digest(audit_id, f.hypothesis.id, "claim", k.claim.id)
        yield "claim", {
            "claim_id": claim_ids[k.claim.id], **common, "name": k.claim.id, "kind": k.claim.kind,
            "statement": k.claim.statement, "state": k.state, "observed": k.observed, "value": k.value, "n": k.n,
            "counterexamples": _json([*k.counterexamples, *(asdict(d) for d in k.dropped)]), "units_sql": k.units_sql,
        }  # fmt: skip
    if f.decision is None:
        return
    evidence = f.decision.evidence
    yield "disposition", {
        "disposition_id": _digest(audit_id, f.hypothesis.id), **common, "mode": f.hypothesis.mode,
        "statement": f.hypothesis.statement, "verdict": f.decision.verdict, "reason": f.decision.reason,
        "rule": f.decision.rule, "test_ids": [t for name in evidence for t in test_ids.get(name, [])],
        "claim_ids": [claim_ids[name] for name in evidence if name in claim_ids],
        "after_data": f.registration.parent is None and f.registration.cells_done > 0,
        "amendment": f.registration.amendment,
    }  # fmt: skip


def _digest(*parts: str) -> str:
    return sha256("\x1f".join(parts).encode()).hexdigest()[:24]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)

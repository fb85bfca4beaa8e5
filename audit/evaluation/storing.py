"""The rows of an audit: tests, claims and dispositions, written in one transaction and entered in the chain."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from orledger.audit.registry.words import Margin, Registered, Variant
from orledger.audit.statistics.result import library_versions
from orledger.schema import chain
from orledger.schema.transactions import transaction
from orledger.schema.writing import insert_rows
from orledger.wording import json_safe

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from duckdb import DuckDBPyConnection

    from orledger.audit.evaluation.auditing import Audit, AuditFinding
    from orledger.audit.statistics.result import Dropped


def store(con: DuckDBPyConnection, found: Audit, now: datetime | None = None) -> None:
    """Writes the rows of ``found`` in one transaction, in place of an earlier audit of the same inputs."""
    known = con.execute("SELECT created FROM audit WHERE audit_id = ?", [found.audit_id]).fetchall()
    hashes = [f.registration.hash for f in found.findings]
    rows = [row for f in found.findings for row in _rows(found.audit_id, f)]
    facts = [found.audit_id, hashes, found.data_hash, found.n_cells, found.n_records, _json(library_versions())]
    tables = ("audit", "test_result", "claim", "disposition")
    with transaction(con):
        now = chain.moment(con, now)
        for table in tables:
            con.execute(f"DELETE FROM {table} WHERE audit_id = ?", [found.audit_id])
        con.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", [*facts, known[0][0] if known else now])
        for table in tables[1:]:
            mine = [row for name, row in rows if name == table]
            insert_rows(con, table, list(mine[0]) if mine else (), [list(row.values()) for row in mine])
        verdicts = {f.hypothesis.id: str(f.decision.verdict) for f in found.findings if f.decision}
        summary = {"audit": found.audit_id, "data_hash": found.data_hash, "verdicts": verdicts}
        chain.append(con, "audit", summary, dict.fromkeys(tables, (found.audit_id,)), now=now)


def _rows(audit_id: str, f: AuditFinding) -> Iterable[tuple[str, dict[str, Any]]]:
    """Table name and columns of every row that a finding consists of."""
    common = {"audit_id": audit_id, "registration": f.registration.hash, "hypothesis": f.hypothesis.id}
    test_ids: dict[str, list[str]] = {}
    for e in f.tests:
        c, r = e.comparison, e.result
        test_id = digest(audit_id, f.hypothesis.id, c.id, e.variant)
        test_ids.setdefault(c.id, []).append(test_id)
        unit = {Variant.NAIVE: c.pair, Variant.COARSER: c.coarser}.get(e.variant, c.unit)
        yield "test_result", {
            "test_id": test_id, **common, "comparison": c.id, "variant": str(e.variant), "title": c.title, "test": c.test,
            "quantities": _json({name: q.described() for name, q in c.sides}), "transform": c.transform,
            "unit": ", ".join(unit), "independent": e.independent, "outcome": str(e.outcome), "alpha": c.alpha, "side": r.side,
            "statistic": r.statistic, "statistic_name": r.statistic_name, "p": r.p, "family": c.family,
            "family_size": e.family_size, "p_holm": e.p_holm, "floor": r.floor, "n": r.n, "n_nonzero": r.n_nonzero,
            "ties": r.ties, "method": r.method, "effect": r.effect, "effect_name": r.effect_name, "low": r.low,
            "high": r.high, "level": r.level, "interval_method": r.interval_method, "wins": r.wins, "losses": r.losses,
            "draws": r.draws, "bounded": e.bounded, "noise_floor": e.noise_floor,
            "interval_ends": r.interval_ends, "standard_effect": r.standard_effect,
            "standard_effect_name": r.standard_effect_name, "superiority": r.superiority, "e_value": r.e_value,
            "untestable": None if e.untestable is None else str(e.untestable), "margin": c.margin,
            "p_noninferior": e.within.noninferior if e.within else None,
            "p_equivalent": e.within.equivalent if e.within else None,
            "noninferior": Margin.NONINFERIOR in e.shown if e.within else None,
            "equivalent": Margin.EQUIVALENT in e.shown if e.within else None,
            "posterior_below": e.posterior.below if e.posterior else None,
            "posterior_within": e.posterior.within if e.posterior else None,
            "posterior_above": e.posterior.above if e.posterior else None,
            "refusals": str(c.refusals), "registered_units": e.fixed.units,
            "dropped": _json([_left_out(d) for d in r.dropped]), "details": _json(dict(r.details)),
            "versions": _json(dict(r.versions)), "units_sql": e.units_sql,
        }  # fmt: skip
    claim_ids = {}
    for k in f.claims:
        claim_ids[k.claim.id] = digest(audit_id, f.hypothesis.id, "claim", k.claim.id)
        yield "claim", {
            "claim_id": claim_ids[k.claim.id], **common, "name": k.claim.id, "kind": k.claim.kind,
            "statement": k.claim.statement, "state": str(k.state), "low": k.interval.low, "high": k.interval.high,
            "level": k.interval.level, "interval_method": k.interval.method,
            "clearly": str(k.clearly[0]) if k.clearly else None, "observed": k.observed, "value": k.value, "n": k.n,
            "counterexamples": _json([*k.counterexamples, *(_left_out(d) for d in k.dropped)]), "units_sql": k.units_sql,
        }  # fmt: skip
    if f.decision is None or f.sensitivity is None:
        return
    evidence = f.decision.evidence
    yield "disposition", {
        "disposition_id": digest(audit_id, f.hypothesis.id), **common, "mode": f.hypothesis.mode,
        "statement": f.hypothesis.statement, "verdict": str(f.decision.verdict), "reason": f.decision.reason,
        "rule": f.decision.rule, "test_ids": [t for name in evidence for t in test_ids.get(name, [])],
        "claim_ids": [claim_ids[name] for name in evidence if name in claim_ids],
        "after_data": f.after_data,
        "amendment": f.known == Registered.AMENDED, "population": f.sensitivity.population,
        "coarser_unit": f.sensitivity.unit,
        "coarser_verdict": None if f.sensitivity.verdict is None else str(f.sensitivity.verdict),
        "coarser_reason": f.sensitivity.reason, "known": str(f.known), "earlier": _json([asdict(x) for x in f.earlier]),
        "remarks": _json(list(f.remarks)), "level": f.level,
    }  # fmt: skip


def digest(*parts: str) -> str:
    """A short hash of several texts: the id of a row."""
    return sha256("\x1f".join(parts).encode()).hexdigest()[:24]


def _left_out(d: Dropped) -> dict[str, Any]:
    return {k: v for k, v in asdict(d).items() if v or k != "partial"}


def _json(value: Any) -> str:
    return json.dumps(json_safe(value), sort_keys=True, ensure_ascii=False, default=str, allow_nan=False)

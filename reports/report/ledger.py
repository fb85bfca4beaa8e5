"""What the audit report says about a database, as plain data: runs, blocks, refusals, hypotheses, tests, claims, settings."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orledger.audit.datasets.origins import Trust, trust
from orledger.reports.report.missing import ARM_REFUSALS, CELL_REFUSALS, UNSAID
from orledger.reports.report.wording import once
from orledger.reports.source import database_hash
from orledger.schema import receipts

if TYPE_CHECKING:
    import polars as pl

    from orledger.reports.source import Database

RUNS = """
SELECT run_id, preset, device, engine, jobs, threads, coalesce(git_commit, '') AS git_commit, state, started, ended,
       versions, host, settings, registration_hash
FROM run ORDER BY started
"""

BLOCKS = """
SELECT case_name, block, count(*) AS planned, count(*) FILTER (state = 'done') AS done,
       count(*) FILTER (state = 'refused') AS refused, count(*) FILTER (state = 'failed') AS failed,
       count(*) FILTER (state = 'planned') AS missing, coalesce(sum(n_records), 0)::BIGINT AS records,
       coalesce(sum(seconds ORDER BY cell_id), 0) AS seconds, string_agg(DISTINCT computed_on, ', ' ORDER BY computed_on) AS backends
FROM all_cells GROUP BY ALL ORDER BY case_name, block
"""

REGISTRATIONS = """
SELECT hypothesis, mode, statement, file, hash, registered, cells_done, parent, amendment, text
FROM registration ORDER BY hypothesis, registered
"""

NEWEST_AUDIT = "SELECT audit_id, data_hash, n_cells, n_records, created, versions FROM audit ORDER BY created DESC, audit_id LIMIT 1"
DISPOSITIONS = "SELECT * FROM disposition WHERE audit_id = ? ORDER BY hypothesis"
TESTS = "SELECT * FROM test_result WHERE audit_id = ? ORDER BY hypothesis, comparison, variant"
CLAIMS = "SELECT * FROM claim WHERE audit_id = ? ORDER BY hypothesis, name"
SETTINGS = """
SELECT case_name, name, value, given, description, count(DISTINCT run_id) AS runs
FROM setting GROUP BY ALL ORDER BY case_name, given, name
"""
DATASETS = """
SELECT name, origin, n_rows, n_features, target, distinct_targets, sha256, count(*) AS cells
FROM dataset GROUP BY ALL ORDER BY name, origin
"""


@dataclass(frozen=True)
class ReportFacts:
    """Everything the report states that is neither a table nor a figure; lists of dictionaries, ready to render."""

    content_hash: str
    runs: list[dict[str, Any]]
    blocks: list[dict[str, Any]]
    arm_refusals: list[dict[str, Any]]
    cell_refusals: list[dict[str, Any]]
    registrations: list[dict[str, Any]]
    audit: dict[str, Any] | None
    dispositions: list[dict[str, Any]]
    tests: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    settings: list[dict[str, Any]]
    datasets: list[dict[str, Any]]
    receipts: int = 0  # registrations of which a receipt from before the data is recorded
    queries: dict[str, str] = field(default_factory=dict)

    @property
    def cases(self) -> list[str]:
        """The cases and studies that have cells, in order."""
        return sorted({b["case_name"] for b in self.blocks})

    @property
    def unchecked_datasets(self) -> list[str]:
        """Datasets that a file in a data directory supplied and that nobody compared with their source."""
        return sorted({d["name"] for d in self.datasets if trust(d["origin"]) == Trust.UNCHECKED})


def _dicts(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.to_dicts()


def gather(db: Database) -> ReportFacts:
    """The ledger of the database behind ``db``; tests and dispositions are those of its newest audit."""
    newest = _dicts(db.sql(NEWEST_AUDIT))
    audit = newest[0] if newest else None
    key = [audit["audit_id"] if audit else ""]
    tests = _dicts(db.sql(TESTS, key))
    for test in tests:
        test["dropped"] = json.loads(test["dropped"] or "[]")
        test["details"] = json.loads(test["details"] or "{}")
        test["title"] = once(test["title"])
    dispositions = _dicts(db.sql(DISPOSITIONS, key))
    earlier = {row["hash"]: receipts.Earlier(**row["receipt"]) for row in _dicts(db.sql(receipts.BEFORE_DATA))}
    for d in dispositions:
        d["remarks"] = json.loads(d["remarks"] or "[]")
        d["receipt"] = receipts.words_of(earlier.get(d["registration"]))
    claims = _dicts(db.sql(CLAIMS, key))
    for claim in claims:
        claim["counterexamples"] = json.loads(claim["counterexamples"] or "[]")
    return ReportFacts(
        content_hash=database_hash(db),
        runs=_dicts(db.sql(RUNS)),
        blocks=_dicts(db.sql(BLOCKS)),
        arm_refusals=_dicts(db.sql(ARM_REFUSALS)) + _dicts(db.sql(UNSAID)),
        cell_refusals=_dicts(db.sql(CELL_REFUSALS)),
        registrations=_dicts(db.sql(REGISTRATIONS)),
        audit=audit,
        dispositions=dispositions,
        receipts=len(earlier),
        tests=tests,
        claims=claims,
        settings=_dicts(db.sql(SETTINGS)),
        datasets=_dicts(db.sql(DATASETS)),
        queries={"blocks": BLOCKS, "refusals": ARM_REFUSALS, "cells": CELL_REFUSALS, "settings": SETTINGS},
    )

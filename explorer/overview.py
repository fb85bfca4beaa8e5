"""Questions of the overview, the live run and the hypothesis pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from orledger.reports.report.ledger import gather

if TYPE_CHECKING:
    from orledger.schema.reading import Results

RATE = 60  # seconds over which the rate of a running job is measured

PROGRESS = """
SELECT case_name, block, count(*) AS cells, count(*) FILTER (state = 'done') AS done,
       count(*) FILTER (state = 'refused') AS refused, count(*) FILTER (state = 'failed') AS failed,
       count(*) FILTER (state = 'planned') AS planned, avg(seconds) FILTER (state = 'done') AS each
FROM cell GROUP BY ALL ORDER BY ALL
"""
RUN = (
    "SELECT run_id, preset, engine, jobs, device, state, started, ended FROM run ORDER BY started DESC, run_id LIMIT 1"
)


def overview(results: Results) -> dict[str, Any]:
    """Blocks, hypotheses with their verdicts, the latest run, and what is missing."""
    ledger = gather(results)
    return {"ledger": ledger, "run": _first(results, RUN), "blocks": results.sql(PROGRESS).to_dicts()}


def live(results: Results) -> dict[str, Any]:
    """The latest run: cells by state and block, the rate, the time that is left, failures and refusals."""
    run = _first(results, RUN)
    blocks = results.sql(PROGRESS).to_dicts()
    totals = {k: sum(b[k] for b in blocks) for k in ("cells", "done", "refused", "failed", "planned")}
    rate = None
    if run is not None:
        recent = results.sql(
            "SELECT count(*) AS n, date_diff('millisecond', min(finished), max(finished)) / 1000.0 AS span FROM cell"
            f" WHERE run_id = ? AND finished > (SELECT max(finished) FROM cell) - INTERVAL {RATE} SECOND",
            [run["run_id"]],
        ).to_dicts()[0]
        if recent["n"] > 1 and recent["span"]:
            rate = (recent["n"] - 1) / recent["span"]
    return {
        "run": run,
        "blocks": blocks,
        "totals": totals,
        "rate": rate,
        "left": totals["planned"] / rate if rate and totals["planned"] else None,
        "failures": results.sql(
            "SELECT cell_id, name, error FROM cell WHERE state = 'failed' ORDER BY finished DESC, name LIMIT 20"
        ).to_dicts(),
        "refusals": results.sql(
            "SELECT f.arm, f.reason, count(*) AS cells, any_value(c.cell_id ORDER BY c.name) AS cell_id, min(c.name) AS name"
            " FROM refusal f JOIN cell c USING (cell_id) GROUP BY ALL ORDER BY cells DESC, f.arm, f.reason LIMIT 30"
        ).to_dicts(),
        "latest": results.sql(
            "SELECT cell_id, name, state, seconds FROM cell WHERE finished IS NOT NULL ORDER BY finished DESC, name LIMIT 12"
        ).to_dicts(),
    }


def hypothesis(results: Results, name: str) -> dict[str, Any] | None:
    """A hypothesis: every version of its text, its disposition in each audit, tests and claims of the newest; None when unknown."""
    versions = results.sql(
        "SELECT * FROM registration WHERE hypothesis = ? ORDER BY registered DESC", [name]
    ).to_dicts()
    verdicts = results.sql(
        "SELECT d.*, a.created, a.n_cells FROM disposition d JOIN audit a USING (audit_id) WHERE hypothesis = ?"
        " ORDER BY a.created DESC",
        [name],
    ).to_dicts()
    if not versions and not verdicts:
        return None
    newest = verdicts[0]["audit_id"] if verdicts else ""
    where = "WHERE audit_id = ? AND hypothesis = ?"
    tests = results.sql(f"SELECT * FROM test_result {where} ORDER BY comparison, variant", [newest, name]).to_dicts()
    claims = results.sql(f"SELECT * FROM claim {where} ORDER BY name", [newest, name]).to_dicts()
    for test in tests:
        test["dropped"] = json.loads(test["dropped"] or "[]")
    for claim in claims:
        claim["counterexamples"] = json.loads(claim["counterexamples"] or "[]")
    return {"name": name, "versions": versions, "verdicts": verdicts, "tests": tests, "claims": claims}


def _first(results: Results, query: str) -> dict[str, Any] | None:
    rows = results.sql(query).to_dicts()
    return rows[0] if rows else None

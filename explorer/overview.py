"""Questions of the overview and of the page of a run, live while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.reports.report.ledger import ARM_REFUSALS, gather

if TYPE_CHECKING:
    from orledger.schema.reading import Results

REFUSED = 30  # kinds of refusals that the page of a run shows
RATE = 60  # seconds over which the rate of a running job is measured

PROGRESS = """
SELECT case_name, block, count(*) AS cells, count(*) FILTER (state = 'done') AS done,
       count(*) FILTER (state = 'refused') AS refused, count(*) FILTER (state = 'failed') AS failed,
       count(*) FILTER (state = 'planned') AS planned, avg(seconds) FILTER (state = 'done') AS each
FROM all_cells GROUP BY ALL ORDER BY ALL
"""
STUDIES = """
SELECT coalesce(s.study, c.case_name) AS name, any_value(s.title) AS title, any_value(s.citation) AS citation,
       list(DISTINCT c.case_name ORDER BY c.case_name) AS cases, count(*) AS cells,
       count(*) FILTER (c.state = 'done') AS done, coalesce(sum(c.n_records), 0)::BIGINT AS records
FROM all_cells c LEFT JOIN study s USING (case_name) GROUP BY 1 ORDER BY 1
"""
PAPERS = (
    "SELECT paper, count(*) FILTER (weight > 0) AS open, count(*) AS n FROM recheck_finding GROUP BY ALL ORDER BY ALL"
)
RUN = (
    "SELECT run_id, preset, engine, jobs, device, state, started, ended FROM run ORDER BY started DESC, run_id LIMIT 1"
)


def overview(results: Results) -> dict[str, Any]:
    """Blocks, hypotheses with their verdicts, the latest run, and what is missing."""
    ledger = gather(results)
    return {
        "ledger": ledger,
        "run": _first(results, RUN),
        "blocks": results.sql(PROGRESS).to_dicts(),
        "studies": results.sql(STUDIES).to_dicts(),
        "audits": results.sql("SELECT count(*) AS n, max(created) AS newest FROM audit").to_dicts()[0],
        "papers": results.sql(PAPERS).to_dicts(),
    }


def live(results: Results) -> dict[str, Any]:
    """The latest run: cells by state and block, the rate, the time that is left, failures and refusals."""
    run = _first(results, RUN)
    blocks = results.sql(PROGRESS).to_dicts()
    totals = {k: sum(b[k] for b in blocks) for k in ("cells", "done", "refused", "failed", "planned")}
    rate = None
    if run is not None:
        recent = results.sql(
            "SELECT count(*) AS n, date_diff('millisecond', min(finished), max(finished)) / 1000.0 AS span FROM all_cells"
            f" WHERE run_id = ? AND finished > (SELECT max(finished) FROM all_cells) - INTERVAL {RATE} SECOND",
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
            "SELECT cell_id, cell, error FROM all_cells WHERE state = 'failed' ORDER BY finished DESC, cell LIMIT 20"
        ).to_dicts(),
        "refusals": results.sql(ARM_REFUSALS).head(REFUSED).to_dicts(),
        "latest": results.sql(
            "SELECT cell_id, cell, state, seconds FROM all_cells WHERE finished IS NOT NULL ORDER BY finished DESC, cell LIMIT 12"
        ).to_dicts(),
    }


def _first(results: Results, query: str) -> dict[str, Any] | None:
    rows = results.sql(query).to_dicts()
    return rows[0] if rows else None

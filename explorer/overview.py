"""Questions of the overview and of the page of a run, live while it goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from orledger.reports.absence import ALIKE
from orledger.reports.report.missing import ARM_REFUSALS, CELL_REFUSALS, UNSAID

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from orledger.explorer.mirror import Copied
    from orledger.reports.report.answering import Answers

REFUSED = 30  # kinds of refusals that the page of a run shows
SHARES = ("done", "refused", "failed", "planned")  # states of a cell
EARLIER = 50  # runs before the latest that are listed
LINE = 200  # characters of an error beside the name of its cell
RATE = timedelta(seconds=60)  # over which the rate of a running job is measured
SLOTS = 60  # bars of the picture of a run
HEIGHT = 64  # of the picture

# Small questions whose answers are put together here: DuckDB takes longer to plan a large one than to answer all of these.
STATES = """
SELECT case_name, block, state, imported, count(*) AS cells, coalesce(sum(n_records), 0)::BIGINT AS records
FROM all_cells GROUP BY ALL ORDER BY ALL
"""
STUDIES = "SELECT case_name, study, title, citation FROM study"
VERDICTS = """
SELECT d.*, n AS audits, created FROM disposition d
JOIN (SELECT audit_id, created, count(*) OVER () AS n FROM audit ORDER BY created DESC, audit_id LIMIT 1) USING (audit_id)
ORDER BY hypothesis
"""
REGISTERED = "SELECT count(DISTINCT hypothesis) AS n FROM registration"
PAPERS = (
    "SELECT paper, count(*) FILTER (weight > 0) AS open, count(*) AS n FROM recheck_finding GROUP BY ALL ORDER BY ALL"
)
# Those that refused as a whole, alike reasons together.
REFUSED_CELLS = f"""
SELECT case_name, block, if(count(DISTINCT reason) = 1, min(reason), {ALIKE.format("min(reason)")}) AS reason, count(*) AS cells
FROM all_cells WHERE state = 'refused' GROUP BY case_name, block, {ALIKE.format("reason")}
ORDER BY cells DESC, case_name, block, reason LIMIT {REFUSED}
"""
FAILURES = "SELECT cell_id, cell, error FROM all_cells WHERE state = 'failed' ORDER BY finished DESC, cell LIMIT 20"
LATEST = "SELECT cell_id, cell, state, seconds, finished FROM all_cells WHERE finished IS NOT NULL ORDER BY finished DESC, cell LIMIT 12"
RUN = """
SELECT run_id, preset, engine, jobs, device, state, started, ended, count(*) OVER () AS runs
FROM run ORDER BY started DESC, run_id LIMIT 1
"""
RUNS = f"""
SELECT run_id, preset, state, started, ended, coalesce(cells, 0) AS cells
FROM run LEFT JOIN (SELECT run_id, count(*) AS cells FROM all_cells GROUP BY run_id) USING (run_id)
ORDER BY started DESC, run_id LIMIT {EARLIER} OFFSET 1
"""

# The cells that a run finished, by span of time; the last of them once more, from ``recent`` on, for the rate.
COURSE = """
SELECT floor(date_diff('millisecond', $started, finished) / 1000.0 / $width)::INTEGER AS slot, state, count(*) AS cells,
       count(*) FILTER (finished > $recent) AS n, min(finished) FILTER (finished > $recent) AS since
FROM all_cells WHERE run_id = $run AND finished IS NOT NULL GROUP BY ALL
"""


def overview(results: Copied) -> dict[str, Any]:
    """Blocks, hypotheses with their verdicts, the latest run, and what is missing; no question whose answer is known to be empty."""
    blocks, verdicts = progress(results), results.rows(VERDICTS)
    unsaid = results.rows(UNSAID) if any(b["imported"] for b in blocks) else []
    return {
        "verdicts": verdicts,
        "said": results.remember(("answers",), lambda: in_words(results)) if verdicts else None,
        "registered": 0 if verdicts else results.rows(REGISTERED)[0]["n"],
        "run": latest_run(results),
        "blocks": blocks,
        "studies": studies(blocks, results.rows(STUDIES)),
        "papers": results.rows(PAPERS),
        "arm_refusals": refusals(results) + unsaid,
        "cell_refusals": results.rows(CELL_REFUSALS) if any(b["done"] < b["cells"] for b in blocks) else [],
    }


def in_words(results: Copied) -> Answers:
    """Which side is better, and whether that is shown, as the report says it; nothing where a publication's numbers are compared."""
    from orledger import studies
    from orledger.reports.report.answering import Answers, answered
    from orledger.reports.report.differences import printed_by

    return Answers() if printed_by(studies.present(results)) is not None else answered(results)


def progress(results: Copied) -> list[dict[str, Any]]:
    """Every block with its cells by state, its records, and how many of its cells were imported."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in results.rows(STATES):
        place = (row["case_name"], row["block"])
        empty = dict.fromkeys(("cells", *SHARES, "imported", "records"), 0)
        block = found.setdefault(place, {"case_name": place[0], "block": place[1]} | empty)
        block[row["state"]] += row["cells"]
        block["cells"] += row["cells"]
        block["imported"] += row["cells"] if row["imported"] else 0
        block["records"] += row["records"]
    return list(found.values())


def studies(blocks: list[dict[str, Any]], named: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The studies that the blocks belong to, each with its cases, cells and records; a case that no study names is its own."""
    by_case = {row["case_name"]: row for row in named}
    found: dict[str, dict[str, Any]] = {}
    for b in blocks:
        case = b["case_name"]
        row = by_case.get(case, {"study": None, "title": None, "citation": None})
        empty = {"name": row["study"] or case, "title": row["title"], "citation": row["citation"], "cases": []}
        mine = found.setdefault(row["study"] or case, empty | dict.fromkeys(("cells", "done", "records"), 0))
        mine["cases"] += [case] if case not in mine["cases"] else []
        for count in ("cells", "done", "records"):
            mine[count] += b[count]
    return [found[name] for name in sorted(found)]


def refusals(results: Copied) -> list[dict[str, Any]]:
    """Arms that declined to answer in finished cells, alike reasons together; two pages ask for them."""
    return results.remember(("refusals",), lambda: results.rows(ARM_REFUSALS))


def live(results: Copied) -> dict[str, Any]:
    """The latest run: cells by state and block, the rate, the time that is left, its course, failures and refusals."""
    run, blocks, latest, refused = latest_run(results), progress(results), results.rows(LATEST), refusals(results)
    totals = {k: sum(b[k] for b in blocks) for k in ("cells", *SHARES)}
    rate, drawn = course(results, run, latest[0]["finished"]) if run and latest else (None, None)
    return {
        "run": run,
        "blocks": blocks,
        "totals": totals,
        "rate": rate,
        "left": totals["planned"] / rate if rate and totals["planned"] else None,
        "course": drawn,
        "failures": [f | {"last": last_line(f["error"])} for f in results.rows(FAILURES)] if totals["failed"] else [],
        "refused": results.rows(REFUSED_CELLS) if totals["refused"] else [],
        "refusals": refused[:REFUSED],
        "more_refusals": max(0, len(refused) - REFUSED),
        "latest": latest,
        "earlier": [ended(row) for row in results.rows(RUNS)] if run and run["runs"] > 1 else [],
    }


def last_line(error: str | None) -> str:
    """What a traceback ends with, which says what went wrong."""
    return next((line for line in reversed((error or "").splitlines()) if line.strip()), "")[:LINE]


def course(results: Copied, run: Mapping[str, Any], last: datetime) -> tuple[float | None, dict[str, Any] | None]:
    """Cells a second at the end of a run, and the bars of a picture: how many finished in each span of its time."""
    width = max(1.0, (last - run["started"]).total_seconds() / SLOTS)
    rows = results.rows(
        COURSE, {"run": run["run_id"], "started": run["started"], "width": width, "recent": last - RATE}
    )
    times = [row["since"] for row in rows if row["since"] is not None]
    n = sum(row["n"] for row in rows)
    span = (last - min(times)).total_seconds() if times else 0.0
    slots: dict[int, dict[str, int]] = {}
    for row in rows:
        mine = slots.setdefault(min(max(0, row["slot"]), SLOTS - 1), dict.fromkeys(SHARES, 0))
        mine[row["state"]] += row["cells"]
    most = max((sum(s.values()) for s in slots.values()), default=0)
    bars = []
    for slot, states in sorted(slots.items()):
        top, parts = float(HEIGHT), []
        for kind in SHARES:
            height = HEIGHT * states[kind] / most
            top -= height
            parts += [(kind, round(top, 1), round(height, 1))] if height else []
        bars.append((slot, parts))
    drawn = {"bars": bars, "slots": SLOTS, "most": most, "width": width, "last": last} if len(slots) > 1 else None
    return ((n - 1) / span if n > 1 and span else None), drawn


def latest_run(results: Copied) -> dict[str, Any] | None:
    """The run that began last; one that was killed still says that it runs, and is ``gone`` when nobody has the database."""
    rows = results.rows(RUN)
    if not rows:
        return None
    return rows[0] | {"gone": False} if results.writing else ended(rows[0])


def ended(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run whose process does not go on: one that was killed could not say so."""
    gone = run["state"] == "running"
    return {**run, "gone": gone, "state": "interrupted" if gone else run["state"]}

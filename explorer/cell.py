"""Questions about one cell: its records and refusals as the views show them, its run, its neighbours, and the course of one metric."""

from __future__ import annotations

import math
from bisect import bisect
from typing import TYPE_CHECKING, Any

from orledger.explorer.beside import ARM
from orledger.reports.generic import natural
from orledger.schema.layouts import identifier
from orledger.schema.selecting import equal, select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.explorer.mirror import Copied
    from orledger.schema.layouts import Layout

SERIES = 500  # series that the page of a cell summarises
NEAR = 24  # neighbours for each key, those around its value
BLOCK = 20_000  # neighbours that are looked at
POINTS = 1000  # points of a series that are drawn
LINES = 40  # series that are drawn
# Scalars and the points of series apart: a scalar is its own smallest value.
RECORDS = """
SELECT arm, metric, label, idx IS NULL AS scalar, count(*) AS points, min(value) AS smallest, median(value) AS median,
       max(value) AS largest
FROM all_records WHERE cell_id = ? GROUP BY ALL
"""
RUN = "SELECT preset, versions, git_commit FROM run WHERE run_id = ?"


def one(results: Copied, cell_id: str, drawn: str = "") -> dict[str, Any] | None:
    """A cell with its spec, refusals, facts, data, the run that made it, and its neighbours; None when there is no such cell.

    ``drawn`` is the metric whose series are drawn, if any.
    """
    found = results.rows("SELECT * FROM all_cells WHERE cell_id = ?", [cell_id])
    if not found:
        return None
    (cell,) = found
    run = (
        results.remember(("run", cell["run_id"]), lambda: results.rows(RUN, [cell["run_id"]])) if cell["run_id"] else []
    )
    place = (cell["case_name"], cell["block"])
    layout = next((x for x in results.layouts() if (x.case, x.block) == place), None)
    any_fact = results.remember(("any fact",), lambda: results.rows("SELECT 1 FROM fact LIMIT 1"))
    facts = results.rows("SELECT name, value FROM fact WHERE cell_id = ? ORDER BY ALL", [cell_id]) if any_fact else []
    shown = {"cell": cell, "run": run[0] if run else None, "near": _near(results, cell), "facts": facts}
    return shown | _records(results, layout, cell_id) | {"chart": _course(results, layout, cell_id, drawn)}


def _near(results: Copied, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cells of the same block that differ from ``cell`` in one key, by that key: those around its value, numbers in their order."""
    keys = cell["keys"]
    if not keys:
        return []
    held = ", ".join("keys[?]" for _ in keys)
    same = " + ".join(f"(held[{i}] IS NOT DISTINCT FROM ?)::INTEGER" for i in range(1, len(keys) + 1))
    rows = results.rows(
        f"SELECT cell_id, state, held FROM (SELECT cell_id, state, [{held}] AS held FROM all_cells"
        f" WHERE case_name = ? AND block = ? AND cell_id <> ?) WHERE {same} = ? LIMIT {BLOCK}",
        [*keys, *(cell[k] for k in ("case_name", "block", "cell_id")), *keys.values(), len(keys) - 1],
    )
    found = []
    for i, (key, value) in enumerate(keys.items()):
        others = sorted(
            (_in_order(row["held"][i]), row["cell_id"], row["held"][i], row["state"])
            for row in rows
            if row["held"][i] != value
        )
        before = bisect(others, (_in_order(value),))
        first = max(0, min(before - NEAR // 2, len(others) - NEAR))
        shown = [{"cell_id": c, "value": v, "state": s} for _, c, v, s in others[first : first + NEAR]]
        if others:
            found.append({"key": key, "value": value, "others": shown, "total": len(others)})
    return found


def _in_order(value: str | None) -> tuple[bool, float, list[tuple[int, float, str]], str]:
    """What values of a key are sorted by: numbers first and as numbers, inside names too."""
    try:
        number = float(value or "")
    except ValueError:
        number = math.nan
    return (True, 0.0, natural(value or ""), value or "") if math.isnan(number) else (False, number, [], "")


def _records(results: Copied, layout: Layout | None, cell_id: str) -> dict[str, Any]:
    """The records of a cell: a row per arm with its scalars, a summary of every series, refusals; queries on the views give all."""
    if layout is None:
        return {"arms": None, "series": None, "refusals": []}
    here = [equal("cell_id", [cell_id])]
    rows = results.rows(RECORDS, [cell_id])
    refusals = results.rows(
        "SELECT arm, refused, refused_by FROM all_refusals WHERE cell_id = ? ORDER BY arm", [cell_id]
    )
    scalars: dict[tuple[str, str | None], dict[str, float]] = {}
    for row in sorted((r for r in rows if r["scalar"]), key=lambda r: (r["arm"], r["label"] is None, r["label"] or "")):
        scalars.setdefault((row["arm"], row["label"]), {})[row["metric"]] = row["smallest"]
    met = {metric for found in scalars.values() for metric in found}
    shown = {metric: column for metric, column in layout.scalars.items() if metric in met}
    columns = ["arm", "label", *shown.values()]
    arms: dict[str, Any] = {
        "sql": select(map(identifier, columns), identifier(layout.name), here, ["arm", "label"]),
        "columns": columns,
        "rows": [(*place, *(found.get(metric) for metric in shown)) for place, found in scalars.items()],
    }
    summary = ("arm", "metric", "label", "points", "smallest", "median", "largest")
    points = [tuple(row[c] for c in summary) for row in rows if not row["scalar"]]
    series: dict[str, Any] = {
        "sql": select(["*"], identifier(layout.series), here, ["arm", "label", "idx"]),
        "columns": summary,
        "total": len(points),
        "metrics": sorted({r[1] for r in points if r[3] > 1 and r[1] in layout.indexed}),
        "rows": sorted(points, key=lambda r: (r[1], r[0], r[2] or ""))[:SERIES],
    }
    for part in (arms, series):
        part["columns"], part["rows"] = without_empty_labels(part["columns"], part["rows"])
    return {"arms": arms, "series": series if points else None, "refusals": refusals}


def without_empty_labels(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The table without its column ``label`` where no row has one, which is how it mostly is."""
    at = columns.index("label") if "label" in columns else None
    if at is None or any(row[at] is not None for row in rows):
        return list(columns), list(rows)
    return [*columns[:at], *columns[at + 1 :]], [(*row[:at], *row[at + 1 :]) for row in rows]


def _course(results: Copied, layout: Layout | None, cell_id: str, metric: str) -> dict[str, Any] | None:
    """The series of ``metric`` for a chart, a line for each arm and label; None where there is nothing to draw."""
    if layout is None or metric not in layout.indexed:
        return None
    column = layout.number(metric, indexed=True)
    rows = results.rows(
        f"SELECT {ARM} AS name, list(idx ORDER BY idx) AS places,"
        f" list({column} ORDER BY idx) AS numbers FROM {identifier(layout.series)}"
        f" WHERE cell_id = ? AND {column} IS NOT NULL GROUP BY ALL ORDER BY name",
        [cell_id],
    )
    longest = max((len(r["places"]) for r in rows), default=0)
    step = -(-longest // POINTS) or 1
    lines = [
        {"name": r["name"], "points": list(zip(r["places"][::step], r["numbers"][::step], strict=True))}
        for r in rows[:LINES]
    ]
    about = layout.comments.get(layout.indexed[metric], "")
    shown = {"lines": lines, "title": metric, "group": "index", "about": about}
    return shown | {"step": step, "left_out": len(rows) - len(lines)} if rows else None

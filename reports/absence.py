"""Why a number is not there, as the database has it: what an arm said when it refused, what became of the cells, what the catalogue lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.schema.layouts import identifier
from orledger.schema.selecting import equal
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.reports.source import Database
    from orledger.schema.layouts import Layout

# Reasons that differ in their numbers only are one reason: the numbers become dots.
ALIKE = r"regexp_replace({}, '([ =(])-?\d+(\.\d+)?(e[-+]?\d+)?', '\1…', 'g')"


def why_absent(
    results: Database, layout: Layout, arms: Sequence[str], metric: str, cells: str = "true", label: str | None = None
) -> str:
    """Why ``arms`` have no ``metric`` (under ``label``) in the cells that meet the condition ``cells``, with how many cells each reason holds for.

    Of several arms each is named, and one that has the metric everywhere is left out. Where an arm recorded
    others and not this one, what the catalogue says of it follows: it tells when a metric is left out.
    """
    indexed = metric not in layout.scalars
    if metric not in layout.metrics(indexed=indexed):
        return f"the catalogue of {layout.case}/{layout.block} has no {metric}"
    found, left_out = {}, False
    for arm in arms:
        mine = equal("arm", [arm])
        there = f"{mine} AND {layout.number(metric, indexed=indexed)} IS NOT NULL"
        there += "" if label is None else f" AND {equal('label', [label])}"
        rows = results.sql(
            f"WITH refusing AS (SELECT cell_id, min(refused) AS refused FROM {identifier(layout.name)}"
            f" WHERE {mine} AND refused IS NOT NULL GROUP BY cell_id)\n"
            f"SELECT CASE WHEN refused IS NOT NULL THEN {ALIKE.format('refused')} WHEN state = 'done' THEN 'not recorded'"
            " WHEN state = 'planned' THEN 'not run yet' ELSE 'cell ' || state || coalesce(': ' || reason, '') END AS why,"
            f" count(*) AS n, bool_or(refused IS NULL AND cell_id IN (SELECT cell_id FROM all_records WHERE {mine})) AS others\n"
            f"FROM (SELECT cell_id, state, reason FROM {identifier(layout.cells)} WHERE {cells})"
            " LEFT JOIN refusing USING (cell_id)\n"
            f"WHERE cell_id NOT IN (SELECT cell_id FROM {identifier(layout.view(indexed=indexed))} WHERE {there})\n"
            "GROUP BY ALL ORDER BY n DESC, why"
        ).rows()
        if rows:
            found[arm] = ", ".join(f"{why} ({counted(n, 'cell')})" for why, n, _ in rows)
            left_out = left_out or any(others for *_, others in rows)
    if not found:
        planned = results.sql(f"SELECT count(*) FROM {identifier(layout.cells)} WHERE {cells}").item()
        return f"{metric} is recorded in every cell" if planned else "no such cell was planned"
    about = layout.comments.get(layout.metrics(indexed=indexed)[metric]) if left_out else None
    said = [f"{arm}: {why}" if len(arms) > 1 else why for arm, why in found.items()]
    return "; ".join([*said, *([f"{metric} means {about}"] if about else [])])

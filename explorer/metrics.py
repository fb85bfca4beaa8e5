"""The metric page: one metric, the arms and a key to group by, as a chart, a table and the query that gives both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.schema.reading import Results

GROUPS = 200  # groups that a chart shows


def text(value: str) -> str:
    """``value`` as an SQL text."""
    return "'" + value.replace("'", "''") + "'"


def choices(results: Results) -> list[dict[str, Any]]:
    """Every metric that has records without an index, by case and block, with its arms."""
    return results.sql(
        "SELECT c.case_name, c.block, r.metric, list(DISTINCT r.arm ORDER BY r.arm) AS arms, count(*) AS n"
        " FROM record r JOIN cell c USING (cell_id) WHERE r.idx IS NULL GROUP BY ALL ORDER BY ALL"
    ).to_dicts()


def query(case: str, block: str, metric: str, group: str | None) -> str:
    """The query behind chart and table; ``group`` is a key of the cells."""
    key = f"c.keys[{text(group)}]" if group else "''"
    return (
        f'SELECT * FROM (\nSELECT {key} AS "group", r.arm, count(*) AS n, median(r.value) AS median,\n'
        "       quantile_cont(r.value, 0.25) AS q1, quantile_cont(r.value, 0.75) AS q3,\n"
        "       min(r.value) AS smallest, max(r.value) AS largest\n"
        "FROM record r JOIN cell c USING (cell_id)\n"
        f"WHERE c.case_name = {text(case)} AND c.block = {text(block)} AND r.metric = {text(metric)} AND r.idx IS NULL\n"
        'GROUP BY ALL\n) ORDER BY TRY_CAST("group" AS DOUBLE), 1, 2'
    )


def page(results: Results, asked: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, Any]:
    """What the page shows: the choices, and for the chosen metric its rows, its description and its query."""
    found = choices(results)
    if not found:
        return {"choices": [], "metric": None}
    name = asked.get("metric", "")
    here = next((c for c in found if "/".join((c["case_name"], c["block"], c["metric"])) == name), found[0])
    where = [here["case_name"], here["block"]]
    keys = results.sql(
        "SELECT DISTINCT unnest(map_keys(keys)) AS k FROM cell WHERE case_name = ? AND block = ? ORDER BY k", where
    )["k"].to_list()
    group = asked.get("group", keys[0] if keys else "")
    group = group if group in keys else ""
    sql = query(*where, here["metric"], group or None)
    rows = results.sql(sql).to_dicts()
    arms = [a for a in here["arms"] if not asked.get("arm") or a in asked["arm"].split(",")]
    rows = [r for r in rows if r["arm"] in arms]
    groups = list(dict.fromkeys(r["group"] for r in rows))[:GROUPS]
    by = {(r["group"], r["arm"]): r for r in rows}
    about = results.sql(
        "SELECT description, unit, better FROM metric WHERE case_name = ? AND metric = ? LIMIT 1",
        [where[0], here["metric"]],
    ).to_dicts()
    chart = {
        "labels": [g if g is not None else "" for g in groups],
        "series": [
            {
                "name": labels.get(a, a),
                "points": [[by[g, a][k] for k in ("median", "q1", "q3")] if (g, a) in by else None for g in groups],
            }
            for a in arms
        ],
        "title": here["metric"],
    }
    return {
        "choices": found,
        "metric": here,
        "keys": keys,
        "group": group,
        "rows": rows,
        "arms": arms,
        "sql": sql,
        "labels": labels,
    } | {
        "about": about[0] if about else None,
        "chart": chart,
    }

"""The metric page: one metric, the arms and a key to group by, as a chart, a table and the query that gives both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from orledger.schema.layouts import identifier, literal
from orledger.schema.selecting import equal, select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.schema.layouts import Layout
    from orledger.schema.reading import Results

GROUPS = 200  # groups that a chart shows


def query(layout: Layout, metric: str, group: str) -> str:
    """The query behind chart and table, on the view of the block; ``group`` is a key, or empty for none."""
    column = layout.number(metric, indexed=False)
    key = identifier(layout.keys[group][0]) if group else "''"
    return (
        f"SELECT {key} AS \"group\", arm || coalesce(' · ' || label, '') AS arm, count(*) AS n, median({column}) AS median,\n"
        f"       quantile_cont({column}, 0.25) AS q1, quantile_cont({column}, 0.75) AS q3,\n"
        f"       min({column}) AS smallest, max({column}) AS largest\n"
        f"FROM {identifier(layout.name)} WHERE {column} IS NOT NULL\nGROUP BY 1, 2 ORDER BY 1, 2"
    )


def rows_query(layout: Layout, metric: str, group: str, value: object, arm: str) -> str:
    """The query that gives the rows of one group and arm of ``query``."""
    column, keys = layout.number(metric, indexed=False), layout.key_columns
    chosen = [equal(identifier(layout.keys[group][0]), [value])] if group else []
    chosen += [f"{column} IS NOT NULL", f"arm || coalesce(' · ' || label, '') = {literal(arm)}"]
    shown = ["cell_id", "cell", *keys, "arm", "label", column]
    return select(shown, identifier(layout.name), chosen, [*keys, "cell_id"])


def behind(results: Results, asked: Mapping[str, str]) -> str | None:
    """The query of the rows behind one line of the table; None when there is no such line. An absent ``value`` means none."""
    shown = page(results, asked, [], {})
    for row in shown.get("rows", []):
        value = None if row["group"] is None else str(row["group"])
        if (row["arm"], value) == (asked.get("arm"), asked.get("value", None if shown["group"] else "")):
            return rows_query(shown["layout"], shown["metric"], shown["group"], row["group"], row["arm"])
    return None


def page(results: Results, asked: Mapping[str, str], arms: Sequence[str], labels: Mapping[str, str]) -> dict[str, Any]:
    """What the page shows: the choices, and for the chosen metric its rows, its description and its query.

    ``arms`` are the arms to show, all of them when there are none.
    """
    choices = [(layout, metric) for layout in results.layouts() for metric in layout.scalars]
    if not choices:
        return {"choices": [], "metric": None}
    names = [f"{layout.case}/{layout.block}/{metric}" for layout, metric in choices]
    place = names.index(asked["metric"]) if asked.get("metric") in names else 0
    layout, metric = choices[place]
    keys = list(layout.keys)
    group = asked.get("group", keys[0] if keys else "")
    group = group if group in keys else ""
    sql = query(layout, metric, group)
    rows = results.rows(sql)
    known = list(dict.fromkeys(r["arm"] for r in rows))
    shown = [a for a in known if a in arms] or known
    rows = [r for r in rows if r["arm"] in shown]
    groups = list(dict.fromkeys(r["group"] for r in rows))[:GROUPS]
    quoted = {v: quote("" if v is None else str(v), safe="") for v in {*groups, *shown, *(r["group"] for r in rows)}}
    by = {(r["group"], r["arm"]): r for r in rows}
    series = [
        {
            "name": labels.get(a, a),
            "points": [[by[g, a][k] for k in ("median", "q1", "q3")] if (g, a) in by else None for g in groups],
        }
        for a in shown
    ]
    return {
        "choices": names,
        "metric": metric,
        "chosen": names[place],
        "layout": layout,
        "about": layout.comments.get(layout.scalars[metric], ""),
        "keys": keys,
        "group": group,
        "known": known,
        "arms": shown,
        "labels": labels,
        "rows": rows,
        "quoted": quoted,
        "sql": sql,
        "chart": {"labels": ["" if g is None else str(g) for g in groups], "series": series, "title": metric},
    }

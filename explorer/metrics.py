"""The metric page: one metric, the arms and a key to group by, as a chart, a table and the query that gives both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from orledger.explorer.beside import ARM
from orledger.reports.generic import natural
from orledger.schema.layouts import identifier, literal
from orledger.schema.selecting import equal, select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.schema.layouts import Layout
    from orledger.schema.reading import Results

GROUPS = 200  # groups that a chart shows
ROOM = 12  # arms beyond which nobody who did not ask for groups gets them


def query(layout: Layout, metric: str, group: str) -> str:
    """The query behind chart and table, on the view of the block; ``group`` is a key, or empty for none."""
    column = layout.number(metric, indexed=False)
    key = identifier(layout.keys[group][0]) if group else "''"
    return (
        f'SELECT {key} AS "group", {ARM} AS arm, count(*) AS n, median({column}) AS median,\n'
        f"       quantile_cont({column}, 0.25) AS q1, quantile_cont({column}, 0.75) AS q3,\n"
        f"       min({column}) AS smallest, max({column}) AS largest\n"
        f"FROM {identifier(layout.name)} WHERE {column} IS NOT NULL\nGROUP BY 1, 2 ORDER BY 1, 2"
    )


def rows_query(layout: Layout, metric: str, group: str, value: object, arm: str) -> str:
    """The query that gives the rows of one group and arm of ``query``."""
    column, keys = layout.number(metric, indexed=False), layout.key_columns
    chosen = [equal(identifier(layout.keys[group][0]), [value])] if group else []
    chosen += [f"{column} IS NOT NULL", f"{ARM} = {literal(arm)}"]
    shown = ["cell_id", "cell", *keys, "arm", "label", column]
    return select(shown, identifier(layout.name), chosen, [*keys, "cell_id"])


def behind(results: Results, asked: Mapping[str, str]) -> str | None:
    """The query of the rows behind one line of the table; None when there is no such line. An absent ``value`` means none."""
    found = choice(results, asked)
    if found is None:
        return None
    layout, metric, group = found
    for row in results.rows(query(layout, metric, group)):
        value = None if row["group"] is None else str(row["group"])
        if (row["arm"], value) == (asked.get("arm"), asked.get("value", None if group else "")):
            return rows_query(layout, metric, group, row["group"], row["arm"])
    return None


def choice(results: Results, asked: Mapping[str, str]) -> tuple[Layout, str, str] | None:
    """The views, the metric and the key that are asked for, the first ones by default; None when no metric is stored."""
    choices = {_name(layout, metric): (layout, metric) for layout in results.layouts() for metric in layout.scalars}
    if not choices:
        return None
    layout, metric = choices.get(asked.get("metric", ""), next(iter(choices.values())))
    group = asked.get("group", next(iter(layout.keys), ""))
    return layout, metric, group if group in layout.keys else ""


def _name(layout: Layout, metric: str) -> str:
    return f"{layout.case}/{layout.block}/{metric}"


def page(results: Results, asked: Mapping[str, str], arms: Sequence[str], labels: Mapping[str, str]) -> dict[str, Any]:
    """What the page shows: the choices, and for the chosen metric its rows, its description and its query.

    ``arms`` are the arms to show, all of them when there are none.
    """
    found = choice(results, asked)
    if found is None:
        return {"choices": {}, "metric": None}
    layout, metric, group = found
    sql = query(layout, metric, group)
    rows = results.rows(sql)
    if any(isinstance(r["group"], str) for r in rows):  # numbers come in their order
        rows = sorted(rows, key=lambda r: (r["group"] is None, natural(r["group"] or "")))
    known = list(dict.fromkeys(r["arm"] for r in rows))
    if group and "group" not in asked and len(known) > ROOM and not arms:
        return page(results, {**asked, "group": ""}, arms, labels)
    shown = [a for a in known if a in arms] or known
    rows = [r for r in rows if r["arm"] in shown]
    every = list(dict.fromkeys(r["group"] for r in rows))
    groups = every[:GROUPS]
    by = {(r["group"], r["arm"]): r for r in rows}
    series = [
        {
            "name": labels.get(a, a),
            "points": [[by[g, a][k] for k in ("median", "q1", "q3", "n")] if (g, a) in by else None for g in groups],
        }
        for a in shown
    ]
    return {
        "choices": {
            f"{found.case}/{found.block}": [(_name(found, name), name) for name in found.scalars]
            for found in results.layouts()
            if found.scalars
        },
        "cells": "/cells?" + urlencode({"case": layout.case, "block": layout.block, "metric": metric}),
        "metric": metric,
        "chosen": _name(layout, metric),
        "layout": layout,
        "about": layout.comments.get(layout.scalars[metric], ""),
        "keys": list(layout.keys),
        "group": group,
        "known": known,
        "arms": shown,
        "labels": labels,
        "lines": _lines(rows, labels, layout, metric, group),
        "sql": sql,
        "chart": {
            "labels": ["" if g is None else str(g) for g in groups],
            "series": series,
            "title": metric,
            "group": group,
            "left_out": len(every) - len(groups),
        },
    }


def _lines(
    rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str], layout: Layout, metric: str, group: str
) -> list[tuple[Any, ...]]:
    """A line of the table for each row: the group and the address of its cells, the arm, the address of the rows, numbers."""
    cells = f"/cells?{urlencode({'case': layout.case, 'block': layout.block})}&key.{quote(group, safe='')}="
    behind = f"/metric/rows?{urlencode({'metric': _name(layout, metric), 'group': group})}"
    quoted = {v: quote(str(v), safe="") for r in rows for v in (r["group"], r["arm"])}
    lines = []
    for r in rows:
        value, arm = r["group"], r["arm"]
        mine = "" if value is None else f"&value={quoted[value]}"
        numbers = (r["n"], *(r[c] for c in ("median", "q1", "q3", "smallest", "largest")))
        lines.append(
            (value, cells + quoted[value], labels.get(arm, arm), f"{behind}{mine}&arm={quoted[arm]}", *numbers)
        )
    return lines


def examples(results: Results) -> list[tuple[str, str]]:
    """Queries to begin with, in words and as SQL, on the views that this database has."""
    found = [
        (
            "cells by block and state",
            "SELECT case_name, block, state, count(*) AS cells\nFROM all_cells\nGROUP BY ALL\nORDER BY ALL",
        )
    ]
    chosen = choice(results, {})
    if chosen is not None:
        layout, metric, group = chosen
        found.append(
            (
                f"quartiles of {_name(layout, metric)} by arm{f' and {group}' if group else ''}",
                query(layout, metric, group),
            )
        )
        found.append((f"every row of the view {layout.name}", f"FROM {identifier(layout.name)}"))
    tests = "SELECT hypothesis, title, outcome, effect, low, high, p, p_holm, n\nFROM test_result\nWHERE variant = 'declared'\nORDER BY p"
    return [
        *found,
        ("tests of all audits, the smallest p first", tests),
        ("the seconds that cells took", "SUMMARIZE SELECT seconds FROM all_cells"),
    ]

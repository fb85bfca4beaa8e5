"""Questions about cells and their records: filters on every key, sorted, a page at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from orledger.schema.layouts import identifier
from orledger.schema.selecting import equal, select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.explorer.mirror import Copied
    from orledger.schema.layouts import Layout

PAGE = 100
SERIES = 500  # series that the page of a cell summarises
NEAR = 24  # neighbours for each key, those around its value
BLOCK = 20_000  # neighbours that are looked at
# Scalars and the points of series apart: a scalar is its own smallest value.
RECORDS = """
SELECT arm, metric, label, idx IS NULL AS scalar, count(*) AS points, min(value) AS smallest, median(value) AS median,
       max(value) AS largest
FROM all_records WHERE cell_id = ? GROUP BY ALL
"""
RUN = "SELECT preset, versions, git_commit FROM run WHERE run_id = ?"
COLUMNS = {"name": "cell", "state": "state", "seconds": "seconds", "records": "n_records", "finished": "finished"}


@dataclass(frozen=True)
class Chosen:
    """What of the cells is asked for: equalities on case, block, state and keys, a word, an order and a page."""

    case: str = ""
    block: str = ""
    state: str = ""
    word: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    order: str = "name"
    down: bool = False
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Chosen:
        """The choice that the parameters of a page make; keys are ``key.NAME``. What makes no sense is left out."""
        keys = {k.removeprefix("key."): v for k, v in query.items() if k.startswith("key.") and v != ""}
        number = query.get("page", "1")
        return cls(
            case=query.get("case", ""),
            block=query.get("block", ""),
            state=query.get("state", ""),
            word=query.get("word", ""),
            keys=keys,
            order=query.get("order", "name"),
            down=query.get("down") == "1",
            page=max(1, int(number)) if number.isdigit() and len(number) < 8 else 1,
        )

    def address(self, **other: Any) -> str:
        """The address of the page with this choice, but for what is given as ``other``; what is as usual is not named."""
        chosen = replace(self, **other)
        parts = {k: getattr(chosen, k) for k in ("case", "block", "state", "word")}
        parts |= {f"key.{k}": v for k, v in chosen.keys.items()}
        parts |= {"order": chosen.order if chosen.order != "name" else "", "down": "1" if chosen.down else ""}
        parts["page"] = str(chosen.page) if chosen.page > 1 else ""
        return "/cells?" + urlencode({k: v for k, v in parts.items() if v})

    def where(self) -> tuple[str, list[Any]]:
        """The condition on rows of ``all_cells``, and its parameters."""
        parts, values = ["true"], []
        for column, value in (("case_name", self.case), ("block", self.block), ("state", self.state)):
            if value:
                parts.append(f"{column} = ?")
                values.append(value)
        if self.word:
            parts.append("contains(lower(cell), lower(?))")
            values.append(self.word)
        for key, value in self.keys.items():
            parts.append("keys[?] = ?")
            values += [key, value]
        return " AND ".join(parts), values

    def sorting(self) -> tuple[str, list[Any]]:
        """The order of the rows: a known column, or a key, numbers as numbers."""
        way = "DESC" if self.down else "ASC"
        if self.order in COLUMNS:
            return f"{COLUMNS[self.order]} {way} NULLS LAST, cell_id", []
        key = self.order.removeprefix("key.")
        return f"TRY_CAST(keys[?] AS DOUBLE) {way} NULLS LAST, keys[?] {way} NULLS LAST, cell_id", [key, key]


def page(results: Copied, chosen: Chosen) -> dict[str, Any]:
    """One page of cells, how many there are, and the values that filters can take."""
    condition, values = chosen.where()
    order, order_values = chosen.sorting()
    (counted,) = results.rows(f"SELECT count(*) AS n FROM all_cells WHERE {condition}", values)
    rows = results.rows(
        "SELECT cell_id, case_name, block, cell, keys, state, seconds, n_records, finished, reason"
        f" FROM all_cells WHERE {condition} ORDER BY {order} LIMIT {PAGE} OFFSET {PAGE * (chosen.page - 1)}",
        [*values, *order_values],
    )
    places = results.remember(("places",), lambda: _places(results))
    scope = Chosen(case=chosen.case, block=chosen.block)
    known = chosen.case in ("", *places["case"]) and chosen.block in ("", *places["block"])
    options = (
        results.remember(("options", chosen.case, chosen.block), lambda: _options(results, scope)) if known else []
    )
    named = [o["key"] for o in options]
    met = {key for row in rows for key in row["keys"]} | {chosen.order.removeprefix("key.")}
    return {
        "rows": rows,
        "total": counted["n"],
        "pages": max(1, -(-counted["n"] // PAGE)),
        "keys": named,
        "options": options,
        "shown": [k for k in named if k in met] or named,
        "narrowed": chosen != Chosen(order=chosen.order, down=chosen.down, page=chosen.page),
        "fixed": places,
        "chosen": chosen,
    }


def _options(results: Copied, scope: Chosen) -> list[dict[str, Any]]:
    """The keys of the cells in ``scope`` with their values, numbers in their order."""
    condition, values = scope.where()
    return results.rows(
        "SELECT e.key AS key, list(DISTINCT e.value ORDER BY TRY_CAST(e.value AS DOUBLE), e.value)[:200] AS found"
        f" FROM (SELECT unnest(map_entries(keys)) AS e FROM all_cells WHERE {condition}) GROUP BY ALL ORDER BY key",
        values,
    )


def _places(results: Copied) -> dict[str, list[str]]:
    """The cases, blocks and states that cells have."""
    found = results.rows("SELECT DISTINCT case_name AS case, block, state FROM all_cells")
    return {name: sorted({row[name] for row in found}) for name in ("case", "block", "state")}


def one(results: Copied, cell_id: str) -> dict[str, Any] | None:
    """A cell with its spec, refusals, facts, data, the run that made it, and its neighbours; None when there is no such cell."""
    found = results.rows("SELECT * FROM all_cells WHERE cell_id = ?", [cell_id])
    if not found:
        return None
    (cell,) = found
    run = (
        results.remember(("run", cell["run_id"]), lambda: results.rows(RUN, [cell["run_id"]])) if cell["run_id"] else []
    )
    place = (cell["case_name"], cell["block"])
    layout = next((x for x in results.layouts() if (x.case, x.block) == place), None)
    facts = results.rows("SELECT name, value FROM fact WHERE cell_id = ? ORDER BY ALL", [cell_id])
    shown = {"cell": cell, "run": run[0] if run else None, "near": _near(results, cell), "facts": facts}
    return shown | _records(results, layout, cell_id)


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
        others = [
            {"cell_id": row["cell_id"], "state": row["state"], "value": row["held"][i]}
            for row in rows
            if row["held"][i] != value
        ]
        others.sort(key=lambda o: (_in_order(o["value"]), o["cell_id"]))
        before = sum(_in_order(o["value"]) < _in_order(value) for o in others)
        first = max(0, min(before - NEAR // 2, len(others) - NEAR))
        if others:
            found.append({"key": key, "value": value, "others": others[first : first + NEAR], "total": len(others)})
    return found


def _in_order(value: str | None) -> tuple[bool, float, str]:
    """What values of a key are sorted by: numbers first and as numbers."""
    try:
        number = float(value or "")
    except ValueError:
        number = math.nan
    return (True, 0.0, value or "") if math.isnan(number) else (False, number, "")


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
    arms = {
        "sql": select(map(identifier, columns), identifier(layout.name), here, ["arm", "label"]),
        "columns": columns,
        "rows": [(*place, *(found.get(metric) for metric in shown)) for place, found in scalars.items()],
    }
    summary = ("arm", "metric", "label", "points", "smallest", "median", "largest")
    points = [tuple(row[c] for c in summary) for row in rows if not row["scalar"]]
    series = {
        "sql": select(["*"], identifier(layout.series), here, ["arm", "label", "idx"]),
        "columns": summary,
        "total": len(points),
        "rows": sorted(points, key=lambda r: (r[1], r[0], r[2] or ""))[:SERIES],
    }
    return {"arms": arms, "series": series if points else None, "refusals": refusals}

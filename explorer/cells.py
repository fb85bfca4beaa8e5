"""Questions about cells and their records: filters on every key, sorted, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from orledger.schema.layouts import identifier, literal
from orledger.schema.selecting import equal, select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.schema.layouts import Layout
    from orledger.schema.reading import Results

PAGE = 100
SERIES = 500  # series that the page of a cell summarises
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


def page(results: Results, chosen: Chosen) -> dict[str, Any]:
    """One page of cells, how many there are, and the values that filters can take."""
    condition, values = chosen.where()
    order, order_values = chosen.sorting()
    total = results.sql(f"SELECT count(*) AS n FROM all_cells WHERE {condition}", values)["n"][0]
    rows = results.sql(
        "SELECT cell_id, case_name, block, cell, map_entries(keys) AS keys, state, seconds, n_records, finished, reason"
        f" FROM all_cells WHERE {condition} ORDER BY {order} LIMIT {PAGE} OFFSET {PAGE * (chosen.page - 1)}",
        [*values, *order_values],
    ).to_dicts()
    for row in rows:
        row["keys"] = {e["key"]: e["value"] for e in row["keys"]}
    scope, scope_values = Chosen(case=chosen.case, block=chosen.block).where()
    options = results.sql(
        "SELECT e.key AS key, list(DISTINCT e.value ORDER BY e.value)[:200] AS found"
        f" FROM (SELECT unnest(map_entries(keys)) AS e FROM all_cells WHERE {scope}) GROUP BY ALL ORDER BY key",
        scope_values,
    ).to_dicts()
    fixed = {
        name: results.sql(f"SELECT DISTINCT {column} AS v FROM all_cells ORDER BY v")["v"].to_list()
        for name, column in (("case", "case_name"), ("block", "block"), ("state", "state"))
    }
    names = [o["key"] for o in options]
    return {"rows": rows, "total": total, "pages": max(1, -(-total // PAGE)), "keys": names, "options": options} | {
        "fixed": fixed,
        "chosen": chosen,
    }


def one(results: Results, cell_id: str) -> dict[str, Any] | None:
    """A cell with its spec, refusals, facts, data, the run that made it, and its neighbours; None when there is no such cell."""
    found = results.sql(
        "SELECT c.* EXCLUDE (keys), map_entries(c.keys) AS keys, r.preset, r.versions, r.git_commit FROM all_cells c"
        " LEFT JOIN run r USING (run_id) WHERE cell_id = ?",
        [cell_id],
    ).to_dicts()
    if not found:
        return None
    cell = found[0] | {"keys": {e["key"]: e["value"] for e in found[0]["keys"]}}
    near = []
    for key, value in cell["keys"].items():
        rest = {k: v for k, v in cell["keys"].items() if k != key}
        condition, values = Chosen(case=cell["case_name"], block=cell["block"], keys=rest).where()
        query = f"SELECT cell_id, keys[?] AS value, state FROM all_cells WHERE {condition} AND cell_id <> ? ORDER BY value LIMIT 24"
        others = results.sql(query, [key, *values, cell_id]).to_dicts()
        if others:
            near.append({"key": key, "value": value, "others": others})
    layout = next((x for x in results.layouts() if (x.case, x.block) == (cell["case_name"], cell["block"])), None)
    facts = results.sql("SELECT name, value FROM fact WHERE cell_id = ? ORDER BY ALL", [cell_id]).to_dicts()
    return {"cell": cell, "near": near, "facts": facts} | _records(results, layout, cell_id)


def _records(results: Results, layout: Layout | None, cell_id: str) -> dict[str, Any]:
    """The records of a cell as the views of its block show them: a row per arm, and a summary of every series."""
    if layout is None:
        return {"arms": None, "series": None, "refusals": []}
    here = [equal("cell_id", [cell_id])]
    rest = ", ".join(["cell", "computed_on", *layout.key_columns])
    sql = select([f"* EXCLUDE ({rest})"], identifier(layout.name), here, ["arm", "label"])
    frame = results.sql(sql)
    refusals = frame.filter(frame["refused"].is_not_null()).select("arm", "refused", "refused_by").to_dicts()
    metrics = [c for c in layout.scalars.values() if frame[c].null_count() < frame.height]
    answered = frame.filter(pl.any_horizontal(pl.col(metrics).is_not_null())) if metrics else frame.head(0)
    arms = {"sql": sql, "columns": ["arm", "label", *metrics], "rows": answered.select("arm", "label", *metrics).rows()}
    series = None
    if layout.indexed:
        parts = [
            f"SELECT arm, {literal(m)} AS metric, label, count({identifier(c)}) AS points, min({identifier(c)}) AS smallest,"
            f" median({identifier(c)}) AS median, max({identifier(c)}) AS largest FROM points GROUP BY ALL"
            for m, c in layout.indexed.items()
        ]
        points = select(["*"], identifier(layout.series), here)
        summary = f"WITH points AS MATERIALIZED ({points})\nSELECT * FROM (\n" + "\nUNION ALL ".join(parts)
        found = results.sql(f"{summary}\n)\nWHERE points > 0\nORDER BY metric, arm, label LIMIT {SERIES}")
        series = {"sql": f"{points}\nORDER BY arm, label, idx", "columns": found.columns, "rows": found.rows()}
    return {"arms": arms, "series": series, "refusals": refusals}

"""The list of cells: filters on every key, chosen columns, a metric beside each cell, sorted, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from orledger.explorer import beside
from orledger.schema.layouts import literal
from orledger.schema.selecting import natural_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.explorer.mirror import Copied

PAGE = 100
KEYS = 40  # filters on keys that an address may have: DuckDB plans a query of thousands of conditions for half a minute
OFFERED = 200  # values of a key that a filter offers
# Why a cell refused, or the last line of what it failed with.
WHY = "left(coalesce(reason, split_part(rtrim(error, chr(10)), chr(10), -1)), 200)"
COLUMNS = {
    "name": natural_order("cell"),
    "state": "state",
    "seconds": "seconds",
    "records": "n_records",
    "finished": "finished",
    "why": WHY,
}
OPTIONAL = ("records", "seconds", "finished", "why")


@dataclass(frozen=True)
class Chosen:
    """What of the cells is asked for: equalities on case, block, state and keys, a word, a metric, columns, an order and a page."""

    case: str = ""
    block: str = ""
    state: str = ""
    word: str = ""
    metric: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    order: str = "name"
    down: bool = False
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str], columns: Sequence[str] = ()) -> Chosen:
        """The choice that the parameters of a page make; keys are ``key.NAME``. What makes no sense is left out."""
        keys = {k.removeprefix("key."): v for k, v in query.items() if k.startswith("key.") and v != ""}
        keys = dict(list(keys.items())[:KEYS])
        number = query.get("page", "1")
        texts = {name: query.get(name, "") for name in ("case", "block", "state", "word", "metric")}
        return cls(
            **texts,
            keys=keys,
            columns=tuple(dict.fromkeys(c for c in columns if c)),
            order=query.get("order", "") or "name",
            down=query.get("down") == "1",
            page=max(1, int(number)) if number.isdecimal() and len(number) < 8 else 1,
        )

    def address(self, **other: Any) -> str:
        """The address of the page with this choice, but for what is given as ``other``; what is as usual is not named."""
        chosen = replace(self, **other)
        parts = [(k, getattr(chosen, k)) for k in ("case", "block", "state", "word", "metric")]
        parts += [(f"key.{k}", v) for k, v in chosen.keys.items()] + [("col", c) for c in chosen.columns]
        parts += [("order", chosen.order if chosen.order != "name" else ""), ("down", "1" if chosen.down else "")]
        parts.append(("page", str(chosen.page) if chosen.page > 1 else ""))
        return "/cells?" + urlencode([(k, v) for k, v in parts if v])

    @property
    def narrowed(self) -> list[tuple[str, str, str]]:
        """Every filter that is set: its name, its value, and the address without it."""
        said = [(k, getattr(self, k)) for k in ("case", "block", "state", "word") if getattr(self, k)]
        found = [(k if k != "word" else "name contains", v, self.address(**{k: "", "page": 1})) for k, v in said]
        for key, value in self.keys.items():
            fewer = {k: v for k, v in self.keys.items() if k != key}
            found.append((key, value, self.address(keys=fewer, page=1)))
        return found

    def _parts(self) -> list[tuple[str, list[str]]]:
        parts = [
            (f"{column} = ?", [value])
            for column, value in (("case_name", self.case), ("block", self.block), ("state", self.state))
            if value
        ]
        parts += [("contains(lower(cell), lower(?))", [self.word])] if self.word else []
        return parts + [("keys[?] = ?", [key, value]) for key, value in self.keys.items()]

    def where(self) -> tuple[str, list[str]]:
        """The condition on rows of ``all_cells``, and its parameters."""
        parts = self._parts()
        return " AND ".join(p for p, _ in parts) or "true", [v for _, values in parts for v in values]

    def query(self) -> str:
        """The cells of this choice as a query for people, with the values in it."""
        written = []
        for part, values in self._parts():
            first, *rest = part.split("?")
            written.append(first + "".join(literal(v) + text for v, text in zip(values, rest, strict=True)))
        return "SELECT *\nFROM all_cells" + (f"\nWHERE {' AND '.join(written)}" if written else "") + "\nORDER BY cell"

    def sorting(self) -> tuple[str, list[Any]]:
        """The order of the rows: a known column, or a key; numbers as numbers, in names too."""
        way = "DESC" if self.down else "ASC"
        if self.order in COLUMNS:
            return f"{COLUMNS[self.order]} {way} NULLS LAST, cell_id", []
        key = self.order.removeprefix("key.")
        return (
            f"TRY_CAST(keys[?] AS DOUBLE) {way} NULLS LAST, {natural_order('keys[?]')} {way} NULLS LAST, cell_id",
            [key, key],
        )


def page(results: Copied, chosen: Chosen) -> dict[str, Any]:
    """One page of cells, how many there are, and the values that filters can take."""
    places = results.remember(("places",), lambda: _places(results))
    scope = [p for p in places["blocks"] if chosen.case in ("", p[0]) and chosen.block in ("", p[1])]
    shown = beside.Beside.of(results, scope[0], chosen.metric) if len(scope) == 1 else None
    condition, values = chosen.where()
    (counted,) = results.rows(f"SELECT count(*) AS n FROM all_cells WHERE {condition}", values)
    pages = max(1, -(-counted["n"] // PAGE))
    chosen = replace(chosen, page=min(chosen.page, pages))
    joined, order, order_values = "", *chosen.sorting()
    if shown and chosen.order.startswith("arm."):
        joined, order, order_values = shown.sorting(chosen.order.removeprefix("arm."), down=chosen.down)
    rows = results.rows(
        "SELECT cell_id, case_name, block, cell, keys, state, seconds, n_records, finished,"
        f" {WHY} AS why FROM all_cells {joined} WHERE {condition} ORDER BY {order} LIMIT {PAGE} OFFSET {PAGE * (chosen.page - 1)}",
        [*(order_values if joined else ()), *values, *(() if joined else order_values)],
    )
    options = (
        results.remember(("options", chosen.case, chosen.block), lambda: _options(results, chosen)) if scope else []
    )
    keys = [o["key"] for o in options]
    most = max((o["cells"] for o in options), default=0)
    return {
        "rows": rows,
        "total": counted["n"],
        "pages": pages,
        "first": PAGE * (chosen.page - 1) + 1,
        "options": [o for o in options if o["cells"] * 2 >= most],
        "further": [o for o in options if o["cells"] * 2 < most],
        "offered": OFFERED,
        "columns": _columns(chosen, keys, rows, valued=bool(shown and shown.metric)),
        "possible": [*(f"key.{k}" for k in keys), *OPTIONAL],
        "fixed": places,
        "chosen": chosen,
        "beside": shown,
        "values": shown.values([r["cell_id"] for r in rows]) if shown else {},
    }


def _columns(chosen: Chosen, keys: Sequence[str], rows: Sequence[Mapping[str, Any]], *, valued: bool) -> list[str]:
    """The columns to show: those that were chosen; else the keys that most cells of the page have, and what they are sorted by.

    Beside values of a metric (``valued``) there is no room for more.
    """
    if chosen.columns:
        return [c for c in chosen.columns if c in OPTIONAL or c.removeprefix("key.") in keys]
    most = len(rows) / 2
    found = [f"key.{k}" for k in keys if sum(k in r["keys"] for r in rows) >= most or f"key.{k}" == chosen.order]
    said = {"records", "finished"} | {c for c in ("seconds", "why") if any(r[c] is not None for r in rows)}
    return [*found, *(c for c in OPTIONAL if c == chosen.order or (not valued and c in said))]


def _options(results: Copied, chosen: Chosen) -> list[dict[str, Any]]:
    """The keys of the cells of a case and block with their values, numbers in their order."""
    condition, values = Chosen(case=chosen.case, block=chosen.block).where()
    return results.rows(
        f"SELECT e.key AS key, count(*) AS cells, list(DISTINCT e.value ORDER BY TRY_CAST(e.value AS DOUBLE), {natural_order('e.value')}, e.value)[:{OFFERED + 1}] AS found"
        f" FROM (SELECT unnest(map_entries(keys)) AS e FROM all_cells WHERE {condition}) GROUP BY ALL ORDER BY key",
        values,
    )


def _places(results: Copied) -> dict[str, list[Any]]:
    """The cases, blocks and states that cells have, and which block belongs to which case."""
    found = results.rows("SELECT DISTINCT case_name AS case, block, state FROM all_cells")
    named = {name: sorted({row[name] for row in found}) for name in ("case", "block", "state")}
    return named | {"blocks": sorted({(row["case"], row["block"]) for row in found})}

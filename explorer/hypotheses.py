"""Questions of the pages about a hypothesis: its tests with their variants, the units of one test, and every version of its text."""

from __future__ import annotations

import difflib
import json
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import polars as pl

from orledger.reports.generic import natural
from orledger.reports.report.wording import once

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.schema.reading import Results

    Ask = Callable[[str], pl.DataFrame]

VERSIONS = "SELECT * FROM registration WHERE hypothesis = ? ORDER BY registered, hash"
VERDICTS = """
SELECT d.*, a.created, a.n_cells FROM disposition d JOIN audit a USING (audit_id)
WHERE hypothesis = ? ORDER BY a.created DESC, audit_id
"""
# The variant whose values are independent units comes first; the others show what the choice of the unit changes.
TESTS = """
SELECT * FROM test_result WHERE audit_id = ? AND hypothesis = ?
ORDER BY comparison, list_position(['declared', 'blocked', 'naive', 'coarser'], variant)
"""
CLAIMS = "SELECT * FROM claim WHERE audit_id = ? AND hypothesis = ? ORDER BY name"
PLACES = "SELECT cell_id, cell AS name, keys, case_name, block FROM all_cells WHERE cell_id IN (SELECT unnest(?))"
UNITS = 2000  # values of units that a page shows


def hypothesis(results: Results, name: str) -> dict[str, Any] | None:
    """A hypothesis: its verdict in every audit, tests and claims of the newest, and its versions; None when unknown.

    Tests come as groups of one comparison, those that the verdict names as evidence first.
    """
    versions = results.rows(VERSIONS, [name])
    verdicts = [decoded(v) for v in results.rows(VERDICTS, [name])]
    if not versions and not verdicts:
        return None
    newest = verdicts[0]["audit_id"] if verdicts else ""
    tests = [decoded(t) for t in results.rows(TESTS, [newest, name])]
    claims = [decoded(c) for c in results.rows(CLAIMS, [newest, name])]
    named = set(verdicts[0]["test_ids"] or []) if verdicts else set()
    groups: dict[str, list[dict[str, Any]]] = {}
    for test in tests:
        groups.setdefault(test["comparison"], []).append(test)
    evidence = [g for g in groups.values() if any(t["test_id"] in named for t in g)]
    further = [g for g in groups.values() if not any(t["test_id"] in named for t in g)]
    for before, after in zip([None, *versions], versions, strict=False):
        after["changes"] = changes(before["text"], after["text"]) if before is not None else []
    return {
        "name": name,
        "versions": versions[::-1],
        "verdicts": verdicts,
        "evidence": evidence,
        "further": further,
        "claims": claims,
    }


def test(results: Results, test_id: str, ask: Ask) -> dict[str, Any] | None:
    """One test with the value of every unit, each with its cells; None when there is no such test."""
    found = results.rows("SELECT * FROM test_result WHERE test_id = ?", [test_id])
    return (
        None
        if not found
        else {"test": decoded(found[0]), **units(results, found[0]["units_sql"], ask, found[0]["unit"])}
    )


def claim(results: Results, claim_id: str, ask: Ask) -> dict[str, Any] | None:
    """One claim with the value of every cell it looked at; None when there is no such claim."""
    found = results.rows("SELECT * FROM claim WHERE claim_id = ?", [claim_id])
    return None if not found else {"claim": decoded(found[0]), **units(results, found[0]["units_sql"], ask, "")}


def _natural(frame: pl.DataFrame, column: str) -> pl.Expr:
    """What to sort ``column`` by: names in the order of tables, d2 before d10."""
    if column not in frame.select(pl.selectors.string()).columns or column in ("side", "cell_id"):
        return pl.col(column)
    names = sorted(frame[column].drop_nulls().unique(), key=lambda name: (natural(name), name))
    return pl.col(column).replace_strict({name: i for i, name in enumerate(names)}, default=None)


def units(results: Results, query: str, ask: Ask, unit: str) -> dict[str, Any]:
    """The values behind a test, sorted by unit: for each its unit, a link to the unit's cells, and the row of the query."""
    if not query:
        return {"sql": "", "columns": [], "units": [], "total": 0}
    frame = ask(query)
    keys = [k for k in unit.split(", ") if k in frame.columns]
    order = [c for c in (*keys, "side", "cell_id") if c in frame.columns]
    rows = (frame.sort([_natural(frame, c) for c in order], nulls_last=True) if order else frame).head(UNITS).to_dicts()
    places = (
        {p["cell_id"]: p for p in results.rows(PLACES, [[r["cell_id"] for r in rows]])} if "cell_id" in order else {}
    )
    asked = cache(lambda name, value: urlencode({name: value}))  # the same few values over and over
    for row in rows:
        cell = places.get(row.get("cell_id"), {"name": None, "keys": {}, "case_name": "", "block": ""})
        chosen = [asked(f"key.{k}", cell["keys"][k]) for k in keys if k in cell["keys"]]
        place = (asked("case", cell["case_name"]), asked("block", cell["block"]))
        row["unit_"] = "/".join(str(row[k]) for k in keys)
        row["name_"] = cell["name"]
        row["address"] = "/cells?" + "&".join((*place, *chosen)) if chosen else ""
    hidden = {"cell_id", *keys}
    return {
        "sql": query,
        "columns": [c for c in frame.columns if c not in hidden],
        "units": rows,
        "total": frame.height,
    }


def decoded(row: dict[str, Any]) -> dict[str, Any]:
    """The row with what it holds as JSON read."""
    for column in ("dropped", "details", "counterexamples", "quantities", "known", "earlier", "remarks"):
        if column in row:
            try:
                row[column] = json.loads(row[column] or "null")
            except ValueError:
                continue
    if "test_id" in row:
        row["title"] = once(row["title"])
    return row


def changes(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that changed between two versions, each with its sign: minus, plus, or none for a line of context."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return [(line[:1].strip(), line[1:]) for line in lines if not line.startswith(("---", "+++"))]

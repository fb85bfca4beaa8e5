"""Findings and transcribed numbers as frames, for the database and for reports."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.model import Publication

_FLOATS = frozenset({"low", "high", "value", "weight"})
_COLUMNS = (
    "id", "place", "file", "line", "printed", "recomputed", "low", "high", "verdict", "weight", "decision", "rule",
    "convention", "why", "cause", "sentence", "operands",
)  # fmt: skip


def findings_frame(findings: Iterable[Finding]) -> pl.DataFrame:
    """The findings, one row each; `operands` is a list of ids."""
    rows = [
        {**asdict(f), "weight": f.weight, "verdict": f.verdict.value, "operands": list(f.operands)} for f in findings
    ]
    special = pl.Schema({"line": pl.Int64(), "decision": pl.Boolean(), "operands": pl.List(pl.String)})
    schema = {name: special.get(name, pl.Float64() if name in _FLOATS else pl.String()) for name in _COLUMNS}
    return pl.DataFrame([{name: row[name] for name in _COLUMNS} for row in rows], schema=schema)


def load_published(publication: Publication) -> pl.DataFrame:
    """The transcribed numbers, one row each, with the columns of the database table `published`."""
    rows = [
        {
            "id": n.id,
            "place": n.place,
            "table_name": n.table,
            "row_name": n.row,
            "column_name": n.column,
            "kind": n.kind,
            "printed": n.printed,
            "low": None if n.interval is None else n.interval.low,
            "high": None if n.interval is None else n.interval.high,
            "value": n.value,
            "meaning": n.meaning,
        }
        for n in publication.numbers.values()
    ]
    names = list(rows[0]) if rows else []
    return pl.DataFrame(rows, schema={name: pl.Float64 if name in _FLOATS else pl.String for name in names})

"""The dictionary of an imported study: metrics are added and described better, and never taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from orledger.audit.importing.mapping import Mapping
    from orledger.schema.writing import Writer

COLUMNS = ("block", "arms", "metric", "label", "idx", "unit", "better", "description")


def store_catalogue(writer: Writer, mapping: Mapping, rows: pl.DataFrame) -> None:
    """Lays the metrics of ``rows`` over those the study has; a metric that turns its direction is refused by name."""
    known: dict[tuple[str, str], dict[str, Any]] = {}
    query = f"SELECT {', '.join(COLUMNS)} FROM metric WHERE case_name = ? ORDER BY rowid"
    for row in writer.con.execute(query, [mapping.study]).fetchall():
        named = dict(zip(COLUMNS, row, strict=True))
        known[named["block"], named["metric"]] = named
    for metric, part in rows.group_by("metric", maintain_order=True):
        name = str(metric[0])
        described = mapping.described(name)
        before = known.get((mapping.block, name), {})
        better = described.better or before.get("better")
        if before.get("better") not in (None, better):
            raise DataError(
                f"{mapping.file}: {better} is better for {name!r}, and the study says {before['better']}",
                hint="correct the mapping; a metric has one direction, another metric another name",
            )
        arms = {*part["arm"].unique(), *filter(None, before.get("arms", "").split(", "))}
        plain = described.description == name
        known[mapping.block, name] = {
            "block": mapping.block,
            "arms": ", ".join(sorted(arms)),
            "metric": name,
            "label": mapping.label or before.get("label"),
            "idx": mapping.idx or before.get("idx"),
            "unit": described.unit or before.get("unit"),
            "better": better,
            "description": before.get("description", name) if plain else described.description,
        }
    writer.catalogue(mapping.study, list(known.values()))

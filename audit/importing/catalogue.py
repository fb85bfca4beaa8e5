"""The dictionary of an imported study: metrics are added and described better, and never taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.errors import DataError
from orledger.schema import catalogue
from orledger.schema.catalogue import Catalogue, Metric

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from orledger.audit.importing.mapping import Mapping
    from orledger.schema.writing import Writer


def store_catalogue(writer: Writer, mapping: Mapping, rows: pl.DataFrame, gone: Collection[str] = ()) -> None:
    """Lays the metrics of ``rows`` over those the study has; a metric that turns its direction is refused by name.

    Arms that are ``gone`` from the files are taken out where no cell of the study has them any more.
    Keys with their types and arms are read off the cells when the writer closes.
    """
    known = {(m.block, m.metric): m for m in catalogue.read(writer.con, mapping.study).metrics}
    found = []
    for metric, part in rows.group_by("metric", maintain_order=True):
        name = str(metric[0])
        described = mapping.described(name)
        before = known.get((mapping.block, name), Metric(mapping.block, "", name, description=name))
        better = described.better or before.better
        if before.better not in (None, better):
            raise DataError(
                f"{mapping.file}: {better} is better for {name!r}, and the study says {before.better}",
                hint="correct the mapping; a metric has one direction, another metric another name",
            )
        arms = {*part["arm"].unique(), *filter(None, before.arms.split(", "))}
        indexed = part["idx"].is_not_null().any() if "idx" in part.columns else False
        found.append(
            Metric(
                mapping.block,
                ", ".join(sorted(arms)),
                name,
                mapping.label or before.label,
                mapping.idx if indexed else before.idx,
                described.unit or before.unit,
                better,
                before.description if described.description == name else described.description,
            )
        )
    catalogue.store(writer.con, Catalogue(mapping.study, tuple(found)), gone)

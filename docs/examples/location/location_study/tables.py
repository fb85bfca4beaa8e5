"""The table of the study: median error of every estimate, law by law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.tables import format as rules
from orledger.reports.tables.building import table
from orledger.reports.tables.prose import prose
from orledger.reports.tables.summaries import median
from orledger.reports.tables.table import Column, Group, Row, Table
from orledger.reports.tables.values import Text

if TYPE_CHECKING:
    from orledger.reports.source import Source

ARMS = ("mean", "median", "trimmed")


@table("Locations", "Median error by law and estimate", case="location")
def errors(source: Source) -> Table:
    """One row per law, one column per estimate."""
    frame = source.need(source.rows("SELECT law, seed, arm, error FROM location_errors ORDER BY ALL"), "errors")
    rows = []
    for (law,), mine in frame.group_by("law", maintain_order=True):
        whys = {arm: source.why("location", "main", arm, "error", keys={"law": law}) for arm in ARMS}
        cells = [median(mine.filter(arm=arm)["error"], rules.SHORT, why) for arm, why in whys.items()]
        rows.append(Row(law, (Text(law), *cells)))
    return Table(
        caption=prose(
            "Distance of each estimate from the truth, the median over {{ n }} seeds.", n=frame["seed"].n_unique()
        ),
        columns=(Column("law", Text("law"), "l"), *(Column(a, Text(source.labels.get(a, a)), "r") for a in ARMS)),
        groups=(Group(tuple(rows)),),
    )

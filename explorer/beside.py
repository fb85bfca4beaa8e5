"""A metric beside the cells of a block: a column for each arm, sorted by any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.schema.layouts import identifier
from orledger.schema.selecting import natural_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.explorer.mirror import Copied
    from orledger.schema.layouts import Layout

ARM = "arm || coalesce(' · ' || label, '')"  # an arm with its label, as people read it
MOST = 60  # arms that have a column
BETTER = "SELECT DISTINCT better FROM metric WHERE case_name = ? AND block = ? AND metric = ? AND idx IS NULL"


@dataclass(frozen=True)
class Beside:
    """The metrics that can be shown beside the cells of one block, and the arms of the one that is."""

    results: Copied
    layout: Layout
    metric: str
    arms: Sequence[str]
    better: str | None  # lower or higher, where the catalogue says so
    total: int = 0  # arms, with those that have no column

    @classmethod
    def of(cls, results: Copied, place: tuple[str, str], metric: str) -> Beside | None:
        """What can be shown beside the cells of the block at ``place``; None where it has no scalar."""
        layout = next((x for x in results.layouts() if (x.case, x.block) == place), None)
        if layout is None or not layout.scalars:
            return None
        if metric not in layout.scalars:
            return cls(results, layout, "", (), None)
        arms = results.remember(("arms", *place, metric), lambda: _arms(results, layout, metric))
        better = results.remember(("better", *place, metric), lambda: results.rows(BETTER, [*place, metric]))
        return cls(results, layout, metric, arms[:MOST], better[0]["better"] if len(better) == 1 else None, len(arms))

    def sorting(self, arm: str, *, down: bool) -> tuple[str, str, list[Any]]:
        """A join to ``all_cells``, the order by the value of ``arm``, and the parameters of the join."""
        column = self.layout.number(self.metric, indexed=False)
        join = (
            f"LEFT JOIN (SELECT cell_id, max({column}) AS shown FROM {identifier(self.layout.name)} WHERE {ARM} = ?"
            " GROUP BY ALL) USING (cell_id)"
        )
        return join, f"shown {'DESC' if down else 'ASC'} NULLS LAST, {natural_order('cell')}, cell_id", [arm]

    def values(self, cells: Sequence[str]) -> dict[str, dict[str, float]]:
        """The value of every arm in these cells; an arm without one is not there."""
        found: dict[str, dict[str, float]] = {}
        if self.metric and cells:
            column = self.layout.number(self.metric, indexed=False)
            for row in self.results.rows(
                f"SELECT cell_id, {ARM} AS arm, {column} AS value FROM {identifier(self.layout.name)}"
                f" WHERE cell_id IN (SELECT unnest(?)) AND {column} IS NOT NULL",
                [list(cells)],
            ):
                found.setdefault(row["cell_id"], {})[row["arm"]] = row["value"]
        return found

    def best(self, values: dict[str, float]) -> float | None:
        """The best of all values; None where the catalogue does not say what is better, or nothing stands against it."""
        if self.better not in ("lower", "higher") or len(values) < 2:
            return None
        return min(values.values()) if self.better == "lower" else max(values.values())


def _arms(results: Copied, layout: Layout, metric: str) -> list[str]:
    column = layout.number(metric, indexed=False)
    query = f"SELECT DISTINCT {ARM} AS arm FROM {identifier(layout.name)} WHERE {column} IS NOT NULL ORDER BY 1"
    return [row["arm"] for row in results.rows(query)]

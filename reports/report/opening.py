"""Numbers that open: which queries of the pack stand behind each number of the report's tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orledger.reports.drilldown import Drilldown, numbers
from orledger.reports.report.packing import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.reports.drilldown import NumberPlace, OpenedNumber
    from orledger.reports.report.packing import Pack
    from orledger.reports.tables.table import Table


@dataclass
class Opening:
    """Collects what stands behind the numbers of tables, in the order in which the page shows their links."""

    pack: Pack
    drilldown: Drilldown
    places: dict[OpenedNumber, int] = field(default_factory=dict)
    shown: list[tuple[str, str, int]] = field(default_factory=list)
    links: dict[str, list[list[int]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def of(self, table: Table) -> Callable[[NumberPlace], str | None]:
        """What gives every number of ``table`` its address on the page; None for one whose origin is not known."""
        values = dict(numbers(table))
        mine = self.links.setdefault(table.name, [])
        self.counts[table.name] = len(values)

        def address(place: NumberPlace) -> str | None:
            behind = self.drilldown.behind(values[place])
            if behind is None:
                return None
            mine.append([self._place(opened) for opened in behind.queries])
            return f"#behind-{table.name}"

        return address

    def _place(self, opened: OpenedNumber) -> int:
        if opened not in self.places:
            ordered = opened.cells is not None  # records come in order; the units of a test in that of the database
            query = self.pack.ask(opened.sql, limit=WHOLE, ordered=ordered, rows=opened.rows)
            self.places[opened] = len(self.shown)
            self.shown.append((opened.title, opened.sql, query.place))
        return self.places[opened]

    def data(self) -> dict[str, Any]:
        """What the page needs beside the rows: the queries by number, and the queries of every link of every table."""
        return {"opened": self.shown, "numbers": self.links}

    def words(self, table: str) -> str:
        """What a reader of ``table`` is told about numbers that do not open; empty where all do."""
        known, total = len(self.links.get(table, [])), self.counts.get(table, 0)
        if not total:
            return ""
        if not known:
            return "The queries below give the rows behind these numbers."
        if known == total:
            return ""
        return f"{known} of {total} numbers of Table {table} open to the records and the query behind them. The others follow from the queries below."

"""From a printed number to exactly the rows behind it: queries on the generated views, checked before they are shown.

The report and the explorer use the same functions. A query names keys where a condition on keys selects precisely the
cells, and lists the cells otherwise; either way its answer has been compared with the rows the number was computed from.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from orledger.reports.narrowing import HeldRows, common
from orledger.reports.origin import PLACE, Answer, AuditRow, Given, Records
from orledger.reports.tables.table import TableError
from orledger.schema.layouts import identifier, literal
from orledger.schema.selecting import select

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    import polars as pl

    from orledger.reports.origin import Part
    from orledger.reports.tables.table import Table
    from orledger.reports.tables.values import Value
    from orledger.schema.layouts import Layout
    from orledger.schema.reading import Results

BLOCKS = "SELECT cell_id, case_name, block FROM all_cells WHERE cell_id IN (SELECT unnest(?))"
AUDITED = {"test_result": "test_id", "claim": "claim_id", "disposition": "disposition_id"}


class NumberPlace(NamedTuple):
    """Where a number stands: the name of its table, and the keys of its row and column."""

    table: str
    row: str
    column: str


@dataclass(frozen=True)
class OpenedNumber:
    """A query with what its rows are; ``cells`` is how many cells they belong to, None where they belong to none.

    ``rows`` is its answer where that was read to check the query, so that nobody needs to ask again.
    """

    title: str
    sql: str
    cells: int | None = None
    rows: pl.DataFrame | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Behind:
    """What stands behind one number: in words, and as queries whose rows are all of it."""

    words: str
    queries: tuple[OpenedNumber, ...]


def is_number(value: Value) -> bool:
    """True when a cell prints a number, or words that come from rows (0/6/0, never); what is absent is neither."""
    kinds = {t.kind for t in value.tokens()}
    return "number" in kinds or (bool(value.origin) and "text" in kinds)


def numbers(table: Table) -> Iterator[tuple[NumberPlace, Value]]:
    """Every cell of ``table`` that prints a number, in order; the first column names the rows."""
    for row in table.rows():
        for column, cell in list(zip(table.columns, row.cells, strict=True))[1:]:
            if is_number(cell):
                yield NumberPlace(table.name, row.key, column.key), cell


def cell_at(table: Table, row: str, column: str) -> Value | None:
    """The cell in the row and the column of these keys; None when there is none."""
    place = {c.key: i for i, c in enumerate(table.columns)}.get(column)
    found = next((r for r in table.rows() if r.key == row), None)
    return None if found is None or place is None else found.cells[place]


def address(place: NumberPlace) -> str:
    """The page of the explorer that shows what is behind the number."""
    return "/number?" + urlencode(place._asdict())


def command(query: str, database: str) -> str:
    """The line for a shell that gives the rows of ``query``."""
    return f"orledger sql --db {shlex.quote(database)} {shlex.quote(query)}"


@dataclass
class Drilldown:
    """Opens numbers of tables built from ``results``; what several numbers ask for is read once.

    Who opens a number now and then gives ``keep``: what ``make`` returns, remembered beyond this. Nothing is then read
    for the numbers that may follow. Without it all of it is, and is remembered as long as this.
    """

    results: Results
    keep: Callable[[Hashable, Callable[[], Any]], Any] | None = None

    def __post_init__(self) -> None:
        self._asked: dict[str, HeldRows] = {}
        self._stored: dict[str, dict[str, pl.DataFrame]] = {}
        self._looked_up: dict[str, tuple[str, str]] = {}

    @cached_property
    def _layouts(self) -> dict[tuple[str, str], Layout]:
        return {(x.case, x.block): x for x in self.results.layouts()}

    @cached_property
    def _all_blocks(self) -> dict[str, tuple[str, str]]:
        rows = self.results.sql("SELECT cell_id, case_name, block FROM all_cells").iter_rows()
        return {cell: (case, block) for cell, case, block in rows}

    def _blocks(self, cells: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Case and block of these cells, and perhaps of others; what is no cell is not among them."""
        if self.keep is None:
            return self._all_blocks
        if new := list(set(cells) - self._looked_up.keys()):
            rows = self.results.rows(BLOCKS, [new])
            self._looked_up |= {row["cell_id"]: (row["case_name"], row["block"]) for row in rows}
        return self._looked_up

    def behind(self, value: Value) -> Behind | None:
        """What stands behind ``value``; None when its origin is not known."""
        if not value.origin:
            return None
        found = tuple(dict.fromkeys(o for part in value.origin.parts for o in self._opened(part)))
        given = [p.words for p in value.origin.parts if isinstance(p, Given)]
        return Behind("; ".join(dict.fromkeys([*(o.title for o in found), *given])), found)

    def _audited(self, part: AuditRow) -> OpenedNumber:
        """The row that the audit stored. A report opens most of them, so it reads their table once."""
        key = AUDITED[part.table]
        query = f"SELECT *\nFROM {part.table}\nWHERE {key} = {literal(part.id)}"
        if self.keep is not None:
            return OpenedNumber(f"the audit's row in {part.table}", query, None, self.results.sql(query))
        if part.table not in self._stored:
            rows = self.results.sql(f"SELECT * FROM {part.table}")
            self._stored[part.table] = {name: rows[i : i + 1] for i, name in enumerate(rows[key])}
        return OpenedNumber(f"the audit's row in {part.table}", query, None, self._stored[part.table].get(part.id))

    def _opened(self, part: Part) -> Iterator[OpenedNumber]:
        if isinstance(part, Answer):
            yield OpenedNumber("rows that were counted or read", part.sql)
        elif isinstance(part, AuditRow):
            stored = self._audited(part)
            yield stored
            units: Iterable[str | None] = (
                () if stored.rows is None or part.table == "disposition" else stored.rows["units_sql"]
            )
            yield from (OpenedNumber("the values of its units", sql) for sql in units if sql)
        elif isinstance(part, Records):
            yield from self._records(part)

    def _records(self, part: Records) -> Iterator[OpenedNumber]:
        """One query per block and view that has some of the records; together their answers are exactly ``part``."""
        groups: dict[tuple[str, str, bool], list[tuple[Any, ...]]] = {}
        rows = part.rows.rows()
        blocks = self._blocks(row[0] for row in rows)
        for row in rows:
            if row[0] in blocks:
                series = row[3] is not None
                groups.setdefault((*blocks[row[0]], series), []).append(row if series else row[:3])
        for (case, block, series), wanted in groups.items():
            layout = self._layouts[case, block]
            view = layout.view(indexed=series)
            columns = [_column(view, layout.metrics(indexed=series), c) for c in part.columns]
            places = ("arm", "label", *(["idx"] if series else []))
            where = common(wanted, columns)
            keys = tuple(column for column, _ in layout.keys.values())
            shown = ["cell_id", "cell", *layout.key_columns, *places, *map(identifier, columns)]
            there = self._within(select(shown, identifier(view), [where]), places, keys)
            at = there.positions(wanted)
            conditions = [*there.conditions(at, wanted), where]
            arms = ", ".join(sorted({row[1] for row in wanted}))
            yield OpenedNumber(
                f"{len(wanted):,} record{'s' * (len(wanted) != 1)} of {view}: {', '.join(columns)} of {arms}",
                select(shown, identifier(view), conditions, [*layout.key_columns, *places, "cell_id"]),
                len({row[0] for row in wanted}),
                there.rows[at],
            )

    def _within(self, query: str, places: tuple[str, ...], keys: tuple[str, ...]) -> HeldRows:
        def make() -> HeldRows:
            return HeldRows(self.results.sql(query).cast({p: PLACE[p] for p in places}), places, keys)

        if query not in self._asked:
            self._asked[query] = make() if self.keep is None else self.keep(query, make)
        return self._asked[query]


def _column(view: str, metrics: Mapping[str, str], name: str) -> str:
    """The column of the view for a metric, which may be given by its own name or by that of its column."""
    if name not in metrics and name not in metrics.values():
        raise TableError(f"{name!r}, which is behind a number, is no metric of the view {view}")
    return metrics.get(name, name)

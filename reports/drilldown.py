"""From a printed number to exactly the rows behind it: queries on the generated views, checked before they are shown.

The report and the explorer use the same functions. A query names keys where a condition on keys selects precisely the
cells, and lists the cells otherwise; either way its answer has been compared with the rows the number was computed from.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

import polars as pl

from orledger.reports.origin import PLACE, Answer, AuditRow, Given, Records
from orledger.reports.tables.table import TableError
from orledger.schema.layouts import identifier, literal
from orledger.schema.selecting import equal, select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from orledger.reports.origin import Part
    from orledger.reports.tables.table import Table
    from orledger.reports.tables.values import Value
    from orledger.schema.layouts import Layout
    from orledger.schema.reading import Results

LISTED = 24  # values of a key that a condition names one by one; beyond that the cells are listed
AUDITED = {"test_result": "test_id", "claim": "claim_id", "disposition": "disposition_id"}


class Place(NamedTuple):
    """Where a number stands: the name of its table, and the keys of its row and column."""

    table: str
    row: str
    column: str


@dataclass(frozen=True)
class Opened:
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
    queries: tuple[Opened, ...]


def is_number(value: Value) -> bool:
    """True when a cell prints a number, or words that come from rows (0/6/0, never); what is absent is neither."""
    kinds = {t.kind for t in value.tokens()}
    return "number" in kinds or (bool(value.origin) and "text" in kinds)


def numbers(table: Table) -> Iterator[tuple[Place, Value]]:
    """Every cell of ``table`` that prints a number, in order; the first column names the rows."""
    for row in table.rows():
        for column, cell in list(zip(table.columns, row.cells, strict=True))[1:]:
            if is_number(cell):
                yield Place(table.name, row.key, column.key), cell


def cell_at(table: Table, row: str, column: str) -> Value | None:
    """The cell in the row and the column of these keys; None when there is none."""
    place = {c.key: i for i, c in enumerate(table.columns)}.get(column)
    found = next((r for r in table.rows() if r.key == row), None)
    return None if found is None or place is None else found.cells[place]


def address(place: Place) -> str:
    """The page of the explorer that shows what is behind the number."""
    return "/number?" + urlencode(place._asdict())


def command(query: str, database: str) -> str:
    """The line for a shell that gives the rows of ``query``."""
    return f"orledger sql --db {shlex.quote(database)} {shlex.quote(query)}"


@dataclass
class Drilldown:
    """Opens numbers of tables built from ``results``; what several numbers ask for is read once.

    ``read`` gives the rows of a query and remembers them; without one they are remembered as long as this.
    """

    results: Results
    read: Callable[[str], pl.DataFrame] | None = None

    def __post_init__(self) -> None:
        self._read = self.read or cache(self.results.sql)

    @cached_property
    def _layouts(self) -> dict[tuple[str, str], Layout]:
        return {(x.case, x.block): x for x in self.results.layouts()}

    @cached_property
    def _blocks(self) -> pl.DataFrame:
        return self._read("SELECT cell_id, case_name, block FROM all_cells")

    def behind(self, value: Value) -> Behind | None:
        """What stands behind ``value``; None when its origin is not known."""
        if not value.origin:
            return None
        found = tuple(dict.fromkeys(o for part in value.origin.parts for o in self._opened(part)))
        given = [p.words for p in value.origin.parts if isinstance(p, Given)]
        return Behind("; ".join(dict.fromkeys([*(o.title for o in found), *given])), found)

    def _opened(self, part: Part) -> Iterator[Opened]:
        if isinstance(part, Answer):
            yield Opened("rows that were counted or read", part.sql)
        elif isinstance(part, AuditRow):
            row = f"FROM {part.table}\nWHERE {AUDITED[part.table]} = {literal(part.id)}"
            yield Opened(f"the audit's row in {part.table}", f"SELECT *\n{row}")
            units = [] if part.table == "disposition" else self.results.sql(f"SELECT units_sql {row}").rows()
            yield from (Opened("the values of its units", sql) for (sql,) in units if sql)
        elif isinstance(part, Records):
            yield from self._records(part)

    def _records(self, part: Records) -> Iterator[Opened]:
        """One query per block and view that has some of the records; together their answers are exactly ``part``."""
        rows = part.rows.join(self._blocks, on="cell_id").with_columns(series=pl.col("idx").is_not_null())
        for (case, block, series), mine in rows.group_by("case_name", "block", "series", maintain_order=True):
            layout = self._layouts[str(case), str(block)]
            view = layout.view(indexed=bool(series))
            columns = [_column(view, layout.metrics(indexed=bool(series)), c) for c in part.columns]
            places = ["arm", "label", *(["idx"] if series else [])]
            wanted = mine.select("cell_id", *places)
            where = _where(wanted, columns)
            keys, named = [column for column, _ in layout.keys.values()], layout.key_columns
            shown = ["cell_id", "cell", *named, *places, *map(identifier, columns)]
            there = self._read(select(shown, identifier(view), [where])).cast({p: PLACE[p] for p in places})
            found = there.join(wanted, on=wanted.columns, how="semi", nulls_equal=True)
            conditions = [*selecting(there, wanted, keys, found), where]
            arms = ", ".join(wanted["arm"].unique(maintain_order=True))
            yield Opened(
                f"{wanted.height:,} record{'s' * (wanted.height != 1)} of {view}: {', '.join(columns)} of {arms}",
                select(shown, identifier(view), conditions, [*named, *places, "cell_id"]),
                wanted["cell_id"].n_unique(),
                found.sort([*keys, *places, "cell_id"], nulls_last=True),
            )


def selecting(
    rows: pl.DataFrame, wanted: pl.DataFrame, keys: Sequence[str], found: pl.DataFrame | None = None
) -> list[str]:
    """Conditions that select ``wanted`` from ``rows`` and nothing else: on as few keys as will do, or cells, or every row.

    Columns of ``wanted`` are cell_id, arm, label (and idx); ``rows`` has these and the keys. ``found`` is what of ``rows``
    is wanted, where that is known already.
    """
    mine = rows.join(wanted, on=wanted.columns, how="semi", nulls_equal=True) if found is None else found
    if mine.height != wanted.height:
        raise TableError(
            f"{wanted.height - mine.height} of {wanted.height} records behind a number are not in the views"
        )

    def selects(chosen: dict[str, list[object]]) -> bool:
        hit = rows.filter([pl.col(k).is_in(v) for k, v in chosen.items()]) if chosen else rows
        return hit.height == mine.height

    narrow = {}
    for key in keys:
        values = mine[key].unique().sort().to_list()
        if None not in values and len(values) <= LISTED and len(values) < rows[key].n_unique():
            narrow[key] = values
    if selects(narrow):
        for key in sorted(narrow, key=lambda k: -len(narrow[k])):  # a long list is the first to go
            fewer = {k: v for k, v in narrow.items() if k != key}
            narrow = fewer if selects(fewer) else narrow
        return [_equal(key, values) for key, values in narrow.items()]
    cells = sorted(mine["cell_id"].unique().to_list())
    return [_equal("cell_id", cells)] if selects({"cell_id": cells}) else [_listed(wanted)]


def _where(wanted: pl.DataFrame, columns: Sequence[str]) -> str:
    """The condition on arm, label, index and metrics that all rows meet; other cells may have rows that meet it too."""
    found = [_equal("arm", wanted["arm"].unique().sort().to_list())]
    labels = wanted["label"].drop_nulls().unique().sort().to_list()
    some = _equal("label", labels) if labels else ""
    none = "label IS NULL" if wanted["label"].null_count() else ""
    found.append(f"({some} OR {none})" if some and none else some or none)
    if "idx" in wanted.columns and wanted["idx"].n_unique() <= LISTED:
        found.append(_equal("idx", wanted["idx"].unique().sort().to_list()))
    if columns:
        listed = ", ".join(map(identifier, columns))
        found.append(f"coalesce({listed}) IS NOT NULL" if len(columns) > 1 else f"{listed} IS NOT NULL")
    return " AND ".join(found)


def _listed(wanted: pl.DataFrame) -> str:
    """The rows one by one: the last resort, where arms, labels and indices differ from cell to cell."""
    rows = ["(" + ", ".join("''" if v is None else literal(v) for v in row) + ")" for row in wanted.iter_rows()]
    names = ", ".join("coalesce(label, '')" if c == "label" else c for c in wanted.columns)
    return f"({names}) IN ({', '.join(rows)})"


def _column(view: str, metrics: Mapping[str, str], name: str) -> str:
    """The column of the view for a metric, which may be given by its own name or by that of its column."""
    if name not in metrics and name not in metrics.values():
        raise TableError(f"{name!r}, which is behind a number, is no metric of the view {view}")
    return metrics.get(name, name)


def _equal(column: str, values: Sequence[object]) -> str:
    return equal(column if column in PLACE else identifier(column), values)

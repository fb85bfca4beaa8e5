"""A quantity: one number per unit, named by case, block, arm and metric, and the query that fetches it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from orledger.schema.layouts import Layout, identifier, literal
from orledger.schema.selecting import NO_ROWS, OPERATORS, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.audit.statistics.bound import Bound
    from orledger.schema.selecting import Condition

OF_RECORDS = {"arm", "label"}  # may stand among the keys of a unit
REDUCERS = {
    "median": "median({})",
    "mean": "avg({0} ORDER BY {0})",
    "min": "min({})",
    "max": "max({})",
    "sum": "sum({0} ORDER BY {0})",
    "count": "count({})",
    "last": "arg_max({}, idx)",
}


@dataclass(frozen=True)
class RecordSource:
    """Which records: an arm, a metric and a label; None for the arm means any, None for the label means unlabelled."""

    arm: str | None
    metric: str
    label: str | None = None

    def sql(self, alias: str = "", *, labelled: bool = False) -> list[str]:
        """The conditions on a row of a wide view; ``alias`` ends in a dot. ``labelled``: any label instead of none."""
        label = f"{alias}label IS {'NOT ' * labelled}NULL"
        if self.label is not None:
            label = f"{alias}label = {literal(self.label)}"
        return ([] if self.arm is None else [f"{alias}arm = {literal(self.arm)}"]) + [label]


@dataclass(frozen=True)
class Aggregate:
    """A statistic over cells that differ in the keys ``over``, leaving one value for the rest."""

    over: tuple[str, ...]
    stat: str


@dataclass(frozen=True)
class Once:
    """Cells that are one computation under several names: where ``where`` holds, the keys ``over`` change nothing.

    Of the cells that agree in all other keys and in their settings only the first counts, a computed one before any other.
    """

    over: tuple[str, ...]
    where: tuple[tuple[str, Condition], ...]

    def sql(self, layout: Layout) -> str:
        """The QUALIFY condition on a row of the view of cells."""
        repeated = " AND ".join(condition.key_sql(layout, key) for key, condition in self.where)
        rest = [identifier(column) for key, (column, _) in layout.keys.items() if key not in self.over]
        order = ["state <> 'done'"]
        for column, kind in (layout.keys[k] for k in self.over if k in layout.keys):
            name = identifier(column)
            order += [f"TRY_CAST({name} AS DOUBLE)", name] if kind == "VARCHAR" else [name]
        return (
            f"NOT coalesce({repeated}, false) OR row_number() OVER"
            f" (PARTITION BY {', '.join([*rest, 'settings'])} ORDER BY {', '.join(order)}) = 1"
        )


@dataclass(frozen=True)
class Quantity:
    """One number per unit.

    A record's value is first divided by ``divide_by`` (same cell and index), then turned into 0 or 1 by ``event``, then
    reduced over the indices of its cell by ``over_idx``, then over cells by ``aggregate``. Instead of a source it can be
    a key of the cell (``key``), the fact that an arm refused (``refused``), the fact that several arms recorded the same
    series (``identical``), or a query of its own (``sql``) that returns the keys and a column ``value``. ``once`` leaves
    out cells that repeat another one; a query of its own must then return ``cell_id``.
    """

    case: str
    block: str
    source: RecordSource | None = None
    where: tuple[tuple[str, Condition], ...] = ()
    over_idx: str | None = None
    idx: tuple[str, int] | None = None
    divide_by: RecordSource | None = None
    event: Condition | None = None
    identical: tuple[str, ...] = ()
    refused: str | None = None
    key: str | None = None
    sql: str | None = None
    aggregate: Aggregate | None = None
    bound: Bound | None = None
    once: Once | None = None

    @property
    def is_series(self) -> bool:
        """True when the query reads indexed records, which only the full table holds."""
        return self.over_idx is not None or self.idx is not None or bool(self.identical)

    def raw_keys(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Keys the query must return: those of a unit and those aggregated over."""
        return (*keys, *(self.aggregate.over if self.aggregate else ()))

    def record_keys(self, layout: Layout, keys: Sequence[str]) -> set[str]:
        """Those of ``keys`` that are the arm or the label of a record, and not a key of the cell."""
        return set() if self.source is None else (OF_RECORDS & set(keys)) - set(layout.keys)

    def described(self) -> dict[str, Any]:
        """The quantity as plain data without empty fields, for the database."""
        return {k: v for k, v in asdict(self).items() if v not in (None, (), "")}


@dataclass(frozen=True)
class Surface:
    """The wide views that quantities are read from; ``copies`` names tables that stand in for some of them."""

    layouts: Mapping[tuple[str, str], Layout]
    copies: Mapping[str, str] = field(default_factory=dict)

    def layout(self, quantity: Quantity) -> Layout:
        """The views of the block of ``quantity``."""
        return self.layouts.get((quantity.case, quantity.block), Layout(quantity.case, quantity.block, ""))

    def table(self, layout: Layout, view: str) -> str:
        """What to read ``view`` from."""
        return identifier(self.copies.get(view, view)) if layout.name else NO_ROWS


def cells_sql(
    surface: Surface, quantity: Quantity, keys: Sequence[str], states: Sequence[str] = ("done",), extra: str = ""
) -> str:
    """The query for the cells of ``quantity``: cell_id, one column per key, and ``extra`` columns."""
    layout = surface.layout(quantity)
    conditions = [f"state IN ({listed(states)})"] if states else []
    conditions += [condition.key_sql(layout, key) for key, condition in quantity.where]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    once = f" QUALIFY {quantity.once.sql(layout)}" if quantity.once else ""
    columns = ", ".join(["cell_id", *layout.columns(keys)])
    return f"SELECT {columns}{extra} FROM {surface.table(layout, layout.cells)}{where}{once}"


def units_sql(surface: Surface, quantity: Quantity, keys: Sequence[str]) -> str:
    """The query for the values of ``quantity``: cell_id, one column per key, value, points (records behind the value)."""
    wanted = quantity.raw_keys(keys)
    layout = surface.layout(quantity)
    if quantity.sql is not None:
        query = quantity.sql.strip().rstrip(";")
        if quantity.once is None:
            return query
        return f"SELECT * FROM (\n{query}\n) SEMI JOIN ({cells_sql(surface, quantity, ())}) USING (cell_id)"
    if quantity.key is not None:
        column = layout.keys[quantity.key][0] if quantity.key in layout.keys else None
        value = "NULL::DOUBLE" if column is None else f"TRY_CAST({identifier(column)} AS DOUBLE)"
        return cells_sql(surface, quantity, wanted, extra=f", {value} AS value, 1 AS points")
    if quantity.refused is not None:
        cells = cells_sql(surface, quantity, wanted, ("done", "refused"), extra=", state")
        columns = ", ".join(["cell_id", *(identifier(k) for k in wanted)])
        refused = f"SELECT cell_id, refused FROM {surface.table(layout, layout.name)} WHERE arm = {literal(quantity.refused)} AND refused IS NOT NULL"
        return (
            f"SELECT {columns}, CASE WHEN state = 'refused' OR refused IS NOT NULL THEN 1 ELSE 0 END AS value, 1 AS points\n"
            f"FROM ({cells})\nLEFT JOIN ({refused}) USING (cell_id)"
        )
    return _values_sql(surface, layout, quantity, wanted)


def _values_sql(surface: Surface, layout: Layout, quantity: Quantity, wanted: Sequence[str]) -> str:
    """The query for a quantity that reads metrics: one row of a wide view per value, or per index of a value."""
    assert quantity.source is not None
    series = quantity.is_series and (quantity.source.metric in layout.indexed or quantity.idx is not None)
    view = layout.view(indexed=series)
    if layout.name and series and not layout.indexed:
        view = layout.name  # the block has no series at all
    table = surface.table(layout, view)
    has_index = series and view == layout.series
    divided = quantity.divide_by
    joined = divided is not None and (
        divided.arm != quantity.source.arm or divided.label != quantity.source.label or divided.arm is None
    )
    alias = "n." if joined else ""
    value = number = layout.number(quantity.source.metric, alias, indexed=series)
    labelled = "label" in quantity.record_keys(layout, wanted)
    conditions = [*_sources(quantity, alias, labelled=labelled), f"{number} IS NOT NULL"]
    if joined:
        assert divided is not None
        table += f" n JOIN {table} d USING ({'cell_id, idx' if has_index else 'cell_id'})"
        conditions += divided.sql("d.")
    if divided is not None:
        below = layout.number(divided.metric, "d." if joined else "", indexed=series)
        conditions.append(f"{below} IS NOT NULL")
        value = _ratio_sql(number, below)
        if quantity.event is not None:
            value = f"CASE WHEN {quantity.event.ratio_sql(number, below)} THEN 1 ELSE 0 END"
    elif quantity.event is not None:
        value = f"CASE WHEN {quantity.event.sql(number)} THEN 1 ELSE 0 END"
    if quantity.idx is not None:
        conditions.append(f"{'idx' if has_index else 'NULL'} {OPERATORS[quantity.idx[0]]} {quantity.idx[1]}")
    conditions += [condition.key_sql(layout, key, alias) for key, condition in quantity.where]
    if quantity.once is not None:
        conditions.append(f"{alias}cell_id IN (SELECT cell_id FROM ({cells_sql(surface, quantity, ())}))")
    columns = ", ".join([f"{alias}cell_id", *layout.columns(wanted, alias, OF_RECORDS)])
    where = f"FROM {table}\nWHERE {' AND '.join(conditions)}"
    if quantity.identical:
        same = f"CASE WHEN count(*) = {len(quantity.identical)} AND min({number}) = max({number}) THEN 1 ELSE 0 END"
        names = ", ".join(["cell_id", *(identifier(k) for k in wanted)])
        return (
            f"SELECT {names}, min(same) AS value, count(*) AS points\n"
            f"FROM (SELECT {columns}, {'idx' if has_index else 'NULL AS idx'}, {same} AS same\n{where}\nGROUP BY ALL)\nGROUP BY ALL"
        )
    if quantity.over_idx is None:
        return f"SELECT {columns}, {value} AS value, 1 AS points\n{where}"
    reduced = REDUCERS[quantity.over_idx if has_index or quantity.over_idx != "last" else "max"].format(value)
    return f"SELECT {columns}, {reduced} AS value, count(*) AS points\n{where}\nGROUP BY ALL"


def _sources(quantity: Quantity, alias: str, *, labelled: bool) -> list[str]:
    """The conditions on arm and label; of several arms when their series are compared with each other."""
    assert quantity.source is not None
    if not quantity.identical:
        return quantity.source.sql(alias, labelled=labelled)
    return [
        f"arm IN ({listed(quantity.identical)})",
        *RecordSource(None, quantity.source.metric, quantity.source.label).sql(),
    ]


def _ratio_sql(numerator: str, denominator: str) -> str:
    """The ratio: infinite for something over zero, absent for zero over zero."""
    over_zero = f"CASE WHEN {numerator} = 0 THEN NULL ELSE sign({numerator}) * 'inf'::DOUBLE END"
    return f"(CASE WHEN {denominator} = 0 THEN {over_zero} ELSE {numerator} / {denominator} END)"


def combined_sql(surface: Surface, sides: Sequence[tuple[str, Quantity]], keys: Sequence[str]) -> str:
    """One query for the values of all ``sides``, told apart by the column side; what a test row stores as its origin."""
    views = Surface(surface.layouts)
    return "\nUNION ALL BY NAME\n".join(
        f"SELECT {literal(name)} AS side, * FROM (\n{units_sql(views, quantity, keys)}\n)" for name, quantity in sides
    )

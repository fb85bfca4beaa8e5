"""A quantity: one number per unit, named by case, block, arm and metric, and the query that fetches it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.statistics.floors import Bound

OPERATORS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
REDUCERS = {
    "median": "median({})",
    "mean": "avg({0} ORDER BY {0})",
    "min": "min({})",
    "max": "max({})",
    "sum": "sum({0} ORDER BY {0})",
    "count": "count({})",
    "last": "arg_max({}, r.idx)",
}


@dataclass(frozen=True)
class Condition:
    """A comparison with constants: ``operator`` from OPERATORS or ``in``, and one or several values."""

    operator: str
    values: tuple[str | float, ...]

    def sql(self, expression: str) -> str:
        """The condition on a DOUBLE expression."""
        if self.operator == "in":
            return f"{expression} IN ({', '.join(literal(v) for v in self.values)})"
        return f"{expression} {OPERATORS[self.operator]} {literal(self.values[0])}"

    def ratio_sql(self, numerator: str, denominator: str) -> str:
        """The condition on a ratio, asked without dividing: the numerator against the limit times the denominator.

        A positive number over zero is then beyond every limit, as it should be; zero over zero counts as equal to the limit,
        so that a zero error inside a zero width is covered.
        """
        signed = f"CASE WHEN {denominator} < 0 THEN -({numerator}) ELSE {numerator} END"
        limits = [f"{literal(v)} * abs({denominator})" for v in self.values]
        if self.operator == "in":
            return f"{signed} IN ({', '.join(limits)})"
        return f"{signed} {OPERATORS[self.operator]} {limits[0]}"

    def key_sql(self, key: str) -> str:
        """The condition on a key of a cell; keys are stored as text, numbers are compared as numbers."""
        numeric = all(isinstance(v, (int, float)) for v in self.values)
        column = f"keys[{literal(key)}]"
        return self.sql(f"TRY_CAST({column} AS DOUBLE)" if numeric else column)


@dataclass(frozen=True)
class Source:
    """Which records: an arm, a metric and a label; None for the arm means any, None for the label means unlabelled."""

    arm: str | None
    metric: str
    label: str | None = None

    def sql(self, alias: str) -> str:
        """The condition on a row of record."""
        parts = [f"{alias}.metric = {literal(self.metric)}"]
        if self.arm is not None:
            parts.append(f"{alias}.arm = {literal(self.arm)}")
        parts.append(f"{alias}.label IS NULL" if self.label is None else f"{alias}.label = {literal(self.label)}")
        return " AND ".join(parts)


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

    def sql(self) -> str:
        """The QUALIFY condition on a row of cell."""
        repeated = " AND ".join(condition.key_sql(key) for key, condition in self.where)
        rest = f"list_filter(map_entries(keys), lambda e: e.key NOT IN ({', '.join(literal(k) for k in self.over)}))"
        order = ", ".join(f"TRY_CAST(keys[{literal(k)}] AS DOUBLE), keys[{literal(k)}]" for k in self.over)
        return (
            f"NOT coalesce({repeated}, false) OR row_number() OVER"
            f" (PARTITION BY list_sort({rest}), json_extract(spec, '$.settings') ORDER BY state <> 'done', {order}) = 1"
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
    source: Source | None = None
    where: tuple[tuple[str, Condition], ...] = ()
    over_idx: str | None = None
    idx: tuple[str, int] | None = None
    divide_by: Source | None = None
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

    def described(self) -> dict[str, Any]:
        """The quantity as plain data without empty fields, for the database."""
        return {k: v for k, v in asdict(self).items() if v not in (None, (), "")}


def literal(value: str | float) -> str:
    """``value`` as an SQL literal."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def identifier(name: str) -> str:
    """``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def cells_sql(quantity: Quantity, keys: Sequence[str], states: Sequence[str] = ("done",), extra: str = "") -> str:
    """The query for the cells of ``quantity``: cell_id, one text column per key, and ``extra`` columns."""
    columns = ["cell_id", *(f"keys[{literal(k)}] AS {identifier(k)}" for k in keys)]
    conditions = [f"case_name = {literal(quantity.case)}", f"block = {literal(quantity.block)}"]
    if states:
        conditions.append(f"state IN ({', '.join(literal(s) for s in states)})")
    conditions += [condition.key_sql(key) for key, condition in quantity.where]
    once = f" QUALIFY {quantity.once.sql()}" if quantity.once else ""
    return f"SELECT {', '.join(columns)}{extra} FROM cell WHERE {' AND '.join(conditions)}{once}"


def units_sql(quantity: Quantity, keys: Sequence[str], record: str = "record") -> str:
    """The query for the values of ``quantity``: cell_id, one text column per key, value, points (records behind the value).

    ``record`` names the table to read; the stored text of a test always reads ``record`` itself.
    """
    wanted = quantity.raw_keys(keys)
    if quantity.sql is not None:
        query = quantity.sql.strip().rstrip(";")
        if quantity.once is None:
            return query
        return f"SELECT * FROM (\n{query}\n) SEMI JOIN ({cells_sql(quantity, ())}) USING (cell_id)"
    if quantity.key is not None:
        return cells_sql(
            quantity, wanted, extra=f", TRY_CAST(keys[{literal(quantity.key)}] AS DOUBLE) AS value, 1 AS points"
        )
    if quantity.refused is not None:
        cells = cells_sql(quantity, wanted, ("done", "refused"), extra=", state")
        columns = ", ".join(f"cells.{identifier(k)}" for k in wanted)
        return (
            f"WITH cells AS ({cells})\nSELECT cells.cell_id, {columns}, "
            "CASE WHEN cells.state = 'refused' OR f.cell_id IS NOT NULL THEN 1 ELSE 0 END AS value, 1 AS points\n"
            f"FROM cells LEFT JOIN (SELECT DISTINCT cell_id FROM refusal WHERE arm = {literal(quantity.refused)}) f USING (cell_id)"
        )
    assert quantity.source is not None
    cells = cells_sql(quantity, wanted)
    if quantity.identical:
        return _identical_sql(quantity, cells, record)
    value = "r.value"
    joins = "JOIN cells USING (cell_id)"
    if quantity.divide_by is not None:
        same = "d.idx = r.idx" if quantity.over_idx else "d.idx IS NOT DISTINCT FROM r.idx"
        joins += f"\nJOIN {record} d ON d.cell_id = r.cell_id AND {same} AND {quantity.divide_by.sql('d')}"
        value = _ratio_sql("r.value", "d.value")
    if quantity.event is not None:
        ratio = quantity.divide_by is not None
        happens = quantity.event.ratio_sql("r.value", "d.value") if ratio else quantity.event.sql(value)
        value = f"CASE WHEN {happens} THEN 1 ELSE 0 END"
    conditions = [quantity.source.sql("r")]
    if quantity.idx is not None:
        conditions.append(f"r.idx {OPERATORS[quantity.idx[0]]} {quantity.idx[1]}")
    elif quantity.over_idx is None:
        conditions.append("r.idx IS NULL")
    tail = ""
    points = "1"
    if quantity.over_idx is not None:
        value, points, tail = REDUCERS[quantity.over_idx].format(value), "count(*)", "\nGROUP BY ALL"
    return (
        f"WITH cells AS ({cells})\nSELECT cells.*, {value} AS value, {points} AS points\n"
        f"FROM {record} r {joins}\nWHERE {' AND '.join(conditions)}{tail}"
    )


def _ratio_sql(numerator: str, denominator: str) -> str:
    """The ratio: infinite for something over zero, absent for zero over zero."""
    over_zero = f"CASE WHEN {numerator} = 0 THEN NULL ELSE sign({numerator}) * 'inf'::DOUBLE END"
    return f"(CASE WHEN {denominator} = 0 THEN {over_zero} ELSE {numerator} / {denominator} END)"


def _identical_sql(quantity: Quantity, cells: str, record: str) -> str:
    """1 for a cell in which all arms recorded the same series, 0 otherwise; a step that an arm lacks counts as a difference."""
    assert quantity.source is not None
    arms = ", ".join(literal(a) for a in quantity.identical)
    label = "r.label IS NULL" if quantity.source.label is None else f"r.label = {literal(quantity.source.label)}"
    limit = f" AND r.idx {OPERATORS[quantity.idx[0]]} {quantity.idx[1]}" if quantity.idx else ""
    return (
        f"WITH cells AS ({cells}),\nsteps AS (SELECT r.cell_id, r.idx, "
        f"CASE WHEN count(*) = {len(quantity.identical)} AND min(r.value) = max(r.value) THEN 1 ELSE 0 END AS same\n"
        f"FROM {record} r SEMI JOIN cells USING (cell_id)\n"
        f"WHERE r.metric = {literal(quantity.source.metric)} AND r.arm IN ({arms}) AND {label}{limit}\n"
        "GROUP BY r.cell_id, r.idx)\n"
        "SELECT cells.*, min(steps.same) AS value, count(*) AS points FROM cells JOIN steps USING (cell_id) GROUP BY ALL"
    )


def combined_sql(sides: Sequence[tuple[str, Quantity]], keys: Sequence[str]) -> str:
    """One query for the values of all ``sides``, told apart by the column side; what a test row stores as its origin."""
    return "\nUNION ALL BY NAME\n".join(
        f"SELECT {literal(name)} AS side, * FROM (\n{units_sql(quantity, keys)}\n)" for name, quantity in sides
    )

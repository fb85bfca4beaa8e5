"""Questions to the wide views of a block, as SQL: conditions on keys, and rows of chosen arms, metrics and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.schema.layouts import identifier, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orledger.schema.layouts import Layout

OPERATORS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# A block that the database knows nothing of: it has no rows, whatever is asked of it.
NO_ROWS = (
    "(SELECT NULL::VARCHAR AS cell_id, NULL::VARCHAR AS arm, NULL::VARCHAR AS label, NULL::INTEGER AS idx,"
    " NULL::VARCHAR AS refused, NULL::VARCHAR AS state, NULL::VARCHAR AS reason, NULL::VARCHAR AS settings WHERE false)"
)


def natural_order(expression: str) -> str:
    """What to sort a text ``expression`` by so that numbers inside it count as numbers: d2 before d10.

    The order is that of ``orledger.reports.generic.natural``, which sorts the units of tables.
    """
    return (
        rf"list_transform(regexp_extract_all({expression}, '\d+(?:\.\d+)?|\D+'), lambda part:"
        r" {'text': NOT regexp_matches(part, '^\d'), 'number': CASE WHEN regexp_matches(part, '^\d') THEN part::DOUBLE END,"
        " 'word': lower(part)})"
    )


@dataclass(frozen=True)
class Condition:
    """A comparison with constants: ``operator`` from OPERATORS or ``in``, and one or several values."""

    operator: str
    values: tuple[str | float, ...]

    def sql(self, expression: str) -> str:
        """The condition on a DOUBLE expression."""
        if self.operator == "in":
            return f"{expression} IN ({listed(self.values)})"
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

    def key_sql(self, layout: Layout, key: str, alias: str = "") -> str:
        """The condition on a key of a cell: numbers are compared as numbers, texts as texts, whatever the key's type."""
        column, kind = layout.keys.get(key, (None, "VARCHAR"))
        if column is None:
            return "false"  # no cell has the key
        name = alias + identifier(column)
        if all(isinstance(v, (int, float)) for v in self.values):
            return self.sql(f"TRY_CAST({name} AS DOUBLE)" if kind == "VARCHAR" else name)
        return self.sql(name if kind == "VARCHAR" else f"{name}::VARCHAR")

    def holds(self, text: str | None) -> bool:
        """Whether one of the values is that of a key, which a cell keeps as ``text``; for the operator ``in``."""
        return any(text == v if isinstance(v, str) else _number(text) == v for v in self.values)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class Selection:
    """Rows of a wide view: chosen arms, metrics and keys of a block, in the cells whose keys have the values of ``where``."""

    case: str
    block: str
    arms: Sequence[str]
    metrics: Sequence[str]
    keys: Sequence[str]
    indexed: bool = False
    where: Mapping[str, str | float | Sequence[str | float]] | None = None

    @property
    def conditions(self) -> dict[str, Condition]:
        """The condition on every key that narrows the cells."""
        found = (self.where or {}).items()
        return {k: Condition("in", (v,) if isinstance(v, (str, float, int)) else tuple(v)) for k, v in found}

    def holds(self, keys: Mapping[str, str]) -> bool:
        """Whether a cell with ``keys`` belongs to the selection."""
        return all(condition.holds(keys.get(key)) for key, condition in self.conditions.items())

    def cells_sql(self, layout: Layout) -> str:
        """The condition on a cell of the block."""
        return " AND ".join(c.key_sql(layout, key) for key, c in self.conditions.items()) or "true"

    def sql(self, layout: Layout) -> str:
        """One row per finished cell, arm, label (and index) that has one of the metrics; NULL where it has not.

        Columns: cell_id, cell, computed_on, the keys, arm, label, idx when ``indexed``, the metrics.
        """
        known = layout.metrics(indexed=self.indexed)
        numbers = [layout.number(m, indexed=self.indexed) for m in self.metrics]
        recorded = [n for m, n in zip(self.metrics, numbers, strict=True) if m in known]
        index = ["idx"] if self.indexed else []
        fixed = ["cell_id", "cell", "computed_on"] if known else ["cell_id", "NULL AS cell", "NULL AS computed_on"]
        keys = layout.columns(self.keys) if known else [f"NULL AS {identifier(k)}" for k in self.keys]
        named = [
            n if n == (m := identifier(metric)) else f"{n} AS {m}"
            for metric, n in zip(self.metrics, numbers, strict=True)
        ]
        found = [f"coalesce({', '.join(recorded)}) IS NOT NULL" if recorded else "false"]
        found += [c.key_sql(layout, key) for key, c in self.conditions.items()] if known else []
        return select(
            [*fixed, *keys, "arm", "label", *index, *named],
            identifier(layout.view(indexed=self.indexed)) if known else NO_ROWS,
            [f"arm IN ({listed(self.arms)})", *found],
            [*map(identifier, self.keys), "arm", "label", *index, "cell_id"],
        )


def select(columns: Iterable[str], table: str, where: Iterable[str] = (), order: Iterable[str] = ()) -> str:
    """A query of four lines; without conditions or an order their lines are left out."""
    lines = [f"SELECT {', '.join(columns)}", f"FROM {table}"]
    lines += [f"WHERE {' AND '.join(where)}"] if (where := list(where)) else []
    lines += [f"ORDER BY {', '.join(order)}"] if (order := list(order)) else []
    return "\n".join(lines)


def listed(values: Iterable[object]) -> str:
    """``values`` as SQL literals between commas."""
    return ", ".join(map(literal, values))


def equal(expression: str, values: Sequence[object]) -> str:
    """The condition that an expression has one of ``values``; a single one may be None."""
    if len(values) == 1:
        return f"{expression} IS NULL" if values[0] is None else f"{expression} = {literal(values[0])}"
    return f"{expression} IN ({listed(values)})"

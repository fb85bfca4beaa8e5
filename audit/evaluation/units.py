"""The values of a quantity, one per unit, read from the wide views; and the planned units that have none, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from orledger.audit.registry.quantities import Quantity, Surface, cells_sql, units_sql
from orledger.audit.statistics.dispersion import MEASURES, statistic
from orledger.errors import DataError
from orledger.schema import viewing
from orledger.schema.layouts import identifier, literal
from orledger.schema.sandbox import Limits, confined, require_query, run_query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orledger.audit.registry.hypotheses import Comparison
    from orledger.schema.layouts import Layout
    from orledger.schema.reading import Results

T = TypeVar("T")


# What is known of a unit without a value: why, and whether somebody declined or failed, so that it is not merely missing.
WHY = {"reason": pl.String, "declined": pl.Boolean}


@dataclass(frozen=True)
class UnitReader:
    """Where values are read from: the wide views of results open for reading.

    An audit copies what it needs of a view into a temporary table once (``copies``, by view), so that a hundred comparisons
    do not scan ten million points a hundred times; the text stored with a test always names the views. Answers are
    remembered for the life of the ledger: the same arm stands on one side of many comparisons.
    """

    results: Results
    copies: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    memory: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    def values(self, quantity: Quantity, keys: Sequence[str]) -> pl.DataFrame:
        """The rows of the query of ``quantity``; a text of a file's own must be one query, and is limited like any user's."""
        surface = self.surface
        if quantity.record_keys(surface.layout(quantity), quantity.raw_keys(keys)):
            surface = Surface(surface.layouts)  # the copies hold the arms and labels that quantities name
        query = units_sql(surface, quantity, keys)
        if quantity.sql is None:
            return self.results.sql(_texts(query, quantity.raw_keys(keys)))
        require_query(self.results.con, quantity.sql)
        with confined(3 * self.limits.memory_mb):
            return run_query(self.results, query, limits=self.limits)

    @property
    def surface(self) -> Surface:
        """The wide views of the results."""
        return self.recall("surface", lambda: Surface(layouts(self.results), self.copies))

    def recall(self, key: object, compute: Callable[[], T]) -> T:
        """What ``compute`` returned when it was first called for ``key``."""
        if key not in self.memory:
            self.memory[key] = compute()
        found: T = self.memory[key]
        return found


def layouts(results: Results) -> dict[tuple[str, str], Layout]:
    """The wide views of ``results`` by case and block."""
    return {(layout.case, layout.block): layout for layout in viewing.read(results.con)}


def _texts(query: str, keys: Sequence[str]) -> str:
    """``query`` with its keys as texts: units of different blocks are matched by what the key is called, not by its type."""
    changed = ", ".join(f"{identifier(k)}::VARCHAR AS {identifier(k)}" for k in dict.fromkeys(keys))
    return f"SELECT * REPLACE ({changed}) FROM (\n{query}\n)" if changed else query


@dataclass(frozen=True)
class Units:
    """Values of one quantity: ``values`` has one row per unit (keys, value, points); ``absent`` the units without one, with WHY."""

    keys: tuple[str, ...]
    values: pl.DataFrame
    absent: pl.DataFrame


def load_units(ledger: UnitReader, quantity: Quantity, keys: Sequence[str]) -> Units:
    """The values of ``quantity`` per unit named by ``keys``, and the planned units that have none."""
    return ledger.recall((quantity, tuple(keys)), lambda: _load_units(ledger, quantity, keys))


def _load_units(ledger: UnitReader, quantity: Quantity, keys: Sequence[str]) -> Units:
    wanted = quantity.raw_keys(keys)
    rows = ledger.values(quantity, keys)
    missing = [k for k in (*wanted, "value") if k not in rows.columns]
    if missing:
        raise DataError(
            f"the query of a quantity returns no column {', '.join(missing)}",
            hint="it must return every key of pair (and of aggregate.over) and a column named value",
        )
    if "points" not in rows.columns:
        rows = rows.with_columns(pl.lit(1).alias("points"))
    _check_types(rows, wanted)
    columns = (
        *(pl.col(k).cast(pl.String) for k in wanted),
        pl.col("value").cast(pl.Float64),
        pl.col("points").cast(pl.Int64),
    )
    seen = rows.drop_nulls("value").select("cell_id").unique() if "cell_id" in rows.columns else None
    rows = rows.lazy().select(columns).drop_nulls("value").sort(wanted).collect()
    unique = rows.height == rows.select(wanted).n_unique()
    absent = _absent(ledger, quantity, wanted, rows, unique, seen)
    if not unique:
        twice = rows.group_by(wanted, maintain_order=True).agg(pl.len().alias("n")).filter(pl.col("n") > 1)
        rows = rows.join(twice, on=wanted, how="anti", nulls_equal=True)
        reason = pl.format("{} values for one unit; narrow the comparison with where", pl.col("n")).alias("reason")
        absent = pl.concat([absent, twice.select(*wanted, reason, pl.lit(False).alias("declined"))])
    if quantity.aggregate is not None:
        rows, absent = _aggregated(quantity, tuple(keys), rows, absent)
    return Units(tuple(keys), rows, absent)


def _check_types(rows: pl.DataFrame, keys: Sequence[str]) -> None:
    """Refuses what a query of a file may return and a test cannot use: texts and lists for numbers, and NaN."""
    for name in keys:
        if rows.schema[name].is_nested():
            raise DataError(
                f"the query of a quantity returns {rows.schema[name]} for the key {name}",
                hint="a key is a text or a number",
            )
    for name in ("value", "points"):
        kind = rows.schema[name]
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise DataError(
                f"the query of a quantity returns {kind} for {name}", hint=f"cast it: CAST({name} AS DOUBLE)"
            )
    if rows.schema["value"].is_float() and rows["value"].is_nan().any():
        raise DataError("the query of a quantity returns NaN", hint="return NULL where there is no value")
    if not rows["points"].cast(pl.Float64).fill_null(0).is_between(0, 2**62).all():
        raise DataError(
            "the query of a quantity returns points that count nothing",
            hint="points is how many records are behind a value",
        )


def _absent(
    ledger: UnitReader,
    quantity: Quantity,
    wanted: Sequence[str],
    rows: pl.DataFrame,
    unique: bool,
    seen: pl.DataFrame | None,
) -> pl.DataFrame:
    """Units that were planned and have no value, each with the reason the database gives.

    A query of its own may return any keys, and the arm or label of a record is no key of a cell: the planned units are then
    cells, those that are not among the cells ``seen``. Keys that cells do not have stay empty; a query that names no cell has
    no planned units.
    """
    nothing = pl.DataFrame(schema={**dict.fromkeys(wanted, pl.String), **WHY})
    if quantity.sql is not None and seen is None:
        return nothing
    identity = ("cells", quantity.case, quantity.block, quantity.where, quantity.once, tuple(wanted))
    planned = ledger.recall(identity, lambda: _planned(ledger, quantity, wanted))
    by_cell = quantity.sql is not None or bool(quantity.record_keys(ledger.surface.layout(quantity), wanted))
    if not by_cell and unique and planned.height == rows.height:  # as many values as cells: nobody is missing
        return nothing
    arm = quantity.refused or (quantity.source.arm if quantity.source else None)
    block = ("refusals", quantity.case, quantity.block)
    refusals = ledger.recall(block, lambda: _refusals(ledger, quantity)).filter(pl.col("arm") == (arm or ""))
    if by_cell and seen is not None:
        missing = planned.join(seen.cast(pl.String), on="cell_id", how="anti")
    else:
        missing = planned.join(rows.select(wanted), on=list(wanted), how="anti", nulls_equal=True)
    missing = missing.join(refusals.select("cell_id", "refusal"), on="cell_id", how="left")
    reason = (
        pl.when(pl.col("state") == "done")
        .then(pl.coalesce(pl.format("arm refused: {}", pl.col("refusal")), pl.lit("no record")))
        .otherwise(pl.col("reason"))
        .alias("reason")
    )
    declined = pl.col("state").is_in(["refused", "failed"]) | (
        (pl.col("state") == "done") & pl.col("refusal").is_not_null()
    )
    return missing.select(*wanted, reason, declined.alias("declined")).unique().sort(*wanted, "reason")


def _planned(ledger: UnitReader, quantity: Quantity, wanted: Sequence[str]) -> pl.DataFrame:
    """Every cell that a quantity could have a value in: its keys, its state, and the reason for any state but done."""
    reason = (
        ", state, CASE state WHEN 'planned' THEN 'cell not computed' WHEN 'failed' THEN 'cell failed'"
        " WHEN 'refused' THEN 'cell refused: ' || coalesce(reason, 'no reason given') END AS reason"
    )
    found = ledger.results.sql(_texts(cells_sql(ledger.surface, quantity, wanted, states=(), extra=reason), wanted))
    return found.with_columns(pl.col("cell_id", "state", "reason", *wanted).cast(pl.String))


def effective_unit(ledger: UnitReader, comparison: Comparison) -> tuple[str, ...]:
    """The keys of the independent unit in this database: those of pair when every cell has the setting that makes it so."""
    if comparison.independent_when is None or not comparison.nested:
        return comparison.unit
    name, value = comparison.independent_when
    path = literal(f'$."{name}"')
    for _, quantity in comparison.sides:
        setting = f", json_extract_string(settings, {path}) AS setting"
        cells = cells_sql(ledger.surface, quantity, (), states=("done",), extra=setting)
        query = f"SELECT count(*) FILTER (setting IS DISTINCT FROM {literal(value)}) FROM ({cells})"
        if ledger.recall(query, partial(_any_row, ledger, query)):
            return comparison.unit
    return comparison.pair


def _any_row(ledger: UnitReader, query: str) -> bool:
    return bool(ledger.results.sql(query).item())


def _refusals(ledger: UnitReader, quantity: Quantity) -> pl.DataFrame:
    layout = ledger.surface.layout(quantity)
    table = ledger.surface.table(layout, layout.name)
    query = f"SELECT cell_id, arm, refused AS refusal FROM {table} WHERE refused IS NOT NULL"
    return ledger.results.sql(query).cast(pl.String)


def _aggregated(
    quantity: Quantity, keys: tuple[str, ...], rows: pl.DataFrame, absent: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One value per unit from the values it is aggregated over; a spread needs two of them."""
    assert quantity.aggregate is not None
    stat = quantity.aggregate.stat
    values: list[float | None] = []
    short: list[dict[str, str | bool]] = []
    groups = rows.group_by(list(keys), maintain_order=True).agg("value", pl.col("points").sum())
    for row in groups.iter_rows(named=True):
        x = np.asarray(row["value"], dtype=float)
        single = stat in MEASURES and x.size < 2
        number = None if single else statistic(stat, x)
        values.append(number if number is not None and np.isfinite(number) else None)
        if values[-1] is None:
            why = f"one value is not enough for {stat}" if single else f"{stat} is not defined for these values"
            short.append({**{k: row[k] for k in keys}, "reason": why, "declined": False})
    result = groups.with_columns(pl.Series("value", values, dtype=pl.Float64)).drop_nulls("value")
    inner = pl.format(
        "{} (" + ", ".join(quantity.aggregate.over) + " {})",
        pl.col("reason"),
        pl.concat_str(quantity.aggregate.over, separator="/"),
    )
    notes = absent.with_columns(inner.alias("reason")).select(*keys, *WHY)
    if short:
        notes = pl.concat([notes, pl.DataFrame(short).select(*keys, *WHY)])
    return result, notes

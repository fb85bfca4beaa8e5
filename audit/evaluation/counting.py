"""Comparisons that count events: the share of units that have one, and two groups of units side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.evaluation.pairing import unit_name
from orledger.audit.registry.words import Outcome, Variant
from orledger.audit.statistics.counts import fisher, proportion
from orledger.audit.statistics.result import TOO_FEW, Dropped, TestResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.audit.evaluation.units import Units
    from orledger.audit.registry.hypotheses import Comparison

    Builder = Callable[[Variant, bool, TestResult], Evaluation]

MAJORITY = "a unit has the event when more than half of its values have it"


def nothing(comparison: Comparison, n: int, dropped: tuple[Dropped, ...]) -> TestResult:
    """The result of a test that had too few units to be computed."""
    return TestResult(
        test=comparison.test, method=TOO_FEW, computed=False, side=comparison.side, n=n, n_nonzero=0, ties=0,
        statistic=None, statistic_name="", p=None, floor=None, dropped=dropped,
    )  # fmt: skip


def in_groups(comparison: Comparison, units: list[Units], names: list[str], evaluation: Builder) -> list[Evaluation]:
    """Fisher's test on the share of events in two groups of units; nested units are reduced by majority of their values.

    Its groups are independent when no unit is in both.
    """
    dropped = tuple(
        Dropped(unit_name(key), f"{n}: {reason}", declined)
        for n, u in zip(names, units, strict=True)
        for *key, reason, declined in u.absent.iter_rows()
    )
    tables = [_by_unit(comparison, u) for u in units]
    (a, n_a), (b, n_b) = (_events(t) for t in tables)
    if not (n_a and n_b):
        return [evaluation(Variant.DECLARED, True, nothing(comparison, n_a + n_b, dropped))]
    result = replace(fisher(a, n_a, b, n_b, comparison.side), dropped=dropped)
    if comparison.nested and comparison.blocked is None:
        refused = replace(result, p=None, method="no p: values are nested in their unit")
        return [replace(evaluation(Variant.DECLARED, False, refused), outcome=Outcome.REFUSED)]
    if comparison.nested:
        result = replace(result, method=f"{result.method}; {MAJORITY}")
    keys = list(comparison.unit)
    apart = tables[0].join(tables[1], on=keys, how="semi", nulls_equal=True).is_empty()
    e = evaluation(Variant.BLOCKED if comparison.nested else Variant.DECLARED, apart, result)
    return [_about(e, tables) if apart else e]


def share(comparison: Comparison, units: Units, evaluation: Builder) -> list[Evaluation]:
    """How many units have the event; nested values are reduced by majority, and without a blocking rule give no p and no interval.

    Where the quantity sums points of a cell, the points are pooled and marked as nested.
    """
    dropped = tuple(Dropped(unit_name(key), reason, declined) for *key, reason, declined in units.absent.iter_rows())
    if units.values.is_empty():
        return [evaluation(Variant.DECLARED, True, nothing(comparison, 0, dropped))]

    def counted(k: int, n: int) -> TestResult:
        found = proportion(k, n, comparison.nominal, side=comparison.side, level=comparison.level)
        return replace(found, dropped=dropped)

    if comparison.sides[0][1].over_idx == "sum":
        k, n = round(units.values["value"].sum()), int(units.values["points"].sum())
        if n == 0:
            return [evaluation(Variant.DECLARED, True, nothing(comparison, 0, dropped))]
        return [evaluation(Variant.NAIVE, False, counted(k, n))]
    pooled = counted(*_events(units.values))
    if not comparison.nested:
        return [_about(evaluation(Variant.DECLARED, True, pooled), [units.values])]
    if comparison.blocked is None:
        method = "no p and no interval: values are nested in their unit and no blocking rule is declared"
        bare = replace(pooled, p=None, low=None, high=None, level=None, interval_method="", method=method)
        return [replace(evaluation(Variant.DECLARED, False, bare), outcome=Outcome.REFUSED)]
    table = _by_unit(comparison, units)
    result = counted(*_events(table))
    first = evaluation(Variant.BLOCKED, True, replace(result, method=f"{result.method}; {MAJORITY}"))
    return [_about(first, [table]), evaluation(Variant.NAIVE, False, pooled)]


def _by_unit(comparison: Comparison, units: Units) -> pl.DataFrame:
    """The values, one to an independent unit where a blocking rule says that nested ones are reduced."""
    if not (comparison.nested and comparison.blocked is not None):
        return units.values
    majority = (pl.col("value").mean() > 0.5).cast(pl.Float64)
    return units.values.group_by(list(comparison.unit), maintain_order=True).agg(majority)


def _events(values: pl.DataFrame) -> tuple[int, int]:
    """How many values are an event, and how many there are."""
    return int((values["value"] != 0).sum()), values.height


def _about(e: Evaluation, tables: Sequence[pl.DataFrame]) -> Evaluation:
    """``e`` with how many values each key of its unit takes: it speaks about further ones."""
    keys = list(e.comparison.unit)
    every = pl.concat([t.select(keys) for t in tables])
    return replace(e, unit_values=tuple(f"{every[k].n_unique()} {k}" for k in keys))

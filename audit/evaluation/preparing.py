"""Matched values made ready for a test: finite, on the declared scale, as differences where those are tested, one row to a unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.evaluation.pairing import Matched, unit_name
from orledger.audit.registry.comparison_reading import UNIT_TESTS
from orledger.audit.statistics.logarithms import log10
from orledger.audit.statistics.result import Dropped
from orledger.audit.ties import ULPS, bounded, difference, snapped, step_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from orledger.audit.registry.hypotheses import Comparison


def prepared(comparison: Comparison, matched: Matched, names: list[str]) -> Matched:
    """``matched`` as the test of ``comparison`` takes it; units that cannot be used are dropped and named.

    An infinite value, such as a ratio to zero, and a logarithm that does not exist drop their unit. Tests of differences
    get first minus second, in whole multiples of the resolution where one is declared: printed ties are ties, and since sums
    of whole numbers are exact, rounding happens once, before any blocking. Beside the difference stands the size of the
    numbers subtracted, below whose last bits a difference is none (``differences``). Events become 0 and 1.
    """
    m = _usable(matched, ~np.isinf(matched.matrix), names, "infinite")
    if comparison.transform == "log10":
        m = _usable(m, ~(m.matrix <= 0), names, "not positive, log10 does not exist")
        m = replace(m, matrix=log10(m.matrix))
    if comparison.test == "mcnemar":
        return replace(m, matrix=(m.matrix > 0.5).astype(float))
    if comparison.test not in UNIT_TESTS:
        return m
    d = difference(m.matrix[:, 0], m.matrix[:, 1])
    scale = np.abs(m.matrix).max(axis=1)
    if comparison.resolution is not None:
        d, scale = _whole(d, scale, comparison.resolution), np.zeros_like(d)
    return replace(m, matrix=np.column_stack([d, scale]))


def _whole(d: NDArray[np.float64], scale: NDArray[np.float64], resolution: float) -> NDArray[np.float64]:
    """Differences ``d`` (n,) in whole multiples of ``resolution``; half of one is rounded to the even multiple.

    Of 0.71 - 0.70 and 0.70 - 0.69 one is above 0.01 and one below, by rounding of numbers of size ``scale`` (n,): both are half of 0.02.
    """
    with np.errstate(over="ignore"):
        parts = bounded(d / resolution)
        half = np.where(np.abs(parts) < 2.0**53, np.rint(2 * parts) / 2, parts)  # beyond, all numbers are whole
        return np.rint(np.where(np.abs(parts - half) <= ULPS * scale / resolution, half, parts))


def blocked(comparison: Comparison, m: Matched) -> Matched:
    """One row per independent unit: the declared mean or median of its nested rows, side by side.

    What is paired is the difference, so paired tests reduce the difference and not the sides.
    """
    x = m.matrix
    if comparison.test == "mcnemar":
        x = np.column_stack([x[:, 0] - x[:, 1], np.zeros(x.shape[0])])
    columns = [f"v{j}" for j in range(x.shape[1])]
    step = step_of(np.nan_to_num(x)) ** 16  # a sum of any number of values stays below the largest number
    table = m.units.hstack(
        pl.DataFrame(x * step, schema=columns).fill_nan(None)
    )  # an arm that lacks a part counts with the rest
    reduce = [pl.col(columns).mean() if comparison.blocked == "mean" else pl.col(columns).median()]
    if comparison.test in UNIT_TESTS:  # the size of the numbers behind a mean is that of the largest of them
        reduce = [pl.col("v0").mean() if comparison.blocked == "mean" else pl.col("v0").median(), pl.col("v1").max()]
    table = table.group_by(list(comparison.unit), maintain_order=True).agg(reduce)
    matrix = table.select(pl.col(columns).fill_null(float("nan"))).to_numpy().reshape(table.height, len(columns)) / step
    points = np.ones(matrix.shape, dtype=np.int64)
    return Matched(comparison.unit, table.select(comparison.unit), matrix, points, m.dropped)


def differences(comparison: Comparison, m: Matched) -> NDArray[np.float64]:
    """The differences (n,) of prepared values, with rounding taken out: what was equal before averaging is equal after it."""
    with np.errstate(over="ignore"):
        return bounded(snapped(m.matrix[:, 0], m.matrix[:, 1]) * (comparison.resolution or 1.0))


def without(m: Matched, reasons: Mapping[int, str]) -> Matched:
    """``m`` less the rows that ``reasons`` numbers; they join the dropped units."""
    if not reasons:
        return m
    kept = np.ones(m.matrix.shape[0], dtype=bool)
    kept[list(reasons)] = False
    dropped = (Dropped(unit_name(m.units.row(i)), reason) for i, reason in reasons.items())
    return replace(
        m,
        units=m.units.filter(pl.Series(kept)),
        matrix=m.matrix[kept],
        points=m.points[kept],
        dropped=(*m.dropped, *dropped),
    )


def _usable(m: Matched, good: NDArray[np.bool_], names: list[str], reason: str) -> Matched:
    """The units all of whose sides are ``good`` (units, sides)."""
    bad = np.flatnonzero(~good.all(axis=1)).tolist()
    return without(m, {i: f"{', '.join(names[j] for j in np.flatnonzero(~good[i]))}: {reason}" for i in bad})

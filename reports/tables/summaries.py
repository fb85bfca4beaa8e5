"""Small summaries that tables share: quartiles, paired columns, and the cells that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.reports.tables import format as rules
from orledger.reports.tables.table import TableError
from orledger.reports.tables.values import Absent, Count, Interval, Mark, Math, MedianIQR, Number, PValue, Value, join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from orledger.audit.statistics.result import TestResult
    from orledger.reports.tables.format import Style


LEVEL = 0.95  # of every interval in the tables


def values(frame: pl.DataFrame, column: str) -> np.ndarray:
    """The non-null values of a column, as floats."""
    return frame[column].drop_nulls().to_numpy().astype(float)


def number(value: float | None, style: Style, reason: str = "no value recorded") -> Value:
    """A number, or absent for the given reason."""
    return Absent(reason) if value is None or not np.isfinite(value) else Number(float(value), style)


def median(sample: ArrayLike, style: Style, reason: str = "no value recorded") -> Value:
    """The median of a sample as a cell."""
    x = np.asarray(sample, dtype=float)
    return Number(float(np.median(x)), style) if x.size else Absent(reason)


def median_iqr(
    sample: ArrayLike, style: Style, reason: str = "no value recorded", spread: Style | None = None
) -> Value:
    """The median with its quartiles (linear interpolation) as a cell."""
    x = np.asarray(sample, dtype=float)
    if not x.size:
        return Absent(reason)
    q1, mid, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    return MedianIQR(float(mid), float(q1), float(q3), style, spread)


def mean(sample: ArrayLike, style: Style, reason: str = "no value recorded") -> Value:
    """The mean of a sample as a cell."""
    x = np.asarray(sample, dtype=float)
    return Number(float(x.mean()), style) if x.size else Absent(reason)


def spread(sample: ArrayLike, style: Style) -> Interval:
    """The smallest and the largest value of a sample that is not empty."""
    x = np.asarray(sample, dtype=float)
    return Interval(float(x.min()), float(x.max()), style, what=("min", "max"))


def count(flags: ArrayLike) -> Count:
    """How many of the flags are set."""
    x = np.asarray(flags)
    return Count(int(np.sum(x != 0)), int(x.size))


def known(value: float | None) -> float:
    """``value``, which the caller has made sure is there; a defect when it is not."""
    if value is None:
        raise TableError("a value that was counted on is absent")
    return value


def p_cell(result: TestResult) -> Value:
    """The p-value of a test with its floor."""
    if result.p is None or result.floor is None:
        return Absent("the test gives no p here")
    return PValue(result.p, result.floor)


def interval_cell(result: TestResult, style: Style, scale: Callable[[float], float] = float) -> Value:
    """The interval of a test's effect (its ends through ``scale``), marked when n is too small for the level asked for."""
    if result.low is None or result.high is None:
        return Absent("no interval")
    interval = Interval(scale(result.low), scale(result.high), style)
    reached = result.level is not None and result.level >= LEVEL
    return interval if reached else join(interval, Mark("‡"), names=("", ""))


def paired(frame: pl.DataFrame, on: Sequence[str], column: str, first: str, second: str) -> pl.DataFrame:
    """Cells that both arms delivered: the keys ``on``, then ``first`` and ``second`` with the values of ``column``."""
    left = frame.filter(pl.col("arm") == first).drop_nulls(column).select(*on, pl.col(column).alias("first"))
    right = frame.filter(pl.col("arm") == second).drop_nulls(column).select(*on, pl.col(column).alias("second"))
    return left.join(right, on=list(on), how="inner").sort(list(on))


def power_of_ten(value: float) -> Math | Number:
    """A setting such as a noise level: up to three digits, with a power of ten below 0.1 and above 1000 (10^-3, 3*10^-4)."""
    if value > 0 and not 0.1 <= value < 1000:
        mantissa, power = f"{value:.2e}".split("e")
        factor, exponent = f"{float(mantissa):g}", int(power)
        small = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        if factor == "1":
            return Math(f"10^{{{exponent}}}", f"10{small}")
        return Math(rf"{factor}\!\cdot\!10^{{{exponent}}}", f"{factor}·10{small}")
    return Number(value, rules.SHORT)

"""Small summaries that tables share: quartiles, paired columns, and the cells that show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.registry.words import Outcome
from orledger.reports.audit_rows import ClaimRow, TestRow
from orledger.reports.origin import Origin, Records, Sample
from orledger.reports.tables import format as rules
from orledger.reports.tables.table import TableError
from orledger.reports.tables.values import Absent, Count, Mark, Math, MedianIQR, Number, PValue, Range, Value, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from orledger.reports.tables.format import Style


LEVEL = 0.95  # of every interval in the tables
Why = str | Callable[[], str]  # a reason, or what asks for it when a cell turns out to be absent


def values(frame: pl.DataFrame, column: str, *columns: str) -> Sample:
    """The non-null values of a column, as floats that know their records where ``frame`` does.

    ``columns`` are the metrics behind a column that was computed from them.
    """
    found = frame[column].drop_nulls().to_numpy().astype(float)
    return known_sample(found, frame.filter(pl.col(column).is_not_null()), *(columns or (column,)))


def known_sample(sample: ArrayLike, frame: pl.DataFrame, *columns: str) -> Sample:
    """``sample``, computed from ``columns`` of the rows of ``frame``."""
    there = "cell_id" in frame.columns
    return Sample.of(np.asarray(sample), Origin((Records(frame, columns),)) if there else Origin())


def absent(reason: Why) -> Absent:
    """An absent cell, with the reason asked for now."""
    return Absent(reason if isinstance(reason, str) else reason())


def needing(least: int, there: int, what: str, reason: Why) -> Why:
    """That ``least`` values are needed, and how many are there; the reason why there are none, where there are none."""
    return f"{there} of the {least} values that {what} needs" if there else reason


def number(value: float | None, style: Style, reason: Why) -> Value:
    """A number, or absent for the given reason."""
    return absent(reason) if value is None or not np.isfinite(value) else Number(float(value), style)


def median(sample: ArrayLike, style: Style, reason: Why) -> Value:
    """The median of a sample as a cell."""
    x = np.asarray(sample, dtype=float)
    return Number(float(np.median(x)), style).of(sample) if x.size else absent(reason)


def median_iqr(sample: ArrayLike, style: Style, reason: Why, spread: Style | None = None) -> Value:
    """The median with its quartiles (linear interpolation) as a cell."""
    x = np.asarray(sample, dtype=float)
    if not x.size:
        return absent(reason)
    q1, mid, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    return MedianIQR(float(mid), float(q1), float(q3), style, spread).of(sample)


def mean(sample: ArrayLike, style: Style, reason: Why) -> Value:
    """The mean of a sample as a cell."""
    x = np.asarray(sample, dtype=float)
    return Number(float(x.mean()), style).of(sample) if x.size else absent(reason)


def spread(sample: ArrayLike, style: Style) -> Range:
    """The smallest and the largest value of a sample that is not empty."""
    x = np.asarray(sample, dtype=float)
    return Range(float(x.min()), float(x.max()), style, what=("min", "max")).of(sample)


def count(flags: ArrayLike) -> Count:
    """How many of the flags are set."""
    x = np.asarray(flags)
    return Count(int(np.sum(x != 0)), int(x.size)).of(flags)


def known(value: float | None) -> float:
    """``value``, which the caller has made sure is there; a defect when it is not."""
    if value is None:
        raise TableError("a value that was counted on is absent")
    return value


Cited = TestRow | Absent  # a row of the audit, or why there is none


def p_cell(row: Cited) -> Value:
    """The p-value of a row with its floor; one that could not have decided carries a mark."""
    if isinstance(row, Absent):
        return row
    if row.p is None or row.floor is None:
        return Absent(row.why_absent)
    p = PValue(row.p, row.floor).of(row)
    return join(p, Mark("§"), names=("", "")) if row.outcome == Outcome.UNTESTABLE else p


def effect_cell(row: Cited, style: Style, scale: Callable[[float], float] = float) -> Value:
    """The effect of a row, through ``scale``."""
    if isinstance(row, Absent):
        return row
    return Absent(row.why_absent) if row.effect is None else Number(scale(row.effect), style).of(row)


def interval_cell(row: Cited, style: Style, scale: Callable[[float], float] = float) -> Value:
    """The interval of a row's effect (its ends through ``scale``), marked when n is too small for the level asked for."""
    if isinstance(row, Absent):
        return row
    if row.low is None or row.high is None:
        return Absent(row.why_absent)
    interval = Range(scale(row.low), scale(row.high), style).of(row)
    reached = row.level is not None and row.level >= LEVEL
    return interval if reached else join(interval, Mark("‡"), names=("", ""))


def wins_cell(row: Cited) -> Value:
    """On how many of its units the first side of a row is better; for a proportion, how many have the event."""
    if isinstance(row, Absent):
        return row
    return Absent(row.why_absent) if row.wins is None else Count(row.wins, row.n).of(row)


def value_cell(claim: ClaimRow | Absent, style: Style) -> Value:
    """The number that a claim of the audit looked at."""
    if isinstance(claim, Absent):
        return claim
    return Absent(claim.observed) if claim.value is None else Number(claim.value, style).of(claim)


def n_cell(row: Cited) -> Value:
    """How many units a row compares."""
    return row if isinstance(row, Absent) else Number(row.n, rules.INTEGER).of(row)


def floor_cell(row: Cited) -> Value:
    """The smallest p that the test of a row could have given."""
    return row if isinstance(row, Absent) else number(row.floor, rules.P_VALUE, row.why_absent).of(row)


def rank_quotes(row: Cited, ranks: Mapping[str, str]) -> dict[str, Value]:
    """Statistic and p of a test of ranks, and the mean ranks of the arms in ``ranks`` under the names it gives them."""
    if isinstance(row, Absent) or row.statistic is None:
        nothing = row if isinstance(row, Absent) else Absent(row.why_absent)
        return dict.fromkeys(("Friedman statistic", "Friedman p", *ranks.values()), nothing)
    found = row.details.get("mean_ranks", {})
    return {
        "Friedman statistic": Number(row.statistic, rules.fixed(2)).of(row),
        "Friedman p": p_cell(row),
        **{name: number(found.get(arm), rules.fixed(2), row.why_absent).of(row) for arm, name in ranks.items()},
    }


def unit_words(rows: Iterable[Cited]) -> str:
    """What the independent units of ``rows`` are, from the rows: ``dataset, seed``; several, when they differ."""
    return " or ".join(dict.fromkeys(r.unit for r in rows if not isinstance(r, Absent))) or "not known"


def interval_words(rows: Iterable[Cited]) -> str:
    """How the intervals of ``rows`` were computed, from the rows."""
    known = (r.interval_method for r in rows if not isinstance(r, Absent) and r.interval_method)
    return " or ".join(dict.fromkeys(known)) or "not computed"


def effect_words(rows: Iterable[Cited]) -> str:
    """Which statistic the effects of ``rows`` are, from the rows."""
    known = (r.effect_name for r in rows if not isinstance(r, Absent) and r.effect_name)
    return " or ".join(dict.fromkeys(known)) or "effect"


def cv(sample: ArrayLike) -> float:
    """The coefficient of variation of at least two values: sample standard deviation over mean; exactly 0 for equal values."""
    x = np.asarray(sample, dtype=float)
    return 0.0 if np.all(x == x[0]) else float(x.std(ddof=1) / x.mean())


def paired(frame: pl.DataFrame, on: Sequence[str], column: str, first: str, second: str) -> pl.DataFrame:
    """Cells that both arms delivered: the keys ``on``, then ``first`` and ``second`` with the values of ``column``."""
    left = frame.filter(pl.col("arm") == first).drop_nulls(column).select(*on, pl.col(column).alias("first"))
    right = frame.filter(pl.col("arm") == second).drop_nulls(column).select(*on, pl.col(column).alias("second"))
    return left.join(right, on=list(on), how="inner").sort(list(on))


def matched(frame: pl.DataFrame, pairs: pl.DataFrame, on: Sequence[str], column: str, *arms: str) -> pl.DataFrame:
    """The rows of ``frame`` from which ``paired`` made ``pairs``."""
    mine = frame.filter(pl.col("arm").is_in(arms)).drop_nulls(column)
    return mine.join(pairs.select(*on), on=list(on), how="semi")


def power_of_ten(value: float) -> Math | Number:
    """A setting such as a noise level: up to three digits, with a power of ten below 0.1 and above 1000 (10^-3, 3*10^-4)."""
    if value > 0 and not 0.1 <= value < 1000:
        mantissa, power = f"{value:.2e}".split("e")
        factor, exponent = f"{float(mantissa):g}", int(power)
        small = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        if factor == "1":
            return Math(f"10^{{{exponent}}}", f"10{small}", value)
        return Math(rf"{factor}\!\cdot\!10^{{{exponent}}}", f"{factor}·10{small}", value)
    return Number(value, rules.SHORT)

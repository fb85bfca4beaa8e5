"""Tables of values for any study: arms by unit with ranks, and a summary of every arm with its intervals."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from orledger.reports import cautions
from orledger.reports.generic import IMPORTED, Subject
from orledger.reports.tables import format as rules
from orledger.reports.tables.format import Style, fixed
from orledger.reports.tables.table import Column, Group, PrintSize, Row, Table, arm_columns, columns
from orledger.reports.tables.values import Absent, Blank, Number, Range, Text, Value, best, bracketed, join
from orledger.schema.layouts import literal
from orledger.wording import some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.reports.audit_rows import TestRow

PART = 250  # units in one table, so that a browser shows it at once; on paper it goes on from page to page
NAMED = 5  # values of fewer runs that a caption names
NO_INTERVAL = "so few units allow no interval"
RANKED = 6  # arms beyond which ranks no longer fit beside the values


def result_table(subject: Subject, number: int = 1, style: Style | None = None) -> Table:
    """Arms by unit: the mean over repetitions, its rank beside it, the best in bold; mean ranks end the last part.

    ``number`` is the part that is asked for, and the only one that is made.
    """
    values, ranks = subject.values, subject.values.ranks(subject.better)
    style = style or number_style(values.matrix, given=values.single)
    arms = subject.ordered
    place = [values.arms.index(a) for a in arms]
    parts = max(1, -(-len(values.units) // PART))
    rows = []
    for i in range(PART * (number - 1), min(PART * number, len(values.units))):
        unit = values.units[i]
        cells = [
            _value(subject, unit, values.arms[j], values.matrix[i, j], ranks[i, j], style, len(arms)) for j in place
        ]
        scores = [None if np.isnan(ranks[i, j]) else float(ranks[i, j]) for j in place]
        rows.append(Row(unit, (Text(unit), *best(cells, scores))))
    groups = [Group(tuple(rows))]
    if number == parts:
        groups.append(Group(tuple(_rank_rows(subject, arms))))
    several = f", part {number} of {parts}" if parts > 1 else ""
    return Table(
        title=f"Results, {subject.metric} by {', '.join(subject.unit)}{several}",
        caption=_caption(subject, len(arms)),
        columns=arm_columns(Column("unit", Text(", ".join(subject.unit)), "l"), [(a, subject.label(a)) for a in arms]),
        groups=tuple(g for g in groups if g.rows),
        notes=notes(subject),
        queries=tuple(subject.queries),
        layout=PrintSize("scriptsize" if len(arms) > RANKED else "footnotesize", 3.0 if len(arms) > RANKED else 4.0),
    )


def summary_table(subject: Subject) -> Table:
    """One row per arm: units, median over units with its interval, mean rank with its interval, and what runs say."""
    style = number_style(subject.values.matrix)
    with_runs = bool(subject.of("interquartile_mean"))
    heads = [
        *columns("l", "arm"),
        Column("n", Text("units"), "r"),
        *columns("r", "median"),
        Column("median interval", Text("interval"), "r"),
        Column("rank", Text("mean rank"), "r"),
        Column("rank interval", Text("interval"), "r"),
    ]
    if with_runs:
        heads += [Column("iqm", Text("IQM"), "r"), Column("iqm interval", Text("interval"), "r")]
    rows = []
    for arm in subject.ordered:
        median = subject.single("median", arm)
        cells: list[Value] = [Text(subject.label(arm))]
        cells.append(
            Number(median.n, rules.INTEGER).of(median) if median else _missing(subject, f"the median of {arm}")
        )
        cells += _estimate(subject, median, style, f"the median of {arm}")
        cells += _rank(subject, arm)
        if with_runs:
            iqm = subject.single("interquartile_mean", arm)
            cells += _estimate(subject, iqm, style, f"the interquartile mean of {arm}")
        rows.append(Row(arm, tuple(cells)))
    lower = subject.better == "lower"
    medians = [subject.single("median", a) for a in subject.ordered]
    # Pairs are compared by signs where units have scales of their own: there a median over units says little, and none is the best.
    if not subject.pairs or any(p.row.test != "sign" for p in subject.pairs):
        marked = best([r.cells[2] for r in rows], [m.effect if m else None for m in medians], lower=lower)
        rows = [Row(r.key, (*r.cells[:2], cell, *r.cells[3:])) for r, cell in zip(rows, marked, strict=True)]
    return Table(
        caption=Text(
            f"Every arm over its units, best mean rank first{_over(subject)}; {subject.better} {subject.metric} is better. "
            f"{_intervals(subject, with_runs)}"
        ),
        columns=tuple(heads),
        groups=(Group(tuple(rows)),),
        notes=notes(subject),
        queries=audit_queries(subject, ("median", "mean_ranks", "friedman", "interquartile_mean")),
    )


def number_style(matrix: np.ndarray, *, given: bool = False) -> Style:
    """Decimals that tell the values apart: three for shares, fewer for large numbers, significant digits for wide ranges.

    Values that are as they were ``given``, means of nothing, have no more decimals than the longest of them.
    """
    style = _telling(matrix)
    if given and style.kind == "fixed":
        decimals = (
            -int(Decimal(repr(v)).normalize().as_tuple().exponent) for v in matrix[np.isfinite(matrix)].tolist()
        )
        style = fixed(min(style.digits, max((0, *decimals))))
    return style


def _telling(matrix: np.ndarray) -> Style:
    x = np.abs(matrix[np.isfinite(matrix)])
    if not x.size:
        return fixed(3)
    top, nonzero = float(x.max()), x[x > 0]
    if nonzero.size and top / float(nonzero.min()) > 1e4:
        return rules.significant(3)
    return fixed(3 if top <= 10 else 2 if top <= 100 else 1 if top <= 1000 else 0)


def notes(subject: Subject) -> tuple[Value, ...]:
    """What a reader must know of every table of an imported study."""
    query = f"SELECT count(*) FROM all_cells WHERE case_name = {literal(subject.case)} AND imported"
    return (Text(IMPORTED),) if subject.results.sql(query).item() else ()


def audit_queries(subject: Subject, tests: tuple[str, ...]) -> tuple[str, ...]:
    """The query that returns the audit rows of the given kinds."""
    ids = ", ".join(f"'{t.test_id}'" for t in subject.of(*tests))
    return (f"SELECT * FROM test_result\nWHERE test_id IN ({ids})\nORDER BY comparison, variant",) if ids else ()


def _value(subject: Subject, unit: str, arm: str, value: float, rank: float, style: Style, arms: int) -> Value:
    """The value from its own records; its rank from those of all arms on the unit."""
    if np.isnan(value):
        return Absent(subject.why(unit, arm))
    number = Number(float(value), style).of_records(subject.values.rows(unit, arm), subject.metric)
    if arms > RANKED:
        return number
    place = Number(float(rank), fixed(0 if float(rank).is_integer() else 1))
    place = place.of_records(subject.values.rows(unit), subject.metric)
    return bracketed(number, place, "rank")


def _rank_rows(subject: Subject, arms: tuple[str, ...]) -> Iterator[Row]:
    if subject.ranking is None:
        return
    d = subject.ranking.details
    ranks = [d["mean_ranks"].get(a) for a in arms]
    cells: list[Value] = [
        _missing(subject, f"the mean rank of {a}") if r is None else Number(r, fixed(2)).of(subject.ranking)
        for a, r in zip(arms, ranks, strict=True)
    ]
    yield Row("mean rank", (Text("mean rank", italic=True), *best(cells, ranks)))
    if len(arms) > RANKED:  # intervals would need twice the room; the summary has them
        return
    ends = [
        Range(d["mean_rank_low"][a], d["mean_rank_high"][a], fixed(2)).of(subject.ranking)
        if a in d["mean_rank_low"]
        else Blank()
        for a in arms
    ]
    yield Row("interval", (Text(f"{subject.ranking.level or 0.95:.0%} interval", italic=True), *ends))


def _missing(subject: Subject, what: str) -> Absent:
    return Absent(subject.audit.why_absent(f"{what} in {subject.hypothesis}"))


def _rank(subject: Subject, arm: str) -> list[Value]:
    row = subject.ranking
    if row is None or arm not in row.details["mean_ranks"]:
        return [_missing(subject, f"the mean rank of {arm}"), Blank()]
    d = row.details
    return [
        Number(d["mean_ranks"][arm], fixed(2)).of(row),
        Range(d["mean_rank_low"][arm], d["mean_rank_high"][arm], fixed(2)).of(row),
    ]


def _estimate(subject: Subject, row: TestRow | None, style: Style, what: str) -> list[Value]:
    if row is None or row.effect is None:
        return [_missing(subject, what) if row is None else Absent(row.why_absent), Blank()]
    return [Number(row.effect, style).of(row), interval_of(row, style)]


def interval_of(row: TestRow, style: Style) -> Value:
    """The interval of a row of the audit, its ends open or closed as stored; one end where the test has one side; a level of zero is none."""
    if row.level == 0:
        return Absent(NO_INTERVAL)
    if row.low is not None and row.high is not None:
        return Range(row.low, row.high, style, ends=row.interval_ends or "[]").of(row)
    if row.low is not None:
        return join("at least ", Number(row.low, style).of(row), names=("low",))
    return Blank() if row.high is None else join("at most ", Number(row.high, style).of(row), names=("high",))


def _caption(subject: Subject, arms: int) -> Value:
    mean = f" Values are means over {', '.join(subject.repeats)}." if subject.repeats else ""
    short = [f"{subject.label(arm)} on {unit} ({n} of {most})" for unit, arm, n, most in subject.values.short()]
    if subject.repeats and short:
        mean += f" Means of fewer runs than other arms have there: {some(short, NAMED, '; ')}."
    ranks = " Ranks within a row in brackets." if arms <= RANKED else ""
    if over := _over(subject):
        ranks += f" Mean ranks are{over}."
    ranks += cautions.flat_ranks(subject)
    said = "" if subject.described in ("", subject.metric) else f"{subject.described.rstrip('. ')}. "
    return Text(f"{said}{subject.better.capitalize()} is better, the best of a row in bold.{mean}{ranks}")


def _over(subject: Subject) -> str:
    """Which units the mean ranks are over, where some have none."""
    return f" over the {subject.ranked_units}" if subject.unranked else ""


def _intervals(subject: Subject, with_runs: bool) -> str:
    ranking = subject.ranking
    medians = subject.of("median")
    words = []
    if medians:
        words.append(f"medians: {medians[0].interval_method}, {cautions.levels(medians)}")
    if ranking is not None:
        method = ranking.interval_method or ranking.details.get("mean_rank_interval", "")
        words.append(f"mean ranks: {method}, {cautions.levels([ranking])}, about further units like these")
    if with_runs:
        rows = subject.of("interquartile_mean")
        words.append(
            f"interquartile means (IQM): {rows[0].interval_method}, {cautions.levels(rows)}, about new runs on these units and no others"
        )
    too_short = cautions.few_runs(subject.of("interquartile_mean")) + cautions.flat_ranks(subject)
    return "Intervals: " + "; ".join(words) + f".{too_short}" if words else ""

"""Tables of Case A: accuracy and stability of the parameter-choice rules, their floors, portability."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.names import RULES
from orledger.paper.prose import prose
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, Row, Table
from orledger.reports.tables.values import Blank, Count, Number, Range, Text, Value, best, join
from orledger.schema.frames import the_number
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.origin import Sample
    from orledger.reports.source import Source

LAST_BIT = """
SELECT grid, count(*) AS runs, min(rmse) AS low, max(rmse) AS high FROM a_perturbation_series
WHERE level = 0 AND arm = 'perturbed' AND rmse IS NOT NULL
GROUP BY ALL"""
DEPLOYABLE = ("released", "morozov", "ml2", "gcv", "lcurve")  # the oracle reads the test set
PAIRS = (("released", "morozov"), ("morozov", "oracle"))  # what the gain and the ratio to the oracle compare
REFERENCE_GRID, COARSE_GRID = 24, 16
# Where the audit compares the rules on one grid: each pair, and all deployable rules at once.
TESTS = {REFERENCE_GRID: ("H1/rmse", "H1/friedman24"), COARSE_GRID: ("H1/rmse16", "CaseA/friedman16")}


def selected(source: Source, grids: tuple[int, ...]) -> pl.DataFrame:
    """The RMSE and weight that each rule selects, one row per cell and rule (default variants only)."""
    frame = source.rows(
        Selection(
            "a", "rules", list(RULES), ["rmse", "lam2", "lam2_index"], ["grid", "level", "seed"], where={"grid": grids}
        )
    )
    return frame.filter(pl.col("label").is_null())


def accuracy(source: Source, grid: int) -> Table:
    """Median test RMSE per rule and noise level on one grid, the gain over the released weight and the ratio to the oracle."""
    frame = source.need(selected(source, (grid,)), f"finished cells of a/rules at {grid} points per side")
    rows = []
    gains_all: list[Sample] = []
    for (level,), part in once_without_noise(frame).group_by(["level"], maintain_order=True):
        cells: list[Value] = []
        medians: list[float | None] = []
        for rule in RULES:
            x = s.values(part.filter(pl.col("arm") == rule), "rmse")
            cells.append(
                s.median(
                    x, rules.scientific(2), source.why("a", "rules", rule, "rmse", keys={"grid": grid, "level": level})
                )
            )
            medians.append(float(np.median(x)) if x.size and rule in DEPLOYABLE else None)
        gains, ratio = (ratios(part, *pair) for pair in PAIRS)
        if level > 0:
            gains_all.append(gains)
        missing = (source.why("a", "rules", pair, "rmse", keys={"grid": grid, "level": level}) for pair in PAIRS)
        gain_cell, ratio_cell = (
            s.median(x, rules.fixed(2), why) for x, why in zip((gains, ratio), missing, strict=True)
        )
        if gains.size:
            spread = Range(float(gains.min()), float(gains.max()), rules.significant(2), what=("min", "max"))
            middle = Number(float(np.median(gains)), rules.significant(2).times())
            gain_cell = join(middle, " ", spread, names=("", "")).of(gains)
        n = Number(part["seed"].n_unique(), rules.INTEGER).of_records(part, "rmse")
        rows.append(Row(f"rel {level:g}", (s.power_of_ten(level), n, *best(cells, medians), gain_cell, ratio_cell)))
    quotes = rule_quotes(source, *TESTS[grid])
    noisy = np.concatenate([np.empty(0), *gains_all])
    if noisy.size:
        medians_noisy = [float(np.median(g)) for g in gains_all if g.size]
        quotes |= {
            "gain smallest median": Number(min(medians_noisy), rules.significant(2)).of(*gains_all),
            "gain largest median": Number(max(medians_noisy), rules.significant(2)).of(*gains_all),
            "gain smallest cell": Number(float(noisy.min()), rules.significant(3)).of(*gains_all),
            "gain largest cell": Number(float(noisy.max()), rules.significant(3)).of(*gains_all),
            "gain cells at least 100": Count(int((noisy >= 100).sum()), noisy.size).of(*gains_all),
        }
    quotes |= last_bit(source, grid)
    caption = prose(
        """Accuracy of the parameter-choice rules at {{ grid }} collocation: median test RMSE over the noise seeds of each relative
        noise level, every rule choosing from one shared grid of {{ sym.lambda2 }}. Bold: lowest of the five rules that need no test
        data. Gain: released over Morozov, median [smallest, largest] of the per-cell ratios. M/o: median per-cell ratio of Morozov to
        the oracle, which reads the test set. Without noise a cell does not depend on its seed: it is one computation and counts
        once.{% if low %} Over the noisy levels the median gain {% if one %}is {{ low }}{% else %}lies between {{ low }} and {{ high }}{% endif %}.{% endif %}
        {% if runs %} Without noise, data moved by one unit in the last place give the released weight an RMSE between {{ least }} and
        {{ most }} ({{ runs }} draws): its numbers in that row are known no better.{% endif %}""",
        grid=sym.collocation(grid), low=quotes.get("gain smallest median"), high=quotes.get("gain largest median"),
        one=same_in_print(quotes.get("gain smallest median"), quotes.get("gain largest median")),
        runs=quotes.get("last bit draws"), least=quotes.get("last bit smallest"), most=quotes.get("last bit largest"),
    )  # fmt: skip
    columns = (
        Column("rel noise", Text("rel. noise"), "l"), Column("n", sym.N, "r"), *(Column(k, Text(v)) for k, v in RULES.items()),
        Column("gain", Text("gain")), Column("M/o", Text("M/o")),
    )  # fmt: skip
    return Table(caption, columns, (Group(tuple(rows)),), quotes=quotes, layout=TIGHT)


def ratios(part: pl.DataFrame, first: str, second: str) -> Sample:
    """The RMSE of one rule over that of another on the seeds that have both, at one noise level."""
    pairs = s.paired(part, ["seed"], "rmse", first, second)
    return s.known_sample(
        pairs["first"] / pairs["second"], s.matched(part, pairs, ["seed"], "rmse", first, second), "rmse"
    )


def last_bit(source: Source, grid: int) -> dict[str, Value]:
    """How far last-bit perturbations of noise-free data move the released weight's error; empty where it was not measured."""
    return {
        name: value
        for found, runs, low, high in source.rows(LAST_BIT).iter_rows()
        if found == grid
        for name, value in (
            ("last bit draws", Number(runs, rules.INTEGER)),
            ("last bit smallest", Number(low, rules.scientific(2))),
            ("last bit largest", Number(high, rules.scientific(2))),
        )
    }


def once_without_noise(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with one seed of every noise-free grid: without noise all seeds are one computation under several names."""
    return frame.filter((pl.col("level") > 0) | (pl.col("seed") == pl.col("seed").min().over("grid", "level")))


def same_in_print(low: Value | None, high: Value | None) -> bool:
    """True when two values are printed with the same digits, so that a range of them would say nothing."""
    return low is not None and high is not None and list(low.tokens()) == list(high.tokens())


def rule_quotes(source: Source, pairs: str, ranks: str) -> dict[str, Value]:
    """Morozov against every other rule over the noisy cells on log10 RMSE, and the Friedman test over the deployable rules."""
    quotes: dict[str, Value] = {}
    for rule in RULES:
        if rule == "morozov":
            continue
        row = source.test(f"{pairs}/{rule}")
        quotes[f"Morozov minus {rule} dex"] = s.effect_cell(row, rules.fixed(3).signed())
        quotes[f"Morozov minus {rule} p"] = s.p_cell(row)
        quotes[f"Morozov wins over {rule}"] = s.wins_cell(row)
    return quotes | s.rank_quotes(source.test(ranks), {"morozov": "Morozov mean rank"})


@table("A", "Case A: accuracy of the rules, fine grid", case="a")
def table_a(source: Source) -> Table:
    """Table A: accuracy at 24 x 24 collocation."""
    return accuracy(source, REFERENCE_GRID)


@table("A16", "Case A: accuracy of the rules, coarse grid", case="a")
def table_a16(source: Source) -> Table:
    """Table A16: accuracy at 16 x 16 collocation."""
    return accuracy(source, COARSE_GRID)


def seed_cv(frame: pl.DataFrame) -> pl.DataFrame:
    """The coefficient of variation of RMSE over noise seeds: one row per grid, level and rule with at least two seeds."""
    groups = frame.group_by(["grid", "level", "arm"], maintain_order=True).agg(pl.col("rmse").drop_nulls())
    return pl.DataFrame(
        [
            {"grid": g, "level": lv, "arm": a, "cv": s.cv(x), "seeds": len(x)}
            for g, lv, a, x in groups.iter_rows()
            if len(x) > 1
        ],
        schema={"grid": pl.Float64, "level": pl.Float64, "arm": pl.String, "cv": pl.Float64, "seeds": pl.Int64},
    )


Missing = Callable[[str], s.Why]  # why a rule has no dispersion


def missing_dispersion(source: Source, frame: pl.DataFrame, **keys: float) -> Missing:
    """Why a rule has no dispersion in the groups of ``frame`` with ``keys``: one seed everywhere, or what the database says."""

    def why(rule: str) -> s.Why:
        there = frame.filter(pl.col("arm") == rule, **keys).drop_nulls("rmse")
        return s.needing(2, min(1, there.height), "a dispersion", source.why("a", "rules", rule, "rmse", keys=keys))

    return why


def cv_row(key: str, label: Value, by_rule: dict[str, float | None], why: Missing, rows: pl.DataFrame) -> Row:
    """A row of one dispersion per rule, the lowest deployable one in bold; ``rows`` hold the errors behind them."""
    cells = [
        s.number(by_rule.get(rule), rules.fixed(3), why(rule)).of_records(rows.filter(pl.col("arm") == rule), "rmse")
        for rule in RULES
    ]
    return Row(key, (label, *best(cells, [by_rule.get(r) if r in DEPLOYABLE else None for r in RULES])))


@table("Astab", "Case A: dispersion across noise seeds", case="a")
def table_astab(source: Source) -> Table:
    """Table Astab: seed-to-seed dispersion of each rule, per grid and pooled, with the paired test against Morozov."""
    frame = selected(source, (REFERENCE_GRID, COARSE_GRID)).filter(pl.col("level") > 0)
    table = source.need(seed_cv(frame), "noisy cells of a/rules with at least two seeds")
    groups: list[Group] = []
    quotes: dict[str, Value] = {}
    for grid in sorted(table["grid"].unique().to_list(), reverse=True):
        part = table.filter(pl.col("grid") == grid)
        rows = []
        for (level,), sub in part.group_by(["level"], maintain_order=True):
            rows.append(
                cv_row(
                    f"grid {grid:g} rel {level:g}",
                    s.power_of_ten(level),
                    dict(sub.select("arm", "cv").iter_rows()),
                    missing_dispersion(source, frame, grid=grid, level=level),
                    grouped(frame, sub),
                )
            )
        why = missing_dispersion(source, frame, grid=grid)
        rows += summary_rows(part, f"grid {grid:g}", quotes, why, grouped(frame, part))
        n = part["level"].n_unique()
        groups.append(
            Group(
                tuple(rows),
                prose(
                    "{{ grid }} collocation, {{ n }} group{{ 's' if n != 1 else '' }} of one noise level",
                    grid=sym.collocation(int(grid)),
                    n=n,
                ),
            )
        )
    if table["grid"].n_unique() > 1:
        rows = summary_rows(table, "pooled", quotes, missing_dispersion(source, frame), grouped(frame, table))
        n = table.select("grid", "level").unique().height
        groups.append(Group(tuple(rows), prose("both grids, {{ n }} groups of one grid and noise level", n=n)))
    groups.append(Group(tuple(test_rows(source, quotes)), prose("the audit's test over groups of both grids")))
    fewest, most = the_number(table["seeds"].min()), the_number(table["seeds"].max())
    caption = prose(
        """Seed-to-seed dispersion of the selected model: coefficient of variation of test RMSE (sample standard deviation over mean)
        across the {{ seeds }} noise seeds of a (grid, noise level) group. Median rows: over groups; ratio rows: divided by Morozov's.
        Bold: lowest of the five rules that need no test data; the oracle is a reference. Test: exact signed-rank over the
        groups of one {{ unit }}. The noise-free level measures the solver and not the noise: see {{ table('Afloor') }}.""",
        seeds=Text(f"{fewest}" if fewest == most else f"{fewest} to {most}"),
        unit=s.unit_words(source.cited.tests()),
    )  # fmt: skip
    columns = (Column("rel noise", Text("rel. noise"), "l"), *(Column(k, Text(v)) for k, v in RULES.items()))
    return Table(caption, columns, tuple(groups), quotes=quotes)


def grouped(frame: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``frame`` in the groups of grid, level and rule that ``table`` has."""
    kinds = [pl.col(c).cast(frame.schema[c]) for c in ("grid", "level")]
    return frame.join(table.with_columns(kinds), on=["grid", "level", "arm"], how="semi")


def medians_by_rule(table: pl.DataFrame) -> dict[str, float | None]:
    """The median dispersion over groups of each rule."""
    return {
        rule: (float(np.median(x)) if (x := s.values(table.filter(pl.col("arm") == rule), "cv")).size else None)
        for rule in RULES
    }


def summary_rows(
    table: pl.DataFrame, scope: str, quotes: dict[str, Value], why: Missing, rows: pl.DataFrame
) -> list[Row]:
    """The median over groups, and its ratio to Morozov's; ``rows`` hold the errors behind them."""
    med = medians_by_rule(table)
    for rule, value in med.items():
        if value is not None:
            mine = rows.filter(pl.col("arm") == rule)
            quotes[f"{scope} median {rule}"] = Number(value, rules.fixed(3)).of_records(mine, "rmse")
    base = med.get("morozov")
    ratios: list[Value] = [
        s.number(
            None if not base or value is None else value / base,
            rules.significant(3),
            "Morozov's is 0" if base == 0 else why("morozov" if base is None else rule),
        ).of_records(rows.filter(pl.col("arm").is_in([rule, "morozov"])), "rmse")
        for rule, value in ((rule, med[rule]) for rule in RULES)
    ]
    return [
        cv_row(f"{scope} median", Text("median"), med, why, rows),
        Row(f"{scope} ratio", (Text("ratio to Morozov"), *ratios)),
    ]


def test_rows(source: Source, quotes: dict[str, Value]) -> list[Row]:
    """The audit's test of Morozov's dispersion against every rule's, over (grid, level) groups."""
    p_cells: list[Value] = [Text("exact p against Morozov")]
    counts: list[Value] = [Text("groups with Morozov lower")]
    for rule in RULES:
        if rule == "morozov":
            p_cells.append(Blank())
            counts.append(Blank())
            continue
        row = source.test(f"H1/cv/{rule}")
        p_cells.append(s.p_cell(row))
        counts.append(s.wins_cell(row))
        quotes[f"p against {rule}"] = p_cells[-1]
    return [Row("p", tuple(p_cells)), Row("wins", tuple(counts))]

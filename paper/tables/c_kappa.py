"""Tables of Case C about the multiples of the certified floor: inertness of the ladder, and the criterion at every step."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.names import rung_pair
from orledger.paper.prose import prose
from orledger.paper.tables import c_steps
from orledger.paper.tables.c import ARMS, KEYS, benchmark_name, dispersions, part_of, words
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, Row, Span, Table
from orledger.reports.tables.values import Count, Number, Text, Value, join
from orledger.schema.frames import as_number
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.source import Source

PAIRS = {"1-2": ("k1", "k2"), "2-5": ("k2", "k5"), "1-5": ("k1", "k5")}
ESCAPE = 1e-6  # osc / mean above which the width is said to have left the flat regime


def paths(source: Source, budget: str | None = None) -> dict[tuple[str, float, float], dict[str, tuple[float, ...]]]:
    """The action path of every arm, by (benchmark, dim, seed), in the main block or at another fit budget."""
    frame = part_of(source, budget, list(ARMS), ["action"]).filter(pl.col("label").is_null()).drop_nulls("action")
    source.need(frame, "action paths in c/main")
    found: dict[tuple[str, float, float], dict[str, tuple[float, ...]]] = {}
    for (*key, arm), part in frame.sort("idx").group_by([*KEYS, "arm"]):
        found.setdefault(tuple(key), {})[arm] = tuple(part["action"].to_list())
    return found


def inert(source: Source, budget: str | None, suffix: str, benchmark: str) -> s.Cited:
    """The audit's row: on how many seeds of a benchmark the arms of a pair, or of the whole ladder, chose the same candidates."""
    name = f"H4/inert{suffix}" if budget is None else f"CaseC/inert-{budget}{suffix}"
    return source.test(f"{name}/{benchmark}")


BUDGETS = """
SELECT DISTINCT 'main' AS block, budget FROM c_main_cells WHERE state = 'done' AND budget IS NOT NULL
UNION ALL SELECT DISTINCT 'budget', budget FROM c_budget_cells WHERE state = 'done' AND budget IS NOT NULL
ORDER BY ALL"""


def inert_rows(source: Source, budget: str | None, quotes: dict[str, Value]) -> tuple[list[Row], int]:
    """One row per benchmark, flattest first, and the number of steps of the longest path."""
    found = paths(source, budget)
    exact = dispersions(source, budget)
    widths = part_of(source, budget, ["k1"], ["osc", "mean_c"]).drop_nulls(["osc", "mean_c"])
    widths = widths.with_columns((pl.col("osc") / pl.col("mean_c")).alias("d"))
    rows = []
    steps = 0
    for benchmark, dim in [*exact, *sorted({k[:2] for k in found} - exact.keys())]:
        seeds = [p for k, p in sorted(found.items()) if k[:2] == (benchmark, dim)]
        steps = max([steps, *(len(path) for p in seeds for path in p.values())])
        mine = widths.filter((pl.col("benchmark") == benchmark) & (pl.col("dim") == dim))
        grid = s.values(mine.filter(pl.col("label") == "grid"), "d", "osc", "mean_c")
        pairs = [s.wins_cell(inert(source, budget, f"-{pair}", benchmark)) for pair in PAIRS]
        row = inert(source, budget, "", benchmark)
        ladder, interval = s.wins_cell(row), s.interval_cell(row, rules.fixed(2))
        control = s.wins_cell(inert(source, budget, "-ucb", benchmark))
        key = " ".join(x for x in (budget, benchmark, f"{dim:g}") if x)
        quotes[f"{key} ladder"] = ladder
        at = {"budget": budget} if budget else {}
        why = partial(
            source.why, "c", "budget" if budget else "main", "k1", keys={"benchmark": benchmark, "dim": dim, **at}
        )
        cells = (
            benchmark_name(benchmark, dim), s.number(exact.get((benchmark, dim)), rules.significant(2), why("osc")).of_records(mine.filter(pl.col("label").is_null()), "osc", "mean_c"), s.median(grid, rules.significant(2), why("osc", "grid")),
            *pairs, ladder, interval, escape(mine.filter(pl.col("label").is_null()), why("osc")), control,
        )  # fmt: skip
        rows.append(Row(key, cells))
    return rows, steps


@table("Ckappa", "Case C: inertness of the ladder", case="c")
def table_ckappa(source: Source) -> Table:
    """Table Ckappa: dispersion, inert seeds, escape step and a control, for the main block and at every other fit budget."""
    quotes: dict[str, Value] = {}
    rows, steps = inert_rows(source, None, quotes)
    known = source.rows(BUDGETS)
    main = words(known.filter(pl.col("block") == "main")["budget"].to_list())
    groups = [Group(tuple(rows), prose("fit budget {{ b }} (main block)", b=main))]
    groups += [
        Group(tuple(inert_rows(source, budget, quotes)[0]), prose("fit budget {{ b }}", b=budget))
        for budget in sorted(known.filter(pl.col("block") == "budget")["budget"].to_list(), reverse=True)
    ]
    caption = prose(
        """Inertness of the ladder {{ sym.kappa }} = 1, 2, 5, by actions: a pair is inert on a seed when both arms choose the same candidate
        at each of the {{ steps }} steps. {{ sym.dispersion }}: median over steps and seeds along OR-LCB 1×, from the exact radius and from
        the 97-point grid of the paper, which cannot resolve below its own end. Ladder: all three arms agree, with the two-sided
        95% interval ({{ interval }}); the seed is the independent unit. Escape: median over seeds of the first step at which
        the exact dispersion exceeds {{ limit }}. Last column, a control without any {{ sym.kappa }}: UCB takes the actions of
        OR-LCB 1×. The fit budget of the surrogate is not given by the paper, so the table is repeated for every budget that was run.""",
        steps=steps, limit=s.power_of_ten(ESCAPE), interval=s.interval_words(source.cited.tests()),
    )  # fmt: skip
    columns = (
        Column("benchmark", Text("benchmark"), "l"), Column("dispersion", Text("exact"), "r"), Column("dispersion grid", Text("grid"), "r"),
        *(Column(f"inert {p}", Text(rung_pair(p))) for p in PAIRS), Column("ladder", Text("ladder")), Column("ladder interval", Text("95% interval")),
        Column("escape", Text("escape"), "r"), Column("ucb", Text("UCB = 1×")),
    )  # fmt: skip
    spans = (Span(1, 2, sym.DISPERSION), Span(3, 5, Text("inert seeds")))
    return Table(caption, columns, tuple(groups), spans, quotes=quotes, layout=TIGHT)


def escape(widths: pl.DataFrame, why: s.Why) -> Value:
    """The median over seeds of the first step with a dispersion above the limit; never when most seeds have none."""
    if widths.is_empty():
        return s.absent(why)
    firsts = [as_number(part.filter(pl.col("d") > ESCAPE)["idx"].min()) for _, part in widths.group_by("seed")]
    middle = float(np.median([np.inf if f is None else f for f in firsts]))
    shown: Value = Number(middle, rules.SHORT) if np.isfinite(middle) else Text("never")
    return shown.of_records(widths, "osc", "mean_c")


CRITERIA = {
    "osc/low": ("oscillation, smaller multiple", ("osc/low",)), "osc": ("oscillation, either multiple", ("osc/low", "osc/high")),
    "sharp": ("sharp form, either multiple", ("sharp/low", "sharp/high")),
}  # fmt: skip


@table("Cinv", "Case C: the invariance criterion at every step", case="c")
def table_cinv(source: Source) -> Table:
    """Table Cinv: what the criterion predicted against what the acquisition did, per step and per trajectory."""
    keys = [*KEYS, "arm", "idx", "pair"]
    frame = source.rows(Selection("c", "main", list(ARMS), ["same", "fires", "ratio"], KEYS, indexed=True)).drop_nulls(
        "label"
    )
    source.need(frame, "invariance records in c/main")
    split = frame.with_columns(
        pl.col("label").str.split("/").list.first().alias("pair"),
        pl.col("label").str.splitn("/", 2).struct.field("field_1").alias("rule"),
    )
    seen = split.drop_nulls("same").select([*keys, "same"])
    groups = []
    quotes: dict[str, Value] = {}
    found = paths(source)
    for name, (label, labels) in CRITERIA.items():
        fired = (
            split.filter(pl.col("rule").is_in(list(labels)))
            .drop_nulls("fires")
            .group_by(keys)
            .agg(pl.col("fires").max(), pl.col("ratio").min())
        )
        joined = seen.join(fired, on=keys, how="inner")
        if joined.is_empty():
            continue
        fires, same = (joined[c].to_numpy() > 0 for c in ("fires", "same"))
        whole = trajectories(joined, found)
        cells: list[list[Value]] = []
        for row, (firing, flags) in enumerate(((True, fires), (False, ~fires))):
            line: list[Value] = []
            for stayed, mask in ((True, same), (False, ~same)):
                origin = c_steps.steps(labels, ARMS, fires=firing, same=stayed)
                line.append(Number(int((flags & mask).sum()), rules.INTEGER, bold=firing and not stayed, origin=origin))
            for column, stayed in enumerate((True, False)):
                origin = c_steps.trajectories(labels, ARMS, PAIRS, fires=firing, same=stayed)
                line.append(replace(whole[2 * row + column], bold=firing and not stayed, origin=origin))
            cells.append(line)
        rows = (Row(f"{name} fires", (Text("fires"), *cells[0])), Row(f"{name} silent", (Text("silent"), *cells[1])))
        quotes |= {
            f"{name} records": Number(joined.height, rules.INTEGER),
            f"{name} counterexamples": Number(int((fires & ~same).sum()), rules.INTEGER),
            f"{name} fires share": Number(float(fires.mean()), rules.percent(1)),
            f"{name} silent but same": Count(int((~fires & same).sum()), int((~fires).sum())),
        }
        if same.any():
            quotes[f"{name} share of invariant steps"] = Number(float(fires[same].mean()), rules.percent(1))
        closest = as_number(joined.filter(pl.col("fires") > 0)["ratio"].max())
        if closest is not None:
            quotes[f"{name} largest ratio that fires"] = Number(closest, rules.fixed(3))
        heading = join("criterion: ", label, f", {joined.height:,d} records")
        groups.append(Group(rows, heading))
    caption = prose(
        """The criterion {{ sym.criterion }} against what the acquisition did, for every pair of multiples, arm, seed and step (left) and over
        whole trajectories (right: it fires at every step of the smaller multiple's path, against equal actions throughout). It is
        sufficient, so only the bold cells can refute it. It is anchored at the gap of the smaller multiple as in the paper, then at
        either; the sharp form replaces the oscillation by the difference that matters.{% if share %} In the paper's form it fires on
        {{ share }} of the records and on {{ caught }} of those on which nothing moved.{% endif %}""",
        share=quotes.get("osc/low fires share"), caught=quotes.get("osc/low share of invariant steps"),
    )  # fmt: skip
    columns = (
        Column("criterion", Text("criterion"), "l"), Column("step same", Text("argmin same"), "r"), Column("step moved", Text("argmin moved"), "r"),
        Column("path same", Text("identical"), "r"), Column("path differs", Text("differ"), "r"),
    )  # fmt: skip
    spans = (Span(1, 2, Text("one step")), Span(3, 2, Text("whole trajectory")))
    return Table(caption, columns, tuple(groups), spans, quotes=quotes)


def trajectories(
    joined: pl.DataFrame, found: dict[tuple[str, float, float], dict[str, tuple[float, ...]]]
) -> list[Number]:
    """Counts of (fires and identical, fires and differ, silent and identical, silent and differ) over pairs of trajectories."""
    counts = [0, 0, 0, 0]
    for pair, (low, high) in PAIRS.items():
        mine = joined.filter((pl.col("pair") == pair) & (pl.col("arm") == low))
        for key, part in mine.group_by(KEYS):
            arms = found.get(key, {})
            if low in arms and high in arms:
                always = bool((part["fires"] > 0).all())
                counts[2 * (not always) + (arms[low] != arms[high])] += 1
    return [Number(c, rules.INTEGER) for c in counts]

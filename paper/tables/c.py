"""Tables of Case C about regret: medians and worst seeds, and the paired comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.statistics.friedman import friedman
from orledger.audit.statistics.signedrank import signed_rank
from orledger.paper import symbols as sym
from orledger.paper.names import SEARCHES
from orledger.paper.names import benchmark as benchmark_words
from orledger.paper.prose import prose
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, Layout, Row, Table
from orledger.reports.tables.values import Absent, Interval, Number, Text, Value, best, join

if TYPE_CHECKING:
    from orledger.reports.source import Source

KEYS = ["benchmark", "dim", "seed"]
ARMS: dict[str, Value] = {arm: Text(SEARCHES[arm]) for arm in ("ei", "ucb", "k1", "k2", "k5")}
ALPHA = 0.05
NOT_RUN = "the arm has no finished trajectory here"


def benchmark_name(benchmark: str, dim: float | None) -> Text:
    """A benchmark with its dimension."""
    return Text(benchmark_words(benchmark, dim))


def regrets(source: Source) -> pl.DataFrame:
    """Final and mean regret, one row per benchmark, seed and arm of the main block, benchmarks from flat to rough."""
    frame = source.wide("c", "main", list(ARMS), ["final_regret", "auc"], KEYS).filter(pl.col("label").is_null())
    source.need(frame, "finished cells of c/main")
    rank = {key: i for i, key in enumerate(dispersions(source))}
    order = [rank.get((b, d), len(rank)) for b, d in frame.select("benchmark", "dim").iter_rows()]
    return frame.with_columns(pl.Series("order", order)).sort(["order", "benchmark", "dim", "seed"])


def part_of(source: Source, budget: str | None, arms: list[str], metrics: list[str]) -> pl.DataFrame:
    """Step-by-step records of the main block, or of the same trajectories at another fit budget."""
    if budget is None:
        return source.wide("c", "main", arms, metrics, KEYS, indexed=True)
    return source.wide("c", "budget", arms, metrics, KEYS, indexed=True, where={"budget": budget})


def dispersions(source: Source, budget: str | None = None) -> dict[tuple[str, float], float]:
    """The median over steps and seeds of osc / mean of the certified width along OR-LCB, flattest benchmark first."""
    frame = part_of(source, budget, ["k1"], ["osc", "mean_c"]).filter(pl.col("label").is_null())
    ratio = (pl.col("osc") / pl.col("mean_c")).median().alias("d")
    found = frame.drop_nulls(["osc", "mean_c"]).group_by("benchmark", "dim").agg(ratio)
    return {(b, d): v for b, d, v in found.sort(["d", "benchmark", "dim"]).iter_rows()}


@table("C", "Case C: final regret", case="c")
def table_c(source: Source) -> Table:
    """Table C: median and worst final regret per benchmark and arm."""
    frame = regrets(source)
    rows = []
    for (benchmark, dim), part in frame.group_by(["benchmark", "dim"], maintain_order=True):
        cells: list[Value] = []
        medians: list[float | None] = []
        for arm in ARMS:
            x = s.values(part.filter(pl.col("arm") == arm), "final_regret")
            if not x.size:
                cells.append(Absent(NOT_RUN))
                medians.append(None)
                continue
            mid, worst = float(np.median(x)), float(x.max())
            cells.append(
                join(
                    Number(mid, rules.significant(3)),
                    " (",
                    Number(worst, rules.significant(3)),
                    ")",
                    names=("", "worst"),
                )
            )
            medians.append(mid)
        counts = part.group_by("arm").len()["len"]
        low, high = counts.min(), counts.max()
        n: Value = Number(low, rules.INTEGER) if low == high else Interval(low, high, rules.INTEGER, dash=True)
        rows.append(Row(f"{benchmark} {dim:g}", (benchmark_name(benchmark, dim), n, *best(cells, medians))))
    quotes = rank_quotes(frame)
    budget = source.rows(
        "SELECT DISTINCT keys['evaluations'] AS evaluations, keys['budget'] AS budget\nFROM cell\n"
        "WHERE case_name = 'c' AND block = 'main' AND state = 'done'\nORDER BY ALL"
    )
    caption = prose(
        """Median (worst) final simple regret over {{ sym.n }} seeds after {{ evaluations }} evaluations, fit budget {{ budget }};
        benchmarks ordered by the dispersion of the certified width, flattest first. Bold: lowest median of the row, several when
        equal.{% if chi %} Friedman test over the complete (benchmark, seed) blocks: statistic {{ chi }}, p {{ p }}; mean ranks
        {% for label, rank in ranks %}{{ label }} {{ rank }}{{ ', ' if not loop.last else '.' }}{% endfor %}{% endif %}""",
        evaluations=words(budget["evaluations"].to_list()), budget=words(budget["budget"].to_list()),
        chi=quotes.get("final Friedman statistic"), p=quotes.get("final Friedman p"), ranks=[(h, quotes.get(f"final mean rank {a}")) for a, h in ARMS.items()],
    )  # fmt: skip
    columns = (
        Column("benchmark", Text("benchmark"), "l"),
        Column("n", sym.N, "r"),
        *(Column(a, h) for a, h in ARMS.items()),
    )
    return Table(
        "C",
        "Case C: final regret",
        caption,
        columns,
        (Group(tuple(rows)),),
        quotes=quotes,
        layout=Layout("footnotesize", 4.0),
    )


def words(values: list[str | None]) -> str:
    """The distinct values as a phrase."""
    known = sorted({v for v in values if v is not None})
    return " or ".join(known) if known else "not recorded"


def rank_quotes(frame: pl.DataFrame) -> dict[str, Value]:
    """Friedman's test and mean ranks for both orderings, over blocks in which every arm finished."""
    quotes: dict[str, Value] = {}
    for metric, word in (("final_regret", "final"), ("auc", "AUC")):
        wide = frame.pivot("arm", index=KEYS, values=metric)
        arms = [a for a in ARMS if a in wide.columns]
        blocks = wide.select(arms).drop_nulls().to_numpy()
        if len(arms) < len(ARMS) or len(blocks) < 2:
            continue
        result = friedman(blocks, arms)
        quotes[f"{word} blocks"] = Number(len(blocks), rules.INTEGER)
        quotes[f"{word} Friedman statistic"] = Number(s.known(result.statistic), rules.fixed(2))
        quotes[f"{word} Friedman p"] = s.p_cell(result)
        for arm, rank in result.details["mean_ranks"].items():
            quotes[f"{word} mean rank {arm}"] = Number(rank, rules.fixed(2))
    return quotes


def pairs_table(source: Source, name: str, title: str, metric: str, reference: str, what: str) -> Table:
    """One arm against ``reference`` per row: paired difference, interval, counts, exact p and floor, then all benchmarks pooled."""
    frame = regrets(source)
    groups = []
    quotes: dict[str, Value] = {}
    others = [a for a in ARMS if a != reference]
    for (benchmark, dim), part in frame.group_by(["benchmark", "dim"], maintain_order=True):
        rows = []
        for arm in others:
            pair = s.paired(part, ["seed"], metric, arm, reference)
            key = f"{benchmark} {dim:g} {arm}"
            rows.append(
                pair_row(key, benchmark_name(benchmark, dim), arm, (pair["first"] - pair["second"]).to_numpy(), quotes)
            )
        groups.append(Group(tuple(rows)))
    positive = frame.filter(pl.col(metric) > 0).with_columns(pl.col(metric).log10().alias("dex"))
    wide = positive.pivot("arm", index=KEYS, values="dex")
    complete = wide.drop_nulls([a for a in ARMS if a in wide.columns])
    rows = []
    for arm in others:
        both = {arm, reference} <= set(complete.columns)
        dex = (complete[arm] - complete[reference]).to_numpy() if both else np.empty(0)
        rows.append(pair_row(f"pooled {arm}", Text("pooled, log ratio"), arm, dex, quotes))
    groups.append(Group(tuple(rows)))
    caption = prose(
        """{{ what }} paired against {{ reference }} on shared seeds: median difference (row arm minus reference; negative is better),
        its 95 per cent interval from order statistics, seeds better/worse/exactly tied, the exact signed-rank p and the smallest p
        that the non-zero differences allow. Pooled rows: the {{ sym.log10 }} ratio over the {{ blocks }} (benchmark, seed) blocks in
        which every arm finished with positive regret. Bold: p below {{ alpha }}, not corrected for the number of rows.""",
        what=what, reference=ARMS[reference], blocks=complete.height, alpha=Number(ALPHA, rules.fixed(2)),
    )  # fmt: skip
    columns = (
        Column("benchmark", Text("benchmark"), "l"), Column("arm", Text("arm"), "l"), Column("n", sym.N, "r"), Column("difference", Text("median diff."), "r"),
        Column("interval", Text("95% interval")), Column("counts", Text("better/worse/tied")), Column("p", sym.P, "r"), Column("floor", Text("floor"), "r"),
    )  # fmt: skip
    return Table(name, title, caption, columns, tuple(groups), quotes=quotes, layout=Layout("scriptsize", 3.3))


def pair_row(key: str, label: Value, arm: str, differences: np.ndarray, quotes: dict[str, Value]) -> Row:
    """The row of one paired comparison."""
    if not differences.size:
        nothing = Absent("no seed that both arms finished")
        return Row(key, (label, ARMS[arm], Number(0, rules.INTEGER), nothing, nothing, nothing, nothing, nothing))
    result = signed_rank(differences, better="lower")
    style = rules.fixed(4).signed()
    interval = s.interval_cell(result, style)
    counts = join(
        Number(result.wins or 0, rules.INTEGER),
        "/",
        Number(result.losses or 0, rules.INTEGER),
        "/",
        Number(result.draws or 0, rules.INTEGER),
        names=("better", "worse", "tied"),
    )
    p = s.p_cell(result).strong(result.p is not None and result.p < ALPHA)
    quotes |= {f"{key} difference": Number(s.known(result.effect), style), f"{key} p": p.strong(False)}
    floor = s.number(result.floor, rules.P_VALUE)
    return Row(
        key,
        (
            label,
            ARMS[arm],
            Number(result.n, rules.INTEGER),
            Number(s.known(result.effect), style),
            interval,
            counts,
            p,
            floor,
        ),
    )


@table("CpairEI", "Case C: final regret against EI", case="c")
def table_cpair_ei(source: Source) -> Table:
    """Table CpairEI: final regret against EI."""
    return pairs_table(
        source, "CpairEI", "Case C: final regret against EI", "final_regret", "ei", "Final simple regret"
    )


@table("CpairOR", "Case C: final regret against OR-LCB 1×", case="c")
def table_cpair_or(source: Source) -> Table:
    """Table CpairOR: final regret against OR-LCB."""
    return pairs_table(
        source, "CpairOR", "Case C: final regret against OR-LCB 1×", "final_regret", "k1", "Final simple regret"
    )


@table("CaucEI", "Case C: mean regret against EI", case="c")
def table_cauc_ei(source: Source) -> Table:
    """Table CaucEI: mean regret over the trajectory against EI."""
    return pairs_table(
        source, "CaucEI", "Case C: mean regret against EI", "auc", "ei", "Mean regret over the trajectory (AUC)"
    )

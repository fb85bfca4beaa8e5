"""Tables of Case C about regret: medians and worst seeds, and the paired comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.names import SEARCHES
from orledger.paper.names import benchmark as benchmark_words
from orledger.paper.prose import prose
from orledger.reports.audit_rows import TestRow
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, Row, Table
from orledger.reports.tables.values import Absent, Number, Range, Text, Value, best, bracketed, join
from orledger.schema.frames import the_number
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.source import Source

KEYS = ["benchmark", "dim", "seed"]
ARMS: dict[str, Value] = {arm: Text(SEARCHES[arm]) for arm in ("ei", "ucb", "k1", "k2", "k5")}


def benchmark_name(benchmark: str, dim: float | None) -> Text:
    """A benchmark with its dimension."""
    return Text(benchmark_words(benchmark, dim))


def regrets(source: Source) -> pl.DataFrame:
    """Final and mean regret, one row per benchmark, seed and arm of the main block, benchmarks from flat to rough."""
    frame = source.rows(Selection("c", "main", list(ARMS), ["final_regret", "auc"], KEYS)).filter(
        pl.col("label").is_null()
    )
    source.need(frame, "finished cells of c/main")
    rank = {key: i for i, key in enumerate(dispersions(source))}
    order = [rank.get((b, d), len(rank)) for b, d in frame.select("benchmark", "dim").iter_rows()]
    return frame.with_columns(pl.Series("order", order)).sort(["order", "benchmark", "dim", "seed"])


def part_of(source: Source, budget: str | None, arms: list[str], metrics: list[str]) -> pl.DataFrame:
    """Step-by-step records of the main block, or of the same trajectories at another fit budget."""
    if budget is None:
        return source.rows(Selection("c", "main", arms, metrics, KEYS, indexed=True))
    return source.rows(Selection("c", "budget", arms, metrics, KEYS, indexed=True, where={"budget": budget}))


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
                why = source.why("c", "main", arm, "final_regret", keys={"benchmark": str(benchmark), "dim": dim})
                cells.append(s.absent(why))
                medians.append(None)
                continue
            mid, worst = float(np.median(x)), float(x.max())
            middle, most = (Number(v, rules.significant(3)) for v in (mid, worst))
            cells.append(bracketed(middle, most, "worst").of(x))
            medians.append(mid)
        counts = part.group_by("arm").len()["len"]
        low, high = the_number(counts.min()), the_number(counts.max())
        n: Value = Number(low, rules.INTEGER) if low == high else Range(low, high, rules.INTEGER, dash=True)
        n = n.of_records(part, "final_regret", "auc")
        rows.append(Row(f"{benchmark} {dim:g}", (benchmark_name(benchmark, dim), n, *best(cells, medians))))
    quotes = rank_quotes(source)
    budget = source.rows(
        "SELECT DISTINCT evaluations::VARCHAR AS evaluations, budget\nFROM c_main_cells\nWHERE state = 'done'\nORDER BY ALL"
    )
    caption = prose(
        """Median (worst) final simple regret over {{ sym.n }} seeds after {{ evaluations }} evaluations, fit budget {{ budget }};
        benchmarks ordered by the dispersion of the certified width, flattest first. Bold: lowest median of the row, several when
        equal. Friedman test over the {{ blocks }} complete (benchmark, seed) blocks: statistic {{ chi }}, p {{ p }}; mean ranks
        {% for label, rank in ranks %}{{ label }} {{ rank }}{{ ', ' if not loop.last else '.' }}{% endfor %}""",
        evaluations=words(budget["evaluations"].to_list()), budget=words(budget["budget"].to_list()),
        chi=quotes["final Friedman statistic"], p=quotes["final Friedman p"], blocks=quotes["final blocks"],
        ranks=[(h, quotes[f"final mean rank {a}"]) for a, h in ARMS.items()],
    )  # fmt: skip
    columns = (
        Column("benchmark", Text("benchmark"), "l"),
        Column("n", sym.N, "r"),
        *(Column(a, h) for a, h in ARMS.items()),
    )
    return Table(caption, columns, (Group(tuple(rows)),), quotes=quotes)


def words(values: list[str | None]) -> str:
    """The distinct values as a phrase."""
    known = sorted({v for v in values if v is not None})
    return " or ".join(known) if known else "not recorded"


def rank_quotes(source: Source) -> dict[str, Value]:
    """Friedman's test and mean ranks for both orderings, over blocks in which every arm finished."""
    quotes: dict[str, Value] = {}
    for address, word in (("H4/friedman-final", "final"), ("H4/friedman-auc", "AUC")):
        row = source.test(address)
        quotes[f"{word} blocks"] = s.n_cell(row)
        found = s.rank_quotes(row, {arm: f"mean rank {arm}" for arm in ARMS})
        quotes |= {f"{word} {key}": value for key, value in found.items()}
    return quotes


# Rows of the audit, {} being the benchmark: the row arm against the reference, for one benchmark and pooled. A minus sign
# says that the audit compares them the other way round.
PAIRS = {
    ("final_regret", "ei"): {
        arm: (f"H4/{arm}-ei/{{}}", "H4/pooled" if arm == "k1" else f"H4/pooled-{arm}")
        for arm in ("ucb", "k1", "k2", "k5")
    },
    ("final_regret", "k1"): {
        "ei": ("-H4/k1-ei/{}", "-H4/pooled"),
        "ucb": ("CaseC/ucb-k1/{}", "CaseC/ladder-ucb"),
        "k2": ("CaseC/k2-k1/{}", "H4/ladder-k2"),
        "k5": ("H4/k5-k1/{}", "H4/ladder"),
    },
    ("auc", "ei"): {
        "ucb": ("CaseC/ucb-ei-auc/{}", "CaseC/pooled-auc-ucb"),
        "k1": ("H4/k1-ei-auc/{}", "H4/pooled-auc"),
        "k2": ("CaseC/k2-ei-auc/{}", "CaseC/pooled-auc-k2"),
        "k5": ("CaseC/k5-ei-auc/{}", "CaseC/pooled-auc-k5"),
    },
}


def paired_row(source: Source, address: str) -> s.Cited:
    """The row of the audit at ``address``, turned round where it begins with a minus sign."""
    row = source.test(address.removeprefix("-"))
    return row.reversed() if address.startswith("-") and not isinstance(row, Absent) else row


def pairs_table(source: Source, metric: str, reference: str, what: str) -> Table:
    """One arm against ``reference`` per row: paired difference, interval, counts, exact p and floor, then all benchmarks pooled."""
    frame = regrets(source)
    groups = []
    quotes: dict[str, Value] = {}
    found = PAIRS[metric, reference]
    for benchmark, dim in dict.fromkeys(frame.select("benchmark", "dim").iter_rows()):
        rows = [
            pair_row(f"{benchmark} {dim:g} {arm}", benchmark_name(benchmark, dim), arm, paired_row(source, one.format(benchmark)), quotes)
            for arm, (one, _) in found.items()
        ]  # fmt: skip
        groups.append(Group(tuple(rows)))
    pooled = {arm: paired_row(source, address) for arm, (_, address) in found.items()}
    rows = [pair_row(f"pooled {arm}", Text("pooled, log ratio"), arm, row, quotes) for arm, row in pooled.items()]
    groups.append(Group(tuple(rows)))
    cited = source.cited.tests()
    caption = prose(
        """{{ what }} paired against {{ reference }} on shared seeds: {{ effect }} (row arm minus reference; negative is better),
        its 95% interval ({{ interval }}), seeds better/worse/exactly tied, the exact signed-rank p and the smallest p
        that the non-zero differences allow. Pooled rows: the {{ sym.log10 }} ratio over the (benchmark, seed) blocks in
        which both arms finished with positive regret. Bold: decided by the audit at its level{% if alphas %} {{ alphas }}{% endif %}{% if families %}, after
        Holm's correction within {{ families }} (the p printed is the uncorrected one){% endif %}.""",
        what=what, reference=ARMS[reference], effect=s.effect_words(r for r in cited if r.transform == "none"), interval=s.interval_words(cited),
        alphas=" or ".join(sorted({f"{r.alpha:g}" for r in cited})), families=", ".join(sorted({f"“{r.family}”" for r in cited if r.family})),
    )  # fmt: skip
    columns = (
        Column("benchmark", Text("benchmark"), "l"), Column("arm", Text("arm"), "l"), Column("n", sym.N, "r"), Column("difference", Text("difference"), "r"),
        Column("interval", Text("95% interval")), Column("counts", Text("better/worse/tied")), Column("p", sym.P, "r"), Column("floor", Text("floor"), "r"),
    )  # fmt: skip
    return Table(caption, columns, tuple(groups), quotes=quotes, layout=TIGHT)


def pair_row(key: str, label: Value, arm: str, row: s.Cited, quotes: dict[str, Value]) -> Row:
    """The row of one paired comparison."""
    style = rules.fixed(4).signed()
    counts: Value = Absent(row.why_absent) if isinstance(row, TestRow) else row
    if isinstance(row, TestRow) and row.wins is not None:
        parts = [Number(count or 0, rules.INTEGER) for count in (row.wins, row.losses, row.draws)]
        counts = join(parts[0], "/", parts[1], "/", parts[2], names=("better", "worse", "tied")).of(row)
    p, difference = s.p_cell(row), s.effect_cell(row, style)
    quotes |= {f"{key} difference": difference, f"{key} p": p}
    bold = isinstance(row, TestRow) and row.decided
    interval = s.interval_cell(row, style)
    return Row(
        key,
        (label, ARMS[arm], s.n_cell(row), difference, interval, counts, p.strong(bold), s.floor_cell(row)),
    )


@table("CpairEI", "Case C: final regret against EI", case="c")
def table_cpair_ei(source: Source) -> Table:
    """Table CpairEI: final regret against EI."""
    return pairs_table(source, "final_regret", "ei", "Final simple regret")


@table("CpairOR", "Case C: final regret against OR-LCB 1×", case="c")
def table_cpair_or(source: Source) -> Table:
    """Table CpairOR: final regret against OR-LCB."""
    return pairs_table(source, "final_regret", "k1", "Final simple regret")


@table("CaucEI", "Case C: mean regret against EI", case="c")
def table_cauc_ei(source: Source) -> Table:
    """Table CaucEI: mean regret over the trajectory against EI."""
    return pairs_table(source, "auc", "ei", "Mean regret over the trajectory (AUC)")

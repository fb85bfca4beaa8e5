"""Tables of the two-by-two ablation of Case B: which of two defects makes bands wide, and which makes them invalid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.statistics.counts import mcnemar
from orledger.audit.statistics.signedrank import signed_rank
from orledger.paper import symbols as sym
from orledger.paper.names import HEADS
from orledger.paper.prose import prose
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, Layout, Row, Span, Table
from orledger.reports.tables.values import Absent, Blank, Count, Number, Text, Value, join

if TYPE_CHECKING:
    from orledger.reports.source import Source

KEYS = ["dataset", "seed", "rel"]
VARIANTS = {arm: tuple(label.split(", ")) for arm, label in HEADS.items()}  # flat columns, delivery
SCALES = {"width_median": "median", "width_mean": "mean", "width_max": "largest", "interval_score": "interval score"}
LEAK = 0.999  # null-space share above which a test functional lies outside the span of the features
METRICS = [*SCALES, "coverage", "blow_up", "ns_max", "nullity", "misfit_ratio"]
EMPTY = "the variant refused in every cell"


def ablation(source: Source) -> pl.DataFrame:
    """One row per cell and variant; a variant that refused has no widths."""
    frame = source.wide("b", "ablation", list(VARIANTS), METRICS, KEYS)
    return source.need(frame, "finished cells of b/ablation")


@table("Babl", "Case B: the two-by-two ablation", case="b")
def table_babl(source: Source) -> Table:
    """Table Babl: refusals, widths and leakage of the four variants."""
    frame = ablation(source)
    cells_total = frame["cell_id"].n_unique()
    rows = []
    refused: dict[str, set[str]] = {}
    for arm, (columns_rule, delivery) in VARIANTS.items():
        mine = frame.filter(pl.col("arm") == arm)
        done = mine.drop_nulls("width_median")
        refused[arm] = set(frame["cell_id"].unique()) - set(done["cell_id"])
        leak = s.values(mine, "ns_max")
        widths = [
            s.median(s.values(done, m), rules.significant(3), EMPTY)
            for m in ("width_median", "width_mean", "width_max")
        ]
        blow: Value = s.mean(s.values(done, "blow_up"), rules.fixed(2), EMPTY)
        leaking: Value = Count(int((leak > LEAK).sum()), leak.size) if leak.size else Absent("not recorded")
        score = s.median(s.values(done, "interval_score"), rules.significant(3), EMPTY)
        rows.append(
            Row(
                arm,
                (
                    Text(columns_rule),
                    Text(delivery),
                    Count(len(refused[arm]), cells_total),
                    *widths,
                    blow,
                    leaking,
                    score,
                ),
            )
        )
    quotes: dict[str, Value] = {}
    for rule in ("clamp", "drop"):
        only_all, only_fit = (
            refused[f"{rule}_all"] - refused[f"{rule}_fit"],
            refused[f"{rule}_fit"] - refused[f"{rule}_all"],
        )
        result = mcnemar(len(only_all), len(only_fit))
        quotes[f"{rule} refusals all rows only"] = Count(len(only_all), cells_total)
        quotes[f"{rule} refusals McNemar p"] = s.p_cell(result)
    caption = prose(
        """Two-by-two ablation on {{ cells }} shift cells, four heads on one trained network per cell: feature columns without spread
        clamped or dropped, the head delivered from all training rows or from the fit rows only. A refused head has no width: refusals
        are counted, and the medians over cells of the tight half-width (median, mean, largest within a cell) stand on the delivered
        ones. Blow-up: fraction of delivered cells whose mean half-width exceeds 20. Leak: cells with a test functional outside the
        span of the features ({{ sym.ns_max }} above {{ leak }}). Score: median over delivered cells of the interval score at
        95 per cent, lower is better. Delivering from all rows refuses where the fit rows do not in
        {{ clamp }} cells (clamped) and {{ drop }} cells (dropped); exact McNemar p {{ p_clamp }} and {{ p_drop }}.""",
        cells=cells_total, leak=Number(LEAK, rules.fixed(3)), clamp=quotes["clamp refusals all rows only"], drop=quotes["drop refusals all rows only"],
        p_clamp=quotes["clamp refusals McNemar p"], p_drop=quotes["drop refusals McNemar p"],
    )  # fmt: skip
    columns = (
        Column("columns", Text("flat columns"), "l"), Column("delivery", Text("delivery"), "l"), Column("refused", Text("refused"), "r"),
        Column("median", join("median ", sym.W), "r"), Column("mean", join("mean ", sym.W), "r"), Column("largest", join("largest ", sym.W), "r"),
        Column("blow up", Text("blow-up"), "r"), Column("leak", Text("leak"), "r"), Column("score", Text("score"), "r"),
    )  # fmt: skip
    spans = (Span(3, 3, Text("medians over delivered cells")),)
    return Table(
        "Babl",
        "Case B: the two-by-two ablation",
        caption,
        columns,
        (Group(tuple(rows)),),
        spans,
        quotes=quotes,
        layout=Layout("footnotesize", 4.0),
    )


EFFECTS = {
    "columns, fit rows": ("clamp_fit", "drop_fit"),
    "columns, all rows": ("clamp_all", "drop_all"),
    "delivery, dropped": ("drop_all", "drop_fit"),
    "delivery, clamped": ("clamp_all", "clamp_fit"),
    "interaction": ("clamp_all", "clamp_fit", "drop_all", "drop_fit"),
}


@table("Battr", "Case B: attribution of the width defect", case="b")
def table_battr(source: Source) -> Table:
    """Table Battr: paired ratios of the widths between variants, with interval, exact p and floor."""
    frame = ablation(source)
    groups = []
    quotes: dict[str, Value] = {}
    for scale, label in SCALES.items():
        logs = (
            frame.filter(pl.col(scale) > 0)
            .with_columns(pl.col(scale).log10().alias("dex"))
            .pivot("arm", index=["cell_id"], values="dex")
        )
        rows = []
        for i, (effect, terms) in enumerate(EFFECTS.items()):
            head: Value = (
                join("" if scale == "interval_score" else sym.W, f"{'' if scale == 'interval_score' else ', '}{label}")
                if i == 0
                else Blank()
            )
            key = f"{scale} {effect}"
            complete = logs.drop_nulls(list(terms)) if set(terms) <= set(logs.columns) else logs.clear()
            if complete.is_empty():
                nothing = Absent("no cell in which all variants of the comparison delivered")
                rows.append(
                    Row(key, (head, Text(effect), nothing, nothing, nothing, Number(0, rules.INTEGER), nothing))
                )
                continue
            x = [complete[arm].to_numpy() for arm in terms]
            # pairs first: two equal ratios then differ by exactly zero, and count as a tie
            result = signed_rank(x[0] - x[1] if len(x) == 2 else (x[0] - x[1]) - (x[2] - x[3]))
            ratio = Number(10 ** s.known(result.effect), rules.ratio(3))
            interval = s.interval_cell(result, rules.ratio(3), lambda dex: 10**dex)
            quotes |= {f"{key} ratio": ratio, f"{key} p": s.p_cell(result)}
            rows.append(
                Row(
                    key,
                    (
                        head,
                        Text(effect),
                        ratio,
                        interval,
                        s.p_cell(result),
                        Number(result.n, rules.INTEGER),
                        s.number(result.floor, rules.P_VALUE),
                    ),
                )
            )
        groups.append(Group(tuple(rows)))
    caption = prose(
        """Which defect does what: paired ratios between variants over the cells in which both delivered. The ratio is ten to the median
        difference of {{ sym.log10 }}, with the 95 per cent interval of the median from order statistics, the exact signed-rank p, the
        number of pairs and the smallest p they can give. Columns: clamped over dropped; delivery: all rows over fit rows; interaction:
        the ratio of the two delivery ratios. A ratio that three digits would show as 1 is printed with its deviation from one: where that is
        of the size of rounding, a small p says that its sign is regular and not that the effect matters. Cells that share a split are not independent: these p-values are optimistic.""",
    )  # fmt: skip
    columns = (
        Column("scale", Text("scale"), "l"), Column("effect", Text("effect"), "l"), Column("ratio", Text("ratio"), "r"),
        Column("interval", Text("95% interval"), "l"), Column("p", sym.P, "r"), Column("n", sym.N, "r"), Column("floor", Text("floor"), "r"),
    )  # fmt: skip
    return Table(
        "Battr",
        "Case B: attribution of the width defect",
        caption,
        columns,
        tuple(groups),
        quotes=quotes,
        layout=Layout("footnotesize", 3.5),
    )

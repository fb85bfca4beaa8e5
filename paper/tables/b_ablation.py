"""Tables of the two-by-two ablation of Case B: which of two defects makes bands wide, and which makes them invalid."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.names import HEADS
from orledger.paper.prose import prose
from orledger.reports.origin import answered
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, Row, Span, Table
from orledger.reports.tables.values import Blank, Count, Number, Text, Value, join
from orledger.schema.layouts import literal
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.origin import Origin
    from orledger.reports.source import Source

KEYS = ["dataset", "seed", "rel"]
VARIANTS = {arm: tuple(label.split(", ")) for arm, label in HEADS.items()}  # flat columns, delivery
SCALES = {"width_median": "median", "width_mean": "mean", "width_max": "largest", "interval_score": "interval score"}
LEAK = 0.999  # null-space share above which a test functional lies outside the span of the features
METRICS = [*SCALES, "coverage", "blow_up", "ns_max", "nullity", "misfit_ratio"]
REFUSALS = {"clamp": "H5/delivery-refusals-clamp", "drop": "H5/delivery-refusals"}


def ablation(source: Source) -> pl.DataFrame:
    """One row per cell and variant; a variant that refused has no widths."""
    frame = source.rows(Selection("b", "ablation", list(VARIANTS), METRICS, KEYS))
    return source.need(frame, "finished cells of b/ablation")


def delivered(arm: str) -> Origin:
    """What is counted as delivered or refused: every finished cell with the width of the variant, if there is one."""
    return answered(
        "SELECT c.cell_id, c.cell, c.dataset, c.seed, c.rel, v.width_median, v.refused\nFROM b_ablation_cells c\n"
        f"LEFT JOIN b_ablation v ON v.cell_id = c.cell_id AND v.arm = {literal(arm)} AND v.label IS NULL\n"
        "WHERE c.state = 'done'\nORDER BY c.dataset, c.seed, c.rel, c.cell_id"
    )


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
        why = partial(source.why, "b", "ablation", arm)
        widths = [
            s.median(s.values(done, m), rules.significant(3), why(m))
            for m in ("width_median", "width_mean", "width_max")
        ]
        blow: Value = s.mean(s.values(done, "blow_up"), rules.fixed(2), why("blow_up"))
        leaking: Value = Count(int((leak > LEAK).sum()), leak.size).of(leak) if leak.size else s.absent(why("ns_max"))
        score = s.median(s.values(done, "interval_score"), rules.significant(3), why("interval_score"))
        declined = replace(Count(len(refused[arm]), cells_total), origin=delivered(arm))
        rows.append(Row(arm, (Text(columns_rule), Text(delivery), declined, *widths, blow, leaking, score)))
    quotes: dict[str, Value] = {}
    tested = {rule: source.test(address) for rule, address in REFUSALS.items()}
    for rule, row in tested.items():
        only_all = refused[f"{rule}_all"] - refused[f"{rule}_fit"]
        quotes[f"{rule} refusals all rows only"] = Count(len(only_all), cells_total)
        quotes[f"{rule} refusals McNemar p"] = s.p_cell(row)
        quotes[f"{rule} refusals units"] = s.n_cell(row)
    caption = prose(
        """Two-by-two ablation on {{ cells }} shift cells, four heads on one trained network per cell: feature columns without spread
        clamped or dropped, the head delivered from all training rows or from the fit rows only. A refused head has no width: refusals
        are counted, and the medians over cells of the tight half-width (median, mean, largest within a cell) stand on the delivered
        ones. Blow-up: fraction of delivered cells whose mean half-width exceeds 20. Leak: cells with a test functional outside the
        span of the features ({{ sym.ns_max }} above {{ leak }}). Score: median over delivered cells of the interval score at
        95%, lower is better. Delivering from all rows refuses where the fit rows do not in
        {{ clamp }} cells (clamped) and {{ drop }} cells (dropped). Cells of one split are not independent; over the
        {{ n_clamp }} units ({{ unit }}) McNemar's exact p is {{ p_clamp }} and {{ p_drop }}.""",
        cells=cells_total, leak=Number(LEAK, rules.fixed(3)), clamp=quotes["clamp refusals all rows only"], drop=quotes["drop refusals all rows only"],
        p_clamp=quotes["clamp refusals McNemar p"], p_drop=quotes["drop refusals McNemar p"],
        n_clamp=quotes["clamp refusals units"], unit=s.unit_words(tested.values()),
    )  # fmt: skip
    columns = (
        Column("columns", Text("flat columns"), "l"), Column("delivery", Text("delivery"), "l"), Column("refused", Text("refused"), "r"),
        Column("median", join("median ", sym.W), "r"), Column("mean", join("mean ", sym.W), "r"), Column("largest", join("largest ", sym.W), "r"),
        Column("blow up", Text("blow-up"), "r"), Column("leak", Text("leak"), "r"), Column("score", Text("score"), "r"),
    )  # fmt: skip
    spans = (Span(3, 3, Text("medians over delivered cells")),)
    return Table(caption, columns, (Group(tuple(rows)),), spans, quotes=quotes)


# Which rows of the audit compare what; {} is the scale as the hypothesis files call it.
EFFECTS = {
    "columns, fit rows": "H5/clamp-{}",
    "columns, all rows": "CaseB/clamp-{}-all",
    "delivery, dropped": "CaseB/delivery-{}",
    "delivery, clamped": "CaseB/delivery-{}-clamp",
    "interaction": "CaseB/interaction-{}",
}
SHORT = {"width_median": "median", "width_mean": "mean", "width_max": "max", "interval_score": "score"}
REGISTERED = {"CaseB/clamp-mean-all", "CaseB/delivery-mean", "CaseB/delivery-median"}  # H5 asks these itself


def attribution(source: Source, scale: str, effect: str) -> s.Cited:
    """The audit's row of one effect on one scale."""
    address = EFFECTS[effect].format(SHORT[scale])
    return source.test(address.replace("CaseB", "H5") if address in REGISTERED else address)


@table("Battr", "Case B: attribution of the width defect", case="b")
def table_battr(source: Source) -> Table:
    """Table Battr: paired ratios of the widths between variants, with interval, exact p and floor."""
    ablation(source)
    groups = []
    quotes: dict[str, Value] = {}
    for scale, label in SCALES.items():
        rows = []
        for i, effect in enumerate(EFFECTS):
            named = join(label) if scale == "interval_score" else join(sym.W, f", {label}")
            head: Value = Blank() if i else named
            key = f"{scale} {effect}"
            row = attribution(source, scale, effect)
            ratio = s.effect_cell(row, rules.ratio(3), lambda dex: 10**dex)
            interval = s.interval_cell(row, rules.ratio(3), lambda dex: 10**dex)
            quotes |= {f"{key} ratio": ratio, f"{key} p": s.p_cell(row)}
            rows.append(
                Row(key, (head, Text(effect), ratio, interval, s.p_cell(row), s.n_cell(row), s.floor_cell(row)))
            )
        groups.append(Group(tuple(rows)))
    cited = source.cited.tests()
    caption = prose(
        """Which defect does what: paired ratios between variants where both delivered. Cells of one split are not independent: their
        differences of {{ sym.log10 }} are averaged first, and {{ sym.n }} counts independent units ({{ unit }}). The ratio is ten to the
        {{ effect }} with its 95% interval ({{ interval }}), followed by the exact signed-rank p and the smallest p that
        the units can give. Columns: clamped over dropped; delivery: all rows over fit rows; interaction:
        the ratio of the two delivery ratios. A ratio that three digits would show as 1 is printed with its deviation from one: where that is
        of the size of rounding, a small p says that its sign is regular and not that the effect matters.""",
        unit=s.unit_words(cited), effect=s.effect_words(cited), interval=s.interval_words(cited),
    )  # fmt: skip
    columns = (
        Column("scale", Text("scale"), "l"), Column("effect", Text("effect"), "l"), Column("ratio", Text("ratio"), "r"),
        Column("interval", Text("95% interval"), "l"), Column("p", sym.P, "r"), Column("n", sym.N, "r"), Column("floor", Text("floor"), "r"),
    )  # fmt: skip
    return Table(caption, columns, tuple(groups), quotes=quotes)

"""Tables of the one-dimensional gap task of Case B: every arm by region, and which single-seed values survive many seeds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper.names import BANDS, REGIONS, SCALES
from orledger.paper.prose import prose
from orledger.reports.origin import Answer, Given, Origin, Part
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, PrintSize, Row, Table
from orledger.reports.tables.values import Absent, Number, Range, Text, Value, best
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.source import Source

KEYS = ["seed", "scale"]
ARMS = {arm: BANDS[arm] for arm in ("dak", "cp", "ncp", "triv", "or1", "or1_int")}
METRICS = ["coverage", "width_mean", "interval_score"]
# Rows of the audit: interval score of the OR head against split-CP, by scale mode and region.
AGAINST_CP = {
    ("frozen", "gap"): "H5/gap-score-gap/cp",
    ("frozen", "ind"): "H5/gap-score-ind/cp",
    ("frozen", "ext"): "H5/gap-score-ext/cp",
    ("train", "gap"): "CaseB/gap-train-score-gap",
    ("train", "ind"): "H5/gap-train-score-ind/cp",
    ("train", "ext"): "CaseB/gap-train-score-ext",
    **{("mixed", region): f"CaseB/gap-mixed-score-{region}" for region in REGIONS},
}


def regions(source: Source) -> pl.DataFrame:
    """One row per seed, scale mode, arm and region (in ``label``)."""
    frame = source.rows(Selection("b", "gap", list(ARMS), METRICS, KEYS))
    return source.need(frame.filter(pl.col("label").is_in(list(REGIONS))), "finished cells of b/gap")


@table("Bgap", "Case B: the gap task", case="b")
def table_bgap(source: Source) -> Table:
    """Table Bgap: coverage, width and score of six arms in three regions, for each way of scaling the features."""
    frame = regions(source)
    groups = []
    quotes: dict[str, Value] = {}
    for scale, scale_words in SCALES.items():
        for region, words in REGIONS.items():
            part = frame.filter((pl.col("scale") == scale) & (pl.col("label") == region))
            if part.is_empty():
                continue
            rows, scores, medians = [], [], []
            for arm, label in ARMS.items():
                mine = part.filter(pl.col("arm") == arm)
                score = s.values(mine, "interval_score")
                why = partial(source.why, "b", "gap", arm, label=region, keys={"scale": scale})
                cells = (
                    Text(label),
                    s.median_iqr(s.values(mine, "coverage"), rules.fixed(3), why("coverage")),
                    s.wins_cell(source.test(f"CaseB/gap-reached/{scale}/{region}/{arm}")),
                    s.median_iqr(s.values(mine, "width_mean"), rules.fixed(3), why("width_mean")),
                )
                rows.append((f"{scale} {region} {arm}", cells))
                scores.append(s.median_iqr(score, rules.significant(3), why("interval_score")))
                medians.append(float(np.median(score)) if score.size else None)
            strong = best(scores, medians)
            heading = prose(
                "{{ region }}, {{ scale }}, {{ n }} seeds", region=words, scale=scale_words, n=part["seed"].n_unique()
            )
            groups.append(
                Group(tuple(Row(key, (*cells, top)) for (key, cells), top in zip(rows, strong, strict=True)), heading)
            )
            tested = source.test(AGAINST_CP[scale, region])
            quotes[f"{scale} {region} OR score wins over split-CP"] = s.wins_cell(tested)
            quotes[f"{scale} {region} OR score p against split-CP"] = s.p_cell(tested)
    asked = next((t.title.partition(", scale ")[0] for t in source.cited.tests() if "gap-reached" in t.comparison), "")
    caption = prose(
        """The gap task, median [quartiles] over seeds. Feature scales: frozen on the fit rows; recomputed on every evaluated batch, as
        released; frozen for the OR head alone. Coverage, width and score (95%) refer to the noiseless truth.{% if asked %}
        Reached: {{ asked }}.{% endif %} Bold: lowest median score.""",
        asked=asked[:1].lower() + asked[1:],
    )  # fmt: skip
    columns = (
        Column("arm", Text("arm"), "l"), Column("coverage", Text("coverage"), "r"), Column("reached", Text("reached"), "r"),
        Column("width", Text("mean half-width"), "r"), Column("score", Text("interval score"), "r"),
    )  # fmt: skip
    return Table(caption, columns, tuple(groups), quotes=quotes, layout=PrintSize("scriptsize"))


QUANTITIES = {
    f"{arm} {word}": (f"{BANDS[arm]}, {word}", arm, metric)
    for word, metric, arms in (
        ("coverage", "coverage", ("cp", "ncp", "dak", "or1")),
        ("width", "width_mean", ("cp", "or1")),
    )
    for arm in arms
}
PUBLISHED = """
SELECT row_name, printed, value
FROM published
WHERE table_name = 'Bgapsurv' AND column_name = 'single' AND value IS NOT NULL
ORDER BY row_name"""


@table("Bgapsurv", "Case B: single-seed values against many seeds", case="b")
def table_bgapsurv(source: Source) -> Table:
    """Table Bgapsurv: single-seed values printed in the paper against the distribution over our seeds."""
    frame = regions(source)
    printed = single_seed(source)
    groups = []
    for scale, scale_words in SCALES.items():
        part = frame.filter(pl.col("scale") == scale)
        rows = []
        for quantity, (label, arm, metric) in QUANTITIES.items():
            for region in REGIONS:
                x = s.values(part.filter((pl.col("arm") == arm) & (pl.col("label") == region)), metric)
                if not x.size:
                    continue
                single: Value = printed.get(
                    f"{quantity} {region}", Absent(f"not among the printed numbers: {quantity} {region}")
                )
                if isinstance(single, Number) and not x.min() <= single.value <= x.max():
                    single = single.strong()
                extremes = Range(float(x.min()), float(x.max()), rules.fixed(3), dash=True, what=("min", "max"))
                cells = (
                    Text(label),
                    Text(REGIONS[region]),
                    single,
                    s.median_iqr(x, rules.fixed(3), source.why("b", "gap", arm, metric, region, keys={"scale": scale})),
                    extremes.of(x),
                )
                rows.append(Row(f"{scale} {quantity} {region}", cells))
        if rows:
            heading = prose("{{ scale }}, {{ n }} seeds", scale=scale_words, n=part["seed"].n_unique())
            groups.append(Group(tuple(rows), heading))
    caption = prose(
        """Which single-seed values survive more seeds: the value printed in the paper for one seed of an earlier corpus, and the
        distribution of the same quantity over our seeds, in every scale mode. Bold: outside our range. The two corpora are different
        runs of different implementations, so a value inside the range is compatible with them and no more.""",
    )  # fmt: skip
    columns = (
        Column("quantity", Text("quantity"), "l"), Column("region", Text("region"), "l"), Column("single", Text("single seed"), "r"),
        Column("many", Text("median [quartiles]"), "r"), Column("range", Text("range"), "r"),
    )  # fmt: skip
    return Table(caption, columns, tuple(groups), layout=PrintSize("scriptsize"))


def single_seed(source: Source) -> dict[str, Number]:
    """The printed single-seed values by row name (``cp coverage gap``), with the decimals they are printed with.

    They come from the table ``published``; where nothing has filled it, from the transcription that ships with the audit.
    """
    frame = source.rows(PUBLISHED)
    origin: Part = Answer(PUBLISHED.strip())
    if frame.is_empty():
        from orledger.audit.recheck.frames import load_published
        from orledger.paper.published import publication

        chosen = (
            (pl.col("table_name") == "Bgapsurv") & (pl.col("column_name") == "single") & pl.col("value").is_not_null()
        )
        frame = load_published(publication()).filter(chosen).select("row_name", "printed", "value")
        origin = Given("printed in the paper, taken over from the transcription that ships with the audit")
    return {
        row: Number(value, rules.fixed(len(printed.partition(".")[2])), origin=Origin((origin,)))
        for row, printed, value in frame.iter_rows()
    }

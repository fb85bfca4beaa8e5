"""Tables of Case B about the arms: pooled over cells, and dataset by dataset under shift."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.names import BANDS, REGIMES
from orledger.paper.prose import prose
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, Row, Span, Table
from orledger.reports.tables.values import Blank, Number, Text, Value, best, bracketed
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.source import Source

KEYS = ["dataset", "regime", "seed", "rel"]
OPTIONAL = ("wcp", "cp_centre")  # arms of the open questions: shown when recorded


def arms_frame(source: Source, metrics: list[str], regimes: tuple[str, ...]) -> pl.DataFrame:
    """Scores of all arms, one row per cell and arm."""
    frame = source.rows(Selection("b", "main", list(BANDS), metrics, KEYS, where={"regime": regimes}))
    return frame.filter(pl.col("label").is_null()).drop_nulls("coverage") if not frame.is_empty() else frame


SHIFT_ARMS = {arm: BANDS[arm] for arm in ("cp", "triv", "or1", "or1_nf")}


@table("Bshift", "Case B: covariate shift by dataset", case="b")
def table_bshift(source: Source) -> Table:
    """Table Bshift: four arms per dataset under covariate shift, beside what the audit said before training."""
    frame = arms_frame(source, ["coverage", "width_median", "interval_score"], ("shift",))
    source.need(frame, "finished shift cells of b/main")
    facts = source.rows(Selection("b", "main", ["cell"], ["r2", "severity"], KEYS, where={"regime": ("shift",)}))
    r2 = dict(facts.drop_nulls("r2").group_by("dataset").agg(pl.col("r2").median()).iter_rows())
    severity = dict(
        facts.filter(pl.col("label") == "centroid").group_by("dataset").agg(pl.col("severity").median()).iter_rows()
    )
    rows = []
    order = sorted(frame["dataset"].unique().to_list(), key=lambda d: (r2.get(d) is None, r2.get(d), d))
    for dataset in order:
        part, known = (f.filter(pl.col("dataset") == dataset) for f in (frame, facts))
        cells: list[Value] = []
        scores: list[Value] = []
        means: list[float | None] = []
        for arm in SHIFT_ARMS:
            mine = part.filter(pl.col("arm") == arm)
            x = {m: s.values(mine, m) for m in ("coverage", "width_median", "interval_score")}
            why = partial(source.why, "b", "main", arm, keys={"regime": "shift", "dataset": dataset})
            cells += [
                s.mean(x["coverage"], rules.fixed(3), why("coverage")),
                s.mean(x["width_median"], rules.fixed(2), why("width_median")),
                Blank(),  # the score, once the best is known
            ]
            scores.append(s.mean(x["interval_score"], rules.significant(3), why("interval_score")))
            means.append(float(x["interval_score"].mean()) if x["interval_score"].size else None)
        cells[2::3] = best(scores, means)
        n, n_or = part["cell_id"].n_unique(), part.filter(pl.col("arm") == "or1").height
        n_cell: Value = (
            Number(n, rules.INTEGER)
            if n == n_or
            else bracketed(Number(n, rules.INTEGER), Number(n_or, rules.INTEGER), "OR")
        ).of_records(part, "coverage")
        facts_why = partial(source.why, "b", "main", "cell", keys={"regime": "shift", "dataset": dataset})
        head = (
            Text(str(dataset), mono=True),
            s.number(r2.get(dataset), rules.fixed(3), facts_why("r2")).of_records(known, "r2"),
            s.number(severity.get(dataset), rules.fixed(2), facts_why("severity", "centroid")).of_records(
                known.filter(pl.col("label") == "centroid"), "severity"
            ),
            n_cell,
        )
        rows.append(Row(str(dataset), (*head, *cells)))
    caption = prose(
        """Case B under covariate shift, dataset by dataset, ordered by the audit score {{ sym.r2 }} (random forest, folds in file order,
        before any training). {{ sym.d_m }}: median Mahalanobis distance between the centroids of test and training rows. All entries are means over
        the {{ sym.n }} shift cells of a dataset (in brackets: cells in which the OR arms delivered); width is the median half-width
        within a cell, IS the interval score at 95%, lower is better. Bold: lowest score of the four. The OR head covers
        more than split-CP on {{ higher }} of {{ total }} datasets.""",
        higher=s.value_cell(source.claim("H5/beats-cp-coverage"), rules.INTEGER), total=len(order),
    )  # fmt: skip
    columns = [
        Column("dataset", Text("dataset"), "l"),
        Column("R2", sym.R2, "r"),
        Column("severity", sym.D_M, "r"),
        Column("n", sym.N, "r"),
    ]
    columns += [
        Column(f"{arm} {m}", Text(h), "r")
        for arm in SHIFT_ARMS
        for m, h in (("coverage", "cov"), ("width", "wid"), ("score", "IS"))
    ]
    spans = tuple(Span(4 + 3 * i, 3, Text(label)) for i, label in enumerate(SHIFT_ARMS.values()))
    return Table(caption, tuple(columns), (Group(tuple(rows)),), spans, layout=TIGHT)


@table("Barms", "Case B: all arms", case="b")
def table_barms(source: Source) -> Table:
    """Table Barms: all arms, pooled over the cells of a regime."""
    metrics = ["coverage", "width_median", "interval_score", "penalty_share"]
    regimes = ("iid", "shift", "wide")
    frame = source.need(arms_frame(source, metrics, regimes), "finished cells of b/main")
    groups = []
    quotes: dict[str, Value] = {}
    for regime in regimes:
        part = frame.filter(pl.col("regime") == regime)
        if part.is_empty():
            continue
        rows, scores = [], []
        for arm, label in BANDS.items():
            mine = part.filter(pl.col("arm") == arm)
            if mine.is_empty() and arm in OPTIONAL:
                continue
            score = s.values(mine, "interval_score")
            why = partial(source.why, "b", "main", arm, keys={"regime": regime})
            cells = (
                Text(label), Number(mine.height, rules.INTEGER).of_records(mine, "coverage"), s.mean(s.values(mine, "coverage"), rules.fixed(3), why("coverage")),
                s.median_iqr(s.values(mine, "width_median"), rules.fixed(2), why("width_median")), s.median_iqr(score, rules.fixed(2), why("interval_score")),
                s.median(s.values(mine, "penalty_share"), rules.fixed(3), why("penalty_share")),
            )  # fmt: skip
            rows.append((f"{regime} {arm}", cells))
            scores.append(float(np.median(score)) if score.size else None)
            quotes |= {f"{regime} {arm} coverage": cells[2], f"{regime} {arm} score": cells[4]}
        strong = best([cells[4] for _, cells in rows], scores)
        cells_n = part["cell_id"].n_unique()
        splits = part.select("dataset", "seed").unique().height
        heading = prose(
            "{{ regime }}: {{ cells }} cells on {{ splits }} distinct splits",
            regime=REGIMES[regime],
            cells=cells_n,
            splits=splits,
        )
        groups.append(
            Group(
                tuple(Row(key, (*cells[:4], top, cells[5])) for (key, cells), top in zip(rows, strong, strict=True)),
                heading,
            )
        )
    caption = prose(
        """All arms of Case B. Coverage: mean over cells. Width and interval score (95%; lower is better): median
        [quartiles] over cells, the width being the median half-width within a cell; its mean, where the tail lives, is in {{ table('Btail') }}. DAK is the network as
        released, whose loss drops the KL term; the OR head adds a conformal floor and a noise allowance to the OR interval. Penalty share: median over cells of the part of the score that comes from misses. {{ sym.n }}: cells in which the arm
        delivered. Bold: lowest median score. Targets are standardised. Cells that differ only in label noise share a split, so the
        number of independent units is the number of splits.""",
    )  # fmt: skip
    columns = (
        Column("arm", Text("arm"), "l"), Column("n", sym.N, "r"), Column("coverage", Text("coverage")), Column("width", Text("median half-width")),
        Column("score", Text("interval score")), Column("penalty", Text("penalty share")),
    )  # fmt: skip
    return Table(caption, columns, tuple(groups), quotes=quotes)

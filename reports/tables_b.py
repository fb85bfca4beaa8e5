"""Tables of Case B: the dataset audit, the conformal levels, the arms pooled and by dataset under shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.reports import format as rules
from orledger.reports import summaries as s
from orledger.reports import symbols as sym
from orledger.reports.prose import prose
from orledger.reports.table import Column, Group, Layout, Row, Span, Table
from orledger.reports.values import Absent, Number, Text, Value, best, join

if TYPE_CHECKING:
    from orledger.reports.source import Source

KEYS = ["dataset", "regime", "seed", "rel"]
ARMS = {
    "dak": "DAK, KL dropped", "dak_kl": "DAK, KL repaired", "cp": "split-CP", "ncp": "normalized split-CP",
    "triv": "constant band (triv)", "or1": "OR head (R1)", "or1_nf": "\u00a0\u00a0without floor", "or1_int": "\u00a0\u00a0pure interval",
    "or2": "water-filling (R2)", "or2_oracle": "\u00a0\u00a0oracle noise hint", "wcp": "weighted split-CP", "cp_centre": "split-CP, shifted centre",
}  # fmt: skip
OPTIONAL = ("wcp", "cp_centre")  # arms of the open questions: shown when recorded
REGIMES = {
    "iid": "i.i.d.",
    "shift": "covariate shift along a random direction",
    "shiftcol": "shift along one coordinate",
    "wide": "shift that widens the target",
}
REFUSED = "the arm refused or was not run in every cell of this group"


def table_baudit(source: Source) -> Table:
    """Table Baudit: what was learned about each dataset before any training."""
    frame = source.wide("b", "audit", ["rf"], ["r2", "n", "d", "distinct", "passed"], ["dataset"])
    source.need(frame, "finished cells of b/audit")
    origins = source.rows(
        "SELECT c.keys['dataset'] AS dataset, d.origin, d.target\nFROM dataset d JOIN cell c USING (cell_id)\n"
        "WHERE c.case_name = 'b' AND c.block = 'audit'\nORDER BY ALL"
    )
    rows = []
    for (name,), part in frame.group_by(["dataset"], maintain_order=True):
        plain = part.filter(pl.col("label").is_null())
        r2 = {row["label"]: row["r2"] for row in part.drop_nulls("r2").iter_rows(named=True)}
        origin = origins.filter(pl.col("dataset") == name)
        where: list[Value] = [
            Text(str(origin[c][0]), mono=c == "target") if origin.height else Absent("no table was recorded")
            for c in ("origin", "target")
        ]
        numbers = [
            s.number(plain[c].max(), rules.INTEGER) if plain.height else Absent("not recorded")
            for c in ("n", "d", "distinct")
        ]
        passed = plain["passed"].max() if plain.height else None
        verdict: Value = Absent("not recorded") if passed is None else Text("passes" if passed else "refused")
        shuffled, in_order = (
            s.number(r2.get(k), rules.fixed(4), "this fold order was not computed") for k in ("shuffled", "file_order")
        )
        rows.append(
            Row(str(name), (Text(str(name), mono=True), *numbers[:2], *where, numbers[2], in_order, shuffled, verdict))
        )
    caption = prose(
        """Datasets of Case B as audited before any training. {{ sym.r2 }}: mean over five folds of a random forest's cross-validated
        score, once with folds in file order (the convention of the paper) and once shuffled; the two differ where the order of the
        rows carries information. A target with few levels, fewer than fifty distinct values, values that are not finite, or a score
        at or below 0.05 is refused.""",
    )  # fmt: skip
    columns = (
        Column("dataset", Text("dataset"), "l"), Column("rows", Text("rows"), "r"), Column("features", Text("feat."), "r"),
        Column("origin", Text("origin"), 1.0), Column("target", Text("target"), 1.04), Column("distinct", Text("distinct"), "r"),
        Column("R2 file order", join(sym.R2, " in order"), "r"), Column("R2 shuffled", join(sym.R2, " shuffled"), "r"), Column("verdict", Text("audit"), "l"),
    )  # fmt: skip
    return Table(
        "Baudit",
        "Case B: datasets and their audit",
        caption,
        columns,
        (Group(tuple(rows)),),
        layout=Layout("scriptsize", 3.0),
    )


def table_blevels(source: Source) -> Table:
    """Table Blevels: sizes of the splits and the two conformal levels, one row per dataset and regime."""
    frame = source.wide("b", "main", ["cell"], ["n_train", "n_test", "n_cal", "k"], KEYS).drop_nulls("n_cal")
    source.need(frame, "finished cells of b/main")
    rows = []
    for (dataset, regime, n_tr, n_te, n_c, k), _ in frame.group_by(
        ["dataset", "regime", "n_train", "n_test", "n_cal", "k"], maintain_order=True
    ):
        n_c, k = int(n_c), int(k)
        fractions = [join(f"{top}/{n_c + 1} = ", Number(top / (n_c + 1), rules.fixed(4))) for top in (n_c, k + 1)]
        sizes = [Number(v, rules.INTEGER) for v in (n_tr, n_te, n_c)]
        rows.append(
            Row(
                f"{dataset} {regime} {n_c}",
                (
                    Text(str(dataset), mono=True),
                    Text(str(regime)),
                    *sizes,
                    fractions[0],
                    Number(k, rules.INTEGER),
                    fractions[1],
                ),
            )
        )
    caption = prose(
        """Conformal calibration of Case B from the splits that were used: training, test and calibration rows, the level
        {{ sym.level }} that a maximum would reach, and the level {{ sym.achieved }} of the order statistic that is taken, {{ sym.k }}
        counted from zero. The two differ by convention.""",
    )  # fmt: skip
    columns = (
        Column("dataset", Text("dataset"), "l"), Column("regime", Text("regime"), "l"), Column("n train", sym.N_TR, "r"), Column("n test", sym.N_TE, "r"),
        Column("n cal", sym.N_C, "r"), Column("level", join("level ", sym.LEVEL)), Column("k", sym.K, "r"), Column("achieved", join("achieved ", sym.ACHIEVED)),
    )  # fmt: skip
    return Table(
        "Blevels",
        "Case B: conformal levels",
        caption,
        columns,
        (Group(tuple(rows)),),
        layout=Layout("footnotesize", 3.5),
    )


def arms_frame(source: Source, metrics: list[str], regimes: tuple[str, ...]) -> pl.DataFrame:
    """Scores of all arms, one row per cell and arm."""
    frame = source.wide("b", "main", list(ARMS), metrics, KEYS, where={"regime": regimes})
    return frame.filter(pl.col("label").is_null()).drop_nulls("coverage") if not frame.is_empty() else frame


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
        for arm, label in ARMS.items():
            mine = part.filter(pl.col("arm") == arm)
            if mine.is_empty() and arm in OPTIONAL:
                continue
            score = s.values(mine, "interval_score")
            cells = (
                Text(label), Number(mine.height, rules.INTEGER), s.mean(s.values(mine, "coverage"), rules.fixed(3), REFUSED),
                s.median_iqr(s.values(mine, "width_median"), rules.fixed(2), REFUSED), s.median_iqr(score, rules.fixed(2), REFUSED),
                s.median(s.values(mine, "penalty_share"), rules.fixed(3), REFUSED),
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
        """All arms of Case B. Coverage: mean over cells. Width and interval score (95 per cent; lower is better): median
        [quartiles] over cells, the width being the median half-width within a cell; its mean, where the tail lives, is in Table
        Btail. Penalty share: median over cells of the part of the score that comes from misses. {{ sym.n }}: cells in which the arm
        delivered. Bold: lowest median score. Targets are standardised. Cells that differ only in label noise share a split, so the
        number of independent units is the number of splits.""",
    )  # fmt: skip
    columns = (
        Column("arm", Text("arm"), "l"), Column("n", sym.N, "r"), Column("coverage", Text("coverage")), Column("width", Text("median half-width")),
        Column("score", Text("interval score")), Column("penalty", Text("penalty share")),
    )  # fmt: skip
    return Table(
        "Barms", "Case B: all arms", caption, columns, tuple(groups), quotes=quotes, layout=Layout("footnotesize", 4.0)
    )


SHIFT_ARMS = {"cp": "split-CP", "triv": "constant", "or1": "OR head", "or1_nf": "OR, no floor"}


def table_bshift(source: Source) -> Table:
    """Table Bshift: four arms per dataset under covariate shift, beside what the audit said before training."""
    frame = arms_frame(source, ["coverage", "width_median", "interval_score"], ("shift",))
    source.need(frame, "finished shift cells of b/main")
    facts = source.wide("b", "main", ["cell"], ["r2", "severity"], KEYS, where={"regime": ("shift",)})
    r2 = dict(facts.drop_nulls("r2").group_by("dataset").agg(pl.col("r2").median()).iter_rows())
    severity = dict(
        facts.filter(pl.col("label") == "centroid").group_by("dataset").agg(pl.col("severity").median()).iter_rows()
    )
    rows = []
    higher = 0
    order = sorted(frame["dataset"].unique().to_list(), key=lambda d: (r2.get(d) is None, r2.get(d), d))
    for dataset in order:
        part = frame.filter(pl.col("dataset") == dataset)
        cells: list[Value] = []
        scores: list[Value] = []
        means: list[float | None] = []
        coverage: dict[str, float] = {}
        for arm in SHIFT_ARMS:
            mine = part.filter(pl.col("arm") == arm)
            x = {m: s.values(mine, m) for m in ("coverage", "width_median", "interval_score")}
            cells += [
                s.mean(x["coverage"], rules.fixed(3), REFUSED),
                s.mean(x["width_median"], rules.fixed(2), REFUSED),
                Absent(REFUSED),
            ]
            scores.append(s.mean(x["interval_score"], rules.significant(3), REFUSED))
            means.append(float(x["interval_score"].mean()) if x["interval_score"].size else None)
            if x["coverage"].size:
                coverage[arm] = float(x["coverage"].mean())
        cells[2::3] = best(scores, means)
        higher += coverage.get("or1", -1.0) > coverage.get("cp", 2.0)
        n, n_or = part["cell_id"].n_unique(), part.filter(pl.col("arm") == "or1").height
        n_cell: Value = (
            Number(n, rules.INTEGER)
            if n == n_or
            else join(Number(n, rules.INTEGER), " (", Number(n_or, rules.INTEGER), ")", names=("", "OR"))
        )
        head = (
            Text(str(dataset), mono=True),
            s.number(r2.get(dataset), rules.fixed(3)),
            s.number(severity.get(dataset), rules.fixed(2)),
            n_cell,
        )
        rows.append(Row(str(dataset), (*head, *cells)))
    caption = prose(
        """Case B under covariate shift, dataset by dataset, ordered by the audit score {{ sym.r2 }} (random forest, folds in file order,
        before any training). {{ sym.d_m }}: median Mahalanobis distance between the centroids of test and training rows. All entries are means over
        the {{ sym.n }} shift cells of a dataset (in brackets: cells in which the OR arms delivered); width is the median half-width
        within a cell, IS the interval score at 95 per cent, lower is better. Bold: lowest score of the four. The OR head covers
        more than split-CP on {{ higher }} of {{ total }} datasets.""",
        higher=higher, total=len(order),
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
    return Table(
        "Bshift",
        "Case B: covariate shift by dataset",
        caption,
        tuple(columns),
        (Group(tuple(rows)),),
        spans,
        layout=Layout("scriptsize", 2.5),
    )

"""Tables of Case B about its data: the audit before training, and the conformal levels of the splits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.names import REGIMES
from orledger.paper.prose import prose
from orledger.paper.tables.b import KEYS
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, Row, Table
from orledger.reports.tables.values import Number, Text, Value, join
from orledger.schema.frames import as_number
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.source import Source


@table("Baudit", "Case B: datasets and their audit", case="b")
def table_baudit(source: Source) -> Table:
    """Table Baudit: what was learned about each dataset before any training."""
    frame = source.rows(Selection("b", "audit", ["rf"], ["r2", "n", "d", "distinct", "passed"], ["dataset"]))
    source.need(frame, "finished cells of b/audit")
    origins = source.rows(
        "SELECT dataset, origin, target\nFROM b_audit_cells JOIN dataset d USING (cell_id)\nORDER BY ALL"
    )
    rows = []
    for (name,), part in frame.group_by(["dataset"], maintain_order=True):
        why = partial(source.why, "b", "audit", "rf", keys={"dataset": str(name)})
        plain = part.filter(pl.col("label").is_null())
        r2 = {row["label"]: row["r2"] for row in part.drop_nulls("r2").iter_rows(named=True)}
        origin = origins.filter(pl.col("dataset") == name)
        where: list[Value] = [
            Text(str(origin[c][0]), mono=c == "target") if origin.height else s.absent(why("n"))
            for c in ("origin", "target")
        ]
        numbers = [
            s.number(as_number(plain[c].max()), rules.INTEGER, why(c)).of_records(plain, c)
            for c in ("n", "d", "distinct")
        ]
        passed = plain["passed"].max()
        verdict: Value = s.absent(why("passed")) if passed is None else Text("passes" if passed else "refused")
        shuffled, in_order = (
            s.number(r2.get(k), rules.fixed(4), why("r2", k)).of_records(part.filter(pl.col("label") == k), "r2")
            for k in ("shuffled", "file_order")
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
    return Table(caption, columns, (Group(tuple(rows)),), layout=TIGHT)


@table("Blevels", "Case B: conformal levels", case="b")
def table_blevels(source: Source) -> Table:
    """Table Blevels: sizes of the splits and the two conformal levels, one row per dataset and regime."""
    frame = source.rows(Selection("b", "main", ["cell"], ["n_train", "n_test", "n_cal", "k"], KEYS)).drop_nulls("n_cal")
    source.need(frame, "finished cells of b/main")
    rows = []
    for (dataset, regime, n_tr, n_te, n_c, k), part in frame.group_by(
        ["dataset", "regime", "n_train", "n_test", "n_cal", "k"], maintain_order=True
    ):
        n_c, k = int(n_c), int(k)
        fractions = [
            join(f"{top}/{n_c + 1} = ", Number(top / (n_c + 1), rules.fixed(4))).of_records(part, *of)
            for top, of in ((n_c, ("n_cal",)), (k + 1, ("n_cal", "k")))
        ]
        sizes = [
            Number(v, rules.INTEGER).of_records(part, of)
            for v, of in ((n_tr, "n_train"), (n_te, "n_test"), (n_c, "n_cal"))
        ]
        head = Text(str(dataset), mono=True), Text(REGIMES.get(str(regime), str(regime)))
        at = Number(k, rules.INTEGER).of_records(part, "k")
        rows.append(Row(f"{dataset} {regime} {n_c}", (*head, *sizes, fractions[0], at, fractions[1])))
    caption = prose(
        """Conformal calibration of Case B from the splits that were used: training, test and calibration rows, the level
        {{ sym.level }} that a maximum would reach, and the level {{ sym.achieved }} of the order statistic that is taken, {{ sym.k }}
        counted from zero. The two differ by convention.""",
    )  # fmt: skip
    columns = (
        Column("dataset", Text("dataset"), "l"), Column("regime", Text("regime"), "l"), Column("n train", sym.N_TR, "r"), Column("n test", sym.N_TE, "r"),
        Column("n cal", sym.N_C, "r"), Column("level", join("level ", sym.LEVEL)), Column("k", sym.K, "r"), Column("achieved", join("achieved ", sym.ACHIEVED)),
    )  # fmt: skip
    return Table(caption, columns, (Group(tuple(rows)),))

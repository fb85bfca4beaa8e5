"""Tables of Case B about widths: what the three parts of the OR band cost and buy, and the tail of single points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.statistics.signedrank import signed_rank
from orledger.paper import names
from orledger.paper import symbols as sym
from orledger.paper.prose import prose
from orledger.paper.tables.b import KEYS
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, Layout, Row, Table
from orledger.reports.tables.values import Absent, Count, Number, Text, Value, join

if TYPE_CHECKING:
    from orledger.reports.source import Source

REGIMES = {regime: names.REGIMES[regime] for regime in ("iid", "shift")}
OR_ARMS = ["or1", "or1_nf", "or1_int"]
BLOW_UP = 20.0  # within-cell median half-width, on a standardised target
LISTED = 20  # rows of the tail table that are printed


@table("Bfloor", "Case B: the width budget of the OR head", case="b")
def table_bfloor(source: Source) -> Table:
    """Table Bfloor: shares and sizes of the three width components, and what adding each one buys."""
    parts = source.wide("b", "main", ["or1"], ["w_add", "w_obs", "width_mean"], KEYS, where={"regime": tuple(REGIMES)})
    parts = parts.filter(pl.col("label").is_null()).drop_nulls(["w_add", "w_obs"])
    source.need(parts, "cells of b/main in which the OR head delivered")
    inner = source.wide("b", "main", ["or1_int"], ["width_mean"], KEYS, where={"regime": tuple(REGIMES)})
    parts = parts.join(inner.select("cell_id", pl.col("width_mean").alias("w_int")), on="cell_id").with_columns(
        (pl.col("w_int") + pl.col("w_add") + pl.col("w_obs")).alias("band")
    )
    metrics = {"coverage": "coverage", "width_median": "width", "interval_score": "score"}
    arms = source.wide("b", "main", OR_ARMS, list(metrics), KEYS, where={"regime": tuple(REGIMES)}).filter(
        pl.col("label").is_null()
    )
    components = {"w_int": sym.W_INT, "w_add": sym.W_ADD, "w_obs": sym.W_OBS}
    shares, sizes = [], []
    for key, symbol in components.items():
        by_regime = [parts.filter(pl.col("regime") == r) for r in REGIMES]
        shares.append(
            Row(
                f"share {key}",
                (
                    join(symbol, " share of the band"),
                    *(s.median_iqr((p[key] / p["band"]).to_numpy(), rules.fixed(3)) for p in by_regime),
                ),
            )
        )
        sizes.append(
            Row(
                f"size {key}",
                (
                    join(symbol, ", mean in the cell"),
                    *(s.median_iqr(s.values(p, key), rules.fixed(3)) for p in by_regime),
                ),
            )
        )
    bought = []
    quotes: dict[str, Value] = {}
    for key, symbol, more, less in (("w_obs", sym.W_OBS, "or1_nf", "or1_int"), ("w_add", sym.W_ADD, "or1", "or1_nf")):
        for metric, word in metrics.items():
            cells = []
            for regime in REGIMES:
                pair = s.paired(arms.filter(pl.col("regime") == regime), KEYS, metric, more, less)
                cells.append(change(pair, 3 if metric == "coverage" else 2))
                quotes[f"{regime} {key} buys {word}"] = cells[-1]
            bought.append(Row(f"{key} buys {metric}", (join(symbol, " buys: ", sym.DELTA, f" {word}"), *cells)))
    counts = [parts.filter(pl.col("regime") == r).height for r in REGIMES]
    columns = (
        Column("quantity", Text("quantity"), "l"),
        *(
            Column(r, join(label, " (", sym.N, f" = {n})"))
            for (r, label), n in zip(REGIMES.items(), counts, strict=True)
        ),
    )
    caption = prose(
        """The width of the OR band in its three parts, {{ sym.w_int }} (the tight interval), {{ sym.w_add }} (the additive conformal
        floor) and {{ sym.w_obs }} (the noise allowance 1.96 {{ sym.sigma_hat }}): median [quartiles] over cells. Below: what adding a
        part changes, paired over cells in which both variants delivered: median difference, its 95 per cent interval from order
        statistics, and the exact signed-rank p. Width is the median half-width of a cell, score its interval score. Cells of one split are not independent:
        these p-values are optimistic.""",
    )  # fmt: skip
    groups = (Group(tuple(shares)), Group(tuple(sizes)), Group(tuple(bought)))
    return Table(
        "Bfloor",
        "Case B: the width budget of the OR head",
        caption,
        columns,
        groups,
        quotes=quotes,
        layout=Layout("scriptsize", 2.5),
    )


def change(pair: pl.DataFrame, decimals: int) -> Value:
    """Median paired difference with its interval (to ``decimals``) and the exact p."""
    if pair.is_empty():
        return Absent("no cell in which both variants delivered")
    result = signed_rank((pair["first"] - pair["second"]).to_numpy())
    effect, interval = (
        Number(s.known(result.effect), rules.fixed(3).signed()),
        s.interval_cell(result, rules.fixed(decimals).signed()),
    )
    return join(effect, " ", interval, ", ", sym.P, " = ", s.p_cell(result), names=("", "", "", "p"))


@table("Btail", "Case B: the tail of single points", case="b")
def table_btail(source: Source) -> Table:
    """Table Btail: cells with test points whose OR interval is far wider than the target's spread."""
    scalars = (
        source.wide("b", "main", ["or1"], ["n_over_cap", "ns_max", "n_guard"], KEYS)
        .filter(pl.col("label").is_null())
        .drop_nulls("n_over_cap")
    )
    source.need(scalars, "cells of b/main in which the OR head delivered")
    widths = source.wide("b", "main", ["or1_int"], ["width_median", "width_mean", "width_max"], KEYS).select(
        "cell_id", "width_median", "width_mean", "width_max"
    )
    kappa = (
        source.wide("b", "main", ["or1"], ["kappa_star"], KEYS)
        .filter(pl.col("label").is_null())
        .select("cell_id", "kappa_star")
    )
    sizes = source.wide("b", "main", ["cell"], ["n_test"], KEYS).drop_nulls("n_test").select("cell_id", "n_test")
    band = (
        source.wide("b", "main", ["or1"], ["width_median"], KEYS)
        .filter(pl.col("label").is_null())
        .select("cell_id", pl.col("width_median").alias("band"))
    )
    frame = scalars
    for other in (widths, kappa, sizes, band):
        frame = frame.join(other, on="cell_id", how="left")
    over = frame.filter(pl.col("n_over_cap") > 0).sort(
        ["width_mean", "cell"], descending=[True, False], nulls_last=True
    )
    rows = []
    for row in over.head(LISTED).iter_rows(named=True):
        name = "/".join(str(row[k]) if k != "seed" else f"{row[k]:g}" for k in KEYS)
        star = s.number(row["kappa_star"], rules.significant(2), "no inflation covers the calibration points")
        cells = (
            Text(name, mono=True), s.number(row["n_test"], rules.INTEGER), Number(row["n_over_cap"], rules.INTEGER), s.number(row["width_median"], rules.fixed(2)),
            s.number(row["width_mean"], rules.fixed(1)), s.number(row["width_max"], rules.significant(3)), s.number(row["ns_max"], rules.fixed(3).bound()), star,
        )  # fmt: skip
        rows.append(Row(f"{name} {row['cell_id'][:6]}" if over["cell"].n_unique() < over.height else name, cells))
    points, total = int(frame["n_over_cap"].sum()), int(frame["n_test"].sum() or 0)
    quotes: dict[str, Value] = {
        "points over cap": Count(points, total),
        "cells over cap": Count(over.height, frame.height),
        "blow ups": Count(int((frame["band"] > BLOW_UP).sum()), frame.height),
        "guarded points": Number(float(frame["n_guard"].sum() or 0), rules.INTEGER),
        "shift cells over cap": Number(over.filter(pl.col("regime") != "iid").height, rules.INTEGER),
    }
    if frame.height:
        quotes["largest half-width"] = s.number(frame["width_max"].max(), rules.significant(5))
    hidden = over.height - len(rows)
    caption = prose(
        """The tail that medians hide: cells with test points whose tight OR interval is wider than 20 standard deviations of the fit
        targets, ordered by the mean half-width. {{ sym.ns_max }}: largest share of a test functional outside the span of the fit
        features. {{ sym.kappa_star }}: inflation that covers every calibration point. Altogether {{ points }} test points in
        {{ cells }} delivered cells are over the cap; cells whose median half-width exceeds 20: {{ blow }}; points on which guarded
        delivery substituted the global certificate: {{ guard }}.{% if hidden %} The {{ hidden }} cells with the smallest means are
        left out here.{% endif %}""",
        points=quotes["points over cap"], cells=quotes["cells over cap"], blow=quotes["blow ups"], guard=quotes["guarded points"], hidden=hidden,
    )  # fmt: skip
    columns = (
        Column("cell", Text("cell"), "l"), Column("n test", sym.N_TE, "r"), Column("over cap", Text("over cap"), "r"), Column("median", Text("median half"), "r"),
        Column("mean", Text("mean half"), "r"), Column("max", Text("max half"), "r"), Column("ns max", sym.NS_MAX, "r"), Column("kappa", sym.KAPPA_STAR, "r"),
    )  # fmt: skip
    if not rows:
        rows = [Row("none", (Text("no cell has such a point"), *[Absent("no test point is over the cap")] * 7))]
    return Table(
        "Btail",
        "Case B: the tail of single points",
        caption,
        columns,
        (Group(tuple(rows)),),
        quotes=quotes,
        layout=Layout("footnotesize", 4.0),
    )

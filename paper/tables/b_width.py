"""Tables of Case B about widths: what the three parts of the OR band cost and buy, and the tail of single points."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from orledger.paper import names
from orledger.paper import symbols as sym
from orledger.paper.prose import prose
from orledger.paper.tables.b import KEYS
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, Row, Table
from orledger.reports.tables.values import Absent, Blank, Count, Number, Text, Value, join
from orledger.schema.frames import as_number
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.source import Source

REGIMES = {regime: names.REGIMES[regime] for regime in ("iid", "shift")}
METRICS = {"coverage": "coverage", "width_median": "width", "interval_score": "score"}
# Rows of the audit for what a part of the band changes, i.i.d. and under shift: the band with it minus the band without.
BOUGHT = {
    ("w_obs", "coverage"): ("H2/noise-allowance-coverage", "H5/noise-allowance-coverage"),
    ("w_obs", "width_median"): ("CaseB/noise-allowance-width/iid", "CaseB/noise-allowance-width/shift"),
    ("w_obs", "interval_score"): ("H2/noise-allowance", "H5/noise-allowance"),
    ("w_add", "coverage"): ("H2/coverage/or1_nf", "H5/coverage/or1_nf"),
    ("w_add", "width_median"): ("H2/width/or1_nf", "H5/width-median/or1_nf"),
    ("w_add", "interval_score"): ("H2/score/or1_nf", "H5/score/or1_nf"),
}
BLOW_UP = 20.0  # within-cell median half-width, on a standardised target
LISTED = 20  # rows of the tail table that are printed


@table("Bfloor", "Case B: the width budget of the OR head", case="b")
def table_bfloor(source: Source) -> Table:
    """Table Bfloor: shares and sizes of the three width components, and what adding each one buys."""
    parts = source.rows(
        Selection("b", "main", ["or1"], ["w_add", "w_obs", "width_mean"], KEYS, where={"regime": tuple(REGIMES)})
    )
    parts = parts.filter(pl.col("label").is_null()).drop_nulls(["w_add", "w_obs"])
    source.need(parts, "cells of b/main in which the OR head delivered")
    inner = source.rows(Selection("b", "main", ["or1_int"], ["width_mean"], KEYS, where={"regime": tuple(REGIMES)}))
    parts = parts.join(inner.select("cell_id", pl.col("width_mean").alias("w_int")), on="cell_id").with_columns(
        (pl.col("w_int") + pl.col("w_add") + pl.col("w_obs")).alias("band")
    )
    components = {"w_int": sym.W_INT, "w_add": sym.W_ADD, "w_obs": sym.W_OBS}
    shares, sizes = [], []
    reasons = [source.why("b", "main", "or1", "w_add", keys={"regime": r}) for r in REGIMES]
    by_regime = [parts.filter(pl.col("regime") == r) for r in REGIMES]
    for key, symbol in components.items():
        share: list[Value] = []
        size: list[Value] = []
        for part, why in zip(by_regime, reasons, strict=True):
            inside = inner.join(part, on="cell_id", how="semi")
            fraction = s.known_sample(part[key] / part["band"], part, "w_add", "w_obs")
            share.append(s.median_iqr(fraction, rules.fixed(3), why).of_records(inside, "width_mean"))
            own = s.known_sample(part[key], inside, "width_mean") if key == "w_int" else s.values(part, key)
            size.append(s.median_iqr(own, rules.fixed(3), why))
        shares.append(Row(f"share {key}", (join(symbol, " share of the band"), *share)))
        sizes.append(Row(f"size {key}", (join(symbol, ", mean in the cell"), *size)))
    bought = []
    quotes: dict[str, Value] = {}
    for key, symbol in (("w_obs", sym.W_OBS), ("w_add", sym.W_ADD)):
        for metric, word in METRICS.items():
            addresses = dict(zip(REGIMES, BOUGHT[key, metric], strict=True))
            cells = [change(source.test(address), 3 if metric == "coverage" else 2) for address in addresses.values()]
            quotes |= {f"{regime} {key} buys {word}": cell for regime, cell in zip(REGIMES, cells, strict=True)}
            bought.append(Row(f"{key} buys {metric}", (join(symbol, " buys: ", sym.DELTA, f" {word}"), *cells)))
    cited = source.cited.tests()
    counts = [part.height for part in by_regime]
    columns = (
        Column("quantity", Text("quantity"), "l"),
        *(
            Column(r, join(label, " (", sym.N, f" = {n})"))
            for (r, label), n in zip(REGIMES.items(), counts, strict=True)
        ),
    )
    caption = prose(
        """The width of the OR band in its three parts, {{ sym.w_int }} (the tight interval), {{ sym.w_add }} (the additive conformal
        floor) and {{ sym.w_obs }} (the noise allowance 1.96 {{ sym.sigma_hat }}): median [quartiles] over cells, shares of the mean
        half-width of a cell. Below: what adding a part changes, paired where both variants delivered: {{ effect }}, its 95% interval ({{ interval }}), and the exact
        signed-rank p. Width is the median half-width of a cell, score its interval score. Cells of one split are not independent:
        their differences are averaged first, and the test counts one value for each ({{ unit }}).""",
        effect=s.effect_words(cited), interval=s.interval_words(cited), unit=s.unit_words(cited),
    )  # fmt: skip
    groups = (Group(tuple(shares)), Group(tuple(sizes)), Group(tuple(bought)))
    return Table(caption, columns, groups, quotes=quotes, layout=TIGHT)


def change(row: s.Cited, decimals: int) -> Value:
    """The paired difference of a row with its interval (to ``decimals``) and the exact p."""
    effect = s.effect_cell(row, rules.fixed(3).signed())
    if isinstance(effect, Absent):
        return effect
    interval = s.interval_cell(row, rules.fixed(decimals).signed())
    return join(effect, " ", interval, ", ", sym.P, " = ", s.p_cell(row), names=("", "", "", "p"))


@table("Btail", "Case B: the tail of single points", case="b")
def table_btail(source: Source) -> Table:
    """Table Btail: cells with test points whose OR interval is far wider than the target's spread."""
    scalars = (
        source.rows(Selection("b", "main", ["or1"], ["n_over_cap", "ns_max", "n_guard"], KEYS))
        .filter(pl.col("label").is_null())
        .drop_nulls("n_over_cap")
    )
    source.need(scalars, "cells of b/main in which the OR head delivered")
    inner = source.rows(Selection("b", "main", ["or1_int"], ["width_median", "width_mean", "width_max"], KEYS))
    widths = inner.select("cell_id", "width_median", "width_mean", "width_max")
    starred = source.rows(Selection("b", "main", ["or1"], ["kappa_star"], KEYS)).filter(pl.col("label").is_null())
    kappa = starred.select("cell_id", "kappa_star")
    tested = source.rows(Selection("b", "main", ["cell"], ["n_test"], KEYS)).drop_nulls("n_test")
    sizes = tested.select("cell_id", "n_test")
    band = (
        source.rows(Selection("b", "main", ["or1"], ["width_median"], KEYS))
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
        why = partial(source.why, "b", "main", keys={k: row[k] for k in KEYS})
        star = s.number(row["kappa_star"], rules.significant(2), why("or1", "kappa_star"))
        mine = [f.filter(pl.col("cell_id") == row["cell_id"]) for f in (tested, scalars, inner, starred)]
        cells = (
            Text(name, mono=True), s.number(row["n_test"], rules.INTEGER, why("cell", "n_test")).of_records(mine[0], "n_test"),
            Number(row["n_over_cap"], rules.INTEGER).of_records(mine[1], "n_over_cap"),
            s.number(row["width_median"], rules.fixed(2), why("or1_int", "width_median")).of_records(mine[2], "width_median"),
            s.number(row["width_mean"], rules.fixed(1), why("or1_int", "width_mean")).of_records(mine[2], "width_mean"),
            s.number(row["width_max"], rules.significant(3), why("or1_int", "width_max")).of_records(mine[2], "width_max"),
            s.number(row["ns_max"], rules.fixed(3).bound(), why("or1", "ns_max")).of_records(mine[1], "ns_max"), star.of_records(mine[3], "kappa_star"),
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
        none = source.why("b", "main", "or1_int", "width_max")
        quotes["largest half-width"] = s.number(as_number(frame["width_max"].max()), rules.significant(5), none)
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
        rows = [Row("none", (Text("no cell has such a point"), *[Blank()] * 7))]
    return Table(caption, columns, (Group(tuple(rows)),), quotes=quotes)

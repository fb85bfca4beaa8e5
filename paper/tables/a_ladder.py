"""Table Aladder: the conditional interval as the ball is inflated, and the law it must follow when data are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.prose import prose
from orledger.paper.tables.a_cert import by_seed, level_header, load, over, premium, seed_median, tightening
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, PrintSize, Row, Span, Table
from orledger.reports.tables.values import Blank, Number, Text, Value, join
from orledger.schema.frames import as_number

if TYPE_CHECKING:
    from orledger.reports.source import Source


@table("Aladder", "Case A: the inflation ladder", case="a")
def table_aladder(source: Source) -> Table:
    """Table Aladder: conditional half-width, premium over the error and tightening at every rung of the inflation ladder."""
    block = load(source)
    cond = source.need(block.conditional, "conditional intervals in a/certificates")
    rungs = sorted(cond["m"].unique().to_list())
    rows = []
    for m in rungs:
        cells: list[Value] = []
        for lv in block.levels:
            part = block.at(cond, lv).filter(pl.col("m") == m)
            half = by_seed(part, pl.col("half"))
            why = block.why("conditional", "half", lv, f"m={m:g}")
            cells += [
                seed_median(half, rules.scientific(3), why),
                seed_median(premium(part), rules.significant(3), why),
                seed_median(
                    tightening(block, part),
                    rules.significant(3),
                    block.why("global", "certificate", lv) if half.size else why,
                ),
            ]
            cells.append(
                s.number(as_number((part["error"] <= part["half"]).mean()), rules.fixed(3), why).of_records(
                    part, "half", "error"
                )
            )
        rows.append(Row(f"m {m:g}", (Number(m, rules.fixed(2)), *cells)))
    ends: list[Value] = []
    ranges: list[Value | str] = []
    for lv in block.levels:
        part = block.at(cond, lv)
        top, bottom = (part.filter(pl.col("m") == m) for m in (rungs[-1], rungs[0]))
        ratio = over(top, bottom)
        why = block.why("conditional", "half", lv, f"m={rungs[-1] if top.is_empty() else rungs[0]:g}")
        ends += [seed_median(ratio, rules.significant(4).times(), why), Blank(), Blank(), Blank()]
        if lv > 0 and ratio.size:
            ranges += ["; " if ranges else "", s.spread(ratio, rules.significant(4)), " at ", level_header(lv)]
    last = Group((Row("ends", (join(f"{rungs[-1]:g} / {rungs[0]:g}"), *ends)),))
    law = law_deviation(block.at(cond, 0.0))
    caption = prose(
        """The inflation ladder {{ sym.m_def }}: median half-width of the conditional interval, its ratio to the actual error, how much
        tighter it is than the global certificate, and coverage of the truth; each the median over seeds of the median over points
        (tighter: of the ratio of two such medians), coverage over all points. Last row: widest over narrowest rung{% if ranges %} (range over seeds {{ ranges }}){% endif %}.{% if law %} With exact data the width must be proportional to
        {{ sym.law }}; the largest relative deviation over all points and pairs of neighbouring rungs is {{ law }}.{% endif %}""",
        law=law, ranges=join(*ranges) if ranges else None,
    )  # fmt: skip
    columns = [Column("m", sym.M, "l")]
    for lv in block.levels:
        columns += [
            Column(f"rel {lv:g} {k}", Text(h), "r")
            for k, h in (("half", "half"), ("premium", "w/err"), ("tightening", "tighter"), ("coverage", "cov"))
        ]
    spans = tuple(Span(1 + 4 * i, 4, level_header(lv)) for i, lv in enumerate(block.levels))
    layout = PrintSize() if len(block.levels) < 3 else TIGHT
    quotes = {} if law is None else {"law deviation": law}
    return Table(caption, tuple(columns), (Group(tuple(rows)), last), spans, quotes=quotes, layout=layout)


def law_deviation(part: pl.DataFrame) -> Number | None:
    """The largest relative deviation from width proportional to sqrt(m^2 - 1) between neighbouring rungs, over all points."""
    wide = part.pivot("m", index=["cell_id", "idx"], values="half").drop("cell_id", "idx")
    named = {float(c): c for c in wide.columns}
    rungs = sorted(named)
    if len(rungs) < 2:
        return None
    ordered = wide.select(named[m] for m in rungs).drop_nulls().to_numpy() / np.sqrt(np.square(rungs) - 1)
    if not len(ordered):
        return None
    return Number(float(np.abs(ordered[:, 1:] / ordered[:, :-1] - 1).max()), rules.scientific(2))

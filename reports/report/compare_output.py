"""A comparison of two databases as an HTML page and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from orledger.reports.jinja import asset
from orledger.reports.report.templating import environment
from orledger.reports.tables import format as rules
from orledger.reports.tables import latex
from orledger.reports.tables.render import table_csv, table_html, table_markdown
from orledger.reports.tables.table import Column, Group, Row, Table, columns
from orledger.reports.tables.values import Blank, Number, Range, Text
from orledger.wording import visible

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.reports.report.compare import DatabaseComparison


def ratio_table(result: DatabaseComparison) -> Table:
    """Right over left of every scalar, by block, arm and metric: median, range, worst disagreement."""
    blocks: dict[str, list[Row]] = {}
    for row in result.rules.to_dicts():
        block = f"{row['case']}/{row['block']}"
        cells = (
            Text(row["arm"]),
            Text(row["metric"]),
            Number(row["n"], rules.INTEGER),
            Number(row["median_ratio"], rules.fixed(3)),
            Range(row["low"], row["high"], rules.significant(4), what=("min", "max")),
            Number(row["worst"], rules.significant(3).times()),
        )
        blocks.setdefault(block, []).append(Row(f"{block} {row['arm']} {row['metric']}", cells))
    heads = (
        *columns("l", "arm", "metric"),
        *columns("r", "n"),
        *columns("c", "median ratio", "range"),
        Column("worst", Text("worst disagreement")),
    )
    caption = Text(
        f"Every scalar of {result.right} over that of {result.left}, cell by cell, where both have one sign; 1 would be exact reproduction."
    )
    groups = [Group(tuple(rows), Text(block)) for block, rows in blocks.items()]
    empty = Group((Row("none", (Text("none"), *(Blank() for _ in heads[1:]))),))
    return Table(caption, heads, tuple(groups or [empty]), name="compare", title="Ratios")


def comparison_tables(result: DatabaseComparison, folder: Path) -> list[Path]:
    """The ratio table as LaTeX, CSV and Markdown in ``folder``; returns the paths."""
    table = ratio_table(result)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix, text in (("tex", latex.table(table)), ("csv", table_csv(table)), ("md", table_markdown(table))):
        path = folder / f"compare.{suffix}"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def comparison_html(result: DatabaseComparison) -> str:
    """The whole comparison as one self-contained page."""
    frames = {
        "Cells": result.cells,
        "Kinds of CPU that computed the cells of both": result.hosts,
        "Cells that differ, and where they were computed": result.differing,
        "Records, by arm and metric": result.records,
        "Trajectories and the first step that differs": result.paths,
    }
    page = environment().get_template("compare.html.j2").render(
        result=result,
        css=asset("report.css"),
        js=asset("report.js"),
        ratios=Markup(table_html(ratio_table(result), provenance=False)),  # noqa: S704 - table_html escapes by type
        frames={name: (frame.columns, list(frame.iter_rows())) for name, frame in frames.items()},
    )  # fmt: skip
    return visible(page)

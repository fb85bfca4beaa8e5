"""The page that holds two databases beside each other: what they share, how far numbers moved, and what became of the verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.explorer.overview import VERDICTS
from orledger.reports.report.compare import compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from orledger.explorer.mirror import Copied

ROWS = 500  # rows of a part that the page shows
NAMED = "SELECT cell, any_value(cell_id) AS cell_id FROM all_cells WHERE cell IN (SELECT unnest(?)) GROUP BY ALL HAVING count(*) = 1"
# What each part of a comparison is called, what it says, and what its columns are called where their names do not say it.
PARTS = {
    "cells": (
        "Cells",
        "How many cells of each block both hold, and how many of those have the same content, bit by bit.",
    ),
    "rules": ("Ratios", "Numbers that moved: {right} over {left}, the median over cells and the range."),
    "records": (
        "Numbers",
        "Every number that both hold, by arm and metric: how many are the same bit by bit, and how many within 1, 5 and 20 per cent.",
    ),
    "paths": ("Trajectories", "Where the series of an arm first differ, in steps."),
    "differing": ("Cells that differ", "Each with the machines that computed it."),
    "hosts": ("Machines", "Pairs of processors, and how many of the cells they computed differ."),
}
COLUMNS = {
    "bitwise": "same bits",
    "only_left": "only in {left}",
    "only_right": "only in {right}",
    "both": "in both",
    "within_1": "within 1 %",
    "within_5": "within 5 %",
    "within_20": "within 20 %",
    "left_cpu": "processor of {left}",
    "right_cpu": "processor of {right}",
    "left_node": "machine of {left}",
    "right_node": "machine of {right}",
    "first_difference": "first difference",
}


@dataclass(frozen=True)
class ComparedPart:
    """One part of the comparison as a table: the head of its rows, and how many there are."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    total: int


def told_apart(left: Path, right: Path) -> tuple[str, str]:
    """Names for two files: their own, with as many folders before them as it takes to tell them apart."""
    one, two = left.resolve().parts, right.resolve().parts
    for n in range(1, max(len(one), len(two)) + 1):
        if one[-n:] != two[-n:]:
            return "/".join(one[-n:]), "/".join(two[-n:])
    return left.name, right.name


def compared(left: Copied, right: Copied, names: tuple[str, str]) -> dict[str, Any]:
    """What the page shows of two databases called ``names``."""
    found = compare(left, right, names)
    frames = {name: getattr(found, name) for name in PARTS}
    totals = {c: int(found.cells[c].sum()) for c in ("both", "bitwise", "only_left", "only_right")}
    named = [c for f in frames.values() if "cell" in f.columns for c in f.head(ROWS)["cell"].to_list()]
    return {
        "left": names[0],
        "right": names[1],
        "identical": found.identical,
        "unmatched": found.unmatched,
        "totals": totals,
        "verdicts": verdicts(left, right),
        "parts": [_part(name, frame, names) for name, frame in frames.items() if frame.height],
        "ids": {row["cell"]: row["cell_id"] for row in left.rows(NAMED, [list(dict.fromkeys(named))])},
    }


def verdicts(left: Copied, right: Copied) -> list[tuple[str, str | None, str | None]]:
    """Every hypothesis that either side has judged, with the verdict of both; None where a side has none."""
    sides = [{row["hypothesis"]: row["verdict"] for row in side.rows(VERDICTS)} for side in (left, right)]
    return [(name, sides[0].get(name), sides[1].get(name)) for name in sorted(sides[0].keys() | sides[1].keys())]


def _part(name: str, frame: pl.DataFrame, names: tuple[str, str]) -> ComparedPart:
    """The part as a table without the columns in which nothing stands."""
    words = {"left": names[0], "right": names[1]}
    title, about = PARTS[name]
    held = [c for c in frame.columns if frame[c].null_count() < frame.height]
    columns = [COLUMNS[c].format(**words) if c in COLUMNS else c.replace("_", " ") for c in held]
    return ComparedPart(title, about.format(**words), columns, frame.select(held).head(ROWS).rows(), frame.height)

"""Figures along an axis for any study: a metric against a numeric key, and trajectories over an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.figures.generic_looks import curve_looks, other_arms, shown
from orledger.schema.layouts import identifier

if TYPE_CHECKING:
    import polars as pl

    from orledger.reports.figures.figure import Canvas
    from orledger.reports.generic import Subject

INDEX = "SELECT DISTINCT idx FROM metric WHERE case_name = ? AND block = ? AND metric = ? AND idx IS NOT NULL"
FEWEST = 3  # values of a key that make an axis


def numeric_keys(subject: Subject) -> list[str]:
    """Keys of the unit that are numbers, at least three different ones, where the metric has one value per cell."""
    if not subject.recorded(indexed=False):
        return []
    numbers = [k for k in subject.unit if subject.layout.keys[k][1] != "VARCHAR"]
    counts = ", ".join(f"count(DISTINCT {identifier(subject.column(k))})" for k in numbers)
    if not counts:
        return []
    found = subject.results.sql(f"SELECT {counts} FROM {identifier(subject.layout.cells)}").row(0)
    return [k for k, n in zip(numbers, found, strict=True) if n >= FEWEST]


def draw_against(canvas: Canvas, subject: Subject, key: str) -> str:
    """The median of the metric at every value of ``key``, with the range of the values behind it as a band.{other_arms(subject, subject.ordered)}"""
    _curves(canvas, subject, canvas.rows(_ranges(subject, subject.column(key), indexed=False)), key)
    return f"{subject.metric} against {key}: median at every {key}, and the lowest to the highest value as a band.{other_arms(subject, subject.ordered)}"


def draw_trajectories(canvas: Canvas, subject: Subject) -> str:
    """The median of the metric at every index, with the range of the curves behind it as a band.{other_arms(subject, subject.ordered)}"""
    said = subject.results.sql(INDEX, [subject.case, subject.block, subject.metric])
    index = said["idx"][0] if said.height == 1 else "index"
    _curves(canvas, subject, canvas.rows(_ranges(subject, "idx", indexed=True)), index)
    return f"{subject.metric} at every {index}: median of the curves, and the lowest to the highest as a band.{other_arms(subject, subject.ordered)}"


def has_trajectories(subject: Subject) -> bool:
    """Whether the metric is recorded over an index."""
    if not subject.recorded(indexed=True):
        return False
    return bool(subject.results.sql(f"SELECT count(*) FROM (\n{subject.points(indexed=True)}\n)").item())


def _ranges(subject: Subject, x: str, *, indexed: bool) -> str:
    """The query of median, lowest and highest value of every arm at every value of the column ``x``."""
    return (
        f"SELECT {identifier(x)} AS x, arm, median(value) AS middle, min(value) AS low, max(value) AS high\n"
        f"FROM (\n{subject.points(indexed=indexed)}\n)\nGROUP BY ALL ORDER BY ALL"
    )


def _curves(canvas: Canvas, subject: Subject, rows: pl.DataFrame, label: str) -> None:
    (ax,) = canvas.axes(1, 1, height=3.0)
    if rows.is_empty():
        canvas.nothing(ax, "no values")
        return
    for arm, look in reversed(curve_looks(subject, subject.ordered).items()):  # the best on top
        part = rows.filter(rows["arm"] == arm)
        x = part["x"].to_numpy()
        mark = look.marker if part.height <= 40 else ""
        ax.plot(
            x, part["middle"].to_numpy(), color=look.colour, marker=mark, linestyle=look.line, label=look.name or None
        )
        if not look.marker:
            continue
        ax.fill_between(x, part["low"].to_numpy(), part["high"].to_numpy(), color=look.colour, alpha=0.13, linewidth=0)
    ax.set_xlabel(shown(label))
    ax.set_ylabel(shown(subject.metric))
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), reverse=True, labelspacing=0.6)

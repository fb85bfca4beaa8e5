"""Figures along an axis for any study: a metric against a numeric key, and trajectories over an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.figures.generic_looks import arm_looks, shown
from orledger.reports.generic import literal

if TYPE_CHECKING:
    import polars as pl

    from orledger.reports.figures.figure import Canvas
    from orledger.reports.generic import Subject

FEWEST = 3  # values of a key that make an axis


def numeric_keys(subject: Subject) -> list[str]:
    """Keys of the unit that hold at least three different numbers and nothing else, seeds and folds apart."""
    found = []
    for key in subject.unit:
        column = f"keys[{literal(key)}]"
        query = (
            f"SELECT count(DISTINCT {column}), bool_and(TRY_CAST({column} AS DOUBLE) IS NOT NULL) FROM cell"
            f" WHERE case_name = {literal(subject.case)} AND block = {literal(subject.block)}"
        )
        count, numbers = subject.results.sql(query).row(0)
        if numbers and count >= FEWEST:
            found.append(key)
    return found


def draw_against(canvas: Canvas, subject: Subject, key: str) -> str:
    """The median of the metric at every value of ``key``, with the range of the values behind it as a band."""
    rows = canvas.rows(
        f"SELECT TRY_CAST(c.keys[{literal(key)}] AS DOUBLE) AS x, r.arm, median(r.value) AS middle, min(r.value) AS low, max(r.value) AS high\n"
        f"FROM record r JOIN cell c USING (cell_id)\n{_where(subject)} AND r.idx IS NULL\nGROUP BY ALL ORDER BY ALL"
    )
    _curves(canvas, subject, rows, key)
    return f"{subject.metric} against {key}: median at every {key}, and the lowest to the highest value as a band."


def draw_trajectories(canvas: Canvas, subject: Subject) -> str:
    """The median of the metric at every index, with the range of the curves behind it as a band."""
    rows = canvas.rows(
        "SELECT r.idx AS x, r.arm, median(r.value) AS middle, min(r.value) AS low, max(r.value) AS high\n"
        f"FROM record r JOIN cell c USING (cell_id)\n{_where(subject)} AND r.idx IS NOT NULL\nGROUP BY ALL ORDER BY ALL"
    )
    _curves(canvas, subject, rows, "index")
    return f"{subject.metric} over its index: median of the curves, and the lowest to the highest as a band."


def has_trajectories(subject: Subject) -> bool:
    """Whether the metric is recorded over an index."""
    query = f"SELECT count(*) FROM record r JOIN cell c USING (cell_id)\n{_where(subject)} AND r.idx IS NOT NULL"
    return bool(subject.results.sql(query).item())


def _curves(canvas: Canvas, subject: Subject, rows: pl.DataFrame, label: str) -> None:
    (ax,) = canvas.axes(1, 1, height=3.0)
    if rows.is_empty():
        canvas.nothing(ax, "no values")
        return
    for arm, look in arm_looks(subject.ordered).items():
        part = rows.filter(rows["arm"] == arm)
        x = part["x"].to_numpy()
        mark = look.marker if part.height <= 40 else ""
        ax.plot(x, part["middle"].to_numpy(), color=look.colour, marker=mark, linestyle=look.line, label=look.name)
        ax.fill_between(x, part["low"].to_numpy(), part["high"].to_numpy(), color=look.colour, alpha=0.13, linewidth=0)
    ax.set_xlabel(shown(label))
    ax.set_ylabel(shown(subject.metric))
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _where(subject: Subject) -> str:
    arms = ", ".join(literal(a) for a in subject.arms)
    return (
        f"WHERE c.state = 'done' AND c.case_name = {literal(subject.case)} AND c.block = {literal(subject.block)}"
        f" AND r.metric = {literal(subject.metric)} AND r.arm IN ({arms}) AND r.label IS NULL"
    )

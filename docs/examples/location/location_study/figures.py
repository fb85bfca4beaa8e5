"""The figure of the study: every error, estimate by estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.figures.figure import FigureSpec
from orledger.reports.figures.style import looks, spread

if TYPE_CHECKING:
    from orledger.reports.figures.figure import Canvas


def errors(canvas: Canvas) -> str:
    """Points by estimate, one panel per law."""
    frame = canvas.rows("SELECT law, arm, seed, error FROM location_errors ORDER BY ALL")
    laws = frame["law"].unique(maintain_order=True).to_list()
    styles = looks(frame["arm"].unique(maintain_order=True).to_list())
    for ax, law in zip(canvas.axes(1, max(len(laws), 1), sharey=True), laws, strict=True):
        for place, (arm, look) in enumerate(styles.items()):
            y = frame.filter(law=law, arm=arm)["error"].to_list()
            ax.plot([place + dx for dx in spread(len(y))], y, look.marker, color=look.colour, linestyle="none")
        ax.set(title=law, yscale="log", xticks=range(len(styles)), xticklabels=list(styles))
        ax.set_ylabel("distance from the truth" if law == laws[0] else "")
    return "Distance of each estimate from the truth, one point per seed."


FIGURES = (FigureSpec("Errors", "location", "Errors by law and estimate", errors),)

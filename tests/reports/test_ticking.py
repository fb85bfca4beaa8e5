"""Ticks that are placed once follow a figure that changes all the same."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from orledger.reports.figures.style import house_style
from orledger.reports.figures.ticking import keep_ticks


def drawn(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def plotted() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(2, 2), layout="none")
    ax = figure.subplots()
    ax.plot([1, 10, 100], [1, 2, 3])
    ax.set_xlabel("x")
    return figure, ax


def test_kept_ticks_give_the_same_file_and_follow_limits_scale_and_size() -> None:
    with house_style():
        (kept, ours), (free, theirs) = plotted(), plotted()
        keep_ticks(kept)
        files = set()
        for change in (
            lambda _: None,
            lambda ax: ax.set_xlim(2, 40),
            lambda ax: ax.set_xscale("log"),
            lambda ax: ax.set_position((0.3, 0.3, 0.3, 0.3)),
        ):
            change(ours)
            change(theirs)
            file = drawn(kept)  # each once: after saving, the library lays a figure out anew
            assert file == drawn(free)
            files.add(file)
        assert len(files) == 4


class Counting(FixedLocator):
    """Counts how often its ticks are asked for."""

    asked = 0

    def __call__(self) -> Any:
        self.asked += 1
        return super().__call__()


def test_ticks_are_placed_once_for_one_place() -> None:
    figure, ax = plotted()
    keep_ticks(figure)
    locator = Counting([1, 50])
    ax.xaxis.set_major_locator(locator)
    drawn(figure)
    drawn(figure)
    assert locator.asked == 1

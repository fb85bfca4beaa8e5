"""Ticks of a finished figure, placed once: in one pass the library places and measures the same ticks several times."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from matplotlib.axis import Axis, Tick
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    Boxes = tuple[list[Bbox], list[Bbox]]


class _KeptTicks:
    """Stands before three private methods of one axis and answers from memory while its limits and its place are the same."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._place: Callable[[], list[Tick]] = axis._update_ticks  # type: ignore[attr-defined]
        self._measure: Callable[[list[Tick], RendererBase], Boxes] = axis._get_ticklabel_bboxes  # type: ignore[attr-defined]
        self._copy: Callable[[Tick, Tick], None] = axis._copy_tick_props  # type: ignore[attr-defined]
        self._placed: tuple[Hashable, list[Tick]] | None = None
        self._measured: tuple[weakref.ref[RendererBase], list[Tick], Boxes] | None = None

    def place(self) -> list[Tick]:
        """The ticks to draw; asked for again when limits, place, resolution, locators or formatters have changed."""
        axis = self._axis
        tickers = (axis.get_major_locator(), axis.get_minor_locator(), axis.get_major_formatter())
        where = (*axis.get_view_interval(), *axis.axes.bbox.bounds, axis.axes.figure.dpi)
        key = (where, *map(id, tickers), axis.get_scale())
        if self._placed is None or self._placed[0] != key:
            self._placed, self._measured = (key, self._place()), None
        return self._placed[1]

    def measure(self, ticks: list[Tick], renderer: RendererBase) -> Boxes:
        """The boxes of the labels of ``ticks``, which each renderer measures in its own way."""
        if self._measured is None or self._measured[0]() is not renderer or self._measured[1] is not ticks:
            self._measured = weakref.ref(renderer), ticks, self._measure(ticks, renderer)
        return self._measured[2]

    def copy(self, source: Tick, tick: Tick) -> None:
        """Make a new tick look like ``source``; a minor one does already, because nobody styles minor ticks one by one."""
        if tick in self._axis.majorTicks:
            self._copy(source, tick)


def keep_ticks(figure: Figure) -> None:
    """From now on place the ticks of ``figure`` when something has moved and not whenever they are asked for.

    A library without these methods is left alone.
    """
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if all(hasattr(axis, name) for name in ("_update_ticks", "_get_ticklabel_bboxes", "_copy_tick_props")):
                kept = _KeptTicks(axis)
                vars(axis).update(
                    _update_ticks=kept.place, _get_ticklabel_bboxes=kept.measure, _copy_tick_props=kept.copy
                )

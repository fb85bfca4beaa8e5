"""Figures of any study: paired values, differences by unit, effects with their intervals, and the map of arms by unit."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from orledger.audit.registry.words import Outcome
from orledger.reports.figures.generic_looks import LONGEST, arm_looks, arm_names, each_shown, shown, unit_ticks
from orledger.reports.figures.style import BLACK, BLUE, GREY, RED

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from orledger.reports.figures.figure import Canvas
    from orledger.reports.generic import Pair, Subject

MANY_UNITS = 60  # beyond this, single units are no longer named
PANELS = 2  # pairs whose differences are drawn side by side, each with the names of its units
SLOPES = 9  # pairs that are drawn side by side
MANY_PAIRS = 20  # beyond this, effects are sorted and their names small
NEW_LINE = "\n"
KEY = {
    BLUE: ("blue circles:", "the first arm is better"),
    RED: ("orange circles:", "the second arm is better"),
    GREY: ("grey squares:", "no difference was found"),
}
WRITTEN = 150  # cells of a map in which the rank is written as well


def draw_slopes(canvas: Canvas, subject: Subject) -> str:
    """Every unit as a line between the two arms of a pair, coloured by which arm is better; the first pairs by p."""
    pairs = _first(subject, SLOPES)
    columns = min(3, max(1, len(pairs)))
    rows = max(1, -(-len(pairs) // columns))
    axes = canvas.axes(rows, columns, height=1.0 + 1.7 * rows, sharey=True)
    higher, short = subject.better == "higher", arm_names(subject)
    for ax, pair in zip(axes, pairs, strict=False):
        x, y = subject.values.column(pair.first), subject.values.column(pair.second)
        _one_scale(ax.set_yscale, pair, np.concatenate([x, y]))  # first: limits found on a linear axis would cut points
        for a, b in zip(x, y, strict=True):
            if np.isfinite(a) and np.isfinite(b):
                colour = GREY if a == b else BLUE if (a > b) == higher else RED
                ax.plot([0, 1], [a, b], color=colour, linewidth=0.7, marker="o", markersize=2, alpha=0.8)
        names = [short[arm] for arm in (pair.first, pair.second)]
        ax.set_xticks([0, 1], [fill(name, 14) for name in names])
        ax.set_xlim(-0.3, 1.3)
        counts = f"{pair.row.wins} better, {pair.row.losses} worse, {pair.row.draws} equal"
        ax.set_title(counts, fontsize=6.5, color=GREY)
    _name_first(axes, columns, subject.metric)
    for ax in axes[len(pairs) :]:
        ax.set_axis_off()
    if not pairs:
        canvas.nothing(axes[0], "the audit compares no pair of arms")
    return (
        f"Paired values of {subject.metric} on every unit ({', '.join(subject.unit)}). Blue where the first arm is better, orange where the second is,"
        f" grey where they are equal; the counts are of units on which the first is better, worse, equal.{_left_out(subject, len(pairs))}"
    )


def draw_differences(canvas: Canvas, subject: Subject) -> str:
    """The difference of the most decided pairs on every unit, sorted, with the median and its stored interval."""
    pairs = _first(subject, PANELS)
    n = len(subject.values.units)
    axes = canvas.axes(1, max(1, len(pairs)), height=min(7.5, 1.3 + 0.13 * min(n, MANY_UNITS)))
    if not pairs:
        canvas.nothing(axes[0], "the audit compares no pair of arms")
    short = arm_names(subject)
    for ax, pair in zip(axes, pairs, strict=False):
        d = subject.values.column(pair.first) - subject.values.column(pair.second)
        order = [i for i in np.argsort(d, kind="stable") if np.isfinite(d[i])]
        better = (d[order] > 0) == (subject.better == "higher")
        colours = [GREY if d[i] == 0 else BLUE if w else RED for i, w in zip(order, better, strict=True)]
        _one_scale(ax.set_xscale, pair, d)
        ax.axvline(0, color=BLACK, linewidth=0.6)
        ax.scatter(d[order], range(len(order)), s=9, c=colours, zorder=3)
        if pair.row.low is not None and pair.row.high is not None and pair.row.effect is not None:
            ax.axvspan(pair.row.low, pair.row.high, color=GREY, alpha=0.18, linewidth=0)
            ax.axvline(pair.row.effect, color=GREY, linewidth=1, linestyle="--")
        unit_ticks(ax, [subject.values.units[i] for i in order], MANY_UNITS)
        first, second = short[pair.first], short[pair.second]
        long = len(first) + len(second) > LONGEST
        ax.set_title(f"{first}{NEW_LINE if long else ' '}− {second}", fontsize=7 if long else None)
        ax.set_xlabel(f"difference of {shown(subject.metric)}")
        if pair.row.test == "signed_rank":
            ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.set_ylim(-0.7, len(order) - 0.3)
    drawn = sorted({p.row.level for p in pairs if p.row.level and p.row.low is not None and p.row.high is not None})
    level = " or ".join(dict.fromkeys(f"{level:.1%}" for level in drawn))
    alone = " (of its pair alone)" if any(p.row.p_holm is not None for p in pairs) else ""
    band = (
        f" The band is the stored {level} interval{alone} of the {pairs[0].row.effect_name} (dashed)." if level else ""
    )
    return f"Differences of {subject.metric} by unit, first arm minus second; blue where the first arm is better.{band}{_left_out(subject, len(pairs))}"


def draw_forest(canvas: Canvas, subject: Subject) -> str:
    """The effect of every tested pair with its interval, and the equivalence margin where one is declared."""
    pairs = list(subject.pairs)
    if len(pairs) > MANY_PAIRS:
        pairs.sort(key=lambda p: -np.inf if p.row.effect is None else -p.row.effect)
    (ax,) = canvas.axes(1, 1, height=min(8.5, 1.1 + 0.2 * max(len(pairs), 2)))
    if not pairs:
        canvas.nothing(ax, "the audit compares no pair of arms")
        return "Effects of the tested pairs."
    ax.axvline(0, color=BLACK, linewidth=0.6)
    short = arm_names(subject)
    colours = set()
    margin = next((m for p in pairs if (m := p.row.margin) is not None), None)
    if margin is not None:
        ax.axvspan(-abs(margin), abs(margin), color=GREY, alpha=0.15, linewidth=0)
    for k, p in enumerate(pairs):
        y = len(pairs) - 1 - k
        if p.row.effect is None:
            ax.text(0, y, p.row.outcome, va="center", fontsize=6, color=GREY)
            continue
        colour = GREY
        if p.row.decided:
            colour = BLUE if (p.row.outcome == Outcome.GREATER) == (subject.better == "higher") else RED
        if p.row.low is not None and p.row.high is not None:
            ax.plot([p.row.low, p.row.high], [y, y], color=colour, linewidth=1.4, solid_capstyle="butt")
        inside = "none" if p.row.outcome == Outcome.UNTESTABLE else colour
        ax.plot([p.row.effect], [y], "o" if p.row.decided else "s", color=colour, markersize=4, markerfacecolor=inside)
        colours.add(colour)
    ax.set_yticks(
        range(len(pairs)),
        [f"{short[p.first]} − {short[p.second]}" for p in reversed(pairs)],
        fontsize=6 if len(pairs) > MANY_PAIRS else 7,
    )
    ax.set_ylim(-0.7, len(pairs) - 0.3)
    ax.set_xlabel(f"{pairs[0].row.effect_name}, {shown(subject.metric)}")
    levels = [p.row.level for p in pairs if p.row.level is not None]
    shaded = f" Shaded: the equivalence margin of {margin:g}." if margin is not None else ""
    corrected = any(p.row.p_holm is not None for p in pairs)
    alone = ", of each pair alone, so that one can leave out 0 and be grey" if corrected else ""
    band = f" Intervals: {pairs[0].row.interval_method}, level at least {min(levels):.1%}{alone}." if levels else ""
    counts = sorted({p.row.n for p in pairs})
    over = f"{counts[0]} units" if len(counts) == 1 else f"the {counts[0]} to {counts[-1]} units that have both arms"
    ordered = ", the largest first" if len(pairs) > MANY_PAIRS else ""
    after = ", after the correction" if corrected else ""
    key = [f"{words} {meant}{after * (colour != GREY)}" for colour, (words, meant) in KEY.items() if colour in colours]
    key += ["hollow ones: none could have been"] if any(p.row.outcome == Outcome.UNTESTABLE for p in pairs) else []
    effect = pairs[0].row.effect_name
    return (
        f"{effect[:1].upper()}{effect[1:]} of every pair over {over}, first arm minus second{ordered}.{band}"
        f" {'; '.join(key).capitalize()}.{shaded}"
    )


def draw_heat(canvas: Canvas, subject: Subject) -> str:
    """Ranks of arms within every unit as a map, best arm left; empty where there is no value."""
    values, ranks = subject.values, subject.values.ranks(subject.better)
    arms = subject.ordered
    place = [values.arms.index(a) for a in arms]
    n = len(values.units)
    (ax,) = canvas.axes(1, 1, height=min(8.5, 1.2 + 0.12 * min(max(n, 6), MANY_UNITS)))
    image = ax.imshow(ranks[:, place], aspect="auto", cmap="cividis_r", vmin=1, vmax=len(arms), interpolation="nearest")
    ax.set_xticks(
        range(len(arms)),
        each_shown([subject.label(a) for a in arms]),
        rotation=30 if len(arms) > 4 else 0,
        ha="right" if len(arms) > 4 else "center",
    )
    unit_ticks(ax, list(values.units), MANY_UNITS)
    if n * len(arms) <= WRITTEN:
        for (row, column), rank in np.ndenumerate(ranks[:, place]):
            if np.isfinite(rank):
                colour = "white" if rank > (1 + len(arms)) / 2 else BLACK
                ax.text(column, row, f"{rank:g}", ha="center", va="center", fontsize=6.5, color=colour)
    ax.grid(visible=False)
    bar = canvas.figure.colorbar(image, ax=ax, shrink=0.6, pad=0.02)
    bar.set_label("rank within the unit (1 is best)")
    return f"Ranks by {subject.metric} of the arms on every unit ({', '.join(subject.unit)}), ties sharing; white where an arm has no value."


def _left_out(subject: Subject, drawn: int) -> str:
    """Says that a figure shows some pairs of many, and by what they were chosen."""
    return (
        f" Of {len(subject.pairs)} pairs the {drawn} with the smallest p; the table of pairs has all."
        if drawn < len(subject.pairs)
        else ""
    )


def _first(subject: Subject, count: int) -> list[Pair]:
    """The pairs to draw: smallest corrected p first."""

    def key(p: Pair) -> float:
        corrected = p.row.p if p.row.p_holm is None else p.row.p_holm
        return 2.0 if corrected is None else corrected

    return sorted(subject.pairs, key=key)[:count]


def _one_scale(set_scale: Callable[..., None], pair: Pair, values: NDArray[np.float64]) -> None:
    """A symmetric logarithmic axis where the sign test was used because units are not on one scale."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if pair.row.test == "sign" and sizes.size and sizes.max() / sizes.min() > 100:
        set_scale("symlog", linthresh=float(np.quantile(sizes, 0.1)))


def _name_first(axes: list[Axes], columns: int, metric: str) -> None:
    for k, ax in enumerate(axes):
        if k % columns == 0:
            ax.set_ylabel(shown(metric))


__all__ = ["arm_looks", "draw_differences", "draw_forest", "draw_heat", "draw_slopes"]

"""Figures of any study: paired values, differences by unit, effects with their intervals, and the map of arms by unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from orledger.audit.importing.mapping import VALUE
from orledger.audit.registry.words import Outcome
from orledger.reports import cautions
from orledger.reports.figures.generic_choice import first, leading, left_out
from orledger.reports.figures.generic_looks import LONGEST, arm_names, beside, shown, unit_ticks
from orledger.reports.figures.style import BLACK, BLUE, GREY, RED
from orledger.reports.generic import Pair
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from orledger.reports.figures.figure import Canvas
    from orledger.reports.generic import Subject

MANY_UNITS = 60  # beyond this, single units are no longer named
PANELS = 2  # pairs whose differences are drawn side by side, each with the names of its units
SLOPES = 9  # pairs that are drawn side by side
MANY_PAIRS = 20  # beyond this, effects are sorted and their names small
PAIRED = 66  # characters of an arm in the name of a pair
MANY_ARMS = 12  # beyond this, a map has the arms below one another, where their names have room
NEW_LINE = "\n"
KEY = {
    BLUE: ("blue circles:", "the first arm is better"),
    RED: ("orange circles:", "the second arm is better"),
    GREY: ("grey squares:", "no difference was found"),
}
WRITTEN = 150  # cells of a map in which the rank is written as well


def draw_slopes(canvas: Canvas, subject: Subject) -> str:
    """Every unit as a line between the two arms of a pair, coloured by which arm is better; the first pairs by p."""
    pairs = first(subject, SLOPES)
    columns = min(3, max(1, len(pairs)))
    rows = max(1, -(-len(pairs) // columns))
    axes = canvas.axes(rows, columns, height=1.0 + 1.7 * rows, sharey=True)
    higher, short = subject.better == "higher", arm_names(subject, 48, 17)
    for ax, pair in zip(axes, pairs, strict=False):
        x, y = subject.values.column(pair.first), subject.values.column(pair.second)
        _one_scale(ax.set_yscale, pair, np.concatenate([x, y]))  # first: limits found on a linear axis would cut points
        ends = np.stack([x, y], axis=1)[np.isfinite(x) & np.isfinite(y)]
        colours = [GREY if a == b else BLUE if (a > b) == higher else RED for a, b in ends]
        # One collection for all units: a line of its own for each of thousands takes longer than the rest of the report.
        lines = [[(0, a), (1, b)] for a, b in ends]
        ax.add_collection(LineCollection(lines, colors=colours, linewidths=0.7, alpha=0.8, clip_on=False))
        for place, values in enumerate(ends.T):
            ax.scatter([place] * len(values), values, s=4, color=colours, linewidths=1, alpha=0.8, clip_on=False)
        ax.set_xticks([0, 1], [short[pair.first], short[pair.second]])
        ax.set_xlim(-0.3, 1.3)
        counts = f"{pair.row.wins} better, {pair.row.losses} worse, {pair.row.draws} equal"
        ax.set_title(counts, fontsize=6.5, color=GREY)
    _name_first(axes, columns, subject.metric)
    for ax in axes[len(pairs) :]:
        ax.set_axis_off()
    if not pairs:
        canvas.nothing(axes[0], "the audit compares no pair of arms")
    of = "" if subject.metric == VALUE else f" of {subject.metric}"  # a metric without a name of its own
    return (
        f"Paired values{of} on every unit ({', '.join(subject.unit)}). Blue where the first arm is better, orange where the second is,"
        f" grey where they are equal; the counts are of units on which the first is better, worse, equal.{left_out(subject, len(pairs))}"
    )


def draw_differences(canvas: Canvas, subject: Subject) -> str:
    """The difference of the most decided pairs on every unit, sorted, with the median and its stored interval."""
    pairs = first(subject, PANELS)
    n = len(subject.values.units)
    axes = canvas.axes(1, max(1, len(pairs)), height=min(7.5, 1.3 + 0.13 * min(n, MANY_UNITS)))
    if not pairs:
        canvas.nothing(axes[0], "the audit compares no pair of arms")
    short = arm_names(subject, 56)
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
        names = short[pair.first], short[pair.second]
        size = max(map(len, names))
        long = size + min(map(len, names)) > LONGEST
        ax.set_title(
            f"{names[0]}{NEW_LINE if long else ' '}− {names[1]}",
            fontsize=5.5 if size > LONGEST else 7 if long else None,
            loc="right" if size > LONGEST else "left",  # a long one reaches over the names of the units
        )
        ax.set_xlabel(f"difference of {shown(subject.metric)}")
        if pair.row.test == "signed_rank":
            ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.set_ylim(-0.7, len(order) - 0.3)
    drawn = sorted({p.row.level for p in pairs if p.row.level and p.row.low is not None and p.row.high is not None})
    level = " or ".join(dict.fromkeys(f"{level:.1%}" for level in drawn))
    alone = " (of its pair alone)" if any(p.row.p_holm is not None for p in pairs) else ""
    effects = cautions.kinds(subject, pairs, "effect_name")
    of = f"effect (dashed): {effects}" if ";" in effects else f"{effects} (dashed)"
    band = (
        f" The band is the stored {level} interval{alone} of the {of}.{cautions.plain_medians(pairs)}" if level else ""
    )
    return f"Differences of {subject.metric} by unit, first arm minus second; blue where the first arm is better.{band}{left_out(subject, len(pairs))}"


def draw_forest(canvas: Canvas, subject: Subject) -> str:
    """The effect of every tested pair with its interval, and the equivalence margin where one is declared."""
    pairs, chosen = leading(subject, subject.pairs)
    if chosen:  # all of one arm: it comes first where a test has no direction of its own
        best = subject.ordered[0]
        turned = [p.second == best and p.row.side == "two-sided" for p in pairs]
        pairs = [Pair(p.second, p.first, p.row.reversed()) if t else p for p, t in zip(pairs, turned, strict=True)]
    if len(pairs) > MANY_PAIRS:
        pairs.sort(key=lambda p: -np.inf if p.row.effect is None else -p.row.effect)
    names, pitch = pair_names(subject, pairs, "−")
    (ax,) = canvas.axes(1, 1, height=1.1 + pitch * max(len(pairs), 2))
    if not pairs:
        canvas.nothing(ax, "the audit compares no pair of arms")
        return "Effects of the tested pairs."
    ax.axvline(0, color=BLACK, linewidth=0.6)
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
        names[::-1],
        fontsize=pair_size(names),
    )
    ax.set_ylim(-0.7, len(pairs) - 0.3)
    effects = list(dict.fromkeys(p.row.effect_name for p in pairs if p.row.effect is not None))
    ax.set_xlabel(f"{' or '.join(effects) or 'effect'}, {shown(subject.metric)}")
    levels = [p.row.level for p in pairs if p.row.level is not None]
    shaded = f" Shaded: the equivalence margin of {margin:g}." if margin is not None else ""
    corrected = any(p.row.p_holm is not None for p in pairs)
    alone = ", of each pair alone, so that one can leave out 0 and be grey" if corrected else ""
    methods = cautions.kinds(subject, pairs, "interval_method")
    methods += ";" if "; " in methods else ","
    band = f" Intervals: {methods} level at least {min(levels):.1%}{alone}." if levels else ""
    band += cautions.plain_medians(pairs)
    counts = sorted({p.row.n for p in pairs})
    over = (
        counted(counts[0], "unit") if len(counts) == 1 else f"the {counts[0]} to {counts[-1]} units that have both arms"
    )
    ordered = ", the largest first" if len(pairs) > MANY_PAIRS else ""
    after = ", after the correction" if corrected else ""
    key = [f"{words} {meant}{after * (colour != GREY)}" for colour, (words, meant) in KEY.items() if colour in colours]
    key += ["hollow ones: none could have been"] if any(p.row.outcome == Outcome.UNTESTABLE for p in pairs) else []
    named = cautions.kinds(subject, pairs, "effect_name") if len(effects) > 1 else ""
    effect = "effect" if named else "".join(effects) or "effect"
    return (
        f"{effect[:1].upper()}{effect[1:]} {'of pairs' if chosen else 'of every pair'} over {over}, first arm minus second{ordered}"
        f"{f': {named}' if named else ''}.{band}"
        f" {'; '.join(key).capitalize()}.{shaded}{chosen}"
    )


def draw_heat(canvas: Canvas, subject: Subject) -> str:
    """Ranks of arms within every unit as a map, the best arm on the left, or on top where there are many; empty where there is no value."""
    arms, units = subject.ordered, list(subject.values.units)
    ranks = subject.values.ranks(subject.better)[:, [subject.values.arms.index(a) for a in arms]]
    down = len(arms) > MANY_ARMS  # arms below one another
    tall = 0.16 * len(arms) if down else 0.12 * min(max(len(units), 6), MANY_UNITS)
    (ax,) = canvas.axes(1, 1, height=(1.6 if down else 1.2) + tall)
    image = ax.imshow(
        ranks.T if down else ranks, aspect="auto", cmap="cividis_r", vmin=1, vmax=len(arms), interpolation="nearest"
    )
    if down:
        names, _ = beside(subject)
        ax.set_yticks(range(len(arms)), [names[a] for a in arms], fontsize=5)
        unit_ticks(ax, units, MANY_UNITS, across=True)
    else:
        names = arm_names(subject, 48, 24) if len(arms) > 4 else arm_names(subject, 48, 60 // len(arms))
        slanted = len(arms) > 4
        ax.set_xticks(
            range(len(arms)),
            [names[a] for a in arms],
            rotation=30 if slanted else 0,
            ha="right" if slanted else "center",
        )
        unit_ticks(ax, units, MANY_UNITS)
    if ranks.size <= WRITTEN:
        for (row, column), rank in np.ndenumerate(ranks.T if down else ranks):
            if np.isfinite(rank):
                colour = "white" if rank > (1 + len(arms)) / 2 else BLACK
                ax.text(column, row, f"{rank:g}", ha="center", va="center", fontsize=6.5, color=colour)
    ax.grid(visible=False)
    bar = canvas.figure.colorbar(image, ax=ax, shrink=0.6, pad=0.02)
    bar.set_label("rank within the unit (1 is best)")
    return f"Ranks by {subject.metric} of the arms on every unit ({', '.join(subject.unit)}), ties sharing; white where an arm has no value."


def pair_names(subject: Subject, pairs: Sequence[Pair], sign: str) -> tuple[list[str], float]:
    """How ``pairs`` are named beside an axis, in two lines where names are long, and the height of such a name in inches."""
    short = arm_names(subject, PAIRED)
    long = max((len(short[p.first]) + len(short[p.second]) for p in pairs), default=0) > LONGEST * 1.5
    names = [f"{short[p.first]}{NEW_LINE if long else ' '}{sign} {short[p.second]}" for p in pairs]
    return names, 0.25 if long else 0.2


def pair_size(names: Sequence[str]) -> float:
    """The size of the letters of such names."""
    longest = max(len(line) for name in names for line in name.splitlines())
    return 5 if longest > 1.5 * LONGEST else 6 if len(names) > MANY_PAIRS else 7


def _one_scale(set_scale: Callable[..., None], pair: Pair, values: NDArray[np.float64]) -> None:
    """A symmetric logarithmic axis where the sign test was used because units are not on one scale."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if pair.row.test == "sign" and sizes.size and sizes.max() / sizes.min() > 100:
        set_scale("symlog", linthresh=float(np.quantile(sizes, 0.1)))


def _name_first(axes: list[Axes], columns: int, metric: str) -> None:
    for k, ax in enumerate(axes):
        if k % columns == 0:
            ax.set_ylabel(shown(metric))

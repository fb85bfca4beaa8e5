"""Figures of Case B's widths: the interval score and its parts, the width budget of the OR head, and the ablation."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from orledger.paper.figures.b import ARMS, MARKERS, NOMINAL, NONE, SCALARS, regimes_of
from orledger.paper.looks import HEADS as MARKS_OF_HEADS
from orledger.paper.looks import look
from orledger.paper.names import HEADS, REGIMES
from orledger.reports.figures.figure import Canvas, FigureSpec, letter
from orledger.reports.figures.style import BLACK, GREY, spread
from orledger.schema.frames import as_number, the_number

BUDGET = """
WITH interval AS (SELECT cell_id, avg(w_int ORDER BY idx) AS w_int FROM b_main_series WHERE arm = 'or1' AND label IS NULL GROUP BY ALL)
SELECT regime, dataset, seed, rel, w_int, w_add, w_obs
FROM b_main JOIN interval USING (cell_id) WHERE arm = 'or1' AND label IS NULL AND w_int IS NOT NULL
ORDER BY regime, w_int + w_add + w_obs
"""

ABLATION = """
SELECT cell_id, dataset, arm, width_median AS median, width_mean AS mean, width_max AS max FROM b_ablation
WHERE label IS NULL AND coalesce(width_median, width_mean, width_max) IS NOT NULL ORDER BY ALL
"""

ABLATION_REFUSED = """
SELECT arm, count(*) AS refused FROM b_ablation WHERE refused IS NOT NULL GROUP BY ALL ORDER BY ALL
"""

ABLATION_CELLS = "SELECT count(*) AS n FROM b_ablation_cells WHERE state = 'done'"


def percent(share: float | None) -> str:
    """A share in whole per cent; one that is not zero is never written as zero, and none at all as nothing."""
    if share is None:
        return ""
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def draw_parts(canvas: Canvas) -> str:
    """The interval score split into width and penalty, and the penalty share of every cell."""
    data = canvas.rows(SCALARS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    regimes = regimes_of(data)
    axes = canvas.axes(1, len(regimes) + 1, height=3.3)
    shown = [a for a in ARMS if a in set(data["arm"].to_list())]
    tallest = 0.0
    for ax, regime in zip(axes, regimes, strict=False):
        for place, arm in enumerate(shown):
            part = data.filter((pl.col("regime") == regime) & (pl.col("arm") == arm)).drop_nulls("score")
            if part.is_empty():
                continue
            low, score, high = np.quantile(part["score"].to_numpy(), [0.25, 0.5, 0.75])
            share = as_number(part["penalty_share"].median()) or 0.0
            colour = look(arm).colour
            ax.bar(place, score * (1 - share), color=colour, width=0.7)
            ax.bar(
                place,
                score * share,
                bottom=score * (1 - share),
                color="white",
                ec=colour,
                hatch="////",
                width=0.7,
                lw=0.8,
            )
            ax.plot([place, place], [low, high], color=BLACK, lw=0.9)
            ax.text(place, high, percent(share), ha="center", va="bottom", fontsize=5.5)
            tallest = max(tallest, float(high))
        ax.set_title(REGIMES.get(regime, regime))
        ax.grid(False, axis="x")
    for ax in axes[:-1]:
        ax.set_ylim(0, 1.1 * tallest)  # one scale, with room for the share above the tallest bar
    axes[0].set_ylabel("median interval score")
    last = axes[-1]
    for place, arm in enumerate(shown):
        part = data.filter(pl.col("arm") == arm).drop_nulls("penalty_share")
        for regime in regimes:
            values = part.filter(pl.col("regime") == regime)["penalty_share"].to_list()
            at = [place + s for s in spread(len(values), 0.25)]
            last.plot(at, values, MARKERS.get(regime, "o"), color=look(arm).colour, ms=2.6, alpha=0.6)
        if not part.is_empty():
            last.plot(
                [place - 0.35, place + 0.35], [the_number(part["penalty_share"].median())] * 2, color=BLACK, lw=1.4
            )
    for ax in axes:
        ax.set_xticks(range(len(shown)), [look(a).name for a in shown], rotation=60, ha="right", fontsize=6)
    last.set_title("penalty share")
    handles = [
        Patch(color=GREY, label="width"),
        Patch(facecolor="white", edgecolor=GREY, hatch="////", label="penalty for misses"),
        Line2D([], [], color=BLACK, lw=0.9, label="quartiles"),
        *(
            Line2D([], [], ls="", marker=MARKERS.get(r, "o"), color=GREY, ms=3.5, label=REGIMES.get(r, r))
            for r in regimes
        ),
    ]
    canvas.figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    letter(axes)
    return (
        "Bars: median interval score over cells with its quartiles, the numbers of Table Barms, on one scale; lower is better. The score is twice the "
        "half-width plus a penalty for misses: a bar is divided by the median over cells of the penalty's share, which is written above it. "
        "Last panel: that share in every cell, black bars at the medians over all of them."
    )


def draw_budget(canvas: Canvas) -> str:
    """What each part of the OR head costs and buys."""
    data, budget = canvas.rows(SCALARS), canvas.rows(BUDGET)
    axes = canvas.axes(1, 3, height=2.9, width_ratios=[1, 1.5, 0.8])
    if budget.is_empty():
        for ax in axes:
            canvas.nothing(ax, NONE)
        return "No Case B cells with an OR head were run."
    for regime, line in (("iid", "-"), ("shift", "--")):
        spots = []
        for arm in ("or1_int", "or1_nf", "or1"):
            part = data.filter((pl.col("regime") == regime) & (pl.col("arm") == arm))
            if not part.is_empty():
                spots.append((the_number(part["width"].median()), the_number(part["coverage"].mean())))
                axes[0].plot(
                    *spots[-1],
                    look(arm).marker,
                    color=look(arm).colour,
                    ms=7,
                    label=look(arm).name if regime == "iid" else None,
                )
        if len(spots) > 1:
            axes[0].plot(*zip(*spots, strict=True), color=GREY, ls=line, lw=1, zorder=1, label=REGIMES[regime])
    axes[0].axhline(NOMINAL, color=GREY, lw=0.8, ls=":")
    axes[0].set(xlabel="median half-width", ylabel="coverage", title="what each part buys")
    axes[0].legend(fontsize=6)
    # The interval is an arm and keeps its colour; the two parts that are no arms are grey.
    parts = (
        ("w_int", look("or1_int").colour, "OR interval"),
        ("w_obs", "#BDBDBD", "noise allowance"),
        ("w_add", "#5F5F5F", "conformal floor"),
    )
    smallest = min(as_number(budget[name].filter(budget[name] > 0).min()) or 1.0 for name, _, _ in parts)
    foot, zeros = smallest / 2.5, 0
    start = 0
    for regime in [r for r in REGIMES if r in set(budget["regime"].to_list())]:
        rows = budget.filter(pl.col("regime") == regime)
        at = np.arange(start, start + len(rows))
        for name, colour, _ in parts:
            values = rows[name].to_numpy()
            axes[1].plot(at[values > 0], values[values > 0], "o", color=colour, ms=2.6)
            # Exactly zero has no place on a logarithmic axis: an arrow at its foot stands for it.
            nil = at[values == 0]
            axes[1].plot(nil, np.full(nil.size, foot), "v", color=colour, ms=3, mew=0)
            zeros += nil.size
        total = (rows["w_int"] + rows["w_add"] + rows["w_obs"]).to_numpy()
        axes[1].plot(at, total, color=look("or1").colour, lw=1.1)
        axes[1].text(
            at.mean(),
            1.01,
            REGIMES[regime],
            ha="center",
            va="bottom",
            fontsize=6,
            transform=axes[1].get_xaxis_transform(),
        )
        start += len(rows) + 3
    axes[1].set(yscale="log", xticks=[], ylabel="mean half-width")
    axes[1].set_ylim(bottom=foot / 1.6)
    for place, regime in enumerate(regimes_of(budget)):
        rows = budget.filter(pl.col("regime") == regime).with_columns(
            (pl.col("w_int") + pl.col("w_add") + pl.col("w_obs")).alias("total")
        )
        base = 0.0
        for name, colour, label in parts:
            share = the_number((rows[name] / rows["total"]).mean())
            axes[2].bar(place, share, bottom=base, color=colour, label=label if place == 0 else None)
            base += share
    axes[2].set_xticks(
        range(len(regimes_of(budget))),
        [REGIMES.get(r, r).replace(" ", "\n") for r in regimes_of(budget)],
        fontsize=6,
    )
    axes[2].set_title("mean shares")
    handles, names = axes[2].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower center", ncols=3)
    axes[1].set_title("every delivered cell")
    letter(axes, pad=16)
    return (
        f"The width budget of the OR head on {len(budget)} delivered cells: OR interval, noise allowance, conformal floor. "
        f"(b) Cells sorted by their total, the OR head (blue line); the {zeros} triangles at the foot are parts of exactly zero width, which a logarithmic axis "
        "cannot show. (c) Means over cells of the shares of each cell, which add up to one."
    )


def draw_ablation(canvas: Canvas) -> str:
    """The two-by-two ablation: refusals, and the width on three scales."""
    data, refused, planned = canvas.rows(ABLATION), canvas.rows(ABLATION_REFUSED), canvas.rows(ABLATION_CELLS)
    axes = canvas.axes(1, 4, height=2.3, sharey=True)
    total = planned["n"][0]
    if not total:
        for ax in axes:
            canvas.nothing(ax, "no Case B ablation in this database")
        return "No ablation cells were run."
    counts = dict(refused.iter_rows()) if not refused.is_empty() else {}
    for place, head in enumerate(HEADS):
        marker, fill = MARKS_OF_HEADS[head]
        lost = counts.get(head, 0)
        hatch = "////" if head.startswith("clamp") else None
        axes[0].barh(place, lost, height=0.55, color=fill, ec=BLACK, lw=0.8, hatch=hatch)
        axes[0].annotate(f"{lost}", (lost, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7)
        for ax, scale in zip(axes[1:], ("median", "mean", "max"), strict=True):
            values = np.sort(data.filter(pl.col("arm") == head).drop_nulls(scale)[scale].to_numpy())
            at = place + np.asarray(spread(values.size, 0.25))
            ax.plot(values, at, marker, color=BLACK, mfc=fill, mew=0.6, ms=3, alpha=0.8)
            if values.size:
                ax.plot([np.median(values)] * 2, [place - 0.38, place + 0.38], color=BLACK, lw=1.6)
            ax.set(xscale="log", title=f"{scale} half-width", xlabel="half-width")
    for ax in axes:
        ax.tick_params(axis="x", labelsize=6)
    axes[0].set(title="refused", xlabel=f"cells of {total}", xlim=(0, 1.2 * max([1, *counts.values()])))
    axes[0].set_yticks(range(len(HEADS)), list(HEADS.values()))
    axes[0].set_ylim(len(HEADS) - 0.4, -0.6)  # the first on top
    letter(axes)
    return (
        f"Two suspected defects crossed on {total} trained networks: clamping or dropping constant feature columns, and delivering from all "
        "rows or from the fit rows. Refusals are counted and never averaged into a width; the other panels show delivered heads only, bars at the medians. Squares and hatched bars: clamped; circles and plain bars: dropped; open: all rows."
    )


FIGURES = (
    FigureSpec("Bis", "b", "The interval score and its parts", draw_parts),
    FigureSpec("Bdecomp", "b", "The width budget of the OR head", draw_budget),
    FigureSpec("Babl", "b", "Which defect widened the bands", draw_ablation),
)

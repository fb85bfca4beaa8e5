"""Figures of Case B's widths: the interval score and its parts, the width budget of the OR head, and the ablation."""

from __future__ import annotations

import numpy as np
import polars as pl

from orledger.paper.figures.b import ARMS, MARKERS, NOMINAL, NONE, SCALARS, regimes_of
from orledger.paper.looks import look
from orledger.paper.names import HEADS, REGIMES
from orledger.reports.figures.figure import Canvas, FigureSpec, letter
from orledger.reports.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, spread

BUDGET = """
SELECT c.keys['regime'] AS regime, c.keys['dataset'] AS dataset, c.keys['seed']::INTEGER AS seed, c.keys['rel']::DOUBLE AS rel,
       avg(r.value ORDER BY r.idx) FILTER (r.metric = 'w_int') AS w_int, max(r.value) FILTER (r.metric = 'w_add') AS w_add,
       max(r.value) FILTER (r.metric = 'w_obs') AS w_obs
FROM record r JOIN cell c USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'main' AND c.state = 'done' AND r.arm = 'or1' AND r.label IS NULL
  AND r.metric IN ('w_int', 'w_add', 'w_obs')
GROUP BY ALL HAVING w_int IS NOT NULL ORDER BY regime, w_int + w_add + w_obs
"""

ABLATION = """
SELECT c.cell_id, c.keys['dataset'] AS dataset, r.arm, max(r.value) FILTER (r.metric = 'width_median') AS median,
       max(r.value) FILTER (r.metric = 'width_mean') AS mean, max(r.value) FILTER (r.metric = 'width_max') AS max
FROM record r JOIN cell c USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'ablation' AND c.state = 'done'
  AND r.metric IN ('width_median', 'width_mean', 'width_max') AND r.label IS NULL
GROUP BY ALL ORDER BY ALL
"""

ABLATION_REFUSED = """
SELECT f.arm, count(*) AS refused FROM refusal f JOIN cell c USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'ablation' GROUP BY ALL ORDER BY ALL
"""

ABLATION_CELLS = "SELECT count(*) AS n FROM cell WHERE case_name = 'b' AND block = 'ablation' AND state = 'done'"


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
    axes = canvas.axes(1, len(regimes) + 1, height=3.1)
    for ax, regime in zip(axes, regimes, strict=False):
        tallest = 0.0
        for place, arm in enumerate(ARMS):
            part = data.filter((pl.col("regime") == regime) & (pl.col("arm") == arm))
            if part.is_empty():
                continue
            width, penalty = part["is_width"].median(), part["is_penalty"].median()
            ax.bar(place, width, color=look(arm).colour, width=0.7)
            ax.bar(place, penalty, bottom=width, color="white", ec=look(arm).colour, hatch="////", width=0.7, lw=0.8)
            tallest = max(tallest, width + penalty)
            share = part["penalty_share"].median()
            ax.text(place, width + penalty, percent(share), ha="center", va="bottom", fontsize=6)
        ax.set_ylim(0, 1.12 * tallest)  # room for the share above the tallest bar
        ax.set_xticks(range(len(ARMS)), [look(a).name for a in ARMS], rotation=60, ha="right", fontsize=6)
        ax.set_title(REGIMES.get(regime, regime))
        ax.grid(False, axis="x")
    axes[0].set_ylabel("interval score (medians of its parts)")
    last = axes[-1]
    for place, arm in enumerate(ARMS):
        part = data.filter(pl.col("arm") == arm).drop_nulls("penalty_share")
        for regime in regimes:
            values = part.filter(pl.col("regime") == regime)["penalty_share"].to_list()
            last.plot(
                [place + s for s in spread(len(values), 0.25)],
                values,
                MARKERS.get(regime, "o"),
                color=look(arm).colour,
                ms=2.6,
                alpha=0.6,
            )
        if not part.is_empty():
            last.plot([place - 0.35, place + 0.35], [part["penalty_share"].median()] * 2, color=BLACK, lw=1.4)
    last.set_xticks(range(len(ARMS)), [look(a).name for a in ARMS], rotation=60, ha="right", fontsize=6)
    last.set_title("penalty share")
    letter(axes)
    return (
        "The interval score is twice the half-width plus a penalty for misses; it is never shown without both. Solid: median width "
        "part; hatched: median penalty. Above a bar: the median over cells of the penalty's share of the score, as in Table Barms; since the median "
        "of a ratio is not the ratio of medians, it can differ from what the bar shows. Last panel: the penalty share of every cell (circles "
        "i.i.d., squares covariate shift, diamonds widening shift), black bars at the medians over all of them."
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
                spots.append((part["width"].median(), part["coverage"].mean()))
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
    # A part has the colour of the arm that it completes in (a).
    parts = (("w_int", GREEN, "OR interval"), ("w_obs", SKY, "noise allowance"), ("w_add", BLUE, "conformal floor"))
    smallest = min(float(budget[name].filter(budget[name] > 0).min() or 1.0) for name, _, _ in parts)
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
        axes[1].plot(at, total, color=GREY, lw=0.9)
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
            share = (rows[name] / rows["total"]).median()
            axes[2].bar(place, share, bottom=base, color=colour, label=label if place == 0 else None)
            base += share
    axes[2].set_xticks(
        range(len(regimes_of(budget))),
        [REGIMES.get(r, r).replace(" ", "\n") for r in regimes_of(budget)],
        fontsize=6,
    )
    axes[2].set_title("median shares")
    handles, names = axes[2].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower center", ncols=3)
    axes[1].set_title("every delivered cell")
    letter(axes, pad=16)
    return (
        f"The width budget of the OR head on {len(budget)} delivered cells: OR interval, noise allowance, conformal floor. "
        f"(b) Cells sorted by their total (grey line); the {zeros} triangles at the foot are parts of exactly zero width, which a logarithmic axis "
        "cannot show. (c) Medians of per-cell shares, which need not add up to one."
    )


def draw_ablation(canvas: Canvas) -> str:
    """The two-by-two ablation: refusals, and the width on three scales."""
    data, refused, planned = canvas.rows(ABLATION), canvas.rows(ABLATION_REFUSED), canvas.rows(ABLATION_CELLS)
    axes = canvas.axes(1, 4, height=3.1)
    total = planned["n"][0]
    if not total:
        for ax in axes:
            canvas.nothing(ax, "no Case B ablation in this database")
        return "No ablation cells were run."
    counts = dict(refused.iter_rows()) if not refused.is_empty() else {}
    colours = dict(zip(HEADS, (RED, ORANGE, GREEN, BLUE), strict=True))
    for place, head in enumerate(HEADS):
        axes[0].bar(place, counts.get(head, 0), color=colours[head])
        axes[0].text(
            place, counts.get(head, 0), f"{counts.get(head, 0)}/{total}", ha="center", va="bottom", fontsize=6.5
        )
        for ax, scale in zip(axes[1:], ("median", "mean", "max"), strict=True):
            values = np.sort(data.filter(pl.col("arm") == head).drop_nulls(scale)[scale].to_numpy())
            ax.plot(place + np.asarray(spread(values.size, 0.25)), values, "o", color=colours[head], ms=2.8, alpha=0.7)
            if values.size:
                ax.plot([place - 0.35, place + 0.35], [np.median(values)] * 2, color=BLACK, lw=1.4)
            ax.set(yscale="log", title=f"{scale} half-width")
        for ax in axes:
            ax.set_xticks(range(len(HEADS)), list(HEADS.values()), rotation=50, ha="right", fontsize=6)
    axes[0].set_title("refused")
    axes[0].set_ylim(0, 1.1 * max([1, *counts.values()]))  # room for the counts above the bars
    letter(axes)
    return (
        f"Two suspected defects crossed on {total} trained networks: clamping or dropping constant feature columns, and delivering from all "
        "rows or from the fit rows. Refusals are counted and never averaged into a width; the other panels show delivered heads only."
    )


FIGURES = (
    FigureSpec("Bis", "b", "The interval score and its parts", draw_parts),
    FigureSpec("Bdecomp", "b", "The width budget of the OR head", draw_budget),
    FigureSpec("Babl", "b", "Which defect widened the bands", draw_ablation),
)

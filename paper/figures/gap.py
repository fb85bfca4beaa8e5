"""Figures of Case B's one-dimensional gap task: the bands, their widths, and the scores by region."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from orledger.paper.figures.a import quartiles
from orledger.paper.looks import look
from orledger.paper.names import REGIONS, SCALES
from orledger.reports.figures.figure import Canvas, FigureSpec, letter
from orledger.reports.figures.style import BLACK, GREY
from orledger.schema.frames import as_number, the_number

ARMS = ("dak", "cp", "ncp", "triv", "or1", "or1_int")
NONE = "no Case B gap task in this database"

BANDS = """
SELECT seed, arm, idx AS point, center, half FROM b_gap_series
WHERE scale = 'frozen' AND coalesce(center, half) IS NOT NULL ORDER BY seed, arm, point
"""

TRUTH = """
SELECT idx AS point, max(x) AS x, max(y) AS y FROM b_gap_series WHERE arm = 'truth' GROUP BY ALL ORDER BY point
"""

NOISE = """
SELECT seed, w_obs, kappa_star AS kappa FROM b_gap WHERE scale = 'frozen' AND arm = 'or1' AND label IS NULL ORDER BY seed
"""

LEVEL = """
SELECT max(n_cal / (n_cal + 1)) AS level FROM b_gap WHERE arm = 'cell'
"""

REGION_SCORES = """
SELECT seed, scale, arm, label AS region, coverage, interval_score AS score FROM b_gap
WHERE label IN ('gap', 'ind', 'ext') ORDER BY scale, seed, arm, region
"""


def median_seed(noise: pl.DataFrame) -> int:
    """The seed whose conformal inflation is the (lower) median; the smallest seed when it is not recorded."""
    ranked = noise.drop_nulls("kappa").sort("kappa", "seed")
    return int(ranked["seed"][(len(ranked) - 1) // 2]) if len(ranked) else int(as_number(noise["seed"].min()) or 0)


def draw_bands(canvas: Canvas) -> str:
    """The bands on the median seed, and every seed's width profile."""
    data, truth = canvas.rows(BANDS), canvas.rows(TRUTH)
    noise = canvas.rows(NOISE)
    axes = canvas.axes(1, 2, height=3.5)
    if data.is_empty() or truth.is_empty():
        for ax in axes:
            canvas.nothing(ax, NONE)
        return "The gap task was not run."
    seed = median_seed(noise) if not noise.is_empty() else int(the_number(data["seed"].min()))
    x = truth["x"].to_numpy()
    joined = data.join(truth, on="point").sort("seed", "arm", "point")
    axes[0].plot(x, truth["y"], color=BLACK, lw=1.2, label="truth")
    for arm in ARMS:
        line = joined.filter((pl.col("seed") == seed) & (pl.col("arm") == arm))
        if line.is_empty():
            continue
        style = look(arm)
        low, high = line["center"] - line["half"], line["center"] + line["half"]
        if arm == "or1":
            axes[0].fill_between(line["x"], low, high, color=style.colour, alpha=0.18, lw=0)
        axes[0].plot(line["x"], low, color=style.colour, ls=style.line, lw=1)
        axes[0].plot(line["x"], high, color=style.colour, ls=style.line, lw=1, label=style.name)
    reach = np.ptp(truth["y"].to_numpy())
    bottom, top = axes[0].get_ylim()
    limits = max(bottom, truth["y"].min() - 2 * reach), min(top, truth["y"].max() + 2 * reach)
    cut = " The vertical range is cut for legibility." if limits != (bottom, top) else ""
    axes[0].set(xlabel="x", ylabel="y", title=f"seed {seed}", ylim=limits)
    for arm in ARMS:
        style = look(arm)
        line = quartiles(joined.filter(pl.col("arm") == arm), ["x"], "half")
        if line.is_empty():
            continue
        axes[1].fill_between(line["x"], line["low"], line["high"], color=style.colour, alpha=0.15, lw=0)
        axes[1].plot(line["x"], line["mid"], color=style.colour, ls=style.line, lw=1.1, label=style.name)
    allowance = as_number(noise["w_obs"].median())
    if allowance is not None:
        name = r"$1.96\,\hat\sigma$, median over seeds"
        axes[1].axhline(allowance, color=BLACK, lw=1, ls=(0, (6, 2, 1, 2)), label=name)
    axes[1].set(yscale="log", xlabel="x", ylabel="half-width", title=f"over {joined['seed'].n_unique()} seeds")
    for ax in axes:
        for edge in (-3, -1, 1, 3):
            ax.axvline(edge, color="#C8C8C8", lw=0.6, zorder=0)
    # One legend for both panels; the handles come from (a), where lines are not transparent.
    named = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    named |= dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    canvas.figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4)
    letter(axes)
    return (
        f"The gap task with one frozen feature scale. (a) Six bands on seed {seed}, the median seed by conformal inflation.{cut} "
        "(b) Half-width over all seeds, median and interquartile band. Vertical lines bound the design gap and the extrapolation."
    )


def draw_regions(canvas: Canvas) -> str:
    """Coverage and interval score by region, arm and scale mode, every seed."""
    data = canvas.rows(REGION_SCORES)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "The gap task was not run."
    level = canvas.rows(LEVEL)["level"][0]
    scales = [s for s in ("frozen", "train") if s in set(data["scale"].to_list())]
    axes = canvas.axes(2, 3, height=4.6, sharex=True, sharey="row")
    for column, region in enumerate(REGIONS):
        for row, metric in enumerate(("coverage", "score")):
            ax = axes[3 * row + column]
            for place, arm in enumerate(ARMS):
                for side, scale in enumerate(scales):
                    values = (
                        data.filter((pl.col("region") == region) & (pl.col("arm") == arm) & (pl.col("scale") == scale))
                        .sort("seed")[metric]
                        .to_numpy()
                    )
                    at = place + (side - (len(scales) - 1) / 2) * 0.4
                    ax.plot(
                        np.full(values.size, at),
                        values,
                        look(arm).marker,
                        color=look(arm).colour,
                        ms=2.8,
                        mew=0.7,
                        alpha=0.75,
                        mfc=look(arm).colour if scale == "frozen" else "none",
                    )
                    if values.size:
                        ax.plot([at - 0.16, at + 0.16], [np.median(values)] * 2, color=BLACK, lw=1.3)
            if metric == "coverage":
                if level is not None:
                    ax.axhline(level, color=GREY, lw=0.8, ls="--")
                ax.set_title(REGIONS[region])
            else:
                ax.set_yscale("log")
            ax.set_xticks(range(len(ARMS)), [look(a).name for a in ARMS], rotation=60, ha="right", fontsize=6)
    axes[0].set_ylabel("coverage of the truth")
    axes[3].set_ylabel("interval score")
    handles = [
        Line2D([], [], ls="", marker="o", color=GREY, mfc=GREY if scale == "frozen" else "none", label=SCALES[scale])
        for scale in scales
    ]
    canvas.figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    letter(axes)
    return (
        "Coverage and interval score by region, one vertical scale in each row, every seed, black bars at the medians. Filled marks: one frozen feature scale; open marks: the released "
        "behaviour, which rescales by the evaluated batch. The dashed line is the conformal level n/(n + 1)."
    )


FIGURES = (
    FigureSpec("B", "b", "The gap task: bands and widths", draw_bands),
    FigureSpec("Bregions", "b", "The gap task by region", draw_regions),
)

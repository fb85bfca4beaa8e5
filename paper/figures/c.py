"""Figures of Case C: regret, per-seed outcomes, inertness against dispersion, and the criterion tested."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.patches import Rectangle

from orledger.paper.figures.a import quartiles
from orledger.paper.looks import look
from orledger.paper.names import RUNGS, rung_pair
from orledger.paper.names import benchmark as benchmark_name
from orledger.reports.figures.figure import Canvas, FigureSpec, letter, power, words
from orledger.reports.figures.style import BLACK, GREY, RED

ARMS = ("ei", "ucb", "k1", "k2", "k5")
# Pairs of rungs are no arms: they are shades of grey, told apart by their markers.
PAIRS = (("1-2", 1.0, "#A8A8A8", "o"), ("2-5", 3.0, "#606060", "s"), ("1-5", 4.0, "#1A1A1A", "^"))
FLOOR = 1e-6  # below this the paper's mu grid cannot resolve a dispersion, and nor do we quote one
NONE = "no Case C trajectories in this database"
BANDED = ("ei", "k1")  # arms whose spread is drawn: five bands over each other would hide all of them

REGRET = """
SELECT concat_ws(' ', benchmark, dim) AS benchmark, seed, arm, idx AS step, regret FROM c_main_series
WHERE regret IS NOT NULL ORDER BY 1, seed, arm, step
"""

DISPERSION = """
SELECT concat_ws(' ', benchmark, dim) AS benchmark, median(osc / mean_c) AS dispersion FROM c_main_series
WHERE arm = 'k1' AND label IS NULL GROUP BY 1 ORDER BY 2, 1
"""

CRITERION = """
SELECT concat_ws(' ', benchmark, dim) AS benchmark, seed, arm, idx AS step, split_part(label, '/', 1) AS pair, max(same) AS same,
       max(fires) FILTER (label LIKE '%/osc/low') AS fires, max(ratio) FILTER (label LIKE '%/osc/low') AS ratio
FROM c_main_series WHERE coalesce(same, fires, ratio) IS NOT NULL
GROUP BY ALL ORDER BY 1, seed, arm, step, pair
"""


def title_of(key: str) -> str:
    """The name for people of a test function, given as its key and dimension with a space between."""
    name, _, dim = key.partition(" ")
    return benchmark_name(name, float(dim) if dim else None)


def draw_mechanism(canvas: Canvas) -> str:
    """Inertness of the kappa ladder against radius dispersion, by pair and on one axis."""
    dispersion = canvas.rows(DISPERSION)
    axes = canvas.axes(1, 2, height=3.0)
    if dispersion.is_empty():
        for ax in axes:
            canvas.nothing(ax, NONE)
        return "No trajectories were run."
    for nth, (pair, delta, colour, marker) in enumerate(PAIRS):
        found = [
            (place, value, row)
            for place, (benchmark, value) in enumerate(dispersion.iter_rows())
            if (row := canvas.test(f"H4/inert-{pair}/{benchmark.partition(' ')[0]}")) is not None
            and row.effect is not None and row.low is not None and row.high is not None
        ]  # fmt: skip
        if not found:
            continue
        places, values, rows = zip(*found, strict=True)
        share = np.array([row.effect for row in rows])
        ends = np.abs(np.array([[row.low for row in rows], [row.high for row in rows]]) - share)
        style = {"yerr": ends, "color": colour, "ms": 4, "elinewidth": 0.6, "capsize": 2}
        axes[0].errorbar(
            np.array(places) + 0.14 * (nth - 1), share, fmt=f"{marker}-", lw=1, label=rung_pair(pair), **style
        )
        below = FLOOR * 10 ** (-0.8 + 0.3 * nth)  # side by side inside the shaded band, where no order is claimed
        at = np.array(values)
        axes[1].errorbar(np.where(at < FLOOR, below, delta * at), share, fmt=marker, **style)
    axes[0].set_xticks(
        range(dispersion.height),
        [f"{title_of(b)}\n{f'< {power(FLOOR)}' if d < FLOOR else f'{d:.2g}'}" for b, d in dispersion.iter_rows()],
        fontsize=6,
    )
    axes[0].set(ylim=(-0.03, 1.05), ylabel="seeds with one action path", title="ordered by radius dispersion")
    axes[1].axvspan(FLOOR / 10, FLOOR, color="#EFEFEF", zorder=0)
    axes[1].set(xscale="log", ylim=(-0.03, 1.05), xlabel="|Δκ| · osc(c) / mean(c)", title="one covariate")
    if not canvas.cited.rows:
        for ax in axes:
            canvas.nothing(ax, "the audit has no row for these benchmarks")
        return "The shares of seeds with one action path are rows of an audit."
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.figure.legend(handles, labels, loc="outside lower center", ncols=3)
    letter(axes)
    tests = canvas.cited.tests()
    return (
        "How often OR-LCB takes exactly the same candidates at every step under two multiples of the floor, with 95% intervals "
        f"({words(r.interval_method for r in tests)}); the unit is the seed, n = {words(str(r.n) for r in tests)}. The number under a benchmark is its radius dispersion: "
        "oscillation of the certified width over its "
        f"mean, median over the steps and seeds of OR-LCB 1×. Dispersions below {power(FLOOR)} are drawn side by side in the shaded band and "
        "are not to be compared with each other."
    )


def draw_regret(canvas: Canvas) -> str:
    """Median regret per benchmark, overlays made visible by line width."""
    data, spread = canvas.rows(REGRET), canvas.rows(DISPERSION)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No trajectories were run."
    order = spread["benchmark"].to_list() or data["benchmark"].unique().sort().to_list()
    axes = canvas.axes(1, len(order), height=2.6)
    for ax, benchmark in zip(axes, order, strict=True):
        part = data.filter(pl.col("benchmark") == benchmark)
        for arm in ARMS:
            style = look(arm)
            line = quartiles(part.filter(pl.col("arm") == arm), ["step"], "regret")
            if arm in BANDED:
                ax.fill_between(line["step"], line["low"], line["high"], color=style.colour, alpha=0.16, lw=0)
            ax.plot(line["step"], line["mid"], color=style.colour, ls=style.line, lw=1.3, label=style.name)
        ax.set(yscale="log", xlabel="step", title=title_of(benchmark))
        ax.annotate(f"n = {part['seed'].n_unique()}", (0.95, 0.92), xycoords="axes fraction", ha="right", fontsize=6.5)
    axes[0].set_ylabel("simple regret")
    handles, names = axes[0].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower center", ncols=5)
    letter(axes)
    return (
        "Simple regret after every step: median over n seeds, with the interquartile bands of EI and OR-LCB 1× ("
        "Figure Cfin has every seed of every arm). Benchmarks in the order of their radius dispersion. Later arms are drawn over earlier ones in dashes and dots, so that lines which coincide show through each other. "
        "The vertical scales differ between benchmarks."
    )


def draw_final(canvas: Canvas) -> str:
    """Final regret of every seed under every arm."""
    data = canvas.rows(REGRET)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No trajectories were run."
    last = data.filter(pl.col("step") == pl.col("step").max().over("benchmark", "seed", "arm"))
    order = canvas.rows(DISPERSION)["benchmark"].to_list() or last["benchmark"].unique().sort().to_list()
    axes = canvas.axes(1, len(order), height=2.5)
    for ax, benchmark in zip(axes, order, strict=True):
        wide = last.filter(pl.col("benchmark") == benchmark).pivot("arm", index="seed", values="regret").sort("seed")
        present = [a for a in ARMS if a in wide.columns]
        values = wide.select(present).to_numpy()
        ax.plot(range(len(present)), values.T, color="#B0B0B0", lw=0.7, zorder=1)
        for place, arm in enumerate(present):
            ax.plot(
                np.full(len(values), place), values[:, place], look(arm).marker, color=look(arm).colour, ms=3, zorder=2
            )
            ax.plot([place - 0.3, place + 0.3], [np.nanmedian(values[:, place])] * 2, color=BLACK, lw=1.5, zorder=3)
        ax.set_xticks(range(len(present)), [RUNGS.get(a, look(a).name) for a in present], fontsize=6)
        ax.set_title(title_of(benchmark), fontsize=7.5)
    axes[0].set_ylabel("final simple regret")
    letter(axes)
    return (
        f"Final simple regret of all {last['seed'].n_unique()} seeds under EI, UCB and OR-LCB at 1×, 2× and 5× its floor (grey lines follow a seed across the "
        "arms; black bars are medians). A level segment is an exact tie."
    )


def draw_criterion(canvas: Canvas) -> str:
    """The sufficient condition against what the minimiser did, four ways."""
    data = canvas.rows(CRITERION).drop_nulls(["same", "fires"])
    axes = canvas.axes(2, 2, height=4.6)
    if data.is_empty():
        for ax in axes:
            canvas.nothing(ax, NONE)
        return "No trajectories were run."
    counts = {
        (f, s): data.filter((pl.col("fires") == f) & (pl.col("same") == s)).height for f in (1, 0) for s in (1, 0)
    }
    grid = np.array([[counts[1, 1], counts[1, 0]], [counts[0, 1], counts[0, 0]]])
    axes[0].imshow(
        np.log10(grid + 1), cmap="Greys", vmin=0, vmax=np.log10(grid.max() + 1) * 2.4
    )  # light enough for black figures
    for (i, j), value in np.ndenumerate(grid):
        axes[0].text(
            j, i, f"{value:,}", ha="center", va="center", fontsize=10, color=RED if (i, j) == (0, 1) else BLACK
        )
    axes[0].add_patch(Rectangle((0.5, -0.5), 1, 1, fill=False, ec=RED, lw=1.5))
    axes[0].set_xticks([0, 1], ["same minimiser", "it moved"])
    axes[0].set_yticks([0, 1], ["fires", "silent"])
    axes[0].set_title("one step")
    axes[0].grid(False)
    edges = [0, 0.5, 1, 1.5, 2.5, 10, 1e3, np.inf]
    names = ["< 0.5", "0.5–1", "1–1.5", "1.5–2.5", "2.5–10", "10–10³", "> 10³"]
    ratio, same = data.drop_nulls("ratio")["ratio"].to_numpy(), data.drop_nulls("ratio")["same"].to_numpy()
    bins = np.digitize(ratio, edges[1:-1])
    shares = [float(same[bins == place].mean()) if (bins == place).any() else np.nan for place in range(len(names))]
    axes[1].plot(range(len(names)), shares, "o-", color=BLACK, lw=0.8)
    axes[1].axvline(1.5, color=RED, lw=0.8, ls="--")
    counted = [f"{name}\n{int((bins == place).sum()):,}" for place, name in enumerate(names)]
    axes[1].set_xticks(range(len(names)), counted, fontsize=5.5)
    axes[1].set(
        ylim=(-0.03, 1.06),
        xlabel="|Δκ| osc(c) / gap, with the number of records",
        ylabel="same minimiser",
        title="by margin ratio",
    )
    cells = (
        data.group_by("benchmark", "pair").agg(pl.col("fires").mean(), pl.col("same").mean()).sort("benchmark", "pair")
    )
    for pair, _, colour, marker in PAIRS:
        part = cells.filter(pl.col("pair") == pair)
        axes[2].plot(part["fires"], part["same"], marker, color=colour, label=rung_pair(pair))
    axes[2].plot([0, 1], [0, 1], color=GREY, lw=0.8)
    axes[2].set(xlabel="fraction of steps it fires", ylabel="fraction of steps unchanged", title="benchmark × pair")
    axes[2].legend()
    whole = (
        data.group_by("benchmark", "seed", "arm", "pair")
        .agg(pl.col("fires").mean(), pl.col("same").min())
        .sort("benchmark", "seed", "arm", "pair")
    )
    whole = whole.filter(pl.col("arm") == "k1")
    at = [k / 10 for k in range(11)]
    for flag, line, name in ((1, "-", "path unchanged"), (0, "--", "path changed")):
        axes[3].hist(
            whole.filter(pl.col("same") == flag)["fires"],
            bins=at,
            histtype="step",
            color=BLACK,
            ls=line,
            lw=1.4,
            label=name,
        )
    axes[3].set(
        xlabel="fraction of steps it fires", ylabel="trajectories × pairs", title="whole trajectories of OR-LCB 1×"
    )
    axes[3].legend()
    letter(axes)
    fired = counts[1, 1] + counts[1, 0]
    silent = counts[0, 1] + counts[0, 0]
    share = counts[0, 1] / silent if silent else 0.0
    return (
        f"The margin condition over {fired + silent:,} records: it fired on {fired:,} and the minimiser moved on {counts[1, 0]:,} of "
        f"those (the framed cell, the only one that could refute it). It is conservative: of the {silent:,} silent records "
        f"{share:.1%} kept their minimiser all the same. (b) Shares without intervals: the steps of one trajectory are not independent. (c) One mark per benchmark and pair of multiples; on the diagonal the condition "
        "would be exact."
    )


FIGURES = (
    FigureSpec("Cmech", "c", "Inertness of the ladder against radius dispersion", draw_mechanism),
    FigureSpec("C", "c", "Regret", draw_regret),
    FigureSpec("Cfin", "c", "Final regret, every seed", draw_final),
    FigureSpec("Cinv", "c", "The margin condition against the minimiser", draw_criterion),
)

"""Figures of Case A: the parameter-choice rules, their stability, and what they select."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from orledger.paper.looks import GRIDS, look
from orledger.reports.figures.figure import Canvas, FigureSpec, letter
from orledger.reports.figures.style import BLACK, GREY, VIOLET, spread
from orledger.schema.frames import as_number

RULES = ("released", "morozov", "ml2", "gcv", "lcurve", "oracle")
DEPLOYABLE = RULES[:-1]

SELECTED = """
SELECT grid, level, seed, arm AS rule, rmse, lam2 FROM a_rules
WHERE label IS NULL AND arm IN ('released', 'morozov', 'ml2', 'gcv', 'lcurve', 'oracle') AND coalesce(rmse, lam2) IS NOT NULL
ORDER BY grid DESC, level, seed, rule
"""

SOLVES = """
SELECT * EXCLUDE (cell_id) FROM (
    SELECT cell_id, 'rules' AS block, grid, level, seed, NULL AS backend, idx AS position, lam2, rmse FROM a_rules_series WHERE arm = 'solve'
    UNION ALL BY NAME
    SELECT cell_id, 'floor' AS block, grid, level, backend, idx AS position, lam2, rmse FROM a_floor_series WHERE arm = 'solve')
WHERE coalesce(lam2, rmse) IS NOT NULL
ORDER BY block, grid DESC, level, seed, backend, cell_id, position
"""

OTHER_BACKEND = """
SELECT backend, level, seed, arm AS rule, rmse FROM a_portability
WHERE label IS NULL AND arm IN ('released', 'morozov', 'oracle') AND rmse IS NOT NULL
ORDER BY backend, level, seed, rule
"""


def grids_of(frame: pl.DataFrame) -> list[int]:
    """The collocation grids present, finest first."""
    return sorted(frame["grid"].unique().to_list(), reverse=True)


def quartiles(frame: pl.DataFrame, by: list[str], value: str) -> pl.DataFrame:
    """Median and quartiles of ``value`` for each group of ``by``."""
    return (
        frame.group_by(by)
        .agg(
            pl.col(value).median().alias("mid"),
            pl.col(value).quantile(0.25, "linear").alias("low"),
            pl.col(value).quantile(0.75, "linear").alias("high"),
        )
        .sort(by)
    )


def seed_cv(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Coefficient of variation (ddof 1) of the RMSE over noise seeds, for each group of ``by`` with two seeds or more."""
    return (
        frame.group_by(by)
        .agg((pl.col("rmse").std(ddof=1) / pl.col("rmse").mean()).alias("cv"), pl.len().alias("n"))
        .filter(pl.col("n") > 1)
        .sort(by)
    )


def draw_profile(canvas: Canvas) -> str:
    """Test RMSE against noise for the six rules, one panel per grid."""
    data = canvas.rows(SELECTED)
    axes = canvas.axes(1, max(1, len(grids_of(data))), height=3.1, sharey=True)
    if data.is_empty():
        canvas.nothing(axes[0], "no Case A rules in this database")
        return "No Case A rules were run."
    for ax, grid in zip(axes, grids_of(data), strict=True):
        here = data.filter(pl.col("grid") == grid)
        noisy = quartiles(here.filter(pl.col("level") > 0), ["rule", "level"], "rmse")
        for rule in RULES:
            style = look(rule)
            line = noisy.filter(pl.col("rule") == rule)
            ax.plot(
                line["level"], line["mid"], color=style.colour, marker=style.marker, ls=style.line, label=style.name
            )
            ax.fill_between(line["level"], line["low"], line["high"], color=style.colour, alpha=0.13, lw=0)
            clean = as_number(here.filter((pl.col("rule") == rule) & (pl.col("level") == 0))["rmse"].median())
            if clean is not None:
                ax.axhline(clean, color=style.colour, lw=0.6, ls=":")
        ax.set(xscale="log", yscale="log", xlabel="relative noise", title=f"{grid}² collocation points")
    axes[0].set_ylabel("median test RMSE")
    handles, names = axes[0].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower center", ncols=6)
    letter(axes)
    seeds = data["seed"].n_unique()
    return (
        f"Test RMSE of the solution each rule selects, median over {seeds} noise seeds with the interquartile band. "
        "Dotted horizontals mark the median without noise. Both axes are logarithmic."
    )


def draw_lam2(canvas: Canvas) -> str:
    """The selected data-fit weight against noise, a panel for each rule and grid, the oracle's beside it."""
    data = canvas.rows(SELECTED).filter(pl.col("level") > 0)
    weights = sorted(canvas.rows(SOLVES).filter(pl.col("block") == "rules")["lam2"].unique().to_list())
    grids = grids_of(data)
    axes = canvas.axes(
        max(1, len(grids)), len(DEPLOYABLE), height=1.0 + 1.45 * max(1, len(grids)), sharex=True, sharey=True
    )
    if data.is_empty():
        for ax in axes:
            ax.set_axis_off()
        canvas.nothing(axes[0], "no noisy Case A rules in this database")
        return "No noisy Case A cells were run."
    for row, grid in enumerate(grids):
        here = data.filter(pl.col("grid") == grid)
        best = quartiles(here.filter(pl.col("rule") == "oracle"), ["level"], "lam2")
        for column, rule in enumerate(DEPLOYABLE):
            ax = axes[row * len(DEPLOYABLE) + column]
            for weight in weights:
                ax.axhline(weight, color="#D8D8D8", lw=0.5, zorder=0)
            ax.plot(best["level"], best["mid"], color=BLACK, lw=0.9, ls=look("oracle").line, zorder=1)
            style = look(rule)
            counted = here.filter(pl.col("rule") == rule).group_by("level", "lam2").len().sort("level", "lam2")
            middle = quartiles(here.filter(pl.col("rule") == rule), ["level"], "lam2")
            ax.plot(middle["level"], middle["mid"], color=style.colour, lw=1.1, zorder=2)
            ax.scatter(
                counted["level"], counted["lam2"], s=7 * counted["len"].to_numpy(), color=style.colour, lw=0, zorder=3
            )
            ax.set(xscale="log", yscale="log")
            ax.margins(x=0.12, y=0.1)
            ax.grid(False)
            if row == 0:
                ax.set_title(style.name)
            if row == len(grids) - 1:
                ax.set_xlabel("relative noise")
            if column == 0:
                ax.set_ylabel(f"weight λ₂, {grid}² points")
    handles = [
        *(Line2D([], [], ls="", marker="o", color=GREY, mew=0, ms=(7 * n) ** 0.5, label=text) for n, text in ((1, "1 seed"), (5, "5 seeds"))),
        Line2D([], [], color=GREY, lw=1.1, label="median"),
        Line2D([], [], color=BLACK, lw=0.9, ls=look("oracle").line, label="median of the oracle"),
    ]  # fmt: skip
    canvas.figure.legend(handles=handles, loc="outside lower center", ncols=4)
    letter(axes)
    return (
        f"The data-fit weight each rule selects, for {data['seed'].n_unique()} noise seeds at each level: the area of a mark is the number of seeds, the line their "
        "median, the dotted line the median of the oracle. Faint horizontals are the admissible weights, so the distance between two rules can be "
        "counted in grid steps. Upper row: the finest grid."
    )


def draw_inefficiency(canvas: Canvas) -> str:
    """Rule over oracle on a log scale, every noisy cell drawn."""
    data = canvas.rows(SELECTED).filter(pl.col("level") > 0)
    axes = canvas.axes(1, max(1, len(grids_of(data))), height=2.9, sharey=True)
    if data.is_empty():
        canvas.nothing(axes[0], "no noisy Case A rules in this database")
        return "No noisy Case A cells were run."
    oracle = data.filter(pl.col("rule") == "oracle").select("grid", "level", "seed", pl.col("rmse").alias("best"))
    ratio = data.join(oracle, on=["grid", "level", "seed"]).with_columns(
        (pl.col("rmse") / pl.col("best")).alias("ratio")
    )
    medians = []
    for ax, grid in zip(axes, grids_of(data), strict=True):
        for place, rule in enumerate(DEPLOYABLE):
            style = look(rule)
            values = ratio.filter((pl.col("grid") == grid) & (pl.col("rule") == rule)).sort("ratio")["ratio"].to_numpy()
            at = place + np.asarray(spread(values.size, 0.28))
            ax.plot(at, values, style.marker, color=style.colour, ms=3, alpha=0.7)
            middle = float(np.median(values))
            ax.plot([place - 0.38, place + 0.38], [middle] * 2, color=BLACK, lw=1.4)
            if grid == grids_of(data)[0]:
                medians.append(f"{style.name} {middle:.3g}×")
        ax.set_xticks(range(len(DEPLOYABLE)), [look(r).name for r in DEPLOYABLE])
        ax.set_title(f"{grid}² collocation points")
        ax.axhline(1, color=GREY, lw=0.7)
        ax.set_yscale("log")
    axes[0].set_ylabel("test RMSE, rule / oracle")
    letter(axes)
    return (
        f"Loss against the rule that sees the test set: one mark for each of the {len(oracle.filter(pl.col('grid') == grids_of(data)[0]))} noisy cells (level, seed) of a grid, "
        f"black bars at their medians. Median ratios on the finest grid: {', '.join(medians)}."
    )


def draw_stability(canvas: Canvas) -> str:
    """Seed dispersion of the RMSE: by level, pooled, and at fixed weights over the repeat-run floor."""
    data = canvas.rows(SELECTED).filter(pl.col("level") > 0)
    solves = canvas.rows(SOLVES)
    axes = canvas.axes(1, 3, height=3.1)
    cv = seed_cv(data, ["grid", "level", "rule"]) if not data.is_empty() else data
    if cv.is_empty():
        for ax in axes:
            canvas.nothing(ax, "fewer than two noise seeds")
        return "A dispersion over noise seeds needs at least two of them."
    for rule in RULES:
        style = look(rule)
        for nth, grid in enumerate(grids_of(cv)[:2]):
            line = cv.filter((pl.col("rule") == rule) & (pl.col("grid") == grid))
            axes[0].plot(
                line["level"],
                line["cv"],
                color=style.colour,
                marker=style.marker,
                ms=3.2,
                mfc="white" if nth else style.colour,
                lw=0.8 if nth else 1.2,
                ls=(0, (1, 1.2)) if nth else "-",
                label=None if nth else style.name,
            )
    axes[0].set(xscale="log", yscale="log", xlabel="relative noise", ylabel="seed CV of RMSE", title="by level")
    handles, names = axes[0].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower left", ncols=3, title="(a), (b)", alignment="left")
    groupings = [(f"{g}²", cv.filter(pl.col("grid") == g)) for g in grids_of(cv)]
    if len(groupings) > 1:
        groupings.append(("pooled", cv))
    for place, (_, part) in enumerate(groupings):
        for nth, rule in enumerate(RULES):
            style = look(rule)
            middle = as_number(part.filter(pl.col("rule") == rule)["cv"].median())
            if middle is not None:
                axes[1].plot([place + 0.1 * (nth - 2.5)], [middle], style.marker, color=style.colour)
    axes[1].set_xticks(range(len(groupings)), [name for name, _ in groupings])
    axes[1].set(yscale="log", xlabel="collocation points", ylabel="median seed CV", title="median over levels")
    fixed = seed_cv(solves.filter((pl.col("block") == "rules") & (pl.col("level") > 0)), ["grid", "level", "lam2"])
    floor = seed_cv(solves.filter(pl.col("block") == "floor"), ["grid", "lam2"])
    for grid, (edge, fill, ls) in zip(grids_of(fixed), GRIDS, strict=False):
        line = fixed.filter(pl.col("grid") == grid).group_by("lam2").agg(pl.col("cv").median()).sort("lam2")
        axes[2].plot(
            line["lam2"], line["cv"], marker="o", color=edge, mfc=fill, ls=ls, label=f"{grid}², over noise seeds"
        )
        base = floor.filter((pl.col("grid") == grid) & (pl.col("cv") > 0))
        if not base.is_empty():
            axes[2].plot(
                base["lam2"], base["cv"], marker="x", color=edge, ls=":", lw=0.9, label=f"{grid}², over backends, σ = 0"
            )
    axes[2].set(xscale="log", yscale="log", xlabel="fixed weight λ₂", title="fixed weights, floor")
    handles, names = axes[2].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower right", ncols=2, title="(c)", alignment="left")
    letter(axes)
    return (
        "Reproducibility over noise draws: coefficient of variation of the test RMSE (ddof 1). (a) by level, filled marks "
        "the finest grid, open marks the next; (b) median over (grid, level) groups; (c) at each fixed weight, with the dispersion of the "
        "noise-free computation over backends below it: no rule can be steadier than the arithmetic underneath."
    )


def draw_gain(canvas: Canvas) -> str:
    """What Morozov gains over the released weight, and what it loses to the oracle."""
    data = canvas.rows(SELECTED).filter(pl.col("level") > 0)
    other = canvas.rows(OTHER_BACKEND)
    axes = canvas.axes(1, 2, height=3.0)
    if data.is_empty():
        for ax in axes:
            canvas.nothing(ax, "no noisy Case A rules in this database")
        return "No noisy Case A cells were run."
    wide = data.pivot("rule", index=["grid", "level", "seed"], values="rmse")
    pairs = (("released", "morozov"), ("morozov", "oracle"))
    for ax, (top, bottom) in zip(axes, pairs, strict=True):
        for nth, (grid, (edge, fill, ls)) in enumerate(zip(grids_of(data), GRIDS, strict=False)):
            part = wide.filter(pl.col("grid") == grid).with_columns((pl.col(top) / pl.col(bottom)).alias("ratio"))
            line = part.group_by("level").agg(pl.col("ratio").median()).sort("level")
            aside = 1.06 if nth else 0.94  # the grids stand side by side at each level
            ax.plot(
                line["level"] * aside,
                line["ratio"],
                marker="o",
                color=edge,
                mfc=fill,
                ls=ls,
                label=f"{grid}² points, median",
            )
            ax.plot(part["level"] * aside, part["ratio"], "o", color=edge, mfc=fill, mew=0.5, ms=2.4, alpha=0.7)
        for backend, marker in zip(
            sorted(set(other["backend"].to_list())) if not other.is_empty() else [], "+x*", strict=False
        ):
            there = other.filter((pl.col("backend") == backend) & (pl.col("level") > 0)).pivot(
                "rule", index=["level", "seed"], values="rmse"
            )
            line = (
                there.with_columns((pl.col(top) / pl.col(bottom)).alias("ratio"))
                .group_by("level")
                .agg(pl.col("ratio").median())
                .sort("level")
            )
            name = f"{backend} on {grids_of(data)[0]}², median"
            ax.plot(line["level"], line["ratio"], marker, color=VIOLET, ms=5, mew=1, label=name)
        ax.axhline(1, color=GREY, lw=0.7)
        ax.set(xscale="log", xlabel="relative noise")
    axes[0].set(yscale="log", ylabel="RMSE ratio", title="released / Morozov")
    axes[1].set_title("Morozov / oracle")
    handles, names = axes[0].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    letter(axes)
    return (
        "Gain over the released weight and price against the oracle: every cell (small marks) and the median over "
        f"{data['seed'].n_unique()} seeds, the grids side by "
        "side. Crosses: medians of the portability cells, which repeat the finest grid on the backend named in the legend."
    )


FIGURES = (
    FigureSpec("Aprofile", "a", "Accuracy of the rules against noise", draw_profile),
    FigureSpec("Alam2", "a", "What each rule selects", draw_lam2),
    FigureSpec("Aineff", "a", "Loss against the oracle", draw_inefficiency),
    FigureSpec("Astab", "a", "Reproducibility over noise draws", draw_stability),
    FigureSpec("Again", "a", "Gain and price of the discrepancy principle", draw_gain),
)

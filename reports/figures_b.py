"""Figures of Case B's main block: coverage against width, interval-score parts, the width budget, paired baselines."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from orledger.audit.intervals import median_interval
from orledger.reports.figure import Canvas, FigureSpec, letter
from orledger.reports.style import BLACK, BLUE, DATASET_COLOURS, GREEN, GREY, ORANGE, RED, look, spread

ARMS = ("dak", "dak_kl", "cp", "ncp", "triv", "or1", "or1_nf", "or1_int", "or2")
REGIMES = {"iid": "i.i.d.", "shift": "covariate shift", "wide": "widening shift", "shiftcol": "axis shift"}
MARKERS = {"iid": "o", "shift": "s", "wide": "D", "shiftcol": "X"}
NOMINAL = 0.95
NONE = "no Case B main cells in this database"

SCALARS = """
SELECT c.cell_id, c.keys['dataset'] AS dataset, c.keys['regime'] AS regime, c.keys['seed']::INTEGER AS seed,
       c.keys['rel']::DOUBLE AS rel, r.arm,
       max(r.value) FILTER (r.metric = 'coverage') AS coverage, max(r.value) FILTER (r.metric = 'width_median') AS width,
       max(r.value) FILTER (r.metric = 'interval_score') AS score, max(r.value) FILTER (r.metric = 'is_width') AS is_width,
       max(r.value) FILTER (r.metric = 'is_penalty') AS is_penalty,
       max(r.value) FILTER (r.metric = 'penalty_share') AS penalty_share
FROM record r JOIN cell c USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'main' AND c.state = 'done' AND r.label IS NULL AND r.idx IS NULL
  AND r.arm IN ('dak', 'dak_kl', 'cp', 'ncp', 'triv', 'or1', 'or1_nf', 'or1_int', 'or2')
GROUP BY ALL HAVING coverage IS NOT NULL ORDER BY regime, dataset, seed, rel, r.arm
"""

BUDGET = """
SELECT c.keys['regime'] AS regime, c.keys['dataset'] AS dataset, c.keys['seed']::INTEGER AS seed, c.keys['rel']::DOUBLE AS rel,
       avg(r.value ORDER BY r.idx) FILTER (r.metric = 'w_int') AS w_int, max(r.value) FILTER (r.metric = 'w_add') AS w_add,
       max(r.value) FILTER (r.metric = 'w_obs') AS w_obs
FROM record r JOIN cell c USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'main' AND c.state = 'done' AND r.arm = 'or1' AND r.label IS NULL
  AND r.metric IN ('w_int', 'w_add', 'w_obs')
GROUP BY ALL HAVING w_int IS NOT NULL ORDER BY regime, w_int + w_add + w_obs
"""

REFUSED = """
SELECT c.keys['dataset'] AS dataset, c.keys['regime'] AS regime, count(DISTINCT c.cell_id) AS cells
FROM refusal f JOIN cell c USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'main' AND f.arm = 'or1' GROUP BY ALL ORDER BY ALL
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

HEADS = {
    "clamp_all": "clamp,\nall rows",
    "clamp_fit": "clamp,\nfit rows",
    "drop_all": "drop,\nall rows",
    "drop_fit": "drop,\nfit rows",
}


def regimes_of(data: pl.DataFrame) -> list[str]:
    """The two regimes that have more than an anchor cell, in house order."""
    return [r for r in ("iid", "shift", "wide") if r in set(data["regime"].to_list())]


def dataset_legend() -> list[Line2D]:
    """One legend handle per dataset colour."""
    return [Line2D([], [], marker="o", ls="", color=c, label=d, ms=4) for d, c in DATASET_COLOURS.items()]


def draw_pareto(canvas: Canvas) -> str:
    """Coverage against width, every cell, medians outlined."""
    data = canvas.rows(SCALARS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    regimes = regimes_of(data)
    axes = canvas.axes(1, len(regimes), height=3.3, sharey=True)
    for ax, regime in zip(axes, regimes, strict=True):
        for arm in ARMS:
            part = data.filter((pl.col("regime") == regime) & (pl.col("arm") == arm))
            if part.is_empty():
                continue
            style = look(arm)
            ax.plot(part["width"], part["coverage"], style.marker, color=style.colour, ms=3, alpha=0.45)
            ax.plot(
                part["width"].median(),
                part["coverage"].mean(),
                style.marker,
                color=style.colour,
                ms=8,
                mec=BLACK,
                mew=0.7,
                label=f"{style.name} ({len(part)})",
            )
        ax.axhline(NOMINAL, color=GREY, lw=0.8, ls="--")
        ax.set(xscale="log", xlabel="within-cell median half-width", title=REGIMES.get(regime, regime))
        ax.legend(fontsize=6, loc="lower right")
    axes[0].set_ylabel("coverage")
    letter(axes)
    return (
        "Coverage against width, one small mark per cell; large marks stand at (median width, mean coverage) of an arm, with its "
        "number of delivered cells. The dashed line is the nominal 95 %."
    )


def draw_parts(canvas: Canvas) -> str:
    """The interval score split into width and miss, and the miss share of every cell."""
    data = canvas.rows(SCALARS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    regimes = regimes_of(data)
    axes = canvas.axes(1, len(regimes) + 1, height=3.1)
    for ax, regime in zip(axes, regimes, strict=False):
        for place, arm in enumerate(ARMS):
            part = data.filter((pl.col("regime") == regime) & (pl.col("arm") == arm))
            if part.is_empty():
                continue
            width, penalty = part["is_width"].median(), part["is_penalty"].median()
            ax.bar(place, width, color=look(arm).colour, width=0.7)
            ax.bar(place, penalty, bottom=width, color="white", ec=look(arm).colour, hatch="////", width=0.7, lw=0.8)
            total = width + penalty
            ax.text(place, total, f"{penalty / total:.0%}" if total else "", ha="center", va="bottom", fontsize=6)
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
    last.set_title("miss share")
    letter(axes)
    return (
        "The interval score is twice the half-width plus a penalty for misses; it is never shown without both. Solid: median width "
        "part; hatched: median penalty, with its share above. Last panel: the penalty share of every cell (circles i.i.d., squares shift, diamonds widening shift)."
    )


def draw_budget(canvas: Canvas) -> str:
    """What each part of the OR band costs and buys."""
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
            axes[0].plot(*zip(*spots, strict=True), color=GREY, ls=line, lw=1, zorder=0, label=REGIMES[regime])
    axes[0].axhline(NOMINAL, color=GREY, lw=0.8, ls=":")
    axes[0].set(xlabel="median half-width", ylabel="coverage", title="what each part buys")
    axes[0].legend(fontsize=6)
    parts = (("w_int", BLUE, "OR interval"), ("w_add", ORANGE, "conformal floor"), ("w_obs", GREEN, "noise allowance"))
    start = 0
    for regime in [r for r in REGIMES if r in set(budget["regime"].to_list())]:
        rows = budget.filter(pl.col("regime") == regime)
        at = np.arange(start, start + len(rows))
        for name, colour, _ in parts:
            positive = rows[name].to_numpy() > 0  # a floor of exactly zero has no place on a logarithmic axis
            axes[1].plot(at[positive], rows[name].to_numpy()[positive], "o", color=colour, ms=2.6)
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
        [REGIMES.get(r, r) for r in regimes_of(budget)],
        rotation=25,
        ha="right",
        fontsize=6,
    )
    axes[2].set_title("median shares")
    handles, names = axes[2].get_legend_handles_labels()
    canvas.figure.legend(handles, names, loc="outside lower center", ncols=3)
    axes[1].set_title("every delivered cell")
    letter(axes, pad=16)
    return (
        f"The width budget of the OR band on {len(budget)} delivered cells: tight interval, conformal floor, noise allowance. "
        "(b) Cells sorted by their total (grey line). (c) Medians of per-cell shares, which need not add up to one."
    )


def draw_coverage(canvas: Canvas) -> str:
    """Coverage per arm and dataset, every cell, refusals marked at the foot."""
    data, refused = canvas.rows(SCALARS), canvas.rows(REFUSED)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    names = [d for d in DATASET_COLOURS if d in set(data["dataset"].to_list())]
    names += sorted(set(data["dataset"].to_list()) - set(names))
    shown = [a for a in ARMS if a in set(data["arm"].to_list())]
    axes = canvas.axes(1, len(names), height=3.0, sharey=True)
    for ax, name in zip(axes, names, strict=True):
        for place, arm in enumerate(shown):
            for regime, marker in MARKERS.items():
                values = data.filter(
                    (pl.col("dataset") == name) & (pl.col("arm") == arm) & (pl.col("regime") == regime)
                )["coverage"].to_list()
                ax.plot(
                    [place + s for s in spread(len(values), 0.22)],
                    values,
                    marker,
                    color=look(arm).colour,
                    ms=3,
                    alpha=0.75,
                    mfc="none" if regime == "iid" else None,
                )
        lost = int(refused.filter(pl.col("dataset") == name)["cells"].sum()) if not refused.is_empty() else 0
        if lost and "or1" in shown:
            ax.annotate(
                f"× {lost} refused",
                (shown.index("or1"), 0.02),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=6,
                color=RED,
            )
        ax.axhline(NOMINAL, color=GREY, lw=0.8, ls="--")
        ax.set_xticks(range(len(shown)), [look(a).name for a in shown], rotation=75, ha="right", fontsize=5.5)
        ax.set_title(name)
    axes[0].set_ylabel("coverage")
    return "Coverage of every cell by dataset and arm: open circles i.i.d., squares covariate shift, crosses the axis-shift anchor. Refused cells are counted at the foot."


def draw_baseline(canvas: Canvas) -> str:
    """The constant band against the OR head, its no-floor variant and split conformal, cell by cell."""
    data = canvas.rows(SCALARS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    axes = canvas.axes(1, 2, height=3.0)
    keys = ["dataset", "regime", "seed", "rel"]
    against = ("or1", "or1_nf", "cp")
    for ax, (metric, title) in zip(axes, (("score", "interval score"), ("width", "median half-width")), strict=True):
        wide = data.pivot("arm", index=keys, values=metric)
        ticks = []
        for block, regime in enumerate(("iid", "shift")):
            centre = block * (len(against) + 1) + 1
            ax.text(
                centre,
                1.01,
                REGIMES[regime],
                ha="center",
                va="bottom",
                fontsize=6.5,
                transform=ax.get_xaxis_transform(),
            )
            for nth, arm in enumerate(against):
                place = block * (len(against) + 1) + nth
                ticks.append((place, look(arm).name))
                if not {"triv", arm} <= set(wide.columns):
                    continue
                part = wide.filter(pl.col("regime") == regime).drop_nulls(["triv", arm]).sort(*keys)
                difference = (part["triv"] - part[arm]).to_numpy()
                if not difference.size:
                    continue
                colours = [DATASET_COLOURS.get(d, GREY) for d in part["dataset"]]
                ax.scatter(
                    place + np.asarray(spread(difference.size, 0.25)), difference, c=colours, s=9, lw=0, alpha=0.85
                )
                middle = float(np.median(difference))
                interval = median_interval(difference)
                assert interval is not None  # the sample is not empty
                ax.errorbar(
                    place + 0.38,
                    middle,
                    yerr=[[middle - interval.low], [interval.high - middle]],
                    fmt="_",
                    color=BLACK,
                    capsize=2,
                )
        ax.axhline(0, color=GREY, lw=0.8)
        ax.set_yscale("symlog", linthresh=1)
        ax.set_xticks([t for t, _ in ticks], [n for _, n in ticks], rotation=30, ha="right", fontsize=6)
        ax.set_title(title)
    axes[0].set_ylabel("constant band − arm")
    axes[1].legend(handles=dataset_legend(), fontsize=6)
    letter(axes, pad=16)
    return (
        "A band that uses no features against three arms, paired by cell; below zero the constant band is better. Black: median "
        "with its order-statistic interval."
    )


def draw_ablation(canvas: Canvas) -> str:
    """The two-by-two ablation: refusals, and the width on three scales."""
    data, refused, planned = canvas.rows(ABLATION), canvas.rows(ABLATION_REFUSED), canvas.rows(ABLATION_CELLS)
    axes = canvas.axes(1, 4, height=2.8)
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
            ax.set_xticks(range(len(HEADS)), list(HEADS.values()), fontsize=5.5)
    axes[0].set_title("refused")
    letter(axes)
    return (
        f"Two suspected defects crossed on {total} trained networks: clamping or dropping constant feature columns, and delivering from all "
        "rows or from the fit rows. Refusals are counted and never averaged into a width; the other panels show delivered heads only."
    )


FIGURES = (
    FigureSpec("Bp", "b", "Coverage against width", draw_pareto),
    FigureSpec("Bis", "b", "The interval score and its parts", draw_parts),
    FigureSpec("Bdecomp", "b", "The width budget of the OR band", draw_budget),
    FigureSpec("Bshift", "b", "Coverage by dataset and arm", draw_coverage),
    FigureSpec("Btriv", "b", "Against a band that uses no features", draw_baseline),
    FigureSpec("Babl", "b", "Which defect widened the bands", draw_ablation),
)

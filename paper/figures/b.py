"""Figures of Case B's main block: coverage against width, coverage by dataset, and the paired baseline."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from orledger.paper.looks import DATASETS, look
from orledger.paper.names import REGIMES
from orledger.reports.figures.figure import Canvas, FigureSpec, letter, words
from orledger.reports.figures.style import BLACK, GREY, spread
from orledger.schema.frames import the_number

ARMS = ("dak", "dak_kl", "cp", "ncp", "triv", "or1", "or1_nf", "or1_int", "or2")
MARKERS = {"iid": "o", "shift": "s", "wide": "D", "shiftcol": "X"}
NOMINAL = 0.95
LOWEST = 0.4  # the axis of coverage ends here, so that the arms can be told apart near the nominal level
NONE = "no Case B main cells in this database"

SCALARS = """
SELECT cell_id, dataset, regime, seed, rel, arm, coverage, width_median AS width, interval_score AS score, is_width, is_penalty, penalty_share
FROM b_main
WHERE label IS NULL AND arm IN ('dak', 'dak_kl', 'cp', 'ncp', 'triv', 'or1', 'or1_nf', 'or1_int', 'or2') AND coverage IS NOT NULL
ORDER BY regime, dataset, seed, rel, arm
"""

REFUSED = """
SELECT dataset, regime, count(*) AS cells FROM b_main WHERE arm = 'or1' AND refused IS NOT NULL GROUP BY ALL ORDER BY ALL
"""

CELLS = """
SELECT dataset, count(*) AS cells FROM b_main_cells WHERE state = 'done' GROUP BY ALL ORDER BY ALL
"""


def regimes_of(data: pl.DataFrame) -> list[str]:
    """The regimes present that have more than an anchor cell, in house order."""
    return [r for r in ("iid", "shift", "wide") if r in set(data["regime"].to_list())]


def dataset_legend() -> list[Line2D]:
    """One legend handle per dataset."""
    return [Line2D([], [], marker=m, ls="", color=c, label=d, ms=4) for d, (c, m) in DATASETS.items()]


def draw_pareto(canvas: Canvas) -> str:
    """Coverage against width, every cell, medians outlined."""
    data = canvas.rows(SCALARS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    regimes = regimes_of(data)
    axes = canvas.axes(1, len(regimes), height=3.4, sharex=True, sharey=True)
    counts: dict[str, list[str]] = {}
    beneath = 0
    for ax, regime in zip(axes, regimes, strict=True):
        for arm in ARMS:
            part = data.filter((pl.col("regime") == regime) & (pl.col("arm") == arm))
            counts.setdefault(arm, []).append(str(len(part)))
            if part.is_empty():
                continue
            style = look(arm)
            above, below = part.filter(pl.col("coverage") >= LOWEST), part.filter(pl.col("coverage") < LOWEST)
            beneath += len(below)
            ax.plot(above["width"], above["coverage"], style.marker, color=style.colour, ms=2.2, mew=0, alpha=0.3)
            ax.plot(below["width"], [LOWEST + 0.01] * len(below), "v", color=style.colour, ms=4, mew=0, zorder=5)
            width, coverage = (np.quantile(part[c].to_numpy(), [0.25, 0.5, 0.75]) for c in ("width", "coverage"))
            mean = the_number(part["coverage"].mean())
            ax.plot(width[[0, 2]], [mean, mean], color=style.colour, lw=1.1, zorder=3)
            ax.plot([width[1], width[1]], coverage[[0, 2]], color=style.colour, lw=1.1, zorder=3)
            ax.plot(width[1], mean, style.marker, color=style.colour, ms=7, mec=BLACK, mew=0.7, zorder=4)
        ax.axhline(NOMINAL, color=GREY, lw=0.8, ls="--")
        ax.set(xscale="log", xlabel="within-cell median half-width", title=REGIMES.get(regime, regime))
    axes[0].set_ylabel("coverage")
    axes[0].set_ylim(LOWEST, 1.03)
    handles = [
        Line2D(
            [], [], ls="", marker=s.marker, color=s.colour, mec=BLACK, mew=0.6, ms=6, label=f"{s.name} ({', '.join(n)})"
        )
        for s, n in ((look(arm), n) for arm, n in counts.items() if set(n) != {"0"})
    ]
    canvas.figure.legend(handles=handles, loc="outside lower center", ncols=3)
    letter(axes)
    foot = (
        f" Triangles at the foot: {beneath} cell{'s' * (beneath != 1)} with a coverage below {LOWEST}."
        if beneath
        else ""
    )
    return (
        "Coverage against width. Large marks: median width and mean coverage of an arm, as in Table Barms; bars: quartiles of each over cells; "
        "small pale marks: every cell. In "
        f"brackets: its delivered cells, panel by panel. The dashed line is the nominal 95%.{foot}"
    )


def draw_coverage(canvas: Canvas) -> str:
    """Coverage per arm and dataset, every cell, refusals marked at the foot."""
    data, refused, planned = canvas.rows(SCALARS), canvas.rows(REFUSED), canvas.rows(CELLS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    names = [d for d in DATASETS if d in set(data["dataset"].to_list())]
    names += sorted(set(data["dataset"].to_list()) - set(names))
    shown = [a for a in ARMS if a in set(data["arm"].to_list())]
    axes = canvas.axes(1, len(names), height=3.3, sharex=True, sharey=True)
    for ax, name in zip(axes, names, strict=True):
        for place, arm in enumerate(shown):
            for regime, marker in MARKERS.items():
                values = data.filter(
                    (pl.col("dataset") == name) & (pl.col("arm") == arm) & (pl.col("regime") == regime)
                )["coverage"].to_list()
                ax.plot(
                    values,
                    [place + s for s in spread(len(values), 0.25)],
                    marker,
                    color=look(arm).colour,
                    ms=3,
                    alpha=0.75,
                    mfc="none" if regime == "iid" else None,
                )
        lost = int(refused.filter(pl.col("dataset") == name)["cells"].sum()) if not refused.is_empty() else 0
        if lost:
            cells = planned.filter(pl.col("dataset") == name)["cells"].sum()
            at = ax.get_yaxis_transform()
            colour = look("or1").colour
            ax.text(
                0.04,
                shown.index("or1"),
                f"refused {lost} of {cells}",
                transform=at,
                va="center",
                fontsize=6,
                color=colour,
            )
        ax.axvline(NOMINAL, color=GREY, lw=0.8, ls="--")
        ax.set_title(name)
        ax.set_xlabel("coverage")
    axes[0].set_yticks(range(len(shown)), [look(a).name for a in shown])
    axes[0].set_ylim(len(shown) - 0.4, -0.6)  # the first arm on top
    axes[0].set_xlim(0, 1.04)
    axes[0].set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    handles = [
        Line2D([], [], ls="", marker=m, color=GREY, mfc="none" if r == "iid" else None, label=REGIMES[r])
        for r, m in MARKERS.items()
        if r in set(data["regime"].to_list())
    ]
    canvas.figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    letter(axes)
    return (
        "Coverage of every cell by dataset and arm, one mark a cell. Cells in which the OR head refused are counted in its row; they have no mark there, "
        "nor where its variants refused with it. The dashed line is the nominal 95%."
    )


def draw_baseline(canvas: Canvas) -> str:
    """The constant band against the OR head, its no-floor variant and split conformal, cell by cell."""
    data = canvas.rows(SCALARS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No Case B cells were run."
    axes = canvas.axes(1, 2, height=3.2)
    keys = ["dataset", "regime", "seed", "rel"]
    against = ("or1", "or1_nf", "cp")
    for ax, (metric, title) in zip(axes, (("score", "interval score"), ("width", "median half-width")), strict=True):
        wide = data.pivot("arm", index=keys, values=metric)
        # The scale comes first: limits found on a linear axis would cut the lowest points.
        ax.set_yscale("symlog", linthresh=1)
        ax.margins(y=0.14)  # room for the words at the top and at the foot
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
                at = place + np.asarray(spread(difference.size, 0.25))
                for dataset in part["dataset"].unique(maintain_order=True):
                    mine = (part["dataset"] == dataset).to_numpy()
                    colour, marker = DATASETS.get(dataset, (GREY, "o"))
                    ax.plot(at[mine], difference[mine], marker, color=colour, ms=3, mew=0, alpha=0.85)
                row = canvas.test(f"CaseB/trivial-{metric}/{regime}/{arm}")
                if row is None or row.effect is None or row.low is None or row.high is None:
                    continue
                ends = [[row.effect - row.low], [row.high - row.effect]]
                ax.errorbar(place + 0.38, row.effect, yerr=ends, fmt="_", color=BLACK, capsize=2)
        ax.axhline(0, color=GREY, lw=0.8)
        ax.set_xticks([t for t, _ in ticks], [n for _, n in ticks], rotation=30, ha="right", fontsize=6)
        ax.set_title(title)
        for height, va, side in ((0.98, "top", "the arm is better"), (0.02, "bottom", "the constant band is better")):
            ax.text(
                0.5, height, side, transform=ax.transAxes, ha="center", va=va, fontsize=6, color=GREY, style="italic"
            )
    axes[0].set_ylabel("constant band − arm")
    canvas.figure.legend(handles=dataset_legend(), loc="outside lower center", ncols=len(DATASETS))
    letter(axes, pad=16)
    tests = canvas.cited.tests()
    return (
        "A band that uses no features against three arms, paired by cell; the vertical axis is linear between −1 and 1 and logarithmic beyond. Black: "
        f"{words(r.effect_name for r in tests)} and its 95% interval ({words(r.interval_method for r in tests)}) over independent units "
        f"({words(r.unit for r in tests)}; n = {words(str(r.n) for r in tests)}), whose cells are averaged first."
    )


FIGURES = (
    FigureSpec("Bp", "b", "Coverage against width", draw_pareto),
    FigureSpec("Bshift", "b", "Coverage by dataset and arm", draw_coverage),
    FigureSpec("Btriv", "b", "Against a band that uses no features", draw_baseline),
)

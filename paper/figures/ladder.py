"""Figures of Case A's conditional interval over the inflation ladder: width, coverage, and the premium over the error."""

from __future__ import annotations

import numpy as np
import polars as pl

from orledger.paper.figures.certificates import NONE, POINTS
from orledger.paper.looks import LEVEL_COLOURS, noise
from orledger.reports.figures.figure import Canvas, FigureSpec, letter
from orledger.reports.figures.style import GREY, RED
from orledger.schema.frames import the_number

LADDER = """
WITH width AS (SELECT cell_id, label, median(half) AS half FROM a_certificates_series WHERE arm = 'conditional' GROUP BY ALL)
SELECT level, seed, replace(label, 'm=', '')::DOUBLE AS rung, half, coverage
FROM a_certificates JOIN width USING (cell_id, label) WHERE arm = 'conditional' ORDER BY level, seed, rung
"""

PREMIUM = """
SELECT level, seed, replace(label, 'm=', '')::DOUBLE AS rung, idx AS point, half / nullif(error, 0) AS premium
FROM a_certificates_series WHERE arm = 'conditional' AND coalesce(half, error) IS NOT NULL ORDER BY level, seed, rung, point
"""

RADII = """
SELECT level, seed, eps_hat, rho_oc FROM a_certificates WHERE arm = 'cell' AND label IS NULL ORDER BY level, seed
"""


def draw_ladder(canvas: Canvas) -> str:
    """The inflation ladder: width, coverage, and tightening against the global certificate."""
    ladder, points, radii = canvas.rows(LADDER), canvas.rows(POINTS), canvas.rows(RADII)
    tightest = canvas.rows(PREMIUM).drop_nulls("premium").group_by("level", "seed", "rung").agg(pl.col("premium").min())
    axes = canvas.axes(1, 3, height=2.7)
    if ladder.is_empty():
        for ax in axes:
            canvas.nothing(ax, NONE)
        return "No certificates were computed."
    certificate = points.group_by("level", "seed").agg(pl.col("certificate").median().alias("median_certificate"))
    series = ladder.join(certificate, on=["level", "seed"]).join(tightest, on=["level", "seed", "rung"], how="left")
    series = series.sort("level", "seed", "rung")
    for level, colour in zip(series["level"].unique().sort().to_list(), LEVEL_COLOURS, strict=False):
        for nth, (_, line) in enumerate(series.filter(pl.col("level") == level).group_by("seed", maintain_order=True)):
            name = noise(level) if nth == 0 else None
            axes[0].plot(line["rung"], line["half"], "o-", ms=2.5, color=colour, lw=0.9, label=name)
            axes[1].plot(line["rung"], line["premium"], "o-", ms=2.5, color=colour, lw=0.9)
            axes[2].plot(line["rung"], line["median_certificate"] / line["half"], "o-", ms=2.5, color=colour, lw=0.9)
    exact = series.filter(pl.col("level") == 0)
    if not exact.is_empty():
        head = exact.filter(pl.col("seed") == exact["seed"].min()).sort("rung")
        law = np.sqrt(head["rung"].to_numpy() ** 2 - 1)
        axes[0].plot(head["rung"], head["half"][0] * law / law[0], "k:", lw=1, label="√(m² − 1)")
        ratio = radii.filter(pl.col("level") == 0).select((pl.col("eps_hat") / pl.col("rho_oc")).median()).item()
        axes[2].plot(head["rung"], ratio / law, "k:", lw=1)
    axes[1].axhline(1, color=RED, ls="--", lw=0.8)
    axes[2].axhline(1, color=GREY, lw=0.7)
    axes[0].set(yscale="log", ylabel="median half-width", title="width")
    axes[1].set(yscale="log", ylabel="smallest half-width / error", title="the tightest point")
    axes[2].set(yscale="log", title="global / conditional")
    for ax in axes:
        ax.set_xlabel("inflation m")
    axes[0].legend()
    letter(axes)
    return (
        "The conditional interval when the norm budget is m times the smallest norm that explains the data, one line per noise seed. (a) Without noise the width follows "
        "√(m² − 1) exactly. (b) Half-width over actual error at the point where that is smallest: a point below the dashed line would be missed. "
        f"Smallest coverage of any rung and seed: {the_number(series['coverage'].min()):.4g}. (c) How much tighter the "
        "conditional interval is than the global certificate."
    )


def draw_premium(canvas: Canvas) -> str:
    """Half-width over actual error, by rung and as a distribution at the delivered rung."""
    data = canvas.rows(PREMIUM).drop_nulls("premium")
    axes = canvas.axes(1, 2, height=2.7)
    if data.is_empty():
        for ax in axes:
            canvas.nothing(ax, NONE)
        return "No certificates were computed."
    delivered = 1.05
    top = 0.0
    for level, colour in zip(data["level"].unique().sort().to_list(), LEVEL_COLOURS, strict=False):
        part = data.filter(pl.col("level") == level)
        medians = part.group_by("seed", "rung").agg(pl.col("premium").median()).sort("seed", "rung")
        for nth, (_, line) in enumerate(medians.group_by("seed", maintain_order=True)):
            axes[0].plot(
                line["rung"],
                line["premium"],
                "o-",
                ms=2.5,
                lw=0.9,
                color=colour,
                label=noise(level) if nth == 0 else None,
            )
        values = np.sort(part.filter(pl.col("rung") == delivered)["premium"].to_numpy())
        if values.size:
            axes[1].step(
                values,
                1 - np.arange(values.size) / values.size,
                where="post",
                color=colour,
                label=noise(level),
                rasterized=True,
            )
            top = max(top, float(values[-1]))
    axes[0].set(yscale="log", xlabel="inflation m", ylabel="median half-width / error", title="by rung")
    axes[1].set(
        xscale="log", yscale="log", xlabel="half-width / error", ylabel="fraction of points above", title="at m = 1.05"
    )
    axes[1].legend(title="noise")  # the curves fall away from this corner
    letter(axes)
    return f"Premium of the conditional interval over the actual error. The right tail reaches about {float(f'{top:.2g}'):,.0f}, so medians are quoted, not means."


FIGURES = (
    FigureSpec("Aladder", "a", "The inflation ladder", draw_ladder),
    FigureSpec("Awer", "a", "Width over error", draw_premium),
)

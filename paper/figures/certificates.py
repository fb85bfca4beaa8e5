"""Figures of Case A's certificates: the bands along two lines and as maps, and the attainment of the radius."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from orledger.paper.looks import LEVEL_COLOURS, noise
from orledger.reports.figures.figure import Canvas, FigureSpec, letter
from orledger.reports.figures.style import BLACK, BLUE, GREEN, ORANGE, RED, SKY
from orledger.schema.frames import as_number

DELIVERED = "m=1.05"

POINTS = """
SELECT level, seed, idx AS point,
       max(x) FILTER (arm = 'point') AS x,
       max(y) FILTER (arm = 'point') AS y,
       max(ring) FILTER (arm = 'point') AS ring,
       max(error) FILTER (arm = 'point') AS error,
       max(radius) FILTER (arm = 'global' AND label IS NULL) AS radius,
       max(certificate) FILTER (arm = 'global' AND label IS NULL) AS certificate,
       max(radius) FILTER (arm = 'global' AND label = 'grid97') AS grid_radius,
       max(certificate) FILTER (arm = 'global' AND label = 'grid97') AS grid_certificate,
       max(half) FILTER (arm = 'conditional' AND label = 'm=1.05') AS half,
       max(a.error) FILTER (arm = 'conditional' AND label = 'm=1.05') AS half_error,
       max(a.half) FILTER (arm = 'gp_band') AS gp_half,
       max(a.error) FILTER (arm = 'gp_band') AS gp_error
FROM a_certificates_series a
GROUP BY level, seed, idx ORDER BY level, seed, point
"""


@dataclass(frozen=True)
class BandColumns:
    """A band and the error of the estimator at its centre, by their columns, with names for people."""

    half: str
    error: str
    name: str
    error_name: str
    colour: str
    line: str


BANDS = (
    BandColumns("certificate", "error", "global certificate", "error of the recovery", BLUE, "-"),
    BandColumns(
        "half",
        "half_error",
        f"conditional half-width ({DELIVERED.replace('=', ' = ')})",
        "error of the conditional centre",
        GREEN,
        "-",
    ),
    BandColumns("gp_half", "gp_error", "GP credible band", "error of the GP mean", ORANGE, "--"),
)
NONE = "no Case A certificates in this database"


def first_seed(data: pl.DataFrame) -> pl.DataFrame:
    """The rows of the smallest seed present."""
    return data.filter(pl.col("seed") == data["seed"].min())


def draw_slices(canvas: Canvas) -> str:
    """Certificate, conditional band, credible band and error along two lines of the evaluation grid."""
    data = canvas.rows(POINTS)
    if data.is_empty():
        canvas.nothing(canvas.axes()[0], NONE)
        return "No certificates were computed."
    data = first_seed(data)
    levels = data["level"].unique().sort().to_list()
    rows = data["y"].unique().sort()
    middle, edge = rows[int((rows - 0.5).abs().arg_min() or 0)], rows[0]
    axes = canvas.axes(2, len(levels), height=4.5, sharex=True)
    for row, at in enumerate((middle, edge)):
        for column, level in enumerate(levels):
            ax = axes[row * len(levels) + column]
            line = data.filter((pl.col("level") == level) & (pl.col("y") == at)).sort("x")
            ax.plot(line["x"], line["radius"], color=SKY, lw=4, alpha=0.5, label="information radius")
            for nth, band in enumerate(BANDS):
                dots = (
                    1.2 * nth,
                    (1.2, 1.2 * len(BANDS)),
                )  # each error starts where the last pauses: equal ones interleave
                ax.plot(line["x"], line[band.half], color=band.colour, ls=band.line, lw=1.1, label=band.name)
                errors = line[band.error].clip(1e-12)
                ax.plot(line["x"], errors, ".", color=band.colour, ls=dots, ms=3.5, mew=0, label=band.error_name)
            for nth, band in enumerate(BANDS):
                missed = line.filter(pl.col(band.error) > pl.col(band.half))
                label = "error above its band" if nth == 0 else None
                ax.plot(missed["x"], missed[band.error], "o", mfc="none", mec=RED, ms=6.5, label=label)
            ax.set(yscale="log", title=f"{noise(level)}, y = {at:.3g}")
            if row == 1:
                ax.set_xlabel("x")
    for ax in axes[:: len(levels)]:
        ax.set_ylabel("half-width, error")
    handles, _ = axes[0].get_legend_handles_labels()
    columns = [handles[0], handles[-1], *handles[1:-1]]  # a band stands above its error
    canvas.figure.legend(handles=columns, loc="outside lower center", ncols=4)
    letter(axes)
    counted = ", ".join(f"{band.name} {_misses(data, band)}" for band in BANDS)
    return (
        f"Two lines of the evaluation grid, noise seed {data['seed'][0]}. Each band (upper line of a colour) is centred at an estimator of its "
        "own: the global certificate at the recovery, the conditional half-width at the middle of the conditional interval, the GP credible band "
        "at the posterior mean. The dotted line of the same colour is that estimator's error; a red ring marks a point where it lies above "
        f"the band. Misses over the whole grid, all levels shown, same seed: {counted}."
    )


def _misses(data: pl.DataFrame, band: BandColumns) -> str:
    """How many points have an error above their band, of those that have a band."""
    known = data.drop_nulls([band.half, band.error])
    return f"{known.filter(pl.col(band.error) > pl.col(band.half)).height} of {known.height}"


def draw_attainment(canvas: Canvas) -> str:
    """How far the delivered certificate is from the radius: refined method beside the paper's grid."""
    data = canvas.rows(POINTS)
    axes = canvas.axes(1, 2, height=2.8)
    if data.is_empty():
        for ax in axes:
            canvas.nothing(ax, NONE)
        return "No certificates were computed."
    ratios = data.with_columns(
        (pl.col("certificate") / pl.col("radius")).alias("refined"),
        (pl.col("grid_certificate") / pl.col("grid_radius")).alias("grid"),
    )
    tiny = np.finfo(float).eps
    worst = {}
    for method, style in (("grid", "-"), ("refined", "--")):
        part = ratios.drop_nulls(method)
        worst[method] = as_number(part[method].min())
        for level, colour in zip(part["level"].unique().sort().to_list(), LEVEL_COLOURS, strict=False):
            for nth, seed in enumerate(part.filter(pl.col("level") == level)["seed"].unique().sort().to_list()):
                values = part.filter((pl.col("level") == level) & (pl.col("seed") == seed))[method].to_numpy()
                short = np.sort(np.maximum(np.abs(1 - values), tiny))
                name = f"{noise(level)}, {method}" if nth == 0 else None
                axes[0].step(
                    short,
                    np.arange(1, short.size + 1) / short.size,
                    where="post",
                    color=colour,
                    ls=style,
                    lw=0.9,
                    label=name,
                    rasterized=True,
                )
                if method == "grid":
                    axes[1].plot(np.arange(values.size), values, ".", color=colour, ms=2, alpha=0.6, rasterized=True)
    axes[0].set(xscale="log", xlabel="|1 − certificate / radius|", ylabel="fraction of points", title="shortfall")
    axes[0].legend(fontsize=6)
    axes[1].axhline(1, color=BLACK, lw=0.6)
    axes[1].set(xlabel="evaluation point", ylabel="certificate / radius", title="the paper's 97-point grid")
    letter(axes)
    parts = [f"{name}: {value:.6f}" for name, value in worst.items() if value is not None]
    return (
        f"Attainment of the information radius over {len(ratios)} points (evaluation points of all levels and seeds). Refined to convergence the certificate equals the radius to "
        f"rounding; on the paper's grid it falls short. Smallest ratio: {'; '.join(parts)}."
    )


MAPS = {
    "certificate": "global certificate",
    "half": "conditional",
    "gp_half": "GP credible band",
    "gp_error": "error of GP mean",
}


def draw_maps(canvas: Canvas) -> str:
    """Certificate, conditional half-width, credible band and its error on the evaluation grid."""
    data = canvas.rows(POINTS)
    noisy = data.filter(pl.col("level") > 0) if not data.is_empty() else data
    if noisy.is_empty():
        canvas.nothing(canvas.axes()[0], "no noisy Case A certificates in this database")
        return "No noisy certificates were computed."
    here = first_seed(noisy.filter(pl.col("level") == noisy["level"].min())).sort("y", "x")
    xs, ys = here["x"].unique().sort(), here["y"].unique().sort()
    axes = canvas.axes(1, len(MAPS), height=2.0, sharex=True, sharey=True)
    images = [np.log10(np.maximum(here[c].to_numpy().reshape(len(ys), len(xs)), 1e-300)) for c in MAPS]
    low, high = min(float(i.min()) for i in images), max(float(i.max()) for i in images)
    for ax, image, title in zip(axes, images, MAPS.values(), strict=True):
        mesh = ax.pcolormesh(xs, ys, image, cmap="cividis", shading="nearest", vmin=low, vmax=high, rasterized=True)
        ax.set(title=title, aspect="equal", xlabel="x", xticks=[0.2, 0.5, 0.8], yticks=[0.2, 0.5, 0.8])
        ax.grid(False)
    axes[0].set_ylabel("y")
    bar = canvas.figure.colorbar(mesh, ax=axes, location="right", pad=0.015, shrink=0.72, aspect=14)
    bar.set_label("log₁₀ of half-width or error", fontsize=7)
    bar.ax.tick_params(labelsize=6)
    failed = here.filter(pl.col("gp_error") > pl.col("gp_half"))
    axes[3].plot(failed["x"], failed["y"], "o", mfc="none", mec=RED, ms=6)
    letter(axes)
    return (
        f"Noise level {noise(here['level'][0])}, seed {here['seed'][0]}, one logarithmic colour scale for all panels. Rings mark the {len(failed)} of {len(here)} "
        "points at which the credible band does not contain the truth."
    )


FIGURES = (
    FigureSpec("A", "a", "Certificates along two lines", draw_slices),
    FigureSpec("Aattain", "a", "Attainment of the information radius", draw_attainment),
    FigureSpec("Amaps", "a", "Maps of the bands", draw_maps),
)

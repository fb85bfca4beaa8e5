"""The two pictures of the interval page: what each interval bounds, and how methods fare away from the training data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

mpl.use("Agg")
import matplotlib.pyplot as plt

from orledger.recovery import CertifiedRegressor

if TYPE_CHECKING:
    from pathlib import Path

COLOURS = {
    "ours, adaptive": "#0072B2",
    "ours, weighted": "#56B4E9",
    "ours, certificate": "#009E73",
    "MAPIE split": "#D55E00",
    "MAPIE CV+": "#E69F00",
    "MAPIE CQR, same features": "#F0E442",
    "MAPIE CQR, boosted trees": "#CC79A7",
    "GP": "#555555",
}


def difference(path: Path) -> None:
    """One curve with noise that grows: the function's certificate and the observation's interval, inside and beyond the data."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-1, 1, 250))
    y = np.sin(4 * x) + (0.05 + 0.2 * (x + 1) / 2) * rng.standard_normal(250)
    grid = np.linspace(-1.4, 1.4, 400)[:, None]
    model = CertifiedRegressor(kernel="matern", kappa=1.2, noise_std="discrepancy").fit(x[:, None], y)
    function, observation = model.predict_function_interval(grid), model.predict_interval(grid)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.fill_between(
        grid[:, 0], *observation.T, color="#56B4E9", alpha=0.35, lw=0, label="a new observation, level 0.9"
    )
    axes.fill_between(
        grid[:, 0], *function.T, color="#D55E00", alpha=0.45, lw=0, label="the function, |θ| ≤ ρ and |e| ≤ η"
    )
    axes.plot(grid[:, 0], np.sin(4 * grid[:, 0]), "k--", lw=1, label="the function itself")
    axes.plot(x, y, ".", color="0.35", ms=3, label="data")
    axes.set(xlabel="x", ylabel="y", xlim=(-1.4, 1.4), ylim=(-2.6, 2.6))
    axes.legend(loc="upper left", fontsize=8, ncols=2, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def under_shift(lines: list[dict[str, Any]], path: Path) -> None:
    """Coverage and interval score against the distance from the training data, per table and method, for the mixed shift."""
    part = [line for line in lines if line["kind"] == "mixed" and "error" not in line]
    tables = list(dict.fromkeys(line["table"] for line in part))
    figure, axes = plt.subplots(2, len(tables), figsize=(3 * len(tables), 5.4), layout="constrained", squeeze=False)
    for column, table in enumerate(tables):
        for method, colour in COLOURS.items():
            here = [line for line in part if (line["table"], line["method"]) == (table, method)]
            if not here:
                continue
            thirds = np.mean([[line[f"third_{i}"] for i in range(3)] for line in here], axis=0)
            for row, values in enumerate((thirds[:, 1], thirds[:, 2])):
                axes[row, column].plot(thirds[:, 0], values, "o-", ms=3, lw=1.2, color=colour, label=method)
        axes[0, column].set(title=table, ylim=(0, 1.03))
        axes[0, column].axhline(0.9, color="k", lw=0.6, ls=":")
        axes[1, column].set(yscale="log")
        axes[1, column].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        axes[1, column].yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes[1, column].yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("coverage (nominal 0.9)")
    axes[1, 0].set_ylabel("interval score / sd(y)")
    axes[1, len(tables) // 2].set_xlabel("distance to the nearest training row, medians of thirds of the test rows")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)

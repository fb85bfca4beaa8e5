"""The arrays of one cell: a split table in the units the arms work in.

Features are standardised with the moments of all training rows. Targets are standardised with the moments of the clean
training targets, and label noise of ``rel`` standard deviations is then added to the training rows alone: test targets
are bit-identical across noise levels, and the injected noise level in these units is ``rel`` itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.runners.case_b.data import DataTable, load, subsample
from orledger.runners.case_b.names import SPLIT_OPTIONS
from orledger.runners.case_b.splits import make_split
from orledger.runners.seeds import generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.runners.cells import Context


@dataclass(frozen=True)
class SplitRows:
    """Fit, calibration and test rows in standardised units; ``stream`` names the random streams of the cell's nets."""

    x_fit: np.ndarray
    y_fit: np.ndarray
    x_cal: np.ndarray
    y_cal: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    stream: tuple[str | int | float, ...]
    injected: float = 0.0

    @property
    def x_train(self) -> np.ndarray:
        """Fit rows, then calibration rows."""
        return np.vstack([self.x_fit, self.x_cal])

    @property
    def y_train(self) -> np.ndarray:
        """Targets of ``x_train``."""
        return np.concatenate([self.y_fit, self.y_cal])


def load_table(dataset: str, settings: Mapping[str, Any], context: Context) -> DataTable:
    """The rows of ``dataset`` that Case B uses (california is subsampled)."""
    table = load(dataset, context.data_dir, context.cache_dir, offline=context.offline)
    if dataset == "california":
        return subsample(table, settings["california_rows"], settings["california_seed"])
    return table


def make_problem(table: DataTable, regime: str, seed: int, rel: float, settings: Mapping[str, Any]) -> SplitRows:
    """The problem of one (dataset, regime, seed, rel); the split and the noise draw do not depend on ``rel``."""
    split = make_split(
        table.X,
        table.y,
        regime,
        generator("case_b", "split", table.name, regime, seed),
        **{name: settings[setting] for name, setting in SPLIT_OPTIONS[regime].items()},
    )
    rows, targets = table.X[split.train], table.y[split.train]
    sd = rows.std(axis=0)
    centre, scale = rows.mean(axis=0), np.where(sd > 0, sd, 1.0)
    y_mean, y_sd = targets.mean(), targets.std()
    noise = generator("case_b", "noise", table.name, regime, seed).standard_normal(targets.size)
    y_train = (targets - y_mean) / y_sd + rel * noise
    n_fit = split.fit.size
    x_train = (rows - centre) / scale
    return SplitRows(
        x_fit=x_train[:n_fit],
        y_fit=y_train[:n_fit],
        x_cal=x_train[n_fit:],
        y_cal=y_train[n_fit:],
        x_test=(table.X[split.test] - centre) / scale,
        y_test=(table.y[split.test] - y_mean) / y_sd,
        stream=(table.name, regime, seed, rel),
        injected=rel,
    )

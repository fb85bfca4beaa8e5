"""Datasets of the interval comparison: real tables, a generated one for size, and real covariate shifts within them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "concrete": ("strength", ()),
    "energy": ("heating_load", ("cooling_load",)),
    "yacht": ("residuary_resistance", ()),
    "california": ("MedHouseVal", ()),
}
"""Target column and columns to leave out of each CSV file of the data folder."""

SHIFTS = {
    "diabetes": ("bmi", "high"),
    "concrete": ("age", "high"),
    "energy": ("relative_compactness", "low"),
    "yacht": ("froude_number", "high"),
    "california": ("Latitude", "high"),
}
"""The column whose upper or lower part is held out under shift: heavier patients, older concrete, slender houses, faster
hulls, northern districts. Rows and responses are the table's own; only who is trained on and who is tested on is chosen."""


@dataclass(frozen=True)
class Table:
    """Rows X (n, p), responses y (n,) and the names of the columns."""

    name: str
    X: np.ndarray
    y: np.ndarray
    columns: list[str]


def load(name: str, folder: Path | None) -> Table | None:
    """The table `name`: from scikit-learn, generated, or from a CSV file in `folder` (None when it is not there)."""
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        found = load_diabetes()
        return Table(name, found.data, found.target, list(found.feature_names))
    if name == "friedman":
        return friedman()
    if folder is None or not (folder / f"{name}.csv").exists():
        return None
    target, drop = FILES[name]
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    values = np.array(rows, dtype=float)
    keep = [i for i, column in enumerate(head) if column != target and column not in drop]
    return Table(name, values[:, keep], values[:, head.index(target)], [head[i] for i in keep])


def friedman(n: int = 120_000, seed: int = 0) -> Table:
    """Friedman's first function of ten uniform columns with noise that grows along the sixth: generated, for its size."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 10))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return Table("friedman", X, mean + (0.5 + X[:, 5]) * rng.standard_normal(n), [f"x{i}" for i in range(10)])


def random_split(table: Table, seed: int, share: float = 0.75, most: int = 10**9) -> tuple[np.ndarray, np.ndarray]:
    """(training rows, test rows) at random, at most `most` for training."""
    order = np.random.default_rng(seed).permutation(len(table.y))
    cut = int(share * len(order))
    return order[:cut][:most], order[cut:]


def shifted_split(
    table: Table, seed: int, overlap: float, held: float = 0.3, most: int = 2000
) -> tuple[np.ndarray, np.ndarray]:
    """(training rows, test rows): the test rows are from the extreme `held` share of one column.

    overlap: the share of those extreme rows that is trained on; 0 means that training stops where testing begins. A random
    90 % of the other rows is used, so that seeds differ.
    """
    column, side = SHIFTS[table.name]
    names = [c.lower().replace(" ", "_") for c in table.columns]
    values = table.X[:, names.index(column.lower())]
    values = values if side == "high" else -values
    far = values > np.quantile(values, 1 - held)
    rng = np.random.default_rng(seed)
    near, out = rng.permutation(np.flatnonzero(~far)), rng.permutation(np.flatnonzero(far))
    seen = int(overlap * len(out))
    return np.concatenate([near[: int(0.9 * len(near))][:most], out[:seen][:most]]), out[seen:][:most]


def distance(X_train: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """The distance of each test row to its nearest training row, in standard deviations of the training columns."""
    from scipy.spatial import cKDTree

    scale = X_train.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    return cKDTree(X_train / scale).query(X_test / scale)[0] / np.sqrt(X_train.shape[1])

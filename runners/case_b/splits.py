"""Splits of a table: which rows train, calibrate and test, in the four regimes.

``iid`` splits at random. ``shift`` ranks the rows along a random direction of the standardised features and trains on
one end; ``shiftcol`` does so along one raw column. ``wide`` is the family that widens the targets: a tenth of the rows
(the scouts) fit a ridge direction and are then set aside for good; the remaining rows train on the central ranks along
it and test on both tails. The scouts' labels are used nowhere else, so given the direction the split of the other rows
is a function of their covariates alone: a covariate shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orledger.errors import UsageError
from orledger.runners.case_b.names import REGIMES

TRAIN_FRACTION = {"iid": 0.8, "shift": 0.7, "shiftcol": 0.7, "wide": 0.7}


@dataclass(frozen=True)
class Split:
    """Row numbers of a table: ``fit`` and ``cal`` partition the training rows, ``test`` is disjoint from both."""

    fit: np.ndarray
    cal: np.ndarray
    test: np.ndarray

    @property
    def train(self) -> np.ndarray:
        """Fit rows, then calibration rows."""
        return np.concatenate([self.fit, self.cal])


def train_size(n: int, regime: str) -> int:
    """Number of training rows among n."""
    return int(TRAIN_FRACTION[regime] * n)


def calibration_size(n_train: int) -> int:
    """max(8, floor(n_train / 4)) calibration rows."""
    return max(8, n_train // 4)


def order_statistic(n_cal: int, level: float = 0.95) -> int:
    """Zero-based order statistic of split conformal: min(n_c - 1, ceil(level (n_c + 1)) - 1)."""
    # Guard the ceiling against 0.95 * 20 = 19.000000000000004 style rounding.
    return min(n_cal - 1, math.ceil(round(level * (n_cal + 1), 9)) - 1)


def standardise(X: np.ndarray) -> np.ndarray:
    """Columns of X to mean 0 and standard deviation 1; a constant column becomes 0."""
    sd = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0)


def _ranked(
    X: np.ndarray,
    y: np.ndarray,
    regime: str,
    g: np.random.Generator,
    train_end: str,
    column: int,
    scouts: float,
    ridge: float,
) -> np.ndarray:
    """The usable rows in an order in which the first ones train."""
    n, d = X.shape
    if regime == "iid":
        return g.permutation(n)
    if regime == "shiftcol":
        if not 0 <= column < d:
            raise UsageError(f"shiftcol_column is {column}, and the table has {d} feature columns")
        score = X[:, column]
    else:
        Z = standardise(X)
        if regime == "wide":
            shuffled = g.permutation(n)
            scout, rest = np.split(shuffled, [int(scouts * n)])
            slope = np.linalg.solve(
                Z[scout].T @ Z[scout] + ridge * np.eye(d), Z[scout].T @ (y[scout] - y[scout].mean())
            )
            order = np.argsort(Z[rest] @ slope, kind="stable")
            ranks = np.empty(rest.size)
            ranks[order] = np.arange(rest.size)
            return rest[np.argsort(np.abs(ranks - (rest.size - 1) / 2), kind="stable")]
        direction = g.standard_normal((d,))
        score = Z @ (direction / np.linalg.norm(direction))
    order = np.argsort(score, kind="stable")
    return order if train_end == "low" else order[::-1]


def make_split(
    X: np.ndarray,
    y: np.ndarray,
    regime: str,
    g: np.random.Generator,
    *,
    train_end: str = "low",
    column: int = 0,
    scouts: float = 0.1,
    ridge: float = 1.0,
) -> Split:
    """The split of table rows X (n, d), y (n,) in ``regime``, drawn from ``g``; y is read by ``wide`` alone (scouts)."""
    if regime not in REGIMES:
        raise UsageError(f"unknown regime {regime!r}", hint=f"one of {', '.join(REGIMES)}")
    order = _ranked(X, y, regime, g, train_end, column, scouts, ridge)
    n_train = train_size(order.size, regime)
    train = g.permutation(order[:n_train])
    n_cal = calibration_size(n_train)
    return Split(fit=train[n_cal:], cal=train[:n_cal], test=order[n_train:])

"""Rounding of predictions: how far the centre and the spread of a row can move when its products are summed in another order.

Linear algebra rounds a row differently alone and among others. With tied responses it matters on which side of an edge each of
them falls, so scores are rounded up and edges outwards by what is bounded here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from orledger.recovery.regression.head import Head
    from orledger.recovery.regression.maps import FeatureMap

EPS = float(np.finfo(float).eps)

STEEPEST = {"rbf": 0.5, "matern": 5 / 6, "additive": 0.0}
"""The largest slope of each kernel in the squared distance, at unit length scale; the additive one forms no inner products."""


class Rounded(NamedTuple):
    """What a score and an interval are made of, (n, q) each: the centre, the spread, and what rounding can do to them.

    slack: the centre lies within it of the exact one; stretch: the spread lies within this factor of the exact one.
    """

    centre: np.ndarray
    spread: np.ndarray
    slack: np.ndarray
    stretch: np.ndarray

    def scores(self, y: np.ndarray) -> np.ndarray:
        """|y - centre| / spread (n, q), rounded up."""
        return (np.abs(y - self.centre) + self.slack) / self.spread * self.stretch


def units(terms: int) -> float:
    """The rounding of a sum of `terms` products, relative to the root of the sum of their squares."""
    return 4 * (terms + 16) ** 0.5 * EPS


def feature_error(features: FeatureMap, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a factor (n,) of each row of X, one (d,) of each feature): their products bound the rounding of the features of X."""
    p = X.shape[1]
    if features.anchors is None or features.factor is None:
        return np.zeros(len(X)), np.zeros(p)
    if features.approximation == "nystroem":
        # Squared distances come from inner products; far from the landmarks kernels fall faster than distances grow.
        far = float((features.anchors**2).sum(1).max()) / features.length**2
        count = len(features.anchors)
        each = (4 + 5 * STEEPEST[features.kernel] * far) * units(max(p, count)) * count**0.5
        return np.ones(len(X)), each * np.sqrt((features.factor**2).sum(0))
    steep = np.sqrt((features.anchors**2).sum(0)) / features.length
    size = np.sqrt((((X - features.centre) / features.scale) ** 2).sum(1)) + 2 * np.pi
    return size, np.sqrt(2 / len(steep)) * units(p) * (1 + steep)


def centre_error(head: Head, Z: np.ndarray, row: np.ndarray, feature: np.ndarray) -> np.ndarray:
    """How far rounding moves the predictions (n,) at rows Z (n, live), whose features are as wrong as `feature_error` says."""
    own = units(Z.shape[1]) * (np.sqrt((Z * Z) @ head.coef**2) + abs(head.y_mean))
    return own + row * float(np.sqrt(((feature * head.coef) ** 2).sum()))


def spread_error(head: Head, Z: np.ndarray, spread: np.ndarray, row: np.ndarray, feature: np.ndarray) -> np.ndarray:
    """The factor (n,) by which rounding moves `spread` (n,), the certificate's shape at rows Z."""
    norm2, rate = (Z * Z).sum(1), head.trust * head.mu
    if rate == 0:
        return np.ones(len(Z))
    error = units(Z.shape[1]) * np.sqrt(norm2) + row * float(np.sqrt((feature**2).sum()))
    seen = np.sqrt((spread**2 - 1) / rate)  # the root of V and the unseen part is at most this
    moved = 2 * np.minimum(seen, np.sqrt(norm2)) * error + error**2
    if head.factor.basis.shape[0] > head.factor.basis.shape[1]:
        moved = moved + 4 * np.sqrt(norm2) * error
    if row.any():
        moved = moved + 2 * row * np.sqrt((Z * Z) @ feature**2) + units(Z.shape[1]) * (1 + norm2)
    square = spread**2
    return np.sqrt(np.maximum(1 + rate * moved / square, square / np.maximum(square - rate * moved, 1.0)))


def scale_error(head: Head, Z: np.ndarray, row: np.ndarray, feature: np.ndarray) -> np.ndarray:
    """The factor (n,) by which rounding moves the local scale at rows Z."""
    if head.log_scale is None:
        return np.ones(len(Z))
    error = units(Z.shape[1]) * np.sqrt((Z * Z) @ head.log_scale**2)
    error = error + row * float(np.sqrt(((feature * head.log_scale) ** 2).sum()))
    return np.exp(np.minimum(error, 2 * head.log_reach))

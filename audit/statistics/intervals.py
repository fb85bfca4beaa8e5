"""The interval of a median, by one method everywhere (order statistics and the binomial distribution), and the ends of resampled ones.

For a continuous population the number of sample values below the median is Binomial(n, 1/2), so the interval from the
l-th to the u-th order statistic covers the median with a probability that is known exactly. It needs no resampling and
no seed. The coverage is conservative when values repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import bdtr  # the binomial distribution function without the overhead of scipy.stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

METHOD = "binomial order statistics"
SLACK = 1 + 1e-12  # by which a computed probability may exceed a level without being above it


@dataclass(frozen=True)
class MedianInterval:
    """Ends of the interval, the level it reaches, and whether that is at least the level asked for."""

    low: float
    high: float
    achieved: float
    reached: bool


def median_interval(values: ArrayLike, level: float = 0.95) -> MedianInterval | None:
    """The shortest symmetric order-statistic interval of the median of ``values`` (n,) with coverage of at least ``level``.

    When n is too small for the level (n < 6 at 95 %), the range of the sample is returned with the smaller level it
    does reach and ``reached`` false. None for an empty sample.
    """
    x = np.sort(np.asarray(values, dtype=float))
    n = x.size
    if n == 0:
        return None
    # P(k-th smallest > median) = P(Binomial(n, 1/2) <= k - 1); the largest k with at most (1 - level)/2 outside each end.
    outside = bdtr(np.arange(n), n, 0.5)
    k = int(np.searchsorted(outside, (1 - level) / 2 * SLACK, side="right"))
    reached = k >= 1
    k = max(k, 1)
    achieved = float(1 - 2 * outside[k - 1])
    return MedianInterval(float(x[k - 1]), float(x[-k]), achieved, reached)


def ends_of_draws(
    drawn: NDArray[np.float64], low: float, high: float, axis: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The quantiles ``low`` and ``high`` of ``drawn`` along ``axis``, linear between two draws that are finite.

    Beside an infinite draw an end is not determined, and taken outwards: the lower end is the lower of the two draws, the
    upper one the higher. A draw that is no number may be any.
    """
    ends = []
    sides: tuple[tuple[float, float, Literal["lower", "higher"]], ...] = (
        (low, -np.inf, "lower"),
        (high, np.inf, "higher"),
    )
    for share, anything, outwards in sides:
        known = np.where(np.isnan(drawn), anything, drawn)
        with np.errstate(over="ignore", invalid="ignore"):
            end = np.quantile(known, share, axis=axis)
        if not np.isfinite(end).all():
            end = np.where(np.isfinite(end), end, np.quantile(known, share, axis=axis, method=outwards))
        ends.append(np.asarray(end))
    return ends[0], ends[1]

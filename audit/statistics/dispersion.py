"""Measures of spread, each scale-free so that arms of different size can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.audit.statistics.logarithms import log10
from orledger.audit.ties import exact_mean, middle

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray


def cv(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Sample standard deviation (ddof 1) over the mean, along ``axis``."""
    x = np.asarray(values, dtype=float)
    return _sd(x, axis) / x.mean(axis=axis)


def iqr_over_median(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Interquartile range (linear interpolation) over the median."""
    low, mid, high = np.quantile(np.asarray(values, dtype=float), [0.25, 0.5, 0.75], axis=axis)
    return (high - low) / mid


def mad_over_median(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Median absolute deviation from the median, unscaled, over the median."""
    x = np.asarray(values, dtype=float)
    mid = np.median(x, axis=axis, keepdims=True)
    return np.median(np.abs(x - mid), axis=axis) / np.squeeze(mid, axis=axis)


def max_over_min(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Largest over smallest value."""
    x = np.asarray(values, dtype=float)
    return x.max(axis=axis) / x.min(axis=axis)


def sd_log10(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Sample standard deviation (ddof 1) of the decimal logarithm."""
    return _sd(log10(values), axis)


def _sd(x: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Sample standard deviation, exactly zero for equal values: their mean is rounded, and would leave a trace."""
    spread: NDArray[np.float64] = np.where(np.ptp(x, axis=axis) == 0, 0.0, x.std(axis=axis, ddof=1))
    return spread


MEASURES: dict[str, Callable[..., NDArray[np.float64]]] = {
    "cv": cv,
    "iqr_over_median": iqr_over_median,
    "mad_over_median": mad_over_median,
    "max_over_min": max_over_min,
    "sd_log10": sd_log10,
}


PLAIN: dict[str, Callable[..., Any]] = {
    "median": middle,
    "mean": exact_mean,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
    "count": np.size,
}


def statistic(name: str, values: ArrayLike) -> float:
    """One number from ``values`` (n,): a measure of spread or a plain statistic, by the name a hypothesis file uses."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return float({**PLAIN, **MEASURES}[name](np.asarray(values, dtype=float)))

"""Does a dispersion ranking survive a change of backend? Each cell is redrawn from one backend or another.

This speaks about the backends at hand: it mixes results that were computed, and says nothing about backends that were
not tried or about new noise draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.statistics.dispersion import MEASURES
from orledger.audit.statistics.intervals import ends_of_draws
from orledger.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BATCH = 2_000_000  # numbers that are drawn at once, which bounds the memory


@dataclass(frozen=True)
class BackendResample:
    """``lowest`` (k,): fraction of draws in which each arm has the lowest median dispersion, none in a draw where that of some
    arm is not defined; ``low`` and ``high`` (k,): the range of that median over the central ``level`` of draws; ``draws``: how many.
    """

    lowest: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    draws: int


def resample_backends(
    values: ArrayLike, generator: np.random.Generator, *, draws: int = 4000, measure: str = "cv", level: float = 0.95
) -> BackendResample:
    """Median dispersion over groups, recomputed with every cell drawn from a random backend.

    ``values`` has shape (backends, groups, seeds, arms): the arms of one cell move together, because they come from the
    same solves. The draw of a cell is independent of all others.
    """
    x = np.asarray(values, dtype=float)
    if x.ndim != 4 or x.shape[0] < 2:
        raise DataError(f"resampling needs values of shape (backends >= 2, groups, seeds, arms); got {x.shape}")
    backends, groups, seeds, arms = x.shape
    medians = np.empty((draws, arms))
    g, s = np.arange(groups)[:, None], np.arange(seeds)[None, :]
    step = max(1, BATCH // (groups * seeds * arms))
    for start in range(0, draws, step):
        count = min(step, draws - start)
        pick = generator.integers(backends, size=(count, groups, seeds))
        with np.errstate(divide="ignore", invalid="ignore"):  # the spread of zeros, relative to their mean, is none
            spread = MEASURES[measure](x[pick, g, s], axis=2)  # (count, groups, arms)
            medians[start : start + count] = np.median(spread, axis=1)
    winner = medians[~np.isnan(medians).any(axis=1)].argmin(axis=1)
    low, high = ends_of_draws(medians, (1 - level) / 2, (1 + level) / 2)
    return BackendResample(np.bincount(winner, minlength=arms) / draws, low, high, draws)

"""Equivalence and non-inferiority within a declared margin, and the same question asked the Bayesian way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.ties import ULPS, difference, snapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

DRAWS = 20_000


@dataclass(frozen=True)
class Within:
    """One-sided p-values against differences beyond the margin: ``noninferior`` on the worse side, ``equivalent`` on both."""

    margin: float
    noninferior: float
    equivalent: float


def within_margin(
    differences: NDArray[np.float64],
    margin: float,
    p: Callable[[NDArray[np.float64], str], float],
    better: str,
    scale: ArrayLike = 0.0,
) -> Within:
    """Two one-sided exact tests ``p`` of ``differences`` (n,) shifted by ``margin`` (Schuirmann).

    Each tests that the location lies beyond one end; both rejected at alpha means equivalent at alpha, without correction.
    The first side is not inferior when it is not worse by the margin or more.
    """
    # A difference as large as the margin is a tie, 0.1 + 0.2 is as large as 0.3, and 0.707 - 0.7 (of the size ``scale``) as 0.007.
    size = np.maximum(np.maximum(np.abs(differences), margin), scale)
    below = p(snapped(difference(differences, margin), size), "less")
    above = p(snapped(difference(differences, -margin), size), "greater")
    return Within(margin, below if better == "lower" else above, max(below, above))


@dataclass(frozen=True)
class Posterior:
    """Probabilities that the differences lie mostly below, within, or above the region of practical equivalence."""

    below: float
    within: float
    above: float
    draws: int


def bayesian_signed_rank(differences: ArrayLike, rope: float, seed: int = 0, scale: ArrayLike = 0.0) -> Posterior:
    """The Bayesian signed-rank test (Benavoli and others, ICML 2014): which of the three regions holds most of the mass.

    A Dirichlet process with prior strength 1/2 at zero; the mass of a region is the probability that the mean of two random
    differences falls into it. Probabilities come from DRAWS draws with a fixed seed, right to about 0.004.
    """
    z = np.concatenate([[0.0], np.asarray(differences, dtype=float)])
    means = z[:, None] / 2 + z[None, :] / 2
    weights = np.random.default_rng(seed).dirichlet(np.r_[0.5, np.ones(z.size - 1)], size=DRAWS)
    edge = rope + ULPS * max(rope, float(np.max(scale)))
    regions = (means < -edge, np.abs(means) <= edge, means > edge)
    mass = np.column_stack([((weights @ region) * weights).sum(axis=1) for region in regions])
    winner = np.bincount(mass.argmax(axis=1), minlength=3) / DRAWS
    return Posterior(float(winner[0]), float(winner[1]), float(winner[2]), DRAWS)

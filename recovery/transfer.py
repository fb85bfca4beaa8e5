"""From coverage of observations to coverage of the truth, when the noise is independent of the band."""

from __future__ import annotations

from dataclasses import dataclass

from orledger.recovery._array import nonnegative, number
from orledger.recovery.errors import InputError


@dataclass(frozen=True)
class TruthCoverage:
    """A band widened by `widening` covers the noiseless target with probability at least `level` (never below 0)."""

    widening: float
    level: float
    observation_level: float
    noise_tail: float


def truth_coverage(observation_level: float, z: float, noise_tail: float) -> TruthCoverage:
    """The truth-coverage guarantee of Prop. truth: observation level minus Pr[|e| > z], for a band widened by z > 0.

    observation_level: the conformal level achieved, order / (n_c + 1); noise_tail: Pr[|e_new| > z] of the noise law. The
    conformal floor q_add belongs to the band already.
    """
    observation_level = number(observation_level, "observation_level", low=0.0, high=1.0)
    noise_tail, z = number(noise_tail, "noise_tail", low=0.0, high=1.0), number(z, "z", low=0.0, infinite=True)
    if z == 0:
        raise InputError("z = 0; a band is widened by a positive number")
    return TruthCoverage(z, max(observation_level - noise_tail, 0.0), observation_level, noise_tail)


def gaussian_truth_coverage(observation_level: float, sigma: float, z: float) -> TruthCoverage:
    """`truth_coverage` for Gaussian noise of standard deviation sigma >= 0."""
    from math import erfc, sqrt

    sigma, z = nonnegative(sigma, "sigma"), number(z, "z", infinite=True)
    tail = erfc(z / (sigma * sqrt(2))) if sigma > 0 else 0.0
    return truth_coverage(observation_level, z, tail)

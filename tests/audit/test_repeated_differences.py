"""Intervals of the signed-rank test where differences repeat, against every pattern of signs at every gap of the averages."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from orledger.audit.statistics.signedrank import signed_rank


def p_by_patterns(d: np.ndarray) -> float:
    """The two-sided p by its definition: twice the smaller share of sign patterns with a rank sum as far out."""
    d = d[d != 0]
    ranks = rankdata(np.abs(d))
    sums = np.array([ranks[np.array(s)].sum() for s in itertools.product([False, True], repeat=len(d))])
    seen = ranks[d > 0].sum()
    return min(1.0, 2 * min(np.mean(sums <= seen), np.mean(sums >= seen)))


@pytest.mark.parametrize(
    "d",
    [
        [1, 1, 2, 3, 4, 5],
        [5, 5, 4, 3, 2, 1, 1],
        [-1, -1, -2, -4, -4, -8],
        [1, 2, 4, 8, 16, 16, 16],
        [-1, -2, -4, -8, -16, -16, -16],
        [-4, 0, 0, 1, 3, 3, 8],
    ],
)
def test_the_interval_ends_at_the_averages_around_the_shifts_that_are_kept(d):
    x = np.array(d, dtype=float)
    walsh = np.unique([(a + b) / 2 for a, b in itertools.combinations_with_replacement(x, 2)])
    gaps = np.concatenate([[walsh[0] - 1], (walsh[:-1] + walsh[1:]) / 2, [walsh[-1] + 1]])
    kept = np.flatnonzero([p_by_patterns(x - gap) > 0.05 for gap in gaps])
    assert kept[0] > 0, "the sample is large enough for the level"
    assert kept[-1] < len(gaps) - 1
    found = signed_rank(x)
    assert (found.low, found.high) == (walsh[kept[0] - 1], walsh[kept[-1]])


def test_six_hundred_differences_are_the_last_with_an_exact_test():
    values = np.arange(1.0, 602.0) * np.where(np.arange(601) % 2, 1, -1)
    assert "normal" not in signed_rank(values[:600]).method
    assert "normal approximation" in signed_rank(values).method

"""Intervals of the signed-rank test where differences repeat, against every pattern of signs at every gap of the averages."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from orledger.audit.statistics.sign import sign_test
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


SPREAD = np.array([2, 1, 2, 0, 2, 2, 1, 1], dtype=float)


@pytest.mark.parametrize("scale", [1e17, 2.0**53, 2.0**1022, 1e-17, 2.0**-1000, 2.0**-1073, 1.0])
def test_the_interval_has_the_scale_of_its_differences(scale):
    """Seven differences of one sign and a zero: p = 2 / 128 rejects zero, and the shifts kept go from 1/2, open, to 2."""
    r = signed_rank(SPREAD * scale)
    assert (r.p, r.low, r.high, r.interval_ends) == (2 / 128, 0.5 * scale, 2 * scale, "(]")
    down = signed_rank(-SPREAD * scale)
    assert (down.p, down.low, down.high, down.interval_ends) == (2 / 128, -2 * scale, -0.5 * scale, "[)")


@pytest.mark.parametrize("scale", [1e-3, 1.0, 2.0**1021])
@pytest.mark.parametrize("test", [signed_rank, sign_test])
def test_differences_near_the_largest_number_have_their_interval_too(test, scale):
    """Six positive ones, all different: the interval of the level is their range, open or closed alike at every scale."""
    d = np.array([1.0, 1.25, 1.5, 2.0, 3.0, 7.0])
    r, plain = test(d * scale), test(d)
    assert (r.low / scale, r.high / scale, r.p) == (pytest.approx(1.0), pytest.approx(7.0), 2 / 64)
    assert (r.interval_ends, r.level) == (plain.interval_ends, plain.level)
    assert r.effect == pytest.approx(plain.effect * scale, rel=1e-15)


def test_six_hundred_differences_are_the_last_with_an_exact_test():
    values = np.arange(1.0, 602.0) * np.where(np.arange(601) % 2, 1, -1)
    assert "normal" not in signed_rank(values[:600]).method
    assert "normal approximation" in signed_rank(values).method

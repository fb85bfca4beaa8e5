"""What is equal as printed is equal everywhere: in ranks, in claims with a tolerance, in shares, in multiples of a resolution."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest
from hand_units import remembering, units
from hypothesis_text import comparison
from test_predicates import found, matched

from orledger.audit.evaluation.comparisons import evaluate
from orledger.audit.evaluation.preparing import _whole
from orledger.audit.statistics.friedman import friedman
from orledger.audit.statistics.skillings_mack import skillings_mack
from orledger.audit.statistics.spearman import spearman
from orledger.audit.statistics.stratified import mean_ranks
from orledger.audit.ties import equalised
from orledger.reports.generic import Values

KEYS = ("split", "rel")


def mean(*hundredths: int) -> float:
    """The mean of numbers with two digits as an audit takes it: added exactly, rounded once."""
    return fsum(h / 100 for h in hundredths) / len(hundredths)


# Six blocks of three means each; in hundredths the first two arms tie in every block but the last.
SUMS = [((50, 50, 61), (50, 55, 56), 40), ((50, 50, 84), (50, 53, 81), 41), ((50, 63, 94), (50, 64, 93), 90), ((50, 86, 94), (56, 81, 93), 42),
        ((65, 94, 94), (66, 93, 94), 43), ((50, 50, 50), (90, 90, 90), 95)]  # fmt: skip
MEANS = np.array([[mean(*a), mean(*b), c / 100] for a, b, c in SUMS])
WHOLE = np.array([[sum(a), sum(b), 3 * c] for a, b, c in SUMS], dtype=float)


def test_the_means_differ_in_their_last_bits():
    """Otherwise nothing below would be tested."""
    same = WHOLE[:, 0] == WHOLE[:, 1]
    assert same.sum() == 5
    assert (MEANS[same, 0] != MEANS[same, 1]).all()


@pytest.mark.parametrize("test", [friedman, skillings_mack])
def test_blocks_tie_as_their_whole_numbers_do(test):
    got, want = test(MEANS), test(WHOLE)
    assert (got.statistic, got.p, got.ties) == (want.statistic, want.p, want.ties)
    assert got.details["mean_ranks"] == want.details["mean_ranks"]


def test_correlations_and_mean_ranks_tie_as_whole_numbers_do():
    got, want = spearman(MEANS[:, 0], MEANS[:, 1]), spearman(WHOLE[:, 0], WHOLE[:, 1])
    assert (got.statistic, got.p, got.ties) == (want.statistic, want.p, want.ties)
    across = MEANS[:5, :2].ravel()  # each mean twice, in one sample
    assert spearman(across, np.arange(10)).ties == 5
    assert (mean_ranks(MEANS).value == mean_ranks(WHOLE).value).all()
    table = Values(tuple("abcdef"), ("x", "y", "z"), MEANS, None)
    assert (table.ranks("lower").mean(axis=0) == mean_ranks(WHOLE).value).all()


def test_numbers_are_made_equal_only_where_rounding_explains_it():
    x = np.array(
        [[0.3, 0.1 + 0.2, 0.30000001, np.nan, np.inf, -0.3], [0.0, 1e-300, -1e-300, 1.0, np.nextafter(1, 2), 5.0]]
    )
    got = equalised(x)
    assert got[0, 0] == got[0, 1] != got[0, 2]
    assert np.isnan(got[0, 3])
    assert got[0, 4] == np.inf
    assert got[0, 5] == -0.3
    assert got[1, 3] == got[1, 4] != got[1, 5]
    assert len(set(got[1, :3])) == 3  # beside zero nothing is rounding
    assert equalised(np.array([])).size == 0


def test_half_a_resolution_is_one_thing_whatever_its_last_bit():
    d = np.array([0.71 - 0.70, 0.57 - 0.56, 0.69 - 0.68, 0.70 - 0.71, 0.03, 0.035])
    assert d[0] > 0.01 > d[1]
    assert _whole(d, np.full(6, 0.7), 0.02).tolist() == [0, 0, 0, 0, 2, 2]
    assert _whole(np.array([0.5000001, 1.4999999]), np.ones(2), 1.0).tolist() == [1, 1]  # no rounding explains these


@pytest.mark.parametrize(("a", "b"), [(0.81, 0.80), (0.71, 0.70), (0.58, 0.57)])
def test_a_difference_as_large_as_the_tolerance_is_not_worse(a, b):
    assert a - b > 0.01
    assert found(matched([("p", 1, a, b)]), "never_worse", "x", "y", tolerance=0.01)[0]
    assert not found(matched([("p", 1, a + 0.001, b)]), "never_worse", "x", "y", tolerance=0.01)[0]
    assert found(matched([("p", 1, a, b)]), "at_most", "x", "y", combine="difference", limit=0.01)[0]
    one = matched([("p", 1, b, a), ("p", 2, b, a)])
    assert found(one, "ordering", "x", "y", stat="mean", direction="decreasing", tolerance=0.01)[0]
    assert found(matched([("p", 1, a, b)]), "best", "x", "y", stat="mean", better="lower", tolerance=0.01)[0]
    assert found(matched([("p", 1, a), ("p", 2, b)], keys=("g", "s")), "monotone", "x", along="s", tolerance=0.01)[0]


def test_an_infinite_value_is_worse_than_any():
    assert not found(matched([("p", 1, np.inf, 1.0)]), "never_worse", "x", "y", tolerance=0.01)[0]


def test_means_that_tie_are_in_no_strict_order_and_no_win():
    a, b = MEANS[:5, 0], MEANS[:5, 1]
    low, high = sorted((a[0], b[0]))
    assert low < high
    tied = matched([("p", 1, low, high)])
    for kind in ("ordering", "best"):
        assert not found(tied, kind, "x", "y", stat="mean", strict=True)[0]
        assert found(tied, kind, "x", "y", stat="mean")[0]
    assert not found(matched([("p", 1, low), ("p", 2, high)]), "monotone", "x", along="s", strict=True)[0]
    assert found(tied, "count", "x", "y", at_least=1)[2] == 0
    assert found(tied, "count", "y", "x", better="higher", at_least=1)[2] == 0


@pytest.mark.parametrize(("share", "n"), [(0.55, 100), (0.07, 100), (0.28, 25), (0.14, 50)])
def test_a_share_of_units_that_is_reached_is_reached(share, n):
    k = round(share * n)
    assert share * n > k  # in doubles
    rows = matched([("p", i, float(i < k)) for i in range(n)])
    assert found(rows, "count", "x", at_least=share)[0]
    assert found(rows, "count", "x", at_most=share)[0]


@pytest.mark.parametrize(("share", "n"), [(0.29, 100), (0.58, 50)])
def test_a_share_of_units_that_is_not_exceeded_is_not_exceeded(share, n):
    k = round(share * n)
    assert share * n < k
    rows = matched([("p", i, float(i < k)) for i in range(n)])
    assert found(rows, "count", "x", at_most=share)[0]
    assert not found(matched([("p", i, float(i <= k)) for i in range(n)]), "count", "x", at_most=share)[0]


def test_an_arm_that_lacks_a_seed_counts_with_the_seeds_it_has():
    """Three arms on four splits of two values; c lacks one value of the first split and all of the last."""
    c = comparison('test = "skillings_mack"\narms = ["a", "b", "c"]\nunit = ["split"]\nblocked = "mean"\n')

    def side(shift: float, without: tuple = ()):
        rows = [(str(i), str(j), 10.0 * i + j + shift) for i in range(4) for j in range(2)]
        return units([r for r in rows if r[:2] not in without], [(*w, "gone") for w in without], KEYS)

    gone = (("0", "0"), ("3", "0"), ("3", "1"))
    first, *_ = evaluate(remembering(c, side(0), side(1), side(2, gone)), c)
    means = np.array([[0.5, 1.5, 3.0], [10.5, 11.5, 12.5], [20.5, 21.5, 22.5], [30.5, 31.5, np.nan]])
    want = skillings_mack(means)
    assert first.result.details["incomplete_blocks"] == 1
    assert (first.result.statistic, first.result.p) == (want.statistic, want.p)

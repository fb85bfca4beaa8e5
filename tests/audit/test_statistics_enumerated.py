"""Floors, extremes and limits of rank tests and counts, against every order of small samples."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from scipy.stats import rankdata

from orledger.audit.statistics import friedman as by_blocks
from orledger.audit.statistics import spearman as by_ranks
from orledger.audit.statistics.counts import fisher, mcnemar, mcnemar_units, proportion
from orledger.audit.statistics.floors import attainable, smallest_n
from orledger.audit.statistics.friedman import friedman
from orledger.audit.statistics.skillings_mack import skillings_mack
from orledger.audit.statistics.slopes import slope
from orledger.audit.statistics.spearman import spearman

NAN = float("nan")
SIDES = ("two-sided", "less", "greater")
TIED = (
    ([1, 1, 2, 3, 4], [1, 2, 2, 2, 3]),
    ([1, 2, 2, 2, 2], [1, 1, 1, 2, 3]),  # falls further than it can rise
    ([1, 1, 1, 1, 2], [3, 2, 2, 1, 1]),
    ([1, 1, 2, 2, 3], [1, 1, 2, 2, 3]),  # tied together
    ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]),
)


def every_order(x, y):
    """The sums of products of centred ranks over all orders of y."""
    cx, cy = (rankdata(v) - (len(v) + 1) / 2 for v in (x, y))
    return cx, cy, np.array([cx @ np.array(order) for order in permutations(cy)])


def share(null, seen, side):
    return {"less": null <= seen + 1e-9, "greater": null >= seen - 1e-9}.get(side, abs(null) >= abs(seen) - 1e-9).mean()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("x", "y"), TIED)
def test_floor_and_most_extreme_order_of_ranks(x, y, side):
    cx, cy, null = every_order(x, y)
    found = spearman(x, y, side)
    assert found.p == pytest.approx(share(null, cx @ cy, side))
    assert found.floor == pytest.approx(min(share(null, seen, side) for seen in null))
    assert by_ranks._extreme(cx, cy, side) == pytest.approx(found.floor)


def test_the_limit_of_permutations_belongs_to_them(monkeypatch):
    monkeypatch.setattr(by_ranks, "EXACT_LIMIT", 4)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]).method.startswith("exact permutation")
    assert spearman([1, 2, 3, 4, 5], [1, 3, 2, 4, 5]).method.startswith("Student approximation")


@pytest.mark.parametrize(("side", "tails"), [("two-sided", 2), ("less", 1), ("greater", 1)])
def test_beyond_it_the_floor_is_that_of_one_order(side, tails):
    up, mixed = np.arange(10), [1, 0, 2, 3, 4, 5, 6, 7, 9, 8]
    assert spearman(up, mixed, side).floor == pytest.approx(tails / factorial(10), rel=1e-12)
    perfect = {s: spearman(up, y, side).p for s, y in (("greater", up), ("less", up[::-1]))}
    for s, p in perfect.items():
        assert p == pytest.approx(1.0 if side not in (s, "two-sided") else tails / factorial(10), rel=1e-12)


def test_blocks_that_agree_are_the_floor():
    assert friedman([[1, 2, 3], [3, 1, 2], [2, 3, 1]]).floor == pytest.approx(1 / 36)
    half = friedman([[1.0, 2.0], [1.0, 1.0]])  # one block speaks: its two orders give 1 and 1
    assert (half.statistic, half.p) == (1.0, 1.0)
    assert friedman([[1.0, 1.0], [2.0, 2.0]]).statistic == 0.0


def test_limits_of_enumeration(monkeypatch):
    """Six orders of three arms; of two blocks six sums, so 36 candidates for the third."""
    for states, blocks, method in ((6, 2, "exact"), (5, 2, "chi"), (36, 3, "exact"), (35, 3, "chi")):
        monkeypatch.setattr(by_blocks, "EXACT_STATES", states)
        assert friedman([[1.0, 2.0, 3.0]] * blocks).method.startswith(method), states


def test_sums_of_ranks_that_no_integer_can_hold_apart_are_not_enumerated():
    """Seven arms, all tied: (2 * 7 * n + 1)^7 is below 2^62 up to 33 blocks."""
    assert friedman(np.ones((33, 7))).method.startswith("exact")
    assert friedman(np.ones((34, 7))).method.startswith("chi-squared")


@pytest.mark.parametrize(
    "x",
    [
        [[1.0, 2.0, 3.0], [2.0, 1.0, NAN], [NAN, 1.0, 2.0]],
        [[3.0, 1.0, 2.0], [1.0, NAN, 2.0], [2.0, 1.0, NAN], [1.0, 1.0, 2.0]],
        [[1.0, 2.0, 3.0, 4.0], [NAN, 2.0, 1.0, 3.0], [1.0, NAN, NAN, 2.0]],
    ],
)
def test_the_floor_with_gaps_is_that_of_the_best_of_all_orders(x):
    """Every block dealt out in every way among the arms that it has: no statistic is larger, and one is as large."""
    rows = [np.array(row) for row in x]
    orders = []
    for row in rows:
        here = np.flatnonzero(~np.isnan(row))
        found = []
        for order in set(permutations(row[here])):
            dealt = row.copy()
            dealt[here] = order
            found.append(dealt)
        orders.append(found)
    seen = [skillings_mack(np.array(blocks)) for blocks in product(*orders)]
    assert skillings_mack(x).floor == pytest.approx(min(s.p for s in seen), rel=1e-9)


def test_floors_of_one_and_two_units():
    assert attainable("spearman", 2, side="less") == 0.5
    assert [attainable(test, 0) for test in ("fisher", "friedman", "slope")] == [1.0] * 3
    assert [attainable("friedman", n, arms=3) for n in (1, 2)] == [1.0, pytest.approx(1 / 6)]
    for test in ("fisher", "spearman", "sign_anytime"):
        assert smallest_n(test, attainable(test, 4)) == 4
        assert smallest_n(test, 1.0) == 1
    assert smallest_n("sign_anytime", 0.7, side="less") == 1  # one toss that agrees: e is 1.64


def test_a_slope_between_minus_one_and_zero_falls():
    x, y = [0.0, 1.0, 2.0, 3.0], [9.0, 8.4, 8.1, 7.4]
    down, up = slope(x, y, "less"), slope(x, y, "greater")
    assert -1 < down.effect < 0
    assert down.p < 0.01
    assert up.p == pytest.approx(1 - down.p)
    assert slope(x, [-v for v in y], "greater").p == pytest.approx(down.p)  # rises from below zero
    assert down.ties == 0


def test_fields_of_counts():
    share = proportion(2, 3)
    assert (share.wins, share.losses, share.ties, share.level) == (2, 1, 0, 0.95)
    both, less = fisher(1, 3, 1, 4), fisher(1, 3, 1, 4, "less")
    assert (both.method, less.method) == ("exact, two-sided by probability", "exact")
    assert (both.n_nonzero, both.ties, both.details["table"]) == (7, 0, [[1, 2], [1, 3]])
    assert (mcnemar(1, 2).ties, mcnemar_units([0.5, -0.5, 0.5], "mean").ties) == (0, 0)

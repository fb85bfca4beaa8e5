"""Clusters, margins, ranks, spread, power and inverted tests, in small samples computed by hand; see test_statistics_edges.py."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy.stats import binom

from orledger.audit.statistics import attainable as reachable
from orledger.audit.statistics.bound import Bound
from orledger.audit.statistics.clusters import cluster_sign_flip, intraclass
from orledger.audit.statistics.counts import clopper_pearson
from orledger.audit.statistics.dispersion import exact_mean, statistic
from orledger.audit.statistics.equivalence import bayesian_signed_rank, within_margin
from orledger.audit.statistics.floors import attainable
from orledger.audit.statistics.friedman import friedman
from orledger.audit.statistics.intervals import median_interval
from orledger.audit.statistics.inversion import ShiftInterval, walsh_averages
from orledger.audit.statistics.powers import power_at, units_for
from orledger.audit.statistics.result import Dropped, TestResult
from orledger.audit.statistics.sign import sign_p, sign_test
from orledger.audit.statistics.signedrank import signed_rank, signed_rank_p
from orledger.audit.statistics.slopes import slope
from orledger.audit.statistics.spearman import spearman
from orledger.errors import DataError

# ---- clusters ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [True, False])
@pytest.mark.parametrize("side", ["two-sided", "less", "greater"])
def test_clusters_flip_as_a_whole(ranks, side):
    d, names = np.array([1.0, 2.0, -3.0, 4.0, 5.0, 0.0, 6.0, -6.0]), list("aabbcadd")
    size = (
        {1.0: 1, 2.0: 2, 3.0: 3, 4.0: 4, 5.0: 5, 6.0: 6.5, 0.0: 0}
        if ranks
        else dict.fromkeys((1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 1) | {0.0: 0}
    )
    sums = {c: sum(np.sign(x) * size[abs(x)] for x, k in zip(d, names, strict=True) if k == c) for c in "abcd"}
    used = [s for s in sums.values() if s]
    total = sum(used)
    flips = [
        sum(f * s for f, s in zip(signs, map(abs, used), strict=True)) for signs in product((1, -1), repeat=len(used))
    ]
    below, above = np.mean([f <= total for f in flips]), np.mean([f >= total for f in flips])
    r = cluster_sign_flip(d, names, side, ranks=ranks, better="higher")
    assert r.statistic == total
    assert r.p == pytest.approx({"less": below, "greater": above}.get(side, min(1.0, 2 * min(below, above))))
    assert (r.n, r.n_nonzero) == (4, len(used))
    assert r.floor == 2.0 ** ((side == "two-sided") - len(used))
    assert (r.wins, r.losses, r.draws) == (sum(s > 0 for s in sums.values()), 0, 4 - len(used))
    assert r.effect == pytest.approx(total / sum(size[abs(x)] for x in d))
    assert r.details["units"] == 8


def test_clusters_that_say_nothing():
    r = cluster_sign_flip([1.0, -1.0], ["a", "a"])
    assert (r.p, r.floor, r.n_nonzero, r.effect) == (1.0, 1.0, 0, 0.0)
    assert r.method.startswith("exact: no cluster with a non-zero sum")
    assert cluster_sign_flip([0.0], ["a"]).effect is None


def test_intraclass_correlation_by_the_table_of_variances():
    """Means 1 and 5 of pairs that differ by 2: within 2, between 16, so (16 - 2) / (16 + 2); unequal sizes as Donner and Koval."""
    assert intraclass([0.0, 2.0, 4.0, 6.0], list("aabb")) == pytest.approx(14 / 18)
    x, sizes = [0.0, 2.0, 4.0, 6.0, 5.0], (2, 3)
    within = (2.0 + 2.0) / 3
    between = 2 * (1 - 3.4) ** 2 + 3 * (5 - 3.4) ** 2
    typical = 5 - sum(s * s for s in sizes) / 5
    assert intraclass(x, list("aabbb")) == pytest.approx((between - within) / (between + (typical - 1) * within))
    assert intraclass([1.0, 2.0], list("ab")) is None
    assert intraclass([1.0, 2.0], list("aa")) is None
    assert intraclass([1.0, 1.0, 1.0], list("aab")) is None


# ---- margins ----------------------------------------------------------------------------------------------------------------


def test_margins_from_both_sides():
    """Differences 0, 0, 1 with a margin of 2: shifted to -2, -2, -1 and 2, 2, 3, so 1/8 on either side."""
    d = np.array([0.0, 0.0, 1.0])
    found = within_margin(d, 2.0, signed_rank_p, "lower")
    assert (found.margin, found.noninferior, found.equivalent) == (2.0, 1 / 8, 1 / 8)
    wide = within_margin(d + 1.0, 2.0, sign_p, "lower")  # 1, 1, 2: the last one ties with the margin
    assert (wide.noninferior, wide.equivalent) == (1 / 4, 1 / 4)
    assert within_margin(d + 1.0, 2.0, sign_p, "higher").noninferior == 1 / 8


def test_all_mass_in_one_region():
    assert bayesian_signed_rank([9.0] * 40, 1.0).above == 1.0
    assert bayesian_signed_rank([-9.0] * 40, 1.0).below == 1.0
    assert bayesian_signed_rank([1.0] * 40, 1.0).within == 1.0  # the edge belongs to the region
    even = bayesian_signed_rank([-3.0, 3.0], 0.1)
    assert even.below + even.within + even.above == pytest.approx(1.0)
    assert even.below == pytest.approx(even.above, abs=0.02)
    assert even.draws == 20_000


def test_the_edge_of_the_region_is_as_wide_as_the_rounding_of_what_was_subtracted():
    """64.2 - 64.1 is 0.1 as printed and more in doubles; twice a margin of 1e-9 is no rounding of anything."""
    d = 64.2 - 64.1
    assert d > 0.1
    assert bayesian_signed_rank([d] * 40, 0.1, scale=64.2).within == 1.0
    assert bayesian_signed_rank([2e-9] * 40, 1e-9).above == 1.0


def test_what_lies_beyond_a_margin_lies_beyond_it_however_small_both_are():
    """Eight differences of three margins below zero; nothing was subtracted that is larger."""
    found = within_margin(np.full(8, -3e-15), 1e-15, sign_p, "lower")
    assert (found.noninferior, found.equivalent) == (2.0**-8, 1.0)


# ---- ranks ------------------------------------------------------------------------------------------------------------------


def test_friedman_of_two_blocks_that_agree():
    """Two blocks of three in one order: the largest statistic 4, one order in six."""
    r = friedman([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], ["a", "b", "c"])
    assert (r.statistic, r.effect, r.p, r.floor, r.n, r.n_nonzero, r.ties) == (
        4.0,
        1.0,
        pytest.approx(1 / 6),
        pytest.approx(1 / 6),
        2,
        2,
        0,
    )
    assert r.details["mean_ranks"] == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert r.details["mean_rank_low"] == r.details["mean_rank_high"] == r.details["mean_ranks"]
    assert (r.details["df"], r.details["p_chi2"]) == (2, pytest.approx(np.exp(-2)))
    tied = friedman([[1.0, 1.0], [2.0, 2.0]])
    assert (tied.statistic, tied.p, tied.n_nonzero, tied.ties) == (0.0, 1.0, 0, 2)
    for bad in ([[1.0, 2.0]], [[1.0], [2.0]], [1.0, 2.0]):
        with pytest.raises(DataError, match="at least 2 blocks and 2 arms"):
            friedman(bad)
    with pytest.raises(DataError, match="got NaN"):
        friedman([[1.0, np.nan], [1.0, 2.0]])


def test_mean_ranks_have_student_intervals():
    """Ranks 1, 1, 2 of the first arm: mean 4/3, standard error 1/3, two degrees of freedom; cut at 1 and at 2."""
    r = friedman([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]], ["a", "b"], level=0.5)
    half = np.sqrt(2 / 3) / 3  # the upper quartile of Student's law with two degrees of freedom is sqrt(2/3)
    assert r.details["mean_rank_low"] == pytest.approx({"a": 4 / 3 - half, "b": 5 / 3 - half})
    assert r.details["mean_rank_high"] == pytest.approx({"a": 4 / 3 + half, "b": 5 / 3 + half})


@pytest.mark.parametrize(("side", "p"), [("two-sided", 2 / 24), ("greater", 1 / 24), ("less", 1.0)])
def test_perfect_rank_correlation_of_four(side, p):
    r = spearman([1, 2, 3, 4], [10, 20, 30, 40], side)
    assert (r.statistic, r.effect, r.n, r.ties) == (pytest.approx(1.0), pytest.approx(1.0), 4, 0)
    assert r.p == pytest.approx(p)
    assert r.floor == pytest.approx((2 if side == "two-sided" else 1) / 24)


def test_rank_correlation_beyond_enumeration():
    """Ten units in order: one of 10! orders; the first and the sixth swapped: rho = 1 - 6 * 50 / 990 and Student's law."""
    from scipy.stats import t

    x = np.arange(10)
    assert spearman(x, x, "greater").p == pytest.approx(1 / factorial(10))
    assert spearman(x, -x).p == pytest.approx(2 / factorial(10))
    assert spearman(x, -x, "greater").p == 1.0
    y = x.copy()
    y[[0, 5]] = y[[5, 0]]
    rho = 1 - 6 * 50 / 990
    stat = rho * np.sqrt(8 / (1 - rho**2))
    found = {side: spearman(x, y, side) for side in ("two-sided", "less", "greater")}
    assert found["greater"].p == pytest.approx(t.sf(stat, 8), rel=1e-6)
    assert found["two-sided"].p == pytest.approx(2 * t.sf(stat, 8), rel=1e-6)
    assert found["less"].p == pytest.approx(t.cdf(stat, 8), rel=1e-6)
    assert found["less"].floor == pytest.approx(1 / factorial(10))
    flat = spearman([1, 1, 1], [1, 2, 3])
    assert (flat.statistic, flat.p, flat.floor, flat.ties, flat.method) == (None, 1.0, 1.0, 2, "no variation")
    for a, b in (([1], [1]), ([1, 2], [1, 2, 3])):
        with pytest.raises(DataError, match="equally long samples of at least 2"):
            spearman(a, b)
    for a, b in (([1, np.nan], [1, 2]), ([1, 2], [np.nan, 2])):
        with pytest.raises(DataError, match="got NaN"):
            spearman(a, b)


def test_a_slope_of_three_points():
    """y = 0, 1, 1 at 0, 1, 2: slope 1/2, residuals -1/6, 1/3, -1/6, standard error sqrt(1/12), one degree of freedom."""
    r = slope([0, 1, 2], [0, 1, 1])
    t = 0.5 / np.sqrt(1 / 12)
    tail = 0.5 - np.arctan(t) / np.pi
    assert (r.effect, r.statistic, r.p) == (pytest.approx(0.5), pytest.approx(t), pytest.approx(2 * tail))
    assert slope([0, 1, 2], [0, 1, 1], "greater").p == pytest.approx(tail)
    assert slope([0, 1, 2], [0, 1, 1], "less").p == pytest.approx(1 - tail)
    half = np.sqrt(1 / 12) * np.tan(np.pi * 0.4)
    wide = slope([0, 1, 2], [0, 1, 1], level=0.8)
    assert (wide.low, wide.high, wide.level) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half), 0.8)
    assert r.details == pytest.approx({"se": np.sqrt(1 / 12), "r2": 0.75, "intercept": 1 / 6})
    assert r.floor == 0.0
    for x, y in (([0, 1], [0, 1]), ([0, 1, 2], [0, 1]), ([1, 1, 1], [0, 1, 2])):
        with pytest.raises(DataError, match="at least 3 points at 2 different positions"):
            slope(x, y)


# ---- spread, power, what can be printed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cv", np.sqrt(8 / 3) / 3), ("iqr_over_median", 1 / 3), ("mad_over_median", 1 / 3), ("max_over_min", 5.0),
        ("sd_log10", np.std(np.log10([1, 3, 3, 5]), ddof=1)), ("median", 3.0), ("mean", 3.0), ("min", 1.0), ("max", 5.0), ("sum", 12.0),
        ("count", 4.0),
    ],
)  # fmt: skip
def test_statistics_of_four_numbers(name, value):
    """1, 3, 3, 5: variance 8/3, quartiles 2.5 and 3.5, absolute deviations 2, 0, 0, 2."""
    assert statistic(name, [1.0, 3.0, 3.0, 5.0]) == pytest.approx(value, rel=1e-14)


def test_equal_values_have_no_spread_and_a_mean_is_rounded_once():
    assert statistic("cv", [0.1, 0.1, 0.1]) == 0.0
    assert statistic("sd_log10", [0.3] * 3) == 0.0
    assert exact_mean(np.array([1e16, 1.0, -1e16])) == 1 / 3
    assert exact_mean(np.array([np.inf, 1.0])) == np.inf
    result = TestResult("sign", "m", "less", 4, 4, 0, 1.0, "s", 0.5, 0.1, wins=1, losses=2, draws=1)
    assert result.superiority == 0.375
    assert [replace(result, **{f: None}).superiority for f in ("wins", "losses", "draws")] == [None] * 3
    assert (result.computed, result.centred, TestResult.__test__) == (True, False, False)
    assert (Dropped("u", "r").refused, Dropped("u", "r").partial) == (False, False)


def test_power_of_a_coin():
    """Six tosses at 0.05 two-sided reject at none and at all; five reject nothing."""
    assert power_at("sign", 6, 0.9, 0.05) == pytest.approx(0.9**6 + 0.1**6)
    assert power_at("sign", 6, 0.9, 0.05, "greater") == pytest.approx(0.9**6)
    assert power_at("sign", 6, 0.9, 0.05, "less") == pytest.approx(0.9**6)
    assert power_at("sign", 5, 0.9, 0.05) == 0.0
    assert power_at("sign", 0, 0.9, 0.05) == 0.0
    assert units_for("sign", 1.0, 0.05) == 6
    assert units_for("sign", 1.0, 0.05, "less") == 5
    assert units_for("sign_anytime", 0.5, 0.05) is None
    # Enough at 30 to 32 units, and not at 34: one more success is asked of them.
    enough = []
    for n in range(1, 120):
        k = np.arange(n + 1)
        rejected = 2 * binom.cdf(np.minimum(k, n - k), n, 0.5) <= 0.05
        enough += [n] if binom.pmf(k[rejected], n, 0.75).sum() >= 0.8 else []
    assert enough[0] == 30
    assert 34 not in enough
    assert set(range(units_for("sign", 0.75, 0.05), 120)) == {n for n in enough if n > 34}
    assert power_at("signed_rank", 6, 1 - 1e-12, 0.05) == 1.0
    assert power_at("signed_rank", 5, 1 - 1e-12, 0.05) == 0.0
    assert power_at("signed_rank", 601, 0.6, 0.05) == 1.0


def test_p_values_that_a_design_can_print():
    assert reachable.splits(2, losses=1) == [(0, 1, 1), (1, 1, 0)]
    assert reachable.splits(2, wins=2, ties=0) == [(2, 0, 0)]
    assert reachable.subset_sums((1, 2, 3), 2).tolist() == [3, 4, 5]
    assert reachable.exact_p_values(3, 0).tolist() == [0.25]
    assert reachable.exact_p_values(3, 1).tolist() == [0.5, 0.75, 1.0]
    assert reachable.exact_p_values(0, 0).tolist() == [1.0]
    assert reachable.exact_p_values(2, 1, zeros_ranked=1).tolist() == [1.0]
    assert reachable.midranks_doubled((1, 2)) == (2, 5, 5)
    assert sorted(reachable.compositions(3)) == [(1, 1, 1), (1, 2), (2, 1), (3,)]
    assert reachable.tied_p_values(2, 0).tolist() == [0.5]
    assert reachable.tied_p_values(1, 0).size == 0
    assert reachable.tied_p_values(13, 0).size == 0
    assert reachable.tie_terms(4) == (0, 6, 12, 24, 60)
    assert reachable.sign_test_p(3, 1) == 10 / 16
    assert reachable.sign_test_p(2, 2) == 1.0


def test_normal_p_of_three_ranks():
    """Mean 3, variance 3 * 4 * 7 / 24 = 3.5; a tie of two takes 6/48; half a rank for continuity."""
    from scipy.stats import norm

    assert reachable.normal_p(3, 0.0) == pytest.approx(2 * norm.sf(3 / np.sqrt(3.5)))
    assert reachable.normal_p(3, 0.0, tie_term=6.0) == pytest.approx(2 * norm.sf(3 / np.sqrt(3.5 - 0.125)))
    assert reachable.normal_p(3, 0.0, continuity=True) == pytest.approx(2 * norm.sf(2.5 / np.sqrt(3.5)))
    assert reachable.normal_p(3, 3.0, continuity=True) == 1.0
    # Two non-zero differences above one ranked zero: ranks 2 and 3, mean 5/2, variance (4 + 9) / 4.
    assert reachable.normal_p(2, 0.0, zeros_ranked=1) == pytest.approx(2 * norm.sf(2.5 / np.sqrt(13 / 4)))
    assert reachable.normal_p_values(0, 0).tolist() == [1.0]
    assert reachable.normal_p_values(3, 0) == pytest.approx([2 * norm.sf(3 / np.sqrt(3.5))])


# ---- inversion --------------------------------------------------------------------------------------------------------------

SAMPLES = (
    [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, -3.0],  # all sizes and averages differ
    [3.0, 5.0, 2.0, 3.0, 5.0, 9.0, 7.0, 7.0],  # repeated
    [4.0, 3.0, 2.0, 0.0, 1.0],  # too few for 0.95
    [1.0, 3.0, 1.0, 1.0, 2.0, 2.0, -1.0],
)


@pytest.mark.parametrize("side", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("sample", SAMPLES, ids=("distinct", "repeated", "few", "tied"))
@pytest.mark.parametrize(("test", "p"), [(signed_rank, signed_rank_p), (sign_test, sign_p)])
def test_an_interval_holds_the_shifts_that_are_not_rejected(sample, side, level, test, p):
    """Asked shift by shift, between the averages of two and beyond them; a level that is out of reach is lowered and said."""
    d = np.array(sample)
    found = test(d, side, level=level)
    sides = 2 if side == "two-sided" else 1
    alpha = (1 - level) if sides * 2.0**-d.size <= 1 - level else sides * 2.0**-d.size
    assert found.level >= min(level, 1 - alpha) - 1e-12
    interval = ShiftInterval(found.low, found.high, found.level, found.interval_ends, "")
    points = np.unique(walsh_averages(d) if test is signed_rank else d)
    between = [points[0] - 1, *((points[1:] + points[:-1]) / 2), points[-1] + 1]
    for theta in between:
        assert interval.contains(theta) == (p(d - theta, side) > alpha * (1 + 1e-12)), theta
    for theta in (0.0, found.low, found.high):  # the ends are sums of two or three powers of two: nothing is rounded
        if theta is not None:
            assert interval.contains(theta) == (p(d - theta, side) > alpha * (1 + 1e-12)), theta
    assert (found.low is None, found.high is None) == (side == "less", side == "greater")
    assert (found.interval_ends[0] == "[", found.interval_ends[1] == "]") >= (side == "less", side == "greater")
    if alpha > 1 - level:
        assert found.level == pytest.approx(1 - alpha, rel=1e-12)
    elif test is signed_rank and np.unique(d).size < d.size:
        assert found.level == level


@pytest.mark.parametrize(
    ("n", "side", "level", "outside"),
    [
        (6, "two-sided", 0.95, 1),
        (6, "less", 0.95, 3),
        (7, "two-sided", 0.95, 3),
        (3, "two-sided", 0.95, 1),
        (3, "greater", 0.95, 1),
    ],
)
def test_the_level_of_untied_ranks_is_counted(n, side, level, outside):
    """Of 2^n sign patterns the sums 0, 1, 2 and 3 come from 1, 1, 1 and 2: so many fit beyond each end, or one for want of units."""
    found = signed_rank(2.0 ** np.arange(n), side, level=level)
    assert found.level == pytest.approx(1 - (2 if side == "two-sided" else 1) * outside / 2**n, rel=1e-12)


def test_a_level_that_is_reached_to_the_digit_is_reached():
    """Of six, two sums in 64 lie at or below 1, and seven patterns of signs have at most one head: each is exactly what is asked."""
    d = 2.0 ** np.arange(6)
    ranks, signs = signed_rank(d, level=1 - 4 / 64), sign_test(d, level=1 - 14 / 64)
    assert (ranks.low, ranks.high, ranks.level) == (1.5, 24.0, 1 - 4 / 64)  # the second average of two from either end
    assert (signs.low, signs.high, signs.level) == (2.0, 16.0, pytest.approx(1 - 14 / 64))
    middle = median_interval(d, level=1 - 14 / 64)
    assert (middle.low, middle.high, middle.reached) == (2.0, 16.0, True)


@pytest.mark.parametrize(("side", "level", "ends"), [("two-sided", 0.5, "(]"), ("less", 0.75, "[]")])
def test_a_zero_that_is_not_rejected_is_taken_in(side, level, ends):
    """Five of -1, a zero and a 2: shifts just below zero are rejected, and zero itself, where one difference is dropped, is not."""
    d = np.array([-1.0, -1.0, -1.0, -1.0, -1.0, 0.0, 2.0])
    assert signed_rank_p(d, side) > 1 - level >= signed_rank_p(d + 0.125, side)
    found = signed_rank(d, side, level=level)
    assert (found.low, found.high, found.interval_ends) == (None if side == "less" else -1.0, 0.0, ends)
    mirrored = signed_rank(-d, {"less": "greater"}.get(side, side), level=level)
    assert (mirrored.low, mirrored.high) == (0.0, None if side == "less" else 1.0)
    assert mirrored.interval_ends == {"(]": "[)", "[]": "[]"}[ends]


def test_a_limit_belongs_to_the_exact_test(monkeypatch):
    """Six positive differences have 2 of 64 patterns as far out; the normal law would give 0.028."""
    from orledger.audit.statistics import signedrank

    monkeypatch.setattr(signedrank, "EXACT_LIMIT", 6)
    monkeypatch.setattr(signedrank, "REPEATED_LIMIT", 6)
    for d in (2.0 ** np.arange(6), np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0])):
        found, more = signed_rank(d), signed_rank([*d, 9.0])
        assert (found.p, found.method[:5], found.interval_method[:5]) == (2 / 64, "exact", "exact")
        assert (more.method[:6], more.interval_method[:8]) == ("normal", "binomial")
        assert more.p != 2 / 128
    # Nothing is left of a zero: seven differences, of which the six that count are few enough for the exact p.
    assert signed_rank([*(2.0 ** np.arange(6)), 0.0]).method.startswith("exact")


def test_shifts_on_both_sides_of_a_rejected_zero_are_no_interval():
    """Two of -2, a zero, two of 3: zero alone is rejected at one quarter, for the ties that it leaves; its neighbours are not."""
    d = np.array([-2.0, -2.0, 0.0, 3.0, 3.0])
    assert signed_rank_p(d, "greater") <= 0.25 < min(signed_rank_p(d - t, "greater") for t in (-0.25, 0.25))
    found = signed_rank(d, "greater", level=0.75)
    assert (found.low, found.high, found.level, found.interval_ends) == (None, None, None, "")
    assert found.interval_method.startswith("none: the shifts that are not rejected are not one interval")


@pytest.mark.parametrize("side", ["two-sided", "greater"])
def test_an_end_at_a_rejected_zero_is_open(side):
    d = np.array([4.0, 1.0, 1.0, 1.0, 4.0, 0.0, 2.0])
    found, mirrored = sign_test(d, side), sign_test(-d, {"greater": "less"}.get(side, side))
    assert (found.low, found.interval_ends[0]) == (0.0, "(")
    assert (mirrored.high, mirrored.interval_ends[1]) == (0.0, ")")


@pytest.mark.parametrize(
    ("changed", "inverted"), [({}, True), ({0: 0.0}, True), ({0: 0.0, 1: 0.0}, False), ({0: -2.0}, True), ({0: 2.0}, False)]
)  # fmt: skip
def test_one_repeated_difference_of_many_is_one_and_an_opposite_one_is_none(changed, inverted):
    """What docs/auditing.md says of large samples: 2 stands at place 1, and -2 shares its rank only."""
    d = np.arange(1.0, 202.0)
    for place, value in changed.items():
        d[place] = value
    found = signed_rank(d)
    assert found.effect_name == ("Hodges-Lehmann median of differences" if inverted else "median of differences")
    assert found.interval_method.startswith("exact" if inverted else "binomial order statistics, of the median")
    assert found.method.startswith("exact")


def test_repeated_values_are_inverted_up_to_their_limit():
    """Beyond 150 differences that repeat the interval is that of the median, up to it that of the test."""
    d = np.tile([1.0, 2.0, -1.0], 51)
    assert signed_rank(d[:150]).effect_name == "Hodges-Lehmann median of differences"
    assert signed_rank(d[:151]).effect_name == "median of differences"


def test_a_wide_table_is_not_enumerated():
    """Eight arms have too many orders; seven and two blocks do not."""
    assert friedman([np.arange(8.0)] * 2).method.startswith("chi-squared")
    assert friedman([np.arange(7.0)] * 2).method.startswith("exact")
    half = friedman([[1.0, 2.0, 2.0], [2.0, 1.0, 3.0]])
    assert (half.ties, half.n_nonzero) == (1, 2)
    assert half.effect == pytest.approx(half.statistic / 4)
    wide = friedman([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]], ["a", "b"])
    assert (wide.details["mean_rank_low"]["a"], wide.details["mean_rank_high"]["b"]) == (1.0, 2.0)
    assert friedman([[1.0, 1.0, 2.0], [1.0, 1.0, 1.0]]).statistic > 0


def test_a_flat_slope_and_a_pair_of_ranks():
    assert slope([0, 1, 2, 3], [1.0, 0.0, 0.0, 1.0], "greater").p == pytest.approx(0.5)
    assert spearman([1, 2], [1, 2]).p == 1.0
    assert spearman([1, 2, 2], [1, 1, 3]).ties == 2
    assert attainable("sign", 1, side="less") == 0.5
    assert clopper_pearson(0, 1).low == 0.0
    assert Bound(at=2.0).marks([2.5]).tolist() == [False]

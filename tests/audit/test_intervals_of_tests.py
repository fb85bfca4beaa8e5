"""Intervals that belong to their test, margins, clusters, e-values and power: against R, closed forms and brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import binom, rankdata

from orledger.audit.statistics.clusters import cluster_sign_flip
from orledger.audit.statistics.equivalence import bayesian_signed_rank, within_margin
from orledger.audit.statistics.powers import power_at, units_for
from orledger.audit.statistics.sign import sign_e_value, sign_e_values, sign_p, sign_test, sign_test_anytime
from orledger.audit.statistics.signedrank import signed_rank, signed_rank_p
from orledger.audit.ties import snapped

# Hollander and Wolfe's depression data, the example of R's wilcox.test.
BEFORE = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
AFTER = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])


def test_the_interval_is_that_of_r():
    """wilcox.test(x, y, paired = TRUE, conf.int = TRUE) of R 4: (0.010, 0.786), estimate 0.46; greater: from 0.175."""
    two = signed_rank(BEFORE - AFTER)
    assert (two.low, two.high, two.effect, two.p) == (
        pytest.approx(0.010),
        pytest.approx(0.786),
        pytest.approx(0.46),
        0.0390625,
    )
    one = signed_rank(BEFORE - AFTER, "greater")
    assert (one.low, one.high, one.p) == (pytest.approx(0.175), None, 0.01953125)


SAMPLES = st.one_of(
    st.lists(st.integers(-3, 4).map(float), min_size=1, max_size=12),
    st.lists(st.integers(-20, 30).map(lambda k: k / 10), min_size=1, max_size=12),
    st.lists(st.floats(-2, 3), min_size=1, max_size=12),
)


@given(SAMPLES, st.sampled_from(["two-sided", "less", "greater"]), st.sampled_from([signed_rank, sign_test]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_significant_test_and_its_interval_agree(d, side, test):
    """Zero is outside the interval exactly when the test rejects at one minus its level."""
    r = test(np.array(d), side)
    if r.level is None:  # the shifts that are not rejected lie on both sides of a rejected zero
        assert r.p <= 0.05
        return
    above = r.low is None or r.low < 0 or (r.low == 0 and r.interval_ends[0] == "[")
    below = r.high is None or r.high > 0 or (r.high == 0 and r.interval_ends[1] == "]")
    alpha = 0.05 if r.level >= 0.95 - 1e-12 else 1 - r.level
    assert (r.p > alpha * (1 + 1e-12)) == (above and below)


def test_coverage_of_the_interval_is_at_least_its_level():
    """Symmetric differences about 0.3, continuous and rounded to tenths: the interval misses 0.3 in at most 5 percent."""
    rng = np.random.default_rng(0)
    for digits in (12, 1):
        missed = 0
        for _ in range(300):
            r = signed_rank(np.round(rng.normal(0, 1, 9), digits) + 0.3)
            missed += not r.low <= 0.3 <= r.high
        assert missed <= binom.ppf(0.999, 300, 0.05)


def test_rank_biserial_and_superiority_by_hand():
    r = signed_rank([1.0, 2.0, -3.0, 0.0], better="higher")
    assert r.standard_effect == (3 - 3) / 6
    assert r.superiority == (2 + 0.5) / 4


def test_rounding_is_no_difference():
    """Ties that averaging turned into 2e-17 are ties again; a difference of one part in a million is one."""
    a = np.array([0.95, 0.85, 0.9])
    d = np.array([a.mean() - 0.9, 0.3 - 0.1, 0.5 - 0.3, 1e-6])
    assert d[1] != d[2]
    found = snapped(d, np.ones(4))
    assert (found[0], found[1] == found[2], found[3]) == (0.0, True, 1e-6)


@pytest.mark.parametrize(("test", "n"), [(signed_rank, 9), (sign_test, 8)])
def test_differences_of_any_size_have_the_interval_of_whole_numbers(test, n):
    """Nothing is rounding where nothing larger was subtracted; of these numbers an end or two are open."""
    whole = np.array([2.0, 4, 5, 6, 7, 9, 11, 12, 14])[:n]
    want, got = test(whole), test(whole * 2.0**-60)
    assert want.interval_ends != "[]"
    assert (got.low * 2**60, got.high * 2**60, got.interval_ends) == (want.low, want.high, want.interval_ends)


def test_margins_are_two_shifted_tests():
    """Equivalent only when both one-sided tests reject; 2^-n is the floor of each."""
    d = np.array([0.01, -0.02, 0.015, -0.005, 0.012, -0.011])
    found = within_margin(d, 0.1, signed_rank_p, "lower")
    assert (found.noninferior, found.equivalent) == (2.0**-6, 2.0**-6)
    far = within_margin(d - 1, 0.1, signed_rank_p, "lower")
    assert (far.noninferior, far.equivalent) == (2.0**-6, 1.0)
    assert within_margin(d - 1, 0.1, signed_rank_p, "higher").noninferior == 1.0


def test_nothing_is_equivalent_for_want_of_data():
    rng = np.random.default_rng(1)
    assert within_margin(rng.normal(0, 1, 8), 0.1, sign_p, "lower").equivalent > 0.3


def test_the_posterior_goes_with_the_data():
    rng = np.random.default_rng(2)
    below = bayesian_signed_rank(rng.normal(-1, 0.3, 20), 0.1)
    assert below.below > 0.99
    assert bayesian_signed_rank(rng.normal(0, 0.01, 20), 0.1).within > 0.99
    mirrored = bayesian_signed_rank(-rng.normal(-1, 0.3, 20), 0.1)
    assert mirrored.above > 0.99
    assert below.below + below.within + below.above == pytest.approx(1)


@pytest.mark.parametrize("ranks", [True, False])
def test_cluster_flips_equal_brute_force(ranks):
    rng = np.random.default_rng(3)
    d = np.round(rng.normal(0.4, 1, 12), 1)
    d[d == 0] = 0.1
    clusters = [f"c{k % 5}" for k in range(12)]
    size = rankdata(np.abs(d)) if ranks else np.ones(12)
    sums = np.array([(np.sign(d) * size)[[c == name for c in clusters]].sum() for name in sorted(set(clusters))])
    flips = np.array(list(product([-1, 1], repeat=5))) @ sums
    for side, extreme in (("greater", flips >= sums.sum() - 1e-9), ("less", flips <= sums.sum() + 1e-9)):
        assert cluster_sign_flip(d, clusters, side, ranks=ranks).p == pytest.approx(extreme.mean())


def test_clusters_of_one_are_the_signed_rank_test():
    d = np.array([1.0, -2.0, 2.0, 4.0, 0.0, 5.5])
    assert cluster_sign_flip(d, list("abcdef")).p == signed_rank(d).p
    assert cluster_sign_flip(d, ["a"] * 6).p == 1.0


def test_the_e_value_has_expectation_one_under_the_null():
    for side in ("two-sided", "less", "greater"):
        mean = sum(binom.pmf(k, 9, 0.5) * sign_e_value(k, 9, side) for k in range(10))
        assert mean == pytest.approx(1)
    assert sign_e_value(9, 9) == pytest.approx(2**9 * np.exp(betaln(9.5, 0.5) - betaln(0.5, 0.5)))


def test_the_e_value_survives_looking_after_every_unit():
    """Stopping at the first look that would reject: the plain sign test rejects far more often than 5 percent, 1/e does not."""
    rng = np.random.default_rng(4)
    heads = np.cumsum(rng.integers(0, 2, (400, 60)), axis=1)
    looks = [(heads[:, m - 1], m) for m in range(1, 61)]
    anytime = np.any([sign_e_values(k, m) >= 20 for k, m in looks], axis=0)
    plain = np.any([2 * np.minimum(binom.cdf(k, m, 0.5), binom.sf(k - 1, m, 0.5)) <= 0.05 for k, m in looks], axis=0)
    assert anytime.mean() <= 0.05
    assert plain.mean() > 0.12


def test_an_anytime_test_pays_for_it():
    d = np.arange(1.0, 9.0)
    assert sign_test_anytime(d).p == min(1, 1 / sign_e_value(8, 8)) == sign_test_anytime(d).floor
    assert sign_test_anytime(d).p > sign_test(d).p


def test_power_is_exact_for_signs_and_grows():
    """Eight units reject at 0.05 when all agree or all but one and side is one-sided; by the binomial distribution."""
    assert power_at("sign", 8, 0.9, 0.05, "greater") == pytest.approx(binom.sf(6, 8, 0.9))
    assert power_at("sign", 5, 0.9, 0.05) == 0.0  # the floor is 0.0625
    n = units_for("signed_rank", 0.8, 0.05)
    assert power_at("signed_rank", n, 0.8, 0.05) >= 0.8 > power_at("signed_rank", n - 1, 0.8, 0.05)
    assert units_for("sign", 0.8, 0.05) > n


@pytest.mark.parametrize("p", [signed_rank_p, sign_p])
def test_a_difference_as_large_as_the_margin_is_a_tie_whatever_its_last_bits(p):
    """The same numbers in tenths and in whole steps: 0.1 + 0.2 and 0.5 - 0.2 are both as large as 0.3."""
    tenths = np.array([0.1 + 0.2, 0.1, 0.2, -0.1, 0.4, 0.1, 0.5 - 0.2, -0.7])
    found, exact = within_margin(tenths, 0.3, p, "lower"), within_margin(np.round(10 * tenths), 3.0, p, "lower")
    assert (found.noninferior, found.equivalent) == (exact.noninferior, exact.equivalent)


def test_margins_and_holm_as_r_gives_them():
    """wilcox.test(d, mu = 0.5, "less") and (mu = -0.5, "greater"), binom.test likewise, p.adjust(..., "holm"): R 4.2."""
    from orledger.audit.statistics.counts import holm

    d = np.array([0.31, -0.42, 0.13, 0.07, -0.66, 0.24, 0.58, -0.11, 0.36])
    rank, sign = within_margin(d, 0.5, signed_rank_p, "lower"), within_margin(d, 0.5, sign_p, "higher")
    assert (rank.noninferior, rank.equivalent) == pytest.approx((0.00390625, 0.005859375), rel=1e-12)
    assert (sign.noninferior, sign.equivalent) == pytest.approx((0.01953125, 0.01953125), rel=1e-12)
    assert holm([0.04, 0.01, 0.03, 1.0, 1.0]) == pytest.approx([0.12, 0.05, 0.12, 1.0, 1.0])


def test_many_zeros_leave_the_shifts_outside_that_the_test_rejects():
    """Beside the zeros a small shift gives seventeen differences one sign, which the test rejects at once on one side."""
    d = np.array([-2.3, -0.9, -0.6, -0.2, -0.1, *[0.0] * 17, 0.05, 0.17, 0.32, 0.35, 0.42, 0.46, 0.97, 1.1])
    found = signed_rank(d)
    assert signed_rank(d + 0.01).p < 0.05 < signed_rank(d - 0.01).p
    assert (found.low, found.interval_ends[0]) == (0.0, "[")
    back = signed_rank(-d)
    assert (back.low, back.high) == (-found.high, 0.0)
    only = signed_rank(np.array([-3.0, -2.0, -1.0, *[0.0] * 20, 1.0, 2.0, 3.5]))
    assert (only.low, only.high, only.interval_ends) == (0.0, 0.0, "[]")


@pytest.mark.parametrize(("test", "p"), [(signed_rank, signed_rank_p), (sign_test, sign_p)])
def test_an_end_is_open_or_closed_as_in_fractions(test, p):
    """Differences of means over three runs: their doubles carry the rounding of numbers near 0.8, and ends may not follow it."""
    rng, seen = np.random.default_rng(4), set()
    for _ in range(12):
        a = rng.integers(700, 900, size=(11, 3))
        b = a + rng.integers(-6, 9, size=(11, 3))
        exact = [Fraction(int(row), 3000) for row in (a - b).sum(axis=1)]
        x, y = (a / 1000).mean(axis=1), (b / 1000).mean(axis=1)
        size = np.maximum(x, y)
        found = test(snapped(x - y, size), scale=size)
        for end, bracket in zip((found.low, found.high), found.interval_ends, strict=True):
            shift = Fraction(end).limit_denominator(6000)  # of two such differences it is half the sum
            whole = np.array([float(6000 * (e - shift)) for e in exact])
            assert abs(float(shift) - end) < 1e-12
            assert (bracket in "[]") == (p(whole, "two-sided") > 0.05 * (1 + 1e-9)), (end, bracket)
            seen.add(bracket)
    assert seen == set("[]()") or test is sign_test

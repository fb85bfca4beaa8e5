"""Resampled estimates where every draw can be listed: the ends of their intervals are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from orledger.audit.statistics import powers, resampling, stratified
from orledger.audit.statistics.attainable import shares, tie_term_that_fits
from orledger.audit.statistics.clusters import cluster_sign_flip
from orledger.audit.statistics.powers import power_at, units_for
from orledger.audit.statistics.resampling import resample_backends
from orledger.audit.statistics.sign import sign_e_value
from orledger.audit.statistics.skillings_mack import skillings_mack
from orledger.audit.statistics.stratified import improvement, interquartile_mean, mean_ranks, profile
from orledger.errors import DataError

ONE = np.array([0.5])


def ends(estimate):
    return float(estimate.low), float(estimate.value), float(estimate.high)


def test_what_is_drawn_is_said():
    assert stratified.METHOD == "stratified bootstrap over runs, percentile, 2000 draws, seed 0"
    assert stratified.UNITS_METHOD == "bootstrap over units, percentile, 2000 draws, seed 0"


def test_as_many_draws_are_made_as_is_said():
    drawn = sum(len(picks) for (picks,) in stratified._redrawn((2,), np.random.default_rng(0)))
    assert drawn == 2000
    assert resample_backends(mixed(), np.random.default_rng(0)).draws == 4000  # docs/registry.md


def test_two_runs_are_drawn_twice_or_once_each():
    """0 and 1 against one half: exceeded never, once or always with 1/4, 1/2, 1/4. 0.2 cut off each side leave both ends, 0.3 none."""
    runs = [np.array([0.0, 1.0])]
    assert ends(improvement(runs, [ONE], 0.6)) == (0.0, 0.5, 1.0)
    assert ends(improvement(runs, [ONE], 0.4)) == (0.5, 0.5, 0.5)
    assert ends(improvement([ONE], runs, 0.6)) == (0.0, 0.5, 1.0)
    two = improvement([*runs, np.array([9.0])], [ONE, ONE], 0.6)  # averaged with a unit that always exceeds
    assert ends(two) == (0.5, 0.75, 1.0)
    assert ends(improvement([ONE], [ONE], 0.6)) == (0.5, 0.5, 0.5)  # a tie counts half


def test_a_curve_has_an_interval_at_every_threshold():
    found = profile([np.array([0.0, 1.0]), ONE], np.array([-1.0, 0.4, 0.5, 1.0]), 0.6)
    assert found.value.tolist() == [1.0, 0.75, 0.25, 0.0]
    assert found.low.tolist() == [1.0, 0.5, 0.0, 0.0]
    assert found.high.tolist() == [1.0, 1.0, 0.5, 0.0]


def test_the_middle_half_of_all_runs():
    """Of 1, 2, 3 and 10 the two in the middle; a run that cannot be redrawn adds no width."""
    assert ends(interquartile_mean([np.array([v]) for v in (10.0, 1.0, 3.0, 2.0)])) == (2.5, 2.5, 2.5)
    found = interquartile_mean([np.array([0.0, 4.0]), np.array([-9.0]), np.array([9.0])], 0.6)
    assert ends(found) == (0.0, 2.0, 4.0)


def test_two_units_are_drawn_twice_or_once_each():
    m = np.array([[1.0, 2.0], [2.0, 1.0]])
    wide, narrow = mean_ranks(m, 0.6), mean_ranks(m, 0.4)
    assert (wide.low.tolist(), wide.value.tolist(), wide.high.tolist()) == ([1.0, 1.0], [1.5, 1.5], [2.0, 2.0])
    assert (narrow.low.tolist(), narrow.high.tolist()) == ([1.5, 1.5], [1.5, 1.5])
    assert mean_ranks(np.array([[1.0, 1.0, 5.0]])).value.tolist() == [1.5, 1.5, 3.0]


# ---- backends -------------------------------------------------------------------------------------------------------------


def mixed(groups=1):
    """Two seeds of two arms: the first spreads by 0.3 on both backends, the second by none when its cells agree, else by 0.7."""
    steady = np.array([1 - 0.3 / 2**0.5, 1 + 0.3 / 2**0.5])
    x = np.empty((2, groups, 2, 2))
    x[:, :, :, 0] = steady
    x[0, :, :, 1], x[1, :, :, 1] = 1.0, 3.0
    return x


def test_cells_are_drawn_from_backends_one_by_one():
    found = resample_backends(mixed(), np.random.default_rng(1), draws=2000)
    assert found.lowest.sum() == 1.0
    assert found.lowest[0] == pytest.approx(0.5, abs=0.05)
    assert found.low == pytest.approx([0.3, 0.0])
    assert found.high == pytest.approx([0.3, 2**0.5 / 2])
    assert found.draws == 2000
    inner = resample_backends(mixed(), np.random.default_rng(1), draws=2000, level=0.2)
    assert (inner.low[1], inner.high[1]) == (0.0, pytest.approx(2**0.5 / 2))  # halves: any central part has both
    assert resample_backends(mixed(), np.random.default_rng(1), draws=50, measure="max_over_min").high[1] == 3.0


def test_each_end_leaves_out_half_of_what_the_level_does():
    """Cells 1 and 1 on one backend, 2 and 5 on the other: one draw in four has no spread, one that of 2 and 1, the next smallest.

    The lower end of 0.6 leaves out 0.2 and is the first, that of 0.4 leaves out 0.3 and is the second.
    """
    x = np.array([[[[1.0], [1.0]]], [[[2.0], [5.0]]]])
    for level, low in ((0.6, 0.0), (0.4, 0.5**0.5 / 1.5)):
        found = resample_backends(x, np.random.default_rng(1), draws=2000, level=level)
        assert found.low == pytest.approx([low])


def test_of_groups_the_median_counts():
    """Of three groups the median spread is 0.7 when two or three of them are mixed: in one half of the draws."""
    found = resample_backends(mixed(3), np.random.default_rng(1), draws=2000)
    assert found.lowest[1] == pytest.approx(0.5, abs=0.05)
    one = mixed(3)
    one[:, 1:, :, 1] = [
        1.0,
        1.5,
    ]  # two groups that do not change: their spread is the median, or lies on one side of it
    again = resample_backends(one, np.random.default_rng(1), draws=500)
    assert again.low[1] == again.high[1] == pytest.approx(0.5 / 2**0.5 / 1.25)


@pytest.mark.parametrize("batch", [1, 4, 12, 13])
def test_batches_cover_all_draws(monkeypatch, batch):
    """Four values to a draw, so batches of one, one, and three draws; the last is not full. Batches draw what one would."""
    whole = resample_backends(mixed(), np.random.default_rng(0), draws=7)
    monkeypatch.setattr(resampling, "BATCH", batch)
    found = resample_backends(mixed(), np.random.default_rng(0), draws=7)
    assert found.high == pytest.approx(whole.high)
    assert found.lowest == pytest.approx(whole.lowest)
    assert found.low[0] == found.high[0] == pytest.approx(0.3)


def test_a_spread_that_is_not_defined_is_not_the_lowest():
    """Zeros have no spread relative to their mean. Both arms differ on the second backend; on the first the first arm is all zeros.

    It is so in a draw that takes both of its cells from there, one in four; in all others its spread is the larger one.
    """
    x = np.array([[[[0.0, 1.0], [0.0, 1.0]]], [[[1.0, 2.0], [3.0, 2.0]]]])
    found = resample_backends(x, np.random.default_rng(1), draws=2000)
    assert found.lowest[0] == 0.0
    assert found.lowest[1] == pytest.approx(0.75, abs=0.05)
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)
    assert (found.low[1], found.high[1]) == pytest.approx((0.0, 2**0.5 / 3))
    x[1, ..., 0] = 0.0
    assert resample_backends(x, np.random.default_rng(1), draws=20).lowest.tolist() == [0.0, 0.0]


def test_one_backend_is_none():
    for shape in ((1, 2, 2, 2), (2, 2, 2)):
        with pytest.raises(DataError, match="backends >= 2"):
            resample_backends(np.ones(shape), np.random.default_rng(0))


# ---- power ----------------------------------------------------------------------------------------------------------------


def test_power_of_an_anytime_test():
    """Ten tosses: e reaches 20 with ten heads, nine (by 21.0...), or their mirror, counted by its definition."""
    rejecting = [k for k in range(11) if sign_e_value(k, 10) >= 20]
    assert rejecting == [0, 10]
    assert power_at("sign_anytime", 10, 0.8, 0.05) == pytest.approx(0.8**10 + 0.2**10)
    up = [k for k in range(11) if sign_e_value(k, 10, "greater") >= 20]
    assert up == [10]
    assert power_at("sign_anytime", 10, 0.8, 0.05, "greater") == pytest.approx(0.8**10)
    assert power_at("sign_anytime", 10, 0.8, 0.05, "less") == pytest.approx(0.8**10)


def test_power_of_signed_ranks():
    """At one half it is the size of the test: five of 2^7 sums reject two-sided, 0.047; one-sided six of 2^7."""
    assert power_at("signed_rank", 7, 0.5, 0.05) == pytest.approx(6 / 128, abs=0.016)
    assert power_at("signed_rank", 7, 0.5, 0.05, "greater") == pytest.approx(5 / 128, abs=0.016)
    strong = [power_at("signed_rank", 7, 0.95, 0.05, side) for side in ("two-sided", "greater", "less")]
    assert strong[1] == pytest.approx(strong[2], abs=0.03)
    assert strong[0] <= strong[1]
    assert min(strong) > 0.8


@pytest.mark.parametrize("power", [0.5, 0.8])
def test_the_fewest_units_have_the_power_and_one_less_has_not(monkeypatch, power):
    n = units_for("sign", 0.9, 0.05, power=power)
    assert power_at("sign", n, 0.9, 0.05) >= power > power_at("sign", n - 1, 0.9, 0.05)
    assert units_for("mcnemar", 0.9, 0.05, power=power) == n
    monkeypatch.setattr(powers, "MOST", 8)
    assert units_for("sign", 0.51, 0.05) is None
    assert units_for("sign", 0.97, 0.05, power=0.5) == 6


# ---- what can be printed, gaps and large clusters -------------------------------------------------------------------------


class Window:
    def __init__(self, low, high):
        self.low, self.high = low, high


def test_shares_that_round_into_a_window():
    assert shares(4, Window(0.3, 0.6)) == [0.25, 0.5, 0.75]
    assert shares(4, Window(30, 60), scale=100.0) == [25.0, 50.0, 75.0]
    assert shares(2, Window(0.3, 0.6), step=0.5) == [0.25, 0.5, 0.75]
    assert shares(4, Window(-0.3, 0.1)) == [0.0, 0.25]


def test_a_tie_that_explains_a_p():
    """Three differences, one lost: the sum is 1 to 3; with one pair tied the variance is 3.5 - 6/48."""
    from scipy.stats import norm

    p = 2 * norm.sf((3 - 1.5) / np.sqrt(3.5 - 6 / 48))
    assert tie_term_that_fits(3, 1, Window(p - 1e-9, p + 1e-9)) == (6, pytest.approx(p))
    assert tie_term_that_fits(3, 1, Window(0.999, 0.9999)) is None
    assert tie_term_that_fits(0, 0, Window(0.0, 1.0)) is None


def test_many_states_are_approximated_and_named(monkeypatch):
    from scipy.stats import norm

    from orledger.audit.statistics import clusters

    d, names = [1.0, 2.0, 3.0, -4.0], list("abcd")
    assert cluster_sign_flip(d, names).method.startswith("exact")
    monkeypatch.setattr(clusters, "MOST_STATES", 20)  # doubled ranks 2, 4, 6, 8
    assert cluster_sign_flip(d, names).method.startswith("exact")
    monkeypatch.setattr(clusters, "MOST_STATES", 19)
    z = (12 - 10) / np.sqrt((4 + 16 + 36 + 64) / 4)
    for side, p in (("greater", norm.sf(z)), ("less", norm.cdf(z)), ("two-sided", 2 * norm.sf(z))):
        found = cluster_sign_flip(d, names, side)
        assert found.method.startswith("normal approximation")
        assert found.p == pytest.approx(p)


def test_gaps_in_full():
    """Two arms, three blocks with both and two with one: Friedman of three, whatever the others hold."""
    nan = np.nan
    r = skillings_mack([[1.0, 2.0], [1.0, 2.0], [2.0, 2.0], [5.0, nan], [nan, nan]], ["a", "b"])
    # centred ranks sum to -1 and 1, scaled by sqrt(12 / 3) = 2; the covariance is 3 and -3: 4 / 3.
    assert (r.statistic, r.n, r.n_nonzero, r.ties) == (pytest.approx(4 / 3), 3, 3, 1)
    assert r.p == pytest.approx(chi2.sf(4 / 3, 1))
    assert r.floor == pytest.approx(chi2.sf(4 / 3, 1))
    assert r.details == {"mean_ranks": {"a": pytest.approx(7 / 6), "b": pytest.approx(11 / 6)}, "df": 1, "incomplete_blocks": 0}  # fmt: skip
    gaps = skillings_mack([[1.0, 2.0, 3.0], [1.0, nan, 2.0], [2.0, 1.0, nan]])
    assert list(gaps.details["mean_ranks"]) == ["0", "1", "2"]
    assert (gaps.details["incomplete_blocks"], gaps.details["df"], gaps.side) == (2, 2, "two-sided")
    for bad in ([1.0, 2.0], [[1.0], [2.0]]):
        with pytest.raises(DataError, match="at least 2 arms"):
            skillings_mack(bad)
    with pytest.raises(DataError, match="1 are left"):
        skillings_mack([[1.0, 2.0], [nan, 2.0]])
    with pytest.raises(DataError, match="no block holds the arm c"):
        skillings_mack([[1.0, 2.0, nan], [1.0, 2.0, nan]], ["a", "b", "c"])

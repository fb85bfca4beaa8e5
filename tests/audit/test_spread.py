"""Median intervals, dispersion, floors, slopes and resampling over backends."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import linregress

from orledger.audit.statistics.bound import Bound
from orledger.audit.statistics.dispersion import MEASURES
from orledger.audit.statistics.floors import attainable, smallest_n
from orledger.audit.statistics.intervals import median_interval
from orledger.audit.statistics.logarithms import log10
from orledger.audit.statistics.resampling import resample_backends
from orledger.audit.statistics.slopes import slope
from orledger.errors import DataError


@pytest.mark.parametrize("n", range(1, 13))
def test_median_interval_covers_as_it_says(n):
    """Each value lies below the median with probability one half: the coverage by listing all 2^n cases."""
    i = median_interval(np.arange(1, n + 1))
    low, high = int(i.low), int(i.high)
    below = np.array([sum(c) for c in product((0, 1), repeat=n)])
    covered = ((below >= low) & (below < high)).mean()  # the median lies between order statistics below and below + 1
    assert i.achieved == pytest.approx(covered)
    assert i.reached == (n >= 6)
    if i.reached and high - low > 1:
        tighter = ((below >= low + 1) & (below < high - 1)).mean()
        assert covered >= 0.95 > tighter


def test_median_interval_of_nothing():
    assert median_interval([]) is None


def test_measures_by_hand():
    x = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert MEASURES["cv"](x) == pytest.approx(np.std(x, ddof=1) / 6.2)
    assert MEASURES["iqr_over_median"](x) == pytest.approx((8 - 2) / 4)
    assert MEASURES["mad_over_median"](x) == pytest.approx(3 / 4)  # deviations 3 2 0 4 12
    assert MEASURES["max_over_min"](x) == 16
    assert MEASURES["sd_log10"](x) == pytest.approx(np.log10(2) * np.sqrt(2.5))


@pytest.mark.parametrize("name", MEASURES)
def test_measures_ignore_the_unit(name):
    x = np.random.default_rng(0).lognormal(size=(3, 7))
    assert MEASURES[name](x * 250) == pytest.approx(MEASURES[name](x))
    assert MEASURES[name](x, axis=0).shape == (7,)


def test_attainable_floors_of_designs():
    assert attainable("signed_rank", 5) == 0.0625
    assert smallest_n("signed_rank", 0.05) == 6
    assert smallest_n("signed_rank", 0.05, side="less") == 5
    assert smallest_n("signed_rank", 0.0625) == 5
    assert attainable("friedman", 3, arms=5) == pytest.approx(120.0**-2)
    assert smallest_n("friedman", 0.05, arms=3) == 3  # 1/6 at two blocks, 1/36 at three
    assert attainable("spearman", 5) == pytest.approx(2 / 120)
    assert smallest_n("spearman", 0.05) == 5  # 2/24 at four
    assert smallest_n("fisher", 0.05) == 4  # 2/20 at three against three, 2/70 at four
    assert attainable("slope", 4) is None


@pytest.mark.parametrize("test", ["signed_rank", "friedman", "fisher", "spearman", "mcnemar", "sign_anytime"])
@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01, 0.001])
def test_smallest_n_is_the_smallest(test, alpha):
    n = smallest_n(test, alpha, arms=4)
    assert attainable(test, n, arms=4) <= alpha
    assert n == 1 or attainable(test, n - 1, arms=4) > alpha


def test_bounds_are_marked():
    assert Bound(at=40).marks([1.3, 40.0, 40.0]).tolist() == [False, True, True]
    assert Bound(below=1e-6).marks([1e-11, 0.0066]).tolist() == [True, False]
    assert Bound(above=20).marks([20, 21]).tolist() == [False, True]


def test_slope_equals_scipy():
    g = np.random.default_rng(1)
    x = np.log10([1e-4, 3e-4, 1e-3, 3e-3, 1e-2])
    y = 0.6 * x + g.normal(0, 0.1, 5)
    r, reference = slope(x, y), linregress(x, y)
    assert r.effect == pytest.approx(reference.slope)
    assert r.details["se"] == pytest.approx(reference.stderr)
    assert r.details["r2"] == pytest.approx(reference.rvalue**2)
    assert r.p == pytest.approx(reference.pvalue)
    assert slope(x, y, "greater").p + slope(x, y, "less").p == pytest.approx(1)
    with pytest.raises(DataError):
        slope([1, 1, 1], [1, 2, 3])


def test_resampling_backends():
    """With two equal backends nothing moves; with a wild arm on one of them its median does, and the steady arm wins."""
    g = np.random.default_rng(8)
    steady = g.lognormal(0, 0.05, (10, 5))
    wild = g.lognormal(0, 0.8, (10, 5))
    same = np.stack([np.stack([steady, wild], -1)] * 2)
    r = resample_backends(same, np.random.default_rng(0), draws=300)
    assert r.lowest.tolist() == [1.0, 0.0]
    assert r.low == pytest.approx(r.high)
    moved = same.copy()
    moved[1, ..., 1] *= g.lognormal(0, 1.0, (10, 5))
    r = resample_backends(moved, np.random.default_rng(0), draws=300)
    assert r.low[0] == pytest.approx(r.high[0])
    assert r.high[1] > r.low[1]
    again = resample_backends(moved, np.random.default_rng(0), draws=300)
    assert np.array_equal(r.low, again.low)
    with pytest.raises(DataError):
        resample_backends(same[:1], np.random.default_rng(0))


def test_a_mean_does_not_depend_on_the_order_of_its_values():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit when they are added up one by one."""
    from orledger.audit.statistics.dispersion import statistic

    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert statistic("mean", [0.1, 0.2, 0.3]) == statistic("mean", [0.3, 0.2, 0.1])
    assert statistic("mean", [1.0, float("inf")]) == float("inf")


def test_logarithms_are_those_of_the_c_library_on_every_processor():
    x = np.array([[1e-300, 0.3, 10.0], [7.0, 1e22, math.inf]])
    assert log10(x).tolist() == [[math.log10(v) for v in row] for row in x.tolist()]
    assert log10([0.0])[0] == -math.inf
    assert np.isnan(log10([-1.0, math.nan])).all()
    assert log10(10.0 ** np.arange(-22, 23)).tolist() == list(range(-22, 23))

"""Counts: the intervals and p-values the paper prints, and references of scipy and statsmodels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from orledger.audit.statistics.counts import clopper_pearson, fisher, holm, mcnemar, proportion
from orledger.errors import DataError

INERT = {"levy": (6, 6), "hartmann": (6, 7), "ackley": (3, 6), "griewank": (0, 7), "branin": (0, 7)}


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(7, 7, 0.590, 1), (6, 6, 0.541, 1), (6, 7, 0.421, 0.996), (3, 6, 0.118, 0.882), (3, 7, 0.099, 0.816), (1, 7, 0.004, 0.579), (0, 7, 0, 0.410), (0, 30, 0, 0.116), (48, 48, 0.926, 1)],
)  # fmt: skip
def test_printed_clopper_pearson(k, n, low, high):
    i = clopper_pearson(k, n)
    assert (round(i.low, 3), round(i.high, 3)) == (low, high)


def test_side_is_part_of_the_interval():
    """The paper's 0.993 for 432 of 432 is the one-sided bound; the two-sided lower end is 0.9915."""
    assert round(clopper_pearson(432, 432, side="lower").low, 3) == 0.993
    assert round(clopper_pearson(432, 432).low, 4) == 0.9915
    assert clopper_pearson(432, 432, side="upper").low == 0.0


def test_interval_ends_have_the_tail_probability_they_promise():
    i = clopper_pearson(5, 18, level=0.9)
    assert binom.sf(4, 18, i.low) == pytest.approx(0.05)
    assert binom.cdf(5, 18, i.high) == pytest.approx(0.05)


def test_mcnemar_printed_and_against_statsmodels():
    assert round(mcnemar(7, 0).p, 4) == 0.0156
    assert f"{mcnemar(15, 0).p:.1e}" == "6.1e-05"
    assert round(mcnemar(9, 0).p, 4) == 0.0039
    assert mcnemar(2, 0).p == 0.5
    for b, c in ((3, 8), (0, 0), (5, 5), (1, 12)):
        reference = statsmodels_mcnemar([[4, b], [c, 6]], exact=True).pvalue if b + c else 1.0
        assert mcnemar(b, c, 4, 6).p == pytest.approx(reference)


def test_fisher_holm_over_the_five_benchmarks():
    """The pairwise tests on inert seeds resolve four pairs, as printed: Holm p from 0.006 to 0.037."""
    pairs = list(combinations(INERT, 2))
    raw = [fisher(*INERT[a], *INERT[b]).p for a, b in pairs]
    adjusted = dict(zip(pairs, holm(raw), strict=True))
    low = sorted(round(p, 3) for p in adjusted.values())[:4]
    assert low == [0.006, 0.006, 0.037, 0.037]
    assert adjusted["levy", "hartmann"] == adjusted["griewank", "branin"] == 1.0
    assert min(p for (a, b), p in adjusted.items() if "ackley" in (a, b)) == pytest.approx(0.42, abs=0.005)
    assert round(raw[pairs.index(("ackley", "griewank"))], 3) == 0.070


def test_fisher_printed_shape_skill():
    assert round(fisher(5, 6, 1, 12).p, 4) == 0.0039
    assert round(fisher(6, 6, 3, 13).p, 4) == 0.0031


def test_fisher_floor_is_the_smallest_p_with_the_same_margins():
    for a, n_a, b, n_b in ((3, 6, 0, 7), (1, 3, 2, 3), (4, 9, 4, 5)):
        margins = a + b
        tables = [x for x in range(n_a + 1) if 0 <= margins - x <= n_b]
        smallest = min(fisher(x, n_a, margins - x, n_b).p for x in tables)
        assert fisher(a, n_a, b, n_b).floor == pytest.approx(smallest)


def test_holm_equals_statsmodels():
    g = np.random.default_rng(5)
    for n in (1, 2, 7, 30):
        p = g.uniform(size=n) ** 3
        assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist())


def test_proportion_with_and_without_a_nominal_level():
    r = proportion(8, 10, 0.95, side="less")
    assert r.p == pytest.approx(binomtest(8, 10, 0.95, alternative="less").pvalue)
    assert r.low == 0.0
    assert proportion(8, 10).p is None
    assert proportion(10, 10, side="greater").interval_method == "Clopper-Pearson, lower"


@pytest.mark.parametrize(
    "call", [lambda: clopper_pearson(8, 7), lambda: fisher(3, 2, 0, 1), lambda: clopper_pearson(1, 2, side="left")]
)
def test_impossible_counts_are_refused(call):
    with pytest.raises(DataError):
        call()

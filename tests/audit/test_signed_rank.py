"""The signed-rank test against published values, full enumeration, and what scipy does instead."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, rankdata, wilcoxon

from orledger.audit.statistics.sign import sign_test
from orledger.audit.statistics.signedrank import (
    EXACT_LIMIT,
    signed_rank,
    signed_rank_floor,
    signed_rank_null,
)

# Bortz, Lienert and Boehnke's 15 pairs, with the answers of R's exactRankTests and wilcox.test (R-help, 25 August 2006).
BORTZ = np.array([9, 14, 8, 11, 14, 10, 8, 14, 12, 14, 13, 9, 15, 12, 9]) - np.array(
    [13, 15, 9, 12, 16, 10, 8, 13, 12, 16, 9, 10, 16, 12, 9]
)
# Serum antigen levels of 20 patients (StatXact 4 manual, page 167; exact two-sided p 0.0021).
ANTIGEN = np.array(
    [149, 0, 0, 259, 106, 255, 0, 52, 340, 65, 180, 0, 84, 89, 212, 554, 500, 424, 112, 2600]
) - np.array([0, 51, 0, 385, 0, 235, 0, 0, 48, 65, 77, 0, 0, 0, 53, 150, 0, 165, 98, 0])
# Hamilton depression scores of nine patients (Hollander and Wolfe, page 39; exact two-sided p 0.0391, one-sided 0.01953).
HAMILTON = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]) - np.array(
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
)
# 73 pairs with 31 zeros from the test suite of exactRankTests: V = 559, p = 0.9603.
BELLIO = np.array(
    [0,87,0,0,0,0,8,0,16,0,64,0,0,37,200,0,0,32,5,0,0,14,0,0,4,0,0,50,0,0,99,0,0,12,36,22,4,13,0,10,70,0,0,0,0,19,0,4,3,4,
     23,0,0,0,0,0,0,14,4,8,0,11,42,0,0,0,0,0,18,11,29,0,0]
) - np.array(
    [0,0,14,0,0,16,0,145,0,0,16,0,0,47,0,0,0,144,0,2,0,13,0,0,114,0,6,0,0,4,9,0,0,17,0,0,42,0,0,0,0,0,0,0,25,0,1,178,0,0,
     0,6,0,7,76,252,0,0,23,0,0,68,0,0,0,24,0,59,0,0,0,0,16]
)  # fmt: skip


@functools.cache
def sign_table(n: int) -> np.ndarray:
    """Every assignment of signs to n differences, one per row: 1 where the difference counts."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=n)))


def enumerated(differences: np.ndarray, side: str) -> float:
    """The p-value by listing every assignment of signs to the non-zero differences."""
    d = differences[differences != 0]
    if d.size == 0:
        return 1.0
    ranks = rankdata(np.abs(d))
    null = sign_table(d.size) @ ranks
    seen = ranks[d > 0].sum()
    less, greater = (null <= seen + 1e-9).mean(), (null >= seen - 1e-9).mean()
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[side]


def test_bortz_lienert_fifteen_pairs():
    r = signed_rank(BORTZ)
    assert round(r.p, 4) == 0.1367
    assert (r.statistic, r.n, r.n_nonzero, r.ties) == (13.0, 15, 10, 10)
    assert (r.wins, r.losses, r.draws) == (8, 2, 5)
    assert r.floor == 2.0**-9


@pytest.mark.parametrize(
    ("differences", "side", "p", "digits"),
    [
        (ANTIGEN, "two-sided", 0.0021, 4),
        (HAMILTON, "two-sided", 0.0391, 4),
        (HAMILTON, "greater", 0.01953, 5),
        (BELLIO, "two-sided", 0.9603, 4),
        (np.arange(1, 9), "two-sided", 0.0078125, 7),
        (np.array([1, 2, 3, 4, 5, 6, 7, 7]), "two-sided", 0.0078125, 7),
        (np.array([1, 1, 1]), "two-sided", 0.25, 7),
    ],
)
def test_published_exact_values(differences, side, p, digits):
    """Values of StatXact, of Hollander and Wolfe, and of the regression tests of exactRankTests."""
    assert round(signed_rank(differences, side).p, digits) == p


def test_bellio_statistic():
    assert signed_rank(BELLIO).statistic == 559


@pytest.mark.parametrize("samples", [60, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", range(1, 13))
def test_equals_enumeration_with_zeros_and_ties(n, samples):
    """Random samples of every size up to twelve, whole-numbered so that zeros and ties abound."""
    g = np.random.default_rng(n)
    for k in range(samples):
        spread = (2, 4, 50)[k % 3]
        d = g.integers(-spread, spread + 1, size=n).astype(float)
        side = ("two-sided", "less", "greater")[int(g.integers(3))]
        assert signed_rank(d, side).p == pytest.approx(enumerated(d, side), rel=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=40))
def test_symmetry_and_floor(values):
    """Swapping the arms swaps the sides, and no p is below the floor."""
    d = np.array(values, dtype=float)
    assert signed_rank(d, "less").p == pytest.approx(signed_rank(-d, "greater").p, rel=1e-12)
    r = signed_rank(d)
    assert r.floor <= r.p <= 1
    assert r.wins + r.losses + r.draws == len(values)


@pytest.mark.parametrize(
    ("n", "printed"),
    [(5, "0.0625"), (6, "0.03125"), (7, "0.01562"), (10, "0.00195"), (18, "7.6e-06"), (19, "3.8e-06"), (25, "5.96e-08"), (26, "3e-08"), (33, "2.33e-10")],
)  # fmt: skip
def test_printed_floors(n, printed):
    """Floors as the paper prints them, reached when all differences have one sign."""
    floor = signed_rank_floor(n)
    mantissa = printed.split("e")[0].replace(".", "").lstrip("0")
    assert f"{floor:.{len(mantissa) - 1}e}" == f"{float(printed):.{len(mantissa) - 1}e}"
    assert signed_rank(np.arange(1, n + 1)).p == floor


def test_floor_depends_on_zeros_only():
    assert signed_rank_floor(1) == 1.0
    assert signed_rank(np.array([0, 0, 0, 0, 0, -0.06])).floor == 1.0
    assert signed_rank(np.zeros(6)).p == 1.0
    assert signed_rank_floor(3, "less") == 0.125


def test_null_is_a_symmetric_distribution():
    null = signed_rank_null([3, 3, 3, 8, 9, 10])
    assert null.sum() == 1.0
    assert np.array_equal(null, null[::-1])


def test_untied_equals_scipy_exact():
    g = np.random.default_rng(3)
    for n in (5, 14, 30, 45):
        d = g.normal(size=n)
        assert signed_rank(d).p == pytest.approx(wilcoxon(d, method="exact").pvalue, rel=1e-12)


@pytest.mark.skipif(scipy.__version__.startswith("1.13"), reason="scipy 1.13 answers exact with the approximation here")
def test_why_not_scipy():
    """With zeros and ties scipy's auto gives a normal approximation unasked and its exact ignores the ties."""
    auto, exact = wilcoxon(BORTZ).pvalue, wilcoxon(BORTZ, method="exact").pvalue
    assert round(auto, 4) == 0.1298
    assert round(exact, 4) == 0.1602
    assert round(enumerated(BORTZ, "two-sided"), 4) == 0.1367


def test_beyond_the_exact_limit_the_method_says_so():
    d = np.random.default_rng(1).normal(0.05, 1, EXACT_LIMIT + 1)
    r = signed_rank(d)
    assert r.method.startswith("normal approximation")
    assert r.p == pytest.approx(wilcoxon(d, method="approx").pvalue, rel=1e-9)


def test_sign_test_is_binomial():
    d = np.array([0, -1, -2, -3, 4, -5, -6])
    r = sign_test(d)
    assert r.p == binomtest(1, 6).pvalue
    assert (r.wins, r.losses, r.draws, r.n_nonzero) == (5, 1, 1, 6)
    assert r.floor == 2.0**-5


def test_an_unknown_side_is_refused():
    from orledger.errors import UsageError

    with pytest.raises(UsageError, match="two-sided, less, greater"):
        signed_rank(BORTZ, "both")

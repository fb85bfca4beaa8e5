"""Friedman, Skillings-Mack and Spearman against published values, enumeration and scipy."""

from __future__ import annotations

import csv
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, spearmanr

from orledger.audit.statistics.friedman import friedman, friedman_p
from orledger.audit.statistics.skillings_mack import skillings_mack
from orledger.audit.statistics.spearman import spearman
from orledger.errors import DataError

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "demsar2006.csv"
NAN = float("nan")
# Stuttering under three rhythms (Brady 1969, in Hollander and Wolfe); PMCMRplus gives 13.28095, p = 0.001306405.
BRADY = np.array([[3, 5, 15], [1, 3, 18], [5, 4, 21], [2, NAN, 6], [0, 2, 17], [0, 2, 10], [0, 3, 8], [0, 2, 13]])


def brute_friedman(x: np.ndarray) -> float:
    """The exact p by permuting every block in every way."""
    ranks = rankdata(x, axis=1)
    centred = ranks - (x.shape[1] + 1) / 2
    seen = (centred.sum(axis=0) ** 2).sum()
    null = [
        (np.array([row[list(order)] for row, order in zip(centred, orders, strict=True)]).sum(axis=0) ** 2).sum()
        for orders in product(permutations(range(x.shape[1])), repeat=x.shape[0])
    ]
    return float(np.mean(np.array(null) >= seen - 1e-9))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (4, 3), (3, 4), (6, 2)])
def test_friedman_exact_equals_enumeration_with_ties(shape):
    g = np.random.default_rng(sum(shape))
    for _ in range(3):
        x = g.integers(0, 4, size=shape).astype(float)
        r = friedman(x)
        assert r.method.startswith("exact")
        assert r.p == pytest.approx(brute_friedman(x), rel=1e-9)
        assert r.floor <= r.p + 1e-12


def test_friedman_floor_without_ties():
    """All blocks in one order has probability k!^(1 - n)."""
    x = np.tile(np.arange(4.0), (5, 1))
    assert friedman(x).p == friedman(x).floor == pytest.approx(24.0**-4)


def test_friedman_statistic_equals_scipy_with_ties():
    x = np.random.default_rng(2).integers(0, 6, size=(25, 5)).astype(float)
    r = friedman(x)
    reference = friedmanchisquare(*x.T)
    assert r.statistic == pytest.approx(reference.statistic)
    assert r.details["p_chi2"] == pytest.approx(reference.pvalue)
    assert r.method.startswith("chi-squared")
    assert r.details["kendall_w"] == pytest.approx(reference.statistic / (25 * 4))


@pytest.mark.parametrize(
    ("statistic", "p"), [(55.14, "3.0e-11"), (124.5, "5.8e-26"), (19.33, "6.8e-04"), (25.89, "3.3e-05")]
)
def test_friedman_p_of_the_printed_statistics(statistic, p):
    assert f"{friedman_p(statistic, 5):.1e}" == p


def test_demsar_mean_ranks():
    """Table 6 of Demsar (2006) prints mean ranks 3.143, 2.000, 2.893, 1.964 and chi-squared 9.28 (not tie-corrected).

    His voting row ranks two classifiers apart that print alike; with that row as he ranks it the printed values follow.
    """
    with EXAMPLE.open(encoding="utf-8") as f:
        rows = list(csv.reader(f))
    x = np.array([[float(v) for v in row[1:]] for row in rows[1:]])
    printed_order = x.copy()
    printed_order[[r[0] for r in rows[1:]].index("voting"), 2] += 1e-5
    ranks = friedman(-printed_order, rows[0][1:]).details["mean_ranks"]
    assert [round(v, 3) for v in ranks.values()] == [3.143, 2.0, 2.893, 1.964]
    uncorrected = 12 * 14 / (4 * 5) * (sum(v**2 for v in ranks.values()) - 4 * 25 / 4)
    assert round(uncorrected, 2) == 9.28
    assert friedman(-x).statistic > 9.28  # the correction for ties can only raise it


def test_all_tied_blocks_say_nothing():
    r = friedman(np.ones((4, 3)))
    assert (r.statistic, r.p, r.n_nonzero) == (0.0, 1.0, 0)


def test_skillings_mack_published():
    r = skillings_mack(BRADY, ["R", "A", "B"])
    assert r.statistic == pytest.approx(13.28095, abs=5e-6)
    assert r.p == pytest.approx(0.001306405, abs=5e-10)
    assert (r.details["df"], r.details["incomplete_blocks"]) == (2, 1)


def test_skillings_mack_many_gaps():
    """Reference of R's implementation on a sparse table: T = 12.53551, p = 0.01378318, 4 degrees of freedom."""
    x = np.array(
        [[3, 5, 15, NAN, 4], [1, 3, NAN, NAN, NAN], [5, 4, 21, 5, NAN], [2, NAN, 6, NAN, NAN], [0, 2, 17, NAN, NAN],
         [0, 2, 10, NAN, NAN], [0, 3, NAN, 5, NAN], [0, 2, 13, NAN, NAN]]
    )  # fmt: skip
    r = skillings_mack(x)
    assert r.statistic == pytest.approx(12.53551, abs=5e-6)
    assert r.p == pytest.approx(0.01378318, abs=5e-9)


def test_skillings_mack_is_friedman_without_gaps():
    x = np.random.default_rng(9).normal(size=(12, 4))
    assert skillings_mack(x).statistic == pytest.approx(friedman(x).statistic)


def test_skillings_mack_refuses_an_arm_without_data():
    with pytest.raises(DataError, match="no block holds the arm k5"):
        skillings_mack([[1, 2, NAN], [2, 1, NAN]], ["a", "b", "k5"])


def test_spearman_printed():
    """Inertness against dispersion and against dimension over five benchmarks: p = 0.033 and 0.067."""
    inert = [6 / 6, 6 / 7, 3 / 6, 0, 0]
    dispersion = spearman([1e-13, 1e-11, 0.0066, 0.0110, 0.3263], inert)
    assert (round(dispersion.effect, 2), round(dispersion.p, 3)) == (-0.97, 0.033)
    dimension = spearman([10, 6, 5, 5, 2], inert)
    assert (round(dimension.effect, 2), round(dimension.p, 3)) == (0.92, 0.067)


def test_spearman_exact_is_enumeration():
    g = np.random.default_rng(4)
    for n in (3, 5, 7):
        x, y = g.integers(0, 4, n).astype(float), g.normal(size=n)
        if np.ptp(x) == 0:
            x[0] += 1
        seen = spearmanr(x, y).statistic
        ranks, orders = rankdata(x), np.array(list(permutations(rankdata(y))))
        null = [np.corrcoef(ranks, order)[0, 1] for order in orders]  # of ranks: its definition
        assert spearman(x, y).p == pytest.approx(np.mean(np.abs(null) >= abs(seen) - 1e-9))
        assert spearman(x, y, "less").p == pytest.approx(np.mean(np.array(null) <= seen + 1e-9))


def test_spearman_large_sample_equals_scipy():
    g = np.random.default_rng(6)
    x, y = g.normal(size=37), g.integers(0, 9, 37)
    r = spearman(x, y)
    assert r.p == pytest.approx(spearmanr(x, y).pvalue)
    assert r.method.startswith("Student")


def test_spearman_of_a_constant():
    assert spearman([1, 1, 1], [1, 2, 3]).p == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_the_floor_of_skillings_and_mack_is_the_smallest_p_of_all_orders(seed):
    """Every order of the numbers inside every block, gaps and ties as they are."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (3, 4)).astype(float)
    x[seed % 3, seed % 4] = np.nan
    found = skillings_mack(x)
    blocks = []
    for row in x:
        here = np.flatnonzero(np.isfinite(row))
        blocks.append([])
        for order in set(permutations(row[here])):
            blocks[-1].append(np.full(4, np.nan))
            blocks[-1][-1][here] = order
    assert found.floor == pytest.approx(min(skillings_mack(np.array(t)).p for t in product(*blocks)), rel=1e-9)


def test_beyond_eight_arms_the_floor_of_skillings_and_mack_is_called_a_bound():
    x = np.random.default_rng(0).normal(size=(4, 9))
    assert skillings_mack(x).method.endswith("the floor is an upper bound")
    assert "bound" not in skillings_mack(x[:, :8]).method

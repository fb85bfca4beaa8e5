"""Attainable p-values and shares against enumeration of every sign pattern."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy_names import BY_NORMAL

from orledger.audit.recheck.rounding import Enclosure, parse_printed
from orledger.audit.statistics.attainable import (
    compositions,
    exact_p_values,
    midranks_doubled,
    normal_p,
    normal_p_values,
    shares,
    sign_test_p,
    splits,
    subset_sums,
    tie_term_that_fits,
    tie_terms,
    tied_p_values,
)


def enumerated_p(magnitudes, negative):
    """Two-sided p of one sign pattern by listing all 2^n patterns of the midranks."""
    ranks = stats.rankdata(magnitudes)
    sums = [
        sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    seen = sum(r for i, r in enumerate(ranks) if i in negative)
    lower = np.mean([s <= seen + 1e-9 for s in sums])
    upper = np.mean([s >= seen - 1e-9 for s in sums])
    return min(1.0, 2 * min(lower, upper))


@pytest.mark.parametrize(("m", "losses"), [(1, 0), (3, 1), (5, 0), (5, 2), (7, 1), (7, 3)])
def test_exact_values_are_those_of_all_placements_of_the_losses(m, losses):
    expected = {enumerated_p(range(1, m + 1), set(c)) for c in itertools.combinations(range(m), losses)}
    assert exact_p_values(m, losses) == pytest.approx(sorted(expected))


@pytest.mark.parametrize(("m", "losses"), [(3, 1), (4, 2), (5, 1)])
def test_tied_values_are_those_of_all_tie_patterns(m, losses):
    expected = {
        round(enumerated_p(np.repeat(np.arange(len(groups)), groups), set(c)), 12)
        for groups in compositions(m)
        for c in itertools.combinations(range(m), losses)
    }
    assert tied_p_values(m, losses) == pytest.approx(sorted(expected))


def test_zeros_that_are_ranked_first_shift_the_ranks():
    zeros, m = 2, 4
    ranks = np.arange(zeros + 1, zeros + m + 1)
    sums = [sum(c) for k in range(m + 1) for c in itertools.combinations(ranks, k)]
    expected = {min(1.0, 2 * min(np.mean([s <= r for s in sums]), np.mean([s >= r for s in sums]))) for r in ranks}
    assert exact_p_values(m, 1, zeros_ranked=zeros) == pytest.approx(sorted(expected))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
def test_normal_approximation_is_the_library_s(seed, zero_method):
    rng = np.random.default_rng(seed)
    d = rng.integers(-6, 9, size=20).astype(float)
    expected = stats.wilcoxon(d, zero_method=zero_method, method=BY_NORMAL, correction=False).pvalue
    zeros = int((d == 0).sum())
    magnitudes = np.abs(d[d != 0])
    _, sizes = np.unique(magnitudes, return_counts=True)
    offset = zeros if zero_method == "pratt" else 0
    ranks = stats.rankdata(magnitudes) + offset
    p = normal_p(
        len(magnitudes),
        ranks[d[d != 0] > 0].sum(),
        zeros_ranked=offset,
        tie_term=float((sizes**3 - sizes).sum()),
    )
    assert p == pytest.approx(expected, rel=1e-9)


def test_one_loss_of_small_rank_gives_the_published_steps():
    # Ten pairs: no loss 2/1024, one loss of rank one 4/1024, of rank two 6/1024.
    assert exact_p_values(10, 0) == pytest.approx([2 / 1024])
    assert exact_p_values(10, 1)[:2] == pytest.approx([4 / 1024, 6 / 1024])


def test_subset_sums_list_every_sum_once():
    ranks = (1, 2, 4, 7)
    assert subset_sums(ranks, 2).tolist() == sorted({a + b for a, b in itertools.combinations(ranks, 2)})
    assert subset_sums(ranks, 0).tolist() == [0]


def test_midranks_of_groups_are_doubled_averages():
    assert midranks_doubled((2, 1, 3)) == (3, 3, 6, 10, 10, 10)


def test_splits_agree_with_what_is_known():
    assert splits(5, wins=3, losses=1) == [(3, 1, 1)]
    assert splits(3, wins=2) == [(2, 0, 1), (2, 1, 0)]
    assert len(splits(4)) == 15
    assert splits(3, wins=4) == []


def test_tie_terms_are_those_of_the_partitions():
    # Of four magnitudes: none tied, a pair, a triple, two pairs, all four.
    assert tie_terms(4) == (0, 6, 12, 24, 60)


def test_tie_search_finds_the_smallest_correction_and_reports_absence():
    p = float(normal_p(12, 0, tie_term=6))
    assert tie_term_that_fits(12, 0, Enclosure(p - 1e-9, p + 1e-9)) == (6, pytest.approx(p))
    assert tie_term_that_fits(5, 0, parse_printed("0.9")) is None


def test_normal_values_follow_the_same_placements():
    expected = {float(normal_p(6, s)) for s in {sum(c) for c in itertools.combinations(range(1, 7), 2)}}
    assert normal_p_values(6, 2) == pytest.approx(sorted(expected))


@pytest.mark.parametrize(("wins", "losses"), [(7, 0), (15, 0), (5, 3), (0, 0)])
def test_sign_test_is_the_binomial_test(wins, losses):
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test_p(wins, losses) == pytest.approx(expected)


def test_shares_surround_the_window():
    found = shares(7, Enclosure(0.42, 0.44))
    assert 3 / 7 in found
    assert min(found) <= 0.42
    assert max(found) >= 0.44

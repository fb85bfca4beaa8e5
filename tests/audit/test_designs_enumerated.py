"""What designs can print, their power and what clusters say, against enumeration, closed forms and analysis of variance."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import f_oneway

from orledger.audit.statistics import attainable as reachable
from orledger.audit.statistics import powers
from orledger.audit.statistics.clusters import cluster_sign_flip, intraclass
from orledger.audit.statistics.equivalence import bayesian_signed_rank
from orledger.audit.statistics.powers import power_at, units_for


class Window:
    def __init__(self, low, high):
        self.low, self.high = low, high


def test_every_split_that_agrees():
    every = [(w, lost, 3 - w - lost) for w in range(4) for lost in range(4 - w)]
    assert sorted(reachable.splits(3)) == sorted(every)
    for w, lost, t in every:
        assert reachable.splits(3, w, lost) == reachable.splits(3, losses=lost, ties=t) == [(w, lost, t)]
    assert reachable.splits(2, wins=2, losses=1) == []


@pytest.mark.parametrize("ranks", [(1, 2, 3, 4), (3, 3, 7, 7, 10), ()])
def test_two_sided_p_of_every_sum(ranks):
    sums = np.array(
        [sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in product((0, 1), repeat=len(ranks))]
    )
    for s in set(sums.tolist()):
        p = min(1.0, 2 * min((sums <= s).mean(), (sums >= s).mean()))
        assert reachable.two_sided(ranks, np.array([s])).tolist() == [pytest.approx(p)]


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("losses", [0, 1, 2, 4])
def test_normal_p_of_every_choice_of_losses(losses, zeros):
    """Four differences ranked above the zeros: every choice of the negative ones gives its sum, and its p."""
    sums = {sum(c) for c in combinations(range(zeros + 1, zeros + 5), losses)}
    wanted = np.unique([reachable.normal_p(4, s, zeros_ranked=zeros) for s in sums])
    assert reachable.normal_p_values(4, losses, zeros_ranked=zeros) == pytest.approx(wanted)


def test_the_largest_number_whose_ties_are_listed():
    assert reachable.tied_p_values(12, 0).size > 0
    assert reachable.tied_p_values(13, 0).size == 0


@pytest.mark.parametrize("losses", [1, 3])
def test_a_tie_explains_sums_that_so_many_losses_can_have(losses):
    """One or three of four: sums 1 to 4, or 6 to 9, in halves; ties of six to 24, and neither none nor all four."""
    low, high = {1: (1.0, 4.0), 3: (6.0, 9.0)}[losses]
    for term in (6, 12, 24):
        for s in np.arange(low, high + 0.25, 0.5):
            p = float(reachable.normal_p(4, s, tie_term=term))
            assert reachable.tie_term_that_fits(4, losses, Window(p, p)) == (term, p)
        for s in (0.5, 4.5):
            p = float(reachable.normal_p(4, s, tie_term=term))
            assert reachable.tie_term_that_fits(4, losses, Window(p, p)) is None
    for term in (0, 60):
        p = float(reachable.normal_p(4, low, tie_term=term))
        assert reachable.tie_term_that_fits(4, losses, Window(p, p)) is None


@pytest.mark.parametrize("test", ["sign", "sign_anytime", "signed_rank"])
def test_no_unit_has_no_power(test):
    assert power_at(test, 0, 0.9, 0.05) == 0.0


def test_power_at_an_alpha_that_is_reached_to_the_digit():
    assert power_at("sign", 6, 0.9, 2 / 64) == pytest.approx(0.9**6 + 0.1**6)
    assert power_at("sign", 1, 0.9, 0.5, "greater") == pytest.approx(0.9)
    # e of seven heads of seven is comb(14, 7) / 4^7 * 2^7 = 26.8: above 20, and not above 40
    assert power_at("sign_anytime", 7, 0.8, 0.05) == pytest.approx(0.8**7 + 0.2**7)
    assert power_at("sign_anytime", 7, 0.8, 0.025) == 0.0


@pytest.mark.parametrize("side", ["less", "greater"])
def test_power_of_ranks_where_all_signs_must_agree(side):
    """At 2^-5 the test of five rejects only when all five agree, whatever their sizes."""
    assert power_at("signed_rank", 5, 0.8, 2.0**-5, side) == pytest.approx(0.8**5, abs=0.02)


def test_the_fewest_units_of_ranks_by_going_through_them():
    wanted = next(n for n in range(1, 40) if power_at("signed_rank", n, 0.85, 0.05) >= 0.8)
    assert units_for("signed_rank", 0.85, 0.05) == wanted
    assert units_for("signed_rank", 0.99, 0.6, "greater") == 1


def test_ends_of_the_search(monkeypatch):
    n = units_for("sign", 0.75, 0.05)  # 30 to 32 units are enough as well, and 34 are not
    for most, found in ((n - 1, None), (n, n), (31, None)):
        monkeypatch.setattr(powers, "MOST", most)
        assert units_for.__wrapped__("sign", 0.75, 0.05) == found
    monkeypatch.setattr(powers, "EXACT_LIMIT", 7)
    assert power_at.__wrapped__("signed_rank", 7, 0.5, 0.05) < 0.1
    assert power_at.__wrapped__("signed_rank", 8, 0.5, 0.05) == 1.0


@pytest.mark.parametrize(
    ("ranks", "test", "sums", "effect"),
    [
        (True, "signed_rank", "signed midranks", "rank-biserial correlation"),
        (False, "sign", "signs", "share of positive minus share of negative differences"),
    ],
)
def test_words_of_clusters(ranks, test, sums, effect):
    r = cluster_sign_flip([1.0, 2.0, -3.0], ["a", "a", "b"], ranks=ranks)
    assert (r.test, r.ties, r.centred, r.effect_name) == (test, 0, True, effect)
    assert r.method == f"exact, whole clusters flipped, sums of {sums}"
    assert r.statistic_name == f"sum of {sums.replace('mid', '')}"


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_the_intraclass_correlation_is_that_of_an_analysis_of_variance(scale):
    """Unequal groups, against scipy's F: (F - 1) / (F - 1 + m) with the typical size m of Donner and Koval."""
    rng = np.random.default_rng(3)
    groups = [scale * rng.normal(mean, 1, size) for mean, size in ((0, 3), (1, 5), (4, 2))]
    names = [str(k) for k, g in enumerate(groups) for _ in g]
    f = f_oneway(*groups).statistic
    sizes = np.array([g.size for g in groups])
    typical = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / 2
    assert intraclass(np.concatenate(groups), names) == pytest.approx((f - 1) / (f - 1 + typical))
    assert intraclass([1.0, 2.0], ["a", "b"]) is None
    assert intraclass([1.0, 1.0, 1.0, 1.0], ["a", "a", "b", "b"]) is None


def test_the_posterior_of_one_difference_is_a_beta_law():
    """Weights w of the prior's zero and 1 - w of the difference, w from Beta(1/2, 1): the mean of two exceeds 3/4 with
    probability (1 - w)^2, which is the most for w below 1 - sqrt(1/2), of probability sqrt(1 - sqrt(1/2))."""
    found = bayesian_signed_rank([1.0], 0.75)
    assert found.above == pytest.approx((1 - 0.5**0.5) ** 0.5, abs=0.012)
    assert (found.below, found.above + found.within) == (0.0, pytest.approx(1.0))
    mirrored = bayesian_signed_rank([-1.0], 0.75)
    assert (mirrored.below, mirrored.above) == (found.above, 0.0)

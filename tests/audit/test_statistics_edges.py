"""Small samples in full: every field of a result computed by hand, both ends of every limit, and what is refused."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from orledger.audit.statistics.bound import Bound
from orledger.audit.statistics.counts import clopper_pearson, fisher, holm, mcnemar, mcnemar_units, proportion
from orledger.audit.statistics.floors import attainable, smallest_n
from orledger.audit.statistics.intervals import median_interval
from orledger.audit.statistics.inversion import ShiftInterval, hodges_lehmann, walsh_averages
from orledger.audit.statistics.sign import sign_e_value, sign_p, sign_test, sign_test_anytime
from orledger.audit.statistics.signedrank import signed_rank, signed_rank_floor
from orledger.audit.ties import snapped
from orledger.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("side", "p", "floor"), [("two-sided", 6 / 16, 1 / 8), ("less", 15 / 16, 1 / 16), ("greater", 3 / 16, 1 / 16)]
)
def test_signed_ranks_with_ties_and_a_zero(side, p, floor):
    """Sizes 1, 1, 2, 2 share the ranks 1.5 and 3.5; all but one are positive: 8.5 of 10, reached or exceeded 3 times in 16."""
    r = signed_rank([1.0, -1.0, 2.0, 2.0, 0.0], side)
    assert (r.statistic, r.p, r.floor, r.n, r.n_nonzero, r.ties) == (8.5, p, floor, 5, 4, 4)
    assert (r.wins, r.losses, r.draws) == (1, 3, 1)
    assert r.standard_effect == pytest.approx(0.7)
    assert r.effect == 1.0  # of 15 averages of two, the eighth
    assert r.details == {"median": 1.0}
    assert r.method == "exact conditional on ties, zeros dropped, midranks"
    small = signed_rank([0.5, -0.25, -0.5, 0.125])  # ranks 3.5, 2, 3.5 and 1
    assert (small.statistic, small.ties) == (4.5, 2)


def test_no_difference_and_no_unit():
    equal, none = signed_rank([0.0, 0.0]), signed_rank([])
    assert (equal.p, equal.floor, equal.effect, equal.standard_effect, equal.statistic, equal.draws) == (
        1.0,
        1.0,
        0.0,
        0.0,
        0.0,
        2,
    )
    assert equal.method == "exact: no non-zero difference"
    assert (none.p, none.effect, none.standard_effect, none.details, none.low, none.superiority) == (
        1.0,
        None,
        None,
        {},
        None,
        None,
    )
    assert (sign_test([]).effect, sign_test([0.0]).standard_effect, sign_test([]).standard_effect) == (None, 0.0, None)
    assert signed_rank_floor(0) == 1.0
    with pytest.raises(UsageError, match="side is 'both'"):
        signed_rank([1.0], "both")


def test_beyond_the_exact_limit_the_normal_law_is_named():
    """601 differences, the odd ones positive: the sum of odd ranks against its mean and variance."""
    n = 601
    d = np.arange(1, n + 1) * np.where(np.arange(1, n + 1) % 2, 1, -1)
    plus, mean, sd = 301**2, n * (n + 1) / 4, np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    from scipy.stats import norm

    r = signed_rank(d, "greater")
    assert r.p == pytest.approx(norm.sf((plus - mean) / sd), rel=1e-12)
    assert r.method.startswith("normal approximation")
    assert (r.effect, r.effect_name, r.interval_ends) == (float(np.median(d)), "median of differences", "[]")
    assert signed_rank(d[:600]).method.startswith("exact")


def test_signs_in_full():
    r = sign_test([3.0, 2.0, 1.0, -1.0, 0.0], better="higher")
    assert (r.statistic, r.n, r.n_nonzero, r.p, r.floor) == (3.0, 5, 4, 10 / 16, 2 / 16)
    assert (r.wins, r.losses, r.draws, r.effect, r.standard_effect) == (3, 1, 1, 1.0, 0.5)
    assert (r.superiority, r.ties) == (0.7, 0)
    assert sign_p(np.array([1.0, 1.0, -1.0]), "greater") == 0.5


def test_evidence_of_signs_is_a_ratio_of_likelihoods():
    """Beta(1/2, 1/2) on three heads of three: B(3.5, 0.5) / B(0.5, 0.5) * 8 = 5/16 * 8."""
    assert sign_e_value(3, 3) == pytest.approx(2.5, rel=1e-12)
    assert sign_e_value(1, 2) == pytest.approx(0.5, rel=1e-12)  # 1/8 * 4
    less, greater = sign_e_value(3, 3, "less"), sign_e_value(3, 3, "greater")
    assert less + greater == pytest.approx(2 * 2.5, rel=1e-12)
    assert less < 1 < greater
    r = sign_test_anytime([1.0, 1.0, 1.0])
    assert (r.p, r.floor, r.e_value, r.low, r.high, r.level, r.interval_ends) == (
        pytest.approx(0.4),
        pytest.approx(0.4),
        pytest.approx(2.5),
        None,
        None,
        None,
        "",
    )
    assert sign_test_anytime([1.0, -1.0]).p == 1.0
    # None of three heads, two-sided as likely as three; to the side of "less" the evidence of all tails, and its floor.
    assert sign_test_anytime([-1.0, -1.0, -1.0]).e_value == pytest.approx(2.5)
    down = sign_test_anytime([-1.0, -1.0, -1.0], "less")
    assert (down.e_value, down.floor) == (pytest.approx(greater), pytest.approx(1 / greater))


# ---- counts -----------------------------------------------------------------------------------------------------------------


def test_clopper_and_pearson_at_the_ends():
    both = clopper_pearson(3, 3)
    assert (both.low, both.high) == (pytest.approx(0.025 ** (1 / 3)), 1.0)
    assert clopper_pearson(0, 3).high == pytest.approx(1 - 0.025 ** (1 / 3))
    lower, upper = clopper_pearson(3, 3, side="lower"), clopper_pearson(0, 3, 0.9, "upper")
    assert (lower.low, lower.high, lower.side) == (pytest.approx(0.05 ** (1 / 3)), 1.0, "lower")
    assert (upper.low, upper.high, upper.level) == (0.0, pytest.approx(1 - 0.1 ** (1 / 3)), 0.9)
    assert clopper_pearson(1, 3, side="upper").low == 0.0
    assert clopper_pearson(1, 3, side="lower").high == 1.0
    for k, n in ((-1, 3), (4, 3), (0, 0)):
        with pytest.raises(DataError, match="is not a proportion"):
            clopper_pearson(k, n)
    with pytest.raises(DataError, match="side is 'both'"):
        clopper_pearson(1, 3, side="both")


def test_a_share_against_its_nominal_value():
    """Of three, none, at a nominal half: 1/8 below, 2/8 both ways, certain above."""
    for side, p, floor in (("less", 1 / 8, 1 / 8), ("two-sided", 2 / 8, 2 / 8), ("greater", 1.0, 1 / 8)):
        r = proportion(0, 3, 0.5, side=side)
        assert (r.p, r.floor, r.effect, r.wins, r.losses, r.draws) == (
            pytest.approx(p),
            pytest.approx(floor),
            0.0,
            0,
            3,
            0,
        )
    bare = proportion(2, 3)
    assert (bare.p, bare.floor, bare.method, bare.effect, bare.statistic) == (
        None,
        None,
        "count with exact interval",
        2 / 3,
        2.0,
    )
    assert proportion(2, 3, side="greater").high == 1.0
    assert proportion(2, 3, side="less").low == 0.0


def test_fisher_by_counting_tables():
    """Three of three against none of three: one table in comb(6, 3) = 20 to each side."""
    r = fisher(3, 3, 0, 3)
    assert (r.p, r.floor, r.effect, r.n, r.statistic) == (pytest.approx(2 / 20), pytest.approx(2 / 20), 1.0, 6, 3.0)
    assert r.details == {"table": [[3, 0], [0, 3]]}
    assert fisher(3, 3, 0, 3, "greater").p == pytest.approx(1 / 20)
    assert fisher(3, 3, 0, 3, "less").p == 1.0
    # Two of three against one of four: tables by hypergeometric weights 4, 18, 12, 1 of 35 for 0 to 3 in the first group.
    seen = {side: fisher(2, 3, 1, 4, side) for side in ("two-sided", "less", "greater")}
    assert seen["greater"].p == pytest.approx(13 / 35)
    assert seen["less"].p == pytest.approx(34 / 35)
    assert seen["two-sided"].p == pytest.approx(17 / 35)
    assert [seen[s].floor for s in ("two-sided", "less", "greater")] == pytest.approx([1 / 35, 4 / 35, 1 / 35])
    assert seen["less"].effect == pytest.approx(2 / 3 - 1 / 4)
    # A table that must have a success in the first group: 3 of 3 and 2 of 3 leave 2 or 3 there.
    assert fisher(2, 3, 3, 3, "less").floor == pytest.approx(3 / 6)
    for a, n_a, b, n_b in ((4, 3, 0, 3), (0, 3, 4, 3), (-1, 3, 0, 3), (0, 0, 0, 3), (0, 3, 0, 0), (0, 3, -1, 3)):
        with pytest.raises(DataError, match="two-by-two"):
            fisher(a, n_a, b, n_b)


def test_mcnemar_in_full():
    r = mcnemar(3, 1, 2, 4)
    assert (r.n, r.n_nonzero, r.statistic, r.p, r.floor, r.effect) == (10, 4, 3.0, 10 / 16, 2 / 16, 0.2)
    assert r.details == {"first_only": 3, "second_only": 1, "both": 2, "neither": 4}
    assert mcnemar(0, 0).effect is None
    u = mcnemar_units([0.5, 0.25, -0.25, 0.0], "mean")
    assert (u.n, u.n_nonzero, u.statistic, u.p, u.floor, u.effect) == (4, 3, 2.0, 1.0, 2 / 8, 0.125)
    assert u.details == {"first_more": 2, "second_more": 1, "equal": 1}
    assert mcnemar_units([], "mean").effect is None


def test_holm_step_by_step():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


# ---- floors -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "n", "side", "floor"),
    [
        ("signed_rank", 6, "two-sided", 2 / 64), ("sign", 6, "less", 1 / 64), ("mcnemar", 1, "two-sided", 1.0),
        ("friedman", 3, "two-sided", 1 / 4), ("friedman", 1, "two-sided", 1.0), ("friedman", 2, "two-sided", 1 / 2),
        ("fisher", 3, "two-sided", 2 / 20), ("fisher", 3, "greater", 1 / 20), ("fisher", 3, "less", 1 / 20), ("spearman", 4, "two-sided", 2 / 24),
        ("spearman", 4, "less", 1 / 24), ("spearman", 1, "less", 1.0), ("spearman", 2, "two-sided", 1.0),
        ("sign_anytime", 3, "two-sided", 0.4), ("sign", 0, "less", 1.0), ("sign", 1, "less", 0.5), ("slope", 9, "less", None),
    ],
)  # fmt: skip
def test_what_a_design_can_reach(test, n, side, floor):
    assert attainable(test, n, side=side) == (None if floor is None else pytest.approx(floor, rel=1e-12))


def test_anytime_floors_of_one_side_are_those_of_the_side_that_agrees():
    assert attainable("sign_anytime", 5, side="less") == attainable("sign_anytime", 5, side="greater")
    assert attainable("sign_anytime", 5, side="less") == pytest.approx(1 / sign_e_value(0, 5, "less"), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.25, 0.05, 1 / 64, 1 / 36])
@pytest.mark.parametrize("side", ["two-sided", "less"])
@pytest.mark.parametrize("test", ["signed_rank", "sign", "mcnemar", "friedman", "fisher", "spearman", "sign_anytime"])
def test_the_fewest_units_are_the_first_that_reach(test, alpha, side):
    n = smallest_n(test, alpha, side=side, arms=3)
    slack = 1e-9 if test == "friedman" else 0.0  # powers of six are rounded
    reached = [attainable(test, k, side=side, arms=3) <= alpha * (1 + slack) for k in range(1, n + 1)]
    assert reached == [False] * (n - 1) + [True]
    assert smallest_n("slope", alpha) is None
    assert smallest_n("sign", 1.0, side="less") == 1


def test_pinned_values():
    x = np.array([1.0, 2.0, 3.0, 2.0 * (1 + 1e-13)])
    assert Bound(at=2.0).marks(x).tolist() == [False, True, False, True]
    assert Bound(below=2.0).marks(x).tolist() == [True, False, False, False]
    assert Bound(above=2.5).marks(x).tolist() == [False, False, True, False]
    assert Bound(above=3.0, below=1.0).marks(x).tolist() == [False] * 4
    assert Bound(at=1.0, above=2.5).marks(x).tolist() == [True, False, True, False]


# ---- intervals --------------------------------------------------------------------------------------------------------------


def test_ends_of_an_interval_belong_to_it_as_written():
    assert [ShiftInterval(0.0, 1.0, 0.95, ends, "m").contains(0.0) for ends in ("[]", "(]")] == [True, False]
    assert [ShiftInterval(0.0, 1.0, 0.95, ends, "m").contains(1.0) for ends in ("[]", "[)")] == [True, False]
    assert [ShiftInterval(0.0, 1.0, 0.95, "()", "m").contains(x) for x in (-0.1, 0.5, 1.1)] == [False, True, False]
    assert ShiftInterval(None, 1.0, 0.95, "[]", "m").contains(-9.0)
    assert ShiftInterval(0.0, None, 0.95, "[]", "m").contains(9.0)


def test_averages_of_two():
    assert walsh_averages([1.0, 4.0, 2.0]).tolist() == [1.0, 1.5, 2.0, 2.5, 3.0, 4.0]
    assert hodges_lehmann([1.0, 4.0, 2.0]) == 2.25


def test_rounding_is_taken_out_and_no_more():
    unit = 2.0**-46
    assert snapped([unit, 2 * unit, -unit], [1.0, 1.0, 1.0]).tolist() == [0.0, 2 * unit, 0.0]
    near = snapped([1.0, -(1 + unit), 1 + 3 * unit], [1.0, 1.0, 1.0])
    assert near.tolist() == [1.0, -1.0, 1 + 3 * unit]
    assert snapped([3.0, 1.0], [0.0, 0.0]).tolist() == [3.0, 1.0]
    assert snapped([4 * unit, 5 * unit], [4.0, 4.0]).tolist() == [0.0, 5 * unit]
    assert snapped([1.0, 1 + 4 * unit], [2.0, 2.0]).tolist() == [1.0, 1.0]  # twice the share of 2, and no more
    assert snapped([1.0, 1 + 5 * unit], [2.0, 2.0]).tolist() == [1.0, 1 + 5 * unit]


@pytest.mark.parametrize(
    ("n", "k", "reached"), [(5, 1, False), (6, 1, True), (8, 1, True), (9, 2, True), (17, 5, True)]
)
def test_order_statistics_of_a_median(n, k, reached):
    """Outside each end the binomial tail is at most 0.025: 1/64 for six, 10/512 for the second of nine."""
    found = median_interval(np.arange(n)[::-1])
    tail = sum(comb(n, j) for j in range(k)) / 2**n
    assert (found.low, found.high, found.reached) == (k - 1, n - k, reached)
    assert found.achieved == pytest.approx(1 - 2 * tail, rel=1e-12)
    assert median_interval([]) is None
    assert median_interval([4.0]).achieved == 0.0

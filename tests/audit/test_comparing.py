"""Comparisons of units written by hand: which test is computed of what, and what there is too little for."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import polars as pl
import pytest
from hand_units import remembering, units
from hypothesis_text import comparison

from orledger.audit.evaluation import comparisons, refusals
from orledger.audit.evaluation.comparisons import evaluate
from orledger.audit.statistics.result import Dropped

KEYS = ("split", "rel")
PAIR = 'test = "{}"\narms = ["a", "b"]\n'
THREE = 'test = "{}"\narms = ["a", "b", "c"]\n'


def side(values, absent=(), nested=1):
    """One value to a split, or ``nested`` values to each."""
    rows = [(str(i // nested), str(i % nested), v) for i, v in enumerate(values)]
    return units(rows, [(s, r, *rest) for s, r, *rest in absent], KEYS)


def found(body, *sides):
    c = comparison(body)
    return evaluate(remembering(c, *sides), c)


@pytest.mark.parametrize(
    ("body", "fewest"),
    [
        (THREE.format("friedman"), 2),
        (THREE.format("skillings_mack"), 2),
        ('test = "spearman"\nx = { arm = "a" }\ny = { arm = "b" }\n', 3),
        ('test = "slope"\nx = { arm = "a" }\ny = { arm = "b" }\n', 3),
        (PAIR.format("signed_rank"), 1),
        (PAIR.format("mcnemar") + "event = { gt = 0 }\n", 1),
    ],
)
def test_too_few_units_are_missing_and_one_more_is_not(body, fewest):
    for n in (fewest - 1, fewest):
        values = [0.0, 1.0, 0.0][:n], [1.0, 0.0, 2.0][:n], [2.0, 3.0, 4.0][:n]
        sides = [side(v, [("9", "0", "gone")] * (j == 0)) for j, v in enumerate(values)]
        e, *_ = found(body, *sides[: 3 if '"c"' in body else 2])
        assert (e.outcome == "missing") is (n < fewest)
        assert e.result.n == n
        assert e.result.computed is (n >= fewest)
        assert [d.reason for d in e.result.dropped] == [f"{'x' if 'x =' in body else 'a'}: gone"]
        if n < fewest:
            assert (e.result.p, e.result.floor, e.result.statistic, e.result.ties, e.result.n_nonzero) == (None, None, None, 0, 0)  # fmt: skip


def test_a_slope_over_one_place_is_missing():
    body = 'test = "slope"\nx = { arm = "a" }\ny = { arm = "b" }\n'
    (e,) = found(body, side([2, 2, 2, 2]), side([1, 2, 3, 5]))
    assert (e.outcome, e.result.n, e.result.p) == ("missing", 4, None)
    (e,) = found(body, side([0, 1, 2, 3]), side([1, 3, 5, 7.5]))
    assert e.result.effect == pytest.approx((1.5 * 3.125 + 0.5 * 1.125 + 0.5 * 0.875 + 1.5 * 3.375) / 5)


def test_ranks_of_two_quantities_are_correlated():
    (e,) = found('test = "spearman"\nx = { arm = "a" }\ny = { arm = "b" }\n', side([1, 2, 3, 4]), side([4, 3, 2, 1]))
    assert (e.result.effect, e.result.n) == (-1.0, 4)


def test_ranks_begin_with_the_better_side():
    """Rank 1 is the lowest value where lower is better, and the highest where higher is."""
    rows = side([1, 1, 1]), side([2, 2, 2]), side([3, 3, 3])
    for test in ("friedman", "skillings_mack"):
        for better, ranks in (("lower", {"a": 1, "b": 2, "c": 3}), ("higher", {"a": 3, "b": 2, "c": 1})):
            (e,) = found(THREE.format(test) + f'better = "{better}"\n', *rows)
            assert e.result.details["mean_ranks"] == ranks, test


def test_a_block_may_have_gaps_in_one_test_only():
    sides = side([1, 2, 3]), side([2, 3]), side([3, 4, 5])
    (e,) = found(THREE.format("skillings_mack"), *sides)
    assert e.result.n == 3
    (e,) = found(THREE.format("friedman"), *sides)
    assert (e.result.n, [d.unit for d in e.result.dropped]) == (2, ["2/0"])


def test_pairs_of_events_are_counted_by_who_has_them():
    """Two in both, three in a alone, one in b alone, four in neither."""
    a, b = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    e, *_ = found(PAIR.format("mcnemar") + "event = { gt = 0 }\n", side(a), side(b))
    assert e.result.details == {"first_only": 3, "second_only": 1, "both": 2, "neither": 4}
    assert (e.variant, e.independent, e.outcome) == ("declared", True, "untestable")


def test_nested_pairs_of_events_are_reduced_to_their_unit():
    body = PAIR.format("mcnemar") + 'event = { gt = 0 }\nunit = ["split"]\nblocked = "mean"\n'
    blocked, naive = found(body, side([1, 1, 0, 1], nested=2), side([0, 1, 0, 0], nested=2))
    assert blocked.result.details == {"first_more": 2, "second_more": 0, "equal": 0}
    assert "mean of the nested differences" in blocked.result.method
    assert (naive.result.details["first_only"], naive.variant, naive.independent) == (2, "naive", False)
    assert (blocked.variant, blocked.independent, blocked.unit_values) == ("blocked", True, ("2 split",))
    assert naive.unit_values == ()


def test_nested_values_without_a_rule_are_refused_unless_there_are_none():
    body = PAIR.format("signed_rank") + 'unit = ["split"]\n'
    (e,) = found(body, side([1, 2, 3], nested=3), side([4, 5, 6], nested=3))
    assert (e.variant, e.outcome, e.result.p, e.result.n) == ("declared", "refused", None, 3)
    (e,) = found(body, side([]), side([]))
    assert (e.outcome, e.result.p) == ("missing", None)


def test_logarithms_are_called_ratios_and_differences_are_not():
    sides = side([10, 100, 1000]), side([1, 10, 100])
    e, *_ = found(PAIR.format("signed_rank") + 'transform = "log10"\n', *sides)
    assert (e.result.effect, e.result.effect_name) == (1.0, "Hodges-Lehmann median of log10 ratios")
    assert found(PAIR.format("signed_rank"), *sides)[0].result.effect_name == "Hodges-Lehmann median of differences"


def test_units_are_counted_for_every_key_of_theirs():
    sides = side([1, 2, 3, 4], nested=2), side([2, 4, 6, 8], nested=2)
    assert found(PAIR.format("sign"), *sides)[0].unit_values == ("2 split", "2 rel")


# ---- margins and coarser units --------------------------------------------------------------------------------------------


def test_a_margin_is_tested_and_asked_of_the_posterior():
    """Eight differences of 0.1, far within a margin of 1: both ends are rejected with the smallest p of eight, 2^-8."""
    sides = side([1.1] * 8), side([1.0] * 8)
    for test in ("signed_rank", "sign"):
        e, *_ = found(PAIR.format(test) + "margin = 1\n", *sides)
        assert (e.within.margin, e.within.noninferior, e.within.equivalent) == (1, 2.0**-8, 2.0**-8)
        assert e.shown == ("noninferior", "equivalent")
        assert e.posterior.within > 0.99
        plain, *_ = found(PAIR.format(test), *sides)
        assert (plain.within, plain.posterior, plain.shown) == (None, None, ())
    (none,) = found(PAIR.format("sign") + "margin = 1\n", side([]), side([]))
    assert (none.outcome, none.within) == ("missing", None)


@pytest.mark.parametrize("test", ["signed_rank", "sign"])
@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_numbers_that_differ_by_the_margin_as_printed_tie_with_it(test, first, second):
    """All differ by 0.007, in doubles by less: a tie with the margin is no evidence on that side.

    On the other side all eight agree. With eight units flipped whole it is the same.
    """
    pairs = ((0.563, 0.556), (0.564, 0.557), (0.565, 0.558), (0.566, 0.559), (0.567, 0.56), (0.568, 0.561), (0.569, 0.562), (0.563, 0.556))  # fmt: skip
    sides = [side([pair[k] for pair in pairs]) for k in (first, second)]
    for better, noninferior in (("lower", (1.0, 2.0**-8)), ("higher", (2.0**-8, 1.0))):
        body = f'{PAIR.format(test)}margin = 0.007\nbetter = "{better}"\nunit = ["split", "rel"]\ncoarser = ["split"]\n'
        e, flipped = found(body, *sides)
        for within in (e.within, flipped.within):
            assert (within.noninferior, within.equivalent) == (noninferior[first], 1.0)
        assert (e.posterior.below, e.posterior.within, e.posterior.above) == (0.0, 1.0, 0.0)


def test_percentages_that_differ_by_the_margin_lie_within_it():
    """64.2 - 64.1 is more than 0.1 in doubles."""
    first = [64.2, 64.4, 64.7, 64.9, 65.2, 65.4, 65.7]
    e, *_ = found(PAIR.format("sign") + "margin = 0.1\n", side(first), side([64.1, 64.3, 64.6, 64.8, 65.1, 65.3, 65.6]))
    assert (e.posterior.below, e.posterior.within, e.posterior.above) == (0.0, 1.0, 0.0)


def test_a_margin_is_tested_by_ranks_or_by_signs():
    """Seven of eight lie below the margin of 1, the eighth far above: by signs p = 9 / 2^8; by ranks 8 sums of 2^8 reach it.

    Shifted by 1 the sizes are seven times 0.5 and once 9: the positive ranks sum to 8, and so do at most those of the largest
    alone, or of two of the tied ranks of 4, or of one of them, or of none: 1 + 21 + 7 + 1 of 256."""
    sides = side([1.5] * 7 + [11.0]), side([1.0] * 8)
    signs, ranks = (found(PAIR.format(t) + "margin = 1\n", *sides)[0].within for t in ("sign", "signed_rank"))
    assert signs.noninferior == 9 / 2**8
    assert ranks.noninferior == pytest.approx(30 / 2**8)


def test_ends_of_an_interval_tie_as_printed():
    """In hundredths the differences are 3, 5, 6, 7, 10, 11, 12 and 14, in doubles more or less by what 100 leaves of a hundredth.

    Less 12, or less 5, one is zero, and of the other sizes two are 2 and one is 1: on the smaller side are 0, 1, 2.5 or 2.5 in 4
    of 2^7 cases, and p = 2 * 4 / 2^7 does not reject at 0.05.
    """
    by = [3, 5, 6, 7, 10, 11, 12, 14]
    e, *_ = found(PAIR.format("signed_rank"), side([100 + k / 100 for k in by]), side([100.0] * 8))
    assert (e.result.low, e.result.high) == (pytest.approx(0.05), pytest.approx(0.12))
    assert e.result.interval_ends == "[]"


COARSE = 'unit = ["split", "rel"]\ncoarser = ["split"]\n'


def test_whole_coarser_units_are_flipped():
    """Two splits of two differences, all of one sign: of the four flips one is as extreme on each side."""
    sides = side([2, 3, 4, 5], nested=2), side([1, 1, 1, 1], nested=2)
    for test, event in (("signed_rank", ""), ("sign", "")):
        first, e = found(PAIR.format(test) + COARSE + event, *sides)
        assert (first.variant, e.variant, e.independent, e.result.test) == ("declared", "coarser", True, test)
        assert (e.result.n, e.result.p, e.result.statistic) == (2, 0.5, 10.0 if test == "signed_rank" else 4.0)
        assert (e.within, e.shown) == (None, ())
    events = side([1, 1, 1, 1], nested=2), side([0, 0, 0, 1], nested=2)
    _, e = found(PAIR.format("mcnemar") + "event = { gt = 0 }\n" + COARSE, *events)
    assert (e.result.test, e.result.n, e.result.statistic) == ("mcnemar", 2, 3.0)


def test_the_margin_is_looked_at_again_with_coarser_units():
    """Six splits of two: the smallest one-sided p of six flips is 2^-6, and twelve signs alone would give 2^-12."""
    sides = side([1.1] * 12, [("8", "0", "gone")], nested=2), side([1.0] * 12, nested=2)
    for test in ("signed_rank", "sign"):
        first, e = found(PAIR.format(test) + COARSE + "margin = 1\n", *sides)
        assert (first.within.equivalent, e.within.equivalent, e.within.noninferior) == (2.0**-12, 2.0**-6, 2.0**-6)
        assert e.shown == ("noninferior", "equivalent")
        assert [d.unit for d in e.result.dropped] == ["8/0"]


def test_only_paired_tests_are_looked_at_again():
    sides = [side([1, 2, 3, 5 + j], nested=2) for j in range(3)]
    assert len(found(THREE.format("friedman") + COARSE, *sides)) == 1
    assert len(found(PAIR.format("sign") + COARSE, side([]), side([]))) == 1


def test_a_setting_that_frees_the_values_leaves_the_declared_unit_as_the_coarser_one(monkeypatch):
    monkeypatch.setattr(comparisons, "effective_unit", lambda _, c: c.pair)
    c = comparison(PAIR.format("sign") + 'unit = ["split"]\nblocked = "mean"\n')
    sides = side([2, 3, 4, 5], nested=2), side([1, 1, 1, 1], nested=2)
    for declared, coarser in (((), ("split",)), (("rel",), ("rel",))):
        asked = replace(c, coarser=declared)
        first, e = evaluate(remembering(asked, *sides), asked)
        assert (first.variant, first.result.n, e.variant, e.result.n) == ("declared", 4, "coarser", 2)
        assert (first.comparison.unit, first.comparison.coarser) == (KEYS, coarser)


def test_refusals_are_counted_as_lost_and_as_won(monkeypatch):
    """Five of five units lean to a, and a refused the sixth: 5 of 6 when that is lost, 6 of 6 when it is won."""
    lost = pl.DataFrame({"split": ["5"], "rel": ["0"]})
    monkeypatch.setattr(refusals, "refused_units", lambda _, q, __: lost if q.source.arm == "a" else lost.clear())
    c = comparison(PAIR.format("sign") + 'refusals = "bounds"\n')
    a = side([1, 1, 1, 1, 1], [("5", "0", "arm refused", True)])
    e, *_ = evaluate(remembering(c, a, side([2, 2, 2, 2, 2, 2])), c)
    assert e.result.details == {"p_refusals_lost": 14 / 64, "p_refusals_won": 2 / 64}
    assert (e.result.n, e.result.p, e.outcome, e.bounds_agree) == (6, 14 / 64, "undecided", False)


def test_a_refusal_is_as_large_as_the_largest_difference_on_both_bounds(monkeypatch):
    """Ranks of 1, 2, 3 and twice 4 are 1, 2, 3 and twice 4.5: the p of both bounds by all 32 signs of them."""
    lost = pl.DataFrame({"split": ["4"], "rel": ["0"]})
    monkeypatch.setattr(refusals, "refused_units", lambda _, q, __: lost if q.source.arm == "a" else lost.clear())
    c = comparison(PAIR.format("signed_rank") + 'refusals = "bounds"\n')
    a = side([1, 2, 3, -4], [("4", "0", "arm refused", True)])
    e, *_ = evaluate(remembering(c, a, side([0, 0, 0, 0, 0])), c)
    ranks = (1, 2, 3, 4.5, 4.5)
    sums = [sum(r for r, up in zip(ranks, ups, strict=True) if up) for ups in product((0, 1), repeat=5)]
    lost_p, won_p = (sum(abs(s - 7.5) >= abs(w - 7.5) for s in sums) / 32 for w in (1 + 2 + 3 + 4.5, 1 + 2 + 3))
    assert (e.result.details["p_refusals_lost"], e.result.details["p_refusals_won"]) == (lost_p, won_p)


def test_a_unit_is_not_coarser_than_itself():
    (e,) = found(PAIR.format("sign") + 'unit = ["split", "rel"]\ncoarser = ["split", "rel"]\n', side([1, 2]), side([3, 3]))  # fmt: skip
    assert e.variant == "declared"


def test_an_estimate_is_about_independent_units():
    (e,) = found('test = "median"\narm = "a"\n', side([1, 2, 3, 4, 9, 9, 9]))
    assert (e.variant, e.independent, e.outcome, e.result.effect) == ("declared", True, "measured", 4)


# ---- groups and single quantities -----------------------------------------------------------------------------------------

GROUPS = 'test = "fisher"\nevent = { gt = 0 }\narms = ["a", "b"]\n'


def test_groups_are_counted_and_their_absent_units_named():
    others = units([("5", "0", 0), ("6", "0", 0), ("7", "0", 1)], [("9", "0", "late")], KEYS)
    (e,) = found(GROUPS, side([1, 1, 1, 0], [("8", "0", "gone", True)]), others)
    assert e.result.details["table"] == [[3, 1], [1, 2]]
    assert e.result.dropped == (Dropped("8/0", "a: gone", True), Dropped("9/0", "b: late"))
    assert (e.variant, e.independent) == ("declared", True)
    assert "more than half" not in e.result.method
    assert e.unit_values == ("7 split", "1 rel")
    assert not found(GROUPS, side([1, 1, 1, 0]), side([0, 0, 1]))[0].independent  # the same units stand in both groups


def test_an_empty_group_is_missing():
    for sides in ((side([1, 0]), side([])), (side([]), side([1, 0]))):
        (e,) = found(GROUPS, *sides)
        assert (e.outcome, e.result.n, e.variant, e.independent) == ("missing", 2, "declared", True)


def test_nested_groups_go_by_the_majority_of_their_values():
    """Splits with one of two events have it in exactly one half, which is no majority; with two of two they have."""
    first = side([1, 1, 1, 0, 1, 1], nested=2)
    second = units([("8", "0", 1), ("8", "1", 0), ("9", "0", 0), ("9", "1", 0)], keys=KEYS)
    (e,) = found(GROUPS + 'unit = ["split"]\nblocked = "mean"\n', first, second)
    assert e.result.details["table"] == [[2, 1], [0, 2]]
    assert (e.variant, e.independent) == ("blocked", True)
    assert e.result.method.endswith("a unit has the event when more than half of its values have it")
    (e,) = found(GROUPS + 'unit = ["split"]\n', first, second)
    assert (e.variant, e.independent, e.outcome, e.result.p) == ("declared", False, "refused", None)
    assert e.result.details["table"] == [[5, 1], [1, 3]]


def test_one_quantity_is_counted_by_units():
    body = 'test = "proportion"\narm = "a"\nevent = { gt = 0 }\n'
    (e,) = found(body, side([1, 0, 1, 1], [("9", "0", "gone", True)]))
    assert (e.result.wins, e.result.n, e.variant, e.independent, e.outcome) == (3, 4, "declared", True, "measured")
    assert e.result.dropped == (Dropped("9/0", "gone", True),)
    (e,) = found(body, side([], [("9", "0", "gone")]))
    assert (e.outcome, e.result.n, e.variant, e.independent) == ("missing", 0, "declared", True)
    assert [d.reason for d in e.result.dropped] == ["gone"]


def test_nested_values_of_one_quantity_are_counted_by_the_majority_of_their_unit():
    """Ten seeds of one dataset are not ten units: without a blocking rule there is no p and no interval."""
    body = 'test = "proportion"\narm = "a"\nnominal = 0.5\nunit = ["split"]\n'
    rows = side([1, 1, 1, 0, 1, 1], nested=2)  # two splits of three have it in more than half of their values
    (bare,) = found(body, rows)
    assert (bare.variant, bare.independent, bare.outcome) == ("declared", False, "refused")
    assert (bare.result.p, bare.result.low, bare.result.high) == (None, None, None)
    first, naive = found(body + 'blocked = "mean"\n', rows)
    assert (first.variant, first.independent, first.result.wins, first.result.n) == ("blocked", True, 2, 3)
    assert first.result.p == 1.0  # two of three tosses of a fair coin
    assert first.result.method.endswith("a unit has the event when more than half of its values have it")
    assert (naive.variant, naive.independent, naive.result.wins, naive.result.n) == ("naive", False, 5, 6)
    assert first.unit_values == ("3 split",)


def test_points_that_are_none_are_missing():
    body = 'test = "proportion"\narm = "a"\nevent = { gt = 0 }\nover_idx = "sum"\n'
    (e,) = found(body, units([("0", "0", 0, 0)], keys=KEYS))
    assert (e.outcome, e.result.n) == ("missing", 0)


def test_a_sum_over_points_is_pooled_and_naive():
    body = 'test = "proportion"\narm = "a"\nevent = { gt = 0 }\nover_idx = "sum"\n'
    rows = units([("0", "0", 3, 10), ("1", "0", 2, 5)], keys=KEYS)
    (e,) = found(body, rows)
    assert (e.result.wins, e.result.n, e.variant, e.independent) == (5, 15, "naive", False)


def test_values_at_a_bound_are_counted_on_every_side():
    body = 'test = "spearman"\nx = { arm = "a", bound = { at = 5 } }\ny = { arm = "b", bound = { at = 2 } }\n'
    (e,) = found(body, side([5, 5, 1, 2]), side([2, 1, 3, 4]))
    assert e.bounded == 3

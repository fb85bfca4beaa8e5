"""From a p-value to an outcome: both sides of alpha and of the floor, the direction of every test, and two bounds as one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from orledger.audit.evaluation.bounds import both
from orledger.audit.evaluation.comparisons import Evaluation, judge, shown
from orledger.audit.evaluation.families import correct_families
from orledger.audit.registry.hypotheses import Comparison
from orledger.audit.registry.words import Margin, Outcome, Untestable, Variant
from orledger.audit.statistics.equivalence import Within
from orledger.audit.statistics.result import TestResult

C = Comparison("c", "t", "signed_rank", (), ("k",), ("k",))
R = TestResult("signed_rank", "exact", "two-sided", 6, 6, 0, 1.0, "W+", 0.05, 0.03125)


@pytest.mark.parametrize(
    ("p", "floor", "outcome"),
    [
        (0.05, 0.03, "less"),
        (0.0501, 0.03, "undecided"),
        (0.05, 0.05, "less"),
        (0.0501, 0.0501, "untestable"),
        (0.04, None, "less"),
        (None, None, "measured"),
    ],
)
def test_alpha_belongs_to_the_decided_side(p, floor, outcome):
    assert judge(C, replace(R, p=p, floor=floor)) == outcome


def test_a_corrected_p_and_floor_take_the_place_of_their_own():
    assert judge(C, R, p=0.06) == "undecided"
    assert judge(C, R, p=0.06, floor=0.06) == "untestable"
    assert judge(C, replace(R, p=0.5, floor=0.5), p=0.01, floor=0.01) == "less"
    assert judge(C, replace(R, computed=False)) == "missing"


def test_a_p_that_is_no_number_decides_nothing_and_is_none():
    assert judge(C, R, p=math.nan) == "missing"
    assert judge(C, R, p=math.nan, floor=math.nan) == "missing"
    r = replace(R, p=math.nan)
    assert (r.p, r.computed, r.method) == (None, False, "exact; no p: it is not a number")
    assert judge(C, r) == "missing"
    assert replace(R, floor=math.nan).floor is None
    assert shown(C, Within(0.1, math.nan, math.nan)) == ()
    good, bad = evaluation(p=0.01), evaluation(Outcome.MISSING, p=math.nan)
    first, second = correct_families([replace(e, comparison=replace(C, family="f")) for e in (good, bad)])
    assert (first.p_holm, first.outcome, second.p_holm, second.outcome) == (0.02, "untestable", None, "missing")


@pytest.mark.parametrize(
    ("test", "fields", "outcome"),
    [
        ("signed_rank", {"statistic": 10.0}, "less"),  # of 21, the middle is 10.5
        ("signed_rank", {"statistic": 11.0}, "greater"),
        ("sign", {"statistic": 2.0}, "less"),
        ("sign", {"statistic": 4.0}, "greater"),
        ("sign_anytime", {"statistic": 2.0}, "less"),
        ("mcnemar", {"statistic": 4.0}, "greater"),
        ("mcnemar", {"statistic": 2.0}, "less"),
        ("signed_rank", {"statistic": -1.0, "centred": True}, "less"),
        ("signed_rank", {"statistic": 1.0, "centred": True}, "greater"),
        ("proportion", {"effect": 0.8}, "less"),
        ("proportion", {"effect": 0.0}, "less"),
        ("proportion", {"effect": 0.95}, "greater"),
        ("spearman", {"effect": -0.9}, "less"),
        ("slope", {"effect": 0.1}, "greater"),
        ("friedman", {}, "different"),
        ("skillings_mack", {}, "different"),
    ],
)
def test_direction_comes_from_the_statistic_that_decided(test, fields, outcome):
    assert judge(replace(C, nominal=0.9), replace(R, test=test, **fields)) == outcome


def test_a_margin_is_shown_at_alpha():
    assert shown(C, Within(0.1, 0.05, 0.0501)) == (Margin.NONINFERIOR,)
    assert shown(C, Within(0.1, 0.0501, 0.05)) == (Margin.EQUIVALENT,)


def evaluation(outcome=Outcome.LESS, shown=(), comparison=C, variant=Variant.DECLARED, **fields) -> Evaluation:
    return Evaluation(comparison, variant, True, replace(R, **fields), outcome, 0, "", shown=tuple(shown))


# ---- refusals counted as lost and as won ---------------------------------------------------------------------------------


def test_two_bounds_give_the_weaker_p_and_say_both():
    worst, best, none = evaluation(p=0.04), evaluation(p=0.01), evaluation(p=0.0)
    for a, b in ((worst, best), (best, worst), (worst, none)):
        found = both(a, b)
        assert (found.result.p, found.outcome, found.bounds_agree) == (0.04, Outcome.LESS, True)
        assert found.result.details == {"p_refusals_lost": a.result.p, "p_refusals_won": b.result.p}


def test_bounds_that_differ_decide_nothing():
    found = both(evaluation(Outcome.GREATER, p=0.04), evaluation(Outcome.LESS, p=0.01))
    assert (found.outcome, found.bounds_agree) == (Outcome.UNDECIDED, False)
    undecided = both(evaluation(Outcome.UNDECIDED, p=0.4), evaluation(Outcome.LESS, p=0.01))
    assert (undecided.outcome, undecided.result.p, undecided.bounds_agree) == (Outcome.UNDECIDED, 0.4, False)
    absent = both(evaluation(Outcome.MISSING, p=None), evaluation(Outcome.LESS, p=0.01))
    assert (absent.outcome, absent.result.p) == (Outcome.MISSING, None)


def test_two_bounds_show_what_both_show():
    a = evaluation(shown=(Margin.NONINFERIOR, Margin.EQUIVALENT))
    assert both(a, evaluation(shown=(Margin.NONINFERIOR,))).shown == (Margin.NONINFERIOR,)
    assert both(evaluation(), a).shown == ()


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ((0.0, 2.0, "[]"), (1.0, 3.0, "[]"), (0.0, 3.0, "[]")),
        ((0.0, 3.0, "[]"), (0.0, 3.0, "[]"), (0.0, 3.0, "[]")),
        ((0.0, 3.0, "()"), (0.0, 3.0, "[]"), (0.0, 3.0, "[]")),
        ((0.0, 3.0, "[)"), (0.0, 2.0, "(]"), (0.0, 3.0, "[)")),
        ((None, 2.0, "(]"), (1.0, None, "[)"), (None, None, "()")),
        ((0.0, 1.0, ""), (0.0, 1.0, "[]"), (None, None, "")),
        ((0.0, 1.0, "[]"), (0.0, 1.0, ""), (None, None, "")),
    ],
)
def test_the_interval_of_two_bounds_holds_both(first, second, joined):
    """An end that belongs to its interval reaches farther than one that does not; without an end it reaches farthest."""
    a, b = (evaluation(low=x[0], high=x[1], interval_ends=x[2], p=p) for x, p in ((first, 0.01), (second, 0.02)))
    for found in (both(a, b).result, both(b, a).result):
        assert (found.low, found.high, found.interval_ends) == joined


# ---- families ------------------------------------------------------------------------------------------------------------


def member(name: str, p: float | None, family: str | None = "f", **fields) -> Evaluation:
    comparison = replace(C, id=name, family=family, alpha=fields.pop("alpha", 0.05))
    return evaluation(
        Outcome.UNDECIDED, comparison=comparison, p=p, statistic=0.0, n=12, n_nonzero=12, floor=2**-11, **fields
    )


def test_holm_counts_the_family_and_nobody_else():
    """p 0.01, 0.02 and a member without data: times 3, times 2; the test outside keeps its own, and another family its two."""
    tests = [
        member("c", None),
        member("a", 0.02),
        member("outside", 0.04, family=None),
        member("b", 0.01),
        member("d", 0.03, family="g"),
        member("e", 0.03, family="g"),
    ]
    found = {e.comparison.id: e for e in correct_families(tests)}
    shown = {k: (None if e.p_holm is None else round(e.p_holm, 12), e.family_size, e.outcome) for k, e in found.items()}
    assert shown == {
        "a": (0.04, 3, Outcome.LESS),
        "b": (0.03, 3, Outcome.LESS),
        "c": (None, 3, Outcome.UNDECIDED),
        "outside": (None, None, Outcome.LESS),
        "d": (0.06, 2, Outcome.UNDECIDED),
        "e": (0.06, 2, Outcome.UNDECIDED),
    }


def test_every_member_is_judged_by_its_own_alpha():
    found = correct_families([member("a", 0.01, alpha=0.01), member("b", 0.02, alpha=0.05)])
    assert [(e.p_holm, e.outcome) for e in found] == [(0.02, Outcome.UNDECIDED), (0.02, Outcome.LESS)]


def test_the_coarser_unit_is_corrected_for_the_whole_family():
    """Only one member has a coarser version, and the family still has three."""
    tests = [member("a", 0.04), member("a", 0.015, variant=Variant.COARSER), member("b", 0.5), member("c", 0.5)]
    naive = member("a", 0.001, variant=Variant.NAIVE)
    found = correct_families([naive, *tests])
    assert (found[2].p_holm, found[2].family_size) == (pytest.approx(0.045), 3)
    assert found[1].p_holm == pytest.approx(0.12)
    assert found[0] == naive


def test_bounds_that_disagree_stay_undecided_after_the_correction():
    tests = [replace(member("a", 0.001), bounds_agree=agree) for agree in (True, False)]
    assert [correct_families([t])[0].outcome for t in tests] == [Outcome.LESS, Outcome.UNDECIDED]


@pytest.mark.parametrize(("n", "floor", "why"), [(5, 0.0625, Untestable.UNITS), (12, 0.0625, Untestable.TIES)])
def test_untestable_says_whether_units_or_ties_are_to_blame(n, floor, why):
    """Five untied differences reach 2/32 at best, above 0.05; twelve reach 2/4096, so that ties must have raised the floor."""
    e = member("a", 0.0625)
    (found,) = correct_families([replace(e, result=replace(e.result, n=n, n_nonzero=5, floor=floor))])
    assert found.outcome == Outcome.UNTESTABLE
    assert found.untestable == why


def test_a_member_without_data_counts_as_one_that_can_never_be_shown():
    """Six units reach 2/64 alone and 4/64 in a family of two, whatever the other one lacks: too few units, not ties."""
    absent = member("b", None)
    absent = replace(absent, result=replace(absent.result, n=0, n_nonzero=0, floor=None))
    six = member("a", 2 / 64)
    six = replace(six, result=replace(six.result, n=6, n_nonzero=6, floor=2 / 64))
    found = correct_families([absent, six])[1]
    assert (found.p_holm, found.outcome, found.untestable) == (4 / 64, Outcome.UNTESTABLE, Untestable.UNITS)


def test_a_design_that_reaches_alpha_itself_has_enough_units():
    """Five units reach 2/32, and alpha is that; ties made 4/32 of it."""
    e = member("a", 0.125, alpha=0.0625)
    (found,) = correct_families([replace(e, result=replace(e.result, n=5, n_nonzero=4, floor=0.125))])
    assert (found.outcome, found.untestable) == (Outcome.UNTESTABLE, Untestable.TIES)


def test_a_member_without_a_margin_counts_against_the_margins_of_others():
    plain, bounded = member("a", 0.5), replace(member("b", 0.5), within=Within(1.0, 0.03, 0.04))
    assert correct_families([plain, bounded])[1].within == Within(1.0, 0.06, 0.08)


def test_margins_are_corrected_among_themselves():
    """Against the margin 0.01 and 0.02 become 0.02 and 0.02; 0.03 and 0.04 become 0.06 twice, and show no more."""
    words = (Margin.NONINFERIOR, Margin.EQUIVALENT)
    tests = [replace(member(n, 0.5, shown=words), within=w) for n, w in (("a", Within(1.0, 0.01, 0.03)), ("b", Within(1.0, 0.02, 0.04)))]  # fmt: skip
    found = correct_families(tests)
    assert [e.within for e in found] == [Within(1.0, 0.02, 0.06), Within(1.0, 0.02, 0.06)]
    assert [e.shown for e in found] == [(Margin.NONINFERIOR,)] * 2

"""Every reason why a level is not claimed, and every remark beside one that is, each from evaluations written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_deciding import R, rule

from orledger.audit.evaluation.comparisons import Evaluation
from orledger.audit.evaluation.dispositions import Decision
from orledger.audit.evaluation.levels import level_words
from orledger.audit.evaluation.planned import Fixed
from orledger.audit.registry.hypotheses import Comparison, Hypothesis
from orledger.audit.registry.words import Margin, Outcome, Refusals, Registered, Variant, Verdict
from orledger.audit.statistics.result import Dropped

KEPT = "the level of 0.05 is kept"
PLANNED = Fixed(6, "", early=True)


def a_test(name="c", outcome="less", *, fixed=PLANNED, shown=(), independent=True, result=None, **comparison):
    """A sign test of six units that were planned, whatever else is said of its comparison or its result."""
    c = Comparison(name, "t", "sign", (), ("k",), ("k",), **comparison)
    r = replace(R, test="sign", **(result or {}))
    return Evaluation(c, Variant.DECLARED, independent, r, Outcome(outcome), 0, "", shown=shown, fixed=fixed)


def told(
    *tests, rules=(), verdict="supported", mode="registered", known=Registered.BEFORE, looks=0, coarser=(), replaced=0
):
    """The words about a verdict that rests on ``tests``."""
    names = tuple(e.comparison.id for e in tests)
    rules = rules or (rule(verdict, [f"{n} less" for n in names]),)
    h = Hypothesis("H", "t", "s", mode, (), (), (), tuple(rules), Verdict.INCONCLUSIVE, "", "f", "")
    found = {e.comparison.id: e for e in tests}
    outer = {e.comparison.id: e for e in coarser}
    return level_words(h, Decision(Verdict(verdict), "", 1, names), found, outer, known, looks, replaced)


def lost(*tests, **about):
    before, _, after = told(*tests, **about).partition("no level is claimed: ")
    assert before == ""
    return after


def test_a_verdict_that_decides_nothing_has_no_level():
    assert [told(a_test(), verdict=v) for v in ("inconclusive", "not testable at this n", "not enough data")] == [
        ""
    ] * 3
    assert [told(a_test(), verdict=v) for v in ("supported", "refuted", "partially refuted")] == [KEPT] * 3


def test_the_level_is_the_largest_of_the_tests_that_decided():
    assert (
        told(a_test(alpha=0.01), a_test("d", alpha=0.1), a_test("e", "undecided", alpha=0.2))
        == "the level of 0.1 is kept"
    )


def test_what_shows_a_margin_or_has_a_p_decides():
    assert told(a_test(outcome="undecided", shown=(Margin.EQUIVALENT,))) == KEPT
    assert told(a_test(result={"p": None})) == "no level: it rests on no test that decided"


def test_four_names_are_said_and_the_others_counted():
    tests = [a_test(n, "undecided") for n in "abcde"]
    absent = "no level: it rests on no test that decided, and what {} did not find is not shown to be absent"
    assert told(*tests[:4]) == absent.format("a, b, c, d")
    assert told(*tests) == absent.format("a, b, c, d and 1 more")
    assert lost(*[a_test(n, independent=False) for n in "abcde"]).startswith("a, b, c, d and 1 more counted")


def test_reasons_of_the_text_and_of_its_results():
    later = {k: told(a_test(), known=k) for k in Registered}
    assert later.pop(Registered.BEFORE) == KEPT
    assert all(words.startswith("no level is claimed: ") for words in later.values())
    assert "was registered after cells were done" in later[Registered.AFTER]
    assert "was amended after results had been seen" in later[Registered.AMENDED]
    assert "is not known here" in later[Registered.UNKNOWN]
    assert lost(a_test(), mode="exploratory") == "it is exploratory, suggested by data"
    ends = "by others after they had been stored"
    assert lost(a_test(), replaced=1) == f"results of 1 cell were replaced {ends}"
    assert lost(a_test(), replaced=3, mode="exploratory").endswith(f"; results of 3 cells were replaced {ends}")


OUT = "out in which a side refused or failed"


def dropped(*refused, partial=False):
    return {"dropped": tuple(Dropped(str(i), "r", r, partial) for i, r in enumerate(refused))}


def test_units_that_a_side_declined_and_that_are_left_out():
    assert told(a_test(result=dropped(False))) == KEPT
    assert lost(a_test(result=dropped(True, False))).startswith(f"c left 1 unit {OUT}, and")
    assert lost(a_test(result=dropped(True, True))).startswith(f"c left 2 units {OUT}, and")
    two = a_test(result=dropped(True, True)), a_test("d", result=dropped(True)), a_test("e")
    assert lost(*two).startswith(f"c, d left up to 2 units {OUT}, and")
    part = a_test(result=dropped(True, partial=True))
    assert lost(part).startswith("c left 1 unit out, wholly or in part, in which")
    assert lost(a_test(result={"dropped": (Dropped("0", "r", True), Dropped("1", "r", partial=True))})).startswith(
        f"c left 1 unit {OUT},"
    )
    for policy in (Refusals.BOUNDS, Refusals.LOSS, Refusals.WORST):
        words = told(a_test(result=dropped(True), refusals=policy))
        assert words.startswith(KEPT)
        assert ("In c a refusal is a loss, so that" in words) == (policy != Refusals.BOUNDS)


def test_looks_count_for_tests_of_a_fixed_number():
    said = 'c used a fixed n after {} at other data (test = "sign_anytime" keeps its level over looks)'
    assert told(a_test(), looks=0) == KEPT
    assert lost(a_test(), looks=1) == said.format("1 look")
    assert lost(a_test(), looks=2) == said.format("2 looks")


def test_more_units_than_were_fixed():
    early, late = Fixed(6, "", early=True), Fixed(6, "", early=False)
    more = "used more units than were"
    assert lost(a_test(fixed=early, result={"n": 7})) == f"c {more} fixed before the first result"
    assert lost(a_test(fixed=late, result={"n": 7})) == f"c {more} there when it was registered"
    assert told(a_test(fixed=early, result={"n": 6})) == KEPT
    two = a_test(fixed=early, result={"n": 7}), a_test("d", fixed=late, result={"n": 9})
    assert lost(*two) == f"c {more} fixed before the first result; d {more} there when it was registered"


def test_fewer_units_than_were_fixed_beyond_those_that_declined():
    said = "c used {} of the 6 units that were fixed before the first result, and"
    assert lost(a_test(result={"n": 5})).startswith(said.format(5))
    declined = (Dropped("1", "r", True), Dropped("1", "other side", True), Dropped("2", "absent"))
    bounds = {"refusals": Refusals.BOUNDS}
    assert told(a_test(result={"n": 5, "dropped": declined}, **bounds)) == KEPT
    assert lost(a_test(result={"n": 4, "dropped": declined}, **bounds)).startswith(said.format(4))
    assert told(a_test(fixed=Fixed(None, "", early=True), result={"n": 5})) == KEPT


def test_units_that_were_not_fixed_early_stop_nothing():
    """Six units were there when the text was registered, and five are left: that says nothing of a planned end."""
    late = Fixed(6, "", early=False)
    words = "the number of units of c was not fixed before the first result, and one can stop where it suits"
    assert lost(a_test(fixed=late, result={"n": 5})).startswith(words)
    assert "were fixed before" not in told(a_test(fixed=late, result={"n": 5}))
    assert told(a_test(fixed=late, result={"n": 5}), mode="exploratory") == (
        "no level is claimed: it is exploratory, suggested by data"
    )


def test_a_number_that_nobody_fixed_is_said_where_nothing_else_is():
    loose = "the number of units of c was not fixed before the first result, and one can stop where it suits"
    for fixed in (Fixed(), Fixed(6, "", early=False)):
        assert lost(a_test(fixed=fixed)).startswith(loose)
    assert "was not fixed" not in told(a_test(fixed=Fixed()), mode="exploratory")


def ways(*rules, families=("f", "f", "f")):
    tests = [a_test(n, family=family) for n, family in zip("abc", families, strict=True)]
    words = told(*tests, rules=rules)
    return 0 if words == KEPT else int(words.removeprefix("no level is claimed: any of ").split()[0])


@pytest.mark.parametrize(
    ("rules", "count"),
    [
        ([rule("supported", ["a less", "b less"])], 1),
        ([rule("supported", some=["a less", "b less", "c less"])], 3),
        ([rule("supported", some=["a less", "b equivalent"])], 2),
        ([rule("supported", some=["a less", "a greater"])], 1),  # one test
        ([rule("supported", some=["a less", "b undecided"])], 1),
        ([rule("supported", ["a less"], ["b less", "c less"])], 1),  # all of them needs a, whatever else
        ([rule("supported", ["a less"]), rule("supported", ["b less"])], 2),
        ([rule("supported", ["a less"]), rule("refuted", ["b less"])], 1),
        ([rule("supported", ["a less"]), rule("supported", ["a less", "b less"])], 1),  # the second holds the first
        ([rule("supported", ["a less"]), rule("supported", some=["a less"])], 1),
        ([rule("supported", ["a less"]), rule("supported", ["W holds"])], 1),
    ],
)  # fmt: skip
def test_ways_to_a_verdict_that_no_family_corrects(rules, count):
    """Several tests of which any one gives the verdict: only where all of them are in one family is its level kept."""
    assert ways(*rules) == 0
    for families in ((None, None, None), ("f", "g", "h"), ("f", None, "f")):
        expected = 0 if count == 1 else count
        assert ways(*rules, families=families) == expected, families


def outer(name="c", rho=None, **comparison):
    return a_test(name, result={"details": {"intraclass_correlation": rho}}, **comparison)


def test_a_coarser_unit_that_nothing_can_be_said_about():
    said = f"{KEPT}. For other values of {{}} the units of {{}} may be too fine, and no row with {{}} as the unit can be had"
    one, two = a_test(coarser=("d",)), a_test("e", coarser=("d", "f"))
    assert told(one) == said.format("d", "c", "d")
    assert told(one, a_test("g", coarser=("d",))) == said.format("d", "c, g", "d")
    assert told(two) == said.format("d, f", "e", "d, f")
    free = a_test(coarser=("d",), independent_when=("s", "1"))
    assert told(free) == KEPT


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None], "may be too fine (no positive intraclass correlation of the differences is seen)"),
        ([-0.25, 0.0], "may be too fine (no positive intraclass correlation of the differences is seen)"),
        ([0.004], "are too fine (intraclass correlation of the differences up to 0.00)"),
        ([0.125, None, 0.75], "are too fine (intraclass correlation of the differences up to 0.75)"),
    ],
)
def test_a_coarser_unit_with_a_row_of_its_own(values, said):
    names = "cde"[: len(values)]
    tests = [a_test(n, coarser=("d",), alpha=0.01) for n in names]
    rows = [outer(n, v) for n, v in zip(names, values, strict=True)]
    assert told(*tests, coarser=rows) == (
        f"the level of 0.01 is kept. For other values of d the units {said} and the intervals too short: a level of 0.01 is kept"
        " there by the row with d as the unit alone"
    )


def test_an_approximation_is_said_last():
    rough = a_test("a", result={"method": "normal approximation"}, refusals=Refusals.LOSS)
    said = "In a a refusal is a loss, so that an arm can be worse by refusing alone. The p of a is an approximation"
    assert told(rough, a_test("b")) == f"{KEPT}. {said}"

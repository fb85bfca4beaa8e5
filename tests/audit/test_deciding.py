"""Dispositions from outcomes written by hand: which rule gives the verdict, its number, its evidence, and its words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orledger.audit.evaluation.claims import ClaimResult
from orledger.audit.evaluation.comparisons import Evaluation
from orledger.audit.evaluation.dispositions import decide
from orledger.audit.registry.hypotheses import Claim, Comparison, Hypothesis, Rule, Term
from orledger.audit.registry.words import ClaimState, Margin, Outcome, Untestable, Variant, Verdict
from orledger.audit.statistics.result import TestResult

C = Comparison("c", "t", "signed_rank", (), ("k",), ("k",))
R = TestResult("signed_rank", "exact", "two-sided", 6, 6, 0, 0.0, "W+", 0.03125, 0.03125)


def test_of(outcome: str, **fields) -> Evaluation:
    own = {k: fields.pop(k) for k in ("p_holm", "untestable") if k in fields}
    return Evaluation(C, Variant.DECLARED, True, replace(R, **fields), Outcome(outcome), 0, "", **own)


test_of.__test__ = False


def claim_of(state: str) -> ClaimResult:
    return ClaimResult(Claim("w", "s", "none", (), ("k",)), ClaimState(state), "seen", None, 1, (), "")


def rule(verdict: str, every=(), some=(), never=()) -> Rule:
    terms = [tuple(Term(*t.split()) for t in ts) for ts in (every, some, never)]
    return Rule(Verdict(verdict), f"because {verdict}", *terms)


def decided(rules, outcomes, *, needs=(), otherwise="inconclusive"):
    tests = {k: v if isinstance(v, Evaluation) else test_of(v) for k, v in outcomes.items() if k.islower()}
    claims = {k: claim_of(v) for k, v in outcomes.items() if k.isupper()}
    h = Hypothesis(
        "H", "t", "s", "registered", (), (), tuple(needs), tuple(rules), Verdict(otherwise), "nothing else", "f", ""
    )
    return decide(h, tests, claims)


SUPPORT = rule("supported", ["a less", "W holds"])
REFUTE = rule("refuted", ["b greater"])


def test_the_first_rule_that_applies_has_its_number():
    second = decided([SUPPORT, REFUTE], {"a": "undecided", "b": "greater", "W": "holds"})
    assert (second.verdict, second.rule, second.evidence) == (Verdict.REFUTED, 2, ("b",))
    assert second.reason == "because refuted (b greater (n = 6, p = 0.031))"
    first = decided([SUPPORT, REFUTE], {"a": "less", "b": "greater", "W": "holds"})
    assert (first.verdict, first.rule) == (Verdict.SUPPORTED, 1)


@pytest.mark.parametrize(
    ("a", "verdict"), [("missing", Verdict.NO_DATA), ("untestable", Verdict.UNTESTABLE), ("refused", Verdict.NO_DATA)]
)
def test_what_is_needed_and_unknown_ends_it_unless_something_is_refuted_for_certain(a, verdict):
    rules, needs = [SUPPORT, REFUTE], ("a",)
    unknown = decided(rules, {"a": a, "b": "undecided", "W": "holds"}, needs=needs)
    assert (unknown.verdict, unknown.rule, unknown.evidence) == (verdict, None, ("a",))
    certain = decided(rules, {"a": a, "b": "greater", "W": "holds"}, needs=needs)
    assert (certain.verdict, certain.rule) == (Verdict.REFUTED, 2)
    # A rule that supports does not count as long as something needed is unknown.
    other = [rule("supported", ["b greater"]), SUPPORT]
    assert decided(other, {"a": a, "b": "greater", "W": "holds"}, needs=needs).verdict == verdict
    # Nor does a rule against it that leans on the unknown.
    leaning = [SUPPORT, rule("refuted", ["b greater"], never=["a less"])]
    assert decided(leaning, {"a": a, "b": "greater", "W": "holds"}, needs=needs).verdict == verdict


def test_without_needs_an_unknown_test_stops_nothing():
    found = decided([SUPPORT, REFUTE], {"a": "missing", "b": "greater", "W": "holds"})
    assert (found.verdict, found.rule) == (Verdict.REFUTED, 2)


@pytest.mark.parametrize(("otherwise", "verdict"), [("refuted", "refuted"), ("inconclusive", "partially refuted")])
def test_a_failed_claim_that_support_needs_stands(otherwise, verdict):
    found = decided([SUPPORT], {"a": "untestable", "W": "fails"}, needs=("a",), otherwise=otherwise)
    assert (found.verdict, found.evidence) == (Verdict(verdict), ("W", "a"))
    assert found.reason.startswith(
        "support needs a claim that fails (W fails: seen), whatever could not be tested: a untestable"
    )
    spared = decided([SUPPORT, rule("supported", ["a less"])], {"a": "untestable", "W": "fails"}, needs=("a",))
    assert spared.verdict == Verdict.UNTESTABLE  # another way to support does without the claim
    held = decided([SUPPORT], {"a": "untestable", "W": "holds"}, needs=("a",), otherwise=otherwise)
    assert held.verdict == Verdict.UNTESTABLE
    against = decided([SUPPORT, rule("refuted", ["W fails"])], {"a": "untestable", "W": "fails"}, needs=("a",))
    assert (against.verdict, against.rule) == (Verdict.REFUTED, 2)


def test_otherwise_neither_supports_nor_refutes_where_nothing_is_known():
    rules = [rule("supported", ["a less", "b less"])]
    for a, b, verdict in (
        ("missing", "missing", Verdict.NO_DATA),
        ("missing", "untestable", Verdict.NO_DATA),
        ("untestable", "untestable", Verdict.UNTESTABLE),
        ("missing", "undecided", Verdict.REFUTED),
        ("undecided", "undecided", Verdict.REFUTED),
    ):
        assert decided(rules, {"a": a, "b": b}, otherwise="refuted").verdict == verdict, (a, b)
    assert decided(rules, {"a": "missing", "b": "missing"}).verdict == Verdict.INCONCLUSIVE


def test_partial_and_inconclusive_say_what_support_lacks():
    rules = [rule("supported", ["a less", "b less"]), rule("partially refuted", ["a less"])]
    found = decided(rules, {"a": "less", "b": "undecided"})
    assert found.reason == (
        "because partially refuted (a less (n = 6, p = 0.031)). Not supported because of: b undecided (n = 6, p = 0.031)"
    )
    assert found.evidence == ("a", "b")
    refuted = decided([rules[0], rule("refuted", ["a less"])], {"a": "less", "b": "undecided"})
    assert "Not supported" not in refuted.reason
    assert "Not supported" not in decided([rule("inconclusive", ["a less"])], {"a": "less"}).reason


def test_six_pieces_of_evidence_are_quoted_and_the_others_counted():
    for n, more in ((6, ""), (7, "; and 1 more"), (9, "; and 3 more")):
        names = "abcdefghi"[:n]
        found = decided([rule("supported", [f"{x} less" for x in names])], dict.fromkeys(names, "less"))
        assert found.reason.count("less (") == min(n, 6)
        assert found.reason.endswith(f"p = 0.031){more})")
        absent = decided([], dict.fromkeys(names, "missing"), needs=tuple(names))
        assert absent.reason == f"no data for {', '.join(names[:6])}{more.replace('; and', ' and')}"


def test_a_test_is_quoted_with_its_numbers():
    def quoted(e: Evaluation) -> str:
        return decided([rule("supported", [f"a {e.outcome}"])], {"a": e}).reason.removeprefix("because supported ")

    assert (
        quoted(test_of("less", p_holm=0.04, wins=5, losses=1, draws=0))
        == "(a less (n = 6, Holm p = 0.04, 5/1/0 won/lost/drawn))"
    )
    assert quoted(test_of("measured", p=None)) == "(a measured (n = 6))"
    assert quoted(test_of("untestable", untestable=Untestable.TIES)) == (
        "(a untestable (n = 6, p = 0.031, floor 0.031, alpha 0.05, too many units tie))"
    )
    assert quoted(test_of("untestable", floor=None)) == "(a untestable (n = 6, p = 0.031))"


def test_what_must_not_hold_and_is_unknown_is_said():
    found = decided([rule("supported", ["a less"], never=["b greater"])], {"a": "less", "b": "missing"})
    assert found.reason.endswith(". Nothing is known of b missing (n = 6, p = 0.031)")
    assert found.reason.startswith("because supported (a less (n = 6, p = 0.031))")
    alone = decided([rule("supported", never=["b greater"])], {"b": "less"})
    assert alone.reason == "because supported (b less (n = 6, p = 0.031))"


def test_of_several_terms_those_that_hold_are_quoted():
    found = decided(
        [rule("supported", some=["a less", "b less"], never=["b greater"])], {"a": "less", "b": "undecided"}
    )
    assert found.reason == "because supported (a less (n = 6, p = 0.031))"
    assert found.evidence == ("a", "b")


@pytest.mark.parametrize(
    ("support", "claims", "blocked"),
    [
        (rule("supported", ["a less"], never=["W fails"]), {"W": "fails"}, ("W",)),
        (rule("supported", ["a less"], never=["W holds"]), {"W": "fails"}, ()),
        (rule("supported", ["a less", "W fails"]), {"W": "fails"}, ()),
        (rule("supported", ["a less"], ["V holds", "W holds"]), {"V": "fails", "W": "fails"}, ("V", "W")),
        (rule("supported", ["a less"], ["V holds", "W holds"]), {"V": "holds", "W": "fails"}, ()),
        (rule("supported", [], ["a less", "W holds"]), {"W": "fails"}, ()),
        (rule("supported", ["a less", "W holds", "V holds"]), {"V": "holds", "W": "fails"}, ("W",)),
    ],
)
def test_only_claims_that_failed_and_stand_in_the_way_block_support(support, claims, blocked):
    found = decided([support], {"a": "untestable", **claims}, needs=("a",))
    assert found.verdict == (Verdict.PARTIAL if blocked else Verdict.UNTESTABLE)
    assert found.evidence == (*blocked, "a")


def test_a_proportion_is_quoted_as_a_count_and_not_as_games_won():
    share = test_of("greater", test="proportion", wins=8, losses=2, draws=0, n=10)
    found = decided([rule("supported", ["a greater"])], {"a": share})
    assert found.reason == "because supported (a greater (n = 10, p = 0.031, 8 of 10))"


def test_what_a_margin_shows_stands_beside_the_outcome():
    within = replace(test_of("undecided"), shown=(Margin.NONINFERIOR, Margin.EQUIVALENT))
    found = decided([rule("supported", ["a equivalent"])], {"a": within})
    assert found.reason.startswith("because supported (a undecided, noninferior, equivalent (n = 6")


@pytest.mark.parametrize(("why", "words"), [(Untestable.UNITS, ""), (Untestable.TIES, " with so many ties")])
def test_what_ties_made_untestable_another_result_of_as_many_units_could_have_shown(why, words):
    found = decided([rule("supported", ["a less"])], {"a": test_of("untestable", untestable=why)}, needs=["a"])
    assert found.verdict == Verdict.UNTESTABLE
    assert found.reason.startswith(f"no result could have been significant{words}: a untestable")


def test_what_support_lacked_is_said_where_no_rule_applied_and_otherwise_does_not_support():
    """With an otherwise that supports, nothing was lacking."""
    lacked = decided([SUPPORT], {"a": "undecided", "W": "holds"})
    assert (lacked.verdict, lacked.rule) == (Verdict.INCONCLUSIVE, None)
    assert "a undecided (n = 6, p = 0.031" in lacked.reason
    given = decided([SUPPORT], {"a": "undecided", "W": "holds"}, otherwise="supported")
    assert (given.verdict, given.reason) == (Verdict.SUPPORTED, "nothing else")


def test_what_is_absent_is_named_only_where_something_is():
    """A claim that fails stands in the way of support, whatever is weak, absent, or both."""
    weak = decided([SUPPORT], {"a": "untestable", "W": "fails"}, needs=("a",))
    assert "could not be tested" in weak.reason
    assert "is not there" not in weak.reason
    gone = decided([SUPPORT], {"a": "missing", "W": "fails"}, needs=("a",))
    assert "could not be tested" not in gone.reason
    assert "is not there: no data for a" in gone.reason

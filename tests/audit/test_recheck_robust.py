"""Digits that make no sense are findings: nothing a paper prints ends the recheck."""

import pytest

from orledger.audit.recheck.checking import recheck
from orledger.audit.recheck.data import parse_publication
from orledger.audit.recheck.findings import Finding, decision_error, grouped
from orledger.audit.recheck.model import CheckVerdict
from orledger.paper.published import publication

PAIRS = """
place = "somewhere"
number = [
  { id = "n", printed = "7", kind = "count", meaning = "pairs" },
  { id = "better", printed = "4", kind = "count", meaning = "better" },
  { id = "worse", printed = "2", kind = "count", meaning = "worse" },
  { id = "tied", printed = "1", kind = "count", meaning = "tied" },
  { id = "p", printed = "0.6875", kind = "p-value", meaning = "p" },
  { id = "share", printed = "0.571", kind = "share", meaning = "share better" },
  { id = "fraction", printed = "4/7", kind = "count", meaning = "better of all" },
  { id = "zero", printed = "0.0", meaning = "a divisor" },
]
[[check]]
target = "p"
rule = "signed_rank"
n = "n"
wins = "better"
losses = "worse"
ties = "tied"
[[check]]
target = "share"
rule = "ratio"
of = ["better", "n"]
"""


def verdicts(text, *changes):
    found = parse_publication({"t.toml": text})
    for number, printed in changes:
        found = found.with_printed(number, printed)
    return {f.id: f for f in recheck(found)}


def test_counts_that_do_not_add_up_are_impossible_and_the_other_checks_go_on():
    found = verdicts(PAIRS, ("tied", "3"))
    assert found["p signed_rank"].verdict is CheckVerdict.IMPOSSIBLE
    assert "4 wins + 2 losses + 3 ties do not make 7 pairs" in found["p signed_rank"].why
    assert found["share ratio"].verdict is CheckVerdict.MATCHES


@pytest.mark.parametrize(
    ("number", "printed"), [("p", "1.6875"), ("share", "1.571"), ("fraction", "8/7"), ("fraction", "4/0")]
)
def test_a_number_outside_the_range_of_its_quantity_is_impossible(number, printed):
    assert verdicts(PAIRS, (number, printed))[f"{number} range"].verdict is CheckVerdict.IMPOSSIBLE


def test_a_check_that_cannot_be_computed_says_so_and_ends_nothing():
    text = PAIRS + '[[check]]\ntarget = "share"\nrule = "ratio"\nof = ["n", "zero"]\n'
    found = verdicts(text)
    assert found["share ratio 2"].verdict is CheckVerdict.UNCHECKED
    assert "contains zero" in found["share ratio 2"].why
    assert found["share ratio"].verdict is CheckVerdict.MATCHES


def test_an_operand_that_is_no_whole_number_is_named():
    found = verdicts(PAIRS, ("n", "7.5"))
    assert found["p signed_rank"].verdict is CheckVerdict.UNCHECKED
    assert "whole number" in found["p signed_rank"].why


def test_a_floor_that_ignores_the_ties_beside_it_is_false():
    """Seven pairs with one tie cannot reach 2^-6; the floor of the six that differ is 2^-5."""
    check = '[[check]]\ntarget = "p"\nrule = "p_floor"\nn = "n"\nties = "tied"\n'
    assert verdicts(PAIRS + check, ("p", "0.03125"))["p p_floor"].verdict is CheckVerdict.MATCHES
    wrong = verdicts(PAIRS + check, ("p", "0.015625"))["p p_floor"]
    assert wrong.verdict is CheckVerdict.FALSE
    assert "true if read as the 1 ties ignored" in wrong.why


def test_a_reading_the_text_does_not_state_is_a_convention():
    other = '\n[[check.or]]\nrule = "same"\nof = "share"\n'
    stated = '[[check]]\ntarget = "p"\nrule = "same"\nof = "zero"\n'
    found = verdicts(PAIRS + stated + other, ("p", "0.571"))
    assert found["p same"].verdict is CheckVerdict.FALSE
    found = verdicts(PAIRS + stated + "stated = false\n" + other, ("p", "0.571"))
    assert found["p same"].verdict is CheckVerdict.CONVENTION


def finding(name, verdict, place="Section 2", cause="", decision=False):
    return Finding(name, place, "1", "2", 2.0, 2.0, verdict, "same", None, "", (), cause, decision)


def test_groups_hold_what_shares_a_cause_and_the_weightiest_comes_first():
    found = grouped(
        [
            finding("a", CheckVerdict.CONVENTION, cause="normal"),
            finding("b", CheckVerdict.INCONSISTENT, "Appendix"),
            finding("c", CheckVerdict.CONVENTION, cause="normal"),
            finding("d", CheckVerdict.INCONSISTENT, "Abstract"),
            finding("e", CheckVerdict.MATCHES),
            finding("f", CheckVerdict.INCONSISTENT, "Appendix", decision=True),
            finding("g", CheckVerdict.IMPOSSIBLE, "Appendix"),
            finding("h", CheckVerdict.FALSE, "Abstract", decision=True),
        ]
    )
    assert [[f.id for f in g.findings] for g in found] == [["g"], ["f"], ["d"], ["b"], ["h"], ["a", "c"]]


@pytest.mark.parametrize(
    ("printed", "recomputed", "changed"),
    [((0.035, 0.045), (0.06, 0.07), True), ((0.0, 0.05), (0.07, 0.08), False), ((0.06, 0.07), (0.01, 0.02), True)],
)
def test_a_decision_changes_when_p_crosses_five_percent(printed, recomputed, changed):
    assert decision_error(printed, recomputed) is changed


@pytest.mark.parametrize("digit", [0, 9, *(pytest.param(digit, marks=pytest.mark.slow) for digit in (3, 6))])
def test_no_digit_of_the_transcription_can_end_the_recheck(digit):
    """Every number of one table replaced at once by another digit string: findings, and as many as before."""
    shipped = publication()
    changed = shipped
    for name, number in shipped.numbers.items():
        if number.table == "CpairEI" and number.kind != "claim":
            changed = changed.with_printed(name, number.printed[:-1] + str(digit))
    found = recheck(changed)
    assert len([f for f in found if f.rule != "range"]) == len(shipped.checks)

"""Reasons why a level is not claimed, from evaluations written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_deciding import R, rule

from orledger.audit.evaluation.comparisons import Evaluation
from orledger.audit.evaluation.dispositions import Decision
from orledger.audit.evaluation.levels import level_words
from orledger.audit.evaluation.planned import Fixed
from orledger.audit.registry.hypotheses import Comparison, Hypothesis
from orledger.audit.registry.quantities import Aggregate, Quantity, RecordSource
from orledger.audit.registry.words import Outcome, Registered, Variant, Verdict

PLAIN = Quantity("t", "main", RecordSource("a", "m"))
MEAN = replace(PLAIN, aggregate=Aggregate(("seed",), "mean"))
KEPT = "the level of 0.05 is kept"


def words(
    test: str,
    quantity: Quantity = PLAIN,
    pair: tuple = ("k",),
    outcome: str = "less",
    looks: int = 2,
    independent: bool = True,
) -> str:
    c = Comparison("c", "t", test, (("a", quantity), ("b", quantity)), pair, ("k",))
    e = Evaluation(
        c, Variant.DECLARED, independent, replace(R, test=test), Outcome(outcome), 0, "", fixed=Fixed(6, "", early=True)
    )
    rules = (rule("supported", [f"c {outcome}"]),)
    h = Hypothesis("H", "t", "s", "registered", (c,), (), (), rules, Verdict.INCONCLUSIVE, "", "f", "")
    return level_words(h, Decision(Verdict.SUPPORTED, "", 1, ("c",)), {"c": e}, {}, Registered.BEFORE, looks)


def test_an_anytime_test_keeps_its_level_over_looks_at_whole_units():
    assert words("sign_anytime") == KEPT
    assert "used a fixed n after 2 looks" in words("sign")


@pytest.mark.parametrize(("quantity", "pair"), [(MEAN, ("k",)), (PLAIN, ("k", "seed"))])
def test_an_anytime_test_of_units_that_grow_claims_no_level_once_looked_at(quantity, pair):
    """Seeds that are added change the sign of a dataset that was looked at before: the e-value is then no bet that was kept."""
    assert words("sign_anytime", quantity, pair, looks=0) == KEPT
    told = words("sign_anytime", quantity, pair)
    assert told.startswith("no level is claimed: c keeps its level over looks for units that are whole")
    assert "after 2 looks its units, each made of several values, may have been added to" in told


def test_a_verdict_that_rests_on_what_was_not_found_says_that_absence_is_not_shown():
    assert words("sign", outcome="undecided") == (
        "no level: it rests on no test that decided, and what c did not find is not shown to be absent"
    )
    assert words("sign", outcome="missing") == "no level: it rests on no test that decided"


def test_groups_that_share_units_are_not_independent():
    assert "c counted values of one unit as independent" in words("fisher", independent=False, looks=0)

"""Rules of a disposition against their definition, term by term."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis_text import GOOD
from synthetic_db import audit

from orledger.audit.evaluation.dispositions import applies
from orledger.audit.registry.hypotheses import Rule, Term
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.registry.registration import register
from orledger.audit.registry.words import Verdict

TERMS = tuple(Term(name, "less") for name in "abcde")


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


@pytest.mark.parametrize(
    ("every", "some", "never"),
    [("a", "", ""), ("ab", "", ""), ("", "cd", ""), ("", "", "e"), ("", "", "de"), ("ab", "cd", "e"), ("", "", "")],
)
def test_a_rule_applies_exactly_when_its_terms_say_so(every, some, never):
    """All 32 ways in which five tests can come out, against the sentence in the documentation of a rule."""
    by_name = {t.id: t for t in TERMS}
    rule = Rule(Verdict.SUPPORTED, "r", *(tuple(by_name[n] for n in names) for names in (every, some, never)))
    for less in subsets("abcde"):
        states = {n: frozenset({"less" if n in less else "greater"}) for n in "abcde"}
        wanted = set(every) <= set(less) and (not some or bool(set(some) & set(less))) and not set(never) & set(less)
        assert applies(rule, states) is wanted, (less, every, some, never)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [([-1, -2, -3, -4, -5, -6], "supported"), ([-2, -3, -4, -5, -6, -7, -8, 1], "refuted")],
)
def test_what_must_not_hold_keeps_a_rule_from_applying(db, differences, verdict):
    """The only rule supports when a is less, unless a was worse somewhere; with such a unit the verdict is the other one."""
    text = GOOD.replace('all = ["c is less", "w holds"]', 'all = ["c is less"]\nnone = ["w fails"]')
    register(db.con, parse_hypothesis(text, "x.toml"))
    for k, d in enumerate(differences):
        db.cell({"k": k}, [("a", "m", 10.0 + d), ("b", "m", 10.0)])
    (finding,) = audit(db.con).findings
    assert finding.tests[0].outcome == "less"
    assert finding.decision.verdict == verdict


BLOCKED = {
    "asked for": 'all = ["c is less", "w holds"]',
    "ruled out": 'all = ["c is less"]\nnone = ["w fails"]',
    "the only choice": 'all = ["c is less"]\nany = ["w holds"]',
}


@pytest.mark.parametrize(("first", "outcome"), [(0, "untestable"), (4, "missing")])
@pytest.mark.parametrize("way", BLOCKED)
def test_a_failed_claim_stands_whatever_a_needed_test_could_not_show(db, way, first, outcome):
    """The test looks at k < 4: four units, floor 1/8, or none; a is worse than b in one unit, and no rule supports with that."""
    text = GOOD.replace('all = ["c is less", "w holds"]', BLOCKED[way])
    text = text.replace('id = "c"', 'id = "c"\nwhere = { k = { lt = 4 } }')
    register(db.con, parse_hypothesis(text, "x.toml"))
    for k in range(first, first + 4):
        db.cell({"k": k}, [("a", "m", 11.0 if k == first else 9.0 - k), ("b", "m", 10.0)])
    (finding,) = audit(db.con).findings
    assert finding.tests[0].outcome == outcome
    assert finding.decision.verdict == "refuted"
    assert "w fails" in finding.decision.reason

"""From outcomes to verdicts, and registrations that cannot be rewritten."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis_text import GOOD
from synthetic_db import audit

from orledger.audit.registry.reading import parse_hypothesis, shipped_hypotheses
from orledger.audit.registry.registration import (
    AmendmentError,
    current_registrations,
    register,
    register_shipped,
)
from orledger.studies import installed

TEXT = (
    GOOD
    + """
[[disposition.rule]]
verdict = "partially refuted"
reason = "less, but not everywhere"
all = ["c is less"]
none = ["w holds"]
"""
)
THEN = datetime(2026, 1, 2, 3, 4, 5)


def hypothesis(text=TEXT):
    return parse_hypothesis(text, "x.toml")


@pytest.mark.parametrize(
    ("differences", "verdict", "word"),
    [
        ([], "not enough data", "no data for c"),
        ([-1, -2, -3], "not testable at this n", "floor 0.25, alpha 0.05"),
        ([-1, -2, -3, -4, -5, -6], "supported", "it is less"),
        ([-2, -3, -4, -5, -6, -7, -8, 1], "partially refuted", "less, but not everywhere"),
        ([-1, 2, -3, 4, -5, 6], "refuted", "nothing else"),
        ([0, 0, 0, 0, 0, -1], "not testable at this n", "floor 1"),
    ],
)
def test_verdicts(db, differences, verdict, word):
    register(db.con, hypothesis())
    for k, d in enumerate(differences):
        db.cell({"k": k}, [("a", "m", 10.0 + d), ("b", "m", 10.0)])
    (finding,) = audit(db.con).findings
    assert finding.decision.verdict == verdict
    assert word in finding.decision.reason


def partial_reason(db, differences, text):
    register(db.con, hypothesis(text))
    for k, d in enumerate(differences):
        db.cell({"k": k}, [("a", "m", 10.0 + d), ("b", "m", 10.0)])
    (finding,) = audit(db.con).findings
    assert finding.decision.verdict == "partially refuted"
    return finding.decision


def test_a_partial_verdict_says_what_keeps_it_from_support(db):
    d = partial_reason(db, [-2, -3, -4, -5, -6, -7, -8, 1], TEXT)
    assert d.reason.endswith(
        "Not supported because of: w fails: a is worse than b in 1 of 8 units (share of units in [0.00316, 0.5265])"
    )
    assert d.evidence == ("c", "w")


def test_what_a_reason_quotes_is_not_said_twice(db):
    """The partial rule itself rests on the failing claim: the same evidence, quoted once."""
    text = TEXT.replace('all = ["c is less"]\nnone = ["w holds"]', 'all = ["c is less", "w fails"]')
    d = partial_reason(db, [-2, -3, -4, -5, -6, -7, -8, 1], text)
    assert d.reason.count("w fails") == 1
    assert "Not supported" not in d.reason


def test_registering_twice_changes_nothing(db):
    first = register(db.con, hypothesis(), now=THEN)
    again = register(db.con, hypothesis())
    assert first.new
    assert not again.new
    assert (again.hash, again.registered) == (first.hash, THEN)
    assert db.con.execute("SELECT count(*) FROM registration").fetchone() == (1,)


def test_a_changed_text_before_data_is_a_new_version(db):
    first = register(db.con, hypothesis())
    second = register(db.con, hypothesis(TEXT.replace("A title", "Another title")))
    assert second.parent == first.hash
    assert not second.amendment
    assert [r.hash for r in current_registrations(db.con)] == [second.hash]


def test_a_changed_text_after_data_is_an_amendment(db):
    register(db.con, hypothesis())
    db.cell({"k": 1}, [("a", "m", 1.0), ("b", "m", 2.0)])
    changed = hypothesis(TEXT.replace("A title", "Another title"))
    with pytest.raises(AmendmentError, match="1 cell of t is done"):
        register(db.con, changed)
    row = register(db.con, changed, amend=True)
    assert row.amendment
    assert row.cells_done == 1
    assert db.con.execute("SELECT count(*) FROM registration").fetchone() == (2,)
    audit(db.con)
    assert db.con.execute("SELECT amendment, after_data FROM disposition").fetchone() == (True, False)


def test_a_first_registration_after_data_is_marked(db):
    db.cell({"k": 1}, [("a", "m", 1.0), ("b", "m", 2.0)])
    register(db.con, hypothesis())
    audit(db.con)
    assert db.con.execute("SELECT amendment, after_data FROM disposition").fetchone() == (False, True)


def test_cells_of_other_studies_do_not_make_an_amendment(db):
    register(db.con, hypothesis())
    db.cell({"k": 1}, case="other")
    assert not register(db.con, hypothesis(TEXT.replace("A title", "Another title"))).amendment


def test_an_old_text_cannot_return(db):
    register(db.con, hypothesis())
    register(db.con, hypothesis(TEXT.replace("A title", "Another title")))
    with pytest.raises(AmendmentError, match="registered before"):
        register(db.con, hypothesis())


def test_shipped_hypotheses_register_in_one_call(db):
    rows = register_shipped(db.con, installed())
    assert [r.hypothesis for r in rows] == [h.id for h in shipped_hypotheses()]
    assert all(r.new for r in rows)
    assert not any(r.new for r in register_shipped(db.con, installed()))


def test_a_family_too_large_for_its_n_is_untestable(db):
    """Six pairs reach 0.031; among four tests Holm turns that into 0.125, so none of them can be decided."""
    text = TEXT.replace(
        'arms = ["a", "b"]\n\n[[claim]]', 'arm = "a"\nagainst = ["b", "c", "d", "e"]\nfamily = "f"\n[[claim]]'
    )
    text = text.replace('needs = ["c"]', 'needs = ["c/b"]').replace('"c is less"', '"c/b is less"')
    register(db.con, hypothesis(text))
    for k in range(6):
        db.cell({"k": k}, [("a", "m", 1.0), *((other, "m", 2.0 + k) for other in "bcde")])
    (finding,) = audit(db.con).findings
    assert [(e.result.p, e.p_holm, e.outcome) for e in finding.tests] == [(2.0**-5, 0.125, "untestable")] * 4
    assert finding.decision.verdict == "not testable at this n"

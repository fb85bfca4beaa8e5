"""Which tool for which data: what rows of an audit, written by hand, say for a rule and against it."""

import pytest
from hand_made import row
from hand_source import HandSource, behind, cell, shown
from test_hand_tables_a import rules

from orledger.audit.registry.words import ClaimState
from orledger.paper.tables.ref import table_dictionary, table_provenance, table_regime
from orledger.reports.audit_rows import ClaimRow
from orledger.reports.tables.values import Absent, Number, Text

NOISY = [*rules(0.1, 0, released=20, morozov=2), *rules(0.1, 1, released=60, morozov=6), *rules(0.0, 0, released=9, morozov=1)]  # fmt: skip


def claim(state, value=3.0, observed="none"):
    return ClaimRow("i", "H", "n", "none", "s", ClaimState(state), observed, value, 5)


def said_of(rule, audit, records=NOISY):
    found = shown(table_regime(HandSource(records, audit=audit)))[rule]
    return found["evidence"], found["verdict"]


@pytest.mark.parametrize(
    ("rule", "address", "supports", "refutes"),
    [
        ("no calibration", "H1/rmse/released", "less", "greater"),
        ("in distribution", "H2/score/cp", "greater", "less"),  # the audit asks about the other side
        ("shift learnable", "CaseB/learnable-coverage", "greater", "less"),
        ("shift other", "CaseB/unlearnable-trivial", "less", "greater"),
        ("exploration", "CaseC/inert", "greater", "less"),
    ],
)
def test_a_row_speaks_for_a_rule_or_against_it_or_leaves_it_open(rule, address, supports, refutes):
    others = {"CaseB/learnable-score": row(wins=2), "H4/no-counterexample": claim("holds")}
    for outcome, word in ((supports, "for"), (refutes, "against"), ("undecided", "open"), ("untestable", "open")):
        evidence, verdict = said_of(rule, {**others, address: row(outcome=outcome, wins=7, losses=3)})
        assert verdict == word
        assert ("3/10" if rule == "in distribution" else "7/10") in evidence
    assert said_of(rule, others) == (f"no {address}", f"no {address}")
    bare = row(wins=None, outcome="missing", method="no units")
    assert said_of(rule, {**others, address: bare}) == ("missing in the audit: no units",) * 2


def test_a_counterexample_refutes_whatever_the_share():
    audit = {"CaseC/inert": row(outcome="greater"), "H4/no-counterexample": claim("fails", observed="2 of 9")}
    evidence, verdict = said_of("exploration", audit)
    assert verdict == "against"
    assert "predicts it: 2 of 9" in evidence
    assert "[−0.10, 0.30]" in evidence
    assert said_of("exploration", {"CaseC/inert": row(outcome="greater")}) == ("no H4/no-counterexample",) * 2


def test_both_numbers_of_learnable_targets_are_needed():
    assert said_of("shift learnable", {"CaseB/learnable-coverage": row()})[1] == "no CaseB/learnable-score"
    audit = {"CaseB/learnable-coverage": row(wins=9), "CaseB/learnable-score": row(wins=2)}
    assert "in 9/10 splits" in said_of("shift learnable", audit)[0]
    assert "interval score in 2/10" in said_of("shift learnable", audit)[0]


@pytest.mark.parametrize(("state", "word"), [("holds", "for"), ("fails", "against"), ("missing", "open")])
def test_repetitions_that_differ_are_counted(state, word):
    evidence, verdict = said_of("dispersion", {"CaseA/repetitions-differ": claim(state)})
    assert (evidence.partition(" ")[0], verdict) == ("3/5", word)
    assert said_of("dispersion", {}) == ("no CaseA/repetitions-differ",) * 2
    assert said_of("dispersion", {"CaseA/repetitions-differ": claim(state, None, "no runs")}) == ("no runs",) * 2


def test_the_gain_and_the_dispersion_without_calibration_data():
    """Gains of 10 at the one noisy level; errors of 2 and 6, and of 20 and 60, have the deviation √2 · 2 over 4."""
    audit = {"H1/rmse/released": row(outcome="less")}
    evidence, _ = said_of("no calibration", audit)
    assert "median gain 10 at every level; its median dispersion over seeds is 0.707 against 0.707 (" in evidence
    parts = cell(table_regime(HandSource(NOISY, audit=audit)), "no calibration", "evidence").parts
    dispersions = [part for part in parts if isinstance(part, Number) and part.style.kind == "fixed"]
    assert [behind(part, "arm") for part in dispersions] == [{"morozov"}, {"released"}]
    evidence, _ = said_of("no calibration", audit, [*NOISY, *rules(0.2, 0, released=60, morozov=3)])
    assert "median gain 10 to 20 by level" in evidence
    evidence, _ = said_of("no calibration", audit, rules(0.1, 0, released=20, morozov=2))
    assert "dispersion" not in evidence
    coarse = [*rules(0.1, 0, grid=16, morozov=2), *rules(0.1, 1, grid=16, morozov=2)]
    evidence, _ = said_of("no calibration", audit, [*NOISY, *coarse])
    assert "is 0.354 against 0.707" in evidence  # the median of 0.707 and 0


def test_every_count_that_decides_is_bold():
    audit = {"H2/score/cp": row(outcome="greater"), "CaseA/repetitions-differ": claim("holds")}
    t = table_regime(HandSource(NOISY, audit=audit))
    for rule in ("in distribution", "dispersion"):
        assert next(part.bold for part in cell(t, rule, "evidence").parts if not isinstance(part, str))
    assert isinstance(cell(t, "exploration", "verdict"), Absent)


def test_names_of_functions_are_set_as_code():
    t = table_dictionary(None)
    assert all(r.cells[2].mono for r in t.rows())
    assert [part.mono for part in t.caption.parts if isinstance(part, Text)] == [True]
    for wide in (t, table_provenance(None), table_regime(HandSource(NOISY))):
        inches = [c.align for c in wide.columns if not isinstance(c.align, str)]
        assert inches
        assert sum(inches) < 5.5  # the width of the text

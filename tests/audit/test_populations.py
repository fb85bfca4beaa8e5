"""To which population a verdict speaks, and what is remarked beside it, from evaluations written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest
from test_deciding import R

from orledger.audit.evaluation.comparisons import Evaluation
from orledger.audit.evaluation.dispositions import Decision
from orledger.audit.evaluation.history import EarlierLook, looks, registered, remarks
from orledger.audit.evaluation.planned import Fixed
from orledger.audit.evaluation.sensitivity import Sensitivity, at_coarser_unit, deciding, speaks
from orledger.audit.registry.hypotheses import Comparison
from orledger.audit.registry.words import Outcome, Registered, Variant, Verdict

YES, NO = (Decision(v, f"because {v}", 1, ()) for v in (Verdict.SUPPORTED, Verdict.REFUTED))


def evaluated(name="c", n=6, values=("6 k",), variant=Variant.DECLARED, fixed=Fixed(6, "was planned for {}", early=True), p=0.5, **asked):  # fmt: skip  # noqa: B008
    c = Comparison(name, "t", "sign", (), ("k", "seed"), **{"unit": ("k",), **asked})
    return Evaluation(c, variant, True, replace(R, n=n, p=p), Outcome.LESS, 0, "", unit_values=values, fixed=fixed)


def said(*tests, again=None, coarser=()):
    return speaks(YES, again, tests, {e.comparison.id: e for e in coarser})


def test_the_first_evaluation_decides_and_the_coarser_one_is_looked_at_again():
    tests = [evaluated("a"), evaluated("a", 3), evaluated("b"), evaluated("b", 2, variant=Variant.COARSER)]
    assert {k: e.result.n for k, e in deciding(tests).items()} == {"a": 6, "b": 6}
    assert {k: e.result.n for k, e in at_coarser_unit(tests).items()} == {"b": 2}


def test_without_independent_units_it_speaks_of_nothing_else():
    nothing = Sensitivity("nothing beyond what was looked at: it rests on no test of independent units", "", None, "")
    assert said() == said(evaluated(n=0)) == said(evaluated(values=())) == nothing


def test_it_speaks_of_further_units_like_those_of_the_largest_test():
    assert said(evaluated()) == Sensitivity("further units like these 6 (k)", "", None, "")
    assert said(evaluated(n=1)).population == "further units like this 1 (k)"
    both = evaluated("d", 9, ("3 k", "3 seed"), unit=("k", "seed"))
    assert said(evaluated(), both, evaluated("e", 2)).population == "further units like these 9 (3 k by 3 seed)"


def test_a_test_that_cannot_flip_whole_units_has_no_coarser_row():
    found = said(evaluated(), evaluated("d", coarser=("g", "h")), again=YES)
    assert found == Sensitivity(
        "further units like these 6 (k)", "g, h", None, "with g, h as the unit: no row, sign cannot flip whole units"
    )
    assert said(evaluated(coarser=("g",)), coarser=[evaluated(coarser=("g",))]).unit == "g"  # nothing was decided again


def test_with_a_coarser_unit_it_speaks_of_values_within_those_that_there_are():
    outer = evaluated(n=2, unit=("k", "g"), coarser=("g",))
    found = said(evaluated(n=6, values=("6 k",)), again=NO, coarser=[outer])
    assert found.population == "further values of k at these 2 values of g (6 units (6 k)); not other values of g"
    assert (found.unit, found.verdict) == ("g", Verdict.REFUTED)
    assert found.reason == "with g as the unit: refuted, not supported. because refuted"
    assert said(evaluated(), again=YES, coarser=[outer]).reason == "with g as the unit: supported as well"
    free = evaluated(n=2, unit=("k", "seed"), coarser=("g",), independent_when=("s", "1"))
    assert said(evaluated(), again=YES, coarser=[free]).population == "further units like these 6 (k)"


# What is remarked


def finding(*tests, corrections=(), **registration):
    history = json.dumps([{"date": d, "note": n} for d, n in corrections])
    about = {"amendment": False, "cells_done": 0, "parent": None, "reaches": (), "corrections": json.loads(history)}
    return SimpleNamespace(
        tests=tests,
        registration=SimpleNamespace(**{**about, **registration}),
        hypothesis=SimpleNamespace(quantities=[SimpleNamespace(case="u"), SimpleNamespace(case="t")]),
    )


def test_corrections_and_looks_are_remarked():
    assert remarks(finding(evaluated()), ()) == ()
    corrected = finding(corrections=[("2026-01-01", "a slip"), ("2026-01-02", "another")])
    assert remarks(corrected, ()) == tuple(
        f"the text was corrected on 2026-01-0{k} after results had been seen: {n}"
        for k, n in ((1, "a slip"), (2, "another"))
    )
    one, two = EarlierLook("2026-01-01", 1, "refuted"), EarlierLook("2026-02-02", 12, "supported")
    assert remarks(finding(), (one,)) == (
        "audited 1 time before on other data, last on 2026-01-01 with 1 cell (refuted)",
    )
    assert remarks(finding(), (one, two)) == (
        "audited 2 times before on other data, last on 2026-02-02 with 12 cells (supported)",
    )


LOOSE = Fixed()


def test_units_that_nobody_fixed_are_remarked_by_name_up_to_four():
    said = "the number of units of {} was not fixed before the first result"
    loose = [evaluated(n, fixed=LOOSE) for n in "abcde"]
    assert remarks(finding(*loose), ()) == (said.format("each test"),)
    assert remarks(finding(*loose, evaluated("z")), ()) == (said.format("a, b, c, d ..."),)
    assert remarks(finding(*loose[:4], evaluated("z")), ()) == (said.format("a, b, c, d"),)
    others = [evaluated("y", fixed=LOOSE, variant=Variant.NAIVE), evaluated("x", fixed=LOOSE, p=None)]
    assert remarks(finding(*others, evaluated("z")), ()) == ()
    blocked = evaluated("w", fixed=LOOSE, variant=Variant.BLOCKED)
    assert remarks(finding(blocked, evaluated("z")), ()) == (said.format("w"),)


def test_other_counts_than_fixed_are_remarked_one_by_one_up_to_eight():
    tests = [evaluated(n, 7 + k) for k, n in enumerate("badcfehgi")]
    assert remarks(finding(*tests[:8]), ()) == tuple(
        f"{n} was planned for 6 units and evaluated on {7 + k}" for k, n in enumerate("badcfehg")
    )
    text = (
        "each of 9 tests was planned for 6 units and evaluated on others: from 7 (b) to 15 (i); --tests lists them all"
    )
    assert remarks(finding(*tests), ()) == (text,)
    late = Fixed(1, "was planned for {}", early=True)
    assert remarks(finding(evaluated("a", 2, fixed=late)), ()) == ("a was planned for 1 unit and evaluated on 2",)
    assert len(remarks(finding(evaluated("a", 2, fixed=late), evaluated("b", 7)), ())) == 2  # fixed in two ways
    assert remarks(finding(evaluated("a", 5, fixed=Fixed(None, "", early=True))), ()) == ()


@pytest.mark.parametrize(
    ("about", "imported", "known"),
    [
        ({}, 0, Registered.BEFORE),
        ({}, 3, Registered.UNKNOWN),
        ({"cells_done": 1}, 3, Registered.AFTER),
        ({"cells_done": 1, "parent": "p"}, 0, Registered.BEFORE),
        ({"amendment": True, "cells_done": 1}, 3, Registered.AMENDED),
        ({"corrections": [("d", "n")]}, 0, Registered.AMENDED),
    ],
)
def test_when_a_text_was_registered(about, imported, known):
    asked = []
    results = SimpleNamespace(sql=lambda _, params: asked.append(params) or pl.DataFrame({"n": [imported]}))
    assert registered(results, finding(**about)) == known
    assert asked in ([], [[["t", "u"]]])
    registered(results, finding(reaches=("v",)))
    assert asked[-1] == [["v"]]


def test_earlier_looks_are_those_at_other_data_before_the_first_time_of_this_audit(db):
    con = db.con
    for k, (audit, data) in enumerate([("a1", "d1"), ("a2", "d2"), ("a3", "d3"), ("a4", "d2"), ("a5", "d1")]):
        con.execute(
            "INSERT INTO audit VALUES (?, [], ?, ?, 0, '{}', ?)", [audit, data, 10 + k, f"2026-01-0{k + 1} 00:00:00"]
        )
        columns = "disposition_id, audit_id, registration, hypothesis, mode, statement, verdict, reason, test_ids, claim_ids, after_data, amendment, population, coarser_unit, coarser_reason, known, earlier, remarks, level"
        row = [
            audit,
            audit,
            "r",
            "H",
            "registered",
            "s",
            "refuted",
            "r",
            [],
            [],
            False,
            False,
            "p",
            "",
            "",
            "k",
            "[]",
            "[]",
            "",
        ]
        con.execute(f"INSERT INTO disposition ({columns}) VALUES ({', '.join('?' * len(row))})", row)
    day = "2026-01-0{} 00:00:00".format
    everything = [EarlierLook(day(k + 1), 10 + k, "refuted") for k in range(5)]
    assert looks(db.results, "H", "new", "d9") == tuple(everything)
    assert looks(db.results, "H", "new", "d2") == tuple(everything[k] for k in (0, 2, 4))
    assert looks(db.results, "H", "a3", "d3") == tuple(everything[:2])
    assert looks(db.results, "other", "new", "d9") == ()

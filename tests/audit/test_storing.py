"""The rows of an audit are stored whole or not at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis_text import GOOD
from synthetic_db import audit

from orledger.audit.evaluation import storing
from orledger.audit.evaluation.auditing import Audit, AuditFinding, examine
from orledger.audit.evaluation.claim_intervals import ClaimInterval
from orledger.audit.evaluation.claims import ClaimResult
from orledger.audit.evaluation.comparisons import Evaluation
from orledger.audit.evaluation.dispositions import Decision
from orledger.audit.evaluation.history import EarlierLook
from orledger.audit.evaluation.planned import Fixed
from orledger.audit.evaluation.sensitivity import Sensitivity
from orledger.audit.registry.hypotheses import Claim, Comparison, Hypothesis
from orledger.audit.registry.quantities import Quantity, RecordSource
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.registry.registration import Registration, register
from orledger.audit.registry.words import (
    ClaimState,
    Clearly,
    Margin,
    Outcome,
    Refusals,
    Registered,
    Untestable,
    Variant,
    Verdict,
)
from orledger.audit.statistics.equivalence import Posterior, Within
from orledger.audit.statistics.result import Dropped, TestResult

TABLES = ("audit", "test_result", "claim", "disposition", "ledger")


def rows(con):
    known = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert set(TABLES) <= known, known
    return {t: con.execute(f"SELECT * FROM {t} ORDER BY ALL").fetchall() for t in TABLES}


@pytest.fixture
def audited(db):
    register(db.con, parse_hypothesis(GOOD, "x.toml"))
    for k in range(6):
        db.cell({"k": k}, [("a", "m", 1.0), ("b", "m", 2.0 + k)])
    audit(db.con)
    return db


@pytest.mark.parametrize("table", ["test_result", "claim", "disposition", "the chain"])
def test_an_audit_that_cannot_be_stored_whole_leaves_the_rows_of_the_one_before(audited, monkeypatch, table):
    """The writing of one table fails, after others were written: neither the new rows are there, nor are old ones gone."""
    before = rows(audited.con)
    assert all(before[t] for t in TABLES)
    insert = storing.insert_rows

    def failing(con, name, *rest):
        if name == table:
            raise RuntimeError("the disk is full")
        insert(con, name, *rest)

    def no_chain(*_, **__):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(storing, "insert_rows", failing)
    if table == "the chain":
        monkeypatch.setattr(storing.chain, "append", no_chain)
    same = examine(audited.results)  # the same data: its rows take the place of those that are there
    audited.cell({"k": 6}, [("a", "m", 9.0), ("b", "m", 2.0)])
    other = examine(audited.results)
    assert same.audit_id == before["audit"][0][0] != other.audit_id
    for found in (same, other):
        with pytest.raises(RuntimeError, match="disk is full"):
            storing.store(audited.con, found, datetime.now(UTC))
        assert rows(audited.con) == before


def test_what_was_counted_is_what_is_stored(audited):
    """Six pairs, a below b in each: six wins for lower, none for higher, and the counts turn with the sides."""
    stored = audited.con.execute("SELECT n, wins, losses, draws, outcome FROM test_result").fetchall()
    assert stored == [(6, 6, 0, 0, "less")]


TWO = GOOD.replace(
    "[[claim]]",
    """[[comparison]]
id = "strict"
title = "a against b at another level"
test = "signed_rank"
alpha = 0.01
arms = ["a", "b"]

[[claim]]""",
    1,
)


def test_a_row_has_the_numbers_of_its_own_test(db):
    """Differences -1 to -6: p is 2/64, so is its floor; the median of pairwise means is -3.5, and with 62/64 the interval is
    the whole range. At 0.05 that is less, at 0.01 no six units can show anything."""
    register(db.con, parse_hypothesis(TWO, "x.toml"))
    for k in range(6):
        db.cell({"k": k}, [("a", "m", 1.0), ("b", "m", 2.0 + k)])
    audit(db.con)
    columns = "comparison, alpha, outcome, p, floor, effect, low, high, statistic, n_nonzero, ties, side"
    stored = db.con.execute(f"SELECT {columns} FROM test_result ORDER BY comparison").fetchall()
    numbers = (0.03125, 0.03125, -3.5, -6.0, -1.0, 0.0, 6, 0, "two-sided")
    assert stored == [("c", 0.05, "less", *numbers), ("strict", 0.01, "untestable", *numbers)]


PLAIN = {"test_id", "claim_id", "disposition_id", "versions"}  # hashes, which are looked at apart, and of this machine


def by_hand():
    """A finding with another word or number in every place."""
    side = Quantity("t", "main", RecordSource("a", "m"))
    asked = Comparison("c", "a title", "sign", (("a", side),), ("k", "seed"), ("k",), "log10", alpha=0.01, family="f",
                       margin=0.25, coarser=("g",), refusals=Refusals.LOSS)  # fmt: skip
    left_out = Dropped("1/2", "arm refused", True), Dropped("3", "no record"), Dropped("4", "one seed lost", True, True)
    result = TestResult(
        "sign", "exact µ", "less", 9, 8, 7, 6.5, "wins", 0.125, 0.0625, effect=0.5, effect_name="median", low=-1.5, high=2.5,
        level=0.9, interval_method="order statistics", interval_ends="attained", wins=4, losses=3, draws=2,
        standard_effect=0.75, standard_effect_name="r", e_value=3.5, dropped=left_out, details={"z": 1, "b": {"y": 2, "a": 3}},
        versions={"numpy": "2", "duckdb": "1"},
    )  # fmt: skip
    plain = Evaluation(asked, Variant.DECLARED, True, result, Outcome.LESS, 5, "SELECT 1", p_holm=0.375, family_size=11,
                       noise_floor=1e-9, within=Within(0.25, 0.03, 0.04), posterior=Posterior(0.1, 0.2, 0.7, 99),
                       shown=(Margin.NONINFERIOR,), fixed=Fixed(12, "", early=True))  # fmt: skip
    bare = replace(
        plain, variant=Variant.NAIVE, independent=False, within=None, posterior=None, untestable=Untestable.UNITS
    )
    outer = replace(plain, variant=Variant.COARSER, shown=(Margin.EQUIVALENT,))
    holds = ClaimResult(Claim("w", "a is small", "at_most", (), ("k",)), ClaimState.HOLDS, "seen", 1.25, 4, ("5", "6"), "SELECT 2",
                        left_out[1:], ClaimInterval(0.5, 1.5, 0.8, "bootstrap"), (Clearly.HOLDS, Clearly.FAILS))  # fmt: skip
    fails = replace(holds, claim=replace(holds.claim, id="v"), state=ClaimState.FAILS, clearly=())
    h = Hypothesis("H", "t", "A statement.", "exploratory", (asked,), (), (), (), Verdict.REFUTED, "", "f", "")
    registration = Registration("hash", "H", "exploratory", "", "", "", NOW, 3, None, False)
    return AuditFinding(
        registration, h, (plain, bare, outer), (holds, fails), Decision(Verdict.SUPPORTED, "the reason", 2, ("c", "w", "x")),
        Sensitivity("other k", "g", Verdict.PARTIAL, "too fine"), Registered.AMENDED,
        (EarlierLook("2026-01-01", 7, "refuted"),), ("é", "b"), "a level",
    )  # fmt: skip


NOW = datetime(2026, 11, 19, 12, 30, tzinfo=UTC)
A_TEST = {
    "audit_id": "x", "registration": "hash", "hypothesis": "H", "comparison": "c", "variant": "declared", "title": "a title",
    "test": "sign", "quantities": '{"a": {"block": "main", "case": "t", "source": {"arm": "a", "label": null, "metric": "m"}}}',
    "transform": "log10", "unit": "k", "independent": True, "outcome": "less", "alpha": 0.01, "side": "less", "statistic": 6.5,
    "statistic_name": "wins", "p": 0.125, "family": "f", "family_size": 11, "p_holm": 0.375, "floor": 0.0625, "n": 9,
    "n_nonzero": 8, "ties": 7, "method": "exact µ", "effect": 0.5, "effect_name": "median", "low": -1.5, "high": 2.5, "level": 0.9,
    "interval_method": "order statistics", "wins": 4, "losses": 3, "draws": 2, "bounded": 5, "noise_floor": 1e-9,
    "interval_ends": "attained", "standard_effect": 0.75, "standard_effect_name": "r", "superiority": 5 / 9, "e_value": 3.5,
    "untestable": None, "margin": 0.25, "p_noninferior": 0.03, "p_equivalent": 0.04, "noninferior": True, "equivalent": False,
    "posterior_below": 0.1, "posterior_within": 0.2, "posterior_above": 0.7, "refusals": "loss", "registered_units": 12,
    "dropped": '[{"reason": "arm refused", "refused": true, "unit": "1/2"}, {"reason": "no record", "refused": false, "unit": "3"},'
               ' {"partial": true, "reason": "one seed lost", "refused": true, "unit": "4"}]',
    "details": '{"b": {"a": 3, "y": 2}, "z": 1}', "units_sql": "SELECT 1",
}  # fmt: skip
WITHOUT = dict.fromkeys([k for k in A_TEST if k.startswith(("p_non", "p_eq", "noninf", "equiv", "posterior"))])
A_CLAIM = {
    "audit_id": "x", "registration": "hash", "hypothesis": "H", "name": "w", "kind": "at_most", "statement": "a is small",
    "state": "holds", "low": 0.5, "high": 1.5, "level": 0.8, "interval_method": "bootstrap", "clearly": "clearly-holds",
    "observed": "seen", "value": 1.25, "n": 4, "units_sql": "SELECT 2",
    "counterexamples": '["5", "6", {"reason": "no record", "refused": false, "unit": "3"},'
                       ' {"partial": true, "reason": "one seed lost", "refused": true, "unit": "4"}]',
}  # fmt: skip
A_VERDICT = {
    "audit_id": "x", "registration": "hash", "hypothesis": "H", "mode": "exploratory", "statement": "A statement.",
    "verdict": "supported", "reason": "the reason", "rule": 2, "after_data": True, "amendment": True, "population": "other k",
    "coarser_unit": "g", "coarser_verdict": "partially refuted", "coarser_reason": "too fine",
    "known": "amended after results had been seen", "remarks": '["é", "b"]', "level": "a level",
    "earlier": '[{"cells": 7, "created": "2026-01-01", "verdict": "refuted"}]',
}  # fmt: skip


def id_of(*parts):
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]


def stored(con, finding, table):
    storing.store(con, Audit("x", "data", 20, 30, (finding,)), NOW)
    found = con.execute(f"SELECT * FROM {table} WHERE audit_id = 'x'")
    names = [d[0] for d in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def without(row, *names):
    return {k: v for k, v in row.items() if k not in names}


def test_every_column_of_a_test_has_its_own_value(db):
    plain, bare, outer = stored(db.con, by_hand(), "test_result")
    assert without(plain, *PLAIN) == A_TEST
    assert json.loads(plain["versions"]) == {"duckdb": "1", "numpy": "2"}
    assert plain["versions"].index("duckdb") < plain["versions"].index("numpy")
    nested = {"variant": "naive", "unit": "k, seed", "independent": False, "untestable": str(Untestable.UNITS)}
    assert without(bare, *PLAIN) == {**A_TEST, **WITHOUT, **nested}
    coarser = {"variant": "coarser", "unit": "g", "noninferior": False, "equivalent": True}
    assert without(outer, *PLAIN) == {**A_TEST, **coarser}
    assert [r["test_id"] for r in (plain, bare, outer)] == [
        id_of("x", "H", "c", v) for v in ("declared", "naive", "coarser")
    ]


def test_every_column_of_a_claim_has_its_own_value(db):
    holds, fails = stored(db.con, by_hand(), "claim")
    assert without(holds, *PLAIN) == A_CLAIM
    assert without(fails, *PLAIN) == {**A_CLAIM, "name": "v", "state": "fails", "clearly": None}
    assert [r["claim_id"] for r in (holds, fails)] == [id_of("x", "H", "claim", n) for n in "wv"]


def test_every_column_of_a_verdict_has_its_own_value(db):
    """It names the rows of its evidence: every variant of a test, and what is neither a test nor a claim not at all."""
    (row,) = stored(db.con, by_hand(), "disposition")
    assert without(row, *PLAIN, "test_ids", "claim_ids") == A_VERDICT
    assert row["test_ids"] == [id_of("x", "H", "c", v) for v in ("declared", "naive", "coarser")]
    assert (row["claim_ids"], row["disposition_id"]) == ([id_of("x", "H", "claim", "w")], id_of("x", "H"))


@pytest.mark.parametrize(("parent", "cells", "late"), [(None, 0, False), (None, 1, True), ("before", 1, False)])
def test_a_text_is_late_when_its_first_version_came_after_cells(db, parent, cells, late):
    found = by_hand()
    found = replace(found, registration=replace(found.registration, parent=parent, cells_done=cells))
    assert stored(db.con, found, "disposition")[0]["after_data"] is late


def test_a_verdict_without_a_coarser_one_and_a_file_that_only_describes(db):
    found = by_hand()
    plain = replace(found, known=Registered.BEFORE, sensitivity=replace(found.sensitivity, verdict=None))
    (row,) = stored(db.con, plain, "disposition")
    assert (row["coarser_verdict"], row["amendment"]) == (None, False)
    assert stored(db.con, replace(found, decision=None), "disposition") == []
    assert stored(db.con, replace(found, tests=(), claims=()), "test_result") == []
    assert len(stored(db.con, replace(found, tests=(), claims=()), "disposition")) == 1


def test_an_audit_says_what_it_looked_at_and_keeps_the_time_of_its_first_storing(db):
    """Stored again a year later with other findings: the same time, once, and the chain has both."""
    found = Audit("x", "data", 20, 30, (by_hand(),))
    storing.store(db.con, found, NOW)
    storing.store(db.con, replace(found, data_hash="other"), NOW.replace(year=2027))
    *columns, versions, created = db.con.execute("SELECT * FROM audit").fetchone()
    assert columns == ["x", ["hash"], "other", 20, 30]
    assert created == NOW.replace(tzinfo=None)
    assert {"numpy", "scipy"} <= set(json.loads(versions))
    said = [json.loads(s) for (s,) in db.con.execute("SELECT payload FROM ledger ORDER BY sequence").fetchall()]
    verdicts = {"audit": "x", "verdicts": {"H": "supported"}}
    assert said == [{**verdicts, "data_hash": "data"}, {**verdicts, "data_hash": "other"}]

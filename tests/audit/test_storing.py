"""The rows of an audit are stored whole or not at all."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis_text import GOOD
from synthetic_db import audit

from orledger.audit.evaluation import storing
from orledger.audit.evaluation.auditing import examine
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.registry.registration import register

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

    def no_chain(*_):
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

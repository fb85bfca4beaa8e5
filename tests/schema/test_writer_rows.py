"""What a writer leaves in the tables and in the chain, in one database for all tests."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest

from orledger.errors import DatabaseError
from orledger.schema import opening
from orledger.schema.catalogue import Arm, Catalogue, Key, Metric
from orledger.schema.outcomes import CellOutcome, PlannedCell, planned_columns, record_columns, settled_rows
from orledger.schema.transactions import transaction
from orledger.schema.writing import Writer, insert_rows


def columns(*rows):
    """Columns of rows (arm, metric, label, idx, value)."""
    texts = {n: np.array([r[i] for r in rows], dtype=object) for i, n in enumerate(("arm", "metric", "label"))}
    idx = np.ma.array([r[3] or 0 for r in rows], mask=[r[3] is None for r in rows], dtype=np.int32)
    return {**texts, "idx": idx, "value": np.array([r[4] for r in rows], dtype=float)}


def done(value=1.0, **fields):
    return CellOutcome("done", columns=columns(("a", "m", None, None, value)), **fields)


def cells(*names, case="toy"):
    return [PlannedCell(n, case, "main", f"{case}/{n}", {"k": n}, "{}", "1", "job") for n in names]


@pytest.fixture(scope="module")
def writer(new_db):
    with Writer("in memory", con=new_db) as made:
        yield made


def ask(writer, query, *values):
    return writer.con.execute(query, list(values)).fetchall()


def last(writer):
    ((kind, payload),) = ask(writer, "SELECT kind, payload FROM ledger ORDER BY sequence DESC LIMIT 1")
    return kind, json.loads(payload)


def test_a_plan_counts_what_is_new_and_enters_the_chain_once(writer):
    assert writer.plan(cells("p1", "p2")) == 2
    assert last(writer) == ("plan", {"cells": 2})
    before = ask(writer, "SELECT count(*) FROM ledger")
    assert writer.plan(cells("p1", "p2")) == 0
    assert ask(writer, "SELECT count(*) FROM ledger") == before
    assert writer.plan(cells("p2", "p3")) == 1
    assert ask(writer, "SELECT name, job_id, state, keys['k'] FROM cell WHERE cell_id = 'p3'") == [("toy/p3", "job", "planned", "p3")]  # fmt: skip
    assert {writer.states()[c] for c in ("p1", "p2", "p3")} == {"planned"}


def test_a_connection_of_somebody_else_stays_open(monkeypatch):
    told = []
    monkeypatch.setattr(opening, "wrote", told.append)
    con = duckdb.connect()
    with Writer("in memory", con=con):
        pass
    assert (con.execute("SELECT 1").fetchall(), told) == ([(1,)], [])
    monkeypatch.setattr(opening, "connect", lambda *_, **__: con)
    with Writer("own"):
        pass
    assert told == [Path("own")]
    with pytest.raises(duckdb.ConnectionException):
        con.execute("SELECT 1")


def test_rows_are_added_under_the_names_of_their_columns():
    con = duckdb.connect()
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)")
    insert_rows(con, "t", ("c", "b"), [(0.5, "x"), (None, "1")])
    insert_rows(con, "t", ("c", "b"), [])
    assert con.execute("FROM t").fetchall() == [(None, "x", 0.5), (None, "1", None)]


def test_a_cell_that_was_changed_past_the_ledger_is_not_vouched_for_when_it_is_stored_again(writer):
    writer.plan(cells("past", "kept"))
    writer.store_many([("past", done(1.0)), ("kept", done(1.0))])
    writer.con.execute("UPDATE cell SET reason = 'edited' WHERE cell_id = 'past'")
    writer.store_many([("past", done(1.0)), ("kept", done(1.0))])
    newest = "SELECT key FROM ledger_item WHERE part = 'cell' AND sequence = (SELECT max(sequence) FROM ledger)"
    assert ask(writer, newest) == [("kept",)]


def test_states_are_a_copy(writer):
    writer.plan(cells("copy"))
    writer.states()["copy"] = "done"
    assert writer.states()["copy"] == "planned"


def test_everything_that_a_cell_holds_stands_in_its_tables(writer):
    writer.plan(cells("full"))
    data = {"name": "d", "origin": "o", "n_rows": 5, "n_features": 2, "target": "t", "distinct_targets": 4, "sha256": "0"}  # fmt: skip
    started = datetime.now(UTC).replace(tzinfo=None)
    writer.store(
        "full",
        CellOutcome(
            "done", seconds=1.5, backend="cpu", host="{}", columns=columns(("a", "m", "l", 7, 2.5), ("b", "m", None, None, 3.5)),
            refusals=[("c", "empty", 0.5)], facts={"f": "v"}, datasets=[data],
        ),
        "run",
    )  # fmt: skip
    assert ask(writer, "SELECT arm, metric, label, idx, value FROM record WHERE cell_id = 'full' ORDER BY arm") == [
        ("a", "m", "l", 7, 2.5),
        ("b", "m", None, None, 3.5),
    ]
    assert ask(writer, "SELECT arm, reason, margin FROM refusal WHERE cell_id = 'full'") == [("c", "empty", 0.5)]
    assert ask(writer, "SELECT name, value FROM fact WHERE cell_id = 'full'") == [("f", "v")]
    assert ask(writer, "SELECT * EXCLUDE (cell_id) FROM dataset WHERE cell_id = 'full'") == [tuple(data.values())]
    ((*fields, run, finished),) = ask(
        writer, "SELECT state, reason, error, seconds, backend, n_records, host, run_id, finished FROM cell WHERE cell_id = 'full'"
    )  # fmt: skip
    assert (fields, run) == (["done", None, None, 1.5, "cpu", 2, "{}"], "run")
    assert started <= finished <= datetime.now(UTC).replace(tzinfo=None)
    assert last(writer) == ("cells", {"run": "run", "done": 1})
    assert writer.states()["full"] == "done"


def test_a_cell_is_replaced_alone_and_the_chain_says_what_was_lost(writer):
    """Other numbers in place of those that were seen are counted by study; the same numbers, or more of them, are not."""
    writer.plan([*cells("r1", "r2"), *cells("o1", case="other")])
    writer.store_many([("r1", done(1.0)), ("r2", done(2.0)), ("o1", done(3.0))])
    assert last(writer) == ("cells", {"run": None, "done": 3})
    writer.store_many([("r1", done(1.0)), ("r2", CellOutcome("done", columns=columns(("a", "m", None, None, 2.0), ("b", "m", None, None, 9.0))))])  # fmt: skip
    assert last(writer) == ("cells", {"run": None, "done": 2})
    writer.store_many([("r1", done(4.0)), ("r2", done(2.0)), ("o1", done(3.5))])
    assert last(writer)[1]["replaced"] == {"other": 1, "toy": 2}
    assert ask(writer, "SELECT cell_id, value FROM record WHERE cell_id IN ('r1', 'r2', 'o1') ORDER BY 1") == [
        ("o1", 3.5), ("r1", 4.0), ("r2", 2.0),
    ]  # fmt: skip


def test_a_result_in_place_of_a_refusal_is_a_replacement_and_the_same_refusal_is_none(writer):
    writer.plan(cells("f1", "f2", "f3"))
    refused = CellOutcome("refused", reason="no")
    writer.store_many([("f1", refused), ("f2", refused), ("f3", refused)])
    assert last(writer)[1] == {"run": None, "refused": 3}
    writer.store_many([("f1", refused), ("f2", done()), ("f3", refused)])
    assert last(writer)[1] == {"run": None, "refused": 2, "done": 1, "replaced": {"toy": 1}}


def test_a_failed_cell_has_no_hash_and_counts_no_records(writer):
    writer.plan(cells("bad"))
    writer.store("bad", CellOutcome("failed", error="boom"))
    assert ask(writer, "SELECT state, error, n_records, content_hash FROM cell WHERE cell_id = 'bad'") == [("failed", "boom", 0, None)]  # fmt: skip
    writer.store("bad", done())
    assert last(writer)[1] == {"run": None, "done": 1}  # nothing was seen before


def test_nothing_to_store_changes_nothing(writer):
    before = ask(writer, "SELECT count(*) FROM ledger")
    writer.store_many([])
    assert ask(writer, "SELECT count(*) FROM ledger") == before


def test_a_cell_stands_once_among_those_to_store(writer):
    writer.plan(cells("two"))
    with pytest.raises(DatabaseError, match="stands twice"):
        writer.store_many([("two", done()), ("two", done())])
    with pytest.raises(DatabaseError, match="nowhere is not planned"):
        writer.store_many([("two", done()), ("nowhere", done())])
    assert writer.states()["two"] == "planned"


RUN = {"preset": "p", "settings": {"b": 1, "a": "é"}, "versions": {}, "host": {}, "device": "cpu", "engine": "serial", "jobs": 1, "threads": 1}  # fmt: skip


def test_runs_and_their_settings(writer):
    writer.begin_run("one", registration_hash="h", **RUN)
    assert ask(writer, "SELECT state, settings, registration_hash, jobs, ended FROM run WHERE run_id = 'one'") == [
        ("running", '{"a": "é", "b": 1}', "h", 1, None)
    ]
    assert last(writer) == ("run", {"run": "one", "state": "running"})
    writer.settings("one", [("toy", "size", [1, 2], True, "How large.")])
    assert ask(writer, "SELECT * EXCLUDE (run_id) FROM setting WHERE run_id = 'one'") == [("toy", "size", "[1, 2]", True, "How large.")]  # fmt: skip
    assert last(writer) == ("run", {"run": "one", "settings": True})
    writer.begin_run("two", **RUN)
    assert ask(writer, "SELECT run_id, state FROM run WHERE run_id IN ('one', 'two') ORDER BY 1") == [
        ("one", "interrupted"),
        ("two", "running"),
    ]
    vouched = ask(writer, "SELECT key FROM ledger_item WHERE part = 'run' AND sequence = (SELECT max(sequence) FROM ledger) ORDER BY 1")  # fmt: skip
    assert vouched == [("one",), ("two",)]
    writer.end_run("two", "finished")
    assert last(writer) == ("run", {"run": "two", "state": "finished"})
    assert ask(writer, "SELECT state, ended IS NOT NULL FROM run WHERE run_id = 'two'") == [("finished", True)]
    assert ask(writer, "SELECT ended FROM run WHERE run_id = 'one'") == [(None,)]


def test_one_hash_stands_for_the_newest_text_of_every_hypothesis():
    con = duckdb.connect()
    con.execute("CREATE TABLE registration (hash VARCHAR, hypothesis VARCHAR, registered TIMESTAMP)")
    held = Writer("in memory", con=con)
    assert held.registration_hash() is None
    con.execute("INSERT INTO registration VALUES ('h1', 'A', '2026-01-01'), ('h3', 'A', '2026-01-03'), ('h2', 'B', '2026-01-02')")  # fmt: skip
    assert held.registration_hash() == hashlib.sha256(b"h2\nh3").hexdigest()


def test_what_nobody_declared_is_catalogued_at_the_end_of_a_run(writer):
    writer.begin_run("three", **RUN)
    writer.plan(cells("c1", case="late"))
    writer.store("c1", done())
    writer.end_run("three", "finished")
    assert ask(writer, "SELECT m FROM late_main") == [(1.0,)]
    assert ask(writer, "SELECT key, type FROM key WHERE case_name = 'late'") == [("k", "VARCHAR")]


def test_a_declared_case_keeps_its_metrics_and_gets_its_keys(writer):
    """What is declared is not looked for in the records again; the keys of its cells are."""
    writer.catalogue(Catalogue("said", (Metric("main", "a", "m"),), (Key("main", "k", "VARCHAR"),), (Arm("a", "A"),)))
    writer.begin_run("four", **RUN)
    writer.plan([PlannedCell("s1", "said", "main", "said/s1", {"k": "x", "j": 3}, "{}", "1")])
    writer.store("s1", CellOutcome("done", columns=columns(("a", "m", None, None, 1.0), ("a", "new", None, None, 2.0))))
    writer.end_run("four", "finished")
    assert ask(writer, "SELECT metric FROM metric WHERE case_name = 'said'") == [("m",)]
    assert ask(writer, "SELECT key FROM key WHERE case_name = 'said' ORDER BY 1") == [("j",), ("k",)]


# ---- columns of many cells ------------------------------------------------------------------------------------------------


def test_keys_are_stored_as_texts():
    (keys,) = planned_columns([PlannedCell("c", "t", "b", "n", {"s": "x", "i": 3, "f": 0.5, "t": True}, "{}", "1")])[
        "keys"
    ]
    assert json.loads(keys) == {"s": "x", "i": "3", "f": "0.5", "t": "true"}


def test_records_of_cells_stand_below_one_another():
    rows = record_columns({"x": done(1.0), "y": CellOutcome("failed"), "z": CellOutcome("done", columns=columns(("b", "n", "l", 4, 2.0), ("c", "n", None, None, 3.0)))})  # fmt: skip
    assert rows["cell_id"].tolist() == ["x", "z", "z"]
    assert rows["value"].tolist() == [1.0, 2.0, 3.0]
    assert rows["idx"].tolist() == [None, 4, None]
    assert rows["label"].tolist() == [None, "l", None]


def test_only_what_is_settled_has_a_hash():
    now = datetime(2026, 1, 1)
    rows = settled_rows({"x": done(), "y": CellOutcome("failed"), "z": CellOutcome("refused", reason="no")}, "r", now)
    assert [row["content_hash"] is None for row in rows] == [False, True, False]
    assert [(row["n_records"], row["run_id"], row["finished"]) for row in rows] == [(1, "r", now), (0, "r", now), (0, "r", now)]  # fmt: skip


# ---- transactions ---------------------------------------------------------------------------------------------------------


def test_a_transaction_inside_another_is_a_part_of_it():
    con = duckdb.connect()
    con.execute("CREATE TABLE t (i INTEGER)")
    with pytest.raises(KeyError), transaction(con):  # noqa: PT012
        with transaction(con):
            con.execute("INSERT INTO t VALUES (1)")
        raise KeyError
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    with transaction(con):
        con.execute("INSERT INTO t VALUES (1)")
    con.execute("BEGIN")
    con.execute("ROLLBACK")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


def test_an_error_is_told_as_it_was_even_when_nothing_is_left_to_roll_back():
    con = duckdb.connect()
    with pytest.raises(KeyError), transaction(con):  # noqa: PT012
        con.execute("COMMIT")
        raise KeyError

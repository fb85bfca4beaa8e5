"""The chain, entry by entry: hand-made ones that break in one place each, and rows that are not as it says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import duckdb
import numpy as np
import pytest

from orledger.schema import chain, receipts
from orledger.schema.ledger import Entry, replaced, subject
from orledger.schema.transactions import transaction
from orledger.schema.writing import CellOutcome, PlannedCell, Writer

START = datetime(2026, 1, 1)


def entry(sequence, previous="", branch=0, kind="cells", at=None, payload="{}", items=()):
    made = Entry(branch, sequence, kind, at or START + timedelta(hours=sequence), payload, subject(items), previous, "")
    return replace(made, hash=made.recomputed())


def linked(n, branch=0):
    found = []
    for k in range(1, n + 1):
        found.append(entry(k, found[-1].hash if found else "", branch))
    return found


def told(entries):
    return [(f.rule, f.where, f.detail) for f in chain._links(entries)]


def test_a_whole_chain_has_nothing_to_tell():
    assert told(linked(3)) == []
    same = entry(1)
    assert told([same, entry(2, same.hash, at=same.written)]) == []  # two entries of one moment


def test_an_entry_that_is_missing_is_told_where_it_was():
    first, _, third = linked(3)
    assert told([first, third]) == [
        ("the chain is broken", "entry 3 (cells)", "entries are missing before it, after entry 1")
    ]
    assert told([third])[0][2] == "entries are missing before it, after the beginning"
    assert told([])[0][2] == "this file has no history of its own"


def test_an_entry_that_follows_another_hash_is_told():
    first = entry(1)
    for second in (entry(2, "0" * 64), entry(2)):
        assert told([first, second]) == [
            ("the chain is broken", "entry 2 (cells)", "it does not follow the hash of entry 1")
        ]
    assert told([entry(1, "0")])[0][2] == "it does not follow the hash of the beginning"


def test_an_entry_that_was_changed_is_told_with_both_hashes():
    changed = replace(entry(1), payload='{"x":1}')
    ((rule, where, detail),) = told([changed])
    assert (rule, where) == ("an entry was changed", "entry 1 (cells)")
    assert detail == f"its hash is {changed.hash[:12]}, and it gives {changed.recomputed()[:12]}"


def test_a_time_that_goes_back_is_told():
    first = entry(1)
    second = entry(2, first.hash, at=first.written - timedelta(seconds=1))
    assert [t[0] for t in told([first, second])] == ["a time goes back"]


def test_a_branch_ends_where_a_merge_says():
    own, other = linked(2), linked(2, branch=1)
    assert told([*own, *other]) == [
        ("the chain is broken", "branch 1", f"no merge names its last hash, {other[-1].hash[:12]}")
    ]
    merge = entry(3, own[-1].hash, kind="merge", payload=f'{{"histories": [{{"head": "{other[-1].hash}"}}, null]}}')
    assert told([*own, merge, *other]) == []
    named = entry(3, own[-1].hash, kind="cells", payload=merge.payload)
    assert len(told([*own, named, *other])) == 1  # only a merge speaks for a branch
    earlier = entry(3, own[-1].hash, kind="merge", payload=f'{{"histories": [{{"head": "{other[0].hash}"}}]}}')
    assert len(told([*own, earlier, *other])) == 1
    broken = told([*own, merge, other[1]])
    assert broken == [("the chain is broken", "entry 2 (cells) of branch 1", "entries are missing before it, after the beginning")]  # fmt: skip


# ---- items and rows, in tables of one's own -------------------------------------------------------------------------------


@pytest.fixture
def con():
    made = duckdb.connect()
    made.execute("CREATE TABLE ledger (branch INTEGER, sequence INTEGER, kind VARCHAR, written TIMESTAMP, payload VARCHAR, subject VARCHAR, previous VARCHAR, hash VARCHAR)")  # fmt: skip
    made.execute(
        "CREATE TABLE ledger_item (branch INTEGER, sequence INTEGER, part VARCHAR, key VARCHAR, digest VARCHAR)"
    )
    made.execute("CREATE TABLE registration (hash VARCHAR, hypothesis VARCHAR, text VARCHAR, parent VARCHAR, registered TIMESTAMP, cells_done INTEGER, reaches VARCHAR[])")  # fmt: skip
    made.execute(
        "CREATE TABLE cell (cell_id VARCHAR, case_name VARCHAR, name VARCHAR, state VARCHAR, finished TIMESTAMP)"
    )
    made.execute("CREATE TABLE run (run_id VARCHAR, state VARCHAR)")
    return made


def test_items_belong_to_their_entry(con):
    items = [("run", "a", "1"), ("run", "b", "2")]
    entries = [entry(1), entry(2, items=items), entry(3, items=items), entry(4, items=items)]
    con.execute("INSERT INTO ledger_item VALUES (0, 2, 'run', 'b', '2'), (0, 2, 'run', 'a', '1'), (0, 3, 'run', 'a', '1'), (0, 9, 'run', 'a', '1')")  # fmt: skip
    found = [(f.rule, f.where, f.detail) for f in chain._items(con, entries)]
    assert found == [
        ("an entry was changed", "entry 3 (cells)", "its items are not those it was written with"),
        ("the chain is broken", "entry 9 (absent)", "items belong to it, and the entry is gone"),
        ("an entry was changed", "entry 4 (cells)", "its items are gone"),
    ]


def test_rows_are_as_the_chain_recorded_them(con):
    with transaction(con):
        con.execute("INSERT INTO run VALUES ('kept', 'x'), ('gone', 'x'), ('changed', 'x'), ('taken', 'x')")
        chain.append(con, "run", {}, {"run": ["kept", "gone", "changed", "taken"]}, now=START)
    with transaction(con):
        con.execute("DELETE FROM run WHERE run_id = 'taken'")
        chain.append(con, "run", {}, {"run": ["taken"]}, now=START)
    assert list(chain._rows(con)) == []
    con.execute("DELETE FROM run WHERE run_id = 'gone'")
    con.execute("UPDATE run SET state = 'y' WHERE run_id = 'changed'")
    con.execute("INSERT INTO run VALUES ('past', 'x'), ('taken', 'x')")
    found = {f.where: (f.rule, f.detail) for f in chain._rows(con)}
    changed = found.pop("run changed")
    assert changed[0] == "a row was changed"
    digest = sha256(b'{"run_id":"changed","state":"x"}').hexdigest()
    after = sha256(b'{"run_id":"changed","state":"y"}').hexdigest()
    assert changed[1] == f"the chain recorded {digest[:12]}, and it gives {after[:12]}"
    assert found == {
        "run gone": ("a row is gone", "the chain recorded it in run"),
        "run past": ("a row is not in the chain", "run was written past the ledger"),
        "run taken": ("a row is not in the chain", "run was written past the ledger"),
    }


def test_a_row_that_was_changed_past_the_ledger_is_not_vouched_for_later(con):
    with transaction(con):
        con.execute("INSERT INTO run VALUES ('a', 'x'), ('b', 'x')")
        chain.append(con, "run", {}, {"run": ["a", "b"]}, now=START)
    con.execute("UPDATE run SET state = 'edited' WHERE run_id = 'a'")
    with transaction(con):
        con.execute("UPDATE run SET state = 'ended'")
        made = chain.append(con, "run", {}, {"run": ["a", "b"]}, now=START)
    vouched = con.execute("SELECT key FROM ledger_item WHERE sequence = ?", [made.sequence]).fetchall()
    assert vouched == [("b",)]
    assert [(f.rule, f.where) for f in chain._rows(con)] == [("a row was changed", "run a")]


def test_an_entry_is_never_before_the_one_before(con):
    one = chain.append(con, "run", {"b": 1, "a": 2}, now=START)
    assert (one.branch, one.sequence, one.previous, one.written, one.payload) == (0, 1, "", START, '{"a":2,"b":1}')
    two = chain.append(con, "run", {}, {"run": ["x", "x"]}, now=START - timedelta(hours=1))
    assert (two.sequence, two.previous, two.written) == (2, one.hash, START)
    assert con.execute("SELECT branch, sequence, part, key FROM ledger_item").fetchall() == [(0, 2, "run", "x")]
    three = chain.append(con, "run", {}, now=START + timedelta(hours=1))
    assert (three.sequence, three.written) == (3, START + timedelta(hours=1))
    con.execute("INSERT INTO ledger SELECT 1, 7, kind, written, payload, subject, previous, hash FROM ledger WHERE sequence = 1")  # fmt: skip
    four = chain.append(con, "run", {})  # another branch has its own numbers
    assert (four.sequence, four.previous) == (4, three.hash)
    assert abs(datetime.now(UTC).replace(tzinfo=None) - four.written) < timedelta(hours=1)
    assert told(sorted(chain.entries(con, "branch = 0"), key=lambda e: e.sequence)) == []


def test_the_first_entry_vouches_for_what_is_there(con):
    empty = chain.begin(con)
    assert (empty.kind, empty.summary["note"], empty.summary["rows"]) == ("genesis", "the first entry of a new database", {})  # fmt: skip
    assert len(empty.summary["token"]) == 16
    con.execute("DELETE FROM ledger")
    con.execute("INSERT INTO run VALUES ('a', 'x'), ('b', 'x')")
    held = chain.begin(con)
    assert held.summary["note"] == chain.BEFORE
    assert held.summary["rows"] == {"run": 2}
    assert list(chain._rows(con)) == []


def test_a_migration_vouches_for_what_it_changed_and_nothing_else(con):
    with transaction(con):
        con.execute("INSERT INTO run VALUES ('a', 'x'), ('b', 'x')")
        chain.append(con, "run", {}, {"run": ["a", "b"]}, now=START)
    con.execute("UPDATE run SET state = 'tampered' WHERE run_id = 'a'")
    before = set(chain.disagreeing(con))
    con.execute("UPDATE run SET state = 'migrated' WHERE run_id = 'b'")
    made = chain.renew(con, "2.sql", before)
    assert (made.kind, made.summary) == ("migration", {"file": "2.sql"})
    assert [f.where for f in chain._rows(con)] == ["run a"]


def registered(con, name, text, parent=None, day=1, done=0, stored=None, reaches=("toy",)):
    key = stored or sha256(text.encode()).hexdigest()
    con.execute("INSERT INTO registration VALUES (?, ?, ?, ?, ?, ?, ?)", [key, name, text, parent, START + timedelta(days=day), done, list(reaches)])  # fmt: skip
    return key


def test_texts_give_their_hash_and_have_their_parent(con):
    first = registered(con, "A", "one")
    registered(con, "A", "two", parent=first, day=2)
    assert list(chain._registrations(con)) == []
    lost, fake = "f" * 64, "e" * 64
    registered(con, "B", "three", parent=lost, day=3)
    registered(con, "C", "four", stored=fake, day=4)
    given = sha256(b"four").hexdigest()
    assert [(f.rule, f.where, f.detail) for f in chain._registrations(con)] == [
        ("a registration lost its parent", "B", f"{lost[:12]} is not in the database"),
        ("the text of a registration was changed", "C", f"registered as {fake[:12]}, and the text gives {given[:12]}"),
    ]


def test_a_hypothesis_has_one_text_in_force(con):
    first = registered(con, "A", "one")
    registered(con, "A", "two", parent=first, day=2)
    for name in ("Z", "B"):
        registered(con, name, f"{name} one")
        registered(con, name, f"{name} two", day=2)
    found = [(f.rule, f.where) for f in chain._registrations(con)]
    assert found == [("a hypothesis has two texts", "B"), ("a hypothesis has two texts", "Z")]


def test_a_registration_counts_the_cells_that_the_chain_saw_before_it(con):
    for k, (case, state) in enumerate((("toy", "done"), ("toy", "refused"), ("toy", "failed"), ("other", "done"))):
        with transaction(con):
            con.execute("INSERT INTO cell VALUES (?, ?, ?, ?, ?)", [f"c{k}", case, f"c{k}", state, START])
            chain.append(con, "cells", {}, {"cell": [f"c{k}"]}, now=START)
    with transaction(con):
        honest = registered(con, "A", "one", done=2)
        fewer = registered(con, "B", "two", done=1)
        chain.append(con, "registration", {}, {"registration": [honest, fewer]}, now=START + timedelta(days=1))
    with transaction(con):
        con.execute("INSERT INTO cell VALUES ('c9', 'toy', 'c9', 'done', ?)", [START + timedelta(days=1)])
        chain.append(con, "cells", {}, {"cell": ["c9"]}, now=START + timedelta(days=2))
    assert [(f.rule, f.where, f.detail) for f in chain._counts(con)] == [
        ("a registration came after more cells", "B", "it says that 1 cells were done, and the chain had seen 2")
    ]


def test_a_row_lies_between_its_entry_and_the_one_before(con):
    for k, hours in enumerate((0, 5, 10)):
        at = START + timedelta(hours=hours)
        with transaction(con):
            con.execute("INSERT INTO cell VALUES (?, 'toy', ?, 'done', ?)", [f"c{k}", f"n{k}", at])
            chain.append(con, "cells", {}, {"cell": [f"c{k}"]}, now=at)
    assert list(chain._times(con)) == []
    con.execute("UPDATE cell SET finished = ? WHERE cell_id = 'c1'", [START - timedelta(hours=1)])
    con.execute("UPDATE cell SET finished = ? WHERE cell_id = 'c2'", [START + timedelta(hours=11)])
    assert [(f.rule, f.where, f.detail) for f in chain._times(con)] == [
        ("a time does not fit the chain", "cell n1", f"{START - timedelta(hours=1)}, and the chain recorded it between {START} and {START + timedelta(hours=5)}"),
        ("a time does not fit the chain", "cell n2", f"{START + timedelta(hours=11)}, and the chain recorded it between {START + timedelta(hours=5)} and {START + timedelta(hours=10)}"),
    ]  # fmt: skip


def test_what_was_planned_and_what_came_of_it_are_vouched_for_apart(con):
    with transaction(con):
        con.execute("INSERT INTO cell VALUES ('c', 'toy', 'n', 'planned', NULL)")
        chain.append(con, "plan", {}, {"plan": ["c"]}, now=START)
    con.execute("UPDATE cell SET state = 'done'")
    assert [f.where for f in chain._rows(con)] == ["cell c"]
    con.execute("UPDATE cell SET state = 'planned'")
    with transaction(con):
        con.execute("UPDATE cell SET state = 'done'")
        chain.append(con, "cells", {}, {"cell": ["c"]}, now=START)
    assert list(chain._rows(con)) == []
    con.execute("UPDATE cell SET name = 'other'")
    assert [f.where for f in chain._rows(con)] == ["plan c"]


def test_the_hash_of_an_entry_is_as_it_is_defined():
    made = entry(3, "p" * 64, kind="run", payload='{"x":1}')
    text = f'[1,3,"run","2026-01-01T03:00:00.000000","{{\\"x\\":1}}","{subject([])}","{"p" * 64}"]'
    assert made.hash == sha256(text.encode()).hexdigest()
    assert subject([("b", "k", "d"), ("a", "k", "d")]) == sha256(b'["a","k","d"]\n["b","k","d"]').hexdigest()


def test_replaced_results_are_counted_by_study_with_the_time_of_the_last(con):
    assert replaced(con, ["toy"]) == (0, "")
    told = [("cells", {"toy": 2, "other": 5}), ("cells", {"toy": 1}), ("cells", {"other": 7}), ("run", {"toy": 9})]
    for hours, (kind, studies) in enumerate(told):
        chain.append(con, kind, {"replaced": studies}, now=START + timedelta(hours=hours))
    chain.append(con, "cells", {"done": 1}, now=START + timedelta(days=1))
    assert replaced(con, ["toy"]) == (3, "2026-01-01 01:00:00")
    assert replaced(con, ["toy", "other"]) == (15, "2026-01-01 02:00:00")
    assert replaced(con, ["nobody"]) == (0, "")


def test_verification_reads_what_cells_hold_where_it_is_asked(new_db):
    writer = Writer("in memory", con=new_db)
    texts, none = np.array(["a"], dtype=object), np.array([None], dtype=object)
    index = np.ma.array(np.zeros(1, dtype=np.int32), mask=[True])
    rows = {"arm": texts, "metric": texts, "label": none, "idx": index, "value": np.array([1.0])}
    writer.plan([PlannedCell("c", "toy", "main", "toy/c", {"k": 1}, "{}", "1")])
    writer.store("c", CellOutcome("done", columns=rows))
    writer._complete()
    assert chain.verify(new_db) == []
    new_db.execute("UPDATE record SET value = 2")
    assert [f.rule for f in chain.verify(new_db)] == ["the content hash differs"]
    assert chain.verify(new_db, contents=False) == []
    new_db.execute("UPDATE record SET value = 1")
    new_db.execute("CREATE OR REPLACE VIEW all_cells AS SELECT 1 AS x")
    assert [f.where for f in chain.verify(new_db)] == ["all_cells"]
    assert chain.verify(new_db, checked=True) == []
    new_db.execute("CREATE MACRO doubled(x) AS 2 * x")
    assert ["doubled" in f.where for f in chain.verify(new_db)] == [True]
    assert chain.verify(new_db, checked=True) == []


def test_a_receipt_counts_the_cells_up_to_its_head(con):
    """The head may be the very entry that stored a cell."""
    for k in (1, 2):
        with transaction(con):
            con.execute("INSERT INTO cell VALUES (?, 'toy', 'n', 'done', ?)", [f"c{k}", START])
            chain.append(con, "cells", {}, {"cell": [f"c{k}"]}, now=START)
    assert [receipts.cells_at(con, 0, k) for k in (0, 1, 2, 3)] == [0, 1, 2, 2]
    assert receipts.cells_at(con, 1, 2) == 0
    assert receipts.make(con)["cells"] == 2


@pytest.mark.parametrize(("later", "serves"), [(-1, False), (0, False), (1, True)])
def test_a_receipt_of_the_moment_of_the_first_cell_of_another_history_is_not_before_it(con, later, serves):
    """In microseconds: between histories nothing but the clocks says what came first, and equal times say nothing."""
    key, at = registered(con, "A", "one"), START + timedelta(hours=1)
    con.execute("UPDATE registration SET reaches = ['toy']")
    for sequence, kind in ((1, "registration"), (2, "receipt")):
        payload = '{"sha256": "s"}' if kind == "receipt" else "{}"
        made = entry(sequence, branch=1, kind=kind, at=at, payload=payload)
        con.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)", list(vars(made).values()))
    con.execute("INSERT INTO ledger_item VALUES (1, 1, 'registration', ?, 'd')", [key])
    with transaction(con):
        con.execute("INSERT INTO cell VALUES ('c', 'toy', 'n', 'done', ?)", [at])
        chain.append(con, "cells", {}, {"cell": ["c"]}, now=at + timedelta(microseconds=later))
    assert list(receipts.before_data(con)) == [key] * serves


def test_a_moment_is_always_after_the_last_entry(con):
    assert chain.moment(con, START) == START
    chain.append(con, "run", {}, now=START)
    tick = timedelta(microseconds=1)
    assert chain.moment(con, START - timedelta(days=1)) == START + tick
    assert chain.moment(con, START) == START + tick
    assert chain.moment(con, START + 2 * tick) == START + 2 * tick
    assert chain.moment(con, (START + 5 * tick).replace(tzinfo=UTC)) == START + 5 * tick
    con.execute("UPDATE ledger SET branch = 1")  # what others wrote is no history of this file
    assert chain.moment(con, START - timedelta(days=1)) == START - timedelta(days=1)

"""What a loop may log: what is hashed is what is stored, and a mistake is named at the call and leaves nothing behind."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import orledger
from orledger.errors import DataError, OrledgerError, UsageError
from orledger.schema.chain import verify
from orledger.schema.checking import check
from orledger.schema.reading import open_results

RECORDS = "SELECT c.name, arm, metric, label, idx, value FROM record JOIN cell c USING (cell_id) ORDER BY ALL"


@pytest.fixture
def db(tmp_path):
    return tmp_path / "r.duckdb"


def asked(db, query=RECORDS):
    """The rows of a query on a database that verifies."""
    assert check(db).findings == ()
    with open_results(db) as results:
        assert verify(results.con) == []
        return results.sql(query).rows()


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (3, "3"),
        (0.5, "0.5"),
        (np.int64(3), "3"),
        (np.float32(0.5), "0.5"),
        (np.str_("k"), "k"),
        (True, "true"),
        ("", ""),
    ],
)
def test_a_number_as_a_label_is_stored_as_its_text(db, label, text):
    with orledger.study("m", db) as s:
        s.cell(x=1).log("a", e=1.0, label=label).series("b", f=[2.0], label=label)
        s.cell(x=1).log("a", e=1.0, label=text)  # the same number again
    assert asked(db) == [("m/main/1", "a", "e", text, None, 1.0), ("m/main/1", "b", "f", text, 0, 2.0)]


SURROGATE = "a\ud800"
MISTAKES = {
    "an arm that is a number": (lambda c: c.log(5, e=1.0), r"the arm is 5, a int and not a text"),
    "an arm that is a list": (lambda c: c.log(["a"], e=1.0), r"the arm is \['a'\], a list"),
    "an arm that is empty": (lambda c: c.log("", e=1.0), "the arm is empty"),
    "an arm of a series": (lambda c: c.series(5, e=[1.0]), "the arm is 5"),
    "an arm of a refusal": (lambda c: c.refuse(5, "r"), "the arm is 5"),
    "an arm with half a character": (lambda c: c.log(SURROGATE, e=1.0), r"'a\\ud800', which UTF-8 cannot hold"),
    "an arm without end": (lambda c: c.log("a" * 10_001, e=1.0), "10,001 characters; at most 10,000"),
    "a metric with half a character": (lambda c: c.log("a", **{SURROGATE: 1.0}), "the name of a metric"),
    "a metric without a name": (lambda c: c.log("a", **{"": 1.0}), "the name of a metric is empty"),
    "a label with half a character": (lambda c: c.log("a", e=1.0, label=SURROGATE), "the label is"),
    "a label that is an object": (lambda c: c.log("a", e=1.0, label=Path("x")), "the label is PosixPath"),
    "a label that is not finite": (lambda c: c.log("a", e=1.0, label=float("nan")), "the label is nan"),
    "a reason that is a number": (lambda c: c.refuse("a", 5), "the reason of 'a' is 5"),
    "a reason that is an exception": (
        lambda c: c.refuse("a", ValueError("x")),
        r"the reason of 'a' is ValueError\('x'\)",
    ),
    "a reason that is empty": (lambda c: c.refuse("a", ""), "the reason of 'a' is empty"),
    "an index between two": (lambda c: c.log("a", e=1.0, idx=1.5), "the index is 1.5, not a whole number"),
    "an index that is a text": (lambda c: c.log("a", e=1.0, idx="1"), "the index is '1', not a whole number"),
    "an index that is not finite": (lambda c: c.log("a", e=1.0, idx=float("inf")), "the index is inf"),
    "an index beyond 32 bits": (lambda c: c.log("a", e=1.0, idx=2**40), "1099511627776 is beyond 32 bits"),
    "a number beyond the largest": (
        lambda c: c.log("a", e=1e301),
        r"e of a is 1e\+301, beyond 1e\+300, where sums overflow",
    ),
    "a number of a series": (lambda c: c.series("a", e=[1.0, -1e305]), r"beyond 1e\+300"),
    "a whole number of hundreds of digits": (lambda c: c.log("a", e=10**400), "e of a is 1000"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_at_the_call_and_nothing_of_it_is_kept(db, name):
    act, message = MISTAKES[name]
    with orledger.study("m", db) as s:
        cell = s.cell(x=1).log("z", e=1.0)
        with pytest.raises(OrledgerError, match=message):
            act(cell)
        assert cell.arms == {"z"}
        cell.log("z", f=2.0)
        s.cell(x=2).log("z", e=3.0)
    assert [row[-1] for row in asked(db)] == [1.0, 2.0, 3.0]
    assert asked(db, "SELECT * FROM refusal") == []


def test_an_index_is_a_whole_number_however_it_is_written(db):
    with orledger.study("m", db) as s:
        cell = s.cell(x=1).log("a", e=1.0, idx=1.0).log("a", e=2.0, idx=np.int64(2)).log("a", e=3.0, idx=-(2**31))
        for other in (1, np.float64(1)):
            with pytest.raises(DataError, match=r"index 1 is 1\.0, and 5\.0 was logged"):
                cell.log("a", e=5.0, idx=other)
    assert [row[-2:] for row in asked(db)] == [(-(2**31), 3.0), (1, 1.0), (2, 2.0)]


def test_the_largest_number_is_accepted(db):
    with orledger.study("m", db) as s:
        s.cell(x=1).log("a", e=-1e300)
    assert asked(db)[0][-1] == -1e300


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), "3"), (np.bool_(True), "true"), (np.float64(0.5), "0.5"), (np.float32(0.5), "0.5"), (np.str_("u"), "u"),
        ([np.int8(1), 2], "[1, 2]"), (None, "null"),
    ],
)  # fmt: skip
def test_numbers_of_numpy_are_keys_like_those_of_python(db, value, text):
    with orledger.study("m", db) as s:
        s.cell(k=value).log("a", e=1.0)
    with orledger.study("m", db) as s:
        plain = json.loads(text) if text != "u" else "u"
        assert "a" in s.cell(k=plain)
    assert asked(db)[0][0] == f"m/main/{text}"


@pytest.mark.parametrize("value", [Path("data"), ValueError("x"), Decimal(1), object(), {1, 2}, np.zeros(2), SURROGATE])
def test_other_objects_are_no_values_of_a_key(db, value):
    with orledger.study("m", db) as s, pytest.raises(UsageError, match=r"the key 'k' is " + re.escape(repr(value)[:5])):
        s.cell(k=value)


@pytest.mark.parametrize(
    "name",
    ["arm", "metric", "label", "idx", "value", "reason", "cell_id", "state", "points", "side", "refusal", "n", "Value", "Cell_ID"],
)  # fmt: skip
def test_a_key_that_questions_cannot_name_is_refused_at_the_call(db, name):
    with orledger.study("m", db) as s, pytest.raises(UsageError, match=f"'{name}' cannot be a key"):
        s.cell(**{name: 1})
    with pytest.raises(UsageError, match=f"'{name}' cannot be a key"):
        orledger.run_grid("g", dict, {name: [1]}, db=db, progress=False)


def test_keys_need_names_that_differ_in_more_than_case(db):
    with orledger.study("m", db) as s:
        with pytest.raises(UsageError, match="the name of a key is empty"):
            s.cell(**{"": 1})
        with pytest.raises(UsageError, match="the keys 'seed' and 'Seed' differ only in case"):
            s.cell(seed=1, Seed=2)
        s.cell(seed=1).log("a", e=1.0)
    with orledger.study("m", db) as s:
        with pytest.raises(UsageError, match="the keys 'seed' and 'SEED' differ only in case"):
            s.cell(SEED=2)
        s.cell(seed=2, other=1).log("a", e=2.0)
    assert len(asked(db)) == 2


def test_a_study_has_a_name_that_is_a_text(db):
    with pytest.raises(UsageError, match="the name of the study is 3"):
        orledger.study(3, db)
    assert not db.exists()


# What no fault may take away unnoticed: earlier sessions' arms and directions, and refusals of a cell that did not end well.


def test_a_later_session_keeps_the_direction_and_the_arms_of_earlier_ones(db):
    with orledger.study("m", db, better={"e": "lower"}) as s:
        s.cell(x=1).log("a", e=1.0).series("c", f=[1.0])
    with orledger.study("m", db) as s:
        s.cell(x=2).log("b", e=2.0, f=3.0)
    rows = asked(db, "SELECT metric, arms, better, idx FROM metric ORDER BY metric")
    assert rows == [("e", "a, b", "lower", None), ("f", "b, c", None, "step")]


def test_a_direction_said_later_holds_from_then_on(db):
    for better in ({}, {"e": "higher"}, {}):
        with orledger.study("m", db, better=better) as s:
            s.cell(x=len(better), y=str(better)).log("a", e=1.0)
    with orledger.study("m", db) as s:
        s.cell(x=9, y="").log("a", e=2.0)
    assert asked(db, "SELECT better FROM metric") == [("higher",)]


def test_refusals_of_a_cell_that_did_not_end_well_are_taken_back(db):
    with orledger.study("m", db) as s:
        s.cell(x=1).refuse("kept", "before").log("kept too", e=1.0)
        with pytest.raises(RuntimeError):
            refused_and_failed(s)
        assert s.cell(x=1).arms == {"kept", "kept too"}
        s.cell(x=1).log("b", e=2.0)
    assert asked(db, "SELECT arm, reason FROM refusal") == [("kept", "before")]
    assert [row[1] for row in asked(db)] == ["b", "kept too"]


def refused_and_failed(s):
    """Refuses and logs in a cell, and fails before it ends."""
    with s.cell(x=1) as cell:
        cell.refuse("lost", "after").refuse("kept", "another reason").log("lost too", e=1.0)
        raise RuntimeError


def answers(lam, *, label_of=None):
    """One number for a point of the grid."""
    return {"a": {"e": lam + 1.0}}


def test_axes_may_be_arrays(db):
    done = orledger.run_grid("g", answers, {"lam": np.arange(2)}, db=db, progress=False)
    again = orledger.run_grid("g", answers, {"lam": [0, 1]}, db=db, progress=False)
    assert (done.done, again.done, again.skipped) == (2, 0, 2)
    assert [row[0] for row in asked(db)] == ["g/main/0", "g/main/1"]


def numbered_arms(lam):
    """A function whose arms are numbers."""
    return {lam: {"e": 1.0}}


def test_a_grid_whose_arms_are_numbers_says_so(db):
    assert orledger.run_grid("g", numbered_arms, {"lam": [1, 2]}, db=db, progress=False).failed == 2
    assert "the arm is 1, a int and not a text" in asked(db, "SELECT error FROM cell ORDER BY name")[0][0]

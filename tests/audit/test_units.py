"""The values of a quantity and the planned units that have none, from one small database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis_text import comparison

from orledger.audit.evaluation.units import UnitReader, effective_unit, load_units
from orledger.audit.registry.quantities import Aggregate, Quantity, RecordSource
from orledger.errors import DataError

A = RecordSource("a", "m")


@pytest.fixture(scope="module")
def ledger(module_db):
    """Blocks of a few cells, each for one question."""
    db = module_db
    db.cell({"k": 0}, [("a", "m", 1.5), ("b", "m", 9.0)], block="states")
    db.cell({"k": 1}, refusals=[("a", "empty set"), ("b", "late")], block="states")
    db.cell({"k": 2}, [("b", "m", 9.0)], refusals=[("b", "late")], block="states")
    db.cell({"k": 3}, state="failed", block="states")
    db.cell({"k": 4}, state="planned", block="states")
    db.cell({"k": 5}, state="refused", reason="no such target", block="states")
    db.cell({"k": 6}, state="refused", block="states")
    db.cell({"k": 0}, [("a", "m", 1.0, None, 0), ("a", "m", 2.0, None, 1)], block="series")
    db.cell({"k": 1}, [("b", "m", 1.0, None, 0)], block="series")
    for k, values in enumerate(((1.0, 3.0), (4.0,), (-1.0, 1.0))):
        for seed, v in enumerate(values):
            db.cell({"k": k, "seed": seed}, [("a", "m", v)], block="seeds")
    db.cell({"k": 1, "seed": 1}, state="failed", block="seeds")
    db.cell({"k": 3, "seed": 0}, state="failed", block="seeds")
    db.cell({"k": 0}, [("a", "m", 1.0), ("b", "m", 2.0)], block="arms")
    db.cell({"k": 1}, [("a", "m", 3.0)], block="arms")
    db.cell({"k": 2}, state="failed", block="arms")
    db.cell({"k": 1e-7}, [("a", "m", 1.0)], case="u", block="small")
    db.cell({"k": 0, "extra": 1}, [("a", "m", 1.0)], block="more")
    db.cell({"k": 0, "extra": 2}, state="failed", block="more")
    db.cell({"k": 1, "extra": 1}, state="failed", block="more")
    db.cell({"k": 2}, [("a", "m", 2.0)], block="more")
    for seed in range(80):  # two of each reason
        db.cell({"k": 0, "seed": seed}, state="refused", reason=f"{seed * 11 % 40:02}", block="reasons")
    return UnitReader(db.results)


def loaded(ledger, quantity, keys=("k",)):
    found = load_units(ledger, quantity, keys)
    return found.values.rows(), found.absent.rows()


def test_every_planned_unit_has_a_value_or_a_reason(ledger):
    """Refused and failed units are declined; those that were not computed, or recorded nothing, are merely absent."""
    values, absent = loaded(ledger, Quantity("t", "states", A))
    assert values == [("0", 1.5, 1)]
    assert absent == [
        ("1", "arm refused: empty set", True),
        ("2", "no record", False),
        ("3", "cell failed", True),
        ("4", "cell not computed", False),
        ("5", "cell refused: no such target", True),
        ("6", "cell refused: no reason given", True),
    ]


def test_a_unit_is_called_as_the_database_calls_its_key(ledger):
    (name,) = ledger.results.con.execute("SELECT k::VARCHAR FROM u_small").fetchall()[0]
    assert loaded(ledger, Quantity("u", "small", A))[0] == [(name, 1.0, 1)]


def test_that_an_arm_refused_is_a_value_itself(ledger):
    values, absent = loaded(ledger, Quantity("t", "states", refused="a"))
    assert values == [("0", 0, 1), ("1", 1, 1), ("2", 0, 1), ("5", 1, 1), ("6", 1, 1)]
    assert [row[0] for row in absent] == ["3", "4"]


def test_several_values_for_a_unit_are_none(ledger):
    """As many values as cells, and yet one unit has two of them and the other none."""
    values, absent = loaded(ledger, Quantity("t", "series", A, idx=("lt", 2)))
    assert values == []
    assert absent == [
        ("1", "no record", False),
        ("0", "2 values for one unit; narrow the comparison with where", False),
    ]
    assert loaded(ledger, Quantity("t", "series", A, idx=("lt", 1)))[0] == [("0", 1.0, 1)]
    assert loaded(ledger, Quantity("t", "series", A, over_idx="sum"))[0] == [("0", 3.0, 2)]


def test_several_values_for_a_unit_without_a_name_are_none(ledger):
    values, absent = loaded(ledger, asked("SELECT NULL AS k, v AS value FROM (VALUES (1.0), (2.0)) t(v)"))
    assert values == []
    assert absent == [(None, "2 values for one unit; narrow the comparison with where", False)]
    some = "SELECT k, v AS value FROM (VALUES ('x', 1.0), ('y', 3.0), ('x', 2.0)) t(k, v)"
    values, absent = loaded(ledger, asked(some))
    assert (values, [row[0] for row in absent]) == ([("y", 3.0, 1)], ["x"])
    many = "SELECT lpad(i::VARCHAR, 3, '0') AS k, 1.0 AS value FROM range(400) t(i), range(2)"
    assert [row[0] for row in loaded(ledger, asked(many))[1]] == [f"{i:03}" for i in range(400)]
    two = many.replace(" 1.0 AS", " lpad((i % 7)::VARCHAR, 2, '0') AS j, 1.0 AS")
    absent = [row[:2] for row in loaded(ledger, asked(two), ("j", "k"))[1]]
    assert absent == sorted((f"{i % 7:02}", f"{i:03}") for i in range(400))


def test_several_reasons_of_one_unit_stand_in_the_order_of_their_words(ledger):
    absent = loaded(ledger, Quantity("t", "reasons", A))[1]
    assert absent == [("0", f"cell refused: {i:02}", True) for i in range(40)]


def test_a_unit_that_has_a_value_is_not_missing_for_another_cell_of_its_name(ledger):
    plain = Quantity("t", "more", A)
    assert loaded(ledger, plain) == ([("0", 1.0, 1), ("2", 2.0, 1)], [("1", "cell failed", True)])
    values, absent = loaded(ledger, plain, ("k", "extra"))
    assert [row[:2] for row in values] == [("0", "1"), ("2", None)]
    assert [row[:2] for row in absent] == [("0", "2"), ("1", "1")]


CELLS = "SELECT cell_id, k::VARCHAR AS k{} FROM t_states_cells WHERE {}"


def asked(text, aggregate=None):
    return Quantity("t", "states", sql=text, aggregate=aggregate)


def test_a_query_that_names_cells_misses_those_that_it_does_not_name(ledger):
    """Two values of one cell: as many as the two cells that are planned, of which one is missing."""
    two = replace(asked("SELECT cell_id, j AS k, 7.0 AS value FROM t_series_cells, (VALUES ('x'), ('y')) t(j) WHERE k = 0"), block="series")  # fmt: skip
    values, absent = loaded(ledger, two)
    assert values == [("x", 7.0, 1), ("y", 7.0, 1)]
    assert absent == [("1", "no record", False)]
    values, absent = loaded(ledger, asked(CELLS.format(", NULLIF(k, 1)::DOUBLE AS value", "k < 3")))
    assert values == [("0", 0.0, 1), ("2", 2.0, 1)]
    assert [row[:2] for row in absent][:2] == [("1", "no record"), ("3", "cell failed")]


def test_a_query_without_cells_has_nothing_absent(ledger):
    values, absent = loaded(ledger, asked("SELECT 'x' AS k, true AS value, 3 AS points"))
    assert (values, absent) == ([("x", 1.0, 3)], [])
    assert absent == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("1 AS value", "no column k"),
        ("'x' AS k", "no column value"),
        ("'x' AS k, 'y' AS value", "returns String for value"),
        ("[1] AS k, 1.0 AS value", "for the key k"),
        ("'x' AS k, 'nan'::DOUBLE AS value", "returns NaN"),
        ("'x' AS k, 1.0 AS value, -1 AS points", "points that count nothing"),
        ("'x' AS k, 1.0 AS value, 2.0**63 AS points", "points that count nothing"),
        ("'x' AS k, 1.0 AS value, 'y' AS points", "returns String for points"),
    ],
)
def test_what_a_test_cannot_use_is_refused(ledger, columns, message):
    with pytest.raises(DataError, match=message):
        load_units(ledger, asked(f"SELECT {columns}"), ("k",))


@pytest.mark.parametrize("points", [0, 2**62, "NULL"])
def test_what_a_test_can_use_is_taken(ledger, points):
    values, _ = loaded(ledger, asked(f"SELECT 1 AS k, 'inf'::DOUBLE AS value, {points} AS points"))
    assert values == [("1", float("inf"), None if points == "NULL" else points)]


def test_a_statistic_over_seeds_and_the_seeds_that_are_lost(ledger):
    over = Quantity("t", "seeds", A, aggregate=Aggregate(("seed",), "mean"))
    values, absent = loaded(ledger, over)
    assert values == [("0", 2.0, 2), ("1", 4.0, 1), ("2", 0.0, 2)]
    assert absent == [("1", "cell failed (seed 1)", True), ("3", "cell failed (seed 0)", True)]


def test_a_spread_needs_two_values_and_a_mean_that_is_not_zero(ledger):
    """1 and 3: their deviation is the root of two, over the mean of 2."""
    values, absent = loaded(ledger, Quantity("t", "seeds", A, aggregate=Aggregate(("seed",), "cv")))
    assert values == [("0", pytest.approx(2**0.5 / 2), 2)]
    assert absent[2:] == [
        ("1", "one value is not enough for cv", False),
        ("2", "cv is not defined for these values", False),
    ]


def test_arms_may_be_units(ledger):
    """What is planned then are cells: one that has a value of any arm is not missing."""
    every = Quantity("t", "arms", RecordSource(None, "m"))
    values, absent = loaded(ledger, every, ("k", "arm"))
    assert values == [("0", "a", 1.0, 1), ("0", "b", 2.0, 1), ("1", "a", 3.0, 1)]
    assert absent == [("2", None, "cell failed", True)]


def test_copies_stand_in_for_views_and_not_where_arms_are_units(ledger):
    copy = UnitReader(ledger.results, copies={"t_arms": "copied"})
    ledger.results.con.execute("CREATE OR REPLACE TEMP TABLE copied AS SELECT * FROM t_arms WHERE arm = 'b'")
    assert loaded(copy, Quantity("t", "arms", RecordSource("b", "m")))[0] == [("0", 2.0, 1)]
    assert loaded(copy, Quantity("t", "arms", A))[0] == []
    assert len(loaded(copy, Quantity("t", "arms", RecordSource(None, "m")), ("k", "arm"))[0]) == 3


def test_an_answer_is_remembered(ledger):
    calls = []
    for _ in range(2):
        assert ledger.recall("once", lambda: calls.append(1) or len(calls)) == 1


def test_values_are_units_where_every_cell_has_the_setting(ledger):
    con = ledger.results.con
    body = 'test = "sign"\narms = ["a", "b"]\npair = ["k", "seed"]\nunit = ["k"]\nblocked = "mean"\nblock = "seeds"\n'
    c = comparison(body + 'independent_when = { stream = "own" }\n')
    seen = []
    for which in ("false", "keys['seed'] = '0'", "true"):
        con.execute("UPDATE cell SET spec = '{}'")
        con.execute(f'UPDATE cell SET spec = \'{{"settings": {{"stream": "own"}}}}\' WHERE {which}')
        seen.append(effective_unit(UnitReader(ledger.results), c))
    assert seen == [("k",), ("k",), ("k", "seed")]
    assert effective_unit(ledger, comparison(body)) == ("k",)
    flat = 'test = "sign"\narms = ["a", "b"]\npair = ["k"]\nunit = ["k"]\nblock = "seeds"\nindependent_when = { stream = "own" }\n'  # fmt: skip
    assert effective_unit(ledger, comparison(flat)) == ("k",)

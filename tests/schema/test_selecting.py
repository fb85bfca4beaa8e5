"""The builder of queries: every text it writes is a query that DuckDB answers as the docstrings say."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orledger.reports.generic import natural
from orledger.schema.layouts import Layout, identifier, literal
from orledger.schema.selecting import Condition, Selection, equal, natural_order, select

LAYOUT = Layout(
    "lab",
    "main",
    "lab_main",
    keys={"size": ("size_key", "BIGINT"), "name": ("name", "VARCHAR")},
    scalars={"error": "error_metric", "order": "order"},
)


@pytest.fixture(scope="module")
def con():
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE lab_main AS SELECT * FROM (VALUES"
        " ('c1', 'one', 'cpu', 1, 'x''y', 'a', NULL, 0.1::DOUBLE, NULL::DOUBLE),"
        " ('c2', 'two', 'cpu', 10, '2', 'a', NULL, NULL, 3.0),"
        " ('c3', 'three', 'cpu', 2, '2.0', 'b', 'l', 0.5, 1.0),"
        " ('c4', 'four', 'cpu', 2, 'z', 'a', NULL, NULL, NULL)"
        ') t(cell_id, cell, computed_on, size_key, name, arm, label, error_metric, "order")'
    )
    return con


def test_a_selection_returns_what_its_docstring_says(con):
    """Keys and metrics under their own names, also where the view calls them otherwise; rows without any metric are left out."""
    found = con.sql(Selection("lab", "main", ["a", "b"], ["error", "order"], ["size", "none"]).sql(LAYOUT))
    assert found.columns == ["cell_id", "cell", "computed_on", "size", "none", "arm", "label", "error", "order"]
    assert [(r[0], r[3], r[4], *r[7:]) for r in found.fetchall()] == [
        ("c1", 1, None, 0.1, None),
        ("c3", 2, None, 0.5, 1.0),
        ("c2", 10, None, None, 3.0),
    ]


@pytest.mark.parametrize(
    ("where", "cells"),
    [
        ({"size": 2}, ["c3"]),
        ({"size": (1, 10)}, ["c1", "c2"]),
        ({"size": "10"}, ["c2"]),  # a text is compared with the number as a text
        ({"name": 2}, ["c2", "c3"]),  # and a number with texts as a number
        ({"name": "2"}, ["c2"]),
        ({"name": ["x'y", "2.0"]}, ["c1", "c3"]),
        ({"none": 1}, []),
    ],
)
def test_values_are_compared_as_what_they_are(con, where, cells):
    chosen = Selection("lab", "main", ["a", "b"], ["error", "order"], [], where=where)
    assert sorted(r[0] for r in con.sql(chosen.sql(LAYOUT)).fetchall()) == cells
    stored = {"c1": ("1", "x'y"), "c2": ("10", "2"), "c3": ("2", "2.0")}
    held = [c for c, (size, name) in stored.items() if chosen.holds({"size": size, "name": name})]
    assert held == cells  # what a plan says of a cell is what the view says of it


def test_a_block_that_is_not_there_has_no_rows_and_all_columns(con):
    for layout in (Layout("lab", "gone", ""), LAYOUT):
        chosen = Selection("lab", "gone", ["a"], ["error"], ["size"], indexed=True, where={"size": 1})
        found = con.sql(chosen.sql(layout))
        assert found.columns == ["cell_id", "cell", "computed_on", "size", "arm", "label", "idx", "error"]
        assert found.fetchall() == []


@pytest.mark.parametrize("value", ["it's", "", 3, 0.1, 1 / 3, 1e300, 5e-324, 0.1 + 0.2, 123456789.123456789, True])
def test_a_literal_is_read_back_as_the_same_value(con, value):
    kind = "VARCHAR" if isinstance(value, str) else "DOUBLE"
    assert con.sql(f"SELECT ({literal(value)})::{kind}").fetchall() == [(value,)]


def test_equal_knows_one_several_and_none(con):
    asked = [equal("label", [None]), equal("cell_id", ["c1"]), equal("cell_id", ["c1", "c3"])]
    assert [con.sql(select(["count(*)"], "lab_main", [a])).fetchall() for a in asked] == [[(3,)], [(1,)], [(2,)]]


def test_an_identifier_with_quotes_stays_one_name(con):
    name = identifier('a" b')
    text = select([f"1 AS {name}"], "lab_main", order=[name])
    assert con.sql(text).columns == ['a" b']


def test_a_ratio_is_asked_without_dividing(con):
    over = Condition("gt", (2,))
    asked = {(1, 0): True, (0, 0): False, (3, 1): True, (-3, -1): True, (2, 1): False, (-1, 0): False}
    for (top, bottom), expected in asked.items():
        assert con.sql(f"SELECT {over.ratio_sql(f'({top})', f'({bottom})')}").fetchall() == [(expected,)]


@given(st.lists(st.text("d01-9.aB/é\n nan", max_size=8), max_size=12))
def test_names_are_sorted_as_the_units_of_tables_are(names):
    con = duckdb.connect()
    con.execute("CREATE TABLE names (name TEXT)")
    con.executemany("INSERT INTO names VALUES (?)", [[n] for n in [*names, "d10", "d2"]])
    found = [n for (n,) in con.execute(f"SELECT name FROM names ORDER BY {natural_order('name')}, name").fetchall()]
    assert [natural(n) for n in found] == sorted(map(natural, [*names, "d10", "d2"]))
    assert found.index("d2") < found.index("d10")

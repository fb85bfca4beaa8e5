"""What a file of a study's views may say, and what it may read."""

from __future__ import annotations

import re

import duckdb
import pytest

from orledger.errors import DatabaseError
from orledger.schema import study_views


@pytest.fixture(scope="module")
def con():
    return duckdb.connect()


def test_statements_of_a_file_are_views_and_comments(con):
    text = 'CREATE OR REPLACE VIEW "a ""b" AS SELECT 1 AS x;\nCOMMENT ON COLUMN "a ""b".x IS NULL;\nCREATE VIEW c AS SELECT * FROM "A ""B", lab_main;'  # fmt: skip
    found = study_views.parse(con, text, "f.sql", ["LAB_main"])
    assert [(s.name, s.query) for s in found] == [
        ('a "b', "SELECT 1 AS x"), ("", ""), ("c", 'SELECT * FROM "A ""B", lab_main'),
    ]  # fmt: skip
    assert found[1].text.strip().startswith("COMMENT ON COLUMN")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "'SELECT 1' is refused"),
        ("CREATE VIEW x AS SELECT * FROM nowhere", "reads 'nowhere', which is no table"),
        ("CREATE VIEW x AS SELECT * FROM x", "reads 'x'"),
        ("CREATE VIEW x AS SELECT * FROM system.main.lab_main", "reads 'lab_main'"),
        ("CREATE VIEW x AS SELECT * FROM other.lab_main", "reads 'lab_main'"),
        ("CREATE VIEW x AS SELECT * FROM read_csv('f')", "calls the table function 'read_csv'"),
        ("CREATE VIEW x AS SELECT * FROM 'f.csv', (WITH \"f.csv\" AS (SELECT 1) SELECT 1)", "reads 'f.csv'"),
        ("CREATE VIEW x AS SELECT (SELECT 1 FROM (SELECT * FROM glob('*')))", "calls the table function 'glob'"),
    ],
)
def test_a_view_that_reads_anything_else_is_refused(con, text, message):
    with pytest.raises(DatabaseError, match=re.escape(message)):
        study_views.parse(con, text, "f.sql", ["lab_main"])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM main.lab_main",
        "WITH T AS (SELECT 1) SELECT * FROM t",
        "SELECT * FROM range(3), generate_series(1, 2), unnest([1])",
        "SELECT * FROM LAB_MAIN",
    ],
)
def test_a_view_may_read_the_database_and_make_rows(con, query):
    assert study_views.parse(con, f"CREATE VIEW x AS {query}", "f.sql", ["lab_main"])[0].query == query


def test_a_refused_statement_is_quoted_by_its_first_sixty_characters(con):
    with pytest.raises(DatabaseError, match=rf"f.sql: 'SELECT {'1' * 53}' is refused"):
        study_views.parse(con, f"SELECT {'1' * 80}", "f.sql", [])

"""Queries that give other rows each time, and those that do not: by DuckDB's own word, through views, macros and texts."""

from __future__ import annotations

import duckdb
import pytest

from orledger.errors import DatabaseError, QueryRefusedError
from orledger.schema import study_views
from orledger.schema.steadiness import Looking


@pytest.fixture(scope="module")
def con():
    made = duckdb.connect()
    made.execute('CREATE TABLE t (a INTEGER, b INTEGER, "user" VARCHAR); CREATE VIEW plain AS FROM t')
    made.execute('CREATE VIEW "w AS x" (q) AS SELECT random(); CREATE VIEW behind AS FROM "w AS x"')
    made.execute('CREATE VIEW named (a, "b)c") AS SELECT 1, now(); CREATE TABLE audit (n INTEGER)')
    return made


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT 'a' AS dataset, random() AS value", "random()"),
        ('SELECT "random"() AS value', "random()"),
        ("SELECT system.main.random()", "random()"),
        ("SELECT epoch(now())", "now()"),
        ("SELECT uuid()", "uuid()"),
        ("SELECT gen_random_uuid()", "gen_random_uuid()"),
        ("SELECT nextval('s')", "nextval()"),
        ("SELECT setseed(0.1)", "setseed()"),
        ("SELECT today()", "today()"),
        ("SELECT current_timestamp", "current_timestamp"),
        ("SELECT CURRENT_DATE - DATE '2020-01-01'", "CURRENT_DATE"),
        ("SELECT localtimestamp", "localtimestamp"),
        ("SELECT current_localtimestamp()", "current_localtimestamp()"),
        ("SELECT age(TIMESTAMP '2020-01-01')", "age()"),
        ("SELECT ago(INTERVAL 1 DAY)", "ago(): current_timestamp"),
        ("SELECT getvariable('x')", "getvariable()"),
        ("FROM t USING SAMPLE 3", "a sample without a seed"),
        ("FROM t TABLESAMPLE 10%", "a sample without a seed"),
        ("SELECT (SELECT count(*) FROM t USING SAMPLE 1)", "a sample without a seed"),
        ("WITH q AS (SELECT random() AS r) SELECT 1", "random()"),
        ("SELECT a FROM t ORDER BY random() LIMIT 1", "random()"),
        ("SELECT sum(random()) OVER () FROM t", "random()"),
        ("SELECT count(*) FILTER (random() > 0.5) FROM t", "random()"),
        ("SELECT list_transform([1], x -> x + random())", "random()"),
        ("PIVOT t ON a USING sum(random())", "random()"),
        ("FROM (PIVOT t ON a USING sum(b)), behind", "the view behind: the view w as x: random()"),
        ("PIVOT (FROM t USING SAMPLE 5) ON a USING sum(b)", "a sample that cannot be looked through"),
        ("PIVOT (SELECT *, current_date AS d FROM t) ON a USING sum(b)", "current_date"),
        ("PIVOT query('FROM t') ON a USING sum(b)", "query()"),
        ("PIVOT duckdb_memory() ON tag USING sum(memory_usage_bytes)", "duckdb_memory()"),
        ("FROM behind", "the view behind: the view w AS x: random()"),
        ("FROM named", "the view named: now()"),
        ("FROM query('SELECT random()')", "random()"),
        ("FROM query('SELECT ' || 'random()')", "put together"),
        ("FROM query_table(['t', 'behind'])", "the view behind"),
        ("FROM duckdb_memory()", "about the process"),
        ("FROM pragma_database_list", "about the process"),
        ("FROM audit", "the table audit grows"),
    ],
)  # fmt: skip
def test_what_may_be_another_answer_next_time_is_named(con, query, named):
    assert named.lower() in str(Looking(con).unsteady(query)).lower()
    with pytest.raises(QueryRefusedError, match="what to do: the same data"):
        Looking(con).require_steady(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, b AS value FROM plain",
        "SELECT \"user\", 'random()' AS value FROM t -- now()",
        "SELECT t.current_date FROM (SELECT 1 AS current_date) t",
        "SELECT age(DATE '2020-01-02', DATE '2020-01-01'), version(), geomean(a) FROM t",
        "FROM t TABLESAMPLE reservoir(5 ROWS) REPEATABLE (3)",
        "FROM t USING SAMPLE 10 PERCENT (bernoulli, 377)",
        "PIVOT t ON a USING sum(b)",
        "FROM query('SELECT a FROM t')",
        "FROM query_table('plain')",
        "SELECT CASE WHEN a > 1 THEN error('one alone') END FROM t",
        "FROM range(3), generate_series(1, 2), unnest([1])",
    ],
)
def test_what_depends_on_the_data_alone_is_let_through(con, query):
    assert Looking(con).unsteady(query) is None


def test_what_is_no_query_is_left_to_those_who_run_it(con):
    assert Looking(con).unsteady("SELEC 1") is None
    assert Looking(con).unsteady("SELECT " + "(" * 5000 + "1" + ")" * 5000) is None


def test_a_view_of_a_study_takes_no_chance(con):
    with pytest.raises(DatabaseError, match=r"f.sql: view v: random\(\) may give another value"):
        study_views.parse(con, "CREATE VIEW v AS SELECT random() AS x", "f.sql", [])
    # What is replaced by the same file is not held against it, and what is only shown may read the audit.
    text = "CREATE VIEW behind AS SELECT 1 AS x; CREATE VIEW v AS FROM behind; CREATE VIEW u AS FROM audit"
    assert len(study_views.parse(con, text, "f.sql", ["audit"])) == 3
    with pytest.raises(DatabaseError, match="view v: the view behind: the view w AS x: random"):
        study_views.parse(con, "CREATE VIEW v AS FROM behind", "f.sql", ["behind"])

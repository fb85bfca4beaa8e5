"""The sandbox: what hostile SQL may try, and what becomes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from orledger.errors import QueryRefusedError, UsageError
from orledger.schema.reading import Results, open_results
from orledger.schema.sandbox import Limits, QueryStoppedError, run_query, sandbox_config

LIMITS = Limits(seconds=60.0, rows=10_000, memory_mb=200)  # what ends by itself ends in time on a busy machine too
SHORT = replace(LIMITS, seconds=0.3)

# Found by Python replacement scans if those were on.
visible_frame = pl.DataFrame({"secret": [1]})
visible_dict = {"secret": [1]}

REFUSED = [
    # reading files
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('{tmp}/secret.parquet')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM parquet_metadata('{tmp}/secret.parquet')",
    "FROM read_duckdb('{tmp}/other.duckdb')",
    "SELECT * FROM read_csv('https://example.org/a.csv')",
    "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
    # writing files
    "COPY record TO '{tmp}/out.csv'",
    "COPY (SELECT 1) TO '{tmp}/out.parquet' (FORMAT parquet)",
    "COPY FROM DATABASE results TO memory",
    "EXPORT DATABASE '{tmp}/out'",
    "EXPLAIN ANALYZE COPY record TO '{tmp}/out.csv'",
    "FROM enable_logging('QueryLog', storage = 'file', storage_config = {{'path': '{tmp}/log'}})",
    # other databases and extensions
    "ATTACH '{tmp}/other.duckdb' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH results",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM sqlite_scan('{tmp}/a.sqlite', 'a')",
    # configuration
    "SET memory_limit = '100GB'",
    "SET enable_external_access = true",
    "RESET memory_limit",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE SECRET s (TYPE http)",
    # data definition and change
    "CREATE TABLE evil (i INTEGER)",
    "CREATE TEMP TABLE evil AS SELECT 1",
    "CREATE VIEW evil AS SELECT 1",
    "CREATE MACRO evil() AS 1",
    "DROP TABLE record",
    "ALTER TABLE record DROP COLUMN value",
    "INSERT INTO record VALUES ('x', 'a', 'm', NULL, NULL, 1.0)",
    "UPDATE record SET value = 0",
    "DELETE FROM record",
    "TRUNCATE record",
    "MERGE INTO record USING cell ON false WHEN NOT MATCHED THEN DO NOTHING",
    "WITH gone AS (DELETE FROM record RETURNING *) SELECT * FROM gone",
    "EXPLAIN ANALYZE DELETE FROM record",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "PREPARE p AS SELECT 1",
    "UPDATE EXTENSIONS",  # a kind of statement that the Python binding has no name for
    # texts that keep the parser busy for longer than any limit
    "SELECT 1 WHERE 1 IN (" + ",".join(map(str, range(30_000))) + ")",
    "SELECT count(*) FROM (VALUES " + ",".join(f"({k})" for k in range(30_000)) + ")",
    # Python objects
    "SELECT * FROM visible_frame",
    "SELECT * FROM visible_dict",
    # more than one statement, or none
    "SELECT 1; DROP TABLE record",
    "SELECT 1; SELECT 2",
    "",
    "-- nothing",
    "SELEC 1",
    # huge results
    "SELECT * FROM range(1000000000)",
    "SELECT a.* FROM record a, record b, record c",
]

STOPPED = [
    "SELECT count(*) FROM range(1000000000000) a, range(1000000) b",
    "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT max(i) FROM t",
    "SELECT sum(sqrt(a.range * b.range)) FROM range(1000000000) a, range(1000000000) b",
    "SELECT * FROM record a, record b, record c, record d ORDER BY random() LIMIT 1",
]


@pytest.fixture(scope="module")
def results(toy_db: Path) -> Iterator[Results]:
    with open_results(toy_db, **sandbox_config(LIMITS)) as opened:
        yield opened


@pytest.mark.parametrize("statement", REFUSED)
def test_hostile_sql_is_refused(results: Results, toy_db: Path, tmp_path: Path, statement: str) -> None:
    before = hashlib.sha256(toy_db.read_bytes()).hexdigest()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "secret.parquet")
    with pytest.raises(QueryRefusedError):
        run_query(results, statement.format(tmp=tmp_path), limits=LIMITS)
    assert [p.name for p in tmp_path.iterdir()] == ["secret.parquet"]
    assert hashlib.sha256(toy_db.read_bytes()).hexdigest() == before
    assert run_query(results, "SELECT count(*) AS n FROM record", limits=LIMITS)["n"][0] == 20 * 52


@pytest.mark.parametrize("statement", STOPPED)
def test_endless_sql_is_stopped(results: Results, statement: str) -> None:
    with pytest.raises((QueryStoppedError, QueryRefusedError)):
        run_query(results, statement, limits=SHORT)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM record",
        "WITH a AS (SELECT 1 AS x) SELECT * FROM a",
        "FROM cell SELECT name LIMIT 1",
        "DESCRIBE record",
        "SHOW TABLES",
        "SUMMARIZE record",
        "EXPLAIN SELECT * FROM record",
        "VALUES (1), (2)",
        "SELECT 1::HUGEINT AS h, INTERVAL 2 DAY AS i, '{}'::JSON AS j, uuid() AS u, keys FROM cell LIMIT 1;",
    ],
)
def test_honest_sql_is_answered(results: Results, statement: str) -> None:
    assert run_query(results, statement, limits=LIMITS).height >= 1


def test_a_call_may_lower_the_limits_and_not_raise_them() -> None:
    limits = Limits(seconds=10, rows=100)
    assert limits.lowered(2.0, 50) == Limits(seconds=2.0, rows=50)
    assert limits.lowered() == limits
    with pytest.raises(UsageError, match="ORLEDGER_SQL_SECONDS=20"):
        limits.lowered(seconds=20)
    with pytest.raises(UsageError, match="ORLEDGER_SQL_ROWS=101"):
        limits.lowered(rows=101)


def test_the_settings_come_from_the_environment() -> None:
    assert Limits.from_environment({}) == Limits()
    assert Limits.from_environment({"ORLEDGER_SQL_SECONDS": "2.5", "ORLEDGER_SQL_ROWS": "7"}) == Limits(
        seconds=2.5, rows=7
    )
    for bad in ("0", "-1", "soon", "nan", "inf", "1e30"):
        with pytest.raises(UsageError, match="ORLEDGER_SQL_SECONDS"):
            Limits.from_environment({"ORLEDGER_SQL_SECONDS": bad})
    for variable, bad in (("ROWS", "1e+07"), ("ROWS", str(10**20)), ("MEMORY_MB", "1"), ("MEMORY_MB", str(10**30))):
        with pytest.raises(UsageError, match=f"ORLEDGER_SQL_{variable}"):
            Limits.from_environment({f"ORLEDGER_SQL_{variable}": bad})


@pytest.mark.parametrize("asked", [{"rows": 10_000_001}, {"seconds": 1234567.5 / 4}, {"seconds": 100_000.0}])
def test_the_setting_that_is_suggested_is_accepted_and_suffices(asked: dict[str, float]) -> None:
    with pytest.raises(UsageError) as caught:
        Limits().lowered(**asked)  # type: ignore[arg-type]
    name, _, value = str(caught.value.hint).rpartition(" ")[2].partition("=")
    assert Limits.from_environment({name: value}).lowered(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_limit_that_is_no_time_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="seconds"):
        Limits().lowered(seconds=seconds)


def test_a_query_that_is_not_utf8_is_refused(results: Results) -> None:
    """What a terminal or standard input gives for bytes that are no UTF-8: a surrogate, which DuckDB cannot take."""
    with pytest.raises(QueryRefusedError, match="bytes that are not UTF-8"):
        run_query(results, b"SELECT '\xff'".decode("utf-8", "surrogateescape"))


def test_a_result_of_exactly_the_limit_is_answered(results: Results) -> None:
    assert run_query(results, "SELECT * FROM range(10000)", limits=LIMITS).height == 10_000
    with pytest.raises(QueryRefusedError, match="more than 10,000 rows"):
        run_query(results, "SELECT * FROM range(10001)", limits=LIMITS)


def test_sums_of_integers_are_integers_and_large_ones_are_not_lost(results: Results) -> None:
    frame = run_query(results, "SELECT sum(n) AS s FROM (VALUES (1), (2)) t(n)", limits=LIMITS)
    assert frame["s"].dtype == pl.Int64
    for value in (10**20 + 1, 10**37 + 1, 2**127 - 1):
        found = run_query(results, f"SELECT {value}::HUGEINT AS h", limits=LIMITS)["h"][0]
        assert str(found) == str(value)


def test_dates_that_python_has_no_name_for_are_shown_as_text(results: Results) -> None:
    query = "SELECT DATE '290000-12-31' AS late, TIMESTAMP 'infinity' AS never, [DATE '0044-03-15 (BC)'] AS ides, DATE '2024-02-29' AS leap"
    row = run_query(results, query, limits=LIMITS).row(0, named=True)
    assert (row["late"], row["never"], row["ides"]) == ("290000-12-31", "infinity", "['0044-03-15 (BC)']")
    assert row["leap"].isoformat() == "2024-02-29"
    assert run_query(results, "FROM test_all_types()", limits=LIMITS).height == 3

"""Migrations: all or nothing, once each, and views that follow their files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from orledger.errors import DatabaseError
from orledger.schema.describing import page, tables
from orledger.schema.migrate import SqlFile, migrate, schema_version, shipped_migrations


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    yield connection
    connection.close()


def test_migrating_twice_changes_nothing(con: duckdb.DuckDBPyConnection) -> None:
    assert len(migrate(con)) >= len(shipped_migrations())
    assert migrate(con) == []
    assert schema_version(con) == len(shipped_migrations())


def test_a_failing_migration_is_left_pending_and_leaves_no_trace(con: duckdb.DuckDBPyConnection) -> None:
    shipped = shipped_migrations()
    migrate(con, shipped, [])
    number = len(shipped) + 1
    bad = SqlFile("9000_bad.sql", "CREATE TABLE half (i INTEGER); CREATE TABLE cell (i INTEGER);", number)
    with pytest.raises(DatabaseError, match=r"9000_bad\.sql"):
        migrate(con, [*shipped, bad], [])
    assert schema_version(con) == len(shipped)
    assert "half" not in {t.name for t in tables(con)}
    good = SqlFile("9000_good.sql", "CREATE TABLE half (i INTEGER);", number)
    assert migrate(con, [*shipped, good], []) == ["9000_good.sql"]
    assert schema_version(con) == number


def test_a_changed_file_of_views_is_applied_again_and_old_views_go(con: duckdb.DuckDBPyConnection) -> None:
    shipped = shipped_migrations()
    first = SqlFile(
        "x.sql", "CREATE OR REPLACE VIEW x_old AS SELECT 1 AS a; CREATE OR REPLACE VIEW x_kept AS SELECT 1 AS a;"
    )
    assert migrate(con, shipped, [first])[-1] == "x.sql"
    assert migrate(con, shipped, [first]) == []
    con.execute("CREATE VIEW of_the_user AS SELECT 42 AS a")
    second = SqlFile(
        "x.sql", "CREATE OR REPLACE VIEW x_new AS SELECT 2 AS a; CREATE OR REPLACE VIEW x_kept AS SELECT 2 AS a;"
    )
    assert migrate(con, shipped, [second]) == ["x.sql"]
    assert {t.name for t in tables(con) if t.kind == "view"} == {"x_new", "x_kept", "of_the_user"}
    assert con.execute("SELECT a FROM x_kept").fetchall() == [(2,)]
    assert migrate(con, shipped, []) == ["x.sql"]
    assert {t.name for t in tables(con) if t.kind == "view"} == {"of_the_user"}


def test_every_table_and_column_says_what_it_is(con: duckdb.DuckDBPyConnection) -> None:
    migrate(con)
    missing = [t.name for t in tables(con) if not t.comment]
    missing += [f"{t.name}.{c.name}" for t in tables(con) if t.kind == "table" for c in t.columns if not c.comment]
    assert missing == []


def test_the_page_about_the_database_is_up_to_date(root: Path) -> None:
    """`make docs` writes docs/database.md from the comments."""
    assert (root / "docs" / "database.md").read_text(encoding="utf-8") == page()

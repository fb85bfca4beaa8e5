"""Migrations: all or nothing, once each."""

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
    migrate(con, shipped)
    number = len(shipped) + 1
    bad = SqlFile("9000_bad.sql", "CREATE TABLE half (i INTEGER); CREATE TABLE cell (i INTEGER);", number)
    with pytest.raises(DatabaseError, match=r"9000_bad\.sql"):
        migrate(con, [*shipped, bad])
    assert schema_version(con) == len(shipped)
    assert "half" not in {t.name for t in tables(con)}
    good = SqlFile("9000_good.sql", "CREATE TABLE half (i INTEGER);", number)
    assert migrate(con, [*shipped, good]) == ["9000_good.sql"]
    assert schema_version(con) == number


def test_every_table_and_column_says_what_it_is(con: duckdb.DuckDBPyConnection) -> None:
    migrate(con)
    missing = [t.name for t in tables(con) if not t.comment]
    missing += [f"{t.name}.{c.name}" for t in tables(con) if t.kind == "table" for c in t.columns if not c.comment]
    assert missing == []


def test_the_page_about_the_database_is_up_to_date(root: Path) -> None:
    """`make docs` writes docs/database.md from the comments."""
    assert (root / "docs" / "database.md").read_text(encoding="utf-8") == page()


def test_every_column_says_what_it_means_and_a_view_of_a_table_says_the_same(con: duckdb.DuckDBPyConnection) -> None:
    migrate(con)
    found = {t.name: {c.name: c.comment for c in t.columns} for t in tables(con)}
    assert [
        (name, column) for name, columns in found.items() for column, comment in columns.items() if not comment
    ] == []
    for view, table in (
        ("newest_tests", "test_result"),
        ("newest_claims", "claim"),
        ("newest_verdicts", "disposition"),
    ):
        assert found[view] == {column: found[table][column] for column in found[view]}
    assert found["all_cells"]["reason"] == "Why the whole cell was refused"

"""Numbered migrations: how an empty or older database becomes one of the current schema.

A migration and the row that records it share one transaction, so a failure leaves it pending and the database as it
was; a new database gets all of them in one. Views are derived from the catalogue and made anew whenever they would differ (see ``viewing``).
"""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from orledger import __version__
from orledger.errors import DatabaseError
from orledger.schema import catalogue, chain, declaring, ledger, viewing
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

# The schema version from which on a database describes itself.
CATALOGUED = 4

NUMBERED = re.compile(r"^(\d{4})_\w+\.sql$")


@dataclass(frozen=True)
class SqlFile:
    """One SQL file that ships with the package, and its place among the migrations."""

    name: str
    text: str
    number: int

    @property
    def sha256(self) -> str:
        """Hash of the text, 64 hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def shipped_migrations() -> tuple[SqlFile, ...]:
    """The migrations of this package in order; two files with one number are an error."""
    entries = ((e, NUMBERED.match(e.name)) for e in files("orledger.schema.migrations").iterdir())
    found = [SqlFile(e.name, e.read_text(encoding="utf-8"), int(match.group(1))) for e, match in entries if match]
    found.sort(key=lambda f: f.name)
    numbers = [f.number for f in found]
    if numbers != list(range(1, len(found) + 1)):
        raise DatabaseError(f"the shipped migrations are numbered {numbers}, not 1 to {len(found)} without a gap")
    return tuple(found)


def version_of_ours(con: DuckDBPyConnection) -> int | None:
    """The number of the newest migration applied; None for a database without our table of migrations.

    The table is known by its columns and its first row, not by its name alone.
    """
    here = "database_name = system.main.current_database() AND schema_name = 'main' AND table_name = 'migration'"
    if not _rows(con, f"SELECT 1 FROM system.main.duckdb_tables() WHERE {here}"):  # a view of that name is none
        return None
    columns = con.execute("FROM main.migration LIMIT 0").description or ()
    if not {"kind", "number", "name", "sha256", "objects", "version", "applied"} <= {c[0] for c in columns}:
        return None
    rows = _rows(con, "SELECT kind, name, number FROM main.migration")
    if ("migration", shipped_migrations()[0].name) not in {(kind, name) for kind, name, _ in rows}:
        return None
    return max(number or 0 for _, _, number in rows)


def is_empty(con: DuckDBPyConnection) -> bool:
    """Whether the database holds no table and no view at all."""
    return not _rows(
        con,
        "SELECT 1 FROM system.main.duckdb_tables() WHERE database_name = system.main.current_database() AND NOT internal"
        " UNION ALL SELECT 1 FROM system.main.duckdb_views() WHERE database_name = system.main.current_database() AND NOT internal",
    )


def schema_version(con: DuckDBPyConnection) -> int:
    """The number of the newest migration applied; 0 for a database that has none."""
    return version_of_ours(con) or 0


def pending(con: DuckDBPyConnection) -> list[str]:
    """The names of the migrations that the database does not hold, and the views when they are not those of its catalogue."""
    current = schema_version(con)
    waiting = [f.name for f in shipped_migrations() if f.number > current]
    return waiting + ([viewing.GENERATED] if not waiting and viewing.pending(con) else [])


def migrate(con: DuckDBPyConnection, migrations: Sequence[SqlFile] | None = None) -> list[str]:
    """The names of what was applied to bring the database up to date; an empty list when nothing was pending."""
    migrations = shipped_migrations() if migrations is None else migrations
    current = schema_version(con)
    waiting = [f for f in migrations if f.number > current]
    applied = [f.name for f in waiting]
    if waiting and is_empty(con):
        _make(con, waiting)
    else:
        for file in waiting:
            with _named(file), transaction(con):
                _apply_migration(con, file)
    if max([current, *(f.number for f in waiting)]) >= CATALOGUED:
        if catalogue.cases(con):
            declaring.declare_installed(con)
        if 0 < current < CATALOGUED:
            catalogue.complete_all(con)
        if viewing.refresh(con):
            applied.append(viewing.GENERATED)
        elif waiting:  # the same texts, on tables that may have other columns
            viewing.refresh(con, anew=True)
    if applied:
        con.execute("CHECKPOINT")
    return applied


def _make(con: DuckDBPyConnection, waiting: Sequence[SqlFile]) -> None:
    """Applies all of them to a database without tables; its chain begins with what they made."""
    with transaction(con):
        for file in waiting:
            with _named(file):
                con.execute(file.text)
                _record(con, file)
        if ledger.present(con):
            chain.begin(con)


def _apply_migration(con: DuckDBPyConnection, file: SqlFile) -> None:
    begun = ledger.present(con)
    before = ledger.disagreeing(con) if begun else {}
    con.execute(file.text)
    _record(con, file)
    if begun:
        chain.renew(con, file.name, before)
    elif ledger.present(con):
        chain.begin(con)


def _record(con: DuckDBPyConnection, file: SqlFile) -> None:
    con.execute(
        "INSERT INTO migration VALUES ('migration', ?, ?, ?, NULL, ?, now() AT TIME ZONE 'UTC')",
        [file.number, file.name, file.sha256, __version__],
    )


@contextmanager
def _named(file: SqlFile) -> Iterator[None]:
    """Names the migration that failed inside."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise DatabaseError(f"{file.name} could not be applied, and the database is as it was: {error}") from error


def _rows(con: DuckDBPyConnection, query: str) -> list[Any]:
    return con.execute(query).fetchall()

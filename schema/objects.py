"""What a database file holds beside its rows: it may run nothing but what this package makes of its catalogue.

A file from somebody else can hold functions that take the place of DuckDB's, triggers, tables that compute when they are
read, and views that never end. None of it is needed, and none of it is run: ``code_findings`` and ``view_findings`` name
it, and ``opening.connect`` refuses the file. Every question here is asked by its full name, since a function of the file
could have any other.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import duckdb

from orledger.errors import DatabaseError, VerificationError
from orledger.schema.contents import CheckFinding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from orledger.schema.viewing import ViewTexts

COMMENT = re.compile(r"(?m)^COMMENT ON .*;$")
HERE = "database_name = system.main.current_database()"
KINDS = {
    "a function was added": (
        f"SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal AND {HERE}",
        "it takes the place of what DuckDB computes; DROP MACRO removes it",
    ),
    "a trigger was added": (
        f"SELECT trigger_name FROM system.main.duckdb_triggers() WHERE {HERE}",
        "it changes rows while others are written; DROP TRIGGER removes it",
    ),
}


class StaleViewsError(DatabaseError):
    """The views are those of another version; a command that writes makes them anew."""


def code_findings(con: DuckDBPyConnection, version: int | None = None) -> list[CheckFinding]:
    """A finding per function, trigger and changed table of the database: nothing that is asked through them can be believed.

    ``version`` is that of its schema, where it is known.
    """
    found = [
        CheckFinding(rule, name, detail)
        for rule, (query, detail) in KINDS.items()
        for name in sorted({row[0] for row in con.execute(query).fetchall()})
    ]
    return found + list(_tables(con, version))


def _tables(con: DuckDBPyConnection, version: int | None) -> Iterator[CheckFinding]:
    """Tables of ours that are views, or that have other columns, defaults or conditions than the migrations give them."""
    from orledger.schema import migrate  # which writes to the chain, and is asked by it here

    views = (
        f"SELECT view_name, sql FROM system.main.duckdb_views() WHERE NOT internal AND schema_name = 'main' AND {HERE}"
    )
    tables = f"SELECT table_name, sql FROM system.main.duckdb_tables() WHERE schema_name = 'main' AND {HERE}"
    in_place = {row[0] for row in con.execute(views).fetchall()}
    stored = dict(con.execute(tables).fetchall())
    for name, text in shipped_tables(migrate.schema_version(con) if version is None else version).items():
        if name in in_place:
            yield CheckFinding("a table was changed", name, f"{name} is a view, and a table is expected")
        elif stored.get(name) != text:
            detail = (
                "it is gone"
                if name not in stored
                else "it has other columns, defaults or conditions than it was made with"
            )
            yield CheckFinding("a table was changed", name, detail)


@cache
def shipped_tables(version: int) -> dict[str, str]:
    """The tables that the first ``version`` migrations make, as DuckDB writes them down."""
    from orledger.schema import migrate

    with duckdb.connect() as con:
        for file in migrate.shipped_migrations()[:version]:
            con.execute(COMMENT.sub("", file.text))  # which make most of the work, and are not asked for here
        return dict(con.execute("SELECT table_name, sql FROM duckdb_tables()").fetchall())


def view_findings(con: DuckDBPyConnection) -> list[CheckFinding]:
    """A finding per view that is not what the catalogue and the installed studies make."""
    from orledger.schema import viewing  # which writes to the chain, and is read by it here

    return _altered(con, viewing.standing(con))


def _altered(con: DuckDBPyConnection, found: ViewTexts) -> list[CheckFinding]:
    from orledger.schema import viewing

    detail = "it is not what the catalogue makes; orledger db migrate makes all views anew"
    return [CheckFinding("a view was changed", name, detail) for name in viewing.altered(con, found)]


def require_code(path: Path, con: DuckDBPyConnection, version: int | None = None) -> None:
    """Refuses a file with functions, triggers or changed tables."""
    _refuse(path, code_findings(con, version), "open it with DuckDB and remove them, or ask for another copy")


def require_views(path: Path, con: DuckDBPyConnection) -> None:
    """Refuses a file whose views are not those that this package makes: another text, or one of another version."""
    from orledger.schema import viewing

    found = viewing.standing(con)
    if stale := viewing.stale(found):
        raise StaleViewsError(
            f"{path} has views of another version of orledger or of a study: {', '.join(stale[:4])}",
            hint=f"orledger db migrate --db {path} makes them anew; the file was not changed",
        )
    _refuse(path, _altered(con, found), f"orledger db migrate --db {path} makes all views anew")


def _refuse(path: Path, found: list[CheckFinding], hint: str) -> None:
    if found:
        first = found[0]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise VerificationError(
            f"{path} holds what orledger did not make, and it is not run: {first.rule}: {first.where}, {first.detail}{more}",
            hint=f"{hint}; orledger verify lists everything",
        )

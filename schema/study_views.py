"""Views that a study brings: each one query over the tables and views of the database, checked before it is stored.

A file of views is applied on the connection that writes, which can reach the machine. So nothing of it runs before it was
read: every statement is CREATE VIEW with one SELECT, or a comment, and a SELECT names tables that are there and no others.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from orledger.errors import DatabaseError, QueryRefusedError
from orledger.schema.sandbox import require_query
from orledger.schema.steadiness import HINT as STEADY
from orledger.schema.steadiness import Looking, nodes

if TYPE_CHECKING:
    from collections.abc import Collection

    from duckdb import DuckDBPyConnection

NAME = r'(?:[A-Za-z_]\w*|"(?:[^"]|"")+")'
SPACE = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
CREATE = re.compile(rf"(?is){SPACE}create\s+(?:or\s+replace\s+)?view\s+({NAME})\s+as\b(.*?);?\s*")
COMMENT = re.compile(
    rf"(?is){SPACE}comment\s+on\s+(?:view|column)\s+{NAME}(?:\.{NAME})?\s+is\s+(?:'(?:[^']|'')*'|null)\s*;?\s*"
)
HINT = "a file of views holds CREATE VIEW name AS SELECT ... and COMMENT ON statements"

# Table functions that make rows of nothing but their arguments.
HARMLESS = {"range", "generate_series", "unnest"}


@dataclass(frozen=True)
class Statement:
    """One statement of a file: a view by its ``name`` and its ``query``, or, with neither, the ``text`` of a comment."""

    text: str
    name: str = ""
    query: str = ""


def parse(con: DuckDBPyConnection, text: str, file: str, known: Collection[str]) -> list[Statement]:
    """The statements of ``text``; DatabaseError for one that does something else than to describe a view over ``known`` names."""
    found: list[Statement] = []
    tables = {name.lower() for name in known}
    looking: Looking | None = None
    for one in _statements(con, text, file):
        view = CREATE.fullmatch(one)
        if view is None:
            if COMMENT.fullmatch(one) is None:
                raise DatabaseError(f"{file}: {one.strip()[:60]!r} is refused", hint=HINT)
            found.append(Statement(one))
            continue
        name, query = view[1], view[2].strip()
        plain = name[1:-1].replace('""', '"') if name.startswith('"') else name
        _require_select(con, query, f"{file}: view {plain}", tables)
        looking = looking or Looking(con, growing=False)
        looking.seen.add(plain.lower())  # what the database has under this name is replaced
        if (reason := looking.unsteady(query)) is not None:
            raise DatabaseError(f"{file}: view {plain}: {reason}", hint=STEADY)
        tables.add(plain.lower())
        found.append(Statement(one, plain, query))
    return found


def _statements(con: DuckDBPyConnection, text: str, file: str) -> list[str]:
    try:
        return [s.query for s in con.extract_statements(text)]
    except duckdb.Error as error:
        raise DatabaseError(f"{file} could not be read: {error}", hint=HINT) from error


def _require_select(con: DuckDBPyConnection, query: str, where: str, tables: set[str]) -> None:
    """Refuses a query that is not one SELECT, or that reads anything but ``tables`` and rows it makes itself."""
    try:
        require_query(con, query)
    except QueryRefusedError as error:
        raise DatabaseError(f"{where}: {error.message}", hint=HINT) from error
    tree = json.loads(con.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])
    if tree.get("error"):
        raise DatabaseError(f"{where}: {tree.get('error_message')}", hint=HINT)
    found = list(nodes(tree))
    # A WITH query may hide a file of its name elsewhere in the text, so it has a name that no file has.
    own = {
        key
        for node in found
        for entry in _common_tables(node)
        if re.fullmatch(r"\w+", key := str(entry["key"]).lower())
    }
    for node in found:
        kind = node.get("type")
        if kind == "BASE_TABLE":
            name = str(node.get("table_name"))
            elsewhere = node.get("catalog_name") or node.get("schema_name") not in ("", "main")
            if elsewhere or name.lower() not in tables | own:
                raise DatabaseError(
                    f"{where}: reads {name!r}, which is no table or view of the database",
                    hint="a view reads the tables and views of this database, by their plain names",
                )
        elif kind == "TABLE_FUNCTION":
            called = str((node.get("function") or {}).get("function_name")).lower()
            if called not in HARMLESS:
                raise DatabaseError(
                    f"{where}: calls the table function {called!r}",
                    hint=f"a view reads this database and no file; allowed are {', '.join(sorted(HARMLESS))}",
                )


def _common_tables(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The WITH queries of a node, by name."""
    held = node.get("cte_map")
    found = held.get("map") if isinstance(held, dict) else None
    return [e for e in found if isinstance(e, dict) and "key" in e] if isinstance(found, list) else []

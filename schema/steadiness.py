"""Whether a query gives the same rows each time it is asked of the same data: no chance, no clock, nothing of the process.

DuckDB itself says of each function whether its value stays the same; a query is looked through as DuckDB parses it, with the
views and macros that it names.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orledger.errors import QueryRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

HINT = (
    "the same data and the same text have to give the same rows: store what is drawn or timed as a record before the audit, write"
    " a date into the text, and give a sample a seed, as in TABLESAMPLE reservoir(10 ROWS) REPEATABLE (1)"
)

# Names that DuckDB reads as a call where no column has them.
VALUES = {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "current_catalog"}

# What DuckDB calls consistent and takes from the clock; and what it calls volatile and has no value.
CLOCKS = {"current_localtime", "current_localtimestamp"}
VALUELESS = {"error"}

# Table functions that answer about the process, or run a text that is in no tree.
ABOUT_THE_PROCESS = re.compile(r"duckdb_|pragma_|json_execute_serialized_sql$")

# Tables that every audit adds to.
GROWING = {"ledger", "ledger_item", "audit", "test_result", "claim", "disposition"}

FUNCTIONS = """
SELECT lower(function_name), list(DISTINCT stability), list(DISTINCT macro_definition), bool_or(function_type = 'table_macro')
FROM system.main.duckdb_functions() WHERE internal GROUP BY 1
"""

_FUNCTIONS: dict[str, tuple[list[str], list[str], bool]] = {}


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object inside ``tree``, whatever the depth: a query may be nested as deeply as its text is long."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)


@dataclass
class Looking:
    """A look through queries and all that they name; each view and macro, and each of the ``seen`` names, is passed over after the first time."""

    con: DuckDBPyConnection
    seen: set[str] = field(default_factory=set)
    growing: bool = True  # whether tables that every audit adds to are refused: what is only shown may read them
    views: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _FUNCTIONS:  # DuckDB's own are the same for every connection
            for name, kinds, texts, table in self.con.execute(FUNCTIONS).fetchall():
                _FUNCTIONS[name] = ([k for k in kinds if k], [t for t in texts if t], table)
        for name, text in self.con.execute("SELECT lower(view_name), sql FROM system.main.duckdb_views()").fetchall():
            self.views.setdefault(name, []).append(text)

    def unsteady(self, query: str) -> str | None:
        """What in ``query`` may give other rows each time it is asked; None where nothing does."""
        return next(self._through(query), None)

    def require_steady(self, query: str) -> None:
        """Refuses a query whose rows may differ from one time to the next, on the same data."""
        if (reason := self.unsteady(query)) is not None:
            raise QueryRefusedError(reason, hint=HINT)

    def _through(self, query: str) -> Iterator[str]:
        text = self.con.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0]
        try:
            tree = json.loads(text)
        except RecursionError:
            tree = {"error": True}
        if tree.get("error"):  # PIVOT and others that DuckDB writes down as no tree
            yield from self._words(query)
            return
        for node in nodes(tree):
            yield from self._node(node)

    def _node(self, node: dict[str, Any]) -> Iterator[str]:
        sample = node.get("sample")
        if isinstance(sample, dict) and sample.get("seed") in (None, -1):
            yield "a sample without a seed is another one each time"
        kind = node.get("type")
        if kind == "COLUMN_REF":
            names = node.get("column_names") or [""]
            if len(names) == 1 and str(names[0]).lower() in VALUES:
                yield f"{names[0]} is another value at another time or place"
        elif kind == "BASE_TABLE":
            yield from self._table(str(node.get("table_name")))
        elif kind == "TABLE_FUNCTION":
            yield from self._table_function(node.get("function") or {})
        if isinstance(node.get("function_name"), str):
            yield from self._function(node["function_name"].lower(), _arguments(node))

    def _function(self, name: str, arguments: int) -> Iterator[str]:
        kinds, texts, table = _FUNCTIONS.get(name, ([], [], False))
        timed = name in CLOCKS or (name == "age" and arguments == 1)
        if timed or ({"VOLATILE", "CONSISTENT_WITHIN_QUERY"} & set(kinds) and name not in VALUELESS):
            yield f"{name}() may give another value each time it is asked"
        elif texts and self._first(f"{name}()"):
            found = (f for text in texts for f in self._through(text if table else f"SELECT {text}"))
            yield from (f"{name}(): {f}" for f in found)

    def _table(self, name: str) -> Iterator[str]:
        if self.growing and name.lower() in GROWING:
            yield f"the table {name} grows with every audit"
        if self._first(name.lower()):
            for text in self.views.get(name.lower(), []):
                yield from (f"the view {name}: {f}" for f in self._through(_body(text)))

    def _table_function(self, function: dict[str, Any]) -> Iterator[str]:
        name = str(function.get("function_name")).lower()
        if ABOUT_THE_PROCESS.match(name):
            yield f"{name}() answers about the process and not about the data"
        if name not in ("query", "query_table"):
            return
        texts, whole = _texts(function)
        if name == "query_table":
            for text in texts:
                yield from self._table(text)
        elif not whole:
            yield "query() runs a text that is put together while it runs"
        else:
            yield from (f for text in texts for f in self._through(text))

    def _words(self, query: str) -> Iterator[str]:
        """What is found in the words of a query without a tree: rather too much than too little."""
        plain = query.lower()
        for name in dict.fromkeys(re.findall(r'([a-z_]\w*)"?\s*\(', plain)):
            if name in ("query", "query_table"):
                yield f"{name}() runs a text that cannot be looked through here"
            if ABOUT_THE_PROCESS.match(name):
                yield f"{name}() answers about the process and not about the data"
            yield from self._function(name, 1)
        for name in dict.fromkeys(re.findall(r"\w+", plain)):
            if name in VALUES:
                yield f"{name} is another value at another time or place"
            elif name == "tablesample" or (name == "sample" and re.search(r"\busing\s+sample\b", plain)):
                yield "a sample that cannot be looked through here"
            yield from self._table(name)

    def _first(self, name: str) -> bool:
        new = name not in self.seen
        self.seen.add(name)
        return new


def _arguments(node: dict[str, Any]) -> int:
    """How many arguments a call has, in the tree of this DuckDB or of an earlier one."""
    found = node.get("arguments", node.get("children"))
    return len(found) if isinstance(found, list) else 0


def _texts(function: dict[str, Any]) -> tuple[list[str], bool]:
    """The texts among the arguments of a call, and whether they are all there is: no text is put together of others."""
    texts: list[str] = []
    given = function.get("arguments", function.get("children"))
    whole = True
    for node in nodes(given):
        if node.get("class") == "CONSTANT":
            literal, value = node.get("literal"), node.get("value")
            found = literal.get("text") if isinstance(literal, dict) else None
            if isinstance(value, dict):
                found = value.get("value")
            texts += [found] if isinstance(found, str) else []
        elif isinstance(node.get("class"), str):
            whole = False
    return texts, whole and len(texts) == 1


def _body(text: str) -> str:
    """The query of a view, from the text that DuckDB holds of it."""
    parts = re.fullmatch(
        r'(?is)\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?view\s+(?:(?:"(?:[^"]|"")*"|[\w.]+)\.?)+\s*(?:\([^()]*\)\s*)?as\s+(.*)',
        text,
    )
    return parts[1] if parts else text

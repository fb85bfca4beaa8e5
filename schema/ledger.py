"""The tables ledger and ledger_item: which rows an entry vouches for, their digests, and the entries in order."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import groupby
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any

from orledger.schema.hashing import canonical, texts_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from duckdb import DuckDBPyConnection

FORMAT = 1
OWN = 0  # the branch of this file's own history

# Of the table cell, what the plan says; the other columns are what came of it.
PLANNED = ("case_name", "block", "name", "keys", "spec", "hash_version", "job_id")


@dataclass(frozen=True)
class VouchedRows:
    """Rows that the ledger vouches for: a table, its key, and the columns and rows that count."""

    table: str
    key: str
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    where: str = "TRUE"


PARTS: dict[str, VouchedRows] = {
    "registration": VouchedRows("registration", "hash"),
    "registered": VouchedRows("registered", "registration"),
    "run": VouchedRows("run", "run_id"),
    "setting": VouchedRows("setting", "run_id"),
    "metric": VouchedRows("metric", "case_name"),
    "key": VouchedRows("key", "case_name"),
    "arm": VouchedRows("arm", "case_name"),
    "study": VouchedRows("study", "case_name"),
    "plan": VouchedRows("cell", "cell_id", only=PLANNED),
    "cell": VouchedRows("cell", "cell_id", without=PLANNED, where="state <> 'planned'"),
    "audit": VouchedRows("audit", "audit_id"),
    "test_result": VouchedRows("test_result", "audit_id"),
    "claim": VouchedRows("claim", "audit_id"),
    "disposition": VouchedRows("disposition", "audit_id"),
    "published": VouchedRows("published", "id"),
}

# Cells whose plan entered a history before any cell of their study had an outcome in it. What is imported or logged is
# planned when its numbers are there, which says nothing.
PLANNED_EARLY = """
WITH settled AS (
    SELECT i.branch, c.case_name, min(i.sequence) AS first FROM ledger_item i JOIN cell c ON c.cell_id = i.key
    WHERE i.part = 'cell' GROUP BY ALL
)
SELECT DISTINCT c.cell_id FROM ledger_item i JOIN cell c ON c.cell_id = i.key
LEFT JOIN settled s ON s.branch = i.branch AND s.case_name = c.case_name
WHERE i.part = 'plan' AND c.hash_version NOT LIKE 'import%' AND c.hash_version NOT LIKE 'log%'
AND (s.first IS NULL OR i.sequence < s.first)
"""

# The digest of a key without rows: what was there was taken away on purpose.
NO_ROWS = texts_digest([])


@dataclass(frozen=True)
class Entry:
    """A row of the table ledger."""

    branch: int
    sequence: int
    kind: str
    written: datetime
    payload: str
    subject: str
    previous: str
    hash: str

    @property
    def summary(self) -> dict[str, Any]:
        """The payload as data; empty when it was changed into something that is not JSON."""
        try:
            found = json.loads(self.payload)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def recomputed(self) -> str:
        """The hash that the other columns give."""
        parts = [FORMAT, self.sequence, self.kind, self.written, self.payload, self.subject, self.previous]
        return hashlib.sha256(canonical(parts).encode()).hexdigest()


Item = tuple[str, str, str]  # part, key, digest


def head(con: DuckDBPyConnection) -> Entry | None:
    """The last entry of this file's own history; None before the first."""
    found = entries(con, f"branch = {OWN} ORDER BY sequence DESC LIMIT 1")
    return found[0] if found else None


def entries(con: DuckDBPyConnection, where: str = "TRUE ORDER BY branch, sequence") -> list[Entry]:
    """The entries that a condition of our own selects, in order of branch and sequence."""
    columns = ", ".join(Entry.__dataclass_fields__)
    return [Entry(*row) for row in con.execute(f"SELECT {columns} FROM ledger WHERE {where}").fetchall()]


def replaced(con: DuckDBPyConnection, studies: Collection[str]) -> tuple[int, str]:
    """How many cells of ``studies`` got other results in place of those they had, in all histories, and when last."""
    found = [
        (sum(n for study, n in e.summary["replaced"].items() if study in studies), f"{e.written:%Y-%m-%d %H:%M:%S}")
        for e in entries(con, "kind = 'cells' AND payload LIKE '%\"replaced\"%' ORDER BY written")
    ]
    seen = [(n, at) for n, at in found if n]
    return sum(n for n, _ in seen), seen[-1][1] if seen else ""


def present(con: DuckDBPyConnection) -> bool:
    """Whether the schema of the database has a ledger."""
    return "ledger" in tables(con)


def newest(con: DuckDBPyConnection, part: str, keys: Collection[str] | None = None) -> dict[str, str]:
    """The digest that this file's history holds last for each key of ``part``; of ``keys`` alone when they are given."""
    narrowed = "" if keys is None else " AND key IN (SELECT unnest(?::VARCHAR[]))"
    query = (
        f"SELECT key, arg_max(digest, sequence) FROM ledger_item WHERE branch = ? AND part = ?{narrowed} GROUP BY key"
    )
    return dict(con.execute(query, [OWN, part, *([] if keys is None else [list(keys)])]).fetchall())


def disagreeing(con: DuckDBPyConnection) -> dict[tuple[str, str], tuple[str | None, str]]:
    """For each part and key where rows and chain differ: the digest in the chain (None: absent) and the one of the rows."""
    found: dict[tuple[str, str], tuple[str | None, str]] = {}
    held = tables(con)
    for part in filled(con, held):
        recorded = newest(con, part)
        for key, digest in digests(con, part) if PARTS[part].table in held else ():
            if (known := recorded.pop(key, None)) != digest:
                found[part, key] = (known, digest)
        found |= {(part, key): (known, NO_ROWS) for key, known in recorded.items() if known != NO_ROWS}
    return found


def filled(con: DuckDBPyConnection, held: Collection[str]) -> list[str]:
    """The parts that have rows or stand in the chain, asked at once: a new database has none, and is looked at often."""
    asked = [f"SELECT '{p}' WHERE EXISTS (FROM {of.table})" for p, of in PARTS.items() if of.table in held]
    asked.append("SELECT DISTINCT part FROM ledger_item")
    found = {row[0] for row in con.execute(" UNION ALL ".join(asked)).fetchall()}
    return [part for part in PARTS if part in found]


def digests(con: DuckDBPyConnection, part: str, keys: Collection[str] | None = None) -> list[tuple[str, str]]:
    """Key and digest of the rows of ``part``, in order of keys; of ``keys`` alone when they are given.

    Columns that are None are left out: one that a later schema adds is None in the rows before it, and leaves their digest as
    it was.
    """
    of = PARTS[part]
    listed = columns(con, of.table)
    chosen = [c for c in listed if c not in of.without and (not of.only or c in (of.key, *of.only))]
    narrowed = "" if keys is None else f" AND {of.key} IN (SELECT unnest(?::VARCHAR[]))"
    query = f"SELECT {', '.join(chosen)} FROM {of.table} WHERE {of.where}{narrowed} ORDER BY {of.key}"
    result = con.execute(query, [] if keys is None else [list(keys)])
    at = chosen.index(of.key)
    found: list[tuple[str, str]] = []
    for key, rows in groupby(_batched(result), lambda row: row[at]):
        texts = [canonical({c: v for c, v in zip(chosen, row, strict=True) if v is not None}) for row in rows]
        found.append((str(key), texts_digest(texts)))
    return found


def _batched(result: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := result.fetchmany(10_000):
        yield from batch


def subject(items: Collection[Item]) -> str:
    """One hash for the items of an entry, in any order."""
    # The canonical text of three strings, written down here: a chain has as many of them as cells.
    return texts_digest([f"[{quoted(part)},{quoted(key)},{quoted(digest)}]" for part, key, digest in items])


def columns(con: DuckDBPyConnection, table: str) -> list[str]:
    """The names of the columns of ``table`` in their order."""
    return [c[0] for c in con.execute(f"FROM {table} LIMIT 0").description or ()]


def tables(con: DuckDBPyConnection) -> set[str]:
    """The names of the tables of the database."""
    here = "database_name = current_database() AND schema_name = 'main'"
    return {name for (name,) in con.execute(f"SELECT table_name FROM duckdb_tables() WHERE {here}").fetchall()}

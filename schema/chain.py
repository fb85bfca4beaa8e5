"""The hash chain over registrations, plans, cells and audits: extended by everything that writes, verified before a verdict.

An entry vouches for rows: it holds a digest of each, and the hash of the entry before it. ``append`` belongs into the
transaction that writes the rows::

    with transaction(con):
        con.execute("INSERT INTO registration ...")
        chain.append(con, "registration", {"hypothesis": "faster"}, {"registration": [hash]})

``verify`` lists what no longer agrees. Whoever can write the file can also rewrite the whole chain; what they cannot do is
keep its head. A hash that was noted elsewhere (see ``receipts``) is no longer in a chain that was rewritten.
"""

from __future__ import annotations

import secrets
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

from duckdb import CatalogException

from orledger import __version__
from orledger.schema.contents import CheckFinding, changed_cells, content_findings
from orledger.schema.hashing import canonical
from orledger.schema.ledger import (
    NO_ROWS,
    OWN,
    PARTS,
    Entry,
    Item,
    digests,
    disagreeing,
    entries,
    filled,
    head,
    newest,
    subject,
    tables,
)
from orledger.schema.objects import code_findings, view_findings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from duckdb import DuckDBPyConnection

__all__ = ["append", "begin", "head", "moment", "renew", "verify"]

BEFORE = "history before this entry is not in the chain"


def append(
    con: DuckDBPyConnection,
    kind: str,
    payload: Mapping[str, Any],
    rows: Mapping[str, Collection[str]] | None = None,
    *,
    unseen: Collection[str] = (),
    now: datetime | None = None,
) -> Entry:
    """The new last entry of the chain, vouching for ``rows``: the keys that were written, by the name of their part.

    Rows are read back from the database, so the call comes after they are written and inside the same transaction. A key
    that has no rows any more is recorded as such. Rows that were changed past the ledger before this transaction are not
    vouched for, and go on disagreeing; to find them, what the whole file knows of the keys is read. Keys that are ``unseen``
    had neither rows nor an entry before, as the caller knows. The time is never before that of the entry before, whatever the
    clock; ``now`` is the time that the rows carry, if they carry one (see ``moment``).
    """
    items: list[Item] = []
    for part, keys in (rows or {}).items():
        seen = [key for key in keys if key not in unseen]
        found, edited = dict(digests(con, part, keys)), _edited(con, part, seen) if seen else set()
        items += [(part, key, found.get(key, NO_ROWS)) for key in dict.fromkeys(keys) if key not in edited]
    return _add(con, kind, payload, items, now)


def moment(con: DuckDBPyConnection, now: datetime | None = None) -> datetime:
    """The time to write into a row: that of the clock, and always after the last entry of the chain.

    A clock that was set back dates nothing back, and rows that are written one after another have times in that order.
    """
    clock = (now or datetime.now(UTC)).replace(tzinfo=None)
    ((last,),) = con.execute("SELECT max(written) FROM ledger WHERE branch = ?", [OWN]).fetchall()
    return clock if last is None else max(clock, last + timedelta(microseconds=1))


def _edited(con: DuckDBPyConnection, part: str, keys: Collection[str]) -> set[str]:
    """Of ``keys``, those whose rows were changed past the ledger: a later entry does not vouch for them in its turn.

    Outside a transaction what was there before is gone, and nothing can be said.
    """
    asked = "SELECT txid_current()"  # a transaction keeps its number
    if con.execute(asked).fetchall() != con.execute(asked).fetchall():
        return set()
    with closing(con.cursor()) as before:  # it sees what was there before this transaction
        try:
            known, held = newest(before, part, keys), dict(digests(before, part, keys))
        except CatalogException:  # the table itself is made in this transaction
            return set()
        edited = {key for key in {**known, **held} if known.get(key, NO_ROWS) != held.get(key, NO_ROWS)}
        if part == "cell" and (again := set(held) - edited):
            edited |= changed_cells(before, again)
    return edited


def begin(con: DuckDBPyConnection) -> Entry:
    """The first entry: of a new database, or of one that already holds rows and vouches for them from now on."""
    items = [(part, key, digest) for part in filled(con, tables(con)) for key, digest in digests(con, part)]
    counts = {part: sum(item[0] == part for item in items) for part in PARTS}
    note = BEFORE if items else "the first entry of a new database"
    payload: dict[str, Any] = {"note": note, "orledger": __version__, "token": secrets.token_hex(8)}
    return _add(con, "genesis", {**payload, "rows": {k: n for k, n in counts.items() if n}}, items, None)


def renew(con: DuckDBPyConnection, migration: str, before: Collection[tuple[str, str]]) -> Entry:
    """An entry for a migration, with the rows it changed; what disagreed ``before`` it goes on disagreeing."""
    changed = {k: now for k, (_, now) in disagreeing(con).items() if k not in before}
    return _add(con, "migration", {"file": migration}, [(*k, digest) for k, digest in changed.items()], None)


def verify(con: DuckDBPyConnection, *, contents: bool = True, checked: bool = False) -> list[CheckFinding]:
    """What does not agree: links, times and items of the chain, the rows it vouches for, and texts with their hashes.

    With ``contents`` the content hash of every cell is computed again from its records. An empty list means that every row
    is as it was when it was recorded, and not that the clock of that machine was right. With ``checked``, ``con`` is one that
    ``opening.connect`` would have refused for functions, triggers, tables or views of another kind: they are not asked again.
    """
    if not checked and (code := code_findings(con)):  # nothing that is asked through it can be believed
        return code
    found = entries(con)
    findings = [*_links(found), *_items(con, found), *_rows(con), *_registrations(con), *_counts(con), *_times(con)]
    findings += [] if checked else view_findings(con)
    return findings + (content_findings(con)[1] if contents else [])


def _links(found: list[Entry]) -> Iterator[CheckFinding]:
    """Every branch from its first entry on: numbers, hashes, times, and that a merge names its last hash."""
    said = [h for e in found if e.kind == "merge" for h in _listed(e.summary.get("histories"))]
    merged = {h.get("head") for h in said if isinstance(h, dict) and isinstance(h.get("head"), str)}
    if not any(e.branch == OWN for e in found):
        yield CheckFinding("the chain is broken", "entry 1", "this file has no history of its own")
    for branch, members in groupby(found, lambda e: e.branch):
        last: Entry | None = None
        for e in members:
            where = _where(e.branch, e.sequence, e.kind)
            if e.sequence != (1 if last is None else last.sequence + 1):
                yield CheckFinding(
                    "the chain is broken", where, f"entries are missing before it, after {_number(last)}"
                )
            elif e.previous != ("" if last is None else last.hash):
                yield CheckFinding("the chain is broken", where, f"it does not follow the hash of {_number(last)}")
            if e.hash != e.recomputed():
                yield CheckFinding(
                    "an entry was changed", where, f"its hash is {e.hash[:12]}, and it gives {e.recomputed()[:12]}"
                )
            if last is not None and e.written < last.written:
                yield CheckFinding(
                    "a time goes back", where, f"written {e.written}, and the entry before it {last.written}"
                )
            last = e
        if branch != OWN and last is not None and last.hash not in merged:
            yield CheckFinding(
                "the chain is broken", f"branch {branch}", f"no merge names its last hash, {last.hash[:12]}"
            )


def _items(con: DuckDBPyConnection, found: list[Entry]) -> Iterator[CheckFinding]:
    """Entries whose items give another hash, and items of no entry."""
    left = {(e.branch, e.sequence): e for e in found}
    rows = con.execute(
        "SELECT branch, sequence, part, key, digest FROM ledger_item ORDER BY branch, sequence"
    ).fetchall()
    for (branch, sequence), group in groupby(rows, lambda row: (row[0], row[1])):
        entry = left.pop((branch, sequence), None)
        where = _where(branch, sequence, entry.kind if entry else "absent")
        if entry is None:
            yield CheckFinding("the chain is broken", where, "items belong to it, and the entry is gone")
        elif subject([tuple(row[2:]) for row in group]) != entry.subject:
            yield CheckFinding("an entry was changed", where, "its items are not those it was written with")
    for entry in left.values():
        if entry.subject != subject([]):
            where = _where(entry.branch, entry.sequence, entry.kind)
            yield CheckFinding("an entry was changed", where, "its items are gone")


def _rows(con: DuckDBPyConnection) -> Iterator[CheckFinding]:
    """Rows that are not as the chain recorded them, rows it does not know, and rows that are gone."""
    for (part, key), (recorded, now) in disagreeing(con).items():
        where = f"{part} {key}"
        if recorded is None or recorded == NO_ROWS:
            yield CheckFinding("a row is not in the chain", where, f"{PARTS[part].table} was written past the ledger")
        elif now == NO_ROWS:
            yield CheckFinding("a row is gone", where, f"the chain recorded it in {PARTS[part].table}")
        else:
            yield CheckFinding(
                "a row was changed", where, f"the chain recorded {recorded[:12]}, and it gives {now[:12]}"
            )


def _registrations(con: DuckDBPyConnection) -> Iterator[CheckFinding]:
    """Texts that no longer give their hash, and parents that are not there."""
    known = con.execute("SELECT hash, hypothesis, text, parent FROM registration ORDER BY registered, hash").fetchall()
    hashes = {row[0] for row in known}
    for stored, name, text, parent in known:
        computed = sha256(text.encode()).hexdigest()
        if computed != stored:
            detail = f"registered as {stored[:12]}, and the text gives {computed[:12]}"
            yield CheckFinding("the text of a registration was changed", name, detail)
        if parent is not None and parent not in hashes:
            yield CheckFinding("a registration lost its parent", name, f"{parent[:12]} is not in the database")
    replaced = {row[3] for row in known}
    current = [row[1] for row in known if row[0] not in replaced]
    for name in sorted({n for n in current if current.count(n) > 1}):
        yield CheckFinding(
            "a hypothesis has two texts", name, "none of them replaces the other, so neither is the registered one"
        )


# Cells that had an outcome before a registration entered the chain and were not computed again: it counts at least those.
COUNTS = """
WITH settled AS (
    SELECT key, min(sequence) AS sequence FROM ledger_item WHERE branch = $own AND part = 'cell' GROUP BY key HAVING count(*) = 1
), entered AS (
    SELECT key, min(sequence) AS sequence FROM ledger_item JOIN ledger USING (branch, sequence)
    WHERE branch = $own AND part = 'registration' AND kind = 'registration' GROUP BY key
)
SELECT r.hypothesis, r.cells_done, count(*) AS before
FROM registration r JOIN entered e ON e.key = r.hash JOIN settled s ON s.sequence < e.sequence
JOIN cell c ON c.cell_id = s.key AND c.state IN ('done', 'refused') AND list_contains(r.reaches, c.case_name)
GROUP BY r.hash, r.hypothesis, r.cells_done HAVING count(*) > r.cells_done ORDER BY 1
"""


def _counts(con: DuckDBPyConnection) -> Iterator[CheckFinding]:
    """Registrations that say fewer cells were done than the chain had seen by then."""
    for name, said, before in con.execute(COUNTS, {"own": OWN}).fetchall():
        detail = f"it says that {said} cells were done, and the chain had seen {before}"
        yield CheckFinding("a registration came after more cells", name, detail)


# A row lies in time between the entry that recorded it and the entry before; (part, kind of entry, rows).
TIMED = (
    ("registration", "registration", "SELECT hash AS key, hypothesis AS name, registered AS moment FROM registration"),
    ("cell", "cells", "SELECT cell_id AS key, name, finished AS moment FROM cell"),
)
TIMES = """
WITH entry AS (
    SELECT sequence, kind, written, lag(written) OVER (ORDER BY sequence) AS before FROM ledger WHERE branch = $own
), recorded AS (
    SELECT key, max(sequence) AS sequence FROM ledger_item WHERE branch = $own AND part = $part GROUP BY key
)
SELECT name, moment, before, written FROM ({rows}) JOIN recorded USING (key) JOIN entry USING (sequence)
WHERE kind = $kind AND (moment > written OR moment < before) ORDER BY name
"""


def _times(con: DuckDBPyConnection) -> Iterator[CheckFinding]:
    """Registrations and cells with a time before that of the entry before theirs, or after their own entry."""
    for part, kind, rows in TIMED:
        found = con.execute(TIMES.format(rows=rows), {"own": OWN, "part": part, "kind": kind}).fetchall()
        for name, moment, before, written in found:
            detail = f"{moment}, and the chain recorded it between {before} and {written}"
            yield CheckFinding("a time does not fit the chain", f"{part} {name}", detail)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _where(branch: int, sequence: int, kind: str) -> str:
    return f"entry {sequence} ({kind})" + (f" of branch {branch}" if branch != OWN else "")


def _number(entry: Entry | None) -> str:
    return "the beginning" if entry is None else f"entry {entry.sequence}"


def _add(
    con: DuckDBPyConnection, kind: str, payload: Mapping[str, Any], items: Collection[Item], now: datetime | None
) -> Entry:
    last = head(con)
    written = (now or datetime.now(UTC)).replace(tzinfo=None)
    fields: dict[str, Any] = {
        "branch": OWN,
        "sequence": 1 if last is None else last.sequence + 1,
        "kind": kind,
        "written": written if last is None else max(written, last.written),
        "payload": canonical(payload),
        "subject": subject(items),
        "previous": "" if last is None else last.hash,
    }
    entry = Entry(**fields, hash=Entry(**fields, hash="").recomputed())
    names = list(Entry.__dataclass_fields__)
    places = ", ".join("?" * len(names))
    con.execute(f"INSERT INTO ledger ({', '.join(names)}) VALUES ({places})", [getattr(entry, n) for n in names])
    if items:
        lists = [list(column) for column in zip(*items, strict=True)]
        unnested = ", ".join(["unnest(?::VARCHAR[])"] * 3)
        con.execute(f"INSERT INTO ledger_item SELECT ?, ?, {unnested}", [OWN, entry.sequence, *lists])
    return entry

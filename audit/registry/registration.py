"""Registering hypotheses: the text, its hash and the time are stored before the data, and never changed afterwards."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from orledger.audit.registry import known
from orledger.audit.registry.reading import parse_hypothesis, shipped_hypotheses
from orledger.errors import QueryRefusedError, UsageError
from orledger.schema import chain, viewing
from orledger.schema.steadiness import HINT, Looking
from orledger.schema.transactions import transaction
from orledger.studies import CASES_HERE, having
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from duckdb import DuckDBPyConnection

    from orledger.audit.registry.hypotheses import Hypothesis
    from orledger.study import Study

COLUMNS = (
    "hash", "hypothesis", "mode", "statement", "file", "text", "registered", "cells_done", "parent", "amendment", "history",
    "reaches",
)  # fmt: skip


class AmendmentError(UsageError):
    """A hypothesis that is already registered with another text, while data exist."""


@dataclass(frozen=True)
class Registration:
    """A row of the table registration. ``new`` is true when this call stored it.

    ``history`` lists, as JSON, versions of the text that were corrected after results had been seen elsewhere; ``reaches`` the
    studies whose cells its quantities can read.
    """

    hash: str
    hypothesis: str
    mode: str
    statement: str
    file: str
    text: str
    registered: datetime
    cells_done: int
    parent: str | None
    amendment: bool
    history: str = "[]"
    reaches: tuple[str, ...] = ()
    new: bool = False

    def parsed(self) -> Hypothesis:
        """The hypothesis in its text."""
        return parse_hypothesis(self.text, self.file, stored=True)

    @property
    def corrections(self) -> list[dict[str, str]]:
        """Versions before this text that were corrected after results had been seen: hash, date and note of each."""
        found: list[dict[str, str]] = json.loads(self.history)
        return found

    def intact(self) -> bool:
        """Whether the text still gives its hash."""
        return sha256(self.text.encode()).hexdigest() == self.hash


def register(
    con: DuckDBPyConnection, hypothesis: Hypothesis, *, amend: bool = False, now: datetime | None = None
) -> Registration:
    """The registration of ``hypothesis`` in the database behind ``con``; storing the same text again changes nothing.

    A text that differs from the registered one becomes a new version with the old one as its parent. When cells of its
    studies are already done that is an amendment: it needs ``amend`` and is marked as one for ever.
    """
    current = {r.hypothesis: r for r in current_registrations(con)}.get(hypothesis.id)
    if current is not None and current.hash == hypothesis.hash:
        return current
    if con.execute("SELECT hypothesis FROM registration WHERE hash = ?", [hypothesis.hash]).fetchall():
        raise AmendmentError(
            f"{hypothesis.file}: this text was registered before and has been replaced since",
            hint="registrations are never reordered; change the text to say what is meant now",
        )
    _require_steady(con, hypothesis)
    reaches = reached_studies(con, hypothesis)
    done = cells_done(con, reaches)
    if current is not None and done and not amend:
        raise AmendmentError(
            f"{hypothesis.file}: {hypothesis.id} is registered with another text ({current.hash[:12]}) and {counted(done, 'cell')} of"
            f" {', '.join(reaches)} {'is' if done == 1 else 'are'} done",
            hint="use --amend to store this text as an amendment; the first text stays and the report shows both",
        )
    row = Registration(
        hash=hypothesis.hash,
        hypothesis=hypothesis.id,
        mode=hypothesis.mode,
        statement=hypothesis.statement,
        file=hypothesis.file,
        text=hypothesis.text,
        registered=chain.moment(con, now),
        cells_done=done,
        parent=current.hash if current else None,
        amendment=bool(current and done),
        history=json.dumps(list(hypothesis.history), ensure_ascii=False),
        reaches=reaches,
        new=True,
    )
    values = [list(v) if isinstance(v, tuple) else v for v in (getattr(row, c) for c in COLUMNS)]
    with transaction(con):
        con.execute(f"INSERT INTO registration ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})", values)
        summary = {"hypothesis": row.hypothesis, "hash": row.hash, "cells_done": done, "amendment": row.amendment}
        known.store(con, row.hash, hypothesis)
        rows = {"registration": [row.hash], **({"registered": [row.hash]} if hypothesis.comparisons else {})}
        chain.append(con, "registration", summary, rows, now=row.registered)
    return row


def _require_steady(con: DuckDBPyConnection, hypothesis: Hypothesis) -> None:
    """Refuses a text whose queries may give another verdict at every audit of the same data."""
    queries = {q.sql for q in hypothesis.quantities if q.sql is not None}
    looking = Looking(con) if queries else None
    for query in sorted(queries):
        if looking is not None and (reason := looking.unsteady(query)) is not None:
            raise QueryRefusedError(f"{hypothesis.file}: {hypothesis.id}: {reason}", hint=HINT)


def register_shipped(
    con: DuckDBPyConnection, chosen: Iterable[Study] | None = None, *, now: datetime | None = None
) -> list[Registration]:
    """Registers the hypotheses that come with ``chosen`` studies (by default those that have cells here), as a run does before its first cell.

    A text that changed since is an amendment.
    """
    if chosen is None:
        chosen = _here(con)
    return [register(con, h, amend=True, now=now) for h in shipped_hypotheses(chosen)]


def register_descriptions(con: DuckDBPyConnection, *, now: datetime | None = None) -> list[Registration]:
    """Registers the files of the studies here that decide nothing and ask about a case of which the database has cells.

    A text that the database has known before, now or replaced, is left as it stands.
    """
    before = {row[0] for row in con.execute("SELECT hash FROM registration").fetchall()}
    shipped = [h for h in shipped_hypotheses(_here(con)) if not h.decides and h.hash not in before]
    wanted = [h for h in shipped if cells_done(con, h.studies)]
    return [register(con, h, amend=True, now=now) for h in wanted]


def _here(con: DuckDBPyConnection) -> list[Study]:
    """The installed studies that have cells in the database."""
    rows = con.execute(CASES_HERE).fetchall()
    return having([r[0] for r in rows], brought_in=[r[0] for r in rows if r[1]])


def current_registrations(con: DuckDBPyConnection) -> list[Registration]:
    """The newest version of every registered hypothesis, by name."""
    rows = con.execute(
        f"SELECT {', '.join(COLUMNS)} FROM registration r"
        " WHERE NOT EXISTS (SELECT 1 FROM registration s WHERE s.parent = r.hash) ORDER BY hypothesis"
    ).fetchall()
    named = (dict(zip(COLUMNS, row, strict=True)) for row in rows)
    return [Registration(**row | {"reaches": tuple(row["reaches"])}) for row in named]


def reached_studies(con: DuckDBPyConnection, hypothesis: Hypothesis) -> tuple[str, ...]:
    """The studies whose cells the quantities of ``hypothesis`` can read.

    A query of its own reaches the study of every generated view that it names, and all studies as soon as it names a table
    that holds several of them: what it filters by inside is not looked at. A view that a study brought reaches what its own
    query reaches.
    """
    studies = {q.case for q in hypothesis.quantities}
    queries = [q.sql for q in hypothesis.quantities if q.sql is not None]
    if not queries:
        return tuple(sorted(studies))
    present = {row[0] for row in con.execute("SELECT DISTINCT case_name FROM cell").fetchall()}
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    views = con.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    owner = {name.lower(): layout.case for layout in viewing.read(con) for name in viewing.statements(layout)}
    texts = {name.lower(): text for name, text in views} | {row[0].lower(): None for row in tables}
    seen: set[str] = set()
    while queries:
        query = queries.pop().lower()
        words = set(re.findall(r"\w+", query))
        if words & {"query", "query_table"}:
            studies |= present
        for name, text in texts.items():
            if name in seen or name not in (words if name.isidentifier() else query):
                continue
            seen.add(name)
            if name in owner:
                studies.add(owner[name])
            elif text is None:
                studies |= present
            else:
                queries.append(text.partition(" AS ")[2])
    return tuple(sorted(studies))


def cells_done(con: DuckDBPyConnection, studies: Sequence[str]) -> int:
    """How many cells of ``studies`` have results."""
    query = "SELECT count(*) FROM cell WHERE state IN ('done', 'refused') AND list_contains(?, case_name)"
    return int(con.execute(query, [list(studies)]).fetchall()[0][0])

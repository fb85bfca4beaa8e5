"""The wide views, generated from the catalogue: per block of a case its arms, its series and its cells, with typed keys.

Long views (``ACROSS``) say of all studies together which cells, records and refusals there are, and what the newest audit found. ``schema/layouts.py`` decides the names, ``statements`` writes the SQL; both are pure functions of the catalogue. ``refresh`` brings the
views of a database up to date with it. A name that two things would share belongs to neither: both get a longer one, so that
a query never silently begins to mean something else when a study is added.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import duckdb

from orledger import __version__, studies
from orledger.errors import DatabaseError
from orledger.schema import catalogue, study_views
from orledger.schema.layouts import Layout, identifier, layouts, literal
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from orledger.schema.catalogue import Catalogue
    from orledger.study import Study

# How the generated views are recorded in the table migration.
GENERATED = "views of the catalogue"
EARLIER = {"a.sql", "b.sql", "c.sql"}  # what earlier versions wrote by hand

SETTINGS = "CASE WHEN json_valid(spec) THEN json_extract_string(spec, '$.settings') END AS settings"
HOST = ", ".join(
    f"CASE WHEN json_valid(host) THEN json_extract_string(host, '$.{k}') END AS {k}" for k in ("cpu", "node")
)
# What is asked of all blocks at once: the view, what a row is, and its query.


def _newest(table: str) -> str:
    """The rows of ``table`` that the newest audit stored; the tables keep those of every audit."""
    audit = "SELECT audit_id FROM audit ORDER BY created DESC, audit_id LIMIT 1"
    return f"SELECT * EXCLUDE (audit_id)\nFROM {table} WHERE audit_id = ({audit})"


ACROSS = {
    "all_cells": (
        "one row per planned cell of any study",
        "SELECT cell_id, case_name, block, name AS cell, keys, state, reason, error, seconds, backend AS computed_on, n_records,"
        f" content_hash, run_id, finished, spec, hash_version LIKE 'import%' AS imported, {SETTINGS}, {HOST}\nFROM cell",
    ),
    "all_records": (
        "one row per number of a finished cell of any study",
        "SELECT c.cell_id, c.case_name, c.block, c.name AS cell, r.arm, r.metric, r.label, r.idx, r.value\n"
        "FROM record r JOIN cell c USING (cell_id) WHERE c.state = 'done'",
    ),
    "all_refusals": (
        "one row per arm that declined to answer in a finished cell of any study",
        "SELECT c.cell_id, c.case_name, c.block, c.name AS cell, f.arm, f.reason AS refused, f.margin AS refused_by\n"
        "FROM refusal f JOIN cell c USING (cell_id) WHERE c.state = 'done'",
    ),
    "newest_tests": ("one row per test of the newest audit", _newest("test_result")),
    "newest_claims": ("one row per claim of the newest audit", _newest("claim")),
    "newest_verdicts": ("one row per hypothesis and its verdict in the newest audit", _newest("disposition")),
}

# How DuckDB writes down a view of this name and query, for a server that opens one state of a file after the other.
_written: dict[tuple[str, str], str] = {}
WRITTEN = 2000


def statements(layout: Layout) -> dict[str, str]:
    """The query of each view of ``layout``, by the name of the view."""
    key_columns = [_key_column(key, *column) for key, column in layout.keys.items()]
    these = f"case_name = {literal(layout.case)} AND block = {literal(layout.block)}"
    cells = ["cell_id", "name AS cell", *key_columns, "state", "reason", "error", "seconds", "backend AS computed_on"]
    cells.append(SETTINGS)
    found = {layout.name: _wide(layout.scalars, key_columns, these, series=False)}
    if layout.indexed:
        found[layout.series] = _wide(layout.indexed, key_columns, these, series=True)
    found[layout.cells] = f"SELECT {', '.join(cells)}\nFROM cell WHERE {these}"
    return found


def _wide(metrics: Mapping[str, str], key_columns: Sequence[str], these: str, *, series: bool) -> str:
    """One row per finished cell, arm and label (and index); an arm that refused has a row too, among the scalars.

    The records of the block are found by the ids of its cells and grouped by short columns before the keys are added; a
    metric that a query does not ask for costs nothing, because DuckDB leaves out aggregates that nobody reads.
    """
    groups = ["cell_id", "arm", "label", *(["idx"] if series else [])]
    picks = [f"max(value) FILTER (metric = {literal(m)}) AS {identifier(c)}" for m, c in metrics.items()]
    listed = ", ".join(literal(m) for m in metrics)
    rows = (
        f"SELECT {', '.join(groups)}, metric, value{'' if series else ', NULL AS reason, NULL AS margin'} FROM record"
    )
    rows += f" WHERE idx IS {'NOT ' if series else ''}NULL AND metric IN ({listed})" if metrics else " WHERE false"
    if not series:
        rows += "\n  UNION ALL SELECT cell_id, arm, NULL, NULL, NULL, reason, margin FROM refusal"
        picks += ["min(reason) AS refused", "min(margin) AS refused_by"]
    return (
        f"SELECT c.cell_id, c.name AS cell, c.backend AS computed_on, {''.join(k + ', ' for k in key_columns)}v.* EXCLUDE (cell_id)\n"
        f"FROM (SELECT {', '.join([*groups, *picks])}\n  FROM ({rows})\n"
        f"  WHERE cell_id IN (SELECT cell_id FROM cell WHERE {these} AND state = 'done')\n  GROUP BY {', '.join(groups)}) v\n"
        f"JOIN (SELECT * FROM cell WHERE {these} AND state = 'done') c USING (cell_id)"
    )


def _key_column(key: str, column: str, kind: str) -> str:
    value = f"keys[{literal(key)}]"
    return f"{value if kind == 'VARCHAR' else f'TRY_CAST({value} AS {kind})'} AS {identifier(column)}"


def read(con: DuckDBPyConnection) -> list[Layout]:
    """The layouts of the database behind ``con``."""
    return _layouts(con, catalogue.read_all(con))


def _layouts(con: DuckDBPyConnection, described: Sequence[Catalogue]) -> list[Layout]:
    tables = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary"
    ).fetchall()
    taken = [*ACROSS, *(name for (name,) in tables)]
    return layouts(described, taken)


def script(found: Iterable[Layout]) -> str:
    """The SQL that creates the views of ``found``, and those across all studies, with their comments."""
    parts = []
    for name, (title, query) in ACROSS.items():
        parts += [f"CREATE VIEW {name} AS\n{query};", f"COMMENT ON VIEW {name} IS {literal(f'All studies: {title}')};"]
    for layout in found:
        titles = {
            layout.name: "one row per finished cell, arm and label",
            layout.series: "one row per finished cell, arm, label and index",
            layout.cells: "one row per planned cell",
        }
        for name, query in statements(layout).items():
            title = f"{layout.case}, block {layout.block}: {titles[name]}"
            parts.append(f"CREATE VIEW {identifier(name)} AS\n{query};")
            parts.append(f"COMMENT ON VIEW {identifier(name)} IS {literal(title)};")
            columns = [c for c, _ in layout.keys.values()]
            columns += list({layout.name: layout.scalars, layout.series: layout.indexed}.get(name, {}).values())
            for column, text in ((c, layout.comments.get(c)) for c in columns):
                if text:
                    parts.append(f"COMMENT ON COLUMN {identifier(name)}.{identifier(column)} IS {literal(text)};")
    return "\n".join(parts)


def pending(con: DuckDBPyConnection) -> bool:
    """Whether the views of the database are not those of its catalogue."""
    return standing(con).changed


@dataclass(frozen=True)
class ViewTexts:
    """The texts of views that a database has by name, with their hash and views, and those that it should have."""

    held: dict[str, tuple[str, list[str]]]
    layouts: list[Layout]
    wanted: dict[str, str]  # of studies

    @cached_property
    def text(self) -> str:
        """The text of the generated views."""
        return script(self.layouts)

    @property
    def changed(self) -> bool:
        """Whether the generated views are not those of the catalogue."""
        return GENERATED not in self.held or self.held[GENERATED][0] != _sha(self.text)


def standing(con: DuckDBPyConnection, brought: Sequence[Study] = ()) -> ViewTexts:
    """What the database has and should have, by its catalogue and the studies that are installed or ``brought``."""
    described = catalogue.read_all(con)
    return ViewTexts(_held(con), _layouts(con, described), _of_studies([c.case for c in described], brought))


def refresh(con: DuckDBPyConnection, brought: Sequence[Study] = (), *, anew: bool = False) -> bool:
    """Whether views had to be made anew: they now are those of the catalogue and of the studies, in one transaction.

    The studies are the installed ones and those ``brought``, where the database has all their cases. Views of a study that
    is not known here stay as they are. ``anew`` makes all others again, whatever they are.
    """
    with transaction(con):
        now = standing(con, brought)
        text, held, wanted = now.text, now.held, now.wanted
        changed = anew or now.changed
        stale = [n for n in held if n in EARLIER or (n == GENERATED and changed)]
        stale += [n for n, file in wanted.items() if n in held and (changed or held[n][0] != _sha(file))]
        for name in stale:
            for view in held[name][1]:
                con.execute(f"DROP VIEW IF EXISTS {identifier(view)}")
            con.execute("DELETE FROM migration WHERE kind = 'views' AND name = ?", [name])
        todo = {GENERATED: text} if changed else {}
        todo |= {n: file for n, file in wanted.items() if n in stale or n not in held}
        for name, file in todo.items():
            _apply(con, name, file)
        return bool(stale or todo)


def _of_studies(cases: Collection[str], brought: Sequence[Study]) -> dict[str, str]:
    """The files of views of the studies whose cases all have a catalogue here, by study and file."""
    known = set(cases)
    found = {s.name: s for s in (*studies.installed(), *brought) if s.views and s.cases}
    chosen = [s for s in found.values() if known.issuperset(c.name for c in s.cases)]
    return {f"{s.name}/{name}": text for s in chosen for name, text in s.files("views", ".sql").items()}


def _apply(con: DuckDBPyConnection, name: str, text: str) -> None:
    """Makes the views of one text and records them; of a study's text each view is read before it is made.

    A study may not take the place of another view: CREATE OR REPLACE is CREATE.
    """
    before = _names_of_views(con)
    try:
        if name == GENERATED:
            if text:
                con.execute(text)
        else:
            for s in study_views.parse(con, text, name, _names(con)):
                con.execute(f"CREATE VIEW {identifier(s.name)} AS\n{s.query}" if s.query else s.text)
    except duckdb.Error as error:
        raise DatabaseError(f"{name} could not be applied, and the database is as it was: {error}") from error
    con.execute(
        "INSERT INTO migration VALUES ('views', NULL, ?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
        [name, _sha(text), sorted(_names_of_views(con) - before), __version__],
    )


def _held(con: DuckDBPyConnection) -> dict[str, tuple[str, list[str]]]:
    """The hash and the views of every text of views that the database has, by name."""
    rows = con.execute("SELECT name, sha256, objects FROM migration WHERE kind = 'views'").fetchall()
    return {name: (sha, objects or []) for name, sha, objects in rows}


def _names_of_views(con: DuckDBPyConnection) -> set[str]:
    query = "SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal"
    return {name for (name,) in con.execute(query).fetchall()}


def stale(now: ViewTexts) -> list[str]:
    """The texts of views, by name, that are not those which this package and the installed studies have now."""
    found = [n for n, text in now.wanted.items() if n in now.held and now.held[n][0] != _sha(text)]
    return ([GENERATED] if now.changed else []) + sorted(found)


def altered(con: DuckDBPyConnection, now: ViewTexts) -> list[str]:
    """Names of the views that are not what the catalogue and the installed studies make, or that are gone.

    Each is made anew as a temporary view and compared as DuckDB writes it down. A text of another version than this one's is
    left alone: ``stale`` names it, and the next command that writes makes its views anew. A view that was given the name of
    one of a study's and is not recorded as such is altered, too.
    """
    held = now.held
    expected: dict[str, str] = {}
    if not now.changed:
        expected = {view: query for view, (_, query) in ACROSS.items()}
        expected |= {view: query for layout in now.layouts for view, query in statements(layout).items()}
    there = _names_of_views(con)
    for name, text in now.wanted.items():
        if name in held and held[name][0] != _sha(text):
            continue
        views = [s for s in study_views.parse(con, text, name, {*_names(con), *expected}) if s.query]
        expected |= {s.name: s.query for s in views if name in held or s.name in there}
    texts = {view: _written.get((view, query)) for view, query in expected.items()}
    # A view that is gone is made as well: others may read it.
    anew = [view for view, text in texts.items() if text is None or view not in there]
    try:
        for view in anew:
            con.execute(f"CREATE OR REPLACE TEMP VIEW {identifier(view)} AS\n{expected[view]}")
        rows = con.execute(
            "SELECT view_name, sql, temporary FROM system.main.duckdb_views() WHERE NOT internal"
            " AND (temporary OR database_name = current_database())"
        ).fetchall()
    finally:
        for view in anew:
            con.execute(f"DROP VIEW IF EXISTS temp.{identifier(view)}")
    stored = {view: text for view, text, temporary in rows if not temporary}
    texts |= {view: text.replace("CREATE TEMP VIEW", "CREATE VIEW", 1) for view, text, temporary in rows if temporary}
    if len(_written) + len(anew) > WRITTEN:
        _written.clear()
    _written.update({(view, query): made for view, query in expected.items() if (made := texts[view])})
    return sorted(view for view in expected if stored.get(view) != texts[view])


def _names(con: DuckDBPyConnection) -> set[str]:
    """The tables and views of the database."""
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()").fetchall()
    return {name for (name,) in tables} | _names_of_views(con)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

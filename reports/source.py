"""The database as the builder of one table sees it: queries are remembered, and cells that were planned and are absent are named."""

from __future__ import annotations

import re
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from orledger.errors import OrledgerError
from orledger.reports.audit_rows import AuditRows, Citations
from orledger.reports.tables.values import Absent, Text, Value
from orledger.schema.hashing import DATABASE_HASH
from orledger.schema.viewing import FIXED, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from orledger.reports.audit_rows import ClaimRow, TestRow
    from orledger.schema.viewing import Layout

# A block that the database knows nothing of.
NO_ROWS = "(SELECT NULL::VARCHAR AS arm WHERE false)"
# Words of SQL that are likely names of keys; quoted where they are one.
RESERVED = frozenset({"all", "case", "column", "default", "desc", "end", "from", "group", "in", "limit", "offset", "order",
                      "select", "table", "to", "union", "unique", "user", "using", "when", "where", "window", "with"})  # fmt: skip
# Reasons that differ in their numbers only are one reason: the numbers become dots.
ALIKE = r"regexp_replace({}, '([ =(])-?\d+(\.\d+)?(e[-+]?\d+)?', '\1…', 'g')"
NAMED = 4  # cells named one by one in a note before it says "and n more"


class Database(Protocol):
    """Anything that answers SQL with polars frames and knows its wide views."""

    def sql(self, query: str, params: Any = None) -> pl.DataFrame:
        """The rows of ``query``."""
        ...

    def stored(self, query: str) -> pl.DataFrame:
        """The rows of a query that stands in the file."""
        ...

    def layouts(self) -> list[Layout]:
        """The wide views of every block and the columns of its keys and metrics."""
        ...


class NothingToShowError(OrledgerError):
    """A table has no rows to stand on; it is then written as absent, with this reason."""


@dataclass(frozen=True)
class Planned:
    """A cell that a plan asks for, whether or not the database has it."""

    cell_id: str
    case: str
    block: str
    name: str
    keys: Mapping[str, str]


@dataclass(frozen=True)
class Use:
    """A part of the database that a table stands on: a block of a case, and the keys that narrow it."""

    case: str
    block: str
    where: tuple[tuple[str, tuple[str | float, ...]], ...] = ()
    arms: tuple[str, ...] = ()

    def holds(self, keys: Mapping[str, str]) -> bool:
        """True when a cell with ``keys`` belongs to the part."""
        return all(any(_same(keys.get(key), v) for v in allowed) for key, allowed in self.where)


def _same(text: str | None, value: str | float) -> bool:
    if text is None or isinstance(value, str):
        return text == value
    try:
        return float(text) == float(value)
    except ValueError:
        return False


@dataclass
class Remembering:
    """A database that answers a repeated query from memory; frames are immutable, and a report reads one state of the file."""

    results: Database
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)

    def sql(self, query: str, params: Any = None) -> pl.DataFrame:
        """The rows of ``query``."""
        if params is not None:
            return self.results.sql(query, params)
        if query not in self.frames:
            self.frames[query] = self.results.sql(query)
        return self.frames[query]

    def stored(self, query: str) -> pl.DataFrame:
        """The rows of a query that stands in the file."""
        return self.results.stored(query)

    def layouts(self) -> list[Layout]:
        """The wide views of every block and the columns of its keys and metrics."""
        return self.results.layouts()


@dataclass
class Source:
    """Runs the queries of one table and remembers them; ``planned`` lists what a plan expects, where the caller knows it."""

    results: Database
    planned: Sequence[Planned] = ()
    queries: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    labels: Mapping[str, str] = field(default_factory=dict)
    shared: InitVar[AuditRows | None] = None  # the audit's rows, where several tables read them once
    cited: Citations = field(init=False)

    def __post_init__(self, shared: AuditRows | None) -> None:
        self.cited = Citations(shared or AuditRows(self.results))

    def rows(self, query: str) -> pl.DataFrame:
        """The rows of ``query``, which becomes part of the table's provenance."""
        text = "\n".join(line.rstrip() for line in query.strip().splitlines())
        if text not in self.queries:
            self.queries.append(text)
        return self.results.sql(text)

    def wide(
        self,
        case: str,
        block: str,
        arms: Sequence[str],
        metrics: Sequence[str],
        keys: Sequence[str],
        *,
        indexed: bool = False,
        where: Mapping[str, Any] | None = None,
    ) -> pl.DataFrame:
        """One row per finished cell, arm, label (and index): the keys, then one column per metric, null where there is none.

        Columns: cell_id, cell, computed_on, the keys (numbers as numbers), arm, label, idx when ``indexed``, the metrics.
        """
        narrowed = tuple((k, tuple(v) if isinstance(v, (list, tuple)) else (v,)) for k, v in (where or {}).items())
        use = Use(case, block, narrowed, tuple(arms))
        if use not in self.uses:
            self.uses.append(use)
        name = f"{case}_{block}" + ("_series" if indexed else "")
        known = self._columns(name)
        fixed = ["cell_id", "cell", "computed_on", *keys, "arm", "label", *(["idx"] if indexed else [])]
        columns = [_bare(c) if c in known else _shared(c, "key", known, "NULL") for c in fixed]
        columns += [_name(m) if m in known else _shared(m, "metric", known, "NULL::DOUBLE") for m in metrics]
        recorded = [_name(c) for m in metrics if (c := m if m in known else f"{m}_metric") in known]
        conditions = [
            f"arm IN ({_list(arms)})",
            f"coalesce({', '.join(recorded)}) IS NOT NULL" if recorded else "false",
        ]
        conditions += [_condition(k, values, known) for k, values in narrowed]
        return self.rows(
            f"SELECT {', '.join(columns)}\nFROM {_name(name) if known else NO_ROWS}\nWHERE {' AND '.join(conditions)}"
            f"\nORDER BY {', '.join([*map(_bare, keys), 'arm', 'label', *(['idx'] if indexed else []), 'cell_id'])}"
        )

    def _columns(self, view: str) -> dict[str, str]:
        """The columns of a view and their types; none when the database has no such view."""
        frame = self.results.sql(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = current_database()"
        )
        return {name: kind for table, name, kind in frame.iter_rows() if table == view}

    def test(self, address: str) -> TestRow | Absent:
        """The row of the newest audit at ``address`` (``faster/time/ours``), which the table then cites; or why there is none."""
        return self.cited.test(address) or self._absent(address)

    def claim(self, address: str) -> ClaimRow | Absent:
        """The claim of the newest audit at ``address``, which the table then cites; or why there is none."""
        return self.cited.claim(address) or self._absent(address)

    def _absent(self, address: str) -> Absent:
        return Absent(self.cited.absent[address])

    def why(self, case: str, block: str, arm: str, **keys: str | float) -> str:
        """Why ``arm`` has no number in the cells with ``keys``: what it said when it refused, then what became of the cells."""
        view = f"{case}_{block}"
        columns = self._columns(f"{view}_cells")
        chosen = " AND ".join([_condition(k, (v,), columns) for k, v in keys.items()] or ["true"])
        query = (
            f"SELECT {ALIKE.format('refused')} AS why, count(*) AS n FROM {_name(view)} WHERE {chosen} AND arm = {literal(arm)} AND refused IS NOT NULL"
            " GROUP BY ALL UNION ALL SELECT CASE state WHEN 'done' THEN 'not recorded' WHEN 'planned' THEN 'not run yet' ELSE"
            f" 'cell ' || state || coalesce(': ' || reason, '') END, count(*) FROM {_name(f'{view}_cells')} WHERE {chosen}"
            f" AND cell_id NOT IN (SELECT cell_id FROM {_name(view)} WHERE arm = {literal(arm)} AND refused IS NOT NULL)"
            " GROUP BY ALL ORDER BY n DESC, why"
        )
        found = self.results.sql(query).rows() if columns else []
        return ", ".join(f"{why} ({n} cell{'s' * (n > 1)})" for why, n in found) or "no such cell was planned"

    def need(self, frame: pl.DataFrame, what: str) -> pl.DataFrame:
        """``frame`` when it has rows; otherwise the table is absent because ``what`` is."""
        if frame.is_empty():
            raise NothingToShowError(f"the database has no {what}")
        return frame

    def notes(self) -> tuple[Value, ...]:
        """One line per block used: delivered out of planned, then every refused, failed, missing or unfinished cell by name."""
        merged: dict[tuple[str, str], list[Use]] = {}
        for use in self.uses:
            merged.setdefault((use.case, use.block), []).append(use)
        blocks = (line for (case, block), uses in merged.items() for line in self._block_notes(case, block, uses))
        said = self.cited.note()
        return (*((Text(said),) if said else ()), *blocks)

    def _block_notes(self, case: str, block: str, uses: list[Use]) -> Iterable[Value]:
        view = f"{case}_{block}"
        columns = self._columns(f"{view}_cells")
        parts_used = [" AND ".join([_condition(k, v, columns) for k, v in u.where] or ["true"]) for u in uses]
        query = f"SELECT * FROM {_name(f'{view}_cells')} WHERE {' OR '.join(f'({p})' for p in parts_used)} ORDER BY cell, cell_id"
        stored = self.results.sql(query).to_dicts() if columns else []
        by_state: dict[str, list[str]] = {}
        for row in stored:
            why = row["reason"] or (row["error"] or "").strip().rpartition("\n")[2]
            by_state.setdefault(row["state"], []).append(row["cell"] + (f" ({why})" if why else ""))
        known = {row["cell_id"] for row in stored}
        wanted = [p for p in self.planned if (p.case, p.block) == (case, block) and any(u.holds(p.keys) for u in uses)]
        missing = sorted(p.name for p in wanted if p.cell_id not in known)
        done, total = len(by_state.get("done", [])), len(stored) + len(missing)
        if not total:
            yield Text(f"No cell of {case}/{block} was planned for this table.")
            return
        parts = [f"{done} of {total} planned cells of {case}/{block} delivered"]
        for state, names in (
            ("refused", by_state.get("refused")),
            ("failed", by_state.get("failed")),
            ("not run", by_state.get("planned")),
            ("missing", missing),
        ):
            if names:
                more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
                parts.append(f"{state}: {', '.join(names[:NAMED])}{more}")
        yield Text("; ".join(parts) + ".")
        keys = [c for c in columns if c not in FIXED]
        shared = len(stored) - len({tuple(row[k] for k in keys) for row in stored})
        if shared:
            yield Text(
                f"{shared} cells of {case}/{block} share their keys with another cell computed under other settings; all are used."
            )
        arms = sorted({a for u in uses for a in u.arms})
        if arms:
            query = (
                "SELECT cell, list(arm ORDER BY arm) AS arms, min(refused) AS reason, min(refused_by) AS margin "
                f"FROM {_name(view)} WHERE refused IS NOT NULL AND arm IN ({_list(arms)}) GROUP BY cell_id, cell ORDER BY cell"
            )
            cells = {row["cell"] for row in stored}
            found = [r for r in self.results.sql(query).to_dicts() if r["cell"] in cells]
            if found:
                listed = "; ".join(
                    f"{r['cell']}: {' + '.join(self.labels.get(a, a) for a in r['arms'])} ({r['reason']}{'' if r['margin'] is None else ', margin ' + format(r['margin'], '.3g')})"
                    for r in found[:NAMED]
                )
                more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
                yield Text(f"Arms that refused, in {len(found)} cell{'s' * (len(found) > 1)}: {listed}{more}.")


def content_hash(results: Database) -> str:
    """A hash of what the database holds: every cell with its state and the hash of its records, in order of cell id."""
    return str(results.sql(DATABASE_HASH)["hash"][0])


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _bare(name: str) -> str:
    """``name`` in a query: quoted where somebody's key is no plain word."""
    return name if re.fullmatch(r"[a-z][a-z0-9_]*", name) and name not in RESERVED else _name(name)


def _shared(name: str, kind: str, known: Mapping[str, str], without: str) -> str:
    """A key or metric whose name something else has too: the view calls it ``size_key`` or ``size_metric``."""
    longer = f"{name}_{kind}"
    return f"{_name(longer) if longer in known else without} AS {_name(name)}"


def _condition(key: str, values: Sequence[str | float], known: Mapping[str, str]) -> str:
    """A key equals one of ``values``: numbers are compared as numbers, texts as texts."""
    if key not in known:
        return "false"
    if all(isinstance(v, str) for v in values):
        return f"{_name(key)}::VARCHAR IN ({_list([str(v) for v in values])})"
    return f"TRY_CAST({_name(key)} AS DOUBLE) IN ({', '.join(repr(float(v)) for v in values)})"


def _list(words: Sequence[str]) -> str:
    return ", ".join("'" + w.replace("'", "''") + "'" for w in words)

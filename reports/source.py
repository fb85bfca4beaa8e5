"""The database as the builder of one table sees it: queries are remembered, and cells that were planned and are absent are named."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from orledger.errors import OrledgerError
from orledger.reports.absence import ALIKE, why_absent
from orledger.reports.audit_rows import AuditRows, Citations
from orledger.reports.tables.values import Absent, Text, Value
from orledger.schema.hashing import DATABASE_HASH
from orledger.schema.layouts import Layout, identifier
from orledger.schema.selecting import Condition, Selection, listed, select
from orledger.wording import counted, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from orledger.reports.audit_rows import ClaimRow, TestRow

NAMED = 4  # cells named one by one in a note before it says "and n more"


class Database(Protocol):
    """Anything that answers SQL with polars frames and knows its wide views."""

    def sql(self, query: str, params: Any = None) -> pl.DataFrame:
        """The rows of ``query``."""
        ...

    def stored(self, query: str, most: int) -> tuple[pl.DataFrame, int]:
        """The first ``most`` rows of a query that stands in the file, and the number of all."""
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

    def stored(self, query: str, most: int) -> tuple[pl.DataFrame, int]:
        """The first ``most`` rows of a query that stands in the file, and the number of all."""
        return self.results.stored(query, most)

    def layouts(self) -> list[Layout]:
        """The wide views of every block and the columns of its keys and metrics."""
        return self._layouts

    @cached_property
    def _layouts(self) -> list[Layout]:
        return self.results.layouts()


@dataclass
class Source:
    """Runs the queries of one table and remembers them; ``planned`` lists what a plan expects, where the caller knows it."""

    results: Database
    planned: Sequence[Planned] = ()
    queries: list[str] = field(default_factory=list)
    uses: list[Selection] = field(default_factory=list)
    labels: Mapping[str, str] = field(default_factory=dict)
    shared: InitVar[AuditRows | None] = None  # the audit's rows, where several tables read them once
    cited: Citations = field(init=False)

    def __post_init__(self, shared: AuditRows | None) -> None:
        self.cited = Citations(shared or AuditRows(self.results))

    @cached_property
    def _layouts(self) -> dict[tuple[str, str], Layout]:
        return {(x.case, x.block): x for x in self.results.layouts()}

    def rows(self, query: str | Selection) -> pl.DataFrame:
        """The rows of ``query``, which becomes part of the table's provenance."""
        if isinstance(query, Selection):
            if query not in self.uses:
                self.uses.append(query)
            place = (query.case, query.block)
            query = query.sql(self._layouts.get(place, Layout(*place, "")))
        text = "\n".join(line.rstrip() for line in query.strip().splitlines())
        if text not in self.queries:
            self.queries.append(text)
        return self.results.sql(text)

    def test(self, address: str) -> TestRow | Absent:
        """The row of the newest audit at ``address`` (``faster/time/ours``), which the table then cites; or why there is none."""
        return self.cited.test(address) or self._absent(address)

    def claim(self, address: str) -> ClaimRow | Absent:
        """The claim of the newest audit at ``address``, which the table then cites; or why there is none."""
        return self.cited.claim(address) or self._absent(address)

    def _absent(self, address: str) -> Absent:
        return Absent(self.cited.absent[address])

    def why(
        self,
        case: str,
        block: str,
        arm: str | Sequence[str],
        metric: str,
        label: str | None = None,
        keys: Mapping[str, str | float] | None = None,
    ) -> Callable[[], str]:
        """Asks, when a cell turns out to be absent, why ``arm`` has no ``metric`` in the cells with ``keys``."""

        def ask() -> str:
            layout = self._layouts.get((case, block))
            if layout is None:
                return f"the catalogue has no {case}/{block}"
            chosen = " AND ".join(Condition("in", (v,)).key_sql(layout, k) for k, v in (keys or {}).items()) or "true"
            return why_absent(self.results, layout, [arm] if isinstance(arm, str) else arm, metric, chosen, label)

        return ask

    def need(self, frame: pl.DataFrame, what: str) -> pl.DataFrame:
        """``frame`` when it has rows; otherwise the table is absent because ``what`` is."""
        if frame.is_empty():
            raise NothingToShowError(f"the database has no {what}")
        return frame

    def notes(self) -> tuple[Value, ...]:
        """One line per block used: delivered out of planned, then every refused, failed, missing or unfinished cell by name."""
        merged: dict[tuple[str, str], list[Selection]] = {}
        for use in self.uses:
            merged.setdefault((use.case, use.block), []).append(use)
        blocks = (line for (case, block), uses in merged.items() for line in self._block_notes(case, block, uses))
        said = (text for text in (self.cited.note(), self.cited.warning()) if text)
        return (*map(Text, said), *blocks)

    def _block_notes(self, case: str, block: str, uses: list[Selection]) -> Iterable[Value]:
        layout = self._layouts.get((case, block))
        stored = []
        if layout is not None:
            chosen = " OR ".join(dict.fromkeys(f"({u.cells_sql(layout)})" for u in uses))
            stored = self.results.sql(select(["*"], identifier(layout.cells), [chosen], ["cell", "cell_id"])).to_dicts()
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
                parts.append(f"{state}: {some(names, NAMED)}")
        yield Text("; ".join(parts) + ".")
        if layout is None:
            return
        keys = [column for column, _ in layout.keys.values()]
        shared = len(stored) - len({tuple(row[k] for k in keys) for row in stored})
        if shared:
            yield Text(
                f"{shared} cells of {case}/{block} share their keys with another cell computed under other settings; all are used."
            )
        arms = sorted({a for u in uses for a in u.arms})
        if arms:
            query = (
                f"SELECT cell, list(arm ORDER BY arm) AS arms, min(refused) AS reason, min({ALIKE.format('refused')}) AS alike, min(refused_by) AS margin "
                f"FROM {identifier(layout.name)} WHERE refused IS NOT NULL AND arm IN ({listed(arms)}) GROUP BY cell_id, cell ORDER BY cell"
            )
            cells = {row["cell"] for row in stored}
            found = [r for r in self.results.sql(query).to_dicts() if r["cell"] in cells]
            if found:
                groups: dict[tuple[tuple[str, ...], str], list[dict[str, Any]]] = {}
                for row in found:
                    groups.setdefault((tuple(row["arms"]), row["alike"]), []).append(row)
                said = [
                    f"{' + '.join(self.labels.get(a, a) for a in refusing)} in {_refused(rows)}"
                    for (refusing, _), rows in groups.items()
                ]
                yield Text(f"Arms that refused, in {counted(len(found), 'cell')}: {some(said, NAMED, '; ')}.")


def _refused(rows: list[dict[str, Any]]) -> str:
    """The cells of ``rows``, which give one reason, with the reason and the margins."""
    margins = sorted(r["margin"] for r in rows if r["margin"] is not None)
    ends = list(dict.fromkeys(f"{m:.3g}" for m in (*margins[:1], *margins[-1:])))
    by = f", margin {' to '.join(ends)}" if ends else ""
    reason = rows[0]["reason" if len(rows) == 1 else "alike"]
    return f"{some([r['cell'] for r in rows], NAMED)} ({reason}{by})"


def database_hash(results: Database) -> str:
    """A hash of what the database holds: every cell with its state and the hash of its records, in order of cell id."""
    return str(results.sql(DATABASE_HASH)["hash"][0])

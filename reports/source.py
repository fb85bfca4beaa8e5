"""The database as the builder of one table sees it: queries are remembered, and cells that were planned and are absent are named."""

from __future__ import annotations

import itertools
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from orledger.errors import OrledgerError
from orledger.reports.audit_rows import AuditRows, Citations
from orledger.reports.tables.values import Absent, Text, Value
from orledger.schema.hashing import DATABASE_HASH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from orledger.reports.audit_rows import ClaimRow, TestRow

NUMERIC_KEYS = {"grid", "level", "seed", "rel", "repeat", "dim", "evaluations", "mixtures", "init", "forcing", "rank"}
# Within a group of cells that agree on all other keys, these axes are planned as a full product.
AXES = ("seed", "rel", "level", "repeat")
NAMED = 4  # cells named one by one in a note before it says "and n more"


class Database(Protocol):
    """Anything that answers SQL with polars frames."""

    def sql(self, query: str, params: Any = None) -> pl.DataFrame:
        """The rows of ``query``."""
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
        columns = [f"{_key(k)} AS {k}" for k in keys]
        conditions = [f"c.case_name = '{case}'", f"c.block = '{block}'", "c.state = 'done'"]
        conditions += [f"{_key(k)} IN ({', '.join(_literal(k, v) for v in values)})" for k, values in narrowed]
        conditions += [f"r.arm IN ({_list(arms)})", f"r.metric IN ({_list(metrics)})"]
        conditions.append(f"r.idx IS {'NOT ' if indexed else ''}NULL")
        picks = [f"max(r.value) FILTER (r.metric = '{m}') AS {m}" for m in metrics]
        selected = [
            "c.cell_id",
            "c.name AS cell",
            "c.backend AS computed_on",
            *columns,
            "r.arm",
            "r.label",
            *(["r.idx"] if indexed else []),
            *picks,
        ]
        return self.rows(
            f"SELECT {', '.join(selected)}\nFROM cell c JOIN record r USING (cell_id)\nWHERE {' AND '.join(conditions)}"
            f"\nGROUP BY ALL\nORDER BY {', '.join([*keys, 'arm', 'label', *(['idx'] if indexed else []), 'cell_id'])}"
        )

    def test(self, address: str) -> TestRow | Absent:
        """The row of the newest audit at ``address`` (``faster/time/ours``), which the table then cites; or why there is none."""
        return self.cited.test(address) or self._absent(address)

    def claim(self, address: str) -> ClaimRow | Absent:
        """The claim of the newest audit at ``address``, which the table then cites; or why there is none."""
        return self.cited.claim(address) or self._absent(address)

    def _absent(self, address: str) -> Absent:
        return Absent(self.cited.absent[address])

    def need(self, frame: pl.DataFrame, what: str) -> pl.DataFrame:
        """``frame`` when it has rows; otherwise the table is absent because ``what`` is."""
        if frame.is_empty():
            raise NothingToShowError(f"the database has no {what}")
        return frame

    def refusals(self, case: str, block: str, arms: Sequence[str]) -> pl.DataFrame:
        """Refusals of ``arms`` in a block: cell_id, cell, arm, reason, margin."""
        return self.rows(
            "SELECT f.cell_id, c.name AS cell, f.arm, f.reason, f.margin\nFROM refusal f JOIN cell c USING (cell_id)\n"
            f"WHERE c.case_name = '{case}' AND c.block = '{block}' AND f.arm IN ({_list(arms)})\nORDER BY ALL"
        )

    def notes(self) -> tuple[Value, ...]:
        """One line per block used: delivered out of planned, then every refused, failed, missing or unfinished cell by name."""
        merged: dict[tuple[str, str], list[Use]] = {}
        for use in self.uses:
            merged.setdefault((use.case, use.block), []).append(use)
        blocks = (line for (case, block), uses in merged.items() for line in self._block_notes(case, block, uses))
        said = self.cited.note()
        return (*((Text(said),) if said else ()), *blocks)

    def _block_notes(self, case: str, block: str, uses: list[Use]) -> Iterable[Value]:
        frame = self.results.sql(
            "SELECT cell_id, name, map_keys(keys) AS k, map_values(keys) AS v, state, reason, error FROM cell "
            f"WHERE case_name = '{case}' AND block = '{block}' ORDER BY name, cell_id"
        )
        stored = [{**row, "keys": dict(zip(row["k"], row["v"], strict=True))} for row in frame.to_dicts()]
        stored = [row for row in stored if any(u.holds(row["keys"]) for u in uses)]
        by_state: dict[str, list[str]] = {}
        for row in stored:
            why = row["reason"] or (row["error"] or "").strip().rpartition("\n")[2]
            by_state.setdefault(row["state"], []).append(row["name"] + (f" ({why})" if why else ""))
        known = {row["cell_id"] for row in stored}
        wanted = [p for p in self.planned if (p.case, p.block) == (case, block) and any(u.holds(p.keys) for u in uses)]
        missing = sorted(p.name for p in wanted if p.cell_id not in known)
        if not wanted:
            missing = holes([row["keys"] for row in stored])
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
        shared = len(stored) - len({tuple(sorted(row["keys"].items())) for row in stored})
        if shared:
            yield Text(
                f"{shared} cells of {case}/{block} share their keys with another cell computed under other settings; all are used."
            )
        arms = sorted({a for u in uses for a in u.arms})
        if arms:
            query = (
                "SELECT c.name, list(f.arm ORDER BY f.arm) AS arms, min(f.reason) AS reason, min(f.margin) AS margin "
                f"FROM refusal f JOIN cell c USING (cell_id) WHERE c.case_name = '{case}' AND c.block = '{block}' "
                f"AND f.arm IN ({_list(arms)}) GROUP BY c.cell_id, c.name ORDER BY c.name"
            )
            found = [r for r in self.results.sql(query).to_dicts() if r["name"] in {row["name"] for row in stored}]
            if found:
                listed = "; ".join(
                    f"{r['name']}: {' + '.join(self.labels.get(a, a) for a in r['arms'])} ({r['reason']}{'' if r['margin'] is None else ', margin ' + format(r['margin'], '.3g')})"
                    for r in found[:NAMED]
                )
                more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
                yield Text(f"Arms that refused, in {len(found)} cell{'s' * (len(found) > 1)}: {listed}{more}.")


def holes(cells: list[dict[str, str]]) -> list[str]:
    """Combinations of seed, noise and repetition that the other cells of their group make one expect, and that have no cell.

    A seed that any group of several seeds has is expected of every such group; the other axes are compared within a group.
    """
    groups: dict[tuple[tuple[str, str], ...], list[dict[str, str]]] = {}
    for keys in cells:
        groups.setdefault(tuple((k, v) for k, v in sorted(keys.items()) if k not in AXES), []).append(keys)
    many = [rows for rows in groups.values() if len({r.get("seed") for r in rows}) > 1]
    seeds = {r["seed"] for rows in many for r in rows if "seed" in r}
    found: list[str] = []
    for fixed, rows in groups.items():
        axes = [a for a in AXES if a in rows[0]]
        values = [_expected(a, rows, seeds if rows in many else set()) for a in axes]
        present = {tuple(r.get(a) for a in axes) for r in rows}
        found += [
            "/".join([*(v for _, v in fixed), *(f"{a}={v}" for a, v in zip(axes, combination, strict=True))])
            for combination in itertools.product(*values)
            if combination not in present
        ]
    return sorted(found)


def _expected(axis: str, rows: list[dict[str, str]], seeds: set[str]) -> list[str]:
    """The values of an axis that a group should have, from those it has (repetitions are numbered from 0 without gaps)."""
    found = {r[axis] for r in rows if axis in r}
    if axis == "repeat" and all(v.isdigit() for v in found):
        return [str(i) for i in range(max(map(int, found)) + 1)]
    return sorted(found | (seeds if axis == "seed" else set()))


def content_hash(results: Database) -> str:
    """A hash of what the database holds: every cell with its state and the hash of its records, in order of cell id."""
    return str(results.sql(DATABASE_HASH)["hash"][0])


def _key(name: str) -> str:
    text = f"c.keys['{name}']"
    return f"TRY_CAST({text} AS DOUBLE)" if name in NUMERIC_KEYS else text


def _literal(key: str, value: Any) -> str:
    return repr(float(value)) if key in NUMERIC_KEYS else "'" + str(value).replace("'", "''") + "'"


def _list(words: Sequence[str]) -> str:
    return ", ".join("'" + w.replace("'", "''") + "'" for w in words)

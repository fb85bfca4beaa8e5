"""What an import would do to a study that is already there: what is new, what is the same, and what would change."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing.tables import SOURCE
from orledger.errors import DataError
from orledger.schema.frames import frame

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping as Dict

    from duckdb import DuckDBPyConnection

    from orledger.audit.importing.mapping import Mapping

IDENTITY = ["cell_id", "arm", "metric", "label", "idx"]
RECORD = pl.Schema({
    "cell_id": pl.String, "arm": pl.String, "metric": pl.String, "label": pl.String, "idx": pl.Int32, "value": pl.Float64,
})  # fmt: skip


@dataclass(frozen=True)
class Stored:
    """What a study's block holds: cell ids by key values, records, refusals (cell_id, arm, reason), facts, metric names."""

    ids: Dict[tuple[str, ...], str]
    known: frozenset[str]
    records: pl.DataFrame
    refusals: pl.DataFrame
    facts: Dict[str, Dict[str, str]]
    metrics: frozenset[str]


@dataclass(frozen=True)
class Change:
    """A number that would become another one; None stands for a missing entry."""

    cell_id: str
    arm: str
    metric: str
    label: str | None
    idx: int | None
    before: float | None
    after: float | None
    source: str

    def where(self) -> str:
        """The label and the index, for messages."""
        parts = [f"label {self.label}"] if self.label is not None else []
        parts += [f"index {self.idx}"] if self.idx is not None else []
        return f" ({', '.join(parts)})" if parts else ""

    def before_text(self) -> str:
        """The old value for people."""
        return "missing" if self.before is None else repr(self.before)

    def after_text(self) -> str:
        """The new value for people."""
        return "missing" if self.after is None else repr(self.after)


@dataclass(frozen=True)
class Merged:
    """The cells that an import touches, and everything they hold after it; ``added`` and ``missing`` count what is new."""

    touched: tuple[str, ...]
    records: pl.DataFrame
    refusals: Dict[str, list[tuple[str, str]]]
    facts: Dict[str, Dict[str, str]]
    files: Dict[str, tuple[str, ...]]
    changes: tuple[Change, ...]
    added: int
    missing: int


def read_study(con: DuckDBPyConnection, mapping: Mapping) -> Stored:
    """What the database holds of the study and block of ``mapping``."""
    place = [mapping.study, mapping.block]
    cells = con.execute(
        "SELECT cell_id, map_keys(keys), map_values(keys), hash_version FROM cell WHERE case_name = ? AND block = ?",
        place,
    ).fetchall()
    ids: dict[tuple[str, ...], str] = {}
    for identity, names, values, version in cells:
        if not version.startswith("import"):
            raise DataError(
                f"{mapping.file}: the database has cells of {mapping.study}/{mapping.block} that a run computed",
                hint="give the imported study another name",
            )
        if set(names) != set(mapping.keys):
            raise DataError(
                f"{mapping.file}: cells of {mapping.study}/{mapping.block} have the keys {', '.join(sorted(names))}, and the"
                f" mapping says {', '.join(sorted(mapping.keys))}",
                hint="use the same keys; where the ones that are there were a mistake, take another --db, or remove this one",
            )
        keys = dict(zip(names, values, strict=True))
        ids[tuple(keys[k] for k in mapping.keys)] = identity
    chosen = "SELECT cell_id FROM cell WHERE case_name = ? AND block = ?"
    records = frame(
        con.sql(f"SELECT cell_id, arm, metric, label, idx, value FROM record WHERE cell_id IN ({chosen})", params=place)
    ).cast(RECORD)
    refusals = frame(con.sql(f"SELECT cell_id, arm, reason FROM refusal WHERE cell_id IN ({chosen})", params=place))
    facts: dict[str, dict[str, str]] = {}
    for cell, name, value in con.execute(
        f"SELECT cell_id, name, value FROM fact WHERE cell_id IN ({chosen})", place
    ).fetchall():
        facts.setdefault(cell, {})[name] = value
    return Stored(
        ids, frozenset(ids.values()), records, refusals.cast(pl.String), facts, frozenset(records["metric"].unique())
    )


def left_behind(stored: Stored, rows: pl.DataFrame, files: Collection[str]) -> pl.DataFrame:
    """Cell and arm of what is ``stored`` from ``files`` alone, in cells that ``rows`` name, under an arm that they nowhere name.

    An arm whose name was corrected in the file leaves its old name behind. What another file brought is not of these.
    """
    came = {cell: {v for k, v in known.items() if k.startswith("file ")} for cell, known in stored.facts.items()}
    mine = {cell for cell in rows["cell_id"].unique() if came.get(cell) and came[cell] <= set(files)}
    held = pl.concat([stored.records.select("cell_id", "arm"), stored.refusals.select("cell_id", "arm")]).unique()
    named = rows["arm"].unique().implode()
    return held.filter(pl.col("cell_id").is_in(sorted(mine)) & ~pl.col("arm").is_in(named)).sort("cell_id", "arm")


def merge(stored: Stored, rows: pl.DataFrame, gone: pl.DataFrame) -> Merged:
    """``rows`` (cell_id, arm, metric, label, idx, value, reason, SOURCE) laid over what is ``stored``, less the arms ``gone``.

    A metric that an arm lacked is a change only when the study knew the metric and the arm had a missing entry: a result
    that turns up after a failure is not an addition. Everything else that was not there is one.
    """
    old = stored.records.rename({"value": "before"}).with_columns(pl.lit(True).alias("stored"))
    both = rows.join(old, on=IDENTITY, how="left", nulls_equal=True)
    gaps = stored.refusals.select("cell_id", "arm").unique().with_columns(pl.lit(True).alias("gap"))
    both = both.join(gaps, on=["cell_id", "arm"], how="left")
    there = pl.col("stored").is_not_null()
    differs = there & ~pl.col("value").eq_missing(pl.col("before"))
    filled = ~there & pl.col("gap").is_not_null() & pl.col("value").is_not_null()
    filled = filled & pl.col("metric").is_in(sorted(stored.metrics))
    both = both.with_columns((differs | filled).alias("changes"))
    changes = tuple(
        Change(r["cell_id"], r["arm"], r["metric"], r["label"], r["idx"], r["before"], r["value"], r[SOURCE])
        for r in both.filter("changes").iter_rows(named=True)
    )
    source = rows[SOURCE][0] if rows.height else ""
    lost = stored.records.join(gone, on=["cell_id", "arm"], how="semi")
    changes += tuple(
        Change(r["cell_id"], r["arm"], r["metric"], r["label"], r["idx"], r["value"], None, source)
        for r in lost.iter_rows(named=True)
    )
    fresh = both.filter(~there & pl.col("value").is_not_null())
    absent = both.filter(pl.col("value").is_null())
    refusals = _reasons(stored, absent, rows)
    known = stored.refusals.filter(pl.col("cell_id").is_in(rows["cell_id"].unique().implode()))
    settled = both.filter("changes").select("cell_id", "arm").unique()
    new_refusals = refusals.join(known, on=["cell_id", "arm", "reason"], how="anti")
    touched = (
        pl.concat([fresh["cell_id"], both.filter("changes")["cell_id"], new_refusals["cell_id"], gone["cell_id"]])
        .append(rows.filter(~pl.col("cell_id").is_in(sorted(stored.known)))["cell_id"])
        .unique(maintain_order=True)
    )
    inside = pl.col("cell_id").is_in(touched.implode())
    kept = stored.records.filter(inside).join(
        both.filter(differs).select(IDENTITY), on=IDENTITY, how="anti", nulls_equal=True
    )
    kept = kept.join(gone, on=["cell_id", "arm"], how="anti")
    known = known.join(gone, on=["cell_id", "arm"], how="anti")
    written = both.filter((~there | differs) & pl.col("value").is_not_null()).select(list(RECORD))
    after = pl.concat([known.join(settled, on=["cell_id", "arm"], how="anti"), refusals]).filter(inside)
    listed: dict[str, list[tuple[str, str]]] = {}
    for cell, arm, reason in after.unique(maintain_order=True).iter_rows():
        listed.setdefault(cell, []).append((arm, reason))
    sources = rows.filter(inside).group_by("cell_id").agg(pl.col(SOURCE).unique(maintain_order=True))
    return Merged(
        touched=tuple(touched),
        records=pl.concat([kept, written.cast(RECORD)]),
        refusals=listed,
        facts=_facts(stored, changes, stored.refusals.join(gone, on=["cell_id", "arm"], how="semi"), set(touched)),
        files={cell: tuple(files) for cell, files in sources.iter_rows()},
        changes=changes,
        added=fresh.height,
        missing=new_refusals.height,
    )


def _reasons(stored: Stored, absent: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """One refusal (cell_id, arm, reason) per missing entry; an arm that has other metrics says which one is missing.

    An entry without a reason of its own, of an arm that is known to lack it, is no news.
    """
    present = rows.filter(pl.col("value").is_not_null()).select("cell_id", "arm").unique().with_columns(other=True)
    known = pl.col("gap").is_not_null() & pl.col("metric").is_in(sorted(stored.metrics))
    found = absent.filter(~(known & (pl.col("reason") == pl.format("missing in {}", SOURCE))))
    found = found.join(present, on=["cell_id", "arm"], how="left")
    named = pl.when(pl.col("other").is_null()).then(pl.col("reason")).otherwise(pl.format("{}: {}", "metric", "reason"))
    return found.select("cell_id", "arm", named.alias("reason")).unique(maintain_order=True)


def _facts(
    stored: Stored, changes: tuple[Change, ...], unsaid: pl.DataFrame, touched: set[str]
) -> dict[str, dict[str, str]]:
    """The facts of the touched cells, with a trace of every number that was replaced and every refusal ``unsaid``."""
    facts = {cell: dict(known) for cell, known in stored.facts.items() if cell in touched}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    traces = [
        (c.cell_id, {"arm": c.arm, "metric": c.metric, "label": c.label, "idx": c.idx, "before": c.before,
                     "after": c.after, "file": c.source, "at": now})
        for c in changes
    ]  # fmt: skip
    traces += [(cell, {"arm": arm, "refusal": reason, "at": now}) for cell, arm, reason in unsaid.iter_rows()]
    for cell, trace in traces:
        own = facts.setdefault(cell, {})
        count = sum(name.startswith("replaced ") for name in own)
        own[f"replaced {count + 1}"] = json.dumps(trace, ensure_ascii=False)
    return facts

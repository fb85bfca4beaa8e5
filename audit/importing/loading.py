"""Results made elsewhere: a CSV or Parquet table and a small mapping file become cells and records of a study."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from orledger.errors import DataError
from orledger.schema import catalogue, chain, viewing
from orledger.schema.catalogue import Metric
from orledger.schema.hashing import content_hash
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from orledger.audit.importing.mapping import Mapping

HASH_VERSION = "import-1"


@dataclass(frozen=True)
class Imported:
    """What an import stored: new cells, cells that were there already, records, and missing entries (kept as refusals)."""

    study: str
    cells: int
    known: int
    records: int
    missing: int


def read_table(path: Path) -> pl.DataFrame:
    """The CSV or Parquet file at ``path``, every CSV column as text."""
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pl.read_parquet(path)
        return pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: cannot be read as a table: {error}", hint="give a CSV with a header line, or a Parquet file"
        ) from error


def to_records(table: pl.DataFrame, mapping: Mapping, name: str) -> pl.DataFrame:
    """Rows (keys..., arm, metric, label, idx, value) in long form; ``value`` is null where the table says missing."""
    needed = [
        *mapping.keys,
        *(c for c in (mapping.arm, mapping.metric, mapping.value, mapping.label, mapping.idx) if c),
        *mapping.arms,
    ]
    absent = [c for c in needed if c not in table.columns]
    if absent:
        raise DataError(
            f"{name}: no column {absent[0]!r} (the mapping {mapping.file} names it)",
            hint=f"columns are: {', '.join(table.columns)}",
        )
    nested = [c for c in needed if table.schema[c].is_nested()]
    if nested:
        raise DataError(
            f"{name}: the column {nested[0]!r} holds {table.schema[nested[0]]}", hint="a column holds texts or numbers"
        )
    keys = [pl.col(k).cast(pl.String).str.strip_chars().alias(k) for k in mapping.keys]
    empty = pl.lit(None, dtype=pl.String)
    if mapping.form == "wide":
        text = table.select(*keys, *(pl.col(a).cast(pl.String) for a in mapping.arms)).with_row_index("_row", 2)
        rows = text.unpivot(
            index=["_row", *mapping.keys], on=list(mapping.arms), variable_name="arm", value_name="value"
        )
        rows = rows.with_columns(pl.lit(mapping.fixed_metric).alias("metric"), empty.alias("label"), empty.alias("idx"))
    else:
        assert mapping.value is not None
        chosen = {
            "arm": pl.col(mapping.arm) if mapping.arm else pl.lit(mapping.fixed_arm),
            "metric": pl.col(mapping.metric) if mapping.metric else pl.lit(mapping.fixed_metric),
            "label": pl.col(mapping.label) if mapping.label else empty,
            "idx": pl.col(mapping.idx) if mapping.idx else empty,
            "value": pl.col(mapping.value),
        }
        rows = table.select(*keys, *(e.cast(pl.String).alias(n) for n, e in chosen.items())).with_row_index("_row", 2)
    rows = rows.with_columns(pl.col("value").str.strip_chars())
    rows = rows.with_columns(
        pl.when(pl.col("value").is_in(list(mapping.missing))).then(None).otherwise(pl.col("value")).alias("value")
    )
    number, index = pl.col("value").cast(pl.Float64, strict=False), pl.col("idx").cast(pl.Int32, strict=False)
    converted = rows.with_columns(number.alias("_number"), index.alias("_index"))
    bad = converted.filter(pl.col("value").is_not_null() & ~pl.col("_number").is_finite().fill_null(False))
    if not bad.is_empty():
        row = bad.row(0, named=True)
        column = row["arm"] if mapping.form == "wide" else mapping.value
        raise DataError(
            f"{name}: row {row['_row']}, column {column!r}: {row['value']!r} is not a finite number",
            hint=f"correct it, or add it to missing in {mapping.file}",
        )
    for column in (*mapping.keys, "arm", "metric"):
        hole = converted.filter(pl.col(column).is_null() | (pl.col(column) == ""))
        if not hole.is_empty():
            raise DataError(f"{name}: row {hole['_row'][0]}: the column for {column!r} is empty")
    result = converted.select(
        *mapping.keys, "arm", "metric", "label", pl.col("_index").alias("idx"), pl.col("_number").alias("value")
    )
    identity = [*mapping.keys, "arm", "metric", "label", "idx"]
    if result.select(identity).n_unique() != result.height:
        twice = result.group_by(identity, maintain_order=True).len().filter(pl.col("len") > 1).row(0)
        raise DataError(
            f"{name}: {'/'.join(str(v) for v in twice[:-1] if v is not None)} stands {twice[-1]} times",
            hint="one number per key, arm, metric, label and index",
        )
    return result


def import_table(con: Any, path: Path, mapping: Mapping) -> Imported:
    """Stores the table at ``path`` as a study; importing the same file again changes nothing.

    A cell is named by its keys and the content of the file, so that a corrected file makes new cells; the old ones must
    then be told apart or removed by the user.
    """
    rows = to_records(read_table(path), mapping, path.name)
    content = sha256(path.read_bytes()).hexdigest()
    cells = rows.select(mapping.keys).unique(maintain_order=True)
    specs = [_spec(mapping, dict(zip(mapping.keys, key, strict=True)), content) for key in cells.iter_rows()]
    cells = cells.with_columns(
        pl.Series("cell_id", [sha256(s.encode()).hexdigest()[:24] for s in specs]), pl.Series("spec", specs)
    )
    present = {r[0] for r in con.execute("SELECT cell_id FROM cell WHERE case_name = ?", [mapping.study]).fetchall()}
    new = cells.filter(~pl.col("cell_id").is_in(sorted(present)))
    clash = _clash(con, mapping, new, present)
    if clash:
        raise DataError(
            f"{path.name}: the study {mapping.study} already holds {clash} from another file",
            hint="give the corrected file another study or block name, or start a new database",
        )
    placed = rows.join(new, on=list(mapping.keys), how="inner")
    values = placed.drop_nulls("value")
    gaps = placed.filter(pl.col("value").is_null())
    _insert(con, mapping, new, values, gaps, f"missing in {path.name}")
    return Imported(mapping.study, new.height, cells.height - new.height, values.height, gaps.height)


def _spec(mapping: Mapping, keys: dict[str, str], content: str) -> str:
    spec = {"case": mapping.study, "block": mapping.block, "keys": keys, "settings": {"sha256": content}}
    return json.dumps({"hash_version": HASH_VERSION, **spec}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _clash(con: Any, mapping: Mapping, new: pl.DataFrame, present: set[str]) -> str | None:
    """The name of a cell that exists with the same keys and another content."""
    if not present:
        return None
    query = "SELECT name FROM cell WHERE case_name = ? AND block = ?"
    names = {r[0] for r in con.execute(query, [mapping.study, mapping.block]).fetchall()}
    return next((n for n in (_name(mapping, key) for key in new.select(mapping.keys).iter_rows()) if n in names), None)


def _name(mapping: Mapping, key: tuple[str, ...]) -> str:
    return "/".join((mapping.study, mapping.block, *key))


def _hashes(cells: Iterable[str], values: pl.DataFrame, gaps: pl.DataFrame, reason: str) -> list[str]:
    """The content hash of each cell, from its own records and missing entries."""
    records = {key[0]: frame for key, frame in values.partition_by("cell_id", as_dict=True).items()}
    missing = gaps.group_by("cell_id").agg("arm")
    arms = dict(zip(missing["cell_id"], missing["arm"], strict=True))
    found = []
    for cell in cells:
        rows = records.get(cell, values.head(0))
        idx = np.ma.array(rows["idx"].fill_null(0).to_numpy(), mask=rows["idx"].is_null().to_numpy())
        texts = {name: rows[name].to_list() for name in ("arm", "metric", "label")}
        columns = {**texts, "idx": idx, "value": rows["value"].to_numpy()}
        found.append(content_hash("done", None, columns, [(arm, reason, None) for arm in arms.get(cell, [])]))
    return found


def _insert(
    con: Any, mapping: Mapping, new: pl.DataFrame, values: pl.DataFrame, gaps: pl.DataFrame, reason: str
) -> None:
    """Cells, records and refusals in one transaction, column by column; ``reason`` is that of a missing entry."""
    counts = dict(values.group_by("cell_id").len().iter_rows())
    keys = [
        json.dumps(dict(zip(mapping.keys, key, strict=True)), ensure_ascii=False)
        for key in new.select(mapping.keys).iter_rows()
    ]
    with transaction(con):
        con.execute(
            "INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, state, n_records, content_hash, finished)"
            " SELECT unnest(?::VARCHAR[]), ?, ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[])::JSON::MAP(VARCHAR, VARCHAR),"
            " unnest(?::VARCHAR[]), ?, 'done', unnest(?::BIGINT[]), unnest(?::VARCHAR[]), ?",
            [
                new["cell_id"].to_list(), mapping.study, mapping.block,
                [_name(mapping, key) for key in new.select(mapping.keys).iter_rows()], keys, new["spec"].to_list(),
                HASH_VERSION, [counts.get(c, 0) for c in new["cell_id"]], _hashes(new["cell_id"], values, gaps, reason),
                datetime.now(UTC).replace(tzinfo=None),
            ],
        )  # fmt: skip
        columns = [values[c].to_list() for c in ("cell_id", "arm", "metric", "label", "idx", "value")]
        types = ("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "INTEGER", "DOUBLE")
        con.execute("INSERT INTO record SELECT " + ", ".join(f"unnest(?::{t}[])" for t in types), columns)
        con.execute(
            "INSERT INTO refusal SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), ?, NULL",
            [gaps["cell_id"].to_list(), gaps["arm"].to_list(), reason],
        )
        arms, idx = ", ".join(sorted(set(values["arm"].to_list()))), None if mapping.idx is None else "index"
        declared = tuple(
            Metric(mapping.block, arms, metric, mapping.label, idx, unit, better, description)
            for metric, description, better, unit in mapping.metrics
        )
        catalogue.store(con, catalogue.Catalogue(mapping.study, declared))
        catalogue.complete(con, mapping.study)
        viewing.refresh(con)
        imported = new["cell_id"].to_list()
        kept = {"plan": imported, "cell": imported}
        chain.append(con, "import", {"study": mapping.study, "block": mapping.block, "cells": len(imported)}, kept)

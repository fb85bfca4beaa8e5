"""From a table and its mapping to records in long form, every entry that cannot be one named by file, row and column."""

from __future__ import annotations

from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing.mapping import MISSING
from orledger.audit.importing.marked import truth, unmarked
from orledger.audit.importing.tables import ROW, SOURCE
from orledger.audit.importing.words import FINE
from orledger.errors import DataError
from orledger.schema.accepted import BEYOND, LARGEST, MOST_CHARACTERS, RECORD, alike, reserved
from orledger.toml_tables import SHORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.importing.mapping import Mapping

PLACE = ("arm", "metric", "label", "idx")
LONG_WHOLE = r"^[+-]?\d{16,}$"  # every whole number of fewer digits is a float64
WORD, NUMBER, INDEX, COLUMN = "\0word", "\0number", "\0idx", "\0column"  # for the moment, under names that no key has


def to_records(table: pl.DataFrame, mapping: Mapping) -> pl.DataFrame:
    """Rows (keys..., arm, metric, label, idx, value, reason) in long form.

    ``value`` is null where the table says missing, and ``reason`` then says why. ``table`` comes from ``read_tables``.
    """
    _require_columns(table, mapping)
    rows = _long_form(table, mapping).with_columns(_named(mapping).alias("metric"))
    value = pl.col("value").str.strip_chars()
    absent = value.is_in(list(mapping.missing))
    if mapping.reason_wins:
        absent = absent | pl.col("reason").is_not_null()
    spoken = absent & ~value.is_in(MISSING) & ~value.str.contains(r"\d")  # OOM says why, -999 does not
    rows = rows.with_columns(
        pl.when(absent).then(None).otherwise(value).alias("value"), pl.when(spoken).then(value).alias(WORD)
    )
    if mapping.marked:
        rows = unmarked(rows)
    rows = rows.with_columns(truth(pl.col("value")))
    number = pl.col("value").str.replace(",", ".", literal=True) if mapping.decimal == "," else pl.col("value")
    rows = rows.with_columns(
        number.cast(pl.Float64, strict=False).alias(NUMBER), pl.col("idx").cast(pl.Int32, strict=False).alias(INDEX)
    )
    _require_numbers(rows, mapping)
    for column in (*mapping.keys, "arm", "metric"):
        hole = rows.filter(pl.col(column).is_null() | (pl.col(column) == ""))
        if not hole.is_empty():
            raise DataError(
                f"{_place(hole)}: the column for {column!r} is empty",
                hint="fill it in, or take the rows out: a number without its name cannot be stored",
            )
        long = rows.filter(pl.col(column).str.len_chars() > MOST_CHARACTERS)
        if not long.is_empty():
            raise DataError(
                f"{_place(long)}: the column for {column!r} holds {long[column].str.len_chars()[0]:,} characters; at most "
                f"{MOST_CHARACTERS:,} are a name",
                hint="is a quotation mark missing? Otherwise give it a short name",
            )
    if mapping.form == "rows":
        rows = _without_unmeasured(rows, mapping)
    reason = pl.coalesce(pl.col("reason"), pl.col(WORD), pl.format("missing in {}", pl.col(SOURCE)))
    found = rows.select(
        *mapping.keys, "arm", "metric", "label", pl.col(INDEX).alias("idx"), pl.col(NUMBER).alias("value"),
        pl.when(pl.col(NUMBER).is_null()).then(reason).alias("reason"), SOURCE, ROW,
    )  # fmt: skip
    _require_once(found, mapping)
    found = found.drop(ROW)
    return _with_combined(found, mapping) if mapping.combined else found


def unstored_reasons(table: pl.DataFrame, mapping: Mapping) -> int:
    """How many rows give a reason beside values that are all there: such a reason is a remark and has no place in a ledger."""
    if mapping.reason is None:
        return 0
    values = [mapping.value] if mapping.value else [*mapping.arms, *mapping.columns]
    there = pl.all_horizontal(~pl.col(c).cast(pl.String).str.strip_chars().is_in(list(mapping.missing)) for c in values)
    return table.filter(there & _filled(mapping.reason).is_not_null()).height


def rounded(table: pl.DataFrame, mapping: Mapping) -> list[tuple[str, int]]:
    """Whole numbers that float64 does not hold, as they stand in the table and as they are stored."""
    columns = [mapping.value] if mapping.value else [*mapping.arms, *mapping.columns]
    found: list[tuple[str, int]] = []
    for column in columns:
        texts = table[column].cast(pl.String).str.strip_chars()
        for entry in texts.filter(texts.str.contains(LONG_WHOLE).fill_null(False)):
            stored = float(entry)
            if entry not in mapping.missing and abs(stored) <= LARGEST and int(entry) != int(stored):
                found.append((entry, int(stored)))
    return found


def _long_form(table: pl.DataFrame, mapping: Mapping) -> pl.DataFrame:
    """Columns: ROW, SOURCE, the keys, arm, metric, label, idx, reason, value, COLUMN; all but the first as text."""
    nothing = pl.lit(None, dtype=pl.String)

    def text(column: str | None, fixed: str | None = None) -> pl.Expr:
        if column is None:
            return nothing if fixed is None else pl.lit(fixed)
        return pl.col(column).cast(pl.String).str.strip_chars()

    keys = [text(k).alias(k) for k in mapping.keys]
    reason = _filled(mapping.reason) if mapping.reason else nothing
    if mapping.form == "long":
        assert mapping.value is not None
        return table.select(
            ROW, SOURCE, *keys, text(mapping.arm, mapping.fixed_arm).alias("arm"),
            text(mapping.metric, mapping.fixed_metric).alias("metric"), text(mapping.label).alias("label"),
            text(mapping.idx).alias("idx"), reason.alias("reason"), pl.col(mapping.value).cast(pl.String).alias("value"),
            pl.lit(mapping.value).alias(COLUMN),
        )  # fmt: skip
    wide = mapping.form == "wide"
    spread = mapping.arms if wide else mapping.columns
    # Columns get numbers for the moment: an arm may have the name of a key.
    fixed = {
        ROW: pl.col(ROW),
        SOURCE: pl.col(SOURCE),
        **{f"k{i}": e for i, e in enumerate(keys)},
        "_other": text(mapping.metric, mapping.fixed_metric) if wide else text(mapping.arm, mapping.fixed_arm),
        "label": text(mapping.label),
        "idx": text(mapping.idx),
        "reason": reason,
    }
    numbered = table.select(
        *(e.alias(n) for n, e in fixed.items()),
        *(pl.col(c).cast(pl.String).alias(f"v{i}") for i, c in enumerate(spread)),
    )
    melted = numbered.unpivot(
        index=list(fixed), on=[f"v{i}" for i in range(len(spread))], variable_name=COLUMN, value_name="value"
    )
    names = pl.col(COLUMN).replace_strict([f"v{i}" for i in range(len(spread))], list(spread), return_dtype=pl.String)
    arm, metric = (names, pl.col("_other")) if wide else (pl.col("_other"), names)
    return melted.select(
        ROW, SOURCE, *(pl.col(f"k{i}").alias(k) for i, k in enumerate(mapping.keys)), arm.alias("arm"),
        metric.alias("metric"), "label", "idx", "reason", "value", names.alias(COLUMN),
    )  # fmt: skip


def _filled(column: str) -> pl.Expr:
    """The text of a column, null where it is empty, says missing, or says that all went well."""
    text = pl.col(column).cast(pl.String).str.strip_chars()
    nothing = text.is_in(["", "NA", "NaN", "nan", "None", "null"]) | text.str.to_lowercase().is_in(list(FINE))
    return pl.when(nothing).then(None).otherwise(text)


def _named(mapping: Mapping) -> pl.Expr:
    """The metric of a row: as the table says, or another one where the mapping says that it applies."""
    chosen = pl.col("metric")
    for m in mapping.metrics:
        if m.where:
            applies = pl.all_horizontal(pl.col(key).is_in(list(values)) for key, values in m.where)
            chosen = pl.when(applies).then(pl.lit(m.name)).otherwise(chosen)
    return chosen


def _with_combined(rows: pl.DataFrame, mapping: Mapping) -> pl.DataFrame:
    """``rows`` and the combined metric: that of its metrics which the cell has, its sign changed where lower is better."""
    lower = [m.name for m in mapping.metrics if m.better == "lower"]
    parts = rows.filter(pl.col("metric").is_in(list(mapping.combines)))
    several = parts.group_by(mapping.keys).agg(pl.col("metric").n_unique().alias(NUMBER)).filter(pl.col(NUMBER) > 1)
    if not several.is_empty():
        cell = "/".join(str(v) for v in several.select(mapping.keys).row(0))
        raise DataError(
            f"{cell} has {several[NUMBER][0]} of the metrics {', '.join(mapping.combines)}, and combined takes one per cell",
            hint=f"name others in [combined] of {mapping.file}, or take it out",
        )
    turned = pl.when(pl.col("metric").is_in(lower)).then(-pl.col("value")).otherwise(pl.col("value"))
    return pl.concat([rows, parts.with_columns(turned.alias("value"), pl.lit(mapping.combined).alias("metric"))])


def _without_unmeasured(rows: pl.DataFrame, mapping: Mapping) -> pl.DataFrame:
    """``rows`` less the metrics that no arm has on a value of the first key: they were not measured there, and nothing failed."""
    group = [mapping.keys[0], "metric"]
    measured = rows.filter(pl.col(NUMBER).is_not_null()).select(group).unique()
    any_metric = rows.filter(pl.col(NUMBER).is_not_null()).select(mapping.keys[0]).unique()
    unmeasured = (
        rows.select(group)
        .unique()
        .join(measured, on=group, how="anti")
        .join(any_metric, on=mapping.keys[0], how="semi")
    )
    return rows.join(unmeasured, on=group, how="anti")


def _require_columns(table: pl.DataFrame, mapping: Mapping) -> None:
    if taken := [key for key in mapping.keys if reserved(key, RECORD)]:
        raise DataError(
            f"{table[SOURCE][0]}: the column {taken[0]!r} cannot be a key: {', '.join(RECORD)} are what a record has beside its keys",
            hint="rename it in the header line; a column of labels or steps can be the label or idx of a mapping",
        )
    if (pair := alike(mapping.keys)) is not None:
        raise DataError(
            f"{table[SOURCE][0]}: the keys {pair[0]!r} and {pair[1]!r} differ only in case",
            hint="rename one of them in the header line",
        )
    schema = table.schema  # asked once: it is made anew at every turn, and a table may have thousands of columns
    shown = [c for c in schema if c not in (ROW, SOURCE)]
    for column in mapping.needed:
        if column not in schema or column in (ROW, SOURCE):
            close = get_close_matches(column, shown, 1)
            suggestion = f"did you mean {close[0]!r}? " if close else ""
            raise DataError(
                f"{table[SOURCE][0]}: no column {column!r} (the mapping {mapping.file} names it)",
                hint=f"{suggestion}columns are: {', '.join(shown)}",
            )
        if schema[column].is_nested():
            raise DataError(
                f"{table[SOURCE][0]}: the column {column!r} holds {schema[column]}",
                hint="a column holds texts or numbers",
            )


def _require_numbers(rows: pl.DataFrame, mapping: Mapping) -> None:
    usable = (pl.col(NUMBER).abs() <= LARGEST).fill_null(False)
    bad = rows.filter(pl.col("value").is_not_null() & ~usable)
    if not bad.is_empty():
        row = bad.row(0, named=True)
        finite = row[NUMBER] is not None and isfinite(row[NUMBER])
        what = BEYOND if finite else "not a finite number"
        more = f" ({bad.height} entries are no usable numbers)" if bad.height > 1 else ""
        otherwise = (
            f"add it to missing in {mapping.file}"
            if mapping.file
            else "leave the entry empty and say why in a column called reason"
        )
        raise DataError(
            f"{_place(bad)}, column {row[COLUMN]!r}: {SHORT.repr(row['value'])} is {what}{more}",
            hint=f"correct it, or {otherwise}",
        )
    bad = rows.filter(pl.col("idx").is_not_null() & pl.col(INDEX).is_null())
    if not bad.is_empty():
        raise DataError(
            f"{_place(bad)}, column {mapping.idx!r}: {SHORT.repr(bad['idx'][0])} is not a whole number",
            hint="idx counts steps or points; put other things into label or the keys",
        )


def _require_once(rows: pl.DataFrame, mapping: Mapping) -> None:
    identity = [*mapping.keys, *PLACE]
    if rows.select(identity).n_unique() == rows.height:
        return
    twice = (
        rows.group_by(identity, maintain_order=True)
        .agg(pl.len().alias(NUMBER), pl.col(ROW).head(2), pl.col(SOURCE).head(2))
        .filter(pl.col(NUMBER) > 1)
    )
    first = twice.row(0, named=True)
    name = "/".join(str(first[c]) for c in identity if first[c] is not None)
    places = " and ".join(f"{f} row {r}" for f, r in zip(first[SOURCE], first[ROW], strict=True))
    once = rows.drop(ROW).unique()
    agree = once.select(identity).n_unique() == once.height
    raise DataError(
        f"{name} stands {first[NUMBER]} times ({places}); {twice.height} of {rows.height} numbers do",
        hint="they agree in all that is read of them: take the repeated rows out"
        if agree
        else "one number per key, arm, metric, label and index: does a key, such as a seed or a fold, miss in keys?",
    )


def _place(rows: pl.DataFrame) -> str:
    return f"{rows[SOURCE][0]}: row {rows[ROW][0]}"


def cell_names(mapping: Mapping, keys: Sequence[Sequence[str]]) -> list[str]:
    """Names of cells for people: study, block and key values."""
    return ["/".join((mapping.study, mapping.block, *key)) for key in keys]

"""Other people's files as tables: CSV of any usual separator, Parquet, JSON, one file or many."""

from __future__ import annotations

import glob
import gzip
import json
import re
import zlib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing.exports import recognised
from orledger.audit.importing.folders import TABLES, bare_name, ending, kind
from orledger.audit.importing.mapping import FILE_COLUMN
from orledger.audit.importing.repeated import NOTHING, Beforehand
from orledger.errors import DataError, UsageError
from orledger.files import waits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

PARQUET = (".parquet", ".pq")
JSON = (".json", ".jsonl", ".ndjson")
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"  # how packed files begin
SEPARATORS = (",", ";", "\t", "|")
# Columns beside those of the file, under names that no header line has.
ROW = "\0row"  # the line of the file a row stands on, for messages
SOURCE = "\0source"  # the name of the file
FIRST_COLUMN = "first_column"  # the name of a first column that has none
INDEX_NAMES = re.compile(r"|Unnamed: 0(\.\d+)?|index|level_0|\.\.\.1|_c0|_duplicated_\d+")


def expand(patterns: Iterable[str | Path]) -> tuple[Path, ...]:
    """The files that ``patterns`` name (paths, folders, or globs such as ``results/*.csv``), each once, in order of name."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        if kind(path) is not None:
            inside = [path]
        elif path.is_dir():
            inside = sorted(p for p in path.iterdir() if ending(p) in TABLES)
            for p in filter(waits, inside):
                raise DataError(
                    f"{p}: is a pipe or a device, not a file", hint="take it out of the folder, or name the files"
                )
            if not inside:
                raise DataError(
                    f"{path}: no CSV, Parquet or JSON lines file, no run of Sacred and no event file of TensorBoard in this folder",
                    hint="name the files",
                )
        elif path.is_file():
            inside = [path]
        elif path.exists():  # a table is read more than once
            raise DataError(f"{path}: is a pipe or a device, not a file", hint="save the table as a file first")
        else:
            inside = sorted(Path(p) for p in glob.glob(str(pattern), recursive=True) if Path(p).is_file())
            if not inside:
                raise DataError(
                    f"{pattern}: no such file", hint="give a CSV, Parquet or JSON file, a folder, or a glob"
                )
        found |= dict.fromkeys(inside)
    return tuple(found)


def read_table(path: Path) -> pl.DataFrame:
    """The CSV, Parquet or JSON file at ``path``, packed or not, or the folder of a program's runs; every column of a CSV as text."""
    if (folder := kind(path)) is not None:
        return folder.read(path)
    try:
        if ending(path) in PARQUET:
            return pl.read_parquet(path, glob=False)  # a name with brackets is a name
        data = path.read_bytes()
        if data.startswith(GZIP):
            data = gzip.decompress(data)
        if ending(path) in JSON:
            return _records(path, data)
        _require_text(path, data)
        table = pl.read_csv(data, infer_schema=False, separator=_separator(data))
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: cannot be read as a table: {str(error).splitlines()[0]}",
            hint="give a CSV in UTF-8 with a header line and nothing above it, a Parquet file, or JSON with an object to a row",
        ) from error
    names = [name.replace('""', '"').strip() for name in table.columns]  # polars undoubles quotes in rows only
    twice = [n for n in names if re.fullmatch(r".+_duplicated_\d+", n) and n.rpartition("_duplicated_")[0] in names]
    if twice:
        raise DataError(
            f"{path}: two columns are called {twice[0].rpartition('_duplicated_')[0]!r}",
            hint="give each its own name; of several header lines, as a pivot table has, make one: acc_ridge, acc_forest",
        )
    if len(names) == 1:
        raise DataError(
            f"{path}: has one column, {names[0]!r}", hint="separate columns by commas, semicolons, tabs or |"
        )
    return table.rename(dict(zip(table.columns, names, strict=True)))


def _require_text(path: Path, data: bytes) -> None:
    if data.startswith(ZIP):
        raise DataError(f"{path}: is a workbook or another archive", hint="save the sheet as CSV in UTF-8")
    if b"\0" in data:
        raise DataError(
            f"{path}: holds NUL bytes, so it is no text in UTF-8",
            hint="save it as CSV in UTF-8 (not UTF-16), or as Parquet",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}: line {line} is no text in UTF-8", hint="save it as CSV in UTF-8") from error
    if re.match(r"[^\n]*\|[^\n]*\n[\s|:-]*---[\s|:-]*\n", text):
        raise DataError(f"{path}: is a table in Markdown", hint="save it as CSV")


def _records(path: Path, data: bytes) -> pl.DataFrame:
    """The objects of a JSON text, one to a line or all in a list, as rows."""
    lines = ending(path) != ".json" or not data.lstrip().startswith(b"[")
    table = pl.read_ndjson(data, infer_schema_length=None) if lines else pl.read_json(data, infer_schema_length=None)
    _require_keys_once(path, data, lines=lines)
    if table.columns and all(kind.is_nested() for kind in table.schema.values()):
        raise DataError(
            f"{path}: holds columns and not rows", hint='an object to a row: frame.to_json(path, orient="records")'
        )
    return table


def _require_keys_once(path: Path, data: bytes, *, lines: bool) -> None:
    """Refuses an object that says a key twice: polars takes the first, other programs the last."""
    twice: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        if len(dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice.append(next(name for name in names if names.count(name) > 1))

    reader = json.JSONDecoder(object_pairs_hook=note)
    for number, text in enumerate(data.splitlines() if lines else [data], 1):
        try:
            reader.decode(text.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            continue  # what polars reads and this does not is not about keys
        if twice:
            where = f"line {number}: an object" if lines else "an object"
            raise DataError(f"{path}: {where} has two keys {twice[0]!r}", hint="give each its own name")


def read_tables(
    paths: Sequence[Path], ignore: Collection[str] = (), *, strict: bool = True, said: Beforehand = NOTHING
) -> pl.DataFrame:
    """All ``paths`` under each other, with the columns ``SOURCE`` and ``ROW``, and ``file`` where no column has that name.

    Files need not have the same columns; what a file does not have is missing in its rows. Columns to ``ignore`` are taken out
    before anything is made of the others; one that no table has is an error, unless ``strict`` is false. ``said`` is what was said
    about columns that may be turned into rows.
    """
    return stacked([(path.name, read_table(path)) for path in paths], ignore, strict=strict, said=said)


def programs(paths: Sequence[Path], ignore: Collection[str] = (), said: Beforehand = NOTHING) -> tuple[str, ...]:
    """The programs whose exports are among ``paths``, each once; how a table was turned is told in the same way."""
    found = (
        folder.program
        if (folder := kind(path)) is not None
        else recognised(headed(read_table(path)).drop(ignore, strict=False), path.name, said)[1]
        for path in paths
    )
    return tuple(dict.fromkeys(program for program in found if program))


def stacked(
    tables: Sequence[tuple[str, pl.DataFrame]],
    ignore: Collection[str] = (),
    *,
    strict: bool = True,
    said: Beforehand = NOTHING,
) -> pl.DataFrame:
    """Named tables under each other, less columns to ``ignore`` and the unnamed one of row numbers that some programs write."""
    parts: list[pl.DataFrame] = []
    seen: dict[str, None] = {}
    for name, table in tables:
        whole = headed(table)
        turned, _ = recognised(whole.drop(ignore, strict=False), name, said)
        frame = turned.drop(ignore, strict=False)  # an export has other columns than its file
        seen |= dict.fromkeys((*whole.columns, *turned.columns))
        if frame.is_empty():
            raise DataError(
                f"{name}: the table has no rows", hint="give a table with a header line and at least one row"
            )
        if "" in frame.columns and frame[""].null_count() < frame.height:
            raise DataError(
                f"{name}: column {frame.columns.index('') + 1} has values and no name",
                hint="name it in the header line, or take it out",
            )
        marks = [pl.lit(name).alias(SOURCE)]
        if FILE_COLUMN not in frame.columns:
            marks.append(pl.lit(bare_name(Path(name))).alias(FILE_COLUMN))
        parts.append(frame.with_row_index(ROW, 2).with_columns(marks))
    for column in ignore if strict else ():
        require_column(column, list(seen), tables[0][0])
    if len(parts) == 1:
        return parts[0]
    texts = [p.with_columns(pl.exclude(ROW).cast(pl.String)) if _differ(parts) else p for p in parts]
    return pl.concat(texts, how="diagonal")


def require_column(name: str, names: Sequence[str], source: str) -> None:
    """An error with a suggestion when the user names a column that is not there."""
    if name not in names:
        close = get_close_matches(name, names, 1)
        raise UsageError(
            f"{source}: no column {name!r}",
            hint=(f"did you mean {close[0]!r}? " if close else "") + f"columns are: {', '.join(names)}",
        )


def headed(table: pl.DataFrame) -> pl.DataFrame:
    """``table`` without row numbers, and with a name for a first column of words that has none, as a pivot table has."""
    bare = without_row_numbers(table)
    if bare.width < 2 or bare.columns[0] != "" or FIRST_COLUMN in bare.columns or bare.schema[""].is_nested():
        return bare
    words = bare[:, 0].cast(pl.String).drop_nulls()
    named = words.cast(pl.Float64, strict=False).null_count() == len(words) > 0
    return bare.rename({"": FIRST_COLUMN}) if named else bare


def without_row_numbers(table: pl.DataFrame) -> pl.DataFrame:
    """``table`` without a first column that has no name (or a program's name for none) and only counts the rows."""
    if table.width < 2 or not INDEX_NAMES.fullmatch(table.columns[0]):
        return table
    first = table[:, 0]
    if first.dtype.is_nested():
        return table
    numbers = first.cast(pl.String).cast(pl.Int64, strict=False)
    if numbers.null_count() or table.is_empty():
        return table
    start = numbers[0]
    counts = start in (0, 1) and numbers.equals(
        pl.int_range(start, start + table.height, eager=True), check_names=False
    )
    return table.drop(table.columns[0]) if counts else table


def _differ(parts: Sequence[pl.DataFrame]) -> bool:
    """Whether a column has different types in different files, as the same column of two Parquet files may."""
    seen: dict[str, pl.DataType] = {}
    return any(seen.setdefault(name, kind) != kind for p in parts for name, kind in p.schema.items())


def _separator(data: bytes) -> str:
    """The separator of a CSV text: of the usual ones, that which its first line has most of, outside quotation marks."""
    line = data.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace")
    bare = re.sub(r'"[^"]*"', "", line)
    counts = {s: bare.count(s) for s in SEPARATORS}
    return max(SEPARATORS, key=lambda s: counts[s])

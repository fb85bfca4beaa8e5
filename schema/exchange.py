"""Export to a folder of Parquet files and back: the same database gives the same bytes, and importing verifies them."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import duckdb

from orledger.errors import DatabaseError, UsageError, VerificationError
from orledger.files import require_file
from orledger.schema import (
    catalogue,
    chain,
    declaring,
    explaining,
    ledger,
    migrate,
    objects,
    opening,
    parquet,
    placing,
    viewing,
)
from orledger.schema.describing import TableInfo, tables
from orledger.schema.layouts import literal

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
MANIFEST = "manifest.json"
ANOTHER = "export again, or take another copy of the folder"

# Not data: importing applies the migrations again.
LEFT_OUT = ("migration",)


COMPACT_ROWS = 4_000_000
"""Rows of a group in a compact export: the larger the group, the more repeated values are stored once."""


def export(path: Path, folder: Path, *, compact: bool = False) -> dict[str, Any]:
    """The manifest of what was written to ``folder``: one Parquet file per table, rows sorted, with a hash of each.

    ``compact`` files are about a quarter smaller, and take many times as long and the memory of COMPACT_ROWS rows to write.
    The files are written under a temporary name beside it, so that a failure leaves nothing that looks like an export.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is not {'empty' if folder.is_dir() else 'a folder'}", hint="export into a new folder"
        )
    top = folder.absolute()
    while not top.parent.exists():
        top = top.parent
    if not top.parent.is_dir():
        raise UsageError(f"{folder} cannot be made: {top.parent} is a file", hint="choose another folder")
    # One thread, so that row groups and their order do not depend on the machine; writing files is what this is for.
    # What is sorted and does not fit into memory goes beside the target, where there has to be room anyway.
    temporary = placing.temporary_beside(top)
    sorting = temporary.with_name(f"{temporary.name}.sort")
    # The parts are read once: keeping them in memory would drive out what is needed.
    con = opening.connect(
        path,
        "read",
        threads=1,
        enable_external_access=True,
        enable_external_file_cache=False,
        temp_directory=str(sorting),
    )
    inside = temporary / folder.absolute().relative_to(top)
    try:
        inside.mkdir(parents=True)
        with explaining.translated(path, read_only=True):
            entries = {
                t.name: _write(con, t, inside, compact=compact)
                for t in tables(con)
                if t.kind == "table" and t.name not in LEFT_OUT
            }
            manifest = {"format": FORMAT, "schema_version": migrate.schema_version(con), "tables": entries}
        (inside / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        if folder.exists():
            for file in inside.iterdir():
                shutil.move(file, folder / file.name)
        else:
            temporary.rename(top)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror or error}",
            hint="choose a folder that is writable and has room",
        ) from error
    finally:
        con.close()
        placing.discard(temporary)
        placing.discard(sorting)
    return manifest


def verify(folder: Path) -> dict[str, Any]:
    """The manifest of an exported folder, once every file is there and has its hash; VerificationError otherwise."""
    require_file(folder / MANIFEST)
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise UsageError(f"{folder / MANIFEST}: format {manifest['format']}, and this orledger reads {FORMAT}")
        _whole(manifest["schema_version"], "schema_version", least=1)
        for name, entry in manifest["tables"].items():
            file = folder / f"{name}.parquet"
            _whole(entry["rows"], f"tables.{name}.rows", least=0)
            if not file.is_file():
                raise VerificationError(f"{file} is missing")
            if (found := _sha256(file)) != entry["sha256"]:
                raise VerificationError(f"{file} has changed: SHA-256 {found}, and the manifest says {entry['sha256']}")
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {MANIFEST}", hint="give a folder written by orledger db export") from None
    except KeyError as error:
        raise VerificationError(f"{folder / MANIFEST} is damaged: {error} is missing", hint=ANOTHER) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise VerificationError(f"{folder / MANIFEST} is damaged: {error}", hint=ANOTHER) from error
    return manifest


def _whole(value: object, where: str, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{where} is {value!r}, and a whole number from {least} is expected")


def _require_tables(manifest: dict[str, Any], file: Path) -> None:
    """Every table of the manifest's schema version is there: a table that is not would be imported as empty."""
    expected = set(objects.shipped_tables(manifest["schema_version"])) - set(LEFT_OUT)
    if absent := sorted(expected - set(manifest["tables"])):
        raise VerificationError(f"{file} is damaged: the table {absent[0]!r} is not listed", hint=ANOTHER)


def import_folder(folder: Path, path: Path) -> dict[str, Any]:
    """The manifest of ``folder``, now a new database at ``path``; nothing is made when anything does not agree."""
    manifest = verify(folder)
    ours = len(migrate.shipped_migrations())
    if manifest["schema_version"] > ours:
        raise UsageError(
            f"{folder} has schema version {manifest['schema_version']}; this orledger knows versions up to {ours}"
        )
    _require_tables(manifest, folder / MANIFEST)
    if path.exists():
        raise DatabaseError(f"{path} exists already", hint="import into a new file")
    with opening.writing(path) as con:
        # The history that is imported takes the place of the new file's own.
        for table in ("ledger", "ledger_item"):
            con.execute(f"DELETE FROM {table}")
        known = ledger.tables(con) - set(LEFT_OUT)
        for name, entry in manifest["tables"].items():
            if name not in known:
                raise VerificationError(
                    f"{folder / MANIFEST}: unknown table {name!r}", hint=f"known tables: {', '.join(sorted(known))}"
                )
            _load(con, name, entry, folder)
        if chain.head(con) is None:
            chain.begin(con)
        declaring.declare_installed(con)
        if manifest["schema_version"] < migrate.CATALOGUED:
            catalogue.complete_all(con)
        viewing.refresh(con)
    return manifest


def _write(con: duckdb.DuckDBPyConnection, table: TableInfo, folder: Path, *, compact: bool) -> dict[str, Any]:
    file = folder / f"{table.name}.parquet"
    smaller = f", COMPRESSION_LEVEL 22, PARQUET_VERSION v2, ROW_GROUP_SIZE {COMPACT_ROWS}" if compact else ""
    many = table.name == "record" and (table.rows or 0) > parquet.SORTED_ROWS
    parts = parquet.sorted_parts(con, folder) if many else []
    if parts:
        rows = f"SELECT * FROM {parquet.rows_of(*parts)}"
    elif compact:
        rows = parquet.by_kind(con, table.name, [c.name for c in table.columns])
    else:
        rows = parquet.IN_ORDER.format(table=table.name)
    con.execute(f"COPY ({rows}) TO {literal(str(file))} (FORMAT parquet, COMPRESSION zstd{smaller})")
    for part in parts:
        part.unlink()
    return {"rows": table.rows, "columns": [c.name for c in table.columns], "sha256": _sha256(file)}


def _load(con: duckdb.DuckDBPyConnection, name: str, entry: dict[str, Any], folder: Path) -> None:
    file = folder / f"{name}.parquet"
    try:
        con.execute(f'INSERT INTO "{name}" BY NAME SELECT * FROM {parquet.rows_of(file)}')
        rows = con.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0]
    except duckdb.Error as error:
        raise VerificationError(f"{file} cannot be loaded: {error}") from error
    if rows != entry["rows"]:
        raise VerificationError(f"{file} holds {rows} rows, and the manifest says {entry['rows']}")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

"""Export to a folder of Parquet files and back: the same database gives the same bytes, and importing verifies them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import duckdb

from orledger.errors import DatabaseError, UsageError, VerificationError
from orledger.schema import migrate, opening
from orledger.schema.describing import Table, tables

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
MANIFEST = "manifest.json"

# Not data: importing applies the migrations again.
LEFT_OUT = ("migration",)


def export(path: Path, folder: Path) -> dict[str, Any]:
    """The manifest of what was written to ``folder``: one Parquet file per table, rows sorted, with a hash of each."""
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", hint="export into a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    # One thread, so that row groups and their order do not depend on the machine; writing files is what this is for.
    con = opening.connect(path, "read", threads=1, enable_external_access=True)
    with opening.translated(path):
        try:
            entries = {
                t.name: _write(con, t, folder) for t in tables(con) if t.kind == "table" and t.name not in LEFT_OUT
            }
            manifest = {"format": FORMAT, "schema_version": migrate.schema_version(con), "tables": entries}
        finally:
            con.close()
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return manifest


def verify(folder: Path) -> dict[str, Any]:
    """The manifest of an exported folder, once every file is there and has its hash; VerificationError otherwise."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise UsageError(f"{folder / MANIFEST}: format {manifest['format']}, and this orledger reads {FORMAT}")
        for name, entry in manifest["tables"].items():
            file = folder / f"{name}.parquet"
            if not file.is_file():
                raise VerificationError(f"{file} is missing")
            if (found := _sha256(file)) != entry["sha256"]:
                raise VerificationError(f"{file} has changed: SHA-256 {found}, and the manifest says {entry['sha256']}")
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {MANIFEST}", hint="give a folder written by orledger db export") from None
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise VerificationError(f"{folder / MANIFEST} is damaged: {error!r}") from error
    return manifest


def import_folder(folder: Path, path: Path) -> dict[str, Any]:
    """The manifest of ``folder``, now a new database at ``path``; nothing is made when anything does not agree."""
    manifest = verify(folder)
    ours = len(migrate.shipped_migrations())
    if manifest["schema_version"] > ours:
        raise UsageError(
            f"{folder} has schema version {manifest['schema_version']}; this orledger knows versions up to {ours}"
        )
    if path.exists():
        raise DatabaseError(f"{path} exists already", hint="import into a new file")
    temporary = opening.temporary_beside(path)
    temporary.unlink(missing_ok=True)
    try:
        opening.create(temporary)
        con = opening.connect(temporary, "write")
        try:
            for name, entry in manifest["tables"].items():
                _load(con, name, entry, folder)
        finally:
            con.close()
        opening.publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return manifest


def _write(con: duckdb.DuckDBPyConnection, table: Table, folder: Path) -> dict[str, Any]:
    file = folder / f"{table.name}.parquet"
    query = f'SELECT * FROM "{table.name}" ORDER BY ALL NULLS FIRST'
    con.execute(f"COPY ({query}) TO '{_quoted(file)}' (FORMAT parquet, COMPRESSION zstd)")
    return {"rows": table.rows, "columns": [c.name for c in table.columns], "sha256": _sha256(file)}


def _load(con: duckdb.DuckDBPyConnection, name: str, entry: dict[str, Any], folder: Path) -> None:
    known = {t.name for t in tables(con) if t.kind == "table"} - set(LEFT_OUT)
    if name not in known:
        raise VerificationError(
            f"{folder / MANIFEST}: unknown table {name!r}", hint=f"known tables: {', '.join(sorted(known))}"
        )
    file = folder / f"{name}.parquet"
    try:
        con.execute(f"INSERT INTO \"{name}\" BY NAME SELECT * FROM read_parquet('{_quoted(file)}')")
        rows = con.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0]
    except duckdb.Error as error:
        raise VerificationError(f"{file} cannot be loaded: {error}") from error
    if rows != entry["rows"]:
        raise VerificationError(f"{file} holds {rows} rows, and the manifest says {entry['rows']}")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")

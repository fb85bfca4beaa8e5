"""Snapshots: a readable copy of the database beside it, for those who want to look while a run has the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orledger.schema import opening

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection


def publish_snapshot(con: DuckDBPyConnection, path: Path, target: Path | None = None) -> Path:
    """The file now holding a copy of the database that ``con`` has open at ``path``; readers see the old or the new one."""
    target = opening.snapshot_path(path) if target is None else target
    temporary = opening.temporary_beside(target)
    temporary.unlink(missing_ok=True)
    source = con.execute("SELECT current_database()").fetchall()[0][0]
    with opening.translated(target):
        try:
            con.execute(
                f"ATTACH '{_quoted(temporary)}' AS snapshot_copy (READ_WRITE, STORAGE_VERSION '{opening.STORAGE_VERSION}')"
            )
            try:
                con.execute(f'COPY FROM DATABASE "{source}" TO snapshot_copy')
            finally:
                con.execute("DETACH snapshot_copy")
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    return target


def remove_snapshot(path: Path) -> None:
    """Removes the snapshot of the database at ``path``: once nobody holds the file, the file itself is newer."""
    opening.snapshot_path(path).unlink(missing_ok=True)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")

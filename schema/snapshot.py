"""Snapshots: a readable copy of the database beside it, for those who want to look while a run has the file."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import duckdb

from orledger.errors import UsageError
from orledger.schema import explaining, opening, placing
from orledger.schema.layouts import literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from duckdb import DuckDBPyConnection


def publish_snapshot(con: DuckDBPyConnection, path: Path) -> Path:
    """The file now holding a copy of the database that ``con`` has open at ``path``; readers see the old or the new one.

    It belongs to the run that publishes it: the next one takes its place, and it is removed when the run ends.
    """
    target = explaining.snapshot_path(path)
    _copy(con, path, target, os.replace)
    return target


def copy_database(path: Path, target: Path | None = None) -> Path:
    """A copy of the database at ``path`` to keep; named by the present moment (UTC) unless ``target`` names it.

    Nothing is overwritten, and the name of a run's own snapshot is refused: the next run would remove it.
    """
    if target is None:
        target = path.with_name(f"{path.stem}-{datetime.now(UTC):%Y%m%dT%H%M%S}{path.suffix}")
    if target.absolute() == explaining.snapshot_path(path).absolute():
        raise UsageError(
            f"{target} is where a run keeps its own snapshot, and removes it when it ends", hint="choose another name"
        )
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists already", hint="choose another name, or remove it")
    if not target.parent.is_dir():
        raise UsageError(f"the folder {target.parent} does not exist", hint=f"mkdir -p {target.parent}")
    with closing(opening.connect(path, "read", enable_external_access=True)) as con:
        _copy(con, path, target, placing.publish)
    return target


def _copy(con: DuckDBPyConnection, path: Path, target: Path, place: Callable[[Path, Path], object]) -> None:
    """Copies the database that ``con`` has open at ``path`` to a temporary name, and lets ``place`` make that ``target``."""
    temporary = placing.temporary_beside(target)
    try:
        _fill(con, path, temporary, target)
        with explaining.translated(target):
            place(temporary, target)
    finally:
        placing.discard(temporary)


def _fill(con: DuckDBPyConnection, path: Path, temporary: Path, target: Path) -> None:
    """Writes the database into ``temporary``; what goes wrong is told about ``path`` or ``target``."""
    placing.discard(temporary)
    source = con.execute("SELECT current_database()").fetchall()[0][0]
    try:
        con.execute(
            f"ATTACH {literal(str(temporary))} AS snapshot_copy (READ_WRITE, STORAGE_VERSION '{opening.STORAGE_VERSION}')"
        )
        try:
            con.execute(f'COPY FROM DATABASE "{source}" TO snapshot_copy')
        finally:
            con.execute("DETACH snapshot_copy")
    except (duckdb.Error, OSError) as error:
        # A damaged block is one of the source; all else that goes wrong concerns the copy.
        raise explaining.explain(path if explaining.is_damage(error) else target, error) from error


def remove_snapshot(path: Path) -> None:
    """Removes the snapshot of the database at ``path``: once nobody holds the file, the file itself is newer."""
    explaining.snapshot_path(path).unlink(missing_ok=True)

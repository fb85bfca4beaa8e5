"""The one place that opens DuckDB, and the translation of its errors into ours.

A database is created under a temporary name and moved into place when its schema is complete, so that a process killed
at any moment leaves either no database or a whole one. Opening never changes a file that it then refuses.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb

from orledger.errors import DatabaseError
from orledger.schema import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator

Mode = Literal["read", "write"]

# The oldest DuckDB that reads the files we write; nothing in the schema needs a later format.
STORAGE_VERSION = "v1.4.0"

# Nothing here needs an extension, and none may be fetched behind the user's back.
COMMON: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}

# Columns of Python strings are VARCHAR always: sampling them costs a third of the time of loading a cell.
WRITING: dict[str, Any] = {**COMMON, "storage_compatibility_version": STORAGE_VERSION, "pandas_analyze_sample": 0}

# Queries see the tables of the database and nothing of the machine around it.
READING: dict[str, Any] = {
    **COMMON,
    "enable_external_access": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
}


class LockedError(DatabaseError):
    """Another process has the database open; ``pid`` and ``holder`` say which, ``snapshot`` where a copy stands."""

    def __init__(self, path: Path, pid: int | None, holder: str, snapshot: Path | None) -> None:
        who = f"process {pid} ({holder})" if pid is not None else holder
        hint = "wait for it to end, or stop it with Ctrl-C in its terminal: nothing stored is lost"
        if snapshot is not None:
            hint += f"; until then read its snapshot, {snapshot}"
        super().__init__(f"{path} is in use by {who}", hint=hint)
        self.pid = pid
        self.holder = holder
        self.snapshot = snapshot


def snapshot_path(path: str | Path) -> Path:
    """Where a run publishes a readable copy of the database at ``path``."""
    path = Path(path)
    return path.with_name(f"{path.stem}.snapshot{path.suffix}")


def connect(path: str | Path, mode: Mode = "read", **config: Any) -> duckdb.DuckDBPyConnection:
    """A connection to the results database at ``path``; writing creates the file and brings its schema up to date.

    ``config`` holds further DuckDB settings (``threads``, ``memory_limit``). Raises DatabaseError for a file that is
    missing, foreign, damaged, made by a newer orledger, locked by another process, or not writable.
    """
    path = Path(path)
    if mode == "read":
        return _connect_reading(path, config)
    if not path.exists():
        create(path)
    else:
        # A look through a read-only connection first: refusing a file after opening it for writing could change it.
        _connect_reading(path, {}).close()
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise DatabaseError(
                f"{path} cannot be written", hint="change its permissions, or copy it to a folder that is writable"
            )
    with translated(path):
        con = duckdb.connect(str(path), config={**WRITING, **config})
        try:
            migrate.migrate(con)
        except BaseException:
            con.close()
            raise
    return con


def create(path: Path) -> None:
    """A new, empty results database at ``path``, whole or not at all; DatabaseError when there is already a file."""
    _require_folder(path)
    temporary = temporary_beside(path)
    try:
        with translated(path):
            con = duckdb.connect(str(temporary), config=WRITING)
            try:
                migrate.migrate(con)
            finally:
                con.close()
        publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def publish(temporary: Path, path: Path) -> None:
    """Gives a complete file its name; a file that appeared there in the meantime is left alone."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise DatabaseError(f"{path} exists already", hint="choose another name, or remove it") from None
    except OSError:
        # Some file systems have no hard links.
        if path.exists():
            raise DatabaseError(f"{path} exists already", hint="choose another name, or remove it") from None
        temporary.rename(path)


def temporary_beside(path: Path) -> Path:
    """A name in the folder of ``path`` for a file in the making; leftovers of processes that were killed are removed."""
    for leftover in path.parent.glob(f".{path.name}.*.part*"):
        pid = leftover.name.removeprefix(f".{path.name}.").split(".")[0]
        if pid.isdigit() and int(pid) != os.getpid() and not _alive(int(pid)):
            leftover.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns what DuckDB raises about the file at ``path`` into a DatabaseError that says what to do."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        raise explain(path, error) from error


def explain(path: Path, error: Exception) -> DatabaseError:
    """The DatabaseError that says in the user's terms what ``error`` means for the file at ``path``."""
    text = str(error)
    if "Could not set lock" in text or "same database file with a different configuration" in text:
        return _locked(path, text)
    # A SQLite file makes DuckDB reach for an extension.
    if "not a valid DuckDB database" in text or "Loading external extensions" in text:
        return DatabaseError(f"{path} is not a DuckDB database", hint="check the path; the file was not changed")
    if "does not exist" in text and "read-only mode" in text:
        return _missing(path)
    if re.search(r"database file with version number|newer version of DuckDB|storage version", text):
        return DatabaseError(
            f"{path} was written by a newer DuckDB than {duckdb.__version__}", hint="pip install --upgrade duckdb"
        )
    if "No space left" in text or "File too large" in text or "Disk quota" in text:
        return DatabaseError(
            f"the disk of {path} is full: {text}", hint="free some space and run again; what was committed is kept"
        )
    if "Permission denied" in text or "Read-only file system" in text:
        return DatabaseError(
            f"{path} cannot be written: {text}", hint="change its permissions, or choose a folder that is writable"
        )
    if re.search(r"[Cc]orrupt|checksum|Could not read enough bytes|[Ss]erialization|INTERNAL|deserializ|WAL", text):
        return DatabaseError(
            f"{path} is damaged: {text.splitlines()[0]}",
            hint="restore it from a copy, a snapshot or an export; the file was not changed",
        )
    if "Constraint Error" in text:
        return DatabaseError(f"{path}: a row was refused, and its transaction undone: {text}")
    return DatabaseError(f"{path} cannot be used: {text}")


def _connect_reading(path: Path, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    if path.is_dir():
        raise DatabaseError(
            f"{path} is a folder, not a database", hint="name the file inside it, such as results.duckdb"
        )
    if not path.exists():
        raise _missing(path)
    with translated(path):
        con = duckdb.connect(str(path), read_only=True, config={**READING, **config})
        try:
            _require_schema(path, con)
        except BaseException:
            con.close()
            raise
    return con


def _require_schema(path: Path, con: duckdb.DuckDBPyConnection) -> None:
    ours = len(migrate.shipped_migrations())
    if not migrate.is_ours(con) and not migrate.is_empty(con):
        raise DatabaseError(
            f"{path} is a DuckDB database, and not one of orledger's",
            hint="choose another file; this one was not changed",
        )
    found = migrate.schema_version(con)
    if found > ours:
        raise DatabaseError(
            f"{path} has schema version {found}; this orledger knows versions up to {ours}",
            hint="pip install --upgrade orledger; the file was not changed",
        )


def _require_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise DatabaseError(f"the folder {path.parent} does not exist", hint=f"mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise DatabaseError(f"the folder {path.parent} is read-only", hint="choose a folder that is writable with --db")


def _missing(path: Path) -> DatabaseError:
    return DatabaseError(f"no database at {path}", hint=f"orledger run all --preset smoke --db {path} makes one")


def _locked(path: Path, text: str) -> LockedError:
    snapshot = snapshot_path(path) if snapshot_path(path).exists() else None
    if match := re.search(r"held in (.+?) \(PID (\d+)", text):
        pid = int(match.group(2))
        return LockedError(path, pid, _command(pid) or match.group(1), snapshot)
    return LockedError(path, None, "this process, through another connection", snapshot)


def _command(pid: int) -> str | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return " ".join(Path(w).name if k < 2 and w.startswith("/") else w for k, w in enumerate(words) if w) or None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

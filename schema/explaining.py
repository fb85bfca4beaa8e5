"""What DuckDB and the file system say about a database file, translated into errors of ours that say what to do."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from orledger.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

# What DuckDB says when a block is not what was written.
DAMAGE = re.compile(r"[Cc]orrupt|checksum|Could not read enough bytes")

# The file that DuckDB could not write, which need not be the database: an export, or what does not fit into memory.
NAMED = re.compile(r'file \\?"([^"\\]+)')


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


def _final(path: Path) -> Path:
    """``path``, or the folder beside which it is being written as ``.NAME.NUMBER.part``."""
    under = next((p for p in path.parents if re.fullmatch(r"\..+\.part", p.name)), None)
    return under.parent if under is not None else path


@contextmanager
def translated(path: Path, *, read_only: bool = False) -> Iterator[None]:
    """Turns what DuckDB raises about the file at ``path`` into a DatabaseError that says what to do."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        raise explain(path, error, read_only=read_only) from error


def explain(path: Path, error: Exception, *, read_only: bool = False) -> DatabaseError:
    """The DatabaseError that says in the user's terms what ``error`` means for the file at ``path``.

    Only with ``read_only`` can the message promise that the file is as it was.
    """
    text = str(error)
    unchanged = "; the file was not changed" if read_only else ""
    if "Could not set lock" in text or "same database file with a different configuration" in text:
        return _locked(path, text)
    # A SQLite file makes DuckDB reach for an extension.
    if "not a valid DuckDB database" in text or "Loading external extensions" in text:
        return DatabaseError(f"{path} is not a DuckDB database", hint=f"check the path{unchanged}")
    if "does not exist" in text and "read-only mode" in text:
        return missing(path)
    if re.search(r"database file with version number|newer version of DuckDB|storage version", text):
        return DatabaseError(
            f"{path} was written by a newer DuckDB than {duckdb.__version__}", hint="pip install --upgrade duckdb"
        )
    if "No space left" in text or "File too large" in text or "Disk quota" in text:
        named = NAMED.search(text)
        return DatabaseError(
            f"the disk of {_final(Path(named[1])) if named else path} is full: {text}",
            hint="free some space and run again; what was committed is kept",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return DatabaseError(
            f"{path}: this needs more memory than it may use: {text.splitlines()[0]}",
            hint=f"raise the setting ORLEDGER_MEMORY_MB{unchanged}",
        )
    if "Permission denied" in text or "Read-only file system" in text:
        return DatabaseError(
            f"{path} cannot be written: {text}", hint="change its permissions, or choose a folder that is writable"
        )
    if DAMAGE.search(text) or re.search(r"[Ss]erialization|INTERNAL|deserializ|WAL", text):
        return DatabaseError(
            f"{path} is damaged: {text.splitlines()[0]}",
            hint=f"restore it from a copy, a snapshot or an export{unchanged}",
        )
    if "Constraint Error" in text:
        return DatabaseError(f"{path}: a row was refused, and its transaction undone: {text}")
    return DatabaseError(f"{path} cannot be used: {text}")


def is_damage(error: Exception) -> bool:
    """Whether a query failed because the file is damaged; errors about the query itself may hold any word of it."""
    kinds = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)
    return (type(error) is duckdb.Error or isinstance(error, kinds)) and DAMAGE.search(str(error)) is not None


def missing(path: Path) -> DatabaseError:
    """The DatabaseError for a file that is not there."""
    beside = sorted(p.name for p in path.parent.glob("*.duckdb"))[:3] if path.parent.is_dir() else []
    there = f"name one with --db (in this folder: {', '.join(beside)}), or make one: " if beside else ""
    return DatabaseError(
        f"no database at {path}",
        hint=f"{there}orledger study TABLE.csv for results of your own, orledger run all --preset smoke --db {path} for the study that ships",
    )


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

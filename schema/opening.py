"""The one place that opens DuckDB.

A database is created under a temporary name and moved into place when its schema is complete, so that a process killed
at any moment leaves either no database or a whole one. Opening never changes a file that it then refuses.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb

from orledger import studies
from orledger.errors import DatabaseError, UsageError
from orledger.schema import migrate, objects
from orledger.schema.explaining import missing, translated
from orledger.schema.placing import MadeMeanwhileError, discard, publish, temporary_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.study import Study

Mode = Literal["read", "write"]

# What DuckDB may hold at once, unless ORLEDGER_MEMORY_MB says otherwise: a sort or a join of more goes to a temporary folder
# beside the file. DuckDB's own default is most of the machine.
MEMORY_MB = 1024

# Seconds after which a single query of a reader is stopped, unless ORLEDGER_READ_SECONDS says otherwise.
READ_SECONDS = 600

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


def memory() -> dict[str, Any]:
    """The DuckDB setting that bounds memory, from ORLEDGER_MEMORY_MB or ``MEMORY_MB``; UsageError for what is no size."""
    return {"memory_limit": f"{_whole('ORLEDGER_MEMORY_MB', MEMORY_MB, 128, 10**9)}MB"}


def read_seconds() -> int:
    """How long a single query of a reader may take, from ORLEDGER_READ_SECONDS or ``READ_SECONDS``."""
    return _whole("ORLEDGER_READ_SECONDS", READ_SECONDS, 1, 7 * 86_400)


def _whole(variable: str, default: int, least: int, most: int) -> int:
    """The whole number in the environment's ``variable``; UsageError for what is none from ``least`` to ``most``."""
    text = os.environ.get(variable, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > 12 or not least <= int(text) <= most:
        raise UsageError(
            f"{variable}={text!r}: expected a whole number from {least} to {most}", hint=f"leave it unset for {default}"
        )
    return int(text)


State = tuple[object, ...]


@dataclass(frozen=True)
class Seen:
    """A file that this process looked through in ``state``, and that runs nothing of its own, with its schema version.

    ``studies`` are those installed when its views were found to be what they and the catalogue make; None for views that were
    not looked at. Looking takes more than half of the time of opening a file.
    """

    state: State
    version: int
    studies: tuple[Study, ...] | None = None


_seen: dict[Path, Seen] = {}
MOST_REMEMBERED = 1000


def state(path: Path) -> State | None:
    """What differs once a database was changed: place, size and times of the file and of its log, and the file's headers.

    DuckDB counts its checkpoints in the headers, and all else that it writes makes the log longer. None without a file.
    """
    if not path.is_file():  # reading from a pipe would wait
        return None
    try:
        with path.open("rb") as file:
            headers = file.read(3 * 4096)
        stats = [p.stat() for p in (path, path.with_name(f"{path.name}.wal")) if p == path or p.exists()]
    except OSError:
        return None
    return (
        hashlib.sha256(headers).digest(),
        *((s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in stats),
    )


def connect(path: str | Path, mode: Mode = "read", *, checked: bool = True, **config: Any) -> duckdb.DuckDBPyConnection:
    """A connection to the results database at ``path``; writing creates the file and brings its schema up to date.

    ``config`` holds further DuckDB settings (``threads``, ``memory_limit``). Raises DatabaseError for a file that is
    missing, foreign, damaged, made by a newer orledger, locked by another process, or not writable; and, for reading,
    one whose schema or views are older than this package's. A file that would run anything of its own is refused with a
    VerificationError (``objects``); reading without ``checked`` is for whoever looks for just that. A file that stays in the
    same ``state`` is not looked through a second time.
    """
    path = Path(path)
    before = state(path)
    if mode == "read":
        con, version = _connect_reading(path, config, before)
        try:
            _require_current(path, version)
            if checked:
                with translated(path, read_only=True):
                    _require_code(path, con, version, before)
                    _require_views(path, con, version, before)
        except BaseException:
            con.close()
            raise
        return con
    created = False
    if not path.exists():
        with suppress(MadeMeanwhileError):  # of two that start at once, the second opens what the first made
            create(path)
            created = True
    if not created:
        if _seen_of(path, before) is None:
            # A look through a read-only connection first: refusing a file after opening it for writing could change it.
            con, version = _connect_reading(path, {}, before)
            with closing(con), translated(path, read_only=True):
                _require_code(path, con, version, before)
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise DatabaseError(
                f"{path} cannot be written", hint="change its permissions, or copy it to a folder that is writable"
            )
    with translated(path):
        con = duckdb.connect(str(path), config={**WRITING, **memory(), **config})
        try:
            if not created:
                migrate.migrate(con)
        except BaseException:
            con.close()
            raise
    return con


def _seen_of(path: Path, before: State | None) -> Seen | None:
    """What was seen of the file at ``path``, if it still is in that state."""
    found = _seen.get(path)
    return found if found is not None and found.state == before else None


def _require_code(path: Path, con: duckdb.DuckDBPyConnection, version: int, before: State | None) -> None:
    """Refuses a file that would run something of its own, unless it is in the state ``before`` in which it was looked through."""
    if _seen_of(path, before) is None:
        objects.require_code(path, con, version)
        _remember(path, before, version)


def _require_views(path: Path, con: duckdb.DuckDBPyConnection, version: int, before: State | None) -> None:
    """Refuses a file with views that are not ours, unless they were compared in the state ``before`` with the studies of now."""
    known, now = _seen_of(path, before), studies.installed()
    if known is None or known.studies is not now:
        objects.require_views(path, con)
        _remember(path, before, version, now)


def _remember(path: Path, now: State | None, version: int, compared: tuple[Study, ...] | None = None) -> None:
    if len(_seen) >= MOST_REMEMBERED:
        _seen.clear()
    if now is not None:
        _seen[path] = Seen(now, version, compared)


def wrote(path: Path) -> None:
    """To be called as soon as a connection that wrote is closed: the file was looked through before, and locked in between."""
    _remember(path, state(path), len(migrate.shipped_migrations()))


@contextmanager
def writing(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that writes; a database that was not there appears at ``path`` only when everything inside went well."""
    if path.exists():
        with translated(path), closing(connect(path, "write")) as con:
            yield con
        wrote(path)
        return
    _require_folder(path)
    temporary = temporary_beside(path)
    try:
        with translated(path), closing(connect(temporary, "write")) as con:
            yield con
        publish(temporary, path)
        wrote(path)
    finally:
        discard(temporary)


def stored_version(path: Path) -> int:
    """The schema version of the database at ``path``, which may be older than this package's; 0 for one without tables."""
    con, version = _connect_reading(path, {}, None)
    con.close()
    return version


def create(path: Path) -> None:
    """A new, empty results database at ``path``, whole or not at all; DatabaseError when there is already a file."""
    _require_folder(path)
    temporary = temporary_beside(path)
    try:
        with translated(path):
            con = duckdb.connect(str(temporary), config={**WRITING, **memory()})
            try:
                migrate.migrate(con)
            finally:
                con.close()
        publish(temporary, path)
    finally:
        discard(temporary)


def _connect_reading(path: Path, config: dict[str, Any], before: State | None) -> tuple[duckdb.DuckDBPyConnection, int]:
    """A connection for reading, and the version of the schema behind it; ``before`` is the state of the file."""
    if path.is_dir():
        raise DatabaseError(
            f"{path} is a folder, not a database", hint="name the file inside it, such as results.duckdb"
        )
    if not path.exists():
        raise missing(path)
    if not path.is_file():  # opening a pipe would wait for ever
        raise DatabaseError(f"{path} is a pipe or a device, not a database", hint="name a file with --db")
    limits = {**memory(), "max_execution_time": 1000 * read_seconds()}
    if not os.access(path.parent, os.W_OK):  # beside the file no folder can be made for what does not fit into memory
        import tempfile

        limits["temp_directory"] = str(temporary_beside(Path(tempfile.gettempdir()) / path.name))
    with translated(path, read_only=True):
        con = duckdb.connect(str(path), read_only=True, config={**READING, **limits, **config})
        try:
            known = _seen_of(path, before)
            version = _require_schema(path, con) if known is None else known.version
        except BaseException:
            con.close()
            raise
    return con, version


def _require_schema(path: Path, con: duckdb.DuckDBPyConnection) -> int:
    ours = len(migrate.shipped_migrations())
    found = migrate.version_of_ours(con)
    if found is None and not migrate.is_empty(con):
        raise DatabaseError(
            f"{path} is a DuckDB database, and not one of orledger's",
            hint="choose another file; this one was not changed",
        )
    if (found := found or 0) > ours:
        raise DatabaseError(
            f"{path} has schema version {found}; this orledger knows versions up to {ours}",
            hint="pip install --upgrade orledger; the file was not changed",
        )
    return found


def _require_current(path: Path, found: int) -> None:
    ours = len(migrate.shipped_migrations())
    if found < ours:
        seen = f"has schema version {found}" if found else "is a DuckDB database without tables"
        raise DatabaseError(
            f"{path} {seen}; this orledger reads version {ours}",
            hint=f"orledger db migrate --db {path} brings it up to date; the file was not changed",
        )


def _require_folder(path: Path) -> None:
    if path.is_symlink():
        raise DatabaseError(
            f"{path} is a link to {path.readlink()}, which is not there",
            hint="put that database back, take the link away, or name another file with --db",
        )
    if not path.parent.is_dir():
        raise DatabaseError(f"the folder {path.parent} does not exist", hint=f"mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise DatabaseError(f"the folder {path.parent} is read-only", hint="choose a folder that is writable with --db")
    if (
        log := path.with_name(f"{path.name}.wal")
    ).exists():  # DuckDB would replay it into the new file, and call that damaged
        raise DatabaseError(
            f"{path} is not there, and {log.name} beside it is the log of a database that was",
            hint="put that database back, or move the log away",
        )

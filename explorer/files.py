"""What the explorer asks of files: where copies stand, whether a run holds a database, and whether it changed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from orledger.schema.explaining import snapshot_path

PREFIX = "orledger-serve-"
State = tuple[tuple[str, int, int], ...]


def folder() -> Path:
    """A folder for copies that nobody else can read; those of servers that were killed are removed."""
    shared = Path(tempfile.gettempdir())
    for left in shared.glob(f"{PREFIX}*-*"):
        number = left.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdigit() and not _alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)  # that of somebody else cannot be
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))


def _alive(process: int) -> bool:
    """False when there is no such process; where the system cannot be asked, True."""
    if os.name != "posix":  # elsewhere signal 0 would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def held(path: Path) -> bool:
    """True when another process has the file open for writing: DuckDB then holds a lock on all of it."""
    try:
        import fcntl
    except ImportError:  # no such locks here: a snapshot that is there is then believed
        return snapshot_path(path).is_file()
    try:
        with path.open("rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def state_of(path: Path) -> State:
    """Name, size and time of the file and of its log; empty when there is no file."""
    found = []
    for name in (path, Path(f"{path}.wal")):
        try:
            facts = name.stat()
        except OSError:
            continue
        found.append((str(name), facts.st_size, facts.st_mtime_ns))
    return tuple(found) if found and found[0][0] == str(path) else ()

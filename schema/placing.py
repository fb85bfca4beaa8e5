"""Files in the making: written under a temporary name beside their place, and given their name when they are complete."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from orledger.errors import DatabaseError

if TYPE_CHECKING:
    from pathlib import Path


class MadeMeanwhileError(DatabaseError):
    """Another process was first to make the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} exists already: another process made it in the meantime",
            hint="run the command again: it then works on the file that is there",
        )


def publish(temporary: Path, path: Path) -> None:
    """Gives a complete file its name; a file that appeared there in the meantime is left alone."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise MadeMeanwhileError(path) from None
    except OSError:
        # Some file systems have no hard links.
        if path.exists():
            raise MadeMeanwhileError(path) from None
        temporary.rename(path)


def temporary_beside(path: Path) -> Path:
    """A name in the folder of ``path`` for a file in the making; leftovers of processes that were killed are removed."""
    for begun in (f".{path.name}.", f"..{path.name}."):  # one in the making can have one of its own
        for leftover in path.parent.glob(f"{begun}*.part*"):
            pid = leftover.name.removeprefix(begun).split(".")[0]
            if pid.isdigit() and int(pid) != os.getpid() and not _alive(int(pid)):
                discard(leftover)
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def discard(temporary: Path) -> None:
    """Removes a file or folder in the making, and the log that DuckDB may have left beside it."""
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)
        temporary.with_name(f"{temporary.name}.wal").unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

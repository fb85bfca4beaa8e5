"""Files by name: a pipe or a device under the name of a file would be waited for, or read, without end."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from orledger.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

# What a shell opened already, process substitution included, and what takes and gives nothing.
OPENED = re.compile(r"/dev/(?:stdin|stdout|stderr|null|tty|fd/\d+)|/proc/(?:self|\d+)/fd/\d+")


def waits(path: Path) -> bool:
    """Whether ``path`` names a pipe, a socket or a device that nobody has opened yet."""
    if OPENED.fullmatch(os.path.abspath(path)):
        return False
    return path.exists() and not path.is_file() and not path.is_dir()


def require_file(path: Path) -> None:
    """Refuses a pipe or a device in place of a file."""
    if waits(path):
        raise UsageError(
            f"{path} is a pipe or a device, not a file",
            hint="name a file, or /dev/stdin or /dev/stdout where another program reads or writes",
        )

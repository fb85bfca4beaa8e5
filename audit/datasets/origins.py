"""Where the bytes of a dataset came from, and how far that can be trusted: the words are made and understood here alone.

A database keeps the origin as one text, which the content hash of its cells covers; the trust follows from it.
"""

from __future__ import annotations

import re
from enum import StrEnum

USER_FILE = re.compile(r"user file .+ \(not compared with .+\).*")


class Trust(StrEnum):
    """What stands behind the bytes of a dataset."""

    SOURCE = "as its public source gave it"
    UNCHECKED = "a file of the user, not compared with its public source"


def user_file(file: str, source: str) -> str:
    """The origin of a table that the user put in the place of ``source``."""
    return f"user file {file} (not compared with {source})"


def trust(origin: str) -> Trust:
    """How far a dataset with this ``origin`` can be trusted."""
    return Trust.UNCHECKED if USER_FILE.fullmatch(origin) else Trust.SOURCE

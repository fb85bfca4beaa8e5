"""Folders that a program left its runs in, each read as one table: Sacred's runs, TensorBoard's event files."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from orledger.audit.importing import events, sacred

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl


TABLES = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson")
PACKED = ".gz"


@dataclass(frozen=True)
class Folder:
    """A kind of folder: whose it is, the files in it that are read (none: another kind), how, and whether tables may stand beside."""

    program: str
    files: Callable[[Path], Sequence[Path]]
    read: Callable[[Path], pl.DataFrame]
    with_tables: bool = False


KINDS = (
    Folder("Sacred (a folder of runs)", sacred.files, sacred.read_runs, with_tables=True),
    Folder(
        "TensorBoard (event files; of a step that was logged twice, the later value counts)",
        events.files,
        events.read_events,
    ),
)


def ending(path: Path) -> str:
    """The ending of a file's name in small letters, that of what is inside where it is packed."""
    return (path.with_suffix("") if path.suffix.lower() == PACKED else path).suffix.lower()


def bare_name(path: Path) -> str:
    """The name of a file without its ending, and without that of its packing."""
    return (path.with_suffix("") if path.suffix.lower() == PACKED else path).stem


def kind(path: Path) -> Folder | None:
    """The kind of folder that ``path`` is; None for any other folder, and for a file."""
    if not path.is_dir():
        return None
    tables = any(ending(p) in TABLES for p in path.iterdir())
    return next((k for k in KINDS if (k.with_tables or not tables) and k.files(path)), None)


def digest(path: Path) -> str:
    """A SHA-256 of the file at ``path``, or over the files that are read of a folder, with their names."""
    if not path.is_dir():
        return sha256(path.read_bytes()).hexdigest()
    found = sha256()
    of = kind(path)
    for file in of.files(path) if of else ():
        found.update(f"{file.relative_to(path).as_posix()}\n".encode() + file.read_bytes())
    return found.hexdigest()

"""Where commands write: the option ``--out``, a path tried before the work, and what the system says told in our terms."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orledger.cli_options import LocalPath
from orledger.errors import UsageError
from orledger.wording import either

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class _OutOption(click.Option):
    """``--out`` everywhere; ``--output`` is understood too, and not advertised."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return None if record is None else (record[0].replace(", --output", ""), record[1])


def out_option(**attributes: Any) -> Callable[[Any], Any]:
    """The option that names a file or folder to write."""
    attributes = {"type": LocalPath(), **attributes}
    return click.option("-o", "--out", "--output", "out", cls=_OutOption, **attributes)


def check_file(path: Path) -> None:
    """Raises UsageError unless a file can be written at ``path``; leaves everything as it was."""
    with writing_to(path):
        if path.is_dir():
            raise UsageError(f"{path} is a folder", hint="name a file inside it")
        if path.is_file():
            with path.open("ab"):
                return
        if not path.exists():
            _try_folder(path.parent)


MARKDOWN = (".md", ".markdown", ".txt")  # how a file of Markdown may end
HTML = (".html", ".htm")
WRITTEN = (".csv", ".htm", ".html", ".jpg", ".json", ".jsonl", ".md", ".parquet", ".pdf", ".png", ".svg", ".tex", ".txt", ".typ")  # fmt: skip


def check_ending(path: Path, known: Sequence[str], what: str) -> None:
    """Raises UsageError where ``path`` ends as another kind of file than ``what`` is; without an ending it may be anything."""
    if path.suffix and path.suffix.lower() not in known:
        raise UsageError(
            f"{path} ends in {path.suffix}, and {what} is written here", hint=f"a name that ends in {either(known)}"
        )


def check_folder_name(path: Path, option: str = "--out") -> None:
    """Raises UsageError where a folder that is to be made would be called like a file."""
    if path.suffix.lower() in WRITTEN and not path.exists():
        raise UsageError(f"{option} {path} ends in {path.suffix}, and names a folder", hint="name the folder")


def check_folder(path: Path) -> None:
    """Raises UsageError unless files can be written into the folder ``path``; leaves everything as it was."""
    with writing_to(path):
        _try_folder(path)


def write_file(path: Path, data: str | bytes) -> None:
    """Writes ``data`` to ``path``, folders above it included; a file that was there is replaced as a whole or kept."""
    content = data.encode() if isinstance(data, str) else data
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_bytes(content)
            return
        target = path.resolve()
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            temporary.write_bytes(content)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """A new folder to write into, whose files take their places in ``folder`` when all are written; none do otherwise."""
    from orledger.schema import placing

    with writing_to(folder):
        top = folder.absolute()
        while not top.parent.exists():
            top = top.parent
        temporary = placing.temporary_beside(top)
        placing.discard(temporary)
        temporary.mkdir()
        try:
            yield temporary
            folder.mkdir(parents=True, exist_ok=True)
            for file in sorted(temporary.iterdir()):
                file.replace(folder / file.name)
        finally:
            placing.discard(temporary)


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turns what the system says while ``path`` is written into a UsageError that says what to do."""
    try:
        yield
    except OSError as error:
        raise refused(error, path) from error


def refused(error: OSError, path: Path | None = None) -> UsageError:
    """The UsageError for a file or stream that the system does not let us use."""
    if path is None:
        path = None if error.filename is None else Path(os.fsdecode(error.filename))
    where = "standard output" if path is None else str(path)
    file = next((p for p in (path.parents if path is not None else ()) if p.is_file()), None)
    reason = (error.strerror or str(error)) if file is None else f"{file} is a file, not a folder"
    return UsageError(
        f"{where} cannot be used: {reason}", hint="choose a path that is writable and has room, or free some space"
    )


def _try_folder(folder: Path) -> None:
    """Makes the folder and a file in it, and takes both away again: permissions alone do not tell what a system allows."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    made: list[Path] = []
    try:
        for new in reversed(missing):
            new.mkdir()
            made.append(new)
        with tempfile.TemporaryFile(dir=missing[0] if missing else folder):
            pass
    finally:
        for new in reversed(made):
            with suppress(OSError):
                new.rmdir()

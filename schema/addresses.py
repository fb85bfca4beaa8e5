"""Object stores: folders and files at ``s3://``, ``gs://``, ``az://`` and ``https://``, brought here or taken there as a whole.

One library, obstore, speaks to all of them; it is the extra ``stores``. Credentials come from the environment, as the tools
of each store read them. ``https://`` can be read and not written.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from orledger.errors import UsageError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")
WRITABLE = ("s3", "gs", "az")
READABLE = (*WRITABLE, "https", "http")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
MANIFEST = "manifest.json"
CREDENTIALS = "check the address and the credentials in the environment (AWS_..., GOOGLE_..., AZURE_...)"


@dataclass(frozen=True)
class Address:
    """Where something stands in an object store; ``parse`` makes one."""

    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part."""
        return self.url.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """The folder it stands in."""
        return Address(self.url.rstrip("/").rpartition("/")[0])


Place = Path | Address


def parse(text: str) -> Place:
    """A path on this machine, or an address; UsageError for an address of a kind that is not understood."""
    if not LOOKS.match(text):
        return Path(text)
    scheme, _, rest = text.partition("://")
    if scheme not in READABLE or not rest.strip("/"):
        raise UsageError(
            f"{text} is an address that is not understood", hint=f"{', '.join(f'{s}://' for s in READABLE)}"
        )
    if scheme == "http" and urlsplit(text).hostname not in LOOPBACK:
        raise UsageError(
            f"{text} has no encryption, and leaves this machine", hint="https://, or http:// to this machine"
        )
    return Address(text.rstrip("/"))


@contextmanager
def reading_export(place: Place) -> Iterator[Path]:
    """An exported folder, here: the manifest first, then the files it names."""
    if isinstance(place, Path):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="orledger-") as name:
        folder = Path(name) / place.name
        _fetch_export(_store(place), place, "", folder)
        yield folder


@contextmanager
def reading_lake(place: Place) -> Iterator[Path]:
    """The folder of all exported corpora below ``place``, here; an address is listed, and its corpora are fetched for a while."""
    if isinstance(place, Path):
        yield place
        return
    store = _store(place)
    with tempfile.TemporaryDirectory(prefix="orledger-") as name:
        lake = Path(name) / place.name
        lake.mkdir()
        for file in _listed(store, place):
            prefix, _, last = file.rpartition("/")
            if last == MANIFEST and not {"..", "."} & set(prefix.split("/")):
                _fetch_export(store, place, f"{prefix}/" if prefix else "", lake / prefix)
        yield lake


def _fetch_export(store: Any, place: Address, prefix: str, folder: Path) -> None:
    """Brings an exported folder here: the manifest first, then the files it names."""
    folder.mkdir(parents=True, exist_ok=True)
    _fetch(store, place, f"{prefix}{MANIFEST}", folder / MANIFEST)
    try:
        tables = list(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["tables"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise VerificationError(f"{place}/{prefix}{MANIFEST} is damaged: {error}") from error
    for table in tables:
        if not re.fullmatch(r"\w+", str(table)):
            raise VerificationError(f"{place}/{prefix}{MANIFEST} is damaged: {table!r} is no name of a table")
        _fetch(store, place, f"{prefix}{table}.parquet", folder / f"{table}.parquet")


@contextmanager
def reading(place: Place) -> Iterator[Path]:
    """A database or an exported folder, here: a name that ends in .duckdb is a file."""
    if isinstance(place, Path) or not place.name.endswith(".duckdb"):
        with reading_export(place) as folder:
            yield folder
        return
    with tempfile.TemporaryDirectory(prefix="orledger-") as name:
        _fetch(_store(place.parent), place.parent, place.name, Path(name) / place.name)
        yield Path(name) / place.name


@contextmanager
def reading_folder(place: Place) -> Iterator[Path]:
    """All files directly in a folder, here."""
    if isinstance(place, Path):
        yield place
        return
    store = _store(place)
    with tempfile.TemporaryDirectory(prefix="orledger-") as name:
        for file in _listed(store, place):
            if "/" not in file:
                _fetch(store, place, file, Path(name) / file)
        yield Path(name)


@contextmanager
def writing_folder(place: Place, *, new: bool = False) -> Iterator[Path]:
    """A folder to write into; for an address its files are sent there at the end, the manifest last. ``new`` wants it empty."""
    if isinstance(place, Path):
        yield place
        return
    if place.url.partition(":")[0] not in WRITABLE:
        raise UsageError(
            f"{place} can be read and not written", hint=f"one of {', '.join(f'{s}://' for s in WRITABLE)}"
        )
    store = _store(place)
    if new and _listed(store, place):
        raise UsageError(f"{place} is not empty", hint="export to a new address")
    with tempfile.TemporaryDirectory(prefix="orledger-") as name:
        folder = Path(name) / "out"
        yield folder
        for file in sorted(folder.iterdir(), key=lambda f: (f.name == MANIFEST, f.name)):
            _send(store, place, file)


def _store(place: Address) -> Any:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise UsageError(f"{place} needs the package obstore", hint="pip install 'orledger[stores]'") from None
    retries: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
    # Without encryption only where the address or the environment says so: a test, a private network.
    words = [os.environ.get(name, "").lower() for name in ("AWS_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP", "AZURE_ALLOW_HTTP")]
    plain = place.url.startswith("http://") or any(word in ("1", "true") for word in words)
    options: Any = {"connect_timeout": "10s", "timeout": "300s", "allow_http": plain}
    try:
        return from_url(place.url, retry_config=retries, client_options=options)
    except (BaseError, ValueError) as error:
        raise UsageError(f"{place} cannot be used: {_first(error)}", hint=CREDENTIALS) from error


def _fetch(store: Any, place: Address, name: str, target: Path) -> None:
    import obstore
    from obstore.exceptions import BaseError

    try:
        with target.open("wb") as stream:
            for chunk in obstore.get(store, name).stream():
                stream.write(bytes(chunk))
    except (BaseError, FileNotFoundError) as error:
        raise UsageError(f"{place}/{name} cannot be read: {_first(error)}", hint=CREDENTIALS) from error


def _send(store: Any, place: Address, file: Path) -> None:
    import obstore
    from obstore.exceptions import BaseError

    try:
        obstore.put(store, file.name, file)
    except (BaseError, FileNotFoundError) as error:
        raise UsageError(f"{place}/{file.name} cannot be written: {_first(error)}", hint=CREDENTIALS) from error


def _listed(store: Any, place: Address) -> list[str]:
    import obstore
    from obstore.exceptions import BaseError

    try:
        return [str(entry["path"]) for chunk in obstore.list(store) for entry in chunk]
    except (BaseError, FileNotFoundError, NotImplementedError) as error:
        raise UsageError(f"{place} cannot be listed: {_first(error)}", hint=CREDENTIALS) from error


def _first(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__

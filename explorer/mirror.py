"""A private copy of the database, renewed when the file or a run's snapshot changes.

Pages never hold the file itself: DuckDB locks a file that is open, and a page that is left open must not keep a run from
starting. The copy is opened with the settings of the SQL sandbox, so no page can read more than a query of a user could.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from orledger.errors import DatabaseError, OrledgerError
from orledger.explorer.files import folder, held, state_of
from orledger.explorer.keeping import Kept
from orledger.schema.explaining import snapshot_path
from orledger.schema.reading import Results, open_results
from orledger.schema.sandbox import Limits, sandbox_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from duckdb import DuckDBPyConnection

    from orledger.explorer.files import State
    from orledger.reports.narrowing import HeldRows
    from orledger.schema.layouts import Layout

LOOK_EVERY = 0.5  # seconds between two looks at the file
PAGES = 32 * 2**20  # bytes of pages that are kept for each state of the database
OPENED = 200_000  # rows of views that are kept for the numbers of a table
READERS = 500  # readers of a copy after which it is opened anew
PAGE_SECONDS = (
    60  # what a query of a page may take; the limit of a user's query is lower, and is watched where it is asked
)
TRIES = 5  # a file that is written to while it is copied is copied again

SUFFIXES = ("", ".wal")  # of the file and of its log
Made = TypeVar("Made")


class NotYetError(DatabaseError):
    """A run has the file, and there is nothing to read yet; there will be."""

    status_code = 503


class AbsentError(DatabaseError):
    """There is no database; a run or a study may make one while the pages wait."""

    status_code = 503


class Copied(Results):
    """The results of one copy for one page; what is costly to make from a copy is made once and kept as long as it."""

    def __init__(self, path: Path, con: DuckDBPyConnection, note: str | None, copy: _Copy) -> None:
        super().__init__(path, con, note)
        self._copy = copy
        self.own: Kept[Any] = (
            Kept()
        )  # what this page made for itself: it may hold the connection, and ends with the page

    def remember(self, key: tuple[str, ...], make: Callable[[], Made]) -> Made:
        """What ``make`` returns, which must hold no connection; the next page that asks for ``key`` gets the same."""
        found: Made = self._copy.made.get(key, make)
        return found

    def layouts(self) -> list[Layout]:
        """The wide views of every block, read once for each state of the database."""
        return self.remember(("layouts",), super().layouts)

    @property
    def file(self) -> Path:
        """The copy itself, for a process that asks it on its own."""
        return self._copy.path

    @property
    def writing(self) -> bool:
        """True when a run had the database as this was read."""
        return self._copy.writing

    @property
    def state(self) -> State:
        """What tells this state of the database from another."""
        return self._copy.state

    @property
    def mark(self) -> str:
        """A short name of what the pages show now: this state, and what is said above them."""
        return hashlib.sha256(repr((self.state, self.note)).encode()).hexdigest()[:16]

    @property
    def taken(self) -> int | None:
        """The second at which the snapshot of a run was taken; None where the database itself was read."""
        return max(changed for *_, changed in self.state) // 10**9 if self.writing else None

    @property
    def pages(self) -> Kept[tuple[int, bytes]]:
        """Status and text of the pages that were made from this copy, by address."""
        return self._copy.pages

    @property
    def opened(self) -> Kept[HeldRows]:
        """Rows of views that numbers were looked for in, by query."""
        return self._copy.opened


class Mirror:
    """Answers from a copy of the database at ``path``; ``note`` says when the copy is a snapshot of a running job."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self.limits = limits
        self._folder = folder()
        self._lock = threading.Lock()
        self._current: _Copy | None = None
        self._looked = 0.0
        self._number = 0
        self._trouble: str | None = None  # why the newest state could not be read

    @contextmanager
    def results(self) -> Iterator[Copied]:
        """The newest state that could be read, on a cursor of its own; a query of one page does not wait for another's."""
        with self._lock:
            self._renew()
            if self._current is None:
                raise DatabaseError(f"{self.path}: nothing could be read yet", hint="reload the page in a moment")
            copy = self._current
            copy.users += 1
            copy.readers += 1
        try:
            cursor = copy.results.con.cursor()
            try:
                yield Copied(self.path, cursor, copy.note or self._trouble, copy)
            finally:
                cursor.close()
        finally:
            with self._lock:
                copy.users -= 1
                if copy is not self._current:
                    copy.close_if_unused()

    def look(self) -> None:
        """Takes the first copy; what cannot be read is an error."""
        with self.results():
            return

    def close(self) -> None:
        """Closes and removes the copy."""
        with self._lock:
            if self._current is not None:
                self._current.results.close()
                self._current = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _renew(self) -> None:
        """Takes another copy when the source changed since the last one; what was read before stays when that fails."""
        if self._current is not None and self._current.readers >= READERS:
            self._replace(self._again(self._current))
        now = time.monotonic()
        if self._current is not None and now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        source = self._source()
        if self._current is not None and state_of(source) == self._current.state:
            self._trouble = None
            return
        try:
            taken = self._take(source)
        except (OSError, OrledgerError) as error:
            if self._current is None:
                raise
            why = error.message if isinstance(error, OrledgerError) else str(error)
            self._trouble = (
                None if isinstance(error, NotYetError) else f"{why}: these are the results as they were before"
            )
            return
        self._trouble = None
        self._replace(taken)

    def _replace(self, taken: _Copy) -> None:
        old, self._current = self._current, taken
        if old is not None:
            old.close_if_unused()

    def _again(self, copy: _Copy) -> _Copy:
        """The same copy under another name, with all that was made from it, opened anew.

        DuckDB keeps a trace of every buffer that a join or an order by has used, tens of thousands of them, until the
        database is closed: ``duckdb_eviction_queues()`` counts them. Under its old name it would not be closed as long as
        somebody reads.
        """
        target = self._name()
        for suffix in SUFFIXES:
            if (old := Path(f"{copy.path}{suffix}")).exists():
                os.link(old, f"{target}{suffix}")
        opened = self._open(target, checked=False)
        return _Copy(opened, target, copy.state, copy.note, copy, writing=copy.writing)

    def _name(self) -> Path:
        self._number += 1
        return self._folder / f"{self._number}.duckdb"

    def _source(self) -> Path:
        """The snapshot while a run holds the file, else the file; a snapshot that a killed run left behind is older than it."""
        snapshot = snapshot_path(self.path)
        if snapshot.is_file() and (held(self.path) or not self.path.is_file()):
            return snapshot
        return self.path

    def _take(self, source: Path) -> _Copy:
        for _ in range(TRIES):
            before = state_of(source)
            if source == self.path and held(source):
                raise NotYetError(
                    f"a run has {self.path} and has published no snapshot yet",
                    hint="orledger run --snapshot-every says how often it publishes one",
                )
            if not before:
                raise AbsentError(
                    f"no database at {self.path.absolute()}", hint="orledger run or orledger study makes one"
                )
            target = self._name()
            for name, _, _ in before:
                shutil.copyfile(name, str(target) + ("" if name == str(source) else ".wal"))
            if state_of(source) == before:
                break
        try:
            results = self._open(target)
        except OrledgerError as error:  # the name of the copy says nothing to anybody
            message, hint = (text and text.replace(str(target), str(self.path)) for text in (error.message, error.hint))
            raise type(error)(message or "", hint=hint) from error
        when = datetime.fromtimestamp(max(changed for *_, changed in before) / 1e9, UTC)
        if source == self.path:
            return _Copy(results, target, before, None)
        if self.path.is_file():
            note = f"a run is writing; this is its snapshot of {when:%H:%M:%S} UTC"
            return _Copy(results, target, before, note, writing=True)
        note = f"no database at {self.path.absolute()}: this is the snapshot of {when:%Y-%m-%d %H:%M:%S} UTC that a run left"
        return _Copy(results, target, before, note)

    def _open(self, target: Path, *, checked: bool = True) -> Results:
        limits = replace(self.limits, seconds=max(PAGE_SECONDS, self.limits.seconds))
        return open_results(target, snapshot=False, checked=checked, **sandbox_config(limits))


class _Copy:
    """One copy with the number of pages that read it, at the moment and since it was opened; ``same`` has the same bytes."""

    def __init__(
        self,
        results: Results,
        path: Path,
        state: State,
        note: str | None,
        same: _Copy | None = None,
        *,
        writing: bool = False,
    ) -> None:
        self.results, self.path, self.state, self.note, self.writing = results, path, state, note, writing
        self.users = self.readers = 0
        self.made: Kept[Any] = same.made if same else Kept()
        self.pages: Kept[tuple[int, bytes]] = same.pages if same else Kept(PAGES, lambda made: len(made[1]))
        self.opened: Kept[HeldRows] = same.opened if same else Kept(OPENED, len)

    def close_if_unused(self) -> None:
        if self.users == 0:
            self.results.close()
            for suffix in SUFFIXES:
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)

"""Group commits: outcomes that arrive close together share one transaction, and none waits longer than a moment.

A commit costs milliseconds whatever it holds, so cells that take less are better committed together. A cell is
acknowledged after its group is on the disk, never before: what was acknowledged is there after any kind of end.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

from orledger.errors import DatabaseError, DataError, OrledgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.schema.outcomes import CellOutcome
    from orledger.schema.writing import Writer

T = TypeVar("T")

# A group is committed when it holds this many cells or records, or when its first cell has waited this long (seconds).
MOST_CELLS = 1000
MOST_RECORDS = 200_000
LONGEST_WAIT = 0.25


class Groups:
    """Collects outcomes and commits them in groups; ``stored`` hears of each cell once it is on the disk.

    The first cell after a quiet moment is committed at once, so that slow cells are as safe as with a transaction each; a
    thread commits what has waited long enough while the next cell is still being computed.
    """

    def __init__(self, writer: Writer, run_id: str | None, stored: Callable[[str, CellOutcome], None]) -> None:
        self.writer = writer
        self.run_id = run_id
        self.stored = stored
        self._pending: dict[str, CellOutcome] = {}
        self._records = 0
        self._since = 0.0
        self._committed = float("-inf")
        self._error: BaseException | None = None
        self._closed = False
        # Whoever uses the connection holds this: DuckDB's are for one thread at a time.
        self._turn = threading.Condition()
        self._thread = threading.Thread(target=self._wait_and_commit, name="group-commit", daemon=True)
        self._thread.start()

    def add(self, cell_id: str, outcome: CellOutcome) -> None:
        """Takes one outcome; raises what a commit in the background raised."""
        with self._turn:
            self._raise()
            if not self._pending:
                self._since = time.monotonic()
            self._pending[cell_id] = outcome
            self._records += outcome.records["value"].size
            quiet = self._since - self._committed >= LONGEST_WAIT
            if quiet or len(self._pending) >= MOST_CELLS or self._records >= MOST_RECORDS:
                self._commit()
            else:
                self._turn.notify()

    def alone(self, work: Callable[[], T]) -> T:
        """What ``work`` returns, done with the connection while nobody commits."""
        with self._turn:
            self._raise()
            return work()

    def close(self) -> None:
        """Commits what is left and ends the thread; raises what a commit raised."""
        with self._turn:
            self._closed = True
            self._turn.notify()
        self._thread.join()
        self._raise()
        self._commit()

    def _wait_and_commit(self) -> None:
        with self._turn:
            while not self._closed:
                left = self._since + LONGEST_WAIT - time.monotonic() if self._pending else None
                if left is None or left > 0:
                    self._turn.wait(left)
                    continue
                try:
                    self._commit()
                except BaseException as error:  # told to the main thread, which decides
                    self._error = error
                    return

    def _commit(self) -> None:
        group, self._pending, self._records = self._pending, {}, 0
        try:
            self.writer.store_many(group.items(), self.run_id)
        except (DatabaseError, DataError):
            if len(group) == 1:
                raise
            # One cell of the group was refused, and the others undone with it: each on its own.
            self._commit_singly(group)
            return
        finally:
            self._committed = time.monotonic()
        for cell_id, outcome in group.items():
            self.stored(cell_id, outcome)

    def _commit_singly(self, group: dict[str, CellOutcome]) -> None:
        """Every cell that can be stored is; then what the first of the others raised is raised."""
        refused: OrledgerError | None = None
        for cell_id, outcome in group.items():
            try:
                self.writer.store(cell_id, outcome, self.run_id)
            except (DatabaseError, DataError) as error:
                refused = refused or error
            else:
                self.stored(cell_id, outcome)
        if refused is not None:
            raise refused

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

"""Queries of users, asked in processes of their own that are ended when they do not stop."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from orledger.errors import QueryRefusedError
from orledger.explorer.lanes import BusyError
from orledger.schema.sandbox import GRACE, QueryStoppedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orledger.schema.sandbox import Limits

WORKER = (
    sys.executable,
    "-P",
    "-m",
    "orledger.explorer.worker",
)  # without the folder it stands in, which may hold anything
KINDS = {"QueryStoppedError": QueryStoppedError}  # what a worker may report; anything else is a query that was refused


class Asking:
    """At most ``at_once`` processes that answer queries; each is started when it is first needed, and again after its end."""

    def __init__(self, at_once: int, patience: float, command: Sequence[str] = WORKER) -> None:
        self.patience, self.command = patience, command
        self._turns = threading.BoundedSemaphore(at_once)
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._over = False

    def ask(self, path: Path, query: str, limits: Limits, take: str | int) -> Any:
        """What a worker took from the answer of ``query``; see ``worker.taken``."""
        if not self._turns.acquire(timeout=self.patience):
            raise BusyError(
                f"too many ask at the same time: no turn within {self.patience:g} seconds", hint="try again in a moment"
            )
        try:
            return self._asked((str(path), query, limits, take), limits.seconds)
        finally:
            self._turns.release()

    def _asked(self, request: tuple[Any, ...], seconds: float) -> Any:
        worker = self._taken()
        late = threading.Timer(seconds + GRACE, worker.kill)
        late.daemon = True
        late.start()
        try:
            assert worker.stdin is not None
            assert worker.stdout is not None
            pickle.dump(request, worker.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            worker.stdin.flush()
            found, error = pickle.load(worker.stdout)  # noqa: S301 - from a process that this one started
        except (EOFError, OSError, pickle.UnpicklingError):
            ended = not late.is_alive()
            self._end(worker)
            if ended:
                raise QueryStoppedError(
                    f"the query did not stop within {seconds:g} seconds, and its process was ended",
                    hint="narrow it: some functions cannot be interrupted",
                ) from None
            raise QueryRefusedError(
                "the process that ran the query ended", hint="narrow it: it may have needed too much memory"
            ) from None
        finally:
            late.cancel()
        with self._lock:
            self._idle.append(worker)
        if error is not None:
            kind, message, hint = error
            raise KINDS.get(kind, QueryRefusedError)(message, hint=hint)
        return found

    def _taken(self) -> subprocess.Popen[bytes]:
        """A worker that waits, or a new one."""
        with self._lock:
            if self._over:
                raise BusyError("the server is ending")
            while self._idle:
                if (worker := self._idle.pop()).poll() is None:
                    return worker
                self._all.discard(worker)
            worker = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._all.add(worker)
            return worker

    def _end(self, worker: subprocess.Popen[bytes]) -> None:
        worker.kill()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not written yet has no reader
                    pipe.close()
        with self._lock:
            self._all.discard(worker)

    def close(self) -> None:
        """Ends the workers, also those that are busy."""
        with self._lock:
            self._over, workers = True, list(self._all)
        for worker in workers:
            self._end(worker)

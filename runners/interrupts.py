"""Ctrl-C and SIGTERM: stop between two transactions, never inside one."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """The user or the system asked the run to stop; ``signum`` says how."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


class Interruptions:
    """While active, a signal raises Interrupted at once, except inside ``shield``, where it waits for the end."""

    def __init__(self) -> None:
        self.shielded = False
        self.pending: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruptions:
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._handle) for s in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Nothing inside is interrupted; a signal that came meanwhile is raised at the end."""
        self.shielded = True
        try:
            yield
        finally:
            self.shielded = False
        if self.pending is not None:
            raise Interrupted(self.pending)

    def hold(self) -> None:
        """From now on signals are noted and not raised: the run is already ending."""
        self.shielded = True

    def _handle(self, signum: int, _frame: object) -> None:
        if self.shielded:
            self.pending = signum
        else:
            raise Interrupted(signum)

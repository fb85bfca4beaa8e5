"""Lanes for what may take long: so many at once, the others in the order they came, and nobody waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from orledger.errors import OrledgerError

if TYPE_CHECKING:
    from collections.abc import Callable

Made = TypeVar("Made")


class BusyError(OrledgerError):
    """Too many ask for the same lane."""

    status_code = 503


class Lane:
    """Runs work in threads of its own, at most ``at_once``; who has waited for ``patience`` seconds is told so.

    Work that waits holds no thread, so that pages which take a moment are answered meanwhile.
    """

    def __init__(self, at_once: int, patience: float) -> None:
        self.patience = patience
        self._turns = anyio.Semaphore(at_once)
        self._threads = anyio.CapacityLimiter(at_once)

    async def run(self, work: Callable[[], Made]) -> Made:
        """What ``work`` returns, when its turn has come."""
        try:
            with anyio.fail_after(self.patience):
                await self._turns.acquire()
        except TimeoutError:
            raise BusyError(
                f"too many ask at the same time: no turn within {self.patience:g} seconds", hint="try again in a moment"
            ) from None
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._threads)
        finally:
            self._turns.release()

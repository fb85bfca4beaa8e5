"""Waiting for a query in such a way that Ctrl-C is heard."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection

T = TypeVar("T")


@cache
def _thread() -> ThreadPoolExecutor:
    """One thread for the queries of the main one, kept: starting another for each costs as much as a small query."""
    return ThreadPoolExecutor(1, "query")


def interruptible(con: DuckDBPyConnection, work: Callable[[], T]) -> T:
    """What ``work`` returns; Ctrl-C meanwhile ends the query that ``con`` is running and raises KeyboardInterrupt.

    Python looks at signals in its main thread, between two instructions. Rows that polars pulls out of DuckDB are produced
    inside one instruction, so the work goes to another thread and the main one waits.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    # A key that is pressed while the work is handed over has to wait: nobody would know what to end.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    future = _thread().submit(work)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        # A wait without an end is taken up again by the system after a signal; one with an end is not, and a key that comes just before it is heard at that end.
        while not wait([future], timeout=1.0).done:
            pass
    except KeyboardInterrupt:
        _end(con, future)
        raise
    return future.result()


def _end(con: DuckDBPyConnection, future: Future[T]) -> None:
    """Interrupts until the work has ended: DuckDB hears nothing before a query has begun, and keys may be pressed again."""
    while not future.done():
        with suppress(KeyboardInterrupt):
            con.interrupt()
            wait([future], timeout=0.2)

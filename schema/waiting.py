"""Waiting for a query in such a way that Ctrl-C is heard."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection

T = TypeVar("T")


def interruptible(con: DuckDBPyConnection, work: Callable[[], T]) -> T:
    """What ``work`` returns; Ctrl-C meanwhile ends the query that ``con`` is running and raises KeyboardInterrupt.

    Python looks at signals in its main thread, between two instructions. Rows that polars pulls out of DuckDB are produced
    inside one instruction, so the work goes to another thread and the main one waits.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    with ThreadPoolExecutor(1, "query") as pool:
        try:
            future = pool.submit(work)
            # A wait without an end is taken up again by the system after a signal; one with an end is not.
            while not wait([future], timeout=60.0).done:
                pass
        except KeyboardInterrupt:
            con.interrupt()
            raise
        return future.result()

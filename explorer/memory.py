"""The memory of the server, which stays for days: garbage is looked for often, and the heap has few parts."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

YOUNG = 10_000  # new objects that may be part of a cycle, after which garbage is looked for
M_ARENA_MAX = -8  # of malloc.h
ARENAS = 2  # shared by all threads


def steady() -> None:
    """Has garbage looked for after ``YOUNG`` objects, and threads that come later share ``ARENAS`` parts of the heap.

    The command line looks for garbage after 100,000 objects, which is right for a command that ends; here garbage would be kept
    over more than 10,000 pages. Where the C library is glibc, each thread would get a part of the heap of its own, up to eight for
    each processor, and what it freed would stay there: the copy of the database is opened anew after so many readers, DuckDB
    then starts new threads, and they fill further parts.
    """
    gc.set_threshold(YOUNG, 10, 10)
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)

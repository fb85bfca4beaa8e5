"""The one way to change a database: all of it or nothing."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of it or nothing: commits at the end, rolls back when anything is raised.

    Inside another transaction of the same connection it is a part of that one, which commits or rolls back for both.
    """
    if _inside(con):
        yield
        return
    con.execute("BEGIN")
    try:
        yield
        con.execute("COMMIT")
    except BaseException:
        # After a failed COMMIT (a full disk) the transaction is already gone.
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise


def _inside(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a transaction is open: outside one, every statement has a number of its own. Asking with BEGIN would abort it."""
    first, second = (con.execute("SELECT txid_current()").fetchall() for _ in range(2))
    return first == second

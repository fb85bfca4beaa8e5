"""Databases in memory, saved to a file and copied from one: cheaper than making them again for every test."""

from __future__ import annotations

from pathlib import Path

import duckdb


def save(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """The database in memory as a file."""
    (name,) = con.execute("SELECT current_database()").fetchall()[0]
    con.execute(f"ATTACH '{path}' AS saved")
    con.execute(f"COPY FROM DATABASE {name} TO saved")
    con.execute("DETACH saved")


def copied(path: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory of one's own with what the file at ``path`` holds."""
    con = duckdb.connect()
    con.execute(f"ATTACH '{path}' AS saved (READ_ONLY)")
    con.execute("COPY FROM DATABASE saved TO memory")
    con.execute("DETACH saved")
    return con

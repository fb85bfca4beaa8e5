"""Findings of a recheck in a database: the rows of one paper are replaced as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.recheck.frames import findings_frame, load_published
from orledger.schema import chain
from orledger.schema.opening import writing
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl
    from duckdb import DuckDBPyConnection

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.model import Publication


def store(path: Path, paper: str, findings: Sequence[Finding], publication: Publication | None) -> None:
    """Writes the findings of a paper, and the printed numbers of a study when there are some, in one transaction."""
    frame = findings_frame(findings)
    with writing(path) as con, transaction(con):
        con.execute("DELETE FROM recheck_finding WHERE paper = ?", [paper])
        _insert(con, "recheck_finding", frame.insert_column(0, _constant(frame, paper)))
        if publication is not None:
            _store_published(con, load_published(publication))


def _constant(frame: pl.DataFrame, paper: str) -> pl.Series:
    import polars as pl

    return pl.Series("paper", [paper] * frame.height, dtype=pl.String)


def _insert(con: DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
    names = list(frame.columns)
    if frame.height:
        con.executemany(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            frame.rows(),
        )


def _store_published(con: DuckDBPyConnection, numbers: pl.DataFrame) -> None:
    con.execute("DELETE FROM published")
    _insert(con, "published", numbers)
    ids = con.execute("SELECT DISTINCT key FROM ledger_item WHERE part = 'published'").fetchall()
    known = {row[0] for row in ids} | set(numbers["id"])
    chain.append(con, "published", {"numbers": numbers.height}, {"published": sorted(known)})

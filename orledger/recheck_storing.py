"""Findings of a recheck in a database: the rows of one paper are replaced as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.recheck.frames import findings_frame, load_published
from orledger.schema import chain
from orledger.schema.opening import writing
from orledger.schema.transactions import transaction
from orledger.schema.writing import insert_rows

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
        insert_rows(con, "recheck_finding", ["paper", *frame.columns], [(paper, *row) for row in frame.rows()])
        if publication is not None:
            _store_published(con, load_published(publication))


def _store_published(con: DuckDBPyConnection, numbers: pl.DataFrame) -> None:
    con.execute("DELETE FROM published")
    insert_rows(con, "published", numbers.columns, numbers.rows())
    ids = con.execute("SELECT DISTINCT key FROM ledger_item WHERE part = 'published'").fetchall()
    known = {row[0] for row in ids} | set(numbers["id"])
    chain.append(con, "published", {"numbers": numbers.height}, {"published": sorted(known)})

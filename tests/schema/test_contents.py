"""Cells hashed again: in whatever order and in however many pieces their records are stored."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from orledger.schema import contents
from orledger.schema.contents import content_findings

ORDERS = {
    "as they were stored": "rowid",
    "backwards": "rowid DESC",
    "cells in pieces": "idx, metric, arm, cell_id",
    "one cell in pieces": "CASE WHEN cell_id = (SELECT min(cell_id) FROM record) THEN hash(rowid) % 1000 ELSE rowid END",
}


@pytest.mark.parametrize("most", [1, 7, 200_000])
@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_records_does_not_matter(
    toy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, most: int
) -> None:
    shutil.copy(toy_db, tmp_path / "copy.duckdb")
    monkeypatch.setattr(contents, "AT_ONCE", most)
    with closing(duckdb.connect(str(tmp_path / "copy.duckdb"))) as con:
        con.execute(f"CREATE TEMP TABLE other AS SELECT * FROM record ORDER BY {ORDERS[order]}")
        con.execute("DELETE FROM record")
        con.execute("INSERT INTO record SELECT * FROM other ORDER BY rowid")
        assert content_findings(con) == (20, [])
        victims = con.execute("SELECT cell_id, name FROM cell ORDER BY cell_id").fetchall()
        con.execute("UPDATE record SET value = value + 1e-9 WHERE cell_id = ?", [victims[0][0]])
        con.execute("DELETE FROM record WHERE cell_id = ?", [victims[11][0]])
        hashed, found = content_findings(con)
    assert hashed == 20
    assert [(f.rule, f.where) for f in found] == [("the content hash differs", victims[k][1]) for k in (0, 11)]

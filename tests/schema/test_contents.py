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


def test_a_second_fact_of_the_same_name(toy_db: Path, tmp_path: Path) -> None:
    """Whichever comes last: a hash of one of them cannot vouch for both."""
    for real, forged in ((1, 2), (2, 1)):
        path = Path(shutil.copy(toy_db, tmp_path / "copy.duckdb"))
        with closing(duckdb.connect(str(path))) as con:
            cell, name, fact, value = con.execute(
                "SELECT cell_id, c.name, f.name, value FROM cell c JOIN fact f USING (cell_id) ORDER BY ALL LIMIT 1"
            ).fetchall()[0]
            con.execute("DELETE FROM fact WHERE cell_id = ? AND name = ?", [cell, fact])
            for _, text in sorted([(real, value), (forged, "forged")]):
                con.execute("INSERT INTO fact VALUES (?, ?, ?)", [cell, fact, text])
            found = content_findings(con)[1]
            assert [(f.rule, f.where, f.detail) for f in found] == [
                ("the content hash differs", name, "a fact stands in it twice")
            ]
            assert contents.changed_cells(con, [cell]) == {cell}


@pytest.mark.parametrize("state", ["planned", "failed"])
def test_rows_of_a_cell_that_recorded_nothing(toy_db: Path, tmp_path: Path, state: str) -> None:
    shutil.copy(toy_db, tmp_path / "copy.duckdb")
    with closing(duckdb.connect(str(tmp_path / "copy.duckdb"))) as con:
        con.execute("INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, state)"
                    " VALUES ('x', 'toy', 'main', 'toy/x', MAP {}, '{}', '1', ?)", [state])  # fmt: skip
        assert content_findings(con)[1] == []
        con.execute("INSERT INTO record VALUES ('x', 'a', 'm', NULL, NULL, 1.0)")
        con.execute("INSERT INTO refusal VALUES ('x', 'a', 'no', NULL)")
        found = content_findings(con)[1]
    assert sorted((f.rule, f.where, f.detail) for f in found) == [
        ("rows of a cell without an outcome", "toy/x", f"in {table}") for table in ("record", "refusal")
    ]

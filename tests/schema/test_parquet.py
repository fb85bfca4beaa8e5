"""Records sorted in parts: in the order of all columns as a whole, the bytes of plain sorts, and a fixed number of passes."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from orledger.schema import parquet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = tuple[str, str, str, str | None, int | None, float]

ODD = ["é", "Z", "a", "it's", "[x]*?", "", "a\x00b", "日本"]

CASES: dict[str, list[Row]] = {
    "one record": [("c", "a", "m", None, None, 1.0)],
    "one cell": [("c", f"a{k % 3}", "m", None, 9 - k, -float(k)) for k in range(10)],
    "a record per cell": [(f"{k * 7 % 30:02}", "a", "m", None, None, float(k)) for k in range(30)],
    "cells of four": [(f"{k * 7 % 10}", "b" if j % 2 else "a", "m", None, j, 0.5) for k in range(10) for j in range(4)],
    "nearly all in one cell": [("m" if k % 10 else f"{k * 3 % 40:02}", "a", "m", None, k, 0.0) for k in range(40)],
    "odd names": [(c, a, m, x, None, 1.0) for c in ODD for a in ("B", "b") for m in ODD[:3] for x in (None, *ODD[4:])],
    "equal rows": [("c" if k % 2 else "b", "a", "m", "x", k % 3 or None, 2.0) for k in range(12)],
    "a label per record": [(f"{k % 5}", "a", "m", f"{k * 11 % 40}", None, 1.0) for k in range(40)],
}


@pytest.fixture(params=CASES)
def filled(request: pytest.FixtureRequest) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[Row]]]:
    rows = CASES[request.param]
    with closing(duckdb.connect(config={"threads": 1})) as con:
        con.execute("CREATE TABLE record (cell_id TEXT, arm TEXT, metric TEXT, label TEXT, idx INTEGER, value DOUBLE)")
        con.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", rows)
        yield con, rows


def plain_parts(con: duckdb.DuckDBPyConnection, rows: list[Row], most: int, folder: Path) -> list[Path]:
    """The parts as one sort of the records of each gives them: cell after cell, and another part once ``most`` rows are passed."""
    sizes, total, members = Counter(row[0] for row in rows), 0, dict[int, list[str]]()
    for cell in sorted(sizes):
        total += sizes[cell]
        members.setdefault((total - 1) // most, []).append(cell)
    for number, cells in members.items():
        query = "SELECT * FROM record WHERE list_contains(?, cell_id) ORDER BY ALL NULLS FIRST"
        con.execute(f"COPY ({query}) TO '{folder}/{number:06}.plain' (FORMAT parquet, COMPRESSION snappy)", [cells])
    return sorted(folder.glob("*.plain"))


def joined(con: duckdb.DuckDBPyConnection, parts: list[Path], file: Path) -> bytes:
    con.execute(f"COPY (SELECT * FROM {parquet.rows_of(*parts)}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    return file.read_bytes()


@pytest.mark.parametrize(("most", "few", "files"), [(1, 10_000, 2), (4, 0, 250), (8, 10_000, 250), (7, 3, 1)])
def test_parts_hold_the_rows_and_bytes_of_plain_sorts(
    filled: tuple[duckdb.DuckDBPyConnection, list[Row]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    few: int,
    files: int,
) -> None:
    """Numbered or named, in files of their own or shared: the same rows in the same parts."""
    con, rows = filled
    for name, value in (("SORTED_ROWS", most), ("FEW", few), ("MOST_FILES", files)):
        monkeypatch.setattr(parquet, name, value)
    folder = tmp_path / "year=2026 [a]*"
    folder.mkdir()
    parts = parquet.sorted_parts(con, folder)
    assert sorted(folder.iterdir()) == parts  # nothing but the parts is left
    found = [con.execute(f"SELECT * FROM {parquet.rows_of(part)}").fetchall() for part in parts]
    assert [row for part in found for row in part] == sorted(
        rows, key=lambda row: [(value is not None, value) for value in row]
    )
    largest = Counter(row[0] for row in rows).most_common(1)[0][1]
    assert all(len(part) < most + largest for part in found)
    assert all(before[-1][0] < after[0][0] for before, after in pairwise(found))
    plain = plain_parts(con, rows, most, tmp_path)
    assert joined(con, parts, tmp_path / "new") == joined(con, plain, tmp_path / "old")


def test_a_part_ends_where_its_last_cell_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of four records in parts of eight: two in each, none left over."""
    with closing(duckdb.connect()) as con:
        con.execute(
            "CREATE TABLE record AS SELECT (k // 4)::TEXT AS cell_id, 'a' AS arm, 'm' AS metric FROM range(32) t(k)"
        )
        con.execute(
            "ALTER TABLE record ADD label TEXT; ALTER TABLE record ADD idx INTEGER; ALTER TABLE record ADD value DOUBLE"
        )
        monkeypatch.setattr(parquet, "SORTED_ROWS", 8)
        parts = parquet.sorted_parts(con, tmp_path)
        cells = [con.execute(f"SELECT DISTINCT cell_id FROM {parquet.rows_of(p)} ORDER BY 1").fetchall() for p in parts]
    assert cells == [[("0",), ("1",)], [("2",), ("3",)], [("4",), ("5",)], [("6",), ("7",)]]


class Watched:
    """A connection that counts how often its queries read the table of records."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.reads = 0

    def execute(self, query: str, *given: Any) -> duckdb.DuckDBPyConnection:
        self.reads += len(re.findall(r"\b(?:FROM|JOIN) record\b", query))
        return self.con.execute(query, *given)


def test_records_are_read_as_often_for_many_parts_as_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = {}
    for most in (1, 5, 1000):
        with closing(duckdb.connect()) as con:
            con.execute(
                "CREATE TABLE record (cell_id TEXT, arm TEXT, metric TEXT, label TEXT, idx INTEGER, value DOUBLE)"
            )
            con.execute("INSERT INTO record SELECT k::TEXT, 'a', 'm', NULL, k, k FROM range(20) t(k)")
            monkeypatch.setattr(parquet, "SORTED_ROWS", most)
            (tmp_path / str(most)).mkdir()
            watched: Any = Watched(con)
            parts = parquet.sorted_parts(watched, tmp_path / str(most))
            reads[len(parts)] = watched.reads
    assert reads == {20: 4, 4: 4, 1: 4}

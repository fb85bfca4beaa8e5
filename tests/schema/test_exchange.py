"""Export and import: the same database gives the same bytes, and a changed byte is found."""

from __future__ import annotations

import errno
import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orledger.errors import DatabaseError, UsageError, VerificationError
from orledger.schema import exchange, opening, parquet
from orledger.schema.checking import check
from orledger.schema.reading import open_results


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_a_round_trip_gives_equal_bytes_and_a_clean_database(toy_db: Path, tmp_path: Path) -> None:
    exchange.export(toy_db, tmp_path / "first")
    exchange.import_folder(tmp_path / "first", tmp_path / "copy.duckdb")
    exchange.export(tmp_path / "copy.duckdb", tmp_path / "second")
    assert files(tmp_path / "first") == files(tmp_path / "second")
    assert check(tmp_path / "copy.duckdb").findings == ()
    with open_results(toy_db) as old, open_results(tmp_path / "copy.duckdb") as new:
        assert old.records().equals(new.records())


def test_a_compact_export_holds_the_same_database(toy_db: Path, tmp_path: Path) -> None:
    exchange.export(toy_db, tmp_path / "plain")
    exchange.export(toy_db, tmp_path / "compact", compact=True)
    assert files(tmp_path / "plain")["record.parquet"] != files(tmp_path / "compact")["record.parquet"]
    exchange.import_folder(tmp_path / "compact", tmp_path / "copy.duckdb")
    exchange.export(tmp_path / "copy.duckdb", tmp_path / "again")
    assert files(tmp_path / "plain") == files(tmp_path / "again")
    exchange.export(tmp_path / "copy.duckdb", tmp_path / "again-compact", compact=True)
    assert files(tmp_path / "compact") == files(tmp_path / "again-compact")


def test_the_order_of_completion_does_not_reach_the_bytes(tmp_path: Path) -> None:
    """Two databases filled in opposite orders export the same records."""
    from toy_case import run_toy, toy_plan

    jobs = toy_plan(6)
    run_toy(tmp_path / "a.duckdb", jobs)
    run_toy(tmp_path / "b.duckdb", jobs[::-1])
    exchange.export(tmp_path / "a.duckdb", tmp_path / "a")
    exchange.export(tmp_path / "b.duckdb", tmp_path / "b")
    for table in ("record", "refusal", "fact", "dataset"):
        assert (tmp_path / "a" / f"{table}.parquet").read_bytes() == (tmp_path / "b" / f"{table}.parquet").read_bytes()


def test_records_sorted_in_parts_are_sorted_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part ends with a cell; the rows are those of the table in the order of all columns."""
    from toy_case import run_toy, toy_plan

    monkeypatch.setattr(parquet, "SORTED_ROWS", 7)
    jobs = toy_plan(6)
    run_toy(tmp_path / "a.duckdb", jobs)
    run_toy(tmp_path / "b.duckdb", jobs[::-1])
    for name in ("a", "b"):
        exchange.export(tmp_path / f"{name}.duckdb", tmp_path / name)
    assert (tmp_path / "a/record.parquet").read_bytes() == (tmp_path / "b/record.parquet").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.duckdb", "b", "b.duckdb"]
    assert not [p for p in (tmp_path / "a").iterdir() if p.suffix not in {".parquet", ".json"}]
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"), read_only=True)) as con:
        wanted = con.execute("SELECT * FROM record").fetchall()
        found = con.execute(f"SELECT * FROM read_parquet('{tmp_path / 'a/record.parquet'}')").fetchall()
    assert found == sorted(wanted, key=lambda row: [(value is not None, value) for value in row])


def test_a_disk_that_is_full_amid_the_parts_leaves_nothing(
    toy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_files: Path) -> str:
        assert list(tmp_path.rglob("file=*"))  # records are there already, and not yet sorted
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parquet, "SORTED_ROWS", 7)
    monkeypatch.setattr(parquet, "rows_of", full)
    with pytest.raises(DatabaseError, match="No space left"):
        exchange.export(toy_db, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_an_equals_sign_is_no_column(
    toy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB takes folders such as year=2026 for the values of a column, unless it is told not to."""
    monkeypatch.setattr(parquet, "SORTED_ROWS", 7)
    exchange.export(toy_db, tmp_path / "year=2026" / "out")
    exchange.import_folder(tmp_path / "year=2026" / "out", tmp_path / "new.duckdb")
    with open_results(toy_db) as old, open_results(tmp_path / "new.duckdb") as new:
        assert old.records().equals(new.records())


def test_a_changed_byte_stops_the_import(toy_db: Path, tmp_path: Path) -> None:
    exchange.export(toy_db, tmp_path / "out")
    target = tmp_path / "out" / "record.parquet"
    raw = bytearray(target.read_bytes())
    raw[len(raw) // 2] ^= 1
    target.write_bytes(raw)
    with pytest.raises(VerificationError, match=r"record\.parquet has changed"):
        exchange.import_folder(tmp_path / "out", tmp_path / "new.duckdb")
    target.unlink()
    with pytest.raises(VerificationError, match="missing"):
        exchange.import_folder(tmp_path / "out", tmp_path / "new.duckdb")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def _damage(manifest: dict[str, Any], how: str) -> None:
    if how == "version missing":
        del manifest["schema_version"]
    elif how == "version a text":
        manifest["schema_version"] = "2"
    elif how == "rows missing":
        del manifest["tables"]["record"]["rows"]
    elif how == "rows a text":
        manifest["tables"]["record"]["rows"] = "many"
    elif how == "table missing":
        del manifest["tables"]["record"]


@pytest.mark.parametrize(
    "how", ["version missing", "version a text", "rows missing", "rows a text", "table missing", "bytes", "nested"]
)
def test_a_damaged_manifest_is_named_and_nothing_is_imported(toy_db: Path, tmp_path: Path, how: str) -> None:
    manifest = exchange.export(toy_db, tmp_path / "out")
    _damage(manifest, how)
    file = tmp_path / "out" / "manifest.json"
    broken = {"bytes": b"\xff\xfe\x00", "nested": b"[" * 100_000}
    file.write_bytes(broken.get(how) or json.dumps(manifest).encode())
    with pytest.raises(VerificationError, match=r"manifest\.json is damaged"):
        exchange.import_folder(tmp_path / "out", tmp_path / "new.duckdb")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("folder", ["out", "deep/er/out", "empty"])
@pytest.mark.parametrize("state", ["missing", "damaged"])
def test_an_export_that_fails_leaves_nothing(damaged_db: Path, tmp_path: Path, folder: str, state: str) -> None:
    (tmp_path / "empty").mkdir()
    source = damaged_db if state == "damaged" else tmp_path / "absent.duckdb"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DatabaseError):
        exchange.export(source, tmp_path / folder)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("folder", ["deep/er/out", "empty"])
def test_an_export_makes_the_folders_above_and_fills_an_empty_one(toy_db: Path, tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    manifest = exchange.export(toy_db, tmp_path / folder)
    assert exchange.verify(tmp_path / folder) == manifest
    assert [p.name for p in tmp_path.rglob("*.part")] == []


@pytest.mark.parametrize("change", ["rows", "table", "schema_version", "format", "nonsense"])
def test_a_manifest_that_does_not_agree_stops_the_import(toy_db: Path, tmp_path: Path, change: str) -> None:
    manifest = exchange.export(toy_db, tmp_path / "out")
    if change == "rows":
        manifest["tables"]["record"]["rows"] += 1
    elif change == "table":
        shutil.copy(tmp_path / "out" / "fact.parquet", tmp_path / "out" / "evil.parquet")
        manifest["tables"]["evil"] = manifest["tables"]["fact"]
    elif change == "nonsense":
        manifest["tables"] = 3
    else:
        manifest[change] = 999
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises((VerificationError, UsageError)):
        exchange.import_folder(tmp_path / "out", tmp_path / "new.duckdb")
    assert not (tmp_path / "new.duckdb").exists()


def test_nothing_is_overwritten(toy_db: Path, tmp_path: Path) -> None:
    exchange.export(toy_db, tmp_path / "out")
    with pytest.raises(UsageError, match="not empty"):
        exchange.export(toy_db, tmp_path / "out")
    (tmp_path / "there.duckdb").write_bytes(b"mine")
    with pytest.raises(DatabaseError, match="exists already"):
        exchange.import_folder(tmp_path / "out", tmp_path / "there.duckdb")
    assert (tmp_path / "there.duckdb").read_bytes() == b"mine"


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"manifest\.json"):
        exchange.import_folder(tmp_path, tmp_path / "new.duckdb")


@pytest.mark.slow
def test_an_export_larger_than_memory_gives_the_same_bytes(
    toy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.duckdb"
    shutil.copy(toy_db, path)
    with closing(opening.connect(path, "write")) as con:
        con.execute(
            "INSERT INTO record SELECT (SELECT min(cell_id) FROM cell), md5(k::VARCHAR), md5((k + 1)::VARCHAR), NULL, NULL, random()"
            " FROM range(3_000_000) t(k)"
        )
    found = {}
    for memory in ("128", "4096"):
        monkeypatch.setenv("ORLEDGER_MEMORY_MB", memory)
        found[memory] = exchange.export(path, tmp_path / memory)["tables"]
    assert found["128"] == found["4096"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["128", "4096", "large.duckdb"]


@pytest.mark.parametrize("text", ["127", "1e3", "", "-5", "10000000000", "\u0663\u0663\u0663"])
def test_a_bound_of_memory_that_is_none_is_named(toy_db: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ORLEDGER_MEMORY_MB", text)
    with pytest.raises(UsageError, match="ORLEDGER_MEMORY_MB"):
        opening.connect(toy_db)

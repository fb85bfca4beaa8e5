"""A database that opens, and is damaged where its records are; and a new one in memory."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

import duckdb
import pytest
from database_copies import copied

from orledger.schema import migrate


@functools.cache
def _empty() -> tempfile.TemporaryDirectory[str]:
    """A folder with a new database, for as long as the process lives."""
    place = tempfile.TemporaryDirectory()
    with duckdb.connect(str(Path(place.name) / "empty.duckdb")) as con:
        migrate.migrate(con)
    return place


before_forks = _empty  # tests/mutants makes it once, and not for every mutant


@pytest.fixture(scope="module")
def new_db() -> duckdb.DuckDBPyConnection:
    """A new database in memory for all tests of a file."""
    return copied(Path(_empty().name) / "empty.duckdb")


@pytest.fixture
def damaged_db(damaged_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the toy run with one bit flipped in the first block that only reading the records touches."""
    path = tmp_path_factory.mktemp("damaged") / "results.duckdb"
    shutil.copyfile(damaged_once, path)
    return path


@pytest.fixture(scope="session")
def damaged_once(toy_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``damaged_db`` copies."""
    path = tmp_path_factory.mktemp("damaged") / "results.duckdb"
    raw = toy_db.read_bytes()
    for start in range(3 * 4096, len(raw), 262144):
        flipped = bytearray(raw)
        flipped[start + 64] ^= 1
        path.write_bytes(flipped)
        if _reads(path, "migration") and not _reads(path, "record"):
            return path
    raise AssertionError("no block holds records alone")


def _reads(path: Path, table: str) -> bool:
    try:
        with duckdb.connect(str(path), read_only=True) as con:
            con.execute(f"SELECT * FROM {table}").fetchall()
    except duckdb.Error:
        return False
    return True

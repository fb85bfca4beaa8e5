"""A file is looked through once, and again when it, or what it is compared with, has changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orledger import studies
from orledger.errors import DatabaseError, VerificationError
from orledger.schema import objects, opening
from orledger.schema.opening import connect


@pytest.fixture(autouse=True)
def _really_copied(_copies: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies that nobody has looked through."""
    monkeypatch.setattr(shutil, "copy", _copies)


@pytest.mark.parametrize("log", [False, True], ids=["in the file", "in its log"])
def test_a_file_that_was_read_is_looked_at_again_once_it_changed(toy_db: Path, db: Path, log: bool) -> None:
    """A function that was added after the reading, whether a checkpoint brought it into the file or not, is refused."""
    shutil.copy(toy_db, db)
    seen = opening.state(db)
    connect(db).close()
    assert opening.state(db) == seen
    with duckdb.connect(str(db)) as con:
        con.execute("PRAGMA disable_checkpoint_on_shutdown" if log else "SELECT 1")
        con.execute("CREATE MACRO round(x, n) AS 0")
    assert db.with_name(f"{db.name}.wal").exists() == log
    with pytest.raises(VerificationError, match="a function was added"):
        connect(db, "write")
    with pytest.raises(VerificationError, match="a function was added"):
        connect(db)
    assert opening.state(db.with_name("nothing")) is None


def test_a_file_that_did_not_change_since_it_was_read_is_looked_at_once(
    toy_db: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(toy_db, db)
    looked: list[Path] = []
    real = objects.require_code
    monkeypatch.setattr(objects, "require_code", lambda path, *rest: (looked.append(path), real(path, *rest)))
    connect(db).close()
    connect(db).close()
    connect(db, "write").close()
    assert looked == [db]
    with duckdb.connect(str(db)) as con:
        con.execute("CREATE TABLE mine AS SELECT 1 AS a")
    connect(db, "write").close()
    assert looked == [db, db]
    other = db.with_name("other.duckdb")
    shutil.copy(db, other)
    connect(other).close()
    assert looked == [db, db, other]


def test_views_are_compared_again_once_the_file_or_the_studies_changed(
    toy_db: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(toy_db, db)
    compared: list[Path] = []
    real = objects.require_views
    monkeypatch.setattr(objects, "require_views", lambda path, con: (compared.append(path), real(path, con)))
    connect(db).close()
    connect(db).close()
    assert compared == [db]
    monkeypatch.setattr(studies, "installed", lambda: ())
    connect(db).close()
    assert compared == [db, db]
    with opening.writing(db) as con:
        con.execute("CREATE OR REPLACE VIEW all_cells AS SELECT 1 AS a")
    with pytest.raises(VerificationError, match="a view was changed: all_cells"):
        connect(db)
    with pytest.raises(VerificationError, match="a view was changed: all_cells"):
        connect(db)


def test_a_schema_that_became_newer_after_the_reading_is_refused(toy_db: Path, db: Path) -> None:
    shutil.copy(toy_db, db)
    connect(db).close()
    with duckdb.connect(str(db)) as con:
        con.execute("UPDATE migration SET number = number + 100 WHERE kind = 'migration'")
    with pytest.raises(DatabaseError, match="this orledger knows versions up to"):
        connect(db)

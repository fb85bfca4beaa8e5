"""Copies to keep: nothing is overwritten, and no run takes them for its own."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from toy_case import run_toy, toy_plan

from orledger.errors import DatabaseError, UsageError
from orledger.schema import snapshot
from orledger.schema.checking import check
from orledger.schema.explaining import snapshot_path
from orledger.schema.snapshot import copy_database


def test_a_copy_is_named_by_its_moment_and_survives_the_next_run(toy_db: Path, db: Path) -> None:
    shutil.copy(toy_db, db)
    copy = copy_database(db)
    assert re.fullmatch(r"results-\d{8}T\d{6}\.duckdb", copy.name)
    before = hashlib.sha256(copy.read_bytes()).hexdigest()
    run_toy(db, toy_plan(22), snapshot_every=0.001)
    assert hashlib.sha256(copy.read_bytes()).hexdigest() == before
    assert check(copy).findings == ()


@pytest.mark.parametrize("target", ["results.duckdb", "notes.txt", "results.snapshot.duckdb"])
def test_a_copy_overwrites_nothing_and_does_not_take_the_runs_own_name(toy_db: Path, db: Path, target: str) -> None:
    shutil.copy(toy_db, db)
    (db.parent / "notes.txt").write_text("mine")
    before = {p.name: p.read_bytes() for p in db.parent.iterdir()}
    with pytest.raises(UsageError, match=re.escape(target)):
        copy_database(db, db.parent / target)
    assert {p.name: p.read_bytes() for p in db.parent.iterdir()} == before
    assert not snapshot_path(db).exists()


def test_a_file_that_appears_while_the_copy_is_made_is_left_alone(
    toy_db: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(toy_db, db)
    target = db.with_name("kept.duckdb")
    fill = snapshot._fill

    def slowly(*arguments: object) -> None:
        fill(*arguments)
        target.write_text("mine")

    monkeypatch.setattr(snapshot, "_fill", slowly)
    with pytest.raises(DatabaseError, match="exists already"):
        copy_database(db, target)
    assert target.read_text() == "mine"
    assert {p.name for p in db.parent.iterdir()} == {db.name, target.name}

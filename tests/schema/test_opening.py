"""Opening: what is refused is refused with a reason, and is left as it was."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from orledger.errors import DatabaseError, QueryRefusedError
from orledger.schema import explaining, migrate, opening
from orledger.schema.explaining import LockedError
from orledger.schema.opening import connect
from orledger.schema.reading import SnapshotWarning, open_results
from orledger.schema.snapshot import publish_snapshot
from orledger.schema.writing import CellOutcome, PlannedCell, Writer

pytestmark = pytest.mark.usefixtures("really_new")


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refusal(path: Path, mode: str) -> str:
    """The message with which ``path`` is refused; fails when the file changes or a new one appears beside it."""
    before = fingerprint(path) if path.is_file() else None
    beside = sorted(path.parent.iterdir())
    with pytest.raises(DatabaseError) as caught:
        connect(path, mode)  # type: ignore[arg-type]
    assert (fingerprint(path) if path.is_file() else None) == before
    assert sorted(path.parent.iterdir()) == beside
    return str(caught.value)


def test_a_missing_database_is_not_created_by_reading(db: Path) -> None:
    assert "no database at" in refusal(db, "read")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="does not exist"):
        connect(tmp_path / "absent" / "results.duckdb", "write")


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0" * 4096], ids=["empty", "short", "sqlite"])
def test_a_file_that_is_no_database_is_refused(db: Path, content: bytes, mode: str) -> None:
    db.write_bytes(content)
    assert "is not a DuckDB database" in refusal(db, mode)


@pytest.mark.parametrize("mode", ["read", "write"])
def test_somebody_elses_duckdb_is_refused(db: Path, mode: str) -> None:
    with duckdb.connect(str(db)) as con:
        con.execute("CREATE TABLE theirs (i INTEGER)")
    assert "not one of orledger's" in refusal(db, mode)


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize(
    "columns",
    [
        "id INTEGER",
        "kind VARCHAR, number INTEGER, name VARCHAR, sha256 VARCHAR, objects VARCHAR[], version VARCHAR, applied TIMESTAMP",
    ],
    ids=["other columns", "the same columns"],
)
def test_a_table_called_migration_does_not_make_a_database_ours(db: Path, columns: str, mode: str) -> None:
    with duckdb.connect(str(db)) as con:
        con.execute(f"CREATE TABLE migration ({columns})")
    assert "not one of orledger's" in refusal(db, mode)


@pytest.mark.parametrize("version", [0, 1])
def test_an_older_schema_is_read_only_after_migrating(db: Path, version: int) -> None:
    """Version 0 is a DuckDB file without tables; writing brings either up to date by itself."""
    with duckdb.connect(str(db)) as con:
        if version:
            migrate.migrate(con, migrate.shipped_migrations()[:version])
    message = refusal(db, "read")
    assert (f"schema version {version}" if version else "without tables") in message
    assert f"orledger db migrate --db {db}" in message
    assert opening.stored_version(db) == version
    connect(db, "write").close()
    connect(db, "read").close()
    assert opening.stored_version(db) == len(migrate.shipped_migrations())


def test_views_of_another_version_are_made_anew_before_they_are_read(toy_db: Path, db: Path) -> None:
    shutil.copy(toy_db, db)
    with duckdb.connect(str(db)) as con:
        con.execute("UPDATE migration SET sha256 = 'older' WHERE kind = 'views'")
    with pytest.raises(DatabaseError, match=r"(?s)views of another version.*db migrate"), open_results(db):
        pass
    opening.connect(db, "write").close()
    with open_results(db) as results:
        assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 20


def test_only_a_reader_promises_that_a_damaged_file_was_not_changed(db: Path) -> None:
    error = duckdb.IOException("IO Error: Corrupt database file")
    assert "not changed" in str(explaining.explain(db, error, read_only=True))
    assert "not changed" not in str(explaining.explain(db, error))


def test_a_damaged_block_found_by_a_query_is_the_files_fault_and_a_word_in_a_query_is_not(
    toy_db: Path, damaged_db: Path
) -> None:
    for column in ("*", "sum(value)"):
        with open_results(damaged_db) as results, pytest.raises(DatabaseError, match="is damaged"):
            results.sql(f"SELECT {column} FROM record")
    with open_results(toy_db) as results, pytest.raises(QueryRefusedError):
        results.sql("SELECT corrupt FROM record")


def test_a_new_database_appears_only_when_all_went_well(db: Path) -> None:
    with pytest.raises(DatabaseError), opening.writing(db) as con:
        con.execute("INSERT INTO record VALUES ('x', 'a', 'm', NULL, NULL, 'NaN')")
    assert list(db.parent.iterdir()) == []
    with opening.writing(db) as con:
        con.execute("DELETE FROM cell")
    assert [p.name for p in db.parent.iterdir()] == [db.name]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, mode: str) -> None:
    os.mkfifo(tmp_path / "results.duckdb")
    with pytest.raises(DatabaseError, match="is a pipe or a device, not a database"):
        connect(tmp_path / "results.duckdb", mode)


def test_a_link_to_nothing_is_named_and_not_written_through(tmp_path: Path) -> None:
    link = tmp_path / "results.duckdb"
    for target in ("gone.duckdb", "results.duckdb"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        with pytest.raises(DatabaseError, match=f"is a link to {target}, which is not there"):
            connect(link, "write")
        with pytest.raises(DatabaseError, match=f"is a link to {target}"), opening.writing(link):
            pass
        assert [p.name for p in tmp_path.iterdir()] == ["results.duckdb"]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_folder_is_refused(tmp_path: Path, mode: str) -> None:
    assert "is a folder" in refusal(tmp_path, mode)


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_newer_schema_is_refused(toy_db: Path, db: Path, mode: str) -> None:
    shutil.copy(toy_db, db)
    with duckdb.connect(str(db)) as con:
        con.execute("INSERT INTO migration VALUES ('migration', 9999, 'later.sql', 'x', NULL, '99', now()::TIMESTAMP)")
    message = refusal(db, mode)
    assert "schema version 9999" in message
    assert "pip install --upgrade orledger" in message


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_truncated_database_is_refused(toy_db: Path, db: Path, mode: str) -> None:
    raw = toy_db.read_bytes()
    for size in (100, 5000, 20_000, len(raw) // 2):
        db.write_bytes(raw[:size])
        message = refusal(db, mode)
        assert "damaged" in message or "not a DuckDB database" in message


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize("offset", [100, 4096 + 50, 8192 + 50], ids=["main header", "first header", "second header"])
def test_a_flipped_bit_in_a_header_is_refused(toy_db: Path, db: Path, offset: int, mode: str) -> None:
    raw = bytearray(toy_db.read_bytes())
    raw[offset] ^= 4
    db.write_bytes(raw)
    assert "damaged" in refusal(db, mode)


def test_a_flipped_bit_in_any_block_is_found_by_check(toy_db: Path, db: Path) -> None:
    """Blocks carry checksums; whichever block is hit, opening or checking says so, and none gives a wrong number."""
    from orledger.schema.checking import check

    raw = toy_db.read_bytes()
    blocks = range(3 * 4096, len(raw), 262144)
    whole = check(toy_db)
    assert whole.findings == ()
    found = 0
    for start in blocks:
        damaged = bytearray(raw)
        damaged[start + 64] ^= 1
        db.write_bytes(damaged)
        try:
            seen = check(db)
        except DatabaseError as error:
            message = str(error)
            found += 1
        else:
            # A block that nothing uses any more may change unseen.
            assert seen == whole
            message = "damaged"
        assert "damaged" in message
    assert found >= 2


def test_a_locked_database_names_its_holder(toy_db: Path, db: Path) -> None:
    shutil.copy(toy_db, db)
    code = f"import duckdb; c = duckdb.connect({str(db)!r}); print('open', flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        for mode in ("read", "write"):
            with pytest.raises(LockedError) as caught:
                connect(db, mode)  # type: ignore[arg-type]
            assert caught.value.pid == holder.pid
            assert str(holder.pid) in str(caught.value)
            assert "snapshot" not in str(caught.value)
    finally:
        holder.communicate(b"\n")
    connect(db).close()


def test_a_reader_gets_the_snapshot_while_a_writer_has_the_file(toy_db: Path, db: Path) -> None:
    shutil.copy(toy_db, db)
    with Writer(db) as writer:
        publish_snapshot(writer.con, db)
        writer.plan([PlannedCell("later", "toy", "main", "toy/later", {}, "{}", "1")])
        with pytest.warns(SnapshotWarning, match="snapshot of"), open_results(db) as results:
            assert results.path == explaining.snapshot_path(db)
            assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 20
            assert results.sql("SELECT comment FROM duckdb_tables() WHERE table_name = 'cell'")["comment"][0]
        with pytest.raises(LockedError):
            open_results(db, snapshot=False)


def test_a_read_only_folder_is_refused(toy_db: Path, tmp_path: Path) -> None:
    """Root may write anywhere but on a read-only mount, so the test makes one when it can."""
    folder = tmp_path / "closed"
    folder.mkdir()
    shutil.copy(toy_db, folder / "old.duckdb")
    if os.geteuid() == 0:
        done = subprocess.run(["mount", "--bind", folder, folder], capture_output=True)
        if done.returncode:
            pytest.skip("root without the right to mount")
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        undo = ["umount", str(folder)]
    else:
        folder.chmod(0o555)
        undo = ["chmod", "755", str(folder)]
    try:
        assert "read-only" in refusal(folder / "new.duckdb", "write")
        assert "cannot be written" in refusal(folder / "old.duckdb", "write")
        with open_results(folder / "old.duckdb") as results:
            assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 20
    finally:
        subprocess.run(undo, check=True)


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    """Writing under a limit on file size: the transaction that does not fit fails as a whole, the earlier ones stay."""
    db = tmp_path / "results.duckdb"
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "runners" / "toy")!r})
from pathlib import Path
from orledger.errors import DatabaseError
from toy_case import run_toy, toy_plan
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
run_toy(Path({str(db)!r}), toy_plan(4))
resource.setrlimit(resource.RLIMIT_FSIZE, (Path({str(db)!r}).stat().st_size + 300_000,) * 2)
try:
    run_toy(Path({str(db)!r}), toy_plan(40, size=5_000), snapshot_every=0)
except DatabaseError as error:
    print("REFUSED", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "REFUSED" in done.stdout, done.stdout + done.stderr
    assert "full" in done.stdout
    from orledger.schema.checking import check

    report = check(db)
    assert report.findings == ()
    assert report.hashes >= 4
    from toy_case import run_toy, toy_plan

    assert run_toy(db, toy_plan(40, size=5_000)).state == "finished"
    assert check(db).findings == ()


def test_creation_leaves_no_half_made_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(con: object) -> list[str]:
        raise DatabaseError("no")

    monkeypatch.setattr(migrate, "migrate", broken)
    with pytest.raises(DatabaseError):
        connect(tmp_path / "results.duckdb", "write")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_killed_processes_are_removed(db: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    leftover = db.with_name(f".{db.name}.{dead.pid}.part")
    nested = db.with_name(f".{leftover.name}.{dead.pid}.part")  # of one in the making
    mine = db.with_name(f".{db.name}.{os.getppid()}.part")
    for path in (leftover, nested, mine):
        path.touch()
    connect(db, "write").close()
    assert not leftover.exists()
    assert not nested.exists()
    assert mine.exists()


def test_files_are_written_for_older_duckdb_too(toy_db: Path) -> None:
    with open_results(toy_db) as results:
        tags = results.sql(
            "SELECT tags['storage_version'] AS v FROM duckdb_databases() WHERE database_name = current_database()"
        )
        assert tags["v"][0] == "v1.4.0+"


def test_two_connections_of_one_process_say_so(db: Path) -> None:
    with Writer(db) as writer:
        writer.plan([PlannedCell("c", "toy", "main", "toy/c", {"seed": 0}, "{}", "1")])
        writer.store("c", CellOutcome("failed", error="x"))
        with pytest.raises(LockedError, match="this process"):
            open_results(db)


def test_of_two_that_make_a_database_at_once_the_second_opens_that_of_the_first(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process is done just before this one gives its own file the name."""
    make = opening.migrate.migrate
    first: list[str] = []

    def raced(con: duckdb.DuckDBPyConnection) -> list[str]:
        if not first:
            first.append("made")
            other = db.with_name("other.duckdb")
            opening.create(other)
            other.rename(db)
        return make(con)

    monkeypatch.setattr(opening.migrate, "migrate", raced)
    con = opening.connect(db, "write")
    assert con.execute("SELECT count(*) FROM cell").fetchall() == [(0,)]
    con.close()
    assert [p.name for p in db.parent.iterdir()] == [db.name]


def test_the_log_of_a_database_that_is_gone_is_named_and_kept(db: Path) -> None:
    log = db.with_name(f"{db.name}.wal")
    log.write_bytes(b"a log")
    with pytest.raises(DatabaseError, match=r"is the log of a database that was"):
        opening.connect(db, "write")
    assert log.read_bytes() == b"a log"
    assert not db.exists()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('Could not write file "/b/.out.7.part/record.parquet": No space left on device', "/b"),
        ('{"exception_message":"Could not write file \\"/b/spill.tmp\\": No space left on device"}', "/b/spill.tmp"),
        ("No space left on device", "/a/results.duckdb"),
    ],
)
def test_a_full_disk_is_that_of_the_file_that_could_not_be_written(text: str, named: str) -> None:
    found = explaining.explain(Path("/a/results.duckdb"), duckdb.IOException(text))
    assert str(found).startswith(f"the disk of {named} is full")

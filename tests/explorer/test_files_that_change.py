"""Databases, snapshots and copies that come, change and go while the explorer is open."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import live_run
import pytest
from explorer_db import fill
from starlette.testclient import TestClient

from orledger.errors import DatabaseError
from orledger.explorer.app import application
from orledger.explorer.mirror import Mirror
from orledger.explorer.site import Explorer
from orledger.schema.explaining import snapshot_path
from orledger.schema.opening import connect
from orledger.schema.sandbox import Limits
from orledger.schema.writing import Writer


def test_a_snapshot_that_a_killed_run_left_is_not_believed(database: Path) -> None:
    """Nobody holds the file, so the file is the newest there is; while somebody does, its snapshot answers."""
    fill(snapshot_path(database), 1)
    holding = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.readline()"
    mirror = Mirror(database, Limits())
    try:
        with mirror.results() as results:
            assert results.note is None
            assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 8
        fill(snapshot_path(database.with_name("gone.duckdb")), 1)
        alone = Mirror(database.with_name("gone.duckdb"), Limits())
        with alone.results() as results:
            assert not results.writing
            assert str(results.note).startswith(
                f"no database at {database.with_name('gone.duckdb')}: this is the snapshot of"
            )
        alone.close()
        command = [sys.executable, "-c", holding, str(database)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()  # type: ignore[union-attr]
            other = Mirror(database, Limits())
            with other.results() as results:
                assert results.note is not None
                assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 3
            other.close()
            snapshot_path(database).unlink()
            third = Mirror(database, Limits())
            with pytest.raises(DatabaseError, match="no snapshot yet"), third.results():
                pass
            third.close()
    finally:
        mirror.close()


def test_a_run_that_was_killed_is_not_said_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database still says that it runs; nobody has the file."""
    monkeypatch.setattr("orledger.explorer.mirror.LOOK_EVERY", 0.0)
    path = tmp_path / "live.duckdb"
    command = [sys.executable, live_run.__file__, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()  # the first cell waits, and a snapshot of the plan is there
        with TestClient(application(Explorer(path)), base_url="http://localhost") as client:
            going = client.get("/run").text
            assert ">running</span>" in going
            assert "a run is writing; this is its snapshot of" in going
            assert 'data-progress="0 of 4"' in going
            run.kill()
            run.wait()
            killed = client.get("/run").text
            with Writer(path) as writer:
                known = {"versions": {}, "host": {}, "device": "cpu", "engine": "serial", "jobs": 1, "threads": 1}
                writer.begin_run(
                    "second", registration_hash=None, preset="again", settings={}, git_commit=None, **known
                )
                writer.end_run("second", "finished")
            second = client.get("/run").text
    assert "Run second: preset again" in second
    assert re.search(r'Earlier runs.*preset</th>.*<td class="text">tiny</td>.*>interrupted</span>', second, re.DOTALL)
    assert ">running</span>" not in killed
    assert "Its process is gone" in killed
    assert 'data-progress=""' in killed


def test_a_run_that_has_published_nothing_is_waited_for(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says so, asks again by itself, and answers as soon as there is something."""
    monkeypatch.setattr("orledger.explorer.mirror.held", lambda _: True)
    with TestClient(application(Explorer(database)), base_url="http://localhost") as client:
        answer = client.get("/run")
        assert answer.status_code == 503
        assert '<meta http-equiv="refresh" content="2">' in answer.text
        assert "has published no snapshot yet" in answer.text
        monkeypatch.setattr("orledger.explorer.mirror.held", lambda _: False)
        assert "The latest run" in client.get("/run").text


def test_a_file_that_cannot_be_served_is_named_as_the_user_named_it(tmp_path: Path) -> None:
    """Not as the private copy that was looked at."""
    (tmp_path / "foreign.duckdb").write_text("no database", encoding="utf-8")
    mirror = Mirror(tmp_path / "foreign.duckdb", Limits())
    try:
        with pytest.raises(DatabaseError, match=re.escape(f"{tmp_path}/foreign.duckdb is not a DuckDB database")):
            mirror.look()
    finally:
        mirror.close()


def test_pages_are_kept_as_long_as_the_database_and_no_more_than_so_many(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orledger.explorer.mirror.LOOK_EVERY", 0.0)
    x = Explorer(database)
    with TestClient(application(x), base_url="http://localhost") as client:
        size = len(client.get("/cells?word=none0").content)
    monkeypatch.setattr("orledger.explorer.mirror.PAGES", 3 * size)
    x = Explorer(database)
    with TestClient(application(x), base_url="http://localhost") as client:
        first = client.get("/cells").text
        assert client.get("/cells").text == first
        assert client.get("/cells?state=failed").text != first
        for k in range(5):
            client.get(f"/cells?word=none{k}")
        client.get("/cell/nobody")
        with x.mirror.results() as results:
            assert results.pages.keys() == [(f"/cells?word=none{k}", None) for k in (2, 3, 4)]
        con = connect(database, "write")
        con.execute("DELETE FROM cell WHERE cell_id = 'c7'")
        con.close()
        assert "7 cells" in client.get("/cells").text


def without_note(text: str) -> str:
    """A page without what is said above it."""
    return re.sub(r'<p class="note"[^>]*>.*?</p>| data-mark="\w+"', "", text)


def test_a_database_that_is_gone_is_said_to_be(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orledger.explorer.mirror.LOOK_EVERY", 0.0)
    kept = database.read_bytes()
    with TestClient(application(Explorer(database)), base_url="http://localhost") as client:
        before = client.get("/cells").text
        for harm, said in (
            (database.unlink, "no database at"),
            (lambda: database.write_bytes(b"garbage" * 999), "is not a DuckDB database"),
            (lambda: database.write_bytes(kept[: len(kept) // 2]), str(database)),
        ):
            harm()
            text = client.get("/cells").text
            (note,) = re.findall(r'<p class="note"[^>]*>(.*?)</p>', text)
            assert said in html.unescape(note)
            assert "these are the results as they were before" in note
            assert without_note(text) == without_note(before)
        database.write_bytes(kept)
        back = client.get("/cells").text
        assert without_note(back) == without_note(before)
        assert '<p class="note" role="status" hidden></p>' in back


def test_copies_of_servers_that_were_killed_are_removed(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    left = [
        tmp_path / f"orledger-serve-{ended.pid}-abc",
        tmp_path / f"orledger-serve-{os.getpid()}-abc",
        tmp_path / "orledger-serve-x-1",
    ]
    for folder in left:
        folder.mkdir()
        (folder / "1.duckdb").touch()
    mirror = Mirror(database, Limits())
    mirror.look()
    assert [folder.exists() for folder in left] == [False, True, True]
    mirror.close()


@pytest.mark.parametrize("look_every", [0.0, 1e9])
def test_a_copy_is_opened_anew_after_so_many_readers_and_keeps_what_was_made(
    database: Path, monkeypatch: pytest.MonkeyPatch, look_every: float
) -> None:
    """DuckDB holds on to traces of its buffers as long as a database is open, whether its file was looked at or not."""
    monkeypatch.setattr("orledger.explorer.mirror.READERS", 3)
    monkeypatch.setattr("orledger.explorer.mirror.LOOK_EVERY", look_every)
    mirror = Mirror(database, Limits())
    with mirror.results() as first:
        first.remember(("made",), lambda: "once")
        file, seen = first.rows("SELECT path FROM duckdb_databases() WHERE NOT internal")[0]["path"], set()
        for _ in range(7):
            with mirror.results() as later:
                seen.add(later.rows("SELECT path FROM duckdb_databases() WHERE NOT internal")[0]["path"])
                assert later.remember(("made",), lambda: "again") == "once"
                assert len(later.rows("FROM all_cells")) == 8
        assert len(first.rows("FROM all_cells")) == 8  # who still reads is not cut off
    assert file in seen
    assert len(seen) == 3
    assert len(list(Path(file).parent.iterdir())) == 1  # the others are closed and gone
    mirror.close()

"""Object stores, against moto's S3 server on the loopback."""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toy_case import same

from orledger.cli import main

pytest.importorskip("obstore", reason="the extra stores is not installed")
moto = pytest.importorskip("moto.server", reason="moto is not installed")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server with an empty bucket."""
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/bucket", method="PUT"), timeout=300).read()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture(autouse=True)
def _credentials(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "ENDPOINT": server,
        "ALLOW_HTTP": "true",
        "ACCESS_KEY_ID": "x",
        "SECRET_ACCESS_KEY": "y",
        "REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)


def test_export_import_and_merge(toy_db: Path, tmp_path: Path) -> None:
    done = run("db", "export", "s3://bucket/lab/toy", "--db", toy_db)
    assert done.exit_code == 0, done.output
    done = run("db", "import", "s3://bucket/lab/toy", "--db", tmp_path / "new.duckdb")
    assert done.exit_code == 0, done.output
    assert same(tmp_path / "new.duckdb", toy_db)
    done = run("db", "merge", tmp_path / "joined.duckdb", "s3://bucket/lab/toy/", toy_db)
    assert done.exit_code == 0, done.output
    assert "s3://bucket/lab/toy: 20 cells taken" in done.output
    assert "0 cells taken, 20 were there already" in done.output
    again = run("db", "export", "s3://bucket/lab/toy", "--db", toy_db)
    assert (again.exit_code, "is not empty" in again.output) == (2, True)


def test_a_database_is_one_object(toy_db: Path, tmp_path: Path) -> None:
    import obstore
    from obstore.store import from_url

    obstore.put(from_url("s3://bucket/files"), "part.duckdb", toy_db)
    done = run("db", "merge", tmp_path / "out.duckdb", "s3://bucket/files/part.duckdb")
    assert done.exit_code == 0, done.output
    assert same(tmp_path / "out.duckdb", toy_db)


def test_an_export_that_was_changed_there_is_found(toy_db: Path, tmp_path: Path) -> None:
    import obstore
    from obstore.store import from_url

    assert run("db", "export", "s3://bucket/changed", "--db", toy_db).exit_code == 0
    obstore.put(from_url("s3://bucket/changed"), "fact.parquet", b"PAR1")
    done = run("db", "import", "s3://bucket/changed", "--db", tmp_path / "new.duckdb")
    assert (done.exit_code, "has changed" in done.output) == (6, True)
    obstore.put(from_url("s3://bucket/changed"), "manifest.json", b'{"tables": {"../x": 1}}')
    done = run("db", "import", "s3://bucket/changed", "--db", tmp_path / "new.duckdb")
    assert (done.exit_code, "is no name of a table" in done.output) == (6, True)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_a_message(tmp_path: Path) -> None:
    for place in ("s3://bucket/nothing", "s3://nobody/here", "s3://bucket/nothing.duckdb"):
        done = run("db", "merge", tmp_path / "out.duckdb", place)
        assert done.exit_code == 2, done.output
        assert "cannot be read" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_report_goes_to_a_store(toy_db: Path, tmp_path: Path) -> None:
    import obstore
    from obstore.store import from_url

    shutil.copy(toy_db, tmp_path / "r.duckdb")
    done = run("report", "--no-pdf", "--db", tmp_path / "r.duckdb", "--out", "s3://bucket/pages/toy.html")
    assert done.exit_code == 0, done.output
    assert b"</html>" in bytes(obstore.get(from_url("s3://bucket/pages"), "toy.html").bytes())


def test_data_come_from_a_store(tmp_path: Path) -> None:
    import obstore
    from obstore.store import from_url

    from orledger.schema.addresses import parse, reading_folder

    obstore.put(from_url("s3://bucket/data"), "yacht.csv", b"a,b\n1,2\n")
    obstore.put(from_url("s3://bucket/data"), "deeper/other.csv", b"c\n")
    with reading_folder(parse("s3://bucket/data")) as folder:
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == {"yacht.csv": b"a,b\n1,2\n"}
    assert not folder.exists()

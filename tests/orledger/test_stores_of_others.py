"""``gs://``, ``az://`` and ``http://``, each against a server on the loopback, and lakes at an address.

Google's interface for objects is that of S3 with another header of authorisation: moto's server answers it once that header is
exchanged. Microsoft's own emulator, Azurite, answers ``az://`` where ``azurite-blob`` is installed (npm install -g azurite).
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toy_case import same

from orledger.cli import main

pytest.importorskip("obstore", reason="the extra stores is not installed")
SIGNED = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
# The account and key that every Azurite has; they are published and open nothing else.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


def google(folder: Path) -> Iterator[dict[str, str]]:
    app = pytest.importorskip("moto.moto_server.werkzeug_app", reason="moto is not installed")
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):
        def log(self, *_: object) -> None:
            pass

    inner = app.DomainDispatcherApplication(app.create_backend_app)

    def exchanged(environ: dict[str, str], start: object) -> object:
        return inner({**environ, "HTTP_AUTHORIZATION": SIGNED}, start)

    server = make_server("127.0.0.1", 0, exchanged, threaded=True, request_handler=Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    urllib.request.urlopen(urllib.request.Request(f"{base}/bucket", method="PUT"), timeout=300).read()
    account = folder / "account.json"
    text = {"gcs_base_url": base, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    account.write_text(json.dumps(text))
    yield {"GOOGLE_SERVICE_ACCOUNT": str(account), "GOOGLE_ALLOW_HTTP": "true"}
    server.shutdown()
    server.server_close()


def azure(_: Path) -> Iterator[dict[str, str]]:
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite-blob is not installed (npm install -g azurite)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        "--inMemoryPersistence",
        "--silent",
        "--skipApiVersionCheck",
        "--disableTelemetry",
        "--blobPort",
        str(port),
    ]
    server = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    try:
        _make_container(f"http://127.0.0.1:{port}", until=time.monotonic() + 300)
        yield {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_ALLOW_HTTP": "true",
        }
    finally:
        server.terminate()
        server.wait(30)


def _make_container(base: str, until: float) -> None:
    """The container ``bucket``, as soon as the server listens; signed as Azure's shared keys are."""
    now = f"{datetime.now(UTC):%a, %d %b %Y %H:%M:%S} GMT"
    headers = f"x-ms-date:{now}\nx-ms-version:2021-08-06"
    text = "\n".join(["PUT", *[""] * 11, headers, f"/{ACCOUNT}/{ACCOUNT}/bucket", "restype:container"])
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    signed = {"Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"}
    signed |= dict(line.split(":", 1) for line in headers.split("\n"))
    request = urllib.request.Request(f"{base}/{ACCOUNT}/bucket?restype=container", method="PUT", headers=signed)
    while True:
        try:
            urllib.request.urlopen(request, timeout=60).read()
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


@pytest.fixture(scope="module", params=["gs", "az"])
def scheme(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The scheme of a store that answers on the loopback; its environment is set."""
    serving = {"gs": google, "az": azure}[request.param](tmp_path_factory.mktemp("store"))
    environment = next(serving)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield request.param
    next(serving, None)


@pytest.mark.slow
def test_export_import_merge_and_lake(scheme: str, toy_db: Path, tmp_path: Path) -> None:
    for words in (
        ["db", "export", f"{scheme}://bucket/lab/first", "--db", toy_db],
        ["db", "import", f"{scheme}://bucket/lab/first", "--db", tmp_path / "back.duckdb"],
        ["db", "merge", tmp_path / "joined.duckdb", f"{scheme}://bucket/lab/first"],
    ):
        done = run(*words)
        assert done.exit_code == 0, done.output
    assert same(tmp_path / "back.duckdb", toy_db)
    assert same(tmp_path / "joined.duckdb", toy_db)
    again = run("db", "export", f"{scheme}://bucket/lab/first", "--db", toy_db)
    assert again.exit_code == 2
    assert "not empty" in again.output
    asked = run(
        "sql", "SELECT corpus, count(*) AS n FROM cell GROUP BY ALL", "--lake", f"{scheme}://bucket/lab", "--json"
    )
    assert json.loads(asked.output) == [{"corpus": "first", "n": 20}]
    absent = run("db", "import", f"{scheme}://bucket/nothing", "--db", tmp_path / "none.duckdb")
    assert absent.exit_code == 2
    assert "cannot be read" in absent.output


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a web server, and the folder it serves."""
    folder = tmp_path / "web"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()


def test_a_web_server_is_read_and_not_written(web: tuple[str, Path], toy_db: Path, tmp_path: Path) -> None:
    address, folder = web
    assert run("db", "export", folder / "corpus", "--db", toy_db).exit_code == 0
    shutil.copy(toy_db, folder / "whole.duckdb")
    done = run("db", "import", f"{address}/corpus", "--db", tmp_path / "back.duckdb")
    assert done.exit_code == 0, done.output
    assert same(tmp_path / "back.duckdb", toy_db)
    done = run("db", "merge", tmp_path / "joined.duckdb", f"{address}/whole.duckdb")
    assert done.exit_code == 0, done.output
    assert same(tmp_path / "joined.duckdb", toy_db)
    done = run("db", "export", f"{address}/other", "--db", toy_db)
    assert (done.exit_code, "can be read and not written" in done.output) == (2, True)
    done = run("sql", "FROM cell", "--lake", address)
    assert (done.exit_code, "cannot be listed" in done.output) == (2, True), done.output
    with (folder / "corpus" / "record.parquet").open("r+b") as file:
        file.seek(-20, os.SEEK_END)
        file.write(b"x")
    done = run("db", "import", f"{address}/corpus", "--db", tmp_path / "changed.duckdb")
    assert done.exit_code == 6, done.output
    assert not (tmp_path / "changed.duckdb").exists()


def test_without_encryption_nothing_leaves_the_machine(tmp_path: Path) -> None:
    done = run("db", "import", "http://example.org/corpus", "--db", tmp_path / "x.duckdb")
    assert done.exit_code == 2
    assert "no encryption" in done.output

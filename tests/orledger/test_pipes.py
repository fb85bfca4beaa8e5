"""Pipes in place of files: refused wherever a file is read or written by name, and streams that a shell opened go on working."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import orledger
from orledger.audit.importing.mapping import read_mapping
from orledger.audit.registry.reading import read_hypothesis
from orledger.cli import main
from orledger.errors import OrledgerError
from orledger.files import waits


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Ends what waits for a pipe that nobody writes to."""

    def told(*_: object) -> None:
        raise TimeoutError("it waited")

    before = signal.signal(signal.SIGALRM, told)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


COMMANDS = (
    "register F.toml",
    "audit --registry F.toml",
    "import t.csv --mapping F.toml",
    "import F.csv --mapping m.toml",
    "study F.csv --better higher",
    "init F.csv",
    "recheck F.tex",
    "recheck F.csv",
    "recheck p.md -a F.toml",
    "recheck p.md -a folder",
    "recheck p.md --csv F.csv",
    "recheck p.md --html F.html",
    "verify --receipt F.json",
    "verify --write-receipt F.json",
    "verify --write-receipt new.json --sign F.key",
    "sql -f F.sql",
    "sql SELECT --out F.csv --format csv",
    "sql SELECT --out F.txt",
    "report --out F.html",
    "compare s.duckdb F.duckdb",
    "compare s.duckdb s.duckdb --html F.html",
    "study folder.csv --better higher",
    "db import corpus",
    "sql SELECT --lake corpus",
)


@pytest.fixture
def place(toy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORLEDGER_DB", "s.duckdb")
    shutil.copy(toy_db, "s.duckdb")
    Path("t.csv").write_text("dataset,a,b\nx,1,2\ny,2,3\n", encoding="utf-8")
    Path("p.md").write_text("The mean is 4.\n", encoding="utf-8")
    Path("m.toml").write_text('study = "s"\nblock = "t"\n', encoding="utf-8")
    assert CliRunner().invoke(main, ["verify", "--write-receipt", "r.json"]).exit_code == 0
    for folder in ("folder", "folder.csv", "corpus"):
        Path(folder).mkdir()
    for name in ("folder/F.toml", "folder.csv/F.csv", "corpus/manifest.json"):
        os.mkfifo(name)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_in_place_of_a_file_is_refused(place: Path, command: str) -> None:
    words = [word.replace("SELECT", "SELECT 1") for word in command.split()]
    for word in words:
        if word.startswith("F."):
            os.mkfifo(word)
    with within(60):
        done = CliRunner().invoke(main, words)
    assert done.exit_code not in (0, 1), done.output
    assert isinstance(done.exception, SystemExit), done.exception
    assert "is a pipe or a device" in done.output
    assert not (place / "new.json").exists()


def test_pipes_are_refused_in_python_too(place: Path) -> None:
    os.mkfifo("F")
    with within(60):
        for read in (read_mapping, read_hypothesis):
            with pytest.raises(OrledgerError, match="is a pipe or a device, not a file"):
                read(Path("F"))
        with orledger.open("s.duckdb") as results, pytest.raises(OrledgerError, match="is a pipe or a device"):
            results.report("F")


def test_what_a_shell_opened_is_no_pipe_that_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "F")
    assert waits(tmp_path / "F")
    assert waits(Path("/dev/zero"))
    for name in ("/dev/stdin", "/dev/stdout", "/dev/null", "/dev/fd/63", "/dev/../dev/fd/0", "/proc/self/fd/1"):
        assert not waits(Path(name)), name
    assert not waits(tmp_path)
    assert not waits(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("{o} sql 'SELECT 41 + 1 AS n' --format csv -o /dev/stdout", "n\n42"),
        ("{o} sql 'SELECT 41 + 1 AS n' --json -o /dev/stdout", "42"),
        ("{o} sql 'SELECT 41 + 1 AS n' --format csv -o >(cat) | cat", "n\n42"),
        ("{o} sql --format csv -f <(echo 'SELECT 41 + 1 AS n')", "n\n42"),
        ("echo 'SELECT 41 + 1 AS n' | {o} sql --format csv -f /dev/stdin", "n\n42"),
        ("echo 'SELECT 41 + 1 AS n' | {o} sql --format csv -", "n\n42"),
        ("{o} verify --receipt <(cat r.json)", "in the chain at entry"),
        ("cat r.json | {o} verify --receipt /dev/stdin", "in the chain at entry"),
    ],
)
def test_streams_that_a_shell_opened_are_read_and_written(place: Path, line: str, shown: str) -> None:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    command = line.format(o=f"{sys.executable} -m orledger")
    done = subprocess.run(
        ["bash", "-c", command], cwd=place, capture_output=True, text=True, timeout=120, env={**os.environ}, check=False
    )
    assert shown in done.stdout, done.stderr

"""Odd files, many of them: every command that reads one ends with a documented exit code and without a traceback."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_files import Reads, formats

from orledger.cli import EXIT_CODES, main

# Every code of the table but 1, which is for what nobody expected.
DOCUMENTED = {int(code) for code in re.findall(r"^  (\d+) ", EXIT_CODES, re.MULTILINE)} - {1}

KINDS = (
    "preset", "hypothesis", "mapping", "table", "Parquet table", "query", "receipt", "public key", "private key", "manifest",
    "corpus", "database", "annotations", "LaTeX document", "Markdown document", "HTML document", "CSV document", "study.toml",
    "catalogue", "views", "dataset", "dataset note",
)  # fmt: skip

ODD = [
    b"", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\"", b"'", b"'''", b"[", b"]" * 3, b"[" * 5000, b"{" * 5000, b"(" * 2000, b"=",
    b"= [", b"[[x]]\n", b"\n", b"\r\n", b"\\", b"\\u0000", b"nan", b"inf", b"-0.0", b"1e999", b"9" * 5000, b"-", b"true",
    b"1979-05-27", b"0001-01-01", "é".encode(), "\u202e".encode(), "\U0001f600".encode(), b"x" * 140_000, b",", b",,,,", b";", b"--",
    b"/*", b"$1", b"?", b"NULL", b"{}", b"[]", b"{\"a\": 1}", b"../../etc/passwd", b"s3://bucket/x", b"%s%n", b"${x}", b"{{x}}",
]  # fmt: skip


@st.composite
def spoiled(draw: st.DrawFn, seed: bytes) -> bytes:
    """``seed`` with a few places cut, doubled, swapped or replaced by something odd."""
    data = seed
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 40)))
        how = draw(st.sampled_from(["cut", "end", "double", "odd", "odd", "noise", "line"]))
        if how == "cut":
            data = data[:at] + data[end:]
        elif how == "end":
            data = data[:at]
        elif how == "double":
            data = data[:end] + data[at:end] + data[end:]
        elif how == "odd":
            data = data[:at] + draw(st.sampled_from(ODD)) + data[end:]
        elif how == "noise":
            data = data[:at] + draw(st.binary(max_size=8)) + data[end:]
        else:  # a whole line is taken out or stands twice
            lines = data.split(b"\n")
            k = draw(st.integers(0, len(lines) - 1))
            data = b"\n".join(lines[:k] + lines[k : k + 1] * draw(st.sampled_from([0, 2])) + lines[k + 1 :])
    return data


@pytest.fixture(scope="module")
def known(toy_db: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reads]:
    return formats(toy_db, tmp_path_factory.mktemp("fuzz"))


def judge(words: list[str]) -> str | None:
    """What is wrong with how the command ended, or None."""
    done = CliRunner().invoke(main, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{' '.join(words)}: {type(done.exception).__name__}: {done.exception}"
    if "Traceback" in done.output or done.exit_code not in DOCUMENTED:
        return f"{' '.join(words)}: exit code {done.exit_code}: {done.output[-300:]}"
    return None


def try_many(reads: Reads, count: int, *, slow: bool = False) -> None:
    @settings(
        derandomize=True, max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def attempt(data: st.DataObject) -> None:
        content = data.draw(spoiled(reads.seed))
        for command in (*reads.commands, *(reads.slow if slow else ())):
            with tempfile.TemporaryDirectory() as name:
                file = Path(name) / reads.name
                file.write_bytes(content)
                problem = judge(command(Path(name), file))
            assert problem is None, problem

    attempt()


def test_every_format_is_tried(known: dict[str, Reads]) -> None:
    assert tuple(known) == KINDS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_good_file_is_understood(known: dict[str, Reads], kind: str, tmp_path: Path) -> None:
    """Otherwise the odd ones would fail for another reason, and show nothing."""
    reads = known[kind]
    for k, command in enumerate(reads.commands):
        folder = tmp_path / str(k)
        folder.mkdir()
        (folder / reads.name).write_bytes(reads.seed)
        done = CliRunner().invoke(main, command(folder, folder / reads.name))
        assert done.exit_code in (0, 5, 6), done.output  # 6: a finding; 5: made-up data fail the gate


@pytest.mark.parametrize("kind", ["preset", "hypothesis", "mapping", "annotations", "study.toml", "catalogue", "views"])
def test_a_text_that_is_none_in_utf_8(known: dict[str, Reads], kind: str, tmp_path: Path) -> None:
    reads = known[kind]
    (tmp_path / reads.name).write_bytes(b"\xb7" + reads.seed)
    assert judge(reads.commands[0](tmp_path, tmp_path / reads.name)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_odd_files(known: dict[str, Reads], kind: str) -> None:
    try_many(known[kind], 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_odd_files(known: dict[str, Reads], kind: str) -> None:
    try_many(known[kind], 1000 // len(KINDS) + 1, slow=True)

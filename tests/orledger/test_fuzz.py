"""Odd files, many of them: every command that reads one ends with a documented exit code and without a traceback."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orledger.cli import EXIT_CODES, main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
# Every code of the table but 1, which is for what nobody expected.
DOCUMENTED = {int(code) for code in re.findall(r"^  (\d+) ", EXIT_CODES, re.MULTILINE)} - {1}

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


class Reads:
    """A format: a good file to start from, and the commands that read one."""

    def __init__(self, seed: bytes, name: str, *commands: Callable[[Path, Path], list[str]]) -> None:
        self.seed, self.name, self.commands = seed, name, commands


def _corpus(folder: Path, file: Path) -> list[str]:
    """An exported folder in which one file is the spoiled one."""
    broken = folder / "corpus"
    shutil.copytree(_EXPORT, broken)
    shutil.copy(file, broken / file.name)
    return ["db", "import", str(broken), "--db", str(folder / "new.duckdb")]


def _import(table: Path, mapping: Path, folder: Path) -> list[str]:
    return ["import", str(table), "--mapping", str(mapping), "--db", str(folder / "new.duckdb")]


_EXPORT = Path(tempfile.gettempdir()) / "unset"
_TOY = Path(tempfile.gettempdir()) / "unset"

FORMATS: dict[str, Reads] = {
    "preset": Reads(
        (EXAMPLES / "my_preset.toml").read_bytes(),
        "odd.toml",
        lambda _, f: ["run", "all", "--preset", str(f), "--dry-run"],
        lambda _, f: ["presets", str(f)],
    ),
    "hypothesis": Reads(
        (EXAMPLES / "demsar2006.toml").read_bytes(),
        "odd.toml",
        lambda d, f: ["register", str(f), "--db", str(d / "new.duckdb")],
        lambda _, f: ["audit", "--power", "--registry", str(f), "--db", str(_TOY)],
    ),
    "mapping": Reads(
        (EXAMPLES / "demsar2006.mapping.toml").read_bytes(),
        "odd.toml",
        lambda d, f: _import(EXAMPLES / "demsar2006.csv", f, d),
    ),
    "table": Reads(
        (EXAMPLES / "demsar2006.csv").read_bytes(),
        "odd.csv",
        lambda d, f: _import(f, EXAMPLES / "demsar2006.mapping.toml", d),
    ),
    "query": Reads(
        b"WITH x AS (SELECT cell_id, value FROM record WHERE idx IS NULL) SELECT c.name, max(value) AS m\n"
        b"FROM cell c JOIN x USING (cell_id) GROUP BY ALL ORDER BY m DESC LIMIT 3 -- the largest\n",
        "odd.sql",
        lambda _, f: ["sql", "-f", str(f), "--db", str(_TOY), "--json", "--time-limit", "5"],
    ),
    "receipt": Reads(
        json.dumps(
            {"orledger_receipt": 1, "head": "0" * 64, "sequence": 3, "genesis": "0" * 64, "written": "2026-01-01",
             "registrations": [{"hypothesis": "H1", "hash": "1" * 64}], "cells": 0,
             "signature": {"algorithm": "ed25519", "public_key": "ssh-ed25519 AAAA", "signature": "AAAA"}}, indent=1
        ).encode(),
        "odd.json",
        lambda _, f: ["verify", "--receipt", str(f), "--db", str(_TOY), "--no-contents"],
    ),
    "manifest": Reads(b"", "manifest.json", _corpus),
    "parquet": Reads(b"", "fact.parquet", _corpus),
    "database": Reads(
        b"",
        "odd.duckdb",
        lambda _, f: ["db", "check", "--db", str(f)],
        lambda _, f: ["status", "--db", str(f)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _prepared(toy_db: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    global _EXPORT, _TOY
    from orledger.schema import exchange

    _TOY, _EXPORT = toy_db, tmp_path_factory.mktemp("fuzz") / "export"
    exchange.export(toy_db, _EXPORT)
    FORMATS["manifest"].seed = (_EXPORT / "manifest.json").read_bytes()
    FORMATS["parquet"].seed = (_EXPORT / "fact.parquet").read_bytes()
    FORMATS["database"].seed = toy_db.read_bytes()


def judge(words: list[str]) -> str | None:
    """What is wrong with how the command ended, or None."""
    done = CliRunner().invoke(main, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{type(done.exception).__name__}: {done.exception}"
    if "Traceback" in done.output or done.exit_code not in DOCUMENTED:
        return f"exit code {done.exit_code}: {done.output[-300:]}"
    return None


def try_many(kind: str, count: int) -> None:
    reads = FORMATS[kind]

    @settings(
        derandomize=True, max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def attempt(data: st.DataObject) -> None:
        content = data.draw(spoiled(reads.seed))
        for command in reads.commands:
            with tempfile.TemporaryDirectory() as name:
                file = Path(name) / reads.name
                file.write_bytes(content)
                problem = judge(command(Path(name), file))
            assert problem is None, problem

    attempt()


@pytest.mark.parametrize("kind", FORMATS)
def test_odd_files(kind: str) -> None:
    try_many(kind, 6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_a_thousand_odd_files(kind: str) -> None:
    try_many(kind, 1000 // len(FORMATS) + 1)

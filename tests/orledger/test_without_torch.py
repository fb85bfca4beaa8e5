"""Everything but the cases works without torch, and asking for a case says which extra is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WITHOUT = """
import importlib.abc, importlib.machinery, importlib.util, sys

GONE = {"torch", "gpytorch", "botorch", "linear_operator", "pyro"}

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.split(".")[0] in GONE else real(name, package)
sys.meta_path.insert(0, Absent())
from orledger.cli import main
from orledger.errors import OrledgerError

for line in sys.stdin.read().splitlines():
    try:
        main(eval(line), standalone_mode=False)
    except OrledgerError as error:
        print("error:", error)
assert not GONE & set(sys.modules)
"""


def without_torch(folder: Path, *lines: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], input="\n".join(map(repr, lines)), capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_import_audit_tables_and_report_need_no_torch(tmp_path: Path) -> None:
    example = ROOT / "docs" / "examples"
    out = without_torch(
        tmp_path,
        [
            "import",
            str(example / "demsar2006.csv"),
            "--mapping",
            str(example / "demsar2006.mapping.toml"),
            "--db",
            "d.duckdb",
        ],
        ["audit", "--registry", str(example / "demsar2006.toml"), "--db", "d.duckdb"],
        ["tables", "--db", "d.duckdb"],
        ["report", "--db", "d.duckdb", "--no-pdf", "--out", "d.html"],
        ["presets", "show", "smoke"],
    )
    assert (tmp_path / "d.html").stat().st_size > 10_000
    assert "cells" in out


def test_asking_for_a_case_names_the_extra(tmp_path: Path) -> None:
    out = without_torch(tmp_path, ["run", "a", "--preset", "smoke", "--db", "x.duckdb"])
    assert "case 'a' needs torch, which is not installed" in out
    assert "pip install 'orledger[cases]'" in out
    assert not (tmp_path / "x.duckdb").exists()

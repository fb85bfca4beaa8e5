"""The wheel, as somebody else installs it: nothing of the checkout in sight."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

FOLDERS = ("orledger", "recovery", "runners", "schema", "audit", "reports", "templates", "paper", "explorer")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from a copy of the tracked folders, without the network."""
    pytest.importorskip("setuptools", reason="building needs setuptools")
    root = Path(__file__).resolve().parents[2]
    work = tmp_path_factory.mktemp("wheel")
    for name in (*FOLDERS, "docs/examples"):
        shutil.copytree(root / name, work / "src" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, work / "src" / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(work),
        str(work / "src"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = work.glob("*.whl")
    return built


def test_every_source_and_data_file_is_in_the_wheel(wheel: Path, root: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = []
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            if (
                path.suffix in {".py", ".sql", ".j2", ".toml", ".css", ".js", ".typed"}
                and "__pycache__" not in path.parts
            ):
                inside = path.relative_to(root).as_posix()
                expected = inside if folder == "orledger" else f"orledger/{inside}"
                if expected not in names:
                    missing.append(expected)
    missing += [
        f"orledger/examples/{inside}"
        for path in (root / "docs" / "examples").rglob("*")
        if path.is_file()
        and path.suffix not in {".duckdb", ".wal"}  # what `orledger study` leaves beside a table, and git ignores
        and "__pycache__" not in path.parts
        and not any(part.endswith((".egg-info", "build")) for part in path.parts)
        and f"orledger/examples/{(inside := path.relative_to(root / 'docs' / 'examples').as_posix())}" not in names
    ]
    assert missing == []
    assert not [n for n in names if n.startswith(("tests/", "schema/", "audit/"))]


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_of_its_own(wheel: Path, toy_db: Path, tmp_path: Path) -> None:
    """A new environment that borrows the installed dependencies and nothing of this checkout."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    zipfile.ZipFile(wheel).extractall(site)
    # Dependencies come after the wheel on the path, by folder, so that no .pth of the checkout is read.
    import duckdb

    (site / "dependencies.pth").write_text(str(Path(duckdb.__file__).parents[1]) + "\n")
    script = venv / "bin" / "orledger"
    script.write_text(f"#!{python}\nfrom orledger.cli import main\nmain()\n")
    script.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def call(*arguments: str) -> str:
        done = subprocess.run([script, *arguments], capture_output=True, text=True, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [python, "-c", "import orledger; print(orledger.__file__)"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        check=True,
    )
    assert where.stdout.startswith(str(site))
    assert call("--version").startswith("orledger ")
    assert "1040" in call("sql", "--db", str(toy_db), "SELECT count(*) AS n FROM record")
    assert "smoke" in call("presets", "list")
    assert "cells" in call("presets", "show", "smoke")

"""The recipes for several machines, with stand-ins for the queue and the matrix that start the same commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from foreign_file import computed
from toy_case import same

from orledger.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
PRESET = """
title = "Four jobs of the smallest size"
[c]
settings = { candidates = 30, evaluations = 6 }
[c.main]
benchmarks = ["branin", "levy"]
seeds = [0, 1]
"""


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small preset, and orledger on the path."""
    (tmp_path / "smoke.toml").write_text(PRESET)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, body in (("orledger", f'exec "{sys.executable}" -m orledger "$@"'), ("pip", "exit 0")):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def whole(desk: Path) -> Path:
    done = run("run", "all", "--preset", "smoke.toml", "--engine", "serial", "--db", "whole.duckdb")
    assert done.exit_code == 0, done.output
    return desk / "whole.duckdb"


@pytest.mark.slow
def test_the_slurm_array(desk: Path) -> None:
    """A task per line of the array, as the queue would start them."""
    script = EXAMPLES / "shards.sbatch"
    (array,) = [
        line.partition("=")[2] for line in script.read_text().splitlines() if line.startswith("#SBATCH --array")
    ]
    first, last = map(int, array.split("-"))
    for task in range(first, last + 1):
        queue = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(last), "PRESET": "smoke.toml"}
        subprocess.run(["bash", str(script)], check=True, env=os.environ | queue, capture_output=True)
    subprocess.run("orledger db merge results.duckdb part-*.duckdb", shell=True, check=True, capture_output=True)
    assert same(desk / "results.duckdb", whole(desk))


@pytest.mark.slow
def test_the_matrix(desk: Path) -> None:
    """Every job for every value of its matrix, its commands in their order; artifacts stay in one folder."""
    workflow = yaml.safe_load((EXAMPLES / "shards.yml").read_text())
    jobs = workflow["jobs"]
    assert jobs["join"]["needs"] == "compute"
    for name in ("compute", "join"):
        for shard in jobs[name].get("strategy", {"matrix": {"shard": [None]}})["matrix"]["shard"]:
            for step in jobs[name]["steps"]:
                if "run" in step:
                    command = step["run"].replace("${{ matrix.shard }}", str(shard)).replace("smoke ", "smoke.toml ")
                    subprocess.run(["bash", "-euc", command], check=True, capture_output=True)
    assert same(desk / "results.duckdb", whole(desk))


def test_merging_on_the_command_line(toy_db: Path, tmp_path: Path) -> None:
    out, folder = tmp_path / "out.duckdb", tmp_path / "corpus"
    done = run("db", "merge", out, toy_db)
    assert done.exit_code == 0, done.output
    assert "20 cells taken, 0 were there already; hashes verified" in done.output
    assert run("db", "export", folder, "--db", toy_db).exit_code == 0
    done = run("db", "import", folder, "--db", out)
    assert done.exit_code == 0, done.output
    assert "0 cells taken, 20 were there already" in done.output
    assert run("verify", "--db", out).exit_code == 0
    assert same(out, toy_db)
    assert run("db", "merge", out, tmp_path / "absent.duckdb").exit_code == 2
    assert run("db", "merge", out, out).exit_code == 2
    (tmp_path / "text").write_text("no database")
    assert run("db", "merge", out, tmp_path / "text").exit_code == 3


def test_cells_that_are_only_planned_are_not_said_to_be_taken(tmp_path: Path) -> None:
    part = computed(tmp_path / "part.duckdb", {("d", k): {"a": 1.0, "b": 2.0} for k in range(2)}, planned=3)
    done = run("db", "merge", tmp_path / "out.duckdb", part)
    assert done.exit_code == 0, done.output
    assert "2 cells taken, 3 planned, 0 were there already; hashes verified" in done.output


def test_the_parts_of_a_plan_on_the_command_line(desk: Path) -> None:
    def cells(*words: str) -> set[str]:
        done = run("run", "all", "--preset", "smoke.toml", "--dry-run", *words)
        assert done.exit_code == 0, done.output
        return {line for line in done.stdout.splitlines() if line}

    parts = [cells("--shard", f"{k}/3") for k in (1, 2, 3)]
    assert set().union(*parts) == cells()
    assert sum(map(len, parts)) == 4
    assert run("run", "all", "--preset", "smoke.toml", "--shard", "4/3").exit_code == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("db", "export", "ftp://box/x"), "is an address that is not understood"),
        (("db", "export", "https://lab.example/x"), "can be read and not written"),
        (("sql", "SELECT 1", "--out", "az://box/x.csv"), "is an address"),
        (("db", "info", "--db", "s3://bucket/results.duckdb"), "is an address"),
        (("db", "merge", "s3://bucket/out.duckdb", "s3://bucket/in.duckdb"), "is an address"),
    ],
)
def test_an_address_that_is_not_understood_is_an_error(
    toy_db: Path, desk: Path, words: tuple[str, ...], says: str
) -> None:
    done = run(*words, *(() if "--db" in words or "merge" in words else ("--db", str(toy_db))))
    assert done.exit_code == 2, done.output
    assert says in done.output
    assert sorted(p.name for p in desk.iterdir()) == ["bin", "smoke.toml"]

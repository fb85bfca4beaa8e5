"""kill -9 at random moments: no acknowledged cell is lost, none is torn, and the resumed database is the whole one."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy_case
from toy_case import run_toy, same, toy_plan

from orledger.schema.checking import check
from orledger.schema.reading import open_results

CELLS = 60


@pytest.mark.parametrize("kills", [2, pytest.param(24, marks=pytest.mark.slow)])
def test_killed_at_random_moments(db: Path, tmp_path: Path, kills: int) -> None:
    """Moments from before the file exists to the end of the run; both engines, with snapshots being published."""
    chance = random.Random(20240614)
    done_before = 0
    for kill in range(kills):
        engine = ["serial", "processes"][kill % 2]
        command = [
            sys.executable,
            toy_case.__file__,
            str(db),
            "--cells",
            str(CELLS),
            "--slow",
            "0.02",
            "--engine",
            engine,
        ]
        process = subprocess.Popen([*command, "--snapshot-every", "0.1", "--lines"], stderr=subprocess.PIPE)
        assert process.stderr is not None
        # One in four may die while it still starts, the others after some lines of progress: a slow machine is no excuse.
        heard = b"".join(process.stderr.readline() for _ in range(chance.randint(2, 12) if kill % 4 else 0))
        time.sleep(chance.uniform(0.0, 0.1 if kill % 4 else 0.8))
        process.send_signal(signal.SIGKILL)
        said = re.findall(r"^(\d+)/\d+ cells", (heard + process.communicate()[1]).decode(), re.MULTILINE)
        acknowledged = int(said[-1]) if said else 0
        if not db.exists():
            continue
        report = check(db)
        assert report.findings == ()
        with open_results(db) as results:
            done = results.sql("SELECT count(*) AS n FROM cell WHERE state = 'done'")["n"][0]
        assert done >= done_before + acknowledged
        done_before = done
    assert done_before > 0
    assert run_toy(db, toy_plan(CELLS)).state == "finished"
    run_toy(tmp_path / "whole.duckdb", toy_plan(CELLS))
    assert same(db, tmp_path / "whole.duckdb")
    assert {p.name for p in tmp_path.iterdir()} == {"results.duckdb", "whole.duckdb"}

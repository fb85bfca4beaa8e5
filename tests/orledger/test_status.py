"""``orledger status`` after a kill, over a grid and over a loop: what it says is what goes on from there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap

from click.testing import CliRunner

import orledger
from orledger.cli import main
from orledger.schema.writing import Writer


def status(db, *words):
    done = CliRunner().invoke(main, ["status", "--db", str(db), *words])
    assert done.exit_code == 0, done.output
    return done.output


def killed(script):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=False, env=os.environ, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def fit(a):
    """One arm; the third cell and those after the fourth cannot be computed."""
    if a == 2 or a > 3:
        raise ValueError("unlucky")
    return {"x": {"value": float(a)}}


def test_a_killed_grid_is_interrupted_and_its_call_goes_on(tmp_path):
    db = tmp_path / "g.duckdb"
    killed(f"""
        import os, signal, orledger

        def fit(a):
            if a == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return {{"x": {{"value": float(a)}}}}

        orledger.run_grid("g", fit, {{"a": [0, 3]}}, db={str(db)!r}, progress=False)
    """)
    text = status(db)
    assert "interrupted: its process is gone, and the same call of run_grid goes on with it" in text
    assert json.loads(status(db, "--json"))["run"]["state"] == "interrupted"
    done = orledger.run_grid("g", fit, {"a": [0, 3]}, db=db, progress=False)
    assert done.failed == 0
    assert "finished" in status(db)
    assert "goes on" not in status(db)


def test_a_run_that_holds_its_file_is_running(tmp_path):
    """The file that a run publishes is read while it holds its own."""
    db = tmp_path / "g.duckdb"
    orledger.run_grid("g", fit, {"a": [0, 1]}, db=db, progress=False)
    with Writer(db) as writer:
        writer.con.execute("UPDATE run SET state = 'running', preset = 'small'")
    shutil.copy(db, tmp_path / "g.snapshot.duckdb")
    assert ", running" in status(tmp_path / "g.snapshot.duckdb")
    assert "and the same command goes on with it" in status(db)
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import duckdb; con = duckdb.connect({str(db)!r}); print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout.readline() == b"1\n"
        assert ", running" in status(db)
    finally:
        holder.communicate(b"\n")


def test_a_grid_called_again_counts_the_cells_that_failed_before(tmp_path):
    db = tmp_path / "g.duckdb"
    first = orledger.run_grid("g", fit, {"a": range(6)}, db=db, progress=False)
    assert (first.done, first.failed, first.failed_before) == (3, 3, 0)
    again = orledger.run_grid("g", fit, {"a": range(6)}, db=db, progress=False)
    assert (again.done, again.failed, again.failed_before, again.state) == (0, 3, 3, "incomplete")
    retried = orledger.run_grid("g", fit, {"a": range(6)}, db=db, retry=["failed"], progress=False)
    assert (retried.done, retried.failed, retried.failed_before) == (0, 3, 0)
    text = status(db)
    assert '3 cells failed; run_grid(..., retry=["failed"]) computes them again' in text
    assert "--retry-failed" not in text


def test_a_loop_has_no_plan(tmp_path):
    db = tmp_path / "l.duckdb"
    killed(f"""
        import os, signal, orledger

        with orledger.study("l", {str(db)!r}, better={{"error": "lower"}}) as s:
            s.cell(dataset="u").log("a", error=1).log("b", error=2)
            s.cell(dataset="v").log("a", error=1)
            s.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    text = status(db)
    assert "nothing is left" not in text
    assert "a loop has no plan, so only the loop knows whether more is to come" in text
    assert "1 cell of it lacks arms that others have" in text
    with orledger.study("l", db) as s:
        s.cell(dataset="v").refuse("b", "too slow")
    text = status(db)
    assert "a loop has no plan" in text
    assert "lacks" not in text
    orledger.run_grid("g", fit, {"a": [0, 1]}, db=db, progress=False)
    assert "a loop has no plan" in status(db)

"""Writing from one's own loop and reading back: crash-safe, resumable, named mistakes; grids on the engines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import warnings

import pytest

import orledger
from orledger.errors import DataError, Note, UsageError
from orledger.schema.chain import verify
from orledger.schema.reading import open_results


def stored(
    path, query="SELECT c.name, r.arm, r.metric, r.idx, r.value FROM record r JOIN cell c USING (cell_id) ORDER BY ALL"
):
    with open_results(path) as results:
        return results.sql(query).rows()


def test_numbers_of_a_loop(tmp_path):
    db = tmp_path / "r.duckdb"
    with orledger.study("mine", db, better={"rmse": "lower"}) as s:
        for seed in range(2):
            s.cell(dataset="u", seed=seed).log("ridge", rmse=0.5 + seed, seconds=1)
            s.cell(dataset="u", seed=seed).refuse("forest", "out of memory")
        s.cell(dataset="v", seed=0).series("net", loss=[3.0, 2.0])
    assert stored(db)[0] == ("mine/main/u/0", "ridge", "rmse", None, 0.5)
    assert stored(db)[-1] == ("mine/main/v/0", "net", "loss", 1, 2.0)
    assert stored(db, "SELECT arm, reason FROM refusal") == [("forest", "out of memory")] * 2
    assert stored(db, "SELECT better FROM metric WHERE metric = 'rmse'") == [("lower",)]
    with open_results(db) as results:
        assert verify(results.con) == []


def test_a_later_session_goes_on(tmp_path):
    db = tmp_path / "r.duckdb"
    with orledger.study("mine", db) as s:
        s.cell(k=1).log("a", x=1)
    with orledger.study("mine", db) as s:
        cell = s.cell(k=1)
        assert "a" in cell
        assert "b" not in cell
        cell.log("a", x=1).log("b", x=2)
        with pytest.raises(DataError, match=r"1: x of a is 1\.0, and 3\.0 was logged"):
            cell.log("a", x=3)
        cell.log("a", x=4, replace=True)
    assert [(arm, value) for _, arm, _, _, value in stored(db)] == [("a", 4.0), ("b", 2.0)]


def test_a_cell_as_a_whole_or_not_at_all(tmp_path):
    db = tmp_path / "r.duckdb"
    with orledger.study("mine", db) as s:
        with pytest.raises(RuntimeError):
            half_logged(s)
        with s.cell(k=2) as cell:
            cell.log("a", x=1).log("b", x=2)
    assert [row[0] for row in stored(db)] == ["mine/main/2", "mine/main/2"]


def half_logged(s):
    """Logs one arm of a cell and fails before the next."""
    with s.cell(k=1) as cell:
        cell.log("a", x=1)
        raise RuntimeError


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "fast", None])
def test_what_is_not_a_number_is_named(tmp_path, value):
    with orledger.study("mine", tmp_path / "r.duckdb") as s, pytest.raises(DataError, match="x of a is"):
        s.cell(k=1).log("a", x=value)


def fails_at_the_fourth(db):
    """A loop of five cells that divides by zero in the fourth."""
    with orledger.study("mine", db) as s:
        for k in range(5):
            s.cell(k=k).log("a", x=1 / (3 - k))


def test_a_metric_that_is_spelt_nearly_like_a_declared_one_is_said_to_be_another(tmp_path):
    with orledger.study("mine", tmp_path / "r.duckdb", better={"rmse": "lower"}) as s:
        cell = s.cell(dataset="u")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cell.log("a", rmse=1.0, seconds=2.0)
        with pytest.warns(Note, match="'rmes' is stored as a metric of its own; did you mean 'rmse'"):
            cell.log("b", rmes=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # once is enough
            s.cell(dataset="v").log("b", rmes=1.0)


def test_an_exception_in_the_loop_loses_nothing_that_was_logged(tmp_path):
    db = tmp_path / "r.duckdb"
    with pytest.raises(ZeroDivisionError):
        fails_at_the_fourth(db)
    assert len(stored(db)) == 3


def test_a_kill_loses_nothing_that_has_waited(tmp_path):
    """A process that logs, waits and kills itself: everything logged before the wait is there."""
    db = tmp_path / "r.duckdb"
    script = f"""
        import os, signal, time, orledger
        with orledger.study("mine", {str(db)!r}) as s:
            for k in range(30):
                s.cell(k=k).log("a", x=k)
            s.flush()
            s.cell(k=99).log("a", x=99)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert len(stored(db)) >= 30
    with orledger.study("mine", db) as s:
        assert all("a" in s.cell(k=k) for k in range(30))


def test_studies_of_other_origin_are_not_written_into(tmp_path):
    db = tmp_path / "r.duckdb"
    orledger.run_grid("g", product_of, {"a": [1, 2], "b": [3]}, db=db, progress=False)
    with pytest.raises(DataError, match="imported or computed by a run"), orledger.study("g", db):
        pass


def product_of(a, b, *, offset=0):
    """A cell of the test grid: one arm with a number, one that declines."""
    if a == 13:
        raise ValueError("unlucky")
    return {"times": {"value": a * b + offset}, "divide": "b is odd" if b % 2 else {"value": a / b}}


def test_a_grid_runs_and_resumes(tmp_path):
    db = tmp_path / "r.duckdb"
    done = orledger.run_grid(
        "g", product_of, {"a": [1, 2, 13], "b": [3, 4]}, db=db, settings={"offset": 1}, progress=False
    )
    assert (done.done, done.failed) == (4, 2)
    assert [(arm, value) for _, arm, _, _, value in stored(db)][:2] == [("times", 4.0), ("divide", 0.25)]
    again = orledger.run_grid(
        "g", product_of, {"a": [1, 2, 3], "b": [3, 4]}, db=db, settings={"offset": 1}, progress=False
    )
    assert (again.skipped, again.done) == (4, 2)
    with pytest.raises(UsageError, match="'a' is an axis and a setting"):
        orledger.run_grid("g", product_of, {"a": [1]}, db=db, settings={"a": 1})


def test_an_open_database_shows_what_is_inside(tmp_path):
    db = tmp_path / "r.duckdb"
    with orledger.study("mine", db, better={"coverage": "higher"}) as s:
        for k in range(6):
            s.cell(dataset=f"<d{k}>").log("a", coverage=0.5 + k / 100).log("b", coverage=0.6 + k / 50)
    with orledger.open(db) as results:
        assert "mine/main: 6 cells, 2 arms, 12 records (coverage)" in repr(results)
        assert "<td>mine</td>" in results._repr_html_()
        assert results.records(metric="coverage").height == 12
        with pytest.raises(UsageError, match="did you mean 'coverage'"):
            results.records(metric="covrage")
        with pytest.raises(UsageError, match="no arm 'c'"):
            results.records(arm="c")
        hypotheses = tmp_path / "h.toml"
        hypotheses.write_text(HYPOTHESIS, encoding="utf-8")
        found = results.audit([hypotheses])
        assert found.findings[0].decision.verdict == "supported"
        names = {t.name for t in results.tables()}
        assert {"H-results", "H-tests", "mine-dispositions"} <= names
        assert "H-forest" in {f.name for f in results.figures()}
        page = results.report(tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        assert "H-forest" in page


HYPOTHESIS = """
[hypothesis]
id = "H"
title = "b covers more"
mode = "exploratory"
statement = "b covers more than a."
[defaults]
case = "mine"
block = "main"
metric = "coverage"
pair = ["dataset"]
better = "higher"
[[comparison]]
id = "ab"
title = "a against b"
test = "signed_rank"
arms = ["a", "b"]
[disposition]
needs = ["ab"]
otherwise = "refuted"
otherwise_reason = "no"
[[disposition.rule]]
verdict = "supported"
reason = "yes"
all = ["ab is less"]
"""

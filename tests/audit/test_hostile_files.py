"""What comes from a file can neither destroy nor escape nor hang: every way in which a text reaches the database."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
import pytest
from foreign_file import claim, comparison, query, run, study

from orledger.schema.opening import connect

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def honest(made: Path) -> list[tuple[object, ...]]:
    """The records of ``made``."""
    return contents(made)["record"]


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table."""
    with duckdb.connect(str(path), read_only=True) as con:
        names = [r[0] for r in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        return {n: con.execute(f"SELECT * FROM {n} ORDER BY ALL").fetchall() for n in names}


def audit(made: Path, folder: Path, text: str, **environment: str):
    """The audit of a copy of ``made`` with ``text`` as its registry file; the result, and the copy."""
    path = folder / "copy.duckdb"
    shutil.copy(made, path)
    (folder / "x.toml").write_text(text, encoding="utf-8")
    return run("audit", "--registry", folder / "x.toml", "--db", path, env=environment), path


ESCAPES = {
    "a second statement": ("SELECT 1 AS k, 1 AS value; DELETE FROM record; SELECT 1 AS k, 2 AS value", "3 statements"),
    "a statement behind a comment": ("SELECT 1 AS k, 1 AS value -- x\n; DROP TABLE record", "2 statements"),
    "a bracket closed early": ("SELECT 1 AS k, 1 AS value) ; DELETE FROM record; SELECT * FROM (SELECT 1", "syntax error"),
    "a change inside WITH": (
        "WITH gone AS (DELETE FROM record RETURNING *) SELECT 1 AS k, count(*) AS value FROM gone",
        "error",
    ),
    "FROM that writes": ("FROM query('DELETE FROM record RETURNING 1 AS k, 1 AS value')", "error"),
    "a file of the machine": ("SELECT 1 AS k, content AS value FROM read_text('/etc/passwd')", "disabled"),
    "a table file": ("SELECT 1 AS k, 1 AS value FROM '/etc/passwd.csv'", "error"),
    "another database": ("SELECT 1 AS k, 1 AS value FROM other.main.record", "error"),
    "a setting": ("SELECT 1 AS k, set_config('threads', '1') AS value", "error"),
    "an extension": ("FROM sniff_csv('/etc/passwd')", "disabled"),
}  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
def test_a_query_reads_the_database_and_does_nothing_else(made: Path, honest, tmp_path: Path, name: str) -> None:
    sql, word = ESCAPES[name]
    done, path = audit(made, tmp_path, query(sql))
    assert done.exit_code == 7, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert word.lower() in done.output.lower()
    assert "x.toml: c:" in done.output
    found = contents(path)
    assert (found["record"], found["test_result"]) == (honest, [])


def test_a_text_that_begins_with_another_word_is_refused_when_it_is_read(made: Path, tmp_path: Path) -> None:
    for sql in ("DELETE FROM record", "COPY record TO '/tmp/x'", "ATTACH 'x'", "PRAGMA x", "INSTALL httpfs"):
        done, path = audit(made, tmp_path, query(sql))
        assert done.exit_code == 2, sql
        assert path.read_bytes() == made.read_bytes()


def test_several_statements_are_not_even_registered(made: Path, tmp_path: Path) -> None:
    text = query(ESCAPES["a second statement"][0])
    _, path = audit(made, tmp_path, text)
    assert path.read_bytes() == made.read_bytes()
    done = run("register", tmp_path / "x.toml", "--db", path)
    assert done.exit_code == 7
    assert path.read_bytes() == made.read_bytes()


INJECTED = "x'; DELETE FROM record; --"
NAMES = {
    "arm": f'test = "sign"\narms = ["a", "{INJECTED}"]',
    "metric": f'test = "sign"\narms = ["a", "b"]\nmetric = "{INJECTED}"',
    "case": f'test = "sign"\narms = ["a", "b"]\ncase = "{INJECTED}"',
    "block": f'test = "sign"\narms = ["a", "b"]\nblock = "{INJECTED}"',
    "label": f'test = "sign"\narms = ["a", "b"]\nlabel = "{INJECTED}"',
    "key": f'test = "sign"\narms = ["a", "b"]\npair = ["{INJECTED}"]',
    "quoted key": 'test = "sign"\narms = ["a", "b"]\npair = [\'k" FROM x; DELETE FROM record; --\']',
    "condition": f'test = "sign"\narms = ["a", "b"]\nwhere = {{ "{INJECTED}" = "{INJECTED}" }}',
    "aggregate": f'test = "sign"\narms = ["a", "b"]\naggregate = {{ over = ["{INJECTED}"], stat = "mean" }}',
    "once": f'test = "sign"\narms = ["a", "b"]\nonce = {{ over = ["{INJECTED}"], where = {{ seed = 0 }} }}',
    "setting": f'test = "sign"\narms = ["a", "b"]\nunit = ["dataset"]\nindependent_when = {{ "{INJECTED}" = "x" }}',
    "identical": f'test = "proportion"\nidentical = ["a", "{INJECTED}"]',
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_name_and_never_a_statement(made: Path, honest, tmp_path: Path, name: str) -> None:
    done, path = audit(made, tmp_path, comparison(NAMES[name]))
    assert done.exit_code in (0, 2, 5, 7), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert contents(path)["record"] == honest


DEEP = "x = " + "[" * 20_000 + "]" * 20_000
ODD = {
    "nested lists": DEEP + "\n" + comparison('test = "sign"\narms = ["a", "b"]'),
    "nested tables": comparison('test = "sign"\narms = ["a", "b"]\nwhere.' + ".".join("x" * 5000) + " = 1"),
    "a number without end": comparison('test = "sign"\narms = ["a", "b"]\nalpha = ' + "1" * 5000),
    "a number too large": comparison('test = "sign"\narms = ["a", "b"]\nalpha = ' + "1" * 400),
    "a key twice in pair": comparison('test = "sign"\narms = ["a", "b"]\npair = ["seed", "seed"]'),
    "a reserved key": comparison('test = "sign"\narms = ["a", "b"]\npair = ["value"]'),
    "where is a text": comparison('test = "sign"\narms = ["a", "b"]\nwhere = "x"'),
    "where of a side is a number": comparison('test = "sign"\na = { arm = "a", where = 5 }\nb = { arm = "b" }'),
    "a nominal of 2": comparison('test = "proportion"\narm = "a"\nevent = { gt = 0 }\nnominal = 2'),
    "unknown within": claim('kind = "at_most"\nlimit = 1\nstat = "mean"\nwithin = ["nothing"]\narm = "a"'),
    "unknown along": claim('kind = "monotone"\nalong = "nothing"\narm = "a"'),
    "monotone without along": claim('kind = "monotone"\narm = "a"'),
    "resampled without along": claim('kind = "resampled"\nstat = "cv"\nwithin = ["dataset"]\narms = ["a", "b"]'),
    "resampled without within": claim('kind = "resampled"\nstat = "cv"\nalong = "seed"\narms = ["a", "b"]'),
    "resampled without cells": claim('kind = "resampled"\nstat = "cv"\nwithin = ["dataset"]\nalong = "seed"\narms = ["a"]'),
    "no draws": claim('kind = "resampled"\nstat = "cv"\nwithin = ["dataset"]\nalong = "seed"\ndraws = 0\narms = ["a"]'),
    "a negative seed": claim('kind = "at_most"\nlimit = 1\nseed = -1\narm = "a"'),
    "best of one": claim('kind = "best"\nstat = "mean"\narm = "a"'),
    "an order of one": claim('kind = "ordering"\nstat = "mean"\narm = "a"'),
    "a ratio of one": claim('kind = "at_most"\nlimit = 1\ncombine = "ratio"\narm = "a"'),
    "identical with a query": claim("kind = 'none'\nidentical = ['a']\nsql = 'SELECT 1'"),
    "a pairwise explosion": claim(f"kind = 'never_worse'\narm = 'a'\npairwise = {{ seed = {list(range(100_000))} }}"),
    "a text without end": "#" * 2_000_000,
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_refused_with_its_name_and_place(made: Path, tmp_path: Path, name: str) -> None:
    done, path = audit(made, tmp_path, ODD[name])
    assert done.exit_code == 2, done.output[-2000:]
    assert "x.toml" in done.output
    assert len(done.output) < 10_000
    assert path.read_bytes() == made.read_bytes()


ANSWERS = {
    "a text": "SELECT 1 AS k, 'high' AS value",
    "a list": "SELECT 1 AS k, [1, 2] AS value",
    "a list as key": "SELECT [1] AS k, 1 AS value",
    "not a number": "SELECT 1 AS k, 'nan'::DOUBLE AS value",
    "no value": "SELECT 1 AS k",
    "a date": "SELECT 1 AS k, DATE '2020-01-01' AS value",
    "points that count nothing": "SELECT 1 AS k, 1 AS value, -1 AS points",
    "points in words": "SELECT 1 AS k, 1 AS value, 'many' AS points",
}


# Each of another kind: of a value, of a key, of points, and of columns.
FAST = ("a list", "a list as key", "points in words", "no value")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in FAST else pytest.mark.slow) for n in ANSWERS])
def test_an_answer_that_no_test_can_use_is_named(made: Path, tmp_path: Path, name: str) -> None:
    done, _ = audit(made, tmp_path, query(ANSWERS[name]))
    assert done.exit_code == 5, done.output
    assert "x.toml: c: the query of a quantity returns" in done.output


@pytest.mark.parametrize(
    ("sql", "environment", "word"),
    [
        ("WITH RECURSIVE t(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM t) SELECT k, 1 AS value FROM t", {"ORLEDGER_SQL_SECONDS": "0.5"}, "stopped after 0.5 seconds"),
        ("SELECT a.range AS k, sum(b.range) AS value FROM range(10000000) a, range(10000000) b GROUP BY 1", {"ORLEDGER_SQL_SECONDS": "0.5"}, "stopped after 0.5 seconds"),
        ("SELECT range AS k, 1 AS value FROM range(1000)", {"ORLEDGER_SQL_ROWS": "999"}, "more than 999 rows"),
    ],
)  # fmt: skip
def test_a_query_has_limits(made: Path, tmp_path: Path, sql: str, environment: dict[str, str], word: str) -> None:
    done, path = audit(made, tmp_path, query(sql), **environment)
    assert done.exit_code == 7, done.output
    assert word in done.output
    assert contents(path)["disposition"] == []


def test_nothing_is_stored_when_the_data_changed_meanwhile(made: Path, tmp_path: Path, monkeypatch) -> None:
    """Between reading and writing the file belongs to nobody."""
    from orledger.audit.evaluation import auditing

    def meddled(results, limits):
        found = examine(results, limits)
        results.close()
        with closing(connect(results.path, "write")) as con:
            con.execute("UPDATE cell SET state = 'refused' WHERE rowid = 0")
        return found

    examine = auditing.examine
    monkeypatch.setattr(auditing, "examine", meddled)
    done, path = audit(made, tmp_path, comparison('test = "sign"\narms = ["a", "b"]'))
    assert done.exit_code == 6
    assert "changed while it was audited" in done.output
    assert contents(path)["disposition"] == []

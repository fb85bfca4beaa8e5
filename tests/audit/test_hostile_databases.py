"""A database file that somebody sends: what it would run is named and not run, by every command that opens a database."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import duckdb
import pytest
from foreign_file import run, study

import orledger
from orledger.errors import VerificationError
from orledger.schema import objects

if TYPE_CHECKING:
    from pathlib import Path

# Each would go on for ever, or for longer than anybody waits, if it ran.
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n::VARCHAR AS cell_id FROM r"
DOUBLING = [
    "CREATE MACRO m0(x) AS x + 1",
    *(f"CREATE MACRO m{k}(x) AS m{k - 1}(x) + m{k - 1}(x)" for k in range(1, 30)),
    "CREATE MACRO max(x) AS m29(x)",
]
HOSTILE = {
    "a view": ([f"CREATE OR REPLACE VIEW all_cells AS {ENDLESS}"], "a view was changed: all_cells"),
    "a table that is a view": (
        ["ALTER TABLE record RENAME TO kept", f"CREATE VIEW record AS {ENDLESS}"],
        "record is a view, and a table is expected",
    ),
    "a function": (DOUBLING, "a function was added: m0"),
    "a column that computes": (
        [
            "DROP TABLE fact",
            "CREATE TABLE fact (cell_id VARCHAR, name VARCHAR, value VARCHAR AS (repeat('x', 4000000000)))",
        ],
        "a table was changed: fact",
    ),
    "a condition that computes": (
        ["DROP TABLE setting", "CREATE TABLE setting (run_id VARCHAR CHECK (list_sum(range(10000000000)) > 0))"],
        "a table was changed: setting",
    ),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("honest"))


def meddled(honest: Path, folder: Path, statements: list[str]) -> Path:
    path = folder / "sent.duckdb"
    shutil.copy(honest, path)
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)
    return path


@pytest.fixture(scope="module")
def doubling(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With functions that take the place of DuckDB's; no command may change it."""
    return meddled(honest, tmp_path_factory.mktemp("doubling"), DOUBLING)


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_a_file_would_run_is_named_and_not_run(honest: Path, tmp_path: Path, kind: str) -> None:
    statements, word = HOSTILE[kind]
    path = meddled(honest, tmp_path, statements)
    for words in (("status",), ("audit", "--unverified"), ("verify",)):
        done = run(*words, "--db", path)
        assert (done.exit_code, word in done.output.replace(": it", ", it")) == (6, True), (words, done.output)


def test_a_trigger_that_would_change_what_an_audit_stores(honest: Path, tmp_path: Path) -> None:
    """Only files of a later format than ours hold triggers, so that somebody copied it into one."""
    path = tmp_path / "sent.duckdb"
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{honest}' AS honest (READ_ONLY); ATTACH '{path}' AS sent (STORAGE_VERSION 'v2.0.0')")
        con.execute("COPY FROM DATABASE honest TO sent; USE sent")
        con.execute("CREATE TRIGGER turn AFTER INSERT ON disposition UPDATE test_result SET p = 0.001")
    for words in (("audit",), ("verify",), ("report", "--out", tmp_path / "r.html")):
        done = run(*words, "--db", path)
        assert done.exit_code == 6
        assert "a trigger was added: turn" in done.output


# Each opens the database in a way of its own; the others come by the same doors.
COMMANDS = [
    ("status",),
    ("sql", "SELECT 1"),
    ("register",),
    ("audit",),
    ("report", "--out", "OUT.html"),
    ("serve", "--port", "0"),
    ("db", "snapshot", "--out", "OUT.duckdb"),
    ("db", "migrate"),
]
OTHERS = [
    ("sql", "--tables"),
    ("register", "--list"),
    ("audit", "--power"),
    ("verify",),
    ("tables", "--out", "OUT"),
    ("figures", "--out", "OUT"),
    ("findings",),
    ("run", "b", "--preset", "smoke"),
    ("db", "info"),
    ("db", "check"),
    ("db", "export", "OUT"),
]


@pytest.mark.parametrize(
    "words", [*COMMANDS, *(pytest.param(words, marks=pytest.mark.slow) for words in OTHERS)], ids=" ".join
)
def test_no_command_runs_a_function_of_the_file(doubling: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(*(w.replace("OUT", str(tmp_path / "out")) for w in words), "--db", doubling)
    assert done.exit_code == 6, done.output
    assert "a function was added: m" in done.output


def test_two_databases_and_the_front_door(honest: Path, doubling: Path, tmp_path: Path) -> None:
    for words in (
        ("compare", doubling, honest),
        ("compare", honest, doubling),
        ("db", "merge", tmp_path / "new.duckdb", doubling),
    ):
        done = run(*words)
        assert done.exit_code == 6, done.output
        assert "a function was added: m" in done.output
    with pytest.raises(VerificationError, match="a function was added"):
        orledger.open(doubling)


def test_migrating_makes_the_views_anew_and_runs_none(honest: Path, tmp_path: Path) -> None:
    path = meddled(honest, tmp_path, [f"CREATE OR REPLACE VIEW all_cells AS {ENDLESS}"])
    assert run("db", "migrate", "--db", path).exit_code == 0
    assert run("verify", "--db", path).exit_code == 0


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (ENDLESS, "stopped after 1 seconds"),
        pytest.param("SELECT length(repeat('x', 40000000000)) AS n", "", marks=pytest.mark.slow),
        pytest.param("CREATE TEMP TABLE all_cells AS SELECT 1 AS x", "", marks=pytest.mark.slow),
    ],
)
def test_a_query_that_stands_in_the_file_has_limits(honest: Path, tmp_path: Path, text: str, word: str) -> None:
    """The report carries the rows behind each test, and asks for them with the text that is stored beside it."""
    path = tmp_path / "sent.duckdb"
    shutil.copy(honest, path)
    assert run("audit", "--registry", audited(tmp_path), "--db", path).exit_code == 0
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE test_result SET units_sql = ?", [text])
    done = run("report", "--no-pdf", "--db", path, "--out", tmp_path / "r.html", env={"ORLEDGER_READ_SECONDS": "1"})
    assert done.exit_code == (7 if word else 6), done.output  # the row was changed without orledger
    assert word in done.output


def audited(folder: Path) -> Path:
    from foreign_file import comparison

    (folder / "x.toml").write_text(comparison('test = "sign"\narms = ["a", "b"]'), encoding="utf-8")
    return folder / "x.toml"


def test_the_tables_that_ship_are_the_tables_of_a_new_database(honest: Path) -> None:
    with duckdb.connect(str(honest), read_only=True) as con:
        assert objects.code_findings(con) == []
        assert set(objects.shipped_tables(9)) >= {"registered", "registration", "ledger"}


@pytest.mark.parametrize(
    "change",
    ["payload = repeat('[', 100000) || repeat(']', 100000)", "kind = 'merge', payload = '{\"histories\": 7}'"],
    ids=["deep", "odd"],
)
def test_what_an_entry_says_may_be_anything(honest: Path, tmp_path: Path, change: str) -> None:
    path = meddled(honest, tmp_path, [f"UPDATE ledger SET {change}"])
    done = run("verify", "--db", path)
    assert (done.exit_code, "an entry was changed" in done.output) == (6, True)
    new = run("db", "merge", tmp_path / "new.duckdb", path)
    assert (new.exit_code, (tmp_path / "new.duckdb").exists()) == (6, False)


def test_merging_into_a_file_without_its_history_makes_none_up(honest: Path, tmp_path: Path) -> None:
    path = meddled(honest, tmp_path, ["DELETE FROM ledger", "DELETE FROM ledger_item"])
    assert run("db", "merge", path, honest).exit_code == 0
    done = run("verify", "--db", path)
    assert (done.exit_code, "a row is not in the chain" in done.output) == (6, True)

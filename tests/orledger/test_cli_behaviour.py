"""What the commands keep to, all of them: no option without effect, every digit, one line for Ctrl-C, notes where due."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from toy_case import run_toy, toy_plan

from orledger.cli import main
from orledger.cli_render import render
from orledger.schema.opening import connect


def run(*words: str, env: dict[str, str] | None = None, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(words), env=env, input=stdin)


@pytest.fixture
def own(toy_db: Path, db: Path) -> Path:
    """A toy database that the test may change."""
    shutil.copy(toy_db, db)
    return db


@pytest.mark.parametrize(
    "words",
    [
        ["sql", "--tables", "SELECT 1"],
        ["sql", "SELECT 1", "--json", "--format", "csv"],
        ["sql", "--tables", "--format", "csv"],
        ["tables", "--list", "A1"],
        ["figures", "--list", "Aprofile"],
        ["figures", "--format", ""],
        ["figures", "--format", " , "],
        ["run", "--engine", "serial", "--jobs", "4", "--dry-run"],
        ["run", "--ray-address", "head:1", "--dry-run"],
        ["run", "--data-dir", "absent", "--dry-run"],
        ["run", "--data-dir", __file__, "--dry-run"],
        ["datasets", "list", "--data-dir", "absent"],
        ["datasets", "list", "--cache-dir", __file__],
        ["datasets", "fetch", "iris"],
        ["datasets", "audit", "iris", "--offline"],
        ["register", "--list", "--amend"],
        ["register", "--list", __file__],
        ["audit", "--amend"],
        ["audit", "--power", "--tests"],
    ],
)
def test_what_could_have_no_effect_is_refused(toy_db: Path, words: list[str]) -> None:
    done = run(*words, env={"ORLEDGER_DB": str(toy_db)})
    assert done.exit_code == 2, done.output
    assert "rror: " in done.output


def test_one_worker_is_what_serial_has() -> None:
    assert run("run", "a", "--engine", "serial", "--jobs", "1", "--dry-run").exit_code == 0


def test_lists_and_descriptions_in_json_and_in_files(toy_db: Path, tmp_path: Path) -> None:
    from orledger.reports.tables.building import declared

    assert [row["name"] for row in json.loads(run("tables", "--list", "--json").output)] == list(declared())
    out = tmp_path / "tables.json"
    assert run("sql", "--db", str(toy_db), "--tables", "--json", "--out", str(out)).output == ""
    assert "record" in {t["name"] for t in json.loads(out.read_text())}


def test_a_list_names_what_the_database_has_and_not_what_other_studies_have(tmp_path: Path, few_figures: None) -> None:
    table = tmp_path / "own.csv"
    table.write_text(
        "dataset,ours,theirs\n" + "".join(f"d{i},{i / 10},{i / 11}\n" for i in range(1, 8)), encoding="utf-8"
    )
    assert run("study", str(table), "--better", "higher", "--no-pdf").exit_code == 0
    db = tmp_path / "own.duckdb"
    for what in ("figures", "tables"):
        listed = [row["name"] for row in json.loads(run(what, "--list", "--json", "--db", str(db)).output)]
        assert listed
        assert all(name.startswith("own-") for name in listed)
    assert run("tables", "--db", str(db), "--out", str(tmp_path / "t"), "--format", "md").exit_code == 0
    assert listed == sorted((p.stem for p in (tmp_path / "t").iterdir()), key=listed.index)


def test_json_is_json_and_keeps_every_digit(toy_db: Path) -> None:
    query = (
        "SELECT 'NaN'::DOUBLE AS a, ['inf'::DOUBLE, 1.5] AS b, {'x': '-inf'::DOUBLE} AS c, 1.10::DECIMAL(5, 2) AS d,"
        f" {2**127 - 1}::HUGEINT AS e, {2**63 - 1}::BIGINT AS f, NULL AS g"
    )

    def no_constant(word: str) -> None:
        raise AssertionError(word)

    done = run("sql", "--db", str(toy_db), query, "--json")
    assert json.loads(done.output, parse_constant=no_constant) == [
        {
            "a": "NaN",
            "b": ["Infinity", 1.5],
            "c": {"x": "-Infinity"},
            "d": "1.10",
            "e": str(2**127 - 1),
            "f": 2**63 - 1,
            "g": None,
        }
    ]
    assert run("sql", "--db", str(toy_db), query, "--format", "json").output == done.output


def test_a_cell_of_several_lines_takes_several_lines() -> None:
    found = pl.DataFrame({"name": ["a", "b"], "error": ["one\n  two\nthree", "x"], "n": [1, 22]})
    assert render(found, "table").splitlines() == [
        "name  error   n",
        "----  -----  --",
        "a     one     1",
        "        two",
        "      three",
        "b     x      22",
        "(2 rows)",
    ]


def test_a_table_on_a_terminal_wraps_its_text_and_loses_none_of_it() -> None:
    words = " ".join(f"word{k}" for k in range(60))
    found = pl.DataFrame({"n": [1], "text": [words], "long": ["y" * 70]})
    shown = render(found, "table", width=80)
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert [w for w in words.split() if w not in shown] == []
    assert shown.count("y") == 70
    assert words in render(found, "table")


def test_markdown_escapes_bars_in_names_and_values_and_stays_aligned() -> None:
    lines = render(pl.DataFrame({"a|b": ["c|d", "e\nf"]}), "markdown").splitlines()
    assert lines == ["| a\\|b |", "| ---- |", "| c\\|d |", "| e f  |"]


@pytest.mark.parametrize("words", [["sql", "-f", "binary"], ["sql", "-"]])
def test_a_query_that_is_not_text_is_refused(toy_db: Path, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    words = [str(tmp_path / w) if w == "binary" else w for w in words]
    done = run(*words, "--db", str(toy_db), stdin=b"\xff\xfe\x00")
    assert done.exit_code == 2, done.output
    assert "is not text" in done.output
    assert (str(tmp_path / "binary") if "-f" in words else "standard input") in done.output


@pytest.mark.parametrize(
    "setting",
    ["SECONDS=inf", "SECONDS=1e30", "SECONDS=nan", "ROWS=1e+07", "MEMORY_MB=1", "MEMORY_MB=99999999999999999999"],
)
def test_a_limit_out_of_range_is_refused_by_name(toy_db: Path, setting: str) -> None:
    name, _, value = f"ORLEDGER_SQL_{setting}".partition("=")
    done = run("sql", "SELECT 1", "--db", str(toy_db), env={name: value})
    assert done.exit_code == 2, done.output
    assert name in done.output


def test_the_least_memory_that_is_accepted_suffices_for_a_small_query(toy_db: Path) -> None:
    from orledger.schema.sandbox import BOUNDS

    words = [sys.executable, "-m", "orledger", "sql", "SELECT count(*) AS n FROM record", "--db", str(toy_db)]
    least = {"ORLEDGER_SQL_MEMORY_MB": str(int(BOUNDS["memory_mb"][0]))}
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **least})
    assert done.returncode == 0, done.stderr
    assert "1040" in done.stdout


@pytest.mark.parametrize("command", ["tables", "report"])
def test_a_plan_that_cannot_be_rebuilt_is_noted(own: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from orledger.reports.report import document as report

    monkeypatch.setattr(report, "render_report", lambda *_, **__: "HTML")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with connect(own, "write") as con:
        con.execute("UPDATE run SET settings = '[]'")
    done = run(command, "--db", str(own), "--out", str(own.parent / "out"))
    assert done.exit_code == 6, done.output  # the row was changed without orledger
    assert "note: what the run of preset 'toy' planned cannot be rebuilt" in done.stderr


def test_records_of_cells_that_one_side_lacks_are_counted(toy_db: Path, tmp_path: Path) -> None:
    connect(tmp_path / "empty.duckdb", "write").close()
    run_toy(tmp_path / "half.duckdb", toy_plan(10))
    for other, missing in (("empty.duckdb", 20 * 52), ("half.duckdb", 10 * 52)):
        for pair in ((toy_db, tmp_path / other), (tmp_path / other, toy_db)):
            found = json.loads(run("compare", *map(str, pair), "--json").output)
            assert (found["unmatched"], found["identical"]) == (missing, False)
    assert f"{20 * 52:,} are on one side only" in run("compare", str(toy_db), str(tmp_path / "empty.duckdb")).output


def test_one_refused_registry_file_keeps_all_of_them_out(own: Path, tmp_path: Path) -> None:
    from orledger.audit.registry.reading import shipped_hypotheses

    first, second = shipped_hypotheses()[:2]
    (tmp_path / "a.toml").write_text(first.text)
    (tmp_path / "b.toml").write_text(second.text)
    (tmp_path / "b2.toml").write_text(second.text + "# changed\n")
    assert run("register", str(tmp_path / "b.toml"), "--db", str(own)).exit_code == 0
    with connect(own, "write") as con:
        con.execute("UPDATE cell SET case_name = ?", [second.studies[0]])
    files = ("--registry", str(tmp_path / "a.toml"), "--registry", str(tmp_path / "b2.toml"))
    refused = run("audit", *files, "--db", str(own))
    assert refused.exit_code == 2, refused.output
    listed = json.loads(run("register", "--list", "--json", "--db", str(own)).output)
    assert [row["hypothesis"] for row in listed] == [second.id]


@pytest.mark.parametrize("words", [["register", "--list"], ["audit", "--power", "--json"]])
def test_looking_changes_nothing_and_works_beside_a_run(own: Path, words: list[str]) -> None:
    before = hashlib.sha256(own.read_bytes()).hexdigest()
    assert run(*words, "--db", str(own)).exit_code == 0
    assert hashlib.sha256(own.read_bytes()).hexdigest() == before
    from orledger.schema.snapshot import publish_snapshot
    from orledger.schema.writing import Writer

    with Writer(own) as writer:
        publish_snapshot(writer.con, own)
        done = run(*words, "--db", str(own))
    assert done.exit_code == 0, done.output
    assert "answering from the snapshot" in done.stderr


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
@pytest.mark.parametrize("target", ["open_results", "import"])
def test_an_interruption_is_one_line_and_130(
    toy_db: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, target: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise error

    if target == "import":
        monkeypatch.setattr("importlib.import_module", stop)
    else:
        monkeypatch.setattr("orledger.schema.reading.open_results", stop)
    done = run("status", "--db", str(toy_db))
    assert done.exit_code == 130
    assert done.output == "stopped by Ctrl-C\n"


def test_ctrl_c_while_the_command_line_is_imported_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    words = [sys.executable, "-m", "orledger", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_ends_a_query(toy_db: Path) -> None:
    query = "SELECT count(*) FROM range(1000000000000) a, range(1000000) b"
    words = [sys.executable, "-m", "orledger", "sql", query, "--db", str(toy_db)]
    patient = {**os.environ, "ORLEDGER_SQL_SECONDS": "3600"}  # the keys may come late on a busy machine
    process = subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=patient,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore the key
    )
    opened = Path(f"/proc/{process.pid}/fd")
    while process.poll() is None and not any(link.resolve() == toy_db for link in opened.iterdir()):
        time.sleep(0.1)  # however long a busy machine takes to open the database
    for _ in range(20):  # a key that is pressed before the query has begun may have to be pressed again
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(15)
            break
    else:
        process.kill()
    _, message = process.communicate()  # a query that ran into its time limit would say so, with another code
    assert (process.returncode, message) == (130, "stopped by Ctrl-C\n")

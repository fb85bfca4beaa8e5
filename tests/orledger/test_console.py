"""The console: rows that fit a terminal, streams of any length, the shell, completion, and names that were misspelt."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from orledger.cli import COMMANDS, main
from orledger.cli_complete import databases
from orledger.cli_look import heading
from orledger.cli_render import render
from orledger.cli_shell import Completer, shell
from orledger.errors import QueryRefusedError
from orledger.from_frame import study_from
from orledger.schema import streaming
from orledger.schema.writing import Writer

COUNTED = "SELECT i, i / 4 AS x, 'n' || i AS s FROM range(137) t(i)"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("console") / "results.duckdb"
    Writer(path).close()
    return path


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


def test_a_table_fits_the_terminal_or_stands_upright() -> None:
    long = "the quick brown fox jumps over the lazy dog " * 3
    text = render(pl.DataFrame({"name": ["a"], "why": [long], "n": [1]}), "table", 80)
    assert max(map(len, text.splitlines())) <= 80
    wide = pl.DataFrame({f"column {k}": [k / 3] for k in range(12)})
    text = render(wide, "table", 80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("-[ row 1 ]")
    for k in range(12):
        assert f"column {k}".ljust(9) + f"  {k / 3}\n" in text  # every digit is there
    assert "-[ row" not in render(wide, "table", None)  # a file or pipe gets columns


def test_what_an_exploratory_hypothesis_supports_is_not_green(tmp_path: Path) -> None:
    """Eight units, one arm higher on each: the exact signed-rank p is 2 / 2^8. Green is code 32, yellow 33 (ECMA-48)."""
    rows = [{"dataset": d, "tree": k / 10, "forest": k / 10 + 0.05} for k, d in enumerate("abcdefgh")]
    study_from(rows, "mine", tmp_path / "mine.duckdb", better="higher").close()
    done = CliRunner().invoke(main, ["audit", "--db", str(tmp_path / "mine.duckdb")], color=True)
    assert "\x1b[33m\x1b[1mSUPPORTED" in done.output
    assert "\x1b[32m" not in done.output
    assert "\x1b[32m\x1b[1mSUPPORTED" in heading("H1", "SUPPORTED")
    assert heading("H1", "REFUTED", True) == heading("H1", "REFUTED")


@pytest.mark.parametrize("style", ["csv", "jsonl", "parquet"])
def test_rows_are_written_as_they_come(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str) -> None:
    """In several batches, beyond the limit of rows that a table has, and the same as in one piece."""
    monkeypatch.setattr(streaming, "BATCH", 10)
    monkeypatch.setenv("ORLEDGER_SQL_ROWS", "50")
    out = tmp_path / f"rows.{style}"
    done = run("sql", COUNTED, "--db", db, "--format", style, "--out", out)
    assert done.exit_code == 0, done.output
    readers = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}
    found = readers[style](out)
    expected = pl.DataFrame({"i": range(137), "x": [i / 4 for i in range(137)], "s": [f"n{i}" for i in range(137)]})
    assert found.equals(expected)
    assert run("sql", COUNTED, "--db", db).exit_code == 7  # a table holds all rows, and is limited
    refused = run("sql", COUNTED, "--db", db, "--format", style, "--out", out, "--max-rows", "20")
    assert (refused.exit_code, readers[style](out).height) == (7, 137)  # and what was there is kept


def test_no_more_than_a_batch_is_held(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from orledger.schema.reading import open_results
    from orledger.schema.sandbox import Limits, sandbox_config

    monkeypatch.setattr(streaming, "BATCH", 1000)
    limits = Limits()
    endless = "SELECT i FROM range(100000000000) t(i)"  # terabytes as a whole
    with open_results(db, **sandbox_config(limits, whole=False)) as results:
        with streaming.streaming(results, endless, limits) as stream:
            assert [next(stream.batches).height for _ in range(3)] == [1000] * 3
        with (
            pytest.raises(QueryRefusedError, match="DROP is refused"),
            streaming.streaming(results, "DROP TABLE cell", limits),
        ):
            pass


def test_nested_values_and_moments_lose_nothing_on_the_way(db: Path) -> None:
    query = "SELECT map{'a': 1} AS m, [1, 2] AS l, {'x': NULL} AS s, DATE '12000-01-01' AS d, sum(3::HUGEINT) AS h, 'NaN'::DOUBLE AS n"
    line = run("sql", query, "--db", db, "--format", "jsonl").output
    assert json.loads(line) == {"m": {"a": 1}, "l": [1, 2], "s": {"x": None}, "d": "12000-01-01", "h": 3, "n": "NaN"}
    head, row = run("sql", query, "--db", db, "--format", "csv").output.splitlines()
    assert head == "m,l,s,d,h,n"
    assert row.startswith('"{""a"":1}","[1,2]"')


def test_a_query_that_fails_leaves_no_header(db: Path) -> None:
    done = run("sql", "SELECT error('no') AS x FROM range(3)", "--db", db, "--format", "csv")
    assert (done.exit_code, done.stdout) == (7, "")


def test_the_shell_runs_statements_and_outlives_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["", ".format csv", "SELECT 1", "  AS a;", "broken;", ".format nothing", ".help", "SELECT 2;"])

    def line(_: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    asked: list[tuple[str, str]] = []

    def answer(text: str, style: str) -> None:
        asked.append((text, style))
        if text == "broken;":
            raise QueryRefusedError("it is broken")

    monkeypatch.setattr("builtins.input", line)
    shell("x.duckdb", ("table", "csv"), list, answer)
    assert asked == [("SELECT 1\n  AS a;", "csv"), ("broken;", "csv"), ("SELECT 2;", "csv")]
    told = capsys.readouterr()
    assert "it is broken" in told.err
    assert ".schema NAME" in told.out


def test_tab_offers_what_begins_so() -> None:
    offered = Completer(["record", "recordings", "SELECT", "refusal"])
    assert [offered("rec", k) for k in range(3)] == ["record", "recordings", None]
    assert offered("sel", 0) == "SELECT"


def test_without_a_query_a_terminal_gets_the_shell_with_a_history(db: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    history = tmp_path / "state" / "history"
    process = subprocess.Popen(
        [sys.executable, "-m", "orledger", "sql", "--db", str(db)],
        stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "ORLEDGER_SQL_HISTORY": str(history), "TERM": "dumb"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"SELECT 6 * 7 AS answer;\n.quit\n")
    seen = b""
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 60)[0]:
            try:
                seen += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
    process.wait()
    os.close(ours)
    assert process.returncode == 0, seen
    assert b"42" in seen
    assert "SELECT 6 * 7" in history.read_text(encoding="utf-8")


@pytest.mark.parametrize(("typed", "meant"), [("stauts", "status"), ("tabels", "tables"), ("reprot", "report")])
def test_a_misspelt_command_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    done = run(typed)
    assert done.exit_code == 2
    assert f"Did you mean {meant}" in done.output


def complete(args: list[str], typed: str) -> list[str]:
    return [c.value for c in ShellComplete(main, {}, "orledger", "_ORLEDGER_COMPLETE").get_completions(args, typed)]


def test_names_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.duckdb").touch()
    (tmp_path / "mine.csv").touch()
    (tmp_path / "more").mkdir()
    monkeypatch.chdir(tmp_path)
    assert complete(["status", "--db"], "m") == ["mine.duckdb", "more/"]
    assert databases(None, None, f"{tmp_path}/mi") == [f"{tmp_path}/mine.duckdb"]  # type: ignore[arg-type]
    assert complete(["run", "--preset"], "sm") == ["smoke"]
    assert "Afloor" in complete(["tables"], "af")
    assert "Aprofile" in complete(["figures"], "apr")
    assert complete([], "stu") == ["study"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_for_completion_is_printed(name: str) -> None:
    if name == "bash" and not Path("/bin/bash").exists():
        pytest.skip("no bash")
    assert "_ORLEDGER_COMPLETE" in run("completion", name).output


def test_commands_that_print_facts_print_them_as_json_too() -> None:
    """All but a server, a script for a shell, and a schema that is JSON in any case."""
    from importlib import import_module

    import click

    others = {"serve", "completion", "recheck schema"}
    for name, (target, _) in COMMANDS.items():
        module, attribute = target.split(":")
        command = getattr(import_module(module), attribute)
        leaves = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        for word, leaf in leaves:
            if f"{name} {word}".strip() not in others:
                assert any("--json" in p.opts for p in leaf.params), f"{name} {word}"


def test_documents_are_printed_as_json_or_name_their_file(
    toy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper, out = tmp_path / "p.md", tmp_path / "p.toml"
    paper.write_text("We found 3 of 4 (75%).", encoding="utf-8")
    assert "75" in json.loads(run("recheck", "init", str(paper), "--json").output)["toml"]
    assert json.loads(run("recheck", "init", str(paper), "-o", str(out), "--json").output) == {"file": str(out)}
    assert "75" in out.read_text(encoding="utf-8")
    monkeypatch.setattr("orledger.reports.report.findings.findings", lambda *_: "# Found")
    found = ["findings", "--db", str(toy_db), "--json"]
    assert json.loads(run(*found).stdout) == {"markdown": "# Found"}
    assert json.loads(run(*found, "-o", str(tmp_path / "f.md")).stdout) == {"file": str(tmp_path / "f.md")}
    assert (tmp_path / "f.md").read_text(encoding="utf-8") == "# Found"

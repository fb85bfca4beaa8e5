"""Names are names wherever they come from: columns of tables, mappings, presets, catalogues, file names, options, addresses."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import polars as pl
import pytest
from foreign_file import run

from orledger.schema import chain
from orledger.schema.opening import connect

if TYPE_CHECKING:
    from pathlib import Path

TRAP = "orledger_stolen.csv"
NAMES = (
    "x'; DELETE FROM record; --",
    "k\" FROM cell; COPY record TO '{trap}'; --",
    "a'); ATTACH '{trap}' AS z; SELECT ('",
    "$$; INSTALL httpfs; $$",
)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder whose own name is an injection."""
    found = tmp_path / "it's; DROP TABLE cell; --"
    found.mkdir()
    return found


def hostile(desk: Path) -> tuple[list[str], Path]:
    names = [name.replace("{trap}", str(desk.parent / TRAP)) for name in NAMES]
    key, other, arm, metric = names
    file = desk / 'it\'s a "table"; --.parquet'
    columns = {key: [names[k % 4] for k in range(8)], other: [str(k) for k in range(8)]}
    columns |= {arm: [1.0 + k for k in range(8)], "plain": [2.5 + k * k for k in range(8)]}
    pl.DataFrame(columns).write_parquet(file)
    quoted = {name: json.dumps(name) for name in names}
    (desk / "m.toml").write_text(
        f"study = 'study'\nblock = 'main'\nform = 'wide'\ntitle = {quoted[key]}\nsource = {quoted[other]}\n"
        f"keys = [{quoted[key]}, {quoted[other]}]\n[wide]\nmetric = {quoted[metric]}\narms = [{quoted[arm]}, 'plain']\n"
        f"[[metric]]\nname = {quoted[metric]}\nbetter = 'lower'\ndescription = {quoted[arm]}\nunit = {quoted[key]}\n",
        encoding="utf-8",
    )
    (desk / "h.toml").write_text(
        f"[hypothesis]\nid = {quoted[key]}\ntitle = {quoted[other]}\nmode = 'registered'\nstatement = {quoted[arm]}\n"
        f"[defaults]\ncase = 'study'\nblock = 'main'\nmetric = {quoted[metric]}\npair = [{quoted[key]}, {quoted[other]}]\n"
        f"[[comparison]]\nid = {quoted[arm]}\ntitle = {quoted[metric]}\ntest = 'sign'\narms = [{quoted[arm]}, 'plain']\n"
        f"where = {{ {quoted[key]} = [{', '.join(quoted.values())}] }}\n"
        "[[claim]]\nid = 'w'\nstatement = 's'\nkind = 'never_worse'\n"
        f"arms = [{quoted[arm]}, 'plain']\n"
        "[disposition]\notherwise = 'inconclusive'\notherwise_reason = 'r'\n[[disposition.rule]]\nverdict = 'supported'\n"
        "reason = 'r'\nall = ['w holds']\n",
        encoding="utf-8",
    )
    return names, file


def intact(path: Path, desk: Path) -> None:
    """All records are there, the chain verifies, and nothing was written beside."""
    with closing(connect(path, "read")) as con:
        assert con.execute("SELECT count(*) FROM record").fetchall() == [(16,)]
        assert con.execute("SELECT count(*) FROM cell").fetchall() == [(8,)]
        assert chain.verify(con) == []
    assert not (desk.parent / TRAP).exists()


def test_hostile_names_pass_through_every_command_as_names(desk: Path) -> None:
    names, file = hostile(desk)
    db, out = desk / "it's.duckdb", desk / 'out "x"'
    for words in (
        ("import", file, "--mapping", desk / "m.toml", "--db", db),
        ("audit", "--registry", desk / "h.toml", "--db", db, "--json"),
        ("audit", "--power", "--db", db),
        ("sql", "--tables", "--db", db),
        ("sql", "SELECT * FROM study_main", "--db", db),
        ("status", "--db", db),
        ("tables", "--db", db, "--out", out, "--format", "csv"),
        ("verify", "--db", db, "--write-receipt", desk / "r'.json"),
        ("db", "export", desk / "it's exported", "--db", db),
        ("db", "import", desk / "it's exported", "--db", desk / "again'.duckdb"),
        ("db", "merge", desk / "merged'.duckdb", db),
        ("db", "check", "--db", db),
        ("sql", "SELECT count(*) FROM all_records", "--lake", desk / "it's exported"),
    ):
        done = run(*words)
        assert done.exit_code == 0, (words[:2], done.output)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    for path in (db, desk / "again'.duckdb", desk / "merged'.duckdb"):
        intact(path, desk)
    with closing(connect(db, "read")) as con:
        assert con.execute("SELECT verdict, hypothesis FROM disposition").fetchall() == [("supported", names[0])]
        assert con.execute("SELECT n FROM test_result").fetchall()[0] == (8,)


def test_a_hostile_mapping_or_name_of_a_study_is_a_message_and_no_statement(desk: Path) -> None:
    names, file = hostile(desk)
    text = (desk / "m.toml").read_text(encoding="utf-8")
    for k, name in enumerate(names):
        (desk / "n.toml").write_text(
            text.replace("study = 'study'", f"study = {json.dumps(name)}").replace(
                "block = 'main'", f"block = {json.dumps(name)}"
            ),
            encoding="utf-8",
        )
        db = desk / f"{k}.duckdb"
        done = run("import", file, "--mapping", desk / "n.toml", "--db", db)
        assert done.exit_code in (0, 2), done.output
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        if done.exit_code == 0:
            intact(db, desk)


@pytest.mark.parametrize("word", ["seed=0; DROP TABLE cell", "seed'=0", 'x"=1', "seed=$$0$$"])
def test_options_of_a_run_are_names_too(tmp_path: Path, word: str) -> None:
    done = run("run", "b", "--only", word, "--dry-run", "--db", tmp_path / "x.duckdb")
    assert done.exit_code in (0, 2), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


PRESET = """
title = "x'; DROP TABLE cell; --"
[b]
settings = {{ {key} = {value} }}
"""


@pytest.mark.parametrize("key", ['"seeds\'; DELETE FROM cell; --"', '"$$"'])
def test_a_hostile_preset_is_refused_by_name(tmp_path: Path, key: str) -> None:
    (tmp_path / "p.toml").write_text(PRESET.format(key=key, value='"\'; DROP TABLE cell; --"'), encoding="utf-8")
    done = run("run", "b", "--preset", tmp_path / "p.toml", "--dry-run", "--db", tmp_path / "x.duckdb")
    assert done.exit_code == 2, done.output
    assert "p.toml" in done.output
    assert not (tmp_path / "x.duckdb").exists()

"""The command of an interrupted study, given again, goes on; another one is refused."""

from __future__ import annotations

import importlib

import pytest
from click.testing import CliRunner

from orledger.cli import main
from orledger.schema.reading import open_results

TABLE = "dataset,method,acc\n" + "".join(f"d{i},{m},0.{50 + 5 * i + 2 * (m == 'b')}\n" for i in range(7) for m in "abc")
SAID = ("--better", "higher", "--control", "b", "--no-pdf")


def run(*args: object, code: int = 0) -> str:
    done = CliRunner().invoke(main, [str(a) for a in args])
    assert done.exit_code == code, done.output
    return done.output


def stopping(monkeypatch: pytest.MonkeyPatch, module: str, name: str, calls: int) -> None:
    """``name`` is stopped, as by Ctrl-C, when it was called ``calls`` times before."""
    real, left = getattr(importlib.import_module(module), name), [calls]

    def stopped(*args, **kwargs):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(*args, **kwargs)

    monkeypatch.setattr(f"{module}.{name}", stopped)


@pytest.mark.parametrize(
    ("module", "name", "calls", "there"),
    [
        ("orledger.cli_study", "put", 1, {"t.mapping.toml"}),
        ("orledger.audit.importing.loading", "import_files", 0, {"t.mapping.toml", "t.hypotheses.toml", "t.duckdb"}),
        ("orledger.audit.evaluation.auditing", "audit", 0, {"t.mapping.toml", "t.hypotheses.toml", "t.duckdb"}),
        ("orledger.study_output", "write_study", 0, {"t.mapping.toml", "t.hypotheses.toml", "t.duckdb"}),
    ],
)
def test_it_goes_on_wherever_it_was_stopped(tmp_path, monkeypatch, module, name, calls, there):
    table = tmp_path / "t.csv"
    table.write_text(TABLE, encoding="utf-8")
    with monkeypatch.context() as patch:
        stopping(patch, module, name, calls)
        run("study", table, *SAID, code=130)
    assert {p.name for p in tmp_path.iterdir()} == {"t.csv", *there}
    kept = {p: p.read_bytes() for p in tmp_path.glob("*.toml")}
    said = run("study", table, "--better", "lower", "--control", "b", "--no-pdf", code=2)
    assert "already says what the table means" in said
    assert "--force" in said
    monkeypatch.setattr("orledger.study_output.write_study", lambda *_, **__: [])
    for _ in range(2):
        run("study", table, *SAID)
    assert {p: p.read_bytes() for p in kept} == kept
    with open_results(tmp_path / "t.duckdb") as results:
        assert sorted(results.sql("SELECT DISTINCT comparison FROM test_result WHERE test = 'signed_rank'").rows()) == [
            ("b/a",), ("b/c",),
        ]  # fmt: skip
        assert results.sql("SELECT count(*) FROM all_cells").item() == 7


def test_a_file_that_was_edited_decides(tmp_path, monkeypatch):
    """Comments may differ; a question that is asked otherwise is not overridden."""
    monkeypatch.setattr("orledger.study_output.write_study", lambda *_, **__: [])
    table, asked = tmp_path / "t.csv", tmp_path / "t.hypotheses.toml"
    table.write_text(TABLE, encoding="utf-8")
    run("init", table, *SAID[:-1])
    asked.write_text("# seen by two of us\n" + asked.read_text(), encoding="utf-8")
    run("study", table, *SAID)
    asked.write_text(asked.read_text().replace('test = "signed_rank"', 'test = "sign"'), encoding="utf-8")
    assert "already says what the table means" in run("study", table, *SAID, code=2)


def test_a_study_of_a_database_is_given_again_too(tmp_path, monkeypatch):
    monkeypatch.setattr("orledger.study_output.write_study", lambda *_, **__: [])
    table, db = tmp_path / "t.csv", tmp_path / "s.duckdb"
    table.write_text(TABLE, encoding="utf-8")
    run("study", table, *SAID, "--db", db)
    for _ in range(2):
        run("study", db, "--control", "a", "--no-pdf", "--amend")
    said = run("study", db, "--control", "c", "--no-pdf", code=2)
    assert "already says what is asked" in said
    assert "--force" in said

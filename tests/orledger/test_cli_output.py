"""Where commands write: refused before the work, nothing half-written, nothing left behind by a command that failed."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from orledger.cli import main
from orledger.cli_output import check_file, check_folder, filling, write_file
from orledger.errors import UsageError
from orledger.schema import migrate


@pytest.fixture
def desk(toy_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a database, a file and a folder in it."""
    shutil.copy(toy_db, tmp_path / "results.duckdb")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.parametrize(
    "command",
    [
        "sql SELECT~1 --out file/x.txt",
        "sql SELECT~1 --out folder",
        "sql SELECT~1 --out /proc/none/x.txt",
        "sql --tables --out folder",
        "tables --out /proc/tn",
        "tables --out file",
        "figures --out file",
        "report --out folder",
        "report --out file/report.html",
        "report --out /proc/none/report.html",
        "findings --out folder",
        "compare results.duckdb results.duckdb --html folder",
        "compare results.duckdb results.duckdb --tables file",
        "compare results.duckdb results.duckdb --html new --tables new",
        "db export file/x",
        "db export file",
        "db snapshot --out folder",
        "db snapshot --out file",
        "db snapshot --out results.duckdb",
    ],
)
def test_a_path_that_cannot_be_written_is_refused_before_the_work(desk: Path, command: str) -> None:
    before = contents(desk)
    done = run(*(word.replace("~", " ") for word in command.split()))
    assert done.exit_code == 2, done.output
    assert done.output.startswith("error: ")
    assert "what to do: " in done.output
    assert contents(desk) == before


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("report --out z.docx", ".html, .htm or .pdf"),
        ("report --out s3://bucket/z.docx", ".html, .htm or .pdf"),
        ("report --out z.v2", ".html, .htm or .pdf"),
        ("findings --out z.html", ".md, .markdown or .txt"),
        ("compare results.duckdb results.duckdb --html z.md", ".html or .htm"),
        ("compare results.duckdb results.duckdb --tables z.csv", "name the folder"),
        ("tables --out z.tex", "name the folder"),
        ("figures --out z.PNG", "name the folder"),
        ("study results.duckdb --out z.html", "name the folder"),
        ("sql SELECT~1 --out z.parquet", "--format parquet"),
        ("sql SELECT~1 --format json --out z.CSV", "--format csv"),
        ("recheck file --html z.pdf", ".html or .htm"),
        ("recheck file --markdown z.html", ".md, .markdown or .txt"),
        ("recheck file --latex z.pdf", ".tex"),
        ("recheck file --csv z.xlsx", ".csv"),
        ("recheck init file --out z.json", ".toml"),
    ],
)
def test_a_name_that_ends_as_another_kind_of_file_is_refused(desk: Path, command: str, known: str) -> None:
    before = contents(desk)
    done = run(*(word.replace("~", " ") for word in command.split()))
    assert done.exit_code == 2, done.output
    assert " ends in ." in done.output
    assert known in " ".join(done.output.split())
    assert contents(desk) == before


def test_names_without_an_ending_and_folders_that_are_there_are_used(desk: Path) -> None:
    (desk / "z.svg").mkdir()
    assert run("compare", "results.duckdb", "results.duckdb", "--html", "z").exit_code == 0
    assert (desk / "z").read_text().startswith("<!doctype html>")
    assert run("tables", "--out", "z.svg").exit_code == 0
    assert (desk / "z.svg" / "numbers.tex").exists()
    assert run("sql", "SELECT 1 AS n", "--format", "csv", "--out", "n.csv").exit_code == 0
    assert (desk / "n.csv").read_text().split() == ["n", "1"]


def test_trying_a_path_leaves_no_trace(desk: Path) -> None:
    before = contents(desk)
    check_file(desk / "a" / "b" / "c.txt")
    check_file(desk / "file")
    check_folder(desk / "a" / "b")
    check_folder(desk / "folder")
    assert contents(desk) == before


def test_a_disk_that_fills_up_is_a_message_and_keeps_the_old_file(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as stream:
            stream.write(data[:1])
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match="file cannot be used: No space left on device"):
        write_file(desk / "file", "much longer")
    monkeypatch.undo()
    assert contents(desk)["file"] == b"mine"
    assert not list(desk.glob(".*"))


def test_a_disk_that_fills_up_halfway_leaves_none_of_the_files(desk: Path) -> None:
    """The first file fits, the second does not: the folder is as it was, an old file of the same name included."""
    before = contents(desk)

    def fill(folder: Path) -> None:
        with filling(folder) as inside:
            (inside / "file").write_text("new")
            raise OSError(28, "No space left on device", str(inside / "second"))

    for folder in (desk, desk / "new" / "er"):
        with pytest.raises(UsageError, match="cannot be used: No space left on device"):
            fill(folder)
        assert contents(desk) == before
    with filling(desk / "new" / "er") as inside:
        (inside / "file").write_text("new")
    assert (desk / "new" / "er" / "file").read_text() == "new"
    assert not list(desk.rglob("*.part"))


def test_a_full_standard_output_is_a_message() -> None:
    import subprocess
    import sys

    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "orledger", "presets", "list"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "standard output cannot be used: No space left on device" in done.stderr


@pytest.mark.parametrize("spelling", ["--out", "--output", "-o"])
def test_every_spelling_of_out_is_understood(desk: Path, spelling: str) -> None:
    assert run("sql", "SELECT 1 AS x", "--format", "csv", spelling, "rows.csv").exit_code == 0
    assert (desk / "rows.csv").read_text() == "x\n1\n"
    assert run("db", "snapshot", spelling, "copy.duckdb").exit_code == 0
    assert run("db", "check", "--db", "copy.duckdb").exit_code == 0
    for command in ("tables", "figures", "report", "findings"):
        assert run(command, spelling, "file/x").exit_code == 2
        assert "--output" not in run(command, "--help").output


@pytest.mark.parametrize(
    ("out", "written"),
    [
        ("r.html", ["r.html", "r.pdf"]),
        ("r.pdf", ["r.pdf"]),
        ("r.PDF", ["r.PDF"]),
    ],
)
def test_a_report_never_writes_two_things_to_one_path(
    desk: Path, monkeypatch: pytest.MonkeyPatch, out: str, written: list[str]
) -> None:
    from orledger.reports.report import document as report
    from orledger.reports.report import pdf

    def write_pdf(_db: object, path: Path, **_: object) -> Path:
        path.write_text("PDF")
        return path

    monkeypatch.setattr(report, "render_report", lambda *_, **__: "HTML")
    monkeypatch.setattr(pdf, "write_pdf", write_pdf)
    monkeypatch.setattr(shutil, "which", lambda _: "pdflatex")
    done = run("report", "--out", out)
    assert done.exit_code == 0, done.output
    found = {p.name: p.read_text() for p in desk.glob("r.*")}
    assert found == {name: "HTML" if name.endswith("html") else "PDF" for name in written}


def test_a_pdf_without_latex_or_against_no_pdf_is_refused(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "pdflatex" in run("report", "--out", "r.pdf").output
    assert run("report", "--out", "r.pdf", "--no-pdf").exit_code == 2
    assert not (desk / "r.pdf").exists()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("db export new --db absent.duckdb", 3),
        ("db import folder --db new.duckdb", 2),
        ("import file --mapping mapping.toml --db new.duckdb", 5),
        ("register file --db new.duckdb", 2),
        ("db snapshot --db absent.duckdb", 3),
    ],
)
def test_a_command_that_fails_leaves_nothing_behind(desk: Path, command: str, code: int) -> None:
    (desk / "mapping.toml").write_text(
        'study = "s"\nblock = "b"\nform = "long"\nkeys = ["k"]\n[long]\narm = "arm"\nmetric = "metric"\nvalue = "value"\n'
    )
    before = contents(desk)
    done = run(*command.split())
    assert done.exit_code == code, done.output
    assert contents(desk) == before


@pytest.mark.parametrize("version", [0, 1])
def test_a_database_without_the_current_schema_names_the_way_out(desk: Path, version: int) -> None:
    with duckdb.connect("old.duckdb") as con:
        if version:
            migrate.migrate(con, migrate.shipped_migrations()[:version])
    for command in ("status", "db info", "tables", "report", "findings", "figures", "sql SELECT~1"):
        done = run(*(word.replace("~", " ") for word in command.split()), "--db", "old.duckdb")
        assert done.exit_code == 3, done.output
        assert "orledger db migrate --db old.duckdb" in done.output, command
    assert f", from {version}" in run("db", "migrate", "--db", "old.duckdb").output
    assert run("status", "--db", "old.duckdb").exit_code == 0


def test_questions_that_do_not_fit_are_not_left_in_part(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` on a disk without room: neither file is there, and the message names the first of them."""
    rows = [f"{d},{m},{i}.{j}" for i, d in enumerate("pqrs") for j, m in enumerate("ab")]
    (desk / "own.csv").write_text("\n".join(["dataset,method,rmse", *rows]), encoding="utf-8")
    before = contents(desk)

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as stream:
            stream.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    done = run("init", "own.csv")
    monkeypatch.undo()
    assert done.exit_code == 2
    assert "own.mapping.toml cannot be used: No space left on device" in done.output
    assert contents(desk) == before


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_figure_that_does_not_fit_says_so(tmp_path: Path, suffix: str) -> None:
    """matplotlib's own writer of PDFs would fail with another error on its way out."""
    from matplotlib.figure import Figure

    from orledger.reports.figures.style import save

    (tmp_path / f"full.{suffix}").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        save(Figure(), tmp_path / f"full.{suffix}")


def test_a_report_that_does_not_fit_leaves_the_old_one(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from orledger.reports.report import pdf
    from orledger.schema.reading import open_results

    (desk / "made.pdf").write_bytes(b"long")
    monkeypatch.setattr(pdf, "compile_document", lambda *_: desk / "made.pdf")
    before = contents(desk)

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with open_results(desk / "results.duckdb") as results:
        monkeypatch.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space"):
            pdf.write_pdf(results, desk / "file", latex="pdflatex")
    assert contents(desk) == before


def test_a_link_stays_one_and_its_file_is_written(tmp_path: Path) -> None:
    file, link = tmp_path / "elsewhere.txt", tmp_path / "out.txt"
    file.write_text("before")
    link.symlink_to(file)
    write_file(link, "after")
    assert (link.readlink(), file.read_text()) == (file, "after")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere.txt", "out.txt"]

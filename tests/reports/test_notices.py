"""What is printed from a database whose newest audit is older than its records, or that was changed without orledger."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
import synthetic_db
from click.testing import CliRunner
from starlette.testclient import TestClient

from orledger.cli import main
from orledger.explorer.app import application
from orledger.explorer.site import Explorer
from orledger.from_frame import study_from
from orledger.opened import open_database
from orledger.reports.audit_rows import AuditRows
from orledger.reports.report.findings import findings
from orledger.schema.reading import open_results
from orledger.study_output import write_study

UNITS = "abcdefgh"
ROWS = [{"dataset": d, "tree": k / 10, "forest": k / 10 + 0.05} for k, d in enumerate(UNITS)]
OLDER = "The newest audit is older than the records"
EDITED = "This database was changed without orledger"


def run(*args: object, code: int = 0) -> tuple[str, str]:
    """What a command said on standard output and on standard error."""
    done = CliRunner().invoke(main, [str(a) for a in args])
    assert done.exit_code == code, done.output
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two arms on eight datasets, audited; not to be changed."""
    path = tmp_path_factory.mktemp("made") / "mine.duckdb"
    study_from(ROWS, "mine", path, better="higher").close()
    return path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(made, tmp_path / "mine.duckdb"))


@pytest.fixture
def older(db: Path, tmp_path: Path) -> Path:
    """One dataset has other values than it was audited with: as many cells and records as before."""
    table = tmp_path / "mine.csv"
    other = [{**row, "tree": 0.99 if row["dataset"] == "a" else row["tree"]} for row in ROWS]
    table.write_text("dataset,tree,forest\n" + "".join(f"{r['dataset']},{r['tree']},{r['forest']}\n" for r in other))
    run("init", table, "--better", "higher")
    run("import", table, "--mapping", table.with_suffix(".mapping.toml"), "--db", db, "--replace")
    return db


@pytest.fixture
def edited(db: Path) -> Path:
    """One value was changed by another program."""
    with duckdb.connect(str(db)) as con:
        con.execute("UPDATE record SET value = 0.99 WHERE rowid = 0")
    return db


def test_an_audit_that_saw_the_records_is_current(made: Path, tmp_path: Path) -> None:
    with open_results(made) as results:
        assert AuditRows(results).stale is None
    said, noted = run("report", "--db", made, "--out", tmp_path / "r.html", "--no-pdf")
    assert "note:" not in noted
    assert 'class="note alarm"' not in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert said.startswith(str(tmp_path / "r.html"))


def test_one_file_has_one_title_whoever_writes_the_report(made: Path, tmp_path: Path) -> None:
    run("report", "--db", made, "--out", tmp_path / "command.html", "--no-pdf")
    with open_database(made) as results:
        results.report(tmp_path / "python.html")
    write_study(made, tmp_path / "study", title=None, pdf=False)
    for page in ("command.html", "python.html", "study/report.html"):
        assert "<h1>Audit report: mine</h1>" in (tmp_path / page).read_text(encoding="utf-8"), page


def test_replaced_values_make_the_audit_older_although_nothing_counts_differently(older: Path, tmp_path: Path) -> None:
    page, tables, figures = tmp_path / "r.html", tmp_path / "t", tmp_path / "f"
    for args in (
        ("report", "--out", page, "--no-pdf"),
        ("tables", "--out", tables, "--format", "tex,md"),
        ("figures", "mine-forest", "--out", figures, "--format", "svg"),
    ):
        _, noted = run(*args, "--db", older)
        assert OLDER in noted, args
        assert "orledger audit" in noted
    text = page.read_text(encoding="utf-8")
    assert text.index('class="note alarm"') < text.index('id="overview"')
    assert OLDER in text
    assert "8 cells and 16 records" in text
    assert "newest audit" in (tables / "mine-pairs.md").read_text(encoding="utf-8")
    assert OLDER in (tables / "tables.tex").read_text(encoding="utf-8")
    assert OLDER in (tables / "numbers.tex").read_text(encoding="utf-8")
    assert "newest audit" in (figures / "captions.md").read_text(encoding="utf-8")
    run("audit", "--db", older)
    _, noted = run("report", "--out", page, "--no-pdf", "--db", older)
    assert OLDER not in noted
    assert OLDER not in page.read_text(encoding="utf-8")


def test_the_explorer_says_above_every_page_that_the_audit_is_older(older: Path, made: Path) -> None:
    for path, there in ((older, True), (made, False)):
        with TestClient(application(Explorer(path)), base_url="http://localhost") as client:
            for address in ("/", "/hypothesis/mine", "/table/mine-pairs", "/cells"):
                page = client.get(address).text
                assert (OLDER in page) == there, address


def test_a_hypothesis_registered_or_amended_after_the_audit_is_not_judged_and_named(db: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(db), read_only=True) as con:
        ((text,),) = con.execute("SELECT text FROM registration").fetchall()
    page, tables, file = tmp_path / "r.html", tmp_path / "t", tmp_path / "mine.toml"
    for name, changed in (
        ("mine", text.replace('statement = "', 'statement = "Amended: ', 1)),
        ("other", text.replace('id = "mine"', 'id = "other"', 1)),
    ):
        assert changed != text
        file.write_text(changed, encoding="utf-8")
        run("register", file, "--db", db, "--amend")
        _, noted = run("report", "--db", db, "--out", page, "--no-pdf")
        run("tables", "--db", db, "--out", tables, "--format", "tex")
        with TestClient(application(Explorer(db)), base_url="http://localhost") as client:
            places = (noted, page.read_text("utf-8"), (tables / "tables.tex").read_text("utf-8"), client.get("/").text)
        for said in places:
            assert f"did not judge the text of today: {name};" in said
            assert OLDER not in said
        run("audit", "--db", db)
        _, noted = run("report", "--db", db, "--out", page, "--no-pdf")
        assert "text of today" not in noted


def test_a_database_changed_by_another_program_is_printed_with_a_banner_and_exit_code_6(
    edited: Path, tmp_path: Path
) -> None:
    page, tables, figures = tmp_path / "r.html", tmp_path / "t", tmp_path / "f"
    for args in (
        ("report", "--out", page, "--no-pdf"),
        ("tables", "--out", tables, "--format", "tex,md"),
        ("figures", "mine-forest", "--out", figures, "--format", "svg"),
    ):
        _, noted = run(*args, "--db", edited, code=6)
        assert "the content hash differs" in noted, args
        assert "orledger verify" in noted
    text = page.read_text(encoding="utf-8")
    assert text.index(EDITED) < text.index('id="overview"')
    assert all(EDITED in file.read_text(encoding="utf-8") for file in tables.iterdir())
    assert EDITED in (figures / "captions.md").read_text(encoding="utf-8")
    said, _ = run("report", "--out", page, "--no-pdf", "--db", edited, "--json", code=6)
    assert json.loads(said)["files"][0]["path"] == str(page)


def test_an_empty_entry_is_missing_and_nobody_declined(tmp_path: Path) -> None:
    rows = [{**row, "forest": None} if row["dataset"] in "ab" else row for row in ROWS]
    with study_from(rows, "mine", tmp_path / "mine.duckdb", better="higher") as results:
        page = results.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "No arm declined inside a cell, and 2 entries of the imported results are missing (" in page
    assert "No whole cell is refused, failed or not run." in page


def test_a_report_from_python_says_it_too(edited: Path, tmp_path: Path) -> None:
    with open_database(edited) as results:
        assert EDITED in results.report(tmp_path / "r.html").read_text(encoding="utf-8")


def test_the_findings_begin_with_it(audited_file: Path) -> None:
    con = synthetic_db.copied(audited_file)
    con.execute("DELETE FROM record WHERE cell_id = (SELECT min(cell_id) FROM cell WHERE case_name = 'c')")
    above = findings(synthetic_db.Adapter(con), changed=f"{EDITED} (1 finding).").split("## Hypotheses")[0]
    assert OLDER in above
    assert EDITED in above

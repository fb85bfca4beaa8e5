"""All tables in one LaTeX document, the macros, the check of a paper and the command."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic_db
from click.testing import CliRunner
from hand_made import made

from orledger.cli import main
from orledger.reports.tables import building
from orledger.reports.tables import format as rules
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.numbers import macro_name, macros, numbers_tex
from orledger.reports.tables.stale import check, definitions
from orledger.reports.tables.table import Column, Group, Row, Table
from orledger.reports.tables.values import Count, MedianIQR, Number, Text
from orledger.reports.tables.writing import write_tables
from orledger.schema.opening import connect

PDFLATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "results.duckdb"
    con = connect(path, "write")
    synthetic_db.build(con, a_seeds=3, b_seeds=2, c_seeds=3, gap_seeds=3, points=16, cert_levels=(0.0, 1e-3, 1e-2))
    con.close()
    return path


@pytest.fixture(scope="module")
def built(db):
    con = connect(db, "read")
    tables = build_tables(synthetic_db.Adapter(con))
    con.close()
    return tables


def compile_tex(folder, name):
    return subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.latex
@PDFLATEX
def test_all_tables_compile_with_booktabs_only_and_fit_the_page(built, tmp_path):
    write_tables(built, tmp_path, ["tex"], built[0].database)
    packages = re.findall(r"\\usepackage(?:\[.*?\])?\{(.*?)\}", (tmp_path / "tables.tex").read_text())
    assert packages == ["booktabs"]
    done = compile_tex(tmp_path, "tables.tex")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert "Float too large" not in done.stdout


@pytest.mark.latex
@PDFLATEX
def test_macros_work_in_text_and_in_formulas(built, tmp_path):
    (tmp_path / "numbers.tex").write_text(numbers_tex(macros(built), "a" * 64))
    uses = "".join(f"\\{m.name}{{}} $\\{m.name}$\n\n" for m in macros(built) if "Full" not in m.name)
    (tmp_path / "p.tex").write_text(
        "\\documentclass{article}\\input{numbers}\\begin{document}" + uses + "\\end{document}"
    )
    done = compile_tex(tmp_path, "p.tex")
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.usefixtures("past_the_ledger")
def test_two_builds_are_byte_identical(db, built, tmp_path):
    """Those of the command and those of a function call that other tests have read from since."""
    formats = ["tex", "csv", "md", "html"]
    words = ["tables", "--db", str(db), "--out", str(tmp_path / "one"), "--format", ",".join(formats)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    (tmp_path / "two").mkdir()
    write_tables(built, tmp_path / "two", formats, built[0].database)
    files = [{p.name: p.read_bytes() for p in (tmp_path / folder).iterdir()} for folder in ("one", "two")]
    assert files[0] == files[1]
    assert len(files[0]) == 26 * 5 + 2  # four formats, and what stands beside a CSV file


def test_macro_names_have_letters_only_and_spell_digits():
    assert macro_name("A16", "rel 0.001", "M/o") == "orlAOneSixRelZeroPointZeroZeroOneMO"
    assert macro_name("A", "rel 1e-05", "n") == "orlARelOneEMinusZeroFiveN"
    assert macro_name("Barms", "iid or1_nf", "coverage") == "orlBarmsIidOrOneNfCoverage"


def test_every_macro_is_unique_and_made_of_letters(built):
    names = [m.name for m in macros(built)]
    assert len(names) == len(set(names)) > 1000
    assert all(re.fullmatch("orl[A-Z][A-Za-z]*", n) for n in names)
    assert not any(m.note for m in macros(built))  # our own keys never collide


def table_of(value, key="row"):
    return Table(Text("c"), (Column("x", Text("x")),), (Group((Row(key, (value,)),)),), name="T", title="t")


def test_composite_cells_give_their_parts():
    found = {m.name: m.body for m in macros([table_of(MedianIQR(1.5, 1.0, 2.0, rules.fixed(1)))])}
    assert found == {
        "orlTRowX": r"\ensuremath{1.5}", "orlTRowXLow": r"\ensuremath{1.0}", "orlTRowXHigh": r"\ensuremath{2.0}",
        "orlTRowXFull": r"\ensuremath{1.5} [\ensuremath{1.0}, \ensuremath{2.0}]",
    }  # fmt: skip
    assert {m.name for m in macros([table_of(Count(3, 7))])} == {"orlTRowX", "orlTRowXHits", "orlTRowXTotal"}


def test_names_from_data_that_spell_alike_are_told_apart():
    rows = (Row("a b", (Number(1, rules.INTEGER),)), Row("a-b", (Number(2, rules.INTEGER),)))
    found = macros([Table(Text("c"), (Column("x", Text("x")),), (Group(rows),), name="T", title="t")])
    assert [m.body for m in found] == [r"\ensuremath{1}", r"\ensuremath{2}"]
    assert len({m.name for m in found}) == 2
    assert all(re.fullmatch("orlTABX[A-Z][a-z]{5}", m.name) for m in found)


def test_definitions_are_read_with_nested_braces():
    text = r"\newcommand{\orlA}{\ensuremath{9{,}018}} \providecommand\orlB{x\}y} \def\orlC{z}"
    assert definitions(text) == {"orlA": r"\ensuremath{9{,}018}", "orlB": r"x\}y", "orlC": "z"}


def test_the_check_tells_stale_undefined_unused_and_unwritten_apart(tmp_path):
    current = macros([table_of(Count(3, 7))])
    (tmp_path / "numbers.tex").write_text(r"\newcommand{\orlTRowX}{\ensuremath{2/7}}" + "\n")
    paper = tmp_path / "paper.tex"
    paper.write_text(
        "\\input{numbers}\\input{gone}\n% \\orlComment\n\\orlTRowX{} \\orlNoSuch{} \\orlTRowXHits{} 100\\% \\orlTRowX\n"
    )
    found = check(paper, current, {}, "f" * 64)
    assert found.used == ("orlTRowX", "orlNoSuch", "orlTRowXHits")
    assert [(s.name, s.written, s.current) for s in found.stale] == [
        ("orlTRowX", r"\ensuremath{2/7}", r"\ensuremath{3/7}")
    ]
    assert found.undefined == ("orlNoSuch",)
    assert found.unwritten == ("orlTRowXHits",)
    assert found.unused == ("orlTRowXTotal", "orlDatabase")
    assert found.missing_files == ("gone",)
    assert not found.clean


def test_a_name_that_stands_for_another_number_than_the_paper_was_written_with_is_said(tmp_path):
    (tmp_path / "numbers.tex").write_text(numbers_tex(macros([table_of(Count(3, 7), "caf\xe9")]), "f" * 64))
    (tmp_path / "paper.tex").write_text("\\input{numbers}\\orlTCafX{}\n")
    assert check(tmp_path / "paper.tex", macros([table_of(Count(3, 7), "caf\xe9")]), {}, "f" * 64).clean
    found = check(tmp_path / "paper.tex", macros([table_of(Count(3, 7), "caf")]), {}, "f" * 64)
    assert [(m.name, m.written, m.current) for m in found.moved] == [
        ("orlTCafX", "table T, row caf\xe9, column x", "table T, row caf, column x")
    ]
    assert (found.stale, found.undefined, found.clean) == ((), (), False)


def test_a_table_file_with_a_hyphen_in_its_name_is_compared_too(tmp_path):
    (tmp_path / "m-results.tex").write_text(f"% orledger table m-results\n% database {'a' * 64}\nold\n")
    (tmp_path / "paper.tex").write_text("\\input{m-results}\n")
    found = check(tmp_path / "paper.tex", [], {"m-results": "new"}, "f" * 64)
    assert [s.name for s in found.stale] == ["table m-results"]


@pytest.mark.usefixtures("past_the_ledger")
def test_the_command_checks_a_paper_and_exits_with_6_when_the_database_moved(tmp_path, monkeypatch):
    """Two tables stand for all that are offered."""
    every = building.declared
    monkeypatch.setattr(building, "declared", lambda *chosen: {n: every(*chosen)[n] for n in ("Barms", "Bgap")})
    run, db = CliRunner(), tmp_path / "small.duckdb"
    with connect(db, "write") as con:
        synthetic_db.build(con, cases="b", datasets=("yacht",), b_seeds=1, gap_seeds=2, points=9)
    assert run.invoke(main, ["tables", "--db", str(db), "--out", str(tmp_path)]).exit_code == 0
    paper = tmp_path / "paper.tex"
    paper.write_text(
        "\\documentclass{article}\\input{numbers}\\begin{document}\\orlBarmsIidCpCoverage{}\\input{Barms.tex}\\end{document}"
    )
    clean = run.invoke(main, ["tables", "--db", str(db), "--check", str(paper)])
    assert clean.exit_code == 0, clean.output
    assert "none of its numbers" not in clean.output
    typed = tmp_path / "typed.tex"
    typed.write_text("\\begin{document}The coverage is 0.123.\\end{document}")
    bare = run.invoke(main, ["tables", "--db", str(db), "--check", str(typed)])
    assert bare.exit_code == 0, bare.output
    assert "inputs no table, so none of its numbers was compared with the database" in " ".join(bare.output.split())
    typed.write_text("\\begin{document}\\input{Barms.tex}\\end{document}")
    assert "none of its numbers" not in run.invoke(main, ["tables", "--db", str(db), "--check", str(typed)]).output
    moved = tmp_path / "moved.duckdb"
    shutil.copy(db, moved)
    con = connect(moved, "write")
    con.execute("UPDATE record SET value = value / 2 WHERE arm = 'cp' AND metric = 'coverage'")
    con.close()
    stale = run.invoke(main, ["tables", "--db", str(moved), "--check", str(paper)])
    assert stale.exit_code == 6
    assert "orlBarmsIidCpCoverage" in stale.output
    assert "table Barms" in stale.output


def test_named_tables_and_bad_names(db, tmp_path):
    run = CliRunner()
    result = run.invoke(main, ["tables", "C", "Cinv", "--db", str(db), "--out", str(tmp_path), "--format", "csv"])
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "C.csv",
        "C.csv-metadata.json",
        "Cinv.csv",
        "Cinv.csv-metadata.json",
    ], result.output
    assert run.invoke(main, ["tables", "D", "--db", str(db)]).exit_code == 2
    assert run.invoke(main, ["tables", "--format", "docx", "--db", str(db)]).exit_code == 2
    assert "Ckappa" in run.invoke(main, ["tables", "--list"]).output


def test_the_macros_named_in_the_documentation_exist(built):
    have = {m.name for m in macros(built)}
    for arms in (["A"], ["A-1", "A1"]):  # of a table of results of one's own
        have |= {m.name for m in macros([replace(made(arms, ["d0"]), name="m-results")])}
    page = Path(__file__).parents[2] / "docs" / "tables.md"
    named = set(re.findall(r"\b(orl[A-Z][A-Za-z]+)", page.read_text(encoding="utf-8")))
    assert named
    assert named <= have

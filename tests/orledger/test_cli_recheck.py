"""``orledger recheck``: any paper from the command line, every output, every exit code."""

import csv
import json

import pytest
from click.testing import CliRunner
from scipy import stats

from orledger.cli import main
from orledger.reports.report.document import stored_findings
from orledger.schema.opening import writing
from orledger.schema.reading import open_results

WRONG = "# Results\n\nWe won 12 of 40 games (31%) & <b>lost</b> the rest, $t(28) = 2.20$, p = .06.\n"
RIGHT = "# Results\n\nWe won 12 of 40 games (30%) and lost the rest.\n"
NOTES = """
place = "results"
number = [
  { id = "won", printed = "12", kind = "count", meaning = "games won" },
  { id = "games", printed = "40", kind = "count", meaning = "games" },
  { id = "share", printed = "31", kind = "percentage", meaning = "share of games won" },
]
[[check]]
target = "share"
rule = "ratio"
scale = 100.0
of = ["won", "games"]
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.md").write_text(WRONG)
    (tmp_path / "right.md").write_text(RIGHT)
    (tmp_path / "notes.toml").write_text(NOTES)
    return lambda *words: CliRunner().invoke(main, ["recheck", *words])


def test_a_paper_without_findings_ends_with_zero(run):
    done = run("right.md")
    assert done.exit_code == 0
    assert done.output == "1 check: 1 matches\n"


def test_findings_end_with_six_and_say_where_what_and_why(run):
    done = run("wrong.md")
    assert done.exit_code == 6
    assert "Traceback" not in done.output
    assert "1. inconsistent" in done.output
    assert "wrong.md:3, Results" in done.output
    low, high = (2 * stats.t.sf(t, 28) for t in (2.205, 2.195))
    words = f"printed t(28) = 2.20, p = .06, recomputed p = {low:.4g} to {high:.4g}; on the other side of 0.05"
    assert words in done.output
    assert "12/40 = 30" in done.output
    assert "| We won 12 of 40 games (31%)" in done.output
    assert "error: 2 checks with 2 causes do not simply match" in done.output


def test_annotations_add_their_checks_with_file_and_line(run):
    done = run("wrong.md", "--annotations", "notes.toml", "--json")
    assert done.exit_code == 6
    found = json.loads(done.output[: done.output.rindex("}") + 1])
    (annotated,) = [f for f in found["findings"] if f["id"] == "share ratio"]
    assert (annotated["verdict"], annotated["file"], annotated["line"]) == ("inconsistent", "wrong.md", 3)
    assert annotated["operands"] == ["won", "games"]


def test_every_output_escapes_what_the_paper_says(run, tmp_path):
    done = run("wrong.md", "--html", "o/p.html", "--markdown", "p.md", "--latex", "p.tex", "--csv", "p.csv")
    assert done.exit_code == 6
    page = (tmp_path / "o" / "p.html").read_text()
    assert "&amp;" in page
    assert "<b>lost" not in page
    assert '<a href="#finding-2">2</a>' in page, "an overview that leads to the findings"
    assert page.count("<mark>") == 2, "the printed text is marked in its sentence"
    assert "No reading that was tried fits." in page
    assert "On the other side" in page or "on the other side of 0.05" in page
    assert "\\%" in (tmp_path / "p.tex").read_text()
    assert "\\&" in (tmp_path / "p.tex").read_text()
    assert "share of counts" in (tmp_path / "p.md").read_text()
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert {row["verdict"] for row in rows} == {"inconsistent"}
    assert {row["line"] for row in rows} == {"3"}


def test_findings_are_stored_by_paper_and_replaced(run, tmp_path):
    with writing(tmp_path / "r.duckdb"):
        pass
    for _ in range(2):
        assert run("wrong.md", "--into", "r.duckdb").exit_code == 6
    assert run("right.md", "--into", "r.duckdb").exit_code == 0
    with open_results(tmp_path / "r.duckdb") as results:
        rows = results.con.execute("SELECT paper, verdict, line FROM recheck_finding ORDER BY ALL").fetchall()
    assert rows == [("right.md", "matches", 3), ("wrong.md", "inconsistent", 3), ("wrong.md", "inconsistent", 3)]


def test_a_draft_goes_to_a_new_file_and_can_be_used(run, tmp_path):
    assert run("init", "right.md", "--out", "draft.toml").exit_code == 0
    done = run("right.md", "--annotations", "draft.toml")
    assert done.exit_code == 0
    again = run("init", "right.md", "--out", "draft.toml")
    assert again.exit_code == 2
    assert "exists" in again.output
    assert run("init", "right.md").output == (tmp_path / "draft.toml").read_text()


@pytest.mark.parametrize("instead", ["--power", "--uncovered"])
@pytest.mark.parametrize(
    "words",
    [
        ("--html", "o.html"),
        ("--csv", "o.csv"),
        ("--into", "o.duckdb"),
        ("--all",),
        ("--place", "Results"),
        ("--verdict", "matches"),
    ],
)
def test_what_shows_no_findings_writes_none(run, tmp_path, instead, words):
    done = run("wrong.md", "--annotations", "notes.toml", instead, *words)
    assert done.exit_code == 2
    assert f"{words[0]} was given beside {instead}, which shows no findings" in done.output
    assert not list(tmp_path.glob("o.*"))
    assert run("wrong.md", "--power", "--uncovered").exit_code == 2


def test_power_names_what_no_relation_reaches(run, tmp_path):
    (tmp_path / "more.md").write_text(RIGHT + "\nThe price was 1,413.\n")
    done = run("more.md", "--power")
    assert done.exit_code == 0
    assert "in no relation: 1 of 4: more.md:5: 1,413" in done.output
    assert "with every number pinned that others determine or list, and the rest as now:" in done.output
    found = json.loads(run("more.md", "--annotations", "notes.toml", "--power", "--json").output)
    assert set(found) == {"annotated", "without annotation", "together, every number of the document"}
    assert found["annotated"]["places"][-1]["place"] == "all"
    # The three counts and the share of one sentence determine each other; the price stands alone.
    assert [(r["relation"], r["numbers"]) for r in found["without annotation"]["relations"]] == [
        ("follows from others", 3),
        ("in no relation", 1),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["right.md", "--verdict", "nonsense"], "--verdict 'nonsense' is unknown"),
        (["paper.docx"], "does not exist"),
        (["notes.toml"], "of a kind that is not read"),
        (["right.md", "--study", "paper", "-a", "notes.toml"], "both --study and --annotations"),
        (["right.md", "-a", "."], "key"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(run, tmp_path, words, message):
    (tmp_path / "bad.toml").write_text("nonsense = 1\n")
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_the_report_shows_what_was_stored(run, tmp_path):
    with writing(tmp_path / "r.duckdb"):
        pass
    run("wrong.md", "--into", "r.duckdb")
    with open_results(tmp_path / "r.duckdb") as results:
        stored = stored_findings(results)
    assert list(stored) == ["wrong.md"]
    assert [(row["line"], row["verdict"]) for row in stored["wrong.md"]] == [(3, "inconsistent")] * 2
    assert stored["wrong.md"][0]["rule"] == "reported test", "a changed decision comes first"

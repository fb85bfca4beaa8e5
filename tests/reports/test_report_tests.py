"""A row of the report beside the row of the audit: plain p, corrected p, interval, counts, each in its own column."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from explorer_db import fill

from orledger.audit.evaluation.auditing import audit
from orledger.audit.registry.reading import parse_hypothesis
from orledger.cli import main
from orledger.reports.report import pdf
from orledger.reports.report.document import render_report
from orledger.reports.tables.generic_tests import refusal_table
from orledger.schema.reading import open_results

HYPOTHESIS = """
[hypothesis]
id = "pair"
title = "x against z"
mode = "exploratory"
statement = "Nothing is claimed."

[defaults]
case = "mine"
block = "main"
metric = "error"
pair = ["dataset", "seed"]
better = "lower"

[[comparison]]
id = "error"
title = "Error of x against z"
test = "signed_rank"
family = "both"
arms = ["x", "z"]

[[comparison]]
id = "again"
title = "Error of z against x"
test = "sign"
family = "both"
arms = ["z", "x"]

[disposition]
otherwise = "inconclusive"
otherwise_reason = "no difference"

[[disposition.rule]]
verdict = "supported"
reason = "x is lower"
all = ["error is less"]
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On six seeds x is below z by 1 to 6: p is 2/64 both ways, and twice that for a family of two."""
    path = tmp_path_factory.mktemp("report") / "results.duckdb"
    fill(path)
    audit(path, [parse_hypothesis(HYPOTHESIS, "pair.toml")])
    return path


def test_every_number_of_a_test_stands_in_its_own_column(judged: Path) -> None:
    with open_results(judged) as results:
        page = render_report(results)
        (population,) = results.sql("SELECT population FROM disposition").row(0)
        rows = results.sql(
            "SELECT comparison, test_id FROM test_result WHERE variant = 'declared' ORDER BY comparison"
        ).rows()
    cells = {}
    for name, test_id in rows:
        row = page[page.index(f'id="test-{test_id}"') :]
        cells[name] = re.findall(r"<td[^>]*>([^<]*)</td>", row[: row.index("</tr>")])[-7:]
    # effect, interval, p, Holm, floor, n, won/lost/drawn
    assert cells["error"] == ["−3.5", "[−6, −1]", "0.0312", "0.0625", "0.0312", "6", "6 / 0 / 0"]
    assert cells["again"][2:] == ["0.0312", "0.0625", "0.0312", "6", "0 / 6 / 0"]
    first = page[page.index("What to know first") : page.index("</section>")]
    assert f"What was found speaks about {population}, and about nothing else." in first


def test_the_printed_report_has_the_same_columns(judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []

    def kept(folder: Path, name: str, _latex: str) -> Path:
        texts.append((folder / f"{name}.tex").read_text(encoding="utf-8"))
        return folder / f"{name}.tex"

    monkeypatch.setattr(pdf, "compile_document", kept)
    with open_results(judged) as results:
        pdf.write_pdf(results, tmp_path / "report.pdf", latex="pdflatex")
    (row,) = re.findall(r"^\\multicolumn.*Error of x against z.*\n(.*)$", texts[0], re.MULTILINE)
    assert re.findall(r"\d[\d.]*", row.split("\\tabularnewline")[0])[-5:] == ["3.5", "0.0312", "0.0625", "0.0312", "6"]


def test_a_printed_report_of_any_study_flows_and_says_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"d{k},{0.8 + k / 100:.2f},{0.7 + k / 200:.3f},{0.75 + k / 150:.3f}\n" for k in range(30))
    (tmp_path / "m.csv").write_text(f"dataset,A,B,C\n{rows}")
    done = CliRunner().invoke(main, ["study", "m.csv", "--better", "higher", "--no-pdf"])
    assert done.exit_code == 0, done.output
    texts = {}

    def kept(folder: Path, name: str, _latex: str) -> Path:
        texts.update({p.stem: p.read_text(encoding="utf-8") for p in folder.glob("*.tex")})
        return folder / f"{name}.tex"

    monkeypatch.setattr(pdf, "compile_document", kept)
    with open_results(tmp_path / "m.duckdb") as results:
        pdf.write_pdf(results, tmp_path / "report.pdf", latex="pdflatex")
        (ranks,) = results.sql("SELECT count(*) FROM newest_tests WHERE test = 'mean_ranks' AND effect IS NULL").row(0)
    report = texts["report"]
    # The summary and the pairs are floats, the thirty rows of results go on after them; verdicts and tests are said elsewhere.
    assert re.findall(r"\\input\{(.*)\.tex\}", report) == ["m-summary", "m-pairs", "m-results"]
    assert report.index("m-pairs.tex") < report.index("\\floatsout\n\\input{m-results.tex}")
    assert r"\begin{longtable}" in texts["m-results"]
    measured = report[report.index(r"\section{Measured, not tested}") :]
    assert (ranks, "Median of A" in measured, "Mean ranks" in measured) == (1, True, False)
    assert report.count(r"\clearpage") == 2  # what the two commands that ask for room consist of


def test_the_most_frequent_reason_of_an_arm_comes_first() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE all_refusals (case_name TEXT, cell_id TEXT, arm TEXT, refused TEXT)")
    rows = [("b", "rare", 1), ("a", "rare", 1), ("a", "often", 3), ("a", "equal", 1)]
    for arm, reason, times in rows:
        for k in range(times):
            con.execute("INSERT INTO all_refusals VALUES ('mine', ?, ?, ?)", [f"c{k}", arm, reason])
    con.execute("INSERT INTO all_refusals VALUES ('other', 'c9', 'a', 'elsewhere')")

    class Memory:
        def sql(self, query: str) -> pl.DataFrame:
            answer = con.execute(query)
            return pl.DataFrame(answer.fetchall(), schema=[d[0] for d in answer.description], orient="row")

    table = refusal_table(Memory(), "mine")
    found = [(r.cells[0].text, r.cells[1].text, r.cells[2].value) for r in table.rows()]
    assert found == [("a", "often", 3), ("a", "equal", 1), ("a", "rare", 1), ("b", "rare", 1)]

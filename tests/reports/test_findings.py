"""The findings document: every hypothesis beside the paper's, every table counted, nothing unescaped."""

import pytest

from orledger.reports.differences import AGREE, APART, Difference
from orledger.reports.findings import findings, paper, table_lines
from orledger.reports.tables import TABLES


@pytest.fixture(scope="module")
def document(audited):
    return findings(audited, "synthetic.duckdb")


def test_every_hypothesis_stands_beside_the_papers_conclusion(document):
    for name, entry in paper()["hypothesis"].items():
        assert f"| {name} |" in document
        assert entry["words"] in document


def test_rows_of_the_table_have_equal_numbers_of_columns(document):
    lines = document.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| table |"))
    rows = [line for line in lines[start : start + 40] if line.startswith("|")]
    assert len(rows) > 20
    assert len({row.count("|") for row in rows}) == 1


def test_hostile_text_is_escaped(document):
    assert "<script>" not in document
    assert "| x |" not in document
    assert "alert" in document


def test_reasons_name_tables_that_exist():
    assert {t for gap in paper()["gap"] for t in gap["tables"]} <= set(TABLES)


def test_a_tables_line_counts_verdicts_and_names_the_farthest():
    def pair(row, ours, verdict):
        return Difference("A", row, "gain", "1.0", 1.0, ours, ours, verdict)

    (line,) = table_lines([pair("x", 1.0, AGREE), pair("y", 5.0, APART), pair("z", 0.1, APART)])
    assert line.counts == {AGREE: 1, APART: 2}
    assert [d.row for d in line.farthest] == ["z", "y", "x"]

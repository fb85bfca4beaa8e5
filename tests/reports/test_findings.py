"""The findings document: every hypothesis beside the paper's, every table counted, nothing unescaped."""

import pytest
import synthetic_db

from orledger.audit.recheck import CONVENTION, MATCHES, Finding
from orledger.reports.differences import AGREE, APART, Difference
from orledger.reports.findings import conventions, findings, paper, table_lines
from orledger.reports.ledger import ARM_REFUSALS
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
    assert [d.row for d in line.farthest] == ["z", "y"], "what agrees is not apart"


def test_conventions_are_grouped_the_most_frequent_first():
    def check(place, printed, verdict, convention):
        return Finding("id", place, printed, "", None, None, verdict, "same", convention, "", ())

    found = conventions(
        [
            check("Case A, accuracy", "7", MATCHES, "exact"),
            check("Table C (Case C, regret), row x, column p", "0.1", CONVENTION, "one-sided"),
            check("Case B, scope", "73", CONVENTION, "a third seed"),
            check("Table C (Case C, regret), row y, column p", "0.2", CONVENTION, "one-sided"),
        ]
    )
    assert [(c.name, c.printed, c.places) for c in found] == [
        ("one-sided", ("0.1", "0.2"), ("Table C",)),
        ("a third seed", ("73",), ("Case B, scope",)),
    ]


def test_refusals_that_differ_in_numbers_only_are_one_line():
    con = synthetic_db.connect()
    con.execute(
        "INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, state) VALUES "
        + ", ".join(f"('{i}', 'b', 'main', 'b/main/{i}', MAP {{}}, '{{}}', '1', 'done')" for i in range(4))
    )
    con.executemany(
        "INSERT INTO refusal VALUES (?, 'or1', ?, ?)",
        [
            ["0", "eta = 3.5 is below 4.25 (or1)", -0.75],
            ["1", "eta = 1e-3 is below 2 (or1)", -1.999],
            ["2", "eta = 3.5 is below 4.25 (or2)", -0.75],
            ["3", "the fit failed", None],
        ],
    )
    rows = synthetic_db.Adapter(con).sql(ARM_REFUSALS).to_dicts()
    assert [(r["reason"], r["cells"], r["smallest_margin"], r["largest_margin"]) for r in rows] == [
        ("eta = 3.5 is below 4.25 (or2)", 1, -0.75, -0.75),
        ("eta = … is below … (or1)", 2, -1.999, -0.75),
        ("the fit failed", 1, None, None),
    ]

"""The findings document: every hypothesis beside the paper's, every table counted, nothing unescaped."""

from dataclasses import replace

import pytest
import synthetic_db

from orledger.audit.datasets.origins import Trust, trust
from orledger.audit.recheck.findings import Finding
from orledger.audit.recheck.model import CheckVerdict
from orledger.paper.printed import PRINTED
from orledger.reports.report.differences import AGREE, APART, Difference, table_lines
from orledger.reports.report.findings import conventions, findings, smaller
from orledger.reports.report.ledger import ARM_REFUSALS, gather
from orledger.reports.source import database_hash
from orledger.reports.tables.building import build, declared
from orledger.reports.tables.table import empty


@pytest.fixture(scope="module")
def document(audited):
    return findings(audited)


def test_every_hypothesis_stands_beside_the_papers_conclusion(document):
    for name, entry in PRINTED.conclusions.items():
        assert f"| {name} |" in document
        assert entry.words in document


def test_rows_of_the_table_have_equal_numbers_of_columns(document):
    lines = document.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| table |"))
    rows = [line for line in lines[start : start + 40] if line.startswith("|")]
    assert len(rows) > 20
    assert len({row.count("|") for row in rows}) == 1


def test_without_an_audit_the_command_that_makes_one_stands_in_place_of_the_verdicts(document):
    con = synthetic_db.filled(cases="b", b_seeds=1, gap_seeds=2, points=9, datasets=("diabetes",))
    text = findings(synthetic_db.Adapter(con))
    verdicts = text.split("## Hypotheses")[1].split("## Tables")[0]
    assert "No audit has been stored" in verdicts
    assert "`orledger audit` makes one" in verdicts
    assert "|" not in verdicts
    assert "No audit has been stored" not in document


@pytest.mark.parametrize(("presets", "said"), [
    (["smoke"], "Computed with preset smoke: 12 cells, which are fewer"),
    (["open", "smoke", "smoke"], "Computed with preset open and smoke: 12 cells,"),
    (["smoke", "paper"], ""),
    ([], ""),
])  # fmt: skip
def test_another_preset_than_that_of_the_publication_is_named_with_its_cells(audited, presets, said):
    blocks = [{"done": 5}, {"done": 7}]
    ledger = replace(gather(audited), runs=[{"preset": name} for name in presets], blocks=blocks)
    found = smaller(ledger, PRINTED)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_the_document_begins_with_the_preset(document):
    assert "Computed with preset synthetic: " in document.split("## Hypotheses")[0]


def test_hostile_text_is_escaped(document):
    assert "<script>" not in document
    assert "| x |" not in document
    assert "alert" in document


def test_reasons_name_tables_that_exist():
    assert {t for reason in PRINTED.reasons for t in reason.tables} <= set(declared())


def test_a_tables_line_counts_verdicts_and_names_the_farthest():
    def pair(row, ours, verdict):
        return Difference("A", row, "gain", "1.0", 1.0, ours, ours, verdict)

    found = [pair("x", 1.0, AGREE), pair("y", 5.0, APART), pair("z", 0.1, APART)]
    (line,) = table_lines(found, [empty("A", "a table", "nothing")], PRINTED)
    assert line.counts == {AGREE: 1, APART: 2}
    assert [d.row for d in line.farthest] == ["z", "y"], "what agrees is not apart"


def test_conventions_are_grouped_the_most_frequent_first():
    def check(place, printed, verdict, convention):
        return Finding("id", place, printed, "", None, None, verdict, "same", convention, "", ())

    found = conventions(
        [
            check("Case A, accuracy", "7", CheckVerdict.MATCHES, "exact"),
            check("Table C (Case C, regret), row x, column p", "0.1", CheckVerdict.CONVENTION, "one-sided"),
            check("Case B, scope", "73", CheckVerdict.CONVENTION, "a third seed"),
            check("Table C (Case C, regret), row y, column p", "0.2", CheckVerdict.CONVENTION, "one-sided"),
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


def test_the_findings_name_the_database_by_the_hash_that_the_tables_carry(audited, document):
    assert database_hash(audited) in document
    assert build(declared()["dictionary"], audited).database == database_hash(audited)
    assert ".duckdb" not in document


def test_datasets_from_a_data_directory_are_named_as_not_compared_with_their_source():
    con = synthetic_db.filled(cases="b", b_seeds=1, gap_seeds=2, points=9, datasets=("diabetes", "yacht"))
    con.execute(
        "UPDATE dataset SET origin = 'user file yacht.csv (not compared with OpenML 42370)' WHERE name = 'yacht'"
    )
    con.execute("UPDATE dataset SET origin = 'scikit-learn load_diabetes' WHERE name = 'diabetes'")
    assert gather(synthetic_db.Adapter(con)).unchecked_datasets == ["yacht"]


def test_the_origin_of_a_user_file_says_that_it_was_not_compared(tmp_path):
    from orledger.runners.case_b.data import SOURCES, load, subsample

    rows = "\n".join(",".join(str(i * 7 + j) for j in range(7)) for i in range(308))
    (tmp_path / "yacht.csv").write_text("a,b,c,d,e,f,residuary_resistance\n" + rows)
    table = load("yacht", str(tmp_path))
    assert trust(table.origin) == trust(subsample(table, 100, 0).origin) == Trust.UNCHECKED
    assert {trust(source.origin) for source in SOURCES.values()} == {Trust.SOURCE}


def test_reasons_that_disclose_a_choice_are_marked():
    marked = {r.number: (r.in_view, r.after_run) for r in PRINTED.reasons}
    told = {r.number for r in PRINTED.reasons if "in view" in r.text or "near the paper" in r.text}
    assert told
    assert all(marked[n][0] for n in told)

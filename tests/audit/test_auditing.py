"""The audit of a whole database: rows, repeatability, and the way back from a verdict to its records."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest
import synthetic_db
from hypothesis_text import framed
from scipy.stats import binom
from synthetic_db import audit

from orledger import studies
from orledger.audit.evaluation.auditing import audit as audit_file
from orledger.audit.evaluation.power import power
from orledger.audit.evaluation.summary import audit_data, audit_lines
from orledger.audit.registry.hypotheses import MEASURING
from orledger.audit.registry.reading import parse_hypothesis, read_hypothesis, shipped_hypotheses
from orledger.audit.registry.registration import current_registrations, register, register_descriptions
from orledger.audit.registry.words import Registered
from orledger.schema.reading import Results, open_results
from orledger.study import Case, Study

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
TABLES = ("audit", "test_result", "claim", "disposition")


@pytest.fixture(scope="module")
def audited(made_once):
    """The made-up database of the report tests, and what its audit found."""
    path = made_once("audited/results.duckdb", synthetic_db.make_audited)
    return synthetic_db.copied(path), pickle.loads(path.with_name(synthetic_db.FOUND).read_bytes())


def rows(con):
    return {t: con.execute(f"SELECT * FROM {t} ORDER BY ALL").fetchall() for t in TABLES}


def test_every_hypothesis_has_a_disposition_with_a_reason(audited):
    con, found = audited
    stored = con.execute("SELECT hypothesis, verdict, reason FROM disposition ORDER BY 1").fetchall()
    assert [r[0] for r in stored] == ["H1", "H2", "H3", "H4", "H5"]
    assert all(r[2] for r in stored)
    assert [f.decision.verdict for f in found.findings if f.decision] == [r[1] for r in stored]
    assert {f.hypothesis.id for f in found.findings if f.decision is None} == {"CaseA", "CaseB", "CaseC"}


def test_descriptions_join_the_registrations_of_a_database_that_has_their_cases():
    """A database registered before a description was written gets it with its next audit, as a row after the data."""
    con = synthetic_db.filled(cases="b", datasets=("yacht",), b_seeds=1, gap_seeds=2)
    register(con, next(h for h in shipped_hypotheses() if h.id == "H3"))
    assert [(r.hypothesis, r.cells_done > 0) for r in register_descriptions(con)] == [("CaseB", True)]
    assert register_descriptions(con) == []


def test_a_database_without_registrations_gets_those_of_its_studies_after_the_data(tmp_path, toy_db, monkeypatch):
    """Each counts every cell as done before it; a study without cells here is not asked."""
    path = shutil.copy(toy_db, tmp_path / "toy.duckdb")
    with open_results(path) as results:
        assert current_registrations(results.con) == []
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    text = framed('[[claim]]\nid = "w"\nstatement = "s"\nkind = "at_most"\narm = "standard"\nmetric = "mean"\nlimit = 9.0',
                  ("seed",), "w holds").replace('case = "t"', 'case = "toy"')  # fmt: skip
    for folder in (here, elsewhere):
        (folder / "hypotheses").mkdir(parents=True)
        (folder / "hypotheses" / "x.toml").write_text(text.replace('id = "X"', f'id = "{folder.name}"'))
    lab = Study("lab", cases=(Case("toy"),), hypotheses="hypotheses", path=str(here))
    other = Study("other", cases=(Case("absent"),), hypotheses="hypotheses", path=str(elsewhere))
    monkeypatch.setattr(studies, "installed", lambda: (lab, other))
    (found,) = audit_file(path).findings
    assert (found.hypothesis.id, found.known, found.registration.cells_done) == ("here", Registered.AFTER, 20)
    assert found.decision is not None


def test_every_comparison_and_claim_has_a_row(audited):
    con, _ = audited
    for h in shipped_hypotheses():
        names = {
            r[0] for r in con.execute("SELECT comparison FROM test_result WHERE hypothesis = ?", [h.id]).fetchall()
        }
        assert names == {c.id for c in h.comparisons}
        names = {r[0] for r in con.execute("SELECT name FROM claim WHERE hypothesis = ?", [h.id]).fetchall()}
        assert names == {c.id for c in h.claims}


def test_a_p_never_stands_alone(audited):
    con, _ = audited
    bad = con.execute(
        "SELECT count(*) FROM test_result WHERE p IS NOT NULL AND (floor IS NULL OR method = '' OR side = '' OR versions = '{}'"
        " OR statistic_name = '' OR p < floor * (1 - 1e-9))"
    ).fetchall()[0][0]
    assert bad == 0


def test_naive_rows_are_marked_and_have_a_blocked_twin(audited):
    con, _ = audited
    naive = con.execute("SELECT count(*) FROM test_result WHERE variant = 'naive' AND independent").fetchall()[0][0]
    assert naive == 0
    lonely = con.execute(
        "SELECT count(*) FROM test_result t WHERE variant = 'naive' AND test <> 'proportion' AND NOT EXISTS"
        " (SELECT 1 FROM test_result b WHERE b.variant = 'blocked' AND b.hypothesis = t.hypothesis AND b.comparison = t.comparison)"
    ).fetchall()[0][0]
    assert lonely == 0


def test_from_a_verdict_to_the_records(audited):
    """Disposition to tests and claims by id, and each test to its values and cells by the query it stores."""
    con, _ = audited
    for ids, table, key in (("test_ids", "test_result", "test_id"), ("claim_ids", "claim", "claim_id")):
        linked = con.execute(f"SELECT unnest({ids}) AS id FROM disposition").fetchall()
        known = {r[0] for r in con.execute(f"SELECT {key} FROM {table}").fetchall()}
        assert {r[0] for r in linked} <= known
    stored = con.execute(
        "SELECT comparison, n, test, variant, units_sql FROM test_result WHERE n > 0"
        " AND test_id IN (SELECT unnest(test_ids) FROM disposition)"
    ).fetchall()
    for name, n, test, variant, sql in stored:
        relation = con.sql(sql)
        assert {"side", "value"} <= set(relation.columns), name
        values = relation.fetchall()
        assert len(values) >= (1 if test == "proportion" else n if variant != "blocked" else 1), name
        if "cell_id" in relation.columns:
            ids = {v[relation.columns.index("cell_id")] for v in values}
            marks = ", ".join("?" * len(ids))
            assert con.execute(f"SELECT count(*) FROM cell WHERE cell_id IN ({marks})", list(ids)).fetchall()[0][
                0
            ] == len(ids)


def test_recomputing_a_stored_test_from_its_own_query(audited):
    """The p of a test row follows from the rows of its query."""
    from orledger.audit.statistics.signedrank import signed_rank

    con, _ = audited
    p, sql = con.execute(
        "SELECT p, units_sql FROM test_result WHERE hypothesis = 'H1' AND comparison = 'rmse/released' AND variant = 'declared'"
    ).fetchall()[0]
    d = con.execute(
        f"SELECT log10(a.value) - log10(b.value) FROM ({sql}) a JOIN ({sql}) b USING (grid, level, seed)"
        " WHERE a.side = 'morozov' AND b.side = 'released'"
    ).fetchall()
    assert signed_rank([r[0] for r in d]).p == p


def test_a_claim_row_keeps_what_it_could_not_look_at(audited):
    """Texts speak against the claim, objects are units without a value; what was observed says how many there are."""
    con, found = audited
    for f in found.findings:
        for c in f.claims:
            (stored,) = con.execute(
                "SELECT counterexamples FROM claim WHERE hypothesis = ? AND name = ?", [f.hypothesis.id, c.claim.id]
            ).fetchone()
            entries = json.loads(stored)
            assert [e for e in entries if isinstance(e, str)] == list(c.counterexamples)
            assert [(e["unit"], e["reason"]) for e in entries if isinstance(e, dict)] == [
                (d.unit, d.reason) for d in c.dropped
            ]
            assert bool(c.dropped) == ("dropped:" in c.observed or "incomplete:" in c.observed), c.claim.id
    assert any(c.dropped for f in found.findings for c in f.claims)


def test_the_floor_of_a_test_is_that_of_its_own_grid(audited):
    con, _ = audited
    floors = dict(con.execute("SELECT name, value FROM claim WHERE name LIKE 'floor-cv/%'").fetchall())
    stored = con.execute("SELECT comparison, noise_floor FROM test_result WHERE hypothesis = 'H1'").fetchall()
    linked = {name.split("/")[0]: floor for name, floor in stored if floor is not None}
    assert linked == {"cv24": floors["floor-cv/24"]}


SMALL = framed('[[comparison]]\nid = "c"\ntitle = "t"\ntest = "sign"\narms = ["a", "b"]', ("k",), "c is less")


def test_auditing_twice_gives_identical_rows(db):
    """The whole corpus is audited again in tests/reports/test_corpus_again.py."""
    claim = '[[claim]]\nid = "w"\nstatement = "s"\nkind = "never_worse"\narms = ["a", "b"]\n[disposition]'
    register(db.con, parse_hypothesis(SMALL.replace("[disposition]", claim), "x.toml"))
    for k in range(7):
        db.cell({"k": k}, [("a", "m", 1.0 + k), ("b", "m", 2.0 + k * k)])
    first = audit(db.con)
    before = rows(db.con)
    assert all(before.values())
    assert audit(db.con).audit_id == first.audit_id
    assert rows(db.con) == before


def test_other_data_make_another_audit(db):
    register(db.con, parse_hypothesis(SMALL, "x.toml"))
    db.cell({"k": 1}, [("a", "m", 1.0), ("b", "m", 2.0)])
    first = audit(db.con)
    db.cell({"k": 2}, [("a", "m", 1.0), ("b", "m", 2.0)])
    second = audit(db.con)
    assert first.audit_id != second.audit_id
    assert db.con.execute("SELECT audit_id, n FROM test_result ORDER BY n").fetchall() == [
        (first.audit_id, 1),
        (second.audit_id, 2),
    ]


def test_summary_for_people_and_for_programs(audited):
    _, found = audited
    text = "\n".join(audit_lines(found))
    assert all(h in text for h in ("H1", "H2", "H3", "H4", "H5"))
    assert "floor" in text
    data = json.loads(json.dumps(audit_data(found)))
    assert {h["id"]: h["mode"] for h in data["hypotheses"]}["H5"] == "exploratory"
    assert len("\n".join(audit_lines(found, every_test=True))) > len(text)
    assert repr(found).startswith(f"audit {found.audit_id}: ")  # what a Python prompt shows
    assert all(f"\n{h}  " in repr(found) for h in ("H1", "H2", "H3", "H4", "H5"))


@pytest.fixture
def filled(made_once):
    """A full database that nobody audited, in memory."""
    return synthetic_db.copied(made_once("synthetic/results.duckdb", synthetic_db.make_filled))


def test_power_looks_at_the_plan_only(filled):
    con = filled
    asked = [h for h in shipped_hypotheses() if h.id in ("H1", "H5")]
    table = {(p.hypothesis, p.comparison): p for p in power(Results(Path("in memory"), con), asked)}
    calibration = table["H1", "rmse/released"]  # five noise draws, shared by the levels, in a family of five
    assert (calibration.planned, calibration.floor, calibration.needed, calibration.decidable) == (
        5,
        5 * 0.0625,
        8,
        False,
    )
    score = table["H5", "score/cp"]  # five datasets, two seeds
    assert (score.planned, score.floor, score.decidable) == (10, 6 * 2.0**-9, True)
    con.execute("BEGIN; DELETE FROM record")
    assert {(p.hypothesis, p.comparison): p for p in power(Results(Path("in memory"), con), asked)} == table
    con.execute("ROLLBACK")


def test_power_counts_the_units_that_are_declared_before_there_are_any():
    """Twelve untied units of which all agree: p = 2 / 2**12, by the sign test and by signed ranks."""
    text = """
    [hypothesis]
    id = "early"
    title = "t"
    mode = "exploratory"
    statement = "s"
    [[comparison]]
    id = "c"
    title = "t"
    test = "sign"
    case = "nowhere"
    block = "main"
    metric = "m"
    pair = ["dataset"]
    arms = ["a", "b"]
    units = 12
    """
    con = synthetic_db.connect()
    (found,) = power(Results(Path("in memory"), con), [parse_hypothesis(text, "early.toml")], 0.9)
    assert (found.planned, found.done, found.floor, found.needed) == (12, 0, 2 / 2**12, 6)
    # a sign test of 12 at 0.05 rejects at 0, 1, 2 and 10, 11, 12 of one sign: 2 * (1 + 12 + 66) / 4096 = 0.0386
    assert found.power == pytest.approx(sum(binom.pmf(k, 12, 0.9) for k in (0, 1, 2, 10, 11, 12)))


def test_power_leaves_estimates_out(filled):
    """A median or a mean rank decides nothing, however many units there are."""
    asked = read_hypothesis(EXAMPLES / "demsar2006.hypotheses.toml")
    measured = {c.id for c in asked.comparisons if c.test in MEASURING}
    listed = {p.comparison for p in power(Results(Path("in memory"), filled), [asked])}
    assert measured
    assert listed == {c.id for c in asked.comparisons} - measured


def test_every_table_and_column_is_described(audited):
    con, _ = audited
    for table in (*TABLES, "registration"):
        missing = con.execute(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND comment IS NULL", [table]
        ).fetchall()
        assert missing == []
        assert con.execute("SELECT comment FROM duckdb_tables() WHERE table_name = ?", [table]).fetchall()[0][0]

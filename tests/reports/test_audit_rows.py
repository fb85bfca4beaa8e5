"""What tables and figures print about a test is a row of the audit; nothing that draws or tabulates can compute one."""

import ast
import json
from importlib.resources import files
from pathlib import Path

import pytest
import synthetic_db

from orledger.reports.audit_rows import NO_AUDIT, AuditRows, Citations
from orledger.reports.source import Source
from orledger.reports.tables.building import build, declared
from orledger.reports.tables.render import plain
from orledger.reports.tables.values import Absent, Join, PValue

FORBIDDEN = ("orledger.audit.statistics", "scipy.stats", "statsmodels", "pingouin", "statistics")


def imported(path: Path) -> set[str]:
    """Every module that a file imports, at its top or inside a function; ``from a import b`` counts as a and a.b."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def statistical(names: set[str]) -> set[str]:
    return {n for n in names if any(n == f or n.startswith(f"{f}.") for f in FORBIDDEN)}


def test_no_report_table_or_figure_imports_a_statistical_test():
    """The rule of the house, over reports/ and the whole of paper/."""
    folders = [Path(str(files(f"orledger.{room}"))) for room in ("reports", "paper")]
    modules = [p for folder in folders for p in folder.rglob("*.py")]
    assert len(modules) > 30
    offenders = {str(p): sorted(bad) for p in modules if (bad := statistical(imported(p)))}
    assert offenders == {}


@pytest.mark.parametrize(
    "line",
    [
        "from orledger.audit.statistics.signedrank import signed_rank",
        "from orledger.audit import statistics",
        "import scipy.stats as st",
        "from scipy import stats",
        "def f():\n    from statsmodels.stats import contingency_tables",
    ],
)
def test_the_rule_sees_every_way_of_importing(tmp_path, line):
    path = tmp_path / "m.py"
    path.write_text(line)
    assert statistical(imported(path))


def test_rows_are_those_of_the_newest_audit_and_the_independent_variant(audited):
    rows = AuditRows(audited)
    stored = audited.sql(
        "SELECT * FROM test_result WHERE hypothesis = 'H5' AND comparison = 'delivery-refusals'"
    ).to_dicts()
    by_variant = {r["variant"]: r for r in stored}
    assert set(by_variant) == {"blocked", "coarser", "naive"}
    row = rows.test("H5/delivery-refusals")
    assert (row.test_id, row.p, row.n) == tuple(by_variant["blocked"][k] for k in ("test_id", "p", "n"))
    assert rows.test("H5/delivery-refusals", "naive").test_id == by_variant["naive"]["test_id"]
    assert rows.test("H5/nothing") is None
    assert {r.comparison for r in rows.tests("H3")} == set(
        audited.sql("SELECT DISTINCT comparison FROM test_result WHERE hypothesis = 'H3'")["comparison"]
    )
    assert rows.claim("H2/global-valid").statement.startswith("No point")
    assert (
        rows.disposition("H1").verdict
        == audited.sql("SELECT verdict FROM disposition WHERE hypothesis = 'H1'")["verdict"][0]
    )
    assert rows.disposition("CaseA") is None  # it describes


def test_a_row_read_from_the_other_side(audited):
    row = AuditRows(audited).test("H4/pooled")
    back = row.reversed()
    assert (back.effect, back.low, back.high) == (-row.effect, -row.high, -row.low)
    assert (back.wins, back.losses, back.p, back.test_id) == (row.losses, row.wins, row.p, row.test_id)
    assert back.reversed() == row
    with pytest.raises(ValueError, match="one-sided"):
        AuditRows(audited).test("H2/global-coverage/0.001").reversed()


def test_a_table_prints_the_audit_and_cites_it(audited):
    """Babl and Battr once printed p-values of their own that contradicted the audit of the same data."""
    rows = AuditRows(audited)
    babl = build(declared()["Babl"], audited)
    p = babl.quotes["drop refusals McNemar p"]
    p = p.parts[0] if isinstance(p, Join) else p
    assert isinstance(p, PValue)
    assert p.p == rows.test("H5/delivery-refusals").p
    assert any(rows.test("H5/delivery-refusals").test_id in q for q in babl.queries)
    assert any(rows.audit_id[:12] in plain(note) for note in babl.notes)
    battr = build(declared()["Battr"], audited)
    cell = battr.quotes["width_mean delivery, dropped p"]
    cell = cell.parts[0] if isinstance(cell, Join) else cell
    assert cell.p == rows.test("H5/delivery-mean").p
    found = {row["test_id"] for q in battr.queries if "test_result" in q for row in audited.sql(q).to_dicts()}
    assert len(found) == 20


def test_without_an_audit_a_table_says_so_and_keeps_its_other_numbers(synthetic):
    table = build(declared()["Babl"], synthetic)
    assert table.quotes["drop refusals McNemar p"] == Absent(NO_AUDIT)
    assert any("orledger audit" in plain(note) for note in table.notes)
    assert next(table.rows()).cells[2].fields()[""] is not None
    assert not any(
        "orledger audit" in plain(note) for note in build(declared()["Barms"], synthetic).notes
    )  # it asks for no test


def test_an_audit_of_other_data_is_called_stale(audited_file):
    con = synthetic_db.copied(audited_file)
    db = synthetic_db.Adapter(con)
    assert AuditRows(db).stale is None
    con.execute("DELETE FROM record WHERE cell_id = (SELECT min(cell_id) FROM cell WHERE case_name = 'c')")
    assert "the newest audit looked at" in AuditRows(db).stale
    assert "The newest audit looked at" in " ".join(plain(n) for n in build(declared()["C"], db).notes)


def test_the_reason_of_an_absent_number_is_the_rows_own(audited):
    source = Source(audited)
    nowhere = source.test("H2/score/nobody")
    assert nowhere == Absent("not in the audit: H2/score/nobody")
    cited = Citations(AuditRows(audited))
    untested = next(r for r in cited.audit.tests("CaseC") if r.outcome in ("missing", "measured"))
    assert untested.outcome in untested.why_absent
    assert untested.method in untested.why_absent


def test_the_details_of_a_row_are_data(audited):
    stored = audited.sql("SELECT details FROM test_result WHERE hypothesis = 'H1' AND comparison = 'friedman24'")[
        "details"
    ][0]
    assert AuditRows(audited).test("H1/friedman24").details == json.loads(stored)

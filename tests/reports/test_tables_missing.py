"""What a table says when cells are removed, refused, failed or were never there."""

import pytest
import synthetic_db

from orledger.reports.source import Planned
from orledger.reports.tables import render
from orledger.reports.tables.building import build, build_tables, declared
from orledger.reports.tables.values import Absent, Number

USES = {
    ("a", "rules", "24/0.001/3"): {"A", "Astab", "Afloor"},
    ("a", "floor", "24/0.0/ulp/1"): {"Afloor"},
    ("a", "portability", "24/0.01/2/float32"): {"Aport"},
    ("a", "certificates", "24/0.001/2"): {"Acert", "Aladder"},
    ("b", "main", "energy/shift/1/0.25"): {"Blevels", "Bshift", "Barms", "Bfloor", "Btail"},
    ("b", "ablation", "yacht/0/0.25"): {"Babl", "Battr"},
    ("b", "gap", "4/frozen"): {"Bgap", "Bgapsurv"},
    ("c", "main", "ackley/5/3/near-initial/23/3"): {"C", "CpairEI", "CpairOR", "CaucEI", "Ckappa", "Cinv"},
}


# Built before and after: those that used a removed cell, and some that did not.
SEEN = {"A16", "Baudit", "dictionary", "provenance"}.union(*USES.values())


def notes(t):
    return " ".join(render.plain(line) for line in t.footnotes())


def planned_of(con):
    rows = con.execute("SELECT cell_id, case_name, block, name, map_keys(keys), map_values(keys) FROM cell").fetchall()
    return [Planned(i, c, b, n, dict(zip(k, v, strict=True))) for i, c, b, n, k, v in rows]


def remove(con, name):
    (cell_id,) = con.execute("SELECT cell_id FROM cell WHERE name = ?", [name]).fetchall()[0]
    for table in ("record", "refusal", "fact", "dataset", "cell"):
        con.execute(f"DELETE FROM {table} WHERE cell_id = ?", [cell_id])


@pytest.fixture(scope="module")
def cut():
    """A database without one cell of every block, the tables before and after, and what was removed."""
    con = synthetic_db.filled(a_seeds=3, c_seeds=4, gap_seeds=5, points=9)
    planned = planned_of(con)
    before = {t.name: t for t in build_tables(synthetic_db.Adapter(con), planned, SEEN)}
    for case, block, rest in USES:
        remove(con, f"{case}/{block}/{rest}")
    db = synthetic_db.Adapter(con)
    after = {t.name: t for t in build_tables(db, planned, SEEN)}
    return before, after


@pytest.mark.parametrize(("case", "block", "rest"), USES)
def test_removing_a_cell_is_said_by_every_table_that_used_it(cut, case, block, rest):
    before, after = cut
    name = f"{case}/{block}/{rest}"
    for table in USES[(case, block, rest)]:
        assert "missing" not in notes(before[table])
        assert f"missing: {name}" in notes(after[table])


def test_tables_that_did_not_use_a_cell_do_not_complain(cut):
    _, after = cut
    for table in ("A16", "Baudit", "dictionary", "provenance"):
        assert "missing" not in notes(after[table])


def test_the_hash_of_the_database_changes_with_its_content(cut):
    before, after = cut
    assert before["A"].database != after["A"].database
    assert len({t.database for t in after.values()}) == 1


def test_an_empty_database_gives_tables_that_say_so():
    con = synthetic_db.connect()
    for t in build_tables(synthetic_db.Adapter(con)):
        if t.name in ("dictionary", "provenance"):
            continue
        absent = [c for row in t.rows() for c in row.cells if isinstance(c, Absent)]
        assert absent, t.name
        assert not any(isinstance(c, Number) for row in t.rows() for c in row.cells), t.name
        assert "the database has no" in notes(t), t.name


def test_refused_and_failed_cells_are_named_with_their_reasons():
    con = synthetic_db.filled(cases="b", datasets=("diabetes",), gap_seeds=2)
    name = "b/main/diabetes/iid/0/0.25"
    con.execute("UPDATE cell SET state = 'failed', error = 'Traceback\nValueError: no luck' WHERE name = ?", [name])
    con.execute(
        "UPDATE cell SET state = 'refused', reason = 'no file: put diabetes.csv there' WHERE name = 'b/main/diabetes/iid/1/0.25'"
    )
    text = notes(build(declared()["Barms"], synthetic_db.Adapter(con)))
    assert f"failed: {name} (ValueError: no luck)" in text
    assert "refused: b/main/diabetes/iid/1/0.25 (no file: put diabetes.csv there)" in text
    assert (
        "Arms that refused, in 1 cell: OR head + OR interval + OR head, no floor in b/main/diabetes/shift/0/0.5 ("
        in text
    )
    assert "margin -0.487" in text


def test_an_arm_that_always_refuses_is_absent_and_never_zero():
    con = synthetic_db.filled(cases="b", datasets=("yacht",), gap_seeds=2)
    con.execute("DELETE FROM record WHERE arm = 'or1'")
    (first, second, *rest) = con.execute(
        "SELECT cell_id FROM cell WHERE case_name = 'b' AND block = 'main' AND keys['regime'] = 'iid' ORDER BY name"
    ).fetchall()
    for cell, level in ((first, 5.98), (second, 6.08)):
        con.execute("DELETE FROM refusal WHERE cell_id = ?", cell)
        con.execute("INSERT INTO refusal (cell_id, arm, reason) VALUES (?, 'or1', ?)", [*cell, f"empty set at {level}"])
    t = build(declared()["Barms"], synthetic_db.Adapter(con))
    row = next(r for r in t.rows() if r.key == "iid or1")
    assert row.cells[1].value == 0  # the count of cells, which is a number
    left = f", not recorded ({len(rest)} cell{'s' * (len(rest) > 1)})" if rest else ""
    assert {c.reason for c in row.cells[2:]} == {f"empty set at … (2 cells){left}"}


@pytest.mark.parametrize("cases", ["b", *(pytest.param(case, marks=pytest.mark.slow) for case in "ac")])
def test_one_case_alone_builds_every_table(cases):
    con = synthetic_db.filled(cases=cases, a_seeds=2, b_seeds=1, c_seeds=2, gap_seeds=2, points=9, published=False)
    built = build_tables(synthetic_db.Adapter(con))
    shown = [t.name for t in built if not any(isinstance(r.cells[0], Absent) for r in t.rows())]
    assert all(name in shown for name in {"a": ["A", "Acert"], "b": ["Barms", "Bgapsurv"], "c": ["C", "Cinv"]}[cases])

"""Comparing two databases: bitwise equality, tolerances, missing cells, and the step where trajectories part."""

import json
import statistics

import polars as pl
import pytest
import synthetic_db

from orledger.reports.report import compare_records
from orledger.reports.report.compare import FRAMES, compare


def database():
    return synthetic_db.filled(a_seeds=2, b_seeds=1, c_seeds=2, gap_seeds=2, points=9, datasets=("diabetes", "yacht"))


@pytest.fixture(scope="module")
def reference():
    return synthetic_db.Adapter(database())


def test_a_database_is_identical_to_itself(reference):
    result = compare(reference, reference)
    assert result.identical
    assert result.records["bitwise"].sum() == result.records["n"].sum() > 1000
    assert result.paths["first_difference"].is_null().all()


def test_a_three_percent_change_is_counted_between_one_and_five(reference):
    con = database()
    con.execute("UPDATE record SET value = value * 1.03 WHERE metric = 'rmse' AND arm = 'gcv'")
    result = compare(reference, synthetic_db.Adapter(con))
    row = result.records.filter(
        (pl.col("arm") == "gcv") & (pl.col("metric") == "rmse") & (pl.col("block") == "rules")
    ).to_dicts()[0]
    assert (row["bitwise"], row["within_1"], row["within_5"]) == (0, 0, row["n"])
    assert row["worst_ratio"] == pytest.approx(1.03)
    rule = result.rules.filter(
        (pl.col("arm") == "gcv") & (pl.col("metric") == "rmse") & (pl.col("block") == "rules")
    ).to_dicts()[0]
    assert rule["median_ratio"] == pytest.approx(1.03)
    assert not result.identical


def test_the_first_differing_step_is_named(reference):
    con = database()
    cell = con.execute("SELECT min(cell_id) FROM cell WHERE case_name = 'c' AND block = 'main'").fetchone()[0]
    con.execute(
        "UPDATE record SET value = value + 1 WHERE cell_id = ? AND arm = 'k5' AND metric = 'action' AND idx >= 7",
        [cell],
    )
    result = compare(reference, synthetic_db.Adapter(con))
    parted = result.paths.drop_nulls("first_difference").to_dicts()
    assert [(p["arm"], p["first_difference"]) for p in parted] == [("k5", 7)]


def test_cells_of_one_side_only_are_counted(reference):
    con = database()
    con.execute("DELETE FROM cell WHERE name LIKE 'a/rules/24/%'")
    row = (
        compare(reference, synthetic_db.Adapter(con))
        .cells.filter((pl.col("case") == "a") & (pl.col("block") == "rules"))
        .to_dicts()[0]
    )
    assert row["only_left"] > 0
    assert row["only_right"] == 0


def test_a_change_of_sign_has_no_ratio_but_is_seen(reference):
    con = database()
    con.execute("UPDATE record SET value = -value WHERE metric = 'auc' AND arm = 'ei'")
    result = compare(reference, synthetic_db.Adapter(con))
    row = result.records.filter((pl.col("arm") == "ei") & (pl.col("metric") == "auc")).to_dicts()[0]
    assert row["bitwise"] == row["within_20"] == 0
    assert row["worst_ratio"] is None


def host(cpu, node):
    return json.dumps({"cpu": cpu, "node": node})


def test_cells_that_differ_across_kinds_of_cpu_are_marked():
    """Two clusters of two kinds each: equal cells, cells that differ on one kind, across kinds, and on an unknown one."""
    left, right = database(), database()
    ids = [
        r[0] for r in left.execute("SELECT cell_id FROM cell WHERE state = 'done' ORDER BY cell_id LIMIT 5").fetchall()
    ]
    machines = [  # left, right, whether the content is another
        (host("Alder", "n1"), host("Alder", "n2"), False),
        (host("Alder", "n1"), host("Zen", "n3"), False),
        (host("Alder", "n1"), host("Zen", "n3"), True),
        (host("Zen", "n3"), host("Zen", "n4"), True),
        (None, host("Zen", "n4"), True),
    ]
    for cell_id, (a, b, differs) in zip(ids, machines, strict=True):
        left.execute("UPDATE cell SET host = ? WHERE cell_id = ?", [a, cell_id])
        change = ", content_hash = 'another'" if differs else ""
        right.execute(f"UPDATE cell SET host = ?{change} WHERE cell_id = ?", [b, cell_id])
    name = dict(left.execute("SELECT cell_id, name FROM cell").fetchall())
    result = compare(synthetic_db.Adapter(left), synthetic_db.Adapter(right))
    columns = ("cell", "mark", "left_cpu", "right_cpu", "left_node", "right_node")
    assert result.differing.select(columns).rows() == [
        (name[ids[2]], "across CPU kinds", "Alder", "Zen", "n1", "n3"),
        (name[ids[4]], "CPU unknown", None, "Zen", None, "n4"),
        (name[ids[3]], "on one CPU kind", "Zen", "Zen", "n3", "n4"),
    ]
    pairs = {
        (r["left_cpu"], r["right_cpu"]): (r["mark"], r["both"], r["bitwise"], r["differ"])
        for r in result.hosts.to_dicts()
    }
    assert pairs["Alder", "Zen"] == ("across CPU kinds", 2, 1, 1)
    assert pairs["Alder", "Alder"] == ("on one CPU kind", 1, 1, 0)
    assert pairs[None, "Zen"] == ("CPU unknown", 1, 0, 1)


def test_one_name_with_other_code_of_the_blas_is_another_kind_of_cpu():
    """A cell says what its BLAS chose; one of before takes it from its run, unless its cells were computed elsewhere."""
    left, right = database(), database()
    ids = [
        r[0] for r in left.execute("SELECT cell_id FROM cell WHERE state = 'done' ORDER BY cell_id LIMIT 6").fetchall()
    ]
    run = "INSERT INTO run SELECT * REPLACE (? AS run_id, ? AS engine, ? AS host) FROM run LIMIT 1"
    libraries = {"libraries": [{"architecture": "SkylakeX"}, {"internal_api": "openmp"}, {"architecture": "SkylakeX"}]}
    for name, engine in (("here", "processes"), ("spread", "ray")):
        left.execute(run, [name, engine, json.dumps(libraries)])
    zen, zen4 = {"cpu": "Zen", "node": "n1"}, {"cpu": "Zen", "node": "n1", "blas": "Haswell"}
    machines = [  # left, its run, right, the kinds and the mark
        (zen4, "run-1", zen4, "Zen, Haswell", "Zen, Haswell", "on one CPU kind"),
        ({**zen4, "blas": "Zen"}, "run-1", zen4, "Zen, Zen", "Zen, Haswell", "across CPU kinds"),
        (zen, "here", zen4, "Zen, SkylakeX", "Zen, Haswell", "across CPU kinds"),
        (zen, "spread", zen4, "Zen", "Zen, Haswell", "on one CPU kind"),  # nothing but the name is known
        (zen4, "here", zen, "Zen, Haswell", "Zen", "on one CPU kind"),
        ({"blas": "Zen"}, "run-1", zen4, None, "Zen, Haswell", "CPU unknown"),
    ]
    for cell_id, (a, of, b, *_) in zip(ids, machines, strict=True):
        left.execute("UPDATE cell SET host = ?, run_id = ? WHERE cell_id = ?", [json.dumps(a), of, cell_id])
        right.execute("UPDATE cell SET host = ?, content_hash = 'x' WHERE cell_id = ?", [json.dumps(b), cell_id])
    found = compare(synthetic_db.Adapter(left), synthetic_db.Adapter(right)).differing
    name = dict(left.execute("SELECT cell_id, name FROM cell").fetchall())
    assert {r["cell"]: (r["left_cpu"], r["right_cpu"], r["mark"]) for r in found.to_dicts()} == {
        name[cell_id]: tuple(expected) for cell_id, (_, _, _, *expected) in zip(ids, machines, strict=True)
    }


def test_records_compared_a_few_at_a_time_give_what_all_of_them_give(reference, monkeypatch):
    """Ranges of cells are an arrangement of the work: the answer with many of them is that of one."""
    con = database()
    con.execute(
        "UPDATE record SET value = value * (1 + 0.02 * (hash(cell_id || arm) % 7)::INTEGER) WHERE metric = 'rmse'"
    )
    con.execute("DELETE FROM record WHERE arm = 'gcv' AND metric = 'coverage'")
    other = synthetic_db.Adapter(con)
    whole = compare(reference, other)
    monkeypatch.setattr(compare_records, "AT_ONCE", 500)
    parts = compare(reference, other)
    for name in FRAMES:
        assert getattr(parts, name).equals(getattr(whole, name)), name
    assert parts.unmatched == whole.unmatched


@pytest.mark.parametrize(
    ("moved", "ones"), [([0.5, 2.0, 3.0], 0), ([0.5, 2.0, 3.0], 2), ([0.5], 1), ([], 3), ([1.5, 2.0], 3)]
)
def test_the_median_of_ratios_counts_those_that_are_one(moved, ones):
    assert compare_records._median(moved, ones) == statistics.median([*moved, *[1.0] * ones])

"""Layouts, the catalogue and the views made from them, in one database in memory with rows written by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orledger import studies
from orledger.errors import DatabaseError
from orledger.schema import catalogue, viewing
from orledger.schema.catalogue import Arm, Catalogue, Key, Metric
from orledger.schema.layouts import layouts
from orledger.schema.selecting import Condition, Selection, equal, select
from orledger.study import Case, Study


def layout(*metrics, keys=()):
    (found,) = layouts([Catalogue("lab", tuple(metrics), tuple(keys))])
    return found


def metric(name, idx=None, **more):
    return Metric("main", "a", name, idx=idx, **more)


# ---- views of rows written by hand ----------------------------------------------------------------------------------------


def add(con, cell, keys, records=(), refusals=(), state="done", case="lab", block="main"):
    pairs = ", ".join(f"'{k}': '{v}'" for k, v in keys.items())
    con.execute(
        "INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, state, backend)"
        f" VALUES (?, ?, ?, ?, MAP {{{pairs}}}, ?, '1', ?, 'cpu')",
        [cell, case, block, f"{case}/{cell}", '{"settings": {"x": 1}}', state],
    )
    for record in records:
        con.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", [cell, *record])
    for refusal in refusals:
        con.execute("INSERT INTO refusal VALUES (?, ?, ?, ?)", [cell, *refusal])


@pytest.fixture(scope="module")
def con(new_db):
    made = new_db
    add(
        made,
        "c1",
        {"k": 1, "j": "x"},
        [("a", "m", None, None, 2.0), ("a", "m", "l", None, 3.0), ("a", "s", None, 0, 5.0)],
    )
    add(made, "c2", {"k": 2, "j": "y"}, [("b", "m", None, None, 4.0)], [("a", "empty", 0.5)])
    add(made, "c3", {"k": 3, "j": "y"}, [("a", "m", None, None, 9.0)], state="failed")
    add(made, "d1", {"k": 1}, [("z", "w", None, None, 1.0)], case="other", block="one")
    catalogue.complete_all(made)
    viewing.refresh(made)
    return made


def ask(con, query, *values):
    return con.execute(query, list(values)).fetchall()


def test_a_view_has_a_row_for_every_arm_and_label_of_a_finished_cell(con):
    assert ask(con, "SELECT cell_id, cell, computed_on, k, j, arm, label, m, refused, refused_by FROM lab_main ORDER BY 1, 6, 7 NULLS FIRST") == [
        ("c1", "lab/c1", "cpu", 1, "x", "a", None, 2.0, None, None),
        ("c1", "lab/c1", "cpu", 1, "x", "a", "l", 3.0, None, None),
        ("c2", "lab/c2", "cpu", 2, "y", "a", None, None, "empty", 0.5),
        ("c2", "lab/c2", "cpu", 2, "y", "b", None, 4.0, None, None),
    ]  # fmt: skip
    assert ask(con, "SELECT cell_id, k, arm, idx, s FROM lab_main_series") == [("c1", 1, "a", 0, 5.0)]
    assert ask(con, "SELECT cell_id, k, state, settings FROM lab_main_cells ORDER BY 1") == [
        ("c1", 1, "done", '{"x":1}'), ("c2", 2, "done", '{"x":1}'), ("c3", 3, "failed", '{"x":1}'),
    ]  # fmt: skip


def test_a_block_without_series_has_two_views(con):
    names = {row[0] for row in ask(con, "SELECT view_name FROM duckdb_views() WHERE NOT internal")}
    assert names == {"all_cells", "all_records", "all_refusals", "newest_tests", "newest_claims", "newest_verdicts", "lab_main", "lab_main_series", "lab_main_cells", "other_one", "other_one_cells"}  # fmt: skip
    only = layout(metric("s", "i"))
    assert "WHERE false" in viewing.statements(only)[only.name]  # no scalar: only refusals have rows there


def test_every_view_and_column_that_has_a_text_says_it(con):
    text = viewing.script([layout(metric("m", description="it's"), metric("s", "i", unit="s"), keys=[Key("main", "k", "BIGINT", "a key")])])  # fmt: skip
    said = re.findall(r"COMMENT ON (.*) IS '(.*)';", text)
    assert ('VIEW "lab_main"', "lab, block main: one row per finished cell, arm and label") in said
    assert ('VIEW "lab_main_series"', "lab, block main: one row per finished cell, arm, label and index") in said
    assert ('VIEW "lab_main_cells"', "lab, block main: one row per planned cell") in said
    assert [s for s in said if s[0].startswith("COLUMN")] == [
        ('COLUMN "lab_main"."k"', "a key"), ('COLUMN "lab_main"."m"', "it''s"),
        ('COLUMN "lab_main_series"."k"', "a key"), ('COLUMN "lab_main_series"."s"', "in s"),
        ('COLUMN "lab_main_cells"."k"', "a key"),
    ]  # fmt: skip
    assert len([s for s in said if s[1].startswith("All studies: ")]) == 6


def test_the_catalogue_is_what_cells_and_records_hold(con):
    found = catalogue.read(con, "lab")
    assert [(m.block, m.arms, m.metric, m.label, m.idx) for m in found.metrics] == [
        ("main", "a, b", "m", "label", None), ("main", "a", "s", None, "index"),
    ]  # fmt: skip
    assert [(k.key, k.type) for k in found.keys] == [("j", "VARCHAR"), ("k", "BIGINT")]
    assert found.arms == (Arm("a", "a"), Arm("b", "b"))
    assert (found.study, catalogue.cases(con)) == (None, ["lab", "other"])
    assert catalogue.read(con, "nobody") == Catalogue("nobody")


@pytest.fixture
def undone(con):
    """The same database, as it was afterwards."""
    con.execute("BEGIN")
    yield con
    con.execute("ROLLBACK")


def chained(con):
    return ask(con, "SELECT count(*) FROM ledger WHERE kind = 'catalogue'")[0][0]


def test_completing_adds_what_is_new_and_enters_the_chain_once(undone):
    before = chained(undone)
    catalogue.complete_all(undone)
    assert chained(undone) == before
    add(undone, "c9", {"k": "1.5", "j": "z"}, [("c", "m", None, None, 1.0), ("c", "m", None, 3, 1.0), ("d", "t", "l", None, 1.0)], [("e", "no", None)])  # fmt: skip
    catalogue.complete(undone, "lab")
    assert chained(undone) == before + 1
    found = catalogue.read(undone, "lab")
    assert [(m.arms, m.metric, m.label, m.idx) for m in found.metrics] == [
        ("a, b, c", "m", "label", None), ("c", "m", None, "index"), ("a", "s", None, "index"), ("d", "t", "label", None),
    ]  # fmt: skip
    assert [(k.key, k.type) for k in found.keys] == [("j", "VARCHAR"), ("k", "DOUBLE")]
    assert [a.arm for a in found.arms] == ["a", "b", "c", "d", "e"]


def test_keys_alone_are_completed_where_records_were_declared(undone):
    add(undone, "c9", {"new": "1"}, [("c", "t", None, None, 1.0)], [("e", "no", None)])
    catalogue.complete(undone, "lab", records=False)
    found = catalogue.read(undone, "lab")
    assert "new" in [k.key for k in found.keys]
    assert [a.arm for a in found.arms] == ["a", "b"]
    assert [m.metric for m in found.metrics] == ["m", "s"]


@pytest.mark.parametrize(
    ("declared", "texts", "kind"),
    [
        ("VARCHAR", ["1"], "VARCHAR"),
        ("DOUBLE", ["1"], "DOUBLE"),
        ("BIGINT", ["1"], "BIGINT"),
        ("BIGINT", ["1.5"], "DOUBLE"),
        ("DOUBLE", ["x"], "VARCHAR"),
    ],
)
def test_a_declared_type_stays_as_long_as_it_fits(undone, declared, texts, kind):
    catalogue.store(undone, Catalogue("typed", (), (Key("main", "k", declared, "why"),)))
    for text in texts:
        add(undone, f"t{text}", {"k": text}, case="typed")
    catalogue.complete(undone, "typed")
    assert catalogue.read(undone, "typed").keys == (Key("main", "k", kind, "why"),)


def test_cases_that_have_a_catalogue_are_left_alone_where_that_is_asked(undone):
    add(undone, "c9", {"k": "1", "j": "z"}, [("c", "late", None, None, 1.0)])
    add(undone, "e1", {"k": "1"}, [("c", "late", None, None, 1.0)], case="fresh")
    catalogue.complete_all(undone, unless_known=True)
    assert "late" not in {m.metric for m in catalogue.read(undone, "lab").metrics}
    assert "late" in {m.metric for m in catalogue.read(undone, "fresh").metrics}
    catalogue.complete_all(undone)
    assert "late" in {m.metric for m in catalogue.read(undone, "lab").metrics}


def test_an_entry_keeps_its_place_its_study_and_its_words(undone):
    declared = Catalogue("said", (metric("z", unit="s", better="lower", label="l", description="d"), metric("a")), (Key("main", "y", "DOUBLE"), Key("main", "b", "DOUBLE", "w")), (Arm("q", "Q", "e"), Arm("c", "C")), ("n", "t", "c"))  # fmt: skip
    catalogue.store(undone, declared)
    assert catalogue.read(undone, "said") == declared
    assert "said" in catalogue.cases(undone)


def test_arms_that_no_cell_has_are_taken_out_with_the_metrics_that_only_they_have(undone):
    words = (Metric("main", "a, gone", "both"), Metric("main", "gone", "alone"), Metric("main", "", "nobody"))
    catalogue.store(undone, Catalogue("lab", words, (), (Arm("gone", "G"),)))
    add(undone, "c9", {"k": 1, "j": "x"}, [], [("late", "no", None)])
    catalogue.store(undone, Catalogue("lab", (), (), (Arm("late", "L"),)), gone=("gone", "a", "late"))
    found = catalogue.read(undone, "lab")
    assert [(m.metric, m.arms) for m in found.metrics] == [("m", "a, b"), ("s", "a"), ("both", "a"), ("nobody", "")]
    assert [a.arm for a in found.arms] == ["a", "b", "late"]


def test_a_new_arm_joins_the_first_entry_of_its_kind_and_a_new_kind_takes_the_words_of_the_first(undone):
    first, second = (
        replace(metric(name), arms=arm, unit=unit) for name, arm, unit in (("w", "a", "s"), ("w", "b", "m"))
    )
    add(undone, "w1", {"k": 1}, [("c", "w", None, None, 1.0), ("c", "w", None, 0, 1.0)], case="words")
    catalogue.store(undone, Catalogue("words", (first, second)))
    catalogue.complete(undone, "words")
    assert [(m.arms, m.unit, m.idx) for m in catalogue.read(undone, "words").metrics] == [
        ("a, c", "s", None), ("b", "m", None), ("c", "s", "index"),
    ]  # fmt: skip


# ---- bringing views up to date --------------------------------------------------------------------------------------------


def stale(con):
    return viewing.stale(viewing.standing(con))


def altered(con):
    return viewing.altered(con, viewing.standing(con))


def held(con):
    return {row[0]: row[1:] for row in ask(con, "SELECT name, objects FROM migration WHERE kind = 'views'")}


def test_views_are_made_anew_when_the_catalogue_has_changed_and_not_before(undone):
    assert not viewing.pending(undone)
    assert not viewing.refresh(undone)
    assert stale(undone) == []
    catalogue.store(undone, Catalogue("lab", (metric("fresh"),)))
    assert viewing.pending(undone)
    assert stale(undone) == [viewing.GENERATED]
    assert viewing.refresh(undone)
    assert not viewing.pending(undone)
    assert ask(undone, "SELECT count(fresh), count(m) FROM lab_main") == [(0, 3)]
    assert "lab_main" in held(undone)[viewing.GENERATED][0]
    assert viewing.refresh(undone, anew=True)


def brought(folder, text, case="lab"):
    (folder / "views").mkdir(exist_ok=True)
    (folder / "views" / "best.sql").write_text(text, encoding="utf-8")
    return Study("lab", cases=(Case(case, "nowhere"),), views="views", path=str(folder))


BEST = "CREATE VIEW lab_best AS SELECT max(m) AS m FROM lab_main; COMMENT ON VIEW lab_best IS 'x';"


def test_views_of_studies_follow_their_texts(undone, tmp_path, monkeypatch):
    one = brought(tmp_path, BEST)
    assert not viewing.refresh(undone, [brought(tmp_path, BEST, case="absent")])
    assert viewing.refresh(undone, [one])
    assert ask(undone, "SELECT m FROM lab_best") == [(4.0,)]
    assert held(undone)["lab/best.sql"] == (["lab_best"],)
    assert not viewing.refresh(undone, [one])
    monkeypatch.setattr(studies, "installed", lambda: (brought(tmp_path, BEST.replace("max", "min")),))
    assert stale(undone) == ["lab/best.sql"]
    assert altered(undone) == []  # of another version: stale names it
    assert viewing.refresh(undone)
    assert ask(undone, "SELECT m FROM lab_best") == [(2.0,)]
    assert stale(undone) == []
    catalogue.store(undone, Catalogue("lab", (metric("fresh"),)))
    assert viewing.refresh(undone)  # the views below were made anew, and so was this one
    assert ask(undone, "SELECT m FROM lab_best") == [(2.0,)]
    assert altered(undone) == []


def test_what_earlier_versions_wrote_by_hand_goes(undone):
    undone.execute("CREATE VIEW a_rules AS SELECT 1 AS x")
    undone.execute("INSERT INTO migration VALUES ('views', NULL, 'a.sql', 'x', ['a_rules'], '0.1', now()::TIMESTAMP)")
    undone.execute("CREATE VIEW mine AS SELECT 1 AS x")
    undone.execute("INSERT INTO migration VALUES ('views', NULL, 'gone/x.sql', 'x', ['mine'], '0.1', now()::TIMESTAMP)")
    assert viewing.refresh(undone)
    assert set(held(undone)) == {viewing.GENERATED, "gone/x.sql"}
    names = {row[0] for row in ask(undone, "SELECT view_name FROM duckdb_views() WHERE NOT internal")}
    assert "a_rules" not in names
    assert "mine" in names


def test_views_that_were_altered_are_named(undone, tmp_path, monkeypatch):
    assert altered(undone) == []
    undone.execute("CREATE OR REPLACE VIEW lab_main_cells AS SELECT 1 AS x")
    undone.execute("DROP VIEW other_one")
    monkeypatch.setattr(studies, "installed", lambda: (brought(tmp_path, BEST),))
    assert altered(undone) == ["lab_main_cells", "other_one"]
    undone.execute("CREATE VIEW lab_best AS SELECT 1 AS m")  # under the name of one of the study's, and not recorded
    assert altered(undone) == ["lab_best", "lab_main_cells", "other_one"]
    assert ask(undone, "SELECT count(*) FROM duckdb_views() WHERE temporary AND NOT internal") == [(0,)]


def test_a_view_of_a_study_that_was_altered_is_named_and_one_of_another_version_is_not(undone, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "installed", lambda: (brought(tmp_path, BEST),))
    viewing.refresh(undone)
    undone.execute("CREATE OR REPLACE VIEW lab_best AS SELECT 1 AS m")
    assert altered(undone) == ["lab_best"]
    undone.execute("CREATE OR REPLACE VIEW lab_main_cells AS SELECT 1 AS x")
    catalogue.store(undone, Catalogue("lab", (metric("fresh"),)))
    assert altered(undone) == ["lab_best"]  # the generated ones are stale, and made anew by the next who writes


def test_a_view_that_is_gone_is_named_also_where_a_view_of_a_study_reads_it(undone, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "installed", lambda: (brought(tmp_path, BEST),))
    viewing.refresh(undone)
    undone.execute("DROP VIEW lab_main")
    assert altered(undone) == ["lab_main"]
    assert altered(undone) == ["lab_main"]  # what is remembered of it does not make it be there
    monkeypatch.setattr(studies, "installed", lambda: (brought(tmp_path, BEST.replace("max", "min")),))
    assert altered(undone) == ["lab_main"]


def test_a_file_of_another_version_hides_no_other_file(undone, tmp_path, monkeypatch):
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "last.sql").write_text("CREATE VIEW lab_last AS SELECT 'CREATE TEMP VIEW' AS words;")
    viewing.refresh(undone, [brought(tmp_path, BEST)])
    monkeypatch.setattr(studies, "installed", lambda: (brought(tmp_path, BEST.replace("max", "min")),))
    assert (stale(undone), altered(undone)) == (["lab/best.sql"], [])
    undone.execute("CREATE OR REPLACE VIEW lab_last AS SELECT 1 AS words")
    assert altered(undone) == ["lab_last"]


def test_views_belong_to_cases(undone, tmp_path):
    """A study without cases could bring views to every database."""
    assert not viewing.refresh(undone, [replace(brought(tmp_path, BEST), cases=())])


def test_a_text_of_views_that_cannot_be_applied_is_named(undone):
    with pytest.raises(DatabaseError, match=r"'CREATE TABLE t .* is refused"):
        viewing._apply(undone, "lab/best.sql", "CREATE TABLE t (i INTEGER)")
    with pytest.raises(DatabaseError, match=r"lab/best.sql could not be applied, and the database is as it was"):
        viewing._apply(undone, "lab/best.sql", "CREATE VIEW lab_main AS SELECT 1 AS x;")


# ---- selections -----------------------------------------------------------------------------------------------------------


def test_a_selection_of_a_real_view(con):
    (wide,) = [v for v in viewing.read(con) if v.case == "lab"]
    chosen = Selection("lab", "main", ["a", "b"], ["m", "none"], ["k"], where={"k": (1, 2), "j": "x"})
    assert [(r[0], *r[3:]) for r in ask(con, chosen.sql(wide))] == [("c1", 1, "a", "l", 3.0, None), ("c1", 1, "a", None, 2.0, None)]  # fmt: skip
    series = Selection("lab", "main", ["a"], ["s"], ["k"], indexed=True)
    assert [r[3:] for r in ask(con, series.sql(wide))] == [(1, "a", None, 0, 5.0)]
    assert ask(con, Selection("lab", "main", ["a"], ["none"], ["k"]).sql(wide)) == []
    texts = [Selection("lab", "main", ["a"], ["m"], [], where={"k": k}) for k in ("1", "01")]
    assert [len(ask(con, one.sql(wide))) for one in texts] == [2, 0]  # a text is compared as a text
    assert (chosen.holds({"k": "1", "j": "x"}), chosen.holds({"k": "3", "j": "x"}), chosen.holds({"k": "1"})) == (True, False, False)  # fmt: skip
    assert ask(con, f"SELECT cell_id FROM lab_main_cells WHERE {chosen.cells_sql(wide)}") == [("c1",)]
    assert Selection("lab", "main", [], [], []).cells_sql(wide) == "true"
    assert Selection("lab", "main", [], [], []).holds({})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition("eq", (2.0,)), [2]), (Condition("ne", (2.0,)), [1, 3]), (Condition("lt", (2.0,)), [1]), (Condition("le", (2.0,)), [1, 2]),
        (Condition("gt", (2.0,)), [3]), (Condition("ge", (2.0,)), [2, 3]), (Condition("in", (1.0, 3.0)), [1, 3]),
    ],
)  # fmt: skip
def test_conditions_are_what_they_are_called(con, condition, expected):
    rows = "(VALUES (1.0::DOUBLE, 2.0::DOUBLE), (2.0, 2.0), (3.0, 2.0)) t(x, two)"
    assert [int(r[0]) for r in ask(con, f"SELECT x FROM {rows} WHERE {condition.sql('x')}")] == expected
    assert [
        int(r[0]) for r in ask(con, f"SELECT x FROM {rows} WHERE {condition.ratio_sql('x * two', 'two')}")
    ] == expected
    assert [
        int(r[0]) for r in ask(con, f"SELECT x FROM {rows} WHERE {condition.ratio_sql('-x * two', '-two')}")
    ] == expected


def test_a_text_is_no_number_and_none_is_neither():
    assert Condition("in", (1, "x")).holds("x")
    assert Condition("in", (1, "x")).holds("1.0")
    assert not Condition("in", (1, "x")).holds("y")
    assert not Condition("in", (1, "x")).holds(None)


def test_a_query_leaves_out_what_it_does_not_need():
    assert select(["a", "b"], "t") == "SELECT a, b\nFROM t"
    assert select(["a"], "t", ["x", "y"], ["a", "b"]) == "SELECT a\nFROM t\nWHERE x AND y\nORDER BY a, b"
    assert (equal("x", [None]), equal("x", ["a"]), equal("x", ["a", 2])) == ("x IS NULL", "x = 'a'", "x IN ('a', 2)")

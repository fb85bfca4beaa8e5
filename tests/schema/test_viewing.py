"""The catalogue and the wide views made from it, against rows written by hand."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from orledger import studies
from orledger.errors import DatabaseError, UsageError
from orledger.schema import catalogue, chain, migrate, viewing
from orledger.schema.catalogue import Arm, Catalogue, Key, Metric, merged
from orledger.schema.declaring import parse_catalogue
from orledger.schema.exchange import export, import_folder
from orledger.schema.layouts import identifier, layouts
from orledger.schema.opening import connect
from orledger.schema.reading import open_results
from orledger.schema.writing import CellOutcome, PlannedCell, Writer
from orledger.study import Case, Study

HOSTILE = (
    'a"b',
    "x'; DROP TABLE cell; --",
    "m" * 300,
    "RMSE",
    "rmse",
    "seed",
    "arm",
    "idx",
    "",
    "line\nbreak",
    "ä",
    "Ä",
    "error",
)


def columns(rows: list[tuple[str, str, str | None, int | None, float]]) -> dict[str, np.ndarray]:
    texts = {n: np.array([r[i] for r in rows], dtype=object) for i, n in enumerate(("arm", "metric", "label"))}
    idx = np.ma.array([r[3] or 0 for r in rows], mask=[r[3] is None for r in rows], dtype=np.int32)
    return {**texts, "idx": idx, "value": np.array([r[4] for r in rows])}


def write(
    db: Path, cells: list[tuple[str, dict, CellOutcome]], case: str = "lab", declared: Catalogue | None = None
) -> None:
    """``cells``: block, keys, outcome; a cell is named by both."""
    with Writer(db) as writer:
        if declared:
            writer.catalogue(declared)
        names = [f"{case}/{block}/{'/'.join(map(str, keys.values()))}" for block, keys, _ in cells]
        writer.plan([PlannedCell(n, case, b, n, k, "{}", "1") for n, (b, k, _) in zip(names, cells, strict=True)])
        for name, (_, _, outcome) in zip(names, cells, strict=True):
            if outcome.state != "planned":
                writer.store(name, outcome)


@pytest.fixture
def lab(db: Path, made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A copy of the laboratory that a test may change."""
    return Path(shutil.copyfile(made_once("lab/results.duckdb", make_lab), db))


@pytest.fixture(scope="module")
def unchanged_lab(
    tmp_path_factory: pytest.TempPathFactory, made_once: Callable[[str, Callable[[Path], object]], Path]
) -> Path:
    """One copy of it for several tests, each of which finds that it could not be changed."""
    return Path(shutil.copy(made_once("lab/results.duckdb", make_lab), tmp_path_factory.mktemp("lab")))


def make_lab(db: Path) -> None:
    """Two finished cells, one refused as a whole, one failed, one planned; an arm that refused; a series with labels."""
    first = [("cp", "cov", None, None, 0.9), ("cp", "width", None, None, 2.0), ("or", "cov", None, None, 0.95)]
    first += [("cp", "cov", "gap", None, 0.5), ("cp", "half", None, 0, 1.5), ("cp", "half", None, 1, 2.5)]
    second = [("cp", "cov", None, None, 0.8)]
    write(
        db,
        [
            ("main", {"seed": 1, "rel": 0.0, "data": "x"}, CellOutcome("done", columns=columns(first), backend="cpu")),
            (
                "main",
                {"seed": 10, "rel": 0.25, "data": "y"},
                CellOutcome("done", columns=columns(second), refusals=[("or", "empty set", 0.1)]),
            ),
            ("main", {"seed": 2, "rel": 0.5, "data": "y"}, CellOutcome("refused", reason="too few rows")),
            ("main", {"seed": 3, "rel": 0.5, "data": "y"}, CellOutcome("failed", error="boom")),
            ("main", {"seed": 4, "rel": 0.5, "data": "y"}, CellOutcome("planned")),
        ],
    )


def test_a_study_that_declares_nothing_has_typed_wide_views(lab: Path) -> None:
    with open_results(lab) as results:
        wide = results.sql("SELECT seed, rel, data, arm, label, cov, width, refused FROM lab_main ORDER BY ALL")
        assert wide.rows() == [
            (1, 0.0, "x", "cp", "gap", 0.5, None, None),
            (1, 0.0, "x", "cp", None, 0.9, 2.0, None),
            (1, 0.0, "x", "or", None, 0.95, None, None),
            (10, 0.25, "y", "cp", None, 0.8, None, None),
            (10, 0.25, "y", "or", None, None, None, "empty set"),
        ]
        series = results.sql("SELECT seed, arm, label, idx, half, computed_on FROM lab_main_series ORDER BY idx")
        assert series.rows() == [(1, "cp", None, 0, 1.5, "cpu"), (1, "cp", None, 1, 2.5, "cpu")]
        cells = results.sql("SELECT seed, state, reason, error FROM lab_main_cells ORDER BY seed")
        assert cells.rows() == [
            (1, "done", None, None),
            (2, "refused", "too few rows", None),
            (3, "failed", None, "boom"),
            (4, "planned", None, None),
            (10, "done", None, None),
        ]
        assert results.sql("SELECT key, type FROM key ORDER BY position").rows() == [
            ("data", "VARCHAR"), ("rel", "DOUBLE"), ("seed", "BIGINT")
        ]  # fmt: skip
        assert results.sql("SELECT arm, label FROM arm ORDER BY position").rows() == [("cp", "cp"), ("or", "or")]


def test_the_ledger_vouches_for_the_catalogue(lab: Path) -> None:
    with connect(lab, "write") as con:
        assert chain.verify(con) == []
        con.execute("UPDATE key SET type = 'VARCHAR' WHERE key = 'seed'")
        assert [f.where for f in chain.verify(con)] == ["key lab"]


TYPED = (
    (["1", "2", "-3"], "BIGINT"),
    (["1", "2.5"], "DOUBLE"),
    (["1e-3", "0.5"], "DOUBLE"),
    (["007", "7"], "VARCHAR"),  # two cells, one number
    (["007", "8"], "DOUBLE"),
    (["1", "nan"], "VARCHAR"),
    (["1", "inf"], "VARCHAR"),
    (["a"], "VARCHAR"),
    ([""], "VARCHAR"),
    (["99999999999999999999"], "DOUBLE"),
)


def test_a_key_has_the_narrowest_type_that_keeps_its_values_apart(db: Path) -> None:
    done = CellOutcome("done", columns=columns([("a", "m", None, None, 1.0)]))
    cells = [(f"lab{case}", text) for case, (texts, _) in enumerate(TYPED) for text in texts]
    with Writer(db) as writer:
        writer.plan([PlannedCell(f"{c}/{t}", c, "main", f"{c}/{t}", {"k": t}, "{}", "1") for c, t in cells])
        writer.store_many((f"{c}/{t}", done) for c, t in cells)
    with open_results(db) as results:
        found = dict(results.sql("SELECT case_name, type FROM key").iter_rows())
        for case, (texts, kind) in enumerate(TYPED):
            assert found[f"lab{case}"] == kind, texts
            query = f"SELECT count(DISTINCT k) AS n, count(k) AS k FROM lab{case}_main"
            assert results.sql(query).rows() == [(len(texts),) * 2], texts


def test_a_value_that_does_not_fit_the_declared_type_widens_it(db: Path) -> None:
    declared = Catalogue("lab", (Metric("main", "a", "m"),), (Key("main", "k", "BIGINT", "a count"),))
    done = CellOutcome("done", columns=columns([("a", "m", None, None, 1.0)]))
    write(db, [("main", {"k": 1}, done), ("main", {"k": "one"}, done)], declared=declared)
    with open_results(db) as results:
        assert results.sql("SELECT type, description FROM key").rows() == [("VARCHAR", "a count")]
        assert sorted(results.sql("SELECT k FROM lab_main")["k"]) == ["1", "one"]


def test_what_comes_later_is_added_and_nothing_is_taken_away(lab: Path) -> None:
    late = [("new", "cov", None, None, 0.7), ("new", "time", None, None, 3.0), ("new", "cov", None, 5, 0.1)]
    write(lab, [("main", {"seed": 7, "rel": 1.0, "data": "z"}, CellOutcome("done", columns=columns(late)))])
    with open_results(lab) as results:
        assert results.sql("SELECT cov, time, width FROM lab_main WHERE arm = 'new'").rows() == [(0.7, 3.0, None)]
        assert results.sql("SELECT idx, cov, half FROM lab_main_series WHERE arm = 'new'").rows() == [(5, 0.1, None)]
        assert results.sql("SELECT count(cov) AS n FROM lab_main").rows() == [(5,)]
        assert results.sql("SELECT arms FROM metric WHERE metric = 'cov' AND idx IS NULL").rows() == [("cp, or, new",)]


def test_merging_catalogues_replaces_by_name_and_keeps_the_order() -> None:
    old = Catalogue("x", (Metric("b", "a", "m"), Metric("b", "a", "n")), (Key("b", "k", "DOUBLE"),), (Arm("a", "A"),))
    new = Catalogue(
        "x", (Metric("b", "z", "o"), Metric("b", "a", "m", idx="i"), Metric("b", "a", "m")), (), (), ("s", "t", "c")
    )
    both = merged(old, new)
    assert [(m.metric, m.idx) for m in both.metrics] == [("m", "i"), ("m", None), ("n", None), ("o", None)]
    assert (both.keys, both.arms, both.study) == (old.keys, old.arms, ("s", "t", "c"))
    assert merged(both, new) == both


def test_hostile_names_are_quoted_or_told_apart(db: Path) -> None:
    values = {name: float(i) for i, name in enumerate(HOSTILE, 1)}
    rows = [("x", m, None, None, v) for m, v in values.items()]
    keys = dict.fromkeys(("seed", "arm", 'k"ey', "label", "x' OR 1=1"), "v")
    write(db, [("b; DROP TABLE record", keys, CellOutcome("done", columns=columns(rows)))], case='l"ab')
    with open_results(db) as results:
        (layout,) = viewing.read(results.con)
        assert len({c.lower() for c in (*layout.scalars.values(), *(c for c, _ in layout.keys.values()))}) == 18
        wide = results.sql(f"SELECT * FROM {identifier(layout.name)}")
        assert {m: wide[c][0] for m, c in layout.scalars.items()} == values
        assert all(wide[c][0] == "v" for c, _ in layout.keys.values())
        assert (layout.scalars["seed"], layout.keys["seed"][0]) == ("seed_metric", "seed_key")
        assert layout.scalars["error"] == "error"  # only the view of cells has a column of this name, and no metrics
        assert layout.scalars["rmse"] != layout.scalars["RMSE"]
        assert re.fullmatch(r"rmse_metric_[0-9a-f]{8}", layout.scalars["rmse"])


def test_two_blocks_that_would_share_a_view_both_get_longer_names() -> None:
    def one(case: str, block: str) -> Catalogue:
        return Catalogue(case, (Metric(block, "a", "m"),))

    alone = layouts([one("x", "y_z")])
    assert [v.name for v in alone] == ["x_y_z"]
    names = [v.name for v in layouts([one("x", "y_z"), one("x_y", "Z"), one("other", "b")])]
    assert names[2] == "other_b"
    assert len({n.lower() for n in names}) == 3
    assert all(re.fullmatch(r"x_y_z_[0-9a-f]{8}", n.lower()) for n in names[:2])
    assert layouts([one("test", "result")], ["test_result"])[0].name != "test_result"
    series = layouts([one("x", "y"), one("x", "y_series")])
    assert "x_y_series" not in {n for v in series for n in (v.name, v.series, v.cells)}


def test_names_do_not_depend_on_the_order_of_the_catalogue() -> None:
    metrics = tuple(Metric("b", "a", m) for m in HOSTILE)
    one, two = (layouts([Catalogue("x", m, (Key("b", "seed", "BIGINT"),))])[0] for m in (metrics, metrics[::-1]))
    assert dict(one.scalars) == dict(two.scalars)


def test_a_folder_of_parquet_files_opens_with_the_views(lab: Path, tmp_path: Path) -> None:
    export(lab, tmp_path / "folder")
    import_folder(tmp_path / "folder", tmp_path / "copy.duckdb")
    query = "SELECT * FROM lab_main ORDER BY ALL"
    with open_results(lab) as one, open_results(tmp_path / "copy.duckdb") as two:
        assert one.sql(query).equals(two.sql(query))
        assert {t.name for t in two.tables() if t.study == "lab"} == {"lab_main", "lab_main_series", "lab_main_cells"}


def test_an_older_file_is_catalogued_when_it_is_migrated(lab: Path, tmp_path: Path) -> None:
    """Schema version 3 listed several blocks in one row of metric, had no keys, and brought views of its own."""
    old = tmp_path / "old.duckdb"
    with duckdb.connect(str(old)) as con:
        migrate.migrate(con, migrate.shipped_migrations()[:3])
        con.execute(f"ATTACH '{lab}' AS lab (READ_ONLY)")
        for table in ("cell", "record", "refusal"):
            later = " EXCLUDE (host)" if table == "cell" else ""  # a column of a later version
            con.execute(f"INSERT INTO {table} SELECT *{later} FROM lab.{table}")
        con.execute("INSERT INTO metric SELECT * EXCLUDE (position) REPLACE ('main, deep' AS block) FROM lab.metric")
        con.execute("CREATE VIEW a_rules AS SELECT 1 AS x")
        con.execute("INSERT INTO migration VALUES ('views', NULL, 'a.sql', 'x', ['a_rules'], '0.1', now()::TIMESTAMP)")
    connect(old, "write").close()
    with open_results(old) as results:
        assert results.sql("SELECT count(cov) AS n FROM lab_main").rows() == [(4,)]
        assert "lab_deep" in {t.name for t in results.tables()}
        assert "a_rules" not in {t.name for t in results.tables()}


def study(folder: Path, text: str, case: str = "lab") -> Study:
    (folder / "views").mkdir(exist_ok=True)
    (folder / "views" / "best.sql").write_text(text, encoding="utf-8")
    return Study("lab", cases=(Case(case, "nowhere"),), views="views", path=str(folder))


BEST = "CREATE OR REPLACE VIEW lab_best AS SELECT arm, max(cov) AS cov FROM lab_main GROUP BY arm;"


def test_studies_bring_views_over_the_generated_ones(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "installed", lambda: (study(tmp_path, BEST + "COMMENT ON VIEW lab_best IS 'Best';"),))
    with connect(lab, "write") as con:
        assert con.execute("SELECT * FROM lab_best ORDER BY arm").fetchall() == [("cp", 0.9), ("or", 0.95)]
        assert not viewing.refresh(con)
    monkeypatch.setattr(studies, "installed", lambda: (study(tmp_path, BEST.replace("max", "min")),))
    with connect(lab, "write") as con:
        assert con.execute("SELECT * FROM lab_best ORDER BY arm").fetchall() == [("cp", 0.5), ("or", 0.95)]
    monkeypatch.setattr(studies, "installed", tuple)
    connect(lab, "write").close()
    with open_results(lab) as results:  # a study that is not known here keeps its views
        assert results.sql("SELECT count(*) AS n FROM lab_best").rows() == [(2,)]
    with connect(lab, "write") as con:
        assert not viewing.refresh(con, [study(tmp_path, BEST, case="absent")])


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE cell",
        f"{BEST} DROP TABLE cell",
        "CREATE VIEW x AS SELECT * FROM nowhere",
        "CREATE OR REPLACE VIEW lab_main AS SELECT 1 AS x",
        "CREATE TABLE t (i INTEGER)",
        "nonsense",
        "CREATE VIEW x AS SELECT * FROM read_text('/etc/passwd')",
        "CREATE VIEW x AS SELECT (SELECT count(*) FROM glob('/etc/*')) AS n",
        "CREATE VIEW x AS SELECT * FROM '/etc/passwd.csv'",
        "CREATE VIEW x AS SELECT * FROM '/etc/x.csv', (WITH \"/etc/x.csv\" AS (SELECT 1) SELECT 1)",
        "CREATE VIEW x AS FROM query('SELECT 1')",
        "CREATE VIEW x AS SELECT * FROM sqlite_master",
        "CREATE VIEW x AS SELECT * FROM system.information_schema.tables",
        "CREATE VIEW x AS SELECT 1 AS a; COPY cell TO '/tmp/orledger_stolen.csv'",
        "CREATE VIEW x AS SELECT 1 AS a; ATTACH '/tmp/orledger_other.duckdb'",
        "CREATE VIEW x AS SELECT 1 AS a; INSTALL httpfs",
        "CREATE TEMP VIEW x AS SELECT 1 AS a",
        "CREATE VIEW x AS (DELETE FROM record RETURNING 1)",
        "COMMENT ON TABLE record IS 'x'",
        "COMMENT ON VIEW lab_main IS (SELECT 1)",
    ],
)
def test_a_file_of_views_that_does_anything_else_leaves_the_database_as_it_was(
    unchanged_lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(studies, "installed", lambda: (study(tmp_path, text),))
    with pytest.raises(DatabaseError, match=r"lab/best\.sql"):
        connect(unchanged_lab, "write")
    monkeypatch.undo()
    with open_results(unchanged_lab) as results:
        assert results.sql("SELECT count(*) AS n FROM lab_main").rows() == [(5,)]
        assert "x" not in {t.name for t in results.tables()}


def test_a_view_of_a_study_may_use_with_and_make_rows(lab: Path, tmp_path: Path) -> None:
    text = (
        '/* two */ -- lines\nCREATE VIEW "lab ""x" AS WITH RECURSIVE t(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM t WHERE k < 3)\n'
        "SELECT k, n FROM t, (SELECT count(*) AS n FROM main.lab_main), range(2), unnest([1]);"
    )
    with connect(lab, "write") as con:
        assert viewing.refresh(con, [study(tmp_path, text)])
        assert con.execute('SELECT count(*), min(n) FROM "lab ""x"').fetchall() == [(6, 5)]


def test_a_view_that_was_changed_is_found_and_made_anew(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of the audit are read through views: one that was replaced changes them and no record."""
    monkeypatch.setattr(studies, "installed", lambda: (study(tmp_path, BEST),))
    with connect(lab, "write") as con:
        assert chain.verify(con) == []
        query = con.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'lab_main'").fetchall()[0][0]
        con.execute("DROP VIEW lab_main")
        con.execute(query.replace("c.backend", "'gpu'"))
        con.execute("DROP VIEW lab_main_cells")
        con.execute("CREATE OR REPLACE VIEW lab_best AS SELECT 1 AS x")
    with connect(lab, "read", checked=False) as con:
        found = {(f.rule, f.where) for f in chain.verify(con)}
    assert found == {("a view was changed", name) for name in ("lab_best", "lab_main", "lab_main_cells")}
    with connect(lab, "write") as con:
        viewing.refresh(con, anew=True)
        assert chain.verify(con) == []


@pytest.mark.parametrize("text", ["abs(x) AS 42", "duckdb_functions() AS TABLE SELECT 1", "arg_max(a, b) AS max(a)"])
def test_a_function_of_its_own_is_found(lab: Path, text: str) -> None:
    """It would answer instead of DuckDB's, in the audit and in the verification itself."""
    with connect(lab, "write") as con:
        con.execute(f"CREATE MACRO {text}")
        assert [(f.rule, f.where) for f in chain.verify(con)] == [("a function was added", text.partition("(")[0])]


def test_a_catalogue_file_says_what_is_wrong_and_where() -> None:
    text = '[keys]\nseed = { type = "INT" }\n[[metric]]\nblocks = ["b"]\narms = ["a"]\nmetrics = { m = "d" }\n'
    with pytest.raises(
        UsageError, match=r"c\.toml: table \[keys\.seed\], key 'type': expected one of VARCHAR, BIGINT, DOUBLE"
    ):
        parse_catalogue("x", text, "c.toml")
    good = parse_catalogue("x", text.replace("INT", "BIGINT"), "c.toml")
    assert good == Catalogue(
        "x", (Metric("b", "a", "m", description="d"),), (Key("b", "seed", "BIGINT"),), (Arm("a", "a"),)
    )
    with pytest.raises(UsageError, match="'bests'"):
        parse_catalogue("x", text.replace("INT", "BIGINT") + 'bests = { m = "lower" }\n', "c.toml")


def test_every_case_declares_its_keys() -> None:
    """The keys of every cell of every preset stand in the catalogue of their case, with a type that fits their values."""
    from orledger.runners.plan import catalogue as declared
    from orledger.runners.plan import load_preset, make_plan, preset_names

    kinds = {"VARCHAR": str, "BIGINT": int, "DOUBLE": float}
    known = {(c, k.block, k.key): kinds[k.type] for c in "abc" for k in declared(c).keys}
    for name in preset_names():
        for job in make_plan(load_preset(name)):
            for cell in job.cells:
                for key, value in cell.keys.items():
                    assert isinstance(value, known[cell.case, cell.block, key]), (name, cell.name, key)


def test_the_catalogue_of_a_case_without_cells_makes_views_too(db: Path) -> None:
    with Writer(db) as writer:
        writer.catalogue(
            Catalogue(
                "lab", (Metric("main", "a", "m", description="what it is"),), (Key("main", "k", "DOUBLE", "a key"),)
            )
        )
    with open_results(db) as results:
        (view,) = [t for t in results.tables() if t.name == "lab_main"]
        comments = {c.name: (c.type, c.comment) for c in view.columns}
        assert (comments["k"], comments["m"]) == (("DOUBLE", "a key"), ("DOUBLE", "what it is"))
        assert catalogue.read(results.con, "lab").blocks == ("main",)


def test_what_all_studies_have_stands_in_three_long_views(lab: Path) -> None:
    """Every planned cell with its state; the records and refusals of finished ones, each with its case and block."""
    first = columns([("cp", "cov", None, None, 0.7)])
    write(lab, [("cells", {"seed": 1}, CellOutcome("done", columns=first))], case="all")
    with open_results(lab) as results:
        cells = results.sql(
            "SELECT case_name, state, count(*), sum(n_records) FROM all_cells GROUP BY ALL ORDER BY ALL"
        )
        assert cells.rows() == [
            ("all", "done", 1, 1),
            ("lab", "done", 2, 7),
            ("lab", "failed", 1, 0),
            ("lab", "planned", 1, None),
            ("lab", "refused", 1, 0),
        ]
        assert results.sql("SELECT case_name, arm, idx, value FROM all_records WHERE metric = 'half' OR block = 'cells' ORDER BY ALL").rows() == [
            ("all", "cp", None, 0.7), ("lab", "cp", 0, 1.5), ("lab", "cp", 1, 2.5),
        ]  # fmt: skip
        assert results.sql("SELECT cell, arm, refused, refused_by FROM all_refusals").rows() == [
            ("lab/main/10/0.25/y", "or", "empty set", 0.1)
        ]
        block = next(layout for layout in results.layouts() if layout.case == "all")
        assert block.name.startswith("all_cells_")  # the plain name is taken
        assert results.sql(f'SELECT cov FROM "{block.name}"').item() == 0.7


def test_what_a_cell_that_is_not_done_holds_is_in_no_view(lab: Path) -> None:
    """A file that somebody else filled may have records and refusals of cells that failed."""
    with duckdb.connect(str(lab)) as con:
        con.execute("INSERT INTO record SELECT cell_id, 'cp', 'cov', NULL, NULL, 9.0 FROM cell WHERE state = 'failed'")
        con.execute("INSERT INTO refusal SELECT cell_id, 'or', 'in vain', NULL FROM cell WHERE state = 'failed'")
    with open_results(lab) as results:
        assert results.sql("SELECT count(*) FROM all_records WHERE value = 9").item() == 0
        assert results.sql("SELECT count(*) FROM all_refusals WHERE refused = 'in vain'").item() == 0
        assert results.sql("SELECT count(*) FROM lab_main WHERE cov = 9 OR refused = 'in vain'").item() == 0


def test_of_several_audits_the_newest_has_views(lab: Path) -> None:
    """An audit leaves the rows of earlier ones, and whoever sums over the table counts them, too."""
    verdict = (
        "INSERT INTO disposition VALUES ('{0}', '{0}', 'r', 'H', 'exploratory', 's', 'refuted', 'why', NULL, [], [], true, false, '', '', NULL,"
        " '', '', '', '', NULL)"
    )
    with duckdb.connect(str(lab)) as con:
        for day, audit in enumerate("yzx", 1):
            con.execute(f"INSERT INTO audit VALUES ('{audit}', [], 'h', 1, 1, '', '2026-01-0{day}')")
            con.execute(verdict.format(audit))
        con.execute("INSERT INTO audit VALUES ('w', [], 'h', 1, 1, '', '2025-12-31')")
    with open_results(lab) as results:
        assert results.sql("SELECT disposition_id FROM newest_verdicts").rows() == [("x",)]
        assert results.sql("SELECT count(*) FROM newest_tests").item() == 0
        assert results.sql("SELECT count(*) FROM newest_claims").item() == 0

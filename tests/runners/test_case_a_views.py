"""The wide views of Case A over a database that holds the records of real cells."""

import json
from importlib.resources import files

import duckdb
import numpy as np
import pytest

from orledger.runners.case_a.plan import plan
from orledger.runners.case_a.run import run
from orledger.runners.cells import Context


@pytest.fixture(scope="module")
def database():
    con = duckdb.connect()
    migrations = files("orledger.schema.migrations")
    for name in sorted(p.name for p in migrations.iterdir() if p.name.endswith(".sql")):
        con.execute(migrations.joinpath(name).read_text(encoding="utf-8"))
    axes = {"grids": [16], "levels": [1e-3], "seeds": [1]}
    table = {
        "settings": {"epochs": 4, "rungs": [1.05, 2.0]},
        "rules": axes,
        "certificates": axes,
        "floor": {"grids": [16], "backends": {"same_process": 2, "ulp": 2}},
        "portability": {**axes, "backends": ["float64", "float32"]},
    }
    for job in plan(table, "test"):
        for cell, result in run(job.cells, Context()):
            keys = {k: str(v) for k, v in cell.keys.items()}
            con.execute(
                "INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, state, seconds, backend)"
                " VALUES (?, 'a', ?, ?, CAST(CAST(? AS JSON) AS MAP(VARCHAR, VARCHAR)), '{}', '1', 'done', 7.0, ?)",
                [cell.id, cell.block, cell.name, json.dumps(keys), result.backend],
            )
            c = result.columns()
            rows = [
                (cell.id, c["arm"][i], c["metric"][i], c["label"][i], None if c["idx"].mask[i] else int(c["idx"][i]), v)
                for i, v in enumerate(c["value"])
            ]
            columns = {
                name: np.array([r[j] for r in rows], dtype=kind)
                for j, (name, kind) in enumerate(
                    [
                        ("cell_id", str),
                        ("arm", str),
                        ("metric", str),
                        ("label", object),
                        ("idx", object),
                        ("value", float),
                    ]
                )
            }
            con.register("incoming", columns)
            con.execute("INSERT INTO record SELECT cell_id, arm, metric, label, idx::INTEGER, value FROM incoming")
            con.unregister("incoming")
            for name, text in result.facts.items():
                con.execute("INSERT INTO fact VALUES (?, ?, ?)", [cell.id, name, text])
    con.execute(files("orledger.schema.views").joinpath("a.sql").read_text(encoding="utf-8"))
    return con


def one(con, query):
    return con.execute(query).fetchone()[0]


def test_one_row_per_solve_and_per_selection(database):
    assert one(database, "SELECT count(*) FROM a_solves WHERE block = 'rules'") == 7
    assert one(database, "SELECT count(*) FROM a_solves") == 7 * (1 + 4 + 2)
    assert one(database, "SELECT count(*) FROM a_rules WHERE block = 'rules' AND variant IS NULL") == 6
    assert one(database, "SELECT count(*) FROM a_rules WHERE block = 'rules'") == 6 + 2 + 3
    picked = "SELECT count(*) FROM a_rules r JOIN a_solves s USING (cell_id, lam2_index) WHERE r.rmse <> s.rmse"
    assert one(database, picked) == 0


def test_points_ladder_and_cells_of_the_certificates(database):
    assert one(database, "SELECT count(*) FROM a_points WHERE certificate >= 0 AND ring > 0") == 144
    assert one(database, "SELECT count(*) FROM a_intervals") == 2 * 144
    assert database.execute("SELECT rung FROM a_ladder ORDER BY rung").fetchall() == [(1.05,), (2.0,)]
    stored = (
        "SELECT count(*) FROM a_ladder l JOIN record r ON r.label = 'm=' || l.rung::VARCHAR WHERE r.metric = 'coverage'"
    )
    assert one(database, stored + " AND abs(r.value - l.coverage) < 1e-12") >= 1
    assert one(database, "SELECT count(*) FROM a_cells WHERE rho_oc > eps_hat") == 1


def test_floor_classes_and_portability_pairs(database):
    classes = dict(
        database.execute("SELECT backend, count(DISTINCT bit_class) FROM a_floor GROUP BY backend").fetchall()
    )
    assert classes == {"same_process": 1, "ulp": 2}
    zero = "SELECT max(cv_rmse) FROM a_floor_dispersion WHERE backend = 'same_process'"
    assert one(database, zero) == 0
    assert one(database, "SELECT min(cv_rmse) FROM a_floor_dispersion WHERE backend = 'ulp'") > 0
    assert one(database, "SELECT count(*) FROM a_portability WHERE backend = 'float32' AND ratio > 0") == 6


def test_every_view_is_described(database):
    undescribed = "SELECT count(*) FROM duckdb_views() WHERE view_name LIKE 'a\\_%' ESCAPE '\\' AND comment IS NULL"
    assert one(database, undescribed) == 0
    assert one(database, "SELECT count(*) FROM duckdb_views() WHERE view_name LIKE 'a\\_%' ESCAPE '\\'") == 9

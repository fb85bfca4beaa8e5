"""The wide views of Case B, on a database that a short run wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

import orledger
from orledger.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PRESET = """
title = "a short run"

[b.settings]
epochs = 3
hint_epoch = 2
rf_trees = 5
extra_arms = ["wcp"]

[b.audit]
datasets = ["diabetes", "concrete"]

[b.main]
datasets = ["diabetes"]
regimes = ["iid"]
seeds = [0]
rel = [0.0, 0.5]

[b.ablation]
datasets = ["diabetes"]
seeds = [0]
rel = [0.0]

[b.gap]
seeds = [0]
scales = ["frozen"]
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("case_b")
    (folder / "short.toml").write_text(PRESET, encoding="utf-8")
    path = folder / "short.duckdb"
    arguments = ["run", "b", "--preset", str(folder / "short.toml"), "--db", str(path), "--engine", "serial"]
    arguments += ["--device", "cpu", "--offline", "--data-dir", str(folder)]
    result = CliRunner().invoke(main, arguments, env={"XDG_CACHE_HOME": str(folder)})
    assert result.exit_code == 0, result.output
    return path


def rows(database: Path, query: str) -> list[tuple]:
    with orledger.open(database) as results:
        return results.sql(query).rows()


def test_a_dataset_that_is_absent_is_a_refused_cell(database: Path) -> None:
    ((state, reason),) = rows(database, "SELECT state, reason FROM cell WHERE keys['dataset'] = 'concrete'")
    assert state == "refused"
    assert "concrete.csv" in reason


def test_audit_and_cells(database: Path) -> None:
    ((dataset, n, distinct, passed),) = rows(database, "SELECT dataset, n, distinct_targets, passed FROM b_audit")
    assert (dataset, n, distinct, passed) == ("diabetes", 442, 214, True)
    found = rows(database, "SELECT n_train, n_test, n_cal, k FROM b_cells WHERE block = 'main'")
    assert found == [(353, 89, 88, 84)] * 2


def test_arms_and_points_agree(database: Path) -> None:
    """Coverage recomputed from the points of each band equals the recorded one."""
    query = """
        SELECT arm, rel, a.coverage, p.covered FROM b_arms a
        JOIN (SELECT cell_id, arm, avg(covered::INTEGER) AS covered FROM b_points WHERE block = 'main' GROUP BY ALL) p
        USING (cell_id, arm)
    """
    found = rows(database, query)
    assert len(found) >= 16
    assert [r[2] for r in found] == pytest.approx([r[3] for r in found])


def test_every_view_has_the_rows_it_should(database: Path) -> None:
    count = {
        view: rows(database, f"SELECT count(*) FROM {view}")[0][0]
        for view in ("b_head", "b_counterfactual", "b_head_points", "b_ablation", "b_gap")
    }
    assert count["b_head"] == 3
    assert count["b_counterfactual"] == 2
    assert count["b_head_points"] == 2 * 89 + 300
    assert count["b_ablation"] == 4
    assert count["b_gap"] in (12, 18)  # three regions; four arms, and two more when the head delivers


def test_refusals_leave_no_widths(database: Path) -> None:
    for refused, width, arms in rows(
        database,
        """SELECT h.refused, h.w_int_mean, count(a.arm) FROM b_head h
           LEFT JOIN b_arms a ON a.cell_id = h.cell_id AND a.arm LIKE 'or1%' WHERE h.block = 'main' GROUP BY ALL""",
    ):
        assert (width is None) == refused
        assert arms == (0 if refused else 3)


def test_gap_truth_is_stored(database: Path) -> None:
    found = np.array(
        rows(
            database,
            """SELECT x.value AS at, y.value AS truth FROM record x JOIN record y USING (cell_id, idx)
               WHERE x.arm = 'truth' AND x.metric = 'x' AND y.arm = 'truth' AND y.metric = 'y'""",
        )
    )
    assert found.shape == (300, 2)
    assert found[:, 1] == pytest.approx(np.sin(2 * found[:, 0]) + 0.3 * found[:, 0] ** 2)

"""The plan of a database, rebuilt from the settings that its runs stored."""

import json

from orledger.expected import expected_cells
from orledger.runners.plan import load_preset, make_plan, resolved
from orledger.schema.opening import connect
from orledger.schema.reading import open_results

RUN = "INSERT INTO run VALUES (?, ?, ?, '{}', NULL, 'cpu', 'serial', 1, 1, '{}', NULL, TIMESTAMP '2026-01-01', NULL, 'finished')"


def database(path, *runs):
    con = connect(path, "write")
    for i, (preset, settings) in enumerate(runs):
        con.execute(RUN, [f"run-{i}", preset, settings])
    con.close()
    return open_results(path)


def test_the_cells_of_a_stored_run_are_those_of_its_preset(tmp_path):
    """Settings go through JSON and come back as the same cells, id by id."""
    preset = load_preset("smoke")
    wanted = {cell.id: cell.name for job in make_plan(preset) for cell in job.cells}
    with database(tmp_path / "r.duckdb", ("smoke", json.dumps(resolved(preset)))) as results:
        found = {p.cell_id: p.name for p in expected_cells(results)}
    assert found == wanted


def test_settings_that_make_no_plan_are_told_and_the_rest_is_kept(tmp_path):
    preset = load_preset("smoke")
    good = json.dumps(resolved(preset, ["c"]))
    broken = [("old", json.dumps({"c": {"no_such_block": {}}})), ("odd", "[1]"), ("torn", "{")]
    told = []
    with database(tmp_path / "r.duckdb", ("smoke", good), *broken) as results:
        found = expected_cells(results, told.append)
    assert {p.case for p in found} == {"c"}
    assert len(told) == 3
    assert any("'old'" in message for message in told)

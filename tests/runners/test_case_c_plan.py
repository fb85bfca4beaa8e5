"""The plan of Case C and its objectives."""

import math
import subprocess
import sys

import pytest
import torch

from orledger.errors import UsageError
from orledger.runners.case_c.objectives import BENCHMARKS, evaluate, make_problem
from orledger.runners.case_c.plan import SETTINGS, plan
from orledger.runners.plan import load_preset, make_plan
from orledger.runners.settings import resolve

DEFAULTS = resolve(SETTINGS, {}, "test")


def blocks(name):
    return [cell for job in make_plan(load_preset(name), ["c"]) for cell in job.cells]


def test_planning_does_not_import_torch():
    code = "import sys, orledger.runners.case_c.plan; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_paper_preset_has_every_trajectory_the_paper_planned():
    cells = blocks("paper")
    count = {b: sum(c.block == b for c in cells) for b in ("main", "budget", "determinism")}
    assert count == {"main": 5 * 7, "budget": 5 * 7 * 2, "determinism": 5 * 7 * 4}
    assert sum(count.values()) == len(cells)
    assert {c.keys["budget"] for c in cells if c.block == "main"} == {"near-initial"}
    assert {(c.keys["benchmark"], c.keys["dim"]) for c in cells} == set(BENCHMARKS.items())


def test_smoke_preset_reduces_every_kind_of_block():
    cells = blocks("smoke")
    expected = {"main", "budget", "determinism", "deep", "dimension", "mixtures", "schedule"}
    assert {c.block for c in cells} == expected
    main = [c for c in cells if c.block == "main"]
    assert len({c.keys["benchmark"] for c in main}) == 2
    assert len({c.keys["seed"] for c in main}) == 2


def test_open_preset_controls_the_dimension_of_every_objective_that_exists_there():
    cells = blocks("open")
    found = {(c.keys["benchmark"], c.keys["dim"]) for c in cells if c.block == "dimension"}
    anywhere = {(b, d) for b in ("branin", "griewank", "ackley", "levy") for d in (2, 5, 10)}
    assert found == anywhere | {("hartmann", 10)}
    assert {c.keys["evaluations"] for c in cells if c.block == "deep"} == {50}
    assert {c.keys["mixtures"] for c in cells if c.block == "mixtures"} == {1, 3, 7}


def test_a_cell_carries_the_settings_it_depends_on_and_no_others():
    (job,) = plan({"main": {"benchmarks": ["levy"], "seeds": [3]}}, "test: c")
    (cell,) = job.cells
    assert "box_levy" in cell.settings
    assert not {"box_branin", "moderate_steps", "converged_tolerance", "shape_start"} & set(cell.settings)
    same = plan({"settings": {"box_branin": [0.0, 1.0]}, "main": {"benchmarks": ["levy"], "seeds": [3]}}, "test: c")
    other = plan({"settings": {"box_levy": [0.0, 1.0]}, "main": {"benchmarks": ["levy"], "seeds": [3]}}, "test: c")
    assert same[0].cells[0].id == cell.id != other[0].cells[0].id


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"mian": {}}, r"p.toml: c: unknown block 'mian'"),
        ({"main": {"seed": [0]}}, r"p.toml: c.main: unknown axis 'seed'"),
        ({"main": {"seeds": 7}}, r"p.toml: c.main.seeds: expected a list of int"),
        ({"main": {"seeds": [0, 0]}}, r"occurs twice"),
        ({"main": {"seeds": [-1]}}, r"out of range"),
        ({"main": {"benchmarks": ["rosenbrock"]}}, r"'rosenbrock' is unknown"),
        ({"main": 3}, r"expected a table"),
        (
            {"dimension": {"benchmarks": ["hartmann"], "dims": [2, 5]}},
            r"c.dimension: hartmann has no form with 5 inputs",
        ),
        ({"settings": {"candidate": 3}, "main": {}}, r"unknown setting 'candidate'"),
        ({"settings": {"box_levy": [5.0, -5.0]}, "main": {}}, r"box_levy: expected \[low, high\]"),
        ({"settings": {"alpha_cap": 2.0}, "main": {}}, r"alpha_cap: 2.0"),
        ({"settings": {"evaluations": 5}, "main": {}}, r"evaluations = 5"),
    ],
)
def test_mistakes_in_a_preset_name_the_file_the_table_and_the_key(table, message):
    with pytest.raises(UsageError, match=message):
        plan(table, "p.toml: c")


def test_objectives_take_their_published_values():
    """Minimisers and minima from the literature on these functions, in each one's box."""

    def at(name, point, box):
        unit = (torch.tensor([point], dtype=torch.float64) - box[0]) / (box[1] - box[0])
        values, optimum = evaluate(name, unit, box)
        return float(values[0]), optimum

    value, optimum = at("branin", [math.pi, 2.275], (-5.0, 15.0))
    assert value == pytest.approx(0.397887, abs=1e-6)
    assert optimum == pytest.approx(0.397887, abs=1e-6)
    hartmann = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
    assert at("hartmann", hartmann, (0.0, 1.0))[0] == pytest.approx(-3.32237, abs=1e-4)
    assert at("griewank", [0.0] * 5, (-512.0, 512.0))[0] == pytest.approx(0.0, abs=1e-12)
    assert at("ackley", [0.0] * 5, (-10.0, 10.0))[0] == pytest.approx(0.0, abs=1e-12)
    assert at("levy", [1.0] * 10, (-5.0, 5.0))[0] == pytest.approx(0.0, abs=1e-12)
    # Away from the optimum: Ackley at (1, ..., 1) is 20 - 20 exp(-1/5) in every dimension.
    assert at("ackley", [1.0] * 7, (-10.0, 10.0))[0] == pytest.approx(20 - 20 * math.exp(-0.2), rel=1e-12)


def test_embedded_objectives_ignore_the_added_coordinates():
    unit = torch.rand(20, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for name, active, box in (("branin", 2, (-3.0, 3.0)), ("hartmann", 6, (0.0, 1.0))):
        assert torch.equal(evaluate(name, unit, box)[0], evaluate(name, unit[:, :active], box)[0])
        with pytest.raises(UsageError, match=f"{active} inputs or more"):
            evaluate(name, unit[:, : active - 1], box)


def test_cloud_and_design_depend_on_what_their_settings_say():
    per_seed = [make_problem("branin", 2, seed, DEFAULTS) for seed in (0, 1)]
    assert not torch.equal(per_seed[0].candidates, per_seed[1].candidates)
    one = [make_problem("branin", 2, seed, DEFAULTS | {"cloud": "one"}) for seed in (0, 1)]
    assert torch.equal(one[0].candidates, one[1].candidates)
    ackley, griewank = (make_problem(name, 5, 0, DEFAULTS | {"cloud": "one"}) for name in ("ackley", "griewank"))
    assert torch.equal(ackley.candidates, griewank.candidates)
    assert not torch.equal(ackley.initial, griewank.initial)
    assert not torch.equal(one[0].initial, one[1].initial)
    uniform = make_problem("branin", 2, 0, DEFAULTS | {"initial_design": "uniform"})
    assert not torch.equal(uniform.initial, one[0].initial)
    assert one[0].candidates.shape == (2500, 2)
    assert float(one[0].candidates.min()) >= 0
    assert float(one[0].candidates.max()) < 1

"""The open questions of docs/results: their queries fit the schema, their hypotheses parse, and the page says what it lacks."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from orledger.audit.registry.reading import read_hypothesis
from orledger.paper import STUDY
from orledger.runners.plan import load_preset, make_plan
from orledger.schema.declaring import declared
from orledger.schema.opening import create
from orledger.schema.writing import Writer

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def builder():
    spec = importlib.util.spec_from_file_location("questions", RESULTS / "questions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_query_runs_on_an_empty_database_and_the_page_says_that_it_holds_nothing(builder, tmp_path):
    create(tmp_path / "empty.duckdb")
    with Writer(tmp_path / "empty.duckdb") as writer:
        writer.catalogue(declared(STUDY.cases[0], STUDY))  # the other cases of an installed study come with it
    page = builder.page({"open": tmp_path / "empty.duckdb", "paper": tmp_path / "empty.duckdb"})
    asked = builder.questions()
    assert page.count("No rows: what it asks about has not been computed in full.") == sum(
        q["database"] != "fair" for q in asked
    )
    assert page.count("`fair` was not at hand") == sum(q["database"] == "fair" for q in asked)


def test_numbers_keep_four_digits_and_absent_values_are_empty(builder):
    frame = pl.DataFrame({"name": ["a|b", None], "value": [0.0123456, None], "n": [3, 4]})
    assert builder.table(frame).splitlines()[2:] == ["| a\\|b | 0.01235 | 3 |", "|  |  | 4 |"]


def test_the_hypotheses_of_the_open_questions_are_exploratory_and_look_at_blocks_that_the_preset_plans():
    planned = {(c.case, c.block) for job in make_plan(load_preset("open")) for c in job.cells}
    files = sorted((RESULTS / "open" / "hypotheses").glob("*.toml"))
    assert len(files) == 4
    for path in files:
        hypothesis = read_hypothesis(path)
        assert hypothesis.mode == "exploratory"
        quantities = [q for c in hypothesis.comparisons for _, q in c.sides]
        assert {(q.case, q.block) for q in quantities} <= planned

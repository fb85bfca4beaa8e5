"""The list of cells and the page of one: filters, columns, values beside the cells, order, neighbours and series."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from explorer_db import HOSTILE, fill
from starlette.testclient import TestClient

from orledger.explorer.app import application
from orledger.explorer.cells import Chosen
from orledger.explorer.hypotheses import units
from orledger.explorer.site import Explorer
from orledger.schema.catalogue import Catalogue, Metric
from orledger.schema.outcomes import CellOutcome, PlannedCell
from orledger.schema.writing import Writer

SEEDS = 60


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """152 cells of one block."""
    path = tmp_path_factory.mktemp("many") / "many.duckdb"
    fill(path, 150)
    with TestClient(application(Explorer(path)), base_url="http://localhost") as found:
        yield found


@pytest.fixture(scope="module")
def courses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Two blocks that share no key but one; every cell of the first has a scalar and a series of three arms, the last of which declines."""
    path = tmp_path_factory.mktemp("courses") / "courses.duckdb"
    with Writer(path) as writer:
        loss = Metric("main", "one, two", "loss", better="lower", description="what is lost")
        writer.catalogue(Catalogue("mine", metrics=(loss, Metric("main", "one, two", "curve", idx="step"))))
        cells = [
            PlannedCell(f"s{k}", "mine", "main", f"mine/{k}", {"seed": k, "lr": "0.1"}, "{}", "1", f"s{k}")
            for k in range(SEEDS)
        ]
        other = PlannedCell("other", "mine", "side", "mine/side", {"seed": 0, "depth": 3}, "{}", "1", "other")
        writer.plan([*cells, other])
        steps = 1500
        for k, cell in enumerate(cells[:3]):
            n = steps + 1
            columns = {
                "arm": np.array(["one"] * n + ["two"] * n, dtype=object),
                "metric": np.array((["loss"] + ["curve"] * steps) * 2, dtype=object),
                "label": np.array([None] * 2 * n, dtype=object),
                "idx": np.ma.array(
                    np.tile(np.arange(-1, steps, dtype=np.int32), 2), mask=np.tile(np.arange(n) == 0, 2)
                ),
                "value": np.concatenate([[k + 1.0], np.arange(steps), [3.0 - k], np.arange(steps) * 2.0]),
            }
            writer.store(
                cell.cell_id, CellOutcome("done", columns=columns, refusals=[("three", "no", None)], seconds=k)
            )
    with TestClient(application(Explorer(path)), base_url="http://localhost") as found:
        yield found


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Twelve datasets whose names end in a number, each with one value."""
    path = tmp_path_factory.mktemp("numbered") / "numbered.duckdb"
    with Writer(path) as writer:
        writer.catalogue(Catalogue("mine", metrics=(Metric("main", "one", "loss", better="lower"),)))
        cells = [
            PlannedCell(f"{k * 7 % 13:02}", "mine", "main", f"mine/d{k}", {"dataset": f"d{k}"}, "{}", "1", f"s{k}")
            for k in range(1, 13)
        ]
        writer.plan(cells)
        for cell in cells:
            columns = {
                "arm": np.array(["one"], dtype=object),
                "metric": np.array(["loss"], dtype=object),
                "label": np.array([None], dtype=object),
                "idx": np.ma.array(np.array([0], dtype=np.int32), mask=[True]),
                "value": np.array([1.0]),
            }
            writer.store(cell.cell_id, CellOutcome("done", columns=columns))
    with TestClient(application(Explorer(path)), base_url="http://localhost") as found:
        yield found


NUMBERED = [f"d{k}" for k in range(1, 13)]


def test_names_with_numbers_stand_in_the_order_of_tables(numbered: TestClient) -> None:
    for order in ("name", "key.dataset"):
        assert [r[0] for r in rows(numbered.get(f"/cells?order={order}").text)] == [f"mine/{d}" for d in NUMBERED]
        down = numbered.get(f"/cells?order={order}&down=1").text
        assert [r[0] for r in rows(down)] == [f"mine/{d}" for d in reversed(NUMBERED)]
    beside = numbered.get("/cells?case=mine&block=main&metric=loss&order=arm.one").text  # all values are equal
    assert [r[0] for r in rows(beside)] == [f"mine/{d}" for d in NUMBERED]
    offered = re.search(r'<select name="key.dataset">(.*?)</select>', numbered.get("/cells").text, re.DOTALL)[1]
    assert re.findall(r">(d\d+)<", offered) == NUMBERED
    metric = numbered.get("/metric").text
    assert list(dict.fromkeys(re.findall(r"key\.dataset=(d\d+)", metric))) == NUMBERED
    others = [d for d in re.findall(r">(d\d+)<", numbered.get("/cell/08").text) if d != "d3"]
    assert list(dict.fromkeys(others)) == [d for d in NUMBERED if d != "d3"]


def test_units_behind_a_test_stand_in_the_order_of_tables() -> None:
    frame = pl.DataFrame({"dataset": ["d10", "d2", None, "d1", "D02"], "fold": [1, 2, 3, 5, 4]})
    found = units(None, "SELECT", lambda _query: frame, "dataset, fold")
    assert [u["unit_"] for u in found["units"]] == ["d1/5", "D02/4", "d2/2", "d10/1", "None/3"]


def rows(text: str) -> list[list[str]]:
    """The body of the table of cells as texts."""
    (body,) = re.findall(r'<table class="cells">.*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    lines = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[unescape(re.sub(r"<[^>]+>", "", c)) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", x)] for x in lines]


def test_cells_are_filtered_by_key_sorted_and_paged(many: TestClient) -> None:
    first = many.get("/cells").text
    assert "152 cells; 1 to 100." in first
    assert "page 1 of 2" in first
    assert len(rows(many.get("/cells?page=2").text)) == 52
    assert many.get("/cells?page=99").text == many.get("/cells?page=2").text  # no further than the last
    assert many.get("/cells?page=²").text == first  # no number
    hostile = many.get("/cells", params={"key.dataset": HOSTILE}).text
    assert "76 cells." in hostile
    last = many.get("/cells", params={"order": "key.seed", "down": "1"}).text
    assert re.findall(r'href="/cell/(c\d+)"', last)[0] == "c151"  # by number: as texts, 99 would come first
    assert "No cell is like this" in many.get("/cells", params={"word": "zzz"}).text
    assert many.get("/cells", params={"order": "key.'; DROP TABLE cell; --", "page": "-3"}).status_code == 200


def test_what_is_chosen_is_an_address_and_a_query(many: TestClient) -> None:
    chosen = Chosen.read(
        {"key.dataset": HOSTILE, "state": "done", "order": "seconds", "down": "1", "page": "3"}, ["key.seed"]
    )
    again = many.get(chosen.address(page=1)).text
    assert "75 cells." in again  # 76 have the dataset, and one of them failed
    assert rows(again)[0][2:] == ["1"]  # name and state, and the one column that was chosen
    answer = many.get("/query.csv", params={"q": chosen.query()})
    assert len(answer.text.splitlines()) == 1 + 75
    without = {name: address for name, _, address in chosen.narrowed}
    assert set(without) == {"state", "dataset"}
    assert "76 cells." in many.get(without["state"]).text


def test_a_metric_stands_beside_the_cells_and_sorts_them(courses: TestClient) -> None:
    """Arm one has 1, 2, 3 in the first three cells, arm two 3, 2, 1: which is best, and the order, by hand."""
    address = "/cells?case=mine&block=main&metric=loss&state=done&col=key.seed"
    text = courses.get(address).text
    assert rows(text) == [[f"mine/{k}", "done", str(k), str(k + 1), str(3 - k)] for k in range(3)]
    assert re.findall(r'class="best">(\d)<', text) == ["1", "2", "2", "1"]  # lower is better, and of equals both
    down = courses.get(f"{address}&order=arm.two").text
    assert [r[0] for r in rows(down)] == ["mine/2", "mine/1", "mine/0"]
    planned = courses.get("/cells?case=mine&block=main&metric=loss&col=key.seed&order=arm.one&down=1").text
    assert rows(planned)[0] == ["mine/2", "done", "2", "3", "1"]
    assert rows(planned)[3][2:] == ["3", "—", "—"]  # absent, never zero, and last in either direction
    assert courses.get(f"{address}&order=arm.nobody").status_code == 200


def test_columns_and_filters_that_few_cells_have_step_back(courses: TestClient) -> None:
    text = courses.get("/cells").text
    heads = re.findall(r"<th scope=\"col\"[^>]*><a [^>]*>([^<]+)</a>", text)
    assert heads == ["name", "state", "lr", "seed", "records", "seconds", "finished"]
    assert "1 more filters" not in text
    assert '<select name="key.depth">' in text[text.index("<summary>1 more filter</summary>") :]
    assert 'name="metric"' not in text  # of two blocks
    assert "1 cell." in courses.get("/cells?key.depth=3").text


def test_neighbours_are_those_around_a_cell(courses: TestClient) -> None:
    text = courses.get("/cell/s30").text
    (near,) = re.findall(r"<dt>other seed</dt><dd class=\"others\">(.*?)</dd>", text, re.DOTALL)
    assert re.findall(r">(\d+)</a>", near) == [str(k) for k in (*range(18, 30), *range(31, 43))]
    assert "of 59, those nearest" in near
    assert "other lr" not in text


def test_series_of_a_cell_are_drawn_on_demand(courses: TestClient) -> None:
    assert "chart-data" not in courses.get("/cell/s1").text
    text = courses.get("/cell/s1?series=curve").text
    drawn = json.loads(re.findall(r'id="chart-data">(.*?)</script>', text)[0])
    assert [line["name"] for line in drawn["lines"]] == ["one", "two"]
    assert drawn["lines"][1]["points"][:3] == [[0, 0.0], [2, 4.0], [4, 8.0]]  # 1,500 points: every second one
    assert "One point in 2 is drawn." in text
    assert courses.get("/cell/s1?series=nobody").status_code == 200


def test_a_column_without_labels_is_not_shown(courses: TestClient) -> None:
    text = courses.get("/cell/s1").text
    assert '<th scope="col" class="text">arm</th><th scope="col">loss</th>' in text


def test_many_arms_are_counted_and_stand_alone_in_the_chart(tmp_path: Path) -> None:
    """Arm a61 has the lowest value and no column: no other is then called the best."""
    path = tmp_path / "arms.duckdb"
    with Writer(path) as writer:
        loss = Metric("main", "a00 and its like", "loss", better="lower", description="what is lost")
        writer.catalogue(Catalogue("mine", metrics=(loss,)))
        writer.plan([PlannedCell("c", "mine", "main", "mine/c", {"seed": 0}, "{}", "1", "c")])
        n = 62
        columns = {
            "arm": np.array([f"a{k:02d}" for k in range(n)], dtype=object),
            "metric": np.array(["loss"] * n, dtype=object),
            "label": np.array([None] * n, dtype=object),
            "idx": np.ma.masked_all(n, dtype=np.int32),
            "value": np.arange(n, 0.0, -1.0),
        }
        writer.store("c", CellOutcome("done", columns=columns, seconds=1.0))
    with TestClient(application(Explorer(path)), base_url="http://localhost") as client:
        text = client.get("/cells?metric=loss").text
        assert "the first 60 of 62 arms" in text
        assert rows(text)[0][-1] == "3"
        assert 'class="best"' not in text
        assert '<option value="">nothing</option>' in client.get("/metric?group=seed").text
        assert "<option selected>seed</option>" in client.get("/metric?group=seed").text
        assert "<option selected>seed</option>" not in client.get("/metric").text

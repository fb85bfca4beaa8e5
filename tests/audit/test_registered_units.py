"""What is stored about each comparison when it is registered, and what is said when the units are others."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from foreign_file import comparison, computed, run

import orledger
from orledger.schema import chain
from orledger.schema.opening import connect
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from pathlib import Path

LESS = comparison('test = "sign"\nfamily = "f"\narms = ["a", "b"]')
UNITS = {(f"d{k % 4}", k): {"a": float(k), "b": 20.0 + k} for k in range(8)}
ONE_MORE = {("d9", 99): {"a": 1.0, "b": 2.0}}


def registered(folder: Path, path: Path, text: str = LESS) -> tuple[Any, ...]:
    (folder / "x.toml").write_text(text, encoding="utf-8")
    done = run("register", folder / "x.toml", "--db", path)
    assert done.exit_code == 0, done.output
    with closing(connect(path)) as con:
        query = "SELECT comparison, test, sides, family, family_size, unit, units, basis FROM registered"
        found: tuple[Any, ...] = con.execute(query).fetchall()[-1]
        return found


def audited(path: Path) -> dict[str, Any]:
    done = run("audit", "--db", path, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)["hypotheses"][0]
    return found


@pytest.fixture(scope="module")
def planned_for_six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Registered when six cells were planned, and then eight others computed; not to be changed."""
    folder = tmp_path_factory.mktemp("six")
    path = computed(folder / "s.duckdb", {}, planned=6)
    assert registered(folder, path) == (*FIXED, 6, "planned")
    return computed(path, UNITS)


@pytest.fixture
def six(planned_for_six: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copy(planned_for_six, tmp_path / "s.duckdb")


FIXED = ("c", "sign", '["a", "b"]', "f", 1, "dataset, seed")


def test_units_that_nobody_knows_yet_are_stored_as_not_known(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    assert registered(tmp_path, path) == (*FIXED, None, "not known yet")
    computed(path, UNITS, planned=2)
    assert "c was planned, before the first result, for 10 units and evaluated on 8" in audited(path)["remarks"]


TOO_MANY = "c used more units than were fixed before the first result"


def test_more_units_than_the_plan_that_was_registered_are_said_and_lose_the_level(six: Path) -> None:
    found = audited(six)
    assert "c was registered with a plan of 6 units and evaluated on 8" in found["remarks"]
    assert TOO_MANY in found["level"]


@pytest.mark.slow
@pytest.mark.parametrize("planned", [8, 10])
def test_units_are_held_against_the_plan_that_was_registered(tmp_path: Path, planned: int) -> None:
    path = computed(tmp_path / "s.duckdb", {}, planned=planned)
    assert registered(tmp_path, path) == (*FIXED, planned, "planned")
    found = audited(computed(path, UNITS))
    said = f"c was registered with a plan of {planned} units and evaluated on 8"
    assert (said in found["remarks"]) == (planned != 8)
    assert TOO_MANY not in found["level"]
    done = run("report", "--db", path, "--out", tmp_path / "r.html", "--no-pdf")
    assert done.exit_code == 0, done.output
    assert (said in (tmp_path / "r.html").read_text(encoding="utf-8")) == (planned != 8)


def test_units_that_were_there_are_held_against_those_that_came_later(tmp_path: Path) -> None:
    path = computed(tmp_path / "s.duckdb", UNITS)
    assert registered(tmp_path, path) == (*FIXED, 8, "present")
    found = audited(computed(path, ONE_MORE))
    assert "c was registered when 8 units were there, with results, and evaluated on 9" in found["remarks"]
    assert "c used more units than were there when it was registered" in found["level"]
    assert "the number of units of each test was not fixed before the first result" in found["remarks"]


@pytest.mark.slow
def test_a_number_in_the_text_is_the_number(tmp_path: Path) -> None:
    path = computed(tmp_path / "s.duckdb", {}, planned=6)
    text = LESS.replace('family = "f"', 'family = "f"\nunits = 8')
    assert registered(tmp_path, path, text) == (*FIXED, 8, "declared")
    assert not [r for r in audited(computed(path, UNITS))["remarks"] if "evaluated on" in r]


@pytest.mark.parametrize("change", ["UPDATE registered SET units = 8", "DELETE FROM registered"])
def test_a_count_that_is_changed_afterwards_is_found(six: Path, change: str) -> None:
    with closing(connect(six, "write")) as con:
        con.execute(change)
    done = run("audit", "--db", six)
    assert done.exit_code == 6
    assert "registered " in done.output


def test_rows_that_do_not_follow_from_the_text_get_no_verdict(six: Path) -> None:
    """Entered into the chain in good order: another family than the text has."""
    with closing(connect(six, "write")) as con, transaction(con):
        changed = con.execute("UPDATE registered SET family = NULL, family_size = NULL RETURNING registration")
        chain.append(con, "registration", {}, {"registered": [changed.fetchall()[0][0]]})
    done = run("audit", "--db", six)
    assert done.exit_code == 6
    assert "are not those of its text" in done.output


def test_results_that_are_put_in_place_of_others_are_said(tmp_path: Path) -> None:
    """Through the front door, after the registration, without an audit between the two looks."""
    path = tmp_path / "s.duckdb"
    registered(tmp_path, path, LESS.replace('pair = ["dataset", "seed"]', 'pair = ["dataset"]'))
    for turned in (True, False):
        with orledger.study("s", block="t", db=path) as log:
            for k in range(8):
                cell = log.cell(dataset=f"d{k}")
                cell.log("a", m=k + (9.0 if turned and k < 4 else 0.0), replace=not turned)
                cell.log("b", m=k + 1.0)
    found = audited(path)
    assert found["verdict"] == "supported"
    assert found["level"].startswith("no level is claimed: results of 4 cells were replaced by others")
    assert any("results of 4 cells were replaced by others after they had been stored" in r for r in found["remarks"])


def test_numbers_that_are_added_replace_none(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    for arm in ("a", "b"):
        with orledger.study("s", block="t", db=path) as log:
            for k in range(8):
                log.cell(dataset=f"d{k}").log(arm, m=k + (arm == "b"))
    with closing(connect(path)) as con:
        assert con.execute("SELECT count(*) FROM ledger WHERE payload LIKE '%replaced%'").fetchall() == [(0,)]

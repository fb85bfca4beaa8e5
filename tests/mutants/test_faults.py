"""The lists of mutants speak about files that are there: a fault whose text has gone would count as noticed."""

import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def table(name: str) -> dict:
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("fault", table("faults.toml")["fault"], ids=lambda f: f["name"])
def test_a_fault_replaces_a_text_that_stands_once(fault):
    times = (ROOT / fault["module"]).read_text(encoding="utf-8").count(fault["replace"])
    assert times == 1, f"the code has changed: write the fault {fault['name']!r} for it in tests/mutants/faults.toml"
    assert fault["by"] != fault["replace"]
    assert all((ROOT / t.partition("::")[0]).is_file() for t in fault["tests"])


def test_targets_are_there():
    found = table("targets.toml")
    files = [m for t in found["target"] for m in t["modules"]] + [t for tests in found["tests"].values() for t in tests]
    assert [f for f in files if not (ROOT / f).is_file()] == []
    assert {t["tests"] for t in found["target"]} <= set(found["tests"])


@pytest.mark.parametrize("same", table("equivalent.toml").get("equivalent", []), ids=lambda e: e["after"])
def test_an_equivalent_mutant_changes_a_line_that_is_there(same):
    lines = [line.strip() for line in (ROOT / same["module"]).read_text(encoding="utf-8").splitlines()]
    assert same["before"].split("\n")[0] in lines
    assert same["reason"]

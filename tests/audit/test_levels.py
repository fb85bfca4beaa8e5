"""Whether a verdict keeps its level: where it cannot, the console, the stored row and the report say so in words."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
import pytest
from foreign_file import HEAD, computed, run

import orledger
from orledger.audit.evaluation import auditing
from orledger.schema.opening import connect

if TYPE_CHECKING:
    from pathlib import Path

C = '[[comparison]]\nid = "c"\ntitle = "t"\ntest = "sign"\narms = ["a", "b"]\n'
D = C.replace('"c"', '"d"')
LATER = '[disposition]\notherwise = "inconclusive"\notherwise_reason = "r"\n[[disposition.rule]]\nverdict = "supported"\nreason = "r"\n'
SEEDS = HEAD.replace('pair = ["dataset", "seed"]', 'pair = ["seed"]')


def text(body: str, condition: str = 'all = ["c is less"]', head: str = SEEDS) -> str:
    return f"{head}\n{body}{LATER}{condition}\n"


def values(n: int = 12, refused: int = 0) -> dict[tuple[str, int], dict[str, float | None]]:
    """Arm a is lower than b in every unit; it refuses in the last ``refused``."""
    return {("d", k): {"a": None if k >= n - refused else float(k), "b": 20.0 + k * k} for k in range(n)}


def levels_of(
    folder: Path, texts: list[str], cells: dict[tuple[str, int], dict[str, float | None]], planned: int = 0
) -> dict[str, str]:
    """What the audit says about the levels of hypotheses that were registered first, by id; the rows say the same."""
    path = folder / "s.duckdb"
    files = [folder / f"{k}.toml" for k in range(len(texts))]
    for file, body in zip(files, texts, strict=True):
        file.write_text(body, encoding="utf-8")
    assert run("register", *files, "--db", path).exit_code == 0
    computed(path, cells, planned)
    done = run("audit", "--db", path, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["hypotheses"]
    for h in found:
        assert h["verdict"] == "supported", h["reason"]
        assert h["known"] == "registered before the first cell"
    told = {h["id"]: str(h["level"]) for h in found}
    with duckdb.connect(str(path), read_only=True) as con:
        assert dict(con.execute("SELECT hypothesis, level FROM disposition").fetchall()) == told
    return told


def level(folder: Path, body: str, cells: dict[tuple[str, int], dict[str, float | None]], planned: int = 0) -> str:
    """What the audit says about the level of one hypothesis."""
    return levels_of(folder, [body], cells, planned)["X"]


KEPT = "the level of 0.05 is kept"
CASES = {
    "every unit entered": (text(C), values(), 0, KEPT),
    "cells that were never computed": (
        text(C, head=HEAD),
        values(),
        3,
        "no level is claimed: c used 12 of the 15 units that were fixed",
    ),
    "cells that were never computed, at any time": (
        text(C.replace('"sign"', '"sign_anytime"'), head=HEAD),
        values(),
        3,
        KEPT,
    ),
    "a side refused": (
        text(C),
        values(refused=2),
        0,
        "no level is claimed: c left 2 units out in which a side refused",
    ),
    "one refusal": (text(C), values(refused=1), 0, "no level is claimed: c left 1 unit out in which a side refused"),
    "refusals that could not turn it": (text(C + 'refusals = "bounds"\n'), values(refused=2), 0, KEPT),
    "either of two tests": (
        text(C + D, 'any = ["c is less", "d is less"]'),
        values(),
        0,
        "any of 2 tests that are not",
    ),
    "either of a family": (
        text(C + 'family = "f"\n' + D + 'family = "f"\n', 'any = ["c is less", "d is less"]'),
        values(),
        0,
        KEPT,
    ),
    "both of two tests": (text(C + D, 'all = ["c is less", "d is less"]'), values(), 0, KEPT),
    "either of two, and one of them in any case": (
        text(C + D, 'all = ["c is less"]\nany = ["c is less", "d is less"]'),
        values(),
        0,
        KEPT,
    ),
}


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each of ``CASES``; those with the same cells share a database and an audit."""
    found: dict[str, str] = {}
    for shared in {repr(case[1:3]): case for case in CASES.values()}.values():
        same = {f"X{k}": name for k, name in enumerate(CASES) if CASES[name][1:3] == shared[1:3]}
        texts = [CASES[name][0].replace('id = "X"', f'id = "{key}"') for key, name in same.items()]
        told = levels_of(tmp_path_factory.mktemp("levels"), texts, *shared[1:3])
        found |= {same[key]: words for key, words in told.items()}
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_level_is_kept_or_the_reason_is_said(levels: dict[str, str], name: str) -> None:
    found, words = levels[name], CASES[name][3]
    assert words in found
    assert found.startswith("the level") == (words == KEPT)


def test_units_that_are_logged_until_it_suits_claim_no_level(tmp_path: Path) -> None:
    """A loop plans nothing: who stops when the sign test says what he likes has fixed no number of units."""
    for name, units, words in (("free", "", "was not fixed before the first result"), ("held", "units = 12\n", KEPT)):
        (tmp_path / f"{name}.toml").write_text(
            text(C + units).replace('block = "t"', 'block = "main"').replace('case = "s"', f'case = "{name}"'),
            encoding="utf-8",
        )
        path = tmp_path / f"{name}.duckdb"
        assert run("register", tmp_path / f"{name}.toml", "--db", path).exit_code == 0
        with orledger.study(name, path, better={"m": "lower"}) as log:
            for seed in range(12):
                cell = log.cell(seed=seed)
                cell.log("a", m=float(seed))
                cell.log("b", m=20.0 + seed)
        found = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"][0]
        assert words in found["level"], found
        assert found["population"] == "further units like these 12 (seed)"


def test_a_verdict_that_no_rule_gave_has_its_numbers_and_its_coarser_row(tmp_path: Path) -> None:
    """Undecided, and refuted by the file's own choice: what was tested is quoted, and its unit is as fine as before."""
    cells = {(f"d{k // 2}", k): {"a": 10.0 + (-1) ** k * (k + 1), "b": 10.0} for k in range(12)}
    path = computed(tmp_path / "s.duckdb", cells)
    (tmp_path / "x.toml").write_text(
        text(C, head=HEAD).replace('otherwise = "inconclusive"', 'otherwise = "refuted"'), encoding="utf-8"
    )
    found = json.loads(run("audit", "--registry", tmp_path / "x.toml", "--db", path, "--json").output)["hypotheses"][0]
    assert found["verdict"] == "refuted"
    assert "Not supported because of: c undecided (n = 12, p = 1," in found["reason"]
    assert found["population"].endswith("not other values of dataset")
    assert found["coarser_verdict"] is not None


def test_units_that_share_a_dataset_are_too_fine_for_other_datasets(tmp_path: Path) -> None:
    """Differences -1 and -9 by dataset: all of the variance lies between them."""
    cells = {(f"d{k % 2}", k): {"a": 10.0 - (1 if k % 2 else 9), "b": 10.0} for k in range(8)}
    found = level(tmp_path, text(C, head=HEAD), cells)
    assert found.startswith(f"{KEPT}. For other values of dataset the units are too fine")
    assert "intraclass correlation of the differences up to 1.00" in found


def test_a_test_that_cannot_flip_whole_units_says_that_it_has_no_row(tmp_path: Path) -> None:
    cells = {(f"d{k % 4}", k): {"a": 1.0 * k, "b": 20.0 + k, "c": 40.0 + k} for k in range(8)}
    body = C.replace('"sign"', '"friedman"').replace('["a", "b"]', '["a", "b", "c"]')
    found = level(tmp_path, text(body, 'all = ["c is different"]', head=HEAD), cells)
    assert (
        "For other values of dataset the units of c may be too fine, and no row with dataset as the unit can be had"
        in found
    )
    with closing(connect(tmp_path / "s.duckdb", "read")) as con:
        shown = con.execute("SELECT coarser_unit, coarser_verdict, coarser_reason FROM disposition").fetchall()
    assert shown == [("dataset", None, "with dataset as the unit: no row, friedman cannot flip whole units")]


def test_looking_again_loses_the_level_of_a_fixed_n_and_not_of_an_anytime_test(tmp_path: Path) -> None:
    both = text(C, head=SEEDS) + "\n"
    any_time = both.replace('"sign"', '"sign_anytime"').replace('id = "X"', 'id = "Y"')
    path = tmp_path / "s.duckdb"
    for name, body in (("x", both), ("y", any_time)):
        (tmp_path / f"{name}.toml").write_text(body, encoding="utf-8")
        assert run("register", tmp_path / f"{name}.toml", "--db", path).exit_code == 0
    computed(path, values(12))
    assert run("audit", "--db", path).exit_code == 0
    computed(path, values(14))
    shown = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"]
    found = {h["id"]: h["level"] for h in shown}
    assert "c used a fixed n after 1 look at other data" in found["X"]
    assert found["Y"] == KEPT


def test_the_report_and_the_console_print_level_population_and_receipt(tmp_path: Path) -> None:
    path, page = tmp_path / "s.duckdb", tmp_path / "report.html"
    (tmp_path / "x.toml").write_text(text(C, head=HEAD), encoding="utf-8")
    assert run("register", tmp_path / "x.toml", "--db", path).exit_code == 0
    assert run("verify", "--db", path, "--write-receipt", tmp_path / "before.json").exit_code == 0
    computed(path, {(f"d{k % 4}", k): {"a": float(k), "b": 20.0 + k * k} for k in range(12)})
    console = " ".join(run("audit", "--db", path).output.split())
    done = run("report", "--db", path, "--out", page, "--no-pdf")
    assert done.exit_code == 0, done.output
    html = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    for told in (console, html):
        assert "further values of seed at these 4 values of dataset" in told
        assert "For other values of dataset the units" in told
        assert re.search(r"a receipt from before the data was written \d{4}-", told, re.IGNORECASE)
    assert "A receipt from before the data is recorded for 1 of 1 registered texts" in html


def test_a_receipt_after_the_first_cell_is_none_from_before_the_data(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    (tmp_path / "x.toml").write_text(text(C), encoding="utf-8")
    assert run("register", tmp_path / "x.toml", "--db", path).exit_code == 0
    computed(path, values())
    assert run("verify", "--db", path, "--write-receipt", tmp_path / "late.json").exit_code == 0
    found = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"][0]
    assert found["receipt"] is None
    assert "no receipt from before the data is recorded" in " ".join(run("audit", "--db", path).output.split())


def test_a_receipt_that_does_not_hold_the_text_says_nothing_about_it(tmp_path: Path) -> None:
    """Written before the data, and before the hypothesis was registered."""
    path = tmp_path / "s.duckdb"
    for name in "XY":
        (tmp_path / f"{name}.toml").write_text(text(C).replace('id = "X"', f'id = "{name}"'), encoding="utf-8")
    assert run("register", tmp_path / "X.toml", "--db", path).exit_code == 0
    assert run("verify", "--db", path, "--write-receipt", tmp_path / "before.json").exit_code == 0
    assert run("register", tmp_path / "Y.toml", "--db", path).exit_code == 0
    computed(path, values())
    shown = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"]
    assert {h["id"]: h["receipt"] is not None for h in shown} == {"X": True, "Y": False}


def test_a_disk_that_fills_up_is_a_database_error(tmp_path, monkeypatch):
    """DuckDB notices a full disk at the commit: a message and the exit code of the database."""
    level(tmp_path, text(C), values())

    def full(*_, **__):
        raise duckdb.TransactionException("Failed to commit: No space left on device")

    for when in ("store", "register_descriptions"):  # the later one first: a failure of the other one comes before it
        monkeypatch.setattr(auditing, when, full)
        done = run("audit", "--db", tmp_path / "s.duckdb")
        assert (done.exit_code, "s.duckdb is full" in done.output) == (3, True), done.output

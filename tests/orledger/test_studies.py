"""Studies are found by entry point, module path and folder; and nothing but the paper's own room knows the paper."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from orledger import studies
from orledger.errors import OrledgerError, UsageError
from orledger.runners.plan import load_preset, make_plan, preset_names
from orledger.study import Case, Study

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "location"


def forget_example() -> None:
    for name in [m for m in sys.modules if m.split(".")[0] == "location_study"]:
        del sys.modules[name]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    forget_example()  # a copy that another test has looked at
    yield studies.find("location_study")
    forget_example()


def test_a_study_is_found_by_its_module_and_brings_its_presets(example: Study) -> None:
    assert preset_names(example) == ["small"]
    plan = make_plan(load_preset("small", example))
    assert len(plan) == 32  # two laws, sixteen seeds
    assert {cell.case for job in plan for cell in job.cells} == {"location"}


def test_a_study_is_found_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'name = "mine"\ntitle = "Mine"\nhypotheses = "asked"\n[cases.one]\npackage = "one_case"\n[labels]\nx = "the x"\n'
    )
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked" / "h.toml").write_text("[hypothesis]")
    for reference in (str(tmp_path), str(tmp_path / "study.toml")):
        study = studies.find(reference)
        assert (study.name, study.title, study.labels["x"]) == ("mine", "Mine", "the x")
        assert study.cases == (Case("one", "one_case", ""),)
        assert study.files("hypotheses", ".toml") == {"h.toml": "[hypothesis]"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("title = 1", "'name'"),
        ('name = "x"\ntitel = "y"', "titel"),
        ('name = "x"\n[cases]\na = 1', "cases"),
        ("name = ", "not valid TOML"),
    ],
)
def test_a_wrong_study_file_is_told_by_file_and_key(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(UsageError, match=re.escape(problem)):
        studies.find(str(tmp_path))


def test_an_unknown_study_is_told_with_what_there_is() -> None:
    with pytest.raises(UsageError, match="did you mean paper"):
        studies.find("papre")
    with pytest.raises(UsageError, match=r"no study in nobody\.study"):
        studies.find("nobody.study")


def test_two_studies_cannot_share_a_case() -> None:
    one, two = Study("one", cases=(Case("x", "p"),)), Study("two", cases=(Case("x", "q"),))
    with pytest.raises(OrledgerError, match="both have a case called 'x'"):
        studies.cases([one, two])


def test_only_studies_with_cells_are_present() -> None:
    assert [s.name for s in studies.having(["b"])] == ["paper"]
    assert studies.having(["somebody_elses"]) == []


# Words by which a module outside the paper's room would give away that it knows the paper: its name in our tree, "the paper"
# as a definite thing, its hypotheses, and names of its tables and arms.
KNOWN = re.compile(r"orledger\.paper|\bH[1-5]\b|\bBabl\b|\bBarms\b|\bdak_kl\b|\bor2_oracle\b")
KNOWS = re.compile(KNOWN.pattern + r"|\b[Tt]he paper\b")
ROOMS = ("orledger", "recovery", "schema", "audit", "reports", "explorer", "templates", "runners")


def test_nothing_outside_its_room_knows_the_paper() -> None:
    found = []
    for folder in ROOMS:
        for path in sorted((ROOT / folder).rglob("*")):
            own = path.relative_to(ROOT).as_posix()
            history = own.startswith("schema/migrations/")  # applied texts are never edited
            if path.suffix not in {".py", ".sql", ".j2", ".js", ".css", ".toml"} or "/case_" in own or history:
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
            # To the recheck, "the paper" is the file it was given.
            knows = KNOWN if "recheck" in own else KNOWS
            found += [f"{own}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if knows.search(line)]
    assert found == []


def test_a_table_with_the_name_of_a_case_is_not_that_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """a.csv is imported as the study a; a study whose case a computes has no cell by that."""
    runs, named = Study("runs", cases=(Case("a", "some.package"),)), Study("named", cases=(Case("a"),))
    monkeypatch.setattr(studies, "installed", lambda: [runs, named])
    assert studies.having(["a"]) == [runs, named]
    assert studies.having(["a"], brought_in=["a"]) == [named]
    assert studies.having(["a"], [runs], brought_in=["a"]) == [runs, named]  # beside the table, or asked for by name


def test_a_study_toml_that_lies_beside_a_table_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one asks for by name may bring modules, behind those that are installed; what merely lies there may not."""
    (tmp_path / "study.toml").write_text(
        'name = "e"\ntables = ["evil"]\nviews = "/etc"\nhypotheses = ".."\n[cases.e]\npackage = "evil"\n[labels]\nx = "X"\n'
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    study = studies.shown(tmp_path)
    assert (study.cases, study.labels) == ((Case("e"),), {"x": "X"})
    assert not any((study.tables, study.figures, study.views, study.hypotheses, study.path))
    assert str(tmp_path) not in sys.path
    assert studies.from_folder(tmp_path).tables == ("evil",)
    assert sys.path[-1] == str(tmp_path)

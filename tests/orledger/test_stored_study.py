"""A study that a loop logged gets its questions, audit and report without passing through a table."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy.stats import wilcoxon

import orledger
from orledger.cli import main
from orledger.errors import UsageError

OURS = [0.91, 0.88, 0.79, 0.95, 0.83, 0.74, 0.97]
BASE = [0.85, 0.86, 0.72, 0.91, 0.80, 0.75, 0.90]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven datasets by two seeds, two arms, a metric whose name says its direction and one that does not."""
    path = tmp_path_factory.mktemp("logged") / "mine.duckdb"
    with orledger.study("mine", path) as s:
        for i, dataset in enumerate("abcdefg"):
            for seed in (0, 1):
                cell = s.cell(dataset=dataset, seed=seed)
                cell.log("ours", accuracy=OURS[i] + seed / 1000, size=float(i))
                cell.log("base", accuracy=BASE[i] + seed / 1000, size=2.0)
        assert "14 cells" in repr(s)
    return path


@pytest.fixture
def logged(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(once, tmp_path / once.name))


def test_questions_for_what_was_logged_are_tested_as_scipy_does(logged: Path) -> None:
    with orledger.open(logged) as results:
        audit = results.ask()
        (finding,) = audit.findings
        test = next(t for t in finding.tests if t.result.test == "signed_rank")
        assert test.result.p == pytest.approx(wilcoxon(OURS, BASE, method="exact").pvalue, abs=1e-12)
        assert finding.decision is not None
        assert finding.decision.reason.startswith("ours has the better accuracy (higher)")
        assert "unit: dataset; seed repeats a measurement on it and is averaged before any test" in results.reasons
        assert "SUPPORTED" in repr(audit)
        assert results.contents()["records"].item() == 56


def test_the_better_arm_is_named_in_either_direction(logged: Path) -> None:
    with orledger.open(logged) as results:
        lower = results.ask(better="lower")
    assert lower.findings[0].decision is not None
    assert lower.findings[0].decision.reason.startswith("base has the better accuracy (lower)")


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"study": "mien"}, "no study 'mien'"),
        ({"metric": "acuracy"}, "no metric 'acuracy'"),
        ({"metric": "size"}, "whether lower or higher 'size' is better"),
        ({"unit": ["datset"]}, "no key 'datset'"),
        ({"control": "best"}, "no arm 'best'"),
        ({"control": "ours", "best": True}, "contradict"),
    ],
)
def test_what_cannot_be_asked_is_told(logged: Path, asked: dict, problem: str) -> None:
    with orledger.open(logged) as results, pytest.raises(UsageError, match=problem):
        results.ask(**asked)


def test_a_unit_that_is_a_key_is_taken(logged: Path) -> None:
    with orledger.open(logged) as results:
        (finding,) = results.ask(unit=["seed"]).findings
    tested = next(t for t in finding.tests if t.comparison.id == "difference")
    assert (tested.comparison.unit, tested.result.n) == (("seed",), 2)


def test_a_database_without_results_has_nothing_to_ask(tmp_path: Path) -> None:
    with orledger.study("mine", tmp_path / "r.duckdb"):
        pass
    with orledger.open(tmp_path / "r.duckdb") as results, pytest.raises(UsageError, match="holds no results yet"):
        results.ask()


def test_several_studies_are_told_apart(logged: Path) -> None:
    with orledger.study("other", logged) as s:
        s.cell(dataset="a").log("x", loss=1.0)
    with orledger.open(logged) as results:
        with pytest.raises(UsageError, match="several studies") as error:
            results.ask()
        assert "mine/main, other/main" in str(error.value)
        assert results.ask("mine/main").findings[0].hypothesis.id == "mine"


def test_init_writes_the_questions_of_a_database_and_study_uses_them(logged: Path, few_figures: None) -> None:
    run = CliRunner().invoke
    made = run(main, ["init", "mine.duckdb", "--metric", "accuracy"])
    assert made.exit_code == 0, made.output
    file = Path("mine.hypotheses.toml")
    assert "The questions were written when the results were there" in file.read_text()
    again = run(main, ["init", "mine.duckdb"])
    assert again.exit_code == 2
    assert "is there already" in again.output
    refused = run(main, ["study", "mine.duckdb", "--better", "lower"])
    assert refused.exit_code == 2
    assert "already says what is asked" in refused.output
    done = run(main, ["study", "mine.duckdb", "--no-pdf"])
    assert done.exit_code == 0, done.output
    assert "ours has the better accuracy" in done.output
    assert "accuracy" in Path("mine-report/report.html").read_text()
    first = file.read_text()
    anew = run(main, ["study", "mine.duckdb", "--metric", "accuracy", "--scale", "own", "--force", "--no-pdf"])
    assert anew.exit_code == 0, anew.output
    assert "amended after" in anew.output
    assert Path("mine.hypotheses.toml.bak").read_text() == first
    assert 'test = "sign"' in file.read_text()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["study", "mine.duckdb", "--db", "x.duckdb"], "is a database itself"),
        (["study", "mine.duckdb", "more.csv"], "something else was given beside it"),
        (["init", "mine.duckdb", "--arm", "method"], "columns of a table"),
    ],
)
def test_options_that_make_no_sense_for_a_database(logged: Path, words: list[str], problem: str) -> None:
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 2
    assert problem in found.output

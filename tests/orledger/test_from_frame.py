"""A frame of results becomes an audited study in one call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import wilcoxon

import orledger
from orledger.errors import DataError, UsageError
from orledger.from_frame import as_polars
from orledger.reports.report.ledger import gather

X = np.round(np.random.default_rng(5).uniform(0.5, 0.9, (9, 3)) + np.array([0.0, 0.05, 0.1]), 3)
LONG = {
    "dataset": [f"d{i}" for i in range(9) for _ in range(3)],
    "method": ["a", "b", "c"] * 9,
    "accuracy": X.ravel().tolist(),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def p_values(opened: orledger.opened.Opened) -> dict[str, float]:
    rows = opened.sql("SELECT comparison, p FROM test_result WHERE test = 'signed_rank'")
    return dict(rows.iter_rows())


EXPECTED = {
    f"{a}/{b}": wilcoxon(X[:, i] - X[:, j], method="exact").pvalue
    for i, a in enumerate("abc")
    for j, b in enumerate("abc")
    if i < j
}


@pytest.mark.parametrize("kind", ["lazy", "pandas", "columns", "rows"])
def test_every_kind_of_frame_is_the_same_table(kind: str) -> None:
    frame = pl.DataFrame(LONG)
    given = {"lazy": frame.lazy(), "pandas": pd.DataFrame(LONG), "columns": LONG, "rows": frame.to_dicts()}[kind]
    assert as_polars(given).equals(frame)


@pytest.mark.parametrize("kind", ["polars", "pandas with an index", "wide"])
def test_every_shape_gives_the_same_tests(kind: str) -> None:
    wide = {f"{arm}": X[:, k] for k, arm in enumerate("abc")}
    given = {
        "polars": pl.DataFrame(LONG),
        "pandas with an index": pd.DataFrame(LONG).set_index("dataset"),
        "wide": pl.DataFrame({"dataset": [f"d{i}" for i in range(9)], **wide}),
    }[kind]
    with orledger.study_from(given, "mine", better="higher") as study:
        assert p_values(study) == pytest.approx(EXPECTED, rel=1e-9)
        assert any(reason.startswith("dataset: key") for reason in study.reasons)
        if kind == "polars":
            assert {"mine-results", "mine-summary", "mine-pairs"} <= {t.name for t in study.tables()}
            assert next(study.figures(["mine-critical"])).name == "mine-critical"
    assert Path("mine.duckdb").is_file()


def test_missing_values_of_pandas_are_refusals() -> None:
    frame = pd.DataFrame(LONG)
    frame.loc[4, "accuracy"] = np.nan
    frame["reason"] = pd.Series([pd.NA] * 27, dtype="string")
    frame.loc[4, "reason"] = "out of memory"
    with orledger.study_from(frame, "mine") as study:
        assert study.sql("SELECT arm, reason FROM refusal").rows() == [("b", "out of memory")]
        assert study.sql("SELECT count(*) FROM record").item() == 26


def test_again_adds_and_a_changed_value_is_refused() -> None:
    orledger.study_from(LONG, "mine").close()
    more = {"dataset": ["new"] * 3, "method": ["a", "b", "c"], "accuracy": [0.5, 0.6, 0.7]}
    both = {k: [*LONG[k], *more[k]] for k in LONG}
    with orledger.study_from(both, "mine") as study:
        assert study.contents()["cells"].item() == 10
    changed = {**LONG, "accuracy": [0.123, *LONG["accuracy"][1:]]}
    with pytest.raises(DataError, match=r"accuracy of a is .* and 0\.123"):
        orledger.study_from(changed, "mine")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"arm": "methd"}, "did you mean 'method'"),
        ({"control": "d"}, "no arm 'd'"),
        ({"control": "a", "best": True}, "contradict"),
    ],
)
def test_a_wrong_wish_is_told_and_leaves_nothing(options: dict, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        orledger.study_from(LONG, "mine", **options)
    assert not Path("mine.duckdb").exists()


def test_what_is_no_table_is_told() -> None:
    with pytest.raises(UsageError, match="is not a table"):
        orledger.study_from(42)
    with pytest.raises(UsageError, match="several levels"):
        orledger.study_from(pd.DataFrame({("a", "b"): [1.0]}))


def test_captions_say_which_units_and_runs_are_missing() -> None:
    """Nine datasets by two seeds: one dataset without an arm, and one value that rests on one run instead of two."""
    rows = [
        {"dataset": f"d{i}", "seed": seed, "method": arm, "accuracy": float(X[i, k]) + seed / 100}
        for i in range(9)
        for seed in (0, 1)
        for k, arm in enumerate("abc")
        if (i, arm) != (4, "c") and (i, arm, seed) != (7, "a", 1)
    ]
    with orledger.study_from(rows, "holes", better="higher") as study:
        assert "omnibus test: Skillings-Mack, because 1 of 9 units lacks an arm" in study.reasons
        captions = {t.name: str(t.caption) for t in study.tables()}
        missing = [(r["arm"], r["cells"], r["reason"]) for r in gather(study).arm_refusals]
        drawn = next(study.figures(["holes-differences"])).caption
    assert missing == [("a", 1, "no entry in what was imported"), ("c", 2, "no entry in what was imported")]
    assert "Of 3 pairs the 2 with the smallest p" in drawn
    assert "Means of fewer runs than other arms have there: a on d7 (1 of 2)." in captions["holes-results"]
    assert "over the 8 units that have every arm (1 lacks one)" in captions["holes-results"]
    assert "over the 8 units that have every arm (1 lacks one)" in captions["holes-summary"]
    assert "over the 8 to 9 units that have both arms" in captions["holes-pairs"]


def test_a_database_that_is_not_there_names_those_that_are() -> None:
    orledger.study_from(LONG, "mine", better="higher").close()
    with pytest.raises(orledger.errors.DatabaseError) as refused:
        orledger.open("results.duckdb")
    assert "mine.duckdb" in str(refused.value)
    assert "orledger study TABLE.csv" in str(refused.value)


def test_scales_of_their_own_no_median_is_bold_and_what_the_untestable_lack_is_said() -> None:
    """Seven games of very different scores: the sign test of six pairs has the floor 2 / 2**7, six times that after Holm."""
    from orledger.audit.evaluation.summary import audit_lines

    games = [{"game": f"g{i}", **{arm: 10.0**i * (k + 1) for k, arm in enumerate("abcd")}} for i in range(7)]
    with orledger.study_from(games, "games", better="higher") as study:
        summary = next(t for t in study.tables() if t.name == "games-summary")
        assert not any(row.cells[2].bold for group in summary.groups for row in group.rows)
        said = " ".join(" ".join(audit_lines(study.audit())).split())
    assert "the untestable have the floor 0.016 before the correction over 6 tests" in said

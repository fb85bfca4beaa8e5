"""Settings of what is measured on are no further units, and what describes an arm hides no results."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest

from orledger.audit.importing.inference import Wishes
from orledger.audit.importing.loading import import_files
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.records import to_records
from orledger.audit.importing.stored import ask_stored
from orledger.audit.importing.tables import programs, read_tables, stacked
from orledger.audit.importing.writing import Draft, draft
from orledger.errors import UsageError
from orledger.from_frame import study_from
from orledger.grid import run_grid
from orledger.schema.reading import open_results
from orledger.schema.writing import Writer

DATASETS = ("iris", "wine", "car", "heart", "glass", "yeast")


def drawn(frame: pl.DataFrame, **wishes: object) -> Draft:
    return draft(stacked([("t.csv", frame)], wishes.get("ignore", ())), "t.csv", Wishes(**wishes))


def ahead(dataset: str, setting: object, seed: int) -> dict[str, dict[str, float]]:
    """Method b is ahead of a everywhere, by an amount of its own on each dataset."""
    k = DATASETS.index(dataset)
    return {"a": {"acc": 0.5 + 0.01 * seed}, "b": {"acc": 0.51 + 0.01 * seed + 0.01 * k}}


def grid(setting: str, values: tuple[object, ...]) -> pl.DataFrame:
    cells = [(*c, m, v["acc"]) for c in product(DATASETS, values, (0, 1)) for m, v in ahead(*c).items()]
    return pl.DataFrame(cells, schema=["dataset", setting, "seed", "method", "acc"], orient="row")


@pytest.mark.parametrize(
    ("setting", "values", "keys"),
    [("depth", (2, 4, 8), ("dataset", "depth", "seed")), ("attack", ("none", "fgsm"), ()), ("horizon", (96, 192), ())],
)
def test_a_setting_is_averaged_within_its_dataset(setting, values, keys):
    made = drawn(grid(setting, values), keys=keys)
    assert (made.guess.unit, set(made.guess.repeats)) == (("dataset",), {setting, "seed"})
    (unit,) = (r for r in made.reasons if r.startswith("unit:"))
    assert unit == (
        f"unit: dataset; seed repeats a measurement on it and is averaged before any test; {setting} varies on the same dataset"
        " and is averaged too, so that what is found is about datasets"
    )
    assert "improvement" not in made.questions.text  # two values of a setting are no two runs


def test_six_datasets_can_show_no_more_than_six_datasets_can(tmp_path):
    """All six differences have one sign: p is 2 / 2**6 for six units, and would be 2 / 2**18 for eighteen."""
    with study_from(grid("depth", (2, 4, 8)), "s", tmp_path / "s.duckdb", keys=("dataset", "depth", "seed")) as study:
        assert study.sql("SELECT n, p FROM test_result WHERE comparison = 'difference'").row(0) == (6, 2 / 2**6)
    wider = Wishes(keys=("dataset", "depth", "seed"), unit=("dataset", "depth"))
    table = stacked([("s", grid("depth", (2, 4, 8)))])
    made = draft(table, "s", wider)
    assert made.guess.repeats == ("seed",)
    assert any("depth varies on the same dataset, so that what is found holds for these" in r for r in made.reasons)
    again = draft(table, "s", mapping=parse_mapping(made.mapping_text, "m.toml"))
    assert again.guess.unit == ("dataset",)


def test_a_grid_asks_about_its_datasets(tmp_path):
    run_grid(
        "g", ahead, {"dataset": DATASETS, "setting": (2, 4), "seed": (0, 1)}, db=tmp_path / "g.duckdb", progress=False
    )
    with open_results(tmp_path / "g.duckdb") as results:
        guess, asked = ask_stored(results, Wishes(better="higher"))
    assert (guess.unit, guess.settings) == (("dataset",), ("setting",))
    assert any("setting" in r and "no runs of the same thing" in r for r in asked.reasons)


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        (("subject", "site"), ("site", "subject")),  # 1, 2, 3 in each site: other people
        (("depth", "width"), ("depth", "width")),  # no dataset is named
        (("task", "language"), ("task", "language")),
    ],
)
def test_what_may_name_a_unit_together_stays_one(names, unit):
    values = {"subject": (1, 2, 3), "site": ("Rome", "Oslo"), "depth": (1, 2), "width": (3, 4)}
    rows = [
        (*key, m, 0.5 + 0.1 * (m == "b")) for key in product(*(values.get(n, ("x", "y")) for n in names)) for m in "ab"
    ]
    made = drawn(pl.DataFrame(rows, schema=[*names, "method", "acc"], orient="row"), keys=names)
    assert sorted(made.guess.unit) == sorted(unit)


def test_what_is_found_on_one_dataset_is_said_to_be_about_it():
    frame = grid("horizon", (96, 192, 336)).filter(pl.col("dataset") == "car")
    assert any("holds for the one dataset (car) and says nothing about others" in r for r in drawn(frame).reasons)


def test_a_pilot_freezes_no_rounding():
    """Later data may have more digits, and a registered text that rounds them would say what they do not."""
    frame = pl.DataFrame(
        {"dataset": list("uvwuvw"), "method": list("aaabbb"), "acc": [0.5, 0.6, 0.7, 0.52, 0.61, 0.74]}
    )
    assert "resolution" not in drawn(frame).questions.text


BOARD = {
    "model": ["a", "b", "c"], "params_b": [8.0, 7.0, 7.6], "year": [2023, 2024, 2024],
    "MMLU": [48.9, 49.6, 50.6], "GSM8K": [64.0, 59.6, 66.6], "ARC-C": [58.2, 58.4, 64.1], "weird": [1.5, 2.5, 3.5],
    "Average": [57.0, 55.9, 60.4],
}  # fmt: skip


def test_what_describes_an_arm_hides_no_leaderboard(tmp_path):
    path = tmp_path / "board.csv"
    pl.DataFrame(BOARD).write_csv(path)
    assert "(MMLU, GSM8K, ARC-C, weird); left out: params_b, year, Average" in programs([path])[0]
    made = draft(read_tables([path], ["weird"]), "board.csv", Wishes(better="higher", ignore=("weird",)))
    mapping = parse_mapping(made.mapping_text, "board.mapping.toml")
    assert mapping.ignore == ("weird",)
    with Writer(tmp_path / "b.duckdb") as writer:
        assert import_files(writer, [path], mapping).records == 3 * 3
        datasets = "SELECT DISTINCT keys->>'dataset' AS d FROM cell ORDER BY d"
        assert [d for (d,) in writer.con.execute(datasets).fetchall()] == ["ARC-C", "GSM8K", "MMLU"]


def test_what_is_ignored_is_gone_before_anything_is_inferred(tmp_path):
    """A column of costs that says so nowhere keeps the others from being datasets; left out, it does not."""
    frame = pl.DataFrame({**BOARD, "rmse": [0.5, 0.6, 0.7]}).drop("params_b", "year", "weird")
    assert drawn(frame).guess.primary == "rmse"
    made = drawn(frame, ignore=("rmse",), better="higher")
    assert (made.guess.unit, made.guess.mapping.ignore) == (("dataset",), ("rmse",))
    with pytest.raises(UsageError, match="no column 'rmsf'") as refused:
        drawn(frame, ignore=("rmsf",))
    assert "did you mean 'rmse'" in str(refused.value.hint)


def test_a_mapping_that_ignores_a_column_is_not_turned_by_that(tmp_path):
    """Without the constant column the table would be a leaderboard; the mapping speaks about the table as it stands."""
    path = tmp_path / "t.csv"
    pl.DataFrame(
        {
            "method": list("abc"),
            "benchmark": ["G"] * 3,
            "u": [0.1, 0.2, 0.3],
            "v": [0.4, 0.5, 0.6],
            "w": [0.7, 0.8, 0.9],
        }
    ).write_csv(path)
    made = draft(read_tables([path]), "t.csv", Wishes(metrics=("u",), better="higher"))
    mapping = parse_mapping(made.mapping_text, "t.mapping.toml")
    assert "benchmark" in mapping.ignore
    with Writer(tmp_path / "t.duckdb") as writer:
        assert import_files(writer, [path], mapping).metrics == mapping.columns


def test_a_mean_of_the_other_metrics_is_left_out():
    frame = pl.DataFrame(
        {
            "dataset": list("uuvv"),
            "method": list("abab"),
            "f1": [0.5, 0.6, 0.7, 0.8],
            "auc": [0.7, 0.7, 0.9, 0.6],
            "mean": [0.6, 0.65, 0.8, 0.7],
        }
    )
    made = drawn(frame)
    assert "mean: left out, it holds the means of the others" in made.reasons
    assert made.guess.mapping.columns == ("f1", "auc")


@pytest.mark.parametrize(
    ("values", "test"),
    [
        ((80, 0.81, 82, 78, 0.79, 80), "sign"),  # 81% in other words
        ((0.5, 12.5, 30, 0.9, 14, 41), "signed_rank"),  # small percentages: a hundred times 0.7 is not near 22
        ((80, 5, 0.82, 78, 4, 0.8), "signed_rank"),  # 5 is neither
    ],
)
def test_shares_among_percentages_are_not_weighed_against_each_other(values, test):
    frame = pl.DataFrame({"dataset": list("uvwuvw"), "method": list("aaabbb"), "acc": [float(v) for v in values]})
    made = drawn(frame)
    assert f'test = "{test}"' in made.questions.text
    assert any("may be shares and percentages" in r for r in made.reasons) == (test == "sign")
    said = drawn(frame, scale="common")
    assert 'test = "signed_rank"' in said.questions.text


def test_numbers_as_latex_prints_them_are_read():
    frame = pl.DataFrame(
        {
            "dataset": list("uvw"),
            "ours": [r"$0.80 \pm 0.02$", r"0.81 $\pm$ 0.02", "$0.82$"],
            "old": ["0.78 ± 0.01", r"$0.79\pm0.01$", "0.8"],
        }
    )
    made = drawn(frame, better="higher")
    rows = to_records(stacked([("t.csv", frame)]), made.guess.mapping)
    kept = {
        (m, a): v
        for m, a, v in rows.filter(pl.col("value").is_not_null()).group_by("metric", "arm").agg("value").iter_rows()
    }
    assert kept == {
        ("value", "ours"): [0.80, 0.81, 0.82], ("value", "old"): [0.78, 0.79, 0.8],
        ("value_beside", "ours"): [0.02, 0.02], ("value_beside", "old"): [0.01, 0.01],
    }  # fmt: skip


@pytest.mark.parametrize(("names", "repeats"), [(("s1", "s2", "s3"), ("seed",)), (("s2", "s5", "s9"), ())])
def test_numbered_columns_of_s_are_seeds_where_a_column_names_the_arms(names, repeats):
    rows = {"dataset": list("uvuv"), "method": list("aabb")} | {
        n: [0.1 + k, 0.2, 0.3, 0.45] for k, n in enumerate(names)
    }
    assert drawn(pl.DataFrame(rows), better="higher").guess.repeats == repeats

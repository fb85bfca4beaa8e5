"""What is asked about a table, and why: the test by its scale, the arm that others are compared with, and what cannot be asked."""

from __future__ import annotations

import warnings
from itertools import product

import polars as pl
import pytest

from orledger.audit.importing.asking import Questions
from orledger.audit.importing.inference import Wishes
from orledger.audit.importing.loading import import_files
from orledger.audit.importing.mapping import FILE_COLUMN, parse_mapping
from orledger.audit.importing.tables import expand, stacked, without_row_numbers
from orledger.audit.importing.turned import turned
from orledger.audit.importing.writing import draft
from orledger.errors import DataError, UsageError
from orledger.schema.writing import Writer
from orledger.toml_tables import TomlError

ROWS = """
study = "mine"
block = "b"
form = "rows"
keys = ["dataset"]
[rows]
arm = "method"
metrics = ["rmse"]
"""
DIRECTED = ROWS + '[[metric]]\nname = "rmse"\ndescription = "d"\nbetter = "lower"\n'


def asked(*values: str | None, mapping: str | None = None, **options: object) -> Questions:
    """What is asked about arms a and b (and c) on the datasets u, v, w, with ``values`` arm by arm."""
    arms = [arm for arm in "abc"[: len(values) // 3] for _ in range(3)]
    table = pl.DataFrame({"dataset": list("uvw") * (len(values) // 3), "method": arms, "rmse": values})
    told = None if mapping is None else parse_mapping(mapping, "m.toml")
    return draft(stacked([("t.csv", table)]), "t.csv", mapping=told, **options).questions


def test_units_within_a_factor_of_ten_are_on_one_scale():
    found = asked("150.5", "160.1", "1400", "170.2", "180.9", "1500")
    assert (
        found.reasons[0]
        == "pairs: exact signed-rank test, because typical values of all units are within a factor of ten"
    )
    assert 'test = "signed_rank"' in found.text


def test_units_beyond_a_factor_of_ten_are_not():
    found = asked("100", "200", "4000", "100", "200", "5000")
    assert "sign test, because typical values of units go from 100 to 4.5e+03" in found.reasons[0]
    assert 'test = "sign"' in found.text


def test_a_unit_without_any_value_has_no_scale_and_changes_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = asked("150.5", "160.1", None, "170.2", "180.9", None)
    assert "typical values of all units are within a factor of ten" in found.reasons[0]
    assert 'test = "signed_rank"' in found.text


def test_a_table_without_any_value_is_asked_for_signs():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = asked(*[None] * 6, mapping=DIRECTED)
    assert found.reasons[0] == "pairs: sign test, because no unit has a value"


def test_one_arm_is_not_compared():
    with pytest.raises(UsageError, match=r"one arm \(a\) cannot be compared"):
        asked("1", "2", "3", mapping=DIRECTED)


def test_no_arm_is_best_where_no_unit_has_every_arm():
    with pytest.raises(UsageError, match="no unit has every arm"):
        asked("1", None, None, None, "2", None, None, None, "3", compare="best")


def test_a_control_must_be_named():
    with pytest.raises(UsageError, match="which arm is the control") as error:
        asked("1", "2", "3", "4", "5", "6", compare="control")
    assert error.value.hint == "--control ARM, one of a, b"


def test_a_mapping_says_which_direction_is_better():
    with pytest.raises(UsageError, match=r"m\.toml: no metric has a direction"):
        asked("1", "2", "3", "4", "5", "6", mapping=ROWS)
    with pytest.raises(UsageError, match=r"m\.toml: 'mae' has no direction"):
        asked("1", "2", "3", "4", "5", "6", mapping=DIRECTED, wishes=Wishes(metrics=("mae",)))


def frame(text: str) -> pl.DataFrame:
    return stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False))])


def test_one_number_to_a_row_still_needs_a_column_of_arms():
    with pytest.raises(DataError, match="no column names arms"):
        draft(frame("dataset,metric,value\nu,f1,0.5\nv,f1,0.6\n"), "t.csv")


def test_the_only_text_that_is_left_names_the_arms():
    text = "dataset,flavour,acc\nu,mint,0.5\nu,lime,0.6\nv,mint,0.5\nv,lime,0.7\n"
    drawn = draft(frame(text), "t.csv")
    assert drawn.guess.mapping.arm == "flavour"
    assert "flavour: names the arms (mint, lime), the only text left" in drawn.guess.reasons


def test_a_hundred_columns_without_a_direction_are_no_results():
    named = [f"feature_{'x' * k}y" for k in range(101)]
    lines = [",".join(["method", "dataset", "acc", *named])]
    lines += [
        f"{m},{d},0.{n}5," + ",".join(f"{n}.5" for _ in named) for n, (m, d) in enumerate(["au", "bu", "av", "bv"])
    ]
    mapping = draft(frame("\n".join(lines) + "\n"), "t.csv").guess.mapping
    assert mapping.columns == ("acc",)


def test_numbered_columns_beside_a_measure_stay_columns():
    measured = pl.DataFrame({"method": ["a", "b"], "acc": ["0.5", "0.6"], "seed0": ["1.5", "2"], "seed1": ["3", "4.5"]})
    assert turned(measured) is None
    found = turned(measured.drop("acc"))
    assert found is not None
    assert found[0].sort("method", "seed").rows() == [
        ("a", "0", "1.5"), ("a", "1", "3"), ("b", "0", "2"), ("b", "1", "4.5"),
    ]  # fmt: skip


def test_a_first_column_of_lists_is_no_row_number():
    table = pl.DataFrame({"": [[0], [1]], "a": ["x", "y"]})
    assert without_row_numbers(table) is table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ROWS.replace('metrics = ["rmse"]', 'metrics = ["dataset"]'), "the column 'dataset' is named twice"),
        (ROWS.replace("[rows]", 'ignore = ["method"]\n[rows]'), "the column 'method' is named twice"),
        (DIRECTED + '[[metric]]\nname = "rmse"\ndescription = "d"\nbetter = "lower"\n', "'rmse' is described twice"),
        (
            DIRECTED + '[combined]\nname = "rmse"\nmetrics = ["rmse"]\n',
            "expected a name that no metric has, found 'rmse'",
        ),
        (
            'study = "m"\nblock = "b"\nform = "wide"\nkeys = ["k"]\n[wide]\narms = ["a", "b"]\n',
            "key 'metric': expected the name of the metric, or instead metric_column",
        ),
        (
            'study = "m"\nblock = "b"\nform = "wide"\nkeys = ["k"]\n[wide]\narms = ["a"]\nmetric = "x"\nmetric_column = "y"\n',
            "key 'metric': expected the name of the metric, or instead metric_column",
        ),
    ],
)
def test_a_mapping_that_says_two_things_is_refused(text, expected):
    with pytest.raises(TomlError) as error:
        parse_mapping(text, "m.toml")
    assert str(error.value).startswith("m.toml: ")
    assert expected in str(error.value)


COMBINED = """
study = "mine"
block = "b"
form = "rows"
keys = ["dataset"]
[rows]
arm = "method"
metrics = ["auc", "loss"]
[combined]
name = "score"
metrics = ["auc", "loss"]
[[metric]]
name = "auc"
description = "d"
better = "higher"
[[metric]]
name = "loss"
description = "d"
better = "lower"
"""


def test_a_combined_score_takes_one_metric_per_cell():
    table = stacked([("t.csv", pl.DataFrame({"dataset": ["u"], "method": ["a"], "auc": ["0.5"], "loss": ["2"]}))])
    with pytest.raises(DataError, match="u has 2 of the metrics auc, loss, and combined takes one per cell"):
        draft(table, "t.csv", mapping=parse_mapping(COMBINED, "m.toml"))


def test_an_index_is_a_whole_number():
    table = stacked([("t.csv", pl.DataFrame({"dataset": ["u"], "method": ["a"], "step": ["1.5"], "rmse": ["1"]}))])
    mapping = parse_mapping(DIRECTED.replace("[rows]", '[rows]\nidx = "step"'), "m.toml")
    with pytest.raises(DataError, match=r"column 'step': '1\.5' is not a whole number"):
        draft(table, "t.csv", mapping=mapping)


def test_a_folder_without_tables_and_a_table_without_rows_are_named(tmp_path):
    with pytest.raises(DataError, match="no CSV, Parquet or JSON lines file"):
        expand([tmp_path])
    with pytest.raises(DataError, match=r"t\.csv: the table has no rows"):
        frame("dataset,method\n")


def test_cells_that_a_file_no_longer_has_stay_and_are_counted(tmp_path):
    path, mapping = tmp_path / "t.csv", parse_mapping(ROWS, "m.toml")
    with Writer(tmp_path / "results.duckdb") as db:
        path.write_text("dataset,method,rmse\nu,a,1\nv,a,2\n")
        import_files(db, [path], mapping)
        path.write_text("dataset,method,rmse\nu,a,3\n")
        found = import_files(db, [path], mapping, replace=True)
    assert found.notes == ("1 cell of the study no longer in t.csv stays; a new --db begins without",)
    assert found.told().endswith("1 value replaced; what was there is in the table fact")


def test_steps_are_whole_numbers_and_words_are_none():
    text = "method,dataset,epoch,acc\n" + "".join(
        f"{m},{d},{e},0.5{n}\n" for n, (m, d, e) in enumerate(product("ab", "uv", ("first", "last")))
    )
    mapping = draft(frame(text), "t.csv").guess.mapping
    assert (mapping.idx, mapping.keys) == (None, ("dataset", "epoch"))


def test_a_repetition_that_tells_nothing_apart_is_no_key():
    """The fold follows from the dataset; the seed is what tells rows apart."""
    rows = [f"{m},{d},{'uv'.index(d)},{s},0.{n}5" for n, (m, d, s) in enumerate(product("ab", "uv", "01"))]
    mapping = draft(frame("method,dataset,fold,seed,acc\n" + "\n".join(rows) + "\n"), "t.csv").guess.mapping
    assert mapping.keys == ("dataset", "seed")


def test_columns_that_are_neither_text_nor_numbers_are_not_turned():
    assert turned(pl.DataFrame({"method": ["a", "b"], "seed0": [True, False], "seed1": [False, True]})) is None


def test_the_name_of_a_file_that_a_table_has_already_stays():
    table = stacked([("t.csv", pl.DataFrame({"acc": ["0.5"], FILE_COLUMN: ["other"]}))])
    assert table[FILE_COLUMN].to_list() == ["other"]


@pytest.mark.parametrize("arms", ["ab", "abc"])
def test_numbers_of_which_nobody_said_what_they_are_are_not_called_value_in_sentences(arms):
    table = stacked([("t.csv", pl.DataFrame({"dataset": list("uvw"), **{a: [0.1, 0.2, 0.3 + ord(a)] for a in arms}}))])
    text = draft(table, "t.csv", Wishes(better="higher")).questions.text
    assert [line for line in text.splitlines() if "value" in line and not line.startswith("metric = ")] == (
        [line for line in text.splitlines() if "better values (higher)" in line]
    )
    named = draft(table, "t.csv", Wishes(better="higher", metrics=("auc",))).questions.text
    assert " in auc (higher is better)." in named

"""Numbered columns of one metric are repetitions of it; numbers that may be something else are not, or are asked about."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from orledger.audit.importing.inference import Wishes
from orledger.audit.importing.loading import import_files
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.records import to_records
from orledger.audit.importing.repeated import Beforehand
from orledger.audit.importing.tables import programs, stacked
from orledger.audit.importing.turned import turned
from orledger.audit.importing.writing import draft
from orledger.errors import DataError
from orledger.schema.writing import Writer

CASES = list(itertools.product("uvw", ("a", "b")))


def text(*columns: str) -> str:
    """A table of two methods on three datasets: the number in row i and column j is 0.1ij."""
    rows = (f"{d},{m}," + ",".join(f"0.1{i}{j}" for j in range(len(columns))) for i, (d, m) in enumerate(CASES))
    return f"dataset,method,{','.join(columns)}\n" + "\n".join(rows) + "\n"


def drawn(table: str, **wishes):
    read = pl.read_csv(table.encode(), infer_schema=False)
    frame = stacked([("t.csv", read)], said=Beforehand(tuple(wishes.get("metrics", ()))))
    found = draft(frame, "t.csv", Wishes(**wishes))
    return found.guess, to_records(frame, found.guess.mapping)


@pytest.mark.parametrize(
    ("columns", "key", "metric"),
    [
        (("fold0_acc", "fold1_acc", "fold2_acc"), "fold", "acc"),
        (("split0_test_score", "split1_test_score"), "split", "test_score"),
        (("acc_seed0", "acc_seed1"), "seed", "acc"),
        (("acc_seed42", "acc_seed1337"), "seed", "acc"),
        (("run1_f1", "run2_f1"), "run", "f1"),
        (("acc_0", "acc_1"), "repetition", "acc"),
        (("0_acc", "1_acc"), "repetition", "acc"),
        (("Fold 1 (acc)", "Fold 2 (acc)"), "fold", "acc"),
        (("acc (fold 1)", "acc (fold 2)"), "fold", "acc"),
        (("acc_repetition_1", "acc_repetition_2"), "repetition", "acc"),
    ],
)
def test_numbered_columns_of_one_metric_repeat_it(columns, key, metric):
    guess, rows = drawn(text(*columns))
    assert (guess.mapping.columns, guess.primary) == ((metric,), metric)
    assert (guess.mapping.arm, guess.unit, guess.repeats) == ("method", ("dataset",), (key,))
    # v,b is row 3: its numbers are 0.130, 0.131, ...
    assert rows.filter(dataset="v", arm="b")["value"].to_list() == [float(f"0.13{j}") for j in range(len(columns))]
    assert rows.height == len(CASES) * len(columns)


def test_several_metrics_each_with_its_folds():
    guess, rows = drawn(text("fold0_acc", "fold1_acc", "fold0_f1", "fold1_f1"))
    assert (guess.mapping.columns, guess.repeats) == (("acc", "f1"), ("fold",))
    assert rows.filter(dataset="u", arm="a", metric="f1")["value"].to_list() == [0.102, 0.103]
    assert rows.filter(dataset="u", arm="a", fold="1", metric="acc")["value"].to_list() == [0.101]


def test_seeds_and_folds_in_one_name_are_two_keys():
    guess, rows = drawn(text("seed0_fold0_acc", "seed0_fold1_acc", "seed1_fold0_acc", "seed1_fold1_acc"))
    assert guess.repeats == ("seed", "fold")
    assert rows.filter(dataset="u", arm="a", seed="1", fold="0")["value"].to_list() == [0.102]


def test_repetitions_of_every_arm_in_columns():
    table = (
        "dataset,ridge_acc_seed0,ridge_acc_seed1,net_acc_seed0,net_acc_seed1\nu,0.1,0.2,0.3,0.4\nv,0.5,0.6,0.7,0.8\n"
    )
    guess, rows = drawn(table)
    assert (guess.mapping.arm, guess.primary, guess.repeats) == ("arm", "acc", ("seed",))
    assert rows.filter(dataset="v", arm="net")["value"].to_list() == [0.7, 0.8]
    bare, rows = drawn(table.replace("_acc", ""), better="higher")
    assert (bare.mapping.arms, bare.repeats) == (("ridge", "net"), ("seed",))
    assert rows.filter(dataset="v", arm="net")["value"].to_list() == [0.7, 0.8]


def test_what_is_computed_from_the_repetitions_is_left_out_and_said(tmp_path):
    """The columns of cv_results_ of scikit-learn."""
    columns = (
        "mean_fit_time", "std_fit_time", "split0_test_score", "split1_test_score", "mean_test_score", "std_test_score",
        "rank_test_score",
    )  # fmt: skip
    (tmp_path / "t.csv").write_text(text(*columns), encoding="utf-8")
    (line,) = programs([tmp_path / "t.csv"])
    assert line == (
        "a column per split of test_score (split0_test_score, split1_test_score), so that each row repeats one measurement"
        "; left out, not measured for every split (--metric takes one in): mean_fit_time, std_fit_time"
        "; left out, computed from them: mean_test_score, std_test_score, rank_test_score"
    )
    guess, _ = drawn(text(*columns))
    assert guess.mapping.columns == ("test_score",)
    named, rows = drawn(text(*columns), metrics=("test_score", "mean_fit_time"))
    assert named.mapping.columns == ("mean_fit_time", "test_score")
    assert rows.filter(dataset="u", arm="a", metric="mean_fit_time")["value"].to_list() == [0.1, 0.1]
    alone, _ = drawn(text(*columns), metrics=("mean_test_score",))
    assert (alone.primary, alone.repeats) == ("mean_test_score", ())


def test_a_column_that_holds_the_means_of_the_folds_is_left_out_under_the_name_of_the_metric():
    folds = (
        "dataset,method,fold0_acc,fold1_acc,acc\nu,a,0.1,0.2,0.15\nu,b,0.3,0.4,0.35\nv,a,0.5,0.6,0.55\nv,b,0.5,0.8,{}\n"
    )
    assert drawn(folds.format("0.65"))[0].repeats == ("fold",)
    assert drawn(folds.format("0.66"))[0].repeats == ()  # no mean: something else was measured


@pytest.mark.parametrize(
    "columns",
    [
        ("acc_top1", "acc_top5"),
        ("top1_acc", "top5_acc"),
        ("top-1", "top-5"),
        ("f1", "r2"),
        ("recall@1", "recall@5", "recall@10"),
        ("recall_1", "recall_2", "recall_3"),
        ("bleu_1", "bleu_2", "bleu_3", "bleu_4"),
        ("latency_p50", "latency_p95"),
        ("acc_split80", "acc_split20"),
        ("loss_iter100", "loss_iter200"),
        ("acc_class_0", "acc_class_1"),
    ],
)
def test_numbers_that_say_something_else_make_no_repetitions(columns):
    guess, _ = drawn(text(*columns))
    assert (guess.mapping.columns, guess.repeats) == (columns, ())


@pytest.mark.parametrize("names", ["acc_1 acc_2 acc_3", "f1_0 f1_1", "rmse_1 rmse_2", "acc_s0 acc_s1"])
def test_numbers_that_may_be_anything_are_asked_about(names):
    columns = names.split()
    metric = columns[0].rpartition("_")[0]
    with pytest.raises(DataError, match="may repeat one measurement") as asked:
        drawn(text(*columns))
    assert asked.value.hint.startswith(
        f"--metric {metric} says that they repeat it, --metric {columns[0]} that each is"
    )
    repeated, rows = drawn(text(*columns), metrics=(metric,))
    assert (repeated.primary, len(repeated.repeats)) == (metric, 1)
    assert rows.filter(dataset="w", arm="b")["value"].to_list() == [float(f"0.15{j}") for j in range(len(columns))]
    assert drawn(text(*columns), metrics=(columns[0],))[0].mapping.columns == tuple(columns)


def test_an_average_beside_them_settles_what_they_are():
    assert drawn(text("acc_1", "acc_2", "mean_acc"))[0].repeats == ("repetition",)


def test_a_mapping_of_before_keeps_its_meaning(tmp_path):
    """A table that is turned by now was imported as it stands: the same mapping does the same."""
    (tmp_path / "t.csv").write_text(text("fold0_acc", "fold1_acc", "seconds"), encoding="utf-8")
    before = 'study = "s"\nblock = "b"\nform = "rows"\nkeys = ["dataset"]\n[rows]\narm = "method"\nmetrics = ["fold0_acc", "seconds"]\n'
    for name, mapping, values in (
        ("before", before, [0.1, 0.102]),
        ("by now", draft(stacked([("t.csv", pl.read_csv(tmp_path / "t.csv", infer_schema=False))]), "t.csv").mapping_text, [0.1, 0.101]),
    ):  # fmt: skip
        with Writer(tmp_path / f"{name}.duckdb") as writer:
            import_files(writer, [tmp_path / "t.csv"], parse_mapping(mapping, "m.toml"))
            stored = "SELECT value FROM record r JOIN cell c USING (cell_id) WHERE arm = 'a' AND c.keys['dataset'] = 'u' ORDER BY 1"
            assert [v for (v,) in writer.con.execute(stored).fetchall()] == values


def test_a_mapping_whose_arms_are_numbered_keeps_its_meaning():
    """Without a column of arms the numbers named them, and a mapping that says so is read as before."""
    table = pl.DataFrame({"dataset": ["u", "v"], "acc_0": ["0.1", "0.2"], "acc_1": ["0.3", "0.4"]})
    rows, _ = turned(table, "t.csv", Beforehand(("dataset", "arm", "acc"), turned=True))
    assert rows.rows() == [("u", "0", "0.1"), ("v", "0", "0.2"), ("u", "1", "0.3"), ("v", "1", "0.4")]
    rows, _ = turned(table, "t.csv", Beforehand(("dataset", "repetition", "acc", "file"), turned=True))
    assert rows.columns == ["dataset", "repetition", "acc"]


def test_frames_of_numbers_are_turned_as_texts_are():
    frame = pl.DataFrame({"dataset": ["u"], "method": ["a"], "fold0_acc": [1], "fold1_acc": [0.5]})
    rows, _ = turned(frame)
    assert rows["acc"].cast(pl.Float64).to_list() == [1, 0.5]
    failed = pl.DataFrame({"dataset": ["u"], "method": ["a"], "fold0_acc": ["0.5"], "fold1_acc": [None]})
    assert turned(failed)[0]["acc"].to_list() == ["0.5", None]
    assert turned(pl.DataFrame({"fold": ["1"], "method": ["a"], "fold0_acc": ["1"], "fold1_acc": ["2"]})) is None

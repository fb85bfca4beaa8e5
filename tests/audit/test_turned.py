"""Tables that spread datasets, repetitions or arms over their columns, and what in them is no result."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from orledger.audit.importing.inference import Guess, Wishes, infer
from orledger.audit.importing.records import to_records
from orledger.audit.importing.tables import expand, headed, read_tables, stacked
from orledger.audit.importing.writing import draft, stem
from orledger.errors import DataError, UsageError


def table_of(text: str) -> pl.DataFrame:
    return stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False))])


def guess(text: str, **wishes) -> Guess:
    return infer(table_of(text), "t.csv", Wishes(**wishes))


def test_a_column_per_seed_is_a_repetition_and_no_metric():
    text = "dataset,method,seed0,seed 1,Seed_2,mean\n" + "".join(
        f"{d},{m},0.{i}1,0.{i}2,0.{i}6,0.{i}3\n" for i, (d, m) in enumerate((d, m) for d in "uvw" for m in "ab")
    )
    found = guess(text, better="higher", metrics=("acc",))
    assert (found.unit, found.repeats, found.primary) == (("dataset",), ("seed",), "acc")
    rows = to_records(table_of(text), found.mapping)
    assert rows.filter(dataset="u", arm="b")["value"].to_list() == [0.11, 0.12, 0.16]
    assert "mean" not in str(rows["metric"].unique())
    with pytest.raises(UsageError, match="lower or higher 'value' is better"):
        guess(text)


def test_numbered_columns_are_repetitions_of_one_arm_in_each_file(tmp_path):
    for name, shift in (("rocket", 0), ("boss", 1)):
        rows = "".join(f"{d},0.{k + shift},0.{k + 1},0.{k + 2}\n" for k, d in enumerate("uvw"))
        (tmp_path / f"{name}.csv").write_text(f"dataset,0,1,2\n{rows}", encoding="utf-8")
    paths = [tmp_path / "rocket.csv", tmp_path / "boss.csv"]
    found = infer(read_tables(paths), "t.csv", Wishes(better="higher"))
    assert (found.mapping.arm, found.unit, found.repeats) == ("file", ("dataset",), ("repetition",))
    with pytest.raises(DataError, match=r"no column names arms .* nothing to compare"):
        infer(read_tables(paths[:1]), "t.csv", Wishes(better="higher"))
    steps = guess("dataset,10,100,1000\nu,0.1,0.2,0.3\nv,0.1,0.2,0.3\n", better="higher")  # sizes, which count nothing
    assert steps.mapping.arms == ("10", "100", "1000")


def test_a_leaderboard_whose_columns_say_no_metric_has_a_dataset_in_each():
    text = "Model,Size,CoLA,SST-2,MRPC,Avg\nBERT,110M,60.5,94.9,89.3,81.6\nXLNet,340M,63.6,95.6,89.2,82.8\n"
    found = guess(text, better="higher")
    assert (found.mapping.arm, found.unit) == ("Model", ("dataset",))
    assert sorted(to_records(table_of(text), found.mapping)["dataset"].unique()) == ["CoLA", "MRPC", "SST-2"]
    # where a column says what it measures, columns are measurements
    measured = guess("Model,acc,CoLA,SST,MRPC\na,0.5,0.1,0.2,0.3\nb,0.6,0.2,0.3,0.4\n")
    assert measured.primary == "acc"


@pytest.mark.parametrize("name", ["{arm}_{metric}", "{metric}_{arm}", "{arm} {metric}"])
def test_a_column_per_arm_and_metric(name):
    columns = [name.format(arm=a, metric=m) for m in ("acc", "time") for a in ("ridge", "our-net", "svm_rbf")]
    rows = "".join(f"{d}," + ",".join(f"0.{k}{i}" for i in range(6)) + "\n" for k, d in enumerate("uvw"))
    text = f"dataset,{','.join(columns)}\n{rows}"
    found = guess(text)
    assert (found.mapping.arm, found.mapping.columns, found.primary) == ("arm", ("acc", "time"), "acc")
    values = to_records(table_of(text), found.mapping)
    assert values.filter(dataset="v", arm="our-net", metric="time")["value"].to_list() == [0.14]


def test_parts_of_the_data_are_no_arms():
    with pytest.raises(DataError, match="nothing to compare"):
        guess("dataset,train_acc,test_acc\nu,0.5,0.4\nv,0.6,0.5\n")


def test_a_first_column_of_words_without_a_name_names_the_rows():
    text = ",svm,forest\nu,0.5,0.6\nv,0.7,0.8\nw,0.6,0.9\n"
    found = guess(text, better="higher")
    assert (found.mapping.keys, found.mapping.arms) == (("first_column",), ("svm", "forest"))
    assert headed(pl.DataFrame({"": ["0", "1"], "a": ["x", "y"]})).columns == ["a"]
    with pytest.raises(DataError, match="column 1 has values and no name"):
        guess(",svm,forest\n3,0.5,0.6\n7,0.7,0.8\n", better="higher")


def test_an_average_is_no_unit_and_no_arm():
    rows = "u,0.50,0.60,0.55\nv,0.70,0.80,0.75\nw,0.10,0.15,0.13\n"
    with pytest.raises(DataError, match=r"dataset 'Avg. rank' looks like a summary of the others"):
        guess(f"dataset,a,b,c\n{rows}Avg. rank,3,1,2\n", better="higher")
    found = guess(f"dataset,a,b,Average\n{rows}", better="higher")
    assert found.mapping.arms == ("a", "b")
    assert "Average: left out, it holds the means of the others" in found.reasons
    predictor = guess("dataset,a,b,mean\nu,0.5,0.6,0.1\nv,0.7,0.8,0.2\n", better="higher")  # a method of that name
    assert predictor.mapping.arms == ("a", "b", "mean")


def test_a_size_of_the_dataset_is_no_arm():
    found = guess("dataset,n_samples,a,b\nu,100,0.5,0.6\nv,2000,0.7,0.8\n", better="higher")
    assert found.mapping.arms == ("a", "b")
    assert "n_samples: left out, by its name it counts something, and is no result" in found.reasons
    counted = guess("dataset,a,size\nu,100,50\nv,20,80\n", better="lower")  # where all numbers are whole it may be one
    assert counted.mapping.arms == ("a", "size")


def test_rows_that_stand_twice_are_named_with_what_would_tell_them_apart():
    rows = [
        f"{m},{d},{lr},0.{i}" for i, (m, d, lr) in enumerate((m, d, lr) for m in "ab" for d in "uv" for lr in (1, 2))
    ]
    with pytest.raises(DataError, match="a, u stands 2 times") as refused:
        guess("method,dataset,lr,acc\n" + "\n".join(rows) + "\n")
    assert refused.value.hint.startswith("--key lr tells them apart")
    same = "method,dataset,acc\na,u,0.5\nb,u,0.6\na,u,0.5\n"
    with pytest.raises(DataError) as repeated:
        guess(same)
    assert repeated.value.hint == "these rows agree in all their columns: take the repeated ones out"


def test_two_columns_of_words_and_two_of_numbers_leave_the_arms_open():
    text = "metoda,zbior,wynik,czas\n" + "".join(
        f"{m},{d},0.{i},{i}.5\n" for i, (m, d) in enumerate((m, d) for m in "ab" for d in "uv")
    )
    with pytest.raises(DataError, match=r"does metoda or zbior name the arms .*, or is each of wynik, czas one"):
        guess(text, better="higher")
    assert guess(text, arm="metoda", metrics=("wynik",), better="higher").unit == ("zbior",)
    assert guess(text, keys=("metoda", "zbior"), better="higher").mapping.arms == ("wynik", "czas")


def test_seeds_on_one_dataset_say_what_they_speak_about():
    rows = "".join(f"mnist,{m},{s},0.{i}{s}\n" for i, m in enumerate("ab") for s in range(3))
    found = guess(f"dataset,method,seed,acc\n{rows}")
    assert (
        "unit: seed, one value per arm; what is found holds for the one dataset (mnist) and says nothing about others"
        in found.reasons
    )
    alone = guess("method,acc\na,0.5\nb,0.6\n")
    assert any("the table is one unit and no test can decide anything" in r for r in alone.reasons)


def test_names_that_differ_in_capitals_alone_are_pointed_out_however_many_rows_they_have():
    rows = "".join(f"d{k},{'SVM' if k % 2 else 'svm'},0.{k}\nd{k},tree,0.{k}5\n" for k in range(6))
    assert any(
        "'SVM' (3 of 12 rows) is spelt nearly like 'svm'" in r or "'svm' (3 of 12 rows) is spelt nearly like 'SVM'" in r
        for r in guess(f"dataset,method,acc\n{rows}").reasons
    )


def test_packed_files_json_and_workbooks(tmp_path):
    text = "dataset,method,acc\nu,a,0.5\nu,b,0.6\nv,a,0.7\nv,b,0.9\n"
    frame = pl.read_csv(text.encode())
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    frame.write_ndjson(tmp_path / "lines.jsonl")
    frame.write_json(tmp_path / "list.json")
    for name in ("t.csv.gz", "lines.jsonl", "list.json"):
        path = tmp_path / name
        table = read_tables([path])
        found = to_records(table, infer(table, name).mapping)
        assert found.sort("dataset", "arm")["value"].to_list() == [0.5, 0.6, 0.7, 0.9]
        assert table["file"].unique().to_list() == [name.partition(".")[0]]
    assert stem([tmp_path / "t.csv.gz"]) == tmp_path / "t"
    assert [p.name for p in expand([tmp_path])] == ["lines.jsonl", "t.csv.gz"]  # a folder has other JSON files too
    (tmp_path / "columns.json").write_text('{"acc": {"0": 0.5, "1": 0.6}}', encoding="utf-8")
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04 and more")
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(text.encode())[:-9])
    for name, what in (("columns.json", "columns and not rows"), ("book.xlsx", "workbook"), ("torn.csv.gz", "cannot")):
        with pytest.raises(DataError, match=what):
            read_tables([tmp_path / name])


def test_uneven_runs_are_said():
    rows = [(d, m, s) for d in "uvw" for m in "ab" for s in range(3) if (d, m, s) != ("v", "b", 2)]
    text = "dataset,method,seed,acc\n" + "".join(f"{d},{m},{s},0.{i}1\n" for i, (d, m, s) in enumerate(rows))
    told = draft(table_of(text), "t.csv").reasons
    assert any(
        r.startswith("runs: from 2 to 3 of an arm on a unit, not the same number for all arms on 1 of 3") for r in told
    )
    even = "dataset,method,seed,acc\n" + "".join(f"{d},{m},{s},0.{i}1\n" for i, (d, m, s) in enumerate(rows) if s < 2)
    assert not any(r.startswith("runs:") for r in draft(table_of(even), "t.csv").reasons)


def test_a_number_that_is_the_same_everywhere_is_named():
    with pytest.raises(DataError, match="no column looks like a result; acc has the same number in every row"):
        guess("dataset,method,acc\nu,a,0.5\nu,b,0.5\nv,a,0.5\nv,b,0.5\n")


def test_numbered_arms_are_arms_and_numbered_runs_are_not():
    rows = [(m, d) for m in (1, 2) for d in "uvw"]
    assert (
        guess("model,dataset,acc\n" + "".join(f"{m},{d},0.{m}{i}\n" for i, (m, d) in enumerate(rows))).mapping.arm
        == "model"
    )
    runs = "".join(
        f"{a},{r},{d},0.{i + 10}\n" for i, (r, d, a) in enumerate((r, d, a) for r in (1, 2) for d in "uv" for a in "xy")
    )
    assert guess(f"algo,run,dataset,acc\n{runs}").repeats == ("run",)


def test_training_and_test_data_are_no_repetitions_and_the_test_decides():
    rows = "".join(
        f"{d},{m},{s},0.{i + 10}\n"
        for i, (d, m, s) in enumerate((d, m, s) for d in "uv" for m in "ab" for s in ("train", "test"))
    )
    with pytest.raises(DataError, match=r"split names parts of the data \(train, test\)"):
        guess(f"dataset,method,split,acc\n{rows}")
    assert (
        guess("dataset,method,train_acc,test_acc\nu,a,0.5,0.4\nu,b,0.6,0.5\nv,a,0.7,0.6\nv,b,0.8,0.9\n").primary
        == "test_acc"
    )
    numbered = rows.replace("train", "0").replace("test", "1")
    assert guess(f"dataset,method,split,acc\n{numbered}").repeats == ("split",)


def test_spreads_p_values_and_differences_are_no_arms():
    head, rows = "dataset,old,new,new_std,p_value,diff", [(0.50, 0.62), (0.70, 0.65), (0.40, 0.45)]
    text = head + "\n" + "".join(f"d{i},{a},{b},0.0{i + 1},0.{i + 2},{b - a:.2f}\n" for i, (a, b) in enumerate(rows))
    found = guess(text, better="higher")
    assert found.mapping.arms == ("old", "new")
    assert "diff: left out, it holds the differences of new and old" in found.reasons
    kept = guess(
        text.replace("p_value,diff", "svm,delta").replace("0.12\n", "0.3\n"), better="higher"
    )  # a method of that name
    assert kept.mapping.arms == ("old", "new", "svm", "delta")


@pytest.mark.parametrize("entry", ["**0.91**", r"\textbf{0.91}", "$0.91$", r"$\mathbf{0.91}$", "<b>0.91</b>", "_0.91_"])
def test_a_number_in_bold_or_in_a_formula_is_refused_by_name(entry):
    with pytest.raises(DataError, match=r"column 'ours' holds .*, a number with something around it"):
        guess(f"dataset,ours,old\nu,{entry},0.5\nv,0.7,0.6\nw,0.8,0.7\n", better="higher")


def test_commas_after_thousands_are_named_where_a_result_has_them():
    rows = 'u,a,0.5,900\nu,b,0.6,"1,234.5"\nv,a,0.7,800\nv,b,0.8,700\n'
    with pytest.raises(
        DataError, match=r"column 'seconds' holds '1,234.5', a number with a comma that may separate thousands"
    ):
        guess(f"dataset,method,acc,seconds\n{rows}")
    assert guess(f"dataset,method,acc,weights\n{rows}").primary == "acc"  # no result, so it does not stop one


def test_whether_an_answer_was_right_is_a_result():
    text = "prompt,model,correct\n" + "".join(
        f"q{i},{m},{(i + k) % 3 == 0}\n" for i in range(6) for k, m in enumerate("ab")
    )
    found = guess(text)
    assert (found.primary, found.unit) == ("correct", ("prompt",))
    assert to_records(table_of(text), found.mapping).filter(arm="a")["value"].to_list() == [1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("dataset;Güte\nu;1\n".encode("latin-1"), "line 1 is no text in UTF-8"),
        (b"| a | b |\n|---|---|\n| u | 1 |\n", "is a table in Markdown"),
        (b"dataset method acc\nu a 0.5\n", "has one column, 'dataset method acc'"),
        (b",acc,acc\nmethod,a,b\nu,1,2\n", "two columns are called 'acc'"),
    ],
)
def test_what_is_no_table_says_what_it_is(tmp_path, data, what):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(DataError, match=what):
        read_tables([tmp_path / "t.csv"])

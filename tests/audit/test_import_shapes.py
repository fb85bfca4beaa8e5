"""The shapes in which people keep their results, each stored without loss; and studies that grow."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import polars as pl
import pytest

from orledger.audit.importing.inference import Wishes
from orledger.audit.importing.loading import import_files, import_frame
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.tables import expand, read_tables
from orledger.audit.importing.writing import draft
from orledger.errors import DataError, UsageError
from orledger.schema.chain import verify
from orledger.schema.writing import Writer
from orledger.toml_tables import TomlError

ROWS = """
study = "mine"
block = "b"
form = "rows"
keys = ["dataset", "seed"]
[rows]
arm = "method"
metrics = ["acc", "secs"]
"""
WIDE = """
study = "mine"
block = "b"
form = "wide"
keys = ["dataset"]
[wide]
metric = "auc"
arms = ["svm", "rf"]
"""


@pytest.fixture
def db(tmp_path):
    with Writer(tmp_path / "results.duckdb") as writer:
        yield writer


def stored(db, columns="arm, metric, value"):
    return db.con.execute(f"SELECT {columns} FROM record ORDER BY ALL").fetchall()


def write(path, text, encoding="utf-8"):
    path.write_text(text, encoding=encoding)
    return path


def test_an_arm_column_with_several_metric_columns(tmp_path, db):
    table = write(tmp_path / "t.csv", "dataset,seed,method,acc,secs\nu,0,a,0.5,3\nu,0,b,0.7,\n")
    found = import_files(db, [table], parse_mapping(ROWS, "m.toml"))
    assert (found.cells, found.records, found.missing, found.metrics) == (1, 3, 1, ("acc", "secs"))
    assert stored(db) == [("a", "acc", 0.5), ("a", "secs", 3.0), ("b", "acc", 0.7)]
    assert db.con.execute("SELECT arm, reason FROM refusal").fetchall() == [("b", "secs: missing in t.csv")]


def test_a_second_metric_is_added_and_the_first_stays_in_the_dictionary(tmp_path, db):
    """The loss that used to happen in silence: a later metric was not stored and the first left the dictionary."""
    table = write(tmp_path / "t.csv", "dataset,svm,rf\nu,0.5,0.6\nv,0.7,0.8\n")
    import_files(db, [table], parse_mapping(WIDE, "m.toml"))
    other = write(tmp_path / "o.csv", "dataset,svm,rf\nu,5,6\nv,7,8\n")
    found = import_files(db, [other], parse_mapping(WIDE.replace('"auc"', '"secs"'), "m.toml"))
    assert (found.cells, found.extended, found.known, found.records) == (0, 2, 0, 4)
    assert len(stored(db)) == 8
    assert db.con.execute("SELECT metric FROM metric ORDER BY 1").fetchall() == [("auc",), ("secs",)]
    assert verify(db.con) == []


def test_a_second_metric_is_added_where_the_first_is_missing(tmp_path, db):
    """What nobody had measured before is no result that turns up after a failure."""
    import_files(db, [write(tmp_path / "t.csv", "dataset,svm,rf\nu,0.5,\nv,0.7,0.8\n")], parse_mapping(WIDE, "m.toml"))
    other = write(tmp_path / "o.csv", "dataset,svm,rf\nu,5,6\nv,7,8\n")
    found = import_files(db, [other], parse_mapping(WIDE.replace('"auc"', '"secs"'), "m.toml"))
    assert (found.records, found.replaced, found.missing) == (4, 0, 0)
    assert db.con.execute("SELECT arm, reason FROM refusal").fetchall() == [("rf", "missing in t.csv")]


def test_arms_and_rows_are_added(tmp_path, db):
    mapping = parse_mapping(ROWS, "m.toml")
    import_files(db, [write(tmp_path / "1.csv", "dataset,seed,method,acc,secs\nu,0,a,0.5,3\n")], mapping)
    more = write(tmp_path / "2.csv", "dataset,seed,method,acc,secs\nu,0,a,0.5,3\nu,0,b,0.7,4\nv,0,a,0.1,5\n")
    found = import_files(db, [more], mapping)
    assert (found.cells, found.extended, found.records) == (1, 1, 4)
    assert db.con.execute("SELECT arms FROM metric WHERE metric = 'acc'").fetchall() == [("a, b",)]
    files = db.con.execute("SELECT list(value ORDER BY value) FROM fact GROUP BY cell_id ORDER BY 1").fetchall()
    assert files == [(["1.csv", "2.csv"],), (["2.csv"],)]


def test_a_result_that_turns_up_after_a_failure_is_a_change(tmp_path, db):
    mapping = parse_mapping(ROWS.replace("metrics", 'reason = "why"\nmetrics'), "m.toml")
    head = "dataset,seed,method,acc,secs,why\n"
    failed = write(tmp_path / "1.csv", head + "u,0,a,,,out of memory\nu,0,b,0.5,1,\n")
    import_files(db, [failed], mapping)
    assert db.con.execute("SELECT arm, reason FROM refusal").fetchall() == [("a", "out of memory")]
    again = write(tmp_path / "2.csv", head + "u,0,a,0.9,2,\n")
    with pytest.raises(DataError, match=r"acc of a is missing in the study and 0\.9 in 2\.csv"):
        import_files(db, [again], mapping)
    assert import_files(db, [again], mapping, replace=True).replaced == 2
    assert db.con.execute("SELECT count(*) FROM refusal").fetchone() == (0,)
    assert len(stored(db)) == 4


def test_a_value_that_becomes_missing_is_a_change(tmp_path, db):
    mapping = parse_mapping(WIDE, "m.toml")
    import_files(db, [write(tmp_path / "t.csv", "dataset,svm,rf\nu,0.5,0.6\n")], mapping)
    gone = write(tmp_path / "t.csv", "dataset,svm,rf\nu,0.5,\n")
    with pytest.raises(DataError, match=r"auc of rf is 0\.6 in the study and missing in t\.csv"):
        import_files(db, [gone], mapping)
    import_files(db, [gone], mapping, replace=True)
    assert stored(db) == [("svm", "auc", 0.5)]
    assert db.con.execute("SELECT arm FROM refusal").fetchall() == [("rf",)]


def test_an_arm_whose_name_was_corrected_is_pointed_out_and_taken_out_on_demand(tmp_path, db):
    mapping = parse_mapping(ROWS, "m.toml")
    head = "dataset,seed,method,acc,secs\n"
    import_files(db, [write(tmp_path / "t.csv", head + "u,0,ax,0.5,3\nu,0,b,0.7,2\nv,0,ax,,\nv,0,b,0.8,2\n")], mapping)
    import_files(db, [write(tmp_path / "other.csv", head + "v,0,c,0.1,1\n")], mapping)
    corrected = write(tmp_path / "t.csv", head + "u,0,a,0.5,3\nu,0,b,0.7,2\nv,0,a,,\nv,0,b,0.8,2\n")
    (note,) = import_files(db, [corrected], mapping).notes
    assert (
        note
        == "the arm 'ax' (1 cell) is no longer in t.csv and stays in the study; --replace takes it out and keeps a trace"
    )
    assert ("ax", "acc", 0.5) in stored(db)
    found = import_files(db, [corrected], mapping, replace=True)
    assert (found.replaced, found.extended) == (2, 1)
    assert {row[0] for row in stored(db)} == {"a", "b", "c"}  # c came from another file
    traces = db.con.execute("SELECT value FROM fact WHERE name LIKE 'replaced%' ORDER BY 1").fetchall()
    assert [(t["arm"], t["before"], t["after"]) for t in map(json.loads, (t for (t,) in traces))] == [
        ("ax", 0.5, None),
        ("ax", 3.0, None),
    ]
    assert import_files(db, [corrected], mapping, replace=True).replaced == 0
    assert verify(db.con) == []


def test_row_numbers_byte_order_mark_and_separators(tmp_path, db):
    numbered = write(tmp_path / "n.csv", ",dataset,svm,rf\n0,u,0.5,0.6\n1,v,0.7,0.8\n", "utf-8-sig")
    semicolons = write(tmp_path / "s.csv", "dataset;svm;rf\nw;0,5;0,25\n")
    assert read_tables([numbered]).columns[1:4] == ["dataset", "svm", "rf"]
    import_files(db, [numbered], parse_mapping(WIDE, "m.toml"))
    import_files(db, [semicolons], parse_mapping('decimal = ","\n' + WIDE, "m.toml"))
    assert sorted(v for *_, v in stored(db)) == [0.25, 0.5, 0.5, 0.6, 0.7, 0.8]


def test_a_column_that_only_looks_like_row_numbers_is_not_left_out(tmp_path):
    with pytest.raises(DataError, match="column 1 has values and no name"):
        read_tables([write(tmp_path / "t.csv", ",a\n5,1\n9,2\n")])


def test_many_files_and_the_name_of_a_file_as_arm(tmp_path, db):
    for arm, value in (("svm", 0.5), ("rf", 0.6)):
        write(tmp_path / f"{arm}.csv", f"dataset,acc\nu,{value}\nv,{value}\n")
    text = 'study = "s"\nblock = "b"\nform = "rows"\nkeys = ["dataset"]\n[rows]\narm = "file"\nmetrics = ["acc"]\n'
    import_files(db, expand([str(tmp_path / "*.csv")]), parse_mapping(text, "m.toml"))
    assert stored(db, "arm, value") == [("rf", 0.6), ("rf", 0.6), ("svm", 0.5), ("svm", 0.5)]
    assert expand([tmp_path]) == expand([tmp_path / "*.csv"])
    with pytest.raises(DataError, match="no such file"):
        expand([tmp_path / "*.tsv"])


MIXED = """
study = "s"
block = "b"
form = "wide"
keys = ["dataset"]
[wide]
metric = "auc"
arms = ["svm", "rf"]
[combined]
name = "score"
metrics = ["auc", "logloss"]
[[metric]]
name = "auc"
description = "Area under the curve"
better = "higher"
[[metric]]
name = "logloss"
description = "Log loss"
better = "lower"
where = { dataset = ["v"] }
"""


def test_direction_by_dataset(tmp_path, db):
    table = write(tmp_path / "t.csv", "dataset,svm,rf\nu,0.5,0.6\nv,1.5,1.6\n")
    import_files(db, [table], parse_mapping(MIXED, "m.toml"))
    assert stored(db) == [
        ("rf", "auc", 0.6), ("rf", "logloss", 1.6), ("rf", "score", -1.6), ("rf", "score", 0.6),
        ("svm", "auc", 0.5), ("svm", "logloss", 1.5), ("svm", "score", -1.5), ("svm", "score", 0.5),
    ]  # fmt: skip
    better = dict(db.con.execute("SELECT metric, better FROM metric").fetchall())
    assert better == {"auc": "higher", "logloss": "lower", "score": "higher"}
    with pytest.raises(TomlError, match="'logloss' needs"):
        parse_mapping(MIXED.replace('better = "lower"\n', ""), "m.toml")


def test_a_metric_has_one_direction(tmp_path, db):
    described = WIDE + '[[metric]]\nname = "auc"\ndescription = "Area"\nbetter = "higher"\n'
    table = write(tmp_path / "t.csv", "dataset,svm,rf\nu,0.5,0.6\n")
    import_files(db, [table], parse_mapping(described, "m.toml"))
    more = write(tmp_path / "o.csv", "dataset,svm,rf\nw,0.5,0.6\n")
    with pytest.raises(DataError, match="lower is better for 'auc', and the study says higher"):
        import_files(db, [more], parse_mapping(described.replace("higher", "lower"), "m.toml"))
    assert db.con.execute("SELECT count(*) FROM cell").fetchone() == (1,)


def test_other_keys_and_computed_cells_are_not_mixed_in(tmp_path, db):
    import_files(db, [write(tmp_path / "t.csv", "dataset,svm,rf\nu,0.5,0.6\n")], parse_mapping(WIDE, "m.toml"))
    table = write(tmp_path / "o.csv", "dataset,fold,svm,rf\nu,1,0.5,0.6\n")
    with pytest.raises(DataError, match="have the keys dataset, and the mapping says dataset, fold"):
        import_files(db, [table], parse_mapping(WIDE.replace('["dataset"]', '["dataset", "fold"]'), "m.toml"))
    db.con.execute("UPDATE cell SET hash_version = '1'")
    with pytest.raises(DataError, match="that a run computed"):
        import_files(db, [tmp_path / "t.csv"], parse_mapping(WIDE, "m.toml"))


def test_a_misspelt_column_is_suggested(tmp_path, db):
    table = write(tmp_path / "t.csv", "datset,svm,rf\nu,0.5,0.6\n")
    with pytest.raises(DataError, match="did you mean 'datset'"):
        import_files(db, [table], parse_mapping(WIDE, "m.toml"))
    twice = write(tmp_path / "d.csv", "dataset,svm,svm\nu,0.5,0.6\n")
    with pytest.raises(DataError, match="two columns are called 'svm'"):
        import_files(db, [twice], parse_mapping(WIDE, "m.toml"))


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("t.json", '[{"dataset": "u", "svm": 1, "rf": 2}, {"dataset": "v", "svm": 3, "svm": 4, "rf": 5}]', "an object"),
        (
            "t.jsonl",
            '{"dataset": "u", "svm": 1, "rf": 2}\n{"dataset": "v", "svm": 3, "svm": 3, "rf": 5}\n',
            "line 2: an object",
        ),
    ],
)
def test_an_object_that_says_a_key_twice_is_refused(tmp_path, db, name, text, place):
    table = write(tmp_path / name, text)
    with pytest.raises(DataError, match=f"{name}: {place} has two keys 'svm'"):
        import_files(db, [table], parse_mapping(WIDE, "m.toml"))
    once = write(tmp_path / f"once.{name}", text.replace('"svm": 3, ', "", 1))
    assert import_files(db, [once], parse_mapping(WIDE, "m.toml")).records == 4


@pytest.mark.parametrize(
    ("number", "stored_as"),
    [
        ("9007199254740993", 9007199254740992),
        ("-9007199254740993", -9007199254740992),
        ("1234567890123456789012", 1234567890123456774144),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_whole_number_that_is_rounded_is_pointed_out(tmp_path, db, number, stored_as, ending):
    whole = "10000000000000000"  # 1e16 is a float64
    if ending == "csv":
        text = f"dataset,svm,rf\nu,{number},{whole}\nv,9007199254740992,0.1234567890123456789\n"
    elif len(number) > 19:
        pytest.skip("JSON has whole numbers of 64 bits")
    else:
        text = f'[{{"dataset": "u", "svm": {number}, "rf": {whole}}}, {{"dataset": "v", "svm": 9007199254740992, "rf": 1}}]'
    table = write(tmp_path / f"t.{ending}", text)
    found = import_files(db, [table], parse_mapping(WIDE, "m.toml"))
    said = f"1 whole number beyond 2^53 is rounded to float64: {number} is stored as {stored_as}"
    assert found.notes == (said,)


@pytest.mark.parametrize(
    ("keys", "said"),
    [("fold,Fold", "'fold' and 'Fold' differ only in case"), ("dataset,Value", "'Value' cannot be a key")],
)
def test_keys_that_sql_takes_for_another_column_are_refused(tmp_path, db, keys, said):
    table = write(tmp_path / "t.csv", f"{keys},svm,rf\nu,1,0.5,0.6\n")
    listed = ", ".join(f'"{k}"' for k in keys.split(","))
    with pytest.raises(DataError, match=said):
        import_files(db, [table], parse_mapping(WIDE.replace('"dataset"', listed), "m.toml"))


def test_rows_that_stand_twice_are_said_to_agree_or_to_lack_a_key(tmp_path, db):
    for last, what in (("0.6", "they agree in all that is read of them"), ("0.7", "does a key, such as a seed")):
        table = write(tmp_path / "t.csv", f"dataset,svm,rf\nu,0.5,0.6\nu,0.5,{last}\n")
        with pytest.raises(DataError, match="stands 2 times") as refused:
            import_files(db, [table], parse_mapping(WIDE, "m.toml"))
        assert what in refused.value.hint


def test_a_frame_from_python(db):
    frame = pl.DataFrame({"dataset": ["u", "v"], "svm": [0.5, None], "rf": [0.25, 0.75]})
    found = import_frame(db, frame, parse_mapping(WIDE, "m.toml"))
    assert (found.cells, found.records, found.missing) == (2, 3, 1)


NAMED = "{name},method,acc\nd1,a,1\nd1,b,2\nd2,a,3\nd2,b,4\n"
BY_NAME = 'study = "s"\nblock = "b"\nform = "rows"\nkeys = ["{name}"]\n[rows]\narm = "method"\nmetrics = ["acc"]\n'


@pytest.mark.parametrize(
    "name", ["_row", "_source", "_number", "_idx", "_column", "cell_id", "stored", "before", "gap", "n"]
)
def test_a_key_of_a_name_that_an_import_might_use_itself(tmp_path, db, name):
    path = write(tmp_path / "t.csv", NAMED.format(name=name))
    mapping = parse_mapping(BY_NAME.format(name=name), "m.toml")
    for records in (4, 0):  # the second time everything is there already
        assert import_files(db, [path], mapping).records == records
    kept = db.con.execute(
        "SELECT c.keys[?], r.arm, r.value FROM record r JOIN cell c USING (cell_id) ORDER BY 1, 2", [name]
    )
    assert kept.fetchall() == [("d1", "a", 1), ("d1", "b", 2), ("d2", "a", 3), ("d2", "b", 4)]
    write(path, NAMED.format(name=name) + "d2,b,5\n")
    with pytest.raises(DataError, match=r"d2/b/acc stands 2 times \(t.csv row 5 and t.csv row 6\)"):
        import_files(db, [path], mapping)


@pytest.mark.parametrize("name", ["arm", "metric", "label", "idx", "value", "reason"])
def test_a_key_of_a_name_that_a_record_has_is_refused(tmp_path, db, name):
    path = write(tmp_path / "t.csv", NAMED.format(name=name))
    with pytest.raises(DataError, match=f"the column '{name}' cannot be a key"):
        import_files(db, [path], parse_mapping(BY_NAME.format(name=name), "m.toml"))


@pytest.mark.parametrize("name", ["_unit", "_arm"])
def test_questions_about_a_unit_of_any_name(tmp_path, name):
    table = read_tables([write(tmp_path / "t.csv", NAMED.format(name=name))])
    assert f'pair = ["{name}"]' in draft(table, "t.csv", Wishes(arm="method", better="higher")).questions.text


def test_questions_about_a_unit_that_queries_name_are_refused(tmp_path):
    table = read_tables([write(tmp_path / "t.csv", NAMED.format(name="state"))])
    with pytest.raises(UsageError, match="the column 'state' cannot be a key of a question"):
        draft(table, "t.csv", Wishes(better="higher"))


def test_a_separator_at_the_end_of_every_line(tmp_path, db):
    path = write(tmp_path / "t.csv", NAMED.format(name="dataset").replace("\n", ",\n"))
    drawn = draft(read_tables([path]), path.name, Wishes(better="higher"))
    assert import_files(db, [path], parse_mapping(drawn.mapping_text, "m.toml")).records == 4


def test_quotation_marks_in_a_header_are_doubled_as_in_a_row(tmp_path):
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([['say "x"', "acc, %"], ['a "y"', "1"]])
    table = read_tables([path])
    assert table.select('say "x"', "acc, %").rows() == [('a "y"', "1")]


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    for path in (tmp_path / "t.csv", Path("/dev/null")):
        with pytest.raises(DataError, match="is a pipe or a device"):
            expand([path])


def test_a_pipe_in_a_folder_is_refused_and_a_folder_without_tables_too(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n", encoding="utf-8")
    os.mkfifo(tmp_path / "b.csv")
    os.mkfifo(tmp_path / "notes")  # of no kind that is read
    with pytest.raises(DataError, match=r"b\.csv: is a pipe or a device"):
        expand([tmp_path])
    (tmp_path / "b.csv").unlink()
    assert expand([tmp_path]) == (tmp_path / "a.csv",)


def test_a_long_number_is_shortened_in_a_message(tmp_path, db):
    path = tmp_path / "t.csv"
    path.write_text("dataset,a,b\nx,1,2\ny," + "1" * 1_000_000 + ",3\n", encoding="utf-8")
    text = 'study = "s"\nblock = "t"\nform = "wide"\nkeys = ["dataset"]\n[wide]\nmetric = "m"\narms = ["a", "b"]\n'
    with pytest.raises(DataError, match=r"row 3, column 'a': '1{10,}\.\.\.1{10,}' is not a finite number") as refused:
        import_files(
            db, [path], parse_mapping(text + '[[metric]]\nname = "m"\nbetter = "lower"\ndescription = "d"\n', "m.toml")
        )
    assert len(str(refused.value)) < 500

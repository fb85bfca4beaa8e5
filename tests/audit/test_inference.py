"""What a table seems to mean: the shapes people have, each taken as they meant it, and questions where it cannot say."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import polars as pl
import pytest

from orledger.audit.importing.inference import Wishes, infer
from orledger.audit.importing.loading import import_files
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.records import to_records
from orledger.audit.importing.tables import expand, programs, read_tables, stacked
from orledger.audit.importing.writing import draft
from orledger.audit.registry.reading import parse_hypothesis
from orledger.errors import DataError, UsageError
from orledger.schema.writing import Writer


def guess(text: str, name: str = "t.csv", wishes: Wishes | None = None):
    return infer(stacked([(name, pl.read_csv(text.encode(), infer_schema=False))]), name, wishes)


def test_arm_column_and_metric_columns():
    rows = [
        f"{m},{d},{s},0.{k}5,{k}" for k, (m, d, s) in enumerate((m, d, s) for m in "ab" for d in "uv" for s in (0, 1))
    ]
    found = guess("method,dataset,seed,acc,seconds\n" + "\n".join(rows) + "\n")
    m = found.mapping
    assert (m.form, m.arm, m.keys, m.columns) == ("rows", "method", ("dataset", "seed"), ("acc", "seconds"))
    assert (found.unit, found.repeats) == (("dataset",), ("seed",))
    assert found.primary == "acc"
    assert {x.name: x.better for x in m.metrics} == {"acc": "higher", "seconds": "lower"}


def test_one_column_per_arm_asks_for_the_direction():
    text = "dataset,svm,forest\nu,0.5,0.6\nv,0.7,0.8\n"
    with pytest.raises(UsageError, match="lower or higher 'value' is better"):
        guess(text)
    found = guess(text, wishes=Wishes(better="higher", metrics=("auc",)))
    assert (found.mapping.form, found.mapping.arms, found.primary) == ("wide", ("svm", "forest"), "auc")


def test_one_row_per_number():
    text = "model,task,metric,value\na,u,f1,0.5\nb,u,f1,0.6\na,v,f1,0.5\nb,v,f1,0.6\n"
    m = guess(text).mapping
    assert (m.form, m.arm, m.metric, m.value, m.keys) == ("long", "model", "metric", "value", ("task",))


def test_metrics_that_share_out_the_datasets_become_one_score():
    text = "framework,task,fold,result,auc,logloss,info\n" + "".join(
        f"{f},{t},{k},{r},{r if t == 'bin' else ''},{r if t == 'multi' else ''},{'' if r else 'out of time'}\n"
        for f, t, k, r in [
            ("x", "bin", 0, 0.5), ("y", "bin", 0, 0.6), ("x", "bin", 1, 0.55), ("y", "bin", 1, ""),
            ("x", "multi", 0, 1.5), ("y", "multi", 0, 1.6), ("x", "multi", 1, 1.2), ("y", "multi", 1, 1.3),
        ]
    )  # fmt: skip
    found = guess(text)
    m = found.mapping
    assert (m.combined, m.combines, m.columns, m.reason) == ("score", ("auc", "logloss"), ("auc", "logloss"), "info")
    assert (found.primary, found.unit, found.repeats) == ("score", ("task",), ("fold",))
    assert any(r.startswith("result: left out, it repeats auc or logloss") for r in found.reasons)


def test_a_curve_has_its_step_as_index():
    text = "algo,seed,step,loss\n" + "".join(f"{a},{s},{k},{k}.5\n" for a in "xy" for s in (0, 1) for k in range(3))
    found = guess(text)
    assert (found.mapping.idx, found.mapping.keys) == ("step", ("seed",))


def test_questions_that_the_table_cannot_answer_are_asked():
    with pytest.raises(DataError, match="cannot tell which column names the arms"):
        guess("colour,shape,acc,time\nred,round,0.5,1\nblue,square,0.6,2\n")
    with pytest.raises(DataError, match="several rows have the same method, dataset: a, u stands 2 times"):
        guess("method,dataset,acc\na,u,0.5\na,u,0.6\nb,v,0.1\n")
    with pytest.raises(UsageError, match="did you mean 'method'"):
        guess("method,dataset,acc\na,u,0.5\nb,u,0.6\n", wishes=Wishes(arm="metod"))


def test_mlflow_and_wandb_exports(tmp_path):
    mlflow = tmp_path / "runs.csv"
    mlflow.write_text(
        "run_id,experiment_id,status,artifact_uri,start_time,metrics.rmse,params.model,params.dataset,tags.mlflow.runName\n"
        "1,0,FINISHED,x,2020,0.5,ridge,u,one\n2,0,FAILED,x,2020,0.9,forest,u,two\n3,0,FINISHED,x,2020,0.4,ridge,v,three\n"
        "4,0,FINISHED,x,2020,0.3,forest,v,four\n",
        encoding="utf-8",
    )
    assert programs([mlflow]) == ("MLflow (search_runs)",)
    drawn = draft(read_tables([mlflow]), "runs.csv")
    m = parse_mapping(drawn.mapping_text, "m")
    assert (m.arm, m.keys, m.columns, m.reason_wins) == ("model", ("dataset",), ("rmse",), True)
    with Writer(tmp_path / "d.duckdb") as writer:
        found = import_files(writer, [mlflow], m)
        assert (found.records, found.missing) == (3, 1)
        assert writer.con.execute("SELECT arm, reason FROM refusal").fetchall() == [("forest", "run state: FAILED")]
    chart = tmp_path / "chart.csv"
    chart.write_text(
        '"Step","fast - loss","fast - loss__MIN","fast - loss__MAX","slow - loss"\n0,1,1,1,2\n1,0.5,0.5,0.5,1.5\n',
        encoding="utf-8",
    )
    curves = infer(read_tables([chart]), "chart.csv").mapping
    assert (curves.form, curves.arm, curves.idx, curves.metric) == ("long", "run", "step", "metric")


def test_the_drafted_files_are_read_back(tmp_path):
    """The texts are valid whatever the names are, and the mapping says what was inferred."""
    hostile = 'a"b\\c', "d,e'f\n", "x/y_%&"
    frame = pl.DataFrame(
        {
            "dataset": ["u", "v", "w"] * 3,
            "method": [h for h in hostile for _ in range(3)],
            "acc": [k / 10 for k in range(9)],
        }
    )
    drawn = draft(stacked([("t.csv", frame)]), "t.csv")
    assert parse_mapping(drawn.mapping_text, "m").keys == ("dataset",)
    h = parse_hypothesis(drawn.questions.text, "h")
    assert [c.test for c in h.comparisons].count("signed_rank") == 3
    assert {name for c in h.comparisons for name, _ in c.sides} >= {n.strip() for n in hostile}


def test_pairs_control_and_best():
    frame = pl.DataFrame(
        {"dataset": [d for d in "uvwxyz" for _ in range(3)], "method": ["a", "b", "c"] * 6, "acc": [0.1, 0.2, 0.9] * 6}
    )
    table = stacked([("t.csv", frame)])

    def asked(**options):
        h = parse_hypothesis(draft(table, "t.csv", **options).questions.text, "h")
        return [c.id for c in h.comparisons if c.family == "pairs"]

    assert asked() == ["a/b", "a/c", "b/c"]
    assert asked(compare="control", control="b") == ["b/a", "b/c"]
    assert asked(compare="best") == ["c/a", "c/b"]
    with pytest.raises(UsageError, match="arms are a, b, c"):
        asked(compare="control", control="z")
    many = pl.DataFrame(
        {
            "dataset": ["u"] * 201 + ["v"] * 201,
            "method": [f"m{k}" for k in range(201)] * 2,
            "acc": [0.5, 0.6, 0.7] * 134,
        }
    )
    with pytest.raises(UsageError, match="201 arms make 20100 pairs"):
        draft(stacked([("t.csv", many)]), "t.csv")


def test_scales_that_differ_give_a_sign_test():
    frame = pl.DataFrame(
        {
            "game": [g for g in "uvw" for _ in range(2)],
            "agent": ["a", "b"] * 3,
            "return": [1.0, 2.0, 500.0, 900.0, 9e4, 8e4],
        }
    )
    text = draft(stacked([("t.csv", frame)]), "t.csv").questions.text
    assert 'test = "sign"' in text
    assert 'test = "signed_rank"' not in text


def test_the_scale_that_somebody_said_decides():
    frame = pl.DataFrame(
        {
            "dataset": [g for g in "uvw" for _ in range(2)],
            "method": ["a", "b"] * 3,
            "error": [0.1, 0.2, 0.5, 0.9, 0.3, 0.4],
        }
    )
    table = stacked([("t.csv", frame)])
    assert 'test = "signed_rank"' in draft(table, "t.csv").questions.text
    drawn = draft(table, "t.csv", Wishes(scale="own"))
    assert 'test = "sign"' in drawn.questions.text
    mapping = parse_mapping(drawn.mapping_text, "t.mapping.toml")
    assert mapping.described("error").scale == "own"
    # A mapping that is there is asked, not the table.
    again = draft(table, "t.csv", mapping=mapping)
    assert 'test = "sign"' in again.questions.text
    assert again.guess.mapping == mapping
    turned = parse_mapping(drawn.mapping_text.replace('scale = "own"', 'scale = "common"'), "t.mapping.toml")
    assert 'test = "signed_rank"' in draft(table, "t.csv", mapping=turned).questions.text


def test_runs_of_sacred_are_a_table(tmp_path):
    for number, (method, dataset, seed) in enumerate(product("ab", "uvw", (0, 1)), 1):
        run = tmp_path / "runs" / str(number)
        run.mkdir(parents=True)
        config = {"method": method, "data": {"dataset": dataset}, "seed": seed, "verbose": True}
        (run / "config.json").write_text(json.dumps(config))
        failed = number == 12
        (run / "run.json").write_text(json.dumps({"status": "FAILED" if failed else "COMPLETED", "result": None}))
        wrapped = {"py/object": "numpy.float64", "dtype": "float64", "value": number / 20}
        metrics = {
            "accuracy": {"steps": [0, 1], "timestamps": [], "values": [0.1, wrapped if number == 1 else number / 20]}
        }
        (run / "metrics.json").write_text(json.dumps(metrics))
    (tmp_path / "runs" / "_sources").mkdir()
    (path,) = expand([tmp_path / "runs"])
    drawn = draft(read_tables([path]), "runs.csv")
    mapping = drawn.guess.mapping
    assert (mapping.arm, drawn.guess.unit, drawn.guess.repeats) == ("method", ("dataset",), ("seed",))
    rows = to_records(read_tables([path]), mapping)
    values = {(r["dataset"], r["seed"], r["arm"]): r["value"] for r in rows.iter_rows(named=True)}
    assert values["u", "0", "a"] == 1 / 20
    assert values["w", "0", "b"] == 11 / 20
    assert values["w", "1", "b"] is None  # the last state of a run that failed is no result
    assert rows.filter(pl.col("value").is_null())["reason"].to_list() == ["run state: FAILED"]
    (tmp_path / "runs" / "3" / "run.json").write_text("[]")
    with pytest.raises(DataError, match=r"3/run\.json: expected an object"):
        read_tables([path])


def semicolons(*values: str):
    """A study of two methods on three datasets whose scores are ``values``, with semicolons between columns."""
    names = product("uvw", "ab")
    text = "dataset;method;score\n" + "\n".join(f"{d};{m};{v}" for (d, m), v in zip(names, values, strict=True))
    return stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False, separator=";"))])


def test_decimal_commas_are_seen_and_written_into_the_mapping():
    table = semicolons("0,72", "0,7", "1", "", "-1,5e-1", ",25")
    made = draft(table, "t.csv")
    assert "numbers: with decimal commas, such as 0,72" in made.reasons
    mapping = parse_mapping(made.mapping_text, "t.mapping.toml")
    assert mapping.decimal == ","
    assert to_records(table, mapping)["value"].to_list() == [0.72, 0.7, 1.0, None, -0.15, 0.25]


@pytest.mark.parametrize(
    "values",
    [
        ("1,234", "2,345", "12,500", "1", "2", "3"),  # may be thousands
        ("0,72", "0.7", "0,5", "0,1", "0,2", "0,3"),  # both conventions in one column
        ("1,234,567", "0,5", "0,5", "0,1", "0,2", "0,3"),
    ],
)
def test_commas_that_may_be_anything_else_are_asked_about(values):
    with pytest.raises(DataError, match=r"no column looks like a result|a comma that may separate thousands"):
        infer(semicolons(*values), "t.csv", Wishes(arm="method"))


def test_commas_in_a_table_whose_numbers_have_points_are_no_decimals():
    text = 'dataset,method,classes,acc\nu,a,"0,1",0.5\nu,b,"0,1",0.6\nv,a,"0,2",0.7\nv,b,"0,2",0.8\n'
    assert guess(text).mapping.decimal == "."


def test_a_direction_that_was_said_is_that_of_the_named_metric_alone():
    rows = "".join(f"{d},{m},0.{i}1,{i}.5\n" for i, (d, m) in enumerate(product("uvw", "ab"), 1))
    found = guess("dataset,method,quality,Laufzeit\n" + rows, wishes=Wishes(metrics=("quality",), better="higher"))
    assert {m.name: m.better for m in found.mapping.metrics} == {"quality": "higher", "Laufzeit": None}
    assert any(r.startswith("Laufzeit: stored and not tested") for r in found.reasons)


def test_one_arm_alone_is_said_to_be_one():
    with pytest.raises(DataError, match="method has one value, 'x', so there is nothing to compare"):
        guess("dataset,method,accuracy\nu,x,0.5\n")


def test_event_files_of_tensorboard_are_a_table(tmp_path):
    """Written by tensorboardX; what TensorBoard's own reader finds in such files was compared by hand, 600 of 600 equal."""
    tensorboardx = pytest.importorskip("tensorboardX", reason="the extra tensorboard")
    runs = tmp_path / "runs"
    for game, method, seed in product(("pong", "ant"), ("ppo", "dqn"), (0, 1)):
        with tensorboardx.SummaryWriter(str(runs / game / method / f"seed{seed}")) as writer:
            for step in (0, 10, 20):
                writer.add_scalar("return", step + seed / 4, step)
            writer.add_histogram("weights", np.arange(4.0), 0)
    (path,) = expand([runs])
    table = read_tables([path])
    assert programs([path])[0].startswith("TensorBoard (event files")
    assert sorted(set(table["folder1"])) == ["ant", "pong"]
    drawn = draft(table, "runs.csv", Wishes(arm="folder2", keys=("folder1", "seed"), ignore=("run",)))
    mapping = drawn.guess.mapping
    assert (mapping.idx, drawn.guess.unit, drawn.guess.repeats) == ("step", ("folder1",), ("seed",))
    rows = to_records(table, mapping)
    assert rows.height == 2 * 2 * 2 * 3  # the histogram is no scalar
    values = {(r["folder1"], r["seed"], r["arm"], r["idx"]): r["value"] for r in rows.iter_rows(named=True)}
    assert values["ant", "1", "dqn", 20] == 20.25


def test_a_run_begun_again_a_torn_end_and_a_damaged_event_file(tmp_path):
    tensorboardx = pytest.importorskip("tensorboardX", reason="the extra tensorboard")
    for k, shift in enumerate(
        (0.0, 0.5)
    ):  # the second file starts at step 2: the first was killed after it wrote step 3
        with tensorboardx.SummaryWriter(str(tmp_path / "a"), filename_suffix=str(k)) as writer:
            for step in range(2 * k, 4):
                writer.add_scalar("loss", step + shift, step)
    table = read_tables([tmp_path])
    assert dict(zip(table["step"], table["value"], strict=True)) == {"0": "0.0", "1": "1.0", "2": "2.5", "3": "3.5"}
    last = sorted((tmp_path / "a").iterdir())[-1]
    whole = last.read_bytes()
    last.write_bytes(whole[:-3])
    table = read_tables([tmp_path])
    assert dict(zip(table["step"], table["value"], strict=True))["3"] == "3.0"  # the torn record is left out
    last.write_bytes(whole[:-10] + bytes([whole[-10] ^ 1]) + whole[-9:])
    with pytest.raises(DataError, match="a wrong checksum at byte"):
        read_tables([tmp_path])
    last.unlink()
    (tmp_path / "b.csv").write_text("x\n1\n")
    assert [p.name for p in expand([tmp_path])] == ["b.csv"]  # tables in a folder come before event files below it


def test_a_leaderboard_with_a_column_per_dataset_is_turned_round():
    text = "model,Avg. WER,Size,AMI WER,Tedlium WER,LS Clean WER\nx/a,3,1,2,3,4\ny/b,2,7,1,,3\nz,5,2,5,5,5\n"
    found = guess(text)
    assert (found.mapping.arm, found.mapping.keys, found.mapping.columns) == ("model", ("dataset",), ("WER",))
    table = stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False))])
    values = {(r["dataset"], r["arm"]): r["value"] for r in to_records(table, found.mapping).iter_rows(named=True)}
    assert values["Tedlium", "x/a"] == 3
    assert values["Tedlium", "y/b"] is None
    assert len(values) == 9
    # Where a column names the datasets, and where a model stands twice, the columns are measurements.
    assert guess("model,dataset,Train WER,Test WER,Dev WER\na,u,1,2,3\nb,v,2,3,4\n").mapping.keys == ("dataset",)
    with pytest.raises(DataError):
        guess("model,AMI WER,Tedlium WER,LS WER\na,1,2,3\na,2,3,4\nb,5,6,7\n")


def test_a_dash_among_numbers_is_a_missing_number_and_among_words_a_name():
    found = guess("dataset,ours,old\nu,0.5,0.4\nv,-,0.3\nw,0.7,—\n", wishes=Wishes(better="higher"))
    assert found.mapping.arms == ("ours", "old")
    table = stacked([("t.csv", pl.read_csv(b"dataset,ours,old\nu,0.5,0.4\nv,-,0.3\nw,0.7,-1\n", infer_schema=False))])
    records = to_records(table, found.mapping).filter(arm="ours").sort("dataset")
    assert records["value"].to_list() == [0.5, None, 0.7]
    named = guess("method,dataset,prior,acc\na,u,-,0.5\nb,u,-,0.6\na,u,flat,0.5\nb,u,flat,0.6\n")
    assert "prior" in named.mapping.keys


def test_a_percentage_may_name_a_setting():
    found = guess(
        "dataset,noise,method,acc\n"
        + "".join(f"{d},{n}%,{m},0.{n}{ord(m)}\n" for d in "uv" for n in (5, 10) for m in "ab")
    )
    assert set(found.mapping.keys) == {"dataset", "noise"}


def test_two_spellings_of_one_arm_are_pointed_out_and_two_versions_are_not():
    names = ["RandomForest", "RandomForrest", "resnet18", "resnet50", "Boosting", "boosting"]
    rows = [(n, d) for n in names for d in range(1 if n in ("RandomForrest", "resnet50", "boosting") else 4)]
    found = guess("method,dataset,acc\n" + "".join(f"{n},d{d},0.{d}5\n" for n, d in rows))
    lines = [r for r in found.reasons if "is spelt nearly like" in r]
    assert len(lines) == 2
    assert lines[0].startswith("method: 'RandomForrest' (1 of 15 rows) is spelt nearly like 'RandomForest' (4)")
    assert "'boosting' (1 of 15 rows)" in lines[1]

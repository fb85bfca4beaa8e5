"""Tables and folders of runs as other programs leave them: what is taken, what is left out, and what is said of damage."""

from __future__ import annotations

import json
import struct
import sys
from hashlib import sha256

import polars as pl
import pytest

from orledger.audit.importing import events, folders, sacred
from orledger.audit.importing.exports import recognised
from orledger.errors import DataError, UsageError


def rows(columns: dict[str, list[object]], name: str = "t.csv") -> tuple[list[dict[str, object]], str | None]:
    table, program = recognised(pl.DataFrame(columns), name)
    return table.rows(named=True), program


def test_a_runs_page_of_mlflow_keeps_configuration_results_and_states():
    page = {
        "Start Time": ["x", "x"], "Duration": ["1s", "1s"], "Run ID": ["1", "2"], "Name": ["p", "q"], "Source Type": ["", ""],
        "Source Name": ["", ""], "User": ["u", "u"], "Status": ["FINISHED", "FAILED"], "lr": ["0.1", "0.2"], "acc": ["0.5", "0.6"],
    }  # fmt: skip
    assert rows(page) == (
        [
            {"run_name": "p", "lr": "0.1", "acc": "0.5", "unfinished": None},
            {"run_name": "q", "lr": "0.2", "acc": "0.6", "unfinished": "run state: FAILED"},
        ],
        "MLflow (download of the runs page)",
    )


def test_a_table_without_the_names_of_runs_is_no_page_of_mlflow():
    table = {"Run ID": ["1"], "Source Type": ["x"], "Status": ["FINISHED"], "acc": ["0.5"]}
    assert rows(table) == ([{key: found[0] for key, found in table.items()}], None)


@pytest.mark.parametrize("told", ["Created", "Runtime"])
def test_a_runs_table_of_weights_and_biases_is_known_by_two_of_its_columns(told):
    table = {"Name": ["p"], "State": ["crashed"], told: ["x"], "_wandb": ["{}"], "lr": ["0.1"], "unfinished": ["mine"]}
    assert rows(table) == (
        [{"run_name": "p", "lr": "0.1", "unfinished": "run state: crashed"}],
        "Weights and Biases (download of the runs table)",
    )


def test_columns_of_a_search_that_would_share_a_name_keep_their_own():
    table = {
        "run_id": ["1"], "status": ["FINISHED"], "metrics.acc": [0.5], "params.acc": ["a"], "params.unfinished": ["no"],
        "params.run_name": ["mine"], "tags.mlflow.runName": ["theirs"],
    }  # fmt: skip
    found, program = rows(table)
    assert program == "MLflow (search_runs)"
    assert found == [
        {
            "metrics.acc": 0.5,
            "params.acc": "a",
            "params.unfinished": "no",
            "run_name": "mine",
            "unfinished": None,
        }
    ]


@pytest.mark.parametrize(
    ("name", "run", "tag"),
    [
        ("run-exp_1-tag-loss_val.csv", "exp_1", "loss_val"),
        ("a.b-tag-loss.csv", "a.b", "loss"),
        ("mine.csv", "mine", "value"),
        ("mine", "mine", "value"),
    ],
)
def test_a_scalar_of_tensorboard_is_named_by_its_file(name, run, tag):
    found, program = rows({"Wall time": [1.0], "Step": [3], "Value": [0.5]}, name)
    assert (found, program) == (
        [{"step": 3, "run": run, "metric": tag, "value": 0.5}],
        "TensorBoard (download of a scalar)",
    )


@pytest.mark.parametrize(
    ("name", "estimator", "measure"),
    [
        ("ROCKET_TESTFOLDS.csv", "ROCKET", "accuracy"),
        ("ROCKET_logloss.csv", "ROCKET", "logloss"),
        ("HC2.csv", "HC2", "accuracy"),
    ],
)
def test_resamples_of_aeon_are_named_by_their_file(name, estimator, measure):
    table = {"Resamples:": ["Adiac", "Beef"], "0": [0.5, 0.75], "1": [0.25, 1.0]}
    found, program = rows(table, name)
    assert program == "aeon (results of one estimator)"
    assert [(r["estimator"], r["dataset"], r["resample"], r[measure]) for r in found] == [
        (estimator, "Adiac", "0", 0.5),
        (estimator, "Beef", "0", 0.75),
        (estimator, "Adiac", "1", 0.25),
        (estimator, "Beef", "1", 1.0),
    ]


def mark(data: bytes) -> bytes:
    from tensorboardX.crc32c import crc32c

    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """One record of an event file: its length, the checksum of that, the data and theirs."""
    length = struct.pack("<Q", len(data))
    return length + mark(length) + data + mark(data)


def event(step: int = 1, *, tag: str = "loss", plugin: str = "", content: bytes = b"", **value: object) -> bytes:
    from tensorboardX.proto.event_pb2 import Event

    made = Event(step=step)
    one = made.summary.value.add(tag=tag, **value)
    if plugin:
        one.metadata.plugin_data.plugin_name = plugin
        one.metadata.plugin_data.content = content
    return made.SerializeToString()


@pytest.fixture
def kept(tmp_path):
    pytest.importorskip("tensorboardX")

    def keep(run: str, *events_of_run: bytes) -> None:
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "events.out.tfevents.1").write_bytes(b"".join(map(record, events_of_run)))

    return keep


def tensor(dtype: int, **fields: object) -> object:
    from tensorboardX.proto.tensor_pb2 import TensorProto

    return TensorProto(dtype=dtype, **fields)


def test_scalars_stand_as_simple_values_and_as_tensors_of_either_form(kept, tmp_path):
    kept(
        "a",
        event(1, simple_value=0.5),
        event(2, plugin="scalars", tensor=tensor(1, tensor_content=struct.pack("<f", 0.25))),
        event(3, tensor=tensor(2, double_val=[0.125])),  # the tag's plugin was said before
        event(4, tensor=tensor(9, int64_val=[7])),
        event(5, tensor=tensor(2, double_val=[1.0, 2.0])),  # two numbers are no scalar
        event(6, tensor=tensor(7)),  # a text
        event(1, tag="words", tensor=tensor(1, float_val=[1.0])),  # not said to be a scalar
    )
    found = events.read_events(tmp_path)
    assert found.rows() == [("a", "loss", "1", "0.5"), ("a", "loss", "2", "0.25"), ("a", "loss", "3", "0.125"), ("a", "loss", "4", "7")]  # fmt: skip


def test_hyperparameters_become_columns_of_their_run(kept, tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

    stated = HParamsPluginData()
    stated.session_start_info.hparams["layers"].number_value = 3.0
    stated.session_start_info.hparams["lr"].number_value = 0.5
    stated.session_start_info.hparams["kind"].string_value = "adam"
    stated.session_start_info.hparams["wide"].bool_value = True
    stated.session_start_info.hparams["none"].null_value = 0
    said = event(plugin="hparams", tag="_hparams_/session_start_info", content=stated.SerializeToString())
    kept("a", said, event(simple_value=0.5))
    assert events.read_events(tmp_path).rows(named=True) == [
        {"layers": "3", "lr": "0.5", "kind": "adam", "wide": "True", "run": "a", "metric": "loss", "step": "1", "value": "0.5"}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "named"),
    [
        (["a", "b/c"], [{"run": "a"}, {"run": "b/c"}]),  # not equally deep
        (["seed1", "seed2"], [{"run": "seed1"}, {"run": "seed2"}]),  # nothing would be left as a name
        (["a/seed1", "b/seed2"], [{"run": "a", "seed": "1"}, {"run": "b", "seed": "2"}]),
    ],
)
def test_numbered_folders_become_columns_where_a_name_is_left(kept, tmp_path, runs, named):
    for run in runs:
        kept(run, event(simple_value=0.5))
    scalar = {"metric": "loss", "step": "1", "value": "0.5"}
    assert events.read_events(tmp_path).rows(named=True) == [{**found, **scalar} for found in named]


def test_damage_inside_a_record_is_told_with_its_file(kept, tmp_path):
    half = event(plugin="scalars", tensor=tensor(1, tensor_content=b"abc"))
    for run, data in (("a", b"\xff\xff"), ("b", event(plugin="hparams", content=b"\xff\xff")), ("c", half)):
        kept(run, data)
        with pytest.raises(DataError, match=r"tfevents\.1: a record that is no event"):
            events.read_events(tmp_path / run)


def test_a_wrong_checksum_of_a_length_is_told_with_its_place(kept, tmp_path):
    kept("a", event(simple_value=0.5))
    path = tmp_path / "a" / "events.out.tfevents.1"
    path.write_bytes(b"\x01" + path.read_bytes()[1:])
    with pytest.raises(DataError, match="a wrong checksum at byte 0"):
        events.read_events(tmp_path)


def test_event_files_without_scalars_are_no_results(kept, tmp_path):
    kept("a", event(tag="words", tensor=tensor(7)))
    with pytest.raises(DataError, match="its event files hold no scalars"):
        events.read_events(tmp_path)


def sacred_run(folder, name, config=None, **facts):
    (folder / name).mkdir(parents=True)
    (folder / name / "config.json").write_text(json.dumps(config or {}))
    (folder / name / "run.json").write_text(json.dumps(facts))


def test_what_a_run_of_sacred_returned_is_its_result_if_it_is_a_number(tmp_path):
    sacred_run(tmp_path, "1", {"lr": 0.1, "layers": [1, 2]}, status="COMPLETED", result=0.5)
    sacred_run(tmp_path, "2", {"lr": 0.2}, status="COMPLETED", result=True)
    (tmp_path / "2" / "metrics.json").write_text(json.dumps({"acc": {"values": []}, "odd": 3}))
    assert sacred.read_runs(tmp_path).rows(named=True) == [
        {"run_name": "1", "lr": "0.1", "result": "0.5", "unfinished": None},
        {"run_name": "2", "lr": "0.2", "result": None, "unfinished": None},
    ]


def test_a_file_of_sacred_that_is_no_json_is_named(tmp_path):
    sacred_run(tmp_path, "1", status="COMPLETED")
    (tmp_path / "1" / "run.json").write_text("{")
    with pytest.raises(DataError, match=r"run\.json: cannot be read as JSON"):
        sacred.read_runs(tmp_path)


def test_the_digest_of_a_folder_is_over_the_names_and_bytes_that_are_read(tmp_path):
    sacred_run(tmp_path / "runs", "1", status="COMPLETED")
    (tmp_path / "runs" / "1" / "cout.txt").write_text("not read")
    whole = b"".join(
        f"1/{name}\n".encode() + (tmp_path / "runs" / "1" / name).read_bytes() for name in ("config.json", "run.json")
    )
    assert folders.digest(tmp_path / "runs") == sha256(whole).hexdigest()
    (tmp_path / "empty").mkdir()
    assert folders.digest(tmp_path / "empty") == sha256(b"").hexdigest()


def test_event_files_need_an_extra_and_say_which(kept, tmp_path, monkeypatch):
    kept("a", event(simple_value=0.5))
    monkeypatch.setitem(sys.modules, "tensorboardX.proto.event_pb2", None)
    with pytest.raises(UsageError, match="needs the extra tensorboard") as error:
        events.read_events(tmp_path)
    assert error.value.hint == "pip install 'orledger[tensorboard]'"

"""Cells, records and seeds: names that never change, numbers that are always finite."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orledger.errors import OrledgerError, UsageError
from orledger.runners.cells import HASH_VERSION, Cell, Job, canonical
from orledger.runners.records import CellResult, NonFiniteRecordError
from orledger.runners.seeds import generator, seed_of, torch_generator

CELL = Cell("b", "main", {"dataset": "diabetes", "seed": 0, "level": 0.25}, {"epochs": 100})


def test_the_id_is_the_hash_of_the_canonical_spec_written_by_hand() -> None:
    text = '{"block":"main","case":"b","hash_version":"1","keys":{"dataset":"diabetes","level":0.25,"seed":0},"settings":{"epochs":100}}'
    assert HASH_VERSION == "1"
    assert CELL.id == hashlib.sha256(text.encode()).hexdigest()[:24]
    assert CELL.name == "b/main/diabetes/0/0.25"


def test_the_id_ignores_the_order_of_keys_and_notices_every_value() -> None:
    turned = Cell("b", "main", {"level": 0.25, "seed": 0, "dataset": "diabetes"}, {"epochs": 100})
    assert turned.id == CELL.id
    others = [
        Cell("a", "main", CELL.keys, CELL.settings),
        Cell("b", "gap", CELL.keys, CELL.settings),
        Cell("b", "main", {**CELL.keys, "seed": 1}, CELL.settings),
        Cell("b", "main", CELL.keys, {"epochs": 101}),
        Cell("b", "main", CELL.keys, {"epochs": 100.0}),
    ]
    assert len({CELL.id, *(c.id for c in others)}) == 6


def test_a_device_is_not_part_of_the_id() -> None:
    assert Cell("b", "main", CELL.keys, CELL.settings, gpu=True).id == CELL.id


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), np.float64(1.0).reshape(1), {1, 2}])
def test_specs_hold_plain_finite_data_only(value: object) -> None:
    with pytest.raises(UsageError, match="cannot hold"):
        canonical({"x": [value]})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_canonical_text_reads_back_as_the_same_value(value: object) -> None:
    import json

    assert json.loads(canonical(value)) == value


def test_a_job_is_named_by_its_cells_in_order() -> None:
    other = Cell("b", "main", {**CELL.keys, "seed": 1})
    assert Job((CELL, other)).id != Job((other, CELL)).id


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_record_that_is_not_finite_never_leaves_the_runner(bad: float) -> None:
    result = CellResult()
    with pytest.raises(NonFiniteRecordError, match="rmse of arm standard"):
        result.scalar("standard", "rmse", bad)
    with pytest.raises(NonFiniteRecordError, match="at index 7"):
        result.series("standard", "rmse", [1.0, bad], idx=[3, 7])
    assert result.columns()["value"].size == 0


def test_columns_hold_scalars_and_series_with_their_indices() -> None:
    result = CellResult()
    result.scalar("a", "m", 1.5, label="x", idx=2)
    result.scalar("a", "n", 2.5)
    result.series("b", "m", [3.5, 4.5], idx=[10, 20])
    columns = result.columns()
    assert columns["value"].tolist() == [1.5, 2.5, 3.5, 4.5]
    assert columns["idx"].tolist() == [2, None, 10, 20]
    assert columns["label"].tolist() == ["x", None, None, None]
    assert columns["arm"].tolist() == ["a", "a", "b", "b"]


def test_what_a_case_says_is_stored_as_it_is_hashed() -> None:
    result = CellResult()
    result.scalar("a", "m", 1.5, label=3, idx=np.float64(2))
    result.series("a", "n", [1.0, 2.0], label=0.5, idx=[0.0, np.int64(4)])
    result.fact("n", 5)
    columns = result.columns()
    assert columns["label"].tolist() == ["3", "0.5", "0.5"]
    assert columns["idx"].tolist() == [2, 0, 4]
    assert result.facts == {"n": "5"}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda r: r.scalar(5, "m", 1.0), "the arm is 5"),
        (lambda r: r.scalar("a", 5, 1.0), "the metric is 5"),
        (lambda r: r.series(None, "m", [1.0]), "the arm is None"),
        (lambda r: r.scalar("a", "m", 1.0, idx=1.5), "the index is 1.5, not a whole number"),
        (lambda r: r.series("a", "m", [1.0, 2.0], idx=[0, 0.5]), "the index is 0.5, not a whole number"),
        (lambda r: r.series("a", "m", [1.0], idx=np.array([2**40])), "beyond 32 bits"),
        (lambda r: r.scalar("a", "m", 1e301), r"m of arm a .* is 1e\+301, beyond 1e\+300, where sums overflow"),
        (lambda r: r.series("a", "m", [0.0, -1e301], idx=[3, 4]), r"at index 4, beyond 1e\+300"),
        (lambda r: r.refuse("a", ValueError("x")), "the reason of 'a' is ValueError"),
        (lambda r: r.fact(5, "x"), "the name of a fact is 5"),
    ],
)
def test_what_a_case_cannot_mean_is_refused_at_the_call(act: Callable[[CellResult], None], message: str) -> None:
    result = CellResult()
    with pytest.raises(OrledgerError, match=message):
        act(result)
    assert result == CellResult()


def test_streams_are_named_by_what_they_are_for() -> None:
    expected = int.from_bytes(hashlib.sha256(b'["split","diabetes",0]').digest()[:8], "big") >> 1
    assert seed_of("split", "diabetes", 0) == expected
    assert generator("split", 0).random() == generator("split", 0).random()
    assert generator("split", 0).random() != generator("split", 1).random()
    assert torch_generator("split", 0).initial_seed() == seed_of("split", 0)


def test_a_place_holds_one_number() -> None:
    """A second number at one place would hide the first: views show one value per cell, arm, metric, label and index."""
    from orledger.runners.records import CellResult

    out = CellResult()
    out.scalar("x", "error", 1.0)
    out.scalar("x", "error", 2.0, label="other")
    out.series("x", "error", [1.0, 2.0])
    out.series("x", "error", [3.0], idx=[2])
    for repeat in (
        lambda: out.scalar("x", "error", 1.0),
        lambda: out.series("x", "error", [5.0], idx=[1]),
        lambda: out.series("x", "cost", [1.0, 2.0], idx=[0, 0]),
    ):
        with pytest.raises(OrledgerError, match="recorded twice"):
            repeat()

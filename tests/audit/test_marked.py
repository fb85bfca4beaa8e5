"""Numbers with a mark beside them, as tables of papers print them."""

from __future__ import annotations

import polars as pl
import pytest

from orledger.audit.importing.inference import Wishes, infer
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.records import to_records
from orledger.audit.importing.tables import stacked
from orledger.audit.importing.writing import mapping_text
from orledger.errors import DataError


def read(text: str, **wishes: object):
    table = stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False))])
    found = infer(table, "t.csv", Wishes(better="higher", **wishes))
    again = parse_mapping(mapping_text(found.mapping), "t.mapping.toml")  # what is used the next time
    assert again.marked == found.mapping.marked
    rows = to_records(table, again)
    return found, {(*(r[k] for k in again.keys), r["arm"], r["metric"]): r["value"] for r in rows.iter_rows(named=True)}


@pytest.mark.parametrize(
    "entry",
    [
        "78.5 ± 0.5",
        "78.5 +/- 0.5",
        "78.5+-0.5",
        r"78.5 \pm 0.5",
        "78.5 (0.5)",
        "78.5 (± 0.5)",
        "78.5±.5",
        "7.85e1 ± 5e-1",
    ],
)
def test_the_number_is_the_result_and_what_stands_beside_it_a_metric_of_its_own(entry):
    found, values = read(f"dataset,ours,old\nu,{entry},71\nv,-80 ± 1,70.5\nw,-,0.25 ± 0\n")
    assert values == {
        ("u", "ours", "value"): 78.5, ("u", "old", "value"): 71.0, ("u", "ours", "value_beside"): 0.5,
        ("v", "ours", "value"): -80.0, ("v", "old", "value"): 70.5, ("v", "ours", "value_beside"): 1.0,
        ("w", "ours", "value"): None, ("w", "old", "value"): 0.25, ("w", "old", "value_beside"): 0.0,
    }  # fmt: skip
    assert f"such as {entry!r}" in found.reasons[0]
    assert "value_beside and not tested" in found.reasons[0]
    assert found.mapping.described("value_beside").better is None


def test_rows_of_several_metrics_keep_what_stands_beside_each():
    found, values = read(
        "dataset,method,acc,loss\nu,a,0.80 (0.01),1.5\nu,b,0.70 (0.02),1.25\nv,a,0.6,1.0\nv,b,0.5,2.0\n"
    )
    assert values["u", "a", "acc"] == 0.80
    assert values["u", "b", "acc_beside"] == 0.02
    assert values["u", "b", "loss"] == 1.25
    assert ("u", "b", "loss_beside") not in values
    assert found.primary == "acc"
    assert found.mapping.described("acc_beside").better is None  # although its name has a word of direction


def test_percentages_are_numbers_where_all_of_them_are():
    _, values = read("dataset,ours,old\nu,67.8%,61 %\nv,50.0%,49%\n")
    assert values["u", "ours", "value"] == 67.8
    assert values["u", "old", "value"] == 61.0
    assert not any(metric.endswith("_beside") for *_, metric in values)
    table = "dataset,ours,old\nu,67.8%,0.61\nv,50.0%,0.49\n"
    with pytest.raises(DataError, match=r"'67\.8%' is a percentage and '0\.61' is none"):
        read(table)


def test_decimal_commas_and_typographic_minus_signs():
    _, values = read('dataset,ours,old\nu,"0,72 ± 0,01","0,5"\nv,"−0,75 ± 0,02","0,25"\n')
    assert values["u", "ours", "value"] == 0.72
    assert values["u", "ours", "value_beside"] == 0.01
    assert values["v", "ours", "value"] == -0.75


def test_a_column_of_other_words_is_no_result():
    found, _ = read("dataset,note,ours,old\nu,5 (see text),0.5,0.4\nv,6 ± x,0.6,0.3\n")
    assert found.mapping.marked is False
    assert found.mapping.arms == ("ours", "old")

"""Quantities: ratios whose denominator is zero, and computations that stand in the database under several names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis_text import comparison

from orledger.audit.evaluation.comparisons import evaluate
from orledger.audit.evaluation.units import UnitReader, load_units
from orledger.audit.registry.quantities import RecordSource

ZERO = [
    # error, width, covered (le 1), outside (gt 1)
    (0.5, 0.0, 0, 1),  # a positive error outside a width of zero
    (0.0, 0.0, 1, 0),  # no error inside a width of zero
    (1.0, 2.0, 1, 0),
    (3.0, 2.0, 0, 1),
    (2.0, 2.0, 1, 0),
]


@pytest.mark.parametrize(("event", "column"), [("le", 2), ("gt", 3)])
def test_events_on_ratios_ask_the_numerator(db, event, column):
    """Covered and outside are complements, at a width of zero as well."""
    db.cell(
        {"split": 0, "rel": 0},
        [("a", "m", row[0], None, i) for i, row in enumerate(ZERO)]
        + [("d", "m", row[1], None, i) for i, row in enumerate(ZERO)],
    )
    body = f'test = "proportion"\narm = "a"\nover_idx = "sum"\ndivide_by = {{ arm = "d" }}\nevent = {{ {event} = 1 }}\n'
    e, *_ = evaluate(UnitReader(db.results), comparison(body))
    assert (e.result.statistic, e.result.n) == (sum(row[column] for row in ZERO), 5)


def test_a_negative_denominator_keeps_the_sense_of_an_event(db):
    """-3 over -2 is 1.5, above 1; 3 over -2 is not."""
    for split, v in enumerate((-3.0, 3.0)):
        db.cell({"split": split, "rel": 0}, [("a", "m", v), ("d", "m", -2.0)])
    c = comparison('test = "proportion"\narm = "a"\ndivide_by = { arm = "d" }\nevent = { gt = 1 }\n')
    assert load_units(UnitReader(db.results), c.sides[0][1], ("split", "rel")).values["value"].to_list() == [1.0, 0.0]


def test_a_ratio_to_zero_is_infinite_and_zero_over_zero_is_absent(db):
    for split, (a, d) in enumerate(((1.0, 0.0), (0.0, 0.0), (1.0, 4.0))):
        db.cell({"split": split, "rel": 0}, [("a", "m", a), ("b", "m", 1.0), ("d", "m", d)])
    c = comparison('test = "signed_rank"\na = { arm = "a", divide_by = { arm = "d" } }\nb = { arm = "b" }\n')
    assert load_units(UnitReader(db.results), c.sides[0][1], ("split", "rel")).values["value"].to_list() == [
        np.inf,
        0.25,
    ]
    e, *_ = evaluate(UnitReader(db.results), c)
    assert (e.result.n, e.result.effect) == (1, -0.75)
    assert {d.unit: d.reason for d in e.result.dropped} == {"0/0": "a: infinite", "1/0": "a: no record"}


ONCE = 'once = { over = ["rel"], where = { split = 0 } }\n'


def test_one_computation_under_several_names_counts_once(db):
    """Split 0 does not depend on rel: its first computed cell stands for all; split 1 keeps every cell."""
    db.cell({"split": 0, "rel": 1}, state="failed")
    for rel in (2, 10):
        db.cell({"split": 0, "rel": rel}, [("a", "m", 5.0)])
    for rel in (1, 2):
        db.cell({"split": 1, "rel": rel}, [("a", "m", 7.0)])
    q = comparison('test = "proportion"\narm = "a"\n' + ONCE).sides[0][1]
    units = load_units(UnitReader(db.results), q, ("split", "rel"))
    assert units.values.select("split", "rel").rows() == [("0", "2"), ("1", "1"), ("1", "2")]
    assert units.absent.is_empty()


def test_a_query_of_its_own_can_count_once_too(db):
    for rel in (1, 2, 3):
        db.cell({"split": 0, "rel": rel}, [("a", "m", 5.0)])
    sql = "SELECT cell_id, keys['split'] AS split, keys['rel'] AS rel, value FROM record JOIN cell USING (cell_id)"
    q = comparison(f'test = "proportion"\nsql = "{sql}"\n' + ONCE).sides[0][1]
    units = load_units(UnitReader(db.results), q, ("split", "rel"))
    assert units.values.rows() == [("0", "1", 5.0, 1)]
    assert units.absent.is_empty()


def test_the_arm_and_the_label_of_a_record_can_be_keys_of_a_unit(db):
    """One value per label, or per arm; a cell that has none is missed once, without a label or an arm."""
    for split in (0, 1):
        labelled = [("a", "m", 1.0 + split, "x"), ("a", "m", 3.0, "y")]
        db.cell({"split": split, "rel": 0}, [*labelled, ("a", "m", 7.0), ("b", "m", 9.0)])
    db.cell({"split": 2, "rel": 0}, state="failed")
    q = comparison('test = "proportion"\narm = "a"\n').sides[0][1]
    ledger = UnitReader(db.results)
    units = load_units(ledger, q, ("split", "label"))
    assert units.values.rows() == [("0", "x", 1.0, 1), ("0", "y", 3.0, 1), ("1", "x", 2.0, 1), ("1", "y", 3.0, 1)]
    assert units.absent.rows() == [("2", None, "cell failed", True)]
    units = load_units(ledger, replace(q, source=RecordSource(None, "m")), ("split", "arm"))
    assert units.values.rows() == [("0", "a", 7.0, 1), ("0", "b", 9.0, 1), ("1", "a", 7.0, 1), ("1", "b", 9.0, 1)]


def test_a_key_of_the_cell_comes_before_the_arm_of_the_record(db):
    db.cell({"split": 0, "arm": "of the cell"}, [("a", "m", 1.0)])
    q = comparison('test = "proportion"\narm = "a"\n').sides[0][1]
    assert load_units(UnitReader(db.results), q, ("split", "arm")).values.rows() == [("0", "of the cell", 1.0, 1)]


@pytest.mark.parametrize(
    ("reducer", "value"),
    [("last", 5.0), ("min", 2.0), ("max", 9.0), ("mean", 4.5), ("median", 3.5), ("sum", 18.0), ("count", 4.0)],
)
def test_a_series_is_reduced_by_what_its_index_says(db, reducer, value):
    """Values 9, 2, 2, 5 at the indices 0 to 3, stored in another order."""
    series = {3: 5.0, 1: 2.0, 0: 9.0, 2: 2.0}
    db.cell({"split": 0, "rel": 0}, [("a", "m", v, None, i) for i, v in series.items()])
    q = comparison(f'test = "proportion"\narm = "a"\nover_idx = "{reducer}"\n').sides[0][1]
    assert load_units(UnitReader(db.results), q, ("split", "rel")).values["value"].to_list() == [value]


def test_a_failed_copy_of_a_computed_cell_is_not_missed(db):
    """Split 0 has its value from rel 2; only split 1, which has none, is absent."""
    db.cell({"split": 0, "rel": 1}, state="failed")
    db.cell({"split": 0, "rel": 2}, [("a", "m", 5.0)])
    db.cell({"split": 1, "rel": 1}, state="failed")
    q = comparison('test = "proportion"\narm = "a"\n' + ONCE).sides[0][1]
    units = load_units(UnitReader(db.results), q, ("split", "rel"))
    assert units.values.select("split", "rel").rows() == [("0", "2")]
    assert units.absent.rows() == [("1", "1", "cell failed", True)]

"""Units that refused, and units that were planned, from one small database and from matched values written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hand_units import remembering, units
from hypothesis_text import comparison, framed

from orledger.audit.evaluation import refusals
from orledger.audit.evaluation.pairing import Matched
from orledger.audit.evaluation.planned import Fixed, fixed_units, planned_units
from orledger.audit.evaluation.refusals import counted, refused_units, with_refused
from orledger.audit.evaluation.units import UnitReader
from orledger.audit.registry.known import RegisteredUnits
from orledger.audit.registry.quantities import Quantity, RecordSource
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.statistics.result import Dropped

KEYS = ("split", "rel")
TEST = 'test = "{}"\narms = ["a", "b"]\n'


@pytest.fixture(scope="module")
def cells(module_db):
    """Cells in every state, and arms that refused in cells that are done: the ids by split."""
    db = module_db
    found = {
        0: db.cell({"split": 0, "rel": 0}, [("a", "m", 1.0)], refusals=[("b", "late")]),
        1: db.cell({"split": 1, "rel": 0}, [("b", "m", 1.0)], refusals=[("a", "empty"), ("a", "twice")]),
        2: db.cell({"split": 2, "rel": 0}, state="failed"),
        3: db.cell({"split": 3, "rel": 0}, state="refused", reason="no target"),
        4: db.cell({"split": 4, "rel": 0}, state="planned"),
        5: db.cell({"split": 5, "rel": 0}, [("a", "m", 1.0), ("b", "m", 2.0)]),
    }
    db.cell({"split": 6, "rel": 0}, state="failed", block="other")
    return db.results, found


def test_units_whose_cell_or_arm_refused(cells):
    """A cell that refused or failed counts for every arm, a refusal within a cell for its own; what was only planned for none."""
    ledger = UnitReader(cells[0])
    a, b = (Quantity("t", "main", RecordSource(arm, "m")) for arm in "ab")
    assert refused_units(ledger, a, KEYS).rows() == [("1", "0"), ("2", "0"), ("3", "0")]
    assert refused_units(ledger, b, KEYS).rows() == [("0", "0"), ("2", "0"), ("3", "0")]
    assert refused_units(ledger, a, ("rel",)).rows() == [("0",)]
    assert refused_units(ledger, a, KEYS).schema == dict.fromkeys(KEYS, pl.String)
    itself = Quantity("t", "main", None, refused="b")  # that an arm refused is a value itself
    assert refused_units(ledger, itself, KEYS).rows() == refused_units(ledger, b, KEYS).rows()


def named(*splits):
    return pl.DataFrame({"split": list(splits), "rel": ["0"] * len(splits)}, schema=dict.fromkeys(KEYS, pl.String))


def matched(differences, dropped=()):
    """Prepared differences of splits 1, 3, 5, ..., each of size 7, from two points on either side."""
    n = len(differences)
    matrix = np.column_stack([np.array(differences, dtype=float), np.full(n, 7.0)])
    return Matched(KEYS, named(*(str(2 * i + 1) for i in range(n))), matrix, np.full((n, 2), 2), tuple(dropped))


def entered(monkeypatch, body, m, lost, sign=1):
    """What `counted` makes of m where arm a refused in the splits lost["a"], b in those of lost["b"], and else both have values."""
    c = comparison(TEST.format("sign") + body)
    every = [str(i) for i in range(10)]
    sides = [units([(s, "0", 1.0) for s in every if s not in lost[x]], keys=KEYS) for x in "ab"]
    monkeypatch.setattr(refusals, "refused_units", lambda _, q, __: named(*lost[q.source.arm]))
    return counted(remembering(c, *sides), c, m, sign)


def test_refusals_that_are_dropped_change_nothing(monkeypatch):
    m = matched([1.0])
    assert entered(monkeypatch, "", m, {"a": ["0"], "b": []}) is m


@pytest.mark.parametrize(("better", "sign", "a_lost"), [("lower", 1, 4.0), ("higher", 1, -4.0), ("lower", -1, -4.0)])
def test_a_refusal_is_as_large_as_the_largest_difference_and_against_who_refused(monkeypatch, better, sign, a_lost):
    """In the order of their keys, with no size of their own, one point each; who refused together says nothing."""
    gone = (
        Dropped("0/0", "a refused", True),
        Dropped("8/0", "both refused", True),
        Dropped("9/0", "absent"),
        Dropped("1/0", "one seed", True, True),
    )
    lost = {"a": ["0", "8"], "b": ["4", "8"]}
    body = f'refusals = "loss"\nbetter = "{better}"\n'
    found = entered(monkeypatch, body, matched([1.0, -4.0, 2.0], gone), lost, sign)
    assert found.units.rows() == [(s, "0") for s in "01345"]
    assert found.matrix.tolist() == [[a_lost, 0.0], [1.0, 7.0], [-4.0, 7.0], [-a_lost, 0.0], [2.0, 7.0]]
    assert found.points.tolist() == [[1, 1]] * 5
    assert found.dropped == gone[1:]


@pytest.mark.parametrize(("differences", "size"), [([], 1.0), ([0.0, 0.0], 1.0), ([0.0, -0.5], 0.5)])
def test_without_a_difference_a_refusal_is_as_large_as_one(monkeypatch, differences, size):
    found = entered(monkeypatch, 'refusals = "loss"\n', matched(differences), {"a": ["9"], "b": []})
    assert found.matrix[-1].tolist() == [size, 0.0]
    assert len(found.units) == len(differences) + 1


def test_refused_units_of_a_claim_have_the_value_that_it_says(monkeypatch):
    """Those that have a value already keep it; the others follow, with one point each."""
    text = (
        '[[claim]]\nid = "c"\nstatement = "s"\nkind = "at_most"\nlimit = 2\nstat = "mean"\nrefused_as = 9\narm = "a"\n'
    )
    asked = parse_hypothesis(framed(text, KEYS, "c holds"), "x.toml").claims[0]
    monkeypatch.setattr(
        refusals,
        "refused_units",
        lambda _, q, keys: named("0", "1") if (q, keys) == (asked.sides[0][1], KEYS) else named(),
    )
    gone = (Dropped("0/0", "refused", True), Dropped("5/0", "absent"))
    m = replace(matched([3.0, 4.0], gone), matrix=np.array([[3.0], [4.0]]), points=np.array([[2], [5]]))
    found = with_refused(remembering(asked, units([], keys=KEYS)), asked, m)
    assert found.units.rows() == [("1", "0"), ("3", "0"), ("0", "0")]
    assert (found.matrix.tolist(), found.points.tolist()) == ([[3.0], [4.0], [9.0]], [[2], [5], [1]])
    assert found.dropped == gone[1:]


# How many units were planned


def planned(cells, early, body="", **changes):
    results, ids = cells
    memory = {"planned early": pl.DataFrame({"cell_id": [ids[i] for i in early]}, schema={"cell_id": pl.String})}
    return planned_units(UnitReader(results, memory=memory), replace(comparison(TEST.format("sign") + body), **changes))


def test_units_that_were_planned_before_the_first_result(cells):
    """All states count; several cells of a unit are one."""
    assert planned(cells, [0, 2, 4, 5]) == 4
    assert planned(cells, [3]) == 1
    assert planned(cells, []) is None
    assert planned(cells, [0, 2, 4], 'unit = ["rel"]\nblocked = "mean"\n') == 1
    assert planned(cells, [0, 2], 'block = "other"\n') is None  # other cells were planned
    assert planned(cells, [0, 2], test="fisher") is None  # its groups need no partners
    assert planned(cells, [0], pair=("split", "arm"), unit=("split", "arm")) is None  # a plan names no arms


def known(units, unit="split, rel", basis="planned"):
    return RegisteredUnits("c", "sign", "", None, None, unit, units, basis)


def test_a_number_of_units_is_fixed_by_the_text_then_by_what_was_stored_then_by_the_plan(cells):
    results, ids = cells
    ledger = UnitReader(results, memory={"planned early": pl.DataFrame({"cell_id": [ids[0], ids[2]]})})
    c = comparison(TEST.format("sign"))
    from_plan = Fixed(2, "was planned, before the first result, for {}", early=True)
    assert fixed_units(ledger, replace(c, units=12), known(5)) == Fixed(12, "was registered for {}", early=True)
    assert fixed_units(ledger, c, known(5)) == Fixed(5, "was registered with a plan of {}", early=True)
    late = fixed_units(ledger, c, known(5, basis="present"))
    assert late == Fixed(5, "was registered when {} were there, with results,", early=False)
    for said in (None, known(None), known(5, unit="split")):
        assert fixed_units(ledger, c, said) == from_plan
    nothing = UnitReader(results, memory={"planned early": pl.DataFrame()})
    assert fixed_units(nothing, c, None) == replace(from_plan, units=None, early=False)
    assert Fixed() == Fixed(None, "", early=False)

"""Every cell of every table of the shipped study, against a second computation from the base records."""

from __future__ import annotations

import numpy as np
import pytest
import second_a
import second_b
import second_c
from second_reading import WORDS

from orledger import recovery
from orledger.reports.tables.building import declared
from orledger.reports.tables.render import plain
from orledger.reports.tables.values import Absent, Blank, Count, Join, Math, MedianIQR, Number, PValue, Range, Value

SECOND = second_a.TABLES | second_b.TABLES | second_c.TABLES


def numbers(cell: Value | str) -> tuple:
    """Every number that stands in a cell, in the order in which it is printed."""
    match cell:
        case Number():
            return (cell.value,)
        case Math() if cell.value is not None:
            return (cell.value,)
        case Count():
            return (cell.k, cell.n)
        case Range():
            return (cell.low, cell.high)
        case MedianIQR():
            return (cell.median, cell.q1, cell.q3)
        case PValue():
            return (cell.p, cell.floor)
        case Join():
            return tuple(n for part in cell.parts for n in numbers(part))
        case _:
            return ()


def content(cell: Value) -> tuple:
    """The numbers of a cell, or its words where it has none; None where it is absent, nothing where it is blank."""
    if isinstance(cell, Absent):
        return (None,)
    return () if isinstance(cell, Blank) else numbers(cell) or (plain(cell).strip(),)


def differences(shown: dict, wanted: dict) -> list[str]:
    """Where two tables differ, by column and row."""
    found = [] if list(shown) == list(wanted) else [f"columns {list(shown)} and {list(wanted)}"]
    for column in shown.keys() & wanted.keys():
        a, b = shown[column], wanted[column]
        found += [f"{column}: row {row} stands once" for row in sorted(a.keys() ^ b.keys())]
        for row in a.keys() & b.keys():
            if not equal(a[row], b[row]):
                found.append(f"{column}, {row}: {a[row]} and {b[row]}")
    return found


def equal(a: tuple, b: tuple) -> bool:
    if b == WORDS:
        return all(isinstance(x, str) and x for x in a)
    return len(a) == len(b) and all(
        x == y
        if isinstance(x, str | None) or isinstance(y, str | None)
        else bool(np.isclose(x, y, rtol=1e-9, atol=1e-15))
        for x, y in zip(a, b, strict=True)
    )


def test_every_table_is_computed_twice():
    assert set(SECOND) == set(declared())


@pytest.mark.parametrize("name", list(SECOND))
def test_every_cell_is_what_the_records_say(audited, audited_tables, name):
    table = audited_tables[name]
    shown = {c.key: {r.key: content(r.cells[i]) for r in table.rows()} for i, c in enumerate(table.columns)}
    assert differences(shown, SECOND[name](audited.con)) == []


def test_a_column_that_nobody_computes_again_is_a_difference():
    shown = {"n": {"a": (1,)}, "p": {"a": (0.5, 0.1)}}
    assert differences(shown, shown) == []
    assert differences(shown, {"n": {"a": (1,)}})
    assert differences(shown, {"p": shown["p"], "n": shown["n"]})  # two columns in each other's place
    assert differences(shown, shown | {"p": {"a": (0.5 + 1e-6, 0.1)}})
    assert differences(shown, shown | {"p": {"a": (None,)}})
    assert differences(shown, shown | {"p": {"b": (0.5, 0.1)}})
    assert differences(shown, shown | {"n": {"a": WORDS}})


def test_the_dictionary_names_functions_that_exist():
    assert {name for name in second_c.FUNCTIONS.values() if not hasattr(recovery, name)} == set()

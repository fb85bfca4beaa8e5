"""Numbers as people print them."""

import pytest

from orledger.audit.recheck.reading.numbers import numbers_in, read_entry, read_number
from orledger.audit.recheck.rounding import Enclosure


@pytest.mark.parametrize(
    ("text", "value", "low", "high"),
    [
        (".89", 0.89, 0.885, 0.895),
        ("0.20", 0.2, 0.195, 0.205),
        ("1,413", 1413, 1412.5, 1413.5),
        ("1\u2009413", 1413, 1412.5, 1413.5),
        ("1 413", 1413, 1412.5, 1413.5),
        ("30%", 30, 29.5, 30.5),
        ("1.2e-3", 0.0012, 0.00115, 0.00125),
        ("1.2×10^{-3}", 0.0012, 0.00115, 0.00125),
        ("1.2 · 10⁻³", 0.0012, 0.00115, 0.00125),
        ("−1.5", -1.5, -1.55, -1.45),
        ("–1.5", -1.5, -1.55, -1.45),
        ("+0.084", 0.084, 0.0835, 0.0845),
    ],
)
def test_a_number_is_read_with_what_its_digits_allow(text, value, low, high):
    number = read_number(text)
    assert number is not None
    assert number.value == pytest.approx(value, rel=1e-15)
    assert (number.interval.low, number.interval.high) == pytest.approx((low, high), rel=1e-12)
    assert number.relation == "="


@pytest.mark.parametrize(("text", "relation"), [("<0.001", "<"), ("< .05", "<"), ("≥ 3", "≥"), ("~4", "~")])
def test_a_bound_keeps_its_relation(text, relation):
    number = read_number(text)
    assert number is not None
    assert number.relation == relation


@pytest.mark.parametrize("text", ["", "Adam", "1.2.3", "3 of 4", "2D", "x1"])
def test_what_is_no_number_is_none(text):
    assert read_number(text) is None


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        ("5.25 (0.95)", "paren", [5.25, 0.95]),
        ("3.1 ± 0.2", "spread", [3.1, 0.2]),
        ("3.1 +/- 0.2", "spread", [3.1, 0.2]),
        ("[0.1, 0.9]", "interval", [0.1, 0.9]),
        ("2.49 [1.83, 6.29]", "interval", [2.49, 1.83, 6.29]),
        ("1.79 (1.2, 3.75)", "interval", [1.79, 1.2, 3.75]),
        ("1.00–1.19", "range", [1.0, 1.19]),
        ("14.4×", "plain", [14.4]),
        ("0.406*", "plain", [0.406]),
        ("—", "missing", []),
        ("n/a", "missing", []),
        ("", "missing", []),
        ("Adam", "words", []),
    ],
)
def test_a_cell_is_typed(text, form, values):
    entry = read_entry(text)
    assert entry.form == form
    assert [n.value for n in entry.numbers] == values


@pytest.mark.parametrize("text", ["12/40 (30%)", "30% (12/40)"])
def test_a_count_of_a_total_keeps_both(text):
    entry = read_entry(text)
    assert entry.counts == (12, 40)
    assert entry.main is not None
    assert entry.main.interval == Enclosure(29.5, 30.5)


def test_numbers_of_a_sentence_leave_names_out():
    text = "On Levy-10D 6 of 7 seeds gave x_{2} at 10^{-3}: 4.9–6.3×, −0.76, 9,018 records, R^2 = .5 and the 1st of H2"
    assert [n.value for n in numbers_in(text)] == [6, 7, 1e-3, 4.9, 6.3, -0.76, 9018, 0.5]

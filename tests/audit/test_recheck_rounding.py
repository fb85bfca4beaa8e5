"""Printed strings as intervals, and arithmetic over them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orledger.audit.recheck.rounding import Enclosure, counts_of, exactly, hull, parse_printed
from orledger.errors import UsageError


@pytest.mark.parametrize(
    ("printed", "low", "high"),
    [
        ("0.20", 0.195, 0.205),
        ("0.2", 0.15, 0.25),
        ("5.96e-8", 5.955e-8, 5.965e-8),
        ("12", 11.5, 12.5),
        ("-1.536", -1.5365, -1.5355),
        ("+0.010", 0.0095, 0.0105),
        ("1.17e4", 11650.0, 11750.0),
        ("6/7", 6 / 7, 6 / 7),
    ],
)
def test_a_printed_string_allows_half_a_unit_of_its_last_digit(printed, low, high):
    interval = parse_printed(printed)
    assert interval.low == pytest.approx(low, rel=1e-14)
    assert interval.high == pytest.approx(high, rel=1e-14)


def test_counts_are_exact_and_probabilities_stay_in_their_range():
    assert parse_printed("12", exact=True) == exactly(12)
    assert parse_printed("1.0000", bounds=(0, 1)) == Enclosure(0.99995, 1.0)
    assert parse_printed("0.000", bounds=(0, 1)) == Enclosure(0.0, 0.0005)
    assert parse_printed("-0.25", bounds=(0, 1)) == Enclosure(-0.255, -0.245)  # impossible, and left as it is
    assert parse_printed("1.25", bounds=(0, 1)) == Enclosure(1.245, 1.255)


@pytest.mark.parametrize("text", ["", "about 3", "1.2.3", "1e", "nan", "0,5"])
def test_what_is_not_a_printed_number_is_refused_by_name(text):
    with pytest.raises(UsageError, match="not a printed number"):
        parse_printed(text)


def test_fractions_keep_their_parts_only_when_they_are_fractions():
    assert counts_of("6/7") == (6, 7)
    assert counts_of("0.857") is None
    assert counts_of("7/0") == (7, 0)


@given(st.floats(0.001, 1000), st.integers(0, 6))
def test_every_number_lies_in_the_interval_of_the_string_it_prints_as(value, digits):
    assert exactly(value).meets(parse_printed(f"{value:.{digits}f}"))


@given(
    st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 1)), min_size=4, max_size=4),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_interval_operations_contain_the_operation_on_any_members(ends, s, t):
    (a0, da), (b0, db), _, _ = ends
    a, b = Enclosure(a0, a0 + da), Enclosure(b0, b0 + db)
    x, y = a0 + s * da, b0 + t * db
    x, y = min(max(x, a.low), a.high), min(max(y, b.low), b.high)
    for combined, value in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (-a, -x)):
        assert exactly(value).inside(combined)
    assert exactly(math.log(x)).inside(a.map(math.log))


def test_two_rounding_intervals_that_share_only_an_edge_do_not_meet():
    assert not parse_printed("13.5").meets(parse_printed("13.6"))
    assert parse_printed("14").meets(parse_printed("13.5"))
    assert exactly(13.55).meets(parse_printed("13.5"))
    assert exactly(13.55).meets(parse_printed("13.6"))


def test_division_by_an_interval_around_zero_is_refused():
    with pytest.raises(ZeroDivisionError, match="contains zero"):
        exactly(1) / parse_printed("0.0")


def test_ends_out_of_order_are_refused():
    with pytest.raises(ValueError, match="out of order"):
        Enclosure(2, 1)


def test_hull_covers_its_parts():
    assert hull([Enclosure(1, 2), Enclosure(5, 6)]) == Enclosure(1, 6)

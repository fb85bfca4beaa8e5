"""Formulas of the shipped study whose constants no printed number pins down."""

from __future__ import annotations

from orledger.audit.recheck.rounding import Enclosure
from orledger.paper.rules import numerical_slack


def test_the_allowance_for_floating_point_is_ten_roots_of_epsilon():
    """Epsilon is 2^-52 and its root 2^-26: a radius of 2^26 is allowed 10, and one printed as 0.20 at most 0.205 of 10 / 2^26."""
    assert numerical_slack(Enclosure(2.0**26, 2.0**26)).meets(Enclosure(10.0, 10.0))
    found = numerical_slack(Enclosure(0.195, 0.205))
    assert abs(found.low * 2**26 - 1.95) < 1e-9
    assert abs(found.high * 2**26 - 2.05) < 1e-9

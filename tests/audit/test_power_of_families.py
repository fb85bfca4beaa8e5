"""What --power says of a family is what the audit would say of it with every member at its floor."""

from __future__ import annotations

import pytest

from orledger.audit.evaluation.power import Design, _needed, _power
from orledger.audit.registry.hypotheses import Comparison
from orledger.audit.registry.quantities import Quantity

SIDE = Quantity("t", "main")


def design(test: str, planned: int, arms: int = 2) -> Design:
    sides = tuple((str(k), SIDE) for k in range(arms))
    return Design(Comparison("c", "t", test, sides, ("k",), ("k",), family="f"), planned, planned)


def test_a_member_with_a_lower_floor_goes_first_and_leaves_the_other_less_to_reach():
    """Six pairs reach 2^-5 = 0.03125, which one step of Holm's two leaves as it is when the other p is smaller: 6^-5 for six blocks."""
    row = _power("H", design("signed_rank", 6), [design("friedman", 6, arms=3)], None)
    assert (row.family_size, row.floor, row.needed, row.decidable) == (2, 2.0**-5, 6, True)
    alike = _power("H", design("signed_rank", 6), [design("signed_rank", 6)], None)
    assert (alike.floor, alike.needed, alike.decidable) == (2.0**-4, 7, False)


def test_what_suffices_is_not_called_too_few():
    """With eight units of the other six suffice; if both had as many, seven would be needed."""
    row = _power("H", design("sign", 6), [design("sign", 8)], None)
    assert (row.floor, row.needed, row.decidable) == (2.0**-5, 6, True)
    assert _power("H", design("sign", 8), [design("sign", 8)], None).needed == 7


@pytest.mark.parametrize(
    ("others", "needed"),
    [
        ((), 6),
        (("median",), 7),
        (("slope",), 6),
        (("slope", "slope"), 6),
        (("slope", "median"), 7),
        (("sign", "sign"), 7),
        (("sign",) * 4, 8),
    ],
)
def test_the_fewest_units_count_the_floors_of_the_others(others, needed):
    """2^(1-n) times the members that are not below it must reach 0.05: an estimate never is, a slope always."""
    assert _needed(design("signed_rank", 20), [design(test, 20) for test in others]) == needed


def test_an_estimate_in_a_family_counts_as_a_test_that_cannot_decide():
    assert design("median", 20, arms=1).floor(20) == 1.0
    row = _power("H", design("signed_rank", 6), [design("median", 20, arms=1)], None)
    assert (row.floor, row.decidable) == (2.0**-4, False)


def test_a_test_without_a_floor_is_decidable_with_units():
    assert _power("H", design("slope", 3), [], None).decidable
    assert not _power("H", design("slope", 0), [], None).decidable

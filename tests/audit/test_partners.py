"""Values side by side, and made ready for a test: hand-made units without a database."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hand_units import units
from hypothesis_text import comparison

from orledger.audit.evaluation.pairing import Matched, match, unit_name
from orledger.audit.evaluation.preparing import blocked, differences, prepared, without
from orledger.audit.statistics.result import Dropped
from orledger.audit.ties import ULPS

NAN = float("nan")
BODY = 'test = "{}"\narms = ["a", "b"]\nunit = ["split"]\nblocked = "mean"\n'


def matched(rows, keys=("split", "rel"), names=None):
    table = pl.DataFrame(names or [(str(i), "0") for i in range(len(rows))], schema=list(keys), orient="row")
    matrix = np.array(rows, dtype=float)
    return Matched(tuple(keys), table, matrix, np.full(matrix.shape, 3, dtype=np.int64), (Dropped("x", "before"),))


def test_units_that_all_sides_have_stand_side_by_side():
    m = match([units([("p", 1, 4), ("q", 2, 5)]), units([("p", 3, 6), ("q", 4, 7)])], ["a", "b"])
    assert m.matrix.tolist() == [[1, 3], [2, 4]]
    assert m.points.tolist() == [[4, 6], [5, 7]]
    assert (m.keys, m.units["k"].to_list(), m.dropped) == (("k",), ["p", "q"], ())


def test_units_are_matched_by_their_keys_and_sorted_by_them():
    """The second side has them in another order, and one of them without a name."""
    m = match([units([(None, 9), ("p", 1), ("q", 2)]), units([("q", 4, 2), ("p", 3), (None, 8)])], ["a", "b"])
    assert m.units["k"].to_list() == [None, "p", "q"]
    assert m.matrix.tolist() == [[9, 8], [1, 3], [2, 4]]
    assert m.points.tolist() == [[1, 1], [1, 1], [1, 2]]
    assert m.dropped == ()


def test_a_unit_without_a_partner_is_dropped_with_what_is_known_of_it():
    """q was refused on one side, r never planned there, s is absent on both sides, and p is on both and incomplete."""
    a = units([("p", 1), ("q", 2), ("r", 3)], [("s", "failed", True)])
    b = units([("p", 4)], [("p", "lost a seed"), ("q", "refused", True), ("s", "gone")])
    m = match([a, b], ["a", "b"])
    assert (m.units["k"].to_list(), m.matrix.tolist()) == (["p"], [[1, 4]])
    assert m.dropped == (
        Dropped("p", "b: lost a seed", False, True),
        Dropped("q", "b: refused", True, False),
        Dropped("r", "b: no partner", False, False),
        Dropped("s", "a: failed; b: gone", True, False),
    )


def test_a_unit_without_a_name_is_known_where_it_is_absent():
    m = match([units([(None, 1), ("p", 1)]), units([("p", 2)], [(None, "refused", True)])], ["a", "b"])
    assert m.dropped == (Dropped("-", "b: refused", True, False),)


def test_equal_units_of_which_one_lost_something_say_so():
    """Every unit has its partner, and yet one of them is incomplete."""
    m = match([units([("p", 1)]), units([("p", 4)], [("p", "lost a seed", True)])], ["a", "b"])
    assert m.matrix.tolist() == [[1, 4]]
    assert m.dropped == (Dropped("p", "b: lost a seed", True, True),)


def test_a_quantity_alone_needs_no_name_of_its_side_and_reasons_are_said_once():
    m = match([units([("p", 1)], [("q", "gone"), ("q", "gone"), ("q", "late")])], ["a"])
    assert m.matrix.tolist() == [[1]]
    assert m.dropped == (Dropped("q", "gone; late", False, False),)


def test_two_of_three_sides_are_enough_where_gaps_are_allowed():
    sides = [units([("p", 1, 2), ("q", 2), ("r", 3)]), units([("p", 4), ("q", 5)]), units([("p", 6), ("s", 7)])]
    m = match(sides, ["a", "b", "c"], incomplete=True)
    assert m.units["k"].to_list() == ["p", "q"]
    np.testing.assert_array_equal(m.matrix, [[1, 4, 6], [2, 5, NAN]])
    assert m.points.tolist() == [[2, 1, 1], [1, 1, 0]]
    reasons = {d.unit: (d.reason, d.partial) for d in m.dropped}
    assert reasons == {
        "q": ("c: no partner", True),
        "r": ("b: no partner; c: no partner", False),
        "s": ("a: no partner; b: no partner", False),
    }
    whole = match(sides, ["a", "b", "c"])
    assert whole.matrix.tolist() == [[1, 4, 6]]
    assert [d.unit for d in whole.dropped] == ["q", "r", "s"]


def test_gaps_alone_drop_nobody():
    """No unit was lost and nothing is known to be absent: a design with gaps has no list."""
    sides = [units([("p", 1), ("q", 2)]), units([("p", 4)]), units([("q", 5)])]
    assert match(sides, ["a", "b", "c"], incomplete=True).dropped == ()


def test_no_unit_in_common_leaves_an_empty_table():
    m = match([units([("p", 1)]), units([("q", 2)])], ["a", "b"])
    assert (m.matrix.shape, m.points.shape, m.units.height) == ((0, 2), (0, 2), 0)
    assert [d.unit for d in m.dropped] == ["p", "q"]


def test_a_unit_of_several_keys_is_named_by_all_of_them():
    assert unit_name(["x", None, "3"]) == "x/-/3"
    m = match(
        [units([("x", None, 1)], keys=("d", "s")), units([("x", "0", 1), ("x", None, 2)], keys=("d", "s"))], ["a", "b"]
    )
    assert m.matrix.tolist() == [[1, 2]]
    assert m.dropped == (Dropped("x/0", "a: no partner", False, False),)


def test_rows_are_left_out_with_their_points_and_after_those_before():
    m = without(matched([[1, 2], [3, 4], [5, 6]]), {1: "bad"})
    assert m.matrix.tolist() == [[1, 2], [5, 6]]
    assert m.points.shape == (2, 2)
    assert m.units["split"].to_list() == ["0", "2"]
    assert m.dropped == (Dropped("x", "before"), Dropped("1/0", "bad"))


def test_infinite_values_drop_their_unit_and_gaps_do_not():
    m = prepared(comparison('test = "spearman"\nx = { arm = "a" }\ny = { arm = "b" }\n'), matched([[1, np.inf], [-np.inf, np.inf], [2, NAN]]), ["a", "b"])  # fmt: skip
    np.testing.assert_array_equal(m.matrix, [[2, NAN]])
    assert [d.reason for d in m.dropped[1:]] == ["b: infinite", "a, b: infinite"]


def test_a_logarithm_needs_a_positive_number():
    c = comparison('test = "signed_rank"\narms = ["a", "b"]\ntransform = "log10"\n')
    m = prepared(c, matched([[100, 10], [0, 1], [1, -1]]), ["a", "b"])
    assert m.matrix.tolist() == [[1, 2]]  # 2 - 1, and the larger of the two
    assert [d.reason for d in m.dropped[1:]] == [f"{n}: not positive, log10 does not exist" for n in "ab"]


def test_differences_stand_beside_the_size_of_what_was_subtracted():
    m = prepared(comparison('test = "sign"\narms = ["a", "b"]\n'), matched([[3, -5], [-7, 2]]), ["a", "b"])
    assert m.matrix.tolist() == [[8, 5], [-9, 7]]
    small = prepared(
        comparison('test = "sign"\narms = ["a", "b"]\n'), matched([[0.1 + 0.2, 0.3], [0.5, 0.25]]), ["a", "b"]
    )
    assert small.matrix[:, 1].tolist() == [0.1 + 0.2, 0.5]
    assert small.matrix[0, 0] > 0
    assert differences(comparison('test = "sign"\narms = ["a", "b"]\n'), small).tolist() == [
        0.0,
        0.25,
    ]  # rounding is none
    empty = prepared(comparison('test = "sign"\narms = ["a", "b"]\n'), matched(np.empty((0, 2))), ["a", "b"])
    assert empty.matrix.shape == (0, 2)


def test_a_resolution_makes_whole_multiples_that_have_no_rounding():
    c = comparison('test = "sign"\narms = ["a", "b"]\nresolution = 0.5\n')
    m = prepared(c, matched([[3, 1.9], [1, 1.2]]), ["a", "b"])
    assert m.matrix.tolist() == [[2, 0], [0, 0]]
    assert differences(c, m).tolist() == [1.0, 0.0]
    assert differences(comparison('test = "sign"\narms = ["a", "b"]\n'), m).tolist() == [2.0, 0.0]


def test_half_of_a_resolution_is_the_even_multiple_whatever_rounding_makes_of_it():
    """Printed in hundredths at a resolution of 0.02: 1 is one half, 3 one and a half, 2 one; 0.75 of one is one."""
    c = comparison('test = "sign"\narms = ["a", "b"]\nresolution = 0.02\n')
    sides = [[0.71, 0.70], [0.70, 0.69], [0.72, 0.69], [0.71, 0.68], [0.71, 0.69], [1000.69, 1000.68], [1000.70, 1000.69], [0.715, 0.7]]  # fmt: skip
    assert prepared(c, matched(sides), ["a", "b"]).matrix[:, 0].tolist() == [0, 0, 2, 2, 1, 0, 0, 1]
    c = comparison('test = "sign"\narms = ["a", "b"]\nresolution = 1\n')
    sides = [[1, 0.5 - ULPS], [1, 0.5 - 2 * ULPS]]  # as far from one half as rounding goes, and farther
    assert prepared(c, matched(sides), ["a", "b"]).matrix[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize(("value", "event"), [(0.0, 0), (0.5, 0), (0.6, 1), (1.0, 1)])
def test_an_event_is_more_than_one_half(value, event):
    m = prepared(comparison(BODY.format("mcnemar") + "event = { gt = 0 }\n"), matched([[value, 0]]), ["a", "b"])
    assert m.matrix.tolist() == [[event, 0]]


def test_the_scale_of_a_block_is_that_of_its_largest_number():
    m = matched([[1, 9], [2, 4], [9, 3], [7, 2]], names=[("s", "0"), ("s", "1"), ("s", "2"), ("t", "0")])
    mean = blocked(comparison(BODY.format("signed_rank")), m)
    assert mean.matrix.tolist() == [[4, 9], [7, 2]]
    assert blocked(comparison(BODY.format("sign").replace("mean", "median")), m).matrix.tolist() == [[2, 9], [7, 2]]
    assert (mean.keys, mean.units["split"].to_list(), mean.points.tolist()) == (("split",), ["s", "t"], [[1, 1]] * 2)
    assert mean.dropped == m.dropped


def test_blocked_events_are_differences_of_their_sides():
    m = matched([[1, 0], [1, 1], [0, 1]], names=[("s", "0"), ("s", "1"), ("t", "0")])
    assert blocked(comparison(BODY.format("mcnemar") + "event = { gt = 0 }\n"), m).matrix.tolist() == [
        [0.5, 0],
        [-1, 0],
    ]


def test_blocked_sides_of_other_tests_are_reduced_one_by_one():
    c = comparison(BODY.format("friedman").replace('"b"]', '"b", "c"]').replace("mean", "median"))
    m = matched([[1, 9, 0], [5, 4, 0], [9, 2, 3]], names=[("s", "0"), ("s", "1"), ("s", "2")])
    assert blocked(c, m).matrix.tolist() == [[5, 4, 0]]

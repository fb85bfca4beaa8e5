"""Values made ready for a test: nested events, and differences rounded once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis_text import comparison

from orledger.audit.evaluation.comparisons import evaluate
from orledger.audit.evaluation.pairing import Matched
from orledger.audit.evaluation.preparing import blocked
from orledger.audit.evaluation.units import UnitReader

NESTED = 'test = "mcnemar"\nevent = { gt = 0 }\nunit = ["split"]\nblocked = "mean"\n'


def events(db, rows):
    """One split per row; ``rows`` hold the events of arms a and b at each rel, such as ((1, 0), (1, 1))."""
    for split, pairs in enumerate(rows):
        for rel, (a, b) in enumerate(pairs):
            db.cell({"split": split, "rel": rel}, [("a", "m", a), ("b", "m", b)])


@pytest.mark.parametrize(("arms", "outcome", "first"), [(["a", "b"], "greater", 7), (["b", "a"], "less", 0)])
def test_nested_events_are_seen_in_both_directions(db, arms, outcome, first):
    """Seven splits lean to a, each by one of two pairs, one split leans nowhere: p = 2 / 2^7, whichever arm comes first."""
    events(db, [[(1, 0), (0, 0)]] * 4 + [[(1, 0), (1, 1)]] * 3 + [[(1, 0), (0, 1)]])
    blocked, naive, *_ = evaluate(UnitReader(db.results), comparison(NESTED + f"arms = {arms}\n".replace("'", '"')))
    assert (blocked.variant, blocked.outcome) == ("blocked", outcome)
    assert blocked.result.p == blocked.result.floor == 2.0**-6
    assert (blocked.result.n, blocked.result.n_nonzero, blocked.result.statistic) == (8, 7, first)
    assert "sign test on units (mean of the nested differences)" in blocked.result.method
    assert abs(blocked.result.effect) == pytest.approx(7 / 16)  # seven splits differ by one half
    assert naive.result.p == pytest.approx(2 * (1 + 9) / 2**9)  # 8 against 1 of 9 discordant pairs


@pytest.mark.parametrize("arms", [["a", "b"], ["b", "a"]])
def test_nested_events_that_disagree(db, arms):
    """Five splits against one: p = 2 (1 + 6) / 2^6."""
    events(db, [[(1, 0), (1, 0)]] * 5 + [[(0, 1), (0, 0)]])
    blocked, _ = evaluate(UnitReader(db.results), comparison(NESTED + f"arms = {arms}\n".replace("'", '"')))
    assert blocked.result.p == pytest.approx(14 / 64)
    assert {blocked.result.details["first_more"], blocked.result.details["second_more"]} == {5, 1}


def test_one_pair_to_a_unit_is_mcnemar(db):
    events(db, [[(1, 0)]] * 6 + [[(0, 1)]] + [[(1, 1)]])
    blocked, naive, *_ = evaluate(UnitReader(db.results), comparison(NESTED + 'arms = ["a", "b"]\n'))
    assert blocked.result.p == naive.result.p == pytest.approx(2 * (1 + 7) / 2**7)
    assert blocked.result.effect == naive.result.effect == 5 / 8


def test_nested_groups_say_how_they_were_reduced(db):
    events(db, [[(1, 0), (1, 0)]] * 3)
    e, *_ = evaluate(
        UnitReader(db.results),
        comparison('test = "fisher"\nevent = { gt = 0 }\nunit = ["split"]\nblocked = "mean"\narms = ["a", "b"]\n'),
    )
    assert e.result.p == pytest.approx(2 / 20)  # 3 of 3 against 0 of 3: two of the 20 tables are as extreme
    assert "more than half of its values" in e.result.method


def test_differences_are_rounded_once(db):
    """Differences of 1 and 2 tenths in a split average to 0.15; rounding that again would make it 0.2 and a tie with (2, 2)."""
    db.splits([(0.1, 0.2), (0.2, 0.2), (-0.3, 0.1)])
    blocked, _ = evaluate(
        UnitReader(db.results),
        comparison('test = "signed_rank"\narms = ["a", "b"]\nunit = ["split"]\nblocked = "mean"\nresolution = 0.1\n'),
    )
    assert blocked.result.effect == pytest.approx(0.1)  # Walsh averages of 0.15, 0.2 and -0.1
    assert blocked.result.ties == 0


def test_blocked_means_of_rounded_differences_tie_exactly(db):
    """(0.1 + 0.2 + 0.3) / 3 and 0.2 differ in the last bit; as whole multiples of the resolution they are equal."""
    db.splits([(0.1, 0.2, 0.3), (0.2, 0.2, 0.2), (-0.3, -0.3, -0.3)], rels=(0, 1, 2))
    body = 'test = "signed_rank"\narms = ["a", "b"]\nunit = ["split"]\nblocked = "mean"\nresolution = 0.1\n'
    assert evaluate(UnitReader(db.results), comparison(body))[0].result.ties == 2


@pytest.mark.parametrize(("blocked", "values"), [("mean", (2.0, -1.0, 4.0, 5.0)), ("median", (-1.0, -2.0, 3.0, 4.0))])
def test_blocks_are_reduced_as_declared(db, blocked, values):
    """Nested differences whose mean and median differ, in sign too: the effect is that of the declared reduction.

    ``values`` are the reductions by hand; the effect is the median of their pairwise means, each with itself.
    """
    db.splits([(-2, -1, 9), (-3, -2, 2), (2, 3, 7), (3, 4, 8)], rels=(0, 1, 2))
    body = f'test = "signed_rank"\narms = ["a", "b"]\nunit = ["split"]\nblocked = "{blocked}"\n'
    result = evaluate(UnitReader(db.results), comparison(body))[0].result
    walsh = sorted((x + y) / 2 for i, x in enumerate(values) for y in values[i:])
    assert result.effect == pytest.approx((walsh[4] + walsh[5]) / 2)
    assert (result.wins, result.losses) == (sum(v < 0 for v in values), sum(v > 0 for v in values))


@pytest.mark.parametrize(("blocked", "leaning"), [("mean", 6), ("median", 0)])
def test_blocks_of_events_are_reduced_as_declared(db, blocked, leaning):
    """One of three pairs of every split leans to b: their mean does as well, their median does not."""
    events(db, [[(0, 1), (0, 0), (1, 1)]] * 6)
    body = NESTED.replace('"mean"', f'"{blocked}"') + 'arms = ["a", "b"]\n'
    assert evaluate(UnitReader(db.results), comparison(body))[0].result.n_nonzero == leaning


def test_units_stay_in_the_order_in_which_they_come():
    """Sums of the same numbers in another order differ in their last bits: the order of units is part of a result."""
    names = [f"u{7 * k % 400}" for k in range(400)]
    units = pl.DataFrame({"split": [n for n in names for _ in range(2)], "rel": ["0", "1"] * 400})
    matrix = np.arange(1600, dtype=float).reshape(800, 2)
    c = comparison('test = "friedman"\narms = ["a", "b", "c"]\nunit = ["split"]\nblocked = "mean"\n')
    found = blocked(c, Matched(("split", "rel"), units, matrix, np.ones((800, 2), dtype=np.int64), ()))
    assert found.units["split"].to_list() == names
    assert found.matrix[:, 0].tolist() == [4 * k + 1.0 for k in range(400)]


def test_points_that_a_query_leaves_open_count_nothing_and_are_no_error(db):
    db.splits([(-1,), (-2,), (-3,)], rels=(0,))
    query = "SELECT split::VARCHAR AS split, rel::VARCHAR AS rel, value, points FROM (VALUES (0, 0, 1.0, NULL), (1, 0, 2.0, 3), (2, 0, 3.0, NULL)) t(split, rel, value, points)"
    c = comparison(f'test = "signed_rank"\na = {{ sql = "{query}" }}\nb = {{ arm = "b" }}\n')
    assert evaluate(UnitReader(db.results), c)[0].result.n == 3

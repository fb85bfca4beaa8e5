"""Claims about units written by hand: their intervals, what is clear, and what is said of units left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hand_units import remembering, units
from hypothesis_text import framed
from scipy.stats import beta

from orledger.audit.evaluation.claim_intervals import BARE, ClaimInterval, claim_interval
from orledger.audit.evaluation.claims import check
from orledger.audit.evaluation.pairing import match
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.registry.words import ClaimState

KEYS = ("g", "s")


def claim(body):
    return parse_hypothesis(framed(f'[[claim]]\nid = "w"\nstatement = "s"\n{body}\n', KEYS, "w holds"), "x.toml").claims[0]  # fmt: skip


def rows(*values, absent=()):
    """Units of group p, or of the groups that they name: (g, s, value[, points])."""
    return units([v if isinstance(v, tuple) else ("p", str(i), v) for i, v in enumerate(values)], absent, KEYS)


def found(body, *sides):
    c = claim(body)
    return check(remembering(c, *sides), c)


def interval(body, value, *sides):
    c = claim(body)
    return claim_interval(c, match(sides, [name for name, _ in c.sides]), value)


# ---- intervals ------------------------------------------------------------------------------------------------------------


def test_counts_of_units_have_the_exact_interval():
    """Two of ten: the ends are quantiles of beta distributions (Clopper and Pearson)."""
    ten = rows(*range(10)), rows(*range(10))
    for kind in ("never_worse", "count"):
        extra = "at_least = 1\n" if kind == "count" else ""
        got = interval(f'kind = "{kind}"\n{extra}arms = ["a", "b"]', 2.0, *ten)
        assert (got.low, got.high) == pytest.approx((beta.ppf(0.025, 2, 9), beta.ppf(0.975, 3, 8)))
        assert got.level == 0.95
        assert got.words(claim(f'kind = "{kind}"\n{extra}arms = ["a", "b"]')) == f" (share of units in [{got.low:.4g}, {got.high:.4g}])"  # fmt: skip
    coarse = interval('kind = "never_worse"\nunit = ["g"]\narms = ["a", "b"]', 2.0, *ten)
    assert coarse.low is None
    same = interval('kind = "never_worse"\nunit = ["g", "s"]\narms = ["a", "b"]', 2.0, *ten)
    assert same.low == pytest.approx(beta.ppf(0.025, 2, 9))


@pytest.mark.parametrize(
    ("body", "value", "why"),
    [
        ('kind = "at_most"\nlimit = 1\narm = "a"', 3.0, "bare: it is about these units and no population"),
        ('kind = "none"\nevent = { gt = 1 }\narm = "a"', 3.0, "bare: it is about these units and no population"),
        ('kind = "at_most"\nlimit = 1\nstat = "mean"\narm = "a"', None, "bare: there is no number"),
        ('kind = "at_most"\nlimit = 1\nstat = "mean"\narm = "a"', np.inf, "bare: there is no number"),
        ('kind = "measured"\nstat = "mean"\narm = "a"', 3.0, "bare: no independent unit is declared"),
        ('kind = "measured"\nstat = "mean"\nunit = ["g"]\narm = "a"', 3.0, "bare: a group has a single independent unit"),
        ('kind = "measured"\nstat = "max"\nunit = ["s"]\narm = "a"', 3.0, "bare: it is about these units and no population"),
    ],
)  # fmt: skip
def test_a_bare_number_says_why(body, value, why):
    got = interval(body, value, rows(1, 2, 3))
    assert (got.low, got.high, got.level, got.method) == (None, None, None, why)
    told = 'stat = "mean"' in body and why != "bare: there is no number"
    assert got.words(claim(body)) == (f" ({why})" if told else "")


def test_equal_units_have_an_interval_of_one_point():
    for stat in ("mean", "median", "share"):
        got = interval(f'kind = "measured"\nstat = "{stat}"\nunit = ["s"]\narm = "a"', 4.0, rows(4, 4, 4))
        assert (got.low, got.high, got.level) == (4.0, 4.0, 0.95)
        assert got.method == "bootstrap of whole units (s), 2000 draws, at least 3 units to a group"
        assert got.words(claim(f'kind = "measured"\nstat = "{stat}"\narm = "a"')) == " ([4, 4])"


def test_two_units_are_drawn_twice_or_once_each():
    """Drawn twice, each with probability 1/4: the ends are the units themselves; of the median of unequal units too.

    At level 0.4 the outer 0.3 on both sides are cut off, more than 1/4: what is left is one of each. At 0.6 it is 0.2.
    """
    pair = rows(("p", "0", 0), ("p", "1", 10))
    body = 'kind = "measured"\nstat = "{}"\nunit = ["s"]\nlevel = {}\narm = "a"'
    for stat in ("mean", "median"):
        wide, some, narrow = (interval(body.format(stat, level), 5.0, pair) for level in (0.95, 0.6, 0.4))
        assert (some.low, some.high) == (0, 10)
        assert (wide.low, wide.high, narrow.low, narrow.high) == (0, 10, 5, 5)
    uneven = units([("p", "0", 0.0), ("q", "0", 0.0), ("p", "1", 9.0)], keys=KEYS)
    narrow = interval(body.format("mean", 0.4), 3.0, uneven)
    assert (narrow.low, narrow.high) == (3, 3)  # 9 over three values, and not the mean of 0 and 9
    narrow = interval(body.format("median", 0.4), 0.0, uneven)
    assert (narrow.low, narrow.high) == (0, 0)  # of 0, 0 and 9
    wide = interval(body.format("median", 0.95), 0.0, uneven)
    assert (wide.low, wide.high) == (0, 9)


def test_one_of_three_units_may_be_drawn_every_time():
    """The median of three draws is the lowest of three units in 7 of 27 draws, and the highest as often."""
    got = interval('kind = "measured"\nstat = "median"\nunit = ["s"]\narm = "a"', 10.0, rows(0, 10, 20))
    assert (got.low, got.high) == (0, 20)


@pytest.mark.parametrize(("sign", "kind"), [(1, "at_most"), (1, "at_least"), (-1, "at_most"), (-1, "at_least")])
def test_an_interval_ends_at_infinity_where_it_cannot_be_told_where_else(sign, kind):
    """One infinite unit of three is the median of 7 in 27 draws: the end lies beyond all finite ones. In a mean it is in 19 of 27."""
    for groups in range(1, 8):  # the ends move with the number of groups
        sides = rows(*[(f"g{g}", str(s), v) for g in range(groups) for s, v in enumerate((0, 0, sign * np.inf))])
        for stat in ("median", "mean"):
            body = f'kind = "{kind}"\nlimit = 9\nstat = "{stat}"\nwithin = ["g"]\nunit = ["s"]\narm = "a"'
            got = interval(body, 0.0, sides)
            assert (got.low, got.high) == ((0.0, np.inf) if sign > 0 else (-np.inf, 0.0))


def test_shares_are_resampled_with_their_records():
    """3 of 4 and 0 of 8 records: one of each is 3 of 12, and twice the first 6 of 8."""
    body = 'kind = "measured"\nstat = "share"\nunit = ["s"]\nlevel = {}\narm = "a"'
    sides = rows(("p", "0", 3, 4), ("p", "1", 0, 8))
    assert (interval(body.format(0.4), 0.25, sides).low, interval(body.format(0.95), 0.25, sides).high) == (0.25, 0.75)


def test_of_groups_the_extreme_one_counts_as_in_the_claim():
    sides = rows(*[(g, str(s), v) for g, v in (("p", 1.0), ("q", 5.0)) for s in range(3)])
    body = 'kind = "{}"\nlimit = 3\nstat = "mean"\nwithin = ["g"]\nunit = ["s"]\narm = "a"'
    for stat in ("mean", "median"):
        asked = body.replace("mean", stat)
        most, least = (interval(asked.format(kind), 1.0, sides) for kind in ("at_most", "at_least"))
        assert (most.low, most.high, least.low, least.high) == (5, 5, 1, 1)
    fewer = rows(*[("p", str(s), 1.0) for s in range(4)], *[("q", str(s), 1.0) for s in range(2)])
    assert interval(body.format("at_most"), 1.0, fewer).method.endswith(
        "at least 2 units to a group, of the largest of 2 groups"
    )


@pytest.mark.parametrize("kind", ["at_most", "at_least"])
def test_the_extreme_of_groups_that_are_alike_is_not_clearly_beyond_them(kind):
    """Eight groups of the same twelve numbers have one mean: the extreme of eight draws lies beyond it, and its interval must not."""
    numbers = [float(v) for v in (*range(1, 7), *range(-6, 0))]
    sides = rows(*[(str(g), str(s), v) for g in range(8) for s, v in enumerate(numbers)])
    body = f'kind = "{kind}"\nlimit = 0\nstat = "mean"\nwithin = ["g"]\nunit = ["s"]\narm = "a"'
    several = interval(body, 0.0, sides)
    assert several.low < 0 < several.high
    alone = interval(body.replace('within = ["g"]\n', ""), 0.0, rows(*numbers))
    near, far = (several.low, several.high) if kind == "at_most" else (-several.high, -several.low)
    assert near < min(alone.low, -alone.high) + 0.2  # corrected for eight
    assert far == pytest.approx(alone.high, abs=0.3)  # and not corrected


# ---- what is clear --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ends", "state", "clear"),
    [
        ("at_most", (1.0, 2.0), "holds", ("clearly-holds",)),  # an end at the limit belongs to it
        ("at_most", (1.0, 2.5), "holds", ()),
        ("at_most", (2.0, 3.0), "fails", ("clearly-fails",)),
        ("at_most", (1.9, 3.0), "fails", ()),
        ("at_most", (2.0, 3.0), "holds", ()),
        ("at_most", (1.0, 2.0), "fails", ()),
        ("at_least", (2.0, 3.0), "holds", ("clearly-holds",)),
        ("at_least", (1.9, 3.0), "holds", ()),
        ("at_least", (1.0, 2.0), "fails", ("clearly-fails",)),
        ("at_least", (1.0, 2.1), "fails", ()),
    ],
)
def test_it_is_clear_when_the_whole_interval_is_on_one_side(kind, ends, state, clear):
    c = claim(f'kind = "{kind}"\nlimit = 2\nstat = "mean"\narm = "a"')
    assert ClaimInterval(*ends, 0.95, "m").clearly(c, ClaimState(state)) == clear


def test_nothing_is_clear_without_an_interval_or_a_limit():
    c = claim('kind = "at_most"\nlimit = 2\nstat = "mean"\narm = "a"')
    one = ClaimInterval(1.0, 1.5, 0.95, "m")
    assert BARE.clearly(c, ClaimState.HOLDS) == ()
    assert replace(one, high=None).clearly(c, ClaimState.HOLDS) == ()
    assert one.clearly(replace(c, limit=None), ClaimState.HOLDS) == ()
    assert one.clearly(replace(c, kind="count"), ClaimState.HOLDS) == ()


# ---- what was looked at ---------------------------------------------------------------------------------------------------

MOST = 'kind = "at_most"\nlimit = 3\narm = "a"'


def test_a_claim_says_how_sure_and_how_clear_it_is():
    body = 'kind = "at_most"\nlimit = 3\nstat = "mean"\nunit = ["s"]\narm = "a"'
    r = found(body, rows(1, 1, 1))
    assert (r.state, r.value, r.n, r.clearly, r.interval.high) == ("holds", 1.0, 3, ("clearly-holds",), 1.0)
    assert r.observed.endswith("([1, 1])")
    r = found(body + '\nwithin = ["g"]', rows(1, 1, 1, absent=[("q", "0", "gone")]))
    assert (r.state, r.clearly) == ("missing", ())  # a group that has nothing
    r = found(MOST.replace("limit = 3", "limit = 0") + '\nwithin = ["g"]', rows(1, 1, 1, absent=[("q", "0", "gone")]))
    assert r.state == "fails"  # what speaks against it is there


def test_reasons_are_counted_and_the_rarest_left_out():
    reasons = ["a: x"] * 3 + ["b"] * 2 + ["c", "d", "e"]
    r = found(MOST, rows(1, absent=[("p", str(20 + i), why) for i, why in enumerate(reasons)]))
    assert r.observed.endswith("; 1 of 9 units, 8 dropped: a: x (3), b (2), c (1), and 2 other reasons")
    r = found(MOST, rows(1, absent=[("p", str(20 + i), why) for i, why in enumerate("bcd")]))
    assert r.observed.endswith("; 1 of 4 units, 3 dropped: b (1), c (1), d (1)")


def test_numbers_of_one_unit_are_no_kind_of_reason():
    """Clauses at the end with digits go; the first one stays whatever it says, and one before a clause without digits too."""
    reasons = ["arm 7", "refused: eta = 5", "refused: eta = 6", "refused: k = 1: empty", "refused: empty: 5: 6"]
    r = found(MOST, rows(1, absent=[("p", str(20 + i), why) for i, why in enumerate(reasons)]))
    assert "refused (2), arm 7 (1), refused: k = 1: empty (1), and 1 other reason" in r.observed
    r = found(MOST, rows(1, absent=[("p", "9", reasons[-1])]))
    assert r.observed.endswith("1 dropped: refused: empty (1)")


def test_units_that_lost_a_part_are_said_apart():
    r = found(MOST, rows(1, 2, absent=[("p", "0", "lost a seed"), ("p", "7", "gone")]))
    assert r.observed.endswith("; 2 of 3 units, 1 dropped: gone (1); 1 of 2 units incomplete: lost a seed (1)")
    assert found(MOST, rows(1, 2)).observed.endswith("limit 3")
    alone = found(MOST, rows(1, 2, absent=[("p", "0", "lost a seed")]))
    assert alone.observed.endswith("limit 3; 1 of 2 units incomplete: lost a seed (1)")


def test_no_units_are_missing():
    r = found(MOST, rows(absent=[("p", "0", "gone")]))
    assert (r.state, r.value, r.n, r.counterexamples) == ("missing", None, 0, ())
    assert r.observed == "no units; 0 of 1 unit, 1 dropped: gone (1)"
    assert [d.unit for d in r.dropped] == ["p/0"]


def test_fifty_counterexamples_are_kept():
    r = found('kind = "none"\nevent = { gt = 0 }\narm = "a"', rows(*[1.0] * 60))
    assert (r.state, r.n, len(r.counterexamples)) == ("fails", 60, 50)
    r = found('kind = "never_worse"\narms = ["a", "b"]', rows(*[2.0] * 60), rows(*[1.0] * 60))
    assert (r.state, r.value, len(r.counterexamples)) == ("fails", 60, 50)


def test_groups_are_those_of_any_side_and_named_in_order():
    body = 'kind = "never_worse"\nwithin = ["g"]\narms = ["a", "b"]'
    a = rows(("p", "0", 1), ("r", "0", 1), absent=[("q", "0", "gone")])
    r = found(body, a, rows(("p", "0", 2), ("q", "0", 1)))
    assert r.state == "missing"
    assert r.observed.startswith("no value for q, r; of the rest: ")
    assert found(body.replace('within = ["g"]\n', ""), a, rows(("p", "0", 2), ("q", "0", 1))).state == "holds"


def test_places_outside_the_order_are_left_out_and_only_there():
    body = 'kind = "monotone"\nalong = "s"\narm = "a"'
    sides = units([("p", str(s), s) for s in (1, 2, 3)], keys=KEYS)
    assert found(body, sides).n == 3
    r = found(body + '\norder = ["1", "3"]', sides)
    assert (r.n, r.state, [(d.unit, d.reason) for d in r.dropped]) == (2, "holds", [("p/2", "s is not in the order given")])  # fmt: skip


def test_a_value_that_is_no_number_is_absent():
    sides = units([("p", "0", 0.0, 0)], keys=KEYS)
    r = found('kind = "measured"\nstat = "share"\narm = "a"', sides)
    assert (r.state, r.value) == ("missing", None)


def test_refused_units_are_read_a_second_time():
    """One refused unit at 9 beside three of 1: the mean is 3, and the claim falls with it."""
    c = claim('kind = "at_most"\nlimit = 2\nstat = "mean"\nrefused_as = 9\narm = "a"')
    ledger = remembering(c, rows(1, 1, 1, absent=[("p", "7", "arm refused", True)]))
    from orledger.audit.evaluation import refusals

    lost = pl.DataFrame({"g": ["p"], "s": ["7"]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refusals, "refused_units", lambda *_: lost)
        r = check(ledger, c)
        still = replace(c, limit=3.0)
        held = check(remembering(still, rows(1, 1, 1, absent=[("p", "7", "arm refused", True)])), still)
    assert (r.state, r.value, r.n) == ("fails", 1.0, 3)
    assert "; with 1 refused unit as 9: 3, fails" in r.observed
    assert (held.state, "as 9: 3, holds" in held.observed) == ("holds", True)

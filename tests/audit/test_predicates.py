"""Predicates of claims on matrices written by hand: both sides of every limit, and what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from orledger.audit.evaluation.claim_intervals import ClaimInterval, claim_interval
from orledger.audit.evaluation.pairing import Matched
from orledger.audit.evaluation.predicates import PREDICATES, combined
from orledger.audit.registry.hypotheses import Claim
from orledger.audit.registry.quantities import Aggregate, Quantity, RecordSource
from orledger.audit.registry.words import ClaimState, Clearly
from orledger.schema.selecting import Condition


def matched(rows, keys=("g", "s"), points=1) -> Matched:
    """``rows`` are (key values..., numbers...); as many records behind each number as ``points`` says."""
    k = len(keys)
    units = pl.DataFrame([[str(v) for v in row[:k]] for row in rows], schema=list(keys), orient="row")
    matrix = np.array([row[k:] for row in rows], dtype=float)
    return Matched(tuple(keys), units, matrix, np.full(matrix.shape, points, dtype=np.int64), ())


PLAIN = Quantity("t", "main", RecordSource("a", "m"))


def claim(kind: str, *arms: str, **fields) -> Claim:
    sides = fields.pop("sides", None) or tuple((a, replace(PLAIN, source=RecordSource(a, "m"))) for a in arms)
    return Claim("w", "s", kind, sides, ("g", "s"), **fields)


def found(m: Matched, kind: str, *arms: str, **fields):
    return PREDICATES[kind](claim(kind, *arms, **fields), m, list(arms))


TWO = matched([("p", 1, 3.0, 2.0), ("p", 2, 2.0, 2.0), ("q", 1, 1.0, 2.0)])


@pytest.mark.parametrize(
    ("better", "tolerance", "against"),
    [
        ("lower", 0.0, ["p/1: 3 against 2"]),
        ("lower", 1.0, []),
        ("higher", 0.0, ["q/1: 1 against 2"]),
        ("higher", 1.0, []),
    ],
)
def test_never_worse_allows_equality_and_its_tolerance(better, tolerance, against):
    holds, observed, value, units = found(TWO, "never_worse", "a", "b", better=better, tolerance=tolerance)
    assert (holds, value, units) == (not against, len(against), against)
    assert observed == f"a is worse than b in {len(against)} of 3 units"


@pytest.mark.parametrize(
    ("kind", "limit", "tolerance", "against"),
    [
        ("at_most", 3.0, 0.0, []),
        ("at_most", 2.5, 0.5, []),
        ("at_most", 2.0, 0.5, ["p/1: 3"]),
        ("at_least", 1.0, 0.0, []),
        ("at_least", 1.5, 0.5, []),
        ("at_least", 2.0, 0.5, ["q/1: 1"]),
    ],
)
def test_a_limit_belongs_to_what_it_allows(kind, limit, tolerance, against):
    holds, observed, value, units = found(TWO, kind, "a", limit=limit, tolerance=tolerance)
    assert (holds, units) == (not against, against)
    word, extreme = ("largest", 3.0) if kind == "at_most" else ("smallest", 1.0)
    assert (observed, value) == (f"{word} a m is {extreme:g}, limit {limit:g}", extreme)


def test_a_limit_on_one_number_does_not_call_it_the_largest():
    assert found(TWO, "at_most", "a", limit=2.0, stat="mean")[:3] == (True, "mean of a m is 2, limit 2", 2.0)
    assert found(TWO, "at_most", "a", limit=1.0, stat="share", within=("g",))[3] == ["p: 2.5"]


@pytest.mark.parametrize(
    ("rows", "fields", "holds"),
    [
        ([("p", 1, 1.0, 2.0, 3.0)], {}, True),
        ([("p", 1, 1.0, 1.0, 3.0)], {}, True),
        ([("p", 1, 1.0, 1.0, 3.0)], {"strict": True}, False),
        ([("p", 1, 1.0, 0.5, 3.0)], {"tolerance": 0.5}, True),
        ([("p", 1, 1.0, 0.5, 3.0)], {"tolerance": 0.25}, False),
        ([("p", 1, 3.0, 2.0, 1.0)], {"direction": "decreasing"}, True),
        ([("p", 1, 3.0, 2.0, 1.0)], {}, False),
    ],
)
def test_ordering_step_by_step(rows, fields, holds):
    found_one = found(matched(rows), "ordering", "a", "b", "c", stat="mean", **fields)
    text = ", ".join(f"{n} {v:g}" for n, v in zip("abc", rows[0][2:], strict=True))
    assert found_one == (holds, f"mean: {text}", None, [] if holds else [text])


def test_ordering_shows_the_first_group_and_names_those_against():
    m = matched([("p", 1, 1.0, 2.0), ("q", 1, 2.0, 1.0)])
    assert found(m, "ordering", "a", "b", stat="mean", within=("g",)) == (
        False,
        "mean: a 1, b 2",
        None,
        ["q: a 2, b 1"],
    )


@pytest.mark.parametrize(
    ("values", "fields", "holds"),
    [
        ((1.0, 2.0, 3.0), {}, True),
        ((2.0, 2.0, 3.0), {}, True),
        ((2.0, 2.0, 3.0), {"strict": True}, False),
        ((1.0, 2.0, 3.0), {"strict": True}, True),
        ((2.5, 2.0, 3.0), {"tolerance": 0.5}, True),
        ((2.5, 2.0, 3.0), {"tolerance": 0.25}, False),
        ((3.0, 2.0, 1.0), {"better": "higher"}, True),
        ((1.5, 2.0, 1.0), {"better": "higher"}, False),
        ((1.5, 2.0, 1.0), {"better": "higher", "tolerance": 0.5}, True),
    ],
)
def test_best_is_held_against_the_best_of_the_others(values, fields, holds):
    found_one = found(matched([("p", 1, *values)]), "best", "a", "b", "c", stat="mean", **fields)
    text = ", ".join(f"{n} {v:g}" for n, v in zip("abc", values, strict=True))
    assert found_one == (holds, f"mean: {text}", float(holds), [] if holds else [text])


def test_best_counts_groups():
    m = matched([("p", 1, 1.0, 2.0), ("q", 1, 2.0, 1.0), ("r", 1, 1.0, 2.0)])
    expected = (False, "a is best in 2 of 3 groups", 2.0, ["q: a 2, b 1"])
    assert found(m, "best", "a", "b", stat="mean", within=("g",)) == expected


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        ({"at_least": 2}, True), ({"at_least": 3}, False), ({"at_least": 0.5}, True), ({"at_least": 0.75}, False),
        ({"at_least": 1}, True), ({"at_most": 2}, True), ({"at_most": 1}, False), ({"at_most": 0}, False),
        ({"at_most": 0.5}, True), ({"at_most": 0.25}, False), ({"at_least": 1, "at_most": 1}, False), ({"at_least": 2, "at_most": 2}, True),
    ],
)  # fmt: skip
def test_counts_and_shares_of_units(fields, holds):
    """Two of four; below 1 a bound is a share, from 1 on a number, and no unit at all is a number too."""
    m = matched([("p", 1, 1.0), ("p", 2, 0.0), ("q", 1, 2.0), ("q", 2, 0.0)])
    state, observed, value, against = found(m, "count", "a", **fields)
    assert (state, observed, value) == (holds, "true in 2 of 4 units", 2.0)
    units = [] if holds else ["p/2", "q/2"] if "at_least" in fields else ["p/1", "q/1"]
    assert against == units


def test_equal_sides_are_no_hit_of_a_count():
    assert found(TWO, "count", "a", "b", at_least=1)[1:3] == ("a better than b in 1 of 3 units", 1.0)
    assert found(TWO, "count", "a", "b", at_least=1, better="higher")[1:3] == ("a better than b in 1 of 3 units", 1.0)


def test_none_sums_and_names_units_that_are_not_zero():
    m = matched([("p", 1, 0.0), ("p", 2, 2.0), ("q", 1, 1.0)], points=4)
    event = claim("none", "a", sides=(("a", replace(PLAIN, event=Condition("gt", (1.0,)), over_idx="sum")),))
    assert PREDICATES["none"](event, m, ["a"]) == (False, "3 in 12 records", 3.0, ["p/2: 2", "q/1: 1"])
    assert found(matched([("p", 1, 0.0)], points=4), "none", "a") == (True, "0 in 4 records", 0.0, [])


def test_counterexamples_do_not_cancel():
    """+1, -1 and 0 are two records that are not zero, also where both stand in one unit."""
    m = matched([("p", 1, 1.0), ("p", 2, -1.0), ("q", 1, 0.0)])
    assert found(m, "none", "a") == (False, "2 in 3 records", 2.0, ["p/1: 1", "p/2: -1"])
    two = matched([("p", 1, 1.0, -1.0), ("q", 1, 0.0, 0.0), ("q", 2, 0.0, 0.25)])
    assert found(two, "none", "a", "b") == (False, "3 in 6 records", 3.0, ["p/1: 2", "q/2: 1"])


@pytest.mark.parametrize(
    ("change", "value", "points", "count"),
    [
        ({}, 7.0, 1, 1),  # any number that is not zero is one occurrence
        ({}, 2.0, 4, 1),
        ({}, -0.5, 1, 1),
        ({}, 5e-324, 1, 1),
        ({"over_idx": "sum"}, 3.0, 4, 3),  # a count of records
        ({"over_idx": "sum"}, 5.0, 4, 1),  # more than there are: no count
        ({"over_idx": "sum"}, -3.0, 4, 1),
        ({"over_idx": "sum"}, 2.5, 4, 1),
        ({"over_idx": "max"}, 3.0, 4, 1),
        ({"aggregate": Aggregate(("seed",), "sum")}, 2.0, 4, 2),
        ({"aggregate": Aggregate(("seed",), "mean")}, 2.0, 4, 1),
        ({"source": None, "sql": "SELECT 1"}, 2.0, 4, 2),
        ({"event": Condition("gt", (0.0,))}, 4.0, 4, 4),
    ],
)
def test_what_counts_as_an_occurrence(change, value, points, count):
    asked = claim("none", "a", sides=(("a", replace(PLAIN, **change)),))
    state, observed, total, against = PREDICATES["none"](asked, matched([("p", 1, value)], points=points), ["a"])
    records = f"{points} record{'s' * (points > 1)}"
    assert (state, observed, total, against) == (False, f"{count} in {records}", count, [f"p/1: {value:.6g}"])


def test_measured_gives_the_largest_of_its_groups_and_skips_undefined_ones():
    m = matched([("p", 1, 1.0), ("p", 2, 2.0), ("q", 1, 0.0), ("q", 2, 0.0)])
    assert found(m, "measured", "a")[:3] == ("measured", "median of a m: 0.5", 0.5)
    grouped = found(m, "measured", "a", stat="max_over_min", within=("g",))
    assert grouped == ("measured", "max_over_min of a m: p 2, q undefined", 2.0, [])
    assert found(m, "measured", "a", stat="share", within=("g",))[1] == "share of records: p 1.5 (3 of 2), q 0 (0 of 2)"
    zeros = matched([("q", 1, 0.0), ("q", 2, 0.0)])
    assert found(zeros, "measured", "a", stat="max_over_min")[:3] == (
        "missing", "max_over_min is not defined for these values", None,
    )  # fmt: skip


def test_monotone_in_pairs_at_different_places():
    m = matched([("p", 10, 1.0), ("p", 9, 2.0), ("p", 10, 3.0)])
    state, observed, value, against = found(m, "monotone", "a", along="s")
    assert (state, value, against) == (False, 1.0, ["a: p/9 2, p/10 1"])
    assert observed == "1 of 2 pairs turn; a: 2 1/3"
    assert found(m, "monotone", "a", along="s", tolerance=1.0)[0]
    assert not found(m, "monotone", "a", along="s", tolerance=0.75)[0]
    reduced = found(m, "monotone", "a", along="s", stat="mean", strict=True)
    assert reduced == (False, "1 of 1 pairs turn; a: 2 2", 1.0, ["a: s 9 2, s 10 2"])


def test_two_sides_are_two_series_of_a_monotone_claim():
    m = matched([("p", 1, 1.0, 4.0), ("p", 2, 2.0, 3.0)])
    state, observed, _, against = found(m, "monotone", "a", "b", along="s", within=("g",))
    assert (state, observed) == (False, "1 of 2 pairs turn; a in p: 1 2; b in p: 4 3")
    assert against == ["b: p/1 4, p/2 3"]


# ---- intervals of claims --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "low", "high", "state", "clearly"),
    [
        ("at_most", 0.0, 1.0, "holds", (Clearly.HOLDS,)),
        ("at_most", 0.0, 1.1, "holds", ()),
        ("at_most", 1.0, 2.0, "fails", (Clearly.FAILS,)),
        ("at_most", 0.9, 2.0, "fails", ()),
        ("at_least", 1.0, 2.0, "holds", (Clearly.HOLDS,)),
        ("at_least", 0.9, 2.0, "holds", ()),
        ("at_least", 0.0, 1.0, "fails", (Clearly.FAILS,)),
        ("at_least", 0.0, 1.1, "fails", ()),
        ("at_most", 1.0, 1.0, "missing", ()),
        ("at_most", None, 1.0, "holds", ()),
        ("at_most", 0.0, None, "holds", ()),
        ("count", 0.0, 1.0, "holds", ()),
    ],
)
def test_clearly_means_the_whole_interval(kind, low, high, state, clearly):
    """The limit is 1, and belongs to either side."""
    interval = ClaimInterval(low, high, 0.95, "m")
    assert interval.clearly(claim(kind, "a", limit=1.0), ClaimState(state)) == clearly


def test_no_limit_is_never_clear():
    assert ClaimInterval(0.0, 1.0, 0.95, "m").clearly(claim("at_most", "a"), ClaimState.HOLDS) == ()


def test_a_count_of_units_has_the_interval_of_clopper_and_pearson():
    """Of four units none: the upper end solves (1 - p)^4 = 0.025."""
    m = matched([("p", s, 0.0) for s in range(4)])
    counts = claim("count", "a", at_most=0)
    interval = claim_interval(counts, m, 0.0)
    assert interval.low == 0.0
    assert interval.high == pytest.approx(1 - 0.025**0.25, rel=1e-12)
    assert interval.words(counts) == f" (share of units in [0, {1 - 0.025**0.25:.4g}])"
    assert claim_interval(claim("count", "a", at_most=0, unit=("g", "s")), m, 0.0) == interval
    assert claim_interval(claim("count", "a", at_most=0, unit=("g",)), m, 0.0).low is None


@pytest.mark.parametrize(
    ("kind", "fields", "method"),
    [
        ("ordering", {"stat": "mean"}, "bare: it is about these units and no population"),
        ("at_most", {"stat": "max", "unit": ("g",)}, "bare: it is about these units and no population"),
        ("at_most", {"stat": "mean"}, "bare: no independent unit is declared"),
        ("at_most", {"stat": "mean", "unit": ("g",), "within": ("s",)}, "bare: a group has a single independent unit"),
    ],
)
def test_a_bare_number_says_why(kind, fields, method):
    m = matched([("p", 1, 1.0), ("q", 2, 2.0)])
    asked = claim(kind, "a", limit=1.0, **fields)
    found = claim_interval(asked, m, 1.0)
    assert found == ClaimInterval(None, None, None, method)
    assert found.words(asked) == (f" ({method})" if fields["stat"] == "mean" else "")


def test_a_number_that_is_none_has_no_interval():
    for value in (None, np.inf):
        asked = claim("at_most", "a", limit=1.0, stat="mean", unit=("s",))
        found = claim_interval(asked, matched([("p", 1, 1.0)]), value)
        assert (found.method, found.words(asked)) == ("bare: there is no number", "")


@pytest.mark.parametrize(("kind", "extreme"), [("at_most", max), ("at_least", min), ("measured", max)])
@pytest.mark.parametrize("stat", ["mean", "median", "share"])
def test_the_bootstrap_draws_whole_units_and_the_extreme_group(kind, extreme, stat):
    """Units are constant inside, so that a group of two units has three possible means; the quantiles are among them."""
    rows = [(g, s, value) for g, (x, y) in {"p": (0.0, 1.0), "q": (10.0, 12.0)}.items() for s, value in ((1, x), (1, x), (2, y), (2, y))]  # fmt: skip
    m = matched(rows, points=2)
    c = claim(kind, "a", stat=stat, within=("g",), unit=("s",), limit=1.0, level=0.9)
    interval = claim_interval(c, m, 1.0)
    ends = {"p": (0.0, 1.0), "q": (10.0, 12.0)}[extreme("p", "q")]
    scale = 0.5 if stat == "share" else 1.0
    assert (interval.low, interval.high) == (ends[0] * scale, ends[1] * scale)
    assert interval.level == 0.9
    word = "smallest" if extreme is min else "largest"
    assert interval.method.endswith(f"at least 2 units to a group, of the {word} of 2 groups")


def test_units_of_unequal_size_keep_their_weight_in_a_resampled_median():
    rows = [("p", 1, 0.0), ("p", 2, 5.0), ("p", 2, 5.0), ("p", 2, 7.0)]
    interval = claim_interval(claim("measured", "a", stat="median", unit=("s",)), matched(rows), 5.0)
    # Two draws of two units: only the first (0), one of each (0, 5, 5, 7: 5), only the second (5).
    assert (interval.low, interval.high) == (0.0, 5.0)


def test_strict_means_any_step_and_none_back():
    assert found(matched([("p", 1, 1.0, 1.5, 2.0)]), "ordering", "a", "b", "c", stat="mean", strict=True)[0]
    rising = matched([("p", 1, 1.0), ("p", 2, 1.5)])
    assert found(rising, "monotone", "a", along="s", strict=True)[0]
    assert not found(rising, "monotone", "a", along="s", strict=True, direction="decreasing")[0]


def test_digits_of_what_was_measured():
    m = matched([("p", 1, 1 / 3)])
    assert found(m, "measured", "a")[1] == "median of a m: 0.333333"
    assert found(m, "measured", "a", within=("g",))[1] == "median of a m: p 0.3333"


def backends(wild: bool, gaps: int = 0) -> Matched:
    """Two groups of two cells on two backends: a spreads by 1 to 1.1, b by 1 to 3, and a wildly on the second backend."""
    rows = [
        (g, s, b, (9.0 if wild and b else 1.1) if s else 1.0, 3.0 if s else 1.0)
        for g in "pq"
        for s in (0, 1)
        for b in (0, 1)
    ]
    return matched(rows[: len(rows) - gaps], keys=("g", "s", "b"))


def test_draws_of_backends_are_counted_for_every_arm():
    options = {"along": "b", "within": ("g",), "stat": "max_over_min", "draws": 200}
    holds, observed, share, others = found(backends(False), "resampled", "a", "b", **options)
    assert (holds, share, others) == (True, 1.0, [])
    assert observed == "a lowest in 200 of 200 draws, its median max_over_min in [1.1, 1.1]"
    holds, observed, share, others = found(backends(True), "resampled", "a", "b", **options)
    assert not holds
    assert 0 < share < 1
    assert others == [f"b: lowest in {200 - round(200 * share)} draws"]
    assert found(backends(True), "resampled", "a", "b", at_least=share, **options)[0]
    assert found(backends(False, 1), "resampled", "a", "b", **options)[0] == "missing"


@pytest.mark.parametrize(
    ("arms", "what"), [(("value",), "cv over seed, fold of m"), (("a",), "a cv over seed, fold of m")]
)
def test_a_statistic_over_cells_is_named_in_what_was_observed(arms, what):
    """The spread over seeds of a loss is no loss."""
    side = Quantity("t", "main", RecordSource("a", "m"), aggregate=Aggregate(("seed", "fold"), "cv"))
    asked = Claim("w", "s", "measured", ((arms[0], side),), ("g", "s"), stat="median")
    observed = PREDICATES["measured"](asked, matched([("p", 1, 0.2)]), list(arms))[1]
    assert observed == f"median of {what}: 0.2"


@pytest.mark.parametrize(
    ("combine", "values", "words"),
    [("ratio", [1.5, 1.0, 0.5], "a/b"), ("difference", [1.0, 0.0, -1.0], "a minus b"), (None, [3.0, 2.0, 1.0], "a m")],
)
def test_two_sides_become_one_number_as_declared(combine, values, words):
    assert combined(claim("at_most", "a", "b", combine=combine), TWO).tolist() == values
    _, observed, extreme, _ = found(TWO, "at_most", "a", "b", combine=combine, limit=9.0)
    assert (observed, extreme) == (f"largest {words} is {max(values):g}, limit 9", max(values))
    one = matched([("p", 1, 3.0, 2.0)])
    assert combined(claim("at_most", "a", "b", combine=combine), one).tolist() == values[:1]


def test_a_limit_that_is_reached_by_rounding_is_reached_where_numbers_were_made():
    """0.3 - 0.1 is a bit less than 0.2: a difference and a mean are made, a ratio and a number as recorded are not."""
    assert 0.3 - 0.1 < 0.2
    m = matched([("p", 1, 0.3, 0.1)])
    assert found(m, "at_least", "a", "b", combine="difference", limit=0.2)[0]
    for below in (0.2 - 2**-50, 0.3 - 0.1):
        recorded = matched([("p", 1, below)])
        assert not found(recorded, "at_least", "a", limit=0.2)[0]
        assert found(recorded, "at_least", "a", limit=0.2, stat="mean")[0]
    ratio = matched([("p", 1, 0.3 - 0.1, 1.0)])
    assert not found(ratio, "at_least", "a", "b", combine="ratio", limit=0.2)[0]


@pytest.mark.parametrize(("better", "hits"), [("lower", 1), ("higher", 2)])
def test_a_count_follows_the_better_direction(better, hits):
    lopsided = matched([("p", 1, 3.0, 2.0), ("p", 2, 4.0, 2.0), ("q", 1, 1.0, 2.0)])
    _, observed, value, _ = found(lopsided, "count", "a", "b", better=better, at_least=1)
    assert (observed, value) == (f"a better than b in {hits} of 3 units", float(hits))


def test_at_most_none_is_a_count_and_no_share():
    """Zero of three: nothing may be a hit; a half is a share."""
    true = matched([("p", 1, 1.0), ("p", 2, 0.0), ("q", 1, 0.0)])
    assert [found(true, "count", "a", at_most=limit)[0] for limit in (0, 1, 0.5, 0.3)] == [False, True, True, False]
    never = matched([("p", 1, 0.0)])
    assert found(never, "count", "a", at_most=0)[0]


def test_backends_need_two_of_everything():
    """One backend, one cell to a group, or a cell that one backend lacks: missing, and no share."""
    keys = ("backend", "g", "s")
    full = [(b, g, s, 1.0 + s, 2.0 + s * s) for b in "xy" for g in "pq" for s in (1, 2)]
    fields = {"along": "backend", "within": ("g",), "stat": "cv", "draws": 5}
    assert found(matched(full, keys), "resampled", "a", "b", **fields)[0] != "missing"
    for rows in ([r for r in full if r[0] == "x"], [r for r in full if r[2] == 1], full[1:]):
        assert found(matched(rows, keys), "resampled", "a", "b", **fields)[0] == "missing"


def test_units_at_one_place_are_reduced_and_called_by_their_key():
    m = matched([("p", 1, 1.0), ("q", 1, 2.0), ("p", 2, 1.0)])
    holds, _, turned, against = found(m, "monotone", "a", along="s", stat="mean", direction="increasing")
    assert (holds, turned, against) == (False, 1.0, ["a: s 1 1.5, s 2 1"])

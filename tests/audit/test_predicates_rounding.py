"""What rounding may excuse in a claim, and no more: each number by its own size. And which sides a claim looks at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis_text import framed
from test_predicates import found, matched

from orledger.audit.evaluation.predicates import PREDICATES
from orledger.audit.registry.hypotheses import Claim
from orledger.audit.registry.quantities import Quantity, RecordSource
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.ties import ULPS, snapped
from orledger.toml_tables import TomlError

HUGE = 1e17  # an arm that diverged; the share of its size that is rounding is above 1000
# Neighbours at the bound and beyond it, at a size at which a share is no absolute number.
BELOW, AT = 1024 - 1024 * ULPS, 1024.0
FAR = float(np.nextafter(BELOW, 0.0))


def test_the_bound_of_ties_is_that_of_ranks():
    assert snapped([AT - BELOW, AT - FAR], [AT, AT]).tolist() == [0.0, AT - FAR]


@pytest.mark.parametrize(("low", "tied"), [(BELOW, True), (FAR, False)])
def test_numbers_at_the_bound_are_equal_and_beyond_it_are_not(low, tied):
    up, down = matched([("p", 1, low, AT)]), matched([("p", 1, AT, low)])
    places = matched([("p", 1, low), ("p", 2, AT)])
    rising = {"ordering": up, "best": up, "monotone": places}
    for kind, m in rising.items():
        arms = ("a",) if kind == "monotone" else ("a", "b")
        fields = {"monotone": {"along": "s"}}.get(kind, {"stat": "mean"})
        assert found(m, kind, *arms, strict=True, **fields)[0] is not tied, kind
    assert found(down, "ordering", "a", "b", stat="mean")[0] is tied
    assert found(down, "best", "a", "b", stat="mean")[0] is tied
    assert found(places, "monotone", "a", along="s", direction="decreasing")[0] is tied
    assert found(down, "never_worse", "a", "b")[2] == (not tied)
    assert found(up, "count", "a", "b", at_least=1)[2] == (not tied)


def test_an_arm_that_diverged_excuses_no_other():
    """5 is not below 1, whatever a third arm became."""
    m = matched([("p", 1, 5.0, 1.0, HUGE)])
    assert not found(m, "ordering", "a", "b", "c", stat="mean")[0]
    assert not found(m, "best", "a", "b", "c", stat="mean")[0]
    assert found(matched([("p", 1, 1.0, 5.0, HUGE)]), "ordering", "a", "b", "c", stat="mean", strict=True)[0]
    assert found(matched([("p", 1, 1.0, 5.0, HUGE)]), "best", "a", "b", "c", stat="mean", strict=True)[0]


def test_an_infinite_arm_leaves_ties_of_the_others_alone():
    m = matched([("p", 1, 0.1 + 0.2, 0.3, np.inf)])
    assert found(m, "ordering", "a", "b", "c", stat="mean")[0]
    assert found(m, "best", "a", "b", "c", stat="mean")[0]
    assert not found(m, "ordering", "a", "b", "c", stat="mean", strict=True)[0]


def test_the_best_of_several_where_higher_is_better():
    m = matched([("p", 1, 3.0, 2.0, 1.0)])
    assert found(m, "best", "a", "b", "c", stat="mean", better="higher", strict=True)[0]


@pytest.mark.parametrize("wild", [HUGE, np.inf])
def test_one_unit_that_diverged_leaves_no_room_to_the_median_of_differences(wild):
    """The median difference is 4, and not at most 0."""
    m = matched([("p", 1, 5.0, 1.0), ("p", 2, 5.0, 1.0), ("p", 3, wild, 1.0)])
    holds, _, value, _ = found(m, "at_most", "a", "b", combine="difference", stat="median", limit=0.0)
    assert (holds, value) == (False, 4.0)


def test_a_ratio_of_large_numbers_is_a_small_number():
    """The sides are 3e16 and 1e16; their ratio is 3, and not at most 1."""
    m = matched([("p", 1, 3e16, 1e16)])
    assert not found(m, "at_most", "a", "b", combine="ratio", stat="mean", limit=1.0)[0]
    assert found(m, "at_most", "a", "b", combine="ratio", stat="mean", limit=3.0)[0]


@pytest.mark.parametrize(("stat", "limit"), [("sum", 0.6), ("mean", 0.2)])
@pytest.mark.parametrize("kind", ["at_most", "at_least"])
def test_sums_and_means_reach_a_limit_by_rounding(stat, limit, kind):
    """0.1, 0.2 and 0.3 in any order; with a step of a millionth beyond the limit there is no excuse."""
    beyond = limit * (1 - 1e-6 if kind == "at_most" else 1 + 1e-6)
    for row in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)):
        m = matched([("p", i, v) for i, v in enumerate(row)])
        assert found(m, kind, "a", stat=stat, limit=limit)[0]
        assert not found(m, kind, "a", stat=stat, limit=beyond)[0]


@pytest.mark.parametrize(("kind", "value", "holds"), [("at_most", -np.inf, True), ("at_most", np.inf, False), ("at_least", np.inf, True)])  # fmt: skip
def test_an_infinite_mean_is_on_its_side_of_a_limit(kind, value, holds):
    assert found(matched([("p", 1, value)]), kind, "a", stat="mean", limit=0.0)[0] is holds


def test_units_at_one_place_are_called_as_the_first_of_them_is_spelled():
    m = matched([("p", "1", 3.0), ("q", "1.0", 3.0), ("p", "2", 1.0)])
    assert found(m, "monotone", "a", along="s", stat="mean")[3] == ["a: s 1 3, s 2 1"]


# ---- which sides ----------------------------------------------------------------------------------------------------------


def test_a_registered_text_with_further_sides_is_about_the_first():
    """Such a text is no longer accepted; one that was registered means what it meant."""
    m = matched([("p", 1, 1.0, 0.0, 0.0), ("p", 2, 1.0, 0.0, 0.0)])
    m.points[:, 1:] = 4
    sides = tuple((n, Quantity("t", "main", RecordSource(n, f"of {n}"))) for n in ("value", "b", "c"))
    asked = {
        kind: Claim("w", "s", kind, sides, ("g", "s"), stat=stat, limit=1.0, at_least=2)
        for kind, stat in {"measured": "share", "at_most": "share", "at_least": "mean", "count": None}.items()
    }
    told = {kind: PREDICATES[kind](c, m, ["value", "b", "c"]) for kind, c in asked.items()}
    assert told["measured"][1:3] == ("share of records: 1 (2 of 2)", 1.0)
    assert told["at_most"][:3] == (True, "share of of value is 1, limit 1", 1.0)
    assert told["at_least"][:3] == (True, "mean of of value is 1, limit 1", 1.0)
    assert told["count"][:3] == (True, "true in 2 of 2 units", 2.0)


def test_a_quantity_without_a_record_is_called_by_its_side():
    sides = tuple((n, Quantity("t", "main", None)) for n in ("first", "second"))
    asked = Claim("w", "s", "measured", sides, ("g", "s"), stat="mean")
    assert PREDICATES["measured"](asked, matched([("p", 1, 2.0, 3.0)]), ["first", "second"])[1] == "mean of first: 2"


REST = {
    "at_most": "limit = 1.0",
    "at_least": "limit = 1.0",
    "measured": 'stat = "mean"',
    "count": "at_least = 1",
    "resampled": 'along = "k"\nwithin = ["g"]\nstat = "cv"',
}


@pytest.mark.parametrize(
    ("kind", "arms", "extra", "accepted"),
    [
        ("at_most", 1, "", True),
        ("at_most", 2, "", False),
        ("at_most", 2, 'combine = "ratio"', True),
        ("at_least", 2, "", False),
        ("measured", 2, "", False),
        ("count", 2, "", True),
        ("count", 3, "", False),
        ("resampled", 1, "", False),
        ("resampled", 2, "", True),
    ],
)
def test_no_side_that_is_named_is_left_out_of_account(kind, arms, extra, accepted):
    """A limit on two arms looked at the first of them alone; and one arm is always the lowest of one."""
    named = ", ".join(f'"{a}"' for a in "abc"[:arms])
    body = f'[[claim]]\nid = "w"\nstatement = "s"\nkind = "{kind}"\narms = [{named}]\n{REST[kind]}\n{extra}'
    text = framed(body, ("g", "k", "s"), "w holds")
    assert len(parse_hypothesis(text, "x.toml", stored=True).claims[0].sides) == arms
    if accepted:
        assert parse_hypothesis(text, "x.toml").claims[0].kind == kind
    else:
        with pytest.raises(TomlError, match=rf"{kind} (looks at|compares).*found {arms}"):
            parse_hypothesis(text, "x.toml")


@pytest.mark.parametrize("kind", ["count", "ordering"])
def test_a_combine_that_the_claim_would_not_use_is_refused(kind):
    """The units without a ratio would be left out, and no ratio looked at."""
    rest = {"count": "at_least = 1", "ordering": 'stat = "mean"'}[kind]
    body = f'[[claim]]\nid = "w"\nstatement = "s"\nkind = "{kind}"\narms = ["a", "b"]\n{rest}\ncombine = "ratio"'
    text = framed(body, ("g", "s"), "w holds")
    assert parse_hypothesis(text, "x.toml", stored=True).claims[0].combine == "ratio"
    with pytest.raises(TomlError, match=f"at_most, at_least or measured, not with {kind}"):
        parse_hypothesis(text, "x.toml")

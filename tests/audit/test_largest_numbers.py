"""Values near the largest number: no test ends in an error, loses a difference, or stores what is no number."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from hand_units import remembering, units
from hypothesis_text import comparison
from test_predicates import claim, matched

from orledger.audit.evaluation.claim_intervals import claim_interval
from orledger.audit.evaluation.comparisons import evaluate
from orledger.audit.evaluation.predicates import PREDICATES
from orledger.audit.evaluation.preparing import _whole
from orledger.audit.statistics.clusters import intraclass
from orledger.audit.statistics.dispersion import statistic
from orledger.audit.statistics.equivalence import bayesian_signed_rank, within_margin
from orledger.audit.statistics.inversion import hodges_lehmann
from orledger.audit.statistics.sign import sign_p, sign_test
from orledger.audit.statistics.signedrank import signed_rank, signed_rank_p
from orledger.audit.ties import difference, equalised, exact_mean, middle, snapped

MOST = 1.7976931348623157e308
KEYS = ("split", "rel")


@pytest.fixture(autouse=True)
def no_warning():
    """An overflow that nobody expected is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize(
    "values",
    [[1e308, 1.5e308], [MOST] * 7, [MOST, MOST, -MOST, -MOST], [-1.7e308] * 3, [1e308, 1.0, -1e308], [0.1, 0.2, 0.3]],
)
def test_a_mean_is_that_of_fractions(values):
    want = sum(map(Fraction, values)) / len(values)
    for got in (exact_mean(np.array(values)), statistic("mean", values)):
        assert abs(Fraction(got) - want) <= abs(want) / 2**52  # the sum and the quotient are rounded, once each


def test_medians_of_the_largest_numbers():
    assert middle([1.5e308, 1.7e308]) == statistic("median", [1.5e308, 1.7e308]) == 1.6e308
    assert middle([-MOST, MOST]) == 0.0
    assert middle([MOST, MOST]) == MOST
    assert middle([5e-324, 5e-324]) == 5e-324
    assert hodges_lehmann([1.7e308, 1.5e308, 1.6e308]) == 1.6e308


def test_a_difference_beyond_the_largest_number_is_that_number():
    assert difference([MOST, -MOST, 3.0, 1e308], [-1.0, 1e300, 1.0, -1e308]).tolist() == [MOST, -MOST, 2.0, MOST]
    assert difference(math.inf, 1.0) == math.inf
    assert difference(1.0, math.inf) == -math.inf


def test_an_infinite_difference_is_no_tie_with_zero():
    """No rounding makes infinite what is nothing; infinite ones of both signs are of one size."""
    assert snapped([math.inf, -math.inf, 1.0], [1.7e308, 1.7e308, 1.0]).tolist() == [math.inf, -math.inf, 1.0]
    assert snapped([MOST, -MOST, 1e290], [1.7e308] * 3).tolist() == [MOST, -MOST, 0.0]
    assert equalised([-1.7e308, 1.7e308, 1.7e308]).tolist() == [-1.7e308, 1.7e308, 1.7e308]


@pytest.mark.parametrize("test", [signed_rank, sign_test])
def test_six_huge_differences_of_one_sign_decide(test):
    r = test(np.array([MOST, MOST, 1.5e308, 1.2e308, 1.1e308, 1e308]))
    assert (r.p, r.wins, r.losses) == (2 / 64, 0, 6)
    assert 1e308 <= r.low <= r.effect <= r.high <= MOST


def test_margins_of_huge_differences():
    """All six lie beyond the margin on one side: p against "not below it" is 1 / 64, and against "not above" 1."""
    d = np.full(6, -MOST) * np.linspace(0.5, 1, 6)
    for p in (signed_rank_p, sign_p):
        w = within_margin(d, 1e300, p, "lower", np.full(6, MOST))
        assert (w.noninferior, w.equivalent) == (1 / 64, 1.0)
    assert bayesian_signed_rank(d, 1e300).below > 0.99


def test_shares_of_variance_have_no_unit():
    x = np.array([0.0, 2.0, 4.0, 6.0])
    for scale in (1.0, 2.0**-1070, 2.0**1000, 2.0**1021):
        assert intraclass(x * scale, list("aabb")) == pytest.approx(14 / 18, rel=1e-14)


def test_whole_multiples_of_a_resolution_do_not_overflow():
    d = np.array([1e308, -1e308, 0.03])
    assert _whole(d, np.abs(d), 0.01).tolist() == [MOST, -MOST, 3.0]


# ---- from units to rows ------------------------------------------------------------------------------------------------------

LOW = [-1.1e308, -1.2e308, -1.3e308, -1.4e308, -1.5e308, -1.6e308, -1.7e308]
HIGH = [1.7e308, 1.1e308, 1.3e308, 1.2e308, 1.5e308, 1.6e308, 1.4e308]


def side(values, nested=1):
    return units([(str(i // nested), str(i % nested), v) for i, v in enumerate(values)], (), KEYS)


def finite(e):
    """Every number of a result and of its details can be stored."""
    r = e.result
    numbers = [getattr(r, f.name) for f in fields(r)]
    assert all(math.isfinite(v) for v in numbers if isinstance(v, float)), r
    json.dumps(dict(r.details), allow_nan=False)


@pytest.mark.parametrize("test", ["signed_rank", "sign"])
@pytest.mark.parametrize("more", ["", "resolution = 0.01\n", "margin = 1.0\n"])
def test_arms_that_differ_hugely_are_told_apart(test, more):
    """Seven of seven: p = 2 / 128, and every difference is the largest number or lies close below."""
    c = comparison(f'test = "{test}"\narms = ["a", "b"]\n{more}')
    e, *_ = evaluate(remembering(c, side(LOW), side(HIGH)), c)
    assert (e.outcome, e.result.p, e.result.n_nonzero) == ("less", 2 / 128, 7)
    assert e.result.effect < -1e306
    finite(e)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_blocks_of_the_largest_numbers_have_their_mean(rule):
    """Seven blocks, each with differences of -1.5e308 and -1.7e308: mean and median are -1.6e308."""
    c = comparison(
        f'test = "signed_rank"\narms = ["a", "b"]\npair = ["split", "rel"]\nunit = ["split"]\nblocked = "{rule}"'
    )
    a, b = side([-1.5e308, -1.7e308] * 7, 2), side([0.0] * 14, 2)
    e = evaluate(remembering(c, a, b), c)[0]
    assert (e.variant, e.outcome, e.result.p, e.result.effect) == ("blocked", "less", 2 / 128, pytest.approx(-1.6e308))
    finite(e)


@pytest.mark.parametrize("test", ["friedman", "skillings_mack", "spearman", "slope", "sign_anytime"])
def test_every_test_has_an_answer(test):
    two = test in ("spearman", "slope")
    body = 'x = { arm = "a" }\ny = { arm = "b" }' if two else 'arms = ["a", "b"]'
    if test in ("friedman", "skillings_mack"):
        body = 'arms = ["a", "b", "c"]'
    c = comparison(f'test = "{test}"\n{body}')
    e, *_ = evaluate(remembering(c, side(LOW), side(HIGH), *([side([0.0] * 7)] if '"c"' in body else [])), c)
    assert e.result.p is not None
    finite(e)


@pytest.mark.parametrize(
    ("kind", "more", "want"),
    [
        ("never_worse", {}, 1.0),
        ("at_most", {"limit": 1.0, "combine": "difference"}, MOST),
        ("at_most", {"limit": 1e308, "stat": "mean", "unit": ("g", "s")}, 1.4e308),
        ("at_most", {"limit": 1e308, "stat": "median", "unit": ("g", "s")}, 1.4e308),
        ("ordering", {"stat": "mean"}, None),
        ("best", {"stat": "median"}, 0.0),
        ("none", {}, 4.0),
    ],
)
def test_claims_about_the_largest_numbers(kind, more, want):
    one = kind == "at_most" and "combine" not in more
    rows = [("p", 1, 1.7e308, -1.7e308), ("p", 2, 1.1e308, 1.5e308)]
    arms = ("a",) if one else ("a", "b")
    asked = claim(kind, *arms, **more)
    m = matched([row[:3] for row in rows] if one else rows)
    holds, _, value, against = PREDICATES[kind](asked, m, list(arms))
    assert (holds, bool(against)) == (False, True)
    assert value == (want if want is None else pytest.approx(want))
    interval = claim_interval(asked, m, value)
    assert all(math.isfinite(end) for end in (interval.low, interval.high) if end is not None)
    assert PREDICATES["count"](claim("count", "a", "b", at_least=1), matched(rows), ["a", "b"])[2] == 1.0

"""Comparisons that measure and do not test, from units written by hand: too few of them, runs of units, infinite values."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hand_units import units
from hypothesis_text import comparison

from orledger.audit.evaluation.resampled import THRESHOLDS, _order, measured
from orledger.audit.statistics.result import TOO_FEW, Dropped, TestResult

INFINITE = math.inf
KEYS = ("split", "rel")
SIDES = {1: 'arm = "a"', 2: 'arms = ["a", "b"]'}


def found(test: str, *sides: list[tuple], better: str = "lower", unit: str = "split", absent: tuple = ()) -> TestResult:
    """What ``test`` measures of ``sides``, each a list of (split, rel, value)."""
    c = comparison(f'test = "{test}"\n{SIDES[len(sides)]}\nunit = ["{unit}"]\nbetter = "{better}"\n')
    read = [units(side, absent if k == 0 else (), KEYS) for k, side in enumerate(sides)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return measured(c, read, [name for name, _ in c.sides])


@pytest.mark.parametrize(
    ("test", "sides", "n"),
    [
        ("median", [[]], 0),
        ("mean_ranks", [[("u", "0", 1.0)], [("u", "0", 2.0)]], 1),
        ("improvement", [[("u", "0", 1.0)], [("v", "0", 2.0)]], 0),
        ("interquartile_mean", [[]], 0),
        ("profile", [[("u", "0", INFINITE)], [("u", "0", INFINITE)]], 0),
    ],
)
def test_too_few_units_leave_an_estimate_uncomputed(test, sides, n):
    result = found(test, *sides)
    assert (result.method, result.computed, result.effect, result.p) == (TOO_FEW, False, None, None)
    assert (result.n, result.n_nonzero, result.ties) == (n, n, 0)


@pytest.mark.parametrize("n", [2, 3])
def test_mean_ranks_begin_with_the_better_side(n):
    """On every unit a is lower: no draw of units changes a rank, and the interval has no width."""
    a, b = ([(str(k), "0", x + k) for k in range(n)] for x in (0.0, 0.5))
    for better, first, second in (("lower", 1.0, 2.0), ("higher", 2.0, 1.0)):
        result = found("mean_ranks", a, b, better=better)
        assert (result.n, result.computed) == (n, True)
        for part in ("mean_ranks", "mean_rank_low", "mean_rank_high"):
            assert result.details[part] == {"a": first, "b": second}


def test_the_median_of_six_units_lies_in_their_range():
    """Order statistics: both ends of six values miss the median with probability 2 / 2^6."""
    result = found("median", [(str(k), "0", float(k * k)) for k in range(1, 7)])
    assert (result.effect, result.low, result.high, result.level) == (12.5, 1.0, 36.0, 1 - 2 / 64)
    assert result.details == {"mean": pytest.approx(91 / 6), "lowest": 1.0, "highest": 36.0}


@pytest.mark.parametrize(("better", "chance", "wins"), [("lower", 13 / 16, (2, 0, 0)), ("higher", 3 / 16, (0, 2, 0))])
def test_the_chance_that_a_run_is_better_is_averaged_over_units(better, chance, wins):
    """On u every run of a is lower; on v two of the four pairs are, and one ties: (1 + 5/8) / 2."""
    a = [("u", "0", 1.0), ("u", "1", 2.0), ("v", "0", 1.0), ("v", "1", 3.0)]
    b = [("u", "0", 3.0), ("u", "1", 4.0), ("v", "0", 3.0), ("v", "1", 2.5)]
    result = found("improvement", a, b, better=better)
    assert result.effect == chance
    assert (result.wins, result.losses, result.draws) == wins
    assert result.effect_name == "probability that a run of a is better"
    assert result.details == {"runs": {"a": 4, "b": 4}, "fewest_runs_per_unit": 2}


def test_units_of_several_keys_are_told_apart_by_all_of_them():
    """Of four units of one run each, a is lower on three."""
    a, b = ([(s, r, x) for (s, r), x in zip(("u0", "u1", "v0", "v1"), values, strict=True)]
            for values in ((1.0, 1.0, 1.0, 3.0), (2.0, 2.0, 2.0, 2.0)))  # fmt: skip
    result = found("improvement", a, b, unit='split", "rel')
    assert (result.n, result.effect, result.wins, result.losses) == (4, 0.75, 3, 1)


def test_units_are_drawn_in_the_order_of_their_keys():
    """Otherwise the draws of a seed would go to one unit today and to another tomorrow."""
    assert sorted([("b",), ("a",), (None,)], key=_order) == [(None,), ("a",), ("b",)]
    assert sorted([("b", None), ("a", "2"), ("b", "1"), ("a", "10")], key=_order) == [
        ("a", "10"), ("a", "2"), ("b", None), ("b", "1")
    ]  # fmt: skip


def test_a_unit_without_a_key_is_a_unit_like_others():
    a, b = ([(None, "0", x), ("u", "0", 1.0)] for x in (1.0, 2.0))
    result = found("improvement", a, b)
    assert (result.n, result.effect) == (2, 0.75)
    assert (result.wins, result.losses, result.draws) == (1, 0, 1)


def test_runs_that_are_absent_are_named_and_partial_where_the_unit_has_others():
    result = found(
        "improvement", [("u", "0", 1.0)], [("u", "0", 2.0)], absent=(("u", "1", "failed"), ("v", "0", "refused", True))
    )
    assert result.dropped == (Dropped("u/1", "a: failed", False, True), Dropped("v/0", "a: refused", True, False))


def test_the_middle_half_of_all_runs_is_averaged():
    result = found("interquartile_mean", [("u", str(k), x) for k, x in enumerate((0.0, 2.0, 4.0, 100.0))])
    assert result.effect == 3.0


def test_infinite_runs_are_beyond_the_middle_half_and_the_interval_says_so():
    """Two of eight runs are infinite: a draw of them can have four, and then its middle half has no finite mean."""
    runs = [("u", str(k), x) for k, x in enumerate((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, INFINITE, INFINITE))]
    result = found("interquartile_mean", runs)
    assert result.effect == 3.5
    assert result.low is not None
    assert 0.0 < result.low < 3.5
    assert result.high is None


def test_what_is_infinite_or_no_number_is_absent():
    """Half the runs are minus infinity and half infinity: no middle half of them has a mean, and no interval an end."""
    runs = [("u", str(k), INFINITE * (-1) ** k) for k in range(8)]
    for test in ("interquartile_mean", "median"):
        result = found(test, runs)
        assert (result.effect, result.low, result.high) == (None, None, None)
    assert result.details == {"mean": None, "lowest": None, "highest": None}
    result = found("median", [("u", str(k), x) for k, x in enumerate((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, INFINITE))])
    assert (result.effect, result.low, result.high) == (
        3.0,
        0.0,
        None,
    )  # 2 * 2^-7 is below 0.05: from the lowest to the highest
    assert result.details == {"mean": None, "lowest": 0.0, "highest": None}


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_a_profile_is_the_share_of_runs_beyond_each_threshold(better):
    a, b = [("u", "0", 0.0), ("v", "0", 1.0)], [("u", "0", 0.25), ("v", "0", 0.75)]
    result = found("profile", a, b, better=better)
    assert result.effect_name == f"share of runs {'below' if better == 'lower' else 'above'} a threshold"
    details, thresholds = result.details, np.linspace(0.0, 1.0, THRESHOLDS)
    assert details["thresholds"] == thresholds.tolist()
    assert details["thresholds"][1] == 0.01
    for name, values in (("a", (0.0, 1.0)), ("b", (0.25, 0.75))):
        beyond = [np.mean([x < t if better == "lower" else x > t for x in values]) for t in thresholds]
        assert details["share"][name] == pytest.approx(beyond)


def test_an_infinite_run_of_a_profile_is_above_every_threshold():
    a, b = [("u", "0", 0.0), ("v", "0", INFINITE)], [("u", "0", 0.5), ("v", "0", 1.0)]
    details = found("profile", a, b).details
    assert details["thresholds"] == np.linspace(0.0, 1.0, THRESHOLDS).tolist()
    assert details["share"]["a"] == [0.0, *[0.5] * (THRESHOLDS - 1)]


def test_two_infinite_means_are_a_draw():
    a, b = [("u", "0", INFINITE)], [("u", "0", INFINITE)]
    result = found("improvement", a, b)
    assert (result.effect, result.wins, result.losses, result.draws) == (0.5, 0, 0, 1)
    result = found("improvement", [*a, ("u", "1", -INFINITE)], [*b, ("u", "1", 0.0)])  # a mean of both infinities
    assert (result.effect, result.wins, result.losses, result.draws) == (0.625, 0, 0, 1)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_means_of_runs_that_are_equal_as_printed_are_a_draw(better):
    """0.1 and 0.7 have the mean of 0.3 and 0.5, and their doubles have not."""
    a = [("u", str(k), x) for k, x in enumerate((0.1, 0.7))]
    b = [("u", str(k), x) for k, x in enumerate((0.3, 0.5))]
    for sides in ((a, b), (b, a)):
        result = found("improvement", *sides, better=better)
        assert (result.effect, result.wins, result.losses, result.draws) == (0.5, 0, 0, 1)

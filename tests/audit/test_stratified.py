"""Estimates over runs and units, against closed forms and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, rankdata, trim_mean

from orledger.audit.statistics import stratified
from orledger.audit.statistics.stratified import Draws, improvement, interquartile_mean, mean_ranks, profile

rng = np.random.default_rng(7)
X = [rng.normal(size=n).round(1) for n in (5, 4, 6)]
Y = [rng.normal(size=n).round(1) - 0.2 for n in (5, 5, 3)]


def test_the_probability_of_improvement_is_the_mean_of_mann_whitney_shares():
    expected = np.mean([mannwhitneyu(a, b).statistic / (a.size * b.size) for a, b in zip(X, Y, strict=True)])
    found = improvement(X, Y)
    assert float(found.value) == pytest.approx(expected, abs=1e-12)
    assert found.low <= found.value <= found.high
    assert float(improvement(Y, X).value) == pytest.approx(1 - expected, abs=1e-12)


def test_runs_that_never_differ_leave_no_width():
    same = [np.full(3, 1.0), np.full(2, 5.0)]
    below = [np.zeros(3), np.zeros(2)]
    found = improvement(same, below)
    assert (float(found.value), float(found.low), float(found.high)) == (1.0, 1.0, 1.0)
    assert float(improvement(same, same).value) == 0.5


def test_the_interquartile_mean_is_scipys_trimmed_mean():
    assert float(interquartile_mean(X).value) == trim_mean(np.concatenate(X), 0.25)


def test_a_profile_counts_runs_above():
    found = profile([np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 10.0])], np.array([-1.0, 1.0, 2.5, 10.0]))
    assert found.value.tolist() == [1.0, (0.75 + 0.5) / 2, (0.5 + 0.5) / 2, 0.0]
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


def test_the_bootstrap_interval_of_a_mean_rank_covers_it_as_often_as_it_says():
    """With two arms and fair coins the mean rank is 1.5; a 90 % interval should hold it about 90 times in 100."""
    draws = np.random.default_rng(1).normal(size=(200, 25, 2))
    inside = [bool(e.low[0] <= 1.5 <= e.high[0]) for e in (mean_ranks(m, 0.9) for m in draws)]
    assert 0.83 <= np.mean(inside) <= 0.97
    m = draws[0]
    assert mean_ranks(m).value.tolist() == rankdata(m, axis=1).mean(axis=0).tolist()


def compared(x, y) -> list[float]:
    """The draws as the method says, arm by arm and unit by unit, and every pair of runs of each compared: both ends."""
    generator, shares = np.random.default_rng(stratified.SEED), []
    for a, b in zip(x, y, strict=True):
        left, right = (r[generator.integers(r.size, size=(stratified.DRAWS, r.size))] for r in (a, b))
        over, same = left[:, :, None] > right[:, None, :], left[:, :, None] == right[:, None, :]
        shares.append(over.mean(axis=(1, 2)) + same.mean(axis=(1, 2)) / 2)
    return np.quantile(np.mean(shares, axis=0), [0.025, 0.975]).tolist()


def passed(x, thresholds) -> list[list[float]]:
    """The same for the shares of runs above thresholds."""
    generator = np.random.default_rng(stratified.SEED)
    drawn = [r[generator.integers(r.size, size=(stratified.DRAWS, r.size))] for r in x]
    shares = np.mean([(d[:, :, None] > thresholds).mean(axis=1) for d in drawn], axis=0)
    return np.quantile(shares, [0.025, 0.975], axis=0).tolist()


def test_the_bootstrap_of_an_improvement_compares_every_run_with_every_other():
    found = improvement(X, Y)
    assert [float(found.low), float(found.high)] == compared(X, Y)


@pytest.mark.parametrize("kept", [0, 25_000, 10**9])  # nothing, the first unit, everything
def test_draws_that_are_shared_are_those_of_each_estimate_alone(monkeypatch: pytest.MonkeyPatch, kept: int):
    """Arms of as many runs take what was drawn for others; arms of other numbers of runs, and profiles, do not."""
    monkeypatch.setattr(stratified, "KEPT", kept)
    draws, fewer, thresholds = Draws(), [r[1:] for r in Y], np.array([-0.5, 0.0, 0.7])
    one, other = [np.array([0.3]), *X[1:]], [np.array([0.1]), *Y[1:]]  # a unit that is not redrawn
    for a, b in ((X, Y), ([-r for r in X], Y), (X, fewer), (one, other), (one, other), (X, Y), (Y, X)):
        found = improvement(a, b, draws=draws)
        assert [float(found.low), float(found.high)] == compared(a, b)
    for a in (X, [-r for r in X], Y, one):
        generator = np.random.default_rng(stratified.SEED)
        drawn = [r[generator.integers(r.size, size=(stratified.DRAWS, r.size))] for r in a]
        middle = trim_mean(np.concatenate(drawn, axis=1), 0.25, axis=1)
        found = interquartile_mean(a, draws=draws)
        np.testing.assert_allclose([found.low, found.high], np.quantile(middle, [0.025, 0.975]), rtol=1e-12)
        curve = profile(a, thresholds, draws=draws)
        np.testing.assert_allclose([curve.low, curve.high], passed(a, thresholds), rtol=1e-12, atol=1e-12)


def test_what_is_drawn_once_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch):
    """Two draws of 5 of 5 runs and of 4 of 4 take 18 bytes; with the next unit, of 4 and 5, 36."""
    monkeypatch.setattr(stratified, "DRAWS", 2)
    drawn: list[tuple[int, ...]] = []
    real = stratified._redrawn

    def counting(sizes, generator):
        drawn.append(tuple(sizes))
        return real(sizes, generator)

    monkeypatch.setattr(stratified, "_redrawn", counting)
    for kept, again in ((36, []), (35, [(4, 5)]), (17, [(5, 4), (4, 5)])):
        monkeypatch.setattr(stratified, "KEPT", kept)
        draws = Draws()
        for first in (True, False):
            drawn.clear()
            for _ in draws.taken([(5, 4), (4, 5)], stratified._times):
                pass
            assert drawn == ([(5, 4), (4, 5)] if first else again), kept


def test_draws_of_many_runs_take_more_than_a_byte(monkeypatch: pytest.MonkeyPatch):
    """Two draws of 256 runs count up to 256 of one: two bytes each, 1,024 in all."""
    monkeypatch.setattr(stratified, "DRAWS", 2)
    for kept, units in ((1024, 1), (1023, 0)):
        monkeypatch.setattr(stratified, "KEPT", kept)
        draws = Draws()
        for _ in draws.taken([(256,)], stratified._times):
            pass
        assert len(draws.units) == units
    (which,) = stratified._which([np.arange(300)[None]])
    assert which.tolist() == [list(range(300))]


@pytest.mark.parametrize(("n", "m"), [(50_000, 50_000), (2**15, 2**16)])
def test_more_pairs_of_runs_than_an_int32_counts(n, m):
    """50,000 runs that all exceed 50,000 others: 2.5e9 pairs, all won. 2^31 pairs are one too many."""
    a, b = np.ones((n, 1), dtype=np.uint8), np.ones((m, 1), dtype=np.uint8)
    assert stratified._exceeds(np.full(n, 2.0), np.full(m, 1.0), a, b).tolist() == [1.0]
    assert stratified._exceeds(np.full(n, 1.0), np.full(m, 1.0), a, b).tolist() == [0.5]


def test_a_draw_of_more_than_may_be_held_at_once_comes_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stratified, "MOST", 1)
    drawn = [len(picks) for (picks,) in stratified._redrawn((2,), np.random.default_rng(0))]
    assert drawn == [1] * stratified.DRAWS


@pytest.mark.parametrize("most", [200, 5000])
def test_how_many_draws_are_held_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch, most: int):
    asked = [
        lambda: improvement(X, Y),
        lambda: interquartile_mean(X),
        lambda: profile(X, np.linspace(-1, 1, 5)),
        lambda: mean_ranks(np.column_stack([X[0], Y[0]])),
    ]
    whole = [ask() for ask in asked]
    monkeypatch.setattr(stratified, "MOST", most)
    for ask, before in zip(asked, whole, strict=True):
        after = ask()
        assert (after.low.tolist(), after.high.tolist()) == (before.low.tolist(), before.high.tolist())


def test_an_end_between_two_infinite_draws_is_infinite():
    """Quartiles of four infinities and of (1, 2, 3, 4), by hand: what is half-way between two infinities is no NaN."""
    drawn = np.array([[np.inf, 1.0], [np.inf, 2.0], [np.inf, 3.0], [np.inf, 4.0]])
    found = stratified._estimate(0.0, drawn, 0.5)
    assert found.low.tolist() == [np.inf, 1.75]
    assert found.high.tolist() == [np.inf, 3.25]


@pytest.mark.parametrize(
    ("drawn", "level", "low", "high"),
    [
        # Of three draws the ends stand at (1 - level) and 1 + level half-steps: at 0.5 and 1.5 of a step, or at 0.2 and 1.8.
        ((0, 1, np.inf), 0.5, 0.5, np.inf),
        ((0, 1, np.inf), 0.8, 0.2, np.inf),
        ((-np.inf, 0, 1), 0.5, -np.inf, 0.5),
        ((-np.inf, 0, 1), 0.8, -np.inf, 0.8),
        ((0, np.inf, np.inf), 0.5, 0, np.inf),
        ((0, np.inf, np.inf), 0.8, 0, np.inf),
        ((-np.inf, -np.inf, 0), 0.5, -np.inf, 0),
        ((-np.inf, -np.inf, 0), 0.8, -np.inf, 0),
        ((-np.inf, 3, np.inf), 0.5, -np.inf, np.inf),
        ((3, 4, np.nan), 0.5, -np.inf, np.inf),  # sorted from below it may come first, from above last
        ((np.nan, np.nan, np.nan), 0.5, -np.inf, np.inf),
        ((-1.5e308, 1.5e308, 1.5e308), 0.5, -1.5e308, 1.5e308),  # farther apart than a double can say
    ],
)
def test_an_end_beside_an_infinite_draw_lies_outwards(drawn, level, low, high):
    found = stratified._estimate(0.0, np.array(drawn, dtype=float), level)
    assert (float(found.low), float(found.high)) == pytest.approx((low, high))


def test_the_middle_of_runs_that_are_infinite_on_either_side_has_no_ends():
    """A mean of both infinities is no number, and its draws may be anything."""
    both = [np.array([-np.inf, np.inf, 1.0, 2.0])] * 2
    with np.errstate(invalid="ignore"):
        found = interquartile_mean(both)
    assert (float(found.low), float(found.high)) == (-np.inf, np.inf)

"""Slopes against the same fit in fractions, wherever the places lie and in whatever unit; constants, perfect lines, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis_text import comparison

from orledger.audit.evaluation.comparisons import Evaluation, judge
from orledger.audit.evaluation.families import correct_families
from orledger.audit.registry.words import Outcome, Untestable, Variant
from orledger.audit.statistics.slopes import slope
from orledger.errors import DataError

Y = (1.0, 2.0, 2.5, 4.0, 4.2, 5.0)
STEPS = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0)


def root(x: Fraction) -> mpmath.mpf:
    return mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator)


def by_fractions(x, y):
    """Slope, standard error, t, two-sided p and r squared of the least-squares line, rounded at the end alone."""
    with mpmath.workdps(60):
        n = len(x)
        x, y = [Fraction(v) for v in x], [Fraction(v) for v in y]
        u, v = [a - sum(x) / n for a in x], [b - sum(y) / n for b in y]
        sxx, syy = sum(a * a for a in u), sum(b * b for b in v)
        sxy = sum(a * b for a, b in zip(u, v, strict=True))
        b = sxy / sxx
        rest = syy - b * sxy
        se2 = rest / (n - 2) / sxx
        t2, df = b * b / se2, n - 2
        share = mpmath.mpf(df) / (df + mpmath.mpf(t2.numerator) / t2.denominator)
        p = mpmath.betainc(mpmath.mpf(df) / 2, 0.5, 0, share, regularized=True)
        quotient = mpmath.mpf(b.numerator) / b.denominator
        return {
            "effect": float(quotient), "se": float(root(se2)), "t": float(root(t2)) * (1 if b > 0 else -1), "p": float(p),
            "r2": float(sxy * sxy / sxx / syy), "intercept": float(sum(y) / n - b * sum(x) / n),
        }  # fmt: skip


def same(r, want):
    assert r.effect == pytest.approx(want["effect"], rel=1e-14, abs=0)
    assert r.details["se"] == pytest.approx(want["se"], rel=1e-14, abs=0)
    assert r.details["r2"] == pytest.approx(want["r2"], rel=1e-14, abs=0)
    assert r.details["intercept"] == pytest.approx(want["intercept"], rel=1e-14, abs=0)
    assert r.statistic == pytest.approx(want["t"], rel=1e-14, abs=0)
    assert r.p == pytest.approx(want["p"], rel=1e-11, abs=0)


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9, 1.7e9, 1e12, 1e15])
@pytest.mark.parametrize("step", [1.0, 60.0])
def test_an_offset_of_the_places_changes_nothing_but_the_intercept(offset, step):
    x = [offset + step * s for s in STEPS]
    r = slope(x, Y)
    same(r, by_fractions(x, Y))
    at_zero = slope([step * s for s in STEPS], Y)
    assert (r.effect, r.p, r.low, r.high) == (at_zero.effect, at_zero.p, at_zero.low, at_zero.high)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-30, 1e30, 1e200, 1e300])
def test_a_unit_changes_slope_and_error_alone(scale):
    x = [scale * s for s in STEPS]
    same(slope(x, Y), by_fractions(x, Y))
    y = [v * 1e-100 / scale if 1e-250 < scale < 1e250 else v for v in Y]
    same(slope(STEPS, y), by_fractions(STEPS, y))


def test_seconds_of_a_clock():
    """x = 1700000000 + 60 i: in minutes the slope of Y on 0 to 5 is 14.05 / 17.5, by hand, and 60 times less in seconds."""
    r = slope([1_700_000_000 + 60 * i for i in range(6)], Y)
    assert r.effect == pytest.approx(14.05 / 17.5 / 60, rel=1e-14)


def test_an_offset_of_the_values_is_no_slope():
    x = [float(s) for s in STEPS]
    y = [1e9 + v for v in Y]
    same(slope(x, y), by_fractions(x, y))


def test_the_interval_is_that_of_students_law():
    """Three points, one degree of freedom: the quantile of Cauchy's law at 0.9 is tan(0.4 pi). Older versions of SciPy have eleven digits of it."""
    r = slope([1e12, 1e12 + 1, 1e12 + 2], [0, 1, 1], level=0.8)
    half = math.sqrt(1 / 12) * math.tan(0.4 * math.pi)
    assert (r.low, r.high) == (pytest.approx(0.5 - half, rel=1e-9), pytest.approx(0.5 + half, rel=1e-9))


def test_one_side_is_half_and_the_other_the_rest():
    two, up, down = (slope(STEPS, Y, side).p for side in ("two-sided", "greater", "less"))
    assert up == two / 2
    assert down == 1 - two / 2
    fall = [-v for v in Y]
    assert slope(STEPS, fall, "less").p == two / 2
    assert slope(STEPS, fall).statistic == -slope(STEPS, Y).statistic


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([41, 83, 3], [0.812] * 3),
        (range(1, 9), [0.0] * 8),
        (range(4), [0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2]),  # equal as printed
        (range(3), [1e308] * 3),
        (range(3), [-5e-324] * 3),
    ],
)
@pytest.mark.parametrize("side", ["two-sided", "less", "greater"])
def test_a_constant_has_no_slope(x, y, side):
    r = slope(x, y, side)
    assert (r.p, r.floor, r.statistic, r.effect, r.low, r.high, r.level) == (1.0, 1.0, None, None, None, None, None)
    assert (r.method, r.n, r.side, dict(r.details)) == ("no variation", len(y), side, {})


def test_a_difference_beyond_rounding_is_a_slope():
    r = slope([0, 1, 2], [1.0, 1.0, 1.0 + 1e-12])
    same(r, by_fractions([0, 1, 2], [1.0, 1.0, 1.0 + 1e-12]))


def test_a_constant_is_untestable_for_its_ties():
    c = comparison('test = "slope"\nx = { arm = "a" }\ny = { arm = "b" }')
    r = slope(range(8), [0.0] * 8)
    e = Evaluation(c, Variant.DECLARED, True, r, judge(c, r), 0, "")
    assert e.outcome == Outcome.UNTESTABLE
    assert correct_families([e])[0].untestable == Untestable.TIES


@pytest.mark.parametrize(("side", "p"), [("two-sided", 0.0), ("greater", 0.0), ("less", 1.0)])
def test_a_perfect_line_has_the_limit_of_p_and_no_t(side, p):
    r = slope([1, 2, 3, 4], [2, 4, 6, 8], side)
    assert (r.p, r.floor, r.statistic, r.effect, r.low, r.high) == (p, 0.0, None, 2.0, 2.0, 2.0)
    assert r.details == {"se": 0.0, "r2": 1.0, "intercept": 0.0}
    c = comparison('test = "slope"\nx = { arm = "a" }\ny = { arm = "b" }')
    assert judge(c, r) == ("undecided" if p else "greater")
    assert judge(c, slope([1, 2, 3], [-2, -4, -6])) == "less"


def test_slopes_beyond_the_largest_number_are_the_largest_and_below_the_smallest_the_smallest():
    """In exact numbers -2.5e600 and -2.5e-600."""
    most, least = 1.7976931348623157e308, 5e-324
    r = slope([1e-300, 2e-300, 3e-300], [1e300, 2e300, -4e300])
    assert (r.effect, r.low, r.high, r.details["se"]) == (-most, -most, most, most)
    assert slope([1e300, 2e300, 3e300], [1e-300, 2e-300, -4e-300]).effect == -least
    assert slope([-1.7e308, 0.0, 1.7e308], [-1.7e308, 0.0, 1.7e308]).effect == 1.0


def test_a_flat_line_through_values_that_vary():
    r = slope([0, 1, 2, 3], [1.0, 0.0, 0.0, 1.0])
    assert (r.effect, r.p, r.details["r2"], math.copysign(1.0, r.statistic)) == (0.0, 1.0, 0.0, 1.0)
    assert [slope([0, 1, 2, 3], [1.0, 0.0, 0.0, 1.0], side).p for side in ("less", "greater")] == [0.5, 0.5]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(bad):
    for x, y in (([0, 1, bad], [0, 1, 2]), ([0, 1, 2], [0, bad, 2])):
        with pytest.raises(DataError, match="not finite"):
            slope(x, y)

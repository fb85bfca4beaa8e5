"""E-values of signs against mpmath, from few tosses to more than a double can hold."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from orledger.audit.statistics.floors import attainable
from orledger.audit.statistics.powers import power_at
from orledger.audit.statistics.sign import sign_e_value, sign_e_values, sign_test_anytime

LARGEST = 1.7976931348623157e308
SIDES = ("two-sided", "less", "greater")
# 43 of 200 and none of 50 once cancelled to a division by zero; 20 to 23 lost digits; 1030 overflowed.
TOSSES = [
    (n, h)
    for n in (0, 1, 2, 3, 20, 21, 22, 23, 50, 200, 1000, 1029, 1030, 2000, 5000)
    for h in sorted({0, 1, n // 5, 43, n // 3, n // 2, n - n // 3, n - 1, n})
    if 0 <= h <= n
]


def evidence(h: int, n: int, side: str) -> mpmath.mpf:
    """2^n times the mean of p^h (1 - p)^(n - h) over Beta(1/2, 1/2), all of it or the half that the side names."""
    with mpmath.workdps(700):
        a, b = h + mpmath.mpf(0.5), n - h + mpmath.mpf(0.5)
        if side == "two-sided":
            return mpmath.beta(a, b) / mpmath.pi * mpmath.mpf(2) ** n
        a, b = (a, b) if side == "less" else (b, a)
        return 2 * half(a, b) / mpmath.pi * mpmath.mpf(2) ** n


def half(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
    """The integral of x^(a-1) (1-x)^(b-1) from 0 to 1/2, by its binomial series in parts: sum of (a+b)_k / (a)_(k+1) 2^-(a+b+k)."""
    term = mpmath.mpf(2) ** -(a + b) / a
    total, k = term, 0
    while term > total * mpmath.mpf(10) ** -40:
        term *= (a + b + k) / (a + 1 + k) / 2
        total, k = total + term, k + 1
    return total


def test_the_reference_is_an_integral():
    with mpmath.workdps(30):
        want = mpmath.quad(lambda x: x**2.5 * (1 - x) ** -0.5, [0, 0.5])
        assert abs(half(mpmath.mpf(3.5), mpmath.mpf(0.5)) / want - 1) < 1e-12


@pytest.mark.parametrize("side", SIDES)
def test_evidence_is_that_of_many_digits(side):
    for n, h in TOSSES:
        want, got = evidence(h, n, side), sign_e_value(h, n, side)
        if want > LARGEST:
            assert got == LARGEST, (n, h)
        else:
            assert abs(got / want - 1) < 1e-10, (n, h, got)


@pytest.mark.parametrize("side", SIDES)
def test_p_is_the_reciprocal_and_lies_above_zero(side):
    for n, h in TOSSES:
        r = sign_test_anytime(np.r_[np.ones(h), -np.ones(n - h)], side)
        assert 0 < r.e_value <= LARGEST
        assert 0 < r.floor <= r.p <= 1, (n, h)
        assert r.p == pytest.approx(float(min(mpmath.mpf(1), 1 / evidence(h, n, side))), rel=1e-10, abs=1e-307)


def test_the_sides_are_mirrors_and_add_up():
    h = np.arange(201)
    less, greater, both = (sign_e_values(h, 200, side) for side in ("less", "greater", "two-sided"))
    np.testing.assert_allclose(less, greater[::-1], rtol=1e-12)
    np.testing.assert_allclose(less + greater, 2 * both, rtol=1e-12)
    assert (np.diff(greater) > 0).all()


def test_floors_and_power_of_many_tosses_are_numbers():
    assert attainable("sign_anytime", 5000) == attainable("sign_anytime", 5000, side="less") == 1 / LARGEST
    assert power_at("sign_anytime", 1100, 1.0, 0.05, "greater") == 1.0
    assert power_at("sign_anytime", 1100, 0.0, 0.05, "greater") == 0.0

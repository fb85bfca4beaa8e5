"""GRIM, GRIMMER and DEBIT: scrutiny's published examples, and brute force over small samples."""

import itertools
import statistics
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pytest

from orledger.audit.recheck.automatic.granularity import debit, grim, grimmer
from orledger.audit.recheck.rounding import parse_printed

# Means, sample sizes and consistency as published with scrutiny (data pigs1, pigs2, pigs5, pigs3).
PIGS1 = [
    ("7.22", 32, True), ("4.74", 25, False), ("5.23", 29, False), ("2.57", 24, False), ("6.77", 27, False), ("2.68", 28, True),
    ("7.01", 29, False), ("7.38", 26, True), ("3.14", 27, False), ("6.89", 31, False), ("5.00", 25, True), ("0.24", 28, False),
    ("5.19", 28, False), ("5.27", 43, False),
]  # fmt: skip
PIGS2 = [("0.674", False), ("0.542", False), ("0.540", True), ("0.698", False), ("0.681", False), ("0.554", False)]
PIGS5 = [
    ("7.22", "5.30", 38, False), ("4.74", "6.55", 31, True), ("5.23", "2.55", 35, False), ("2.57", "2.57", 30, True),
    ("6.77", "2.18", 33, False), ("2.68", "2.59", 34, True), ("7.01", "6.68", 35, False), ("7.38", "3.65", 32, True),
    ("3.14", "5.32", 33, False), ("6.89", "4.18", 37, True), ("5.00", "2.18", 31, True), ("0.24", "6.43", 34, True),
]  # fmt: skip
PIGS3 = [
    ("0.53", "0.50", True), ("0.44", "0.50", True), ("0.77", "0.42", True), ("0.19", "0.35", False), ("0.34", "0.47", True),
    ("0.93", "0.25", True), ("0.12", "0.33", True),
]  # fmt: skip


@pytest.mark.parametrize(("mean", "n", "possible"), PIGS1)
def test_grim_agrees_with_scrutiny(mean, n, possible):
    assert grim(parse_printed(mean), n) is possible


@pytest.mark.parametrize(("share", "possible"), PIGS2)
def test_grim_of_shares_agrees_with_scrutiny(share, possible):
    assert grim(parse_printed(share), 150) is possible


@pytest.mark.parametrize(("mean", "sd", "n", "possible"), PIGS5)
def test_grimmer_agrees_with_scrutiny(mean, sd, n, possible):
    assert grimmer(parse_printed(mean), parse_printed(sd), n) is possible


@pytest.mark.parametrize(("mean", "sd", "possible"), PIGS3)
def test_debit_agrees_with_scrutiny(mean, sd, possible):
    assert debit(parse_printed(mean), parse_printed(sd), 1683) is possible


def test_grim_works_above_one_and_with_several_items():
    assert grim(parse_printed("12.33"), 3)
    assert not grim(parse_printed("12.34"), 3)
    assert grim(parse_printed("2.50"), 1, items=2)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_grimmer_never_refuses_what_data_give_and_refuses_the_rest(n):
    """Every sample of n whole numbers from 0 to 6, against every pair of printed values in reach."""
    given = {
        (f"{statistics.mean(x):.1f}", f"{statistics.stdev(x):.1f}")
        for x in itertools.combinations_with_replacement(range(7), n)
    }
    for mean, sd in given:
        assert grimmer(parse_printed(mean), parse_printed(sd), n), (mean, sd)
    # Spreads below one keep every number within the range enumerated when the mean is in its middle.
    for mean, sd in itertools.product([f"{m / 10:.1f}" for m in range(25, 36)], [f"{s / 10:.1f}" for s in range(10)]):
        edge = {f"{float(mean):.1f}"}
        wide = any((m, sd) in given for m in edge)
        if not wide and grimmer(parse_printed(mean), parse_printed(sd), n):
            # allowed only on the edge of rounding, where ties round either way
            near = {
                (statistics.mean(x), statistics.stdev(x)) for x in itertools.combinations_with_replacement(range(7), n)
            }
            assert any(abs(m - float(mean)) <= 0.05 + 1e-9 and abs(s - float(sd)) <= 0.05 + 1e-9 for m, s in near), (
                mean,
                sd,
            )


def test_a_deviation_with_divisor_n_is_another_convention():
    """28 whole numbers with the sum 138 and the sum of squares 728 have mean 4.93 and, with divisor n, the deviation 1.31."""
    numbers = [4] * 18 + [5] + [6] * 2 + [7] * 7
    assert (len(numbers), sum(numbers), sum(k * k for k in numbers)) == (28, 138, 728)
    assert (f"{statistics.mean(numbers):.2f}", f"{statistics.pstdev(numbers):.2f}") == ("4.93", "1.31")
    assert not grimmer(parse_printed("4.93"), parse_printed("1.31"), 28)
    assert grimmer(parse_printed("4.93"), parse_printed("1.31"), 28, 28)
    for divisor in (27, 28):
        assert not grimmer(parse_printed("4.64"), parse_printed("1.40"), 28, divisor)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_no_deviation_with_divisor_n_is_refused(n):
    """Every sample of n whole numbers from 0 to 6, and every one of zeros and ones, the last digit rounded up, down and to even."""
    for x in itertools.combinations_with_replacement(range(7), n):
        for rounding in (ROUND_HALF_UP, ROUND_HALF_DOWN, ROUND_HALF_EVEN):
            mean, sd = (
                str(Decimal(repr(v)).quantize(Decimal("0.1"), rounding))
                for v in (statistics.mean(x), statistics.pstdev(x))
            )
            assert grimmer(parse_printed(mean), parse_printed(sd), n, n), (x, mean, sd)
            if max(x) < 2:
                assert debit(parse_printed(mean), parse_printed(sd), n, n), (x, mean, sd)

"""The checks that every entry point of `orledger.recovery` makes, at their ends and in their words, on NumPy and on torch."""

import math
import re

import numpy as np
import pytest

from orledger.errors import DataError
from orledger.recovery import EmptySetError, InputError, Spectral
from orledger.recovery._array import (
    as_float,
    as_numbers,
    divisor,
    gain,
    items,
    like,
    machine_eps,
    multipliers,
    namespace,
    nonnegative,
    number,
    sized,
    tiny,
    together,
)

torch = pytest.importorskip("torch")
pretended = pytest.importorskip("pretended_device").pretended

DOUBLE, SINGLE = np.nextafter(np.inf, 0), 2.0**128
"""The largest numbers of either type, or just above."""


def refused(call, *args, **options):
    with pytest.raises(InputError) as seen:
        call(*args, **options)
    return str(seen.value).partition("\n  what to do")[0]


def test_the_namespace_is_torch_where_any_array_is_a_tensor():
    row, tensor = np.ones(2), torch.ones(2)
    assert [namespace(row), namespace([1.0]), namespace(row, row)] == [np] * 3
    assert [namespace(tensor), namespace(row, tensor), namespace(tensor, row)] == [torch] * 3


def test_arrays_of_one_call_have_the_widest_type_of_all():
    """An array beside a tensor is of double precision; whole numbers have none of their own."""
    single, double, whole, row = torch.ones(2), torch.ones(2).double(), torch.ones(2).int(), np.ones(2)
    for arrays, dtype in (
        ((single, single), torch.float32),
        ((single, double), torch.float64),
        ((double, single), torch.float64),
        ((single, row), torch.float64),
        ((single, whole), torch.float32),
        ((whole, whole), torch.float64),
    ):
        assert [a.dtype for a in together(*arrays)] == [dtype] * 2
    assert together(row, row)[1] is row
    assert together(single, torch.ones(2, dtype=torch.complex64))[1].is_complex()
    assert "masked" in refused(together, single, np.ma.array([1.0, 2.0], mask=[False, True]))


def test_arrays_of_one_call_meet_on_the_device_of_one_of_them():
    with pretended() as device:
        here, there = torch.ones(2), torch.ones(2).to(device)
        for arrays in ((here, there), (there, here)):
            assert [a.device.type for a in together(*arrays)] == [device] * 2


def test_numbers_are_taken_as_they_are():
    row = np.array([1.0, np.inf])
    assert as_numbers(row, "x") is row
    assert as_numbers([1, 2], "x").dtype == np.float64
    assert as_numbers(torch.ones(2, requires_grad=True), "x").requires_grad is False
    assert [as_numbers(torch.ones(2, dtype=t), "x").dtype for t in (torch.float32, torch.float64, torch.int64)] == [
        torch.float32,
        torch.float64,
        torch.float64,
    ]
    for dtype in (torch.float16, torch.bfloat16, torch.complex64):
        assert "has type" in refused(as_numbers, torch.ones(2, dtype=dtype), "x")
    assert "without dense values" in refused(as_numbers, torch.eye(2).to_sparse(), "x")
    assert like([1, 2], torch.ones(1)).dtype == torch.float32
    assert like(torch.ones(2), row).dtype == np.float64


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_the_first_value_that_is_not_finite_is_named(make):
    x = make([[1.0, np.nan], [np.inf, 2.0]])
    assert refused(as_float, x, "x") == "x has 2 non-finite value(s), the first at index (0, 1): nan"
    assert refused(as_float, x[:, :1], "x") == "x has 1 non-finite value(s), the first at index (1, 0): inf"
    assert refused(as_float, x[0, :1], "x", ndim=2) == "x has shape (1,); 2 axes are needed"
    assert as_float(x[0, :1], "x", ndim=1).tolist() == [1.0]


def test_the_first_masked_value_is_named():
    x = np.ma.array(np.ones((2, 2)), mask=[[False, True], [True, False]])
    assert refused(as_float, x, "x") == "x has 2 masked value(s), the first at index (0, 1)"


@pytest.mark.parametrize(
    ("one", "limit"), [(np.ones(2), DOUBLE ** (1 / 6)), (torch.ones(2).double(), DOUBLE ** (1 / 6)), (torch.ones(2), SINGLE**0.25)]
)  # fmt: skip
def test_the_largest_entry_leaves_room_for_products(one, limit):
    """The sixth root of the range, the fourth in single precision, and its reciprocal; of no entries, or zeros, nothing is asked."""
    near = 1e-6
    for size in (limit * (1 - near), (1 + near) / limit, 0.0, -1.0):
        x = one * size
        assert sized(x, "x") is x
    for size in (limit * (1 + near), (1 - near) / limit, -2 * limit):
        said = refused(sized, one * size, "x")
        assert said.startswith(f"the largest entry of x is {abs(size):.3g} in absolute value; ")
        assert said.endswith(f"; between {1 / limit:.0e} and {limit:.0e} is needed")
    assert sized(one[:0], "x").shape == (0,)


def test_the_largest_entry_may_be_the_limit_itself():
    limit = float(np.finfo(float).max) ** (1 / 6)
    for size in (limit, 1 / limit):
        assert sized(np.array([size]), "x").tolist() == [size]


def test_one_real_number_within_its_bounds():
    ends = [
        (2.0, {"low": 2.0}),
        (2.0, {"high": 2.0}),
        (-1.0, {}),
        (np.float64(3), {}),
        (torch.tensor(4.0, requires_grad=True), {}),
    ]
    assert [number(v, "x", **bounds) for v, bounds in ends] == [2.0, 2.0, -1.0, 3.0, 4.0]
    assert number(math.inf, "x", low=0.0, infinite=True) == math.inf
    assert number(-math.inf, "x", infinite=True) == -math.inf
    for value in ("1", b"1", None, 1j, [1.0], np.ma.masked, torch.ones(2), 10**400):
        assert "one real number is needed" in refused(number, value, "x")
    for value, bounds, said in (
        (math.inf, {}, "x = inf; it must be finite"),
        (math.nan, {"infinite": True}, "x = nan; it must be a number"),
        (-1.0, {"low": 0.0}, "x = -1.0; it must be finite and >= 0"),
        (3.0, {"high": 2.0}, "x = 3.0; it must be finite and <= 2"),
        (-1.0, {"low": 0.0, "infinite": True}, "x = -1.0; it must be >= 0"),
        (3.0, {"low": 0.0, "high": 2.0}, "x = 3.0; it must lie in [0, 2]"),
    ):
        assert refused(number, value, "x", **bounds) == said


def test_several_numbers_are_as_many_as_asked_for():
    for values in ((1, 2), [1, 2], np.array([1, 2]), torch.tensor([1, 2])):
        assert items(values, 2, "x") == [1, 2]
    for values in ((1,), [1, 2, 3], np.ones((2, 1)), torch.ones((2, 1)), "ab", 2.0):
        assert refused(items, values, 2, "x").endswith("; 2 numbers are needed")


def test_multipliers_lie_between_zero_and_infinity():
    ref = np.ones(1)
    assert multipliers([0, 1, math.inf], ref).tolist() == [0, 1, math.inf]
    assert multipliers(True, ref, axes=0).tolist() == 1.0
    assert multipliers(np.ones((1, 1)), ref, axes=2).shape == (1, 1)
    for wrong in (-0.5, [1.0, math.nan]):
        assert "negative or not a number" in refused(multipliers, wrong, ref)
    for wrong in ("1", None, 1j):
        assert "mu is not numeric" in refused(multipliers, wrong, ref)
    assert refused(multipliers, np.ones((1, 1)), ref, axes=1) == "mu has shape (1, 1); at most 1 axis is allowed"
    for given in (np.array([2, 1.5])[::-1], np.array([1.5, 2], np.longdouble), torch.tensor([1.5, 2]).half()):
        for kind in (torch.float32, torch.float64):
            found = multipliers(given, torch.ones(1, dtype=kind))
            assert (found.tolist(), found.dtype) == ([1.5, 2.0], kind)
        assert multipliers(given, ref).tolist() == [1.5, 2.0]


def test_bounds_are_zero_or_have_a_fourth_power():
    for value in (0.0, 1e-75, 1.0, 1e75):
        assert nonnegative(value, "eta") == value
    for value in (0.9e-75, 1.1e75):
        assert re.search("between 1e-75 and 1e75", refused(nonnegative, value, "eta"))
    assert refused(nonnegative, -1.0, "eta") == "eta = -1.0; it must be finite and >= 0"


@pytest.mark.parametrize(
    ("one", "eps", "least"), [(np.ones(1), 2.0**-52, 2.0**-511), (torch.ones(1), 2.0**-23, 2.0**-63)]
)
def test_the_units_of_a_type(one, eps, least):
    assert (machine_eps(one), tiny(one)) == (eps, least)


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_gains_and_divisors_have_no_nan(make):
    found = gain(make([0.0, 1e-20, 1.0, 3.0, 1e30, math.inf]))
    assert found.tolist()[2:] == [0.5, 0.75, 1.0, 1.0]
    assert found.tolist()[:2] == pytest.approx([0.0, 1e-20], rel=1e-7)
    assert gain(make([1.7e38 if make is torch.tensor else 1.7e308])).tolist() == [1.0]
    assert divisor(make([0.0, 0.25, 2.0, -1.0])).tolist() == [1.0, 0.25, 2.0, 1.0]


def test_entries_of_a_gram_matrix_are_right_to_two_units():
    """Errors of n entries in a row are dominated by n of them on the diagonal, and as much again for the factorisation."""
    for n in (1, 3):
        spec = Spectral.from_gram(4 * np.eye(n), np.ones(n))
        assert spec.noisy_delta == 2 * n * 2 * 2.0**-52 * 4


def test_input_that_cannot_be_used_and_empty_sets_end_like_unusable_data():
    """The command line's exit codes are documented, and these two are 5 there."""
    assert InputError("x").exit_code == EmptySetError("x", margin=-1.0).exit_code == DataError("x").exit_code == 5

"""The array namespace: the same formulas on NumPy arrays and on torch tensors, and the checks every entry point makes.

torch is never imported here; a tensor can only be passed by a caller that has imported it already.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from orledger.recovery.array_types import Array as Array
from orledger.recovery.array_types import Index as Index
from orledger.recovery.array_types import Numbers as Numbers
from orledger.recovery.errors import InputError

if TYPE_CHECKING:
    import torch


Same = TypeVar("Same", bound=Array)

ENTRY_UNITS = 2.0
"""Entries of G, b and k(x, x) are taken as right to this many rounding units of the root of the two diagonal entries."""


def namespace(*arrays: Numbers) -> Any:
    """The module whose functions act on these arrays: `torch` if any of them is a tensor, else `numpy`."""
    if len(arrays) == 1 and type(arrays[0]) is np.ndarray:  # nearly every call, and there are thousands
        return np
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(a, torch.Tensor) for a in arrays):
        return torch
    return np


def like(x: Numbers, ref: Array) -> Array:
    """`x` as a floating array in the namespace, dtype and device of `ref`, without a gradient."""
    if namespace(ref) is np:
        return np.asarray(to_numpy(x), dtype=np.float64)
    return sys.modules["torch"].as_tensor(x, dtype=ref.dtype, device=ref.device).detach()


def together(*arrays: Numbers) -> tuple[Array, ...]:
    """The arrays of one call in one namespace, type and device: torch if any of them is a tensor, the wider type of all."""
    xp = namespace(*arrays)
    if xp is np:
        return tuple(cast("Array", a) for a in arrays)  # which as_float makes arrays of
    tensors = [a for a in arrays if isinstance(a, xp.Tensor)]
    real = [a.dtype for a in tensors if a.is_floating_point()] + [xp.float64] * (len(tensors) < len(arrays))
    dtype = max(real, key=lambda t: xp.finfo(t).bits) if real else xp.float64
    device = next((a.device for a in tensors if a.device.type != "cpu"), tensors[0].device)
    return tuple(
        cast("Array", a) if _no_dense_numbers(a) else xp.as_tensor(_beside(a), dtype=dtype, device=device)
        for a in arrays
    )


def _beside(a: Numbers) -> Any:
    """A tensor as it is, anything else as an array that torch can read: numbers, writable, without negative strides."""
    if hasattr(a, "detach"):
        return a
    return np.require(_numbers(a, "an array beside tensors"), requirements=["C", "W"])


def _no_dense_numbers(x: Any) -> bool:
    """Whether a tensor is one that `_dense` refuses, whatever stands beside it."""
    xp = sys.modules["torch"]
    if not isinstance(x, xp.Tensor):
        return False
    return (
        x.is_complex()
        or x.is_nested
        or x.is_quantized
        or x.layout is not xp.strided
        or (x.is_meta and type(x) is xp.Tensor)
    )


def unmasked(x: Numbers, what: str) -> None:
    """An InputError that names `what` when `x` is a masked array with something masked: what lies below a mask is no datum."""
    if isinstance(x, np.ma.MaskedArray) and (hidden := np.ma.getmaskarray(x)).any():
        first = tuple(int(i) for i in np.argwhere(hidden)[0])
        raise InputError(
            f"{what} has {int(hidden.sum())} masked value(s), the first at index {first}",
            hint="remove or impute them before building the certificate",
        )


def as_float(given: Numbers, what: str, *, ndim: int | None = None) -> Array:
    """`given` as a finite floating array (float64 for NumPy) with `ndim` axes, or an InputError that names `what`."""
    xp, x = namespace(given), as_numbers(given, what)
    if ndim is not None and x.ndim != ndim:
        raise InputError(f"{what} has shape {tuple(x.shape)}; {ndim} axes are needed")
    bad = ~xp.isfinite(x)
    if bool(bad.any()):
        first = tuple(int(i) for i in np.argwhere(to_numpy(bad))[0])
        raise InputError(
            f"{what} has {int(bad.sum())} non-finite value(s), the first at index {first}: {float(x[first])}",
            hint="remove or impute them before building the certificate",
        )
    return x


def as_numbers(given: Numbers, what: str) -> Array:
    """`given` as a floating array, finite or not, or an InputError that names `what`."""
    return _numbers(given, what) if namespace(given) is np else _dense(cast("torch.Tensor", given), what)


def _numbers(given: Numbers, what: str) -> Array:
    """`given` as a NumPy array of float64, finite or not."""
    unmasked(given, what)
    try:
        x = np.asarray(given)
        if np.iscomplexobj(x):
            raise InputError(f"{what} is complex ({x.dtype})", hint="pass real and imaginary parts as separate rows")
        if x.dtype.kind in "mMSUT":
            raise TypeError(f"its type is {x.dtype}")
        if x.dtype.kind == "O" and (text := next((v for v in x.flat if isinstance(v, (str, bytes))), None)) is not None:
            raise TypeError(f"it holds the text {text!r:.40}")
        with np.errstate(over="ignore"):  # what is too large for float64 becomes infinite, which is refused below
            x = x.astype(np.float64, copy=False)
    except (
        TypeError,
        ValueError,
        RuntimeError,
        OverflowError,
    ) as err:  # RuntimeError: a list of tensors with gradients
        raise InputError(f"{what} is not numeric: {err}", hint="pass an array of real numbers") from None
    return x


def _dense(x: torch.Tensor, what: str) -> Array:
    """`x` as a dense tensor of float64 or float32 without a gradient, finite or not."""
    xp = sys.modules["torch"]
    if x.is_complex() or x.is_quantized or (x.is_floating_point() and xp.finfo(x.dtype).bits < 32):
        raise InputError(f"{what} has type {x.dtype}", hint="pass a tensor of float64 (or float32)")
    if _no_dense_numbers(x):
        raise InputError(
            f"{what} is a tensor without dense values ({x.layout}, device {x.device})", hint="pass a dense tensor"
        )
    return (x if x.is_floating_point() else x.to(xp.float64)).detach()


def on_host(given: Numbers, what: str) -> Numbers:
    """`given` as scikit-learn reads it: a tensor as an array of the host without its gradient, anything else as it is."""
    unmasked(given, what)
    return given if namespace(given) is np else to_numpy(_dense(cast("torch.Tensor", given), what))


def sized(x: Same, what: str) -> Same:
    """`x`, when its largest entry leaves room for the products that certificates are made of; an InputError otherwise.

    Squares of squares are formed on the way: beyond the sixth root of the range (fourth, in single precision) they would
    silently become 0 or infinite.
    """
    xp = namespace(x)
    info = xp.finfo(x.dtype)
    size = float(xp.abs(x).max()) if math.prod(x.shape) else 0.0
    limit = float(info.max) ** (1 / 6 if info.bits >= 64 else 1 / 4)
    if size and not 1 / limit <= size <= limit:
        raise InputError(
            f"the largest entry of {what} is {size:.3g} in absolute value; between {1 / limit:.0e} and {limit:.0e} is needed",
            hint=f"divide {what} by {size:.3g} and state the other quantities in the same unit",
        )
    return x


def to_numpy(x: Numbers) -> np.ndarray:
    """`x` on the host as a NumPy array."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def number(value: Any, what: str, *, low: float = -math.inf, high: float = math.inf, infinite: bool = False) -> float:
    """`value` as a float in [low, high] that is finite unless `infinite` is allowed, or an InputError that names `what`."""
    try:
        value = value.detach() if hasattr(value, "detach") else value
        if isinstance(value, (str, bytes)) or np.ma.is_masked(value) or np.iscomplexobj(value) or np.ndim(value):
            raise TypeError
        value = float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError: a tensor of several values
        raise InputError(f"{what} = {value!r:.60}; one real number is needed") from None
    if not low <= value <= high or (math.isinf(value) and not infinite):
        bounds = [f">= {low:g}"] * (low > -math.inf) + [f"<= {high:g}"] * (high < math.inf)
        if len(bounds) == 2:
            raise InputError(f"{what} = {value}; it must lie in [{low:g}, {high:g}]")
        raise InputError(
            f"{what} = {value}; it must be {' and '.join(['finite'] * (not infinite) + bounds) or 'a number'}"
        )
    return value


def items(values: Any, count: int, what: str) -> list[Any]:
    """The `count` entries of a tuple, a list, or an array or tensor of one axis, or an InputError that names `what`."""
    values = as_numbers(values, what) if hasattr(values, "detach") else values
    values = to_numpy(values) if hasattr(values, "detach") else values
    flat = isinstance(values, (tuple, list)) or (isinstance(values, np.ndarray) and values.ndim == 1)
    if not flat or len(values) != count:
        raise InputError(f"{what} = {values!r:.60}; {count} numbers are needed")
    return list(values)


def multipliers(mu: Numbers, ref: Array, *, axes: int | None = None) -> Array:
    """`mu` = 1/nugget as an array like `ref` with values in [0, inf] and at most `axes` axes; an InputError otherwise."""
    unmasked(mu, "mu")
    try:
        host = np.asarray(to_numpy(mu))
        if host.dtype.kind not in "fiub":
            raise TypeError(f"its type is {host.dtype}")
        with np.errstate(over="ignore"):
            host = host.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as err:
        raise InputError(f"mu is not numeric: {err}", hint="pass numbers between 0 and infinity") from None
    if not (host >= 0).all():
        raise InputError(
            "mu has a value that is negative or not a number", hint="mu = 1/nugget lies between 0 and infinity"
        )
    if axes is not None and host.ndim > axes:
        raise InputError(f"mu has shape {host.shape}; at most {axes} axis is allowed")
    return like(host, ref)


def nonnegative(value: float, what: str) -> float:
    """`value` as a float that is finite and not below zero, with a square in range, or an InputError that names `what`."""
    value = number(value, what, low=0.0)
    if value and not 1e-75 <= value <= 1e75:  # fourth powers are formed on the way
        raise InputError(
            f"{what} = {value}; 0 or a number between 1e-75 and 1e75 is needed",
            hint="state the problem in another unit",
        )
    return value


def machine_eps(x: Array) -> float:
    """The relative rounding unit of the array's dtype."""
    return _limits(namespace(x), x.dtype)[0]


def gain(x: Array) -> Array:
    """X / (1 + x) for x in [0, inf]: exact for small x, 1 at infinity, without a NaN on the way."""
    xp = namespace(x)
    x = xp.clip(x, None, float(xp.finfo(x.dtype).max))
    return x / (1 + x)


def divisor(x: Array) -> Array:
    """`x` where it is positive and 1 elsewhere, where what it divides is zero or not used."""
    xp = namespace(x)
    return xp.where(x > 0, x, xp.ones_like(x))


def tiny(x: Array) -> float:
    """A positive number whose square is still representable in the array's dtype: a guard for divisions, never a result."""
    return _limits(namespace(x), x.dtype)[1]


@lru_cache
def _limits(xp: Any, dtype: Any) -> tuple[float, float]:
    """(rounding unit, root of the smallest normal number) of a type."""
    info = xp.finfo(dtype)
    return float(info.eps), float(info.tiny) ** 0.5

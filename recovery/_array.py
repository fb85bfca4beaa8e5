"""The array namespace: the same formulas on NumPy arrays and on torch tensors, and the checks every entry point makes.

torch is never imported here; a tensor can only be passed by a caller that has imported it already.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from orledger.recovery.errors import InputError

Array = Any
"""A NumPy array or a torch tensor of float64 (torch also float32); all arrays of one call share namespace and device."""


def namespace(*arrays: Array) -> Any:
    """The module whose functions act on these arrays: `torch` if any of them is a tensor, else `numpy`."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(a, torch.Tensor) for a in arrays):
        return torch
    return np


def like(x: Array, ref: Array) -> Array:
    """`x` as a floating array in the namespace, dtype and device of `ref`."""
    if namespace(ref) is np:
        return np.asarray(x, dtype=np.float64)
    return sys.modules["torch"].as_tensor(x, dtype=ref.dtype, device=ref.device)


def as_float(x: Array, what: str, *, ndim: int | None = None) -> Array:
    """`x` as a finite floating array (float64 for NumPy) with `ndim` axes, or an InputError that names `what`."""
    xp = namespace(x)
    if xp is np:
        try:
            x = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError) as err:
            raise InputError(f"{what} is not numeric: {err}", hint="pass an array of real numbers") from None
    elif not x.is_floating_point():
        x = x.to(xp.float64)
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


def to_numpy(x: Array) -> np.ndarray:
    """`x` on the host as a NumPy array."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def nonnegative(value: float, what: str) -> float:
    """`value` as a float that is finite and not below zero, or an InputError that names `what`."""
    value = float(value)
    if not np.isfinite(value) or value < 0:
        raise InputError(f"{what} = {value}; it must be finite and >= 0")
    return value


def machine_eps(x: Array) -> float:
    """The relative rounding unit of the array's dtype."""
    return float(namespace(x).finfo(x.dtype).eps)


def gain(x: Array) -> Array:
    """X / (1 + x) for x in [0, inf]: exact for small x, 1 at infinity, without a NaN on the way."""
    xp = namespace(x)
    x = xp.clip(x, None, float(xp.finfo(x.dtype).max) / 4)
    return x / (1 + x)


def tiny(x: Array) -> float:
    """A positive number whose square is still representable in the array's dtype: a guard for divisions, never a result."""
    return float(namespace(x).finfo(x.dtype).tiny) ** 0.5

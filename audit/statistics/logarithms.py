"""Decimal logarithms that do not depend on the processor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def log10(values: ArrayLike) -> NDArray[np.float64]:
    """The decimal logarithm of each of ``values``, in their shape; minus infinity for zero, NaN for what is negative or NaN.

    NumPy has one routine for processors with AVX-512 and another for those without, and they differ in the last bit. Where two
    arms differ in their twelfth digit, that bit shows in the difference, and an audit would not be the same everywhere.
    """
    x = np.asarray(values, dtype=float)
    found = [math.log10(v) if v > 0 else -math.inf if v == 0 else math.nan for v in x.ravel().tolist()]
    return np.array(found, dtype=float).reshape(x.shape)

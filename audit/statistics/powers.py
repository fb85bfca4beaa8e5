"""The probability that a test decides, and the units it takes, when one side is better with a given probability."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr
from scipy.stats import binom, norm, rankdata

from orledger.audit.statistics.sign import sign_e_values
from orledger.audit.statistics.signedrank import EXACT_LIMIT, untied_null

if TYPE_CHECKING:
    from numpy.typing import NDArray

KNOWN = ("signed_rank", "sign", "sign_anytime", "mcnemar")
DRAWS = 4000
MOST = 512  # units beyond which the search ends


@lru_cache(maxsize=4096)
def power_at(test: str, n: int, superiority: float, alpha: float, side: str = "two-sided") -> float:
    """The probability that ``test`` rejects at ``alpha`` with ``n`` untied units of which each favours one side with ``superiority``.

    Exact for the sign tests. The signed-rank test also needs the shape of the differences: normal ones, shifted until a
    positive one has that probability, drawn DRAWS times with a fixed seed (right to 0.016).
    """
    if test == "signed_rank":
        return _simulated(n, superiority, alpha, side)
    k = np.arange(n + 1)
    if test == "sign_anytime":
        rejects = sign_e_values(k, n, side) >= 1 / alpha
    else:
        tails = {"less": bdtr(k, n, 0.5), "greater": bdtr(n - k, n, 0.5)}
        rejects = tails.get(side, 2 * np.minimum(tails["less"], tails["greater"])) <= alpha * (1 + 1e-12)
    wanted = 1 - superiority if side == "less" else superiority
    return float(binom.pmf(k, n, wanted)[rejects].sum())


@lru_cache(maxsize=256)
def units_for(test: str, superiority: float, alpha: float, side: str = "two-sided", power: float = 0.8) -> int | None:
    """The fewest units from which on ``power_at`` is at least ``power``; None beyond MOST.

    The power of a test of signs falls at every n that adds a unit and no outcome that rejects, so that a few units fewer can
    do as well: every n up to twice MOST is looked at. That of the signed-rank test is simulated, and taken to rise with n.
    """
    if test != "signed_rank":
        short = [n for n in range(2 * MOST + 1) if power_at(test, n, superiority, alpha, side) < power]
        return None if short[-1] >= MOST else short[-1] + 1
    low, high = 0, 1
    while power_at(test, high, superiority, alpha, side) < power:
        low, high = high, 2 * high
        if low >= MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(test, middle, superiority, alpha, side) >= power else (middle, high)
    return high


def _simulated(n: int, superiority: float, alpha: float, side: str) -> float:
    if n > EXACT_LIMIT:
        return 1.0
    shift = norm.ppf(superiority) * (-1 if side == "less" else 1)
    d = np.random.default_rng(n).normal(shift, 1.0, size=(DRAWS, n))
    ranks: NDArray[np.float64] = rankdata(np.abs(d), axis=1)
    doubled = np.rint(2 * (ranks * (d > 0)).sum(axis=1)).astype(np.int64)
    lower = np.cumsum(untied_null(n))
    tail = {"less": lower, "greater": lower[::-1]}.get(side, 2 * np.minimum(lower, lower[::-1]))
    return float((tail[doubled] <= alpha).mean())

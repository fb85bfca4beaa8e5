"""The exact sign test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest

from orledger.audit.statistics.intervals import METHOD as INTERVAL_METHOD
from orledger.audit.statistics.intervals import median_interval
from orledger.audit.statistics.result import TestResult, check_side, count_wins
from orledger.audit.statistics.signedrank import signed_rank_floor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def fair_coin(heads: int, tosses: int, side: str) -> dict[str, float]:
    """``p`` of ``heads`` among ``tosses`` of a fair coin, exact binomial, and the ``floor`` that as many tosses can reach."""
    p = float(binomtest(heads, tosses, 0.5, alternative=side).pvalue) if tosses else 1.0
    return {"p": p, "floor": signed_rank_floor(tosses, side)}


def sign_test(
    differences: ArrayLike, side: str = "two-sided", *, better: str = "lower", level: float = 0.95
) -> TestResult:
    """The exact binomial test that positive and negative ``differences`` (n,) are equally likely; zeros are dropped."""
    check_side(side)
    d = np.asarray(differences, dtype=float)
    wins, losses, draws = count_wins(d, better)
    plus, m = int((d > 0).sum()), int((d != 0).sum())
    interval = median_interval(d, level)
    return TestResult(
        test="sign",
        method="exact binomial, zeros dropped",
        side=side,
        n=d.size,
        n_nonzero=m,
        ties=0,
        statistic=float(plus),
        statistic_name="number of positive differences",
        **fair_coin(plus, m, side),
        effect=float(np.median(d)) if d.size else None,
        effect_name="median of differences",
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.achieved if interval else None,
        interval_method=INTERVAL_METHOD,
        wins=wins,
        losses=losses,
        draws=draws,
    )

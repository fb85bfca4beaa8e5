"""Straight-line fits with standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.statistics.result import TestResult, check_side
from orledger.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def slope(x: ArrayLike, y: ArrayLike, side: str = "two-sided", *, level: float = 0.95) -> TestResult:
    """The least-squares slope of ``y`` on ``x`` (n,) with its standard error, Student interval, r squared and p against zero."""
    check_side(side)
    from statsmodels.regression.linear_model import OLS  # the whole of statsmodels takes a second more to load

    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.size != b.size or a.size < 3 or np.ptp(a) == 0:
        raise DataError(f"a slope needs at least 3 points at 2 different positions; got {a.size} points")
    fit = OLS(b, np.column_stack([np.ones(a.size), a])).fit()
    low, high = fit.conf_int(alpha=1 - level)[1]
    two_sided = float(fit.pvalues[1])
    one_sided = two_sided / 2 if (fit.params[1] > 0) == (side == "greater") else 1 - two_sided / 2
    return TestResult(
        test="slope",
        method="least squares, Student t",
        side=side,
        n=a.size,
        n_nonzero=a.size,
        ties=0,
        statistic=float(fit.tvalues[1]),
        statistic_name="t of the slope",
        p=two_sided if side == "two-sided" else one_sided,
        floor=0.0,
        effect=float(fit.params[1]),
        effect_name="slope",
        low=float(low),
        high=float(high),
        level=level,
        interval_method="Student t",
        details={"se": float(fit.bse[1]), "r2": float(fit.rsquared), "intercept": float(fit.params[0])},
    )

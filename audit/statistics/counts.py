"""Tests and intervals for counts: Fisher, McNemar, Clopper-Pearson, Holm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest, fisher_exact, hypergeom

from orledger.audit.statistics.result import TestResult, check_side
from orledger.audit.statistics.sign import fair_coin
from orledger.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class ProportionInterval:
    """A Clopper-Pearson interval; ``side`` is two-sided, lower (only ``low`` is informative) or upper."""

    low: float
    high: float
    level: float
    side: str


def clopper_pearson(k: int, n: int, level: float = 0.95, side: str = "two-sided") -> ProportionInterval:
    """The exact interval of a proportion from ``k`` successes in ``n`` trials.

    ``side`` is part of the result: a 95 % two-sided lower end is a 97.5 % one-sided one.
    """
    if not 0 <= k <= n or n < 1:
        raise DataError(f"{k} successes in {n} trials is not a proportion")
    if side not in ("two-sided", "lower", "upper"):
        raise DataError(f"side is {side!r}; use two-sided, lower or upper")
    outside = (1 - level) / 2 if side == "two-sided" else 1 - level
    from statsmodels.stats.proportion import proportion_confint

    low, high = (float(end) for end in proportion_confint(k, n, alpha=2 * outside, method="beta"))
    return ProportionInterval(low if side != "upper" else 0.0, high if side != "lower" else 1.0, level, side)


def proportion(
    k: int, n: int, nominal: float | None = None, *, side: str = "two-sided", level: float = 0.95
) -> TestResult:
    """``k`` of ``n`` units with its Clopper-Pearson interval, and the exact binomial p against ``nominal`` where one is given.

    ``side`` is the alternative for the proportion: greater reports the one-sided lower bound, less the upper one.
    """
    check_side(side)
    interval = clopper_pearson(k, n, level, {"greater": "lower", "less": "upper"}.get(side, "two-sided"))
    p = floor = None
    if nominal is not None:
        p = float(binomtest(k, n, nominal, alternative=side).pvalue)
        floor = min(float(binomtest(j, n, nominal, alternative=side).pvalue) for j in (0, n))
    return TestResult(
        test="proportion",
        method="exact binomial" if nominal is not None else "count with exact interval",
        side=side,
        n=n,
        n_nonzero=n,
        ties=0,
        statistic=float(k),
        statistic_name="number of units",
        p=p,
        floor=floor,
        effect=k / n,
        effect_name="proportion of units",
        low=interval.low,
        high=interval.high,
        level=level,
        interval_method=f"Clopper-Pearson, {interval.side}",
        wins=k,
        losses=n - k,
        draws=0,
        details={"nominal": nominal},
    )


def fisher(a: int, n_a: int, b: int, n_b: int, side: str = "two-sided") -> TestResult:
    """Fisher's exact test that ``a`` of ``n_a`` and ``b`` of ``n_b`` come from one proportion.

    The two-sided p adds all tables no more probable than the one seen. The floor is the smallest p of any table with
    the same margins.
    """
    check_side(side)
    if not (0 <= a <= n_a and 0 <= b <= n_b and n_a and n_b):
        raise DataError(f"{a} of {n_a} and {b} of {n_b} is not a two-by-two table")
    p = float(fisher_exact([[a, n_a - a], [b, n_b - b]], alternative=side).pvalue)
    support = np.arange(max(0, a + b - n_b), min(n_a, a + b) + 1)
    pmf = hypergeom.pmf(support, n_a + n_b, a + b, n_a)
    if side == "two-sided":
        floor = float(pmf[pmf <= pmf.min() * (1 + 1e-7)].sum())
    else:
        floor = float(pmf[0] if side == "less" else pmf[-1])
    return TestResult(
        test="fisher",
        method="exact, two-sided by probability" if side == "two-sided" else "exact",
        side=side,
        n=n_a + n_b,
        n_nonzero=n_a + n_b,
        ties=0,
        statistic=float(a),
        statistic_name="successes in the first group",
        p=min(1.0, p),
        floor=min(1.0, floor),
        effect=a / n_a - b / n_b,
        effect_name="difference of proportions",
        details={"table": [[a, n_a - a], [b, n_b - b]]},
    )


def mcnemar(first_only: int, second_only: int, both: int = 0, neither: int = 0, side: str = "two-sided") -> TestResult:
    """McNemar's exact test for paired events: discordant pairs are a fair coin under the null."""
    check_side(side)
    m = first_only + second_only
    n = m + both + neither
    coin = fair_coin(first_only, m, side)
    return TestResult(
        test="mcnemar",
        method="exact binomial on discordant pairs",
        side=side,
        n=n,
        n_nonzero=m,
        ties=0,
        statistic=float(first_only),
        statistic_name="pairs with the event in the first only",
        p=coin.p,
        floor=coin.floor,
        effect=(first_only - second_only) / n if n else None,
        effect_name="difference of event rates",
        details={"first_only": first_only, "second_only": second_only, "both": both, "neither": neither},
    )


def mcnemar_units(differences: ArrayLike, reduced: str, side: str = "two-sided") -> TestResult:
    """McNemar's test where an independent unit holds several pairs of events: the sign test on the units' differences.

    ``differences`` (n,), one per unit, are event rates of the first minus the second; ``reduced`` says how a unit's
    pairs became one difference. Under the null a unit leans either way with equal probability; a unit that leans neither
    way is dropped. With one pair to a unit this is McNemar's exact test.
    """
    check_side(side)
    d = np.asarray(differences, dtype=float)
    first, second = int((d > 0).sum()), int((d < 0).sum())
    m = first + second
    coin = fair_coin(first, m, side)
    return TestResult(
        test="mcnemar",
        method=f"exact sign test on units ({reduced}), equal units dropped",
        side=side,
        n=d.size,
        n_nonzero=m,
        ties=0,
        statistic=float(first),
        statistic_name="units with the event more often in the first",
        p=coin.p,
        floor=coin.floor,
        effect=float(d.mean()) if d.size else None,
        effect_name="mean over units of the difference of event rates",
        details={"first_more": first, "second_more": second, "equal": d.size - m},
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given."""
    p = np.asarray(p_values, dtype=float)
    # statsmodels' multipletests gives the same numbers and collects garbage in every call: a third of a second each.
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    adjusted = np.empty_like(p)
    adjusted[order] = stepped
    return adjusted.tolist()

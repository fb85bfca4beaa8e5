"""Comparisons that measure and do not test: medians, mean ranks, probabilities of improvement, profiles, interquartile means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.audit.evaluation.pairing import match, unit_name
from orledger.audit.statistics.intervals import METHOD as MEDIAN_METHOD
from orledger.audit.statistics.intervals import median_interval
from orledger.audit.statistics.result import TOO_FEW, Dropped, TestResult, count_wins
from orledger.audit.statistics.stratified import (
    METHOD,
    UNITS_METHOD,
    Draws,
    improvement,
    interquartile_mean,
    mean_ranks,
    profile,
)
from orledger.audit.ties import equalised, step_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from orledger.audit.evaluation.units import Units
    from orledger.audit.registry.hypotheses import Comparison

THRESHOLDS = 101  # points of a profile


def measured(
    comparison: Comparison, units: Sequence[Units], names: Sequence[str], shared: Draws | None = None
) -> TestResult:
    """The estimate that ``comparison`` asks for; it has no p, and too few units leave it uncomputed.

    Comparisons of one audit have ``shared`` draws.
    """
    dropped = _dropped(comparison, units, names)
    if comparison.test == "mean_ranks":
        return _mean_ranks(comparison, units, names)
    if comparison.test == "median":
        return _median(comparison, units[0], dropped)
    strata = [_runs(comparison, u) for u in units]
    common = sorted(set.intersection(*(set(s) for s in strata)), key=_order)
    if not common:
        return _result(comparison, 0, dropped, method=TOO_FEW, computed=False)
    runs = [[s[unit] for unit in common] for s in strata]
    sizes = {name: int(sum(r.size for r in arm)) for name, arm in zip(names, runs, strict=True)}
    sign = 1.0 if comparison.better == "higher" else -1.0
    details: dict[str, Any] = {"runs": sizes, "fewest_runs_per_unit": min(r.size for arm in runs for r in arm)}
    if comparison.test == "improvement":
        x, y = ([sign * r for r in arm] for arm in runs)
        found = improvement(x, y, comparison.level, shared)
        with np.errstate(invalid="ignore"):  # two infinite means are a draw
            means = equalised([[a.mean(), b.mean()] for a, b in zip(*runs, strict=True)])
            wins, losses, draws = count_wins(means[:, 0] - means[:, 1], comparison.better)
        return _result(
            comparison, len(common), dropped, method=METHOD, effect=float(found.value), low=float(found.low),
            high=float(found.high), effect_name=f"probability that a run of {names[0]} is better", details=details,
            interval_method=METHOD, wins=wins, losses=losses, draws=draws,
        )  # fmt: skip
    if comparison.test == "interquartile_mean":
        with np.errstate(invalid="ignore"):  # a draw of both infinities has no mean
            found = interquartile_mean(runs[0], comparison.level, shared)
        return _result(
            comparison, len(common), dropped, method=METHOD, effect=_finite(found.value), low=_finite(found.low),
            high=_finite(found.high), effect_name="interquartile mean of all runs", details=details, interval_method=METHOD,
        )  # fmt: skip
    return _profiles(comparison, runs, names, details, len(common), dropped, shared)


def _profiles(
    comparison: Comparison,
    runs: Sequence[Sequence[NDArray[np.float64]]],
    names: Sequence[str],
    details: dict[str, Any],
    n: int,
    dropped: tuple[Dropped, ...],
    shared: Draws | None,
) -> TestResult:
    """Profiles of all sides on common thresholds; where lower is better, the share of runs below.

    The thresholds lie between finite values; a run that is infinite, such as a ratio to zero, is above all of them.
    """
    sign = 1.0 if comparison.better == "higher" else -1.0
    pooled = np.concatenate([r for arm in runs for r in arm])
    finite = pooled[np.isfinite(pooled)]
    if not finite.size:
        return _result(comparison, 0, dropped, method=TOO_FEW, computed=False)
    thresholds = np.linspace(finite.min(), finite.max(), THRESHOLDS)
    details |= {"thresholds": thresholds.tolist(), "share": {}, "low": {}, "high": {}}
    for name, arm in zip(names, runs, strict=True):
        found = profile([sign * r for r in arm], sign * thresholds, comparison.level, shared)
        for part, values in (("share", found.value), ("low", found.low), ("high", found.high)):
            details[part][name] = values.tolist()
    words = "above" if sign > 0 else "below"
    return _result(
        comparison, n, dropped, method=METHOD, effect_name=f"share of runs {words} a threshold", details=details
    )


def _median(comparison: Comparison, units: Units, dropped: tuple[Dropped, ...]) -> TestResult:
    x = units.values["value"].to_numpy()
    interval = median_interval(x, comparison.level)
    if interval is None:
        return _result(comparison, 0, dropped, method=TOO_FEW, computed=False)
    step = step_of(x) ** 16  # a sum of any number of values stays below the largest number
    with np.errstate(invalid="ignore"):
        middle, mean = np.median(x * step) / step, np.mean(x * step) / step
    return _result(
        comparison, x.size, dropped, method=MEDIAN_METHOD, effect=_finite(middle), effect_name="median over units",
        low=_finite(interval.low), high=_finite(interval.high), interval_method=MEDIAN_METHOD, level=interval.achieved,
        details={"mean": _finite(mean), "lowest": _finite(np.min(x)), "highest": _finite(np.max(x))},
    )  # fmt: skip


def _mean_ranks(comparison: Comparison, units: Sequence[Units], names: Sequence[str]) -> TestResult:
    matched = match(units, names)
    x = matched.matrix
    if x.shape[0] < 2:
        return _result(comparison, x.shape[0], matched.dropped, method=TOO_FEW, computed=False)
    found = mean_ranks(x if comparison.better == "lower" else -x, comparison.level)
    parts = {"mean_ranks": found.value, "mean_rank_low": found.low, "mean_rank_high": found.high}
    details = {part: dict(zip(names, values.tolist(), strict=True)) for part, values in parts.items()}
    return _result(
        comparison, x.shape[0], matched.dropped, method=UNITS_METHOD, effect_name="mean ranks, best first", details=details,
        interval_method=UNITS_METHOD,
    )  # fmt: skip


def _finite(x: ArrayLike) -> float | None:
    """``x`` if it is finite: an interval that reaches infinity has no end there, and what is infinite cannot be printed."""
    return float(x) if np.isfinite(x) else None  # type: ignore[arg-type]


def _order(unit: Sequence[str | None]) -> list[tuple[bool, str]]:
    """By which units are sorted: a key without a value, such as no label, comes first."""
    return [(key is not None, key or "") for key in unit]


def _runs(comparison: Comparison, units: Units) -> dict[tuple[str, ...], NDArray[np.float64]]:
    """The values of every unit."""
    grouped = units.values.group_by(list(comparison.unit)).agg("value")
    return {tuple(row[:-1]): np.asarray(row[-1], dtype=float) for row in grouped.iter_rows()}


def _dropped(comparison: Comparison, units: Sequence[Units], names: Sequence[str]) -> tuple[Dropped, ...]:
    """What is absent, run by run; partial where the unit of the run has others in every arm."""
    keys = [k for k in comparison.unit if k in units[0].keys]
    entered = set.intersection(*(set(u.values.select(keys).iter_rows()) for u in units))
    return tuple(
        Dropped(unit_name(key), f"{n}: {reason}", declined, of in entered)
        for n, u in zip(names, units, strict=True)
        for (*key, reason, declined), of in zip(u.absent.iter_rows(), u.absent.select(keys).iter_rows(), strict=True)
    )


def _result(comparison: Comparison, n: int, dropped: tuple[Dropped, ...], *, method: str, **found: Any) -> TestResult:
    return TestResult(
        test=comparison.test, method=method, side="two-sided", n=n, n_nonzero=n, ties=0, statistic=None, statistic_name="",
        p=None, floor=None, dropped=dropped, **{"level": comparison.level, **found},
    )  # fmt: skip

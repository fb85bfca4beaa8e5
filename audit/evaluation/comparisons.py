"""One registered comparison, evaluated: values fetched, paired, blocked where nested, tested, and judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.evaluation.pairing import Ledger, Matched, Units, effective_unit, load_units, match, unit_name
from orledger.audit.evaluation.preparing import blocked, prepared
from orledger.audit.evaluation.resampled import measured
from orledger.audit.registry.hypotheses import MEASURING
from orledger.audit.registry.quantities import combined_sql
from orledger.audit.statistics.counts import fisher, mcnemar, mcnemar_units, proportion
from orledger.audit.statistics.friedman import friedman
from orledger.audit.statistics.result import Dropped, TestResult
from orledger.audit.statistics.sign import sign_test
from orledger.audit.statistics.signedrank import signed_rank
from orledger.audit.statistics.skillings_mack import skillings_mack
from orledger.audit.statistics.slopes import slope
from orledger.audit.statistics.spearman import spearman

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.audit.registry.hypotheses import Comparison

    Builder = Callable[[str, bool, TestResult], "Evaluation"]

# Below this many units there is nothing to compare: the outcome is missing, not undecided.
FEWEST = {"friedman": 2, "skillings_mack": 2, "spearman": 3, "slope": 3}


@dataclass(frozen=True)
class Evaluation:
    """A test of one comparison in one variant, with its outcome and the query that returns its values."""

    comparison: Comparison
    variant: str
    independent: bool
    result: TestResult
    outcome: str
    bounded: int
    units_sql: str
    p_holm: float | None = None
    family_size: int | None = None
    noise_floor: float | None = None


def evaluate(ledger: Ledger, comparison: Comparison) -> list[Evaluation]:
    """The evaluations of ``comparison``: one, or the blocked and the naive version where values are nested in their unit.

    The version to decide with comes first.
    """
    comparison = replace(comparison, unit=effective_unit(ledger, comparison))
    names = [name for name, _ in comparison.sides]
    units = [load_units(ledger, quantity, comparison.pair) for _, quantity in comparison.sides]
    bounded = sum(
        int(q.bound.marks(u.values["value"].to_numpy()).sum())
        for (_, q), u in zip(comparison.sides, units, strict=True)
        if q.bound
    )
    origin = combined_sql(ledger.surface, comparison.sides, comparison.pair)

    def evaluation(variant: str, independent: bool, result: TestResult) -> Evaluation:
        return Evaluation(comparison, variant, independent, result, judge(comparison, result), bounded, origin)

    if comparison.test == "fisher":
        return _groups(comparison, units, names, evaluation)
    if comparison.test == "proportion":
        return _single(comparison, units[0], evaluation)
    if comparison.test in MEASURING:
        return [evaluation("declared", True, measured(comparison, units, names))]
    matched = prepared(comparison, match(units, names, incomplete=comparison.test == "skillings_mack"), names)
    if not comparison.nested:
        return [evaluation("declared", True, _tested(comparison, matched, names))]
    naive = evaluation("naive", False, _tested(comparison, matched, names))
    if comparison.blocked is None:
        refused = replace(
            naive.result, p=None, method="no p: values are nested in their unit and no blocking rule is declared"
        )
        return [
            replace(
                naive,
                variant="declared",
                result=refused,
                outcome="refused" if naive.outcome != "missing" else "missing",
            )
        ]
    reduced = _tested(comparison, blocked(comparison, matched), names, reduced=True)
    return [evaluation("blocked", True, reduced), naive]


def _tested(comparison: Comparison, matched: Matched, names: list[str], *, reduced: bool = False) -> TestResult:
    """The test on prepared values, with the dropped units attached; an empty result when there are too few units.

    ``reduced`` is true when every row is an independent unit made of several.
    """
    x = matched.matrix
    options = {"side": comparison.side}
    if x.shape[0] < FEWEST.get(comparison.test, 1):
        return _nothing(comparison, x.shape[0], matched.dropped)
    if comparison.test in ("signed_rank", "sign"):
        test = signed_rank if comparison.test == "signed_rank" else sign_test
        d = (x[:, 0] - x[:, 1]) * (comparison.resolution or 1.0)
        result = test(d, better=comparison.better, level=comparison.level, **options)
        if comparison.transform == "log10":
            result = replace(result, effect_name="median of log10 ratios")
    elif comparison.test == "friedman":
        result = friedman(x if comparison.better == "lower" else -x, names, level=comparison.level)
    elif comparison.test == "skillings_mack":
        result = skillings_mack(x if comparison.better == "lower" else -x, names)
    elif comparison.test == "mcnemar" and reduced:
        result = mcnemar_units(x[:, 0] - x[:, 1], f"{comparison.blocked} of the nested differences", **options)
    elif comparison.test == "mcnemar":
        a, b = x[:, 0] > 0, x[:, 1] > 0
        result = mcnemar(int((a & ~b).sum()), int((b & ~a).sum()), int((a & b).sum()), int((~a & ~b).sum()), **options)
    elif comparison.test == "spearman":
        result = spearman(x[:, 0], x[:, 1], **options)
    elif np.ptp(x[:, 0]) == 0:
        return _nothing(comparison, x.shape[0], matched.dropped)
    else:
        result = slope(x[:, 0], x[:, 1], level=comparison.level, **options)
    return replace(result, dropped=matched.dropped)


def _groups(comparison: Comparison, units: list[Units], names: list[str], evaluation: Builder) -> list[Evaluation]:
    """Fisher's test on the share of events in two groups of units; nested units are reduced by majority of their values."""
    counts = []
    dropped = tuple(
        Dropped(unit_name(r[:-1]), f"{n}: {r[-1]}")
        for n, u in zip(names, units, strict=True)
        for r in u.absent.iter_rows()
    )
    for u in units:
        values = u.values
        if comparison.nested and comparison.blocked is not None:
            values = values.group_by(list(comparison.unit), maintain_order=True).agg(
                (pl.col("value").mean() > 0.5).cast(pl.Float64)
            )
        counts.append((int((values["value"] != 0).sum()), values.height))
    (a, n_a), (b, n_b) = counts
    if not (n_a and n_b):
        return [evaluation("declared", True, _nothing(comparison, n_a + n_b, dropped))]
    result = replace(fisher(a, n_a, b, n_b, comparison.side), dropped=dropped)
    if comparison.nested and comparison.blocked is not None:
        rule = "a unit has the event when more than half of its values have it"
        result = replace(result, method=f"{result.method}; {rule}")
    if comparison.nested and comparison.blocked is None:
        return [
            replace(
                evaluation("declared", False, replace(result, p=None, method="no p: values are nested in their unit")),
                outcome="refused",
            )
        ]
    return [evaluation("blocked" if comparison.nested else "declared", True, result)]


def _single(comparison: Comparison, units: Units, evaluation: Builder) -> list[Evaluation]:
    """How many units have the event; where the quantity sums points of a cell, the points are pooled and marked as nested."""
    dropped = tuple(Dropped(unit_name(r[:-1]), r[-1]) for r in units.absent.iter_rows())
    pooled = comparison.sides[0][1].over_idx == "sum"
    k = round(units.values["value"].sum()) if pooled else int((units.values["value"] != 0).sum())
    n = int(units.values["points"].sum()) if pooled else units.values.height
    if n == 0:
        return [evaluation("declared", True, _nothing(comparison, 0, dropped))]
    result = replace(
        proportion(k, n, comparison.nominal, side=comparison.side, level=comparison.level), dropped=dropped
    )
    return [evaluation("naive" if pooled else "declared", not pooled, result)]


def _nothing(comparison: Comparison, n: int, dropped: tuple[Dropped, ...]) -> TestResult:
    return TestResult(
        test=comparison.test, method="not computed: too few units", side=comparison.side, n=n, n_nonzero=0, ties=0,
        statistic=None, statistic_name="", p=None, floor=None, dropped=dropped,
    )  # fmt: skip


def judge(comparison: Comparison, result: TestResult, p: float | None = None, floor: float | None = None) -> str:
    """The outcome of a test at the comparison's alpha; ``p`` and ``floor`` replace the test's own after a correction.

    A floor above alpha makes the comparison untestable whatever the data say.
    """
    p = result.p if p is None else p
    floor = result.floor if floor is None else floor
    if result.method.startswith("not computed"):
        return "missing"
    if p is None:
        return "measured"
    if floor is not None and floor > comparison.alpha:
        return "untestable"
    if p > comparison.alpha:
        return "undecided"
    if result.test in ("friedman", "skillings_mack"):
        return "different"
    return "less" if _direction(comparison, result) < 0 else "greater"


def _direction(comparison: Comparison, result: TestResult) -> float:
    """Negative when the first side lies below the second, by the statistic that decided."""
    assert result.statistic is not None
    m = result.n_nonzero
    if result.test == "signed_rank":
        return result.statistic - m * (m + 1) / 4
    if result.test in ("sign", "mcnemar"):
        return result.statistic - m / 2
    if result.test == "proportion":
        return (result.effect or 0.0) - (comparison.nominal or 0.0)
    return result.effect or 0.0

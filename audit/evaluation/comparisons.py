"""One registered comparison, evaluated: values fetched, paired, blocked where nested, tested, and judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.evaluation.bounds import both
from orledger.audit.evaluation.counting import in_groups, nothing, share
from orledger.audit.evaluation.pairing import Matched, match, unit_name
from orledger.audit.evaluation.planned import UNFIXED, Fixed, fixed_units
from orledger.audit.evaluation.preparing import blocked, differences, prepared
from orledger.audit.evaluation.refusals import counted
from orledger.audit.evaluation.resampled import measured
from orledger.audit.evaluation.units import UnitReader, effective_unit, load_units
from orledger.audit.registry.hypotheses import MEASURING
from orledger.audit.registry.quantities import combined_sql
from orledger.audit.registry.words import Margin, Outcome, Refusals, Untestable, Variant
from orledger.audit.statistics.clusters import cluster_sign_flip
from orledger.audit.statistics.counts import mcnemar, mcnemar_units
from orledger.audit.statistics.equivalence import Posterior, Within, bayesian_signed_rank, within_margin
from orledger.audit.statistics.friedman import friedman
from orledger.audit.statistics.sign import sign_p, sign_test, sign_test_anytime
from orledger.audit.statistics.signedrank import signed_rank, signed_rank_p
from orledger.audit.statistics.skillings_mack import skillings_mack
from orledger.audit.statistics.slopes import slope
from orledger.audit.statistics.spearman import spearman
from orledger.audit.statistics.stratified import Draws

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orledger.audit.evaluation.counting import Builder
    from orledger.audit.registry.hypotheses import Comparison
    from orledger.audit.registry.known import RegisteredUnits
    from orledger.audit.statistics.result import TestResult

TESTS = {"signed_rank": signed_rank, "sign": sign_test, "sign_anytime": sign_test_anytime}

# Below this many units there is nothing to compare: the outcome is missing, not undecided.
FEWEST = {"friedman": 2, "skillings_mack": 2, "spearman": 3, "slope": 3}


@dataclass(frozen=True)
class Evaluation:
    """A test of one comparison in one variant, with its outcome and the query that returns its values.

    ``within`` holds the one-sided p-values against the declared margin, ``shown`` what they show, ``posterior`` the Bayesian
    answer with the margin as region of practical equivalence. ``unit_values`` names, for each key of the unit, how many
    values it takes: "5 dataset". ``fixed`` is the number of units it is held to: as registered, or as planned.
    """

    comparison: Comparison
    variant: Variant
    independent: bool
    result: TestResult
    outcome: Outcome
    bounded: int
    units_sql: str
    p_holm: float | None = None
    family_size: int | None = None
    noise_floor: float | None = None
    within: Within | None = None
    posterior: Posterior | None = None
    shown: tuple[Margin, ...] = ()
    untestable: Untestable | None = None
    unit_values: tuple[str, ...] = ()
    bounds_agree: bool = True
    fixed: Fixed = UNFIXED


def evaluate(ledger: UnitReader, comparison: Comparison, known: RegisteredUnits | None = None) -> list[Evaluation]:
    """The evaluations of ``comparison``: the one to decide with first, then the naive one where values are nested in their
    unit, then the one that flips whole coarser units. ``known`` is what was stored about it when it was registered.
    """
    declared, unit = comparison.unit, effective_unit(ledger, comparison)
    # A setting that frees the values leaves the declared unit as the coarser one.
    coarser = declared if unit != declared and not comparison.coarser else comparison.coarser
    comparison = replace(comparison, unit=unit, coarser=coarser)
    fixed = fixed_units(ledger, comparison, known)
    if comparison.refusals != Refusals.BOUNDS:
        return [replace(e, fixed=fixed) for e in _evaluated(ledger, comparison)]
    bounds = [_evaluated(ledger, comparison, sign) for sign in (1, -1)]
    return [replace(both(a, b), fixed=fixed) for a, b in zip(*bounds, strict=True)]


def _evaluated(ledger: UnitReader, comparison: Comparison, sign: int = 1) -> list[Evaluation]:
    """The evaluations with one way of counting refusals."""
    names = [name for name, _ in comparison.sides]
    units = [load_units(ledger, quantity, comparison.pair) for _, quantity in comparison.sides]
    bounded = sum(
        int(q.bound.marks(u.values["value"].to_numpy()).sum())
        for (_, q), u in zip(comparison.sides, units, strict=True)
        if q.bound
    )
    origin = combined_sql(ledger.surface, comparison.sides, comparison.pair)

    def evaluation(variant: Variant, independent: bool, result: TestResult) -> Evaluation:
        return Evaluation(comparison, variant, independent, result, judge(comparison, result), bounded, origin)

    if comparison.test == "fisher":
        return in_groups(comparison, units, names, evaluation)
    if comparison.test == "proportion":
        return share(comparison, units[0], evaluation)
    if comparison.test in MEASURING:
        return [evaluation(Variant.DECLARED, True, measured(comparison, units, names, ledger.recall("draws", Draws)))]
    matched = prepared(comparison, match(units, names, incomplete=comparison.test == "skillings_mack"), names)
    matched = counted(ledger, comparison, matched, sign)
    if not comparison.nested:
        first = _finished(evaluation(Variant.DECLARED, True, _tested(comparison, matched, names)), matched)
        return [first, *_coarser(comparison, matched, evaluation)]
    naive = evaluation(Variant.NAIVE, False, _tested(comparison, matched, names))
    if comparison.blocked is None:
        refused = replace(
            naive.result, p=None, method="no p: values are nested in their unit and no blocking rule is declared"
        )
        outcome = Outcome.REFUSED if naive.outcome != Outcome.MISSING else Outcome.MISSING
        return [replace(naive, variant=Variant.DECLARED, result=refused, outcome=outcome)]
    reduced = blocked(comparison, matched)
    first = evaluation(Variant.BLOCKED, True, _tested(comparison, reduced, names, reduced=True))
    return [_finished(first, reduced), naive, *_coarser(comparison, reduced, evaluation)]


def _finished(e: Evaluation, m: Matched) -> Evaluation:
    """``e`` with what its margin shows and how many values each key of its unit takes."""
    c = e.comparison
    e = replace(e, unit_values=tuple(f"{m.units[k].n_unique()} {k}" for k in m.keys))
    if c.margin is None or e.result.p is None:
        return e
    d = differences(c, m)
    within = within_margin(d, c.margin, signed_rank_p if c.test == "signed_rank" else sign_p, c.better, m.matrix[:, 1])
    return replace(
        e, within=within, posterior=bayesian_signed_rank(d, c.margin, scale=m.matrix[:, 1]), shown=shown(c, within)
    )


def shown(comparison: Comparison, within: Within) -> tuple[Margin, ...]:
    """What the p-values against the margin show at the comparison's alpha."""
    found = {Margin.NONINFERIOR: within.noninferior, Margin.EQUIVALENT: within.equivalent}
    return tuple(word for word, p in found.items() if p <= comparison.alpha)


def _coarser(comparison: Comparison, m: Matched, evaluation: Builder) -> list[Evaluation]:
    """The same statistic with whole coarser units flipped, for paired tests whose unit has a coarser one."""
    if not comparison.coarser or not set(comparison.coarser) < set(m.keys) or not m.matrix.shape[0]:
        return []
    if comparison.test not in ("signed_rank", "sign", "mcnemar"):
        return []
    d = m.matrix[:, 0] - m.matrix[:, 1] if comparison.test == "mcnemar" else differences(comparison, m)
    clusters = [unit_name(row) for row in m.units.select(comparison.coarser).iter_rows()]
    ranks = comparison.test == "signed_rank"
    result = cluster_sign_flip(d, clusters, comparison.side, ranks=ranks, better=comparison.better)
    e = evaluation(Variant.COARSER, True, replace(result, test=comparison.test, dropped=m.dropped))
    if comparison.margin is None:
        return [e]

    def p(shifted: NDArray[np.float64], side: str) -> float:
        found = cluster_sign_flip(shifted, clusters, side, ranks=ranks).p
        assert found is not None
        return found

    within = within_margin(d, comparison.margin, p, comparison.better, m.matrix[:, 1])
    return [replace(e, within=within, shown=shown(comparison, within))]


def _tested(comparison: Comparison, matched: Matched, names: list[str], *, reduced: bool = False) -> TestResult:
    """The test on prepared values, with the dropped units attached; an empty result when there are too few units.

    ``reduced`` is true when every row is an independent unit made of several.
    """
    x = matched.matrix
    options = {"side": comparison.side}
    if x.shape[0] < FEWEST.get(comparison.test, 1):
        return nothing(comparison, x.shape[0], matched.dropped)
    if comparison.test in TESTS:
        d = differences(comparison, matched)
        result = TESTS[comparison.test](d, better=comparison.better, level=comparison.level, scale=x[:, 1], **options)
        if comparison.transform == "log10":
            result = replace(result, effect_name=result.effect_name.replace("differences", "log10 ratios"))
    elif comparison.test == "friedman":
        result = friedman(x if comparison.better == "lower" else -x, names, level=comparison.level)
    elif comparison.test == "skillings_mack":
        result = skillings_mack(x if comparison.better == "lower" else -x, names)
    elif comparison.test == "mcnemar" and reduced:
        result = mcnemar_units(x[:, 0], f"{comparison.blocked} of the nested differences", **options)
    elif comparison.test == "mcnemar":
        a, b = x[:, 0] > 0, x[:, 1] > 0
        result = mcnemar(int((a & ~b).sum()), int((b & ~a).sum()), int((a & b).sum()), int((~a & ~b).sum()), **options)
    elif comparison.test == "spearman":
        result = spearman(x[:, 0], x[:, 1], **options)
    elif x[:, 0].min() == x[:, 0].max():
        return nothing(comparison, x.shape[0], matched.dropped)
    else:
        result = slope(x[:, 0], x[:, 1], level=comparison.level, **options)
    return replace(result, dropped=matched.dropped)


def judge(comparison: Comparison, result: TestResult, p: float | None = None, floor: float | None = None) -> Outcome:
    """The outcome of a test at the comparison's alpha; ``p`` and ``floor`` replace the test's own after a correction.

    A floor above alpha makes the comparison untestable whatever the data say. A p that is no number decides nothing.
    """
    p = result.p if p is None else p
    floor = result.floor if floor is None else floor
    if not result.computed or (p is not None and math.isnan(p)):
        return Outcome.MISSING
    if p is None:
        return Outcome.MEASURED
    if floor is not None and floor > comparison.alpha:
        return Outcome.UNTESTABLE
    if p > comparison.alpha:
        return Outcome.UNDECIDED
    if result.test in ("friedman", "skillings_mack"):
        return Outcome.DIFFERENT
    return Outcome.LESS if _direction(comparison, result) < 0 else Outcome.GREATER


def _direction(comparison: Comparison, result: TestResult) -> float:
    """Negative when the first side lies below the second, by the statistic that decided."""
    m, statistic, effect = result.n_nonzero, result.statistic, result.effect
    if statistic is not None and result.centred:
        return statistic
    if statistic is not None and result.test == "signed_rank":
        return statistic - m * (m + 1) / 4
    if statistic is not None and result.test in ("sign", "sign_anytime", "mcnemar"):
        return statistic - m / 2
    assert effect is not None
    if result.test == "proportion":
        assert comparison.nominal is not None
        return effect - comparison.nominal
    return effect

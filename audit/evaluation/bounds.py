"""Two evaluations of one comparison, with refusals counted as lost and as won: what holds for both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.registry.words import Outcome

if TYPE_CHECKING:
    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.audit.statistics.result import TestResult


def both(worst: Evaluation, best: Evaluation) -> Evaluation:
    """The evaluation that speaks for two bounds: decided only when both are, and in the same direction.

    Its interval holds both of theirs.
    """
    weaker = max(worst, best, key=lambda e: (e.result.p is None, e.result.p or 0.0))
    if worst.outcome != best.outcome and weaker.outcome in (Outcome.LESS, Outcome.GREATER):
        weaker = replace(weaker, outcome=Outcome.UNDECIDED)
    agree = tuple(word for word in worst.shown if word in best.shown)
    details = {**weaker.result.details, "p_refusals_lost": worst.result.p, "p_refusals_won": best.result.p}
    agrees = worst.outcome == best.outcome
    result = replace(_joined(worst.result, best.result, weaker.result), details=details)
    return replace(weaker, result=result, shown=agree, bounds_agree=agrees)


def _joined(a: TestResult, b: TestResult, onto: TestResult) -> TestResult:
    """``onto`` with the smallest interval that holds those of ``a`` and ``b``; without one where either has none."""
    if not (a.interval_ends and b.interval_ends):
        return replace(onto, low=None, high=None, level=None, interval_ends="")
    # An end that belongs to its interval reaches farther than one at the same place that does not.
    lows = [(-np.inf if r.low is None else r.low, r.interval_ends[0] == "(", r) for r in (a, b)]
    highs = [(np.inf if r.high is None else r.high, r.interval_ends[1] == "]", r) for r in (a, b)]
    first, last = min(lows, key=lambda x: x[:2])[2], max(highs, key=lambda x: x[:2])[2]
    ends = first.interval_ends[0] + last.interval_ends[1]
    return replace(onto, low=first.low, high=last.high, interval_ends=ends)

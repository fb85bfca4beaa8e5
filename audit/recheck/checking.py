"""Printed numbers recomputed from one another: one finding per check, its verdict computed.

`recheck()` takes a publication, recomputes every number that follows from other printed numbers, and compares with the
interval its digits allow. Nothing about a verdict is written in the annotations: a check names a rule and its operands, and
may name other readings; the first reading decides, the others explain. A check that cannot be evaluated is a finding of
its own, and the others go on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck import (  # noqa: F401  (importing these registers their rules)
    arithmetic,
    bootstrap,
    claims,
    counts,
    pvalues,
    quantiles,
    shares,
)
from orledger.audit.recheck.findings import Finding, decision_error, paragraph
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.rules import ImpossibleError, Recomputed, UnusableError, candidates, operand_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.audit.recheck.model import Check, Publication, Published
    from orledger.audit.recheck.rounding import Enclosure

# What a rule may raise over digits that make no sense to it; a misspelt annotation raises UsageError and ends the recheck.
_BROKEN = (ArithmeticError, ValueError, LookupError, TypeError, AssertionError)


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check with the name of its finding."""

    name: str
    check: Check


def named_checks(publication: Publication) -> list[NamedCheck]:
    """Every check with a name no other has: target, rule, and a number when the same rule checks it again."""
    seen: Counter[str] = Counter()
    found = []
    for check in publication.checks:
        label = f"{check.target} {check.rule}"
        seen[label] += 1
        found.append(NamedCheck(label + (f" {seen[label]}" if seen[label] > 1 else ""), check))
    return found


def recheck(publication: Publication) -> list[Finding]:
    """One finding per check of the publication, and one per number that its quantity cannot take."""
    ranges = [finding for number in publication.numbers.values() if (finding := in_range(number)) is not None]
    return ranges + [evaluate(named, publication.numbers) for named in named_checks(publication)]


def in_range(number: Published) -> Finding | None:
    """The finding that no quantity of this kind prints like this; None when one can."""
    if not number.impossible:
        return None
    return Finding(
        id=f"{number.id} range",
        place=number.place,
        printed=number.printed,
        recomputed="no value",
        low=None,
        high=None,
        verdict=CheckVerdict.IMPOSSIBLE,
        rule="range",
        convention=None,
        why=number.impossible,
        operands=(number.id,),
        cause=f"range: {paragraph(number.place)}",
    )


def evaluate(named: NamedCheck, numbers: Mapping[str, Published]) -> Finding:
    """What one check finds."""
    check = named.check
    try:
        return _compared(named, numbers)
    except ImpossibleError as error:
        return _unfinished(named, numbers, CheckVerdict.IMPOSSIBLE, str(error))
    except UnusableError as error:
        return _unfinished(named, numbers, CheckVerdict.UNCHECKED, str(error))
    except _BROKEN as error:
        reason = f"{check.rule} cannot be computed from the printed digits: {error or type(error).__name__}"
        return _unfinished(named, numbers, CheckVerdict.UNCHECKED, reason)


def _unfinished(named: NamedCheck, numbers: Mapping[str, Published], verdict: CheckVerdict, why: str) -> Finding:
    check = named.check
    target = numbers[check.target]
    return Finding(
        id=named.name,
        place=target.place,
        printed=target.printed,
        recomputed="no value",
        low=None,
        high=None,
        verdict=verdict,
        rule=check.rule,
        convention=None,
        why=why,
        operands=operand_ids(check),
        cause=check.cause or check.source,
    )


def _compared(named: NamedCheck, numbers: Mapping[str, Published]) -> Finding:
    check = named.check
    tried: list[Recomputed] = []
    fitting, verdict = None, CheckVerdict.INCONSISTENT
    for candidate in candidates(check, numbers):  # the first candidate validates the check, its target included
        verdict = _verdict(candidate, numbers[check.target].interval)
        if verdict != CheckVerdict.INCONSISTENT:
            fitting = candidate
            break
        tried.append(candidate)
    target = numbers[check.target]
    if fitting is None:
        verdict = tried[0].miss
    elif tried:
        verdict = fitting.excuse or CheckVerdict.CONVENTION
    shown = fitting or tried[0]
    value = _nearest(shown.values, target)
    first = _nearest(tried[0].values, target) if tried else None
    return Finding(
        id=named.name,
        place=target.place,
        printed=target.printed,
        recomputed=_text(shown, value),
        low=None if value is None else value.low,
        high=None if value is None else value.high,
        verdict=verdict,
        rule=check.rule,
        convention=None if fitting is None else fitting.convention,
        why=_why(fitting, tried, target, verdict),
        operands=operand_ids(check),
        cause=_cause(check, verdict, fitting),
        decision=target.kind == "p-value"
        and target.interval is not None
        and first is not None
        and decision_error((target.interval.low, target.interval.high), (first.low, first.high)),
    )


def _cause(check: Check, verdict: CheckVerdict, fitting: Recomputed | None) -> str:
    """What failing checks share: the convention that explains them, or the entry they were written in."""
    if check.cause:
        return check.cause
    if verdict is CheckVerdict.CONVENTION and fitting is not None:
        return fitting.convention
    return check.source


def _verdict(candidate: Recomputed, printed: Enclosure | None) -> CheckVerdict:
    if candidate.truth is not None:
        truths = {
            "always": CheckVerdict.MATCHES,
            "sometimes": CheckVerdict.WITHIN_ROUNDING,
            "never": CheckVerdict.INCONSISTENT,
        }
        return truths[candidate.truth]
    if printed is None or not any(value.meets(printed) for value in candidate.values):
        return CheckVerdict.INCONSISTENT
    if candidate.listed or len(candidate.values) > 1:
        return CheckVerdict.ATTAINABLE
    return CheckVerdict.MATCHES if candidate.values[0].inside(printed) else CheckVerdict.WITHIN_ROUNDING


def _nearest(values: tuple[Enclosure, ...], target: Published) -> Enclosure | None:
    """The value that fits the printed number best: inside its rounding interval if any is, then closest to its digits."""
    printed, middle = target.interval, target.value
    if not values or printed is None or middle is None:
        return None
    return min(values, key=lambda value: (not value.meets(printed), abs(value.middle - middle)))


def _text(candidate: Recomputed, value: Enclosure | None) -> str:
    if candidate.truth is not None:
        return {"always": "holds", "sometimes": "can hold", "never": "does not hold"}[candidate.truth]
    if value is None:
        return "no value"
    return f"{value.low:.6g}" if value.exact else f"{value.low:.6g} to {value.high:.6g}"


def _describe(candidate: Recomputed, target: Published) -> str:
    value = _nearest(candidate.values, target)
    count = len(candidate.values)
    several = (
        ", the nearest possible" if candidate.listed else f", the nearest of {count} possible" if count > 1 else ""
    )
    detail = f" ({candidate.detail})" if candidate.detail else ""
    return f"{candidate.convention}: {_text(candidate, value)}{several}{detail}"


def _why(fitting: Recomputed | None, tried: list[Recomputed], target: Published, verdict: CheckVerdict) -> str:
    misses = "; ".join(_describe(candidate, target) for candidate in tried)
    if fitting is None:
        return f"tried {misses}"
    fit = _describe(fitting, target)
    if not tried:
        return fit
    opening = "true if read as" if verdict is CheckVerdict.FALSE else "fits"
    return f"{opening} {fit}; does not fit {misses}"

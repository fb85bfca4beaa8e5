"""Statements in words, checked on the database: what a claim looked at, what it could not look at, and what it found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.evaluation.claim_intervals import BARE, ClaimInterval, claim_interval
from orledger.audit.evaluation.pairing import Matched, match, unit_name
from orledger.audit.evaluation.predicates import PREDICATES, combined
from orledger.audit.evaluation.preparing import without
from orledger.audit.evaluation.refusals import with_refused
from orledger.audit.evaluation.units import UnitReader, Units, load_units
from orledger.audit.registry.quantities import combined_sql
from orledger.audit.registry.words import ClaimState, Clearly
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.registry.hypotheses import Claim
    from orledger.audit.statistics.result import Dropped

LISTED = 50  # counterexamples kept with a claim
REASONS = 3  # reasons for dropped units that are spelled out in its text


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its state (holds, fails, missing, measured), what was observed, and the units that speak against it.

    ``dropped`` are the planned units that it could not look at, or only in part, each with the reason.
    """

    claim: Claim
    state: ClaimState
    observed: str
    value: float | None
    n: int
    counterexamples: tuple[str, ...]
    units_sql: str
    dropped: tuple[Dropped, ...] = ()
    interval: ClaimInterval = BARE
    clearly: tuple[Clearly, ...] = ()


def check(ledger: UnitReader, claim: Claim) -> ClaimResult:
    """``claim`` evaluated on the database.

    It is missing when no unit has the values it needs, and when it would hold but a whole group that was planned
    (``within``) has none: a statement about every group cannot rest on some of them. A group that speaks against it
    refutes it all the same.
    """
    names = [name for name, _ in claim.sides]
    units = [load_units(ledger, q, claim.pair) for _, q in claim.sides]
    matched = _comparable(claim, match(units, names))
    origin = combined_sql(ledger.surface, claim.sides, claim.pair)
    left_out = _left_out(matched)
    if matched.matrix.shape[0] == 0:
        return ClaimResult(claim, ClaimState.MISSING, f"no units{left_out}", None, 0, (), origin, matched.dropped)
    holds, observed, value, against = PREDICATES[claim.kind](claim, matched, names)
    state = ClaimState(holds if isinstance(holds, str) else "holds" if holds else "fails")
    interval = claim_interval(claim, matched, value)
    observed += interval.words(claim)
    if claim.refused_as is not None:
        wider = with_refused(ledger, claim, matched)
        extra = wider.matrix.shape[0] - matched.matrix.shape[0]
        other, _, other_value, _ = PREDICATES[claim.kind](claim, wider, names)
        observed += f"; with {counted(extra, 'refused unit')} as {claim.refused_as:g}: {other_value:.6g}, {'holds' if other else 'fails'}"
        if state == ClaimState.HOLDS and not other:
            state = ClaimState.FAILS
    lost = _lost_groups(claim, units, matched)
    if lost:
        state = ClaimState.MISSING if state == ClaimState.HOLDS or claim.kind == "resampled" else state
        observed = f"no value for {', '.join(lost)}; of the rest: {observed}"
    return ClaimResult(
        claim=claim,
        state=state,
        observed=observed + left_out,
        value=None if value is None or np.isnan(value) else value,
        n=matched.matrix.shape[0],
        counterexamples=tuple(against[:LISTED]),
        units_sql=origin,
        dropped=matched.dropped,
        interval=interval,
        clearly=() if lost else interval.clearly(claim, state),
    )


def _comparable(claim: Claim, m: Matched) -> Matched:
    """``m`` without units on which the predicate has nothing to say, each of them named: no ratio, or no place in the order."""
    undefined = np.flatnonzero(np.isnan(combined(claim, m))).tolist()
    m = without(m, dict.fromkeys(undefined, f"{claim.combine} is not defined"))
    if claim.kind != "monotone" or not claim.order or claim.along is None:
        return m
    outside = [i for i, v in enumerate(m.units[claim.along].to_list()) if v not in claim.order]
    return without(m, dict.fromkeys(outside, f"{claim.along} is not in the order given"))


def _lost_groups(claim: Claim, units: Sequence[Units], m: Matched) -> list[str]:
    """Names of the planned groups ``within`` of which no unit entered."""
    keys = list(claim.within)
    if not keys:
        return []
    planned = {unit_name(row) for u in units for t in (u.values, u.absent) for row in t.select(keys).iter_rows()}
    return sorted(planned - {unit_name(row) for row in m.units.select(keys).iter_rows()})


def _left_out(m: Matched) -> str:
    """The end of what was observed: how many planned units entered, and why the others did not or only in part."""
    entered = {unit_name(row) for row in m.units.iter_rows()}
    out = [d for d in m.dropped if d.unit not in entered]
    partial = [d for d in m.dropped if d.unit in entered]
    text = ""
    if out:
        text += f"; {len(entered)} of {counted(len(entered) + len(out), 'unit')}, {len(out)} dropped: {_reasons(out)}"
    if partial:
        text += f"; {len(partial)} of {counted(len(entered), 'unit')} incomplete: {_reasons(partial)}"
    return text


def _reasons(dropped: Sequence[Dropped]) -> str:
    """The most frequent kinds of reasons, with the number of units behind each."""
    counts = Counter(_kind(d.reason) for d in dropped).most_common()
    text = ", ".join(f"{reason} ({n})" for reason, n in counts[:REASONS])
    return text + (f", and {counted(len(counts) - REASONS, 'other reason')}" if len(counts) > REASONS else "")


def _kind(reason: str) -> str:
    """``reason`` less the trailing clauses that hold the numbers of one unit: "arm refused: empty set: eta = 5.98 is below 6.08"."""
    first, *rest = reason.split(": ")
    while rest and any(c.isdigit() for c in rest[-1]):
        rest.pop()
    return ": ".join([first, *rest])

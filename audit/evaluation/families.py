"""Tests that are corrected together: Holm over the family as it was registered, absent members included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.audit.evaluation.comparisons import Evaluation, judge, shown
from orledger.audit.registry.words import Outcome, Untestable, Variant
from orledger.audit.statistics.counts import holm
from orledger.audit.statistics.floors import attainable

if TYPE_CHECKING:
    from collections.abc import Sequence


def correct_families(tests: Sequence[Evaluation]) -> list[Evaluation]:
    """``tests`` with Holm's correction inside every declared family, over the versions that count independent units.

    A member without a p, for lack of data or of a blocking rule, counts as one with p = 1: the family is what was
    registered, not what happened to be there. The p-values against a margin are corrected among themselves. A test whose
    p could not reach alpha after the correction, even with the whole family at its floors, is untestable.
    """
    corrected = list(tests)
    families: dict[tuple[str, bool], list[int]] = {}
    for i, e in enumerate(corrected):
        if e.variant == Variant.NAIVE:
            continue
        coarser = e.variant == Variant.COARSER
        families.setdefault((e.comparison.family or f"\x00{e.comparison.id}", coarser), []).append(i)
    sizes = {name: len(members) for (name, coarser), members in families.items() if not coarser}
    for (name, _), members in families.items():
        for i, e in zip(members, _together([corrected[i] for i in members], sizes[name]), strict=True):
            corrected[i] = e
    return corrected


def _together(members: list[Evaluation], size: int) -> list[Evaluation]:
    """The members of one family of ``size`` registered comparisons, corrected and judged."""
    absent = [1.0] * (size - len(members))
    known = [1.0 if e.result.p is None else e.result.p for e in members]
    adjusted = holm([*known, *absent])
    floors = holm([*(1.0 if e.result.floor is None else e.result.floor for e in members), *absent])
    full = holm([*(_design_floor(e) for e in members), *absent])
    margins = [
        holm([*(getattr(e.within, kind) if e.within else 1.0 for e in members), *absent])
        for kind in ("noninferior", "equivalent")
    ]
    found = []
    for k, e in enumerate(members):
        if e.result.p is None:
            found.append(replace(e, family_size=size if e.comparison.family else None))
            continue
        outcome = judge(e.comparison, e.result, adjusted[k], floors[k])
        if not e.bounds_agree and outcome in (Outcome.LESS, Outcome.GREATER):
            outcome = Outcome.UNDECIDED
        why = None
        if outcome == Outcome.UNTESTABLE:
            why = Untestable.UNITS if full[k] > e.comparison.alpha else Untestable.TIES
        within = replace(e.within, noninferior=margins[0][k], equivalent=margins[1][k]) if e.within else None
        words = tuple(w for w in shown(e.comparison, within) if w in e.shown) if within else ()
        judged = replace(e, outcome=outcome, untestable=why, within=within, shown=words)
        found.append(replace(judged, p_holm=adjusted[k], family_size=size) if e.comparison.family else judged)
    return found


def _design_floor(e: Evaluation) -> float:
    """The floor that as many units would have without a tie."""
    floor = attainable(e.comparison.test, e.result.n, side=e.comparison.side, arms=len(e.comparison.sides))
    own = 1.0 if e.result.floor is None else e.result.floor
    if e.comparison.test == "slope":
        return 0.0
    return own if floor is None else min(floor, own)

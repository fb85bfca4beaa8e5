"""To which population a verdict speaks, and what becomes of it when the unit is coarser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.registry.words import Variant
from orledger.wording import counted, these

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.audit.evaluation.dispositions import Decision
    from orledger.audit.registry.words import Verdict


@dataclass(frozen=True)
class Sensitivity:
    """``population`` in words; ``verdict`` is the same decision with whole coarser units flipped, None where there are none."""

    population: str
    unit: str
    verdict: Verdict | None
    reason: str


def deciding(tests: Sequence[Evaluation]) -> dict[str, Evaluation]:
    """The evaluation of each comparison that its hypothesis is decided with: the first."""
    found: dict[str, Evaluation] = {}
    for e in tests:
        found.setdefault(e.comparison.id, e)
    return found


def at_coarser_unit(tests: Sequence[Evaluation]) -> dict[str, Evaluation]:
    """The evaluation of each comparison that flips whole coarser units, where there is one."""
    return {e.comparison.id: e for e in tests if e.variant == Variant.COARSER}


def speaks(
    decision: Decision, again: Decision | None, tests: Sequence[Evaluation], coarser: Mapping[str, Evaluation]
) -> Sensitivity:
    """The population of ``decision``, which rests on ``tests``, and the decision ``again`` at the coarser unit."""
    counts = [e for e in tests if e.unit_values and e.result.n]
    if not counts:
        return Sensitivity("nothing beyond what was looked at: it rests on no test of independent units", "", None, "")
    e = max(counts, key=lambda e: e.result.n)
    made_of = " by ".join(e.unit_values)
    units = f"{counted(e.result.n, 'unit')} ({made_of})"
    several = len(e.unit_values) > 1  # of one key the number of its values is that of the units
    alike = f"further units like {'this' if e.result.n == 1 else 'these'} {e.result.n} ({made_of if several else ', '.join(e.comparison.unit)})"
    pair = next((coarser[t.comparison.id] for t in counts if t.comparison.id in coarser), None)
    if pair is None or again is None:
        lone = next((t.comparison for t in counts if t.comparison.coarser), None)
        if lone is None:
            return Sensitivity(alike, "", None, "")
        outer = ", ".join(lone.coarser)
        return Sensitivity(alike, outer, None, f"with {outer} as the unit: no row, {lone.test} cannot flip whole units")
    outer = ", ".join(pair.comparison.coarser)
    inner = ", ".join(k for k in pair.comparison.unit if k not in pair.comparison.coarser)
    text = f"further values of {inner} at {these(pair.result.n, 'value', outer)} ({units}); not other values of {outer}"
    told = f"{again.verdict}, not {decision.verdict}. {again.reason}"
    if again.verdict == decision.verdict:
        told = f"{again.verdict} as well"
    population = alike if pair.comparison.independent_by_setting else text
    return Sensitivity(population, outer, again.verdict, f"with {outer} as the unit: {told}")

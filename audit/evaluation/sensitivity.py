"""To which population a verdict speaks, and what becomes of it when the unit is coarser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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


def speaks(
    decision: Decision, again: Decision | None, tests: Sequence[Evaluation], coarser: Mapping[str, Evaluation]
) -> Sensitivity:
    """The population of ``decision``, which rests on ``tests``, and the decision ``again`` at the coarser unit."""
    counts = [e for e in tests if e.unit_values and e.result.n]
    if not counts:
        return Sensitivity("nothing beyond what was looked at: it rests on no test of independent units", "", None, "")
    e = max(counts, key=lambda e: e.result.n)
    units = f"{e.result.n} units ({' by '.join(e.unit_values)})"
    pair = next((coarser[t.comparison.id] for t in counts if t.comparison.id in coarser), None)
    if pair is None or again is None:
        return Sensitivity(f"further values of {', '.join(e.comparison.unit)} like these {units}", "", None, "")
    outer = pair.comparison.coarser
    inner = [k for k in pair.comparison.unit if k not in outer]
    text = (
        f"further values of {', '.join(inner)} at these {pair.result.n} values of {', '.join(outer)} ({units});"
        f" not other values of {', '.join(outer)}"
    )
    told = f"{again.verdict}, not {decision.verdict}. {again.reason}"
    if again.verdict == decision.verdict:
        told = f"{again.verdict} as well"
    return Sensitivity(text, ", ".join(outer), again.verdict, f"with {', '.join(outer)} as the unit: {told}")

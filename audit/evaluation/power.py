"""What each registered comparison could decide: known from the design alone, before any value is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.evaluation.pairing import Ledger, effective_unit
from orledger.audit.registry.quantities import cells_sql
from orledger.audit.statistics.floors import attainable, smallest_n

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.audit.registry.hypotheses import Comparison, Hypothesis
    from orledger.schema.reading import Results


@dataclass(frozen=True)
class Power:
    """``planned`` and ``done``: independent units in the database; ``floor``: smallest p attainable with all planned units and
    no ties; ``needed``: fewest units at which the test could reach alpha, NULL where p has no floor.
    """

    hypothesis: str
    comparison: str
    test: str
    alpha: float
    planned: int
    done: int
    floor: float | None
    needed: int | None

    @property
    def decidable(self) -> bool:
        """Whether the planned units suffice for the test to reach alpha at all."""
        return self.planned > 0 if self.needed is None else self.planned >= self.needed


def power(results: Results, hypotheses: Iterable[Hypothesis]) -> list[Power]:
    """One row per comparison of ``hypotheses``; reads the plan of the database and none of its records."""
    ledger = Ledger(results)
    return [_power(ledger, h.id, c) for h in hypotheses for c in h.comparisons]


def _power(ledger: Ledger, hypothesis: str, c: Comparison) -> Power:
    c = replace(c, unit=effective_unit(ledger, c))
    counts = [_units(ledger, c, side) for side in range(len(c.sides))]
    planned, done = min(p for p, _ in counts), min(d for _, d in counts)
    return Power(
        hypothesis=hypothesis,
        comparison=c.id,
        test=c.test,
        alpha=c.alpha,
        planned=planned,
        done=done,
        floor=attainable(c.test, planned, side=c.side, arms=len(c.sides)),
        needed=smallest_n(c.test, c.alpha, side=c.side, arms=len(c.sides)),
    )


def _units(ledger: Ledger, c: Comparison, side: int) -> tuple[int, int]:
    """Independent units planned and done on one side; the cells are counted, not their values."""
    quantity = c.sides[side][1]
    keys = tuple(c.unit)
    query = cells_sql(ledger.surface, quantity, keys, states=(), extra=", state")
    cells = ledger.recall(query, lambda: ledger.results.sql(query))
    return cells.select(keys).n_unique(), cells.filter(cells["state"] == "done").select(keys).n_unique()

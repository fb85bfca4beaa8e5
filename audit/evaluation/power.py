"""What each registered comparison could decide: known from the design alone, before any value is looked at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.evaluation.units import UnitReader, effective_unit
from orledger.audit.registry.hypotheses import MEASURING
from orledger.audit.registry.quantities import cells_sql
from orledger.audit.statistics.floors import attainable, smallest_n
from orledger.audit.statistics.powers import KNOWN, power_at, units_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.audit.registry.hypotheses import Comparison, Hypothesis
    from orledger.schema.reading import Results


@dataclass(frozen=True)
class ComparisonPower:
    """``planned`` and ``done``: independent units in the database; ``floor``: smallest p attainable with all planned units and
    no ties, after the correction of its family; ``needed``: fewest units at which it could reach alpha, NULL where p has no
    floor; ``power``: probability to decide if the probability of superiority is ``effect``; ``n_for_power``: units for 0.8.
    """

    hypothesis: str
    comparison: str
    test: str
    alpha: float
    family_size: int
    planned: int
    done: int
    floor: float | None
    needed: int | None
    effect: float | None = None
    power: float | None = None
    n_for_power: int | None = None

    @property
    def decidable(self) -> bool:
        """Whether the planned units suffice for the test to reach alpha at all."""
        return self.planned > 0 if self.needed is None else self.planned >= self.needed


def power(results: Results, hypotheses: Iterable[Hypothesis], effect: float | None = None) -> list[ComparisonPower]:
    """One row per comparison of ``hypotheses`` that tests something; reads the plan of the database and none of its records.

    ``effect`` is the probability of superiority for comparisons that declare none (``expect``).
    """
    ledger = UnitReader(results)
    found = []
    for h in hypotheses:
        sizes = Counter(c.family for c in h.comparisons if c.family is not None)
        tested = (
            c for c in h.comparisons if c.test not in MEASURING
        )  # an estimate decides nothing, however many units there are
        found += [_power(ledger, h.id, c, sizes[c.family] if c.family else 1, effect) for c in tested]
    return found


def _power(ledger: UnitReader, hypothesis: str, c: Comparison, size: int, effect: float | None) -> ComparisonPower:
    c = replace(c, unit=effective_unit(ledger, c))
    counts = [_units(ledger, c, side) for side in range(len(c.sides))]
    planned, done = min(p for p, _ in counts), min(d for _, d in counts)
    floor = attainable(c.test, planned, side=c.side, arms=len(c.sides))
    level = c.alpha / size  # Holm's first step: what the strongest of the family must reach
    expected = c.expect if c.expect is not None else effect if c.test in KNOWN else None
    return ComparisonPower(
        hypothesis=hypothesis,
        comparison=c.id,
        test=c.test,
        alpha=c.alpha,
        family_size=size,
        planned=planned,
        done=done,
        floor=None if floor is None else min(1.0, floor * size),
        needed=smallest_n(c.test, level, side=c.side, arms=len(c.sides)),
        effect=expected,
        power=None if expected is None else power_at(c.test, planned, expected, level, c.side),
        n_for_power=None if expected is None else units_for(c.test, expected, level, c.side),
    )


def _units(ledger: UnitReader, c: Comparison, side: int) -> tuple[int, int]:
    """Independent units planned and done on one side; the cells are counted, not their values."""
    quantity = c.sides[side][1]
    keys = tuple(c.unit)
    query = cells_sql(ledger.surface, quantity, keys, states=(), extra=", state")
    cells = ledger.recall(query, lambda: ledger.results.sql(query))
    return cells.select(keys).n_unique(), cells.filter(cells["state"] == "done").select(keys).n_unique()

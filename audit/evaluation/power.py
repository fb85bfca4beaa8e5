"""What each registered comparison could decide: known from the design alone, before any value is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.evaluation.units import UnitReader, effective_unit
from orledger.audit.registry.hypotheses import MEASURING
from orledger.audit.registry.quantities import cells_sql
from orledger.audit.statistics.counts import holm
from orledger.audit.statistics.floors import attainable, smallest_n
from orledger.audit.statistics.powers import KNOWN, power_at, units_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.audit.registry.hypotheses import Comparison, Hypothesis
    from orledger.schema.reading import Results


@dataclass(frozen=True)
class ComparisonPower:
    """``planned`` and ``done``: independent units in the database, and as planned no fewer than the comparison declares (``units``);
    ``floor``: smallest p attainable with all planned units and
    no ties, after the correction of its family with every member at its own; ``needed``: fewest units at which it could reach
    alpha if the others had no more, or as many as are planned where that suffices, None where p has no floor; ``power``:
    probability to decide, at the level of Holm's first step, if the probability of superiority is ``effect``; ``n_for_power``:
    units for 0.8.
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
        return self.planned > 0 if self.floor is None else self.floor <= self.alpha


def power(results: Results, hypotheses: Iterable[Hypothesis], effect: float | None = None) -> list[ComparisonPower]:
    """One row per comparison of ``hypotheses`` that tests something; reads the plan of the database and none of its records.

    ``effect`` is the probability of superiority for comparisons that declare none (``expect``).
    """
    ledger = UnitReader(results)
    found = []
    for h in hypotheses:
        designs = [_design(ledger, c) for c in h.comparisons]
        for d in designs:
            c = d.comparison
            others = [o for o in designs if o is not d and c.family is not None and o.comparison.family == c.family]
            if c.test not in MEASURING:  # an estimate decides nothing, however many units there are
                found.append(_power(h.id, d, others, effect))
    return found


@dataclass(frozen=True)
class Design:
    """A comparison with the units that are planned and done."""

    comparison: Comparison
    planned: int
    done: int

    def floor(self, most: int) -> float:
        """What it adds to a family with at most ``most`` units: an estimate has no p, and a p without a floor can be as small as any."""
        return 1.0 if self.comparison.test in MEASURING else self.at(min(most, self.planned)) or 0.0

    def at(self, n: int) -> float | None:
        """The smallest p with ``n`` units and no ties."""
        return attainable(self.comparison.test, n, side=self.comparison.side, arms=len(self.comparison.sides))


def _design(ledger: UnitReader, c: Comparison) -> Design:
    c = replace(c, unit=effective_unit(ledger, c))
    counts = [_units(ledger, c, side) for side in range(len(c.sides))]
    return Design(c, max(min(p for p, _ in counts), c.units or 0), min(d for _, d in counts))


def _power(hypothesis: str, d: Design, others: list[Design], effect: float | None) -> ComparisonPower:
    c, size = d.comparison, len(others) + 1
    level = c.alpha / size  # Holm's first step: what the strongest of the family must reach
    expected = c.expect if c.expect is not None else effect if c.test in KNOWN else None
    own = d.at(d.planned)
    floor = None if own is None else holm([own, *(o.floor(o.planned) for o in others)])[0]
    needed = _needed(d, others)
    return ComparisonPower(
        hypothesis=hypothesis,
        comparison=c.id,
        test=c.test,
        alpha=c.alpha,
        family_size=size,
        planned=d.planned,
        done=d.done,
        floor=floor,
        needed=needed if needed is None or floor is None or floor > c.alpha else min(needed, d.planned),
        effect=expected,
        power=None if expected is None else power_at(c.test, d.planned, expected, level, c.side),
        n_for_power=None if expected is None else units_for(c.test, expected, level, c.side),
    )


def _needed(d: Design, others: list[Design]) -> int | None:
    """The fewest units at which the comparison could reach alpha, with the whole family at the floors that as many units allow."""
    c = d.comparison
    most = smallest_n(c.test, c.alpha / (len(others) + 1), side=c.side, arms=len(c.sides))
    if most is None:
        return None
    fewest = smallest_n(c.test, c.alpha, side=c.side, arms=len(c.sides)) or 1
    steps = (n for n in range(fewest, most) if holm([d.at(n) or 0.0, *(o.floor(n) for o in others)])[0] <= c.alpha)
    return next(steps, most)


def _units(ledger: UnitReader, c: Comparison, side: int) -> tuple[int, int]:
    """Independent units planned and done on one side; the cells are counted, not their values."""
    quantity = c.sides[side][1]
    keys = tuple(c.unit)
    query = cells_sql(ledger.surface, quantity, keys, states=(), extra=", state")
    cells = ledger.recall(query, lambda: ledger.results.sql(query))
    return cells.select(keys).n_unique(), cells.filter(cells["state"] == "done").select(keys).n_unique()

"""How many units a comparison was fixed to: as registered, or else what the chain says was planned before the first result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from orledger.audit.registry.known import MATCHED, PRESENT
from orledger.audit.registry.quantities import cells_sql
from orledger.schema.ledger import PLANNED_EARLY

if TYPE_CHECKING:
    from orledger.audit.evaluation.units import UnitReader
    from orledger.audit.registry.hypotheses import Comparison
    from orledger.audit.registry.known import RegisteredUnits


@dataclass(frozen=True)
class Fixed:
    """``units`` is the number, None where none is known; ``how`` says in words by what; ``early`` whether no result was known then."""

    units: int | None = None
    how: str = ""
    early: bool = False


UNFIXED = Fixed()


def fixed_units(ledger: UnitReader, comparison: Comparison, known: RegisteredUnits | None) -> Fixed:
    """The number of units that ``comparison`` is held to; ``known`` is what was stored when it was registered."""
    if comparison.units is not None:
        return Fixed(comparison.units, "was registered for {}", early=True)
    if known is not None and known.units is not None and known.unit == ", ".join(comparison.unit):
        if known.basis == PRESENT:
            return Fixed(known.units, "was registered when {} were there, with results,")
        return Fixed(known.units, "was registered with a plan of {}", early=True)
    found = planned_units(ledger, comparison)
    return Fixed(found, "was planned, before the first result, for {}", early=found is not None)


def planned_units(ledger: UnitReader, comparison: Comparison) -> int | None:
    """The independent units of ``comparison`` that were planned before the first result; None where that is not known."""
    early = ledger.recall("planned early", lambda: ledger.results.sql(PLANNED_EARLY))
    if comparison.test not in MATCHED or early.is_empty():
        return None
    for _, quantity in comparison.sides:  # units that a plan does not name: of a query of its own, or arms and labels
        layout = ledger.surface.layout(quantity)
        if quantity.sql is not None or quantity.record_keys(layout, comparison.unit):
            return None
    counts = []
    for _, quantity in comparison.sides:
        query = cells_sql(ledger.surface, quantity, comparison.unit, states=())
        cells = ledger.recall(("planned", query), partial(ledger.results.sql, query))
        counts.append(cells.join(early, on="cell_id", how="semi").select(comparison.unit).n_unique())
    return min(counts) or None

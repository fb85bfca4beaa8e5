"""How many units a comparison was planned for before the first result: what the chain says, where the text says nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from orledger.audit.registry.quantities import cells_sql
from orledger.schema.ledger import PLANNED_EARLY

if TYPE_CHECKING:
    from orledger.audit.evaluation.units import Ledger
    from orledger.audit.registry.hypotheses import Comparison


# Tests whose n counts units that every side has.
MATCHED = ("signed_rank", "sign", "sign_anytime", "mcnemar", "friedman", "skillings_mack", "spearman", "slope")


def planned_units(ledger: Ledger, comparison: Comparison) -> int | None:
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

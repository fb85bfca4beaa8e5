"""How many units a comparison was planned for before the first result: what the chain says, where the text says nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from orledger.audit.registry.quantities import cells_sql

if TYPE_CHECKING:
    from orledger.audit.evaluation.units import Ledger
    from orledger.audit.registry.hypotheses import Comparison

# Cells whose plan entered a history before any cell of their study had an outcome in it. Imported results are planned when
# they are imported, which says nothing.
EARLY = """
WITH settled AS (
    SELECT i.branch, c.case_name, min(i.sequence) AS first FROM ledger_item i JOIN all_cells c ON c.cell_id = i.key
    WHERE i.part = 'cell' GROUP BY ALL
)
SELECT DISTINCT c.cell_id FROM ledger_item i JOIN all_cells c ON c.cell_id = i.key
LEFT JOIN settled s ON s.branch = i.branch AND s.case_name = c.case_name
WHERE i.part = 'plan' AND NOT c.imported AND (s.first IS NULL OR i.sequence < s.first)
"""


def planned_units(ledger: Ledger, comparison: Comparison) -> int | None:
    """The independent units of ``comparison`` that were planned before the first result; None where that is not known."""
    early = ledger.recall("planned early", lambda: ledger.results.sql(EARLY))
    if early.is_empty() or any(q.sql is not None for _, q in comparison.sides):
        return None
    counts = []
    for _, quantity in comparison.sides:
        query = cells_sql(ledger.surface, quantity, comparison.unit, states=())
        cells = ledger.recall(("planned", query), partial(ledger.results.sql, query))
        counts.append(cells.join(early, on="cell_id", how="semi").select(comparison.unit).n_unique())
    return min(counts) or None

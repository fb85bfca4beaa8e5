"""Queries for what is not there: refusals of arms, arms that an imported table does not name, and cells without an answer."""

from __future__ import annotations

from orledger.reports.absence import ALIKE

# Refusals that differ in their numbers only are one line, and their margins a range.
ARM_REFUSALS = f"""
SELECT case_name, block, arm, if(count(DISTINCT refused) = 1, min(refused), {ALIKE.format("min(refused)")}) AS reason,
       count(*) AS cells, min(refused_by) AS smallest_margin, max(refused_by) AS largest_margin,
       string_agg(cell, ', ' ORDER BY cell) AS names
FROM all_refusals
GROUP BY case_name, block, arm, {ALIKE.format("refused")}
ORDER BY case_name, block, arm, reason
"""

# A table that was brought in need not have a row for every arm of a cell: nobody declined there, and no number is there either.
NO_ENTRY, EMPTY_ENTRY = "no entry in what was imported", "missing in "
UNSAID = f"""
WITH brought AS (SELECT case_name, block, cell_id, cell FROM all_cells WHERE imported AND state = 'done'),
     named AS (SELECT cell_id, arm FROM all_records SEMI JOIN brought USING (cell_id)
               UNION SELECT cell_id, arm FROM all_refusals SEMI JOIN brought USING (cell_id)),
     arms AS (SELECT DISTINCT case_name, block, arm FROM named JOIN brought USING (cell_id))
SELECT case_name, block, arm, '{NO_ENTRY}' AS reason, count(*) AS cells, NULL::DOUBLE AS smallest_margin,
       NULL::DOUBLE AS largest_margin, string_agg(cell, ', ' ORDER BY cell) AS names
FROM brought JOIN arms USING (case_name, block) ANTI JOIN named USING (cell_id, arm)
GROUP BY case_name, block, arm ORDER BY case_name, block, arm
"""

CELL_REFUSALS = """
SELECT case_name, block, state, coalesce(reason, split_part(error, chr(10), -2), 'not run yet') AS reason, count(*) AS cells,
       string_agg(cell, ', ' ORDER BY cell) AS names
FROM all_cells WHERE state <> 'done' GROUP BY ALL ORDER BY case_name, block, state
"""


def declined(reason: str | None) -> bool:
    """Whether an arm refused for ``reason``; false where a table that was brought in has no entry, or an empty one."""
    return reason != NO_ENTRY and not (reason or "").startswith(EMPTY_ENTRY)

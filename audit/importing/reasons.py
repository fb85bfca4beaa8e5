"""Which column says why numbers are missing, and which of its words mean that a number beside them is no result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.importing import words

if TYPE_CHECKING:
    from collections.abc import Collection

    from orledger.audit.importing.columns import Columns


def reason_column(columns: Columns, taken: Collection[str | None]) -> str | None:
    """The column that says why numbers are missing: by its name, or as the status of runs of which some did not end well."""
    texts = [c for c in columns.texts if c not in taken]
    ended = [c for c in texts if words.is_one_of(c, words.STATUSES)]
    badly = (c for c in ended if any(v.lower() not in words.FINE for v in columns.values(c)))
    return next((c for c in texts if words.is_one_of(c, words.REASONS)), next(badly, None))


def failures(columns: Columns, reason: str | None) -> list[str]:
    """The failures of a status with numbers beside them; none where it names another end too, which may have left a result."""
    if reason is None or not words.is_one_of(reason, words.STATUSES):
        return []
    ends = [v for v in columns.values(reason) if v.lower() not in words.FINE]
    there = columns.numeric.filter(columns.frame[reason].is_in(ends))
    numbers = any(there[c].count() for c in columns.numbers if words.is_metric(c) or words.is_one_of(c, words.VALUES))
    return ends if numbers and all(v.lower() in words.FAILED for v in ends) else []

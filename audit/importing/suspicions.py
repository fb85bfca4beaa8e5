"""What a table says that its author hardly meant: two spellings of one arm."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orledger.audit.importing.columns import Columns

ALIKE = 0.85  # share of letters in common above which two names may be one
RARE = 0.5  # the rarer spelling of one name has fewer than this share of the rows of the other


def doubtful_arms(columns: Columns, arm: str) -> list[str]:
    """A line for every two arms whose names differ by a slip, where one of them has far fewer rows."""
    counts = dict(columns.frame[arm].drop_nulls().value_counts().iter_rows())
    names = columns.values(arm)
    if len(names) > 200:  # pairs grow with the square, and so many arms are no list that somebody typed
        return []
    lines = []
    for pair in combinations(names, 2):
        rare, usual = sorted(pair, key=lambda n: counts[n])
        if counts[rare] < RARE * counts[usual] and _alike(rare, usual):
            lines.append(
                f"{arm}: {rare!r} ({counts[rare]:,} of {columns.frame.height:,} rows) is spelt nearly like {usual!r}"
                f" ({counts[usual]:,}); where they are one arm, correct the table and begin with a new database"
            )
    return lines


def _alike(one: str, other: str) -> bool:
    """Whether two names differ by a slip of letters; other digits or signs (v1 and v2, SAC and SAC+) are other names."""
    a, b = ("".join(filter(str.isalpha, n.casefold())) for n in (one, other))
    if [c for c in one if c.isdigit() or c == "+"] != [c for c in other if c.isdigit() or c == "+"]:
        return False
    return bool(a) and (a == b or (min(len(a), len(b)) >= 5 and SequenceMatcher(None, a, b).ratio() >= ALIKE))

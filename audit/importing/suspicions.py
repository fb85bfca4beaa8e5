"""What a table says that its author hardly meant: numbers with something beside them, and two spellings of one arm."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING

from orledger.audit.importing import words
from orledger.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from orledger.audit.importing.columns import Columns

_N = r"[+\-−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SPREAD = rf"^{_N}\s*%?\s*(?:(?:±|\+/-|\+-|\\pm)\s*{_N}|\(\s*{_N}\s*\))\s*%?$"
PERCENT = rf"^{_N}\s*%$"
PLAIN = rf"^{_N}$"
ALIKE = 0.85  # share of letters in common above which two names may be one
RARE = 0.5  # the rarer spelling of one name has fewer than this share of the rows of the other


def require_bare_numbers(columns: Columns, left: Sequence[str], said: Collection[str]) -> None:
    """An error for columns of results such as ``78.6 ± 0.9`` or ``67.8%``: as words they would be left out in silence.

    A percentage may also name a setting (noise of 10%), so a column of them is a result only where its name is that of something
    measured or the rows are told apart by other columns. ``said`` are the columns whose part the user named.
    """
    marked = {c: example for c in left if c in columns.texts and c not in said and (example := _marked(columns, c))}
    others = [c for c in left if c not in marked and (c in columns.texts or words.is_one_of(c, words.REPEATS))]
    results = [
        c for c, example in marked.items()
        if not re.match(PERCENT, example) or words.is_metric(c) or columns.tell_apart(others)
    ]  # fmt: skip
    if not results:
        return
    first, *more = results
    also = f"; so it is in {', '.join(more[:5])}{' and others' if len(more) > 5 else ''}" if more else ""
    raise DataError(
        f"{columns.source}: column {first!r} holds {marked[first]!r}, a number with something beside it{also}",
        hint=f"keep the number alone, the spread in a column of its own or not at all; --ignore {first} leaves the column out",
    )


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


def _marked(columns: Columns, name: str) -> str:
    """An entry with a mark, where all entries of a column are numbers with or without one; empty otherwise."""
    entries = columns.frame[name].drop_nulls()
    marked = entries.str.contains(SPREAD) | entries.str.contains(PERCENT)
    if not (marked | entries.str.contains(PLAIN)).all():
        return ""
    spread = entries.filter(entries.str.contains(SPREAD))
    return str(spread[0] if len(spread) else entries.filter(marked)[0]) if marked.any() else ""


def _alike(one: str, other: str) -> bool:
    """Whether two names differ by a slip of letters; other digits or signs (v1 and v2, SAC and SAC+) are other names."""
    a, b = ("".join(filter(str.isalpha, n.casefold())) for n in (one, other))
    if [c for c in one if c.isdigit() or c == "+"] != [c for c in other if c.isdigit() or c == "+"]:
        return False
    return bool(a) and (a == b or (min(len(a), len(b)) >= 5 and SequenceMatcher(None, a, b).ratio() >= ALIKE))

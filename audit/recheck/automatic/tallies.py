"""Wins, losses and ties against the number of pairs: in one cell, in three columns, and in the text.

An n may count something else: datasets where every dataset was compared several times, pairs without those that tied or
failed. So three columns are read where their other rows fit, or where they exceed an n beside them by a little, and a
sentence where its n is close to what it counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.spots import Spot, in_cell, in_sentence
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import normal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid, PrintedCell

_KINDS = {
    "won": r"wins?|won|w|better",
    "tied": r"ties?|tied|t|draws?|drawn|d|equal",
    "lost": r"loss(?:es)?|lost|loses|l|worse",
}
_ONE = {kind: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for kind, words in _KINDS.items()}
_LAST = {kind: re.compile(rf"(?:^|.*\s)(?:{words})\W*$", re.IGNORECASE) for kind, words in _KINDS.items()}
_THREE = re.compile(r"(\d+)\s*[/–-]\s*(\d+)\s*[/–-]\s*(\d+)")
_N_HEADING = re.compile(r"^\s*(?:n|N|#|pairs|cells|blocks|seeds|datasets)\s*$")
_N_LAST = re.compile(r"(?:^|.*\s)(?:[nN]|pairs|cells|blocks|seeds|datasets|games|runs|tasks)\W*$")
_NEAR = 0.1  # how far the counts of a lone row may exceed what is taken for their n
_CLOSE = 0.2  # how far the counts of a sentence may lie from it
_UNITS = r"(?:pairs|cells|blocks|seeds|datasets|data sets|runs|games|comparisons|tasks|problems|instances|benchmarks|functions|replications)"
_TEXT_TWO = re.compile(
    r"(?P<won>\d+)\s+(?:wins?|better)\b\W+(?:and\s+)?(?P<lost>\d+)\s+(?:loss(?:es)?|worse)\b(?:\W+(?:and\s+)?(?P<tied>\d+)\s+(?:ties?|tied|draws?)\b)?"
    rf"[^.;]{{0,40}}?\b(?:of|out of|over|in|across|among)\s+(?:all\s+|the\s+)?(?P<n>\d+)\s+{_UNITS}\b"
)
# Ties between wins and losses, and n right after them. What goes on with another number, or with what there are several of, is not all of n.
_TEXT_THREE = re.compile(
    r"(?<![\d.,])(?P<won>\d+)\s+wins?,?\s+(?:and\s+)?(?P<tied>\d+)\s+(?:ties?|draws?),?\s+(?:and\s+)?(?P<lost>\d+)\s+loss(?:es)?\s+"
    rf"(?:on|of|out of|over|in|across|among)\s+(?:all\s+)?(?:the\s+|our\s+)?(?P<n>\d+)\s+{_UNITS}(?!\s*(?:and|by|with|per|each|times|at|under|[×x*]|\(\s*\d)|,?\s*\d)"
)
_OTHERS = re.compile(
    r"\b(?:remaining|rest|others?|fail(?:ed|ures?)?|missing|excluded|excluding|time-?outs?|timed|metrics?|measures?|budgets?)\b",
    re.I,
)


def check_tallies(document: Document) -> Iterator[Finding]:
    """Wins, losses and ties against their n, in tables and in the text."""
    for grid in document.grids:
        yield from _in_cells(grid)
        yield from _in_columns(grid)
    for sentence in document.sentences:
        text = normal(sentence.text)
        for match in (*_TEXT_TWO.finditer(text), *_TEXT_THREE.finditer(text)):
            won, tied, lost, n = (int(match[name] or 0) for name in ("won", "tied", "lost", "n"))
            counted = won + tied + lost
            if match["tied"] is None and counted < n:
                continue  # ties that are not mentioned
            if abs(counted - n) > max(1, _CLOSE * n) or (match.re is _TEXT_THREE and _OTHERS.search(text)):
                continue  # n is one of several things that were compared
            spot = in_sentence(sentence, match.start(), match[0])
            yield _tally(spot, [won, tied, lost], n, (spot.id,))


def _in_cells(grid: Grid) -> Iterator[Finding]:
    """Columns of ``13/2/10`` beside one column of n."""
    n_columns = [j for j in range(grid.width) if _N_HEADING.match(grid.heading(j))]
    for j in range(grid.width):
        at = {kind: found.start() for kind, words in _ONE.items() if (found := words.search(grid.heading(j)))}
        if len(at) < 3 or len(n_columns) != 1:
            continue
        order = sorted(at, key=at.__getitem__)
        rows = []
        for i, cell in grid.column(j):
            found, n = _THREE.fullmatch(cell.text.strip()), _count(grid.rows[i][n_columns[0]])
            if found is not None and n is not None:
                named = dict(zip(order, map(int, found.groups()), strict=True))
                rows.append((i, [named[kind] for kind in _KINDS], n))
        yield from _judged(grid, [j], n_columns[0], rows)


def _in_columns(grid: Grid) -> Iterator[Finding]:
    """Three columns called wins, ties and losses beside one of n: where other rows fit, or where they exceed n by a little."""
    headings = [grid.heading(j).strip() for j in range(grid.width)]
    for kinds in _triples(headings):
        columns = [kinds[kind] for kind in _KINDS]
        above = ("", headings[columns[0]].rpartition(" ")[0])
        n_columns = [j for j, h in enumerate(headings) if _N_LAST.match(h) and h.rpartition(" ")[0] in above]
        if len(n_columns) != 1:
            continue
        rows = []
        for i, row in enumerate(grid.rows):
            counts, n = [c for j in columns if (c := _count(row[j])) is not None], _count(row[n_columns[0]])
            left = {c for j, cell in enumerate(row) if j not in columns and (c := _count(cell)) is not None}
            if len(counts) < 3 or not n or any(row[j].repeated for j in columns):
                continue
            if not (sum(counts) < n and n - sum(counts) in left):  # what is left may have a column of its own
                rows.append((i, counts, n))
        fit = sum(n in (sum(counts), counts[0] + counts[2]) for _, counts, n in rows)
        near = all(n < sum(counts) <= max(n + 1, (1 + _NEAR) * n) for _, counts, n in rows)
        named = all(len(headings[j].split()[-1]) > 1 for j in columns)  # W, T and L may be anything
        if (fit and 2 * fit >= len(rows)) or (near and named):
            yield from _judged(grid, columns, n_columns[0], rows)


def _judged(grid: Grid, columns: list[int], n_column: int, rows: list[tuple[int, list[int], int]]) -> Iterator[Finding]:
    """Findings of the rows of one table; n is without the ties where it is so in more rows that have some."""
    tied = [(counts, n) for _, counts, n in rows if counts[1]]
    without = sum(c[0] + c[2] == n for c, n in tied) > sum(sum(c) == n for c, n in tied)
    for i, counts, n in rows:
        keys = tuple(grid.key(i, j) for j in (*columns, n_column))
        yield _tally(in_cell(grid, i, columns[0]), counts, n, keys, without_ties=without)


def _triples(headings: list[str]) -> Iterator[dict[str, int]]:
    """Columns for wins, ties and losses under one heading, where there is one of each and no column of another kind of win."""
    groups: dict[str, dict[str, list[int]]] = {}
    for j, heading in enumerate(headings):
        for kind, words in _LAST.items():
            if words.match(heading):
                groups.setdefault(heading.strip().rpartition(" ")[0], {}).setdefault(kind, []).append(j)
    more = [h for h in headings if re.search(r"\b(?:big|strong|weak|narrow|partial|near)\b", h, re.I)]
    for found in groups.values():
        if not more and len(found) == 3 and all(len(at) == 1 for at in found.values()):
            yield {kind: at[0] for kind, at in found.items()}


def _count(cell: PrintedCell) -> int | None:
    number = cell.entry.main
    if number is None or cell.entry.form != "plain" or not number.whole or number.percent or number.relation != "=":
        return None
    return int(number.value) if number.value >= 0 else None


def _rest(row: tuple[PrintedCell, ...], taken: set[int]) -> set[int]:
    """The whole numbers of the other columns: what failed, or was left out."""
    return {n for j, cell in enumerate(row) if j not in taken and (n := _count(cell)) is not None}


def _tally(spot: Spot, counts: list[int], n: int, operands: tuple[str, ...], *, without_ties: bool = False) -> Finding:
    won, tied, lost = counts
    parts = [won, lost] if without_ties else [won, lost, tied]
    words = f"{' + '.join(map(str, parts))} = {sum(parts)}, n = {n}"
    verdict = CheckVerdict.MATCHES if sum(parts) == n else CheckVerdict.IMPOSSIBLE
    return spot.found("wins, losses and ties", verdict, words, recomputed=str(sum(parts)), operands=operands)

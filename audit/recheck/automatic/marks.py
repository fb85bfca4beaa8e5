"""Marks against numbers: what is printed bold is the best of its group, and ranks follow the values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.spots import in_cell
from orledger.audit.recheck.model import CheckVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid
    from orledger.audit.recheck.reading.numbers import PrintedNumber

# At least this share of the groups must fit before bold is taken to mean best; elsewhere it means something else.
_USUAL = 0.75
_LOWER = re.compile(
    r"↓|lower is better|\b(?:error|rmse|mse|mae|loss|regret|nll|perplexity|ppl|wer|cer|fid)\b", re.IGNORECASE
)
_HIGHER = re.compile(
    r"↑|higher is better|\b(?:accuracy|acc|f1|auc|auroc|bleu|rouge|map|precision|recall|success|psnr|ssim|dice|iou|miou)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Member:
    """One cell of a group: where it stands, its number and whether it is marked."""

    row: int
    column: int
    number: PrintedNumber
    bold: bool


def extreme(group: Sequence[Member]) -> tuple[bool, bool]:
    """Whether the marked cells can be the largest, and the smallest, of the group, ties by the printed digits."""
    marked = [m.number.value for m in group if m.bold]
    values = [m.number.value for m in group]
    return all(v >= max(values) for v in marked), all(v <= min(values) for v in marked)


_SAID_BEST = re.compile(
    r"\b(?:best|highest|lowest|winner|top)\b[^.;]*\b(?:bold|boldface)|\b(?:bold|boldface)\w*\b[^.;]*\b(?:best|highest|lowest|winner|top)\b",
    re.IGNORECASE,
)
_OF_COLUMN = re.compile(r"\b(?:each|every|per|the|a|its|their) columns?\b|\bcolumn-?wise\b|\bcolumn's\b", re.IGNORECASE)
_OF_ROW = re.compile(r"\b(?:each|every|per|the|a|its|their) rows?\b|\brow-?wise\b|\brow's\b", re.IGNORECASE)
_UNDERLINED = re.compile(r"underlin|italic", re.IGNORECASE)
# Of some of the rows, or of more than the best one: the caption does not say which mark is wrong.
_TIED = re.compile(
    r"significan|statistical|indistinguishable|within|tied?\b|ties\b|top[- ](?:two|three|\d)|\bamong\b|\bexcept|\bexclud|\bother than\b"
    r"|\b(?:each|per) (?:group|block|category|section|size|class|family)\b|\bfor [^.;]{1,40}\b(?:models?|methods?|baselines?)\b[^.;]*\bbold|\bof (?:our|the open|all open)\b",
    re.IGNORECASE,
)
_SECOND = re.compile(r"\bsecond|\brunner", re.IGNORECASE)


# Rows that stand in a table and take no part in the comparison.
_ASIDE = re.compile(
    r"\b(?:oracle|upper[- ]bound|lower[- ]bound|humans?|skyline|ceiling|ground[- ]truth|chance|reference|improvements?|gains?|diff\w*)\b|Δ|[*†‡§]$",
    re.IGNORECASE,
)


def _members(grid: Grid) -> list[Member]:
    """The numbers of a table that are compared with one another."""
    return [
        Member(i, j, cell.entry.main, cell.bold)
        for i, j, cell in grid.cells()
        if cell.entry.main is not None and cell.entry.form in ("plain", "paren", "spread", "interval")
        and (cell.bold or not _ASIDE.search(grid.label(i)))
    ]  # fmt: skip


def _directions(grid: Grid, words: str) -> tuple[str, ...]:
    """Whether a caption that calls bold numbers the best means those of a column or of a row, or else what the marks show."""
    column, row = bool(_OF_COLUMN.search(words)), bool(_OF_ROW.search(words))
    if column == row:  # one mark in every line
        members = _members(grid)
        column, row = (
            all(any(m.bold for m in members if getattr(m, along) == k) for k in {getattr(m, along) for m in members})
            for along in ("column", "row")
        )
    return ("column", "row") if column == row else ("column",) if column else ("row",)


def _groups(grid: Grid, along: str, *, said: bool) -> Iterator[list[Member]]:
    """Numbers of a column within a block, or of a row; `said` when the caption says that bold means best."""
    cells = _members(grid)
    # A row printed bold as a whole is a chosen one, not a row of best values, unless the caption says what bold is.
    chosen = {
        i
        for i in {m.row for m in cells}
        if (row := [m for m in cells if m.row == i]) and len(row) > 1 and sum(m.bold for m in row) >= 0.8 * len(row)
    }
    if not (said and along == "column"):
        cells = [m for m in cells if m.row not in chosen]
    keys: dict[tuple[int, int], list[Member]] = {}
    for m in cells:
        key = (m.column, grid.blocks[m.row]) if along == "column" else (m.row, 0)
        keys.setdefault(key, []).append(m)
    for group in keys.values():
        bold = sum(m.bold for m in group)
        if len(group) >= 3 and 0 < bold < len(group) and bold <= max(1, len(group) // 2):
            yield group


def _wanted(grid: Grid, group: Sequence[Member], along: str) -> str:
    """Which end is best, as far as the words say: highest, lowest, or unknown."""
    words = grid.heading(group[0].column) if along == "column" else f"{grid.label(group[0].row)} {grid.caption}"
    low, high = bool(_LOWER.search(words)), bool(_HIGHER.search(words))
    if low == high:
        return ""
    return "lowest" if low else "highest"


def _says_best(words: str) -> bool:
    """Whether a caption says that bold numbers are the best ones, of all rows and no more than these."""
    several = _SECOND.search(words) is not None and _UNDERLINED.search(words) is None
    return bool(_SAID_BEST.search(words)) and not _TIED.search(words) and not several


def check_bold(document: Document) -> Iterator[Finding]:
    """Bold numbers against the rest of their column or row, in tables where bold means best."""
    for grid in document.grids:
        words = f"{grid.caption} {grid.notes}"
        said = _says_best(words)
        best: tuple[float, str, list[list[Member]]] | None = None
        for along in _directions(grid, words) if said else ("column", "row"):
            groups = list(_groups(grid, along, said=said))
            if said and sum(not any(extreme(g)) for g in groups) > max(1, len(groups) // 8):
                groups = list(_groups(grid, along, said=False))  # a row in bold is a chosen one after all
            if groups:
                share = sum(any(extreme(g)) for g in groups) / len(groups)
                if best is None or share > best[0]:
                    best = (share, along, groups)
        if best is None or best[0] < _USUAL or len(best[2]) < 2:
            continue
        _, along, groups = best
        usual = _usual_end(grid, groups, along)
        for group in groups:
            yield from _judged(grid, group, along, usual)


def _usual_end(grid: Grid, groups: Sequence[Sequence[Member]], along: str) -> str:
    """Which end the marks of the others are at, where all of those agree and no words say so; empty where they do not."""
    ends = {extreme(g) for g in groups if any(extreme(g)) and not all(extreme(g))}
    said = {w for g in groups if (w := _wanted(grid, g, along))}
    found = {"highest" if high else "lowest" for high, _ in ends} | said
    return found.pop() if len(found) == 1 else ""


def _judged(grid: Grid, group: Sequence[Member], along: str, usual: str) -> Iterator[Finding]:
    """One finding per mark; what the other lines mean by best is named in a wrong one, and decides about none."""
    highest, lowest = extreme(group)
    wanted = _wanted(grid, group, along)
    values = [m.number.value for m in group]
    good = (highest or lowest) if not wanted else (highest if wanted == "highest" else lowest)
    ends = {name: f"{value:g}" for name, value in (("highest", max(values)), ("lowest", min(values)))}
    named = wanted or (("highest" if highest else "lowest") if good else usual)
    for m in group:
        if not m.bold:
            continue
        if good:
            why = f"the {named} of its {along}"
        elif named:
            like = "" if wanted else ", as the other marks are"
            why = f"not the {named} of its {along}{like}, which is {ends[named]}"
        else:
            why = f"neither the highest of its {along}, which is {ends['highest']}, nor the lowest, which is {ends['lowest']}"
        yield in_cell(grid, m.row, m.column).found(
            "bold",
            CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
            why,
            recomputed="" if good or not named else ends[named],
            operands=tuple(grid.key(x.row, x.column) for x in group),
        )


_RANK = re.compile(r"^(?:rank|ranking|place|#)$", re.IGNORECASE)


def ranks(values: Sequence[float], *, falling: bool) -> list[tuple[float, float]]:
    """(lowest, highest) rank that each value can be given, ties allowed every convention."""
    signed = [-v if falling else v for v in values]
    return [(1 + sum(x < v for x in signed), float(sum(x <= v for x in signed))) for v in signed]


def check_ranks(document: Document) -> Iterator[Finding]:
    """Columns called rank, against the column of values that they follow best."""
    for grid in document.grids:
        for j in range(grid.width):
            if not _RANK.match(grid.heading(j).strip()):
                continue
            printed = {i: c.entry.main.value for i, c in grid.column(j) if c.entry.main is not None}
            if len(printed) < 3:
                continue
            best: tuple[int, int, list[tuple[int, tuple[float, float]]]] | None = None
            for k in range(grid.width):
                values = {i: c.entry.main.value for i, c in grid.column(k) if c.entry.main is not None and i in printed}
                if k == j or len(values) != len(printed):
                    continue
                for falling in (False, True):
                    found = list(zip(values, ranks(list(values.values()), falling=falling), strict=True))
                    fitting = sum(low <= printed[i] <= high for i, (low, high) in found)
                    if best is None or fitting > best[0]:
                        best = (fitting, k, found)
            # Two swapped places are a mistake; more are another quantity.
            if best is None or best[0] < len(printed) - 2 or best[0] < 2:
                continue
            for i, (low, high) in best[2]:
                good = low <= printed[i] <= high
                shown = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                yield in_cell(grid, i, j).found(
                    "rank",
                    CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
                    f"the values of column {grid.heading(best[1]) or best[1] + 1} give rank {shown}",
                    recomputed=shown,
                    value=(low, high),
                    operands=(grid.key(i, j), grid.key(i, best[1])),
                )

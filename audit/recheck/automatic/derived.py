"""Columns and rows that follow from others: differences, sums, ratios and percentages found by themselves, and averages.

A relation is taken for meant when it holds in nearly all rows and its holding there by chance is next to impossible: each row
that fits counts the share of the column's range that its rounding covers. Where it is meant, the rows that break it are
findings.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.screening import FEWEST, MOST, Line, Screen, as_set
from orledger.audit.recheck.automatic.spots import in_cell
from orledger.audit.recheck.automatic.totals import summed
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.rounding import Enclosure, exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid
    from orledger.audit.recheck.reading.numbers import PrintedNumber

_RARE = 5.0  # powers of ten against chance, beyond the number of relations tried
_NAMED = 2.0  # the same where the heading itself speaks of a difference or a ratio
_WIDEST = 24  # columns; wider tables have too many triples


def _ratio(a: Enclosure, b: Enclosure) -> Enclosure | None:
    return None if b.low <= 0 <= b.high else a / b


def _percent(a: Enclosure, b: Enclosure) -> Enclosure | None:
    share = _ratio(a, b)
    return None if share is None else share * exactly(100)


def _change(a: Enclosure, b: Enclosure) -> Enclosure | None:
    share = _ratio(a, b)
    return None if share is None else (share - exactly(1)) * exactly(100)


_FORMS: dict[str, Callable[[Enclosure, Enclosure], Enclosure | None]] = {
    "{a} - {b}": lambda a, b: a - b,
    "{a} + {b}": lambda a, b: a + b,
    "{a} / {b}": _ratio,
    "100 {a} / {b}": _percent,
    "100 ({a} / {b} - 1)": _change,
}
_DERIVED = re.compile(r"Δ|\bdiff|\bgain|\bimprovement|\bratio|\bspeed-?up|\bchange|\breduction", re.IGNORECASE)


@dataclass(frozen=True)
class DerivedLine:
    """A line of numbers that follows from two others, with the places where it holds and where it does not."""

    form: str
    a: int
    b: int
    c: int
    fits: tuple[int, ...]
    breaks: tuple[int, ...]


def relations(lines: dict[int, Line], named: frozenset[int] = frozenset()) -> list[DerivedLine]:
    """The relations that hold among the lines too often to be chance; for each target line the one that fits best.

    `named` are the lines whose heading says that they are derived.
    """
    names = list(lines)
    found: dict[int, tuple[float, DerivedLine]] = {}
    tried = max(1, len(names) ** 3 * len(_FORMS))
    screen = Screen(lines)
    for c in names:
        target = lines[c]
        values = [n.value for n, _ in target.values()]
        spread = max(values, default=0.0) - min(values, default=0.0)
        if spread <= 0:
            continue
        for a, b, form in screen.candidates(c):
            shared = [i for i in target if i in lines[a] and i in lines[b]]
            score, relation = _tested(form, _FORMS[form], (a, b, c), lines, shared, spread)
            if (
                relation is not None
                and score > (_NAMED if c in named else _RARE) + math.log10(tried)
                and score > found.get(c, (0.0, relation))[0]
            ):
                found[c] = (score, relation)
    return _without_echoes([relation for _, relation in found.values()], lines)


def _tested(
    form: str,
    rule: Callable[[Enclosure, Enclosure], Enclosure | None],
    names: tuple[int, int, int],
    lines: dict[int, Line],
    shared: list[int],
    spread: float,
) -> tuple[float, DerivedLine | None]:
    a, b, c = names
    fits, breaks, score = [], [], 0.0
    for i in shared:
        result, printed = rule(as_set(lines[a][i][0]), as_set(lines[b][i][0])), lines[c][i][0].interval
        if result is not None and result.meets(printed):
            fits.append(i)
            width = result.high - result.low + printed.high - printed.low
            score += math.log10(max(spread / width, 1.0)) if width > 0 else 0.0
        else:
            breaks.append(i)
            if len(breaks) > (1 - MOST) * len(shared) + 1e-9:
                return 0.0, None
    # Lines that hardly vary fit each other whatever they mean, but for the one n of a column of counts and their shares.
    varied = [len({lines[k][i][0].value for i in fits}) >= 3 for k in names]
    if not all(varied) and not (varied[0] and varied[2] and _of_counts(form, names, lines, shared)):
        return 0.0, None
    return score, DerivedLine(form, a, b, c, tuple(fits), tuple(breaks))


def _of_counts(form: str, names: tuple[int, int, int], lines: dict[int, Line], places: Iterable[int]) -> bool:
    """Whether the third line is a share of the counts of the first among those of the second, all of which are more than one."""
    a, b, c = ([lines[k][i][0] for i in places] for k in names)
    return (
        form in ("{a} / {b}", "100 {a} / {b}")
        and all(x.whole and y.whole and 0 <= x.value <= y.value > 1 for x, y in zip(a, b, strict=True))
        and any(z.percent or not z.whole for z in c)
    )


def _without_echoes(found: list[DerivedLine], lines: dict[int, Line]) -> list[DerivedLine]:
    """One relation per set of three lines: c = a - b, a = b + c and b = a - c are the same statement.

    A share follows from its counts, and no count from a share.
    """
    kept: dict[frozenset[int], DerivedLine] = {}
    for relation in found:
        key = frozenset((relation.a, relation.b, relation.c))
        names = relation.a, relation.b, relation.c
        if key not in kept or _of_counts(relation.form, names, lines, (*relation.fits, *relation.breaks)):
            kept[key] = relation
    return list(kept.values())


def _lines(grid: Grid, along: str) -> dict[int, Line]:
    lines: dict[int, Line] = {}
    for i, j, cell in grid.cells():
        main = cell.entry.main
        if main is None or cell.entry.form not in ("plain", "paren", "spread", "interval") or main.relation != "=":
            continue
        line, place = (j, i) if along == "column" else (i, j)
        lines.setdefault(line, {})[place] = (main, grid.key(i, j))
    return {k: line for k, line in lines.items() if len(line) >= FEWEST}


def check_derived(document: Document) -> Iterator[Finding]:
    """Columns, and rows, that are the difference, sum, ratio or percentage of two others."""
    for grid in document.grids:
        for along in ("column", "row"):
            lines = _lines(grid, along)
            if not 3 <= len(lines) <= _WIDEST:
                continue
            words = {k: grid.heading(k) if along == "column" else grid.label(k) for k in lines}
            totals = summed(grid, along)
            for relation in relations(lines, frozenset(k for k, w in words.items() if _DERIVED.search(w))):
                told = frozenset((relation.a, relation.b, relation.c)) in totals  # as totals, with the cell to blame
                yield from (f for f in _judged(grid, along, lines, relation) if f.verdict.good or not told)


def _judged(grid: Grid, along: str, lines: dict[int, Line], relation: DerivedLine) -> Iterator[Finding]:
    def name(k: int) -> str:
        return (grid.heading(k) if along == "column" else grid.label(k)) or f"{along} {k + 1}"

    words = relation.form.format(a=f"[{name(relation.a)}]", b=f"[{name(relation.b)}]")
    for i in sorted((*relation.fits, *relation.breaks)):
        a, b = lines[relation.a][i], lines[relation.b][i]
        result = _FORMS[relation.form](as_set(a[0]), as_set(b[0]))
        if result is None:  # 0 of 0.000 says nothing
            continue
        good = i in relation.fits
        shown = f"{result.middle:.5g}"
        row, column = (i, relation.c) if along == "column" else (relation.c, i)
        yield in_cell(grid, row, column).found(
            "derived",
            CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
            f"{words} = {shown}" + ("" if good else f", as in {len(relation.fits)} other places"),
            recomputed=shown,
            value=(result.low, result.high),
            operands=(grid.key(row, column), a[1], b[1]),
            cause=f"derived: {grid.name}, {name(relation.c)}",
        )


_AVERAGE = re.compile(r"^(?:\W*)(?:avg|average|mean|macro[- ]?avg|overall mean)\.?\W*$", re.IGNORECASE)


def averages_to(parts: list[PrintedNumber], mean: PrintedNumber) -> bool:
    """Whether numbers that print like the parts can have a mean that prints like this."""
    low, high = (sum(end) / len(parts) for end in ([p.interval.low for p in parts], [p.interval.high for p in parts]))
    return Enclosure(low, high).meets(mean.interval)


def check_averages(document: Document) -> Iterator[Finding]:
    """Rows and columns called average, against the numbers before them in their block, where most of them are their mean."""
    for grid in document.grids:
        numbers = {(i, j): n for j, line in _numbers(grid).items() for i, n in line.items()}
        found = []
        for i in range(len(grid.rows)):
            if _AVERAGE.match(grid.label(i)):
                rows = [r for r in range(i) if grid.blocks[r] == grid.blocks[i]] or list(range(i))
                found += [(i, j, [(r, j) for r in rows]) for j in range(1, grid.width)]
        for j in range(2, grid.width):
            if _AVERAGE.match(grid.heading(j).split(" ")[-1] if grid.heading(j) else ""):
                found += [(i, j, [(i, k) for k in range(1, j)]) for i in range(len(grid.rows))]
        known = [
            (i, j, [p for p in parts if p in numbers])
            for i, j, parts in found
            if (i, j) in numbers and sum(p in numbers for p in parts) >= 2
        ]
        fitting = [averages_to([numbers[p] for p in parts], numbers[i, j]) for i, j, parts in known]
        if len(known) < 2 or sum(fitting) < 0.75 * len(known):
            continue
        for (i, j, parts), good in zip(known, fitting, strict=True):
            value = sum(numbers[p].value for p in parts) / len(parts)
            yield in_cell(grid, i, j).found(
                "average",
                CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
                f"the mean of the {len(parts)} numbers before it is {value:.5g}",
                recomputed=f"{value:.5g}",
                value=(value, value),
                operands=(grid.key(i, j), *(grid.key(*p) for p in parts)),
            )


def _numbers(grid: Grid) -> dict[int, dict[int, PrintedNumber]]:
    found: dict[int, dict[int, PrintedNumber]] = {}
    for i, j, cell in grid.cells():
        if cell.entry.main is not None and cell.entry.form in ("plain", "paren", "spread", "interval"):
            found.setdefault(j, {})[i] = cell.entry.main
    return found

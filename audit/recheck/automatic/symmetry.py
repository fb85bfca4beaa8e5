"""Estimates in the middle of their intervals: most intervals are the estimate plus and minus something, or times and by something.

A column, or the text, whose estimates nearly all lie in the middle of their intervals, on the scale of the numbers or of their
logarithms, has intervals of this kind; an estimate that does not lie there has a wrong digit, or its interval has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.evidence import Trial, by_chance
from orledger.audit.recheck.automatic.spots import in_cell
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.rounding import Enclosure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.audit.recheck.automatic.spots import Spot
    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document
    from orledger.audit.recheck.reading.numbers import PrintedNumber

Triple = tuple["Spot", "PrintedNumber", "PrintedNumber", "PrintedNumber"]
_RARE = 1e-4  # chance that a column of other intervals looks like this
_FEWEST = 5
_ASKEW = 0.25  # of half an interval: what a bootstrap may be off


@dataclass(frozen=True)
class _Fitting:
    """How a column fits one scale."""

    scale: str
    tried: tuple[tuple[Triple, Trial], ...]
    hits: int
    misses: int
    chance: float


def middle(low: PrintedNumber, high: PrintedNumber, scale: str) -> Enclosure | None:
    """Where the middle of an interval can lie, given the digits of its ends."""
    a, b = low.interval, high.interval
    if scale == "linear":
        return Enclosure((a.low + b.low) / 2, (a.high + b.high) / 2)
    if a.low <= 0:
        return None
    return Enclosure(math.sqrt(a.low * b.low), math.sqrt(a.high * b.high))


def _trial(main: PrintedNumber, low: PrintedNumber, high: PrintedNumber, scale: str) -> Trial | None:
    centre, width = middle(low, high, scale), high.value - low.value
    if centre is None or width <= 0:
        return None
    printed = main.interval
    covered = centre.high - centre.low + printed.high - printed.low
    return Trial(min(1.0, covered / width), centre.meets(printed))


def check_tables(document: Document) -> Iterator[Finding]:
    """Columns of estimates with their intervals."""
    for grid in document.grids:
        for j in range(grid.width):
            triples = [
                (in_cell(grid, i, j), e.main, *e.ends)
                for i, cell in grid.column(j)
                if (e := cell.entry).form == "interval" and e.main is not None and e.ends is not None
            ]
            yield from _judged(triples)


def _judged(triples: Sequence[Triple]) -> Iterator[Finding]:
    """The estimates against the middles, on the scale where most of them fit; nothing where too few do."""
    fittings = [_fitting(triples, scale) for scale in ("linear", "log")]
    best = max(fittings, key=lambda found: (found.hits >= _FEWEST, -found.misses, found.hits))
    if best.hits < _FEWEST or best.misses > max(1, (best.hits + best.misses) // 10) or best.chance > _RARE:
        return
    words = "middle" if best.scale == "linear" else "geometric middle"
    for triple, trial in best.tried:
        spot, main, low, high = triple
        if not trial.fits and not _far(main, low, high):
            continue  # a bootstrap is a little askew
        centre = middle(low, high, best.scale)
        shown = "no value" if centre is None else f"{centre.middle:.4g}"
        rest = "" if trial.fits else f"; {best.hits} of {best.hits + best.misses} estimates of the column lie there"
        yield spot.found(
            "middle of the interval",
            CheckVerdict.MATCHES if trial.fits else CheckVerdict.INCONSISTENT,
            f"the {words} of {low.text} to {high.text} is {shown}, and {main.text} is printed{rest}",
            recomputed=shown,
            cause=f"middle of the interval: {spot.id}",
        )


def _far(main: PrintedNumber, low: PrintedNumber, high: PrintedNumber) -> bool:
    """Whether an estimate lies farther from the middle than a quarter of the way to an end, on both scales."""
    ways = []
    for scale in ("linear", "log"):
        if scale == "log" and min(low.value, main.value) <= 0:
            continue
        a, m, b = (x.value if scale == "linear" else math.log(x.value) for x in (low, main, high))
        ways.append(abs(m - (a + b) / 2) > _ASKEW * (b - a) / 2)
    return all(ways)


def _fitting(triples: Sequence[Triple], scale: str) -> _Fitting:
    tried = tuple((t, trial) for t in triples if (trial := _trial(*t[1:], scale)) is not None)
    telling = [trial for _, trial in tried if trial.telling]
    hits = sum(trial.fits for trial in telling)
    return _Fitting(scale, tried, hits, len(telling) - hits, by_chance([trial.chance for trial in telling], hits))

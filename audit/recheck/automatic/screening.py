"""Which lines of a table could follow from two others, found for all pairs at once before any is looked at closely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.recheck.reading.numbers import PrintedNumber

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.rounding import Enclosure

MOST = 0.8  # share of the rows that must fit
FEWEST = 4  # rows
_SYMMETRIC = "{a} + {b}"

Line = dict[int, tuple[PrintedNumber, str]]


def as_set(number: PrintedNumber) -> Enclosure:
    """What a printed number can be: itself when it is a count, else all that round to it."""
    return number.exact if number.whole else number.interval


class Screen:
    """The pairs of lines and forms that could give a third line, all at once and a little too many; the rest is not tried."""

    def __init__(self, lines: dict[int, Line]) -> None:
        self.names = list(lines)
        places = sorted({i for line in lines.values() for i in line})
        shape = (len(self.names), len(places))
        low, high = np.full(shape, np.nan), np.full(shape, np.nan)
        self.printed = np.full((2, *shape), np.nan)
        at = {place: k for k, place in enumerate(places)}
        for r, line in enumerate(lines.values()):
            for place, (number, _) in line.items():
                ends, printed = as_set(number), number.interval
                low[r, at[place]], high[r, at[place]] = ends.low, ends.high
                self.printed[:, r, at[place]] = printed.low, printed.high
        a, b = (low[:, None], high[:, None]), (low[None], high[None])
        with np.errstate(all="ignore"):
            quotients = np.array([x / y for x in a for y in b])
            least, most = quotients.min(axis=0), quotients.max(axis=0)
            astride = (b[0] <= 0) & (b[1] >= 0)
            least, most = np.where(astride, np.inf, least), np.where(astride, -np.inf, most)
            self.ends = {
                "{a} - {b}": (a[0] - b[1], a[1] - b[0]),
                "{a} + {b}": (a[0] + b[0], a[1] + b[1]),
                "{a} / {b}": (least, most),
                "100 {a} / {b}": (100 * least, 100 * most),
                "100 ({a} / {b} - 1)": (100 * (least - 1), 100 * (most - 1)),
            }
        self.known = ~np.isnan(low)

    def candidates(self, name: int) -> Iterator[tuple[int, int, str]]:
        """(a, b, form) that could give the line, in the order of the lines and of the forms."""
        c = self.names.index(name)
        low, high = self.printed[0][c], self.printed[1][c]
        slack = 1e-9 * np.maximum(np.abs(low), np.abs(high))
        shared = (self.known[c] & self.known[:, None] & self.known[None]).sum(axis=2)
        good = []
        with np.errstate(invalid="ignore"):
            for least, most in self.ends.values():
                fits = ((least <= high + slack) & (most >= low - slack)).sum(axis=2)
                good.append((shared >= FEWEST) & (shared - fits <= (1 - MOST) * shared + 1e-9))
        for i, j in np.argwhere(np.any(good, axis=0)):
            a, b = self.names[i], self.names[j]
            if c in (i, j) or i == j:
                continue
            for form, kept in zip(self.ends, good, strict=True):
                if kept[i, j] and not (form == _SYMMETRIC and a > b):
                    yield a, b, form

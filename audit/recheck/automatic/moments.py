"""Means, standard deviations and n of whole numbers: GRIM, GRIMMER and DEBIT where the text says what was counted.

A mean of measured numbers can be anything, so these checks run only where the table or the sentence speaks of counts, items
or ratings (whole numbers), or of shares of yes and no.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.granularity import debit, grim, grimmer
from orledger.audit.recheck.automatic.spots import Spot, in_cell, in_sentence
from orledger.audit.recheck.model import Verdict
from orledger.audit.recheck.reading.numbers import Number, normal, read_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid

_WHOLE = re.compile(
    r"\b(?:likert|ratings?|rated|items? answered|number of|counts?|questionnaire|age in years|points? scale|-point scale)\b",
    re.I,
)
_BINARY = re.compile(r"\b(?:binary|proportions?|yes/no|dichotomous|0/1)\b", re.I)
_MEAN = re.compile(r"(?:^|\s)(?:M|mean|average|avg\.?)$", re.I)
_SD = re.compile(r"(?:^|\s)(?:SD|s\.d\.|std\.?(?: ?dev\.?)?|standard deviation|σ)$", re.I)
_N = re.compile(r"(?:^|\s)(?:n|N)$")
_TEXT = re.compile(
    r"\bM\s*=\s*(?P<mean>[-+]?\d*\.?\d+)\s*[,;(]+\s*SD\s*=\s*(?P<sd>\d*\.?\d+)(?P<rest>[^.;]{0,40}?\b[nN]\s*=\s*(?P<n>\d+))?"
)
_TEXT_N = re.compile(r"\b[nN]\s*=\s*(\d+)")


def kind_of(words: str) -> str:
    """What the words say the data are: whole numbers, zeros and ones, or unknown."""
    if _BINARY.search(words):
        return "binary"
    return "whole" if _WHOLE.search(words) else ""


def judged(spot: Spot, kind: str, mean: Number, sd: Number | None, n: int) -> Finding:
    """Whether n numbers of this kind can have the mean and the standard deviation."""
    if kind == "binary" and sd is not None:
        rule, good = "DEBIT", debit(mean.interval, sd.interval, n)
    elif not grim(mean.interval, n):
        rule, good = "GRIM", False
    elif sd is not None:
        rule, good = "GRIMMER", grimmer(mean.interval, sd.interval, n)
    else:
        rule, good = "GRIM", True
    said = f"mean {mean.text}" + (f", SD {sd.text}" if sd is not None else "")
    why = f"{n} {'zeros and ones' if kind == 'binary' else 'whole numbers'} {'can' if good else 'cannot'} have {said}"
    return spot.found(
        rule, Verdict.ATTAINABLE if good else Verdict.IMPOSSIBLE, why, cause=f"{rule}: {spot.place.split(', row')[0]}"
    )


def check_tables(document: Document) -> Iterator[Finding]:
    """Rows of tables with columns for mean, standard deviation and n."""
    for grid in document.grids:
        words = " ".join([grid.caption, *(grid.heading(j) for j in range(grid.width))])
        kind = kind_of(words)
        if not kind:
            continue
        for mean_column, sd_column, n_column in _columns(grid):
            for i, row in enumerate(grid.rows):
                mean, n = row[mean_column].entry, row[n_column].entry.main
                sd = row[sd_column].entry.main if sd_column is not None else mean.spread
                if mean.main is None or n is None or not n.whole or n.value < 1:
                    continue
                yield judged(in_cell(grid, i, mean_column), kind, mean.main, sd, int(n.value))


def _columns(grid: Grid) -> Iterator[tuple[int, int | None, int]]:
    headings = [grid.heading(j) for j in range(grid.width)]
    n_columns = [j for j, h in enumerate(headings) if _N.search(h)]
    for j, heading in enumerate(headings):
        together = re.search(r"(?:M|mean)\s*(?:\(|±)\s*SD", heading, re.I)
        if not (_MEAN.search(heading) or together) or not n_columns:
            continue
        sd = next((k for k in range(j + 1, min(j + 3, grid.width)) if _SD.search(headings[k])), None)
        yield j, None if together else sd, min(n_columns, key=lambda k: abs(k - j))


def check_text(document: Document) -> Iterator[Finding]:
    """Sentences that print M, SD and n."""
    for sentence in document.sentences:
        text = normal(sentence.text)
        kind = kind_of(text)
        if not kind:
            continue
        sizes = _TEXT_N.findall(text)
        for match in _TEXT.finditer(text):
            mean, sd = read_number(match["mean"]), read_number(match["sd"])
            n = match["n"] or (sizes[0] if len(set(sizes)) == 1 else None)
            if mean is not None and sd is not None and n is not None:
                yield judged(in_sentence(sentence, match.start(), match[0]), kind, mean, sd, int(n))

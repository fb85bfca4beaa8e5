"""Means, standard deviations and n of whole numbers: GRIM, GRIMMER and DEBIT.

A mean of measured numbers can be anything. So a column of means is checked where it shows by itself that whole numbers were
counted, or where its words say so and most of it fits; a sentence is checked where it speaks of counts, items or ratings, or of
shares of yes and no.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.evidence import Trial, of_this_kind
from orledger.audit.recheck.automatic.granularity import debit, grim, grimmer
from orledger.audit.recheck.automatic.spots import Spot, in_cell, in_sentence
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import PrintedNumber, normal, read_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid, Sentence

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
_TEXT_N = re.compile(r"\b[nN]\s*=\s*(\d+)\b(?![.,]\d)")
_TEXT_SIZE = re.compile(r"[(\[]?\s*\b[nN]\s*=\s*\d+\s*[)\]]?")
_COUNTED = re.compile(
    r"\b(?:number of|counts?)\b", re.I
)  # whole for certain; a rating may be the mean of several items
_LARGEST = 1_000_000


def kind_of(words: str) -> str:
    """What the words say the data are: whole numbers, zeros and ones, or unknown."""
    if _BINARY.search(words):
        return "binary"
    return "whole" if _WHOLE.search(words) else ""


def judged(spot: Spot, kind: str, mean: PrintedNumber, sd: PrintedNumber | None, n: int) -> Finding:
    """Whether n numbers of this kind can have the mean and the standard deviation, the latter with n - 1 or with n as its divisor."""
    spread = debit if kind == "binary" else grimmer
    rule = "GRIM"
    usual = other = grim(mean.interval, n)
    if sd is not None and (usual or kind == "binary"):
        rule = "DEBIT" if kind == "binary" else "GRIMMER"
        usual = spread(mean.interval, sd.interval, n)
        other = usual or spread(mean.interval, sd.interval, n, n)
    said = f"mean {mean.text}" + (f", SD {sd.text}" if sd is not None else "")
    numbers = f"{n} {'zeros and ones' if kind == 'binary' else 'whole numbers'}"
    verdict, why = CheckVerdict.IMPOSSIBLE, f"{numbers} cannot have {said}"
    if usual:
        verdict, why = CheckVerdict.ATTAINABLE, f"{numbers} can have {said}"
    elif other:
        verdict, why = (
            CheckVerdict.CONVENTION,
            f"{numbers} cannot have {said} with divisor n - 1; possible with divisor n",
        )
    return spot.found(rule, verdict, why, cause=f"{rule}: {spot.place.split(', row')[0]}")


def check_tables(document: Document) -> Iterator[Finding]:
    """Columns of means with their n: in a column, in the heading, or in the caption where one n stands for all."""
    for grid in document.grids:
        words = " ".join([grid.caption, *(grid.heading(j) for j in range(grid.width))])
        for column, sd_column, n_column in _columns(grid):
            rows = list(_rows(grid, column, sd_column, n_column))
            kind = kind_of(words)
            trials = [Trial(n * 10.0**mean.last, grim(mean.interval, n)) for _, mean, _, n in rows]
            if of_this_kind(trials, said=bool(kind)):
                for i, mean, sd, n in rows:
                    yield judged(in_cell(grid, i, column), kind or "whole", mean, sd, n)


def _rows(
    grid: Grid, column: int, sd_column: int | None, n_column: int | None
) -> Iterator[tuple[int, PrintedNumber, PrintedNumber | None, int]]:
    """Row, mean, standard deviation and n of a column of means."""
    stated = _stated(grid, column)
    for i, row in enumerate(grid.rows):
        mean = row[column].entry
        sd = row[sd_column].entry.main if sd_column is not None else mean.spread
        count = row[n_column].entry.main if n_column is not None else None
        n = int(count.value) if count is not None and count.whole else stated if n_column is None else None
        if mean.main is None or mean.main.last >= 0 or row[column].repeated or n is None or not 1 < n <= _LARGEST:
            continue
        yield i, mean.main, sd, n


def _stated(grid: Grid, column: int) -> int | None:
    """The n that the heading of a column states, or the only one of the caption."""
    found = set(_TEXT_N.findall(grid.heading(column))) or set(_TEXT_N.findall(grid.caption))
    return int(found.pop()) if len(found) == 1 else None


def _columns(grid: Grid) -> Iterator[tuple[int, int | None, int | None]]:
    headings = [grid.heading(j) for j in range(grid.width)]
    n_columns = [j for j, h in enumerate(headings) if _N.search(h)]
    for j, heading in enumerate(headings):
        together = re.search(r"(?:M|mean)\s*(?:\(|±)\s*SD", heading, re.I)
        if not (_MEAN.search(_TEXT_SIZE.sub("", heading).strip()) or together):
            continue
        sd = next((k for k in range(j + 1, min(j + 3, grid.width)) if _SD.search(headings[k])), None)
        yield j, None if together else sd, min(n_columns, key=lambda k: abs(k - j)) if n_columns else None


def check_text(document: Document) -> Iterator[Finding]:
    """Sentences that print M, SD and n of whole numbers.

    A scale is often the mean of several items. So a rating that does not fit is a finding where most ratings of the paper fit,
    and elsewhere it is said that several items would explain it.
    """
    found = list(_mentions(document))
    trials = [Trial(n * 10.0**mean.last, grim(mean.interval, n)) for _, _, mean, _, n in found]
    whole = of_this_kind(trials, said=True)
    for (sentence, match, mean, sd, n), trial in zip(found, trials, strict=True):
        text = normal(sentence.text)
        finding = judged(in_sentence(sentence, match.start(), match[0]), kind_of(text), mean, sd, n)
        if not trial.fits and not whole and not _COUNTED.search(text):
            why = f"{finding.why}; {_items(mean, n)} answers of each could"
            finding = replace(finding, verdict=CheckVerdict.CONVENTION, why=why)
        yield finding


def _items(mean: PrintedNumber, n: int) -> int:
    """How many whole answers of each of n make the mean possible; the smallest number."""
    return next((k for k in range(2, 1000) if grim(mean.interval, n, k)), 1000)


def _mentions(document: Document) -> Iterator[tuple[Sentence, re.Match[str], PrintedNumber, PrintedNumber, int]]:
    for sentence in document.sentences:
        text = normal(sentence.text)
        if not kind_of(text):
            continue
        sizes = _TEXT_N.findall(text)
        for match in _TEXT.finditer(text):
            mean, sd = read_number(match["mean"]), read_number(match["sd"])
            n = int(match["n"] or (sizes[0] if len(set(sizes)) == 1 else 0))
            if mean is not None and sd is not None and 1 < n <= _LARGEST:
                yield sentence, match, mean, sd, n

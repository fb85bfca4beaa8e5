"""Arithmetic that the paper prints in full: ``3 × 144 = 432``, ``13/14 = 0.9286``, ``5 + 18 = 23``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.screening import as_set
from orledger.audit.recheck.automatic.spots import Spot, in_cell, in_sentence
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import normal, read_number
from orledger.audit.recheck.rounding import Enclosure, exactly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document
    from orledger.audit.recheck.reading.numbers import PrintedNumber

_N = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_UNIT = r"(?:\s+(?!and\b|or\b|of\b|to\b)[A-Za-z][a-z-]*){0,2}"  # 3 seeds × 144 points
_EQUATION = re.compile(
    rf"(?P<left>{_N}(?:{_UNIT}\s*[×+]\s*{_N}|\s*[·*/-]\s*{_N})+){_UNIT}\s*(?P<sign>[=≈])\s*(?P<right>[-+]?{_N})(?P<percent>\s?%)?"
)
# An operand of something larger: a power, an index, a factor in brackets, a name, a function.
_JOINED_BEFORE = re.compile(r"(?:[\w^_{}()\[\]|√!.%°]|[-+×·*/<>≤≥~√⌈⌊–—→:]\s*|\d,\s*|\b(?:log|ln|exp|min|max|mod)\s*)$")
_JOINED_AFTER = re.compile(
    r"\s*[×·*/^_(\[{!]|[\w]|\s*[-+–]\s*[\d\\(]|\s[-+–]\s*\w|[.,:]\d|\s*(?:mod|million|billion|thousand)\b"
)
_ABOUT = 0.05  # how far "≈" may reach


def check(document: Document) -> Iterator[Finding]:
    """Every equation of numbers in sentences and in cells."""
    for sentence in document.sentences:
        text = normal(sentence.text)
        for match in _equations(text):
            yield from _judged(in_sentence(sentence, match.start(), match[0]), match)
    for grid in document.grids:
        for i, j, cell in grid.cells():
            for match in _equations(normal(cell.text)):
                yield from _judged(in_cell(grid, i, j), match)


def _equations(text: str) -> Iterator[re.Match[str]]:
    if "=" not in text and "≈" not in text:
        return
    for match in _EQUATION.finditer(text):
        if not _JOINED_BEFORE.search(text[: match.start()]) and not _JOINED_AFTER.match(text, match.end()):
            yield match


def value_of(expression: str) -> Enclosure | None:
    """What a row of numbers with + - × / between them comes to, products first; None where a divisor may be zero."""
    parts = re.findall(rf"({_N})|([-+×·*/])", expression)
    terms: list[Enclosure] = []
    sign, factor = "+", None
    for digits, operator in parts:
        if operator:
            if operator in "+-":
                sign, factor = operator, None
            else:
                factor = operator
            continue
        number = read_number(digits)
        if number is None:
            return None
        value = as_set(number)
        if factor is None:
            terms.append(-value if sign == "-" else value)
        elif factor == "/":
            if value.low <= 0 <= value.high:
                return None
            terms[-1] = terms[-1] / value
        else:
            terms[-1] = terms[-1] * value
    total = exactly(0)
    for term in terms:
        total = total + term
    return total


def _judged(spot: Spot, match: re.Match[str]) -> Iterator[Finding]:
    printed = read_number(match["right"] + ("%" if match["percent"] else ""))
    value = value_of(match["left"])
    if printed is None or value is None:
        return
    if printed.percent and not value.meets(printed.interval):  # percentages may be averaged and added as they are
        value = value * exactly(100)
    verdict = _verdict(value, printed, about=match["sign"] == "≈")
    shown = f"{value.middle:.6g}"
    yield spot.found(
        "equation",
        verdict,
        f"{match['left'].strip()} is {shown}"
        + (", with the last digit cut off" if verdict is CheckVerdict.CONVENTION else ""),
        recomputed=shown,
        value=(value.low, value.high),
        cause=f"equation: {spot.id}",
    )


def _verdict(value: Enclosure, printed: PrintedNumber, *, about: bool) -> CheckVerdict:
    if value.meets(printed.interval):
        return CheckVerdict.MATCHES
    if about and abs(value.middle - printed.value) <= _ABOUT * abs(value.middle):
        return CheckVerdict.MATCHES
    cut = Enclosure(*sorted((printed.value, printed.value + (-1) ** (printed.value < 0) * 10.0**printed.last)))
    return CheckVerdict.CONVENTION if value.meets(cut) else CheckVerdict.INCONSISTENT

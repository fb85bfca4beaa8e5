"""Arithmetic that the paper prints in full: ``3 × 144 = 432``, ``13/14 = 0.9286``, ``4 seeds x 16 settings = 64``."""

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
# 3 seeds × 144 points; a single letter is a variable or a statistic: 2 n + 1 = 9, a 5 × 2 cv F = 3.2
_UNIT = r"(?:\s+(?!and\b|or\b|of\b|to\b|[A-Za-gi-rt-z]\b)[A-Za-z][a-z-]*){0,2}"
_EQUATION = re.compile(
    rf"(?P<left>{_N}(?:{_UNIT}(?:\s*[×+]\s*|\s+x\s+){_N}|\s*[·*/-]\s*{_N})+){_UNIT}\s*(?P<sign>[=≈])\s*(?P<right>[-+]?{_N})(?P<percent>\s?%)?"
)
# An operand of something larger: a power, an index, a factor in brackets, a name, a function.
_JOINED_BEFORE = re.compile(r"(?:[\w^_{}()\[\]|√!.%°]|[-+×·*/<>≤≥~√⌈⌊–—→:]\s*|\d,\s*|\b(?:log|ln|exp|min|max|mod)\s*)$")
_JOINED_AFTER = re.compile(
    r"\s*[×·*/^_(\[{!]|[\w]|\s*[-+–]\s*[\d\\(]|\s[-+–]\s*\w|[.,:]\d|\s*(?:mod|million|billion|thousand)\b"
)
# The letter x is a times sign between counts of things, the last of them several: not in "4 x 8 gpus batch = 512".
_LETTER = re.compile(r"\sx\s")
_THINGS = re.compile(r"\d\s+(?:[A-Za-z][a-z-]*\s+)?[a-z-]{2,}s\b")
_FACTOR_BEFORE = re.compile(
    r"(?:\bx\s+|\d(?:\s+[A-Za-z-]+){1,2}(?:,|\s+and|\s+with)\s+)$"
)  # 3 models, 4 seeds x 16 settings = 192
_FACTOR_AFTER = re.compile(r"\s*(?:x|per|each)\b|\s+[a-z-]+\s+(?:x|per|each)\b")
# 3 runs of 20 minutes are 1 hour: what is measured may change its unit.
_MEASURE = re.compile(
    r"\s*(s|secs?|seconds?|ms|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|[kKMGT]i?B|bytes?|bits?|[kcm]?m|[km]?g|m?l|USD|dollars?|"
    r"(?:[a-z]+-)?(?:days?|hours?|years?))\b"
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
        if _JOINED_BEFORE.search(text[: match.start()]) or _JOINED_AFTER.match(text, match.end()):
            continue
        if not _LETTER.search(match[0]) or _of_things(match, text):
            yield match


def _of_things(match: re.Match[str], text: str) -> bool:
    """Whether a letter x stands for times: whole numbers of things, and no factor before or after them."""
    last = re.split(r"\sx\s", match[0].partition(match["sign"])[0])[-1].strip()
    return (
        _THINGS.search(match["left"] + " ") is not None
        and (last[-1].isdigit() or last.endswith("s"))
        and "." not in match[0]
        and not _FACTOR_BEFORE.search(text[: match.start()])
        and not _FACTOR_AFTER.match(text, match.end())
    )


def _of_another_kind(match: re.Match[str], printed: PrintedNumber) -> bool:
    """Whether the equals sign gives something else: a measure in another unit, or a decimal number after a count of things."""
    counts = re.search(r"[a-z]\s*[=≈]", match[0]) is not None and "." not in match["left"] and "/" not in match["left"]
    if counts and not printed.whole:
        return True
    unit = _MEASURE.match(match.string, match.end())
    return unit is not None and re.search(rf"\d\s*{unit[1]}\b", match[0]) is None


def value_of(expression: str) -> Enclosure | None:
    """What a row of numbers with + - × / between them comes to, products first; None where a divisor may be zero."""
    parts = re.findall(rf"({_N})|([-+×·*/])", _LETTER.sub(" × ", expression))
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
    if not verdict.good and _of_another_kind(match, printed):
        return
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
    counts = printed.whole and value.low == value.high == round(value.low)  # has no digits to cut off
    return CheckVerdict.CONVENTION if value.meets(cut) and not counts else CheckVerdict.INCONSISTENT

"""Changes said beside the two numbers they follow from: ``from 12.5 to 10.0 (a 20% reduction)``, ``40 against 10, a factor of 4``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.screening import as_set
from orledger.audit.recheck.automatic.spots import in_sentence
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import normal, read_number
from orledger.audit.recheck.rounding import Enclosure, exactly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Sentence
    from orledger.audit.recheck.reading.numbers import PrintedNumber

_N = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s?%?"
_UNIT = r"(?:\s*(?!and\b|or\b|to\b|in\b|for\b|with\b|at\b|on\b|by\b)[A-Za-z]{1,12})?"
_WORDS = (
    r"(?:reduction|decrease|drop|decline|fall|loss|saving|increase|rise|improvement|gain|growth|speed-?up|change|"
    r"lower|higher|smaller|larger|less|more|fewer|faster|slower|better|worse|shorter|longer|cheaper)"
)
_PAIR = rf"(?:from\s+(?P<a>{_N}){_UNIT}\s+(?:down\s+|up\s+)?to\s+(?P<b>{_N})|(?P<c>{_N}){_UNIT}\s*(?:→|vs\.?|versus)\s*(?P<d>{_N})){_UNIT}"
_BETWEEN = r"\s*(?:[,;(:=]|–|—|\b(?:is|which is|i\.e\.)\b)+\s*(?:i\.e\.,?\s*|that is,?\s*|which is\s+|or\s+)?(?:an?\s+|the\s+)?"
_ABOUT = r"(?P<about>(?:about|approximately|roughly|around|nearly|almost|some|approx\.|≈|~|over|more than|at least|under|less than)\s*)?"
_PERCENT = re.compile(
    rf"{_PAIR}{_BETWEEN}(?:relative\s+)?{_ABOUT}(?P<change>[-+]?\d+(?:\.\d+)?)\s?%\s+(?:relative\s+)?(?P<word>{_WORDS})\b"
)
_POINTS = re.compile(
    rf"{_PAIR}{_BETWEEN}{_ABOUT}(?P<change>[-+]?\d+(?:\.\d+)?)\s*(?:-|\s)?(?:percentage[- ]points?|pp|p\.p\.|%-points?)\b"
)
_FACTOR = re.compile(
    rf"{_PAIR}{_BETWEEN}(?:(?:factor|ratio)\s+of\s+(?P<of>\d+(?:\.\d+)?)\b|{_ABOUT}(?P<change>\d+(?:\.\d+)?)\s*-?(?:×|x\b|fold\b|times\b))"
    rf"(?=\s*(?:[),.;:–—]|$|{_WORDS}\b))"  # of what else it may be the factor: from 128 to 256 units (4× parameters)
)
# In brackets of its own, and of a rate: from 80 to 100 items per second (an increase of 25%). The number of things that are set,
# such as trees per forest, is no rate: what changes there may be anything.
_UP, _DOWN = "increase|rise|growth", "reduction|decrease|drop|decline|fall"
_RISES, _FALLS = re.compile(f"{_UP}|higher|larger|more|longer"), re.compile(f"{_DOWN}|lower|smaller|less|fewer|shorter")
_RATE = (
    r"(?:\s+[A-Za-z]+(?:\s+[a-z]+)?\s+per\s+(?:(?:milli|micro|nano)?second|sec|ms|s|minute|min|hour|h|day|week|month|year|watt|joule|dollar)\b"
    r"|\s*[A-Za-z]+/[A-Za-z]+\b)"
)
_SIZE = r"\d+(?:\.\d+)?\s?%"
_IN_BRACKETS = re.compile(
    rf"from\s+(?P<a>{_N})(?:{_RATE}|{_UNIT})\s+(?:down\s+|up\s+)?to\s+(?P<b>{_N})(?:{_RATE}|{_UNIT})\s*\(\s*(?:an?\s+|the\s+)?(?:relative\s+)?{_ABOUT}"
    rf"(?:(?P<first>{_SIZE})\s+(?:relative\s+)?)?(?P<word>{_UP}|{_DOWN})(?:\s+of\s+(?P<some>about|roughly|nearly|almost|some|over|≈|~)?\s*(?P<change>{_SIZE}))?\s*\)"
)
_CLOSE = 3.0  # a change farther than this factor from what the numbers give is said of something else
_LOOSE = 0.1


def check_text(document: Document) -> Iterator[Finding]:
    """Percentages, points and factors of change that stand right after their two numbers."""
    for sentence in document.sentences:
        text = normal(sentence.text)
        seen: set[int] = set()
        for pattern, unit in ((_PERCENT, "%"), (_POINTS, " points"), (_FACTOR, "×")):
            for match in pattern.finditer(text):
                numbers = [read_number(match[x] or match[y]) for x, y in (("a", "c"), ("b", "d"))]
                said = read_number(match["change"] or match["of"])
                if said is None or None in numbers:
                    continue
                first, second = (n for n in numbers if n is not None)
                readings = _readings(first, second, unit)
                found = judged(readings, said, about=bool(match["about"]))
                if found is not None and (found[0] != CheckVerdict.INCONSISTENT or _of_them(match, first, second)):
                    seen.add(match.start("change"))
                    yield _finding(sentence, match, found, unit)
        for match in _IN_BRACKETS.finditer(text):
            yield from _bracketed(sentence, match, seen)


def _of_them(match: re.Match[str], first: PrintedNumber, second: PrintedNumber) -> bool:
    """Whether a change can only be that of the two numbers: an improvement, gain or saving, from 80 to 100 epochs, may be of anything,
    and so may a reduction where they rise.
    """
    word = (
        match.groupdict().get("word") or "change"
    )  # points and factors are bound to their two numbers by their patterns
    rises, falls = _RISES.fullmatch(word), _FALLS.fullmatch(word)
    if word == "change" or match["a"] is None:  # which of two stands first in a "versus" says nothing
        return bool(rises or falls or word == "change")
    return bool(rises if second.value > first.value else falls)


def _bracketed(sentence: Sentence, match: re.Match[str], seen: set[int]) -> Iterator[Finding]:
    """A change in brackets of its own, where it goes the way its word says; else it is of something else."""
    which = "first" if match["first"] else "change"
    first, second, said = (read_number(match[name] or "") for name in ("a", "b", which))
    if first is None or second is None or said is None or (match["first"] and match["change"]):
        return
    if match.start(which) in seen or (second.value > first.value) != bool(re.fullmatch(_UP, match["word"])):
        return
    found = judged(_readings(first, second, "%"), said, about=bool(match["about"] or match["some"]))
    if found is not None:
        yield _finding(sentence, match, found, "%")


def _finding(sentence: Sentence, match: re.Match[str], found: tuple[CheckVerdict, str, float], unit: str) -> Finding:
    verdict, reading, value = found
    return in_sentence(sentence, match.start(), match[0]).found(
        "change",
        verdict,
        f"{reading}: {value:.4g}{unit}",
        recomputed=f"{value:.4g}{unit}",
        value=(value, value),
        cause=f"change: {sentence.file}:{sentence.line_at(match.start())}",
    )


def _readings(first: PrintedNumber, second: PrintedNumber, unit: str) -> list[tuple[str, Enclosure]]:
    """What the change can be, the usual reading first: sizes without sign."""
    a, b = as_set(first), as_set(second)
    if first.percent != second.percent:
        return []
    if unit == " points":
        shares = not first.percent and max(abs(first.value), abs(second.value)) <= 1
        away = _size(b - a)
        return [("difference", away * exactly(100))] if shares else [("difference", away)]
    if min(a.low, b.low) <= 0:
        return []
    if unit == "×":
        large, small = (a, b) if first.value >= second.value else (b, a)
        return [("ratio of the two", large / small), ("ratio less one", large / small - exactly(1))]
    readings = [("change relative to the first", _size(b / a - exactly(1)) * exactly(100))]
    readings.append(("change relative to the second", _size(a / b - exactly(1)) * exactly(100)))
    if first.percent:
        readings.append(("difference in points", _size(b - a)))
    elif max(first.value, second.value) <= 1:
        readings.append(("difference in points", _size(b - a) * exactly(100)))
    return readings


def _size(value: Enclosure) -> Enclosure:
    ends = sorted((abs(value.low), abs(value.high)))
    return Enclosure(0.0 if value.low <= 0 <= value.high else ends[0], ends[1])


def judged(
    readings: list[tuple[str, Enclosure]], said: PrintedNumber, *, about: bool
) -> tuple[CheckVerdict, str, float] | None:
    """The verdict on a change that is said: by the first reading, then by another; None where it is of something else."""
    size = abs(said.value)
    half = 0.5 * 10.0**said.last
    printed = Enclosure(size - half, size + half)
    if about:
        printed = Enclosure(min(printed.low, size * (1 - _LOOSE)), max(printed.high, size * (1 + _LOOSE)))
    for k, (reading, value) in enumerate(readings):
        if value.meets(printed):
            return (CheckVerdict.CONVENTION if k else CheckVerdict.MATCHES), reading, value.middle
    near = [r for r in readings if r[1].middle > 0 and size > 0 and 1 / _CLOSE < size / r[1].middle < _CLOSE]
    if not near or near[0] != readings[0]:
        return None
    return CheckVerdict.INCONSISTENT, readings[0][0], readings[0][1].middle

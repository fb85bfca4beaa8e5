"""Numbers as people print them: one typed entry per cell, and every number of a sentence with its position.

Understood are ``.89``, ``<0.001``, ``1,413``, ``1 413`` with a thin space, ``30%``, ``5.25 (0.95)``, ``3.1 ± 0.2``, ``1.2e-3``,
``1.2 × 10^{-3}``, ``[a, b]``, ``a–b``, ``k/n``, Unicode minus signs and superscripts, and dashes for what is missing. A number
keeps its digits: what they allow is an interval of `rounding`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from orledger.audit.recheck.rounding import Enclosure, exactly

if TYPE_CHECKING:
    from collections.abc import Iterator

THIN = "\u2009\u202f\u00a0\u2007"  # spaces that group digits; an ordinary space does so in a cell alone
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_DIGITS = rf"\d{{1,3}}(?:[,{THIN}]\d{{3}})+(?:\.\d+)?(?![\d])|\d+(?:\.\d+)?|\.\d+"
_POWER = r"(?:[eE][-+]?\d+(?!\w))|(?:\s*[×x·*⋅]\s*10\s*\^\s*(?:\{\s*[-+]?\s*\d+\s*\}|[-+]?\d+))"
_NUMBER = re.compile(
    rf"(?P<relation>[<>=≤≥≈~]\s*)?(?P<sign>[-+−])?\s?(?P<digits>{_DIGITS})(?P<power>{_POWER})?(?P<percent>\s?%)?"
)
_BARE_POWER = re.compile(r"(?P<relation>[<>=≤≥≈~]\s*)?10\s*\^\s*\{?\s*(?P<exponent>[-+]?\s*\d+)\s*\}?")
_MISSING = frozenset({"", "-", "–", "—", "−", "n/a", "na", "n.a.", "nan", "none", "...", "…", "·", "*", "✗", "×"})
_FARTHEST = 300  # the largest exponent of ten, of either sign, that is read as a number
_FRACTION = re.compile(r"(\d[\d,]*)\s*/\s*(\d[\d,]*)(?![\d.])")


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """One printed number: its text, its value, the unit of its last digit as a power of ten, and what stands around it."""

    text: str
    value: float
    last: int
    relation: str = "="
    percent: bool = False
    start: int = 0
    end: int = 0

    @property
    def interval(self) -> Enclosure:
        """The numbers that print like this; of the bound itself for ``<`` and ``>``."""
        half = 0.5 * 10.0**self.last
        return Enclosure(self.value - half, self.value + half)

    @property
    def whole(self) -> bool:
        """Whether it is printed without decimals or exponent: a count, as far as one can see."""
        return self.last == 0 and self.value.is_integer()

    @property
    def exact(self) -> Enclosure:
        """The number itself, as a count is."""
        return exactly(self.value)


@dataclass(frozen=True, slots=True)
class CellNumbers:
    """What a cell holds: a main number, and what stands with it.

    `form` is one of plain, fraction, spread (``a ± b``), paren (``a (b)``), interval (``[a, b]`` or ``a [b, c]``), range
    (``a–b``), missing, words.
    """

    form: str
    main: PrintedNumber | None = None
    spread: PrintedNumber | None = None
    ends: tuple[PrintedNumber, PrintedNumber] | None = None
    counts: tuple[int, int] | None = None
    factor: bool = False

    @property
    def numbers(self) -> tuple[PrintedNumber, ...]:
        """Every number of the entry."""
        return tuple(n for n in (self.main, self.spread, *(self.ends or ())) if n is not None)


def normal(text: str) -> str:
    """The text with minus signs and superscripts in one form; as long as the original where no superscript stands."""
    text = _SUPERSCRIPT_RUN.sub(lambda m: "^{" + m[0].translate(_SUPERSCRIPTS) + "}", text)
    text = text.replace("−", "-").replace("\u2010", "-").replace("\u2011", "-").replace("⋅", "·").replace("∙", "·")
    return re.sub(r"(?<![\w)\]}%.])–(?=\.?\d)", "-", text)


def _number(match: re.Match[str]) -> PrintedNumber | None:
    """The number that was found; None for one that double precision does not hold."""
    digits = re.sub(rf"[,{THIN}]", "", match["digits"])
    sign = "-" if match["sign"] in ("-", "−") else ""
    exponent = _exponent(re.split(r"\^|[eE]", match["power"])[-1]) if match["power"] else 0
    if exponent is None:
        return None
    value = float(Decimal(f"{sign}{digits}").scaleb(exponent))
    last = -len(digits.partition(".")[2]) + exponent
    relation = (match["relation"] or "=").strip()
    found = match[0].strip(), value, last, relation, match["percent"] is not None, match.start(), match.end()
    return PrintedNumber(*found) if math.isfinite(value) else None


def _exponent(text: str) -> int | None:
    """The power of ten that is printed; None for one beyond those of numbers in double precision."""
    exponent = re.sub(r"[^\d+-]", "", text)
    size = exponent.lstrip("+-").lstrip("0")
    return None if len(size) > 3 or int(size or 0) > _FARTHEST else int(exponent)


def read_number(text: str) -> PrintedNumber | None:
    """The number that the whole text prints, or None."""
    text = normal(text).strip()
    found = _NUMBER.fullmatch(text) or _NUMBER.fullmatch(re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "\u2009", text))
    if found:
        return _number(found)
    power = _BARE_POWER.fullmatch(text)
    if power:
        exponent, relation = _exponent(power["exponent"]), (power["relation"] or "=").strip()
        return None if exponent is None else PrintedNumber(text, 10.0**exponent, exponent, relation, end=len(text))
    return None


_PAIR = re.compile(r"[\[(]\s*(?P<low>[^,;\[\]()]+?)\s*(?:,|;|\bto\b|–|—)\s*(?P<high>[^;\[\]()]+?)\s*[\])]")


def read_entry(text: str) -> CellNumbers:
    """What a cell of a table holds."""
    text = normal(text).strip().rstrip("*†‡§¶ ").strip()
    if text.lower() in _MISSING:
        return CellNumbers("missing")
    factor = bool(re.search(r"\d\s*[×x]$", text))
    if factor:
        text = text[:-1].rstrip()
    number = read_number(text)
    if number is not None:
        return CellNumbers("plain", number, factor=factor)
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        k, n = (int(part.replace(",", "")) for part in fraction.groups())
        return CellNumbers("fraction", None, counts=(k, n))
    return _compound(text) or _fraction_with(text) or CellNumbers("words")


def _fraction_with(text: str) -> CellNumbers | None:
    """``12/40 (30%)`` and ``0.833 (120/144)``."""
    found = _FRACTION.search(text)
    if not found:
        return None
    rest = (text[: found.start()] + text[found.end() :]).replace("()", "").replace("( )", "").strip()
    number = read_number(rest.strip("(), "))
    if number is None:
        return None
    k, n = (int(part.replace(",", "")) for part in found.groups())
    return CellNumbers("fraction", number, counts=(k, n))


def _compound(text: str) -> CellNumbers | None:
    pair = _PAIR.search(text)
    if pair and pair.end() == len(text):
        low, high = read_number(pair["low"]), read_number(pair["high"])
        before = text[: pair.start()].strip().removesuffix("×").strip()
        main = read_number(before)
        if low is not None and high is not None and (main is not None or not before):
            return CellNumbers("interval", main, ends=(low, high))
    for mark, form in (("±", "spread"), ("+/-", "spread")):
        head, found, tail = text.partition(mark)
        if found:
            main, spread = read_number(head), read_number(tail)
            return CellNumbers(form, main, spread) if main is not None and spread is not None else None
    paren = re.fullmatch(r"(.+?)\s*\(\s*±?\s*([^()]+?)\s*\)", text)
    if paren:
        main, spread = read_number(paren[1]), read_number(paren[2])
        if main is not None and spread is not None:
            return CellNumbers("paren", main, spread)
    span = re.fullmatch(r"(.+?)\s*(?:–|—| to |\.\.)\s*(.+)", text)
    if span:
        low, high = read_number(span[1]), read_number(span[2])
        if low is not None and high is not None:
            return CellNumbers("range", None, ends=(low, high))
    return None


# What stands before digits that are part of a name: A1, x_2, R^2, Levy-10D, Table 3.
_NAME_BEFORE = re.compile(r"(?:[A-Za-z_^\\]|[A-Za-z]-|[_^]\{|[A-Za-z]\{)$")
_PAIR_OF_WHOLE = re.compile(r"\[(\d{1,3}),\d{3}\]")


def numbers_in(text: str) -> Iterator[PrintedNumber]:
    """Every number of a sentence in order, with its position in `normal(text)`; digits inside names are left out."""
    text = normal(text)
    position = 0
    while match := _NUMBER.search(text, position):
        position = max(match.end(), match.start() + 1)
        start = match.start("sign") if match["sign"] else match.start("digits")
        before = text[max(0, start - 3) : start]
        if match["sign"] and re.search(r"[\w)%]$", before):  # 3-5 is a range and x-1 a name, not a negative number
            if re.search(r"[A-Za-z]$", before):
                continue
            digits = match.start("digits")
            again = _NUMBER.match(text, digits)
            if again and (number := _number(again)):
                yield number
            continue
        if _NAME_BEFORE.search(before):
            continue
        ends = _PAIR_OF_WHOLE.match(text, start - 1) if start else None
        if ends:  # [21,135] are the ends of an interval; the comma groups no digits
            position = ends.end(1)
            yield PrintedNumber(ends[1], float(ends[1]), 0, start=ends.start(1), end=position)
            continue
        power = _BARE_POWER.match(text, match.start("digits")) if match["digits"] == "10" else None
        if power:
            position = power.end()
            exponent, relation = _exponent(power["exponent"]), (match["relation"] or "=").strip()
            if exponent is not None:
                yield PrintedNumber(power[0], 10.0**exponent, exponent, relation, False, match.start(), power.end())
            continue
        after = text[match.end() : match.end() + 2]
        if (
            re.match(r"[A-Za-z]\b|(?:st|nd|rd|th)\b", after)
            and not match["percent"]
            and not re.match(r"[xks]\b", after)
        ):
            continue
        if number := _number(match):
            yield number

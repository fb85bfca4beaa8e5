"""How a number becomes digits: one set of rules for every table, caption, macro and page.

A format never switches method in silence: a number that a fixed format would print as zero is printed in scientific notation,
or as below the last digit where the style says so, because a value that is not zero must not look like one. Zero itself is a plain 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from orledger.errors import OrledgerError


class FormatError(OrledgerError):
    """A value that cannot be printed as a number: what is not finite is absent, with a reason."""


@dataclass(frozen=True)
class Digits:
    """A number in print: mantissa with its sign, the power of ten or None, and what follows it (``%``, ``×``)."""

    mantissa: str
    exponent: int | None = None
    suffix: str = ""


@dataclass(frozen=True)
class Style:
    """How to print one number.

    ``kind`` is ``fixed`` (decimals), ``significant`` (digits, scientific outside 1e-3 .. 1e5), ``scientific`` (always a power of ten,
    unless that power is 0), ``integer`` (thousands separated), ``general`` (no trailing zeros), ``ratio`` (significant digits, or one
    plus the deviation where those would hide it) or ``p`` (the rules of p-values). ``scale`` multiplies first, so that a fraction
    prints as a percentage; ``bounded`` prints what a fixed format would round to zero as below its last digit.
    """

    kind: str
    digits: int = 0
    sign: bool = False
    suffix: str = ""
    scale: float = 1.0
    bounded: bool = False

    def signed(self) -> Style:
        """The same style with an explicit plus sign."""
        return replace(self, sign=True)

    def times(self) -> Style:
        """The same style followed by a multiplication sign, for ratios."""
        return replace(self, suffix="×")

    def bound(self) -> Style:
        """The same style, which prints a small value as below the last digit it shows (``<0.001``) instead of a power of ten."""
        return replace(self, bounded=True)


def fixed(decimals: int) -> Style:
    """``decimals`` digits after the point."""
    return Style("fixed", decimals)


def significant(digits: int) -> Style:
    """``digits`` significant digits, trailing zeros kept."""
    return Style("significant", digits)


def scientific(digits: int) -> Style:
    """``digits`` significant digits times a power of ten."""
    return Style("scientific", digits)


def ratio(digits: int) -> Style:
    """A ratio to ``digits`` significant digits; one that they would print as 1 shows two digits of its deviation (1.0034, 1 + 1.1e-11)."""
    return Style("ratio", digits)


def percent(decimals: int) -> Style:
    """A fraction as a percentage with ``decimals`` digits after the point."""
    return Style("fixed", decimals, suffix="%", scale=100.0)


INTEGER = Style("integer")
P_VALUE = Style("p")  # the rules of p_value()
SHORT = Style("general", 3)  # three significant digits without trailing zeros: settings, weights, rungs


def digits(value: float, style: Style) -> Digits:
    """``value`` in print under ``style``."""
    number = float(value) * style.scale
    if not math.isfinite(number):
        raise FormatError(f"{value!r} is not a number to print", hint="give the cell as absent, with the reason")
    if style.kind == "integer":
        text, exponent = f"{round(number):,d}", None
    elif style.kind == "fixed":
        text, exponent = f"{number:.{style.digits}f}", None
        if float(text) == 0:
            if style.bounded and number > 0:
                return Digits(f"<{10.0**-style.digits:.{style.digits}f}", None, style.suffix)
            text, exponent = _scientific(number, 2)
        elif abs(number) >= 1e6:
            text, exponent = _scientific(number, max(style.digits, 2) + 1)
    elif style.kind == "significant":
        text, exponent = _significant(number, style.digits)
    elif style.kind == "ratio":
        text, exponent = _ratio(number, style.digits)
    elif style.kind == "scientific":
        text, exponent = _scientific(number, style.digits)
    elif style.kind == "p":
        return p_value(number)
    elif style.kind == "general":
        text, exponent = f"{number:.{style.digits}g}", None
        if "e" in text or abs(number) < 1e-3:
            text, exponent = _scientific(number, style.digits)
            text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        raise FormatError(f"unknown number style {style.kind!r}")
    if text.lstrip("-") == "0":
        text = "0"
    if style.sign and number == 0:
        text = "0"  # an exact tie, not a small difference
    elif style.sign and not text.startswith("-"):
        text = "+" + text
    return Digits(text, exponent, style.suffix)


def p_value(p: float) -> Digits:
    """A p-value: two decimals from 0.1 up, two significant digits from 0.001 up, scientific below; never 0."""
    return digits(p, fixed(2) if p >= 0.0995 else significant(2))


def _significant(number: float, count: int) -> tuple[str, int | None]:
    if number == 0:
        return "0", None  # exact: a small number would show its power of ten
    # the exponent after rounding decides: 0.9996 to three digits is 1.00, not 1.000
    power = int(f"{number:.{count - 1}e}".split("e")[1])
    if -3 <= power < 5:
        return f"{number:.{max(count - 1 - power, 0)}f}", None
    return _scientific(number, count)


def _ratio(number: float, count: int) -> tuple[str, int | None]:
    if number == 1:
        return "1", None
    text, exponent = _significant(number, count)
    if exponent is not None or float(text) != 1:
        return text, exponent
    mantissa, power = _scientific(abs(number - 1), 2)
    if power is not None and power >= -4:
        return f"{number:.{1 - power}f}", None
    return f"1{'+' if number > 1 else '-'}{mantissa}", power


def _scientific(number: float, count: int) -> tuple[str, int | None]:
    if number == 0:
        return "0", None
    mantissa, power = f"{number:.{count - 1}e}".split("e")
    return mantissa, int(power) or None

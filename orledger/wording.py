"""Small phrases that messages share: a number with its noun."""

from __future__ import annotations


def counted(n: int, one: str, many: str = "") -> str:
    """``n`` with the noun in its number: 1 unit, 2 units."""
    return f"{n if n < 10_000 else f'{n:,}'} {one if n == 1 else many or one + 's'}"


def sized(n: int) -> str:
    """``n`` bytes in kB or MB."""
    return f"{n / 1e6:.1f} MB" if n >= 100_000 else f"{max(1, round(n / 1e3))} kB"


def these(n: int, noun: str, of: str) -> str:
    """The phrase "this value of x" or "these 5 values of x"."""
    return f"this {noun} of {of}" if n == 1 else f"these {n:,} {noun}s of {of}"

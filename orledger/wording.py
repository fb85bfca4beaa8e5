"""Small phrases that messages share: a number with its noun."""

from __future__ import annotations


def counted(n: int, one: str, many: str = "") -> str:
    """``n`` with the noun in its number: 1 unit, 2 units."""
    return f"{n if n < 10_000 else f'{n:,}'} {one if n == 1 else many or one + 's'}"


def these(n: int, noun: str, of: str) -> str:
    """The phrase "this value of x" or "these 5 values of x"."""
    return f"this {noun} of {of}" if n == 1 else f"these {n:,} {noun}s of {of}"

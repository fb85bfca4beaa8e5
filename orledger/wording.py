"""Small phrases that messages share: a number with its noun; and names that cannot turn the text around them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Characters that change the order in which others are shown: a name with one can make a line read as what it does not say.
TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_TURNING = tuple(map(chr, TURNING))
_VISIBLE = {code: f"[U+{code:04X}]" for code in TURNING}
_ESCAPED = {code: f"\\u{code:04x}" for code in TURNING}


def visible(text: str) -> str:
    """``text`` with every character that changes the order of others written as its code point, as LaTeX tables do."""
    return text.translate(_VISIBLE) if _turns(text) else text


def escaped_json(text: str) -> str:
    """JSON that means the same, with these characters as escapes."""
    return text.translate(_ESCAPED) if _turns(text) else text


def _turns(text: str) -> bool:
    """Whether ``text`` has such a character at all: looking takes a hundredth of the time of translating a page."""
    return not text.isascii() and any(character in text for character in _TURNING)


def counted(n: int, one: str, many: str = "") -> str:
    """``n`` with the noun in its number: 1 unit, 2 units."""
    return f"{n if n < 10_000 else f'{n:,}'} {one if n == 1 else many or one + 's'}"


def either(words: Sequence[str]) -> str:
    """The ``words`` to choose from: a, b or c."""
    return " or ".join(x for x in (", ".join(words[:-1]), *words[-1:]) if x)


def some(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """The first ``most`` of ``texts``, and how many there are beside them: a, b and 3 more."""
    more = f"{between.strip(', ')} and {len(texts) - most:,} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more


def one_of(name: str, known: Sequence[str]) -> str:
    """The hint for a ``name`` that is none of ``known``: those that look like it first, then all."""
    near = get_close_matches(name.lower(), [k.lower() for k in known], 2)
    near += [k.lower() for k in known if k.lower().endswith(f"-{name.lower()}")]
    meant = [k for k in known if k.lower() in near][:2]
    return (f"did you mean {' or '.join(meant)}? " if meant else "") + f"one of {', '.join(known)}"


def sized(n: int) -> str:
    """``n`` bytes in kB or MB."""
    return f"{n / 1e6:.1f} MB" if n >= 100_000 else f"{max(1, round(n / 1e3))} kB"


def these(n: int, noun: str, of: str) -> str:
    """The phrase "this value of x" or "these 5 values of x"."""
    return f"this {noun} of {of}" if n == 1 else f"these {n:,} {noun}s of {of}"

"""How arms nobody styled are drawn: a colour, a marker and a line each, told apart without colour too."""

from __future__ import annotations

from itertools import takewhile
from textwrap import fill
from typing import TYPE_CHECKING

from orledger.reports.figures.style import PALE, Look, looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from orledger.reports.generic import Subject

LONGEST = 28  # characters of a name that fit on an axis
BESIDE = 84  # characters that fit beside an axis, in two lines
BEGINNING = 10  # of a name that is cut, where its middle says more than its end
LEGEND = 52  # characters that fit into a legend, in two lines
UNIT = 36  # characters of the name of a unit
NAMED = 8  # curves with a colour and a name of their own; more of them nobody tells apart


def curve_looks(subject: Subject, arms: Sequence[str]) -> dict[str, Look]:
    """A look for every one of ``arms``, the best first: of many only the first have a colour and a name, one grey stands for the others."""
    named = arms if len(arms) <= NAMED + 2 else arms[:NAMED]
    found = looks(named, dict(zip(named, map(halved, each_shown([*map(subject.label, named)], LEGEND)), strict=True)))
    others = arms[len(named) :]
    for i, arm in enumerate(others):
        found[arm] = Look("" if i else f"the other {len(others)} arms", PALE, "", "-")
    return found


def other_arms(subject: Subject, arms: Sequence[str]) -> str:
    """Says which of many arms have a colour, and by what they were chosen."""
    if len(arms) <= NAMED + 2:
        return ""
    how = "with the best mean rank" if subject.ranking is not None else "that the hypothesis names first"
    return f" In colour the {NAMED} {how}, in grey the others, without bands."


def arm_names(subject: Subject, longest: int = LONGEST, line: int = 0) -> dict[str, str]:
    """How the arms of ``subject`` are written beside axes, no two alike; in lines of ``line`` characters if that is given."""
    names = each_shown([subject.label(a) for a in subject.arms], longest)
    return dict(zip(subject.arms, (fill(n, line) if line else n for n in names), strict=True))


def beside(subject: Subject) -> tuple[dict[str, str], bool]:
    """The arms as written where a name has the room of two lines, and whether one of them needs it."""
    names = arm_names(subject, BESIDE)
    long = max(map(len, names.values()), default=0) > LONGEST
    return {arm: halved(name) for arm, name in names.items()}, long


def halved(name: str) -> str:
    """``name`` in two lines of about one length, at a space; short ones, and those without a space, stay in one."""
    spaces = [i for i, c in enumerate(name) if c == " "]
    if len(name) <= LONGEST or not spaces:
        return name
    at = min(spaces, key=lambda i: max(i, len(name) - i))
    return f"{name[:at]}\n{name[at + 1 :]}"


def each_shown(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """``names`` as ``shown``; where what was cut is what tells some of them apart, that part is kept instead of the end.

    Different names stay different: those that are alike even so are numbered.
    """
    short = {name: shown(name, longest) for name in names}
    for alike in _alike(short):
        same = sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, zip(*alike, strict=False)))
        for name in alike:
            start = max(BEGINNING, same - 4)
            short[name] = shown(f"{name[:BEGINNING]}…{name[start : start + longest - BEGINNING - 1]}", longest)
    for alike in _alike(short):
        for number, name in enumerate(alike, 1):
            short[name] = f"{short[name]} ({number})"
    return [short[name] for name in names]


def _alike(short: Mapping[str, str]) -> list[list[str]]:
    """Groups of different names that are written in the same way."""
    found: dict[str, list[str]] = {}
    for name, written in short.items():
        found.setdefault(written, []).append(name)
    return [names for names in found.values() if len(names) > 1]


def shown(name: str, longest: int = LONGEST) -> str:
    """``name`` as matplotlib may print it: one line, no formula, cut in the middle where it is too long."""
    text = "".join(c if c.isprintable() else " " for c in name)
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"
    return text.replace("$", r"\$")  # without a pair of bare dollars matplotlib prints every other sign as it is


def unit_ticks(ax: Axes, names: Sequence[str], limit: int, *, across: bool = False) -> None:
    """The names of units beside the vertical axis, or below the other one, or only their number where there are too many."""
    size = 6 if len(names) > 20 else 7
    if len(names) > limit:
        (ax.set_xticks if across else ax.set_yticks)([])
        (ax.set_xlabel if across else ax.set_ylabel)(f"{len(names)} units")
    elif across:
        ax.set_xticks(range(len(names)), each_shown(names, UNIT), fontsize=6, rotation=40, ha="right")
    else:
        ax.set_yticks(range(len(names)), each_shown(names, UNIT), fontsize=size)

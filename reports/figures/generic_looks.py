"""How arms nobody styled are drawn: a colour, a marker and a line each, told apart without colour too."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from orledger.reports.figures.style import Look, looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from orledger.reports.generic import Subject

LONGEST = 28  # characters of a name that fit on an axis
BEGINNING = 10  # of them, where the middle of a name says more than its end


def arm_looks(arms: Sequence[str], labels: Mapping[str, str] | None = None) -> dict[str, Look]:
    """A look for every arm, the same for the same list, under names that matplotlib may print."""
    return looks(arms, dict(zip(arms, each_shown([(labels or {}).get(arm, arm) for arm in arms]), strict=True)))


def arm_names(subject: Subject) -> dict[str, str]:
    """How the arms of ``subject`` are written beside axes, no two alike."""
    return dict(zip(subject.arms, each_shown([subject.label(a) for a in subject.arms]), strict=True))


def each_shown(names: Sequence[str]) -> list[str]:
    """``names`` as ``shown``; where what was cut is what tells some of them apart, that part is kept instead of the end.

    Different names stay different: those that are alike even so are numbered.
    """
    short = {name: shown(name) for name in names}
    for alike in _alike(short):
        same = sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, zip(*alike, strict=False)))
        for name in alike:
            start = max(BEGINNING, same - 4)
            short[name] = shown(f"{name[:BEGINNING]}…{name[start : start + LONGEST - BEGINNING - 1]}")
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


def shown(name: str) -> str:
    """``name`` as matplotlib may print it: one line, no formula, cut in the middle where it is too long."""
    text = "".join(c if c.isprintable() else " " for c in name)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-(LONGEST // 2 - 1) :]}"
    return text.replace("$", r"\$")  # without a pair of bare dollars matplotlib prints every other sign as it is


def unit_ticks(ax: Axes, names: Sequence[str], limit: int) -> None:
    """The names of units beside the vertical axis, or only their number where there are too many."""
    if len(names) <= limit:
        ax.set_yticks(range(len(names)), each_shown(names), fontsize=6 if len(names) > 20 else 7)
        return
    ax.set_yticks([])
    ax.set_ylabel(f"{len(names)} units")

"""How arms nobody styled are drawn: a colour, a marker and a line each, told apart without colour too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.figures.style import Look, looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

LONGEST = 28  # characters of a name that fit on an axis


def arm_looks(arms: Sequence[str], labels: Mapping[str, str] | None = None) -> dict[str, Look]:
    """A look for every arm, the same for the same list, under names that matplotlib may print."""
    return looks(arms, {arm: shown((labels or {}).get(arm, arm)) for arm in arms})


def shown(name: str) -> str:
    """``name`` as matplotlib may print it: one line, no formula, cut in the middle where it is too long."""
    text = "".join(c if c.isprintable() else " " for c in name)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-(LONGEST // 2 - 1) :]}"
    return text.replace("\\", "\\\\").replace("$", r"\$")


def unit_ticks(ax: Axes, names: Sequence[str], limit: int) -> None:
    """The names of units beside the vertical axis, or only their number where there are too many."""
    if len(names) <= limit:
        ax.set_yticks(range(len(names)), [shown(n) for n in names], fontsize=6 if len(names) > 20 else 7)
        return
    ax.set_yticks([])
    ax.set_ylabel(f"{len(names)} units")

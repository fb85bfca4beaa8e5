"""Whether numbers of a column show by themselves that they are means or shares of whole numbers.

A mean of n whole numbers can print only some of the strings of its length. Numbers that are not of this kind hit one by chance,
so a column in which nearly all do, against that chance, is of this kind, and then the rest is a slip. A column in which many do
not is of another kind, whatever its caption says, and none of it is a finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEVEL = 1e-3  # how rarely a column of another kind may look like one of this kind
_TELLING = 0.75  # a number that would fit with a larger chance tells nothing


@dataclass(frozen=True, slots=True)
class Trial:
    """One number: the chance that any number of its length fits, and whether it does."""

    chance: float
    fits: bool

    @property
    def telling(self) -> bool:
        """Whether it could have failed often enough to tell."""
        return self.chance < _TELLING


def by_chance(chances: Sequence[float], hits: int) -> float:
    """Probability that at least `hits` of independent trials with these chances succeed."""
    counts = [1.0]
    for chance in chances:
        counts = [
            (counts[k] * (1 - chance) if k < len(counts) else 0.0) + (counts[k - 1] * chance if k else 0.0)
            for k in range(len(counts) + 1)
        ]
    return sum(counts[hits:])


def of_this_kind(trials: Sequence[Trial], *, said: bool) -> bool:
    """Whether the numbers are of the kind tried: at most one in four fails, and chance would not do that.

    Where the words `said` so, most of at least two telling numbers have to fit, and chance is not asked.
    """
    telling = [t for t in trials if t.telling]
    hits = sum(t.fits for t in telling)
    misses = len(telling) - hits
    if said:
        return len(telling) >= 2 and hits > misses
    return 4 * misses <= len(telling) and by_chance([t.chance for t in telling], hits) < _LEVEL

"""What a test returns: never a p-value alone, always with everything needed to judge and recompute it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

SIDES = ("two-sided", "less", "greater")
TOO_FEW = "not computed: too few units"  # the method of a test that was not ``computed``


@cache
def library_versions() -> dict[str, str]:
    """Versions of the packages whose code a p-value may pass through."""
    from importlib.metadata import version

    return {name: version(name) for name in ("numpy", "scipy", "statsmodels")}


@dataclass(frozen=True)
class Dropped:
    """A unit that did not enter a test, and why; ``refused`` when a side declined or failed, and was not merely absent.

    ``partial`` when it did enter, with the values that were there: some repetitions are missing, or an arm of an incomplete block.
    """

    unit: str
    reason: str
    refused: bool = False
    partial: bool = False


@dataclass(frozen=True)
class TestResult:
    """One test, complete.

    ``effect`` is named by ``effect_name`` because a median of differences is not a difference of medians. ``floor`` is
    the smallest p the test could have returned at this n with these zeros and ties. ``wins``, ``losses`` and ``draws``
    count units by the declared direction of better. ``interval_ends``, such as "[)", says which ends belong to the interval.
    ``standard_effect`` has no unit; ``e_value`` is evidence that holds at any stopping time. ``details`` holds what only
    some tests have, such as mean ranks. ``centred`` when the statistic is 0, and not half its range, in the middle of the null.
    """

    __test__ = False  # the name starts with Test; pytest must not collect it

    test: str
    method: str
    side: str
    n: int
    n_nonzero: int
    ties: int
    statistic: float | None
    statistic_name: str
    p: float | None
    floor: float | None
    effect: float | None = None
    effect_name: str = ""
    low: float | None = None
    high: float | None = None
    level: float | None = None
    interval_method: str = ""
    interval_ends: str = ""
    wins: int | None = None
    losses: int | None = None
    draws: int | None = None
    standard_effect: float | None = None
    standard_effect_name: str = ""
    e_value: float | None = None
    dropped: tuple[Dropped, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=library_versions)
    centred: bool = False
    computed: bool = True

    def __post_init__(self) -> None:
        """A p that is no number is none: the test was not computed, and says so."""
        if self.p is not None and math.isnan(self.p):
            for name, value in (
                ("p", None),
                ("computed", False),
                ("method", f"{self.method}; no p: it is not a number"),
            ):
                object.__setattr__(self, name, value)
        if self.floor is not None and math.isnan(self.floor):
            object.__setattr__(self, "floor", None)

    @property
    def approximate(self) -> bool:
        """Whether p is no exact probability: the method of such a test names its approximation."""
        return "approximation" in self.method

    @property
    def superiority(self) -> float | None:
        """The share of units on which the first side is better, a draw counting half: the probability of superiority."""
        if self.wins is None or self.losses is None or self.draws is None or not self.n:
            return None
        return (self.wins + self.draws / 2) / (self.wins + self.losses + self.draws)


def check_side(side: str) -> str:
    """``side`` if it is one of two-sided, less, greater; otherwise an error that says so."""
    if side not in SIDES:
        from orledger.errors import UsageError

        raise UsageError(f"side is {side!r}", hint=f"use one of {', '.join(SIDES)}")
    return side


def count_wins(differences: NDArray[np.float64 | np.int64], better: str) -> tuple[int, int, int]:
    """Wins, losses and draws of the first arm, from differences first minus second; ``better`` is lower or higher."""
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    draws = int(differences.size) - below - above
    return (below, above, draws) if better == "lower" else (above, below, draws)

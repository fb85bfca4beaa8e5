"""What a hypothesis file says, as data: comparisons, claims, and the rule that turns them into a disposition."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from orledger.audit.registry.words import Refusals, Verdict

if TYPE_CHECKING:
    from orledger.audit.registry.quantities import Quantity

# Kinds that estimate and give no p.
MEASURING = ("median", "mean_ranks", "improvement", "interquartile_mean", "profile")
TESTS = (
    "signed_rank",
    "sign",
    "sign_anytime",
    "friedman",
    "skillings_mack",
    "fisher",
    "mcnemar",
    "spearman",
    "slope",
    "proportion",
    *MEASURING,
)
CLAIMS = (
    "never_worse",
    "at_most",
    "at_least",
    "ordering",
    "best",
    "monotone",
    "count",
    "none",
    "resampled",
    "measured",
)
STATS = (
    "median",
    "mean",
    "min",
    "max",
    "sum",
    "count",
    "cv",
    "iqr_over_median",
    "mad_over_median",
    "max_over_min",
    "sd_log10",
)
CLAIM_STATS = (*STATS, "share")  # a share is pooled: the sum of the values over the number of records behind them


@dataclass(frozen=True)
class Comparison:
    """One registered test.

    ``sides`` are the named quantities compared, first minus second. ``pair`` names the keys that make two values
    partners; ``unit`` the keys of the independent unit. When ``unit`` is coarser than ``pair`` the values are nested:
    ``blocked`` says how they are reduced to one per unit, and without it no p is given. ``independent_when`` names a
    setting and the value at which the values are independent after all, such as a generator with its own stream per cell.
    ``margin`` is how large a difference still counts as none, on the scale of the differences tested. ``coarser`` names
    the keys of the coarser unit at which the decision is looked at again. ``refusals`` says what a unit counts as in which
    one side refused or failed. ``expect`` is the probability of superiority that the design is meant to find. ``units`` is
    the number of independent units it was registered for.
    """

    id: str
    title: str
    test: str
    sides: tuple[tuple[str, Quantity], ...]
    pair: tuple[str, ...]
    unit: tuple[str, ...]
    transform: str = "none"
    side: str = "two-sided"
    better: str = "lower"
    alpha: float = 0.05
    level: float = 0.95
    family: str | None = None
    blocked: str | None = None
    resolution: float | None = None
    nominal: float | None = None
    noise: str | None = None
    independent_when: tuple[str, str] | None = None
    margin: float | None = None
    coarser: tuple[str, ...] = ()
    refusals: Refusals = Refusals.DROP
    expect: float | None = None
    units: int | None = None

    @property
    def nested(self) -> bool:
        """True when several values share one independent unit."""
        return set(self.unit) < set(self.pair)

    @property
    def independent_by_setting(self) -> bool:
        """True when ``unit`` was widened to every value, because a setting of the cells makes them independent."""
        return self.independent_when is not None and set(self.unit) == set(self.pair)


@dataclass(frozen=True)
class Claim:
    """One statement in words as a predicate on quantities; which fields matter depends on ``kind``.

    ``combine`` turns two sides into one value per unit (ratio or difference). ``stat`` reduces the units of each group
    named by ``within`` to one value; without it the predicate looks at every unit. The stat "share" pools: the sum of the
    values over the number of records behind them. ``unit`` names the keys of the independent unit, over which the statistic is
    resampled for an interval. ``refused_as`` is the value that a refused unit takes in a second reading of the claim.
    """

    id: str
    statement: str
    kind: str
    sides: tuple[tuple[str, Quantity], ...]
    pair: tuple[str, ...]
    combine: str | None = None
    stat: str | None = None
    within: tuple[str, ...] = ()
    limit: float | None = None
    better: str = "lower"
    tolerance: float = 0.0
    strict: bool = False
    direction: str = "increasing"
    along: str | None = None
    order: tuple[str, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    draws: int = 4000
    seed: int = 0
    unit: tuple[str, ...] = ()
    level: float = 0.95
    refused_as: float | None = None


@dataclass(frozen=True)
class Term:
    """One condition of a rule: the comparison or claim ``id`` has the outcome or state ``value``."""

    id: str
    value: str


@dataclass(frozen=True)
class Rule:
    """A verdict that follows when every term of ``all`` is true, one of ``any`` is, and none of ``none`` is."""

    verdict: Verdict
    reason: str
    all: tuple[Term, ...] = ()
    any: tuple[Term, ...] = ()
    none: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis file, read and checked. ``text`` is the file itself; its hash is the identity of the registration.

    A file without a disposition describes: its tests and claims are stored like all others, and no verdict follows from
    them. ``otherwise`` is then None. ``history`` are versions of a shipped text that were corrected after results had been
    seen: hash, date, note.
    """

    id: str
    title: str
    statement: str
    mode: str
    comparisons: tuple[Comparison, ...]
    claims: tuple[Claim, ...]
    needs: tuple[str, ...]
    rules: tuple[Rule, ...]
    otherwise: Verdict | None
    otherwise_reason: str
    file: str
    text: str
    history: tuple[dict[str, str], ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 of the text."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def decides(self) -> bool:
        """True when the file says which verdict follows from its tests and claims."""
        return self.otherwise is not None

    @property
    def studies(self) -> tuple[str, ...]:
        """Names of the cases or studies it asks about."""
        return tuple(sorted({q.case for q in self.quantities}))

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity that a comparison or a claim looks at."""
        compared = [q for c in self.comparisons for _, q in c.sides]
        return (*compared, *(q for c in self.claims for _, q in c.sides))

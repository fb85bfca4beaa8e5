"""The words that results are told in: outcomes of tests, states of claims, verdicts, and what is known about a registration."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a test ended."""

    LESS = "less"
    GREATER = "greater"
    DIFFERENT = "different"
    UNDECIDED = "undecided"
    UNTESTABLE = "untestable"
    MISSING = "missing"
    REFUSED = "refused"
    MEASURED = "measured"


class Margin(StrEnum):
    """What a test can show beside its outcome, where a margin is declared."""

    EQUIVALENT = "equivalent"
    NONINFERIOR = "noninferior"


class ClaimState(StrEnum):
    """What a claim turned out to be."""

    HOLDS = "holds"
    FAILS = "fails"
    MISSING = "missing"
    MEASURED = "measured"


class Clearly(StrEnum):
    """What a claim can be beside its state, where it has an interval: the whole of it on one side of the limit."""

    HOLDS = "clearly-holds"
    FAILS = "clearly-fails"


class Verdict(StrEnum):
    """What the evidence about a hypothesis adds up to."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    PARTIAL = "partially refuted"
    INCONCLUSIVE = "inconclusive"
    UNTESTABLE = "not testable at this n"
    NO_DATA = "not enough data"


class Untestable(StrEnum):
    """Why no outcome of a test could have been significant."""

    UNITS = "too few units"
    TIES = "too many units tie"


class Variant(StrEnum):
    """Which values a test counted as units."""

    DECLARED = "declared"
    BLOCKED = "blocked"
    NAIVE = "naive"
    COARSER = "coarser"


class Registered(StrEnum):
    """What the database can say about the time of a registration."""

    BEFORE = "registered before the first cell"
    AFTER = "registered after cells were done"
    AMENDED = "amended after results had been seen"
    UNKNOWN = "imported results: when they were first seen is not known here"


class Refusals(StrEnum):
    """What a unit counts as in which a side refused or failed."""

    DROP = "drop"
    LOSS = "loss"
    WORST = "worst rank"
    BOUNDS = "bounds"


DECIDED = (Outcome.LESS, Outcome.GREATER, Outcome.DIFFERENT)
OUTCOMES = (*Outcome, *Margin)
STATES = (*ClaimState, *Clearly)

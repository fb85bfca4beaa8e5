"""What a test found, in words: which side is better, by what, and what an effect of zero means. Names for people throughout."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orledger.audit.registry.words import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.audit.registry.hypotheses import Comparison, Hypothesis
    from orledger.audit.registry.quantities import Quantity

STATISTICS = {
    "cv": "coefficient of variation",
    "iqr_over_median": "interquartile range over median",
    "mad_over_median": "median absolute deviation over median",
    "max_over_min": "largest over smallest",
    "sd_log10": "standard deviation of log10",
}
TRENDS = {"spearman": ("rise together", "one falls as the other rises"), "slope": ("grows", "declines")}
EVENTS = ("fisher", "mcnemar")
PROPORTIONS = {Outcome.LESS: "below the nominal share", Outcome.GREATER: "above the nominal share"}
UNSHOWN = {
    "spearman": "no trend shown",
    "slope": "no trend shown",
    "proportion": "no departure from the nominal share shown",
}
OTHERWISE = {
    Outcome.DIFFERENT: "the arms differ",
    Outcome.UNDECIDED: "no difference shown",
    Outcome.UNTESTABLE: "not testable",
    Outcome.MISSING: "no data",
    Outcome.REFUSED: "no p-value: the values are not independent",
    Outcome.MEASURED: "measured",
}


@dataclass(frozen=True)
class Names:
    """Names for people of arms and metrics, by their names in the database."""

    labels: Mapping[str, str] = field(default_factory=dict)

    def of(self, key: str) -> str:
        """The name of an arm or metric; without one, its own name with spaces for underscores."""
        return self.labels.get(key, key.replace("_", " "))

    def arm(self, key: str) -> str:
        """The name of an arm; without one, what its author called it, letter by letter."""
        return self.labels.get(key, key)

    def within(self, text: str) -> str:
        """``text`` with every internal name in it replaced by its name for people.

        A name that is an English word of its own label (shape, shape-aware) stays: in a sentence it may be just that word.
        """
        spoken = {k: v for k, v in self.labels.items() if k.lower() == v.lower() or k not in re.split(r"\W+", v)}
        if not spoken:
            return text
        listed = "|".join(re.escape(k) for k in sorted(spoken, key=len, reverse=True))
        return re.sub(rf"(?<![\w.-])({listed})(?![\w-])", lambda m: spoken[m[1]], text)


@dataclass(frozen=True)
class Said:
    """A test in words: ``outcome`` in a few, ``ties`` where an effect of zero needs explaining, the names of its sides.

    ``winner`` is the side that a decided comparison of two found to be better, and empty otherwise.
    """

    outcome: str
    ties: str
    sides: tuple[str, ...]
    winner: str = ""


def registered(registrations: Sequence[Mapping[str, Any]]) -> dict[str, Hypothesis]:
    """The registered hypotheses by the hash of their text."""
    from orledger.audit.registry.reading import registered_hypothesis  # stands on scipy, and the templates do without

    return {r["hash"]: registered_hypothesis(r["text"], r["file"]) for r in registrations}


def said(test: Mapping[str, Any], hypothesis: Hypothesis | None, names: Names) -> Said:
    """A row of ``test_result`` in words; ``hypothesis`` is the registered text it belongs to, which says what is better."""
    known = {} if hypothesis is None else {c.id: c for c in hypothesis.comparisons}
    comparison = known.get(test["comparison"])
    sides = tuple(_side(name, q, names) for name, q in comparison.sides) if comparison else ()
    return Said(_outcome(test, comparison, sides, names), _ties(test), sides, _winner(test, comparison, sides))


def _winner(test: Mapping[str, Any], comparison: Comparison | None, sides: tuple[str, ...]) -> str:
    """The side that the outcome says is better, which need not be the one that is better on more units."""
    if test["outcome"] not in (Outcome.LESS, Outcome.GREATER) or comparison is None or len(sides) != 2:
        return ""
    return sides[0] if (test["outcome"] == Outcome.GREATER) == (comparison.better == "higher") else sides[1]


def _outcome(test: Mapping[str, Any], comparison: Comparison | None, sides: tuple[str, ...], names: Names) -> str:
    outcome = test["outcome"]
    if outcome == Outcome.UNDECIDED and test["test"] in UNSHOWN:
        return UNSHOWN[test["test"]]
    if outcome not in (Outcome.LESS, Outcome.GREATER):
        return OTHERWISE.get(outcome, str(outcome))
    if test["test"] == "proportion":
        return PROPORTIONS[outcome]
    greater = outcome == Outcome.GREATER
    if test["test"] in TRENDS:
        return TRENDS[test["test"]][0 if greater else 1]
    if comparison is None or len(sides) != 2:
        return str(outcome)
    if test["test"] in EVENTS:
        return f"more often: {sides[0] if greater else sides[1]}"
    return f"{comparison.better} {_quantity(comparison.sides[0][1], names)}: {_winner(test, comparison, sides)}"


def _side(name: str, quantity: Quantity, names: Names) -> str:
    """What a side is called: its arm, or the name that the hypothesis file gives it."""
    arm = quantity.source.arm if quantity.source is not None else None
    return names.arm(arm) if arm is not None and (len(name) == 1 or name == arm) else names.of(name)


def _quantity(quantity: Quantity, names: Names) -> str:
    metric = names.of(quantity.source.metric) if quantity.source is not None else "value"
    if quantity.divide_by is not None:
        metric = f"ratio of {metric}"
    stat = quantity.aggregate.stat if quantity.aggregate is not None else ""
    return f"{STATISTICS[stat]} of {metric}" if stat in STATISTICS else metric


def _ties(test: Mapping[str, Any]) -> str:
    """Why a test can find a difference while its median effect is zero."""
    if test["outcome"] not in (Outcome.LESS, Outcome.GREATER) or test["effect"] is None:
        return ""
    if test["effect"] != 0 and test["low"] != 0 and test["high"] != 0:
        return ""
    draws, n = test["draws"] or 0, test["n"]
    if not draws:
        return ""
    subject = "The median difference is 0" if test["effect"] == 0 else "The interval ends at 0"
    return (
        f"{subject} because {draws} of {n} units are exactly tied. The test leaves ties out: it decides on the {n - draws} that"
        f" differ, {test['wins']} won and {test['losses']} lost by the first side."
    )


def once(title: str) -> str:
    """A title that names its opponent once: the file said "a against b", and the audit added the b of its list of opponents."""
    return re.sub(r"(against (.+)), against \2$", r"\1", title)


def headline(reason: str) -> str:
    """The sentence that a reason begins with, before its numbers in brackets."""
    return reason.split(" (")[0].split(": ")[0]


def claimed(level: str) -> str:
    """The beginning of what an audit says about the level of a verdict; where more follows, that there are reservations."""
    if level.startswith("no level"):
        return level.split(";")[0].split(". ")[0] if level.startswith("no level:") else level.split(": ")[0]
    first, *further = level.split(". ")
    return f"{first}, with reservations" if further else first


def number(value: Any) -> str:
    """A value for people: six significant digits, thousands unbroken, nothing for what is absent, no minus before zero; JSON for several."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else f"{value:.6g}"
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list)) else str(value)


def short(value: float | None) -> str:
    """Three significant digits with a true minus sign; nothing for what is absent, no minus before zero."""
    return "" if value is None else f"{value + 0.0:.3g}".replace("-", "−")


def interval(test: Mapping[str, Any]) -> str:
    """The interval of a row of the audit with its ends as they are, open or closed; an end that is not there is infinite.

    Empty where there is none, or where so few units allow none.
    """
    low, high = test["low"], test["high"]
    if (low is None and high is None) or test["level"] == 0:
        return ""
    ends = test.get("interval_ends") or "[]"
    start = "(−∞" if low is None else f"{ends[0]}{short(low)}"
    return f"{start}, " + ("∞)" if high is None else f"{short(high)}{ends[1]}")


LARGEST = 1000  # a ratio beyond this says that two numbers have nothing to do with each other, not by how much


def ratio(value: float | None) -> str:
    """Ours over printed as a reader can use it: a number, or that the two are far apart or on two sides of zero."""
    if value is None:
        return ""
    if value < 0:
        return "other sign"
    if value == 0:
        return "0"
    if value > LARGEST or value < 1 / LARGEST:
        return f"> {LARGEST}" if value > 1 else f"< 1/{LARGEST}"
    return short(value)

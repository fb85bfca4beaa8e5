"""The first screen's sentences: which side is better, how sure that is, and whether the sample could have shown it at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.audit.registry.words import DECIDED, Outcome, Variant
from orledger.reports.report.ledger import gather
from orledger.reports.report.wording import Names, registered, said, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.reports.report.wording import Said
    from orledger.reports.source import Database

MOST = 10  # comparisons that are answered on the first screen; the others stand with their hypothesis


@dataclass(frozen=True)
class ComparisonAnswer:
    """One comparison in words, all of it from one row of the audit: who leads, whether that is shown, why or why not, by how much."""

    test_id: str
    leads: str
    shown: str
    why: str
    by: str


def answers(tests: Sequence[Mapping[str, Any]]) -> list[ComparisonAnswer]:
    """A sentence for every comparison of two sides, unit by unit, in the order of the audit."""
    return [
        ComparisonAnswer(t["test_id"], _leads(t, t["said"]), _shown(t), _why(t), _by(t, t["said"]))
        for t in tests
        if t["variant"] == Variant.DECLARED
        and t["p"] is not None
        and t["wins"] is not None
        and len(t["said"].sides) == 2
    ]


def answered(results: Database) -> list[ComparisonAnswer]:
    """The sentences for the newest audit of ``results``."""
    ledger = gather(results)
    hypotheses, names = registered(ledger.registrations), Names(studies.labels(studies.present(results)))
    return answers([{**t, "said": said(t, hypotheses.get(t["registration"]), names)} for t in ledger.tests])


def _leads(test: Mapping[str, Any], words: Said) -> str:
    wins, losses, draws = test["wins"], test["losses"], test["draws"] or 0
    first, second = words.sides if wins >= losses else words.sides[::-1]
    more, fewer = max(wins, losses), min(wins, losses)
    unit = f" ({test['unit']})" if test["unit"] else ""
    counted = f"{more} of {test['n']} units{unit}"
    tied = f", equal on {draws}" if draws else ""
    if more == fewer:
        return f"{first} and {second} are each better on {counted}{tied}"
    return f"{first} is better than {second} on {counted}, worse on {fewer}{tied}"


def _shown(test: Mapping[str, Any]) -> str:
    if test["outcome"] in DECIDED:
        return "Shown"
    return "Could not have been shown" if test["outcome"] == Outcome.UNTESTABLE else "Not shown"


def _why(test: Mapping[str, Any]) -> str:
    p, corrected, level = short(test["p"]), test["p_holm"], short(test["alpha"])
    given = f"p = {p}" + ("" if corrected is None else f", after Holm's correction {short(corrected)}")
    if test["outcome"] != Outcome.UNTESTABLE:
        return f"{given}, at level {level}"
    before = "" if corrected is None else " before the correction"
    return f"a sample like this can give no p below {short(test['floor'])}{before}, and the level is {level}; more units are needed"


def _by(test: Mapping[str, Any], words: Said) -> str:
    if test["effect"] is None or test["low"] is None or test["high"] is None or not test["level"]:
        return ""  # so few units allow no interval
    differing = test["test"] == "signed_rank" and test["transform"] == "none"
    what = f"{words.sides[0]} minus {words.sides[1]}" if differing else str(test["effect_name"])
    return f"{what}: {short(test['effect'])}, {100 * test['level']:.3g}% interval [{short(test['low'])}, {short(test['high'])}]"

"""One comparison of two sides in words, from its row of the audit: who leads, whether that is shown, why or why not, by how much."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from orledger.audit.registry.words import DECIDED, Outcome, Untestable, Variant
from orledger.reports.audit_rows import MIRRORED
from orledger.reports.report.missing import EMPTY_ENTRY
from orledger.reports.report.wording import interval, short
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]

ASKED = {"less": "lower", "greater": "higher"}
OF_DIFFERENCES = ("signed_rank", "sign")
REFUSED = re.compile(r"(?:arm refused: |cell (?:refused|failed))([^;]*)")  # the reasons of a unit that was left out


def compares(test: Row) -> bool:
    """Whether the row compares two sides unit by unit, on units that are independent."""
    return (
        test["variant"] in (Variant.DECLARED, Variant.BLOCKED)
        and test["p"] is not None
        and test["wins"] is not None
        and len(test["said"].sides) == 2
    )


def leader(test: Row) -> str:
    """The side that was shown to be better, and where none was the one that is better on more units."""
    first, second = test["said"].sides
    return str(test["said"].winner or (first if test["wins"] >= test["losses"] else second))


def leads(test: Row) -> str:
    """Which side is better on how many units, and which units are not counted."""
    wins, losses, draws = test["wins"], test["losses"], test["draws"] or 0
    first, second = test["said"].sides if wins >= losses else test["said"].sides[::-1]
    more, fewer = max(wins, losses), min(wins, losses)
    unit = f" ({test['unit']})" if test["unit"] else ""
    tallied = f"{more} of {counted(test['n'], 'unit')}{unit}"
    rest = (f", equal on {draws}" if draws else "") + _left_out(test)
    if more == fewer:
        return f"{first} and {second} are each better on {tallied}{rest}"
    return f"{first} is better than {second} on {tallied}, worse on {fewer}{rest}"


def _left_out(test: Row) -> str:
    """The units that are not counted because a side declined there, where it may have been bad, or because its entry is empty."""
    absent = [d for d in test["dropped"] if isinstance(d, dict) and d.get("refused")]  # early audits kept names alone
    empty = [d for d in absent if _is_empty(d)]
    noun = "value" if test["variant"] == Variant.BLOCKED else "unit"  # of nested values each is named
    words = []
    for why, those in (
        ("a side refused or failed", [d for d in absent if d not in empty]),
        ("a value is missing", empty),
    ):
        whole, part = sum(not d.get("partial") for d in those), sum(bool(d.get("partial")) for d in those)
        parts = [counted(whole, noun)] * bool(whole) + [f"a part of {counted(part, 'unit')}"] * bool(part)
        words += [f"with {' and '.join(parts)} left out in which {why}"] * bool(parts)
    return "".join(f", {text}" for text in words)


def _is_empty(dropped: Row) -> bool:
    """Whether nobody declined in a unit that was left out: every refusal in its reason is an empty entry of an imported table."""
    found = REFUSED.findall(dropped["reason"])
    return bool(found) and all(reason.startswith(EMPTY_ENTRY) for reason in found)


def alike(test: Row) -> Any:
    """What comparisons have in common of which one sentence can say why they could not have been shown; else the row itself."""
    if test["outcome"] != Outcome.UNTESTABLE or test["untestable"] == Untestable.TIES or test["margin"] is not None:
        return test["test_id"]
    return test["hypothesis"], test["alpha"], test["p_holm"] is None, test["side"] == "two-sided" or test["test_id"]


def shown(group: Sequence[Row]) -> str:
    """Whether the comparisons of ``group``, which are ``alike``, are shown, are not, or could not have been."""
    test = group[0]
    if test["outcome"] in DECIDED:
        return f"Shown, but for {test['said'].winner}" if _against_counts(test) else "Shown"
    if test["outcome"] != Outcome.UNTESTABLE:
        return "Not shown"
    if len(group) == 1:
        return "Could not have been shown"
    return "Neither could have been shown" if len(group) == 2 else f"None of these {len(group)} could have been shown"


def _against_counts(test: Row) -> bool:
    """Whether the side that was shown to be better is not better on more units than the other: ranks weigh, and counts do not."""
    words, ahead = test["said"], test["wins"] - test["losses"]
    return bool(words.winner) and (ahead if words.winner == words.sides[0] else -ahead) <= 0


def why(group: Sequence[Row]) -> str:
    """The p and the level, or what kept a p from being small; and what a one-sided test and a margin have to say beside it."""
    test = group[0]
    words, holm, level = test["said"], test["p_holm"], short(test["alpha"])
    asked = ""
    if test["side"] in ASKED:
        asked = f"; the test asks one thing only, whether {words.sides[0]} has the {ASKED[test['side']]} values"
    if test["outcome"] == Outcome.UNTESTABLE:
        that = " that differ" if test["untestable"] == Untestable.TIES else ""
        fewer = holm is not None and max(t["floor"] for t in group) <= test["alpha"]
        what = f"more units{that}" + (" or fewer comparisons (--control, --best)" if fewer else "")
        return f"{_floor(group)}, and the level is {level}; {what} are needed{asked}{_margin(test)}"
    given = f"p = {short(test['p'])}" + ("" if holm is None else f", after Holm's correction {short(holm)}")
    size = f"; {words.winner} is ahead by the size of the differences" if _against_counts(test) else ""
    return f"{given}, at level {level}{size}{asked}{_margin(test)}"


def _floor(group: Sequence[Row]) -> str:
    """What keeps a p from being small: too few units, or too few that differ."""
    test = group[0]
    floors = [short(f) for f in sorted({t["floor"] for t in group})]
    lowest = floors[0] if len(floors) == 1 else f"{floors[0]} to {floors[-1]}"
    no_less = f"can give no p below {lowest}"
    before = f", before {corrected(group)}" if corrected(group) else ""
    if test["untestable"] != Untestable.TIES:
        return f"the {called(test)} {no_less} on a sample like this{before}"
    units = counted(test["n"], "unit")
    if not test["n_nonzero"]:
        return f"all {units} are equal"
    return f"{test['draws']} of {units} are equal, and on the {test['n_nonzero']} that differ the {called(test)} {no_less}{before}"


def called(test: Row) -> str:
    """The name of a test in a sentence."""
    return f"{str(test['test']).replace('_', ' ')} test"


def corrected(group: Sequence[Row]) -> str:
    """Holm's correction and over how many comparisons it is; empty where none was asked for."""
    sizes = sorted({t["family_size"] for t in group if t["p_holm"] is not None})
    return f"Holm's correction over {' or '.join(map(str, sizes))} comparisons" if sizes else ""


def _margin(test: Row) -> str:
    """What was shown within the margin, where one is declared: no difference shown is not yet equivalence."""
    if test["margin"] is None or test["p_equivalent"] is None:
        return ""
    within = f"within the margin of {short(test['margin'])}"
    if test["equivalent"]:
        return f"; equivalent {within} (p = {short(test['p_equivalent'])})"
    other = f"; equivalence {within} is not shown (p = {short(test['p_equivalent'])})"
    return other + (f", non-inferiority is (p = {short(test['p_noninferior'])})" if test["noninferior"] else "")


def by(test: Row) -> str:
    """The effect with its interval, the side that leads first; other effects than differences and ratios are named."""
    if test["effect"] is None or not test["level"] or not interval(test):
        return ""  # so few units allow no interval
    if test["test"] == "sign" and test["transform"] == "none":
        return ""  # units may have scales of their own: the median of what cannot be added up is no size
    what, sides = str(test["effect_name"]), test["said"].sides
    if test["test"] in OF_DIFFERENCES:
        if leader(test) == sides[1]:
            sides, test = sides[::-1], _turned(test)
        what = " minus ".join(sides) if test["transform"] == "none" else f"log10 of {sides[0]} over {sides[1]}"
    alone = "" if test["p_holm"] is None else " of this comparison alone"
    return f"{what}: {short(test['effect'])}, {100 * test['level']:.3g}% interval{alone} {interval(test)}"


def _turned(test: Row) -> Row:
    """The row with its effect and interval read from the other side."""
    low, high = (None if end is None else -end for end in (test["high"], test["low"]))
    ends = (test.get("interval_ends") or "[]")[::-1].translate(MIRRORED)
    return {**test, "effect": -test["effect"], "low": low, "high": high, "interval_ends": ends}

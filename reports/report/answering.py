"""The first screen's sentences: which side is better, how sure that is, and whether the sample could have shown it at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.audit.registry.words import DECIDED, Outcome
from orledger.reports.report import comparing
from orledger.reports.report.ledger import gather
from orledger.reports.report.wording import Names, registered, said, short
from orledger.wording import counted, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.reports.source import Database

    Row = Mapping[str, Any]

MOST = 10  # comparisons that are answered on the first screen; the others stand with their hypothesis
NAMED = 4  # arms that were not compared with the first
WHOM = 6  # arms that were compared with the first, by name
FEW = 3  # pairs that a reader takes in one by one; beyond them the arm that is first by rank speaks for them


@dataclass(frozen=True)
class ComparisonAnswer:
    """One comparison in words, all of it from one row of the audit: who leads, and by how much."""

    test_id: str
    leads: str
    by: str


@dataclass(frozen=True)
class SharedAnswer:
    """Comparisons of which the same is to be said: whether they are shown, and why or why not."""

    members: tuple[ComparisonAnswer, ...]
    shown: str
    why: str


@dataclass(frozen=True)
class Standing:
    """The arm with the best mean rank, from which others the audit tells it apart, and what became of all pairs."""

    test_id: str
    leads: str
    apart: tuple[str, ...]
    pairs: str


@dataclass(frozen=True)
class Answers:
    """What the first screen says: a standing for every hypothesis with many pairs, then comparisons; ``more`` are not spelt out."""

    standings: tuple[Standing, ...] = ()
    answers: tuple[SharedAnswer, ...] = ()
    more: int = 0


def answers(tests: Sequence[Row], names: Names | None = None, most: int = MOST) -> Answers:
    """What the rows of an audit answer, at most ``most`` comparisons of them one by one, in the order of the audit."""
    standings, told = [], []
    by_hypothesis: dict[str, list[Row]] = {}
    for test in tests:
        if comparing.compares(test):
            by_hypothesis.setdefault(test["hypothesis"], []).append(test)
    for hypothesis, pairs in by_hypothesis.items():
        ranking = next((t for t in tests if t["hypothesis"] == hypothesis and "mean_rank_low" in t["details"]), None)
        if ranking is None or len(pairs) <= FEW:
            told += pairs
            continue
        standing, close = _standing(ranking, pairs, names or Names())
        standings.append(standing)
        told += close
    all_pairs = sum(map(len, by_hypothesis.values()))
    shown = told[:most]
    return Answers(tuple(standings), tuple(_grouped(shown)), all_pairs - len(shown))


def answered(results: Database, most: int = MOST) -> Answers:
    """The answers of the newest audit of ``results``."""
    ledger = gather(results)
    hypotheses, names = registered(ledger.registrations), Names(studies.labels(studies.present(results)))
    tests = [{**t, "said": said(t, hypotheses.get(t["registration"]), names)} for t in ledger.tests]
    return answers(tests, names, most)


def _standing(ranking: Row, pairs: Sequence[Row], names: Names) -> tuple[Standing, list[Row]]:
    """The arm that is first by mean rank and its standing; and its comparisons that are not decided, the nearest arm first."""
    ranks = {names.arm(arm): rank for arm, rank in ranking["details"]["mean_ranks"].items()}
    order = sorted(ranks, key=lambda arm: (ranks[arm], arm))
    best = order[0]
    found: dict[str, list[str]] = {"better": [], "worse": [], "open": [], "untestable": []}
    mine = {_other(t, best): t for t in pairs if best in t["said"].sides}
    close = []
    for arm in (a for a in order if a in mine):
        test = mine[arm]
        if test["outcome"] in DECIDED:
            found["better" if comparing.leader(test) == best else "worse"].append(arm)
        else:
            found["untestable" if test["outcome"] == Outcome.UNTESTABLE else "open"].append(arm)
            close.append(test)
    apart = []
    others = len(order) - 1
    if found["better"]:
        whom = f"{len(found['better'])} of the other {others}" if len(found["better"]) < others else "all others"
        apart.append(f"Shown to be better than {whom}")
    if found["worse"]:
        apart.append(f"Shown to be worse than {some(found['worse'], WHOM)}")
    if found["open"]:
        apart.append(f"Not told apart from {_whom(found['open'], others)}")
    if found["untestable"]:
        hopeless = [t for t in close if t["outcome"] == Outcome.UNTESTABLE]
        by = comparing.called(hopeless[0]) + (f" after {after}" if (after := comparing.corrected(hopeless)) else "")
        apart.append(f"This sample could not have told it apart from {_whom(found['untestable'], others)} by the {by}")
    if strangers := [arm for arm in order[1:] if arm not in mine]:
        apart.append(f"Not compared with {some(strangers, NAMED)}")
    tied = " (with others)" if len(order) > 1 and ranks[order[1]] == ranks[best] else ""
    unit = f" ({ranking['unit']})" if ranking["unit"] else ""
    leads = f"{best} has the best mean rank{tied}: {ranks[best]:.2f} among {len(order)} arms on {counted(ranking['n'], 'unit')}{unit}"
    leads += _lacking(ranking, best, names)
    return Standing(ranking["test_id"], leads, tuple(apart), _all_pairs(pairs)), close


def _whom(arms: Sequence[str], others: int) -> str:
    """The arms by name, the nearest in rank first; of many how many there are."""
    return f"any of the other {others}" if len(arms) == others > WHOM else some(arms, WHOM)


def _lacking(ranking: Row, best: str, names: Names) -> str:
    """The units without ranks because an arm is missing there, and how many of them the best arm misses itself."""
    arms = {names.arm(arm): arm for arm in ranking["details"]["mean_ranks"]}
    absent = [d for d in ranking["dropped"] if isinstance(d, dict) and not d.get("partial")]  # early audits kept names
    units = {d["unit"] for d in absent}
    own = {d["unit"] for d in absent if str(d["reason"]).startswith(f"{arms[best]}: ")}
    if not units:
        return ""
    itself = f" ({best} on {len(own)} of them)" if own else ""
    return f" that have every arm; {len(units)} {'lacks' if len(units) == 1 else 'lack'} one{itself}"


def _all_pairs(pairs: Sequence[Row]) -> str:
    decided = sum(t["outcome"] in DECIDED for t in pairs)
    impossible = sum(t["outcome"] == Outcome.UNTESTABLE for t in pairs)
    undecided = len(pairs) - decided - impossible
    parts = [f"{decided} {'is' if decided == 1 else 'are'} shown to differ"]
    parts += [f"{undecided} {'is' if undecided == 1 else 'are'} not"] if undecided else []
    parts += [f"{impossible} could not have been, by this test on this sample"] if impossible else []
    corrected = ", after Holm's correction" if any(t["p_holm"] is not None for t in pairs) else ""
    return f"Of {len(pairs)} pairs {', '.join(parts)}, at level {short(pairs[0]['alpha'])}{corrected}"


def _grouped(tests: Sequence[Row]) -> list[SharedAnswer]:
    """One answer for each comparison; those that could not have been shown for the same reason stand together."""
    groups: dict[Any, list[Row]] = {}
    for test in tests:
        groups.setdefault(comparing.alike(test), []).append(test)
    return [
        SharedAnswer(tuple(map(_one, group)), comparing.shown(group), comparing.why(group)) for group in groups.values()
    ]


def _one(test: Row) -> ComparisonAnswer:
    return ComparisonAnswer(test["test_id"], comparing.leads(test), comparing.by(test))


def _other(test: Row, arm: str) -> str:
    return str(next(side for side in test["said"].sides if side != arm))
